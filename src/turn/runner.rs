//! One reply, from its placeholder to commit 2: read, build the prompt, stream, run the rules, commit. The only async part
//! of the journey; what happens when is decided by the machine.

use std::sync::Arc;

use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Map, Value};

use crate::clock::Time;
use crate::ids::{CharacterId, NodeId, SessionId, UserId};
use crate::live::Running;
use crate::plugin::{Answer, Hook};
use crate::prompt::{self, Sent};
use crate::provider::{self, Failure, Frame, FrameStream, Request};
use crate::store::{Ending, Held, Reader, Show, StoreError, Trace, WriteError};
use crate::tree::edit::{Asked, Refusal};
use crate::tree::{Delta, Role};

use super::hooks::Proposal;
use super::machine::{Action, Event, Fault, Machine};
use super::models::Writer;
use super::scene::{self, Scene};
use super::trace::{self, Made};
use super::{Parts, TurnError, force};

/// History is read in pages of so many messages until the budget is full, so that a deep session costs no more.
const PAGE: i64 = 64;

/// Who writes the reply.
#[derive(Debug, Clone)]
pub enum Source {
    /// A model by name.
    Named(String),
    /// A plugin has said it already (`on_input` with a reply).
    Given(String),
}

/// One reply to be written.
pub struct Job {
    pub session: SessionId,
    pub user: UserId,
    pub node: NodeId,
    pub dice_seed: u64,
    pub source: Source,
    pub params: Map<String, Value>,
    pub metadata: Map<String, Value>,
    pub character: Option<CharacterId>,
    pub asked: Option<Asked>,
    /// The operation that asked for it.
    pub step: i64,
    pub asked_at: Time,
    pub running: Arc<Running>,
}

/// Runs a reply to its end. Whatever happens in between, also a panic, the node does not stay generating.
pub async fn run(parts: Arc<Parts>, job: Job) {
    let (session, node, step) = (job.session, job.node, job.step);
    let metadata = job.metadata.clone();
    let running = Arc::clone(&job.running);
    let work = std::panic::AssertUnwindSafe(write(&parts, job)).catch_unwind().await;
    let failed = match work {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("the reply's task panicked".to_owned()),
    };
    if let Some(cause) = failed {
        tracing::error!(%session, %node, "a reply could not be committed: {cause}");
        let fault = Fault::new("internal", "the server failed while writing this reply", "try again");
        let written = running.written();
        let ending = super::keeper::failed(metadata, &fault, written.content, written.reasoning);
        if let Err(error) = commit(&parts, session, node, step, ending).await {
            tracing::error!(%session, %node, "nor could its failure: {error}; the sweeper will try again");
        }
    }
    parts.live.end(node);
}

async fn write(parts: &Arc<Parts>, job: Job) -> Result<(), TurnError> {
    let mut machine = Machine::new(job.asked_at);
    let scene = read(parts, &job).await?;
    let mut proposal = Proposal { world: Arc::clone(&scene.world), ..Proposal::default() };
    let mut metadata = job.metadata.clone();
    let mut trace = Trace::default();
    match open(parts, &job, &scene, &mut proposal, &mut metadata, &mut trace).await {
        Ok(frames) => stream_in(parts, &job, &mut machine, frames).await,
        Err(fault) => _ = machine.on(Event::Failed(fault), parts.clock.now()),
    }
    if machine.runs_rules() {
        proposal = rules(parts, &job, &scene, &machine, proposal).await;
        proposal.delta.problems.extend(force::missing(&scene.rules.plugins, &parts.catalogue));
    }
    let ending = ending(&job, &scene, &machine, proposal.delta, metadata, trace);
    Ok(commit(parts, job.session, job.node, job.step, ending).await?)
}

/// The scene at the context node: the world just before the reply.
async fn read(parts: &Arc<Parts>, job: &Job) -> Result<Scene, TurnError> {
    let hide = parts.config.generation.hide_tags.clone();
    let (user, session, node, character) = (job.user, job.session, job.node, job.character);
    parts
        .store
        .read(move |reader| {
            let held = reader.session(user, session)?.ok_or(Refusal::NotFound("the session"))?;
            let placeholder = reader.node(&held, node)?.ok_or(Refusal::NotFound("the message"))?;
            let context = placeholder.node.parent.ok_or(Refusal::NotFound("the message"))?;
            scene::read(reader, &hide, user, session, context, character)
        })
        .await
}

/// Opens the stream of frames: from a model, from a narrating plugin, or from what was said already.
async fn open(
    parts: &Arc<Parts>,
    job: &Job,
    scene: &Scene,
    proposal: &mut Proposal,
    metadata: &mut Map<String, Value>,
    trace: &mut Trace,
) -> Result<FrameStream, Fault> {
    let name = match &job.source {
        Source::Given(text) => return Ok(frames(vec![text.clone()])),
        Source::Named(name) => name,
    };
    let hint = "choose another model, or look at the configuration";
    let writer =
        parts.models.find(name).map_err(|error| Fault::new("provider_misconfigured", error.to_string(), hint))?;
    match writer {
        Writer::Narrator(plugin) => {
            let pieces = narrate(parts, job, scene, plugin.id(), proposal).await?;
            trace.head.insert("model".into(), name.as_str().into());
            Ok(frames(pieces))
        }
        Writer::Model { client, model } => {
            let made = make_prompt(parts, job, scene).await.map_err(|error| {
                tracing::error!(node = %job.node, "the prompt could not be built: {error}");
                Fault::new("internal", "the prompt could not be built", "try again")
            })?;
            let request = request(job, model, &made, client.endpoint());
            metadata.insert("params".into(), Value::Object(request.params.clone()));
            metadata.insert("seed".into(), request.params.get("seed").cloned().unwrap_or_default());
            *trace = made.trace();
            trace.head.insert("model".into(), name.as_str().into());
            trace.head.insert("params".into(), Value::Object(request.params.clone()));
            Ok(client.stream(&request))
        }
    }
}

fn frames(pieces: Vec<String>) -> FrameStream {
    let finish = Frame::Finish(provider::Finish::Stop);
    stream::iter(pieces.into_iter().map(Frame::Text).chain([finish]).map(Ok)).boxed()
}

/// Lets a plugin write the reply. Its operations and dice belong to the reply like those of `on_reply`.
async fn narrate(
    parts: &Arc<Parts>,
    job: &Job,
    scene: &Scene,
    id: &str,
    proposal: &mut Proposal,
) -> Result<Vec<String>, Fault> {
    let facts = scene.next(job.node, job.asked_at, false);
    let stage = scene.stage(parts, &scene.rules, facts, job.dice_seed);
    let hint = "switch the plugin on in this session, or choose another model";
    let absent = || Fault::new("provider_misconfigured", format!("\"{id}\" does not play in this session"), hint);
    let player = stage.players.iter().find(|player| player.plugin.id() == id).cloned().ok_or_else(absent)?;
    parts.hooks.one(Hook::Narrate, &stage, &player, proposal).await;
    match proposal.answers.pop() {
        Some((_, Answer::Narration(pieces))) => Ok(pieces),
        Some((_, Answer::Refused(message))) => Err(Fault::new("provider_refused", message, "say something else")),
        _ => {
            let said = proposal.delta.problems.iter().rev().find(|problem| problem.plugin.as_deref() == Some(id));
            let message =
                said.map_or_else(|| "the narrator said nothing".to_owned(), |problem| problem.message.clone());
            Err(Fault::new("provider_failed", message, "try again; if it stays, tell the plugin's author"))
        }
    }
}

/// The prompt: blocks, and as much of the history as fits, read back page by page.
async fn make_prompt(parts: &Arc<Parts>, job: &Job, scene: &Scene) -> Result<Made, StoreError> {
    let generation = &parts.config.generation;
    let hide_tags = generation.hide_tags.clone();
    let status = prompt::status::block(&scene.world, &scene.rules.rules);
    let blocks = prompt::blueprint(&scene.cast, &status);
    let reply = usize::try_from(generation.reply_tokens).unwrap_or(0);
    let budget = usize::try_from(generation.context_tokens).unwrap_or(usize::MAX).saturating_sub(reply);
    let (session, user, context) = (job.session, job.user, scene.at.node.id);
    parts
        .store
        .read(move |reader| {
            let Some(held) = reader.session(user, session)? else { return Ok(Made::default()) };
            history(reader, &held, context, blocks, hide_tags, budget)
        })
        .await
}

fn history(
    reader: &mut Reader<'_>,
    held: &Held,
    context: NodeId,
    blocks: Vec<prompt::Block>,
    hide_tags: Vec<String>,
    budget: usize,
) -> Result<Made, StoreError> {
    let mut newest_first: Vec<(i64, prompt::Line)> = Vec::new();
    let mut costs: Vec<usize> = Vec::new();
    let mut before = None;
    let fitted = loop {
        let page = reader.page(held, context, before, PAGE, Show::Enabled)?;
        for placed in page.nodes.iter().rev().filter(|placed| placed.node.is_sent()) {
            let line = trace::line(&placed.node, &hide_tags);
            costs.push(prompt::tokens(&line.text));
            newest_first.push((placed.n, line));
        }
        let fitted = prompt::fit(&blocks, &costs, budget);
        before = page.next;
        if before.is_none() || fitted.kept < costs.len() {
            break fitted;
        }
    };
    let dropped = before.is_some() || fitted.kept < newest_first.len();
    newest_first.truncate(fitted.kept);
    newest_first.reverse();
    let (history, lines): (Vec<i64>, Vec<prompt::Line>) = newest_first.into_iter().unzip();
    let messages = prompt::weave(&blocks, &lines);
    Ok(Made { blocks, history, messages, tokens: fitted.tokens, dropped, hide_tags })
}

/// The request to the provider. Each reply has a seed of its own, so that a reroll is another reply and can be repeated;
/// an endpoint whose `extra` says `seed = null` is not sent one.
fn request(job: &Job, model: String, made: &Made, endpoint: &provider::Endpoint) -> Request {
    let mut params = job.params.clone();
    if !params.contains_key("seed") && !endpoint.extra.contains_key("seed") {
        params.insert("seed".into(), (job.dice_seed >> 33).into());
    }
    let messages =
        made.messages.iter().map(|sent| provider::Message { role: role(sent), name: None, content: sent.text.clone() });
    Request { model, messages: messages.collect(), params }
}

fn role(sent: &Sent) -> provider::Role {
    match sent.role {
        Role::System => provider::Role::System,
        Role::User => provider::Role::User,
        Role::Assistant => provider::Role::Assistant,
    }
}

/// Feeds the machine until the reply is over, and shows watchers what comes.
async fn stream_in(parts: &Arc<Parts>, job: &Job, machine: &mut Machine, mut frames: FrameStream) {
    let limit = parts.config.limits.generation;
    let deadline = tokio::time::sleep(limit);
    tokio::pin!(deadline);
    while !machine.is_over() {
        let event = tokio::select! {
            biased;
            () = job.running.cancelled() => Event::Cancelled,
            () = &mut deadline => {
                let message = format!("the reply took longer than {} s", limit.as_secs());
                Event::Failed(Fault::new("provider_timeout", message, "raise `limits.generation_s` or ask for less"))
            }
            frame = frames.next() => match frame {
                Some(Ok(frame)) => Event::Frame(frame),
                Some(Err(failure)) => Event::Failed(fault(&failure)),
                None => Event::Ended,
            },
        };
        if let Some(Action::Show { content, reasoning, phase }) = machine.on(event, parts.clock.now()) {
            parts.live.write(&job.running, &content, &reasoning, phase);
        }
    }
}

fn fault(failure: &Failure) -> Fault {
    Fault::new(failure.code(), failure.to_string(), failure.hint())
}

/// `on_reply` of every plugin in force, on the finished text.
async fn rules(parts: &Arc<Parts>, job: &Job, scene: &Scene, machine: &Machine, proposal: Proposal) -> Proposal {
    let facts = scene.next(job.node, job.asked_at, false);
    let mut stage = scene.stage(parts, &scene.rules, facts, job.dice_seed);
    stage.text = Arc::from(machine.content());
    stage.role = Role::Assistant.word();
    parts.hooks.run(Hook::OnReply, &stage, proposal).await
}

fn ending(
    job: &Job,
    scene: &Scene,
    machine: &Machine,
    delta: Delta,
    mut metadata: Map<String, Value>,
    mut trace: Trace,
) -> Ending {
    metadata.extend(machine.facts());
    for key in ["latencyMs", "firstTokenMs", "tokenCount", "cachedTokens", "cost", "finishReason", "error"] {
        if let Some(value) = metadata.get(key) {
            trace.head.insert(key.into(), value.clone());
        }
    }
    // A reply that failed or was stopped changes no world; what its rules said stays in the trace of the failure only.
    let delta = if machine.runs_rules() {
        delta
    } else {
        Delta { problems: delta.problems, runs: delta.runs, ..Delta::default() }
    };
    Ending {
        status: machine.status(),
        content: machine.content().to_owned(),
        reasoning: machine.reasoning().map(str::to_owned),
        name: Some(scene.cast.character.clone()).filter(|name| !name.is_empty()),
        metadata,
        delta,
        trace: Some(trace),
        asked: job.asked,
    }
}

/// Commit 2.
pub async fn commit(
    parts: &Arc<Parts>,
    session: SessionId,
    node: NodeId,
    step: i64,
    ending: Ending,
) -> Result<(), WriteError> {
    let at = parts.clock.now();
    parts.store.write(move |tx| tx.complete(session, node, step, at, &ending)).await?;
    Ok(())
}
