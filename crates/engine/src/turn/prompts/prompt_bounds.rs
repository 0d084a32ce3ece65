//! The limits of a prompt: the budget of the model, and where the last prompt began.

use std::sync::Arc;

use serde_json::{Map, Value};

use clotho_compat::prompt::preset::Preset;
use clotho_compat::prompt::{PromptTokenLimits, TokenMeasure};
use clotho_config::{self as config, ToolMode};
use clotho_core::tree::{Role, TraceHead};
use clotho_provider::Endpoint;
use clotho_store::{StoreError, StoreReader, StoredNode};

use super::lorebook_cache::LorebookCache;
use super::recall::PromptRecallQuery;
use super::services::PromptServices;
use crate::turn::models::{ModelCandidate, ModelSelection};

/// History beyond the snapshot's page is read in pages of this many messages until the budget is full, so that the cost
/// does not grow with the session.
pub const PAGE: i64 = 64;
/// The number of replies, newest first, that are searched for an earlier prompt.
const LOOK_BACK: usize = 8;

/// The limits of a prompt.
#[derive(Debug, Clone)]
pub struct PromptBounds {
    /// Tokens of the whole prompt.
    pub budget: usize,
    /// Tokens reserved for the reply.
    pub reply_tokens: usize,
    /// Tokens of prompt and reply together.
    pub context_tokens: usize,
    /// Tags whose blocks are removed from earlier replies.
    pub hide_tags: Vec<String>,
    /// The user message to send if there is none.
    pub filler_message: String,
    /// The time zone of people whose messages record none.
    pub time_zone: String,
    pub model: String,
    /// All names of the models, by which presets are selected.
    pub names: Vec<String>,
    /// Measures texts in tokens.
    pub measure: TokenMeasure,
    /// Whether the model can continue a reply that is begun for it (prefill).
    pub supports_prefill: bool,
    /// How tools are offered: the weakest mode of all models that may be asked. If one needs them in text, all get
    /// text; if one cannot use tools, none is offered.
    pub tools: ToolMode,
    /// Whether the request or the endpoint sets the length of the reply.
    pub is_reply_length_set: bool,
    pub lorebook_cache: Arc<LorebookCache>,
    /// The query for recall.
    pub recall: PromptRecallQuery,
    /// The settings of summaries.
    pub summaries: config::SummariesConfig,
}

impl PromptBounds {
    /// Returns the tokens of a prompt: what the preset wants, within what the model has.
    pub fn token_limits(&self, preset: &Preset) -> PromptTokenLimits {
        let context = self.budget.saturating_add(self.reply_tokens);
        let context = preset.settings.context.map_or(context, |wanted| wanted.min(context));
        let reply = preset.settings.reply.filter(|_| !self.is_reply_length_set).unwrap_or(self.reply_tokens);
        PromptTokenLimits { context, reply: reply.min(context / 2) }
    }
}

/// The names that model servers use for the token limit of a reply.
pub const REPLY_LIMIT_KEYS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// Returns the tokens reserved for the reply: the limit in the parameters or the endpoint, else the configured one; at
/// most half of the context.
pub fn reply_reserve(params: &Map<String, Value>, endpoint: &Endpoint, reply_tokens: usize, context: usize) -> usize {
    let asked = [params, &endpoint.extra]
        .into_iter()
        .find_map(|said| REPLY_LIMIT_KEYS.iter().find_map(|key| said.get(*key)?.as_u64().filter(|tokens| *tokens > 0)));
    asked.and_then(|tokens| usize::try_from(tokens).ok()).unwrap_or(reply_tokens).min(context / 2)
}

/// Returns whether the parameters or the endpoint set the token limit of the reply.
pub fn sets_reply_length(params: &Map<String, Value>, endpoint: &Endpoint) -> bool {
    [params, &endpoint.extra].into_iter().any(|said| REPLY_LIMIT_KEYS.iter().any(|key| said.contains_key(*key)))
}

/// Returns the limits of a prompt. It is built once and has to fit every model of the fallback list.
pub fn prompt_bounds(
    prompt_services: &PromptServices,
    choice: &ModelSelection,
    params: &Map<String, Value>,
) -> PromptBounds {
    let generation = &prompt_services.config.generation;
    let tokens = |tokens: u32| usize::try_from(tokens).unwrap_or(usize::MAX);
    let context = |candidate: &ModelCandidate| {
        let told = || prompt_services.models.context_length(&candidate.client.endpoint().id, &candidate.model);
        candidate.client.context_size(params).or_else(told).unwrap_or(tokens(generation.context_tokens))
    };
    let context = choice.candidates().map(context).min().unwrap_or_default();
    let endpoint = choice.first.client.endpoint();
    let reply = reply_reserve(params, endpoint, tokens(generation.reply_tokens), context);
    PromptBounds {
        budget: context.saturating_sub(reply),
        reply_tokens: reply,
        context_tokens: context,
        hide_tags: generation.hide_tags.clone(),
        filler_message: generation.filler.clone(),
        time_zone: generation.time_zone.clone(),
        is_reply_length_set: sets_reply_length(params, endpoint),
        lorebook_cache: Arc::clone(&prompt_services.lorebook_cache),
        model: choice.first.model.clone(),
        names: choice.names(),
        recall: PromptRecallQuery::default(),
        summaries: prompt_services.config.summaries.clone(),
        supports_prefill: choice.first.client.supports_prefill(params),
        tools: choice.candidates().map(|candidate| prompt_services.models.tools(candidate)).max().unwrap_or_default(),
        measure: prompt_services.models.measure(&endpoint.id, &choice.first.model),
    }
}

/// The last prompt on a branch.
#[derive(Debug, Clone, Default)]
pub struct LastPrompt {
    /// The row at which its history began.
    pub first: i64,
    /// The rows of its history.
    pub history: Vec<i64>,
    /// The head of its trace.
    pub head: Box<TraceHead>,
}

/// Reads the last prompt of a branch; `None` if none of the newest replies has one.
pub fn last_prompt<'p>(
    reader: &mut StoreReader<'_>,
    newest_first: impl Iterator<Item = &'p StoredNode>,
) -> Result<Option<LastPrompt>, StoreError> {
    for placed in newest_first.filter(|placed| placed.node.role == Role::Assistant).take(LOOK_BACK) {
        let Some(outline) = reader.trace_outline(placed)? else { continue };
        if let Some(first) = outline.history.first().copied() {
            return Ok(Some(LastPrompt { first, history: outline.history, head: outline.head }));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn endpoint(extra: &Value) -> Endpoint {
        Endpoint { extra: extra.as_object().unwrap().clone(), ..Endpoint::new("test", "http://127.0.0.1") }
    }

    #[test]
    fn prompt_bounds_reserve_reply_tokens() {
        for (params, extra, expected) in [
            (json!({}), json!({}), 1_000),
            (json!({"max_tokens": 200}), json!({}), 200),
            (json!({"max_completion_tokens": 3_000}), json!({}), 3_000),
            (json!({"max_tokens": 1_000_000}), json!({}), 4_000),
            (json!({"max_tokens": "many"}), json!({}), 1_000),
            (json!({}), json!({"max_tokens": 300}), 300),
            (json!({"max_tokens": 200}), json!({"max_completion_tokens": 300}), 200),
            (json!({"max_tokens": null}), json!({}), 1_000),
            (json!({"max_tokens": 0}), json!({}), 1_000),
        ] {
            let room = reply_reserve(params.as_object().unwrap(), &endpoint(&extra), 1_000, 8_000);
            assert_eq!(room, expected, "{params} {extra}");
        }
    }
}
