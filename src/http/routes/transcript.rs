//! One line written out as a file.

use std::sync::Arc;

use actix_web::HttpRequest;
use bytes::Bytes;
use futures_util::{StreamExt, stream};

use super::{Program, end, look, sight};
use crate::http::answer::{Answer, File, Pieces, Reply};
use crate::http::caller::Caller;
use crate::http::error::{ApiError, Code};
use crate::http::query::{Query, Sid};
use crate::http::wire::node::Look;
use crate::http::wire::transcript::{Format, TranscriptQuery};
use crate::ids::NodeId;
use crate::store::{Held, Reader, Show};

/// So many messages are held in memory at once.
const PIECE: usize = 32;

/// A line as it was at one moment: which messages stand on it. What they say never changes.
struct Line {
    held: Held,
    leaf: NodeId,
    rows: Vec<i64>,
}

/// One line of a tree as a file: its enabled texts in order, unless all is asked for. However long it is, only a few
/// messages are in memory.
///
/// # Errors
/// The session or the node is not there.
pub async fn transcript(
    app: Program,
    request: HttpRequest,
    caller: Caller,
    sid: Sid,
    query: Query<TranscriptQuery>,
) -> Answer<File> {
    let query = query.0;
    let format = query.format.unwrap_or_default();
    let show = if query.all { Show::All } else { Show::Enabled };
    let read = move |reader: &mut Reader<'_>, held: &Held| {
        let leaf = end(reader, held, query.leaf, query.label.as_deref())?;
        Ok(Line { held: held.clone(), leaf: leaf.node.id, rows: reader.line(&leaf, show)? })
    };
    let sight = sight(&app, &request, caller, sid, read).await?;
    let look = Look { live: None, ..look(&app) };
    sight.shown(|line| {
        let head = format.file(&line.held.session.title);
        Ok(Reply::file(head, pieces(app.clone(), look, format, line)))
    })
}

fn pieces(app: Program, look: Look, format: Format, line: Line) -> Pieces {
    let beginning = format.beginning(&line.held.session, line.leaf);
    let held = Arc::new(line.held);
    let parts: Vec<Vec<i64>> = line.rows.chunks(PIECE).map(<[i64]>::to_vec).collect();
    let written = stream::iter(parts.into_iter().enumerate()).then(move |(part, rows)| {
        let (app, look, held) = (app.clone(), look.clone(), Arc::clone(&held));
        async move { app.store.read(move |reader| messages(reader, &held, &look, format, &rows, part == 0)).await }
    });
    let ends = |text: String| stream::iter([Ok::<_, ApiError>(text)]);
    let whole = ends(beginning).chain(written).chain(ends(format.end().to_owned()));
    Box::pin(whole.map(|text| text.map(Bytes::from)))
}

fn messages(
    reader: &mut Reader<'_>,
    held: &Held,
    look: &Look,
    format: Format,
    rows: &[i64],
    is_first: bool,
) -> Result<String, ApiError> {
    let placed = reader.placed(held, rows)?;
    if placed.len() < rows.len() {
        // Purged since it began: a file that breaks off is better than one that hides it.
        return Err(ApiError::new(Code::GonePurged, "a message of the line is gone"));
    }
    let dressed = reader.dress(placed)?.into_iter().enumerate();
    Ok(dressed.map(|(position, one)| format.message(look, one, is_first && position == 0)).collect())
}
