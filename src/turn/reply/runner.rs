//! One reply, from its placeholder to commit 2: read, build the prompt, stream, run the rules, commit. The only async part
//! of the journey; what happens when is decided by the machine.

use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::{Map, Value, json};

use crate::ids::{SessionId, UserId};
use crate::live::{Running, Stop};
use crate::plugin::{Answer, Hook, mvu};
use crate::prompt::TooLarge;
use crate::provider::{self, Frame};
use crate::store::{Draft, Ending, Reader, Trace, VALUES};
use crate::tree::edit::{Asked, Refusal};
use crate::tree::{Delta, Role};

use super::ends;
use super::requests::Request;
use super::voices::{self, Attempt, ToolsRefused, Wish};
use crate::turn::ask::fill::{Purpose, Wanted};
use crate::turn::ask::recount;
use crate::turn::ask::room::{self, Bounds};
use crate::turn::ask::trace::Made;
use crate::turn::machine::{self, Event, Fault, Machine};
use crate::turn::models::{Choice, Writer};
use crate::turn::rules::hooks::Proposal;
use crate::turn::scene::{self, Look, Scene};
use crate::turn::tools::Toolbox;
use crate::turn::{Parts, TurnError, rules::force};
use crate::turn::{ask, beside, models::counts, rules::proposed, tools};

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
    /// The placeholder.
    pub draft: Draft,
    pub source: Source,
    pub params: Map<String, Value>,
    /// The text that it goes on from.
    pub so_far: String,
    pub asked: Option<Asked>,
    /// The operation that asked for it.
    pub step: i64,
    pub running: Arc<Running>,
}

/// Runs a reply to its end. Whatever happens in between, also a panic, the node does not stay generating.
pub async fn run(parts: Arc<Parts>, job: Job) {
    let (session, node, step) = (job.session, job.draft.id, job.step);
    let (metadata, name) = (job.draft.metadata.clone(), job.draft.name.clone());
    let running = Arc::clone(&job.running);
    let work = std::panic::AssertUnwindSafe(write(&parts, job)).catch_unwind().await;
    let sent = parts.requests.take(node);
    let failed = match work {
        Ok(Ok(())) => None,
        // The session went to the trash, or the node was ended by somebody else: there is nothing left to end.
        Ok(Err(TurnError::Refused(refusal))) => {
            tracing::info!(%session, %node, "a reply came to nothing: {refusal}");
            None
        }
        Ok(Err(error)) => Some(error.to_string()),
        Err(_) => Some("the reply's task panicked".to_owned()),
    };
    if let Some(cause) = failed {
        tracing::error!(%session, %node, "a reply could not be committed: {cause}");
        let fault = Fault::new("internal", "the server failed while writing this reply", "try again");
        let written = running.written();
        parts.live.close(&running);
        let metadata = sent.as_ref().map_or(metadata, |sent| sent.metadata.clone());
        let trace = sent.map(|sent| sent.trace.clone()).unwrap_or_default();
        let ending = ends::failed(metadata, trace, &fault, written.content, written.reasoning);
        let ending = Ending { name, ..ending };
        if let Err(error) = ends::commit(&parts, session, node, step, ending).await {
            tracing::error!(%session, %node, "nor could its failure: {error}; the sweeper will try again");
        }
    }
    parts.live.end(node);
}

/// Who writes, once the name is understood.
enum Pen {
    Given(String),
    Narrator { name: String, plugin: String },
    Model { name: String, choice: Choice },
    Nobody(Fault),
}

fn pen(parts: &Parts, source: &Source) -> Pen {
    let name = match source {
        Source::Given(text) => return Pen::Given(text.clone()),
        Source::Named(name) => name.clone(),
    };
    match parts.models.find(&name) {
        Ok(Writer::Narrator(plugin)) => Pen::Narrator { name, plugin: plugin.id().to_owned() },
        Ok(Writer::Model(choice)) => Pen::Model { name, choice },
        Err(error) => {
            let hint = "choose another model, or look at the configuration";
            Pen::Nobody(Fault::new("provider_misconfigured", error.to_string(), hint))
        }
    }
}

/// What is known of a reply besides its text.
#[derive(Default)]
struct Known {
    proposal: Proposal,
    metadata: Map<String, Value>,
    trace: Trace,
    /// The provider that was asked, and its model.
    asked: Option<(String, String)>,
    /// What its prompt was estimated at, before anything was learned.
    estimated: usize,
    /// What lore says to the model that keeps the values.
    rules: Vec<String>,
}

impl Known {
    /// Nothing yet.
    fn of(job: &Job, scene: &Scene) -> Self {
        let proposal = Proposal::on(Arc::clone(&scene.world));
        Self { proposal, metadata: job.draft.metadata.clone(), ..Self::default() }
    }

    /// Keeps what is known before the reply, for the case that it never ends by itself.
    fn keep(&self, parts: &Parts, job: &Job) {
        let request = Request { metadata: self.metadata.clone(), trace: self.trace.clone() };
        parts.requests.keep(job.draft.id, request);
    }
}

async fn write(parts: &Arc<Parts>, job: Job) -> Result<(), TurnError> {
    let is_queued = job.running.is_queued();
    if let Err(stop) = job.running.turn().await {
        return dismiss(parts, &job, stop).await;
    }
    let mut machine = Machine::new(job.draft.created).going_on_from(&job.so_far);
    let waited = is_queued.then(|| parts.clock.now().since(job.draft.created));
    let (scene, mut known) = compose(parts, &job, &mut machine, waited).await?;
    if machine.runs_rules() {
        let text = with_values(parts, &job, &scene, &machine, &mut known).await;
        known.proposal = rules(parts, &job, &scene, text, known.proposal, &known.metadata).await;
        known.proposal.delta.problems.extend(force::unlike(&scene.rules.plugins, &scene.catalogue));
    }
    let (asks, summaries) = match machine.runs_rules() {
        true => (std::mem::take(&mut known.proposal.asks), std::mem::take(&mut known.proposal.summaries)),
        false => Default::default(),
    };
    let summaries = proposed::all(parts, summaries);
    let ending = ending(parts, &job, &scene, &machine, known);
    tell(&job, &ending);
    parts.live.close(&job.running);
    ends::commit_with(parts, job.session, (job.draft.id, job.step), ending, summaries).await?;
    beside::Asking::put(parts, job.session, job.user, job.draft.id, asks);
    if scene.session().summaries.is_on {
        parts.summing.ring(job.session, job.draft.id);
    }
    Ok(())
}

/// Reads the scene and has the text written; once more, with another prompt, where a model's server refuses to be told of tools.
async fn compose(
    parts: &Arc<Parts>,
    job: &Job,
    machine: &mut Machine,
    waited: Option<u64>,
) -> Result<(Scene, Known), TurnError> {
    let mut refused: Option<ToolsRefused> = None;
    loop {
        let pen = pen(parts, &job.source);
        let (scene, made) = read_to_fit(parts, job, &pen).await?;
        let written = made.as_ref().map(|made| made.filled.operations.clone()).unwrap_or_default();
        let mut known = Known::of(job, &scene);
        known.metadata.extend(waited.map(|waited| ("queuedMs".to_owned(), waited.into())));
        known.proposal.begin_with(written, &scene.rules.rules);
        match open(parts, job, &scene, pen, made, &mut known).await {
            Ok(Text::Whole(pieces)) => take(parts, job, machine, pieces),
            Ok(Text::Asked { choice, made }) => {
                known.trace.head.extend(refused.as_ref().map(told_of_refusal));
                let again = hear_one(parts, job, &scene, machine, (&choice, &made), &mut known).await;
                if let Some(again) = again {
                    match refused {
                        None => {
                            remember(parts, &again);
                            refused = Some(again);
                            continue;
                        }
                        // It was told in words by now, so this cannot be; nobody is asked for ever.
                        Some(_) => {
                            let fault = Fault::new("provider_refused", again.why, "set `tools = \"none\"` there");
                            machine.on(Event::Failed(fault), parts.clock.now());
                        }
                    }
                }
            }
            Err(fault) => _ = machine.on(Event::Failed(fault), parts.clock.now()),
        }
        return Ok((scene, known));
    }
}

/// From now on the model is told of tools in words.
fn remember(parts: &Parts, ToolsRefused { candidate, why }: &ToolsRefused) {
    tracing::info!(model = candidate.name, "from now on it is told of tools in words: {why}");
    parts.models.use_words(&candidate.client.endpoint().id, &candidate.model);
}

/// What the trace tells of that.
fn told_of_refusal(ToolsRefused { candidate, why }: &ToolsRefused) -> (String, Value) {
    ("toolsInWords".to_owned(), json!({"model": candidate.name, "why": why}))
}

/// Ends a reply whose turn never came.
async fn dismiss(parts: &Arc<Parts>, job: &Job, stop: Stop) -> Result<(), TurnError> {
    let fault = match stop {
        Stop::Cancelled => machine::unsaid(),
        Stop::Interrupted => ends::interrupted(),
    };
    let so_far = job.running.written().content;
    let ending = ends::failed(job.draft.metadata.clone(), Trace::default(), &fault, so_far, String::new());
    let ending = Ending { name: job.draft.name.clone(), ..ending };
    tell(job, &ending);
    parts.live.close(&job.running);
    Ok(ends::commit(parts, job.session, job.draft.id, job.step, ending).await?)
}

/// Reads, and once more where the model server says that the prompt is too large: by then it is known how it counts.
async fn read_to_fit(parts: &Arc<Parts>, job: &Job, pen: &Pen) -> Result<(Scene, Option<Made>), TurnError> {
    let (scene, mut made) = read(parts, job, pen).await?;
    let (Pen::Model { choice, .. }, Some(first)) = (pen, &mut made) else { return Ok((scene, made)) };
    if recount::fits(parts, &choice.first, &job.params, first).await {
        return Ok((scene, made));
    }
    let (scene, mut made) = read(parts, job, pen).await?;
    if let Some(again) = &mut made {
        recount::fits(parts, &choice.first, &job.params, again).await;
    }
    Ok((scene, made))
}

/// The scene at the context node, which is the world just before the reply, and the prompt there if a model is asked: one
/// snapshot for both.
async fn read(parts: &Arc<Parts>, job: &Job, pen: &Pen) -> Result<(Scene, Option<Made>), TurnError> {
    let bounds = match pen {
        Pen::Model { choice, .. } => {
            let place = (job.user, job.session, job.draft.id);
            let recall = parts.memories.ask(&parts.store, parts.clock.now(), place, None).await;
            Some(Bounds { recall, ..room::bounds(parts, choice, &job.params) })
        }
        _ => None,
    };
    let wanted = match job.so_far.as_str() {
        "" => Wanted::Reply,
        text => Wanted::More(text.to_owned()),
    };
    let look = Look { speaker: job.draft.character, ..Look::at(parts, job.user, job.session, job.draft.id) };
    let inside = Arc::clone(parts);
    parts
        .store
        .read(move |reader: &mut Reader<'_>| {
            let held = reader.session(look.caller, look.session)?.ok_or(Refusal::NotFound("the session"))?;
            let placeholder = reader.node(&held, look.node)?.ok_or(Refusal::NotFound("the message"))?;
            let context = placeholder.node.parent.ok_or(Refusal::NotFound("the message"))?;
            let mut scene = scene::read_in(reader, held, &Look { node: context, ..look })?;
            let purpose = Purpose { wanted, number: reader.siblings(&placeholder)?.index };
            let made = bounds.map(|bounds| ask::prompt(&inside, reader, &mut scene, bounds, &purpose)).transpose()?;
            Ok((scene, made))
        })
        .await
}

/// Opens the text: of models, of a narrating plugin, or what was said already.
async fn open(
    parts: &Arc<Parts>,
    job: &Job,
    scene: &Scene,
    pen: Pen,
    made: Option<Made>,
    known: &mut Known,
) -> Result<Text, Fault> {
    match (pen, made) {
        (Pen::Given(text), _) => Ok(Text::Whole(vec![text])),
        (Pen::Nobody(fault), _) => Err(fault),
        (Pen::Narrator { name, plugin }, _) => {
            known.trace.head.insert("model".into(), name.into());
            known.keep(parts, job);
            narrate(parts, job, scene, &plugin, &mut known.proposal).await.map(Text::Whole)
        }
        (Pen::Model { name, choice }, made) => {
            let made = made.unwrap_or_default();
            known.trace = made.trace();
            known.rules.clone_from(&made.values);
            known.proposal.delta.problems.extend(made.planned.problems.clone());
            known.trace.head.insert("model".into(), name.as_str().into());
            if let Some(too_large) = made.too_large {
                return Err(does_not_fit(too_large, made.has_preset()));
            }
            if name != choice.first.name && name != choice.first.model {
                known.metadata.insert("alias".into(), name.into());
            }
            Ok(Text::Asked { choice, made: Box::new(made) })
        }
    }
}

/// The text of a reply.
enum Text {
    /// It is there: somebody gave it, or a narrator wrote it together with what it does to the world.
    Whole(Vec<String>),
    /// Models are asked for it.
    Asked { choice: Choice, made: Box<Made> },
}

/// Hears the one of the models that answers, and notes each that is asked before it is. Hands back that a server refused to be told
/// of tools.
async fn hear_one(
    parts: &Arc<Parts>,
    job: &Job,
    scene: &Scene,
    machine: &mut Machine,
    (choice, made): (&Choice, &Made),
    known: &mut Known,
) -> Option<ToolsRefused> {
    let wish = Wish { choice, made, params: &job.params, dice_seed: job.draft.dice_seed };
    known.estimated = counts::estimated(&made.messages);
    let is_many = known.metadata.contains_key("alias");
    let mut proposal = std::mem::take(&mut known.proposal);
    let facts = scene.next(job.draft.id, job.draft.created, false);
    let stage = scene.stage(&scene.rules, facts, job.draft.dice_seed);
    let mut at_work = Toolbox::new(parts, &made.tools, stage, &mut proposal);
    let at_work = (!made.tools.is_empty()).then_some(&mut at_work);
    if at_work.is_some() {
        machine.let_call(tools::ROUNDS, made.tools.are_spoken);
    }
    let note = |attempt: &Attempt<'_>| {
        let candidate = attempt.candidate;
        if is_many {
            known.metadata.insert("model".into(), candidate.name.as_str().into());
        }
        known.metadata.extend(attempt.passed_over().map(|passed| ("passedOver".to_owned(), passed)));
        known.trace.head.extend(attempt.template.clone().map(|template| ("template".to_owned(), template)));
        known.metadata.insert("seed".into(), attempt.params.get("seed").cloned().unwrap_or_default());
        known.metadata.insert("params".into(), Value::Object(attempt.params.clone()));
        known.trace.head.insert("params".into(), Value::Object(attempt.params.clone()));
        known.asked = Some((candidate.client.endpoint().id.clone(), candidate.model.clone()));
        known.keep(parts, job);
    };
    let refused = voices::speak(parts, &job.running, machine, &wish, at_work, note).await;
    known.proposal = proposal;
    refused
}

/// Takes a text that is there whole; or, where the reply was stopped before, nothing of it, since what a narrator did goes
/// with all of its words.
fn take(parts: &Arc<Parts>, job: &Job, machine: &mut Machine, pieces: Vec<String>) {
    let events = match job.running.stopped().now_or_never() {
        Some(stop) => vec![voices::halt(stop)],
        None => {
            let finish = Frame::Finish(provider::Finish::Stop);
            pieces.into_iter().map(Frame::Text).chain([finish]).map(Event::Frame).chain([Event::Ended]).collect()
        }
    };
    for event in events {
        if !machine.is_over() {
            voices::hear(parts, &job.running, machine, event);
        }
    }
}

/// Lets a plugin write the reply. Its operations and dice belong to the reply like those of `on_reply`.
async fn narrate(
    parts: &Arc<Parts>,
    job: &Job,
    scene: &Scene,
    id: &str,
    proposal: &mut Proposal,
) -> Result<Vec<String>, Fault> {
    let facts = scene.next(job.draft.id, job.draft.created, false);
    let stage = scene.stage(&scene.rules, facts, job.draft.dice_seed);
    let hint = "switch the plugin on in this session, or choose another model";
    let absent = || Fault::new("provider_misconfigured", format!("\"{id}\" does not play in this session"), hint);
    let player = stage.players.iter().find(|player| player.plugin.id() == id).cloned().ok_or_else(absent)?;
    parts.hooks.one(Hook::Narrate, &stage, &player, proposal).await;
    let hint = "try again; if it stays, tell the plugin's author";
    match proposal.answers.pop() {
        Some((_, Answer::Narration(pieces))) if pieces.iter().any(|piece| !piece.trim().is_empty()) => Ok(pieces),
        Some((_, Answer::Narration(_))) => {
            Err(Fault::new("empty_reply", format!("the plugin \"{id}\" answered without any text"), hint))
        }
        Some((_, Answer::Refused(message))) => {
            Err(Fault::new("plugin_refused", format!("the plugin \"{id}\": {message}"), "say something else"))
        }
        _ => {
            let said = proposal.delta.problems.iter().rev().find(|problem| problem.plugin.as_deref() == Some(id));
            let why = said.map_or("it said nothing", |problem| problem.message.as_str());
            Err(Fault::new("plugin_failed", format!("the plugin \"{id}\" failed: {why}"), hint))
        }
    }
}

/// A prompt that cannot be made: what says who plays takes more than there is.
pub fn does_not_fit(TooLarge { needed, budget }: TooLarge, has_preset: bool) -> Fault {
    let whose = if has_preset { "of the preset and the character" } else { "of the character" };
    let message =
        format!("the texts {whose} take about {needed} tokens, and the model's context has {budget} for the prompt");
    let hint = if has_preset {
        "shorten the preset or the card, or give the preset (`openai_max_context`) and the model a longer context"
    } else {
        "shorten the card, give the model a longer context, or raise `generation.context_tokens`"
    };
    Fault::new("prompt_too_large", message, hint)
}

/// The text as rules read it: where the session wants its values kept by another model, with what that says. Who stops the reply by
/// then stops only that.
async fn with_values(parts: &Arc<Parts>, job: &Job, scene: &Scene, machine: &Machine, known: &mut Known) -> Arc<str> {
    let plain = machine.content();
    let hide_tags = &parts.config.generation.hide_tags;
    let read = |metadata: &Map<String, Value>| beside::with_values(hide_tags, Role::Assistant, plain, metadata);
    let Some(model) = scene.values_model() else { return read(&known.metadata) };
    parts.live.write(&job.running, "", "", "values");
    let kept = tokio::select! {
        biased;
        _ = job.running.stopped() => beside::Kept::none(model, "it was stopped"),
        kept = beside::keep_values(parts, scene, (&known.rules, &known.proposal.world), model, plain) => kept,
    };
    let mut traced = kept.told.clone();
    traced.insert("messages".into(), kept.messages.into());
    traced.extend(kept.answer.map(|answer| ("answer".to_owned(), answer.into())));
    let own = mvu::commands_in(plain);
    if own > 0 {
        let told = format!("the commands of the reply itself ({own}) count for nothing: {model} keeps the values");
        traced.insert("ignored".into(), told.into());
    }
    known.trace.head.insert(VALUES.into(), traced.into());
    known.metadata.insert(VALUES.into(), kept.told.into());
    known.proposal.delta.problems.extend(kept.trouble);
    read(&known.metadata)
}

/// `on_reply` of every plugin in force, on the finished text, after what the model that keeps the values says of those that do not
/// read it.
async fn rules(
    parts: &Arc<Parts>,
    job: &Job,
    scene: &Scene,
    text: Arc<str>,
    mut proposal: Proposal,
    metadata: &Map<String, Value>,
) -> Proposal {
    let facts = scene.next(job.draft.id, job.draft.created, false);
    let mut stage = scene.stage(&scene.rules, facts, job.draft.dice_seed);
    stage.text = text;
    stage.role = Role::Assistant.word();
    beside::keep(&stage, metadata, &mut proposal);
    parts.hooks.run(Hook::OnReply, &stage, proposal).await
}

/// What failed, for the host: never what people wrote.
fn tell(job: &Job, ending: &Ending) {
    let Some(code) = ending.metadata.get("error").and_then(|error| error.get("code")?.as_str()) else { return };
    let (session, node) = (job.session, job.draft.id);
    let model = ending.metadata.get("model").and_then(Value::as_str).unwrap_or_default();
    match code {
        "cancelled" | "interrupted" => tracing::info!(%session, %node, model, code, "a reply was stopped"),
        _ => tracing::warn!(%session, %node, model, code, "a reply failed"),
    }
}

/// What a node's metadata say that its trace says too.
const TRACED: [&str; 15] = [
    "model",
    "alias",
    "passedOver",
    "params",
    "queuedMs",
    "latencyMs",
    "firstTokenMs",
    "tokenCount",
    "cachedTokens",
    "cost",
    "costFrom",
    "saved",
    "toolCalls",
    "finishReason",
    "error",
];

fn ending(parts: &Parts, job: &Job, scene: &Scene, machine: &Machine, known: Known) -> Ending {
    let Known { proposal: Proposal { delta, .. }, mut metadata, mut trace, asked, estimated, .. } = known;
    metadata.extend(machine.facts());
    if let (Some((provider, model)), Some(usage)) = (&asked, machine.usage()) {
        // Of several requests only the sum is known.
        if !machine.has_called() {
            parts.models.learn_size(provider, model, estimated, usage.prompt);
        }
        beside::price(parts, &mut metadata, (provider, model), &usage);
    }
    for key in TRACED {
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
