//! Nodes that came by themselves: what an answer to a plugin did to the world.

use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::tree::{Kind, Node};
use clotho_store::{ExpectedVersion, StoreError, StoreReader, StoredSession};

use crate::turn::TurnServices;

/// What the metadata of a node tells of the call by, whose answer it is.
pub const ANSWERS: &str = "answers";

/// HEAD, where nothing but answers came between it and a node; else the node. Who writes after what he saw does not write past
/// what has come since without being seen.
///
/// # Errors
/// The database fails.
pub fn latest_after_answers(
    reader: &mut StoreReader<'_>,
    held: &StoredSession,
    node: NodeId,
) -> Result<NodeId, StoreError> {
    let mut next = Some(held.session.head);
    while let Some(id) = next {
        if id == node {
            return Ok(held.session.head);
        }
        let placed = reader.node(held, id)?.filter(|placed| is_answer(&placed.node));
        next = placed.and_then(|placed| placed.node.parent);
    }
    Ok(node)
}

/// What a writer saw of a session, as if he had seen the answers that came since.
///
/// # Errors
/// The database fails.
pub async fn seen(
    parts: &TurnServices,
    caller: UserId,
    session: SessionId,
    seen: Option<ExpectedVersion>,
) -> Result<Option<ExpectedVersion>, StoreError> {
    let Some(ExpectedVersion::Leaf(leaf)) = seen else { return Ok(seen) };
    let read = move |reader: &mut StoreReader<'_>| match reader.session(caller, session)? {
        Some(held) => latest_after_answers(reader, &held, leaf),
        None => Ok(leaf),
    };
    Ok(Some(ExpectedVersion::Leaf(parts.store.read_inline(read).await?)))
}

fn is_answer(node: &Node) -> bool {
    node.kind == Kind::Change && node.metadata.contains_key(ANSWERS)
}
