//! Answer nodes: change nodes with what an answer to a plugin did to the world.

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::tree::{Kind, Node};
use clotho_store::{ExpectedVersion, StoreError, StoreReader, StoredSession};

use crate::turn::storage::TreeStorage;

/// Returns HEAD if only answer nodes lie between it and `node`, else `node`. So a write based on `node` goes below
/// answers that its writer has not seen.
///
/// # Errors
/// Returns an error if the database fails.
pub fn latest_after_answers(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    node: NodeId,
) -> Result<NodeId, StoreError> {
    let mut next = Some(stored.session.head);
    while let Some(id) = next {
        if id == node {
            return Ok(stored.session.head);
        }
        let placed = reader.node(stored, id)?.filter(|placed| is_answer(&placed.node));
        next = placed.and_then(|placed| placed.node.parent);
    }
    Ok(node)
}

/// Adjusts the version that a writer saw, as if the writer had seen later answer nodes too.
///
/// # Errors
/// Returns an error if the database fails.
pub async fn advance_expected(
    storage: &TreeStorage,
    caller: UserId,
    session: SessionId,
    seen: Option<ExpectedVersion>,
) -> Result<Option<ExpectedVersion>, StoreError> {
    let Some(ExpectedVersion::Leaf(leaf)) = seen else { return Ok(seen) };
    let read = move |reader: &mut StoreReader<'_>| match reader.session(caller, session)? {
        Some(stored) => latest_after_answers(reader, &stored, leaf),
        None => Ok(leaf),
    };
    Ok(Some(ExpectedVersion::Leaf(storage.store.read_inline(read).await?)))
}

fn is_answer(node: &Node) -> bool {
    node.kind == Kind::Change && node.metadata.answers.is_some()
}
