//! The stored files of avatars.

use uuid::Uuid;

use clotho_store::{CardFile, Tx, WriteError};

/// Deletes the stored images of a card if its `avatar` no longer refers to them.
///
/// # Errors
/// Returns an error if the database fails.
pub fn delete_replaced(tx: &mut Tx<'_>, list: &str, id: Uuid, avatar: Option<&str>) -> Result<(), WriteError> {
    let own = format!("/api/{list}/{id}/avatar");
    if avatar.is_some_and(|address| address.starts_with(&own)) {
        return Ok(());
    }
    [CardFile::PICTURE, CardFile::THUMBNAIL].iter().try_for_each(|name| tx.delete_card_file(id, name))
}
