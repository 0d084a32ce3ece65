//! Sessions and their settings.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

use super::authors_note::AuthorsNoteFields;
use super::card_versions::SessionCardResponse;
use super::checks::check_time_zone;
use super::enums::SessionViewMode;
use super::ids::{
    WireCharacterId, WireConnectionProfileId, WireId, WireLorebookId, WireNodeId, WirePersonaId, WirePresetId,
    WireSessionId, WireUserId,
};
use super::records::CodedMessageSchema;
use super::string_enums::ScriptScopeEnum;
use super::{
    deserialize_null, deserialize_nullable_object, deserialize_nullable_option, deserialize_optional_object,
    deserialize_optional_objects, deserialize_optional_params, deserialize_params,
};
use crate::http::error::ApiError;
use crate::http::json_schema::JsonMap;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::tree;
use clotho_core::tree::limits::{self, MAX_CHARACTERS, MAX_NEW_SESSION_LOREBOOKS};
use clotho_engine::turn::{PluginChoice, ScopedScript};
use clotho_queries::sessions::SessionView;
use clotho_store as store;

/// Maximum number of characters returned of a script text.
const MAX_SCRIPT_TEXT: usize = 2_000;

/// A session: one story.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Session)]
pub struct SessionResponse {
    /// Id of the session.
    pub id: WireSessionId,
    /// Title of the session.
    pub title: String,
    /// Owner of the session.
    pub owner_id: WireUserId,
    /// Characters of the session; the first speaks by default.
    pub character_ids: Vec<WireCharacterId>,
    /// Which version of its card the session uses for each character; only in the answer for one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub cards: Option<Vec<SessionCardResponse>>,
    /// Persona of the owner.
    #[schema(required)]
    pub persona_id: Option<WirePersonaId>,
    /// Root node of the tree.
    pub root_node_id: WireNodeId,
    /// HEAD of the session.
    pub active_leaf_id: WireNodeId,
    /// The nearest context node at or above HEAD; only in the answer for one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub context_node_id: Option<WireNodeId>,
    /// Number of the newest operation.
    pub op: i64,
    /// View on the page: `tree` or `linear`.
    #[schema(value_type = SessionViewMode)]
    pub mode: String,
    /// Model of the session; null = the server's default.
    #[schema(required)]
    pub model: Option<String>,
    /// Model parameters.
    #[schema(value_type = JsonMap)]
    pub params: Map<String, Value>,
    /// Preset for prompts; null or a deleted preset = the server's default.
    #[schema(required)]
    pub preset_id: Option<WirePresetId>,
    /// Whether regex scripts of cards and of the preset run.
    pub regex_scripts: RegexScriptsPermission,
    /// Recall of messages and documents that are not in the prompt.
    pub recall: RecallSettingsFields,
    /// Author's note; null = none.
    #[schema(required)]
    pub authors_note: Option<AuthorsNoteFields>,
    /// Automatic summaries of messages that are not in the prompt.
    pub summaries: SummarySettingsFields,
    /// Model that writes the changes of values after each reply; null = the model of the reply does.
    #[schema(required)]
    pub values_model: Option<String>,
    /// Connection profile that was chosen last; null = none, or it was deleted.
    #[schema(required)]
    pub profile_id: Option<WireConnectionProfileId>,
    /// Whether the settings differ from those of this profile now; false without a profile.
    pub profile_is_changed: bool,
    /// Plugins of the session.
    pub plugins: Vec<SessionPluginFields>,
    /// What the imported file wants and nobody has accepted or declined yet; null = nothing.
    #[schema(required)]
    pub requested_settings: Option<RequestedSettingsResponse>,
    /// Folder in the list of sessions; null = no folder.
    #[schema(required)]
    pub folder: Option<String>,
    /// Tags of the session, in alphabetical order.
    pub tags: Vec<String>,
    /// Whether the session stands above the others in lists.
    pub is_pinned: bool,
    /// Size of the session.
    pub counts: SessionCountsResponse,
    /// Start of the newest message, as displayed; only in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub preview: Option<String>,
    /// Creation time, ISO 8601 UTC.
    pub created_at: String,
    /// Time of the last change, ISO 8601 UTC.
    pub updated_at: String,
    /// Probable mistakes in the new settings, such as models that their provider does not list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<String>,
    /// The same mistakes as code, arguments and sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false, value_type = Vec<CodedMessageSchema>)]
    pub problems: Vec<RenderedMessage>,
}

impl SessionResponse {
    /// Adds probable mistakes in the new settings.
    pub fn with_problems(self, problems: Vec<RenderedMessage>) -> Self {
        let warnings = problems.iter().map(|problem| problem.message.clone()).collect();
        Self { warnings, problems, ..self }
    }
}

/// The settings that an imported file wants and that were not applied, because they may cost money, grant permissions or
/// run scripts. To accept them, set them with `PATCH`, together with `"requestedSettings": null`, and the permissions
/// with `PUT /api/sessions/{sid}/plugins`. To decline them, send only the null.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestedSettingsResponse {
    /// Model of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub model: Option<String>,
    /// Model that writes the changes of values.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub values_model: Option<String>,
    /// Model parameters; absent if there are none.
    #[serde(skip_serializing_if = "Map::is_empty")]
    #[schema(required = false, value_type = JsonMap)]
    pub params: Map<String, Value>,
    /// Preset for prompts. It came with the file, or is a preset of this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub preset_id: Option<WirePresetId>,
    /// Which regex scripts want to run; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub regex_scripts: Option<RegexScriptsPermission>,
    /// `true` if messages and documents are to be recalled; otherwise absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    pub recall: bool,
    /// Automatic summaries; absent if there are to be none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub summaries: Option<SummarySettingsFields>,
    /// The permissions that each plugin is to get, by the plugin's id; absent if there are none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false)]
    pub grants: BTreeMap<String, Vec<String>>,
}

impl RequestedSettingsResponse {
    /// Returns the response for the settings; `None` if nothing is asked for.
    pub fn new(requested: &tree::RequestedSettings) -> Option<Self> {
        let scripts = requested.scripts.as_ref();
        (!requested.is_empty()).then(|| Self {
            model: requested.model.clone(),
            values_model: requested.values_model.clone(),
            params: requested.params.clone(),
            preset_id: requested.preset.map(WireId),
            regex_scripts: scripts.map(|scripts| RegexScriptsPermission { card: scripts.card, preset: scripts.preset }),
            recall: requested.is_recall_on,
            summaries: requested.summaries.as_ref().map(SummarySettingsFields::from),
            grants: requested.grants.clone(),
        })
    }
}

/// Whether regex scripts of cards and presets may run in a session. The caller's own scripts always do.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegexScriptsPermission {
    /// Scripts of the speaking character's card.
    pub card: bool,
    /// Scripts of the preset.
    pub preset: bool,
}

/// The regex scripts of a session in execution order, including those that are not permitted.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionScriptsResponse {
    /// The scripts, at most 1000.
    pub items: Vec<SessionScriptResponse>,
}

/// A regex script of a session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionScriptResponse {
    /// Source: `global` (the caller's own), `preset` or `card`.
    #[schema(value_type = ScriptScopeEnum)]
    pub scope: &'static str,
    /// Name of the preset or character it belongs to; empty for the caller's own.
    pub whose: String,
    /// Name of the script.
    pub name: String,
    /// The regular expression to find, at most 2000 characters.
    pub find: String,
    /// The replacement text, at most 2000 characters.
    pub replace: String,
    /// Whether the script is enabled.
    pub is_on: bool,
    /// Whether the session permits the script.
    pub is_allowed: bool,
    /// Whether it changes prompts.
    pub is_for_prompts: bool,
    /// Whether it changes the display.
    pub is_for_display: bool,
}

impl SessionScriptResponse {
    /// Describes a script of a session.
    pub fn new(found: ScopedScript, session: &tree::Session) -> Self {
        let is_allowed = found.is_allowed(session);
        let ScopedScript { scope, source_name: whose, script, .. } = found;
        let cut = |text: String| text.chars().take(MAX_SCRIPT_TEXT).collect();
        Self {
            scope: scope.as_str(),
            whose,
            name: cut(script.name),
            find: cut(script.find),
            replace: cut(script.replace),
            is_on: !script.is_disabled,
            is_allowed,
            is_for_prompts: script.for_prompt || !script.for_display,
            is_for_display: script.for_display || !script.for_prompt,
        }
    }
}

/// The size of a session.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = Counts)]
pub struct SessionCountsResponse {
    /// Number of nodes without the root.
    pub nodes: i64,
    /// Number of leaves, which is the number of branches.
    pub branches: i64,
    /// Number of turns from the root to HEAD.
    pub turns: i64,
}

/// The settings of one plugin in a session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionPluginFields {
    /// Id of the plugin.
    pub id: String,
    /// Whether the plugin is enabled; default true.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Settings of the plugin.
    #[serde(default)]
    #[schema(value_type = JsonMap)]
    pub config: Map<String, Value>,
    /// Granted permissions; `[]` = none, absent = all that the manifest requests.
    #[serde(default)]
    pub grants: Option<Vec<String>>,
    /// Permissions that the user has declined and is not asked for again; absent = unchanged.
    #[serde(default)]
    pub refused: Option<Vec<String>>,
}

const fn yes() -> bool {
    true
}

/// A session to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewSession)]
pub struct CreateSessionRequest {
    /// Characters of the session; the first speaks by default.
    pub character_ids: Vec<WireCharacterId>,
    /// Persona of the user; null = none. Default: the one that is locked to the first character, else the default
    /// persona.
    #[serde(default, deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub persona_id: Option<Option<WirePersonaId>>,
    /// Title; default: the name of the first character.
    pub title: Option<String>,
    /// Plugins; default: those that the first character suggests.
    #[serde(default, deserialize_with = "deserialize_optional_objects")]
    pub plugins: Option<Vec<SessionPluginFields>>,
    /// Model; default: the one that the first character suggests.
    pub model: Option<String>,
    /// View on the page; default `tree`.
    pub mode: Option<SessionViewMode>,
    /// Model parameters.
    #[serde(default, deserialize_with = "deserialize_params")]
    #[schema(value_type = JsonMap)]
    pub params: Map<String, Value>,
    /// Connection profile of the caller for all that the request does not set itself.
    #[serde(default)]
    pub profile_id: Option<WireConnectionProfileId>,
    /// Lorebooks of the caller to link to the session, at most 64.
    #[serde(default)]
    pub lorebook_ids: Vec<WireLorebookId>,
    /// Time zone of the person, for dates in greetings: an IANA name, or an offset such as `+02:00`.
    #[serde(default)]
    pub time_zone: Option<String>,
}

/// Options for copying a session.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CopySessionRequest {
    /// Title of the copy; default: the same title.
    pub title: Option<String>,
}

/// Fields of a session to change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UpdateSessionRequest {
    /// New title.
    pub title: Option<String>,
    /// View on the page.
    pub mode: Option<SessionViewMode>,
    /// New model; null = the server's default.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub model: Option<Option<String>>,
    /// The complete model parameters.
    #[serde(deserialize_with = "deserialize_optional_params")]
    #[schema(value_type = Option<JsonMap>)]
    pub params: Option<Map<String, Value>>,
    /// A preset whose parameters the session takes over: they replace all that a preset can set, and others stay. Of
    /// kind `openai`, `textgen`, `kobold` or `novel`. Not together with `params`.
    #[schema(value_type = Option<String>)]
    pub params_from: Option<WirePresetId>,
    /// Persona of the user; null = none.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub persona_id: Option<Option<WirePersonaId>>,
    /// Preset for prompts, of kind `openai`; null = the server's default.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub preset_id: Option<Option<WirePresetId>>,
    /// Whether regex scripts of cards and of the preset run.
    #[serde(default, deserialize_with = "deserialize_optional_object")]
    pub regex_scripts: Option<RegexScriptsPermission>,
    /// Recall of messages and documents that are not in the prompt.
    #[serde(default, deserialize_with = "deserialize_optional_object")]
    pub recall: Option<RecallSettingsFields>,
    /// Author's note; null = none.
    #[serde(deserialize_with = "deserialize_nullable_object")]
    #[schema(value_type = Option<AuthorsNoteFields>)]
    pub authors_note: Option<Option<AuthorsNoteFields>>,
    /// Automatic summaries of messages that are not in the prompt.
    #[serde(default, deserialize_with = "deserialize_optional_object")]
    pub summaries: Option<SummarySettingsFields>,
    /// Model that writes the changes of values after each reply; null = the model of the reply does.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub values_model: Option<Option<String>>,
    /// Connection profile whose settings the session takes over, in the same write; settings of the request itself come
    /// first. null = no profile; the settings stay.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub profile_id: Option<Option<WireConnectionProfileId>>,
    /// Folder in the list of sessions, at most 100 characters; null = no folder.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub folder: Option<Option<String>>,
    /// All tags of the session, at most 50 of at most 60 characters each.
    pub tags: Option<Vec<String>>,
    /// Whether the session stands above the others in lists.
    pub is_pinned: Option<bool>,
    /// Only null: ends the question about what an imported file wants.
    #[serde(deserialize_with = "deserialize_null")]
    #[schema(value_type = Option<JsonMap>)]
    pub requested_settings: Option<()>,
}

/// Automatic summaries: messages that no longer fit into prompts are summarised in the background.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SummarySettingsFields {
    /// Whether summaries are made.
    pub enabled: bool,
    /// Number of message tokens per summary, 100 to 50000; null = the server's default.
    #[serde(default)]
    pub every: Option<u32>,
    /// Model that writes the summaries; null = the session's model.
    #[serde(default)]
    pub model: Option<String>,
}

impl From<&tree::SummarySettings> for SummarySettingsFields {
    fn from(summaries: &tree::SummarySettings) -> Self {
        Self { enabled: summaries.is_on, every: summaries.every, model: summaries.model.clone() }
    }
}

impl From<SummarySettingsFields> for Value {
    fn from(summaries: SummarySettingsFields) -> Self {
        let SummarySettingsFields { enabled, every, model } = summaries;
        tree::SummarySettings { is_on: enabled, every, model }.to_json()
    }
}

/// Recall: finds messages and documents that are not in the prompt.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecallSettingsFields {
    /// Whether to recall messages of the branch that no longer fit, and documents.
    pub enabled: bool,
    /// Document collections of the caller to search; no others are searched.
    #[serde(default)]
    #[schema(default = json!([]))]
    pub collections: Vec<String>,
}

impl From<&tree::RecallSettings> for RecallSettingsFields {
    fn from(recall: &tree::RecallSettings) -> Self {
        Self { enabled: recall.is_on, collections: recall.collections.clone() }
    }
}

impl From<RecallSettingsFields> for Value {
    fn from(recall: RecallSettingsFields) -> Self {
        tree::RecallSettings { is_on: recall.enabled, collections: recall.collections }.to_json()
    }
}

/// The result of setting the plugins of a session.
#[derive(Debug, Serialize, ToSchema)]
pub struct SetPluginsResponse {
    /// Number of the operation.
    pub op: i64,
    /// The plugins of the session.
    pub plugins: Vec<SessionPluginFields>,
    /// Probable mistakes, such as commands that several plugins define.
    pub warnings: Vec<String>,
    /// The same mistakes as code, arguments and sentence.
    #[schema(value_type = Vec<CodedMessageSchema>)]
    pub problems: Vec<RenderedMessage>,
}

/// Token, time and cost totals of all replies, including those in the stash and undone ones. Copies add nothing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageTotalsResponse {
    /// Number of ended replies.
    pub replies: u64,
    /// Number of background summaries; their tokens, time and cost are included.
    pub summaries: u64,
    /// Number of other background calls, for plugins and values; their tokens, time and cost are included.
    #[serde(rename = "asides")]
    pub side_calls: u64,
    /// Tokens as counted by the model servers.
    pub token_count: TokenTotalsResponse,
    /// Prompt tokens that model servers read from their cache.
    pub cached_tokens: u64,
    /// Sum of the times from request to end, in milliseconds.
    pub latency_ms: u64,
    /// Total cost in the provider's currency; null if no reply has a price.
    #[schema(required, value_type = Option<f64>)]
    pub cost: Option<Number>,
    /// Amount saved by prompt caches, in the same currency; null if unknown.
    #[schema(required, value_type = Option<f64>)]
    pub saved: Option<Number>,
    /// Number of replies without a price, which `cost` excludes.
    #[serde(rename = "withoutCost")]
    pub replies_without_price: u64,
    /// Number of replies with a price too large to add, which `cost` excludes.
    #[serde(rename = "beyondCost")]
    pub replies_with_price_overflow: u64,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// Tokens that models read and wrote.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenTotalsResponse {
    /// Prompt tokens.
    pub prompt: u64,
    /// Reply tokens.
    pub completion: u64,
}

impl UsageTotalsResponse {
    /// Builds the response from the totals as of an operation.
    pub fn new(spent: store::SessionUsageTotals, op: i64) -> Self {
        let store::SessionUsageTotals {
            replies, summaries, side_calls, prompt, cached, completion, latency_ms, ..
        } = spent;
        let store::SessionUsageTotals {
            cost,
            cache_savings: saved,
            replies_without_price,
            replies_with_price_overflow,
            ..
        } = spent;
        let token_count = TokenTotalsResponse { prompt, completion };
        Self {
            replies,
            summaries,
            side_calls,
            token_count,
            cached_tokens: cached,
            latency_ms,
            cost,
            saved,
            replies_without_price,
            replies_with_price_overflow,
            op,
        }
    }
}

impl From<SessionView> for SessionResponse {
    fn from(view: SessionView) -> Self {
        let SessionView { stored, turns, preview, context, cards, profile } = view;
        let session = &stored.session;
        let counts =
            SessionCountsResponse { nodes: stored.counts.nodes, branches: stored.counts.leaves, turns: turns.into() };
        Self {
            id: WireId(session.id),
            title: session.title.clone(),
            owner_id: WireId(session.owner),
            character_ids: session.cards.iter().map(|card| WireId(card.id)).collect(),
            cards: cards.map(|cards| cards.into_iter().map(SessionCardResponse::from).collect()),
            persona_id: session.persona.as_ref().map(|persona| WireId(persona.id)),
            root_node_id: WireId(session.root),
            active_leaf_id: WireId(session.head),
            context_node_id: context.map(WireId),
            op: session.op,
            mode: session.mode.clone(),
            model: session.model.clone(),
            params: session.params.clone(),
            preset_id: session.preset.map(WireId),
            regex_scripts: RegexScriptsPermission { card: session.scripts.card, preset: session.scripts.preset },
            recall: RecallSettingsFields::from(&session.recall),
            authors_note: session.note.as_ref().map(AuthorsNoteFields::from),
            summaries: SummarySettingsFields::from(&session.summaries),
            values_model: session.values_model.clone(),
            profile_id: profile.map(|profile| WireId(profile.id)),
            profile_is_changed: profile.is_some_and(|profile| profile.is_changed),
            plugins: session.plugins.iter().map(SessionPluginFields::from).collect(),
            requested_settings: RequestedSettingsResponse::new(&session.requested),
            folder: session.folder.clone(),
            tags: session.tags.clone(),
            is_pinned: session.is_pinned,
            counts,
            preview,
            created_at: session.created.to_string(),
            updated_at: session.updated.to_string(),
            warnings: Vec::new(),
            problems: Vec::new(),
        }
    }
}

impl CreateSessionRequest {
    /// Checks the fields without any lookup.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn check(&self) -> Result<(), ApiError> {
        let ids = &self.character_ids;
        if ids.is_empty() || ids.len() > MAX_CHARACTERS {
            let message = format!("expected 1 to {MAX_CHARACTERS} characters");
            return Err(ApiError::invalid("characterIds", message));
        }
        if let Some(twice) = ids.iter().enumerate().position(|(i, id)| ids.iter().take(i).any(|other| other == id)) {
            return Err(ApiError::invalid(&format!("characterIds[{twice}]"), "the character appears twice"));
        }
        let books = &self.lorebook_ids;
        if books.len() > MAX_NEW_SESSION_LOREBOOKS {
            let message = format!("expected at most {MAX_NEW_SESSION_LOREBOOKS} lorebooks");
            return Err(ApiError::invalid("lorebookIds", message));
        }
        if let Some(twice) = books.iter().enumerate().position(|(i, id)| books.iter().take(i).any(|other| other == id))
        {
            return Err(ApiError::invalid(&format!("lorebookIds[{twice}]"), "the lorebook appears twice"));
        }
        check_title(self.title.as_deref())?;
        check_time_zone(self.time_zone.as_deref())?;
        check_plugins(self.plugins.as_deref().unwrap_or_default())?;
        check_model(self.model.as_deref())
    }
}

impl CopySessionRequest {
    /// Returns the request if it is valid.
    ///
    /// # Errors
    /// Returns an error if the title is invalid.
    pub fn checked(self) -> Result<Self, ApiError> {
        check_title(self.title.as_deref())?;
        Ok(self)
    }
}

impl UpdateSessionRequest {
    /// Returns the answer about the scripts that an imported file wants; `None` if the question stays open.
    pub fn script_answer(&self) -> Option<tree::AllowedScripts> {
        self.requested_settings?;
        let none = RegexScriptsPermission { card: false, preset: false };
        let RegexScriptsPermission { card, preset } = self.regex_scripts.unwrap_or(none);
        Some(tree::AllowedScripts { card, preset })
    }

    /// Checks the fields without any lookup.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn check(&self) -> Result<(), ApiError> {
        if self.params.is_some() && self.params_from.is_some() {
            return Err(ApiError::invalid("paramsFrom", "expected either params or paramsFrom"));
        }
        check_title(self.title.as_deref())?;
        self.folder.as_ref().and_then(|folder| folder.as_deref()).map_or(Ok(()), limits::check_folder)?;
        self.tags.as_deref().map_or(Ok(()), limits::check_tags)?;
        limits::check_collections(self.recall.as_ref().map_or(&[], |recall| &recall.collections))?;
        if let Some(Some(note)) = &self.authors_note {
            tree::AuthorsNote::from(note.clone()).check()?;
        }
        if let Some(every) = self.summaries.as_ref().and_then(|summaries| summaries.every) {
            limits::check_summary_interval(every)?;
        }
        check_model(self.values_model.as_ref().and_then(|model| model.as_deref()))?;
        check_model(self.model.as_ref().and_then(|model| model.as_deref()))
    }
}

fn check_title(title: Option<&str>) -> Result<(), ApiError> {
    Ok(title.map_or(Ok(()), limits::check_title)?)
}

/// Checks a model name without looking it up.
///
/// # Errors
/// Returns an error if it is empty or too long.
pub fn check_model(model: Option<&str>) -> Result<(), ApiError> {
    Ok(model.map_or(Ok(()), limits::check_model)?)
}

/// Checks a list of plugins without looking them up.
///
/// # Errors
/// Returns an error if there are too many.
pub fn check_plugins(plugins: &[SessionPluginFields]) -> Result<(), ApiError> {
    Ok(limits::check_plugin_count(plugins.len())?)
}

impl From<&tree::PluginSetting> for SessionPluginFields {
    fn from(plugin: &tree::PluginSetting) -> Self {
        Self {
            id: plugin.id.clone(),
            enabled: plugin.enabled,
            config: plugin.config.clone(),
            grants: Some(plugin.grants.clone()),
            refused: Some(plugin.refused.clone()),
        }
    }
}

impl From<SessionPluginFields> for PluginChoice {
    fn from(plugin: SessionPluginFields) -> Self {
        Self {
            id: plugin.id,
            enabled: plugin.enabled,
            config: plugin.config,
            grants: plugin.grants,
            refused: plugin.refused,
        }
    }
}
