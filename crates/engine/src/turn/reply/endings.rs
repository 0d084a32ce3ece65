//! How replies end: commit 2, and the endings of those that fail outside the machine.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use clotho_core::ids::{NodeId, SessionId};
use clotho_core::tree::{Delta, Status};
use clotho_store::{ProposedSummary, ReplyCompletion, Trace, Tx, WriteError};

use crate::turn::TurnServices;
use crate::turn::machine::ReplyFault;

/// Why a reply ends that the server did not live to finish.
pub fn interrupted_fault() -> ReplyFault {
    let message = "the server stopped while this reply was being written";
    ReplyFault::new("interrupted", message, "try again: whatever had arrived is kept")
}

/// The ending of a reply that failed outside the machine. `trace` is what is known of its prompt, which may be nothing: what it
/// was to be asked with and why it ended stands there all the same.
pub fn failed(
    mut metadata: Map<String, Value>,
    mut trace: Trace,
    fault: &ReplyFault,
    content: String,
    reasoning: String,
) -> ReplyCompletion {
    metadata.insert("error".into(), json!({"code": fault.code, "message": fault.message, "hint": fault.hint}));
    for key in ["model", "params", "error"] {
        if let Some(known) = metadata.get(key).filter(|_| !trace.head.contains_key(key)) {
            trace.head.insert(key.to_owned(), known.clone());
        }
    }
    ReplyCompletion {
        status: Status::Error,
        content,
        reasoning: Some(reasoning).filter(|text| !text.is_empty()),
        name: None,
        metadata,
        delta: Delta::default(),
        trace: Some(trace),
        asked: None,
    }
}

/// Commit 2.
pub async fn commit_reply(
    parts: &Arc<TurnServices>,
    session: SessionId,
    node: NodeId,
    step: i64,
    ending: ReplyCompletion,
) -> Result<(), WriteError> {
    commit_with_summaries(parts, session, (node, step), ending, Vec::new()).await
}

/// Commit 2, with the summaries that plugins proposed at it.
pub async fn commit_with_summaries(
    parts: &Arc<TurnServices>,
    session: SessionId,
    (node, step): (NodeId, i64),
    ending: ReplyCompletion,
    summaries: Vec<ProposedSummary>,
) -> Result<(), WriteError> {
    let at = parts.clock.now();
    let write = move |tx: &mut Tx<'_>| {
        tx.complete_reply(session, node, step, at, &ending)?;
        summaries.iter().try_for_each(|one| tx.propose_summary(session, node, one).map(drop))
    };
    parts.store.write(write).await
}
