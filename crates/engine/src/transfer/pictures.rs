//! Pictures of characters and personas, as files of their cards.

use std::fmt;

use clotho_compat::interop::picture::{self, PictureError, PictureFormat};
use clotho_store::CardFile;

/// Returns the URL of a picture in a list such as `characters`. It contains a hash of the bytes, so that caches do
/// not show an old picture.
pub fn picture_url(list: &str, id: impl fmt::Display, bytes: &[u8]) -> String {
    let hash: String = blake3::hash(bytes).to_hex().chars().take(16).collect();
    format!("/api/{list}/{id}/avatar?v={hash}")
}

/// Returns a picture and its thumbnail as card files.
///
/// # Errors
/// Returns an error if the bytes are no picture, or it is too large or damaged.
pub fn picture_files(bytes: Vec<u8>) -> Result<[CardFile; 2], PictureError> {
    let small = picture::thumbnail(&bytes)?;
    let file = |name: &str, bytes: Vec<u8>| {
        let kind = picture::detect_format(&bytes).map_or("application/octet-stream", PictureFormat::media_type);
        CardFile { name: name.to_owned(), kind: kind.to_owned(), bytes }
    };
    Ok([file(CardFile::PICTURE, bytes), file(CardFile::THUMBNAIL, small)])
}
