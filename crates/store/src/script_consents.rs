//! Consent for the regex scripts of imported cards and presets. It is kept by content: equal scripts are asked about
//! once, and changed ones again. Scripts without a row run, because their owner wrote them or had them before.

use std::collections::BTreeMap;

use diesel::prelude::*;
use serde_json::{Map, Value, json};

use clotho_core::ids::{CharacterId, PresetId, SessionId, UserId};
use clotho_core::tree::{AllowedScripts, CardRef, RequestedSettings, ScriptConsent};

use super::blobs;
use super::conn::Conn;
use super::error::{StoreError, WriteError};
use super::read::StoreReader;
use super::tables::{characters, presets, script_consents, sessions, users};
use super::tree_writes::Actor;
use super::tx::Tx;

/// How many scripts are looked up at once.
const HASHES_PER_QUERY: usize = 256;
/// The most sessions in which one answer ends the question. The others ask again.
const MAX_ANSWERED_SESSIONS: i64 = 1_000;

const fn to_column(consent: ScriptConsent) -> i16 {
    match consent {
        ScriptConsent::Asked => 0,
        ScriptConsent::Allowed => 1,
        ScriptConsent::Declined => 2,
    }
}

const fn from_column(answer: i16) -> ScriptConsent {
    match answer {
        1 => ScriptConsent::Allowed,
        2 => ScriptConsent::Declined,
        _ => ScriptConsent::Asked,
    }
}

/// Returns the regex scripts of a character's card; `None` if it has none.
pub fn card_scripts(card: &Map<String, Value>) -> Option<&Value> {
    filled_list(card.get("metadata")?.pointer("/extensions/regex_scripts"))
}

/// Returns the regex scripts of a stored preset as a list: those inside it, or the one that it is. `None` if it has none.
pub fn preset_scripts(preset: &Map<String, Value>) -> Option<Value> {
    let body = preset.get("body")?;
    scripts_of_body(preset.get("kind").and_then(Value::as_str).unwrap_or_default(), body)
}

/// The kind of presets that are regex scripts themselves.
pub(super) const REGEX_KIND: &str = "regex";

fn scripts_of_body(kind: &str, body: &Value) -> Option<Value> {
    if kind == REGEX_KIND {
        return Some(json!([body]));
    }
    filled_list(body.pointer("/extensions/regex_scripts")).cloned()
}

fn filled_list(scripts: Option<&Value>) -> Option<&Value> {
    scripts.filter(|scripts| scripts.as_array().is_some_and(|list| !list.is_empty()))
}

fn hash_of(scripts: &Value) -> Vec<u8> {
    blake3::hash(scripts.to_string().as_bytes()).as_bytes().to_vec()
}

impl StoreReader<'_> {
    /// Returns whether a list of scripts may run for an owner; an empty one may.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn script_consent(&mut self, owner: UserId, scripts: Option<&Value>) -> Result<ScriptConsent, StoreError> {
        let Some(scripts) = filled_list(scripts) else { return Ok(ScriptConsent::Allowed) };
        let answer: Option<i16> = script_consents::table
            .inner_join(users::table.on(users::n.eq(script_consents::owner_n)))
            .filter(users::id.eq(owner.as_bytes().to_vec()))
            .filter(script_consents::hash.eq(hash_of(scripts)))
            .select(script_consents::answer)
            .get_result(self.conn)
            .optional()?;
        Ok(answer.map(from_column).unwrap_or_default())
    }

    /// Returns for each of an owner's global regex scripts whether it may run.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn global_script_consents(&mut self, owner: UserId, all: &[Value]) -> Result<Vec<ScriptConsent>, StoreError> {
        let hashes: Vec<Vec<u8>> = all.iter().map(|script| hash_of(&json!([script]))).collect();
        let mut answers: BTreeMap<Vec<u8>, ScriptConsent> = BTreeMap::new();
        for some in hashes.chunks(HASHES_PER_QUERY) {
            let found: Vec<(Vec<u8>, i16)> = script_consents::table
                .inner_join(users::table.on(users::n.eq(script_consents::owner_n)))
                .filter(users::id.eq(owner.as_bytes().to_vec()))
                .filter(script_consents::hash.eq_any(some))
                .select((script_consents::hash, script_consents::answer))
                .load(self.conn)?;
            answers.extend(found.into_iter().map(|(hash, answer)| (hash, from_column(answer))));
        }
        Ok(hashes.iter().map(|hash| answers.get(hash).copied().unwrap_or_default()).collect())
    }
}

impl Tx<'_> {
    /// Keeps the scripts of an imported file from running until their owner allows them. If the owner answered before,
    /// the answer stays. `known`: the scripts that the file replaces; nobody is asked about the same ones.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist or the database fails.
    pub fn ask_for_scripts(
        &mut self,
        owner: UserId,
        scripts: Option<&Value>,
        known: Option<&Value>,
    ) -> Result<(), WriteError> {
        let Some(scripts) = scripts.filter(|_| scripts != known) else { return Ok(()) };
        let owner_n = self.user_row(owner)?;
        Ok(self.run(|conn| {
            if consent(conn, owner_n, scripts)?.is_none() {
                put_consent(conn, owner_n, scripts, ScriptConsent::Asked)?;
            }
            Ok(())
        })?)
    }

    /// Keeps the owner's answer about scripts. Nothing is kept about scripts that nobody asked about and that may run.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist or the database fails.
    pub fn answer_for_scripts(
        &mut self,
        owner: UserId,
        scripts: Option<&Value>,
        is_allowed: bool,
    ) -> Result<(), WriteError> {
        let Some(scripts) = scripts else { return Ok(()) };
        let owner_n = self.user_row(owner)?;
        Ok(self.run(|conn| {
            if is_allowed && consent(conn, owner_n, scripts)?.is_none() {
                return Ok(());
            }
            put_consent(conn, owner_n, scripts, ScriptConsent::of_answer(is_allowed))
        })?)
    }

    /// Declines scripts that wait for an answer.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist or the database fails.
    pub fn decline_asked_scripts(&mut self, owner: UserId, scripts: Option<&Value>) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        Ok(self.run(|conn| answer_if_asked(conn, owner_n, scripts, false))?)
    }

    /// Gives changed scripts the consent of those they replace, so that a small edit of scripts that do not run does
    /// not make them run.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist or the database fails.
    pub fn carry_script_consent(
        &mut self,
        owner: UserId,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Result<(), WriteError> {
        let (Some(before), Some(after)) = (before, after.filter(|_| before != after)) else { return Ok(()) };
        let owner_n = self.user_row(owner)?;
        Ok(self.run(|conn| match consent(conn, owner_n, before)? {
            Some(ScriptConsent::Allowed) | None => Ok(()),
            Some(held) if consent(conn, owner_n, after)?.is_none() => put_consent(conn, owner_n, after, held),
            Some(_) => Ok(()),
        })?)
    }

    /// Answers for the cards and presets of a session whose scripts wait for its owner. An answer that allows them
    /// also holds where the owner declined them before.
    ///
    /// # Errors
    /// Returns an error if the session does not exist or the database fails.
    pub fn answer_for_session_scripts(
        &mut self,
        owner: UserId,
        session: SessionId,
        allowed: AllowedScripts,
    ) -> Result<(), WriteError> {
        let session = self.session(owner, session)?.session;
        let Some(wanted) = session.requested.scripts else { return Ok(()) };
        let owner_n = self.user_row(owner)?;
        if wanted.card {
            for card in &session.cards {
                self.run(|conn| {
                    let card: Map<String, Value> =
                        serde_json::from_slice(&blobs::by_hash(conn, &card.hash)?).unwrap_or_default();
                    answer_if_asked(conn, owner_n, card_scripts(&card), allowed.card)
                })?;
            }
        }
        if let (true, Some(preset)) = (wanted.preset, session.requested.preset) {
            let preset = self.stored_preset_scripts(owner, preset)?;
            self.run(|conn| answer_if_asked(conn, owner_n, preset.as_ref(), allowed.preset))?;
        }
        Ok(())
    }

    /// Ends the question in sessions of an owner that ask only about scripts of cards, if all of these are answered
    /// now. The sessions keep their place in lists. After an import of many chats with one card, one answer is enough.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist or the database fails.
    pub fn apply_script_answers(&mut self, owner: UserId) -> Result<(), WriteError> {
        let owner_n = self.user_row(owner)?;
        let waiting: Vec<Vec<u8>> = self.run(|conn| {
            let own = sessions::table
                .filter(sessions::owner_n.eq(owner_n))
                .filter(sessions::trashed.is_null())
                .filter(sessions::requested.like("{\"scripts\":%"));
            Ok(own.order(sessions::n.desc()).limit(MAX_ANSWERED_SESSIONS).select(sessions::id).load(conn)?)
        })?;
        let mut consents = BTreeMap::new();
        for id in waiting.iter().filter_map(|id| SessionId::from_slice(id)) {
            let session = self.session(owner, id)?.session;
            let asks_only_for = RequestedSettings { scripts: session.requested.scripts, ..Default::default() };
            let Some(wanted) = session.requested.scripts.filter(|wanted| wanted.card) else { continue };
            if session.requested != asks_only_for {
                continue;
            }
            // Scripts that nobody asked about run elsewhere, but a session that waits as a whole may bring a stranger's
            // version of them.
            let unasked = if session.scripts.card { ScriptConsent::Allowed } else { ScriptConsent::Asked };
            let of_card = |card: &CardRef| {
                let consent = self.run(|conn| card_consent(conn, owner_n, &card.hash, &mut consents))?;
                Ok::<_, WriteError>(consent.unwrap_or(unasked))
            };
            let answers = session.cards.iter().map(of_card).collect::<Result<Vec<_>, _>>()?;
            if !answers.contains(&ScriptConsent::Asked) {
                let scripts = AllowedScripts { card: AllowedScripts::of_cards(&answers), preset: wanted.preset };
                let settings = [("scripts".to_owned(), json!(scripts)), ("requested".to_owned(), Value::Null)];
                let actor = Actor { user: owner, at: session.updated, expected_leaf: None };
                self.set_settings(&actor, id, &settings)?;
            }
        }
        Ok(())
    }

    /// Returns the regex scripts of one of an owner's characters as it is stored; `None` if there are none.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist or the database fails.
    pub fn stored_card_scripts(&mut self, owner: UserId, id: CharacterId) -> Result<Option<Value>, WriteError> {
        let owner_n = self.user_row(owner)?;
        let text: Option<String> = self.run(|conn| {
            let own = characters::table
                .filter(characters::id.eq(id.as_bytes().to_vec()))
                .filter(characters::owner_n.eq(owner_n));
            Ok(own.select(characters::card).get_result(conn).optional()?)
        })?;
        let card: Map<String, Value> = text.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        Ok(card_scripts(&card).cloned())
    }

    /// Returns the regex scripts of one of an owner's presets as it is stored; `None` if there are none.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist or the database fails.
    pub fn stored_preset_scripts(&mut self, owner: UserId, id: PresetId) -> Result<Option<Value>, WriteError> {
        let owner_n = self.user_row(owner)?;
        let row: Option<(String, String)> = self.run(|conn| {
            let own =
                presets::table.filter(presets::id.eq(id.as_bytes().to_vec())).filter(presets::owner_n.eq(owner_n));
            Ok(own.select((presets::kind, presets::body)).get_result(conn).optional()?)
        })?;
        Ok(row.and_then(|(kind, text)| scripts_of_body(&kind, &serde_json::from_str(&text).ok()?)))
    }
}

/// Returns the stored consent for scripts.
pub(super) fn consent(conn: &mut Conn, owner_n: i64, scripts: &Value) -> Result<Option<ScriptConsent>, StoreError> {
    let own = script_consents::table
        .filter(script_consents::owner_n.eq(owner_n))
        .filter(script_consents::hash.eq(hash_of(scripts)));
    let answer: Option<i16> = own.select(script_consents::answer).get_result(conn).optional()?;
    Ok(answer.map(from_column))
}

/// Returns the stored consent for the scripts of a card in a session's version, which is read once. A card without
/// scripts is allowed.
fn card_consent(
    conn: &mut Conn,
    owner_n: i64,
    hash: &str,
    known: &mut BTreeMap<String, Option<ScriptConsent>>,
) -> Result<Option<ScriptConsent>, StoreError> {
    if let Some(found) = known.get(hash) {
        return Ok(*found);
    }
    let card: Map<String, Value> = serde_json::from_slice(&blobs::by_hash(conn, hash)?).unwrap_or_default();
    let found = match card_scripts(&card) {
        Some(scripts) => consent(conn, owner_n, scripts)?,
        None => Some(ScriptConsent::Allowed),
    };
    known.insert(hash.to_owned(), found);
    Ok(found)
}

/// Stores the consent for scripts, in place of an earlier one.
fn put_consent(conn: &mut Conn, owner_n: i64, scripts: &Value, consent: ScriptConsent) -> Result<(), StoreError> {
    let hash = hash_of(scripts);
    let answer = script_consents::answer.eq(to_column(consent));
    let own = script_consents::table.find((owner_n, hash.clone()));
    if diesel::update(own).set(answer).execute(conn)? == 0 {
        let row = (script_consents::owner_n.eq(owner_n), script_consents::hash.eq(hash), answer);
        diesel::insert_into(script_consents::table).values(row).execute(conn)?;
    }
    Ok(())
}

/// Stores an answer about scripts that do not run.
fn answer_if_asked(conn: &mut Conn, owner_n: i64, scripts: Option<&Value>, is_allowed: bool) -> Result<(), StoreError> {
    let Some(scripts) = scripts else { return Ok(()) };
    match consent(conn, owner_n, scripts)? {
        Some(ScriptConsent::Asked) => put_consent(conn, owner_n, scripts, ScriptConsent::of_answer(is_allowed)),
        Some(ScriptConsent::Declined) if is_allowed => put_consent(conn, owner_n, scripts, ScriptConsent::Allowed),
        _ => Ok(()),
    }
}
