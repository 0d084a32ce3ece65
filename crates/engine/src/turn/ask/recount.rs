//! Before a prompt is sent, the server that is to read it counts it, where it can. One count of the whole is all that is
//! asked for: it puts the estimate right, and if there is more than the model has room for, the prompt is made once more.

use serde_json::{Map, Value};

use super::trace::BuiltPrompt;
use crate::turn::models::ModelCandidate;
use crate::turn::{TurnServices, models::token_counters};

/// Has a prompt counted by the server of the model that is asked first, and learns from it. Whether it fits, as far as
/// anybody knows.
pub async fn recount_and_check(
    parts: &TurnServices,
    candidate: &ModelCandidate,
    params: &Map<String, Value>,
    made: &mut BuiltPrompt,
) -> bool {
    let endpoint = candidate.client.endpoint();
    if made.too_large.is_some() || made.measure.is_exact() {
        return true;
    }
    let request = super::request(params, 0, candidate.model.clone(), made, endpoint);
    let Some(counted) = candidate.client.count(&request).await else { return true };
    parts.models.learn_token_count(
        &endpoint.id,
        &candidate.model,
        token_counters::estimate_messages(&made.messages),
        counted,
    );
    let counted = usize::try_from(counted).unwrap_or(usize::MAX);
    made.counted_tokens = Some(counted);
    counted.saturating_add(made.reply) <= made.context_tokens
}
