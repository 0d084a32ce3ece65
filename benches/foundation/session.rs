//! A session to measure, made through the store's own functions.

use std::path::Path;
use std::sync::Arc;

use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::OperationKind;
use clotho_core::tree::{
    AllowedScripts, Delta, Kind, RecallSettings, RequestedSettings, Role, Session, Status, SummarySettings,
};
use clotho_core::world::{Pointer, StateChange, StateOperation};
use clotho_store::{
    ActiveRules, Actor, MessageWrite, NodeDraft, PluginRecord, ReplyCompletion, Store, StoreSettings, Tx, UserAccount,
    WriteError,
};
use serde_json::{Map, json};

pub const TEXT: usize = 1_024;

pub struct Bench {
    pub store: Arc<Store>,
    pub ids: Arc<IdGenerator>,
    pub user: UserId,
    pub runtime: tokio::runtime::Runtime,
}

pub fn open(folder: &Path) -> Bench {
    let settings = StoreSettings {
        data_dir: folder.to_owned(),
        database: None,
        keyframe_every: 16,
        readers: 2,
        group_max: 64,
        max_pages: None,
    };
    let (store, mut published) = Store::open(&settings).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.spawn(async move { while published.recv().await.is_some() {} });
    let ids = Arc::new(IdGenerator::new(1));
    let user = UserId::new(ids.next_id(Time(1)));
    let owner = UserAccount { id: user, name: "bench".into(), role: "owner".into() };
    runtime.block_on(store.write(move |tx| tx.put_user(&owner, Time(1)))).unwrap();
    Bench { store: Arc::new(store), ids, user, runtime }
}

impl Bench {
    /// Creates a session with `vars` variables under a schema.
    pub fn create_session(&self, vars: usize) -> (SessionId, NodeId) {
        // The root, with the variables and the rules of a plugin that owns them.
        let id = SessionId::new(self.ids.next_id(Time(1)));
        let root = NodeId::new(self.ids.next_id(Time(1)));
        let mut draft = NodeDraft::new(root, Role::System, Kind::Root, 1, Time(1));
        let state: Map<_, _> = (0..vars).map(|i| (format!("variable_{i}"), json!(i))).collect();
        let at = Pointer::from_keys(["combat"]);
        draft.delta.operations.push(StateOperation::new(at.clone(), StateChange::Set(state.into()), "", "bench"));
        let schema = json!({"type": "object", "properties": {"hp": {"type": "integer", "minimum": 0}}});
        let plugin = PluginRecord {
            id: "combat".into(),
            version: "1.0.0".into(),
            code_hash: "0".into(),
            config: Map::new(),
            grants: vec![],
            root: Some(at),
            schema: Some(schema),
            state_version: 1,
        };
        draft.rules = Some(Arc::new(ActiveRules::new(vec![plugin]).unwrap()));
        // The session.
        let session = Session {
            id,
            owner: self.user,
            title: "bench".into(),
            cards: vec![],
            persona: None,
            root,
            head: root,
            op: 0,
            head_op: 0,
            mode: "tree".into(),
            model: None,
            params: Map::new(),
            preset: None,
            scripts: AllowedScripts::default(),
            recall: RecallSettings::default(),
            note: None,
            summaries: SummarySettings::default(),
            values_model: None,
            profile: None,
            plugins: vec![],
            requested: RequestedSettings::default(),
            folder: None,
            tags: Vec::new(),
            is_pinned: false,
            seed: 7,
            edits: 0,
            created: Time(1),
            updated: Time(1),
        };
        let write = move |tx: &mut Tx<'_>| tx.begin_session(&session, &draft, &[], Time(1));
        self.runtime.block_on(self.store.write(write)).unwrap();
        (id, root)
    }

    /// Makes the two commits of a turn: the user's node with a placeholder, then the reply with a small delta.
    pub async fn write_turn(&self, session: SessionId, parent: NodeId) -> NodeId {
        let (message, reply) = self.build_message(session, parent);
        let actor = Actor { user: self.user, at: Time(2), expected_leaf: None };
        let written = self.store.write(move |tx| tx.add_message(&actor, &message)).await.unwrap();
        let ending = reply_completion(Some(written.asked));
        self.store.write(move |tx| tx.complete_reply(session, reply, written.op, Time(3), &ending)).await.unwrap();
        reply
    }

    /// Appends one message below a parent in one commit; HEAD follows.
    pub async fn append(&self, session: SessionId, parent: NodeId) -> NodeId {
        let (mut message, _) = self.build_message(session, parent);
        message.replies.clear();
        if let Some(draft) = &mut message.draft {
            draft.delta = delta();
        }
        let id = message.draft.as_ref().map_or(parent, |draft| draft.id);
        let actor = Actor { user: self.user, at: Time(2), expected_leaf: None };
        self.store.write(move |tx| tx.add_message(&actor, &message)).await.unwrap();
        id
    }

    fn build_message(&self, session: SessionId, parent: NodeId) -> (MessageWrite, NodeId) {
        let mut draft = NodeDraft::new(NodeId::new(self.ids.next_id(Time(2))), Role::User, Kind::Message, 2, Time(2));
        draft.content = "y".repeat(TEXT);
        let mut reply =
            NodeDraft::new(NodeId::new(self.ids.next_id(Time(2))), Role::Assistant, Kind::Message, 3, Time(2));
        reply.status = Status::Generating;
        let id = reply.id;
        let message = MessageWrite {
            session,
            parent,
            rules_change: None,
            draft: Some(draft),
            move_children_from: None,
            replies: vec![reply],
            move_head: true,
            kind: OperationKind::Message,
        };
        (message, id)
    }

    /// Appends `count` complete nodes below `parent`, hundreds in one commit, to make a deep session fast.
    pub fn append_nodes(&self, session: SessionId, parent: NodeId, count: usize) -> NodeId {
        let mut leaf = parent;
        let mut left = count;
        while left > 0 {
            let some = left.min(500);
            let drafts: Vec<NodeDraft> = (0..some).map(|i| self.message_draft(i)).collect();
            let last = drafts.last().map_or(leaf, |draft| draft.id);
            let (user, from) = (self.user, leaf);
            let write = move |tx: &mut Tx<'_>| append_all(tx, user, session, from, &drafts);
            self.runtime.block_on(self.store.write(write)).unwrap();
            (leaf, left) = (last, left - some);
        }
        leaf
    }

    fn message_draft(&self, i: usize) -> NodeDraft {
        let role = if i.is_multiple_of(2) { Role::User } else { Role::Assistant };
        let mut draft = NodeDraft::new(NodeId::new(self.ids.next_id(Time(2))), role, Kind::Message, 2, Time(2));
        draft.content = format!("{i} {}", "The lamp burns low. ".repeat(TEXT / 20)).chars().take(TEXT).collect();
        draft.delta = delta();
        draft
    }
}

fn append_all(
    tx: &mut Tx<'_>,
    user: UserId,
    session: SessionId,
    from: NodeId,
    drafts: &[NodeDraft],
) -> Result<(), WriteError> {
    let mut parent = from;
    for draft in drafts {
        let actor = Actor { user, at: Time(2), expected_leaf: None };
        let message = MessageWrite {
            session,
            parent,
            rules_change: None,
            draft: Some(draft.clone()),
            move_children_from: None,
            replies: vec![],
            move_head: true,
            kind: OperationKind::Message,
        };
        tx.add_message(&actor, &message)?;
        parent = draft.id;
    }
    Ok(())
}

pub fn delta() -> Delta {
    let path = Pointer::from_keys(["combat", "variable_1"]);
    let add = StateChange::Add(serde_json::Number::from(-1));
    Delta { operations: vec![StateOperation::new(path, add, "took 1 damage", "combat")], ..Delta::default() }
}

pub fn reply_completion(asked: Option<clotho_core::tree::edit::HeadRequest>) -> ReplyCompletion {
    ReplyCompletion {
        status: Status::Complete,
        content: "x".repeat(TEXT),
        reasoning: None,
        name: Some("Rin".into()),
        metadata: Box::default(),
        delta: delta(),
        trace: None,
        asked,
    }
}
