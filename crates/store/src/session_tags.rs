//! The tags of sessions. A session names each tag once: case and accents do not make two tags different.

use diesel::prelude::*;

use clotho_core::letters::fold_base_letters;

use super::conn::Conn;
use super::error::StoreError;
use super::tables::session_tags;

/// Returns the tags of a session, in alphabetical order.
pub fn of_session(conn: &mut Conn, session_n: i64) -> Result<Vec<String>, StoreError> {
    let own = session_tags::table.filter(session_tags::session_n.eq(session_n)).order(session_tags::form);
    Ok(own.select(session_tags::tag).load(conn)?)
}

/// Replaces the tags of a session.
pub fn replace(conn: &mut Conn, session_n: i64, tags: &[String]) -> Result<(), StoreError> {
    diesel::delete(session_tags::table.filter(session_tags::session_n.eq(session_n))).execute(conn)?;
    for tag in tags {
        let row = (
            session_tags::session_n.eq(session_n),
            session_tags::form.eq(fold_base_letters(tag)),
            session_tags::tag.eq(tag),
        );
        diesel::insert_into(session_tags::table).values(row).execute(conn)?;
    }
    Ok(())
}

/// Returns tags in the order in which they are stored.
pub fn in_order(mut tags: Vec<String>) -> Vec<String> {
    tags.sort_by_cached_key(|tag| fold_base_letters(tag));
    tags
}
