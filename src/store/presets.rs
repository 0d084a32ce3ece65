//! Presets: what other programs keep for their prompts, each as JSON of its own kind. They are kept whole and listed by their
//! kinds without their bodies.

use diesel::connection::DefaultLoadingMode;
use diesel::prelude::*;
use serde_json::{Map, Value};

use crate::clock::Time;
use crate::ids::{PresetId, UserId};
use crate::tree::edit::Refusal;

use super::error::{StoreError, WriteError};
use super::people::Card;
use super::read::Reader;
use super::tables::{presets, users};
use super::tx::Tx;

/// A preset: `{kind, name, file?, body}` is its card.
pub type Preset = Card<PresetId>;

/// A preset in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetHead {
    /// Its id.
    pub id: PresetId,
    /// What it is for.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The file that it came in.
    pub file: Option<String>,
    /// When it came.
    pub created: Time,
    /// When it last changed.
    pub updated: Time,
}

/// The bodies of all presets of a kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bodies {
    /// The bodies, the oldest first.
    pub all: Vec<Value>,
    /// Whether there are more than are read at once.
    pub is_cut: bool,
}

/// So many bytes of presets of one kind are read at once, and one more.
const MOST_BYTES: usize = 4 << 20;

/// The columns of a list.
type Columns = (i64, Vec<u8>, String, String, Option<String>, i64, i64);

/// The columns of a whole one.
type WholeColumns = (i64, String, String, Option<String>, String, i64, i64);

impl Reader<'_> {
    /// The caller's presets, of one kind if that is named, oldest first, after `skip` of them.
    ///
    /// # Errors
    /// The database fails or a row is damaged.
    pub fn presets(
        &mut self,
        caller: UserId,
        kind: Option<&str>,
        skip: i64,
        limit: i64,
    ) -> Result<Vec<PresetHead>, StoreError> {
        let mut own = presets::table
            .inner_join(users::table.on(users::n.eq(presets::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(presets::trashed.is_null())
            .into_boxed();
        if let Some(kind) = kind {
            own = own.filter(presets::kind.eq(kind));
        }
        let rows: Vec<Columns> = own
            .order(presets::n)
            .offset(skip)
            .limit(limit)
            .select((
                presets::n,
                presets::id,
                presets::kind,
                presets::name,
                presets::file,
                presets::created,
                presets::updated,
            ))
            .load(self.conn)?;
        let head = |(n, id, kind, name, file, created, updated): Columns| {
            let id = PresetId::from_slice(&id).ok_or_else(|| damaged("id", n))?;
            Ok(PresetHead { id, kind, name, file, created: Time(created), updated: Time(updated) })
        };
        rows.into_iter().map(head).collect()
    }

    /// What all presets of a kind say of the caller's, oldest first, up to some megabytes.
    ///
    /// # Errors
    /// The database fails or a row is damaged.
    pub fn preset_bodies(&mut self, caller: UserId, kind: &str) -> Result<Bodies, StoreError> {
        let own = presets::table
            .inner_join(users::table.on(users::n.eq(presets::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(presets::kind.eq(kind))
            .filter(presets::trashed.is_null())
            .order(presets::n)
            .select((presets::n, presets::body));
        let (mut bodies, mut bytes) = (Bodies::default(), 0_usize);
        for row in own.load_iter::<(i64, String), DefaultLoadingMode>(self.conn)? {
            let (n, body) = row?;
            if bytes > MOST_BYTES {
                bodies.is_cut = true;
                break;
            }
            bytes = bytes.saturating_add(body.len());
            bodies.all.push(serde_json::from_str(&body).map_err(|_| damaged("body", n))?);
        }
        Ok(bodies)
    }

    /// One of the caller's presets.
    ///
    /// # Errors
    /// The database fails or the row is damaged.
    pub fn preset(&mut self, caller: UserId, id: PresetId) -> Result<Option<Preset>, StoreError> {
        let row: Option<WholeColumns> = presets::table
            .inner_join(users::table.on(users::n.eq(presets::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(presets::id.eq(id.as_bytes().to_vec()))
            .filter(presets::trashed.is_null())
            .select((
                presets::n,
                presets::kind,
                presets::name,
                presets::file,
                presets::body,
                presets::created,
                presets::updated,
            ))
            .get_result(self.conn)
            .optional()?;
        let Some((n, kind, name, file, body, created, updated)) = row else { return Ok(None) };
        let body: Value = serde_json::from_str(&body).map_err(|_| damaged("body", n))?;
        let mut card = Map::from_iter([("kind".to_owned(), kind.into()), ("name".to_owned(), name.into())]);
        card.extend(file.map(|file| ("file".to_owned(), file.into())));
        card.insert("body".to_owned(), body);
        Ok(Some(Preset { id, card, created: Time(created), updated: Time(updated) }))
    }
}

const fn damaged(column: &'static str, row: i64) -> StoreError {
    StoreError::Inconsistent { table: "presets", column, row }
}

impl Tx<'_> {
    /// Keeps a new preset.
    ///
    /// # Errors
    /// The database fails.
    pub fn put_preset(&mut self, owner: UserId, new: &Preset) -> Result<(), WriteError> {
        let owner_n = self.user_n(owner)?;
        self.run(|conn| {
            let n: Option<i64> = presets::table.select(diesel::dsl::max(presets::n)).get_result(conn)?;
            let row = (
                presets::n.eq(n.unwrap_or(0) + 1),
                presets::id.eq(new.id.as_bytes().to_vec()),
                presets::owner_n.eq(owner_n),
                presets::kind.eq(text(new, "kind")),
                presets::name.eq(text(new, "name")),
                presets::file.eq(new.card.get("file").and_then(Value::as_str)),
                presets::body.eq(body(new)),
                presets::created.eq(new.created.0),
                presets::updated.eq(new.updated.0),
            );
            diesel::insert_into(presets::table).values(row).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Keeps a new preset unless the owner has the same one, and says by which id it is kept.
    ///
    /// # Errors
    /// The database fails.
    pub fn put_preset_once(&mut self, owner: UserId, new: &Preset) -> Result<PresetId, WriteError> {
        let owner_n = self.user_n(owner)?;
        let known: Option<Vec<u8>> = self.run(|conn| {
            let same = presets::table
                .filter(presets::owner_n.eq(owner_n))
                .filter(presets::kind.eq(text(new, "kind")))
                .filter(presets::name.eq(text(new, "name")))
                .filter(presets::body.eq(body(new)))
                .filter(presets::trashed.is_null());
            Ok(same.order(presets::n).select(presets::id).first(conn).optional()?)
        })?;
        if let Some(known) = known.as_deref().and_then(PresetId::from_slice) {
            return Ok(known);
        }
        self.put_preset(owner, new)?;
        Ok(new.id)
    }

    /// Replaces name and body of one of the caller's presets.
    ///
    /// # Errors
    /// It is not there or somebody else's.
    pub fn update_preset(&mut self, owner: UserId, new: &Preset) -> Result<(), WriteError> {
        let set =
            (presets::name.eq(text(new, "name")), presets::body.eq(body(new)), presets::updated.eq(new.updated.0));
        self.change_preset(owner, new.id, |conn, own| diesel::update(presets::table.find(own)).set(set).execute(conn))
    }

    /// The same, if it is still as it was at that moment. Each change gives it a later one.
    ///
    /// # Errors
    /// It is not there or somebody else's.
    pub fn swap_preset(&mut self, owner: UserId, seen: Time, new: &Preset) -> Result<bool, WriteError> {
        let owner_n = self.user_n(owner)?;
        let set =
            (presets::name.eq(text(new, "name")), presets::body.eq(body(new)), presets::updated.eq(new.updated.0));
        let changed = self.run(|conn| {
            let own = presets::table
                .filter(presets::id.eq(new.id.as_bytes().to_vec()))
                .filter(presets::owner_n.eq(owner_n))
                .filter(presets::trashed.is_null())
                .filter(presets::updated.eq(seen.0));
            Ok(diesel::update(own).set(set).execute(conn)?)
        })?;
        Ok(changed == 1)
    }

    /// Moves one of the caller's presets to the trash.
    ///
    /// # Errors
    /// It is not there or somebody else's.
    pub fn trash_preset(&mut self, owner: UserId, id: PresetId, at: Time) -> Result<(), WriteError> {
        let set = presets::trashed.eq(Some(at.0));
        self.change_preset(owner, id, |conn, own| diesel::update(presets::table.find(own)).set(set).execute(conn))
    }

    fn change_preset(
        &mut self,
        owner: UserId,
        id: PresetId,
        change: impl FnOnce(&mut super::conn::Conn, i64) -> QueryResult<usize>,
    ) -> Result<(), WriteError> {
        let owner_n = self.user_n(owner)?;
        let own: Option<i64> = self.run(|conn| {
            let own = presets::table
                .filter(presets::id.eq(id.as_bytes().to_vec()))
                .filter(presets::owner_n.eq(owner_n))
                .filter(presets::trashed.is_null());
            Ok(own.select(presets::n).get_result(conn).optional()?)
        })?;
        let own = own.ok_or(Refusal::NotFound("the preset"))?;
        self.run(|conn| Ok(change(conn, own)?))?;
        Ok(())
    }
}

fn text<'a>(preset: &'a Preset, key: &str) -> &'a str {
    preset.card.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn body(preset: &Preset) -> String {
    preset.card.get("body").map(Value::to_string).unwrap_or_default()
}
