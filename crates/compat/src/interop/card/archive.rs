//! ZIP archives in memory, and the paths and bytes of their entries.

use std::io::{Cursor, Read as _};

use zip::ZipArchive;

use super::CardImportError;

/// Maximum size of `card.json` in bytes.
const MAX_CARD_BYTES: u64 = 32 << 20;

/// An archive in memory.
pub type CardArchive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// A file packed with a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardAsset {
    /// Its path in the archive: segments between single slashes, without `.` or `..`.
    pub path: String,
    pub bytes: Vec<u8>,
}

/// Returns the path of an entry without a leading `./` or `/`, and with `/` between its parts.
pub fn entry_path(name: &str) -> String {
    let name = name.replace('\\', "/");
    let mut path = name.as_str();
    while let Some(rest) = path.strip_prefix("./").or_else(|| path.strip_prefix('/')) {
        path = rest;
    }
    path.to_owned()
}

/// Returns the error for an archive that cannot be read.
pub fn broken(error: zip::result::ZipError) -> CardImportError {
    CardImportError::BrokenArchive(error.to_string())
}

/// Reads an entry with a card or a part of one. `name` is what an error calls it.
pub fn read_entry(archive: &mut CardArchive<'_>, index: usize, name: &'static str) -> Result<Vec<u8>, CardImportError> {
    let mut bytes = Vec::new();
    let read = archive.by_index(index).map_err(broken)?.take(MAX_CARD_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| CardImportError::BrokenArchive(error.to_string()))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_CARD_BYTES) {
        return Err(CardImportError::TooLong(name, MAX_CARD_BYTES));
    }
    Ok(bytes)
}
