//! Automatic summaries in the background (`docs/memory.md`). After a turn of a session that has them on, a model
//! summarises messages that have dropped out of its prompts, or soon will. Enough summaries become a chapter.
//!
//! No turn waits for this. One call runs at a time per session, and [`MAX_CONCURRENT`] in all. After a failure it
//! pauses, longer each time, and at last until the next turn. Nothing is written before an answer is complete, so it
//! needs no saved progress: after a restart the remaining work follows from the stored summaries.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::turn::problem::ModelCallProblem;
use clotho_compat::prompt::recall::embed_prefix;
use clotho_compat::prompt::{self, OutgoingMessage, PromptLine, summaries, tags};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{NodeId, SessionId, SummaryId};
use clotho_core::tree::{Session, SummaryMetadata};
use clotho_store::{NewSummary, PathFilter, StoreError, StoreReader, StoredNode, StoredSession};

use crate::turn::models::ModelSelection;
use crate::turn::prompts::PromptServices;
use crate::turn::prompts::prompt_bounds::{LastPrompt, PromptBounds};
use crate::turn::prompts::summary_block::BranchSummaries;
use crate::turn::prompts::trace::BuiltPrompt;
use crate::turn::services::TurnServices;
use crate::turn::{GenerationSpec, draft, prompts::prompt_bounds, prompts::trace, side_calls, start};

/// The number of summaries made after one turn; the rest waits for the next turn.
const AT_A_TIME: usize = 32;
/// The pause after the first failure. It doubles each time.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause between two attempts.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// After this many failures in a row the session waits for its next turn.
const MAX_ATTEMPTS: u32 = 6;
/// The number of messages read at once.
const PIECE: usize = 32;
/// The number of newest messages that are searched for the last prompt.
const NEWEST: i64 = 16;
/// The least number of tokens that a summary may have.
const SHORTEST: usize = 64;
/// A gap between two summaries is skipped if it has less than this fraction of the tokens of one summary.
const SMALLEST: usize = 8;

/// Runs the summarizer while the runtime lives: first what the last shutdown left, then what is scheduled.
pub async fn run_summarizer(parts: &Arc<TurnServices>) {
    match parts.storage.store.read::<_, StoreError, _>(|reader| reader.sessions_with_summaries()).await {
        Ok(all) => all.into_iter().for_each(|(session, head)| parts.work.summary_queue.schedule(session, head)),
        Err(error) => tracing::error!("the messages to summarise could not be read: {error}"),
    }
    loop {
        for session in parts.work.summary_queue.take_new() {
            tokio::spawn(run_session(Arc::clone(parts), session));
        }
        parts.work.summary_queue.wake.notified().await;
    }
}

async fn run_session(parts: Arc<TurnServices>, session: SessionId) {
    let (mut pause, mut failures) = (FIRST_PAUSE, 0);
    while let Some(leaf) = parts.work.summary_queue.next(session) {
        // Limit the cost when a long story gets its first summaries.
        for _ in 0..AT_A_TIME {
            if parts.work.is_stopping.load(Ordering::SeqCst) {
                return;
            }
            match summarize_step(&parts, session, leaf).await {
                Ok(is_more) => {
                    parts.work.summary_queue.problems().remove(&session);
                    (pause, failures) = (FIRST_PAUSE, 0);
                    if !is_more {
                        break;
                    }
                }
                Err(why) => {
                    failures += 1;
                    tracing::warn!(%session, ?pause, "summaries are paused: {why}");
                    parts.work.summary_queue.problems().insert(session, why);
                    if failures >= MAX_ATTEMPTS {
                        parts.work.summary_queue.pending().remove(&session);
                        return;
                    }
                    tokio::time::sleep(pause).await;
                    pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
                }
            }
        }
    }
}

/// One summary to ask for.
struct SummaryTask {
    level: i16,
    /// The rows of the messages, oldest first.
    rows: Vec<i64>,
    messages: Vec<OutgoingMessage>,
}

/// Makes one summary; returns `true` if there may be more to do.
async fn summarize_step(parts: &Arc<TurnServices>, session: SessionId, leaf: NodeId) -> Result<bool, RenderedMessage> {
    let read = move |reader: &mut StoreReader<'_>| Ok(reader.any_session(session)?.map(|stored| stored.session));
    let session = parts.storage.store.read::<_, StoreError, _>(read).await.map_err(error_text)?;
    let Some(session) = session.filter(|session| session.summaries.is_on) else { return Ok(false) };
    let (choice, params) = select_model(&parts.prompts, &session)?;
    let bounds = prompt_bounds::prompt_bounds(&parts.prompts, &choice, &params);
    let id = session.id;
    let look = bounds.clone();
    let task = parts
        .storage
        .store
        .read::<_, StoreError, _>(move |reader| next_task(reader, id, leaf, &look))
        .await
        .map_err(error_text)?;
    let Some(SummaryTask { level, rows, messages }) = task else { return Ok(false) };
    // Limit the reply: a summary longer than the share of all summaries would never be used.
    let most = bounds.budget.saturating_mul(bounds.summaries.share) / 100;
    let reply = bounds.reply_tokens.min(most.max(SHORTEST));
    let prompt =
        BuiltPrompt { messages, reply_tokens: reply, context_tokens: bounds.context_tokens, ..BuiltPrompt::default() };
    let _place = parts.work.summary_queue.slots.acquire().await.map_err(error_text)?;
    let (content, reply) = side_calls::complete(&parts.storage, &parts.prompts, &choice, &params, &prompt).await?;
    let content = tags::hide_for_reader(&content, false, &bounds.hide_tags).unwrap_or(content).trim().to_owned();
    let created = parts.storage.clock.now();
    let metadata = SummaryMetadata { reply, ..SummaryMetadata::default() };
    let new =
        NewSummary { id: SummaryId::new(parts.storage.ids.next_id(created)), level, rows, content, metadata, created };
    if new.content.is_empty() {
        return Err(RenderedMessage::new(&ModelCallProblem::HiddenAnswer {}));
    }
    parts.storage.store.write(move |tx| tx.put_summary(id, &new)).await.map_err(error_text)?;
    Ok(true)
}

fn error_text(error: impl std::fmt::Display) -> RenderedMessage {
    error.to_string().into()
}

/// Returns the model and its parameters. The session's parameters are only used for its own model.
fn select_model(
    prompt_services: &PromptServices,
    session: &Session,
) -> Result<(ModelSelection, Map<String, Value>), RenderedMessage> {
    let model = session.summaries.model.clone();
    let is_own = model.is_none();
    let generate = GenerationSpec { n: 1, model, params: Map::new(), character: None };
    let choice = draft::select_model(prompt_services, session, &generate).map_err(error_text)?;
    let params = if is_own { start::merged_params(session, &generate) } else { Map::new() };
    Ok((choice, params))
}

/// Returns the next summary to make on the branch to a node.
fn next_task(
    reader: &mut StoreReader<'_>,
    session: SessionId,
    leaf: NodeId,
    bounds: &PromptBounds,
) -> Result<Option<SummaryTask>, StoreError> {
    let Some(stored) = reader.any_session(session)? else { return Ok(None) };
    let Some(at) = reader.node(&stored, leaf)? else { return Ok(None) };
    let newest = reader.newest_page(&stored, &at, NEWEST, PathFilter::Enabled)?.nodes;
    let Some(last) = prompt_bounds::last_prompt(reader, newest.iter().rev())? else { return Ok(None) };
    let summaries = BranchSummaries::at_node(reader, &stored, &at, &bounds.measure)?;
    if let Some(end) = hidden_end(&last, &summaries)
        && let Some(task) = message_task(reader, &stored, &summaries, end, bounds)?
    {
        return Ok(Some(task));
    }
    Ok(chapter_task(&summaries, bounds))
}

/// Returns the index before which messages have dropped out of prompts, or soon will. That is all that the last prompt
/// did not hold, and the older half of what it did. `None` if the last prompt was neither cut nor over three quarters
/// full.
fn hidden_end(last: &LastPrompt, branch_summaries: &BranchSummaries) -> Option<usize> {
    let begin = last.history.iter().find_map(|row| branch_summaries.places.get(row))?;
    let is_cut = last.head.history_cut.get().is_some();
    let tokens = last.head.tokens.as_ref().map(|tokens| tokens.count);
    let budget = last.head.summaries.as_ref().and_then(|summaries| summaries.budget);
    let is_full = tokens.zip(budget).is_some_and(|(tokens, budget)| tokens > budget / 4 * 3);
    (is_cut || is_full).then(|| begin + last.history.len() / 2)
}

/// Returns the number of message tokens that become one summary.
fn chunk_tokens(session: &Session, bounds: &PromptBounds) -> usize {
    let wanted = session.summaries.every.and_then(|every| usize::try_from(every).ok());
    wanted.unwrap_or(bounds.summaries.every).min(bounds.budget / 4).max(1)
}

/// Takes the oldest messages before `end` that have no summary, if they are enough.
fn message_task(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    summaries: &BranchSummaries,
    end: usize,
    bounds: &PromptBounds,
) -> Result<Option<SummaryTask>, StoreError> {
    let every = chunk_tokens(&stored.session, bounds);
    for gap in summaries::gaps(&summaries.spans, end) {
        let rows = summaries.rows.get(gap.first..gap.end).unwrap_or_default();
        let (mut tokens, mut taken, mut lines) = (0, 0, Vec::new());
        'reading: for some in rows.chunks(PIECE) {
            for placed in reader.nodes_by_row(stored, some)? {
                taken += 1;
                if let Some(line) = message_line(&placed, bounds) {
                    tokens += bounds.measure.message(&line.text);
                    lines.push(line);
                }
                if tokens >= every {
                    break 'reading;
                }
            }
        }
        let is_enough = tokens >= every || (gap.is_closed && tokens > every / SMALLEST);
        if is_enough && !lines.is_empty() {
            let rows = rows.get(..taken).unwrap_or_default().to_vec();
            return Ok(Some(SummaryTask { level: 1, rows, messages: prompt::summary_messages(&lines) }));
        }
    }
    Ok(None)
}

/// Returns a message as the model sees it; `None` for messages that are never sent.
fn message_line(placed: &StoredNode, bounds: &PromptBounds) -> Option<PromptLine> {
    let line = trace::prompt_line(&placed.node, &bounds.hide_tags);
    let text = embed_prefix(&line.text, bounds.budget / 2).to_owned();
    (placed.node.is_in_prompt() && !text.trim().is_empty()).then_some(PromptLine { text, ..line })
}

/// Makes a chapter of the oldest summaries outside any chapter, if there are enough.
fn chapter_task(summaries: &BranchSummaries, bounds: &PromptBounds) -> Option<SummaryTask> {
    let chosen = summaries::next_chapter(&summaries.spans, bounds.summaries.chapter)?;
    let spans = || chosen.iter().filter_map(|at| summaries.spans.get(*at));
    let rows = summaries.rows.get(spans().next()?.first..=spans().next_back()?.last)?.to_vec();
    let texts = chosen.iter().filter_map(|at| summaries.all.get(*at)).map(|one| one.content.clone());
    let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
    let level = spans().next()?.level + 1;
    (!texts.is_empty()).then(|| SummaryTask { level, rows, messages: summaries::chapter_messages(&texts) })
}
