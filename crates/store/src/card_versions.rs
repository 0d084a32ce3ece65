//! Versions of a character's card. A changed card adds a version; the picture, the favourite mark and the links to
//! lorebooks are no part of it, because sessions use those of today. A character whose card never changed has no rows:
//! its present card is version 1.

use std::collections::{BTreeMap, BTreeSet};

use diesel::prelude::*;
use serde_json::{Map, Value, json};

use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, SessionId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::{AllowedScripts, CardRef, RequestedSettings, ScriptConsent, Session};

use super::blobs;
use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::library::CharacterCard;
use super::read::StoreReader;
use super::script_consents::{card_scripts, consent};
use super::tables::{blobs as blob_rows, card_versions, characters, users};
use super::tree_writes::Actor;
use super::tx::Tx;

/// The fields of a card that are no part of a version.
const LIVE_FIELDS: [&str; 4] = ["avatar", "isFavourite", "lorebookId", "extraLorebookIds"];
/// The field whose keys count as fields of their own.
const METADATA: &str = "metadata";

/// Where a version of a card came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardVersionOrigin {
    /// The first version: as the character came or was made.
    Created,
    /// A change by its owner.
    Edited,
    /// A file that was imported over the character.
    Imported,
    /// An older version that was made the present one again.
    Restored,
}

impl CardVersionOrigin {
    const fn to_column(self) -> i16 {
        match self {
            Self::Created => 0,
            Self::Edited => 1,
            Self::Imported => 2,
            Self::Restored => 3,
        }
    }

    const fn from_column(origin: i16) -> Self {
        match origin {
            0 => Self::Created,
            2 => Self::Imported,
            3 => Self::Restored,
            _ => Self::Edited,
        }
    }

    /// Returns the word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Edited => "edit",
            Self::Imported => "import",
            Self::Restored => "restore",
        }
    }
}

/// A version of a card in a list.
#[derive(Debug, Clone, PartialEq)]
pub struct CardVersionSummary {
    /// 1 for the first version.
    pub number: i64,
    pub created: Time,
    pub origin: CardVersionOrigin,
    /// The hash of what versions are compared by, in hexadecimal.
    pub hash: String,
    /// The fields that differ from the version before, such as `firstMessage` and `metadata.creator`, sorted.
    pub changed: Vec<String>,
}

/// A version of a card.
#[derive(Debug, Clone, PartialEq)]
pub struct CardVersion {
    pub summary: CardVersionSummary,
    /// The fields of the card as it was.
    pub card: Map<String, Value>,
}

/// Which version of a character's card a session uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionCardVersion {
    pub character: CharacterId,
    /// `None`: a card that is no version of the character here, such as one that came with a session.
    pub version: Option<i64>,
    /// The newest version of the character; `None` if the character is in the trash or deleted.
    pub newest: Option<i64>,
    /// Whether the character's present card has another content.
    pub is_outdated: bool,
}

/// The columns of a version.
#[derive(Queryable)]
struct CardVersionRow {
    number: i64,
    content: Vec<u8>,
    blob_n: i64,
    origin: i16,
    created: i64,
}

/// A character as it is stored.
struct PresentCard {
    text: String,
    created: i64,
}

impl StoreReader<'_> {
    /// Returns versions of one of the caller's characters, newest first, after `skip` of them. `None` if there is no
    /// such character.
    ///
    /// # Errors
    /// Returns an error if the database fails or a card is damaged.
    pub fn card_versions(
        &mut self,
        caller: UserId,
        id: CharacterId,
        skip: i64,
        limit: i64,
    ) -> Result<Option<Vec<CardVersionSummary>>, StoreError> {
        let Some(present) = present_card(self.conn, caller, id)? else { return Ok(None) };
        // One more than asked for, because each is compared with the one before it.
        let rows = version_rows(self.conn, id, skip, limit + 1)?;
        if rows.is_empty() {
            let first = first_version(&present)?.summary;
            return Ok(Some(if skip == 0 && newest_row(self.conn, id)?.is_none() { vec![first] } else { Vec::new() }));
        }
        let mut found: Vec<CardVersionSummary> = Vec::new();
        let mut later: Option<Map<String, Value>> = None;
        for row in rows {
            let card = row_card(self.conn, &row)?;
            if let (Some(summary), Some(later)) = (found.last_mut(), &later) {
                summary.changed = changed_fields(&card, later);
            }
            later = Some(card);
            found.push(row.into_summary());
        }
        found.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        Ok(Some(found))
    }

    /// Returns one version of one of the caller's characters; `None` if there is no such character or version.
    ///
    /// # Errors
    /// Returns an error if the database fails or a card is damaged.
    pub fn card_version(
        &mut self,
        caller: UserId,
        id: CharacterId,
        number: i64,
    ) -> Result<Option<CardVersion>, StoreError> {
        let Some(present) = present_card(self.conn, caller, id)? else { return Ok(None) };
        let Some(mut found) = version_of(self.conn, id, &present, number)? else { return Ok(None) };
        if let Some(before) = version_of(self.conn, id, &present, number - 1)? {
            found.summary.changed = changed_fields(&before.card, &found.card);
        }
        Ok(Some(found))
    }

    /// Returns which version of each of its cards a session uses.
    ///
    /// # Errors
    /// Returns an error if the database fails or a card is damaged.
    pub fn session_card_versions(&mut self, session: &Session) -> Result<Vec<SessionCardVersion>, StoreError> {
        session.cards.iter().map(|card| session_card(self.conn, session.owner, card)).collect()
    }

    /// Returns the hashes of all blobs that versions of cards use.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub(super) fn hashes_of_card_versions(&mut self) -> Result<Vec<Vec<u8>>, StoreError> {
        let named = card_versions::table.inner_join(blob_rows::table.on(blob_rows::n.eq(card_versions::blob_n)));
        Ok(named.select(blob_rows::hash).distinct().load(self.conn)?)
    }
}

impl Tx<'_> {
    /// Replaces the card of one of the caller's characters, and keeps the old and the new one as versions if their
    /// contents differ. Returns whether they do.
    ///
    /// # Errors
    /// Returns an error if the character does not exist or belongs to another user.
    pub fn save_card_version(
        &mut self,
        owner: UserId,
        new: &CharacterCard,
        origin: CardVersionOrigin,
    ) -> Result<bool, WriteError> {
        let before = self.run(|conn| present_card(conn, owner, new.id))?;
        self.update_character(owner, new)?;
        let Some(before) = before else { return Ok(false) };
        Ok(self.run(|conn| {
            let content = content_hash(&new.card);
            if content_hash(&parse_card(before.text.as_bytes())?) == content {
                return Ok(false);
            }
            let number = match newest_row(conn, new.id)? {
                Some(row) => row.number,
                None => {
                    let first = first_version(&before)?;
                    put_version(conn, new.id, &first, before.text.as_bytes())?;
                    first.summary.number
                }
            };
            let summary = CardVersionSummary {
                number: number + 1,
                created: new.updated,
                origin,
                hash: content.to_hex().to_string(),
                changed: Vec::new(),
            };
            let text = Value::Object(new.card.clone()).to_string();
            put_version(conn, new.id, &CardVersion { summary, card: new.card.clone() }, text.as_bytes())?;
            Ok(true)
        })?)
    }

    /// Lets a session use a version of one of its characters, the newest one without a number. New scripts wait for an
    /// answer. Nothing is written if the session uses it already. Returns the newest operation.
    ///
    /// # Errors
    /// Returns an error if session, character or version do not exist or belong to another user.
    pub fn use_card_version(
        &mut self,
        actor: &Actor,
        session: SessionId,
        character: CharacterId,
        number: Option<i64>,
    ) -> Result<i64, WriteError> {
        let stored = self.session(actor.user, session)?.session;
        let missing = |what, field| TreeError::ReferenceNotFound { what, field };
        let used = stored.cards.iter().find(|card| card.id == character).cloned();
        let used = used.ok_or(missing("the character of the session", "characterId"))?;
        let present = self.run(|conn| present_card(conn, actor.user, character))?;
        let present = present.ok_or(missing("the character", "characterId"))?;
        let text = self.run(|conn| match number {
            None => Ok(Some(present.text.clone().into_bytes())),
            Some(number) => version_text(conn, character, &present, number),
        })?;
        let text = text.ok_or(missing("the version", "version"))?;
        let (card, before) =
            self.run(|conn| Ok((parse_card(&text)?, parse_card(&blobs::by_hash(conn, &used.hash)?)?)))?;
        let hash = self.put_blob(&text)?;
        let cards: Vec<Value> = stored
            .cards
            .iter()
            .map(|held| json!([held.id.to_string(), if held.id == character { &hash } else { &held.hash }]))
            .collect();
        let mut settings = vec![("cards".to_owned(), Value::Array(cards))];
        if card_scripts(&card) != card_scripts(&before) {
            settings.extend(self.script_settings(&stored, card_scripts(&card))?);
        }
        self.set_settings(actor, session, &settings)
    }

    /// Returns the settings that keep new scripts of a session's card off until its owner allows them.
    fn script_settings(
        &mut self,
        session: &Session,
        scripts: Option<&Value>,
    ) -> Result<Vec<(String, Value)>, WriteError> {
        let Some(scripts) = scripts else { return Ok(Vec::new()) };
        let owner_n = self.user_row(session.owner)?;
        let answer = self.run(|conn| consent(conn, owner_n, scripts))?.unwrap_or_default();
        if answer == ScriptConsent::Allowed {
            return Ok(Vec::new());
        }
        let off = AllowedScripts { card: false, ..session.scripts };
        let mut settings = vec![("scripts".to_owned(), json!(off))];
        if answer == ScriptConsent::Asked {
            let wanted = session.requested.scripts.unwrap_or(session.scripts);
            let scripts = Some(AllowedScripts { card: true, ..wanted });
            let requested = RequestedSettings { scripts, ..session.requested.clone() };
            settings.push(("requested".to_owned(), requested.to_json()));
        }
        Ok(settings)
    }
}

/// Deletes the versions of characters that no longer exist.
///
/// # Errors
/// Returns an error if the database fails.
pub(super) fn delete_orphans(conn: &mut Conn) -> QueryResult<usize> {
    let is_left = card_versions::card.eq_any(characters::table.select(characters::id));
    diesel::delete(card_versions::table.filter(diesel::dsl::not(is_left))).execute(conn)
}

/// Makes an older card the present one: its content, with the picture, mark and links of today.
fn with_live_fields(older: &Map<String, Value>, present: &Map<String, Value>) -> Map<String, Value> {
    let mut card = older.clone();
    for field in LIVE_FIELDS {
        match present.get(field) {
            Some(value) => _ = card.insert(field.to_owned(), value.clone()),
            None => _ = card.shift_remove(field),
        }
    }
    card
}

impl CardVersion {
    /// Returns the card of this version with the picture, the favourite mark and the lorebooks of the present card.
    pub fn restored(&self, present: &Map<String, Value>) -> Map<String, Value> {
        with_live_fields(&self.card, present)
    }
}

impl CardVersionRow {
    fn into_summary(self) -> CardVersionSummary {
        let hash = <[u8; blake3::OUT_LEN]>::try_from(self.content).map(blake3::Hash::from_bytes);
        CardVersionSummary {
            number: self.number,
            created: Time(self.created),
            origin: CardVersionOrigin::from_column(self.origin),
            hash: hash.map(|hash| hash.to_hex().to_string()).unwrap_or_default(),
            changed: Vec::new(),
        }
    }
}

fn present_card(conn: &mut Conn, owner: UserId, id: CharacterId) -> Result<Option<PresentCard>, StoreError> {
    let row: Option<(String, i64)> = characters::table
        .inner_join(users::table.on(users::n.eq(characters::owner_n)))
        .filter(users::id.eq(owner.as_bytes().to_vec()))
        .filter(characters::id.eq(id.as_bytes().to_vec()))
        .filter(characters::trashed.is_null())
        .select((characters::card, characters::created))
        .get_result(conn)
        .optional()?;
    Ok(row.map(|(text, created)| PresentCard { text, created }))
}

fn version_rows(conn: &mut Conn, id: CharacterId, skip: i64, limit: i64) -> Result<Vec<CardVersionRow>, StoreError> {
    let own = card_versions::table.filter(card_versions::card.eq(id.as_bytes().to_vec()));
    let columns = (
        card_versions::number,
        card_versions::content,
        card_versions::blob_n,
        card_versions::origin,
        card_versions::created,
    );
    Ok(own.order(card_versions::number.desc()).offset(skip).limit(limit).select(columns).load(conn)?)
}

fn newest_row(conn: &mut Conn, id: CharacterId) -> Result<Option<CardVersionRow>, StoreError> {
    Ok(version_rows(conn, id, 0, 1)?.pop())
}

fn row_of(conn: &mut Conn, id: CharacterId, number: i64) -> Result<Option<CardVersionRow>, StoreError> {
    let Some(newest) = newest_row(conn, id)? else { return Ok(None) };
    // Versions are numbered without gaps.
    let skip = newest.number.saturating_sub(number);
    if number < 1 || skip < 0 { Ok(None) } else { Ok(version_rows(conn, id, skip, 1)?.pop()) }
}

fn row_card(conn: &mut Conn, row: &CardVersionRow) -> Result<Map<String, Value>, StoreError> {
    parse_card(&blobs::get(conn, row.blob_n)?)
}

/// Returns version 1 of a character whose card never changed.
fn first_version(present: &PresentCard) -> Result<CardVersion, StoreError> {
    let card = parse_card(present.text.as_bytes())?;
    let summary = CardVersionSummary {
        number: 1,
        created: Time(present.created),
        origin: CardVersionOrigin::Created,
        hash: content_hash(&card).to_hex().to_string(),
        changed: Vec::new(),
    };
    Ok(CardVersion { summary, card })
}

fn version_of(
    conn: &mut Conn,
    id: CharacterId,
    present: &PresentCard,
    number: i64,
) -> Result<Option<CardVersion>, StoreError> {
    if let Some(row) = row_of(conn, id, number)? {
        let card = row_card(conn, &row)?;
        return Ok(Some(CardVersion { summary: row.into_summary(), card }));
    }
    let is_first = number == 1 && newest_row(conn, id)?.is_none();
    if is_first { first_version(present).map(Some) } else { Ok(None) }
}

/// Returns the JSON text of a version's card.
fn version_text(
    conn: &mut Conn,
    id: CharacterId,
    present: &PresentCard,
    number: i64,
) -> Result<Option<Vec<u8>>, StoreError> {
    match row_of(conn, id, number)? {
        Some(row) => blobs::get(conn, row.blob_n).map(Some),
        None if number == 1 && newest_row(conn, id)?.is_none() => Ok(Some(present.text.clone().into_bytes())),
        None => Ok(None),
    }
}

fn put_version(conn: &mut Conn, id: CharacterId, version: &CardVersion, text: &[u8]) -> Result<(), StoreError> {
    let n: Option<i64> = card_versions::table.select(diesel::dsl::max(card_versions::n)).get_result(conn)?;
    let (blob_n, _) = blobs::put(conn, text)?;
    let row = (
        card_versions::n.eq(n.unwrap_or(0) + 1),
        card_versions::card.eq(id.as_bytes().to_vec()),
        card_versions::number.eq(version.summary.number),
        card_versions::content.eq(content_hash(&version.card).as_bytes().to_vec()),
        card_versions::blob_n.eq(blob_n),
        card_versions::origin.eq(version.summary.origin.to_column()),
        card_versions::created.eq(version.summary.created.0),
    );
    diesel::insert_into(card_versions::table).values(row).execute(conn)?;
    Ok(())
}

fn session_card(conn: &mut Conn, owner: UserId, used: &CardRef) -> Result<SessionCardVersion, StoreError> {
    let unknown = SessionCardVersion { character: used.id, version: None, newest: None, is_outdated: false };
    let Some(present) = present_card(conn, owner, used.id)? else { return Ok(unknown) };
    let newest = newest_row(conn, used.id)?.map_or(1, |row| row.number);
    let current = SessionCardVersion { version: Some(newest), newest: Some(newest), ..unknown };
    // Most sessions use the present card as it is. No card needs to be read for them.
    if blake3::hash(present.text.as_bytes()).to_hex().as_str() == used.hash {
        return Ok(current);
    }
    let content = content_hash(&parse_card(&blobs::by_hash(conn, &used.hash)?)?);
    if content == content_hash(&parse_card(present.text.as_bytes())?) {
        return Ok(current);
    }
    let same = card_versions::table
        .filter(card_versions::card.eq(used.id.as_bytes().to_vec()))
        .filter(card_versions::content.eq(content.as_bytes().to_vec()));
    let version: Option<i64> = same.select(diesel::dsl::max(card_versions::number)).get_result(conn)?;
    Ok(SessionCardVersion { version, is_outdated: true, ..current })
}

fn parse_card(text: &[u8]) -> Result<Map<String, Value>, StoreError> {
    let bad = |_| StoreError::Inconsistent { table: "characters", column: "card", row: 0 };
    serde_json::from_slice(text).map_err(bad)
}

/// Returns what versions of a card are compared by, by the name of each field. Empty fields are as absent ones.
fn content_of(card: &Map<String, Value>) -> BTreeMap<String, Value> {
    let mut content = BTreeMap::new();
    let mut keep = |name: String, value: &Value| {
        if !is_empty(value) {
            content.insert(name, sorted(value));
        }
    };
    for (name, value) in card.iter().filter(|(name, _)| !LIVE_FIELDS.contains(&name.as_str())) {
        match value {
            Value::Object(map) if name == METADATA => {
                map.iter().for_each(|(key, value)| keep(format!("{METADATA}.{key}"), value));
            }
            value => keep(name.clone(), value),
        }
    }
    content
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns a value with the keys of its objects in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, Value> = map.iter().map(|(key, value)| (key, self::sorted(value))).collect();
            sorted.into_iter().map(|(key, value)| (key.clone(), value)).collect::<Map<_, _>>().into()
        }
        Value::Array(list) => list.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

fn content_hash(card: &Map<String, Value>) -> blake3::Hash {
    blake3::hash(json!(content_of(card)).to_string().as_bytes())
}

/// Returns the names of the fields in which two cards differ, sorted.
fn changed_fields(before: &Map<String, Value>, after: &Map<String, Value>) -> Vec<String> {
    let (before, after) = (content_of(before), content_of(after));
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    names.into_iter().filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn card_content_ignores_order_empty_fields_and_live_fields() {
        let one = card(json!({"name": "Rin", "metadata": {"a": 1, "b": {"x": 1, "y": [2]}}, "tags": []}));
        let other = card(json!({
            "metadata": {"b": {"y": [2], "x": 1}, "a": 1}, "name": "Rin", "scenario": "", "isFavourite": true,
            "avatar": "/api/x", "lorebookId": "x",
        }));
        assert_eq!(content_hash(&one), content_hash(&other));
        assert_eq!(changed_fields(&one, &other), Vec::<String>::new());
    }

    #[test]
    fn changed_fields_name_keys_of_metadata() {
        let one = card(json!({"name": "Rin", "description": "a", "metadata": {"creator": "x", "kept": 1}}));
        let other = card(json!({"name": "Rin", "scenario": "b", "metadata": {"creator": "y", "kept": 1}}));
        assert_eq!(changed_fields(&one, &other), ["description", "metadata.creator", "scenario"]);
    }

    #[test]
    fn restored_card_keeps_live_fields_of_today() {
        let older = card(json!({"name": "Rin", "avatar": "/old", "lorebookId": "a"}));
        let present = card(json!({"name": "Rin the second", "avatar": "/new", "isFavourite": true}));
        let expected = card(json!({"name": "Rin", "avatar": "/new", "isFavourite": true}));
        assert_eq!(with_live_fields(&older, &present), expected);
    }
}
