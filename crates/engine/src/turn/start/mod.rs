//! The first half of a turn, up to commit 1. It reads the snapshot, runs the input hooks, writes the user's node with
//! the placeholders of its replies, moves HEAD and starts the runners.
//!
//! `input.rs` runs plugins on a text before it is written. `edit.rs` starts with an edited message, `reroll.rs` with
//! replies only, `new_session.rs` with a session, `change.rs` with a change of the world or the rules.
//! `initial_values.rs` reads the initial values in lorebooks.

pub(super) mod change;
pub(super) mod edit;
pub(super) mod initial_values;
pub(super) mod input;
pub(super) mod new_session;
pub(super) mod reroll;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value};

use crate::live::LiveSessions;
use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::OperationKind;
use clotho_core::tree::edit::{TreeError, check_parent};
use clotho_core::tree::reply_facts::GenerationOverride;
use clotho_core::tree::{Kind, NodeMetadata, Role, Session, Status};
use clotho_plugin::{PluginModelCall, SummaryProposal};
use clotho_store::{Actor, ExpectedVersion, IdempotencyClaim, MessageWrite, NodeDraft, StoreReader, StoredSession};

use crate::turn::cast::UserPersona;
use crate::turn::models::ReplyWriter;
use crate::turn::reply::runner::{ReplyJob, ReplyJobSource};
use crate::turn::snapshot::{self, SnapshotQuery, TurnSnapshot};
use crate::turn::{
    GenerationSpec, MessageSpec, StaleHeadPolicy, TurnEngine, TurnError, TurnReceipt, TurnServices,
    rules::summary_proposals, side_calls,
};
use input::{InputHookResult, PluginReply};

/// The options of a generation.
#[derive(Default)]
pub struct GenerateOptions {
    /// The replies; `None` = none.
    pub generate: Option<GenerationSpec>,
    /// A reply that a plugin wrote instead of a model.
    pub plugin_reply: Option<PluginReply>,
    /// Model calls to make once the message is written.
    pub asks: Vec<(String, PluginModelCall)>,
    /// Summaries that plugins propose.
    pub summaries: Vec<(String, SummaryProposal)>,
    /// Whether HEAD moves to the first reply.
    pub move_head: bool,
    /// The reply to continue.
    pub continued: Option<ContinuedReply>,
}

/// A reply that another one continues.
pub struct ContinuedReply {
    pub node: NodeId,
    pub text: String,
}

/// The number of attempts if HEAD moves meanwhile, or another request adds the same change node first. One of the
/// competing requests succeeds each time.
const MAX_ATTEMPTS: usize = 64;

/// Writes a message and starts its replies.
pub async fn message(
    turns: &TurnEngine,
    caller: UserId,
    session: SessionId,
    new: MessageSpec,
) -> Result<TurnReceipt, TurnError> {
    let mut new = new;
    for _ in 0..MAX_ATTEMPTS {
        match try_send(turns, caller, session, &new).await {
            Ok(Some(started)) => return Ok(started),
            Ok(None) => {}
            Err(TurnError::Refused(TreeError::HeadMoved { leaf, .. })) if new.on_stale == StaleHeadPolicy::Append => {
                new.parent = leaf;
                new.expected_leaf = Some(ExpectedVersion::Leaf(leaf));
            }
            Err(TurnError::Refused(TreeError::HeadMoved { .. })) if new.on_stale == StaleHeadPolicy::Branch => {
                new.expected_leaf = None;
            }
            Err(error) => return Err(error),
        }
    }
    let message = "too many others write at the same place: try again".to_owned();
    Err(TreeError::Conflict(message).into())
}

async fn try_send(
    turns: &TurnEngine,
    caller: UserId,
    session: SessionId,
    new: &MessageSpec,
) -> Result<Option<TurnReceipt>, TurnError> {
    let parts = &turns.services;
    if new.role == Role::Assistant && new.generate.is_some() {
        let message = "a reply that is written by hand is a reply already: nothing is generated below it".to_owned();
        return Err(TurnError::Invalid { field: "generate", message });
    }
    // Read the snapshot; check the precondition and the parent.
    let scene = snapshot_for(parts, caller, session, new).await?;
    let parent = scene.at.node.id;
    // An answer node was added meanwhile; the message goes below it.
    let came = |seen: ExpectedVersion| {
        if seen == ExpectedVersion::Leaf(new.parent) { ExpectedVersion::Leaf(parent) } else { seen }
    };
    let expected_leaf = new.expected_leaf.map(came);
    stale(&scene.stored, expected_leaf)?;
    check_parent(&scene.at.node)?;
    // Apply a change of rules, then run the input hooks on the draft.
    let now = parts.clock.now();
    let (bridge, scene) = change::resolve_rules_change(parts, caller, scene, now).await?;
    check_content_length(parts, scene.session(), new.generate.as_ref(), &new.content)?;
    let mut draft = message_draft(parts, caller, &scene, new, now);
    let input = input::read(parts, &scene, &mut draft, None).await?;
    let generate = new.generate.clone().filter(|_| input.is_answered());
    let InputHookResult { plugin_reply: given, asks, summaries, .. } = input;
    let wish = GenerateOptions {
        generate,
        plugin_reply: given,
        asks,
        summaries,
        move_head: new.move_head,
        ..GenerateOptions::default()
    };
    // Prepare the replies and commit.
    let replies = replies(parts, scene.session(), caller, &scene.cast.character, &wish, now)?;
    let message = MessageWrite {
        session,
        // An existing change node is the parent itself; a new one comes in between.
        parent: if bridge.is_some() { parent } else { scene.at.node.id },
        rules_change: bridge,
        draft: Some(draft),
        move_children_from: None,
        replies,
        move_head: new.move_head,
        kind: OperationKind::Message,
    };
    commit_message(turns, actor(caller, now, expected_leaf), message, scene.session(), wish).await
}

async fn snapshot_for(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    new: &MessageSpec,
) -> Result<TurnSnapshot, TurnError> {
    let persona = new.persona;
    let voice = UserPersona { persona, name: new.name.clone() };
    let look =
        SnapshotQuery { user_persona: Some(voice), ..SnapshotQuery::at_node(parts, caller, session, new.parent) };
    let read = move |reader: &mut StoreReader<'_>| {
        if let Some(persona) = persona {
            reader.persona(caller, persona)?.ok_or(TreeError::NotFound("the persona"))?;
        }
        let held = reader.session(caller, session)?.ok_or(TreeError::NotFound("the session"))?;
        let look = SnapshotQuery { node: side_calls::latest_after_answers(reader, &held, look.node)?, ..look };
        snapshot::read_in(reader, held, &look)
    };
    parts.store.read_inline(read).await
}

fn message_draft(
    parts: &TurnServices,
    caller: UserId,
    scene: &TurnSnapshot,
    new: &MessageSpec,
    now: Time,
) -> NodeDraft {
    let mut draft =
        NodeDraft::new(NodeId::new(parts.ids.next(now)), new.role, Kind::Message, parts.ids.next_seed(), now);
    draft.author = Some(caller);
    draft.content = new.content.clone();
    let name = match new.role {
        Role::User => {
            draft.persona = new.persona.or(scene.session().persona.as_ref().map(|persona| persona.id));
            Some(scene.cast.user.clone())
        }
        Role::Assistant => {
            draft.character = scene.session().cards.first().map(|card| card.id);
            Some(scene.cast.character.clone())
        }
        Role::System => None,
    };
    draft.name = new.name.clone().or(name);
    draft
}

/// Stops a running reply.
pub async fn cancel_reply(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    node: NodeId,
) -> Result<(), TurnError> {
    parts
        .store
        .read(move |reader| {
            let held = reader.session(caller, session)?.ok_or(TreeError::NotFound("the session"))?;
            let at = reader.node(&held, node)?.ok_or(TreeError::NotFound("the message"))?;
            match at.node.status {
                Status::Generating => Ok(()),
                _ => Err(TurnError::from(TreeError::Conflict("the reply has ended already".into()))),
            }
        })
        .await?;
    match parts.live.running(node) {
        Some(running) => {
            running.cancel();
            Ok(())
        }
        None => Err(TreeError::Conflict("the reply has ended already".into()).into()),
    }
}

/// Returns the actor of a write.
pub fn actor(user: UserId, at: Time, expected_leaf: Option<ExpectedVersion>) -> Actor {
    Actor { user, at, expected_leaf }
}

/// Early check whether HEAD is where the writer saw it; enforced again in commit 1.
pub fn stale(held: &StoredSession, expected: Option<ExpectedVersion>) -> Result<(), TreeError> {
    expected.map_or(Ok(()), |seen| seen.holds(&held.session))
}

/// Returns the placeholders of the requested replies.
pub fn replies(
    parts: &TurnServices,
    session: &Session,
    caller: UserId,
    name: &str,
    wish: &GenerateOptions,
    now: Time,
) -> Result<Vec<NodeDraft>, TurnError> {
    let Some(generate) = &wish.generate else { return Ok(Vec::new()) };
    let mut metadata = request_metadata(parts, session, generate, wish.plugin_reply.as_ref())?;
    if let Some(continued) = &wish.continued {
        metadata.continued_from = Some(continued.node);
    }
    if let Some(character) = generate.character.filter(|id| !new_session::has_character(session, *id)) {
        let message = format!("character {character} does not play in this session");
        return Err(TurnError::Invalid { field: "characterId", message });
    }
    // A plugin's reply exists only once.
    let n = if wish.plugin_reply.is_some() { 1 } else { generate.n.max(1) };
    check_quota(parts, caller, n)?;
    let draft = |_| {
        let id = NodeId::new(parts.ids.next(now));
        let mut draft = NodeDraft::new(id, Role::Assistant, Kind::Message, parts.ids.next_seed(), now);
        draft.status = Status::Generating;
        draft.author = Some(caller);
        draft.character = generate.character.or(session.cards.first().map(|card| card.id));
        draft.name = Some(name.to_owned()).filter(|name| !name.is_empty());
        draft.metadata = metadata.clone();
        draft
    };
    Ok((0..n).map(draft).collect())
}

/// Returns the initial metadata of a reply: model, parameters, and what the request overrides.
fn request_metadata(
    parts: &TurnServices,
    session: &Session,
    generate: &GenerationSpec,
    given: Option<&PluginReply>,
) -> Result<NodeMetadata, TurnError> {
    let mut metadata = NodeMetadata::default();
    if let Some(given) = given {
        metadata.reply.model = Some(format!("plugin:{}", given.plugin));
        return Ok(metadata);
    }
    // If the session's own model no longer exists, the message is kept and its reply fails.
    if let Some(named) = &generate.model {
        parts.models.find(named).map_err(|error| TurnError::Invalid { field: "model", message: error.to_string() })?;
    }
    metadata.reply.model = Some(model(parts, session, generate));
    metadata.reply.params = Some(merged_params(session, generate));
    if generate.model.is_some() || !generate.params.is_empty() {
        let (model, params) = (generate.model.clone(), generate.params.clone());
        metadata.overridden = Some(GenerationOverride { model, params });
    }
    Ok(metadata)
}

/// Returns the model to ask: the request's, the session's, or the default.
pub fn model(parts: &TurnServices, session: &Session, generate: &GenerationSpec) -> String {
    generate.model.as_ref().or(session.model.as_ref()).cloned().unwrap_or_else(|| parts.models.default_name())
}

/// Checks that a narrator can read the text. Without the check a long message would count as the plugin's violation.
pub fn check_content_length(
    parts: &TurnServices,
    session: &Session,
    generate: Option<&GenerationSpec>,
    content: &str,
) -> Result<(), TurnError> {
    let asked = generate.map(|generate| parts.models.find(&model(parts, session, generate)));
    let Some(Ok(ReplyWriter::Narrator(plugin))) = asked else { return Ok(()) };
    let most = plugin.longest_message();
    if content.len() <= most { Ok(()) } else { Err(TurnError::TooLong { plugin: plugin.id().to_owned(), most }) }
}

/// Merges the session's parameters with the request's, which win.
pub fn merged_params(session: &Session, generate: &GenerationSpec) -> Map<String, Value> {
    let mut params = session.params.clone();
    params.extend(generate.params.clone());
    params
}

/// Early check of the quota (running plus queued); enforced again at start. More than the limit per request is an
/// invalid request, because a retry would not help.
fn check_quota(parts: &TurnServices, caller: UserId, n: u32) -> Result<(), TurnError> {
    let (n, ever) = (usize::try_from(n).unwrap_or(usize::MAX), parts.live.max_per_request());
    if n > ever {
        return Err(TurnError::Invalid {
            field: "n",
            message: format!("at most {ever} replies may be asked for at once here"),
        });
    }
    if parts.live.has_room(caller, n) { Ok(()) } else { Err(TurnError::TooMany) }
}

/// Registered replies without a runner; ends them when dropped, unless runners have taken them.
struct UnclaimedReplies {
    live: Arc<LiveSessions>,
    nodes: Vec<NodeId>,
}

impl Drop for UnclaimedReplies {
    fn drop(&mut self) {
        self.nodes.iter().for_each(|node| self.live.end(*node));
    }
}

/// Runs commit 1 and starts the runners. Returns `None` if another request wrote the change node first; then nothing
/// was done.
pub async fn commit_message(
    turns: &TurnEngine,
    actor: Actor,
    message: MessageWrite,
    session: &Session,
    wish: GenerateOptions,
) -> Result<Option<TurnReceipt>, TurnError> {
    let parts = &turns.services;
    let drafts = message.replies.clone();
    let nodes: Vec<NodeId> = drafts.iter().map(|draft| draft.id).collect();
    let node = message.draft.as_ref().map(|draft| draft.id);
    let session_id = message.session;
    let so_far = wish.continued.as_ref().map_or_else(String::new, |continued| continued.text.clone());
    // Register before the commit: the orphan check must never see an unregistered placeholder.
    let running = parts.live.enqueue_replies(session_id, &nodes, actor.user, &so_far).ok_or(TurnError::TooMany)?;
    let mut unclaimed = UnclaimedReplies { live: Arc::clone(&parts.live), nodes: nodes.clone() };
    if parts.is_stopping.load(Ordering::SeqCst) {
        return Err(TurnError::Stopped);
    }
    let claim = IdempotencyClaim::current();
    let mut made = TurnReceipt { node, generations: nodes.clone(), op: 0 };
    let summaries = summary_proposals::all(parts, wish.summaries);
    let written = parts
        .store
        .write(move |tx| {
            // An edited message does not exist yet, so no other request can have added a change node below it.
            if message.kind != OperationKind::Edit
                && let Some(rules) = message.rules_change.as_ref().and_then(|bridge| bridge.rules.as_ref())
                && tx.has_rules_change(actor.user, message.session, message.parent, rules)?
            {
                return Ok(None);
            }
            let written = tx.message(&actor, &message)?;
            if let Some(node) = node {
                summaries.iter().try_for_each(|one| tx.propose_summary(session_id, node, one).map(drop))?;
            }
            made.op = written.op;
            tx.record_claim(claim.as_ref(), &made)?;
            Ok(Some(written))
        })
        .await?;
    let Some(written) = written else { return Ok(None) };
    // The nodes are committed: start side calls and runners.
    unclaimed.nodes.clear();
    if let Some(node) = node {
        side_calls::PluginModelCalls::spawn(parts, session_id, actor.user, node, wish.asks);
    }
    let generate = wish.generate.unwrap_or_default();
    for (i, (draft, running)) in drafts.into_iter().zip(running).enumerate() {
        let source = match &wish.plugin_reply {
            Some(given) => ReplyJobSource::PluginText(given.text.clone()),
            None => ReplyJobSource::Model(model(parts, session, &generate)),
        };
        let job = ReplyJob {
            session: session_id,
            user: actor.user,
            source,
            params: merged_params(session, &generate),
            prefix: so_far.clone(),
            // Of several replies only the first may move HEAD (`docs/domain.md` 5.2).
            asked: (wish.move_head && i == 0).then_some(written.asked),
            step: written.op,
            running,
            draft,
        };
        turns.runtime.spawn(crate::turn::reply::runner::run(Arc::clone(parts), job));
    }
    Ok(Some(TurnReceipt { node, generations: nodes, op: written.op }))
}
