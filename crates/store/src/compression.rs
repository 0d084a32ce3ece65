//! Compressed bodies with a checksum, which is checked when they are read.

/// The length of a checksum in bytes.
const CHECKSUM_BYTES: usize = 8;
/// The maximum compression ratio of LZ4. A header that promises more is damaged.
const MAX_COMPRESSION_RATIO: usize = 256;

/// Compresses bytes and puts a checksum of the input in front.
pub fn pack(bytes: &[u8]) -> Vec<u8> {
    let mut packed = checksum(bytes).to_vec();
    packed.extend(lz4_flex::compress_prepend_size(bytes));
    packed
}

/// Decompresses packed bytes; `None` if they were not packed here or are damaged.
pub fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let (check, body) = packed.split_first_chunk::<CHECKSUM_BYTES>()?;
    let (size, rest) = lz4_flex::block::uncompressed_size(body).ok()?;
    if size > rest.len().saturating_mul(MAX_COMPRESSION_RATIO) {
        return None;
    }
    let bytes = lz4_flex::block::decompress(rest, size).ok()?;
    (checksum(&bytes) == *check).then_some(bytes)
}

fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let hash = blake3::hash(bytes);
    let mut check = [0; CHECKSUM_BYTES];
    check.iter_mut().zip(hash.as_bytes()).for_each(|(to, from)| *to = *from);
    check
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3-15: a flipped bit, a truncated or a foreign body is never accepted.
    #[test]
    fn unpack_damaged_body_returns_none() {
        let bytes = r#"{"hp": 20, "pack": ["rope", "rope", "rope", "rope"]}"#.repeat(9).into_bytes();
        let packed = pack(&bytes);
        assert!(packed.len() < bytes.len());
        assert_eq!(unpack(&packed).as_deref(), Some(bytes.as_slice()));
        for at in 0..packed.len() {
            let mut damaged = packed.clone();
            damaged[at] ^= 1 << (at % 8);
            // With a flipped bit the result may be the same bytes, but never others.
            assert!(unpack(&damaged).is_none_or(|read| read == bytes), "a flipped bit at {at}");
            assert_eq!(unpack(&packed[..at]), None, "cut at {at}");
        }
        assert_eq!(unpack(b""), None);
        assert_eq!(unpack(&[0xff; 64]), None, "a header that promises four gigabytes");
        assert_eq!(unpack(&pack(b"")).as_deref(), Some(&b""[..]));
    }
}
