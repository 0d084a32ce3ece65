//! What a model is asked: the prompt at a snapshot, the results of its macros, and the request that carries it.
//!
//! [`build_prompt`] has three steps:
//!
//! - Gather: `material.rs` reads every text that may stand in the prompt. `card.rs` has the texts of card and persona,
//!   `history.rs` the messages, `note.rs` the author's note, `plan.rs` the texts of plugins. `lore.rs` scans the
//!   lorebooks, which `lorebook_cache.rs` caches; `similar.rs` finds entries without a key match.
//! - Allocate: [`clotho_compat::prompt::preset`] makes candidates of these texts, and decides what the budget keeps and
//!   where the history is cut. `substitutes.rs` then fills the reserve with texts for the messages that were cut:
//!   `summary_block.rs` and `recall`.
//! - Render: `render.rs` makes the messages, and `trace.rs` records what was sent, what was left out and why.
//!
//! `preset_selection.rs` selects the preset, `prompt_bounds.rs` has the limits of the prompt. `macro_context.rs` has the
//! values of macros, `regex_scripts.rs` applies scripts to texts. `recount.rs` has the model server count the prompt.
//!
//! To add a kind of block, read it in `material.rs`, add its source in `crates/compat/src/prompt/preset/sources/`, and
//! put its facts in the trace.

mod card;
pub(super) mod deadline;
pub(super) mod history;
pub(super) mod lore;
pub(super) mod lorebook_cache;
pub(super) mod macro_context;
mod material;
pub(super) mod note;
pub(super) mod plan;
pub(super) mod preset_selection;
pub(super) mod prompt_bounds;
pub(super) mod recall;
pub(super) mod recount;
pub(super) mod regex_scripts;
mod render;
mod services;
pub(super) mod similar;
mod substitutes;
pub(super) mod summary_block;
pub(super) mod trace;

pub(crate) use services::PromptServices;

use serde_json::{Map, Value};

use clotho_compat::prompt::OutgoingMessage;
use clotho_compat::prompt::macros::MacroEngine;
use clotho_compat::prompt::preset::PromptInsert;
use clotho_config::ToolMode;
use clotho_core::parameters;
use clotho_core::tree::Role;
use clotho_provider::{self as provider, ProviderClient, Request};
use clotho_store::{StoreError, StoreReader};

use crate::turn::rules::RuleServices;
use crate::turn::snapshot::TurnSnapshot;
use crate::turn::tools::ToolOffers;
use crate::turn::{rules::rules_in_force, tools::text_tools};
use macro_context::{GenerationTask, PromptPurpose};
use material::PromptMaterial;
use plan::PromptPlan;
use preset_selection::select_preset;
use prompt_bounds::{PromptBounds, REPLY_LIMIT_KEYS};
use trace::BuiltPrompt;

/// The slot of the block that describes the tools.
const TOOLS: &str = "tools";

/// Builds the prompt at a snapshot, with the state just before the model speaks.
///
/// # Errors
/// Returns an error if the database fails.
pub fn build_prompt(
    rule_services: &RuleServices,
    reader: &mut StoreReader<'_>,
    snapshot: &mut TurnSnapshot,
    bounds: PromptBounds,
    purpose: &PromptPurpose,
) -> Result<BuiltPrompt, StoreError> {
    // Gather every text that may stand in the prompt. Plugins and tools come first: tools take tokens of all others.
    let mut planned = plan::plan(rule_services, reader, snapshot)?;
    reader.check_wanted()?;
    let tools = tool_offers(snapshot, &bounds, purpose, &mut planned);
    let budget = bounds.budget.saturating_sub(tools.tokens(&bounds.measure));
    let bounds = PromptBounds { budget, measure: bounds.measure.until(reader.stop_check()), ..bounds };
    // Macros know the sizes that the preset sets.
    let selection = select_preset(reader, snapshot.session(), &bounds.names)?;
    let sizes = bounds.token_limits(&selection.preset);
    let facts = macro_context::macro_facts(snapshot, sizes, (&bounds.model, &bounds.time_zone), purpose);
    let mut draw = macro_context::seeded_random(snapshot, purpose);
    let globals = macro_context::globals(reader, snapshot.session().owner)?;
    let globals = macro_context::globals_on_branch(globals, &snapshot.world);
    let mut macros = MacroEngine::new(&facts, snapshot.world.vars.clone(), globals.clone(), &mut draw);
    macros.stop_with(reader.stop_check());
    let mut material = PromptMaterial::gather(reader, snapshot, bounds, selection, purpose, planned, &mut macros)?;
    // Allocate the budget to the texts and the history. Then fill the reserve: the texts in it stand for the messages
    // that were cut, so they are gathered only now.
    reader.check_wanted()?;
    let mut prompt = match material.allocate(snapshot, purpose) {
        Ok(assembled) => {
            let substitutes = material.fill_reserve(reader, snapshot, &assembled)?;
            // Render the messages and the trace.
            render::render_prompt(snapshot, material, assembled, substitutes)
        }
        Err(overflow) => render::render_overflow(material, overflow),
    };
    reader.check_wanted()?;
    macros.keep_changes();
    let written = macro_context::variable_operations(&snapshot.world, &snapshot.rules.rules, &globals, &macros);
    prompt.macro_result.written = written.iter().map(|operation| operation.path.to_string()).collect();
    prompt.macro_result.operations.extend(written);
    prompt.macro_result.noted = macros.report;
    prompt.tools = tools;
    Ok(prompt)
}

/// Returns the tools that the model is offered. If it gets them as text, the text is added to the plan.
fn tool_offers(
    snapshot: &TurnSnapshot,
    bounds: &PromptBounds,
    purpose: &PromptPurpose,
    planned: &mut PromptPlan,
) -> ToolOffers {
    let mut tools = match purpose.generation_task {
        GenerationTask::Reply if bounds.tools != ToolMode::Disabled => {
            ToolOffers::for_plugins(&rules_in_force::active_plugins(&snapshot.rules.plugins, &snapshot.catalogue))
        }
        GenerationTask::Reply | GenerationTask::Continue { .. } | GenerationTask::Impersonate => ToolOffers::default(),
    };
    if bounds.tools == ToolMode::PromptText && !tools.is_empty() {
        tools.are_in_text = true;
        let text = text_tools::tool_prompt(&tools.to_wire());
        planned.inserts.push(PromptInsert { slot: TOOLS.to_owned(), depth: 1, priority: 0, text });
    }
    tools
}

/// Builds the request to the provider. Each reply has its own seed, so that a reroll differs and can be repeated; an
/// endpoint whose `extra` has `seed = null` gets none. `max_tokens` is the reserve for the reply, unless the parameters
/// or the endpoint set a limit themselves (also as `null`).
pub fn build_request(
    params: &Map<String, Value>,
    dice_seed: u64,
    model: String,
    made: &BuiltPrompt,
    client: &ProviderClient,
) -> Request {
    let endpoint = client.endpoint();
    let mut params = set_params(params, made, client);
    if !params.contains_key("seed") && !endpoint.extra.contains_key("seed") {
        params.insert("seed".into(), (dice_seed >> 33).into());
    }
    let is_said = |key: &&str| params.contains_key(*key) || endpoint.extra.contains_key(*key);
    if !REPLY_LIMIT_KEYS.iter().any(is_said) {
        params.insert("max_tokens".into(), made.reply_tokens.into());
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

/// Merges the samplers of a preset with the request's parameters, which win. Samplers that change nothing are only for
/// servers with other defaults of their own.
pub fn set_params(params: &Map<String, Value>, made: &BuiltPrompt, client: &ProviderClient) -> Map<String, Value> {
    let mut all = made.samplers.clone();
    parameters::remove_idle(&mut all, client.has_own_defaults());
    all.extend(params.iter().map(|(name, value)| (name.clone(), value.clone())));
    all
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
    use clotho_provider::{Endpoint, ProviderKind};
    use serde_json::json;

    fn endpoint(extra: &Value) -> Endpoint {
        Endpoint { extra: extra.as_object().unwrap().clone(), ..Endpoint::new("test", "http://127.0.0.1") }
    }

    /// The reply may have as many tokens as are reserved, unless the parameters or the endpoint say otherwise.
    #[test]
    fn request_reply_tokens_stay_within_reserve() {
        let made = BuiltPrompt { reply_tokens: 1_000, ..BuiltPrompt::default() };
        for (params, extra, expected) in [
            (json!({}), json!({}), json!({"max_tokens": 1_000})),
            (json!({"max_tokens": 200}), json!({}), json!({"max_tokens": 200})),
            (json!({"max_completion_tokens": 200}), json!({}), json!({"max_completion_tokens": 200})),
            (json!({}), json!({"max_completion_tokens": 300}), json!({"max_completion_tokens": 300})),
            (json!({"max_tokens": null}), json!({}), json!({})),
            (json!({"max_tokens": 0}), json!({}), json!({})),
        ] {
            let client = ProviderClient::new(ProviderKind::default(), endpoint(&extra));
            let request = build_request(params.as_object().unwrap(), 7, "m".into(), &made, &client);
            let mut sent = client.wire_params(&request);
            assert!(sent.shift_remove("seed").is_some());
            assert_eq!(Value::Object(sent), expected, "{params} {extra}");
        }
    }

    /// A sampler that a preset turns off is told only to servers that would use it otherwise.
    #[test]
    fn request_neutral_samplers_are_for_servers_with_own_defaults() {
        let samplers = json!({"top_k": 0, "temperature": 0.7, "dry_base": 1.75});
        let made = BuiltPrompt { samplers: samplers.as_object().unwrap().clone(), ..BuiltPrompt::default() };
        for (kind, expected) in
            [("openai", json!({"temperature": 0.7})), ("llamacpp", json!({"top_k": 0, "temperature": 0.7}))]
        {
            let client = ProviderClient::new(ProviderKind::from_name(kind).unwrap(), endpoint(&json!({})));
            assert_eq!(Value::Object(set_params(&Map::new(), &made, &client)), expected, "{kind}");
        }
    }
}
