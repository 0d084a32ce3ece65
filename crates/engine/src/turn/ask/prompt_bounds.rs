//! What a prompt has to keep to: the room that the model has for it, and where the last one began.

use std::sync::Arc;

use serde_json::{Map, Value};

use clotho_compat::prompt::TokenMeasure;
use clotho_config::{self as config, ToolMode};
use clotho_core::tree::Role;
use clotho_provider::Endpoint;
use clotho_store::{StoreError, StoreReader, StoredNode};

use super::lorebook_cache::LorebookCache;
use super::recall::PromptRecallQuery;
use crate::turn::TurnServices;
use crate::turn::models::{ModelCandidate, ModelSelection};

/// History beyond the scene's page is read in pages of so many messages until the budget is full, so that a deep session
/// costs no more.
pub const PAGE: i64 = 64;
/// How many replies up the path an earlier prompt is looked for.
const LOOK_BACK: usize = 8;

/// What a prompt has to keep to.
#[derive(Debug, Clone)]
pub struct PromptBounds {
    /// Tokens of the whole prompt.
    pub budget: usize,
    /// Tokens that are kept free for the reply.
    pub reply: usize,
    /// Tokens of both together.
    pub context_tokens: usize,
    /// Tags whose blocks are left out of earlier replies.
    pub hide_tags: Vec<String>,
    /// The user's message where there is none.
    pub filler_message: String,
    /// The model that is asked.
    pub model: String,
    /// The names that it has: presets may be for one of them.
    pub names: Vec<String>,
    /// What texts are measured by.
    pub measure: TokenMeasure,
    /// Whether the model can be handed the beginning of its reply.
    pub supports_prefill: bool,
    /// How all models that may be asked can be told of tools: where one of them can only be told in words, all are, and where
    /// one is not told at all, none is.
    pub tools: ToolMode,
    /// Whether the request itself says how long a reply may be.
    pub is_reply_length_set: bool,
    /// Lorebooks that were read already.
    pub lorebook_cache: Arc<LorebookCache>,
    /// What it may recall by.
    pub recall: PromptRecallQuery,
    /// How much it may sum up.
    pub summaries: config::SummariesConfig,
}

/// What model servers call the most tokens of a reply.
pub const REPLY_LIMIT_KEYS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// Tokens kept free for the reply: what the request or the provider's own parameters allow it, else what the settings say;
/// never more than half.
pub fn reply_reserve(params: &Map<String, Value>, endpoint: &Endpoint, reply_tokens: usize, context: usize) -> usize {
    let asked = [params, &endpoint.extra]
        .into_iter()
        .find_map(|said| REPLY_LIMIT_KEYS.iter().find_map(|key| said.get(*key)?.as_u64()));
    asked.and_then(|tokens| usize::try_from(tokens).ok()).unwrap_or(reply_tokens).min(context / 2)
}

/// Whether a request or its provider says how many tokens a reply may have.
pub fn sets_reply_length(params: &Map<String, Value>, endpoint: &Endpoint) -> bool {
    [params, &endpoint.extra].into_iter().any(|said| REPLY_LIMIT_KEYS.iter().any(|key| said.contains_key(*key)))
}

/// What the prompt of a request has to keep to: it is made once, and fits whichever of the models answers.
pub fn prompt_bounds(parts: &TurnServices, choice: &ModelSelection, params: &Map<String, Value>) -> PromptBounds {
    let generation = &parts.config.generation;
    let tokens = |tokens: u32| usize::try_from(tokens).unwrap_or(usize::MAX);
    let context = |candidate: &ModelCandidate| {
        let told = || parts.models.context_length(&candidate.client.endpoint().id, &candidate.model);
        candidate.client.context_size(params).or_else(told).unwrap_or(tokens(generation.context_tokens))
    };
    let context = choice.candidates().map(context).min().unwrap_or_default();
    let endpoint = choice.first.client.endpoint();
    let reply = reply_reserve(params, endpoint, tokens(generation.reply_tokens), context);
    PromptBounds {
        budget: context.saturating_sub(reply),
        reply,
        context_tokens: context,
        hide_tags: generation.hide_tags.clone(),
        filler_message: generation.filler.clone(),
        is_reply_length_set: sets_reply_length(params, endpoint),
        lorebook_cache: Arc::clone(&parts.lorebook_cache),
        model: choice.first.model.clone(),
        names: choice.names(),
        recall: PromptRecallQuery::default(),
        summaries: parts.config.summaries.clone(),
        supports_prefill: choice.first.client.supports_prefill(params),
        tools: choice.candidates().map(|candidate| parts.models.tools(candidate)).max().unwrap_or_default(),
        measure: parts.models.measure(&endpoint.id, &choice.first.model),
    }
}

/// The last prompt on a path.
#[derive(Debug, Clone, Default)]
pub struct LastPrompt {
    /// The row at which its history began.
    pub first: i64,
    /// The rows of its history.
    pub history: Vec<i64>,
    /// What else its trace tells.
    pub head: Map<String, Value>,
}

/// The last prompt on the path of these messages; `None` where there is none among the newest.
pub fn last<'p>(
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
        ] {
            let room = reply_reserve(params.as_object().unwrap(), &endpoint(&extra), 1_000, 8_000);
            assert_eq!(room, expected, "{params} {extra}");
        }
    }
}
