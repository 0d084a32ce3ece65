//! Users, characters, personas and lorebooks, and the saved responses of idempotent requests.

use diesel::prelude::*;
use serde_json::{Map, Value};

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, LorebookId, PersonaId, UserId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::edit::TreeError;

use super::blobs;
use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{answers, characters, lorebooks, personas, sessions, users};
use super::tx::{OperationDraft, Tx};

/// A user of this server.
#[derive(Debug, Clone, PartialEq)]
pub struct UserAccount {
    pub id: UserId,
    pub name: String,
    /// `owner`, `admin` or `user`.
    pub role: String,
}

/// A character, persona or lorebook: a JSON object (`docs/api.md`).
#[derive(Debug, Clone, PartialEq)]
pub struct LibraryItem<Id> {
    pub id: Id,
    /// The JSON fields.
    pub card: Map<String, Value>,
    pub created: Time,
    pub updated: Time,
}

/// The columns of a library item.
#[derive(Queryable)]
struct LibraryItemRow {
    n: i64,
    id: Vec<u8>,
    /// The JSON fields as text.
    card: String,
    created: i64,
    updated: i64,
}

/// A character.
pub type CharacterCard = LibraryItem<CharacterId>;
/// A persona.
pub type PersonaCard = LibraryItem<PersonaId>;
/// A lorebook; its JSON is in `card`.
pub type Lorebook = LibraryItem<LorebookId>;

/// The first response to a request with an Idempotency-Key.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedResponse {
    /// The hash of method, path and body.
    pub request: Vec<u8>,
    /// The HTTP status, or [`SavedResponse::LOST`].
    pub status: u16,
    /// The body. If the response is lost, the result of the write as JSON.
    pub body: String,
}

impl SavedResponse {
    /// The status when the created data was permanently deleted.
    pub const PURGED: u16 = 410;

    /// Stands for the status until a response was sent: the write was done, and its result is the body.
    pub const LOST: u16 = 0;
}

macro_rules! card_methods {
    ($table:ident.$column:ident, $id:ty, $card:ty, $what:literal, $list:ident, $get:ident, $put:ident, $update:ident, $trash:ident) => {
        impl StoreReader<'_> {
            #[doc = concat!("The caller's ", $what, "s, oldest first, after `skip` of them.")]
            ///
            /// # Errors
            /// Returns an error if the database fails or a row is damaged.
            pub fn $list(&mut self, caller: UserId, skip: i64, limit: i64) -> Result<Vec<$card>, StoreError> {
                let rows: Vec<LibraryItemRow> = $table::table
                    .inner_join(users::table.on(users::n.eq($table::owner_n)))
                    .filter(users::id.eq(caller.as_bytes().to_vec()))
                    .filter($table::trashed.is_null())
                    .order($table::n)
                    .offset(skip)
                    .limit(limit)
                    .select(($table::n, $table::id, $table::$column, $table::created, $table::updated))
                    .load(self.conn)?;
                rows.into_iter().map(|row| row.into_item(stringify!($table), <$id>::from_slice)).collect()
            }

            #[doc = concat!("One of the caller's ", $what, "s.")]
            ///
            /// # Errors
            /// Returns an error if the database fails or a row is damaged.
            pub fn $get(&mut self, caller: UserId, id: $id) -> Result<Option<$card>, StoreError> {
                let row: Option<LibraryItemRow> = $table::table
                    .inner_join(users::table.on(users::n.eq($table::owner_n)))
                    .filter(users::id.eq(caller.as_bytes().to_vec()))
                    .filter($table::id.eq(id.as_bytes().to_vec()))
                    .filter($table::trashed.is_null())
                    .select(($table::n, $table::id, $table::$column, $table::created, $table::updated))
                    .get_result(self.conn)
                    .optional()?;
                row.map(|row| row.into_item(stringify!($table), <$id>::from_slice)).transpose()
            }
        }

        impl Tx<'_> {
            #[doc = concat!("Keeps a new ", $what, ".")]
            ///
            /// # Errors
            /// Returns an error if the database fails.
            pub fn $put(&mut self, owner: UserId, new: &$card) -> Result<(), WriteError> {
                let owner_n = self.user_row(owner)?;
                self.run(|conn| {
                    let n: Option<i64> = $table::table.select(diesel::dsl::max($table::n)).get_result(conn)?;
                    let row = (
                        $table::n.eq(n.unwrap_or(0) + 1),
                        $table::id.eq(new.id.as_bytes().to_vec()),
                        $table::owner_n.eq(owner_n),
                        $table::$column.eq(Value::Object(new.card.clone()).to_string()),
                        $table::created.eq(new.created.0),
                        $table::updated.eq(new.updated.0),
                    );
                    diesel::insert_into($table::table).values(row).execute(conn)?;
                    Ok(())
                })?;
                Ok(())
            }

            #[doc = concat!("Replaces the fields of one of the caller's ", $what, "s.")]
            ///
            /// # Errors
            /// Returns an error if it does not exist or belongs to another user.
            pub fn $update(&mut self, owner: UserId, new: &$card) -> Result<(), WriteError> {
                let owner_n = self.user_row(owner)?;
                let text = Value::Object(new.card.clone()).to_string();
                let changed = self.run(|conn| {
                    let own = $table::table
                        .filter($table::id.eq(new.id.as_bytes().to_vec()))
                        .filter($table::owner_n.eq(owner_n))
                        .filter($table::trashed.is_null());
                    let set = ($table::$column.eq(text), $table::updated.eq(new.updated.0));
                    Ok(diesel::update(own).set(set).execute(conn)?)
                })?;
                expect_one_row(changed, concat!("the ", $what))
            }

            #[doc = concat!("Moves one of the caller's ", $what, "s to the trash; sessions that play it keep their version.")]
            ///
            /// # Errors
            /// Returns an error if it does not exist or belongs to another user.
            pub fn $trash(&mut self, owner: UserId, id: $id, at: Time) -> Result<(), WriteError> {
                let owner_n = self.user_row(owner)?;
                let changed = self.run(|conn| {
                    let own = $table::table
                        .filter($table::id.eq(id.as_bytes().to_vec()))
                        .filter($table::owner_n.eq(owner_n))
                        .filter($table::trashed.is_null());
                    Ok(diesel::update(own).set($table::trashed.eq(Some(at.0))).execute(conn)?)
                })?;
                expect_one_row(changed, concat!("the ", $what))
            }
        }
    };
}

card_methods!(
    characters.card,
    CharacterId,
    CharacterCard,
    "character",
    characters,
    character,
    put_character,
    update_character,
    trash_character
);
card_methods!(
    personas.card,
    PersonaId,
    PersonaCard,
    "persona",
    personas,
    persona,
    put_persona,
    update_persona,
    trash_persona
);
card_methods!(
    lorebooks.book,
    LorebookId,
    Lorebook,
    "lorebook",
    lorebooks,
    lorebook,
    put_lorebook,
    update_lorebook,
    trash_lorebook
);

impl LibraryItemRow {
    fn into_item<Id>(
        self,
        table: &'static str,
        read: impl FnOnce(&[u8]) -> Option<Id>,
    ) -> Result<LibraryItem<Id>, StoreError> {
        let damaged = |column| StoreError::Inconsistent { table, column, row: self.n };
        let id = read(&self.id).ok_or_else(|| damaged("id"))?;
        let card = serde_json::from_str(&self.card).map_err(|_| damaged("card"))?;
        Ok(LibraryItem { id, card, created: Time(self.created), updated: Time(self.updated) })
    }
}

impl Tx<'_> {
    /// Replaces one of the caller's lorebooks if it has not changed since `seen`. Returns whether it was
    /// replaced.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn swap_lorebook(&mut self, owner: UserId, seen: Time, new: &Lorebook) -> Result<bool, WriteError> {
        let owner_n = self.user_row(owner)?;
        let text = Value::Object(new.card.clone()).to_string();
        let changed = self.run(|conn| {
            let own = lorebooks::table
                .filter(lorebooks::id.eq(new.id.as_bytes().to_vec()))
                .filter(lorebooks::owner_n.eq(owner_n))
                .filter(lorebooks::trashed.is_null())
                .filter(lorebooks::updated.eq(seen.0));
            Ok(diesel::update(own)
                .set((lorebooks::book.eq(text), lorebooks::updated.eq(new.updated.0)))
                .execute(conn)?)
        })?;
        Ok(changed == 1)
    }
}

/// Returns an error if a write to one item did not change exactly one row.
fn expect_one_row(changed: usize, what: &'static str) -> Result<(), WriteError> {
    if changed == 1 { Ok(()) } else { Err(TreeError::NotFound(what).into()) }
}

impl StoreReader<'_> {
    /// Returns whether any user has a character with this id, also in the trash.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn is_character_id_taken(&mut self, id: CharacterId) -> Result<bool, StoreError> {
        let same = characters::table.filter(characters::id.eq(id.as_bytes().to_vec()));
        Ok(same.select(characters::n).get_result::<i64>(self.conn).optional()?.is_some())
    }

    /// Returns all users, oldest first.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn users(&mut self) -> Result<Vec<UserAccount>, StoreError> {
        let rows: Vec<(i64, Vec<u8>, String, String)> =
            users::table.order(users::n).select((users::n, users::id, users::name, users::role)).load(self.conn)?;
        let read = |(n, id, name, role): (i64, Vec<u8>, String, String)| {
            let bad = StoreError::Inconsistent { table: "users", column: "id", row: n };
            Ok(UserAccount { id: UserId::from_slice(&id).ok_or(bad)?, name, role })
        };
        rows.into_iter().map(read).collect()
    }

    /// Returns the bytes of a blob by its hash in hex, for example a card as it was when a session began.
    ///
    /// # Errors
    /// Returns an error if the database fails or the blob does not exist.
    pub fn blob(&mut self, hash: &str) -> Result<Vec<u8>, StoreError> {
        blobs::by_hash(self.conn, hash)
    }

    /// Returns the response saved under a caller's key since `after`.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn saved_response(
        &mut self,
        caller: UserId,
        key: &str,
        after: Time,
    ) -> Result<Option<SavedResponse>, StoreError> {
        let row: Option<(Vec<u8>, i16, String)> = answers::table
            .inner_join(users::table.on(users::n.eq(answers::caller_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(answers::key.eq(key))
            .filter(answers::created.ge(after.0))
            .select((answers::request, answers::status, answers::body))
            .get_result(self.conn)
            .optional()?;
        Ok(row.map(|(request, status, body)| SavedResponse {
            request,
            status: u16::try_from(status).unwrap_or(0),
            body,
        }))
    }
}

impl Tx<'_> {
    /// Adds a user.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn put_user(&mut self, user: &UserAccount, at: Time) -> Result<(), WriteError> {
        self.run(|conn| {
            let n: Option<i64> = users::table.select(diesel::dsl::max(users::n)).get_result(conn)?;
            let row = (
                users::n.eq(n.unwrap_or(0) + 1),
                users::id.eq(user.id.as_bytes().to_vec()),
                users::name.eq(&user.name),
                users::role.eq(&user.role),
                users::created.eq(at.0),
            );
            diesel::insert_into(users::table).values(row).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    pub(super) fn user_row(&mut self, id: UserId) -> Result<i64, WriteError> {
        let found: Option<i64> = self.run(|conn| {
            let of_id = users::table.filter(users::id.eq(id.as_bytes().to_vec()));
            Ok(of_id.select(users::n).get_result(conn).optional()?)
        })?;
        found.ok_or(WriteError::Refused(TreeError::NotFound("the user")))
    }

    /// Stores bytes by content; returns their hash in hex.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn put_blob(&mut self, bytes: &[u8]) -> Result<String, WriteError> {
        Ok(self.run(|conn| blobs::put(conn, bytes))?.1)
    }

    /// Moves a session to the trash.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn trash_session(
        &mut self,
        owner: UserId,
        id: clotho_core::ids::SessionId,
        at: Time,
    ) -> Result<(), WriteError> {
        let mut stored = self.session(owner, id)?;
        // It is logged, so that readers of the log (search, watchers) learn of it.
        let effects = vec![Effect::Setting { name: "trashed".into(), from: false.into(), to: true.into() }];
        self.log_operation(
            &mut stored,
            OperationDraft { kind: OperationKind::Session, actor: Some(owner), at, step: None, effects },
        )?;
        let changed = self.run(|conn| {
            Ok(diesel::update(sessions::table.find(stored.n)).set(sessions::trashed.eq(Some(at.0))).execute(conn)?)
        })?;
        expect_one_row(changed, "the session")
    }

    /// Saves the response to a request with an Idempotency-Key. It replaces what the write itself saved.
    /// Responses older than `forget_before` are deleted.
    ///
    /// # Errors
    /// Returns an error if another request with that key was answered first.
    pub fn save_response(
        &mut self,
        caller: UserId,
        key: &str,
        answer: &SavedResponse,
        at: Time,
        forget_before: Time,
    ) -> Result<(), WriteError> {
        let caller_n = self.user_row(caller)?;
        let taken = self.run(|conn| {
            diesel::delete(answers::table.filter(answers::created.lt(forget_before.0))).execute(conn)?;
            let own = answers::table.filter(answers::caller_n.eq(caller_n)).filter(answers::key.eq(key));
            let own = own.select((answers::n, answers::status, answers::request));
            Ok(own.get_result::<(i64, i16, Vec<u8>)>(conn).optional()?)
        })?;
        let status = i16::try_from(answer.status).unwrap_or(0);
        if let Some((n, kept, request)) = taken {
            // Only the response of the same request may replace what a write saved; a second write may not.
            if kept != 0 || status == 0 || request != answer.request {
                return Err(TreeError::Conflict("the answer for this Idempotency-Key".into()).into());
            }
            let row = (answers::status.eq(status), answers::body.eq(&answer.body));
            self.run(|conn| Ok(diesel::update(answers::table.find(n)).set(row).execute(conn)?))?;
            return Ok(());
        }
        self.run(|conn| {
            let n: Option<i64> = answers::table.select(diesel::dsl::max(answers::n)).get_result(conn)?;
            let row = (
                answers::n.eq(n.unwrap_or(0) + 1),
                answers::caller_n.eq(caller_n),
                answers::key.eq(key),
                answers::request.eq(&answer.request),
                answers::status.eq(status),
                answers::body.eq(&answer.body),
                answers::created.eq(at.0),
            );
            diesel::insert_into(answers::table).values(row).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }
}
