//! Lorebooks: entries in the form of world info, whose fields keep the names that they have there.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireCharacterId, WireId, WireLorebookId, WireNodeId, WirePersonaId, WireSessionId, wire_ids};
use super::import_report::ImportReportResponse;
use super::{deserialize_object, said};
use crate::http::error::{ApiError, ApiErrorCode};
use clotho_compat::interop::lorebook;
use clotho_compat::prompt::lore;
use clotho_core::tree::lorebook::{changed_fields, validate_lorebook};
use clotho_engine::turn;
use clotho_store as store;

/// A lorebook.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LorebookResponse {
    /// Its id.
    pub id: WireLorebookId,
    /// Its name.
    pub name: String,
    /// How many entries it has.
    pub entry_count: usize,
    /// Its entries; in a list of books they are left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<Vec<LoreEntryResponse>>,
    /// Everything else that it says; in a list of books it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// When it came.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// An entry of a lorebook, with the names of world info: `uid`, `key`, `keysecondary`, `comment`, `content`,
/// `constant`, `selective`, `selectiveLogic`, `order`, `position`, `depth`, `role`, `disable`, `probability`, `group` …
/// What is unknown is kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LoreEntryResponse(pub Map<String, Value>);

impl utoipa::PartialSchema for LoreEntryResponse {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
        utoipa::openapi::schema::ObjectBuilder::new()
            .description(Some("An entry in the form of world info; unknown fields are kept"))
            .additional_properties(Some(utoipa::openapi::schema::AdditionalProperties::FreeForm(true)))
            .into()
    }
}

impl ToSchema for LoreEntryResponse {}

impl LoreEntryResponse {
    /// Whether an entry still says what somebody saw there.
    ///
    /// # Errors
    /// It does not; the refusal has the entry as it is now.
    pub fn check_unchanged(&self, now: &Map<String, Value>) -> Result<(), ApiError> {
        let fields = changed_fields(now, &self.0);
        if fields.is_empty() {
            return Ok(());
        }
        Err(ApiError::new(ApiErrorCode::Conflict, "somebody else changed the entry meanwhile")
            .hint(
                "see in details.entry what it says now, and send again with that as expectedEntry if you still mean it",
            )
            .detail("fields", fields)
            .detail("entry", now.clone()))
    }
}

/// Fields of a lorebook: all of a new one, or those that change.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LorebookFields {
    /// Its name; a new one must have one.
    pub name: Option<String>,
    /// Its entries, all of them. One without `uid` is new.
    pub entries: Option<Vec<LoreEntryResponse>>,
}

/// What a new entry says.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateLoreEntryRequest {
    /// Its fields.
    pub entry: LoreEntryResponse,
}

/// What an entry is to say.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UpdateLoreEntryRequest {
    /// The fields that change.
    pub entry: LoreEntryResponse,
    /// What the caller saw there, all of it or some fields: if one of them says something else by now, nothing is
    /// changed.
    pub expected_entry: Option<LoreEntryResponse>,
}

/// An entry that goes.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct DeleteLoreEntryRequest {
    /// What the caller saw there, all of it or some fields: if one of them says something else by now, it stays.
    pub expected_entry: Option<LoreEntryResponse>,
}

/// A lorebook that came from another program.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LorebookImportResponse {
    /// The lorebook.
    #[serde(flatten)]
    pub lorebook: LorebookResponse,
    /// What came over, and what of it works here.
    pub report: ImportReportResponse,
}

/// In which form a book goes out.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct LorebookExportQuery {
    /// The form.
    #[param(inline)]
    pub format: LorebookFormatParam,
}

/// A form of lorebooks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum LorebookFormatParam {
    /// World info by itself.
    #[default]
    World,
    /// As it stands in a card.
    Card,
}

/// For what a lorebook holds.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LorebookBindingsResponse {
    /// It holds in every session.
    pub everything: bool,
    /// It holds in these sessions.
    pub session_ids: Vec<WireSessionId>,
    /// It holds where one of these personas is played.
    pub persona_ids: Vec<WirePersonaId>,
    /// It holds for replies of these characters. Those whose cards name it are among them, and lose it when they are
    /// left out.
    pub character_ids: Vec<WireCharacterId>,
}

/// For what a lorebook is to hold, and for nothing else: at least one of the fields is said, and the others are false and empty.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UpdateLorebookBindingsRequest {
    /// It holds in every session.
    #[serde(deserialize_with = "said")]
    #[schema(value_type = bool)]
    pub everything: Option<bool>,
    /// It holds in these sessions.
    #[serde(deserialize_with = "said")]
    #[schema(value_type = Vec<WireSessionId>)]
    pub session_ids: Option<Vec<WireSessionId>>,
    /// It holds where one of these personas is played.
    #[serde(deserialize_with = "said")]
    #[schema(value_type = Vec<WirePersonaId>)]
    pub persona_ids: Option<Vec<WirePersonaId>>,
    /// It holds for replies of these characters. Those whose cards name it lose it when they are left out.
    #[serde(deserialize_with = "said")]
    #[schema(value_type = Vec<WireCharacterId>)]
    pub character_ids: Option<Vec<WireCharacterId>>,
}

/// So many things of a kind are named at once.
const MAX_BINDINGS: usize = 1_000;

impl UpdateLorebookBindingsRequest {
    /// What the store keeps.
    ///
    /// # Errors
    /// Nothing is said, or a list is too long.
    pub fn read(self) -> Result<store::BindingSet, ApiError> {
        let Self { everything, session_ids, persona_ids, character_ids } = self;
        if everything.is_none() && session_ids.is_none() && persona_ids.is_none() && character_ids.is_none() {
            return Err(ApiError::invalid("everything", "nothing is said of what the book is to hold for")
                .hint("say {\"everything\": false} if it is to hold for nothing"));
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
        return Err(ApiError::invalid(field, format!("at most {MAX_BINDINGS} are named at once")));
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

/// The house rules of lore: how every lorebook of their owner is looked through. What is left out is as it is shipped.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WorldInfoSettingsFields {
    /// How many messages are looked at, the newest first, where an entry does not say so itself.
    #[schema(minimum = 0, maximum = 1000)]
    pub scan_depth: i64,
    /// As long as fewer entries are active, older messages are looked at; 0 = no.
    #[schema(minimum = 0, maximum = 1000)]
    pub min_activations: usize,
    /// But no more than so many messages for that; 0 = all.
    #[schema(minimum = 0, maximum = 1000)]
    pub min_activations_depth: i64,
    /// The share of the prompt that lore may take, in hundredths.
    #[schema(minimum = 0, maximum = 100)]
    pub budget_percent: f64,
    /// But no more tokens than this; 0 = no such limit.
    #[schema(minimum = 0, maximum = 10_000_000)]
    pub budget_cap: usize,
    /// Messages are looked at with the names of their speakers.
    pub include_names: bool,
    /// Texts of entries call up others.
    pub recursive: bool,
    /// How often the books are looked through at most, the first time included; 0 = no such limit.
    #[schema(minimum = 0, maximum = 1000)]
    pub max_recursion_steps: usize,
    /// Capitals count, where an entry does not say otherwise.
    pub case_sensitive: bool,
    /// Keys of one word are not found inside of others, where an entry does not say otherwise.
    pub match_whole_words: bool,
    /// Whose entries come first.
    pub strategy: WorldInfoStrategy,
    /// In a group the entry with the most keys wins.
    pub group_scoring: bool,
    /// Which entries are called up without a key.
    #[serde(deserialize_with = "deserialize_object")]
    pub similar: WorldInfoVectorSettings,
}

/// Whose entries come first.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum WorldInfoStrategy {
    /// All in one list.
    Evenly,
    /// The character's.
    CharacterFirst,
    /// Those for everything.
    GlobalFirst,
}

/// When entries are called up because they fit what was said: by vectors where a model of embeddings is set and has
/// made some, else by the words that both share.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct WorldInfoVectorSettings {
    /// At most so many entries at once; 0 = none.
    #[schema(minimum = 0, maximum = 100)]
    pub entries: usize,
    /// They have to fit the last so many messages.
    #[schema(minimum = 1, maximum = 100)]
    pub messages: usize,
    /// How near their vectors have to be, in hundredths.
    #[schema(minimum = 0, maximum = 100)]
    pub threshold: u32,
    /// All entries, and not only those that say so themselves (`vectorized`).
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
    /// The house rules.
    ///
    /// # Errors
    /// Names the field that does not fit.
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
            Some((field, least, most)) => Err(ApiError::invalid(field, format!("{field} is from {least} to {most}"))
                .hint(format!("send a number from {least} to {most}, or leave {field} out for what is usual"))),
            None => Ok(settings),
        }
    }
}

/// What is tried: a place in a session, or a text by itself.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[schema(as = LoreTest)]
pub struct LoreTestRequest {
    /// The session in which it is tried, with what was said there and the lorebooks that hold there.
    pub session_id: Option<WireSessionId>,
    /// The message after which a reply would come; HEAD if it is left out.
    pub node_id: Option<WireNodeId>,
    /// What is said: by itself, or next in the session.
    pub text: Option<String>,
    /// Lorebooks that are looked through, beside those that hold in the session.
    pub lorebook_ids: Vec<WireLorebookId>,
}

impl LoreTestRequest {
    /// What is tried.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(self, limit: usize) -> Result<turn::LoreTestSpec, ApiError> {
        check_count("lorebookIds", self.lorebook_ids.len())?;
        if self.text.as_ref().is_some_and(|text| text.len() > limit) {
            let message = format!("a text has at most {limit} bytes");
            return Err(ApiError::new(ApiErrorCode::TooLarge, message).detail("field", "text").detail("limit", limit));
        }
        if self.session_id.is_none() && self.text.is_none() {
            return Err(ApiError::invalid("text", "a text is needed where no session is named")
                .hint("send text with lorebookIds, or sessionId"));
        }
        if self.session_id.is_none() && self.node_id.is_some() {
            return Err(ApiError::invalid("nodeId", "a message is named together with its session"));
        }
        Ok(turn::LoreTestSpec {
            session: self.session_id.map(|id| id.0),
            node: self.node_id.map(|id| id.0),
            text: self.text,
            books: self.lorebook_ids.into_iter().map(|id| id.0).collect(),
        })
    }
}

/// What would fire, and why the rest would not.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoreTestResponse {
    /// The books that were looked through: `{id, name, scope}`.
    #[schema(value_type = Vec<Object>)]
    pub books: Vec<Value>,
    /// The entries that fire, in their order: `{book, uid, title, why, key?, tokens, text}`.
    #[schema(value_type = Vec<Object>)]
    pub fired: Vec<Value>,
    /// Those for which something spoke and that do not fire: `{book, uid, title, why}` and what belongs to the reason.
    #[schema(value_type = Vec<Object>)]
    pub stopped: Vec<Value>,
    /// The others: nothing spoke for them, or they are switched off. The first of them.
    #[schema(value_type = Vec<Object>)]
    pub silent: Vec<Value>,
    /// How many those are in all.
    pub silent_count: usize,
    /// Tokens that lore may take.
    pub budget: usize,
    /// Whether there was more than that.
    pub overflowed: bool,
    /// How often the books were looked through.
    pub passes: usize,
    /// How entries were found that fit what was said: `{by, looked, found, problem?}`; nothing where none may be.
    #[schema(value_type = Option<Object>)]
    pub similar: Option<Value>,
    /// What was given up or could not be read.
    pub notes: Vec<String>,
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
            notes,
        } = tested;
        Self { books, fired, stopped, silent, silent_count, budget, overflowed, passes, similar, notes }
    }
}

impl LorebookResponse {
    /// A book with its entries.
    pub fn with_entries(book: &store::Lorebook) -> Self {
        let entries = lorebook::entries(&book.card).into_iter().cloned().map(LoreEntryResponse).collect();
        let rest = book.card.iter().filter(|(key, _)| !matches!(key.as_str(), "name" | "entries"));
        let metadata = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { entries: Some(entries), metadata: Some(metadata), ..Self::without_entries(book) }
    }

    /// A book in a list.
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
    /// Puts the fields into a book.
    ///
    /// # Errors
    /// A field does not fit.
    pub fn apply(self, book: &mut Map<String, Value>) -> Result<(), ApiError> {
        if let Some(name) = self.name {
            book.insert("name".to_owned(), name.trim().into());
        }
        if let Some(entries) = self.entries {
            let whole = entries.into_iter().enumerate().map(|(index, entry)| lorebook::with_defaults(&entry.0, index));
            book.insert("entries".to_owned(), lorebook::keyed_by_uid(whole.collect()).into());
        }
        book.entry("entries").or_insert_with(|| Map::new().into());
        Ok(validate_lorebook(book)?)
    }
}
