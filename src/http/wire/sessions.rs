//! Sessions and their settings.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

use super::authors_note::AuthorsNoteFields;
use super::enums::SessionViewMode;
use super::ids::{WireCharacterId, WireId, WireNodeId, WirePersonaId, WirePresetId, WireSessionId, WireUserId};
use super::{
    deserialize_nullable_object, deserialize_nullable_option, deserialize_optional_object, deserialize_optional_objects,
};
use crate::http::error::ApiError;
use clotho_core::tree;
use clotho_core::tree::limits::{self, MAX_CHARACTERS};
use clotho_engine::turn::{KnownScript, PluginChoice};
use clotho_store::{self as store, StoredSession};

/// So many letters of a script are told.
const MAX_SCRIPT_TEXT: usize = 2_000;

/// One story.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Session)]
pub struct SessionResponse {
    /// Its id.
    pub id: WireSessionId,
    /// Its title.
    pub title: String,
    /// Whose it is.
    pub owner_id: WireUserId,
    /// The characters it plays; the first speaks by default.
    pub character_ids: Vec<WireCharacterId>,
    /// Who the owner plays.
    pub persona_id: Option<WirePersonaId>,
    /// The anchor node.
    pub root_node_id: WireNodeId,
    /// HEAD: the node at which it stands.
    pub active_leaf_id: WireNodeId,
    /// The nearest context node at or above HEAD; only in the answer for one session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_node_id: Option<WireNodeId>,
    /// The newest operation.
    pub op: i64,
    /// How it is shown.
    pub mode: String,
    /// Its model; null = the server's default.
    pub model: Option<String>,
    /// Parameters for the model.
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
    /// The preset by which its prompts are made; null, or one that is gone = as the server makes them.
    pub preset_id: Option<WirePresetId>,
    /// Which regex scripts of others change what is sent and shown.
    pub regex_scripts: RegexScriptsPermission,
    /// What it recalls of what its prompts do not hold any more.
    pub recall: RecallSettingsFields,
    /// What its author notes to the model; null = nothing.
    pub authors_note: Option<AuthorsNoteFields>,
    /// Whether it sums up what its prompts do not hold any more.
    pub summaries: SummarySettingsFields,
    /// The model that keeps its values after each reply; null = whoever writes the reply does.
    pub values_model: Option<String>,
    /// Its plugins.
    pub plugins: Vec<SessionPluginFields>,
    /// How much there is.
    pub counts: SessionCountsResponse,
    /// How its newest message begins, as shown; only in the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// When it began.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
    /// What is probably not meant so of what was just set: models that their provider does not offer, as far as is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<String>,
}

/// Which regex scripts of others change what is sent and shown in a session; one's own always do.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegexScriptsPermission {
    /// Those of the character that speaks.
    pub card: bool,
    /// Those of the preset.
    pub preset: bool,
}

/// The regex scripts that have a part in a session, or would have if they were allowed, in the order in which they run.
#[derive(Debug, Serialize, ToSchema)]
pub struct SessionScriptsResponse {
    /// The scripts, a thousand at most.
    pub items: Vec<SessionScriptResponse>,
}

/// A regex script that has a part in a session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionScriptResponse {
    /// Where it comes from: `global` (the caller's own), `preset` or `card`.
    #[schema(value_type = String)]
    pub scope: &'static str,
    /// The name of the preset or character that it came with; empty for the caller's own.
    pub whose: String,
    /// Its name.
    pub name: String,
    /// What it looks for; up to 2,000 letters.
    pub find: String,
    /// What it puts there instead; up to 2,000 letters.
    pub replace: String,
    /// Whether it is switched on.
    pub is_on: bool,
    /// Whether the session allows it.
    pub is_allowed: bool,
    /// Whether it changes what is sent.
    pub is_for_prompts: bool,
    /// Whether it changes what is shown.
    pub is_for_display: bool,
}

impl SessionScriptResponse {
    /// A script in a session.
    pub fn new(known: KnownScript, session: &tree::Session) -> Self {
        let is_allowed = known.is_allowed(session);
        let KnownScript { scope, source_name: whose, script, .. } = known;
        let cut = |text: String| text.chars().take(MAX_SCRIPT_TEXT).collect();
        Self {
            scope: scope.word(),
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

/// How much there is in a session.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[schema(as = Counts)]
pub struct SessionCountsResponse {
    /// Nodes, without the root.
    pub nodes: i64,
    /// Nodes below which there is nothing: the ends of its branches.
    pub branches: i64,
    /// Turns from the root to HEAD.
    pub turns: i64,
}

/// What a session wants of one plugin.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionPluginFields {
    /// The plugin.
    pub id: String,
    /// Whether it plays; true unless said.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// Its settings.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub config: Map<String, Value>,
    /// Permissions; `[]` = none. Left out = what its manifest asks for.
    #[serde(default)]
    pub grants: Option<Vec<String>>,
    /// Permissions that somebody looked at and did not grant, so that nobody is asked for them again. Left out = as it was.
    #[serde(default)]
    pub refused: Option<Vec<String>>,
}

const fn yes() -> bool {
    true
}

/// A session to begin.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = NewSession)]
pub struct CreateSessionRequest {
    /// The characters; the first speaks by default.
    pub character_ids: Vec<WireCharacterId>,
    /// Who the user plays.
    pub persona_id: Option<WirePersonaId>,
    /// Its title; the first character's name unless said.
    pub title: Option<String>,
    /// The plugins; what the first character suggests unless said.
    #[serde(default, deserialize_with = "deserialize_optional_objects")]
    pub plugins: Option<Vec<SessionPluginFields>>,
    /// The model; what the first character suggests unless said.
    pub model: Option<String>,
    /// How it is shown; `tree` unless said.
    pub mode: Option<SessionViewMode>,
    /// Parameters for the model.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub params: Map<String, Value>,
}

/// How a copy of a session is called.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct CopySessionRequest {
    /// Its title; the same unless said.
    pub title: Option<String>,
}

/// What changes of a session.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UpdateSessionRequest {
    /// Its title.
    pub title: Option<String>,
    /// How it is shown.
    pub mode: Option<SessionViewMode>,
    /// Its model; null = the server's default.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub model: Option<Option<String>>,
    /// Parameters for the model, all of them.
    #[schema(value_type = Option<Object>)]
    pub params: Option<Map<String, Value>>,
    /// Who the user plays from now on; null = nobody.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub persona_id: Option<Option<WirePersonaId>>,
    /// The preset by which its prompts are made from now on, of the kind `openai`; null = as the server makes them.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub preset_id: Option<Option<WirePresetId>>,
    /// Which regex scripts of others change what is sent and shown from now on.
    #[serde(default, deserialize_with = "deserialize_optional_object")]
    pub regex_scripts: Option<RegexScriptsPermission>,
    /// What it recalls from now on.
    #[serde(default, deserialize_with = "deserialize_optional_object")]
    pub recall: Option<RecallSettingsFields>,
    /// What its author notes to the model from now on; null = nothing.
    #[serde(deserialize_with = "deserialize_nullable_object")]
    #[schema(value_type = Option<AuthorsNoteFields>)]
    pub authors_note: Option<Option<AuthorsNoteFields>>,
    /// Whether it sums itself up from now on.
    #[serde(default, deserialize_with = "deserialize_optional_object")]
    pub summaries: Option<SummarySettingsFields>,
    /// The model that keeps its values from now on; null = whoever writes the reply does.
    #[serde(deserialize_with = "deserialize_nullable_option")]
    #[schema(value_type = Option<String>)]
    pub values_model: Option<Option<String>>,
}

/// Whether a session sums up what its prompts do not hold any more, in the background.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SummarySettingsFields {
    /// Whether it does.
    pub enabled: bool,
    /// So many tokens of messages become one summary, 100 to 50000; null = as the server has it.
    #[serde(default)]
    pub every: Option<u32>,
    /// The model that is asked; null = the session's own.
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

/// What a session recalls of what its prompts do not hold any more.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecallSettingsFields {
    /// Whether it does: messages of its line that no longer fit, and documents.
    pub enabled: bool,
    /// The caller's collections of documents that are looked through too; others never are.
    #[serde(default)]
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

/// The plugins of a session were set.
#[derive(Debug, Serialize, ToSchema)]
pub struct SetPluginsResponse {
    /// The operation.
    pub op: i64,
    /// The plugins.
    pub plugins: Vec<SessionPluginFields>,
    /// What is probably not meant so, though it plays: commands that several of them have.
    pub warnings: Vec<String>,
}

/// What the replies of a session took, wherever they are now: also in the stash, and taken back. Copies took nothing.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UsageTotalsResponse {
    /// How many replies have ended.
    pub replies: u64,
    /// How many summaries were made in the background; their tokens, time and cost count too.
    pub summaries: u64,
    /// How many other calls were made in the background, for plugins and for values; theirs count too.
    pub asides: u64,
    /// Tokens, as the model servers counted them.
    pub token_count: TokenTotalsResponse,
    /// Tokens of the prompts that the model servers had read before.
    pub cached_tokens: u64,
    /// From when each was asked for to its end, in milliseconds, added up.
    pub latency_ms: u64,
    /// In the provider's currency; null where no reply has a price.
    #[schema(value_type = Option<f64>)]
    pub cost: Option<Number>,
    /// What the providers' memory saved, in the same currency; null where nobody knows.
    #[schema(value_type = Option<f64>)]
    pub saved: Option<Number>,
    /// Replies without a price, which the cost leaves out.
    pub without_cost: u64,
    /// Replies with a price that is too big to be added, which the cost leaves out too.
    pub beyond_cost: u64,
    /// The newest operation.
    pub op: i64,
}

/// Tokens that models read and wrote.
#[derive(Debug, Serialize, ToSchema)]
pub struct TokenTotalsResponse {
    /// Read.
    pub prompt: u64,
    /// Written.
    pub completion: u64,
}

impl UsageTotalsResponse {
    /// What was added up, as of an operation.
    pub fn new(spent: store::SessionUsageTotals, op: i64) -> Self {
        let store::SessionUsageTotals {
            replies,
            summaries,
            side_calls: asides,
            prompt,
            cached,
            completion,
            latency_ms,
            ..
        } = spent;
        let store::SessionUsageTotals {
            cost,
            cache_savings: saved,
            replies_without_price: without_cost,
            replies_with_price_overflow: beyond_cost,
            ..
        } = spent;
        let token_count = TokenTotalsResponse { prompt, completion };
        Self {
            replies,
            summaries,
            asides,
            token_count,
            cached_tokens: cached,
            latency_ms,
            cost,
            saved,
            without_cost,
            beyond_cost,
            op,
        }
    }
}

impl SessionResponse {
    /// A session without what only the answer for one has; `turns` lead to its HEAD.
    pub fn summary(held: &StoredSession, turns: i32) -> Self {
        let session = &held.session;
        let counts =
            SessionCountsResponse { nodes: held.counts.nodes, branches: held.counts.leaves, turns: turns.into() };
        Self {
            id: WireId(session.id),
            title: session.title.clone(),
            owner_id: WireId(session.owner),
            character_ids: session.cards.iter().map(|card| WireId(card.id)).collect(),
            persona_id: session.persona.as_ref().map(|persona| WireId(persona.id)),
            root_node_id: WireId(session.root),
            active_leaf_id: WireId(session.head),
            context_node_id: None,
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
            plugins: session.plugins.iter().map(SessionPluginFields::from).collect(),
            counts,
            preview: None,
            created_at: session.created.to_string(),
            updated_at: session.updated.to_string(),
            warnings: Vec::new(),
        }
    }
}

impl CreateSessionRequest {
    /// Checks what can be checked without looking anything up.
    ///
    /// # Errors
    /// Names the field.
    pub fn check(&self) -> Result<(), ApiError> {
        let ids = &self.character_ids;
        if ids.is_empty() || ids.len() > MAX_CHARACTERS {
            let message = format!("1 to {MAX_CHARACTERS} characters are expected");
            return Err(ApiError::invalid("characterIds", message));
        }
        if let Some(twice) = ids.iter().enumerate().position(|(i, id)| ids.iter().take(i).any(|other| other == id)) {
            return Err(ApiError::invalid(&format!("characterIds[{twice}]"), "the character is named twice"));
        }
        check_title(self.title.as_deref())?;
        plugins(self.plugins.as_deref().unwrap_or_default())?;
        model(self.model.as_deref())
    }
}

impl CopySessionRequest {
    /// The same, when it fits.
    ///
    /// # Errors
    /// The title does not fit.
    pub fn checked(self) -> Result<Self, ApiError> {
        check_title(self.title.as_deref())?;
        Ok(self)
    }
}

impl UpdateSessionRequest {
    /// Checks what can be checked without looking anything up.
    ///
    /// # Errors
    /// Names the field.
    pub fn check(&self) -> Result<(), ApiError> {
        check_title(self.title.as_deref())?;
        limits::check_collections(self.recall.as_ref().map_or(&[], |recall| &recall.collections))?;
        if let Some(Some(note)) = &self.authors_note {
            tree::AuthorsNote::from(note.clone()).check()?;
        }
        if let Some(every) = self.summaries.as_ref().and_then(|summaries| summaries.every) {
            limits::check_summary_interval(every)?;
        }
        model(self.values_model.as_ref().and_then(|model| model.as_deref()))?;
        model(self.model.as_ref().and_then(|model| model.as_deref()))
    }
}

fn check_title(title: Option<&str>) -> Result<(), ApiError> {
    Ok(title.map_or(Ok(()), limits::title)?)
}

/// A model's name, as far as it can be checked without looking it up.
///
/// # Errors
/// It is empty or too long.
pub fn model(model: Option<&str>) -> Result<(), ApiError> {
    Ok(model.map_or(Ok(()), limits::model)?)
}

/// Plugins, as far as they can be checked without looking them up.
///
/// # Errors
/// There are too many.
pub fn plugins(plugins: &[SessionPluginFields]) -> Result<(), ApiError> {
    Ok(limits::plugins(plugins.len())?)
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
