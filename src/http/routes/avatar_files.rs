//! The stored files of avatars.

use uuid::Uuid;

use clotho_store::{CardFile, Tx, WriteError};

/// Forgets the pictures of a card whose `avatar` leads to none of them any more.
///
/// # Errors
/// The database fails.
pub fn delete_replaced(tx: &mut Tx<'_>, list: &str, id: Uuid, avatar: Option<&str>) -> Result<(), WriteError> {
    let own = format!("/api/{list}/{id}/avatar");
    if avatar.is_some_and(|address| address.starts_with(&own)) {
        return Ok(());
    }
    [CardFile::PICTURE, CardFile::THUMBNAIL].iter().try_for_each(|name| tx.delete_card_file(id, name))
}
