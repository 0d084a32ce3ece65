//! The endings of replies: commit 2, and the endings of replies that fail outside the machine.

use clotho_core::ids::{NodeId, SessionId};
use clotho_core::tree::{Delta, NodeMetadata, Status};
use clotho_store::{ProposedSummary, ReplyCompletion, Trace, Tx, WriteError};

use crate::turn::machine::{ReplyFailure, ReplyFault};
use crate::turn::storage::TreeStorage;

/// Returns the fault of a reply that the server could not finish.
pub fn interrupted_fault() -> ReplyFault {
    ReplyFault::new(&ReplyFailure::Interrupted {}, "try again: the text so far is kept")
}

/// Builds the ending of a reply that failed outside the machine. `trace` is what is known of its prompt, possibly
/// nothing; model, parameters and error are added to it.
pub fn failure_ending(
    mut metadata: Box<NodeMetadata>,
    mut trace: Trace,
    fault: &ReplyFault,
    content: String,
    reasoning: String,
) -> ReplyCompletion {
    metadata.reply.error = Some(fault.to_record());
    let (traced, facts) = (&mut trace.head.reply, &metadata.reply);
    traced.model = traced.model.take().or_else(|| facts.model.clone());
    traced.params = traced.params.take().or_else(|| facts.params.clone());
    traced.error = traced.error.take().or_else(|| facts.error.clone());
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

/// Runs commit 2.
pub async fn commit_reply(
    storage: &TreeStorage,
    session: SessionId,
    node: NodeId,
    step: i64,
    ending: ReplyCompletion,
) -> Result<(), WriteError> {
    commit_with_summaries(storage, session, node, step, ending, Vec::new()).await
}

/// Runs commit 2, with the summaries that plugins proposed.
pub async fn commit_with_summaries(
    storage: &TreeStorage,
    session: SessionId,
    node: NodeId,
    step: i64,
    ending: ReplyCompletion,
    summaries: Vec<ProposedSummary>,
) -> Result<(), WriteError> {
    let at = storage.clock.now();
    let write = move |tx: &mut Tx<'_>| {
        tx.complete_reply(session, node, step, at, &ending)?;
        summaries.iter().try_for_each(|one| tx.propose_summary(session, node, one).map(drop))
    };
    storage.store.write(write).await
}
