//! Presets: prompt settings of other programs, each stored as its original JSON. Lists are by kind and without
//! bodies.

use diesel::connection::DefaultLoadingMode;
use diesel::prelude::*;
use serde_json::{Map, Value};

use crate::archive::SessionLine;
use clotho_compat::interop::preset::remove_secrets;
use clotho_compat::prompt::preset::models_of;
use clotho_core::clock::Time;
use clotho_core::ids::{PresetId, UserId};
use clotho_core::tree::ScriptConsent;
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::preset::validate_preset;

use super::error::{StoreError, WriteError};
use super::library::LibraryItem;
use super::read::StoreReader;
use super::script_consents::{REGEX_KIND, preset_scripts};
use super::tables::{presets, users};
use super::tx::Tx;

/// A preset; its card is `{kind, name, file?, body}`.
pub type StoredPreset = LibraryItem<PresetId>;

/// A preset without its body, for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PresetHead {
    pub id: PresetId,
    /// The kind, such as `openai`.
    pub kind: String,
    pub name: String,
    /// The file from which it was imported.
    pub file: Option<String>,
    pub created: Time,
    pub updated: Time,
    /// The models for which it is the default.
    pub models: Vec<String>,
}

/// The bodies of all presets of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PresetBodies {
    /// The bodies, oldest first.
    pub all: Vec<Value>,
    /// Whether more exist than are read at once.
    pub is_truncated: bool,
}

/// After this many bytes, no further preset of a kind is read.
const MAX_BODY_BYTES: usize = 4 << 20;

/// The columns of a preset in a list.
type PresetListColumns = (i64, Vec<u8>, String, String, Option<String>, i64, i64, Option<String>);

/// The columns of a whole preset.
type PresetColumns = (i64, String, String, Option<String>, String, i64, i64);

impl StoreReader<'_> {
    /// Returns the caller's presets, oldest first, after skipping `skip` of them. `kind` restricts them to one
    /// kind.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
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
        let rows: Vec<PresetListColumns> = own
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
                presets::models,
            ))
            .load(self.conn)?;
        let head = |(n, id, kind, name, file, created, updated, models): PresetListColumns| {
            let id = PresetId::from_slice(&id).ok_or_else(|| damaged_row("id", n))?;
            let models = models.map_or(Ok(Vec::new()), |models| serde_json::from_str(&models));
            let models = models.map_err(|_| damaged_row("models", n))?;
            Ok(PresetHead { id, kind, name, file, created: Time(created), updated: Time(updated), models })
        };
        rows.into_iter().map(head).collect()
    }

    /// Returns the caller's presets that name models, oldest first, with these models.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn presets_for_models(&mut self, caller: UserId) -> Result<Vec<(PresetId, Vec<String>)>, StoreError> {
        let own = presets::table
            .inner_join(users::table.on(users::n.eq(presets::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(presets::models.is_not_null())
            .filter(presets::trashed.is_null())
            .order(presets::n)
            .select((presets::n, presets::id, presets::models));
        let rows: Vec<(i64, Vec<u8>, Option<String>)> = own.load(self.conn)?;
        let read = |(n, id, models): (i64, Vec<u8>, Option<String>)| {
            let id = PresetId::from_slice(&id).ok_or_else(|| damaged_row("id", n))?;
            let models = serde_json::from_str(&models.unwrap_or_default()).map_err(|_| damaged_row("models", n))?;
            Ok((id, models))
        };
        rows.into_iter().map(read).collect()
    }

    /// Returns the bodies of the caller's presets of a kind, oldest first, up to a size limit.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn preset_bodies(&mut self, caller: UserId, kind: &str) -> Result<PresetBodies, StoreError> {
        let own = presets::table
            .inner_join(users::table.on(users::n.eq(presets::owner_n)))
            .filter(users::id.eq(caller.as_bytes().to_vec()))
            .filter(presets::kind.eq(kind))
            .filter(presets::trashed.is_null())
            .order(presets::n)
            .select((presets::n, presets::body));
        let (mut bodies, mut bytes) = (PresetBodies::default(), 0_usize);
        for row in own.load_iter::<(i64, String), DefaultLoadingMode>(self.conn)? {
            let (n, body) = row?;
            if bytes > MAX_BODY_BYTES {
                bodies.is_truncated = true;
                break;
            }
            bytes = bytes.saturating_add(body.len());
            bodies.all.push(serde_json::from_str(&body).map_err(|_| damaged_row("body", n))?);
        }
        Ok(bodies)
    }

    /// Returns the consent for the presets of a list that are regex scripts; `None` for all others.
    ///
    /// # Errors
    /// Returns an error if the database fails or a row is damaged.
    pub fn listed_script_consents(
        &mut self,
        owner: UserId,
        heads: &[PresetHead],
    ) -> Result<Vec<Option<ScriptConsent>>, StoreError> {
        let mut scripts = Vec::new();
        for head in heads.iter().filter(|head| head.kind == REGEX_KIND) {
            let preset = self.preset(owner, head.id)?;
            scripts.push(preset.and_then(|preset| preset.card.get("body").cloned()).unwrap_or_default());
        }
        let mut consents = self.global_script_consents(owner, &scripts)?.into_iter();
        Ok(heads.iter().map(|head| if head.kind == REGEX_KIND { consents.next() } else { None }).collect())
    }

    /// Returns one of the caller's presets.
    ///
    /// # Errors
    /// Returns an error if the database fails or the row is damaged.
    pub fn preset(&mut self, caller: UserId, id: PresetId) -> Result<Option<StoredPreset>, StoreError> {
        let row: Option<PresetColumns> = presets::table
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
        let body: Value = serde_json::from_str(&body).map_err(|_| damaged_row("body", n))?;
        let mut card = Map::from_iter([("kind".to_owned(), kind.into()), ("name".to_owned(), name.into())]);
        card.extend(file.map(|file| ("file".to_owned(), file.into())));
        card.insert("body".to_owned(), body);
        Ok(Some(StoredPreset { id, card, created: Time(created), updated: Time(updated) }))
    }
}

/// Returns name and body of a prompt preset for the export of a session, without secrets.
pub(super) fn exportable_preset(
    conn: &mut super::conn::Conn,
    owner: UserId,
    id: PresetId,
) -> Result<Option<(String, String)>, StoreError> {
    let row: Option<(i64, String, String)> = presets::table
        .inner_join(users::table.on(users::n.eq(presets::owner_n)))
        .filter(users::id.eq(owner.as_bytes().to_vec()))
        .filter(presets::id.eq(id.as_bytes().to_vec()))
        .filter(presets::kind.eq("openai"))
        .filter(presets::trashed.is_null())
        .select((presets::n, presets::name, presets::body))
        .get_result(conn)
        .optional()?;
    let Some((n, name, body)) = row else { return Ok(None) };
    let mut body: Map<String, Value> = serde_json::from_str(&body).map_err(|_| damaged_row("body", n))?;
    remove_secrets(&mut body);
    Ok(Some((name, Value::from(body).to_string())))
}

const fn damaged_row(column: &'static str, row: i64) -> StoreError {
    StoreError::Inconsistent { table: "presets", column, row }
}

impl Tx<'_> {
    /// Adds a preset.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn put_preset(&mut self, owner: UserId, new: &StoredPreset) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
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
                presets::models.eq(models(new)),
            );
            diesel::insert_into(presets::table).values(row).execute(conn)?;
            Ok(())
        })?;
        Ok(())
    }

    /// Adds a preset unless the owner has an identical one; returns the id of the stored one.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn put_preset_if_new(&mut self, owner: UserId, new: &StoredPreset) -> Result<PresetId, WriteError> {
        let owner_n = self.user_row(owner)?;
        let existing: Option<Vec<u8>> = self.run(|conn| {
            let same = presets::table
                .filter(presets::owner_n.eq(owner_n))
                .filter(presets::kind.eq(text(new, "kind")))
                .filter(presets::name.eq(text(new, "name")))
                .filter(presets::body.eq(body(new)))
                .filter(presets::trashed.is_null());
            Ok(same.order(presets::n).select(presets::id).first(conn).optional()?)
        })?;
        if let Some(existing) = existing.as_deref().and_then(PresetId::from_slice) {
            return Ok(existing);
        }
        self.put_preset(owner, new)?;
        Ok(new.id)
    }

    /// Adds the preset of an imported session. If its id is or was in use, nothing is added: the preset was
    /// changed or deleted since. Invalid presets are skipped too.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub(super) fn import_preset(
        &mut self,
        owner: UserId,
        line: &SessionLine,
        is_trusted: bool,
    ) -> Result<(), WriteError> {
        let (Some(id), Some(stored)) = (line.preset, &line.preset_kept) else { return Ok(()) };
        let Ok(Value::Object(mut body)) = serde_json::from_str(stored.body.get()) else { return Ok(()) };
        // The preset came for this session, so it must not become the default of other models.
        if let Some(own) =
            body.get_mut("extensions").and_then(|extensions| extensions.get_mut("clotho")?.as_object_mut())
        {
            own.shift_remove("models");
        }
        let card = [("kind", "openai".into()), ("name", stored.name.clone().into()), ("body", Value::from(body))];
        let card: Map<String, Value> = card.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let existing: i64 = self.run(|conn| {
            let same = presets::table.filter(presets::id.eq(id.as_bytes().to_vec()));
            Ok(same.count().get_result(conn)?)
        })?;
        if existing > 0 || validate_preset(&card).is_err() {
            return Ok(());
        }
        if !is_trusted {
            self.ask_for_scripts(owner, preset_scripts(&card).as_ref(), None)?;
        }
        let at = Time(line.updated);
        self.put_preset(owner, &StoredPreset { id, card, created: at, updated: at })
    }

    /// Replaces name and body of one of the caller's presets.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn update_preset(&mut self, owner: UserId, new: &StoredPreset) -> Result<(), WriteError> {
        let set = (
            presets::name.eq(text(new, "name")),
            presets::body.eq(body(new)),
            presets::updated.eq(new.updated.0),
            presets::models.eq(models(new)),
        );
        self.change_preset(owner, new.id, |conn, own| diesel::update(presets::table.find(own)).set(set).execute(conn))
    }

    /// Does the same if the preset has not changed since `seen`. Returns whether it was replaced.
    ///
    /// # Errors
    /// Returns an error if the database fails or the user does not exist.
    pub fn swap_preset(&mut self, owner: UserId, seen: Time, new: &StoredPreset) -> Result<bool, WriteError> {
        let owner_n = self.user_row(owner)?;
        let set = (
            presets::name.eq(text(new, "name")),
            presets::body.eq(body(new)),
            presets::updated.eq(new.updated.0),
            presets::models.eq(models(new)),
        );
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
    /// Returns an error if it does not exist or belongs to another user.
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
        let owner_n = self.user_row(owner)?;
        let own: Option<i64> = self.run(|conn| {
            let own = presets::table
                .filter(presets::id.eq(id.as_bytes().to_vec()))
                .filter(presets::owner_n.eq(owner_n))
                .filter(presets::trashed.is_null());
            Ok(own.select(presets::n).get_result(conn).optional()?)
        })?;
        let own = own.ok_or(TreeError::NotFound("the preset"))?;
        self.run(|conn| Ok(change(conn, own)?))?;
        Ok(())
    }
}

fn text<'a>(preset: &'a StoredPreset, key: &str) -> &'a str {
    preset.card.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the models of a preset as JSON, if it names any.
fn models(preset: &StoredPreset) -> Option<String> {
    let body = preset.card.get("body")?.as_object().filter(|_| text(preset, "kind") == "openai")?;
    let models = models_of(body);
    (!models.is_empty()).then(|| Value::from(models).to_string())
}

fn body(preset: &StoredPreset) -> String {
    preset.card.get("body").map(Value::to_string).unwrap_or_default()
}
