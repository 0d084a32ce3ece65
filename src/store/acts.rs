//! The acts on a session, each one request, one operation: load what the plan needs, ask `tree::edit` what it means, write
//! the rows, log the effects. To add an act: a method here, in that gait.

use std::sync::Arc;

use diesel::prelude::*;
use diesel::sql_types::BigInt;

use crate::clock::Time;
use crate::ids::{NodeId, SessionId, UserId};
use crate::oplog::{Act, Effect};
use crate::tree::edit::{self, Asked, Refusal};
use crate::tree::{Delta, Effects, Kind, PersonaRef, Role, Session, Status};

use super::error::{StoreError, WriteError};
use super::read::Held;
use super::rows::{NodeRow, SessionRow, cards_to_text, persona_to_text, plugins_to_text};
use super::tables::{nodes, segments, sessions, texts};
use super::traces::{self, Trace};
use super::tx::{Draft, Entry, Tx, row_id};

/// Who acts, when, and which HEAD they saw.
#[derive(Debug, Clone, Copy)]
pub struct Actor {
    /// The caller.
    pub user: UserId,
    /// The moment.
    pub at: Time,
    /// The leaf that the caller believes HEAD to be.
    pub expected_leaf: Option<NodeId>,
}

/// A message to be written, or an edited version of one.
#[derive(Debug, Clone)]
pub struct Message {
    /// The session.
    pub session: SessionId,
    /// The parent of the bridge, or of the message where there is none.
    pub parent: NodeId,
    /// A change node between parent and message: rules that begin here.
    pub bridge: Option<Draft>,
    /// The message; `None` when only replies are asked for (a reroll).
    pub draft: Option<Draft>,
    /// The edited node whose children move below the message (`carry`).
    pub carry_from: Option<NodeId>,
    /// Placeholders for the replies.
    pub replies: Vec<Draft>,
    /// Whether HEAD goes to the message.
    pub move_head: bool,
    /// What kind of act it is.
    pub act: Act,
}

/// What a message became.
#[derive(Debug, Clone)]
pub struct Written {
    /// The operation.
    pub op: i64,
    /// What each placeholder, in order, remembers of the moment it was asked for.
    pub asked: Asked,
    /// Where HEAD stands.
    pub head: NodeId,
}

/// How a reply ended.
#[derive(Debug, Clone)]
pub struct Ending {
    /// Complete or error.
    pub status: Status,
    /// The text exactly as received.
    pub content: String,
    /// The thinking.
    pub reasoning: Option<String>,
    /// The speaker's name.
    pub name: Option<String>,
    /// Everything else known.
    pub metadata: serde_json::Map<String, serde_json::Value>,
    /// What it does to the world; empty unless complete and not cancelled.
    pub delta: Delta,
    /// Why it exists.
    pub trace: Option<Trace>,
    /// What it remembers of the moment it was asked for; `None` = never takes HEAD.
    pub asked: Option<Asked>,
}

impl Tx<'_> {
    /// Begins a session: its root with the rules in force from the start, and its greetings; HEAD on the first greeting.
    ///
    /// # Errors
    /// The database fails.
    pub fn begin_session(
        &mut self,
        session: &Session,
        root: &Draft,
        greetings: &[Draft],
        at: Time,
    ) -> Result<i64, WriteError> {
        let (n, owner_n) = self.session_numbers(session.owner)?;
        let root_row = self.root_row(n, owner_n, session, root)?;
        let mut held = Held { session: session.clone(), n, head_n: root_row.n };
        held.session.head = session.root;
        let mut effects = vec![Effect::Added { node: root.id, parent: None }, Effect::Head { from: None, to: root.id }];
        for greeting in greetings {
            self.insert(n, 0, Some(&root_row), greeting)?;
            effects.push(Effect::Added { node: greeting.id, parent: Some(root.id) });
        }
        if let Some(first) = greetings.first() {
            effects.push(Effect::Head { from: Some(root.id), to: first.id });
            effects.push(Effect::Remembered { node: root.id, from: None, to: Some(first.id) });
        }
        let entry = Entry { act: Act::Begin, actor: Some(session.owner), at, step: None, effects };
        Ok(self.log(&mut held, entry)?)
    }

    fn session_numbers(&mut self, owner: UserId) -> Result<(i64, i64), WriteError> {
        let owner_n = self.user_n(owner)?;
        let last: Option<i64> =
            self.run(|conn| Ok(sessions::table.select(diesel::dsl::max(sessions::n)).first(conn)?))?;
        Ok((last.unwrap_or(0) + 1, owner_n))
    }

    fn root_row(&mut self, n: i64, owner_n: i64, session: &Session, root: &Draft) -> Result<NodeRow, StoreError> {
        let mut row = SessionRow {
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
        };
        self.run(|conn| Ok(diesel::insert_into(sessions::table).values(&row).execute(conn)?))?;
        let root_row = self.insert(n, 0, None, root)?;
        row.root_n = root_row.n;
        let places = (sessions::root_n.eq(root_row.n), sessions::head_n.eq(root_row.n));
        self.run(|conn| Ok(diesel::update(sessions::table.find(n)).set(places).execute(conn)?))?;
        Ok(root_row)
    }

    /// Writes a message with its placeholders, and moves HEAD to it if asked.
    ///
    /// # Errors
    /// The parent is not there or still being generated, or HEAD is not where the actor saw it.
    pub fn message(&mut self, actor: &Actor, message: &Message) -> Result<Written, WriteError> {
        let mut held = self.session(actor.user, message.session)?;
        expect_leaf(&held, actor.expected_leaf)?;
        let mut effects = Vec::new();
        let mut parent = self.row(&held, message.parent)?;
        if Status::from_code(parent.status) == Some(Status::Generating) {
            return Err(Refusal::Generating.into());
        }
        for draft in message.bridge.iter().chain(&message.draft) {
            let row = self.insert(held.n, held.session.edits, Some(&parent), draft)?;
            effects.push(Effect::Added { node: draft.id, parent: Some(row_id(&parent)?) });
            parent = row;
        }
        if let (Some(old), Some(new)) = (message.carry_from, &message.draft) {
            effects.extend(self.carry(&held, old, new.id)?);
        }
        for reply in &message.replies {
            self.insert(held.n, held.session.edits, Some(&parent), reply)?;
            effects.push(Effect::Added { node: reply.id, parent: Some(row_id(&parent)?) });
        }
        if message.move_head {
            let to = self.landing(&held, &parent, message)?;
            let way = self.way(&held, &to)?;
            effects.extend(edit::move_head(Some(held.session.head), row_id(&to)?, &way));
        }
        let entry = Entry { act: message.act, actor: Some(actor.user), at: actor.at, step: None, effects };
        let op = self.log(&mut held, entry)?;
        let asked =
            Asked { move_head: true, head_op: held.session.head_op, at_context: self.is_at_context(&held, &parent)? };
        Ok(Written { op, asked, head: held.session.head })
    }

    /// Where HEAD goes with a message: to the message; with `carry`, it stays on a leaf that moved along.
    fn landing(&mut self, held: &Held, message_row: &NodeRow, message: &Message) -> Result<NodeRow, StoreError> {
        let Some(old) = message.carry_from else { return Ok(message_row.clone()) };
        let head = self.row_n(held.head_n)?;
        let mut next = head.clone();
        while next.depth > message_row.depth {
            let Some(parent) = next.parent_n else { break };
            next = self.row_n(parent)?;
        }
        let moved_along = row_id(&next)? == old && next.n != head.n;
        Ok(if moved_along { head } else { message_row.clone() })
    }

    fn carry(&mut self, held: &Held, old: NodeId, new: NodeId) -> Result<Vec<Effect>, WriteError> {
        let old_row = self.row(held, old)?;
        let children: Vec<(Vec<u8>, i16)> = self.run(|conn| {
            let of_old = nodes::table.filter(nodes::parent_n.eq(old_row.n)).order(nodes::ordinal);
            Ok(of_old.select((nodes::id, nodes::status)).load(conn)?)
        })?;
        if children.iter().any(|(_, status)| Status::from_code(*status) == Some(Status::Generating)) {
            return Err(Refusal::Generating.into());
        }
        let ids: Vec<NodeId> = children.iter().filter_map(|(id, _)| NodeId::from_slice(id)).collect();
        let placed = self.run(|conn| super::read::load(conn, held.session.id, &[old_row.n]))?.pop();
        let old = placed.ok_or(Refusal::NotFound("the message"))?.node;
        Ok(edit::carry(&old, new, &ids))
    }

    /// Whether HEAD stands at a context node or at one of its generations.
    fn is_at_context(&mut self, held: &Held, context: &NodeRow) -> Result<bool, StoreError> {
        let head = self.row_n(held.head_n)?;
        Ok(head.n == context.n || (head.parent_n == Some(context.n) && head.role == Role::Assistant.code()))
    }

    /// Ends a reply: text, delta, trace, keyframe if due, status and, where the rules say so, HEAD, in one operation.
    /// `step` is the operation that asked for it.
    ///
    /// # Errors
    /// The node is not generating any more (someone else ended it), or the session is gone.
    pub fn complete(
        &mut self,
        session: SessionId,
        node: NodeId,
        step: i64,
        at: Time,
        ending: &Ending,
    ) -> Result<i64, WriteError> {
        let found = self.run(|conn| super::read::held(conn, session))?;
        let mut held = found.ok_or(Refusal::NotFound("the session"))?;
        let row = self.row(&held, node)?;
        if row.status != Status::Generating.code() {
            return Err(Refusal::Conflict("the reply has ended already".into()).into());
        }
        let row = self.write_ending(&row, ending)?;
        self.keyframe_if_due(held.session.edits, &row, &ending.delta)?;
        if let Some(trace) = &ending.trace {
            self.run(|conn| traces::put(conn, row.n, trace))?;
        }
        let mut effects = vec![Effect::Completed { node }];
        if self.takes_head(&held, &row, ending)? {
            let way = self.way(&held, &row)?;
            effects.extend(edit::move_head(Some(held.session.head), node, &way));
        }
        let entry = Entry { act: Act::Reply, actor: None, at, step: Some(step), effects };
        Ok(self.log(&mut held, entry)?)
    }

    fn write_ending(&mut self, row: &NodeRow, ending: &Ending) -> Result<NodeRow, StoreError> {
        let revision = i32::from(!ending.delta.is_empty());
        let status = ending.status.code();
        let metadata = serde_json::Value::Object(ending.metadata.clone()).to_string();
        self.run(|conn| {
            diesel::update(nodes::table.find(row.n))
                .set((nodes::status.eq(status), nodes::revision.eq(revision)))
                .execute(conn)?;
            let text = (
                texts::content.eq(&ending.content),
                texts::reasoning.eq(&ending.reasoning),
                texts::name.eq(&ending.name),
                texts::metadata.eq(metadata),
            );
            diesel::update(texts::table.find(row.n)).set(text).execute(conn)?;
            diesel::delete(segments::table.filter(segments::node_n.eq(row.n))).execute(conn)?;
            Ok(())
        })?;
        self.write_delta(row.n, revision, &ending.delta)?;
        Ok(NodeRow { status, revision, ..row.clone() })
    }

    fn takes_head(&mut self, held: &Held, row: &NodeRow, ending: &Ending) -> Result<bool, StoreError> {
        let Some(asked) = ending.asked.filter(|_| ending.status == Status::Complete) else { return Ok(false) };
        if !edit::takes_head(&asked, held.session.head_op) {
            return Ok(false);
        }
        match row.parent_n {
            Some(parent) => {
                let context = self.row_n(parent)?;
                self.is_at_context(held, &context)
            }
            None => Ok(false),
        }
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
        let mut held = self.session(actor.user, session)?;
        expect_leaf(&held, actor.expected_leaf)?;
        let row = self.row(&held, node)?;
        if row.status == Status::Generating.code() {
            return Err(Refusal::Generating.into());
        }
        let to = if exact { row } else { self.descend(&row)? };
        let way = self.way(&held, &to)?;
        let effects = edit::move_head(Some(held.session.head), row_id(&to)?, &way);
        if effects.is_empty() {
            return Ok((held.session.op, held.session.head));
        }
        let entry = Entry { act: Act::Checkout, actor: Some(actor.user), at: actor.at, step: None, effects };
        let op = self.log(&mut held, entry)?;
        Ok((op, held.session.head))
    }

    /// The leaf last visited below a node: remembered children down, where none is remembered the newest complete one.
    fn descend(&mut self, from: &NodeRow) -> Result<NodeRow, StoreError> {
        #[derive(diesel::QueryableByName)]
        struct Down {
            #[diesel(sql_type = BigInt)]
            n: i64,
        }
        let start = from.n;
        let down: Vec<Down> = self.run(|conn| {
            Ok(diesel::sql_query(
                "WITH RECURSIVE down (n, depth) AS (SELECT n, depth FROM nodes WHERE n = ? UNION ALL \
                 SELECT c.n, c.depth FROM down JOIN nodes p ON p.n = down.n JOIN nodes c ON c.n = COALESCE( \
                   (SELECT r.n FROM nodes r WHERE r.n = p.remembered_n AND NOT r.is_hidden), \
                   (SELECT k.n FROM nodes k WHERE k.parent_n = p.n AND k.status <> 0 AND NOT k.is_hidden \
                    ORDER BY k.ordinal DESC LIMIT 1))) \
                 SELECT n FROM down ORDER BY depth DESC LIMIT 1",
            )
            .bind::<BigInt, _>(start)
            .load(conn)?)
        })?;
        match down.first() {
            Some(leaf) => self.row_n(leaf.n),
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
        draft: &Draft,
        act: Act,
    ) -> Result<Written, WriteError> {
        let at_head = self.session(actor.user, session)?.session.head == parent;
        let message = Message {
            session,
            parent,
            bridge: None,
            draft: Some(draft.clone()),
            carry_from: None,
            replies: Vec::new(),
            move_head: at_head,
            act,
        };
        self.message(actor, &message)
    }

    /// Switches texts and deltas of nodes on or off and rates them, in one operation; what is so already is left alone.
    ///
    /// # Errors
    /// A node is not there, still being generated, or the root; nothing was changed then.
    pub fn set_state(&mut self, actor: &Actor, session: SessionId, updates: &[StateUpdate]) -> Result<i64, WriteError> {
        let mut held = self.session(actor.user, session)?;
        let mut effects = Vec::new();
        for update in updates {
            let row = self.row(&held, update.node)?;
            if row.status == Status::Generating.code() {
                return Err(Refusal::Generating.into());
            }
            if row.kind == Kind::Root.code() {
                return Err(Refusal::Conflict("the root cannot be switched off".into()).into());
            }
            effects.extend(self.state_effects(&row, update)?);
        }
        if effects.is_empty() {
            return Ok(held.session.op);
        }
        let entry = Entry { act: Act::State, actor: Some(actor.user), at: actor.at, step: None, effects };
        Ok(self.log(&mut held, entry)?)
    }

    fn state_effects(&mut self, row: &NodeRow, update: &StateUpdate) -> Result<Vec<Effect>, StoreError> {
        let node = update.node;
        let enabled = update.is_enabled.filter(|to| *to != row.is_enabled).map(|to| Effect::Enabled { node, to });
        let muted = update.effects.map(|effects| effects == Effects::Muted);
        let muted = muted.filter(|to| *to != row.is_muted).map(|to| Effect::Muted { node, to });
        let mut effects: Vec<Effect> = enabled.into_iter().chain(muted).collect();
        if let Some(to) = update.rating {
            let text: String = self.run(|conn| Ok(texts::table.find(row.n).select(texts::metadata).first(conn)?))?;
            let metadata: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            let from = metadata.get("rating").and_then(serde_json::Value::as_u64).and_then(|n| u8::try_from(n).ok());
            if from != to {
                effects.push(Effect::Rated { node, from, to });
            }
        }
        Ok(effects)
    }

    /// Changes settings of the session, each named as on the wire, in one operation.
    ///
    /// # Errors
    /// The session is not there or somebody else's.
    pub fn settings(
        &mut self,
        actor: &Actor,
        session: SessionId,
        settings: &[(String, serde_json::Value)],
    ) -> Result<i64, WriteError> {
        let mut held = self.session(actor.user, session)?;
        let effects: Vec<Effect> = settings
            .iter()
            .map(|(name, to)| Effect::Setting {
                name: name.clone(),
                from: setting(&held.session, name),
                to: to.clone(),
            })
            .filter(|effect| !matches!(effect, Effect::Setting { from, to, .. } if from == to))
            .collect();
        if effects.is_empty() {
            return Ok(held.session.op);
        }
        let entry = Entry { act: Act::Session, actor: Some(actor.user), at: actor.at, step: None, effects };
        Ok(self.log(&mut held, entry)?)
    }

    /// Keeps what has arrived of running replies.
    ///
    /// # Errors
    /// The database fails.
    pub fn save_segments(&mut self, arrived: &[(NodeId, String, String)]) -> Result<(), WriteError> {
        for (node, content, reasoning) in arrived {
            self.run(|conn| {
                let of_id = nodes::table.filter(nodes::id.eq(node.as_bytes().to_vec())).filter(nodes::status.eq(0));
                let Some(node_n) = of_id.select(nodes::n).first::<i64>(conn).optional()? else { return Ok(()) };
                let last: Option<i64> = segments::table.select(diesel::dsl::max(segments::n)).first(conn)?;
                let row = (
                    segments::n.eq(last.unwrap_or(0) + 1),
                    segments::node_n.eq(node_n),
                    segments::content.eq(content),
                    segments::reasoning.eq(reasoning),
                );
                diesel::insert_into(segments::table).values(row).execute(conn)?;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Replies that are still generating, with what had arrived: those nobody holds after a crash.
    ///
    /// # Errors
    /// The database fails.
    pub fn generating(&mut self) -> Result<Vec<Orphan>, WriteError> {
        let rows: Vec<(i64, Vec<u8>, Vec<u8>, String)> = self.run(|conn| {
            Ok(nodes::table
                .inner_join(sessions::table.on(sessions::n.eq(nodes::session_n)))
                .inner_join(texts::table.on(texts::n.eq(nodes::n)))
                .filter(nodes::status.eq(Status::Generating.code()))
                .select((nodes::n, nodes::id, sessions::id, texts::metadata))
                .load(conn)?)
        })?;
        let mut orphans = Vec::new();
        for (n, id, session, metadata) in rows {
            let parts: Vec<(String, String)> = self.run(|conn| {
                let of_node = segments::table.filter(segments::node_n.eq(n)).order(segments::n);
                Ok(of_node.select((segments::content, segments::reasoning)).load(conn)?)
            })?;
            let (Some(node), Some(session)) = (NodeId::from_slice(&id), SessionId::from_slice(&session)) else {
                return Err(StoreError::Inconsistent { table: "nodes", column: "id", row: n }.into());
            };
            orphans.push(Orphan {
                session,
                node,
                content: parts.iter().map(|(content, _)| content.as_str()).collect(),
                reasoning: parts.iter().map(|(_, reasoning)| reasoning.as_str()).collect(),
                metadata: serde_json::from_str(&metadata).unwrap_or_default(),
            });
        }
        Ok(orphans)
    }

    /// Throws all keyframes away; the answers must stay the same (S0-10).
    ///
    /// # Errors
    /// The database fails.
    pub fn forget_keyframes(&mut self) -> Result<(), WriteError> {
        self.run(|conn| Ok(diesel::delete(super::tables::keyframes::table).execute(conn)?))?;
        self.context.caches.forget_worlds();
        Ok(())
    }
}

/// A reply that nobody holds.
#[derive(Debug, Clone)]
pub struct Orphan {
    /// Its session.
    pub session: SessionId,
    /// The node.
    pub node: NodeId,
    /// What had arrived.
    pub content: String,
    /// The thinking that had arrived.
    pub reasoning: String,
    /// What was known about it.
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// What becomes of a node's overlay; `None` = as it is.
#[derive(Debug, Clone, Copy)]
pub struct StateUpdate {
    /// The node.
    pub node: NodeId,
    /// Whether its text counts.
    pub is_enabled: Option<bool>,
    /// Whether its delta counts.
    pub effects: Option<Effects>,
    /// Stars; `Some(None)` takes them away.
    pub rating: Option<Option<u8>>,
}

/// HEAD must be where the actor saw it, if the actor said.
fn expect_leaf(held: &Held, expected: Option<NodeId>) -> Result<(), Refusal> {
    match expected {
        Some(leaf) if leaf != held.session.head => {
            Err(Refusal::HeadMoved { leaf: held.session.head, op: held.session.op })
        }
        _ => Ok(()),
    }
}

/// A setting of a session as the log records it.
fn setting(session: &Session, name: &str) -> serde_json::Value {
    let json = |text: String| serde_json::from_str(&text).unwrap_or_default();
    match name {
        "title" => session.title.clone().into(),
        "mode" => session.mode.clone().into(),
        "model" => session.model.clone().into(),
        "params" => session.params.clone().into(),
        "plugins" => json(plugins_to_text(&session.plugins)),
        "persona" => {
            session.persona.as_ref().map_or(serde_json::Value::Null, |p: &PersonaRef| json(persona_to_text(p)))
        }
        _ => serde_json::Value::Null,
    }
}

/// Rules handed to a draft.
pub type SharedRules = Arc<super::rules::RulesInForce>;
