//! One side call of a model, collected to its end.

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::turn::TurnServices;
use crate::turn::ask::trace::BuiltPrompt;
use crate::turn::machine::{ReplyEvent, ReplyFailure, ReplyFault, ReplyMachine};
use crate::turn::models::providers::ReplyCost;
use crate::turn::models::{ModelCandidate, ModelSelection};
use crate::turn::problem::ModelCallProblem;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::json_facts::Fact;
use clotho_core::tree::ReplyFacts;
use clotho_provider::Usage;

/// Returns the answer of the first model that gives one, with its facts.
pub async fn ask(
    parts: &Arc<TurnServices>,
    choice: &ModelSelection,
    params: &Map<String, Value>,
    made: &BuiltPrompt,
) -> Result<(String, ReplyFacts), RenderedMessage> {
    let deadline = Instant::now() + parts.config.limits.generation;
    let mut why = RenderedMessage::new(&ModelCallProblem::NoModel {});
    for candidate in choice.candidates() {
        let machine = collect_answer(parts, candidate, params, made, deadline).await;
        if let Some(ReplyFault { failure, .. }) = machine.fault() {
            why = failure.clone().of_model(&candidate.name);
            continue;
        }
        let mut facts = ReplyFacts { model: Some(candidate.name.clone()), ..ReplyFacts::default() };
        machine.record_ending(&mut facts);
        if let Some(usage) = machine.usage() {
            add_cost(parts, &mut facts, (&candidate.client.endpoint().id, &candidate.model), &usage);
        }
        return Ok((machine.content().to_owned(), facts));
    }
    Err(why)
}

/// Collects the answer of one model.
async fn collect_answer(
    parts: &Arc<TurnServices>,
    candidate: &ModelCandidate,
    params: &Map<String, Value>,
    made: &BuiltPrompt,
    deadline: Instant,
) -> ReplyMachine {
    let endpoint = candidate.client.endpoint();
    let request = crate::turn::ask::request(params, parts.ids.next_seed(), candidate.model.clone(), made, endpoint);
    let mut machine = ReplyMachine::new(parts.clock.now());
    let mut frames = candidate.client.stream_side_call(&request);
    while !machine.is_finished() {
        let event = match tokio::time::timeout_at(deadline, frames.next()).await {
            Ok(Some(Ok(frame))) => ReplyEvent::Frame(frame),
            Ok(Some(Err(failure))) => ReplyEvent::Failed(ReplyFault::from(&failure)),
            Ok(None) => ReplyEvent::Ended,
            Err(_) => {
                let failure = ReplyFailure::TooSlow { seconds: parts.config.limits.generation.as_secs() };
                ReplyEvent::Failed(ReplyFault::new(&failure, "ask for less"))
            }
        };
        machine.on(event, parts.clock.now());
    }
    machine
}

/// Adds the cost to the facts, if the model server did not report it.
pub fn add_cost(parts: &TurnServices, facts: &mut ReplyFacts, (provider, model): (&str, &str), usage: &Usage) {
    let is_unknown = facts.cost.is_unknown();
    let Some(ReplyCost { cost, saved, from }) = parts.models.cost(provider, model, usage).filter(|_| is_unknown) else {
        return;
    };
    facts.cost = Fact::Known(cost);
    facts.cost_from = Fact::Known(from.to_owned());
    facts.saved = saved.or(facts.saved.take());
}
