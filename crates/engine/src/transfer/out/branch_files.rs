//! Chooses the branches of a session that are exported, and names their files. Each leaf gets a file, except
//! unanswered replies that are already a swipe in the file of a sibling and did not end an imported file of their own.

use std::collections::{HashMap, HashSet};

use clotho_core::ids::NodeId;
use clotho_core::tree::{Kind, Node, Role, Status};
use clotho_store::{Label, SourceRecord, StoreError, StoreReader, StoredNode, StoredSession};

use super::chat::is_swipe;
use super::file_names::{UniqueFileNames, is_plain};

/// Branches read per page.
const PIECE: i64 = 64;

/// A branch that is exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchFile {
    pub leaf: NodeId,
    /// The file name without extension.
    pub name: String,
}

/// The exported branches of a session, and how their files refer to each other.
#[derive(Debug, Default)]
pub struct BranchFiles {
    /// The branches; the others branch off the first.
    pub files: Vec<BranchFile>,
    /// File names of bookmarks, by the message at which they end.
    pub bookmarks: HashMap<NodeId, String>,
    /// The labels in the tree. Each of their nodes is the end of a branch.
    pub labels: Vec<Label>,
}

impl BranchFiles {
    /// Returns the branches of a session. `names` keeps file names unique in a folder.
    pub fn read(
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        sources: &[SourceRecord],
        names: &mut UniqueFileNames,
    ) -> Result<Self, StoreError> {
        let labels: Vec<_> = reader.labels(stored)?.into_iter().filter(|label| label.is_in_tree).collect();
        let head = stored.session.head;
        let named: HashSet<NodeId> = labels.iter().map(|label| label.node).collect();
        // Collect the leaves that need a file.
        let mut leaves = Vec::new();
        let mut before = i64::MAX;
        loop {
            let branches = reader.branches(stored, before, PIECE)?;
            let Some(last) = branches.last() else { break };
            before = last.leaf.n;
            for branch in branches {
                let is_wanted = branch.leaf.node.id == head || named.contains(&branch.leaf.node.id);
                if is_wanted || needs_own_file(reader, stored, &branch.leaf, head)? {
                    leaves.push(branch.leaf.node.id);
                }
            }
        }
        // Oldest first, so that names stay the same when new branches are added.
        leaves.reverse();
        // Labelled nodes and HEAD need a file too.
        for label in &labels {
            if !leaves.contains(&label.node) {
                leaves.push(label.node);
            }
        }
        if !leads_to(reader, stored, &leaves)? {
            leaves.push(head);
        }
        // Name the files: by the file they were imported from, by label, or by title.
        let mut came = imported_names(reader, stored, sources, &leaves)?;
        keep_unanswered_ends(reader, stored, sources, &mut leaves, &mut came)?;
        let main = main_leaf(&leaves, sources, &came, head);
        leaves.sort_by_key(|leaf| *leaf != main);
        let mut lines = Self::default();
        for leaf in leaves {
            let label = labels.iter().find(|label| label.node == leaf);
            let name = match (came.get(&leaf), label) {
                (Some(name), _) => names.imported(name, stored.session.id),
                (None, Some(label)) if leaf != main => names.unique(&label.name),
                (None, _) if leaf == main => names.unique(&stored.session.title),
                (None, _) => names.unique(&format!("{} - Branch #{}", stored.session.title, lines.files.len())),
            };
            if label.is_some_and(|label| !label.following)
                && let Some(placed) = reader.node(stored, leaf)?
            {
                let at = if placed.node.kind == Kind::Change { placed.node.parent } else { Some(leaf) };
                lines.bookmarks.extend(at.map(|at| (at, name.clone())));
            }
            lines.files.push(BranchFile { leaf, name });
        }
        lines.labels = labels;
        Ok(lines)
    }

    /// Returns the file name of the main branch.
    pub fn main(&self) -> Option<&str> {
        self.files.first().map(|end| end.name.as_str())
    }
}

/// Whether HEAD lies on one of the branches.
fn leads_to(reader: &mut StoreReader<'_>, stored: &StoredSession, leaves: &[NodeId]) -> Result<bool, StoreError> {
    let head = stored.session.head;
    let mut is_there = leaves.contains(&head);
    for leaf in leaves {
        is_there = is_there || reader.is_on_path(stored, head, *leaf)?;
    }
    Ok(is_there)
}

/// Returns the chat name in a source key: `chats/Rin/Maintenance.jsonl` is `Maintenance`.
pub fn file_name(source: &str) -> Option<&str> {
    source.rsplit('/').next()?.strip_suffix(".jsonl").filter(|name| is_plain(name))
}

/// Returns the names of imported files by leaf. If several branches continue a file, the one with HEAD gets the name.
fn imported_names(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    sources: &[SourceRecord],
    leaves: &[NodeId],
) -> Result<HashMap<NodeId, String>, StoreError> {
    let mut came = HashMap::new();
    let ends = sources.iter().filter_map(|source| Some((source.node?, file_name(&source.name)?.to_owned())));
    let (mut exact, mut grown) = (Vec::new(), Vec::new());
    for (node, name) in ends {
        if leaves.contains(&node) { exact.push((node, name)) } else { grown.push((node, name)) }
    }
    came.extend(exact);
    for (node, name) in grown {
        if let Some(leaf) = unnamed_branch(reader, stored, node, leaves, &came)? {
            came.insert(leaf, name);
        }
    }
    Ok(came)
}

/// Returns a branch through `node` that has no name yet, preferably the one with HEAD.
fn unnamed_branch(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    node: NodeId,
    leaves: &[NodeId],
    came: &HashMap<NodeId, String>,
) -> Result<Option<NodeId>, StoreError> {
    let mut ends: Vec<NodeId> = leaves.iter().copied().filter(|leaf| !came.contains_key(leaf)).collect();
    ends.sort_by_key(|leaf| *leaf != stored.session.head);
    for leaf in ends {
        if reader.is_on_path(stored, node, leaf)? {
            return Ok(Some(leaf));
        }
    }
    Ok(None)
}

/// Keeps the imported files that end with an unanswered reply which is a swipe in another file. A branch without a name
/// that continues a sibling of the reply gets the name of the file. If all of them are files of their own, the file
/// stays: a chat and its branch, of which each ends with another swipe, are two files there, and both come back.
fn keep_unanswered_ends(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    sources: &[SourceRecord],
    leaves: &mut Vec<NodeId>,
    came: &mut HashMap<NodeId, String>,
) -> Result<(), StoreError> {
    for source in sources {
        let (Some(end), Some(name)) = (source.node, file_name(&source.name)) else { continue };
        if came.contains_key(&end) || came.values().any(|own| own == name) {
            continue;
        }
        let Some(parent) = reader.node(stored, end)?.and_then(|placed| placed.node.parent) else { continue };
        if !reader.children(stored, end)?.is_empty() {
            continue;
        }
        let heir = unnamed_branch(reader, stored, parent, leaves, came)?;
        if heir.is_none() {
            leaves.push(end);
        }
        came.insert(heir.unwrap_or(end), name.to_owned());
    }
    Ok(())
}

/// Returns the leaf of the main branch: of the first imported file, else HEAD.
fn main_leaf(leaves: &[NodeId], sources: &[SourceRecord], came: &HashMap<NodeId, String>, head: NodeId) -> NodeId {
    let first = sources.iter().find_map(|source| {
        let name = file_name(&source.name)?;
        leaves.iter().find(|leaf| came.get(leaf).is_some_and(|own| own == name))
    });
    first.copied().or(leaves.contains(&head).then_some(head)).or(leaves.first().copied()).unwrap_or(head)
}

/// Whether a branch needs a file of its own, because its leaf is no swipe in another file.
fn needs_own_file(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    leaf: &StoredNode,
    head: NodeId,
) -> Result<bool, StoreError> {
    if leaf.node.status == Status::Generating || leaf.node.parent.is_none() {
        return Ok(false);
    }
    let Some(parent) = leaf.node.parent else { return Ok(false) };
    let family = reader.children(stored, parent)?;
    let others: Vec<&StoredNode> = family.iter().filter(|one| covers(&one.node, &leaf.node)).collect();
    if others.is_empty() {
        return Ok(true);
    }
    let mut is_last = true;
    for other in others {
        let goes_on = other.node.id == head || !reader.children(stored, other.node.id)?.is_empty();
        if goes_on {
            return Ok(false);
        }
        is_last &= other.n < leaf.n;
    }
    // Of several unanswered siblings, only the last one gets a file.
    Ok(is_last)
}

/// Whether the file that ends with `one` also contains `leaf` as a swipe, or `leaf` has nothing to export.
fn covers(one: &Node, leaf: &Node) -> bool {
    let is_other = one.id != leaf.id && one.status != Status::Generating;
    let is_nothing = leaf.kind == Kind::Change || (leaf.status == Status::Error && leaf.content.is_empty());
    is_other && (is_nothing || (leaf.role == Role::Assistant && is_swipe(leaf, one) && one.status == Status::Complete))
}
