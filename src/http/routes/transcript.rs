//! A branch as a file.

use std::sync::Arc;

use actix_web::HttpRequest;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::{AppData, conditional_read, node_renderer};
use crate::http::caller::Caller;
use crate::http::error::ApiError;
use crate::http::query::{QueryParams, SessionIdPath};
use crate::http::response::{ApiResponse, ApiResult, FileResponse, ResponseChunks};
use crate::http::wire::transcript::{TranscriptFormat, TranscriptQuery};
use clotho_queries::error::ReadError;
use clotho_queries::lookup::BranchEnd;
use clotho_queries::node_view::NodeRenderer;
use clotho_queries::transcript::{Transcript, read_messages};
use clotho_store::{StoreReader, StoredSession};

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
    let TranscriptQuery { leaf, label, format, all } = query.0;
    let (format, end) = (format.unwrap_or_default(), BranchEnd { leaf: leaf.map(|id| id.0), label });
    let read = move |reader: &mut StoreReader<'_>, stored: &StoredSession| Transcript::read(reader, stored, &end, all);
    let conditional = conditional_read(&app, &request, caller, sid, read).await?;
    let renderer = NodeRenderer { live: None, ..node_renderer(&app) };
    conditional.respond(|branch| {
        let head = format.file_head(&branch.stored.session.title);
        Ok(ApiResponse::file(head, transcript_chunks(app.clone(), renderer, format, branch)))
    })
}

fn transcript_chunks(
    app: AppData,
    renderer: NodeRenderer,
    format: TranscriptFormat,
    branch: Transcript,
) -> ResponseChunks {
    let beginning = format.header(&branch.stored.session, branch.leaf);
    let parts = branch.chunks();
    let stored = Arc::new(branch.stored);
    let written = stream::iter(parts.into_iter().enumerate()).then(move |(part, rows)| {
        let (app, renderer, stored) = (app.clone(), renderer.clone(), Arc::clone(&stored));
        let write = move |reader: &mut StoreReader<'_>| {
            let messages = read_messages(reader, &stored, &renderer, &rows)?.into_iter().enumerate();
            let texts = messages.map(|(position, one)| format.message(one, part == 0 && position == 0));
            Ok::<String, ReadError>(texts.collect())
        };
        async move { app.store.read(write).await.map_err(ApiError::from) }
    });
    let ends = |text: String| stream::iter([Ok::<_, ApiError>(text)]);
    let whole = ends(beginning).chain(written).chain(ends(format.footer().to_owned()));
    Box::pin(whole.map(|text| text.map(Bytes::from)))
}
