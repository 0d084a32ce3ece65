//! Regex scripts on the texts of a prompt (`docs/prompts.md`): the user's own, the preset's and the card's, as far as
//! the session allows them. [`clotho_compat::prompt::scripts`] runs them; this module selects them and the origin of
//! each text. No node changes.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use clotho_compat::prompt::macros::MacroEngine;
use clotho_compat::prompt::preset::{HistoryMessage, Preset};
use clotho_compat::prompt::scripts::{
    MAX_SCRIPTS, RegexScript, RegexScriptSet, ScriptNote, ScriptPlacement, ScriptScope, ScriptSkipReason, TextOrigin,
    placement,
};
use clotho_core::coded_message::CodedMessage as _;
use clotho_core::ids::{CharacterId, NodeId};
use clotho_core::tree::{Kind, Node, Role, ScriptConsent, Session};
use clotho_store::{StoreError, StoreReader, StoredSession};

use super::macro_context;
use super::preset_selection::{PresetSelection, select_preset};
use crate::turn::cast::{self, UserPersona};
use crate::turn::snapshot::TurnSnapshot;

/// The kind of presets that hold a user's own scripts.
const KIND: &str = "regex";
/// The maximum number of scripts listed in a trace.
const MAX_LISTED: usize = 200;
/// The maximum length of a reported name, in characters.
const MAX_NAME_CHARS: usize = 100;
/// The maximum number of edits followed to find the origin of a message.
const VERSIONS: usize = 16;

/// The scripts of one prompt, with its macros.
pub struct PromptScripts<'m, 'a> {
    scripts: RegexScriptSet,
    /// Whether some of the user's own scripts were not read because there are too many.
    is_truncated: bool,
    pub macros: &'m mut MacroEngine<'a>,
}

impl<'m, 'a> PromptScripts<'m, 'a> {
    /// Reads the scripts for a snapshot and a preset.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn read(
        reader: &mut StoreReader<'_>,
        snapshot: &TurnSnapshot,
        preset: &Preset,
        macros: &'m mut MacroEngine<'a>,
    ) -> Result<Self, StoreError> {
        let session = snapshot.session();
        let own = reader.preset_bodies(session.owner, KIND)?;
        let mut scripts = RegexScriptSet::default();
        scripts.stop_with(reader.stop_check());
        let consents = reader.global_script_consents(session.owner, &own.all)?;
        for is_allowed in [true, false] {
            let answered =
                own.all.iter().zip(&consents).filter(|(_, one)| (**one == ScriptConsent::Allowed) == is_allowed);
            scripts.add(ScriptScope::Global, is_allowed, answered.map(|(script, _)| script));
        }
        let is_preset_allowed = session.scripts.preset && are_preset_scripts_allowed(reader, session, preset)?;
        scripts.add(ScriptScope::Preset, is_preset_allowed, &preset.scripts);
        let is_card_allowed =
            session.scripts.card && are_card_scripts_allowed(reader, session, &snapshot.cast.scripts)?;
        scripts.add(ScriptScope::Card, is_card_allowed, &snapshot.cast.scripts);
        Ok(Self { scripts, is_truncated: own.is_truncated, macros })
    }

    /// Creates an empty set of scripts, for use without a session.
    pub fn empty(macros: &'m mut MacroEngine<'a>) -> Self {
        Self { scripts: RegexScriptSet::default(), is_truncated: false, macros }
    }

    /// Applies the scripts to a message of the history. `depth` is the number of sent messages after it.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn apply_to_message(
        &mut self,
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        node: &Node,
        said: HistoryMessage,
        depth: usize,
    ) -> Result<HistoryMessage, StoreError> {
        if self.scripts.is_empty() {
            return Ok(said);
        }
        let came = message_origin(reader, held, node)?;
        Ok(self.apply(said, came, i64::try_from(depth).unwrap_or(i64::MAX)))
    }

    /// Applies the scripts to the text of a reply that is being continued, at depth -1. The text has the origin of
    /// that reply, so an imported one is left alone here too.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn apply_to_continued(
        &mut self,
        reader: &mut StoreReader<'_>,
        held: &StoredSession,
        reply: Option<NodeId>,
        said: HistoryMessage,
    ) -> Result<HistoryMessage, StoreError> {
        if self.scripts.is_empty() {
            return Ok(said);
        }
        let reply = reply.map(|id| reader.node(held, id)).transpose()?.flatten();
        let came = reply.map_or(Ok(TextOrigin::Written), |placed| message_origin(reader, held, &placed.node))?;
        Ok(self.apply(said, came, -1))
    }

    /// Applies the scripts to the filled text of a lorebook entry. `depth` is set only for entries inside the history.
    pub fn apply_to_lore(&mut self, text: String, depth: Option<i64>) -> String {
        let place = ScriptPlacement { placement: placement::LORE, depth, speaker: None };
        self.scripts.apply_for_prompt(&text, TextOrigin::Processed, place, &mut *self.macros).unwrap_or(text)
    }

    fn apply(&mut self, said: HistoryMessage, came: TextOrigin, depth: i64) -> HistoryMessage {
        let placement = if said.role == Role::User { placement::USER } else { placement::REPLY };
        let speaker = Some(said.name.as_str()).filter(|_| said.is_other && said.role == Role::Assistant);
        let place = ScriptPlacement { placement, depth: Some(depth), speaker };
        // Scripts run again on a message in each prompt that has it, so what they write does not last.
        self.macros.keep_changes();
        let changed = self.scripts.apply_for_prompt(&said.text, came, place, &mut *self.macros);
        self.macros.forget_changes();
        match changed {
            Some(text) => HistoryMessage { text, ..said },
            None => said,
        }
    }

    /// Formats for the trace how many texts each script changed, and which scripts were skipped and why.
    pub fn to_trace(&self) -> Vec<Value> {
        let mut told: Vec<Value> = self.scripts.notes().take(MAX_LISTED).map(note_trace).collect();
        if self.is_truncated {
            let mut note = json!({"scope": ScriptScope::Global.as_str(), "changed": 0});
            add_skip_reason(&mut note, &ScriptSkipReason::TooManyBytes {});
            told.push(note);
        }
        told
    }
}

/// A script of a session, whether or not the session allows it.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopedScript {
    /// Its source.
    pub scope: ScriptScope,
    /// The character whose card contains it; `None` for other scripts.
    pub character: Option<CharacterId>,
    /// The name of the preset or character that contains it; empty for the user's own.
    pub source_name: String,
    /// Whether the owner has not allowed it, or the scripts of its preset, or in a group those of its card.
    pub is_withheld: bool,
    pub script: RegexScript,
}

/// Returns the scripts of a session whose model has these names, in the order in which they run. Includes those of all
/// characters.
///
/// # Errors
/// Returns an error if the database fails or a card that the session keeps is missing.
pub fn session_scripts(
    reader: &mut StoreReader<'_>,
    session: &Session,
    names: &[String],
) -> Result<Vec<ScopedScript>, StoreError> {
    let mut all: Vec<ScopedScript> = Vec::new();
    let mut take = |origin: ScriptOrigin<'_>, list: &[Value]| {
        let more = MAX_SCRIPTS.saturating_sub(all.len());
        all.extend(list.iter().filter_map(RegexScript::read).take(more).map(|script| origin.own(script)));
    };
    let own = reader.preset_bodies(session.owner, KIND)?.all;
    for (script, consent) in own.iter().zip(reader.global_script_consents(session.owner, &own)?) {
        let is_withheld = consent != ScriptConsent::Allowed;
        take(ScriptOrigin { is_withheld, ..ScriptOrigin::new(ScriptScope::Global, "") }, std::slice::from_ref(script));
    }
    let PresetSelection { preset, reason: by } = select_preset(reader, session, names)?;
    let name = by.preset_name.map(|(_, name)| name).unwrap_or_default();
    let is_withheld = !are_preset_scripts_allowed(reader, session, &preset)?;
    take(ScriptOrigin { is_withheld, ..ScriptOrigin::new(ScriptScope::Preset, &name) }, &preset.scripts);
    for card in &session.cards {
        let cast = cast::cast_of_cards(&cast::card_object(&reader.blob(&card.hash)?), &Map::new());
        let is_withheld = !are_card_scripts_allowed(reader, session, &cast.scripts)?;
        let origin = ScriptOrigin::new(ScriptScope::Card, &cast.character);
        let origin = ScriptOrigin { character: Some(card.id), is_withheld, ..origin };
        take(origin, &cast.scripts);
    }
    Ok(all)
}

/// Where the scripts of a list come from.
#[derive(Clone, Copy)]
struct ScriptOrigin<'a> {
    scope: ScriptScope,
    character: Option<CharacterId>,
    source_name: &'a str,
    is_withheld: bool,
}

impl<'a> ScriptOrigin<'a> {
    const fn new(scope: ScriptScope, source_name: &'a str) -> Self {
        Self { scope, character: None, source_name, is_withheld: false }
    }

    fn own(self, script: RegexScript) -> ScopedScript {
        let Self { scope, character, source_name, is_withheld } = self;
        ScopedScript { scope, character, source_name: source_name.to_owned(), is_withheld, script }
    }
}

/// Returns whether the owner has allowed the scripts of a preset. Those of cards are asked about when a session starts,
/// because a session keeps its cards; a preset can change.
fn are_preset_scripts_allowed(
    reader: &mut StoreReader<'_>,
    session: &Session,
    preset: &Preset,
) -> Result<bool, StoreError> {
    let scripts = Value::from(preset.scripts.clone());
    Ok(reader.script_consent(session.owner, Some(&scripts))? == ScriptConsent::Allowed)
}

/// Returns whether the owner has allowed the scripts of a card, as far as its session cannot say that. A session with one
/// card keeps its own setting. A group has one for all of its cards, so there the answer about each card counts too.
fn are_card_scripts_allowed(
    reader: &mut StoreReader<'_>,
    session: &Session,
    scripts: &[Value],
) -> Result<bool, StoreError> {
    if session.cards.len() < 2 {
        return Ok(true);
    }
    let scripts = Value::from(scripts.to_vec());
    Ok(reader.script_consent(session.owner, Some(&scripts))? == ScriptConsent::Allowed)
}

/// The values of macros by name.
pub type MacroValues = BTreeMap<&'static str, String>;

/// The data with which a page applies scripts to shown messages.
#[derive(Debug, Clone, Default)]
pub struct DisplayScripts {
    /// The scripts that affect the display, in the order in which they run.
    pub scripts: Vec<ScopedScript>,
    /// The macro values per speaker; the first entry also applies where no speaker is known.
    pub casts: Vec<(Option<CharacterId>, MacroValues)>,
    /// The global variables, if a script uses one.
    pub globals: Map<String, Value>,
}

/// Macros that are always included, because any text may have captured them.
const NAMES: [&str; 5] = ["user", "char", "group", "charIfNotGroup", "notChar"];
/// Macros that are included only if a script names them, because their values may be long.
const TEXTS: [&str; 10] = [
    "persona",
    "description",
    "charDescription",
    "personality",
    "charPersonality",
    "scenario",
    "charScenario",
    "charVersion",
    "char_version",
    "creatorNotes",
];

/// Returns what is needed to show the messages of a session whose model has these names; empty without such scripts.
///
/// # Errors
/// Returns an error if the database fails or a card that the session keeps is missing.
pub fn display_scripts(
    reader: &mut StoreReader<'_>,
    session: &Session,
    names: &[String],
) -> Result<DisplayScripts, StoreError> {
    let mut scripts = session_scripts(reader, session, names)?;
    scripts.retain(|known| known.is_allowed(session) && known.script.affects_display());
    if scripts.is_empty() {
        return Ok(DisplayScripts::default());
    }
    let said = |name: &str| scripts.iter().any(|known| known.script.contains_text(name));
    let wanted: Vec<&'static str> =
        NAMES.into_iter().chain(TEXTS.into_iter().filter(|name| said(&name.to_lowercase()))).collect();
    let globals =
        if said("global") || said("{{$") { macro_context::globals(reader, session.owner)? } else { Map::new() };
    let mut speakers: Vec<Option<CharacterId>> = session.cards.iter().map(|card| Some(card.id)).collect();
    if speakers.is_empty() {
        speakers.push(None);
    }
    let mut casts = Vec::with_capacity(speakers.len());
    for speaker in speakers {
        let facts = cast::read(reader, session, speaker, &UserPersona::default())?.macro_context();
        let mut draw = || 0.0;
        let mut macros = MacroEngine::new(&facts, Map::new(), globals.clone(), &mut draw);
        let values = wanted.iter().map(|name| (*name, macros.fill(&format!("{{{{{name}}}}}"))));
        casts.push((speaker, values.collect()));
    }
    Ok(DisplayScripts { scripts, casts, globals })
}

impl ScopedScript {
    /// Returns whether a session allows the script.
    pub const fn is_allowed(&self, session: &Session) -> bool {
        match self.scope {
            ScriptScope::Global => !self.is_withheld,
            ScriptScope::Preset => session.scripts.preset && !self.is_withheld,
            ScriptScope::Card => session.scripts.card && !self.is_withheld,
        }
    }
}

fn note_trace(note: &ScriptNote) -> Value {
    let name: String = note.name.chars().take(MAX_NAME_CHARS).collect();
    let mut told = json!({"name": name, "scope": note.scope.as_str(), "changed": note.changed});
    if let Some(why) = &note.reason {
        add_skip_reason(&mut told, why);
    }
    told
}

/// Adds to the trace of a script why it was skipped.
fn add_skip_reason(told: &mut Value, why: &ScriptSkipReason) {
    let Some(map) = told.as_object_mut() else { return };
    map.insert("why".into(), why.code().into());
    let args = why.args();
    if !args.is_empty() {
        map.insert("args".into(), args.into());
    }
    map.insert("message".into(), why.to_string().into());
}

/// Returns the origin of a message's text. Clotho stores texts as written, so one-time scripts still have to run on
/// them. Imported messages are already processed, and later versions of those count as edited.
fn message_origin(reader: &mut StoreReader<'_>, held: &StoredSession, node: &Node) -> Result<TextOrigin, StoreError> {
    if node.kind == Kind::Summary || is_imported(node) {
        return Ok(TextOrigin::Processed);
    }
    let mut before = edited_from(node);
    for _ in 0..VERSIONS {
        let Some(id) = before else { break };
        let Some(version) = reader.node(held, id)? else { break };
        if is_imported(&version.node) {
            return Ok(TextOrigin::Edited);
        }
        before = edited_from(&version.node);
    }
    Ok(TextOrigin::Written)
}

/// Returns the version from which a node was edited.
fn edited_from(node: &Node) -> Option<NodeId> {
    node.metadata.edited_from
}

/// Returns whether a message was imported from a file.
fn is_imported(node: &Node) -> bool {
    node.metadata.provenance.as_ref().is_some_and(|provenance| provenance.file.is_some())
}
