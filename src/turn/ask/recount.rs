//! Before a prompt is sent, the server that is to read it counts it, where it can. One count of the whole is all that is
//! asked for: it puts the estimate right, and if there is more than the model has room for, the prompt is made once more.

use serde_json::{Map, Value};

use super::trace::BuiltPrompt;
use crate::turn::models::ModelCandidate;
use crate::turn::{TurnServices, models::counts};

/// Has a prompt counted by the server of the model that is asked first, and learns from it. Whether it fits, as far as
/// anybody knows.
pub async fn fits(
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
    parts.models.learn_size(&endpoint.id, &candidate.model, counts::estimated(&made.messages), counted);
    let counted = usize::try_from(counted).unwrap_or(usize::MAX);
    made.counted = Some(counted);
    counted.saturating_add(made.reply) <= made.context
}
