//! What a model is asked: the prompt at a scene with what its macros know and did, and the request that carries it.
//!
//! `preset_order.rs` makes it in the order of a preset (`preset_selection.rs` says of which), `macro_context.rs` says what macros know, `note.rs` the author's note,
//! `lore.rs` asks the lorebooks (`lorebook_cache.rs` keeps those that were read, `similar.rs` finds what fits without a key), `recall` tells
//! what of long ago it tells again and `summary_block.rs` what it tells summed up, `plan.rs` has plugins plan it, `regex_scripts.rs` scripts change its
//! texts, `prompt_bounds.rs` says what it keeps to, `recount.rs` how large it is to the server that reads it, `trace.rs` keeps what was
//! sent and why.
//!
//! To add a kind of block: where it is read in `preset_order.rs`, its facts in the trace.

pub(super) mod lore;
pub(super) mod lorebook_cache;
pub(super) mod macro_context;
pub(super) mod note;
pub(super) mod plan;
pub(super) mod preset_order;
pub(super) mod preset_selection;
pub(super) mod prompt_bounds;
pub(super) mod recall;
pub(super) mod recount;
pub(super) mod regex_scripts;
pub(super) mod similar;
pub(super) mod summary_block;
pub(super) mod trace;

use serde_json::{Map, Value};

use clotho_compat::prompt::OutgoingMessage;
use clotho_compat::prompt::macros::{MacroEngine, MacroTokenLimits};
use clotho_compat::prompt::preset::PromptInsert;
use clotho_config::ToolMode;
use clotho_core::tree::Role;
use clotho_provider::{self as provider, Endpoint, Request};
use clotho_store::{StoreError, StoreReader};

use crate::turn::snapshot::TurnSnapshot;
use crate::turn::tools::ToolOffers;
use crate::turn::{TurnServices, rules::rules_in_force, tools::text_tools};
use macro_context::{GenerationTask, PromptPurpose};
use prompt_bounds::{PromptBounds, REPLY_LIMIT_KEYS};
use trace::BuiltPrompt;

/// The slot in which a prompt tells of tools.
const TOOLS: &str = "tools";

/// The prompt at a scene: the world just before the model speaks.
///
/// # Errors
/// The database fails.
pub fn build_prompt(
    parts: &TurnServices,
    reader: &mut StoreReader<'_>,
    scene: &mut TurnSnapshot,
    bounds: PromptBounds,
    purpose: &PromptPurpose,
) -> Result<BuiltPrompt, StoreError> {
    let mut planned = plan::plan(parts, reader, scene)?;
    let mut tools = match purpose.generation_task {
        GenerationTask::Reply if bounds.tools != ToolMode::Disabled => {
            ToolOffers::for_plugins(&rules_in_force::active_plugins(&scene.rules.plugins, &scene.catalogue))
        }
        GenerationTask::Reply | GenerationTask::Continue(_) | GenerationTask::Impersonate => ToolOffers::default(),
    };
    if bounds.tools == ToolMode::PromptText && !tools.is_empty() {
        tools.are_in_text = true;
        let text = text_tools::tool_prompt(&tools.to_wire());
        planned.inserts.push(PromptInsert { slot: TOOLS.to_owned(), depth: 1, priority: 0, text });
    }
    let budget = bounds.budget.saturating_sub(tools.tokens(&bounds.measure));
    let bounds = PromptBounds { budget, ..bounds };
    let sizes = MacroTokenLimits { context: bounds.budget + bounds.reply, reply: bounds.reply };
    let facts = macro_context::macro_facts(scene, sizes, &bounds.model, purpose);
    let mut draw = macro_context::seeded_random(scene, purpose);
    let globals = macro_context::globals(reader, scene.session().owner)?;
    let mut macros = MacroEngine::new(&facts, scene.world.vars.clone(), globals, &mut draw);
    let mut made = preset_order::build_prompt(reader, scene, bounds, (purpose, planned), &mut macros)?;
    made.macro_result.operations.extend(macro_context::operations(&scene.world, &scene.rules.rules, &macros.local));
    made.macro_result.noted = macros.report;
    made.tools = tools;
    Ok(made)
}

/// The request to the provider. Each reply has a seed of its own, so that a reroll is another reply and can be repeated;
/// an endpoint whose `extra` says `seed = null` is not sent one. The reply may be as long as the room that is kept for it,
/// unless the request or the endpoint says something about that, be it `null`.
pub fn request(
    params: &Map<String, Value>,
    dice_seed: u64,
    model: String,
    made: &BuiltPrompt,
    endpoint: &Endpoint,
) -> Request {
    let mut params = merged_params(&made.samplers, params);
    if !params.contains_key("seed") && !endpoint.extra.contains_key("seed") {
        params.insert("seed".into(), (dice_seed >> 33).into());
    }
    let is_said = |key: &&str| params.contains_key(*key) || endpoint.extra.contains_key(*key);
    if !REPLY_LIMIT_KEYS.iter().any(is_said) {
        params.insert("max_tokens".into(), made.reply.into());
    }
    let messages = made.messages.iter().map(|sent| provider::RequestMessage {
        role: provider_role(sent),
        name: sent.name.clone(),
        content: sent.text.clone(),
    });
    let context = Some(made.context_tokens).filter(|context| *context > 0);
    Request {
        model,
        messages: messages.collect(),
        rounds: Vec::new(),
        params,
        cacheable_messages: made.stable_prefix,
        context,
    }
}

/// What a preset says, with what was asked for over it.
fn merged_params(samplers: &Map<String, Value>, params: &Map<String, Value>) -> Map<String, Value> {
    samplers.iter().chain(params).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn provider_role(sent: &OutgoingMessage) -> provider::RequestRole {
    match sent.role {
        Role::System => provider::RequestRole::System,
        Role::User => provider::RequestRole::User,
        Role::Assistant => provider::RequestRole::Assistant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clotho_provider::{ProviderClient, ProviderKind};
    use serde_json::json;

    fn endpoint(extra: &Value) -> Endpoint {
        Endpoint { extra: extra.as_object().unwrap().clone(), ..Endpoint::new("test", "http://127.0.0.1") }
    }

    /// The room that is kept free is what the reply may take; whoever says something else is heard.
    #[test]
    fn request_reply_tokens_stay_within_reserve() {
        let made = BuiltPrompt { reply: 1_000, ..BuiltPrompt::default() };
        for (params, extra, expected) in [
            (json!({}), json!({}), json!({"max_tokens": 1_000})),
            (json!({"max_tokens": 200}), json!({}), json!({"max_tokens": 200})),
            (json!({"max_completion_tokens": 200}), json!({}), json!({"max_completion_tokens": 200})),
            (json!({}), json!({"max_completion_tokens": 300}), json!({"max_completion_tokens": 300})),
            (json!({"max_tokens": null}), json!({}), json!({})),
        ] {
            let endpoint = endpoint(&extra);
            let request = request(params.as_object().unwrap(), 7, "m".into(), &made, &endpoint);
            let mut sent = ProviderClient::new(ProviderKind::default(), endpoint).wire_params(&request);
            assert!(sent.shift_remove("seed").is_some());
            assert_eq!(Value::Object(sent), expected, "{params} {extra}");
        }
    }
}
