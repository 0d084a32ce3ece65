//! A branch as a file.

use std::sync::Arc;

use actix_web::HttpRequest;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::{AppData, branch_leaf, conditional_read, node_renderer};
use crate::http::caller::Caller;
use crate::http::error::{ApiError, ApiErrorCode};
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult, FileResponse, ResponseChunks};
use crate::http::wire::node::NodeRenderer;
use crate::http::wire::transcript::{TranscriptFormat, TranscriptQuery};
use clotho_core::ids::NodeId;
use clotho_store::{PathFilter, StoreReader, StoredSession};

/// Number of messages held in memory at once.
const CHUNK_MESSAGES: usize = 32;

/// A branch at one moment: the ids of its messages, whose texts never change.
struct TranscriptSource {
    held: StoredSession,
    leaf: NodeId,
    rows: Vec<i64>,
}

/// Returns a branch as a file: its enabled texts in order, or all nodes if requested. However long it is, only a few
/// messages are in memory.
///
/// # Errors
/// Returns an error if the session or the node does not exist.
pub async fn transcript(
    app: AppData,
    request: HttpRequest,
    caller: Caller,
    sid: SessionIdPath,
    query: QueryParams<TranscriptQuery>,
) -> ApiResult<FileResponse> {
    let query = query.0;
    let format = query.format.unwrap_or_default();
    let show = if query.all { PathFilter::All } else { PathFilter::Enabled };
    let read = move |reader: &mut StoreReader<'_>, held: &StoredSession| {
        let leaf = branch_leaf(reader, held, query.leaf, query.label.as_deref())?;
        Ok(TranscriptSource { held: held.clone(), leaf: leaf.node.id, rows: reader.line(&leaf, show)? })
    };
    let sight = conditional_read(&app, &request, caller, sid, read).await?;
    let look = NodeRenderer { live: None, ..node_renderer(&app) };
    sight.shown(|line| {
        let head = format.file_head(&line.held.session.title);
        Ok(ApiResponse::file(head, transcript_chunks(app.clone(), look, format, line)))
    })
}

fn transcript_chunks(
    app: AppData,
    look: NodeRenderer,
    format: TranscriptFormat,
    line: TranscriptSource,
) -> ResponseChunks {
    let beginning = format.header(&line.held.session, line.leaf);
    let held = Arc::new(line.held);
    let parts: Vec<Vec<i64>> = line.rows.chunks(CHUNK_MESSAGES).map(<[i64]>::to_vec).collect();
    let written =
        stream::iter(parts.into_iter().enumerate()).then(move |(part, rows)| {
            let (app, look, held) = (app.clone(), look.clone(), Arc::clone(&held));
            async move {
                app.store.read(move |reader| render_messages(reader, &held, &look, format, &rows, part == 0)).await
            }
        });
    let ends = |text: String| stream::iter([Ok::<_, ApiError>(text)]);
    let whole = ends(beginning).chain(written).chain(ends(format.footer().to_owned()));
    Box::pin(whole.map(|text| text.map(Bytes::from)))
}

fn render_messages(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    look: &NodeRenderer,
    format: TranscriptFormat,
    rows: &[i64],
    is_first: bool,
) -> Result<String, ApiError> {
    let placed = reader.nodes_by_row(held, rows)?;
    if placed.len() < rows.len() {
        // A message was purged during the download. A truncated file is better than one that hides the gap.
        return Err(ApiError::new(ApiErrorCode::GonePurged, "a message of the line is gone"));
    }
    let dressed = reader.node_details(placed)?.into_iter().enumerate();
    Ok(dressed.map(|(position, one)| format.message(look, one, is_first && position == 0)).collect())
}
