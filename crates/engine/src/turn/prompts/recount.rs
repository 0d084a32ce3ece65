//! Before a prompt is sent, the model server counts its tokens, if it can. One count of the whole corrects the
//! estimate; if the prompt is too large, it is built again.

use serde_json::{Map, Value};

use super::services::PromptServices;
use super::trace::BuiltPrompt;
use crate::turn::models::ModelCandidate;
use crate::turn::models::token_counters;

/// Has the server of the first model count a prompt, and corrects the estimate. Returns `false` if it does not fit.
pub async fn recount_and_check(
    prompt_services: &PromptServices,
    candidate: &ModelCandidate,
    params: &Map<String, Value>,
    made: &mut BuiltPrompt,
) -> bool {
    let endpoint = candidate.client.endpoint();
    if made.too_large.is_some() || made.measure.is_exact() {
        return true;
    }
    let request = super::build_request(params, 0, candidate.model.clone(), made, &candidate.client);
    let Some(counted) = candidate.client.count_tokens(&request).await else { return true };
    prompt_services.models.learn_token_count(
        &endpoint.id,
        &candidate.model,
        token_counters::estimate_messages(&made.messages),
        counted,
    );
    let counted = usize::try_from(counted).unwrap_or(usize::MAX);
    made.counted_tokens = Some(counted);
    counted.saturating_add(made.reply_tokens) <= made.context_tokens
}
