//! A store in a temporary folder with a fixed clock and fixed ids, and short methods for tests. The methods use the
//! store's public API; only [`TestStore::execute_sql`] and its callers access the database file directly.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clotho_core::clock::{Clock, IdGenerator, TestClock, Time};
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::{Operation as Entry, OperationKind};
use clotho_core::tree::edit::{HeadRequest, TreeError};
use clotho_core::tree::{
    AllowedScripts, Delta, Kind, RecallSettings, RequestedSettings, Role, Session, Status, SummarySettings, TreeEdit,
};
use clotho_core::world::{Pointer, StateChange, StateOperation, World};
use clotho_store::doctor::{Doctor, RepairableFinding};
use clotho_store::{
    ActiveRules, Actor, MessageReceipt, MessageWrite, NodeDraft, PathFilter, PluginRecord, PublishedOperation,
    ReplyCompletion, Store, StoreError, StoreReader, StoreSettings, StoredNode, StoredSession, Tx, UserAccount,
    WriteError,
};
use diesel::prelude::*;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedReceiver;

/// A store with one user.
pub struct TestStore {
    pub settings: StoreSettings,
    pub ids: IdGenerator,
    pub clock: TestClock,
    pub owner: UserId,
    pub operation_receiver: UnboundedReceiver<PublishedOperation>,
    store: Option<Store>,
    runtime: tokio::runtime::Runtime,
    _folder: TempDir,
}

impl TestStore {
    /// Creates an empty store with a keyframe every 16 nodes.
    pub fn new() -> Self {
        Self::with_settings(|_| {})
    }

    /// Creates an empty store with other settings.
    pub fn with_settings(change: impl FnOnce(&mut StoreSettings)) -> Self {
        let store = Self::without_user(change);
        let user = UserAccount { id: store.owner, name: "Ada".into(), role: "owner".into() };
        let at = store.now();
        store.write(move |tx| tx.put_user(&user, at)).unwrap();
        store
    }

    /// Creates a store without any data, not even a user.
    pub fn without_user(change: impl FnOnce(&mut StoreSettings)) -> Self {
        let folder = TempDir::new().unwrap();
        let mut settings = StoreSettings {
            data_dir: folder.path().join("data"),
            database: None,
            keyframe_every: 16,
            readers: 2,
            group_max: 64,
            max_pages: None,
        };
        change(&mut settings);
        let (store, published) = Store::open(&settings).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (ids, clock) = (IdGenerator::new(7), TestClock::new(Time(1_700_000_000_000)));
        let owner = UserId::new(ids.next_id(clock.now()));
        Self {
            settings,
            ids,
            clock,
            owner,
            operation_receiver: published,
            store: Some(store),
            runtime,
            _folder: folder,
        }
    }

    pub fn store(&self) -> &Store {
        self.store.as_ref().unwrap()
    }

    /// Closes the store and opens it again, as a restart does.
    pub fn reopen(&mut self) {
        self.reopen_with(|_| {});
    }

    pub fn reopen_with(&mut self, change: impl FnOnce(&mut StoreSettings)) {
        self.store = None;
        change(&mut self.settings);
        let (store, published) = Store::open(&self.settings).unwrap();
        (self.store, self.operation_receiver) = (Some(store), published);
    }

    /// Closes the store, so that the database file is not in use.
    pub fn close(&mut self) {
        self.store = None;
    }

    pub fn now(&self) -> Time {
        self.clock.now()
    }

    pub fn next_node_id(&self) -> NodeId {
        NodeId::new(self.ids.next_id(self.now()))
    }

    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub fn write<T, F>(&self, closure: F) -> Result<T, WriteError>
    where
        T: Send + 'static,
        F: FnMut(&mut Tx<'_>) -> Result<T, WriteError> + Send + 'static,
    {
        self.block_on(self.store().write(closure))
    }

    pub fn read<T: Send + 'static>(
        &self,
        closure: impl FnOnce(&mut StoreReader<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        self.block_on(self.store().read(closure)).unwrap()
    }

    /// Returns the id of the writer thread.
    pub fn writer_thread_id(&self) -> std::thread::ThreadId {
        self.write(|_| Ok(std::thread::current().id())).unwrap()
    }

    /// Applies one edit to the arrangement.
    pub fn arrange(&self, session: SessionId, edit: TreeEdit) {
        let actor = self.actor();
        self.write(move |tx| tx.arrange(&actor, session, std::slice::from_ref(&edit))).unwrap();
    }

    /// Returns the published operations that were not read yet.
    pub fn take_published_operations(&mut self) -> Vec<PublishedOperation> {
        std::iter::from_fn(|| self.operation_receiver.try_recv().ok()).collect()
    }

    pub fn database_path(&self) -> PathBuf {
        self.settings.database.clone().unwrap_or_else(|| self.settings.data_dir.join("clotho.db"))
    }

    /// Opens the database file directly, bypassing the store.
    pub fn open_connection(&self) -> SqliteConnection {
        crate::support::open_second_connection(self.database_path())
    }

    pub fn query_count(&self, query: &str) -> i64 {
        query_count(&mut self.open_connection(), query)
    }

    /// Changes the database directly, bypassing the store.
    pub fn execute_sql(&self, statement: &str) {
        diesel::sql_query(statement).execute(&mut self.open_connection()).unwrap();
    }

    /// Fails if the doctor finds anything. Replies may still be in progress.
    pub fn assert_healthy(&self) {
        let found = doctor_findings(&self.database_path(), false);
        assert!(found.is_empty(), "{found:#?}");
    }

    /// Deletes all keyframes on disk and in memory. Reads must return the same afterwards.
    pub fn delete_keyframes(&self) {
        diesel::sql_query("DELETE FROM keyframes").execute(&mut self.open_connection()).unwrap();
        self.store().forget_worlds();
    }

    /// Returns an actor that expects HEAD nowhere in particular.
    pub fn actor(&self) -> Actor {
        Actor { user: self.owner, at: self.now(), expected_leaf: None }
    }

    pub fn draft(&self, role: Role, kind: Kind, content: &str) -> NodeDraft {
        let mut draft = NodeDraft::new(self.next_node_id(), role, kind, self.ids.next_seed(), self.now());
        draft.content = content.into();
        draft
    }

    pub fn user_draft(&self, content: &str) -> NodeDraft {
        self.draft(Role::User, Kind::Message, content)
    }

    pub fn placeholder(&self) -> NodeDraft {
        let mut draft = self.draft(Role::Assistant, Kind::Message, "");
        draft.status = Status::Generating;
        draft
    }

    /// Creates a session of `owner` with its root and greetings; returns their ids.
    pub fn create_session(&self, root_delta: Delta, rules: Option<ActiveRules>, greetings: &[&str]) -> SessionIds {
        let mut root = self.draft(Role::System, Kind::Root, "");
        (root.delta, root.rules) = (root_delta, rules.map(Arc::new));
        let greetings: Vec<NodeDraft> =
            greetings.iter().map(|text| self.draft(Role::Assistant, Kind::Greeting, text)).collect();
        let session = self.unsaved_session(root.id);
        let begun = SessionIds {
            session: session.id,
            root: root.id,
            greetings: greetings.iter().map(|draft| draft.id).collect(),
        };
        let at = self.now();
        self.write(move |tx| tx.begin_session(&session, &root, &greetings, at)).unwrap();
        begun
    }

    /// Returns the data of a session that is not stored yet.
    pub fn unsaved_session(&self, root: NodeId) -> Session {
        let now = self.now();
        Session {
            id: SessionId::new(self.ids.next_id(now)),
            owner: self.owner,
            title: "The keep".into(),
            cards: Vec::new(),
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
            plugins: Vec::new(),
            requested: RequestedSettings::default(),
            folder: None,
            tags: Vec::new(),
            is_pinned: false,
            seed: self.ids.next_seed(),
            edits: 0,
            created: now,
            updated: now,
        }
    }

    /// Appends a message below a node and moves HEAD to it.
    pub fn append(&self, session: SessionId, parent: NodeId, draft: NodeDraft) -> NodeId {
        let id = draft.id;
        self.try_add_message(message_write(session, parent, Some(draft), Vec::new())).unwrap();
        id
    }

    pub fn try_add_message(&self, message: MessageWrite) -> Result<MessageReceipt, WriteError> {
        let actor = self.actor();
        self.write(move |tx| tx.add_message(&actor, &message))
    }

    /// Completes a reply successfully; it takes HEAD if the rules say so.
    pub fn complete_reply(
        &self,
        session: SessionId,
        node: NodeId,
        written: &MessageReceipt,
        content: &str,
        delta: Delta,
    ) -> i64 {
        self.complete_reply_with(session, node, written, reply_completion(content, delta, Some(written.asked)))
    }

    pub fn complete_reply_with(
        &self,
        session: SessionId,
        node: NodeId,
        written: &MessageReceipt,
        ending: ReplyCompletion,
    ) -> i64 {
        let (step, at) = (written.op, self.now());
        self.write(move |tx| tx.complete_reply(session, node, step, at, &ending)).unwrap()
    }

    pub fn checkout(&self, session: SessionId, node: NodeId, exact: bool) -> NodeId {
        let actor = self.actor();
        self.write(move |tx| tx.checkout(&actor, session, node, exact)).unwrap().1
    }

    pub fn stored_session(&self, session: SessionId) -> StoredSession {
        let owner = self.owner;
        self.read(move |reader| reader.session(owner, session)).unwrap()
    }

    pub fn stored_node(&self, session: SessionId, node: NodeId) -> StoredNode {
        let held = self.stored_session(session);
        self.read(move |reader| reader.node(&held, node)).unwrap()
    }

    pub fn head(&self, session: SessionId) -> NodeId {
        self.stored_session(session).session.head
    }

    pub fn world(&self, session: SessionId, node: NodeId) -> World {
        let held = self.stored_session(session);
        self.read(move |reader| {
            let placed = reader.node(&held, node)?.unwrap();
            Ok((*reader.world(&held, &placed)?).clone())
        })
    }

    /// Returns the whole path to a node, root first.
    pub fn path(&self, session: SessionId, leaf: NodeId) -> Vec<NodeId> {
        let held = self.stored_session(session);
        let page = self.read(move |reader| reader.page(&held, leaf, None, 1_000_000, PathFilter::All));
        page.nodes.iter().map(|placed| placed.node.id).collect()
    }

    /// Returns the texts that the chat view shows at a node.
    pub fn visible_texts_at(&self, session: SessionId, leaf: NodeId) -> Vec<String> {
        let held = self.stored_session(session);
        let page = self.read(move |reader| reader.page(&held, leaf, None, 1_000, PathFilter::Enabled));
        page.nodes.into_iter().map(|placed| placed.node.content).collect()
    }

    /// Returns the texts that the chat view shows at HEAD.
    pub fn visible_texts(&self, session: SessionId) -> Vec<String> {
        self.visible_texts_at(session, self.head(session))
    }

    pub fn log(&self, session: SessionId) -> Vec<Entry> {
        let held = self.stored_session(session);
        self.read(move |reader| reader.operations(&held, 0, i64::MAX))
    }
}

/// The result of [`TestStore::create_session`].
#[derive(Debug, Clone)]
pub struct SessionIds {
    pub session: SessionId,
    pub root: NodeId,
    pub greetings: Vec<NodeId>,
}

/// Returns a message with placeholders for its replies; it moves HEAD. Without a draft it is a reroll and leaves HEAD.
pub fn message_write(
    session: SessionId,
    parent: NodeId,
    draft: Option<NodeDraft>,
    replies: Vec<NodeDraft>,
) -> MessageWrite {
    let act = if draft.is_some() { OperationKind::Message } else { OperationKind::Reroll };
    let move_head = draft.is_some();
    MessageWrite { session, parent, rules_change: None, draft, move_children_from: None, replies, move_head, kind: act }
}

pub fn reply_completion(content: &str, delta: Delta, asked: Option<HeadRequest>) -> ReplyCompletion {
    ReplyCompletion {
        status: Status::Complete,
        content: content.into(),
        reasoning: None,
        name: Some("Rin".into()),
        metadata: Box::default(),
        delta,
        trace: None,
        asked,
    }
}

/// Returns a delta of operations.
pub fn delta(operations: impl IntoIterator<Item = StateOperation>) -> Delta {
    Delta { operations: operations.into_iter().collect(), ..Delta::default() }
}

pub fn add_operation(path: &str, number: i64) -> StateOperation {
    StateOperation::new(pointer(path), StateChange::Add(number.into()), "", "test")
}

pub fn set_operation(path: &str, value: Value) -> StateOperation {
    StateOperation::new(pointer(path), StateChange::Set(value), "", "test")
}

pub fn pointer(path: &str) -> Pointer {
    path.parse().unwrap()
}

/// Returns the rules of one plugin that keeps `/<id>/hp` between 0 and `most`.
pub fn hp_rules(id: &str, most: i64) -> ActiveRules {
    let schema = json!({
        "type": "object",
        "properties": {"hp": {"type": "integer", "minimum": 0, "maximum": most, "default": most}},
    });
    let plugin = PluginRecord {
        id: id.into(),
        version: "1.0.0".into(),
        code_hash: format!("{id}-{most}"),
        config: Map::new(),
        grants: vec!["dice".into()],
        root: Some(Pointer::from_keys([id])),
        schema: Some(schema),
        state_version: 1,
    };
    ActiveRules::new(vec![plugin]).unwrap()
}

/// Returns everything that the doctor finds in a database file. With `is_alone` it also fails if a reply is still being
/// written: no server runs, and none was cut off in a reply.
pub fn doctor_findings(database: &Path, is_alone: bool) -> Vec<RepairableFinding> {
    let mut doctor = Doctor::open(database).unwrap();
    assert!(!is_alone || doctor.count_generating().unwrap() == 0, "a reply is still being written");
    let mut found = doctor.check_file().unwrap();
    for session in doctor.sessions().unwrap() {
        found.extend(doctor.check_session(session).unwrap());
    }
    found.extend(doctor.check_contents().unwrap());
    found
}

#[derive(QueryableByName)]
struct CountRow {
    #[diesel(sql_type = diesel::sql_types::BigInt)]
    n: i64,
}

/// Returns the number in column `n` of a query.
pub fn query_count(conn: &mut SqliteConnection, query: &str) -> i64 {
    diesel::sql_query(query).get_result::<CountRow>(conn).unwrap().n
}

/// Returns the refusal of a write that must be refused.
pub fn expect_refusal<T: std::fmt::Debug>(result: Result<T, WriteError>) -> TreeError {
    match result {
        Err(WriteError::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// Returns the map of a JSON object.
pub fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}
