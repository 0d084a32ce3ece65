//! Writes that add nodes to a session or move its HEAD. Each is one request and one operation, with the same
//! steps: load what the plan needs, check, ask `tree::edit` for the plan, write the rows, log the effects. All
//! checks come before the first write, so that a closure can try another write after a refusal. To add a write,
//! add a method here with these steps.

use diesel::prelude::*;
use diesel::sql_types::BigInt;

use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::edit::{self, HeadRequest, TreeError};
use clotho_core::tree::{Kind, Node, Role, Session, Status};

use super::ancestors::{self, AncestorRow};
use super::error::{StoreError, WriteError};
use super::prepared::{prepared, update};
use super::rows::{NodeRow, SessionRow};
use super::session_tags;
use super::stored::{NodeCounts, StoredSession};
use super::tables::{nodes, sessions};
use super::tx::{NodeDraft, OperationDraft, Tx, row_id};

/// Who acts, when, and the session version that they saw.
#[derive(Debug, Clone, Copy)]
pub struct Actor {
    /// The caller.
    pub user: UserId,
    /// The time.
    pub at: Time,
    /// The expected version of the session; if it differs, nothing is written.
    pub expected_leaf: Option<ExpectedVersion>,
}

/// The precondition of a write (`docs/domain.md` 2.19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// The node of HEAD.
    Leaf(NodeId),
    /// The newest operation.
    Op(i64),
}

impl ExpectedVersion {
    /// Checks that a session has this version.
    ///
    /// # Errors
    /// Returns an error with the current version if it does not.
    pub fn check(self, session: &Session) -> Result<(), TreeError> {
        let holds = match self {
            Self::Leaf(leaf) => leaf == session.head,
            Self::Op(op) => op == session.op,
        };
        if holds { Ok(()) } else { Err(TreeError::HeadMoved { leaf: session.head, op: session.op }) }
    }
}

/// A message to write, or an edited version of one.
#[derive(Debug, Clone)]
pub struct MessageWrite {
    pub session: SessionId,
    /// The parent of the rules change, or of the message if there is none.
    pub parent: NodeId,
    /// A change node between parent and message, where rules begin. In an edit without `move_children_from` it
    /// is below the message, so that the message is a sibling of the old version.
    pub rules_change: Option<NodeDraft>,
    /// The message; `None` if only replies are requested (a reroll).
    pub draft: Option<NodeDraft>,
    /// The edited node, a child of `parent`, whose children move below the message.
    pub move_children_from: Option<NodeId>,
    /// Placeholders for the replies.
    pub replies: Vec<NodeDraft>,
    /// Whether HEAD moves to the message. With `move_children_from`, a HEAD below the edited node stays on its
    /// leaf.
    pub move_head: bool,
    /// The kind of the log entry.
    pub kind: OperationKind,
}

/// The result of writing a message.
#[derive(Debug, Clone)]
pub struct MessageReceipt {
    pub op: i64,
    /// What every placeholder records about its request, to decide later whether it takes HEAD.
    pub asked: HeadRequest,
    /// The new HEAD.
    pub head: NodeId,
}

/// An old version whose children move below the new one.
struct MessageReplacement {
    old: Node,
    old_n: i64,
    children: Vec<NodeId>,
    /// Whether HEAD is below the old version and moves along.
    has_head: bool,
}

impl Tx<'_> {
    /// Creates a session: its root with the initial rules, and its greetings. HEAD is on the first greeting.
    ///
    /// # Errors
    /// Returns an error if the owner does not exist, `root` is no root, a text cannot be stored, or the database
    /// fails.
    pub fn begin_session(
        &mut self,
        session: &Session,
        root: &NodeDraft,
        greetings: &[NodeDraft],
        at: Time,
    ) -> Result<i64, WriteError> {
        self.all_or_nothing(|tx| tx.write_session(session, root, greetings, at))
    }

    fn write_session(
        &mut self,
        session: &Session,
        root: &NodeDraft,
        greetings: &[NodeDraft],
        at: Time,
    ) -> Result<i64, WriteError> {
        // Check the draft.
        let owner_n = self.user_row(session.owner)?;
        if root.kind != Kind::Root || root.id != session.root || greetings.iter().any(|draft| draft.kind == Kind::Root)
        {
            return Err(TreeError::Conflict("a session must begin with exactly one root".into()).into());
        }
        check_storable_text("title", &session.title)?;
        greetings.iter().try_for_each(NodeDraft::check_storable)?;
        // Write the session row, the root and the greetings.
        let session = Session { op: 0, head_op: 0, edits: 0, head: root.id, ..session.clone() };
        let (n, root_row) = self.root_row(owner_n, &session, root)?;
        let mut stored =
            StoredSession { session, n, head_n: root_row.n, is_trashed: false, counts: NodeCounts::default() };
        let mut effects = vec![Effect::Added { node: root.id, parent: None }, Effect::Head { from: None, to: root.id }];
        for greeting in greetings {
            self.insert(n, 0, Some(&root_row), greeting)?;
            effects.push(Effect::Added { node: greeting.id, parent: Some(root.id) });
        }
        if let Some(first) = greetings.first() {
            effects.push(Effect::Head { from: Some(root.id), to: first.id });
            effects.push(Effect::Remembered { node: root.id, from: None, to: Some(first.id) });
        }
        let entry =
            OperationDraft { kind: OperationKind::Begin, actor: Some(stored.session.owner), at, step: None, effects };
        Ok(self.log_operation(&mut stored, entry)?)
    }

    fn root_row(&mut self, owner_n: i64, session: &Session, root: &NodeDraft) -> Result<(i64, NodeRow), StoreError> {
        let last: Option<i64> =
            self.run(|conn| Ok(sessions::table.select(diesel::dsl::max(sessions::n)).get_result(conn)?))?;
        let n = last.unwrap_or(0) + 1;
        let row = SessionRow { updated: session.created.0, ..SessionRow::new(n, owner_n, session) };
        self.run(|conn| {
            diesel::insert_into(sessions::table).values(&row).execute(conn)?;
            session_tags::replace(conn, n, &session.tags)
        })?;
        let root_row = self.insert(n, 0, None, root)?;
        let places = (sessions::root_n.eq(root_row.n), sessions::head_n.eq(root_row.n));
        self.update_row(|conn| update(sessions::table, places, sessions::n.eq(n)).execute(conn))?;
        Ok((n, root_row))
    }

    /// Writes a message with its placeholders, and moves HEAD to it if requested.
    ///
    /// # Errors
    /// Returns an error if the parent does not exist or is generating, HEAD is not where the actor saw it, or
    /// `move_children_from` is invalid.
    pub fn add_message(&mut self, actor: &Actor, message: &MessageWrite) -> Result<MessageReceipt, WriteError> {
        self.all_or_nothing(|tx| tx.write_message(actor, message))
    }

    fn write_message(&mut self, actor: &Actor, message: &MessageWrite) -> Result<MessageReceipt, WriteError> {
        let mut stored = self.session(actor.user, message.session)?;
        check_expected_version(&stored, actor.expected_leaf)?;
        // Check the message and its parent.
        let above = self.row_in_tree(&stored, message.parent)?;
        if above.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        message
            .rules_change
            .iter()
            .chain(&message.draft)
            .chain(&message.replies)
            .try_for_each(NodeDraft::check_storable)?;
        // Write the message and the rules change in their order.
        let carried = self.message_replacement(&stored, &above, message)?;

        let parent_n = above.n;
        let mut line = vec![above];
        let mut effects = Vec::new();
        let is_below = message.kind == OperationKind::Edit && message.move_children_from.is_none();
        let (first, last) =
            if is_below { (&message.draft, &message.rules_change) } else { (&message.rules_change, &message.draft) };
        for draft in first.iter().chain(last) {
            self.append(&stored, &mut line, draft, &mut effects)?;
        }
        let context = line.last().cloned().ok_or(TreeError::NotFound("the message"))?;
        // Move the children of the old version, and write the placeholders.
        if let Some(carried) = &carried {
            effects.extend(edit::move_children(&carried.old, row_id(&context)?, &carried.children));
        }
        for reply in &message.replies {
            self.insert(stored.n, stored.session.edits, Some(&context), reply)?;
            effects.push(Effect::Added { node: reply.id, parent: Some(row_id(&context)?) });
        }
        // Move HEAD or the remembered children, then following labels, and log one operation.
        if message.move_head && !carried.as_ref().is_some_and(|carried| carried.has_head) {
            let way = self.remembered_edges(&stored, &context)?;
            effects.extend(edit::move_head(Some(stored.session.head), row_id(&context)?, &way));
        } else if let Some(carried) = carried {
            effects.extend(self.remember_replacement(&stored, &line, &carried)?);
        }
        if line.len() > 1 {
            effects.extend(self.move_following_labels(&stored, parent_n, row_id(&context)?)?);
        }
        let entry = OperationDraft { kind: message.kind, actor: Some(actor.user), at: actor.at, step: None, effects };
        let op = self.log_operation(&mut stored, entry)?;
        let at_context = !message.replies.is_empty() && self.is_at_context(&stored, &context)?;
        let asked = HeadRequest { move_head: true, head_op: stored.session.head_op, at_context };
        Ok(MessageReceipt { op, asked, head: stored.session.head })
    }

    fn append(
        &mut self,
        stored: &StoredSession,
        line: &mut Vec<NodeRow>,
        draft: &NodeDraft,
        effects: &mut Vec<Effect>,
    ) -> Result<(), StoreError> {
        let row = self.insert(stored.n, stored.session.edits, line.last(), draft)?;
        let parent = line.last().map(row_id).transpose()?;
        effects.push(Effect::Added { node: draft.id, parent });
        line.push(row);
        Ok(())
    }

    /// Checks the edited node and returns what moves below its new version.
    fn message_replacement(
        &mut self,
        stored: &StoredSession,
        above: &NodeRow,
        message: &MessageWrite,
    ) -> Result<Option<MessageReplacement>, WriteError> {
        let Some(id) = message.move_children_from else { return Ok(None) };
        if message.draft.is_none() || !message.replies.is_empty() {
            let message = "\"carry\" needs a new version, and excludes new replies".to_owned();
            return Err(TreeError::Invalid { field: "carry", message }.into());
        }
        let row = self.row_in_tree(stored, id)?;
        if row.parent_n != Some(above.n) {
            return Err(TreeError::Conflict("a new version must have the same parent as the old one".into()).into());
        }
        if row.status == Status::Generating.code() || self.is_generating_below(stored, &row)? {
            return Err(TreeError::Generating.into());
        }
        let ids: Vec<Vec<u8>> = self.run(|conn| {
            let of_old = nodes::table.filter(nodes::parent_n.eq(row.n)).order(nodes::n);
            Ok(of_old.select(nodes::id).load(conn)?)
        })?;
        let head = stored.head_n;
        let below = self.run(|conn| ancestors::ancestor_at(conn, head, row.depth))? == Some(row.n) && head != row.n;
        let placed = self.run(|conn| super::read::load_nodes(conn, stored.session.id, &[row.n]))?.pop();
        Ok(Some(MessageReplacement {
            old: placed.ok_or(TreeError::NotFound("the message"))?.node,
            old_n: row.n,
            children: ids.iter().filter_map(|id| NodeId::from_slice(id)).collect(),
            has_head: below,
        }))
    }

    /// Returns whether a reply is being generated below a node. Such a node cannot be moved (`domain.md` 2.10).
    pub(super) fn is_generating_below(&mut self, stored: &StoredSession, row: &NodeRow) -> Result<bool, StoreError> {
        let session_n = stored.n;
        let running: Vec<i64> = self.run(|conn| {
            let running =
                nodes::table.filter(super::replies::is_generating()).filter((nodes::session_n + 0_i64).eq(session_n));
            Ok(prepared(running.filter(nodes::depth.gt(row.depth)).select(nodes::n)).load(conn)?)
        })?;
        for n in running {
            if self.run(|conn| ancestors::ancestor_at(conn, n, row.depth))? == Some(row.n) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the remembered-child effects if HEAD does not move to the new version: the last visited path then
    /// leads through it.
    fn remember_replacement(
        &mut self,
        stored: &StoredSession,
        line: &[NodeRow],
        carried: &MessageReplacement,
    ) -> Result<Vec<Effect>, StoreError> {
        let remembers_old = line.first().is_some_and(|above| above.remembered_n == Some(carried.old_n));
        if carried.children.is_empty() || !remembers_old || stored.head_n == carried.old_n {
            return Ok(Vec::new());
        }
        let edges = line.iter().zip(line.iter().skip(1)).map(|(upper, lower)| (AncestorRow::from_row(upper), lower.n));
        let way: Vec<_> = edges.map(|(upper, lower)| self.edge(&upper, lower)).collect::<Result<_, _>>()?;
        Ok(edit::move_head(Some(stored.session.head), stored.session.head, &way))
    }

    /// Returns whether HEAD is at a context node or at one of its generations.
    pub(super) fn is_at_context(&mut self, stored: &StoredSession, context: &NodeRow) -> Result<bool, StoreError> {
        if stored.head_n == context.n {
            return Ok(true);
        }
        let head = self.row_by_number(stored.head_n)?;
        Ok(head.parent_n == Some(context.n) && head.role == Role::Assistant.code())
    }

    /// Moves HEAD to the last visited leaf below a node, or with `exact` to the node itself.
    ///
    /// # Errors
    /// Returns an error if the node does not exist or is still being generated, or if HEAD is not where the
    /// actor saw it.
    pub fn checkout(
        &mut self,
        actor: &Actor,
        session: SessionId,
        node: NodeId,
        exact: bool,
    ) -> Result<(i64, NodeId), WriteError> {
        self.all_or_nothing(|tx| tx.move_head_to(actor, session, node, exact))
    }

    fn move_head_to(
        &mut self,
        actor: &Actor,
        session: SessionId,
        node: NodeId,
        exact: bool,
    ) -> Result<(i64, NodeId), WriteError> {
        let mut stored = self.session(actor.user, session)?;
        check_expected_version(&stored, actor.expected_leaf)?;
        let row = self.row_in_tree(&stored, node)?;
        if row.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        let to = if exact { row } else { self.last_visited_leaf(&row)? };
        let way = self.remembered_edges(&stored, &to)?;
        let effects = edit::move_head(Some(stored.session.head), row_id(&to)?, &way);
        if effects.is_empty() {
            return Ok((stored.session.op, stored.session.head));
        }
        let entry = OperationDraft {
            kind: OperationKind::Checkout,
            actor: Some(actor.user),
            at: actor.at,
            step: None,
            effects,
        };
        let op = self.log_operation(&mut stored, entry)?;
        Ok((op, stored.session.head))
    }

    /// Returns the last visited leaf below a node: follows remembered children, or the newest complete child if
    /// none is remembered. HEAD never moves to a failed reply by itself (`domain.md` 5.5).
    fn last_visited_leaf(&mut self, from: &NodeRow) -> Result<NodeRow, StoreError> {
        #[derive(diesel::QueryableByName)]
        struct DescentRow {
            #[diesel(sql_type = BigInt)]
            n: i64,
        }
        let start = from.n;
        let down: Vec<DescentRow> = self.run(|conn| {
            let query = diesel::sql_query(
                "WITH RECURSIVE down (n, step) AS (SELECT n, 0 FROM nodes WHERE n = $1 UNION ALL \
                 SELECT c.n, down.step + 1 FROM down JOIN nodes p ON p.n = down.n JOIN nodes c ON c.n = COALESCE( \
                   (SELECT r.n FROM nodes r WHERE r.n = p.remembered_n AND r.parent_n = p.n AND NOT r.is_hidden), \
                   (SELECT k.n FROM nodes k WHERE k.parent_n = p.n AND k.status = 1 AND NOT k.is_hidden \
                    ORDER BY k.n DESC LIMIT 1))) \
                 SELECT n FROM down ORDER BY step DESC LIMIT 1",
            );
            Ok(prepared(query.bind::<BigInt, _>(start)).load(conn)?)
        })?;
        match down.first() {
            Some(leaf) => self.row_by_number(leaf.n),
            None => Ok(from.clone()),
        }
    }

    /// Appends a change node below a node: a manual change of the state, or a change of rules. HEAD moves to it
    /// if it was on the node.
    ///
    /// # Errors
    /// Returns an error as [`Tx::add_message`] does.
    pub fn append_change(
        &mut self,
        actor: &Actor,
        session: SessionId,
        parent: NodeId,
        draft: &NodeDraft,
        act: OperationKind,
    ) -> Result<MessageReceipt, WriteError> {
        let at_head = self.session(actor.user, session)?.session.head == parent;
        let message = MessageWrite {
            session,
            parent,
            rules_change: None,
            draft: Some(draft.clone()),
            move_children_from: None,
            replies: Vec::new(),
            move_head: at_head,
            kind: act,
        };
        self.add_message(actor, &message)
    }
}

impl NodeDraft {
    /// Checks that its texts can be stored.
    fn check_storable(&self) -> Result<(), TreeError> {
        check_storable_text("content", &self.content)?;
        check_storable_text("name", self.name.as_deref().unwrap_or_default())?;
        check_storable_text("reasoning", self.reasoning.as_deref().unwrap_or_default())
    }
}

/// Refuses U+0000, which many programs treat as the end of a text and some databases refuse.
pub(super) fn check_storable_text(field: &'static str, text: &str) -> Result<(), TreeError> {
    if text.contains('\0') {
        return Err(TreeError::Invalid { field, message: "a text cannot contain U+0000".into() });
    }
    Ok(())
}

/// Checks that the session has the version that the actor saw, if one was given.
pub(super) fn check_expected_version(
    stored: &StoredSession,
    expected: Option<ExpectedVersion>,
) -> Result<(), TreeError> {
    expected.map_or(Ok(()), |seen| seen.check(&stored.session))
}
