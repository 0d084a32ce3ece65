//! Edits of the arrangement, the stash, and the labels.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::checks::{check_content, expected_version};
use super::ids::{WireId, WireNodeId, WireSessionId};
use super::node::ChatMessageNode;
use crate::http::error::ApiError;
use crate::http::response::RedactForReplay;
use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{FragmentId, NodeId};
use clotho_core::tree::merge::ConflictResolution;
use clotho_core::tree::{EditTarget, TreeEdit};
use clotho_core::world::diff;
use clotho_store::{ArrangeResult, ExpectedVersion, Label, MAX_REFUSALS, NodeWorldDiff, StashFragment, UndoResult};

/// The most edits at once.
const MAX_EDITS: usize = 500;
/// The most lines about changed worlds.
const MAX_WORLD_CHANGES: usize = 200;
/// The most messages of a run.
const MAX_RUN_NODES: usize = 2_000;

/// The id of a fragment.
pub type WireFragmentId = WireId<FragmentId>;

/// Edits of the arrangement: all of them are made, or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TreeEditsRequest {
    /// 1 to 500 edits, made in this order.
    pub operations: Vec<TreeEditRequest>,
    /// Where the writer saw HEAD.
    #[serde(default)]
    pub expected_leaf_id: Option<WireNodeId>,
    /// Instead: the newest operation that the writer saw.
    #[serde(default)]
    pub expected_op: Option<i64>,
}

/// One edit. `prune {nodeId, name?}`, `graft {nodeId | fragmentId, targetId, mode, fromSessionId?}`,
/// `rename {fragmentId, name}`, `label {nodeId, name, following?}`, `unlabel {name}`, `summarise {nodeIds, content}`,
/// `merge {fromLeafId, ontoLeafId, nodeIds?, resolve?}`, `purge {nodeId | fragmentId, confirm}`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TreeEditRequest {
    /// Which edit.
    pub op: String,
    /// The node that it is about.
    pub node_id: Option<WireNodeId>,
    /// The fragment that it is about.
    #[schema(value_type = Option<String>)]
    pub fragment_id: Option<WireFragmentId>,
    /// The node below which something is to hang; a fragment without one goes back to where it was.
    pub target_id: Option<WireNodeId>,
    /// `move` or `copy`; `move` unless said.
    pub mode: Option<String>,
    /// The session that the node or the fragment is of, where that is another one.
    pub from_session_id: Option<WireSessionId>,
    /// The messages of a run, which follow each other on one line.
    pub node_ids: Option<Vec<WireNodeId>>,
    /// The text of a summary.
    pub content: Option<String>,
    /// The end of the line from which something is brought over.
    pub from_leaf_id: Option<WireNodeId>,
    /// The end of the line that it comes to.
    pub onto_leaf_id: Option<WireNodeId>,
    /// What becomes of each conflict, by path: `"theirs"`, `"ours"`, or a value; `{"value": …}` is the value inside, for
    /// those two words and for what looks like this itself.
    #[schema(value_type = Option<Object>)]
    pub resolve: Option<Map<String, Value>>,
    /// The name of a fragment or a label; null takes that of a fragment away.
    pub name: Option<String>,
    /// Whether the label moves with what is appended there.
    pub following: Option<bool>,
    /// Whether it is meant that something is destroyed.
    pub confirm: Option<bool>,
}

/// What edits came to.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeEditsResponse {
    /// The operation; the newest one if nothing had to change.
    pub op: i64,
    /// The fragments that the edits made, in their order.
    #[schema(value_type = Vec<String>)]
    pub fragment_ids: Vec<WireFragmentId>,
    /// The messages that they made, in their order: the top of each copy, each summary, the end of what each merge brought.
    pub node_ids: Vec<WireNodeId>,
    /// The lines that leave a summarised run before its end, and so lose texts too.
    pub affected: AffectedBranchesResponse,
    /// How the world changed at HEAD, at labels and at the tops of what moved; at most 200 lines.
    pub world_changes: Vec<NodeWorldChangeResponse>,
    /// What copies from another session would do and the rules in force here refuse; at most 200 lines.
    pub refused: Vec<RefusedOperationResponse>,
    /// Whether there was more to tell.
    pub is_cut_short: bool,
}

/// Something that a copy would do to the world and that the rules in force leave out.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedOperationResponse {
    /// The copy.
    pub node_id: WireNodeId,
    /// Where in the world.
    pub path: String,
    /// One sentence.
    pub reason: String,
}

/// Lines that lost texts by a summary of another one.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AffectedBranchesResponse {
    /// Their last messages, at most 100.
    pub leaf_ids: Vec<WireNodeId>,
    /// How many lines there are.
    pub count: usize,
}

/// A change of the world at a node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeWorldChangeResponse {
    /// The node.
    pub node_id: WireNodeId,
    /// Where in its variables.
    pub path: String,
    /// The value before; null if there was none.
    pub before: Option<Value>,
    /// The value after; null if there is none.
    pub after: Option<Value>,
}

/// Undo or redo.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UndoRequest {
    /// Where the caller saw HEAD.
    pub expected_leaf_id: Option<WireNodeId>,
    /// Instead: the newest operation that the caller saw.
    pub expected_op: Option<i64>,
}

/// What was taken back or brought back.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoResponse {
    /// The operation that this is.
    pub op: i64,
    /// The operation that began the step.
    pub step: i64,
    /// What kind of act that was: `message`, `prune`, ….
    pub kind: &'static str,
    /// Where HEAD stands.
    pub leaf_id: WireNodeId,
    /// How the world changed at HEAD, at labels and at the tops of what moved; at most 200 lines.
    pub world_changes: Vec<NodeWorldChangeResponse>,
    /// Whether there was more to tell.
    pub is_cut_short: bool,
}

impl From<&UndoResult> for UndoResponse {
    fn from(undone: &UndoResult) -> Self {
        let (world_changes, is_cut_short) = world_changes(&undone.worlds);
        let UndoResult { op, step, kind, head, .. } = undone;
        Self { op: *op, step: *step, kind: kind.word(), leaf_id: WireId(*head), world_changes, is_cut_short }
    }
}

/// What lies in the stash.
#[derive(Debug, Serialize, ToSchema)]
pub struct StashResponse {
    /// The fragments, the one taken out last first.
    pub items: Vec<FragmentResponse>,
    /// The newest operation.
    pub op: i64,
}

/// The names in a tree.
#[derive(Debug, Serialize, ToSchema)]
pub struct LabelsResponse {
    /// The labels, by name.
    pub items: Vec<LabelResponse>,
    /// The newest operation.
    pub op: i64,
}

/// A fragment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Fragment)]
#[serde(rename_all = "camelCase")]
pub struct FragmentResponse {
    /// The fragment.
    #[schema(value_type = String)]
    pub id: WireFragmentId,
    /// Its name.
    pub name: Option<String>,
    /// Its top.
    pub node_id: WireNodeId,
    /// Where its top hung.
    pub origin_id: Option<WireNodeId>,
    /// Whether it can go back there: that node still stands in the tree.
    pub can_return: bool,
    /// How many nodes lie in it.
    pub count: i64,
    /// The first line of its first text, with `…` behind it where other lines follow.
    pub first_line: String,
    /// When it was taken out.
    pub created_at: String,
}

/// The tree of a fragment, or a page of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FragmentTreeResponse {
    /// The session.
    pub session_id: WireSessionId,
    /// The fragment.
    #[schema(value_type = String)]
    pub fragment_id: WireFragmentId,
    /// The nodes, in the order in which they were made; parents come before children.
    pub items: Vec<ChatMessageNode>,
    /// Leads to the next nodes.
    pub next: Option<String>,
    /// The newest operation.
    pub op: i64,
}

/// A name on a node.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Label)]
#[serde(rename_all = "camelCase")]
pub struct LabelResponse {
    /// The name, unique in the session.
    pub name: String,
    /// The node.
    pub node_id: WireNodeId,
    /// Whether it moves with what is appended there.
    pub following: bool,
    /// Whether its node stands in the tree; otherwise it lies in the stash, or was taken back.
    pub is_in_tree: bool,
}

impl TreeEditsRequest {
    /// The edits for the store, and what the writer saw. `ids` names the fragments that come; a text has at most
    /// `longest` bytes.
    ///
    /// # Errors
    /// Names the field.
    pub fn read(
        self,
        ids: &IdGenerator,
        now: Time,
        longest: usize,
    ) -> Result<(Vec<TreeEdit>, Option<ExpectedVersion>), ApiError> {
        if self.operations.is_empty() || self.operations.len() > MAX_EDITS {
            return Err(ApiError::invalid("operations", format!("1 to {MAX_EDITS} edits are expected")));
        }
        let seen = expected_version(self.expected_leaf_id, self.expected_op)?;
        let edits = self.operations.into_iter().enumerate();
        let read = |(at, edit): (usize, TreeEditRequest)| {
            edit.read(ids, now, longest).map_err(|error| {
                let field = error.details.get("field").and_then(Value::as_str).unwrap_or_default().to_owned();
                error.detail("field", format!("operations[{at}].{field}")).detail("operation", at)
            })
        };
        Ok((edits.map(read).collect::<Result<_, _>>()?, seen))
    }
}

impl TreeEditRequest {
    fn read(mut self, ids: &IdGenerator, now: Time, longest: usize) -> Result<TreeEdit, ApiError> {
        let edit = match self.op.as_str() {
            "prune" => TreeEdit::Prune {
                node: self.take_node()?,
                fragment: FragmentId::new(ids.next(now)),
                name: self.name.take(),
            },
            "graft" => self.graft(ids, now)?,
            "summarise" => self.summarise(ids, longest)?,
            "merge" => self.merge(ids)?,
            "purge" => {
                TreeEdit::Purge { piece: self.take_graft_source()?, is_confirmed: self.confirm.take().unwrap_or(false) }
            }
            "rename" => TreeEdit::Rename { fragment: self.take_fragment()?, name: self.name.take() },
            "label" => TreeEdit::Label {
                node: self.take_node()?,
                name: self.take_name()?,
                following: self.following.take().unwrap_or(false),
            },
            "unlabel" => TreeEdit::Unlabel { name: self.take_name()? },
            _ => {
                let expected = "prune, graft, purge, rename, label, unlabel, summarise or merge is expected";
                return Err(ApiError::invalid("op", expected));
            }
        };
        match self.first_unused_field() {
            None => Ok(edit),
            Some(field) => Err(ApiError::invalid(field, format!("\"{}\" does not take this field", self.op))),
        }
    }

    fn graft(&mut self, ids: &IdGenerator, now: Time) -> Result<TreeEdit, ApiError> {
        let piece = self.take_graft_source()?;
        let (target, from) = (self.target_id.take().map(|id| id.0), self.from_session_id.take().map(|id| id.0));
        let leaves = match (self.mode.take().as_deref(), from) {
            (None | Some("move"), None) => return Ok(TreeEdit::Graft { piece, target }),
            (None | Some("move"), Some(_)) => Some(FragmentId::new(ids.next(now))),
            (Some("copy"), _) => None,
            _ => return Err(ApiError::invalid("mode", "\"move\" or \"copy\" is expected")),
        };
        let target = target.ok_or_else(|| ApiError::invalid("targetId", "the id of a message is expected"))?;
        Ok(TreeEdit::Copy { piece, target, from, source_fragment: leaves, seed: ids.next_seed() })
    }

    fn summarise(&mut self, ids: &IdGenerator, longest: usize) -> Result<TreeEdit, ApiError> {
        let nodes = self.take_run()?;
        if nodes.is_empty() {
            return Err(ApiError::invalid("nodeIds", "the ids of the messages are expected"));
        }
        let text = self.content.take().unwrap_or_default();
        check_content(&text, longest)?;
        Ok(TreeEdit::Summarise { nodes, content: text, seed: ids.next_seed() })
    }

    fn merge(&mut self, ids: &IdGenerator) -> Result<TreeEdit, ApiError> {
        let leaf = |field, id: Option<WireNodeId>| {
            id.map(|id| id.0).ok_or_else(|| ApiError::invalid(field, "the id of a message is expected"))
        };
        let from = leaf("fromLeafId", self.from_leaf_id.take())?;
        let onto = leaf("ontoLeafId", self.onto_leaf_id.take())?;
        let resolve = self.resolve.take().unwrap_or_default();
        let resolve = resolve.into_iter().map(|(path, how)| (path, parse_resolution(how))).collect();
        let nodes = self.take_run()?;
        Ok(TreeEdit::Merge { from, onto, nodes, resolve, seed: ids.next_seed() })
    }

    fn take_run(&mut self) -> Result<Vec<NodeId>, ApiError> {
        let nodes = self.node_ids.take().unwrap_or_default();
        if nodes.len() > MAX_RUN_NODES {
            return Err(ApiError::invalid("nodeIds", format!("at most {MAX_RUN_NODES} messages are expected")));
        }
        Ok(nodes.into_iter().map(|id| id.0).collect())
    }

    fn take_graft_source(&mut self) -> Result<EditTarget, ApiError> {
        match (self.node_id.take(), self.fragment_id.take()) {
            (Some(node), None) => Ok(EditTarget::Node(node.0)),
            (None, Some(fragment)) => Ok(EditTarget::Fragment(fragment.0)),
            _ => Err(ApiError::invalid("nodeId", "either nodeId or fragmentId is expected")),
        }
    }

    fn take_node(&mut self) -> Result<NodeId, ApiError> {
        let node = self.node_id.take().map(|id| id.0);
        node.ok_or_else(|| ApiError::invalid("nodeId", "the id of a message is expected"))
    }

    fn take_fragment(&mut self) -> Result<FragmentId, ApiError> {
        let fragment = self.fragment_id.take().map(|id| id.0);
        fragment.ok_or_else(|| ApiError::invalid("fragmentId", "the id of a fragment is expected"))
    }

    fn take_name(&mut self) -> Result<String, ApiError> {
        self.name.take().ok_or_else(|| ApiError::invalid("name", "a name is expected"))
    }

    /// A field that was given and that this edit has no use for.
    fn first_unused_field(&self) -> Option<&'static str> {
        let fields = [
            ("nodeId", self.node_id.is_some()),
            ("fragmentId", self.fragment_id.is_some()),
            ("targetId", self.target_id.is_some()),
            ("mode", self.mode.is_some()),
            ("fromSessionId", self.from_session_id.is_some()),
            ("nodeIds", self.node_ids.is_some()),
            ("content", self.content.is_some()),
            ("fromLeafId", self.from_leaf_id.is_some()),
            ("ontoLeafId", self.onto_leaf_id.is_some()),
            ("resolve", self.resolve.is_some()),
            ("name", self.name.is_some()),
            ("following", self.following.is_some()),
            ("confirm", self.confirm.is_some()),
        ];
        fields.into_iter().find(|(_, is_given)| *is_given).map(|(field, _)| field)
    }
}

/// What becomes of a conflict. Any value can be said as it is, but for the two words; `{"value": …}` says every one.
fn parse_resolution(how: Value) -> ConflictResolution {
    match how {
        Value::String(word) if word == "theirs" => ConflictResolution::Theirs,
        Value::String(word) if word == "ours" => ConflictResolution::Ours,
        Value::Object(mut map) if map.len() == 1 && map.contains_key("value") => {
            ConflictResolution::Value(map.shift_remove("value").unwrap_or_default())
        }
        value => ConflictResolution::Value(value),
    }
}

/// How worlds changed, line by line; whether that was more than fits.
pub fn world_changes(worlds: &[NodeWorldDiff]) -> (Vec<NodeWorldChangeResponse>, bool) {
    let mut lines = Vec::new();
    for at in worlds {
        lines.extend(diff(&at.before, &at.after).into_iter().map(|change| NodeWorldChangeResponse {
            node_id: WireId(at.node),
            path: change.path.to_string(),
            before: change.before,
            after: change.after,
        }));
        if lines.len() > MAX_WORLD_CHANGES {
            lines.truncate(MAX_WORLD_CHANGES);
            return (lines, true);
        }
    }
    (lines, false)
}

impl TreeEditsResponse {
    /// What a list of edits came to.
    pub fn new(arranged: &ArrangeResult, edits: &[TreeEdit]) -> Self {
        let (world_changes, is_cut_short) = world_changes(&arranged.worlds);
        let fragments = edits.iter().filter_map(|edit| match edit {
            TreeEdit::Prune { fragment, .. } => Some(WireId(*fragment)),
            _ => None,
        });
        let leaf_ids = arranged.made.affected_leaves.iter().copied().map(WireId).collect();
        let refused = arranged.made.refused.iter().map(|one| RefusedOperationResponse {
            node_id: WireId(one.node),
            path: one.path.to_string(),
            reason: one.reason.clone(),
        });
        Self {
            op: arranged.op,
            fragment_ids: fragments.collect(),
            node_ids: arranged.made.nodes.iter().copied().map(WireId).collect(),
            affected: AffectedBranchesResponse { leaf_ids, count: arranged.made.affected_count },
            world_changes,
            refused: refused.take(MAX_REFUSALS).collect(),
            is_cut_short: is_cut_short || arranged.made.refused.len() > MAX_REFUSALS,
        }
    }
}

impl RedactForReplay for TreeEditsResponse {
    fn redact_for_replay(mut self) -> Self {
        self.is_cut_short |= !(self.world_changes.is_empty() && self.refused.is_empty());
        self.world_changes.clear();
        self.refused.clear();
        self
    }
}

impl RedactForReplay for UndoResponse {
    fn redact_for_replay(mut self) -> Self {
        self.is_cut_short |= !self.world_changes.is_empty();
        self.world_changes.clear();
        self
    }
}

impl From<StashFragment> for FragmentResponse {
    fn from(fragment: StashFragment) -> Self {
        let mut lines = fragment.excerpt.lines().map(str::trim).filter(|line| !line.is_empty());
        let first_line = lines.next().unwrap_or_default();
        let goes_on = if lines.next().is_some() { " …" } else { "" };
        Self {
            id: WireId(fragment.id),
            name: fragment.name,
            node_id: WireId(fragment.top),
            origin_id: fragment.origin.map(WireId),
            can_return: fragment.has_origin,
            count: fragment.count,
            first_line: format!("{first_line}{goes_on}"),
            created_at: fragment.pruned_at.to_string(),
        }
    }
}

impl From<Label> for LabelResponse {
    fn from(label: Label) -> Self {
        Self { name: label.name, node_id: WireId(label.node), following: label.following, is_in_tree: label.is_in_tree }
    }
}
