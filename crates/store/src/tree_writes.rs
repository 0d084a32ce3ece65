//! The acts on a session that let its tree grow or move its HEAD, each one request, one operation: load what the plan
//! needs, refuse, ask `tree::edit` what it means, write the rows, log the effects. An act refuses before it writes, so
//! that a closure may try another one after a refusal. To add an act: a method here, in that gait.

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
use super::rows::{
    NodeRow, SessionRow, cards_to_text, persona_to_text, plugins_to_text, recall_to_text, summaries_to_text,
};
use super::stored::{NodeCounts, StoredSession};
use super::tables::{nodes, sessions};
use super::tx::{NodeDraft, OperationDraft, Tx, row_id};

/// Who acts, when, and which HEAD they saw.
#[derive(Debug, Clone, Copy)]
pub struct Actor {
    /// The caller.
    pub user: UserId,
    /// The moment.
    pub at: Time,
    /// What the caller saw of the session; if it is otherwise by now, nothing is written.
    pub expected_leaf: Option<ExpectedVersion>,
}

/// What a writer saw when he decided to write (`docs/domain.md` 2.19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// Where HEAD stood.
    Leaf(NodeId),
    /// The newest operation.
    Op(i64),
}

impl ExpectedVersion {
    /// Whether a session still is as it was seen.
    ///
    /// # Errors
    /// It is not; the refusal says how it is now.
    pub fn holds(self, session: &Session) -> Result<(), TreeError> {
        let holds = match self {
            Self::Leaf(leaf) => leaf == session.head,
            Self::Op(op) => op == session.op,
        };
        if holds { Ok(()) } else { Err(TreeError::HeadMoved { leaf: session.head, op: session.op }) }
    }
}

/// A message to be written, or an edited version of one.
#[derive(Debug, Clone)]
pub struct MessageWrite {
    /// The session.
    pub session: SessionId,
    /// The parent of the bridge, or of the message where there is none.
    pub parent: NodeId,
    /// A change node between parent and message: rules that begin here. In an edit it stands below the message, which has
    /// its place beside the old one.
    pub rules_change: Option<NodeDraft>,
    /// The message; `None` when only replies are asked for (a reroll).
    pub draft: Option<NodeDraft>,
    /// The edited node, a child of `parent`, whose children move below the message (`move_children`).
    pub move_children_from: Option<NodeId>,
    /// Placeholders for the replies.
    pub replies: Vec<NodeDraft>,
    /// Whether HEAD goes to the message. With `move_children`, a HEAD below the edited node stays on its leaf.
    pub move_head: bool,
    /// What kind of act it is.
    pub kind: OperationKind,
}

/// What a message became.
#[derive(Debug, Clone)]
pub struct MessageReceipt {
    /// The operation.
    pub op: i64,
    /// What every placeholder remembers of the moment it was asked for.
    pub asked: HeadRequest,
    /// Where HEAD stands.
    pub head: NodeId,
}

/// An old version whose children move below a new one.
struct MessageReplacement {
    old: Node,
    old_n: i64,
    children: Vec<NodeId>,
    /// HEAD stands below the old version, so it moves along.
    has_head: bool,
}

impl Tx<'_> {
    /// Begins a session: its root with the rules in force from the start, and its greetings; HEAD on the first greeting.
    ///
    /// # Errors
    /// The owner does not exist, `root` is no root, a text cannot be kept, or the database fails.
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
        let owner_n = self.user_row(session.owner)?;
        if root.kind != Kind::Root || root.id != session.root || greetings.iter().any(|draft| draft.kind == Kind::Root)
        {
            return Err(TreeError::Conflict("a session begins with one root".into()).into());
        }
        check_storable_text("title", &session.title)?;
        greetings.iter().try_for_each(NodeDraft::check_storable)?;
        let session = Session { op: 0, head_op: 0, edits: 0, head: root.id, ..session.clone() };
        let (n, root_row) = self.root_row(owner_n, &session, root)?;
        let mut held =
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
            OperationDraft { kind: OperationKind::Begin, actor: Some(held.session.owner), at, step: None, effects };
        Ok(self.log_operation(&mut held, entry)?)
    }

    fn root_row(&mut self, owner_n: i64, session: &Session, root: &NodeDraft) -> Result<(i64, NodeRow), StoreError> {
        let last: Option<i64> =
            self.run(|conn| Ok(sessions::table.select(diesel::dsl::max(sessions::n)).get_result(conn)?))?;
        let n = last.unwrap_or(0) + 1;
        let row = SessionRow {
            n,
            id: session.id.as_bytes().to_vec(),
            owner_n,
            title: session.title.clone(),
            cards: cards_to_text(&session.cards),
            persona: session.persona.as_ref().map(persona_to_text),
            root_n: 0,
            head_n: 0,
            op: 0,
            head_op: 0,
            mode: session.mode.clone(),
            model: session.model.clone(),
            params: serde_json::Value::Object(session.params.clone()).to_string(),
            plugins: plugins_to_text(&session.plugins),
            seed: session.seed.cast_signed(),
            edits: 0,
            created: session.created.0,
            updated: session.created.0,
            trashed: None,
            node_count: 0,
            leaf_count: 0,
            preset: session.preset.map(|id| id.to_string()),
            scripts: serde_json::json!(session.scripts).to_string(),
            recall: recall_to_text(&session.recall),
            note: session.note.as_ref().map(|note| note.to_json().to_string()),
            summaries: summaries_to_text(&session.summaries),
            values_model: session.values_model.clone(),
        };
        self.run(|conn| Ok(diesel::insert_into(sessions::table).values(&row).execute(conn)?))?;
        let root_row = self.insert(n, 0, None, root)?;
        let places = (sessions::root_n.eq(root_row.n), sessions::head_n.eq(root_row.n));
        self.update_row(|conn| update(sessions::table, places, sessions::n.eq(n)).execute(conn))?;
        Ok((n, root_row))
    }

    /// Writes a message with its placeholders, and moves HEAD to it if asked.
    ///
    /// # Errors
    /// The parent is not there or still being generated, HEAD is not where the actor saw it, or `move_children` does not fit.
    pub fn message(&mut self, actor: &Actor, message: &MessageWrite) -> Result<MessageReceipt, WriteError> {
        self.all_or_nothing(|tx| tx.write_message(actor, message))
    }

    fn write_message(&mut self, actor: &Actor, message: &MessageWrite) -> Result<MessageReceipt, WriteError> {
        let mut held = self.session(actor.user, message.session)?;
        check_expected_version(&held, actor.expected_leaf)?;
        let above = self.row_in_tree(&held, message.parent)?;
        if above.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        message
            .rules_change
            .iter()
            .chain(&message.draft)
            .chain(&message.replies)
            .try_for_each(NodeDraft::check_storable)?;
        let carried = self.message_replacement(&held, &above, message)?;

        let parent_n = above.n;
        let mut line = vec![above];
        let mut effects = Vec::new();
        let is_below = message.kind == OperationKind::Edit && message.move_children_from.is_none();
        let (first, last) =
            if is_below { (&message.draft, &message.rules_change) } else { (&message.rules_change, &message.draft) };
        for draft in first.iter().chain(last) {
            self.append(&held, &mut line, draft, &mut effects)?;
        }
        let context = line.last().cloned().ok_or(TreeError::NotFound("the message"))?;
        if let Some(carried) = &carried {
            effects.extend(edit::move_children(&carried.old, row_id(&context)?, &carried.children));
        }
        for reply in &message.replies {
            self.insert(held.n, held.session.edits, Some(&context), reply)?;
            effects.push(Effect::Added { node: reply.id, parent: Some(row_id(&context)?) });
        }
        if message.move_head && !carried.as_ref().is_some_and(|carried| carried.has_head) {
            let way = self.remembered_edges(&held, &context)?;
            effects.extend(edit::move_head(Some(held.session.head), row_id(&context)?, &way));
        } else if let Some(carried) = carried {
            effects.extend(self.remember_replacement(&held, &line, &carried)?);
        }
        if line.len() > 1 {
            effects.extend(self.move_following_labels(&held, parent_n, row_id(&context)?)?);
        }
        let entry = OperationDraft { kind: message.kind, actor: Some(actor.user), at: actor.at, step: None, effects };
        let op = self.log_operation(&mut held, entry)?;
        let at_context = !message.replies.is_empty() && self.is_at_context(&held, &context)?;
        let asked = HeadRequest { move_head: true, head_op: held.session.head_op, at_context };
        Ok(MessageReceipt { op, asked, head: held.session.head })
    }

    fn append(
        &mut self,
        held: &StoredSession,
        line: &mut Vec<NodeRow>,
        draft: &NodeDraft,
        effects: &mut Vec<Effect>,
    ) -> Result<(), StoreError> {
        let row = self.insert(held.n, held.session.edits, line.last(), draft)?;
        let parent = line.last().map(row_id).transpose()?;
        effects.push(Effect::Added { node: draft.id, parent });
        line.push(row);
        Ok(())
    }

    /// What moves with a message that carries on for an old version of it.
    fn message_replacement(
        &mut self,
        held: &StoredSession,
        above: &NodeRow,
        message: &MessageWrite,
    ) -> Result<Option<MessageReplacement>, WriteError> {
        let Some(id) = message.move_children_from else { return Ok(None) };
        if message.draft.is_none() || !message.replies.is_empty() {
            let message = "\"carry\" needs a new version, and keeps what follows instead of new replies".to_owned();
            return Err(TreeError::Invalid { field: "carry", message }.into());
        }
        let row = self.row_in_tree(held, id)?;
        if row.parent_n != Some(above.n) {
            return Err(TreeError::Conflict("a new version stands beside the old one".into()).into());
        }
        if row.status == Status::Generating.code() || self.is_generating_below(held, &row)? {
            return Err(TreeError::Generating.into());
        }
        let ids: Vec<Vec<u8>> = self.run(|conn| {
            let of_old = nodes::table.filter(nodes::parent_n.eq(row.n)).order(nodes::n);
            Ok(of_old.select(nodes::id).load(conn)?)
        })?;
        let head = held.head_n;
        let below = self.run(|conn| ancestors::ancestor_at(conn, head, row.depth))? == Some(row.n) && head != row.n;
        let placed = self.run(|conn| super::read::load_nodes(conn, held.session.id, &[row.n]))?.pop();
        Ok(Some(MessageReplacement {
            old: placed.ok_or(TreeError::NotFound("the message"))?.node,
            old_n: row.n,
            children: ids.iter().filter_map(|id| NodeId::from_slice(id)).collect(),
            has_head: below,
        }))
    }

    /// Whether a reply is still being generated below a node: what holds one cannot be moved (`domain.md` 2.10).
    pub(super) fn is_generating_below(&mut self, held: &StoredSession, row: &NodeRow) -> Result<bool, StoreError> {
        let session_n = held.n;
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

    /// Where HEAD does not go to the new version: the line last visited still goes on through what moved below it.
    fn remember_replacement(
        &mut self,
        held: &StoredSession,
        line: &[NodeRow],
        carried: &MessageReplacement,
    ) -> Result<Vec<Effect>, StoreError> {
        let remembers_old = line.first().is_some_and(|above| above.remembered_n == Some(carried.old_n));
        if carried.children.is_empty() || !remembers_old || held.head_n == carried.old_n {
            return Ok(Vec::new());
        }
        let edges = line.iter().zip(line.iter().skip(1)).map(|(upper, lower)| (AncestorRow::from_row(upper), lower.n));
        let way: Vec<_> = edges.map(|(upper, lower)| self.edge(&upper, lower)).collect::<Result<_, _>>()?;
        Ok(edit::move_head(Some(held.session.head), held.session.head, &way))
    }

    /// Whether HEAD stands at a context node or at one of its generations.
    pub(super) fn is_at_context(&mut self, held: &StoredSession, context: &NodeRow) -> Result<bool, StoreError> {
        if held.head_n == context.n {
            return Ok(true);
        }
        let head = self.row_by_number(held.head_n)?;
        Ok(head.parent_n == Some(context.n) && head.role == Role::Assistant.code())
    }

    /// Moves HEAD: to the leaf last visited below the node, or with `exact` to the node itself.
    ///
    /// # Errors
    /// The node is not there or still being generated, or HEAD is not where the actor saw it.
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
        let mut held = self.session(actor.user, session)?;
        check_expected_version(&held, actor.expected_leaf)?;
        let row = self.row_in_tree(&held, node)?;
        if row.status == Status::Generating.code() {
            return Err(TreeError::Generating.into());
        }
        let to = if exact { row } else { self.last_visited_leaf(&row)? };
        let way = self.remembered_edges(&held, &to)?;
        let effects = edit::move_head(Some(held.session.head), row_id(&to)?, &way);
        if effects.is_empty() {
            return Ok((held.session.op, held.session.head));
        }
        let entry = OperationDraft {
            kind: OperationKind::Checkout,
            actor: Some(actor.user),
            at: actor.at,
            step: None,
            effects,
        };
        let op = self.log_operation(&mut held, entry)?;
        Ok((op, held.session.head))
    }

    /// The leaf last visited below a node: remembered children down, where none is remembered the newest complete one. A
    /// failed reply is where one goes on purpose only, never by itself (`domain.md` 5.5).
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

    /// Appends a change node below a node: a manual change of the world, or rules switched on or off. HEAD follows where
    /// it stood on the node.
    ///
    /// # Errors
    /// As [`Tx::message`].
    pub fn change(
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
        self.message(actor, &message)
    }
}

impl NodeDraft {
    /// Whether its texts can be kept by every database.
    fn check_storable(&self) -> Result<(), TreeError> {
        check_storable_text("content", &self.content)?;
        check_storable_text("name", self.name.as_deref().unwrap_or_default())?;
        check_storable_text("reasoning", self.reasoning.as_deref().unwrap_or_default())
    }
}

/// U+0000 ends a text for half of the world's programs and is refused by some databases.
pub(super) fn check_storable_text(field: &'static str, text: &str) -> Result<(), TreeError> {
    if text.contains('\0') {
        return Err(TreeError::Invalid { field, message: "U+0000 cannot be kept in a text".into() });
    }
    Ok(())
}

/// The session must be as the actor saw it, if the actor said.
pub(super) fn check_expected_version(held: &StoredSession, expected: Option<ExpectedVersion>) -> Result<(), TreeError> {
    expected.map_or(Ok(()), |seen| seen.holds(&held.session))
}
