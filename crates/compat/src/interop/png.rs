//! Reads and writes PNG chunks. Other programs store cards and lorebooks in text chunks of a picture.

use std::io::Read;

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use flate2::Crc;
use flate2::read::ZlibDecoder;

/// The bytes at the start of every PNG.
pub const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";
/// Maximum size of a decompressed text in bytes. Compressed text can expand a thousandfold.
const MAX_TEXT_BYTES: u64 = 32 << 20;
/// Maximum number of chunks in a file. A camera picture has thousands of small ones.
const MAX_CHUNKS: usize = 100_000;

/// Accepts any padding and trailing bits, because writers differ in both.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Why a PNG, or a text in it, cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PngError {
    /// The chunk is truncated or cannot be decompressed.
    #[error("the chunk \"{0}\" is broken")]
    Broken(String),
    /// The chunk claims more bytes than the file has left.
    #[error("a chunk claims {said} bytes, and the file has {there}")]
    LyingLength {
        /// Claimed length in bytes.
        said: u32,
        /// Bytes available.
        there: usize,
    },
    /// The text is too long after decompression.
    #[error("the text in the chunk \"{0}\" has more than {MAX_TEXT_BYTES} bytes")]
    TooLong(String),
    /// The file has too many chunks.
    #[error("the image has more than {MAX_CHUNKS} chunks")]
    TooMany,
    #[error("the chunk \"{keyword}\" is not base64: {cause}")]
    NotBase64 { keyword: String, cause: String },
}

/// A chunk of a PNG.
#[derive(Debug, Clone, Copy)]
pub struct PngChunk<'a> {
    /// The four-letter chunk type.
    pub kind: &'a [u8],
    pub data: &'a [u8],
    /// The whole chunk as it stands in the file.
    pub raw: &'a [u8],
    /// Whether the checksum is correct.
    pub crc_matches: bool,
}

impl PngChunk<'_> {
    /// Returns whether it is a text chunk (`tEXt`, `zTXt` or `iTXt`).
    pub fn is_text(&self) -> bool {
        matches!(self.kind, b"tEXt" | b"zTXt" | b"iTXt")
    }

    /// Returns the keyword of a text chunk, in lower case.
    pub fn keyword(&self) -> String {
        let name = self.data.split(|byte| *byte == 0).next().unwrap_or_default();
        name.iter().map(|byte| char::from(byte.to_ascii_lowercase())).collect()
    }

    /// Returns the text of the chunk, decompressed.
    ///
    /// # Errors
    /// Returns an error if the text is truncated, too long, or cannot be decompressed.
    pub fn text(&self) -> Result<Vec<u8>, PngError> {
        let broken = || PngError::Broken(self.keyword());
        let (_, rest) = split_at_nul(self.data).ok_or_else(broken)?;
        match self.kind {
            b"zTXt" => self.decompress(rest.get(1..).ok_or_else(broken)?),
            b"iTXt" => {
                let (packed, rest) = rest.split_first().ok_or_else(broken)?;
                // Skip the compression method, the language and the translated keyword.
                let (_, rest) = rest.get(1..).and_then(split_at_nul).ok_or_else(broken)?;
                let (_, text) = split_at_nul(rest).ok_or_else(broken)?;
                if *packed == 0 { Ok(text.to_vec()) } else { self.decompress(text) }
            }
            _ => Ok(rest.to_vec()),
        }
    }

    fn decompress(&self, packed: &[u8]) -> Result<Vec<u8>, PngError> {
        let mut text = Vec::new();
        let read = ZlibDecoder::new(packed).take(MAX_TEXT_BYTES + 1).read_to_end(&mut text);
        read.map_err(|_| PngError::Broken(self.keyword()))?;
        let is_bounded = u64::try_from(text.len()).is_ok_and(|length| length <= MAX_TEXT_BYTES);
        if is_bounded { Ok(text) } else { Err(PngError::TooLong(self.keyword())) }
    }
}

/// Splits at the first NUL byte and drops it.
fn split_at_nul(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let zero = bytes.iter().position(|byte| *byte == 0)?;
    Some((bytes.get(..zero)?, bytes.get(zero + 1..)?))
}

/// Returns all complete chunks up to `IEND`, and the error that stopped the reading, if any.
///
/// # Errors
/// Returns an error if there are too many chunks.
pub fn read_chunks(png: &[u8]) -> Result<(Vec<PngChunk<'_>>, Option<PngError>), PngError> {
    let (mut chunks, mut rest) = (Vec::new(), png.get(SIGNATURE.len()..).unwrap_or_default());
    while !rest.is_empty() {
        let Some((chunk, behind)) = split_chunk(rest) else {
            return Ok((chunks, Some(length_error(rest))));
        };
        chunks.push(chunk);
        if chunk.kind == b"IEND" {
            break;
        }
        if chunks.len() > MAX_CHUNKS {
            return Err(PngError::TooMany);
        }
        rest = behind;
    }
    Ok((chunks, None))
}

/// Returns the chunks behind the end of the image, where some tools append the card. `chunks` are those before.
pub fn read_chunks_behind_end<'a>(png: &'a [u8], chunks: &[PngChunk<'_>]) -> Vec<PngChunk<'a>> {
    let end = SIGNATURE.len() + chunks.iter().map(|chunk| chunk.raw.len()).sum::<usize>();
    let (mut found, mut rest) = (Vec::new(), png.get(end..).unwrap_or_default());
    while found.len() < MAX_CHUNKS
        && let Some((chunk, behind)) = split_chunk(rest)
    {
        found.push(chunk);
        rest = behind;
    }
    found
}

fn split_chunk(bytes: &[u8]) -> Option<(PngChunk<'_>, &[u8])> {
    let length = usize::try_from(u32::from_be_bytes(*bytes.first_chunk()?)).ok()?;
    let end = length.checked_add(12)?;
    let whole = bytes.get(..end)?;
    let (kind, data) = (whole.get(4..8)?, whole.get(8..end - 4)?);
    let sum = u32::from_be_bytes(*whole.last_chunk()?);
    Some((PngChunk { kind, data, raw: whole, crc_matches: sum == crc(&[kind, data]) }, bytes.get(end..)?))
}

/// Returns the error for a chunk that claims more bytes than there are.
fn length_error(rest: &[u8]) -> PngError {
    let said = rest.first_chunk().map_or(0, |length| u32::from_be_bytes(*length));
    PngError::LyingLength { said, there: rest.len().saturating_sub(8) }
}

fn crc(parts: &[&[u8]]) -> u32 {
    let mut crc = Crc::new();
    parts.iter().for_each(|part| crc.update(part));
    crc.sum()
}

/// Encodes a chunk. No caller writes data longer than the format allows.
pub fn encode_chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    [&length.to_be_bytes()[..], kind, data, &crc(&[kind, data]).to_be_bytes()].concat()
}

/// Encodes a `tEXt` chunk with a card as base64.
pub fn encode_card_chunk(keyword: &str, json: &str) -> Vec<u8> {
    let text = BASE64.encode(json);
    encode_chunk(b"tEXt", &[keyword.as_bytes(), b"\0", text.as_bytes()].concat())
}

/// Decodes base64 text. Whitespace and the URL-safe alphabet are accepted.
///
/// # Errors
/// Returns an error if the text is not base64.
pub fn decode_base64(keyword: &str, text: &[u8]) -> Result<Vec<u8>, PngError> {
    let plain = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    };
    let text: Vec<u8> = text.iter().filter(|byte| !byte.is_ascii_whitespace()).map(plain).collect();
    BASE64.decode(text).map_err(|error| PngError::NotBase64 { keyword: keyword.to_owned(), cause: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_file(chunks: &[Vec<u8>]) -> Vec<u8> {
        [SIGNATURE.as_slice(), &chunks.concat()].concat()
    }

    fn zlib_compress(text: &[u8]) -> Vec<u8> {
        let mut packer = flate2::read::ZlibEncoder::new(text, flate2::Compression::best());
        let mut packed = Vec::new();
        packer.read_to_end(&mut packed).unwrap();
        packed
    }

    #[test]
    fn png_text_chunk_kinds_are_all_read() {
        let check = |kind: &[u8; 4], data: &[u8], expected: Result<&str, &str>| {
            let file = png_file(&[encode_chunk(kind, data), encode_chunk(b"IEND", b"")]);
            let (chunks, fault) = read_chunks(&file).unwrap();
            assert!(fault.is_none() && chunks.len() == 2 && chunks[0].crc_matches);
            let text = chunks[0].text().map(|text| String::from_utf8(text).unwrap()).map_err(|error| error.to_string());
            assert_eq!(text, expected.map(str::to_owned).map_err(str::to_owned), "{kind:?}");
        };
        check(b"tEXt", b"Chara\0abc", Ok("abc"));
        check(b"zTXt", &[b"chara\0\0", zlib_compress(b"abc").as_slice()].concat(), Ok("abc"));
        check(b"iTXt", b"chara\0\0\0en\0\0abc", Ok("abc"));
        check(b"iTXt", &[b"chara\0\x01\0\0\0", zlib_compress(b"abc").as_slice()].concat(), Ok("abc"));
        check(b"tEXt", b"chara", Err("the chunk \"chara\" is broken"));
        check(b"zTXt", b"chara\0\0abc", Err("the chunk \"chara\" is broken"));
        check(b"iTXt", b"chara\0\0", Err("the chunk \"chara\" is broken"));
    }

    #[test]
    fn png_oversized_compressed_text_returns_error() {
        let bomb = zlib_compress(&vec![b'a'; usize::try_from(MAX_TEXT_BYTES).unwrap() + 1]);
        assert!(bomb.len() < 64 << 10);
        let file = png_file(&[encode_chunk(b"zTXt", &[b"chara\0\0", bomb.as_slice()].concat())]);
        let error = read_chunks(&file).unwrap().0[0].text().unwrap_err();
        assert_eq!(error, PngError::TooLong("chara".into()));
    }

    #[test]
    fn png_false_chunk_length_stops_reading() {
        let good = encode_chunk(b"tEXt", b"chara\0abc");
        let check = |bad: &[u8], said: u32, there: usize| {
            let file = png_file(&[good.clone(), bad.to_vec()]);
            let (chunks, fault) = read_chunks(&file).unwrap();
            assert_eq!((chunks.len(), fault), (1, Some(PngError::LyingLength { said, there })));
        };
        check(b"\xff\xff\xff\xfftEXtabc", u32::MAX, 3);
        check(b"\0\0\0\x04tEXtabcd", 4, 4);
        check(b"\0\0", 0, 0);
    }

    #[test]
    fn png_wrong_crc_is_detected() {
        let mut bad = encode_chunk(b"tEXt", b"chara\0abc");
        *bad.last_mut().unwrap() ^= 1;
        let file = png_file(&[bad]);
        assert!(!read_chunks(&file).unwrap().0[0].crc_matches);
    }
}
