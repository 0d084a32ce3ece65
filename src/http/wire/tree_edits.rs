//! Edits of the tree, the stash, and labels.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::checks::{check_content, expected_version};
use super::ids::{WireId, WireNodeId, WireSessionId};
use super::node::ChatMessageNode;
use crate::http::error::ApiError;
use crate::http::json_schema::{AnyJson, JsonMap};
use crate::http::response::RedactForReplay;
use clotho_core::clock::{IdGenerator, Time};
use clotho_core::coded_message::MessageArgs;
use clotho_core::ids::{FragmentId, NodeId};
use clotho_core::tree::merge::ConflictResolution;
use clotho_core::tree::{EditTarget, TreeEdit};
use clotho_core::world::diff;
use clotho_store::{ArrangeResult, ExpectedVersion, Label, MAX_REFUSALS, NodeWorldDiff, StashFragment, UndoResult};

/// Maximum number of edits per request.
const MAX_EDITS: usize = 500;
/// Maximum number of listed state changes.
const MAX_WORLD_CHANGES: usize = 200;
/// Maximum number of messages in a run.
const MAX_RUN_NODES: usize = 2_000;

/// Id of a fragment.
pub type WireFragmentId = WireId<FragmentId>;

/// A list of tree edits; either all are applied or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TreeEditsRequest {
    /// 1 to 500 edits, applied in this order.
    pub operations: Vec<TreeEditRequest>,
    /// Precondition: HEAD as the client last saw it; otherwise `409 head_moved`.
    #[serde(default)]
    pub expected_leaf_id: Option<WireNodeId>,
    /// Alternative precondition: the newest operation that the client saw.
    #[serde(default)]
    pub expected_op: Option<i64>,
}

/// One tree edit: `prune {nodeId, name?}`, `graft {nodeId | fragmentId, targetId, mode, fromSessionId?}`, `rename
/// {fragmentId, name}`, `label {nodeId, name, following?}`, `unlabel {name}`, `summarise {nodeIds, content}`, `merge
/// {fromLeafId, ontoLeafId, nodeIds?, resolve?}`, `purge {nodeId | fragmentId, confirm}`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TreeEditRequest {
    /// Name of the edit: `prune`, `graft`, `rename`, `label`, `unlabel`, `summarise`, `merge` or `purge`.
    pub op: String,
    /// The node to edit.
    pub node_id: Option<WireNodeId>,
    /// The fragment to edit.
    #[schema(value_type = Option<String>)]
    pub fragment_id: Option<WireFragmentId>,
    /// New parent. A fragment without one returns to its original place.
    pub target_id: Option<WireNodeId>,
    /// `move` or `copy`; default `move`.
    pub mode: Option<String>,
    /// Session of the node or fragment, if it is another one.
    pub from_session_id: Option<WireSessionId>,
    /// Consecutive messages of one branch, in any order.
    pub node_ids: Option<Vec<WireNodeId>>,
    /// Text of the summary.
    pub content: Option<String>,
    /// Leaf of the branch to merge from (*theirs*).
    pub from_leaf_id: Option<WireNodeId>,
    /// Leaf of the branch to merge into (*ours*).
    pub onto_leaf_id: Option<WireNodeId>,
    /// Resolution of each conflict, by path: `"theirs"`, `"ours"`, or a value. `{"value": …}` gives a value literally;
    /// use it for these two words and for values of this form.
    #[schema(value_type = Option<JsonMap>)]
    pub resolve: Option<Map<String, Value>>,
    /// Name of a fragment or label; null removes the name of a fragment.
    pub name: Option<String>,
    /// Whether the label moves with appended nodes.
    pub following: Option<bool>,
    /// Must be true to delete permanently.
    pub confirm: Option<bool>,
}

/// The result of tree edits.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeEditsResponse {
    /// Number of the operation; the newest one if nothing changed.
    pub op: i64,
    /// Fragments created by the edits, in order.
    #[schema(value_type = Vec<String>)]
    pub fragment_ids: Vec<WireFragmentId>,
    /// Nodes created by the edits, in order: the top of each copy, each summary, the end of each merge.
    pub node_ids: Vec<WireNodeId>,
    /// Branches that leave a summarised run before its end, so that the summary also hides texts of theirs.
    pub affected: AffectedBranchesResponse,
    /// Changes of the state at HEAD, at labels and at the tops of moved parts; at most 200.
    pub world_changes: Vec<NodeWorldChangeResponse>,
    /// Operations of copies from another session that the active rules here refuse; at most 200.
    pub refused: Vec<RefusedOperationResponse>,
    /// Whether `worldChanges` or `refused` is incomplete.
    pub is_cut_short: bool,
}

/// A state operation of a copied node that the active rules refuse.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RefusedOperationResponse {
    /// Copied node.
    pub node_id: WireNodeId,
    /// Path in the state.
    pub path: String,
    /// Stable code of the reason.
    pub code: &'static str,
    /// Arguments of the code: texts and numbers by name.
    #[schema(value_type = JsonMap)]
    pub args: MessageArgs,
    /// Reason in one sentence.
    pub reason: String,
}

/// Branches that lost texts by the summary of another branch.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AffectedBranchesResponse {
    /// Their leaves, at most 100.
    pub leaf_ids: Vec<WireNodeId>,
    /// Number of these branches.
    pub count: usize,
}

/// A change of the state at one node.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeWorldChangeResponse {
    /// The node at which the state differs.
    pub node_id: WireNodeId,
    /// JSON Pointer from `vars`.
    pub path: String,
    /// Value before; null if there was none.
    #[schema(value_type = AnyJson, required)]
    pub before: Option<Value>,
    /// Value after; null if there is none.
    #[schema(value_type = AnyJson, required)]
    pub after: Option<Value>,
}

/// A request to undo or redo.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct UndoRequest {
    /// Precondition: HEAD as the client last saw it; otherwise `409 head_moved`.
    pub expected_leaf_id: Option<WireNodeId>,
    /// Alternative precondition: the newest operation that the client saw.
    pub expected_op: Option<i64>,
}

/// The result of undo or redo.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoResponse {
    /// Number of the operation that undo or redo wrote.
    pub op: i64,
    /// First operation of the step that was undone or redone.
    pub step: i64,
    /// Kind of that step: `message`, `prune`, ….
    pub kind: &'static str,
    /// HEAD after the operation.
    pub leaf_id: WireNodeId,
    /// Changes of the state at HEAD, at labels and at the tops of moved parts; at most 200.
    pub world_changes: Vec<NodeWorldChangeResponse>,
    /// Whether `worldChanges` is incomplete.
    pub is_cut_short: bool,
}

impl From<&UndoResult> for UndoResponse {
    fn from(undone: &UndoResult) -> Self {
        let (world_changes, is_cut_short) = world_changes(&undone.worlds);
        let UndoResult { op, step, kind, head, .. } = undone;
        Self { op: *op, step: *step, kind: kind.as_str(), leaf_id: WireId(*head), world_changes, is_cut_short }
    }
}

/// The stash of a session.
#[derive(Debug, Serialize, ToSchema)]
pub struct StashResponse {
    /// Fragments, the last pruned first.
    pub items: Vec<FragmentResponse>,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// The labels of a tree.
#[derive(Debug, Serialize, ToSchema)]
pub struct LabelsResponse {
    /// Labels, sorted by name.
    pub items: Vec<LabelResponse>,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// A pruned part of a tree.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Fragment)]
#[serde(rename_all = "camelCase")]
pub struct FragmentResponse {
    /// Id of the fragment.
    #[schema(value_type = String)]
    pub id: WireFragmentId,
    /// Name of the fragment; null if it has none.
    #[schema(required)]
    pub name: Option<String>,
    /// Top node of the fragment.
    pub node_id: WireNodeId,
    /// Former parent of the top node.
    #[schema(required)]
    pub origin_id: Option<WireNodeId>,
    /// Whether the former parent is still in the tree, so that the fragment can return there.
    pub can_return: bool,
    /// Number of nodes in the fragment.
    pub count: i64,
    /// First line of the first text, with `…` if more lines follow.
    pub first_line: String,
    /// Time of pruning, ISO 8601 UTC.
    pub created_at: String,
}

/// The tree of a fragment, or a page of it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FragmentTreeResponse {
    /// Id of the session.
    pub session_id: WireSessionId,
    /// Id of the fragment.
    #[schema(value_type = String)]
    pub fragment_id: WireFragmentId,
    /// Nodes in creation order; parents precede their children.
    pub items: Vec<ChatMessageNode>,
    /// Cursor of the next page; null on the last page.
    #[schema(required)]
    pub next: Option<String>,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// A label on a node.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Label)]
#[serde(rename_all = "camelCase")]
pub struct LabelResponse {
    /// Name, unique in the session.
    pub name: String,
    /// The labelled node.
    pub node_id: WireNodeId,
    /// Whether the label moves with appended nodes.
    pub following: bool,
    /// Whether the node is in the tree; otherwise it is in the stash or was undone.
    pub is_in_tree: bool,
}

impl TreeEditsRequest {
    /// Returns the validated edits and the precondition. `ids` creates the ids of new fragments; `longest` is the
    /// maximum size of a text in bytes.
    ///
    /// # Errors
    /// Returns an error that names the invalid field.
    pub fn read(
        self,
        ids: &IdGenerator,
        now: Time,
        longest: usize,
    ) -> Result<(Vec<TreeEdit>, Option<ExpectedVersion>), ApiError> {
        if self.operations.is_empty() || self.operations.len() > MAX_EDITS {
            return Err(ApiError::invalid("operations", format!("expected 1 to {MAX_EDITS} edits")));
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
                fragment: FragmentId::new(ids.next_id(now)),
                name: self.name.take(),
            },
            "graft" => self.graft(ids, now)?,
            "summarise" => self.summarise(ids, longest)?,
            "merge" => self.merge(ids)?,
            "purge" => TreeEdit::Purge {
                source: self.take_graft_source()?,
                is_confirmed: self.confirm.take().unwrap_or(false),
            },
            "rename" => TreeEdit::Rename { fragment: self.take_fragment()?, name: self.name.take() },
            "label" => TreeEdit::Label {
                node: self.take_node()?,
                name: self.take_name()?,
                following: self.following.take().unwrap_or(false),
            },
            "unlabel" => TreeEdit::Unlabel { name: self.take_name()? },
            _ => {
                let expected = "expected prune, graft, purge, rename, label, unlabel, summarise or merge";
                return Err(ApiError::invalid("op", expected));
            }
        };
        match self.first_unused_field() {
            None => Ok(edit),
            Some(field) => Err(ApiError::invalid(field, format!("\"{}\" does not have this field", self.op))),
        }
    }

    fn graft(&mut self, ids: &IdGenerator, now: Time) -> Result<TreeEdit, ApiError> {
        let piece = self.take_graft_source()?;
        let (target, from) = (self.target_id.take().map(|id| id.0), self.from_session_id.take().map(|id| id.0));
        let leaves = match (self.mode.take().as_deref(), from) {
            (None | Some("move"), None) => return Ok(TreeEdit::Graft { source: piece, target }),
            (None | Some("move"), Some(_)) => Some(FragmentId::new(ids.next_id(now))),
            (Some("copy"), _) => None,
            _ => return Err(ApiError::invalid("mode", "expected \"move\" or \"copy\"")),
        };
        let target = target.ok_or_else(|| ApiError::invalid("targetId", "expected the id of a message"))?;
        Ok(TreeEdit::Copy { source: piece, target, from, source_fragment: leaves, seed: ids.next_seed() })
    }

    fn summarise(&mut self, ids: &IdGenerator, longest: usize) -> Result<TreeEdit, ApiError> {
        let nodes = self.take_run()?;
        if nodes.is_empty() {
            return Err(ApiError::invalid("nodeIds", "expected the ids of the messages"));
        }
        let text = self.content.take().unwrap_or_default();
        check_content(&text, longest)?;
        Ok(TreeEdit::Summarise { nodes, content: text, seed: ids.next_seed() })
    }

    fn merge(&mut self, ids: &IdGenerator) -> Result<TreeEdit, ApiError> {
        let leaf = |field, id: Option<WireNodeId>| {
            id.map(|id| id.0).ok_or_else(|| ApiError::invalid(field, "expected the id of a message"))
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
            return Err(ApiError::invalid("nodeIds", format!("expected at most {MAX_RUN_NODES} messages")));
        }
        Ok(nodes.into_iter().map(|id| id.0).collect())
    }

    fn take_graft_source(&mut self) -> Result<EditTarget, ApiError> {
        match (self.node_id.take(), self.fragment_id.take()) {
            (Some(node), None) => Ok(EditTarget::Node(node.0)),
            (None, Some(fragment)) => Ok(EditTarget::Fragment(fragment.0)),
            _ => Err(ApiError::invalid("nodeId", "expected either nodeId or fragmentId")),
        }
    }

    fn take_node(&mut self) -> Result<NodeId, ApiError> {
        let node = self.node_id.take().map(|id| id.0);
        node.ok_or_else(|| ApiError::invalid("nodeId", "expected the id of a message"))
    }

    fn take_fragment(&mut self) -> Result<FragmentId, ApiError> {
        let fragment = self.fragment_id.take().map(|id| id.0);
        fragment.ok_or_else(|| ApiError::invalid("fragmentId", "expected the id of a fragment"))
    }

    fn take_name(&mut self) -> Result<String, ApiError> {
        self.name.take().ok_or_else(|| ApiError::invalid("name", "expected a name"))
    }

    /// Returns the first field that was set but does not belong to this edit.
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

/// Parses the resolution of a conflict. Values stand as they are; `{"value": …}` can also express the reserved words.
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

/// Lists the changes of states, at most 200; the flag tells whether some were left out.
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
    /// Builds the response from the result of the edits.
    pub fn new(arranged: &ArrangeResult, edits: &[TreeEdit]) -> Self {
        let (world_changes, is_cut_short) = world_changes(&arranged.worlds);
        let fragments = edits.iter().filter_map(|edit| match edit {
            TreeEdit::Prune { fragment, .. } => Some(WireId(*fragment)),
            _ => None,
        });
        let leaf_ids = arranged.report.affected_leaves.iter().copied().map(WireId).collect();
        let refused = arranged.report.refusals.iter().map(|one| RefusedOperationResponse {
            node_id: WireId(one.node),
            path: one.path.to_string(),
            code: one.code,
            args: one.args.clone(),
            reason: one.reason.clone(),
        });
        Self {
            op: arranged.op,
            fragment_ids: fragments.collect(),
            node_ids: arranged.report.nodes.iter().copied().map(WireId).collect(),
            affected: AffectedBranchesResponse { leaf_ids, count: arranged.report.affected_count },
            world_changes,
            refused: refused.take(MAX_REFUSALS).collect(),
            is_cut_short: is_cut_short || arranged.report.refusals.len() > MAX_REFUSALS,
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
