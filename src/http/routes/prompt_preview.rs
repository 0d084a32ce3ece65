//! The preview of a prompt.

use super::AppData;
use super::presets::check_preset_usable;
use crate::http::body::JsonBody;
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::SessionIdPath;
use crate::http::response::{ApiResponse, ApiResult};
use crate::http::wire::prompt_preview::PromptPreviewRequest;
use crate::http::wire::world::TraceResponse;
use clotho_core::tree::Delta;
use clotho_queries::lookup::{load_node, load_session};
use clotho_store::StoreReader;

/// Returns the prompt that a send would build: its blocks and messages. Plugins plan as they would for the send.
/// Nothing is written, and no hook with effects runs.
///
/// # Errors
/// Returns an error if the node does not exist or cannot be answered, or no model is available.
pub async fn preview(
    app: AppData,
    caller: Caller,
    sid: SessionIdPath,
    body: JsonBody<PromptPreviewRequest>,
) -> ApiResult<TraceResponse> {
    let asked = body.0.read(app.config.limits.message_bytes)?;
    let parent = asked.parent;
    if let Some(id) = asked.preset {
        check_preset_usable(&app, caller, id).await.map_err(|error| error.detail("field", "presetId"))?;
    }
    let read = move |reader: &mut StoreReader<'_>| {
        let stored = load_session(reader, caller.0, sid.0)?;
        load_node(reader, &stored, parent).map(drop).map_err(|error| ApiError::from(error).detail("field", "parentId"))
    };
    app.store.read::<_, ApiError, _>(read).await?;
    let rebuilt = app.turns.prompts.preview(caller.0, sid.0, asked).await?;
    ApiResponse::ok(&TraceResponse::new(rebuilt, &Delta::default()))
}
