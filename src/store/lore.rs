//! The house rules of lore that a user has: kept as they are said, and read by whoever makes prompts.

use diesel::prelude::*;
use serde_json::{Map, Value};

use crate::ids::UserId;

use super::error::{StoreError, WriteError};
use super::read::Reader;
use super::tables::users;
use super::tx::Tx;

impl Reader<'_> {
    /// A user's own house rules of lore; `None` where they are as they are shipped.
    ///
    /// # Errors
    /// The database fails.
    pub fn lore_settings(&mut self, user: UserId) -> Result<Option<Map<String, Value>>, StoreError> {
        let own = users::table.filter(users::id.eq(user.as_bytes().to_vec()));
        let text: Option<Option<String>> = own.select(users::lore).get_result(self.conn).optional()?;
        Ok(text.flatten().and_then(|text| serde_json::from_str(&text).ok()))
    }
}

impl Tx<'_> {
    /// Keeps a user's own house rules of lore; `None` = as they are shipped.
    ///
    /// # Errors
    /// The database fails, or there is no such user.
    pub fn set_lore_settings(&mut self, user: UserId, settings: Option<&Map<String, Value>>) -> Result<(), WriteError> {
        let user_n = self.user_n(user)?;
        let text = settings.map(|settings| Value::Object(settings.clone()).to_string());
        self.run(|conn| Ok(diesel::update(users::table.find(user_n)).set(users::lore.eq(text)).execute(conn)?))?;
        Ok(())
    }
}
