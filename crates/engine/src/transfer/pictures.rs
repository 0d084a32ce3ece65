//! Pictures of characters and personas, as files of their cards.

use std::fmt;

use clotho_compat::interop::picture::{self, PictureError, PictureFormat};
use clotho_store::CardFile;

/// The address of a picture of something in a list such as `characters`. It names the picture's content, so that a new one is
/// not taken for the old.
pub fn picture_url(list: &str, id: impl fmt::Display, bytes: &[u8]) -> String {
    let hash: String = blake3::hash(bytes).to_hex().chars().take(16).collect();
    format!("/api/{list}/{id}/avatar?v={hash}")
}

/// A picture and its small copy, as files of a card.
///
/// # Errors
/// It is no picture, too large or damaged.
pub fn picture_files(bytes: Vec<u8>) -> Result<[CardFile; 2], PictureError> {
    let small = picture::thumbnail(&bytes)?;
    let file = |name: &str, bytes: Vec<u8>| {
        let kind = picture::detect_format(&bytes).map_or("application/octet-stream", PictureFormat::media_type);
        CardFile { name: name.to_owned(), kind: kind.to_owned(), bytes }
    };
    Ok([file(CardFile::PICTURE, bytes), file(CardFile::THUMBNAIL, small)])
}
