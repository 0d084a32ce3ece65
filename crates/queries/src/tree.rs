//! The whole tree: its nodes page by page, its outline, the stash and the operation log.

use clotho_core::ids::{FragmentId, SessionId, UserId};
use clotho_core::oplog::Operation;
use clotho_store::{Label, StashFragment, StoreError, StoreReader, StoredNode, StoredSession, TreeOutlineNode};

use crate::error::ReadError;
use crate::lookup::load_session;
use crate::node_view::{NodeRenderer, NodeView};

/// Maximum number of nodes of a whole tree in one answer.
const WHOLE: i64 = 20_000;
/// Length of a preview in an outline, in characters.
const PREVIEW_CHARS: usize = 80;

/// A page of a tree: its nodes in creation order.
pub struct TreePage {
    pub nodes: Vec<NodeView>,
    /// `after` of the next page; `None` at the end.
    pub next: Option<i64>,
    pub marks: TreeMarks,
}

/// The outline of a tree. Parents precede their children.
#[derive(Debug)]
pub struct TreeOutline {
    /// The nodes; each excerpt is the start of the displayed text.
    pub nodes: Vec<TreeOutlineNode>,
    pub marks: TreeMarks,
}

/// The fragments and labels of a tree.
#[derive(Debug)]
pub struct TreeMarks {
    pub stash: Vec<StashFragment>,
    pub labels: Vec<Label>,
}

/// A page of the operation log.
#[derive(Debug)]
pub struct OperationPage {
    /// Oldest first.
    pub operations: Vec<Operation>,
    /// `since` of the next page; `None` if these are the newest.
    pub next: Option<i64>,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// Returns the whole tree.
///
/// # Errors
/// Returns an error if the tree is too large for one answer.
pub fn whole_tree(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
) -> Result<TreePage, ReadError> {
    let nodes = stored.counts.nodes + 1;
    if nodes > WHOLE {
        return Err(ReadError::TreeTooLarge { nodes, limit: WHOLE });
    }
    Ok(tree_page(reader, stored, look, 0, WHOLE)?)
}

/// Returns a page of a tree: at most `limit` nodes after row `after`.
///
/// # Errors
/// Returns an error if the database fails.
pub fn tree_page(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
    after: i64,
    limit: i64,
) -> Result<TreePage, StoreError> {
    let placed = reader.tree_page(stored, after, limit)?;
    let (nodes, next) = render_page(reader, look, placed, limit)?;
    Ok(TreePage { nodes, next, marks: tree_marks(reader, stored)? })
}

/// Returns a page of the tree of a fragment, and where the next one begins.
///
/// # Errors
/// Returns an error if the fragment does not exist.
pub fn fragment_page(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
    fragment: FragmentId,
    after: i64,
    limit: i64,
) -> Result<(Vec<NodeView>, Option<i64>), ReadError> {
    let page = reader.fragment_page(stored, fragment, after, limit)?;
    let placed = page.ok_or(ReadError::NotFound("the fragment"))?;
    Ok(render_page(reader, look, placed, limit)?)
}

fn render_page(
    reader: &mut StoreReader<'_>,
    look: &NodeRenderer,
    placed: Vec<StoredNode>,
    limit: i64,
) -> Result<(Vec<NodeView>, Option<i64>), StoreError> {
    let is_full = i64::try_from(placed.len()).is_ok_and(|read| read == limit);
    let next = placed.last().filter(|_| is_full).map(|last| last.n);
    let nodes = reader.node_details(placed)?.into_iter().map(|dressed| look.node(dressed)).collect();
    Ok((nodes, next))
}

/// Returns the outline of a tree.
///
/// # Errors
/// Returns an error if the database fails.
pub fn tree_outline(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
) -> Result<TreeOutline, StoreError> {
    let mut nodes = reader.outline(stored)?;
    for sketch in &mut nodes {
        if let Some(shown) = look.display(sketch.role, &sketch.excerpt, false) {
            sketch.excerpt = shown;
        }
        if let Some((end, _)) = sketch.excerpt.char_indices().nth(PREVIEW_CHARS) {
            sketch.excerpt.truncate(end);
        }
    }
    Ok(TreeOutline { nodes, marks: tree_marks(reader, stored)? })
}

/// Returns the fragments and labels of a tree.
fn tree_marks(reader: &mut StoreReader<'_>, stored: &StoredSession) -> Result<TreeMarks, StoreError> {
    Ok(TreeMarks { stash: reader.stash(stored)?, labels: reader.labels(stored)? })
}

/// Returns a page of the operation log: at most `limit` operations after `since`.
///
/// # Errors
/// Returns an error if the session does not exist.
pub fn operation_page(
    reader: &mut StoreReader<'_>,
    user: UserId,
    session: SessionId,
    since: i64,
    limit: i64,
) -> Result<OperationPage, ReadError> {
    let stored = load_session(reader, user, session)?;
    let operations = reader.operations(&stored, since, limit)?;
    let op = stored.session.op;
    let next = operations.last().map(|last| last.op).filter(|last| *last < op);
    Ok(OperationPage { operations, next, op })
}
