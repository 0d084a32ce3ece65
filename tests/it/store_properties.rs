//! Random acts against a reference model: after each one the database matches the log. Every world equals the plain
//! fold from the root, whatever keyframes exist.

mod steps;

use std::collections::BTreeMap;

use clotho_core::ids::{FragmentId, NodeId};
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::merge::{ConflictResolution, conflicts};
use clotho_core::tree::reference_tree::{ReferenceNode, ReferenceTree};
use clotho_core::tree::{Delta, EditTarget, Effects, Kind, Role, Status, TreeEdit};
use clotho_core::world::{Pointer, StateChange, StateOperation};
use clotho_store::{ActiveRules, MessageWrite, NodeDraft, NodeStateUpdate, ReplyCompletion, WriteError};
use diesel::prelude::*;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use crate::support::session_model::{NodeFacts, SessionModel};
use crate::support::test_store::{TestStore, add, delta, ending, rules, set};
use steps::undoable;
pub use steps::{Step, step};

/// A store with one session and its model, and what running replies need later.
pub struct ModelTest {
    pub store: TestStore,
    pub model: SessionModel,
    asked: Vec<(NodeId, i64, clotho_core::tree::edit::HeadRequest)>,
}

impl ModelTest {
    pub fn begin(keyframe_every: u16) -> Self {
        let store = TestStore::with(|settings| settings.keyframe_every = keyframe_every);
        // Other sessions before and beside it, so that row numbers and ids differ.
        store.begin(Delta::default(), None, &["Elsewhere."]);
        let operations = vec![set("/combat/hp", json!(40))];
        let begun = store.begin(delta(operations.clone()), Some(rules("combat", 100)), &["Hello.", "Hi."]);
        let mut model = SessionModel::new(begun.session);
        let rules = Some(rules("combat", 100).rules);
        let root = NodeFacts { operations, ..fact(Role::System, Kind::Root, Vec::new(), rules) };
        model.add(begun.root, root);
        for greeting in begun.greetings {
            model.add(greeting, fact(Role::Assistant, Kind::Greeting, Vec::new(), None));
        }
        model.follow(&store);
        Self { store, model, asked: Vec::new() }
    }

    fn pick(&self, index: &Index) -> NodeId {
        *index.get(&self.model.settled())
    }

    fn stashed(&self, index: &Index) -> Option<EditTarget> {
        let stash: Vec<_> = self.model.mirror.fragments().keys().copied().collect();
        (!stash.is_empty()).then(|| EditTarget::Fragment(*index.get(&stash)))
    }

    pub fn act(&mut self, step: &Step) {
        // Edits of the arrangement follow in `rearrange`.
        match step {
            Step::Say { parent, replies, move_head, operations, bridge } => {
                let parent = parent.as_ref().map_or(self.model.head(), |index| self.pick(index));
                let draft = self.message(Role::User, operations);
                self.write(parent, bridge, Some(draft), None, *replies, *move_head);
            }
            Step::Roll { context, replies, move_head } => {
                self.write(self.pick(context), &None, None, None, *replies, *move_head);
            }
            Step::Edit { node, carry, move_head, operations, bridge } => {
                self.edit(node, *carry, *move_head, operations, bridge)
            }
            Step::End { running, fails, wants_head, operations } => self.end(running, *fails, *wants_head, operations),
            Step::Checkout { node, exact } => _ = self.store.checkout(self.model.session, self.pick(node), *exact),
            Step::Change { parent, operations, rules } => self.change(self.pick(parent), operations, *rules),
            Step::State { node, other, is_enabled, is_muted, rating } => {
                let update = |node, rating| NodeStateUpdate {
                    node,
                    is_enabled: *is_enabled,
                    effects: is_muted.map(|muted| if muted { Effects::Muted } else { Effects::On }),
                    rating: Some(rating),
                    is_unread: is_enabled.map(|on| !on),
                };
                let updates = [update(self.pick(node), *rating), update(self.pick(other), None)];
                let (actor, session) = (self.store.actor(), self.model.session);
                let root = self.model.order[0];
                let result = self.store.write(move |tx| tx.set_state(&actor, session, &updates));
                let names_root = updates.iter().any(|update| update.node == root);
                assert_eq!(result.is_err(), names_root, "{result:?}");
            }
            Step::Retitle(n) => {
                let (actor, session, title) = (self.store.actor(), self.model.session, json!(format!("Title {n}")));
                let settings = [("title".to_owned(), title)];
                self.store.write(move |tx| tx.set_settings(&actor, session, &settings)).unwrap();
            }
            Step::Undo => _ = self.turn_back(true),
            Step::Redo => _ = self.turn_back(false),
            Step::Botch { operations, rules, mutes } => self.botch(operations, *rules, self.pick(mutes)),
            Step::Look => self.model.reads_hold(&self.store),
            Step::ForgetWorlds => self.store.store().forget_worlds(),
            Step::ForgetKeyframes => self.store.forget_keyframes(),
            Step::Damage(seed) => self.damage(*seed),
            Step::Reopen => self.store.reopen(),
            edit => self.rearrange(edit),
        }
    }

    fn rearrange(&mut self, step: &Step) {
        // Only acts that are edits; `act` handles all others.
        match step {
            Step::Prune(node) => self.arrange(self.prune(self.pick(node))),
            Step::Graft { node, target } => {
                let (node, target) = (self.pick(node), self.pick(target));
                self.arrange(TreeEdit::Graft { source: EditTarget::Node(node), target: Some(target) });
            }
            Step::Return { fragment, target } => {
                if let Some(piece) = self.stashed(fragment) {
                    let target = target.as_ref().map(|target| self.pick(target));
                    self.arrange(TreeEdit::Graft { source: piece, target });
                }
            }
            Step::Purge(node) => self.purge(EditTarget::Node(self.pick(node))),
            Step::PurgeStashed(fragment) => _ = self.stashed(fragment).map(|piece| self.purge(piece)),
            Step::PurgeTakenBack(node) => {
                let taken_back = self.model.taken_back();
                if !taken_back.is_empty() {
                    self.purge(EditTarget::Node(*node.get(&taken_back)));
                }
            }
            Step::Copy { node, target } => self.copy(EditTarget::Node(self.pick(node)), self.pick(target)),
            Step::CopyStashed { fragment, target } => {
                let target = self.pick(target);
                _ = self.stashed(fragment).map(|piece| self.copy(piece, target));
            }
            Step::Summarise { leaf, length } => {
                let mut nodes: Vec<NodeId> =
                    self.model.mirror.path(self.pick(leaf)).into_iter().skip(1).rev().take(*length).collect();
                nodes.sort_unstable();
                if !nodes.is_empty() {
                    self.arrange(TreeEdit::Summarise {
                        nodes,
                        content: "In short.".into(),
                        seed: self.store.ids.next_seed(),
                    });
                }
            }
            Step::Merge { from, onto, run } => {
                let onto = onto.as_ref().map_or(self.model.head(), |index| self.pick(index));
                self.merge(self.pick(from), onto, *run);
            }
            Step::Label { node, name, following } => {
                let (node, name) = (self.pick(node), format!("name {name}"));
                self.arrange(TreeEdit::Label { node, name, following: *following });
            }
            Step::Unlabel(name) => self.arrange(TreeEdit::Unlabel { name: format!("name {name}") }),
            other => panic!("{other:?} rearranges nothing"),
        }
    }

    fn prune(&self, node: NodeId) -> TreeEdit {
        let fragment = FragmentId::new(self.store.node_id().uuid());
        TreeEdit::Prune { node, fragment, name: Some(format!("cut {node}")) }
    }

    fn purge(&mut self, piece: EditTarget) {
        self.arrange(TreeEdit::Purge { source: piece, is_confirmed: true });
    }

    /// Makes an edit. Asserts that a refusal follows the rules.
    fn arrange(&mut self, edit: TreeEdit) {
        // Make the edit.
        let (actor, session, edits) = (self.store.actor(), self.model.session, [edit.clone()]);
        let error = match self.store.write(move |tx| tx.arrange(&actor, session, &edits)) {
            Ok(arranged) => return self.came(arranged.op, &edit),
            Err(error) => error,
        };
        // A refusal must fit the edit and the model.
        let WriteError::Refused(TreeError::InEdit { index: 0, refusal }) = error else { panic!("{error:?}") };
        let path = |node| self.model.mirror.path(node);
        let is_root = |node| path(node).len() == 1;
        let holds_running = |node| self.model.running().iter().any(|id| path(*id).contains(&node));
        let is_right = match (&edit, &*refusal) {
            (
                TreeEdit::Prune { node, .. }
                | TreeEdit::Graft { source: EditTarget::Node(node), .. }
                | TreeEdit::Purge { source: EditTarget::Node(node), .. },
                refusal,
            ) => match refusal {
                TreeError::Generating => holds_running(*node),
                TreeError::Conflict(_) => is_root(*node),
                TreeError::Cycle => {
                    matches!(&edit, TreeEdit::Graft { target: Some(target), .. } if path(*target).contains(node))
                }
                _ => false,
            },
            (TreeEdit::Copy { source: EditTarget::Node(node), target, .. }, refusal) => match refusal {
                TreeError::Generating => holds_running(*node),
                TreeError::Conflict(_) => is_root(*node),
                TreeError::Cycle => path(*target).contains(node),
                _ => false,
            },
            (TreeEdit::Summarise { nodes, .. }, TreeError::Generating) => nodes.iter().any(|node| holds_running(*node)),
            (TreeEdit::Summarise { nodes, .. }, TreeError::Invalid { field: "nodeIds", .. }) => {
                nodes.iter().all(|node| self.model.facts[node].kind == Kind::Change)
            }
            (TreeEdit::Merge { from, onto, nodes, .. }, TreeError::NothingToMerge) => {
                nodes.is_empty() && self.brought(*from, *onto, &[]).0.is_empty()
            }
            (TreeEdit::Graft { source: EditTarget::Fragment(id), target: None }, TreeError::Conflict(_)) => {
                let (top, _) = self.model.mirror.fragments()[id];
                !self.model.stands(self.model.mirror.nodes()[&top].parent.unwrap())
            }
            (TreeEdit::Label { node, name, .. }, TreeError::NameTaken { node: other, .. }) => {
                self.model.mirror.labels()[name].node == *other && other != node
            }
            (TreeEdit::Unlabel { name }, TreeError::ReferenceNotFound { .. }) => {
                !self.model.mirror.labels().contains_key(name)
            }
            _ => false,
        };
        assert!(is_right, "{edit:?}: {refusal:?}");
    }

    fn copy(&mut self, piece: EditTarget, target: NodeId) {
        self.arrange(TreeEdit::Copy {
            source: piece,
            target,
            from: None,
            source_fragment: None,
            seed: self.store.ids.next_seed(),
        });
    }

    /// Merges a whole branch, or its last messages.
    fn merge(&mut self, from: NodeId, onto: NodeId, run: usize) {
        let nodes: Vec<NodeId> = self.parted(from, onto).0.iter().rev().take(run).rev().copied().collect();
        let (come, own) = self.brought(from, onto, &nodes);
        let come: Vec<StateOperation> = come.into_iter().flat_map(|(_, _, done)| done).collect();
        let resolve =
            conflicts(&come, &own).iter().map(|conflict| (conflict.name(), ConflictResolution::Theirs)).collect();
        self.arrange(TreeEdit::Merge { from, onto, nodes, resolve, seed: self.store.ids.next_seed() });
    }

    /// Returns the nodes of two branches after their fork.
    fn parted(&self, from: NodeId, onto: NodeId) -> (Vec<NodeId>, Vec<NodeId>) {
        let (theirs, ours) = (self.model.mirror.path(from), self.model.mirror.path(onto));
        let shared = theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count();
        (theirs[shared..].to_vec(), ours[shared..].to_vec())
    }

    /// Returns the parts that a merge brings, and the operations that only the other branch has. An empty `run` means
    /// the whole branch. This is the merge rule spelled out, operation against operation.
    fn brought(&self, from: NodeId, onto: NodeId, run: &[NodeId]) -> (Vec<MergePart>, Vec<StateOperation>) {
        let (theirs, ours) = self.parted(from, onto);
        let (theirs, ours) = (self.counting(&theirs), self.counting(&ours));
        let has = |line: &[MergePart], of: &NodeId| line.iter().any(|(_, whose, _)| whose == of);
        let all: Vec<(usize, &StateOperation)> =
            theirs.iter().enumerate().flat_map(|(at, (.., done))| done.iter().map(move |one| (at, one))).collect();
        let is_here = |at: usize| has(&ours, &theirs[at].1);
        let mut comes = vec![false; all.len()];
        for (n, (at, done)) in all.iter().enumerate() {
            let is_chosen = run.is_empty() || run.contains(&theirs[*at].0);
            let place = places(done);
            let is_overruled =
                place.iter().all(|one| all[n + 1..].iter().any(|(at, later)| is_here(*at) && wipes(later, one)));
            let is_wiped = |one: &Pointer| (0..n).any(|m| comes[m] && wipes(all[m].1, one));
            comes[n] = is_chosen && if is_here(*at) { place.iter().any(is_wiped) } else { !is_overruled };
        }
        let mut come = Vec::new();
        for (at, (node, of, _)) in theirs.iter().enumerate() {
            let done = all.iter().zip(&comes).filter(|((part, _), comes)| *part == at && **comes);
            let done: Vec<StateOperation> = done.map(|((_, done), _)| (*done).clone()).collect();
            let is_named = if run.is_empty() { !is_here(at) } else { run.contains(node) };
            if is_named || !done.is_empty() {
                come.push((*node, *of, done));
            }
        }
        let own = ours.iter().filter(|(_, of, _)| !has(&theirs, of)).flat_map(|(.., done)| done.clone()).collect();
        (come, own)
    }

    /// Returns the operations of those nodes that are not muted.
    fn counting(&self, nodes: &[NodeId]) -> Vec<MergePart> {
        let counting = nodes.iter().filter(|node| !self.model.mirror.nodes()[*node].is_muted);
        let mut held = Vec::new();
        for node in counting {
            held.extend(self.model.parts(*node).into_iter().map(|(of, done)| (*node, of, done)));
        }
        held
    }

    /// Adds the result of an edit to the model: a copy equals its original.
    fn came(&mut self, op: i64, edit: &TreeEdit) {
        if op <= self.model.op {
            return;
        }
        let held = self.store.held(self.model.session);
        let log = self.store.read(move |reader| reader.operations(&held, op - 1, 1));
        let made: Vec<NodeId> = log[0].effects.iter().filter_map(added).collect();
        let originals: BTreeMap<NodeId, NodeId> =
            made.iter().filter_map(|copy| Some((self.original(*copy)?, *copy))).collect();
        for node in made {
            let mut fact = match (edit, self.original(node)) {
                (TreeEdit::Merge { from, onto, .. }, None) => {
                    let come = self.brought(*from, *onto, &[]).0;
                    recorded(fact(Role::System, Kind::Merge, Vec::new(), None), come.iter())
                }
                (TreeEdit::Merge { from, onto, nodes, .. }, Some(original)) => {
                    let come = self.brought(*from, *onto, nodes).0;
                    let fact = self.model.facts[&original].clone();
                    if self.model.mirror.nodes()[&original].is_muted {
                        let parts = self.model.parts(original).into_iter().map(|(of, done)| (original, of, done));
                        recorded(fact, parts.collect::<Vec<_>>().iter())
                    } else {
                        recorded(fact, come.iter().filter(|(host, ..)| *host == original))
                    }
                }
                (_, Some(original)) => self.model.facts[&original].clone(),
                (_, None) => fact(Role::System, Kind::Summary, Vec::new(), None),
            };
            if !matches!(edit, TreeEdit::Merge { .. }) {
                let name = |(id, _): &mut (NodeId, usize)| *id = *originals.get(id).unwrap_or(id);
                fact.record.iter_mut().for_each(name);
            }
            self.model.add(node, fact);
        }
    }

    /// Returns the node of which a node is a copy.
    fn original(&self, node: NodeId) -> Option<NodeId> {
        let held = self.store.held(self.model.session);
        let metadata = self.store.read(move |reader| Ok(reader.node(&held, node)?.unwrap().node.metadata));
        metadata.provenance.map(|from| from.node_id.unwrap())
    }

    /// Undoes or redoes one step. Returns `false` if there is none, or a reply of it still runs.
    fn turn_back(&mut self, undo: bool) -> bool {
        let (actor, session) = (self.store.actor(), self.model.session);
        let turned = self.store.write(move |tx| if undo { tx.undo(&actor, session) } else { tx.redo(&actor, session) });
        match turned {
            Ok(_) => true,
            Err(WriteError::Refused(TreeError::NothingToRevert(_) | TreeError::NothingSincePurge(_))) => false,
            Err(WriteError::Refused(TreeError::Generating)) if !self.model.running().is_empty() => false,
            // A redo is refused if the place of a text no longer exists.
            Err(WriteError::Refused(TreeError::BlockedByLater { .. })) if !undo => false,
            Err(other) => panic!("{other:?}"),
        }
    }

    fn message(&self, role: Role, operations: &[StateOperation]) -> NodeDraft {
        let mut draft = self.store.draft(role, Kind::Message, "said");
        draft.delta = delta(operations.to_vec());
        draft
    }

    fn bridge(&self, most: i64) -> NodeDraft {
        let mut bridge = self.store.draft(Role::System, Kind::Change, "");
        bridge.rules = Some(rules("combat", most).into());
        bridge.delta = delta([add("/combat/hp", 5)]);
        bridge
    }

    /// Writes a message and adds it to the model. Only an edit that carries a running reply may be refused.
    fn write(
        &mut self,
        parent: NodeId,
        bridge: &Option<i64>,
        draft: Option<NodeDraft>,
        carry_from: Option<NodeId>,
        replies: usize,
        move_head: bool,
    ) {
        // The message with its rules change and placeholders.
        let act = if carry_from.is_some() { OperationKind::Edit } else { OperationKind::Message };
        let bridge = bridge.map(|most| self.bridge(most));
        let replies: Vec<NodeDraft> = (0..replies).map(|_| self.store.placeholder()).collect();
        let session = self.model.session;
        let message = MessageWrite {
            session,
            parent,
            rules_change: bridge,
            draft,
            move_children_from: carry_from,
            replies,
            move_head,
            kind: act,
        };
        // Write it, or check that the refusal is right.
        let head = self.model.head();
        let goes_along = carry_from.is_some_and(|old| head != old && self.model.mirror.path(head).contains(&old));
        let written = match self.store.try_message(message.clone()) {
            Ok(written) => written,
            Err(WriteError::Refused(TreeError::Generating)) => {
                let old = carry_from.unwrap();
                let above_running = |id: &NodeId| self.model.mirror.path(*id).contains(&old);
                assert!(self.model.running().iter().any(above_running), "refused without need");
                return;
            }
            Err(other) => panic!("{other:?}"),
        };
        // HEAD is at the expected node.
        let mut line = message.rules_change.iter().chain(&message.draft).map(|draft| draft.id);
        let expected = if move_head && !goes_along { line.next_back().unwrap_or(parent) } else { head };
        assert_eq!(written.head, expected, "HEAD went elsewhere");
        // Add everything to the model.
        for draft in message.rules_change.iter().chain(&message.draft) {
            let own = draft.rules.as_ref().map(|rules| ActiveRules::clone(rules).rules);
            self.model.add(draft.id, fact(draft.role, draft.kind, draft.delta.operations.clone(), own));
        }
        for reply in &message.replies {
            let placeholder = fact(Role::Assistant, Kind::Message, Vec::new(), None);
            self.model.add(reply.id, NodeFacts { status: Status::Generating, ..placeholder });
            self.asked.push((reply.id, written.op, written.asked));
        }
    }

    fn edit(
        &mut self,
        node: &Index,
        carry: bool,
        move_head: bool,
        operations: &[StateOperation],
        bridge: &Option<i64>,
    ) {
        let old = self.pick(node);
        let Some(parent) = self.model.mirror.nodes()[&old].parent else { return };
        let draft = self.message(self.model.facts[&old].role, operations);
        self.write(parent, bridge, Some(draft), carry.then_some(old), 0, move_head);
    }

    fn end(&mut self, running: &Index, fails: bool, wants_head: bool, operations: &[StateOperation]) {
        if self.asked.is_empty() {
            return;
        }
        let (node, step, asked) = self.asked.remove(running.index(self.asked.len()));
        let operations = if fails { Vec::new() } else { operations.to_vec() };
        let status = if fails { Status::Error } else { Status::Complete };
        let asked = wants_head.then_some(asked);
        let ending = ReplyCompletion { status, ..ending("replied", delta(operations.clone()), asked) };
        let (session, at) = (self.model.session, self.store.now());
        self.store.write(move |tx| tx.complete_reply(session, node, step, at, &ending)).unwrap();
        let fact = self.model.facts.get_mut(&node).unwrap();
        (fact.status, fact.operations) = (status, operations);
    }

    fn change(&mut self, parent: NodeId, operations: &[StateOperation], most: Option<i64>) {
        let mut draft = self.store.draft(Role::System, Kind::Change, "");
        draft.delta = delta(operations.to_vec());
        draft.rules = most.map(|most| rules("combat", most).into());
        let (actor, session, id) = (self.store.actor(), self.model.session, draft.id);
        self.store.write(move |tx| tx.append_change(&actor, session, parent, &draft, OperationKind::Change)).unwrap();
        let own = most.map(|most| rules("combat", most).rules);
        self.model.add(id, fact(Role::System, Kind::Change, operations.to_vec(), own));
    }

    fn botch(&mut self, operations: &[StateOperation], most: i64, mutes: NodeId) {
        let (session, head, actor) = (self.model.session, self.model.head(), self.store.actor());
        let bridge = Some(self.bridge(most));
        let draft = Some(self.message(Role::User, operations));
        let below = self.message(Role::User, operations);
        let parent = draft.as_ref().unwrap().id;
        let (replies, act) = (Vec::new(), OperationKind::Message);
        let first = MessageWrite {
            session,
            parent: head,
            rules_change: bridge,
            draft,
            move_children_from: None,
            replies,
            move_head: true,
            kind: act,
        };
        let second = MessageWrite { parent, rules_change: None, draft: Some(below), ..first.clone() };
        let muted = NodeStateUpdate {
            node: mutes,
            is_enabled: None,
            effects: Some(Effects::Muted),
            rating: None,
            is_unread: None,
        };
        let result = self.store.write(move |tx| {
            tx.add_message(&actor, &first)?;
            // The root cannot be muted. A transaction may continue after a refusal, which writes nothing.
            let _ = tx.set_state(&actor, session, &[muted]);
            tx.add_message(&actor, &second)?;
            tx.put_blob(b"lost")?;
            Err::<(), _>(TreeError::Conflict("changed my mind".into()).into())
        });
        assert!(matches!(result, Err(WriteError::Refused(TreeError::Conflict(_)))), "{result:?}");
    }

    fn damage(&self, seed: u8) {
        let mut conn = self.store.sql();
        let query = format!("UPDATE keyframes SET body = substr(body, 1, 9) || X'{seed:02X}00FF' WHERE node_n % 2 = 0");
        diesel::sql_query(query).execute(&mut conn).unwrap();
        self.store.store().forget_worlds();
    }
}

/// A part of a merge: the node that holds it, the node that made the changes, and the operations.
type MergePart = (NodeId, NodeId, Vec<StateOperation>);

/// Returns the places that an operation changes.
fn places(operation: &StateOperation) -> Vec<Pointer> {
    match &operation.change {
        StateChange::Insert { key, .. } => vec![operation.path.child(key)],
        StateChange::Move { from } => vec![operation.path.clone(), from.clone()],
        _ => vec![operation.path.clone()],
    }
}

/// Returns whether an operation replaces or removes the previous value at a place.
fn wipes(operation: &StateOperation, place: &Pointer) -> bool {
    let is_adding = matches!(operation.change, StateChange::Add(_) | StateChange::Append(_) | StateChange::Take(_));
    !is_adding && places(operation).iter().any(|wiped| place.below(wiped).is_some())
}

/// Returns the fact of a node that a merge made of some parts.
fn recorded<'a>(fact: NodeFacts, parts: impl Iterator<Item = &'a MergePart>) -> NodeFacts {
    let (mut operations, mut record) = (Vec::new(), Vec::new());
    for (_, of, done) in parts {
        record.push((*of, done.len()));
        operations.extend(done.iter().cloned());
    }
    NodeFacts { operations, record, ..fact }
}

fn added(effect: &Effect) -> Option<NodeId> {
    if let Effect::Added { node, .. } = effect { Some(*node) } else { None }
}

fn fact(
    role: Role,
    kind: Kind,
    operations: Vec<StateOperation>,
    rules: Option<clotho_core::world::SchemaSet>,
) -> NodeFacts {
    NodeFacts { role, kind, status: Status::Complete, operations, rules, record: Vec::new() }
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 400, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(40))]

    /// S0-10, S0-15, S0-25, S1-26, S1-31, S2-05, S2-07, S2-12, S2-17, S3-04, S3-06, S3-15, S3-26, C3, C5, C8, C10:
    /// after every random act the rows match the log, and every world is the plain fold. This holds with a keyframe at
    /// every node, at few or at hardly any, deleted or damaged, cached or not. It also holds after carry, mute and
    /// refused requests.
    #[test]
    fn random_acts_match_reference_model(
        keyframe_every in prop::sample::select(vec![1_u16, 3, 10, 50]),
        steps in prop::collection::vec(step(), 1..50),
    ) {
        let mut play = ModelTest::begin(keyframe_every);
        for step in &steps {
            play.act(step);
            play.model.follow(&play.store);
        }
        play.model.reads_hold(&play.store);
        play.store.store().forget_worlds();
        play.model.reads_hold(&play.store);
        play.store.forget_keyframes();
        play.model.reads_hold(&play.store);
        play.store.reopen();
        play.model.reads_hold(&play.store);
        play.store.is_well();
    }
}

/// Returns the mirror, and the tree as users see it: without operation numbers and remembered children.
fn face(play: &ModelTest) -> (ReferenceTree, String) {
    let held = play.store.held(play.model.session);
    let mirror = play.model.mirror.clone();
    let bare = |place: &ReferenceNode| ReferenceNode { remembered: None, ..place.clone() };
    let standing = mirror.nodes().iter().filter(|(_, place)| !(place.is_hidden && place.fragment.is_none()));
    let nodes: Vec<_> = standing.map(|(id, place)| (*id, bare(place))).collect();
    let told = (nodes, mirror.fragments().clone(), mirror.labels().clone());
    (mirror, format!("{told:?} {} {:?} {:?}", held.session.title, held.session.head, held.counts))
}

proptest! {
    #![proptest_config(cases(60))]

    /// Domain 2.15: undoing every step, newest first, restores each previous tree exactly, and redoing restores each
    /// later one. Then some steps are undone and redone again, across a restart.
    #[test]
    fn undo_and_redo_restore_tree_exactly(
        steps in prop::collection::vec(undoable(), 1..25),
        turns in prop::collection::vec(any::<bool>(), 0..30),
    ) {
        let mut play = ModelTest::begin(3);
        let mut faces = vec![face(&play).1];
        for step in &steps {
            let op = play.store.held(play.model.session).session.op;
            play.act(step);
            play.model.follow(&play.store);
            if play.model.op > op {
                faces.push(face(&play).1);
            }
        }
        let last = faces.len() - 1;
        for at in (0..last).rev() {
            prop_assert!(play.turn_back(true), "{at}");
            play.model.follow(&play.store);
            prop_assert_eq!(&face(&play).1, &faces[at]);
        }
        prop_assert!(!play.turn_back(true), "there is nothing left");
        for expected in &faces[1..] {
            prop_assert!(play.turn_back(false));
            play.model.follow(&play.store);
            prop_assert_eq!(&face(&play).1, expected);
        }
        prop_assert!(!play.turn_back(false));
        play.store.reopen();
        let mut at = last;
        for undo in turns {
            let moved = play.turn_back(undo);
            prop_assert_eq!(moved, if undo { at > 0 } else { at < last });
            at = if !moved { at } else if undo { at - 1 } else { at + 1 };
            play.model.follow(&play.store);
            prop_assert_eq!(&face(&play).1, &faces[at]);
        }
        play.model.reads_hold(&play.store);
        play.store.is_well();
    }
}

/// S3-26, C5: the same session with a keyframe every 1, 10 and 50 nodes has the same worlds, byte for byte. The number
/// of keyframes is as configured.
#[test]
fn keyframe_interval_does_not_change_worlds() {
    let tell = |keyframe_every| {
        let store = TestStore::with(|settings| settings.keyframe_every = keyframe_every);
        let begun = store.begin(delta([set("/combat/hp", json!(40))]), Some(rules("combat", 100)), &["Hello."]);
        let mut leaf = begun.greetings[0];
        let mut worlds = Vec::new();
        for turn in 0..200_i64 {
            let mut said = store.said("on");
            said.delta = delta([add("/combat/hp", turn % 17 - 9), add("/turns", 1)]);
            leaf = store.append(begun.session, leaf, said);
            worlds.push(store.world(begun.session, leaf).to_json().to_string());
        }
        let cut = store.count("SELECT count(*) AS n FROM keyframes");
        assert_eq!(cut, store.count("SELECT count(*) AS n FROM nodes WHERE since_keyframe = 0"));
        (worlds, cut)
    };
    let (every, tenth, fiftieth) = (tell(1), tell(10), tell(50));
    assert!(every.0 == tenth.0 && tenth.0 == fiftieth.0);
    assert_eq!((every.1, tenth.1, fiftieth.1), (202, 21, 5));
}

/// S1-27, S2-14: a checkout writes no node: the number of node rows stays the same, and their facts are byte-equal.
#[test]
fn checkout_writes_no_nodes() {
    let store = TestStore::new();
    let begun = store.begin(Delta::default(), None, &["Hello."]);
    let mut all = begun.greetings.clone();
    for turn in 0..60 {
        let parent = all[turn * 7 % all.len()];
        all.push(store.append(begun.session, parent, store.said(&format!("branch {turn}"))));
    }
    let facts = "SELECT count(*) * 1000003 + sum(length(content) * n) AS n FROM texts";
    let before = (store.count(facts), store.count("SELECT count(*) AS n FROM nodes"));
    for turn in 0..100 {
        store.checkout(begun.session, all[turn * 13 % all.len()], turn % 2 == 0);
    }
    assert_eq!((store.count(facts), store.count("SELECT count(*) AS n FROM nodes")), before);
}
