//! Keeping what runs: partial texts on disk every second, all of them in one commit; replies that nobody holds ended
//! honestly; and an orderly end at shutdown.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clotho_core::ids::NodeId;
use clotho_store::{OrphanReply, ReplyCompletion, Trace, Tx};

use super::endings;
use crate::turn::{TurnError, TurnServices};

/// How often what runs is kept.
#[derive(Debug, Clone, Copy)]
pub struct SaveIntervals {
    /// Partial texts are saved this often (`docs/domain.md` 5.3).
    pub save: Duration,
    /// What a reply was asked with is saved after this time, before it has passed twice: replies that end sooner cost nothing.
    pub request: Duration,
    /// Every so many saves the sweeper looks for replies that nobody holds.
    pub orphan_check_every: u32,
}

impl Default for SaveIntervals {
    fn default() -> Self {
        Self { save: Duration::from_secs(1), request: Duration::from_millis(250), orphan_check_every: 30 }
    }
}

/// Saves and sweeps for ever.
pub async fn keep(parts: &Arc<TurnServices>) {
    let rhythm = parts.save_intervals;
    let mut ticks = tokio::time::interval(rhythm.save);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut ticked = 0;
    loop {
        let saved = tokio::select! {
            _ = ticks.tick() => {
                ticked += 1;
                // One that fails does not keep the other from the disk.
                let (texts, requests) = (save(parts).await, save_requests(parts).await);
                texts.and(requests)
            }
            () = parts.requests.wait_for_new() => {
                tokio::time::sleep(rhythm.request).await;
                save_requests(parts).await
            }
        };
        if let Err(error) = saved {
            tracing::error!("what runs could not be saved: {error}");
        }
        if ticked >= rhythm.orphan_check_every {
            ticked = 0;
            if let Err(error) = end_orphans(parts).await {
                tracing::error!("the sweeper failed: {error}");
            }
        }
    }
}

/// Saves what replies were asked with that have run for a while. What could not be saved is saved at the next tick.
async fn save_requests(parts: &Arc<TurnServices>) -> Result<(), TurnError> {
    let requests = parts.requests.due_for_save();
    if requests.is_empty() {
        return Ok(());
    }
    let nodes: Vec<NodeId> = requests.iter().map(|(node, _)| *node).collect();
    let write = move |tx: &mut Tx<'_>| {
        requests.iter().try_for_each(|(node, sent)| tx.save_request(*node, &sent.metadata, &sent.trace))
    };
    parts.store.write(write).await?;
    nodes.iter().for_each(|node| parts.requests.mark_saved(*node));
    Ok(())
}

/// Saves what arrived since the last time, all streams in one commit. What could not be saved is saved the next time.
pub async fn save(parts: &Arc<TurnServices>) -> Result<(), TurnError> {
    let arrived: Vec<_> = parts
        .live
        .all_running_replies()
        .into_iter()
        .filter_map(|running| running.unsaved().map(|(content, reasoning)| (running, content, reasoning)))
        .collect();
    if arrived.is_empty() {
        return Ok(());
    }
    let lengths: Vec<_> = arrived.iter().map(|(_, content, reasoning)| (content.len(), reasoning.len())).collect();
    let (running, segments): (Vec<_>, Vec<_>) = arrived
        .into_iter()
        .map(|(running, content, reasoning)| (running.clone(), (running.id, content, reasoning)))
        .unzip();
    parts.store.write(move |tx| tx.save_segments(&segments)).await?;
    running.iter().zip(lengths).for_each(|(running, (content, reasoning))| running.mark_saved(content, reasoning));
    Ok(())
}

/// Ends every reply that is generating in the database and held by nobody here: `error: interrupted`, with what had been
/// saved of it (`docs/domain.md` 5.6).
pub async fn end_orphans(parts: &Arc<TurnServices>) -> Result<usize, TurnError> {
    let orphans = parts.store.write(|tx| tx.generating_replies()).await?;
    let mut ended = 0;
    for orphan in orphans {
        if parts.live.running(orphan.node).is_some() {
            continue;
        }
        let (name, trace) = saved_request(parts, &orphan).await?;
        let (session, node) = (orphan.session, orphan.node);
        let ending =
            endings::failed(orphan.metadata, trace, &endings::interrupted_fault(), orphan.content, orphan.reasoning);
        // It may have ended by itself between the look and now; then there is nothing to do.
        match endings::commit_reply(parts, session, node, 0, ReplyCompletion { name, ..ending }).await {
            Ok(()) => {
                tracing::info!(%session, %node, code = "interrupted", "a reply that nobody held was ended");
                ended += 1;
            }
            Err(clotho_store::WriteError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ended)
}

/// The name under which a placeholder stands, and what was saved of its prompt.
async fn saved_request(parts: &Arc<TurnServices>, orphan: &OrphanReply) -> Result<(Option<String>, Trace), TurnError> {
    let (session, node) = (orphan.session, orphan.node);
    parts
        .store
        .read(move |reader| {
            let Some(held) = reader.any_session(session)? else { return Ok(Default::default()) };
            let Some(placed) = reader.node(&held, node)? else { return Ok(Default::default()) };
            let trace = reader.trace(&placed)?.unwrap_or_default();
            Ok((placed.node.name, trace))
        })
        .await
}

/// Lets no more replies begin, asks every running one to end, and waits for their commits. Each becomes `error:
/// interrupted` with what had arrived, as after a crash: nobody asked for half a reply.
pub async fn stop_replies(parts: &Arc<TurnServices>) {
    parts.is_stopping.store(true, Ordering::SeqCst);
    let mut counting = parts.live.watch_count();
    // A reply that was just about to begin is seen when it does.
    while *counting.borrow_and_update() > 0 {
        parts.live.interrupt_all();
        if counting.changed().await.is_err() {
            return;
        }
    }
}
