//! The whole tree, its outline, one branch, and the operation log.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::schema::{OneOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::ids::{WireId, WireNodeId, WireSessionId, WireUserId};
use super::node::{ChatMessageNode, NodeProblemResponse, wire_nodes};
use super::query_number::{PageLimit, QueryNumber};
use super::records::OperationEffectSchema;
use super::tree_edits::{FragmentResponse, LabelResponse};
use super::{encode_cursor, limit_or};
use clotho_core::oplog::{Effect, Operation};
use clotho_core::tree::{Kind, Role, Session, Status};
use clotho_engine::turn::ReplySuggestions;
use clotho_queries::lookup::{BranchEnd, BranchSelection};
use clotho_queries::projection::Projection;
use clotho_queries::tree::{OperationPage, TreeMarks, TreeOutline, TreePage};

/// A whole tree.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatHistoryTree {
    /// Id of the session.
    pub session_id: WireSessionId,
    /// Title of the session.
    pub title: String,
    /// Root node of the tree.
    pub root_node_id: WireNodeId,
    /// HEAD of the session.
    pub active_leaf_id: WireNodeId,
    /// Number of the newest operation.
    pub op: i64,
    /// Nodes by id, in creation order.
    #[schema(value_type = std::collections::HashMap<String, ChatMessageNode>)]
    pub nodes: IndexMap<WireNodeId, ChatMessageNode>,
    /// Pruned fragments outside the tree.
    pub stash: Vec<FragmentResponse>,
    /// Labels on nodes.
    pub labels: Vec<LabelResponse>,
    /// Cursor of the next page; null if all nodes fit into this answer.
    #[schema(required)]
    pub next: Option<String>,
    /// Creation time of the session, ISO 8601 UTC.
    pub created_at: String,
    /// Time of the last change, ISO 8601 UTC.
    pub updated_at: String,
}

/// The outline of a tree as columns: entry n of each column belongs to node n. Parents precede their children.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeSkeleton {
    /// Id of the session.
    pub session_id: WireSessionId,
    /// Title of the session.
    pub title: String,
    /// Root node of the tree.
    pub root_node_id: WireNodeId,
    /// HEAD of the session.
    pub active_leaf_id: WireNodeId,
    /// Number of the newest operation.
    pub op: i64,
    /// Number of nodes.
    pub count: usize,
    /// Node ids.
    pub ids: Vec<WireNodeId>,
    /// Index of each node's parent in `ids`; -1 for the root.
    pub parents: Vec<i64>,
    /// Role of each node, as an index into `legend.roles`.
    pub roles: Vec<i16>,
    /// Kind of each node, as an index into `legend.kinds`.
    pub kinds: Vec<i16>,
    /// Status of each node, as an index into `legend.statuses`.
    pub statuses: Vec<i16>,
    /// Flags of each node, as a sum of 1, 2, 4 and 8 in the order of `legend.flags`.
    pub flags: Vec<u8>,
    /// The first 80 characters of each displayed text.
    pub previews: Vec<String>,
    /// Names for the numbers in the columns.
    pub legend: TreeSkeletonLegend,
    /// Pruned fragments outside the tree.
    pub stash: Vec<FragmentResponse>,
    /// Labels on nodes.
    pub labels: Vec<LabelResponse>,
    /// Creation time of the session, ISO 8601 UTC.
    pub created_at: String,
    /// Time of the last change, ISO 8601 UTC.
    pub updated_at: String,
}

/// A tree, whole or as an outline.
pub struct TreeResponse;

impl PartialSchema for TreeResponse {
    fn schema() -> RefOr<Schema> {
        let either = OneOfBuilder::new().item(Ref::from_schema_name(ChatHistoryTree::name()));
        either.item(Ref::from_schema_name(TreeSkeleton::name())).into()
    }
}

impl ToSchema for TreeResponse {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((ChatHistoryTree::name().into_owned(), ChatHistoryTree::schema()));
        schemas.push((TreeSkeleton::name().into_owned(), TreeSkeleton::schema()));
        ChatHistoryTree::schemas(schemas);
        TreeSkeleton::schemas(schemas);
    }
}

/// Names for the numbers of an outline.
#[derive(Debug, Serialize, ToSchema)]
pub struct TreeSkeletonLegend {
    /// Role names by number.
    pub roles: [&'static str; 3],
    /// Kind names by number.
    pub kinds: [&'static str; 6],
    /// Status names by number.
    pub statuses: [&'static str; 3],
    /// Flag names for 1, 2, 4 and 8.
    pub flags: [&'static str; 4],
}

/// Flag: the node is disabled.
const DISABLED: u8 = 1;
/// Flag: the delta is muted.
const MUTED: u8 = 2;
/// Flag: a keyframe is stored at the node.
const KEYFRAME: u8 = 4;
/// Flag: a reply that nobody has seen.
const UNREAD: u8 = 8;
impl Default for TreeSkeletonLegend {
    fn default() -> Self {
        Self {
            roles: [Role::System.as_str(), Role::User.as_str(), Role::Assistant.as_str()],
            kinds: [
                Kind::Root.as_str(),
                Kind::Message.as_str(),
                Kind::Greeting.as_str(),
                Kind::Change.as_str(),
                Kind::Summary.as_str(),
                Kind::Merge.as_str(),
            ],
            statuses: [Status::Generating.as_str(), Status::Complete.as_str(), Status::Error.as_str()],
            flags: ["disabled", "muted", "keyframe", "unread"],
        }
    }
}

impl ChatHistoryTree {
    /// Describes a whole tree, or a page of it.
    pub fn new(session: &Session, page: TreePage) -> Self {
        let (stash, labels) = mark_responses(page.marks);
        Self {
            session_id: WireId(session.id),
            title: session.title.clone(),
            root_node_id: WireId(session.root),
            active_leaf_id: WireId(session.head),
            op: session.op,
            nodes: page.nodes.into_iter().map(|view| (WireId(view.node.id), view.into())).collect(),
            stash,
            labels,
            next: page.next.map(encode_cursor),
            created_at: session.created.to_string(),
            updated_at: session.updated.to_string(),
        }
    }
}

/// Converts the fragments and labels of a tree.
fn mark_responses(marks: TreeMarks) -> (Vec<FragmentResponse>, Vec<LabelResponse>) {
    (marks.stash.into_iter().map(Into::into).collect(), marks.labels.into_iter().map(Into::into).collect())
}

impl TreeSkeleton {
    /// Describes the outline of a tree.
    pub fn new(session: &Session, outline: TreeOutline) -> Self {
        let (stash, labels) = mark_responses(outline.marks);
        let mut skeleton = Self {
            session_id: WireId(session.id),
            title: session.title.clone(),
            root_node_id: WireId(session.root),
            active_leaf_id: WireId(session.head),
            op: session.op,
            count: outline.nodes.len(),
            ids: Vec::new(),
            parents: Vec::new(),
            roles: Vec::new(),
            kinds: Vec::new(),
            statuses: Vec::new(),
            flags: Vec::new(),
            previews: Vec::new(),
            legend: TreeSkeletonLegend::default(),
            stash,
            labels,
            created_at: session.created.to_string(),
            updated_at: session.updated.to_string(),
        };
        for description in outline.nodes {
            skeleton.ids.push(WireId(description.id));
            skeleton.parents.push(description.parent.and_then(|parent| i64::try_from(parent).ok()).unwrap_or(-1));
            skeleton.roles.push(description.role);
            skeleton.kinds.push(description.kind);
            skeleton.statuses.push(description.status);
            let flag = |is: bool, flag: u8| if is { flag } else { 0 };
            let flags = flag(!description.is_enabled, DISABLED) | flag(description.is_muted, MUTED);
            skeleton.flags.push(flags | flag(description.is_keyframe, KEYFRAME) | flag(description.is_unread, UNREAD));
            skeleton.previews.push(description.excerpt);
        }
        skeleton
    }
}

/// The form of a tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum TreeShapeParam {
    /// Every node with its texts.
    #[default]
    Full,
    /// The outline in columns.
    Skeleton,
}

/// The form and the page of a tree.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct TreeQuery {
    /// Form of the answer; default `full`.
    #[param(inline)]
    pub shape: Option<TreeShapeParam>,
    /// For pages of a whole tree: empty for the first page, then `next` of the previous one.
    pub cursor: Option<String>,
    /// Maximum number of nodes per page, 1 to 500; default 500.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
}

/// The page of a part of a tree.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct TreePageQuery {
    /// Empty for the first page, then `next` of the previous one.
    pub cursor: Option<String>,
    /// Maximum number of nodes per page, 1 to 500; default 500.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
}

/// One page of a branch.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Projection)]
pub struct ProjectionResponse {
    /// The messages, oldest first.
    pub items: Vec<ChatMessageNode>,
    /// `before` for the page of older messages; null at the start of the branch.
    #[schema(required)]
    pub next: Option<WireNodeId>,
    /// Leaf of the branch.
    pub leaf_id: WireNodeId,
    /// Number of the newest operation of the session.
    pub op: i64,
    /// Quick replies that plugins offer at the leaf.
    pub quick_replies: Vec<QuickReplyResponse>,
    /// Why a plugin offers no quick replies. Problems of a message are in the message.
    pub problems: Vec<NodeProblemResponse>,
}

/// A quick reply that a plugin offers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = QuickReply)]
pub struct QuickReplyResponse {
    /// Id of the plugin.
    pub plugin: String,
    /// Text on the button.
    pub label: String,
    /// Text of the message to send.
    pub send: String,
}

impl From<clotho_engine::turn::SuggestedReply> for QuickReplyResponse {
    fn from(reply: clotho_engine::turn::SuggestedReply) -> Self {
        Self { plugin: reply.plugin, label: reply.label, send: reply.send }
    }
}

/// The branch and the page.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct BranchQuery {
    /// Leaf of the branch; default HEAD.
    #[param(value_type = Option<String>)]
    pub leaf: Option<WireNodeId>,
    /// Alternatively, the label of the leaf.
    pub label: Option<String>,
    /// Only messages before this node.
    #[param(value_type = Option<String>)]
    pub before: Option<WireNodeId>,
    /// Maximum number of messages, 1 to 500.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
    /// Include disabled nodes, `change` nodes and the root; default false.
    pub all: bool,
}

impl BranchQuery {
    /// Returns the selected page; `default` is its size if none is given.
    pub fn read(self, default: i64) -> BranchSelection {
        BranchSelection {
            limit: limit_or(self.limit, default),
            end: BranchEnd { leaf: self.leaf.map(|id| id.0), label: self.label },
            before: self.before.map(|id| id.0),
            all: self.all,
        }
    }
}

impl ProjectionResponse {
    /// Describes a page with the quick replies at its leaf.
    pub fn new(page: Projection, offered: ReplySuggestions) -> Self {
        Self {
            items: wire_nodes(page.nodes),
            next: page.next.map(WireId),
            leaf_id: WireId(page.leaf),
            op: page.op,
            quick_replies: offered.replies.into_iter().map(QuickReplyResponse::from).collect(),
            problems: offered.problems.into_iter().map(NodeProblemResponse::from).collect(),
        }
    }
}

/// One entry of the operation log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Operation)]
pub struct OperationResponse {
    /// Number in the session, consecutive from 1.
    pub op: i64,
    /// Kind of the operation.
    pub kind: &'static str,
    /// The user who did it; null for the server itself.
    #[schema(required)]
    pub actor: Option<WireUserId>,
    /// Time of the operation, ISO 8601 UTC.
    pub at: String,
    /// First operation of the request that this one completes; otherwise its own number.
    pub step: i64,
    /// What changed, in order.
    #[schema(value_type = Vec<OperationEffectSchema>)]
    pub effects: Vec<Value>,
}

/// A page of the operation log.
#[derive(Debug, Serialize, ToSchema)]
pub struct OperationsResponse {
    /// Operations, oldest first.
    pub items: Vec<OperationResponse>,
    /// `since` for the next page; null if these are the newest.
    #[schema(required)]
    pub next: Option<i64>,
    /// Number of the newest operation of the session.
    pub op: i64,
}

/// The page of the operation log.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct OperationsQuery {
    /// Only operations after this number.
    #[param(minimum = 0, value_type = Option<i64>)]
    pub since: Option<QueryNumber<0, { i64::MAX }>>,
    /// Maximum number of operations, 1 to 500; default 50.
    #[param(minimum = 1, maximum = 500, value_type = Option<u32>)]
    pub limit: Option<PageLimit>,
}

impl From<OperationPage> for OperationsResponse {
    fn from(page: OperationPage) -> Self {
        Self { items: page.operations.iter().map(Into::into).collect(), next: page.next, op: page.op }
    }
}

impl From<&Operation> for OperationResponse {
    fn from(operation: &Operation) -> Self {
        Self {
            op: operation.op,
            kind: operation.kind.as_str(),
            actor: operation.actor.map(WireId),
            at: operation.at.to_string(),
            step: operation.step,
            effects: operation.effects.iter().map(Effect::to_json).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_skeleton_legend_matches_codes() {
        let legend = TreeSkeletonLegend::default();
        for (code, word) in (0_i16..).zip(legend.roles) {
            assert_eq!(Role::from_code(code).map(Role::as_str), Some(word));
        }
        for (code, word) in (0_i16..).zip(legend.kinds) {
            assert_eq!(Kind::from_code(code).map(Kind::as_str), Some(word));
        }
        for (code, word) in (0_i16..).zip(legend.statuses) {
            assert_eq!(Status::from_code(code).map(Status::as_str), Some(word));
        }
    }
}
