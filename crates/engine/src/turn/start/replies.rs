//! The placeholders of replies, and commit 1, which writes them and starts their runners.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value};

use crate::live::LiveSessions;
use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, UserId};
use clotho_core::oplog::OperationKind;
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::reply_facts::GenerationOverride;
use clotho_core::tree::{Kind, NodeMetadata, Role, Session, Status};
use clotho_plugin::{PluginModelCall, SummaryProposal};
use clotho_store::{Actor, ExpectedVersion, IdempotencyClaim, MessageWrite, NodeDraft, StoredSession};

use super::input::PluginReply;
use super::new_session;
use crate::turn::models::ReplyWriter;
use crate::turn::prompts::PromptServices;
use crate::turn::reply::runner::{ReplyJob, ReplyJobSource};
use crate::turn::running::RunningWork;
use crate::turn::services::TurnServices;
use crate::turn::{GenerationSpec, TurnError, TurnReceipt, rules::summary_proposals, side_calls};

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

/// Returns the actor of a write.
pub fn actor(user: UserId, at: Time, expected_leaf: Option<ExpectedVersion>) -> Actor {
    Actor { user, at, expected_leaf }
}

/// Early check whether HEAD is where the writer saw it; enforced again in commit 1.
pub fn stale(stored: &StoredSession, expected: Option<ExpectedVersion>) -> Result<(), TreeError> {
    expected.map_or(Ok(()), |seen| seen.check(&stored.session))
}

/// Returns the placeholders of the requested replies.
pub fn replies(
    parts: &TurnServices,
    session: &Session,
    caller: UserId,
    name: &str,
    options: &GenerateOptions,
    now: Time,
) -> Result<Vec<NodeDraft>, TurnError> {
    let Some(generate) = &options.generate else { return Ok(Vec::new()) };
    let mut metadata = request_metadata(&parts.prompts, session, generate, options.plugin_reply.as_ref())?;
    if let Some(continued) = &options.continued {
        metadata.continued_from = Some(continued.node);
    }
    if let Some(character) = generate.character.filter(|id| !new_session::has_character(session, *id)) {
        let message = format!("the character {character} is not in this session");
        return Err(TurnError::Invalid { field: "characterId", message });
    }
    // A plugin's reply exists only once.
    let n = if options.plugin_reply.is_some() { 1 } else { generate.n.max(1) };
    check_quota(&parts.work, caller, n)?;
    let draft = |_| {
        let id = NodeId::new(parts.storage.ids.next_id(now));
        let mut draft = NodeDraft::new(id, Role::Assistant, Kind::Message, parts.storage.ids.next_seed(), now);
        draft.status = Status::Generating;
        draft.author = Some(caller);
        draft.character = generate.character.or(session.cards.first().map(|card| card.id));
        draft.name = Some(name.to_owned()).filter(|name| !name.is_empty());
        *draft.metadata = metadata.clone();
        draft
    };
    Ok((0..n).map(draft).collect())
}

/// Returns the initial metadata of a reply: model, parameters, and what the request overrides.
fn request_metadata(
    prompt_services: &PromptServices,
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
        prompt_services
            .models
            .find(named)
            .map_err(|error| TurnError::Invalid { field: "model", message: error.to_string() })?;
    }
    metadata.reply.model = Some(model(prompt_services, session, generate));
    metadata.reply.params = Some(merged_params(session, generate));
    if generate.model.is_some() || !generate.params.is_empty() {
        let (model, params) = (generate.model.clone(), generate.params.clone());
        metadata.overridden = Some(GenerationOverride { model, params, rest: Map::new() });
    }
    Ok(metadata)
}

/// Returns the model to ask: the request's, the session's, or the default.
pub fn model(prompt_services: &PromptServices, session: &Session, generate: &GenerationSpec) -> String {
    generate.model.as_ref().or(session.model.as_ref()).cloned().unwrap_or_else(|| prompt_services.models.default_name())
}

/// Checks that a narrator can read the text. Without the check a long message would count as the plugin's violation.
pub fn check_content_length(
    prompt_services: &PromptServices,
    session: &Session,
    generate: Option<&GenerationSpec>,
    content: &str,
) -> Result<(), TurnError> {
    let asked = generate.map(|generate| prompt_services.models.find(&model(prompt_services, session, generate)));
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
fn check_quota(work: &RunningWork, caller: UserId, n: u32) -> Result<(), TurnError> {
    let (n, ever) = (usize::try_from(n).unwrap_or(usize::MAX), work.live.max_per_request());
    if n > ever {
        return Err(TurnError::Invalid {
            field: "n",
            message: format!("one request may ask for at most {ever} replies here"),
        });
    }
    if work.live.has_room(caller, n) { Ok(()) } else { Err(TurnError::TooMany) }
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
    parts: &Arc<TurnServices>,
    actor: Actor,
    message: MessageWrite,
    session: &Session,
    options: GenerateOptions,
) -> Result<Option<TurnReceipt>, TurnError> {
    let drafts = message.replies.clone();
    let nodes: Vec<NodeId> = drafts.iter().map(|draft| draft.id).collect();
    let node = message.draft.as_ref().map(|draft| draft.id);
    let session_id = message.session;
    let so_far = options.continued.as_ref().map_or_else(String::new, |continued| continued.text.clone());
    // Register before the commit: the orphan check must never see an unregistered placeholder.
    let running = parts.work.live.enqueue_replies(session_id, &nodes, actor.user, &so_far).ok_or(TurnError::TooMany)?;
    let mut unclaimed = UnclaimedReplies { live: Arc::clone(&parts.work.live), nodes: nodes.clone() };
    if parts.work.is_stopping.load(Ordering::SeqCst) {
        return Err(TurnError::Stopped);
    }
    let claim = IdempotencyClaim::current();
    let mut receipt = TurnReceipt { node, generations: nodes.clone(), op: 0 };
    let summaries = summary_proposals::proposed_summaries(&parts.storage, options.summaries);
    let written = parts
        .storage
        .store
        .write(move |tx| {
            // An edited message does not exist yet, so no other request can have added a change node below it.
            if message.kind != OperationKind::Edit
                && let Some(rules) = message.rules_change.as_ref().and_then(|bridge| bridge.rules.as_ref())
                && tx.has_rules_change(actor.user, message.session, message.parent, rules)?
            {
                return Ok(None);
            }
            let written = tx.add_message(&actor, &message)?;
            if let Some(node) = node {
                summaries.iter().try_for_each(|one| tx.propose_summary(session_id, node, one).map(drop))?;
            }
            receipt.op = written.op;
            tx.record_claim(claim.as_ref(), &receipt)?;
            Ok(Some(written))
        })
        .await?;
    let Some(written) = written else { return Ok(None) };
    // The nodes are committed: start side calls and runners.
    unclaimed.nodes.clear();
    if let Some(node) = node {
        side_calls::spawn_asks(parts, session_id, actor.user, node, options.asks);
    }
    let generate = options.generate.unwrap_or_default();
    for (i, (draft, running)) in drafts.into_iter().zip(running).enumerate() {
        let source = match &options.plugin_reply {
            Some(given) => ReplyJobSource::PluginText(given.text.clone()),
            None => ReplyJobSource::Model(model(&parts.prompts, session, &generate)),
        };
        let job = ReplyJob {
            session: session_id,
            user: actor.user,
            source,
            params: merged_params(session, &generate),
            prefix: so_far.clone(),
            // Of several replies only the first may move HEAD (`docs/domain.md` 5.2).
            asked: (options.move_head && i == 0).then_some(written.asked),
            step: written.op,
            running,
            draft,
        };
        parts.work.runtime.spawn(crate::turn::reply::runner::run(Arc::clone(parts), job));
    }
    Ok(Some(TurnReceipt { node, generations: nodes, op: written.op }))
}
