//! The first half of a turn, up to commit 1: read the scene, let plugins see the input, write the user's node with the
//! placeholders of its replies, move HEAD, hand the replies to their runners.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::clock::Time;
use crate::ids::{NodeId, SessionId, UserId};
use crate::oplog::Act;
use crate::plugin::{Answer, Hook};
use crate::store::{Actor, Draft, Held, Message, RulesInForce, Written};
use crate::tree::edit::{self, Refusal};
use crate::tree::{Delta, Kind, PluginSetting, Role, Session, Status};
use crate::world::{Operation, fold};

use super::hooks::Proposal;
use super::runner::{Job, Source};
use super::scene::{self, Scene};
use super::{Edit, Generate, NewMessage, OnStale, Parts, Started, TurnError, Turns, begin, force};

/// Other replies, as asked for.
pub struct Reroll {
    pub node: NodeId,
    pub generate: Generate,
    pub move_head: bool,
    pub expected_leaf: Option<NodeId>,
}

/// How often a message that may be appended anywhere is tried again when HEAD moves meanwhile.
const APPEND_TRIES: usize = 8;

/// Writes a message and begins its replies.
pub async fn message(turns: &Turns, caller: UserId, session: SessionId, new: NewMessage) -> Result<Started, TurnError> {
    let mut new = new;
    for _ in 0..APPEND_TRIES {
        match send(turns, caller, session, &new).await {
            Err(TurnError::Refused(Refusal::HeadMoved { leaf, .. })) if new.on_stale == OnStale::Append => {
                new.parent = leaf;
                new.expected_leaf = Some(leaf);
            }
            Err(TurnError::Refused(Refusal::HeadMoved { .. })) if new.on_stale == OnStale::Branch => {
                new.expected_leaf = None;
            }
            result => return result,
        }
    }
    send(turns, caller, session, &new).await
}

async fn send(turns: &Turns, caller: UserId, session: SessionId, new: &NewMessage) -> Result<Started, TurnError> {
    let parts = &turns.parts;
    let scene = scene(parts, caller, session, new.parent).await?;
    stale(&scene.held, new.expected_leaf)?;
    edit::may_be_parent(&scene.at.node)?;
    let now = parts.clock.now();
    let (bridge, scene) = bridge(parts, scene, now).await;
    let mut draft = Draft::new(NodeId::new(parts.ids.next(now)), new.role, Kind::Message, parts.ids.seed(), now);
    draft.author = Some(caller);
    draft.persona = new.persona.or(scene.session().persona.as_ref().map(|persona| persona.id));
    draft.name = new.name.clone().or_else(|| (new.role == Role::User).then(|| scene.cast.user.clone()));
    draft.content = new.content.clone();
    let input = input(parts, &scene, &mut draft).await?;
    let generate = if input.stop { None } else { new.generate.clone() };
    let replies = replies(parts, scene.session(), caller, generate.as_ref(), now)?;
    let message = Message {
        session,
        parent: scene.parent_for(&bridge, new.parent),
        bridge,
        draft: Some(draft),
        carry_from: None,
        replies,
        move_head: new.move_head,
        act: Act::Message,
    };
    let actor = Actor { user: caller, at: now, expected_leaf: new.expected_leaf };
    let asked = Asked { generate, reply: input.reply, move_head: new.move_head };
    commit(turns, actor, message, scene.session(), asked).await
}

impl Scene {
    /// The parent of a message that comes with or without a bridge.
    fn parent_for(&self, bridge: &Option<Draft>, parent: NodeId) -> NodeId {
        // A change node that is there already (another message was sent from the same place) is used again.
        if bridge.is_some() { parent } else { self.at.node.id }
    }
}

/// Begins other replies beside an assistant node, or under a context node.
pub async fn reroll(turns: &Turns, caller: UserId, session: SessionId, asked: Reroll) -> Result<Started, TurnError> {
    let parts = &turns.parts;
    let node = asked.node;
    let (held, context) = parts
        .store
        .read(move |reader| {
            let held = reader.session(caller, session)?.ok_or(Refusal::NotFound("the session"))?;
            let at = reader.node(&held, node)?.ok_or(Refusal::NotFound("the message"))?;
            // A reply beside a reply hangs below the same parent; beside anything else, below it.
            let context = if at.node.role == Role::Assistant { at.node.parent } else { Some(at.node.id) };
            let context = context.ok_or_else(|| Refusal::Conflict("there is nothing to answer".into()))?;
            let context = reader.node(&held, context)?.ok_or(Refusal::NotFound("the message"))?;
            Ok::<_, TurnError>((held, context))
        })
        .await?;
    if matches!(context.node.kind, Kind::Root) {
        let message = "a greeting has no message to answer: write one, or choose another greeting".to_owned();
        return Err(Refusal::Conflict(message).into());
    }
    edit::may_be_parent(&context.node)?;
    let now = parts.clock.now();
    let replies = replies(parts, &held.session, caller, Some(&asked.generate), now)?;
    let message = Message {
        session,
        parent: context.node.id,
        bridge: None,
        draft: None,
        carry_from: None,
        replies,
        move_head: false,
        act: Act::Reroll,
    };
    let actor = Actor { user: caller, at: now, expected_leaf: asked.expected_leaf };
    let wish = Asked { generate: Some(asked.generate), reply: None, move_head: asked.move_head };
    commit(turns, actor, message, &held.session, wish).await
}

/// Writes an edited version of a message beside it.
pub async fn edit(
    turns: &Turns,
    caller: UserId,
    session: SessionId,
    node: NodeId,
    asked: Edit,
) -> Result<Started, TurnError> {
    let parts = &turns.parts;
    let hide = parts.config.generation.hide_tags.clone();
    let (old, scene) = parts
        .store
        .read(move |reader| {
            let held = reader.session(caller, session)?.ok_or(Refusal::NotFound("the session"))?;
            let old = reader.node(&held, node)?.ok_or(Refusal::NotFound("the message"))?.node;
            let parent = old.parent.ok_or_else(|| Refusal::Conflict("the root has no text to edit".into()))?;
            let scene = scene::read(reader, &hide, caller, session, parent, old.character)?;
            Ok::<_, TurnError>((old, scene))
        })
        .await?;
    stale(&scene.held, asked.expected_leaf)?;
    let fits = edit::edit_generates(&old, asked.carry).then(Generate::default);
    let generate = asked.generate.unwrap_or(fits);
    edit::may_be_edited(&old, asked.carry, generate.is_some())?;
    let now = parts.clock.now();
    let mut draft = Draft::new(NodeId::new(parts.ids.next(now)), old.role, old.kind, old.dice_seed, now);
    (draft.author, draft.persona, draft.character) = (Some(caller), old.persona, old.character);
    (draft.name, draft.content) = (old.name.clone(), asked.content);
    draft.metadata.insert("editedFrom".into(), old.id.to_string().into());
    let mut reply = None;
    let mut stop = false;
    if old.role == Role::Assistant {
        draft.delta = on_edit(parts, &scene, &draft).await;
    } else {
        let input = input(parts, &scene, &mut draft).await?;
        (reply, stop) = (input.reply, input.stop);
    }
    let generate = generate.filter(|_| !stop);
    let replies = replies(parts, scene.session(), caller, generate.as_ref(), now)?;
    let message = Message {
        session,
        parent: scene.at.node.id,
        bridge: None,
        draft: Some(draft),
        carry_from: asked.carry.then_some(old.id),
        replies,
        move_head: asked.move_head,
        act: Act::Edit,
    };
    let actor = Actor { user: caller, at: now, expected_leaf: asked.expected_leaf };
    let wish = Asked { generate, reply, move_head: asked.move_head };
    commit(turns, actor, message, scene.session(), wish).await
}

/// The rules read an edited reply as they read a new one; its dice are those of the old version (`docs/modders.md`).
async fn on_edit(parts: &Arc<Parts>, scene: &Scene, draft: &Draft) -> Delta {
    if draft.kind != Kind::Message {
        return Delta::default();
    }
    let facts = scene.next(draft.id, draft.created, false);
    let mut stage = scene.stage(parts, &scene.rules, facts, draft.dice_seed);
    stage.text = Arc::from(draft.content.as_str());
    stage.role = Role::Assistant.word();
    let so_far = Proposal { world: Arc::clone(&scene.world), ..Proposal::default() };
    parts.hooks.run(Hook::OnReply, &stage, so_far).await.delta
}

/// Changes the world by hand.
pub async fn change(
    parts: &Arc<Parts>,
    caller: UserId,
    session: SessionId,
    node: NodeId,
    operations: Vec<Operation>,
    expected_leaf: Option<NodeId>,
) -> Result<Started, TurnError> {
    let scene = scene(parts, caller, session, node).await?;
    edit::may_be_parent(&scene.at.node)?;
    let now = parts.clock.now();
    let mut draft = Draft::new(NodeId::new(parts.ids.next(now)), Role::System, Kind::Change, parts.ids.seed(), now);
    draft.author = Some(caller);
    draft.delta.operations = operations;
    let mut world = (*scene.world).clone();
    let problems = fold(&mut world, &draft.delta.operations, &scene.rules.rules);
    if let Some(refused) = problems.iter().find(|problem| problem.kind == crate::world::ProblemKind::Refused) {
        return Err(TurnError::Invalid { field: "operations", message: refused.message.clone() });
    }
    draft.delta.note_problems(&problems);
    let actor = Actor { user: caller, at: now, expected_leaf };
    let id = draft.id;
    let written = parts.store.write(move |tx| tx.change(&actor, session, node, &draft, Act::Change)).await?;
    Ok(Started { node: Some(id), generations: Vec::new(), op: written.op })
}

/// Sets the plugins of a session and lets them begin at HEAD.
pub async fn set_plugins(
    parts: &Arc<Parts>,
    caller: UserId,
    session: SessionId,
    plugins: Vec<PluginSetting>,
) -> Result<i64, TurnError> {
    let held = parts.store.read(move |reader| reader.session(caller, session)).await?;
    let held = held.ok_or(Refusal::NotFound("the session"))?;
    let plugins = begin::settings(parts, plugins, held.session.model.as_deref())?;
    parts.hooks.forgive(session);
    let now = parts.clock.now();
    let head = held.session.head;
    let mut scene = scene(parts, caller, session, head).await?;
    scene.held.session.plugins.clone_from(&plugins);
    let bridge = new_rules(parts, &scene, now).await;
    let json = Value::Array(plugins.iter().map(setting_json).collect());
    let actor = Actor { user: caller, at: now, expected_leaf: None };
    let op = parts
        .store
        .write(move |tx| {
            let op = tx.settings(&actor, session, &[("plugins".to_owned(), json.clone())])?;
            match &bridge {
                Some(draft) => Ok(tx.change(&actor, session, head, draft, Act::Rules)?.op),
                None => Ok(op),
            }
        })
        .await?;
    Ok(op)
}

fn setting_json(plugin: &PluginSetting) -> Value {
    serde_json::json!({
        "id": plugin.id, "enabled": plugin.enabled, "config": plugin.config, "grants": plugin.grants,
    })
}

/// Stops a running reply.
pub async fn cancel(parts: &Arc<Parts>, caller: UserId, session: SessionId, node: NodeId) -> Result<(), TurnError> {
    parts
        .store
        .read(move |reader| {
            let held = reader.session(caller, session)?.ok_or(Refusal::NotFound("the session"))?;
            let at = reader.node(&held, node)?.ok_or(Refusal::NotFound("the message"))?;
            match at.node.status {
                Status::Generating => Ok(()),
                _ => Err(TurnError::from(Refusal::Conflict("the reply has ended already".into()))),
            }
        })
        .await?;
    match parts.live.running(node) {
        Some(running) => {
            running.cancel();
            Ok(())
        }
        None => Err(Refusal::Conflict("the reply has ended already".into()).into()),
    }
}

async fn scene(parts: &Arc<Parts>, caller: UserId, session: SessionId, node: NodeId) -> Result<Scene, TurnError> {
    let hide = parts.config.generation.hide_tags.clone();
    parts.store.read(move |reader| scene::read(reader, &hide, caller, session, node, None)).await
}

/// A first look at whether HEAD is where the writer saw it; commit 1 looks again.
fn stale(held: &Held, expected: Option<NodeId>) -> Result<(), Refusal> {
    match expected {
        Some(leaf) if leaf != held.session.head => {
            Err(Refusal::HeadMoved { leaf: held.session.head, op: held.session.op })
        }
        _ => Ok(()),
    }
}

/// A change node between the parent and the message where the session wants other rules than those in force there, and
/// the scene after it.
async fn bridge(parts: &Arc<Parts>, mut scene: Scene, now: Time) -> (Option<Draft>, Scene) {
    let Some(draft) = new_rules(parts, &scene, now).await else { return (None, scene) };
    let rules = draft.rules.clone().unwrap_or_default();
    fold(Arc::make_mut(&mut scene.world), &draft.delta.operations, &rules.rules);
    scene.rules = rules;
    (Some(draft), scene)
}

async fn new_rules(parts: &Arc<Parts>, scene: &Scene, now: Time) -> Option<Draft> {
    let wanted = force::wanted(&scene.session().plugins, &scene.rules, &parts.catalogue)?;
    let id = NodeId::new(parts.ids.next(now));
    let mut draft = Draft::new(id, Role::System, Kind::Change, parts.ids.seed(), now);
    let in_force = RulesInForce { plugins: Vec::new(), rules: wanted.rules.rules.clone() };
    let mut stage = scene.stage(parts, &in_force, scene.next(id, now, false), draft.dice_seed);
    stage.players = wanted.beginning;
    let so_far = Proposal { world: Arc::clone(&scene.world), ..Proposal::default() };
    draft.delta = parts.hooks.run(Hook::Init, &stage, so_far).await.delta;
    draft.delta.problems.extend(wanted.problems);
    draft.rules = Some(wanted.rules);
    Some(draft)
}

/// What plugins made of the input.
#[derive(Default)]
struct Input {
    /// A plugin's own reply: no model is called.
    reply: Option<String>,
    /// Nothing is generated.
    stop: bool,
}

/// `on_input` of every plugin, before the text is committed. Each sees what earlier ones made of the text; the first
/// refusal ends it all.
async fn input(parts: &Arc<Parts>, scene: &Scene, draft: &mut Draft) -> Result<Input, TurnError> {
    let facts = scene.next(draft.id, draft.created, true);
    let mut stage = scene.stage(parts, &scene.rules, facts, draft.dice_seed);
    stage.role = draft.role.word();
    let mut proposal = Proposal { world: Arc::clone(&scene.world), ..Proposal::default() };
    let mut input = Input::default();
    let original = draft.content.clone();
    for player in std::mem::take(&mut stage.players) {
        stage.text = Arc::from(draft.content.as_str());
        parts.hooks.one(Hook::OnInput, &stage, &player, &mut proposal).await;
        for (plugin, answer) in std::mem::take(&mut proposal.answers) {
            match answer {
                Answer::Refused(message) => return Err(TurnError::InputRefused { plugin, message }),
                Answer::Input { text, reply, stop } => {
                    draft.content = text.unwrap_or_else(|| std::mem::take(&mut draft.content));
                    input.reply = reply.or(input.reply);
                    input.stop |= stop;
                }
                _ => {}
            }
        }
    }
    if draft.content != original {
        draft.metadata.insert("originalContent".into(), original.into());
    }
    draft.delta = proposal.delta;
    Ok(input)
}

/// The placeholders of the replies that were asked for.
fn replies(
    parts: &Parts,
    session: &Session,
    caller: UserId,
    generate: Option<&Generate>,
    now: Time,
) -> Result<Vec<Draft>, TurnError> {
    let Some(generate) = generate else { return Ok(Vec::new()) };
    let model = generate.model.as_ref().or(session.model.as_ref()).unwrap_or(&parts.models.default);
    parts.models.find(model).map_err(|error| TurnError::Invalid { field: "model", message: error.to_string() })?;
    if let Some(character) = generate.character.filter(|id| !begin::plays(session, *id)) {
        let message = format!("character {character} does not play in this session");
        return Err(TurnError::Invalid { field: "characterId", message });
    }
    let n = generate.n.max(1);
    room_for(parts, caller, n)?;
    let draft = |_| {
        let id = NodeId::new(parts.ids.next(now));
        let mut draft = Draft::new(id, Role::Assistant, Kind::Message, parts.ids.seed(), now);
        draft.status = Status::Generating;
        draft.author = Some(caller);
        draft.character = generate.character.or(session.cards.first().map(|card| card.id));
        draft.metadata.insert("model".into(), model.as_str().into());
        draft.metadata.insert("params".into(), Value::Object(params(session, generate)));
        draft
    };
    Ok((0..n).map(draft).collect())
}

/// The session's parameters with the request's over them.
pub fn params(session: &Session, generate: &Generate) -> Map<String, Value> {
    let mut params = session.params.clone();
    params.extend(generate.params.clone());
    params
}

fn room_for(parts: &Parts, caller: UserId, n: u32) -> Result<(), TurnError> {
    let limits = &parts.config.limits;
    let n = usize::try_from(n).unwrap_or(usize::MAX);
    let (own, all) = parts.live.count(caller);
    let fits = own.saturating_add(n) <= limits.generations_per_user && all.saturating_add(n) <= limits.generations;
    if fits { Ok(()) } else { Err(TurnError::TooMany) }
}

/// What the replies are to be.
struct Asked {
    generate: Option<Generate>,
    reply: Option<String>,
    move_head: bool,
}

/// Commit 1, then the runners.
async fn commit(
    turns: &Turns,
    actor: Actor,
    message: Message,
    session: &Session,
    asked: Asked,
) -> Result<Started, TurnError> {
    let parts = &turns.parts;
    let drafts = message.replies.clone();
    let node = message.draft.as_ref().map(|draft| draft.id);
    let session_id = message.session;
    // Registered before the commit: the sweeper must never see a placeholder that nobody holds.
    let running: Vec<_> = drafts.iter().map(|draft| parts.live.begin(session_id, draft.id, actor.user)).collect();
    let written: Result<Written, _> = parts.store.write(move |tx| tx.message(&actor, &message)).await;
    let written = match written {
        Ok(written) => written,
        Err(error) => {
            drafts.iter().for_each(|draft| parts.live.end(draft.id));
            return Err(error.into());
        }
    };
    let generate = asked.generate.unwrap_or_default();
    for (i, (draft, running)) in drafts.iter().zip(running).enumerate() {
        let job = Job {
            session: session_id,
            user: actor.user,
            node: draft.id,
            dice_seed: draft.dice_seed,
            source: source(parts, session, &generate, asked.reply.as_deref()),
            params: params(session, &generate),
            metadata: draft.metadata.clone(),
            character: draft.character,
            // With several replies only the first may take HEAD (`domain.md` 5.2).
            asked: (asked.move_head && i == 0).then_some(written.asked),
            step: written.op,
            asked_at: actor.at,
            running,
        };
        turns.runtime.spawn(super::runner::run(Arc::clone(parts), job));
    }
    Ok(Started { node, generations: drafts.iter().map(|draft| draft.id).collect(), op: written.op })
}

fn source(parts: &Parts, session: &Session, generate: &Generate, reply: Option<&str>) -> Source {
    match reply {
        Some(reply) => Source::Given(reply.to_owned()),
        None => {
            let model = generate.model.as_ref().or(session.model.as_ref()).unwrap_or(&parts.models.default);
            Source::Named(model.clone())
        }
    }
}
