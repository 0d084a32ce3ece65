//! Lorebooks. Entries use the field names of SillyTavern's World Info.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::enums::WordCharacters;
use super::ids::{WireCharacterId, WireId, WireLorebookId, WireNodeId, WirePersonaId, WireSessionId, wire_ids};
use super::import_report::ImportReportResponse;
use super::records::{CodedMessageSchema, LoreSimilaritySchema, LoreVerdictSchema, ScannedLorebookSchema};
use super::{deserialize_non_null, deserialize_object};
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::json_schema::JsonMap;
use clotho_compat::interop::lorebook;
use clotho_compat::prompt::lore;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::tree::lorebook::{changed_fields, validate_lorebook};
use clotho_engine::turn;
use clotho_store as store;

/// A lorebook.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LorebookResponse {
    /// Id of the lorebook.
    pub id: WireLorebookId,
    /// Name of the lorebook.
    pub name: String,
    /// Number of entries.
    pub entry_count: usize,
    /// All entries; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub entries: Option<Vec<LoreEntryResponse>>,
    /// All other fields of the lorebook; absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = JsonMap)]
    pub metadata: Option<Map<String, Value>>,
    /// Creation or import time, ISO 8601 UTC.
    pub created_at: String,
    /// Time of the last change, ISO 8601 UTC.
    pub updated_at: String,
}

/// A lorebook entry with the field names of World Info: `uid`, `key`, `keysecondary`, `comment`, `content`, `constant`,
/// `selective`, `selectiveLogic`, `order`, `position`, `depth`, `role`, `disable`, `probability`, `group` … Unknown
/// fields are kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LoreEntryResponse(pub Map<String, Value>);

impl utoipa::PartialSchema for LoreEntryResponse {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::ObjectBuilder::new()
            .description(Some("A World Info entry; unknown fields are kept"))
            .additional_properties(Some(utoipa::openapi::schema::AdditionalProperties::FreeForm(true)))
            .into()
    }
}

impl ToSchema for LoreEntryResponse {}

impl LoreEntryResponse {
    /// Checks that an entry still has the values that the caller saw.
    ///
    /// # Errors
    /// Returns a conflict with the current entry if a value differs.
    pub fn check_unchanged(&self, now: &Map<String, Value>) -> Result<(), ApiError> {
        let fields = changed_fields(now, &self.0);
        if fields.is_empty() {
            return Ok(());
        }
        Err(ApiError::new(ApiErrorCode::Conflict, "another request changed the entry")
            .hint("read the current entry in details.entry. Send it as expectedEntry to overwrite it")
            .detail("fields", fields)
            .detail("entry", now.clone()))
    }
}

/// Fields of a lorebook: all fields of a new one, or the fields to change.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LorebookFields {
    /// Name of the lorebook; required on creation.
    pub name: Option<String>,
    /// The complete list of entries. An entry without `uid` is new.
    pub entries: Option<Vec<LoreEntryResponse>>,
    /// Which characters are parts of words, for keys that must match whole words. It is `metadata.wordCharacters` of a
    /// response; without one, `unicode`.
    pub word_characters: Option<WordCharacters>,
}

/// A new lorebook entry.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateLoreEntryRequest {
    /// Fields of the entry.
    pub entry: LoreEntryResponse,
}

/// Changes to a lorebook entry.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateLoreEntryRequest {
    /// The fields to change.
    pub entry: LoreEntryResponse,
    /// Precondition: the entry, or some of its fields, as the caller saw it. If a value differs, nothing is changed.
    pub expected_entry: Option<LoreEntryResponse>,
}

/// Deletion of a lorebook entry.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DeleteLoreEntryRequest {
    /// Precondition: the entry, or some of its fields, as the caller saw it. If a value differs, nothing is deleted.
    pub expected_entry: Option<LoreEntryResponse>,
}

/// An imported lorebook.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LorebookImportResponse {
    /// The created lorebook.
    #[serde(flatten)]
    pub lorebook: LorebookResponse,
    /// What was imported, and which parts work here.
    pub report: ImportReportResponse,
}

/// Format of a lorebook export.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct LorebookExportQuery {
    /// File format of the lorebook.
    #[param(inline)]
    pub format: LorebookFormatParam,
}

/// A file format of lorebooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LorebookFormatParam {
    /// A World Info file of SillyTavern.
    #[default]
    World,
    /// A `character_book`, as in a character card.
    Card,
}

/// The bindings of a lorebook: where it is active.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LorebookBindingsResponse {
    /// Active in all sessions of the owner.
    pub everything: bool,
    /// Active in these sessions.
    pub session_ids: Vec<WireSessionId>,
    /// Active while one of these personas is played.
    pub persona_ids: Vec<WirePersonaId>,
    /// Active for replies of these characters, including those whose cards name it.
    pub character_ids: Vec<WireCharacterId>,
}

/// The new bindings of a lorebook. At least one field is required; absent fields become false or empty.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UpdateLorebookBindingsRequest {
    /// Active in all sessions of the owner.
    #[serde(deserialize_with = "deserialize_non_null")]
    #[schema(value_type = bool)]
    pub everything: Option<bool>,
    /// Active in these sessions.
    #[serde(deserialize_with = "deserialize_non_null")]
    #[schema(value_type = Vec<WireSessionId>)]
    pub session_ids: Option<Vec<WireSessionId>>,
    /// Active while one of these personas is played.
    #[serde(deserialize_with = "deserialize_non_null")]
    #[schema(value_type = Vec<WirePersonaId>)]
    pub persona_ids: Option<Vec<WirePersonaId>>,
    /// Active for replies of these characters. Characters that are left out lose it, even if their cards name it.
    #[serde(deserialize_with = "deserialize_non_null")]
    #[schema(value_type = Vec<WireCharacterId>)]
    pub character_ids: Option<Vec<WireCharacterId>>,
}

/// Maximum length of each list of bindings.
const MAX_BINDINGS: usize = 1_000;

impl UpdateLorebookBindingsRequest {
    /// Returns the bindings for the store.
    ///
    /// # Errors
    /// Returns an error if no field is set or a list is too long.
    pub fn read(self) -> Result<store::BindingSet, ApiError> {
        let Self { everything, session_ids, persona_ids, character_ids } = self;
        if everything.is_none() && session_ids.is_none() && persona_ids.is_none() && character_ids.is_none() {
            return Err(ApiError::invalid("everything", "the bindings are missing")
                .hint("send {\"everything\": false} to remove all bindings"));
        }
        let (sessions, personas) = (session_ids.unwrap_or_default(), persona_ids.unwrap_or_default());
        let characters = character_ids.unwrap_or_default();
        check_count("sessionIds", sessions.len())?;
        check_count("personaIds", personas.len())?;
        check_count("characterIds", characters.len())?;
        Ok(store::BindingSet {
            everything: everything.unwrap_or_default(),
            sessions: sessions.into_iter().map(|id| id.0).collect(),
            personas: personas.into_iter().map(|id| id.0).collect(),
            characters: characters.into_iter().map(|id| id.0).collect(),
        })
    }
}

fn check_count(field: &str, length: usize) -> Result<(), ApiError> {
    if length > MAX_BINDINGS {
        return Err(ApiError::invalid(field, format!("expected at most {MAX_BINDINGS} items")));
    }
    Ok(())
}

impl From<store::BindingSet> for LorebookBindingsResponse {
    fn from(holds: store::BindingSet) -> Self {
        Self {
            everything: holds.everything,
            session_ids: wire_ids(&holds.sessions),
            persona_ids: wire_ids(&holds.personas),
            character_ids: wire_ids(&holds.characters),
        }
    }
}

/// Global lorebook settings: how all lorebooks of an owner are scanned. Absent fields get their defaults.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WorldInfoSettingsFields {
    /// Number of newest messages to scan, 0 to 1000; default 2. Entries can override it.
    #[schema(minimum = 0, maximum = 1000)]
    pub scan_depth: i64,
    /// Scan older messages until this many entries are active, 0 to 1000; default 0 = off.
    #[schema(minimum = 0, maximum = 1000)]
    pub min_activations: usize,
    /// Maximum number of messages to scan for `minActivations`, 0 to 1000; default 0 = all.
    #[schema(minimum = 0, maximum = 1000)]
    pub min_activations_depth: i64,
    /// Share of the prompt for lore, in percent from 0 to 100; default 25.
    #[schema(minimum = 0, maximum = 100)]
    pub budget_percent: f64,
    /// Maximum number of tokens for lore, 0 to 10000000; default 0 = no limit.
    #[schema(minimum = 0, maximum = 10_000_000)]
    pub budget_cap: usize,
    /// Scan messages with the names of their speakers; default true.
    pub include_names: bool,
    /// Texts of active entries can activate other entries; default true.
    pub recursive: bool,
    /// Maximum number of scan passes, including the first, 0 to 1000; default 0 = no limit.
    #[schema(minimum = 0, maximum = 1000)]
    pub max_recursion_steps: usize,
    /// Case-sensitive keys; default false. Entries can override it.
    pub case_sensitive: bool,
    /// Keys of one word match whole words only; default true. Entries can override it.
    pub match_whole_words: bool,
    /// Order of entries from different sources; default `characterFirst`.
    pub strategy: WorldInfoStrategy,
    /// In an inclusion group, the entry with the most matching keys wins; default false.
    pub group_scoring: bool,
    /// Settings for activating entries by similarity, without a key.
    #[serde(deserialize_with = "deserialize_object")]
    pub similar: WorldInfoVectorSettings,
}

/// Order of entries from different sources.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorldInfoStrategy {
    /// All in one list.
    Evenly,
    /// Entries of the character first.
    CharacterFirst,
    /// Entries of globally active lorebooks first.
    GlobalFirst,
}

/// Activation of entries by similarity to recent messages. Uses vectors if an embedding model is configured and vectors
/// exist, otherwise shared words.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WorldInfoVectorSettings {
    /// Maximum number of entries, 0 to 100; default 5, 0 = none.
    #[schema(minimum = 0, maximum = 100)]
    pub entries: usize,
    /// Number of newest messages to compare with, 1 to 100; default 2.
    #[schema(minimum = 1, maximum = 100)]
    pub messages: usize,
    /// Minimum cosine similarity in percent, 0 to 100; default 25.
    #[schema(minimum = 0, maximum = 100)]
    pub threshold: u32,
    /// Compare all entries, not only those marked `vectorized`; default false.
    pub all: bool,
}

impl Default for WorldInfoSettingsFields {
    fn default() -> Self {
        Self::from(lore::WorldInfoSettings::default())
    }
}

impl Default for WorldInfoVectorSettings {
    fn default() -> Self {
        WorldInfoSettingsFields::default().similar
    }
}

impl From<lore::WorldInfoSettings> for WorldInfoSettingsFields {
    fn from(settings: lore::WorldInfoSettings) -> Self {
        let lore::SimilaritySettings { entries, messages, threshold, all } = settings.similar;
        Self {
            scan_depth: settings.depth,
            min_activations: settings.min_activations,
            min_activations_depth: settings.min_activations_depth,
            budget_percent: settings.budget,
            budget_cap: settings.budget_cap,
            include_names: settings.includes_names,
            recursive: settings.recursive,
            max_recursion_steps: settings.max_passes,
            case_sensitive: settings.case_sensitive,
            match_whole_words: settings.whole_words,
            strategy: match settings.strategy {
                lore::InsertionStrategy::Evenly => WorldInfoStrategy::Evenly,
                lore::InsertionStrategy::CharacterFirst => WorldInfoStrategy::CharacterFirst,
                lore::InsertionStrategy::GlobalFirst => WorldInfoStrategy::GlobalFirst,
            },
            group_scoring: settings.group_scoring,
            similar: WorldInfoVectorSettings { entries, messages, threshold: threshold.into(), all },
        }
    }
}

impl WorldInfoSettingsFields {
    /// Returns the validated settings.
    ///
    /// # Errors
    /// Returns an error that names the field that is out of range.
    pub fn read(self) -> Result<lore::WorldInfoSettings, ApiError> {
        let WorldInfoVectorSettings { entries, messages, threshold, all } = self.similar;
        let threshold = u8::try_from(threshold).unwrap_or(u8::MAX);
        let settings = lore::WorldInfoSettings {
            depth: self.scan_depth,
            min_activations: self.min_activations,
            min_activations_depth: self.min_activations_depth,
            budget: self.budget_percent,
            budget_cap: self.budget_cap,
            includes_names: self.include_names,
            recursive: self.recursive,
            case_sensitive: self.case_sensitive,
            whole_words: self.match_whole_words,
            strategy: match self.strategy {
                WorldInfoStrategy::Evenly => lore::InsertionStrategy::Evenly,
                WorldInfoStrategy::CharacterFirst => lore::InsertionStrategy::CharacterFirst,
                WorldInfoStrategy::GlobalFirst => lore::InsertionStrategy::GlobalFirst,
            },
            group_scoring: self.group_scoring,
            max_passes: self.max_recursion_steps,
            similar: lore::SimilaritySettings { entries, messages, threshold, all },
            ..lore::WorldInfoSettings::default()
        };
        match settings.out_of_bounds() {
            Some((field, least, most)) => {
                Err(ApiError::invalid(field, format!("{field} must be from {least} to {most}"))
                    .hint(format!("send a number from {least} to {most}, or omit {field} for the default")))
            }
            None => Ok(settings),
        }
    }
}

/// A trial of lorebooks: at a node of a session, or with a text alone.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = LoreTest)]
pub struct LoreTestRequest {
    /// The session whose messages and active lorebooks are used.
    pub session_id: Option<WireSessionId>,
    /// The node that the reply would answer; default HEAD.
    pub node_id: Option<WireNodeId>,
    /// The next message of the session, or the only text without a session.
    pub text: Option<String>,
    /// Additional lorebooks to scan.
    pub lorebook_ids: Vec<WireLorebookId>,
}

impl LoreTestRequest {
    /// Returns the validated trial; `limit` is the maximum size of `text` in bytes.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(self, limit: usize) -> Result<turn::LoreTestSpec, ApiError> {
        check_count("lorebookIds", self.lorebook_ids.len())?;
        if self.text.as_ref().is_some_and(|text| text.len() > limit) {
            let message = format!("a text has at most {limit} bytes");
            return Err(ApiError::new(ApiErrorCode::TooLarge, message).detail("field", "text").detail("limit", limit));
        }
        if self.session_id.is_none() && self.text.is_none() {
            return Err(ApiError::invalid("text", "a text is required without a session")
                .hint("send text with lorebookIds, or sessionId"));
        }
        if self.session_id.is_none() && self.node_id.is_some() {
            return Err(ApiError::invalid("nodeId", "a message is only allowed together with its session"));
        }
        Ok(turn::LoreTestSpec {
            session: self.session_id.map(|id| id.0),
            node: self.node_id.map(|id| id.0),
            text: self.text,
            books: self.lorebook_ids.into_iter().map(|id| id.0).collect(),
        })
    }
}

/// Which entries would fire, and why the others would not.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoreTestResponse {
    /// The scanned lorebooks: `{id, name, scope}`.
    #[schema(value_type = Vec<ScannedLorebookSchema>)]
    pub books: Vec<Value>,
    /// The entries that fire, in order: `{book, uid, title, why, key?, tokens, text}`.
    #[schema(value_type = Vec<LoreVerdictSchema>)]
    pub fired: Vec<Value>,
    /// Entries that matched but do not fire: `{book, uid, title, why}` and details of the reason.
    #[schema(value_type = Vec<LoreVerdictSchema>)]
    pub stopped: Vec<Value>,
    /// Entries that did not match or are disabled; only the first of them.
    #[schema(value_type = Vec<LoreVerdictSchema>)]
    pub silent: Vec<Value>,
    /// Total number of such entries.
    pub silent_count: usize,
    /// Token budget for lore.
    pub budget: usize,
    /// Whether the budget was exceeded.
    pub overflowed: bool,
    /// Number of scan passes.
    pub passes: usize,
    /// The search by similarity: `{by, looked, found, problem?}`; null if it is off.
    #[schema(required, value_type = Option<LoreSimilaritySchema>)]
    pub similar: Option<Value>,
    /// What was aborted or could not be read.
    pub notes: Vec<String>,
    /// The same with code and arguments; lines of plugins have neither.
    #[schema(value_type = Vec<CodedMessageSchema>)]
    pub problems: Vec<RenderedMessage>,
}

impl From<turn::LoreTestOutcome> for LoreTestResponse {
    fn from(tested: turn::LoreTestOutcome) -> Self {
        let turn::LoreTestOutcome {
            books,
            fired,
            stopped,
            silent,
            silent_count,
            budget,
            overflowed,
            passes,
            similar,
            problems,
        } = tested;
        let notes = problems.iter().map(|problem| problem.message.clone()).collect();
        Self { books, fired, stopped, silent, silent_count, budget, overflowed, passes, similar, notes, problems }
    }
}

impl LorebookResponse {
    /// Returns a lorebook with its entries.
    pub fn with_entries(book: &store::Lorebook) -> Self {
        let entries = lorebook::entries(&book.card).into_iter().cloned().map(LoreEntryResponse).collect();
        let rest = book.card.iter().filter(|(key, _)| !matches!(key.as_str(), "name" | "entries"));
        let metadata = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { entries: Some(entries), metadata: Some(metadata), ..Self::without_entries(book) }
    }

    /// Returns a lorebook as a list entry.
    pub fn without_entries(book: &store::Lorebook) -> Self {
        Self {
            id: WireId(book.id),
            name: book.card.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            entry_count: lorebook::entries(&book.card).len(),
            entries: None,
            metadata: None,
            created_at: book.created.to_string(),
            updated_at: book.updated.to_string(),
        }
    }
}

impl LorebookFields {
    /// Writes the fields into a lorebook.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn apply(self, book: &mut Map<String, Value>) -> Result<(), ApiError> {
        if let Some(name) = self.name {
            book.insert("name".to_owned(), name.trim().into());
        }
        if let Some(entries) = self.entries {
            let whole = entries.into_iter().enumerate().map(|(index, entry)| lorebook::with_defaults(&entry.0, index));
            book.insert("entries".to_owned(), lorebook::keyed_by_uid(whole.collect()).into());
        }
        if let Some(words) = self.word_characters {
            book.insert(lore::WordCharacters::FIELD.to_owned(), lore::WordCharacters::from(words).as_str().into());
        }
        book.entry("entries").or_insert_with(|| Map::new().into());
        Ok(validate_lorebook(book)?)
    }
}
