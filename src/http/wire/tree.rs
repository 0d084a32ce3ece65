//! The whole tree, its outline, one line of it, and its log.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::openapi::schema::{OneOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::ids::{WireId, WireNodeId, WireSessionId, WireUserId};
use super::node::{ChatMessageNode, NodeProblemResponse};
use super::tree_edits::{FragmentResponse, LabelResponse};
use clotho_core::oplog::{Effect, Operation};
use clotho_core::tree::{Kind, Role, Session, Status};
use clotho_store::TreeOutlineNode;

/// A whole tree.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChatHistoryTree {
    /// The session.
    pub session_id: WireSessionId,
    /// Its title.
    pub title: String,
    /// The anchor node.
    pub root_node_id: WireNodeId,
    /// HEAD.
    pub active_leaf_id: WireNodeId,
    /// The newest operation.
    pub op: i64,
    /// The nodes by id, in the order in which they were made.
    #[schema(value_type = std::collections::HashMap<String, ChatMessageNode>)]
    pub nodes: IndexMap<WireNodeId, ChatMessageNode>,
    /// Fragments outside the tree.
    pub stash: Vec<FragmentResponse>,
    /// Names on nodes.
    pub labels: Vec<LabelResponse>,
    /// Leads to the next nodes where one answer does not hold all.
    pub next: Option<String>,
    /// When the session began.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// The outline of a whole tree in columns: the n-th entry of each belongs to the n-th node. Parents come before children.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TreeSkeleton {
    /// The session.
    pub session_id: WireSessionId,
    /// Its title.
    pub title: String,
    /// The anchor node.
    pub root_node_id: WireNodeId,
    /// HEAD.
    pub active_leaf_id: WireNodeId,
    /// The newest operation.
    pub op: i64,
    /// How many nodes there are.
    pub count: usize,
    /// Their ids.
    pub ids: Vec<WireNodeId>,
    /// Where each one's parent stands; -1 for the root.
    pub parents: Vec<i64>,
    /// Their roles, as positions in `legend.roles`.
    pub roles: Vec<i16>,
    /// Their kinds, as positions in `legend.kinds`.
    pub kinds: Vec<i16>,
    /// Their statuses, as positions in `legend.statuses`.
    pub statuses: Vec<i16>,
    /// Sums of `legend.flags`.
    pub flags: Vec<u8>,
    /// The first 80 characters of each text as shown.
    pub previews: Vec<String>,
    /// What the numbers mean.
    pub legend: TreeSkeletonLegend,
    /// Fragments outside the tree.
    pub stash: Vec<FragmentResponse>,
    /// Names on nodes.
    pub labels: Vec<LabelResponse>,
    /// When the session began.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

/// What a tree is answered as: whole, or its outline.
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

/// What the numbers of an outline mean.
#[derive(Debug, Serialize, ToSchema)]
pub struct TreeSkeletonLegend {
    /// Roles by number.
    pub roles: [&'static str; 3],
    /// Kinds by number.
    pub kinds: [&'static str; 6],
    /// Statuses by number.
    pub statuses: [&'static str; 3],
    /// Flags, which are added: 1, 2, 4, 8.
    pub flags: [&'static str; 4],
}

/// The text left out.
const DISABLED: u8 = 1;
/// The delta left out.
const MUTED: u8 = 2;
/// A keyframe of the world is kept here.
const KEYFRAME: u8 = 4;
/// A reply that ended where nobody looked.
const UNREAD: u8 = 8;
/// So many characters of a text stand in an outline.
const PREVIEW_CHARS: usize = 80;

impl Default for TreeSkeletonLegend {
    fn default() -> Self {
        Self {
            roles: [Role::System.word(), Role::User.word(), Role::Assistant.word()],
            kinds: [
                Kind::Root.word(),
                Kind::Message.word(),
                Kind::Greeting.word(),
                Kind::Change.word(),
                Kind::Summary.word(),
                Kind::Merge.word(),
            ],
            statuses: [Status::Generating.word(), Status::Complete.word(), Status::Error.word()],
            flags: ["disabled", "muted", "keyframe", "unread"],
        }
    }
}

impl TreeSkeleton {
    /// The outline of a tree, without a node so far.
    pub fn of_session(session: &Session) -> Self {
        Self {
            session_id: WireId(session.id),
            title: session.title.clone(),
            root_node_id: WireId(session.root),
            active_leaf_id: WireId(session.head),
            op: session.op,
            count: 0,
            ids: Vec::new(),
            parents: Vec::new(),
            roles: Vec::new(),
            kinds: Vec::new(),
            statuses: Vec::new(),
            flags: Vec::new(),
            previews: Vec::new(),
            legend: TreeSkeletonLegend::default(),
            stash: Vec::new(),
            labels: Vec::new(),
            created_at: session.created.to_string(),
            updated_at: session.updated.to_string(),
        }
    }

    /// Fills the columns; `display` = how the text of somebody in a role is shown, where otherwise than written.
    pub fn fill_previews(&mut self, sketches: Vec<TreeOutlineNode>, display: impl Fn(i16, &str) -> Option<String>) {
        self.count = sketches.len();
        for sketch in sketches {
            self.ids.push(WireId(sketch.id));
            self.parents.push(sketch.parent.and_then(|parent| i64::try_from(parent).ok()).unwrap_or(-1));
            self.roles.push(sketch.role);
            self.kinds.push(sketch.kind);
            self.statuses.push(sketch.status);
            let flag = |is: bool, flag: u8| if is { flag } else { 0 };
            let flags = flag(!sketch.is_enabled, DISABLED) | flag(sketch.is_muted, MUTED);
            self.flags.push(flags | flag(sketch.is_keyframe, KEYFRAME) | flag(sketch.is_unread, UNREAD));
            let mut shown = display(sketch.role, &sketch.excerpt).unwrap_or(sketch.excerpt);
            if let Some((end, _)) = shown.char_indices().nth(PREVIEW_CHARS) {
                shown.truncate(end);
            }
            self.previews.push(shown);
        }
    }
}

/// Which form of the tree.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum TreeShapeParam {
    /// Every node with its texts.
    #[default]
    Full,
    /// The outline in columns.
    Skeleton,
}

/// How much of a tree.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct TreeQuery {
    /// `full` unless said.
    #[param(inline)]
    pub shape: Option<TreeShapeParam>,
    /// Pages of a whole tree: empty for the first, then what `next` said.
    pub cursor: Option<String>,
    /// How many nodes a page has, 1 to 500; 500 unless said.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// Which page of a part of a tree.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct TreePageQuery {
    /// Empty for the first, then what `next` said.
    pub cursor: Option<String>,
    /// How many nodes a page has, 1 to 500; 500 unless said.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// One line of a tree.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Projection)]
pub struct ProjectionResponse {
    /// The messages, oldest first.
    pub items: Vec<ChatMessageNode>,
    /// Leads to the page of older ones, as `before`.
    pub next: Option<WireNodeId>,
    /// Where the line ends.
    pub leaf_id: WireNodeId,
    /// The newest operation.
    pub op: i64,
    /// Replies that plugins offer at the end of the line.
    pub quick_replies: Vec<QuickReplyResponse>,
    /// Why a plugin offers none; what went wrong while a message was made stands on the message.
    pub problems: Vec<NodeProblemResponse>,
}

/// A reply that a plugin offers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = QuickReply)]
pub struct QuickReplyResponse {
    /// The plugin.
    pub plugin: String,
    /// What the button says.
    pub label: String,
    /// What is sent.
    pub send: String,
}

impl From<clotho_engine::turn::SuggestedReply> for QuickReplyResponse {
    fn from(reply: clotho_engine::turn::SuggestedReply) -> Self {
        Self { plugin: reply.plugin, label: reply.label, send: reply.send }
    }
}

/// Which line, and which part of it.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct BranchQuery {
    /// Where the line ends; HEAD unless said.
    #[param(value_type = Option<String>)]
    pub leaf: Option<WireNodeId>,
    /// Instead: the name of the node where it ends.
    pub label: Option<String>,
    /// Only what comes before this node.
    #[param(value_type = Option<String>)]
    pub before: Option<WireNodeId>,
    /// How many, 1 to 500.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    /// With disabled and `change` nodes and the root.
    pub all: bool,
}

/// One entry of the log.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Operation)]
pub struct OperationResponse {
    /// Its number in the session, dense from 1.
    pub op: i64,
    /// What kind of act it was.
    pub kind: &'static str,
    /// Who did it; null for the server itself.
    pub actor: Option<WireUserId>,
    /// When.
    pub at: String,
    /// The operation whose request it completes; its own number otherwise.
    pub step: i64,
    /// What changed, in order.
    #[schema(value_type = Vec<Object>)]
    pub effects: Vec<Value>,
}

/// A part of the log.
#[derive(Debug, Serialize, ToSchema)]
pub struct OperationsResponse {
    /// The operations, oldest first.
    pub items: Vec<OperationResponse>,
    /// Leads to the next ones, as `since`; null when these are the newest.
    pub next: Option<i64>,
    /// The newest operation.
    pub op: i64,
}

/// Which part of the log.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct OperationsQuery {
    /// Only what comes after this number.
    pub since: Option<i64>,
    /// How many, 1 to 500; 50 unless said.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

impl From<&Operation> for OperationResponse {
    fn from(operation: &Operation) -> Self {
        Self {
            op: operation.op,
            kind: operation.kind.word(),
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
            assert_eq!(Role::from_code(code).map(Role::word), Some(word));
        }
        for (code, word) in (0_i16..).zip(legend.kinds) {
            assert_eq!(Kind::from_code(code).map(Kind::word), Some(word));
        }
        for (code, word) in (0_i16..).zip(legend.statuses) {
            assert_eq!(Status::from_code(code).map(Status::word), Some(word));
        }
    }
}
