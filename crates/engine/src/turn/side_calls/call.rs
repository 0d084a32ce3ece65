//! One side call of a model, collected to its end.

use futures_util::StreamExt;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::turn::machine::{ReplyEvent, ReplyFailure, ReplyFault, ReplyMachine};
use crate::turn::models::providers::ReplyCost;
use crate::turn::models::{ModelCandidate, ModelSelection};
use crate::turn::problem::ModelCallProblem;
use crate::turn::prompts::PromptServices;
use crate::turn::prompts::trace::BuiltPrompt;
use crate::turn::storage::TreeStorage;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::json_facts::NullableField;
use clotho_core::tree::ReplyFacts;
use clotho_core::tree::reply_facts::{CostAmount, FiniteNumber};
use clotho_provider::Usage;
use std::time::Duration;

/// Returns the answer of the first model that gives one, with its facts.
pub async fn complete(
    storage: &TreeStorage,
    prompt_services: &PromptServices,
    choice: &ModelSelection,
    params: &Map<String, Value>,
    prompt: &BuiltPrompt,
) -> Result<(String, ReplyFacts), RenderedMessage> {
    let limit = prompt_services.config.limits.generation;
    let deadline = Instant::now() + limit;
    let mut why = RenderedMessage::new(&ModelCallProblem::NoModel {});
    for candidate in choice.candidates() {
        let machine = collect_answer(storage, candidate, params, prompt, deadline, limit).await;
        if let Some(ReplyFault { failure, .. }) = machine.fault() {
            why = failure.clone().of_model(&candidate.name);
            continue;
        }
        let mut facts = ReplyFacts { model: Some(candidate.name.clone()), ..ReplyFacts::default() };
        machine.record_ending(&mut facts);
        if let Some(usage) = machine.usage() {
            add_cost(prompt_services, &mut facts, &candidate.client.endpoint().id, &candidate.model, &usage);
        }
        return Ok((machine.content().to_owned(), facts));
    }
    Err(why)
}

/// Collects the answer of one model. The deadline comes with the time limit that it ends.
async fn collect_answer(
    storage: &TreeStorage,
    candidate: &ModelCandidate,
    params: &Map<String, Value>,
    prompt: &BuiltPrompt,
    deadline: Instant,
    limit: Duration,
) -> ReplyMachine {
    let (seed, client) = (storage.ids.next_seed(), &candidate.client);
    let request = crate::turn::prompts::build_request(params, seed, candidate.model.clone(), prompt, client);
    let mut machine = ReplyMachine::new(storage.clock.now());
    let mut frames = candidate.client.stream_side_call(&request);
    while !machine.is_finished() {
        let event = match tokio::time::timeout_at(deadline, frames.next()).await {
            Ok(Some(Ok(frame))) => ReplyEvent::Frame(frame),
            Ok(Some(Err(failure))) => ReplyEvent::Failed(ReplyFault::from(&failure)),
            Ok(None) => ReplyEvent::Ended,
            Err(_) => {
                let failure = ReplyFailure::TooSlow { seconds: limit.as_secs() };
                ReplyEvent::Failed(ReplyFault::new(&failure, "request fewer tokens"))
            }
        };
        machine.handle_event(event, storage.clock.now());
    }
    machine
}

/// Adds the cost to the facts, if the model server did not report it.
pub fn add_cost(prompt_services: &PromptServices, facts: &mut ReplyFacts, provider: &str, model: &str, usage: &Usage) {
    let is_unknown = facts.cost.is_unknown();
    let Some(ReplyCost { cost, saved, from }) =
        prompt_services.models.cost(provider, model, usage).filter(|_| is_unknown)
    else {
        return;
    };
    // Prices of the settings and of lists are never negative.
    let Ok(cost) = CostAmount::try_from(cost) else { return };
    facts.cost = NullableField::Known(cost);
    facts.cost_source = NullableField::Known(from.to_owned());
    facts.saved = saved.and_then(|saved| FiniteNumber::try_from(saved).ok()).or(facts.saved.take());
}
