//! Keeping what runs: partial texts on disk every second, all of them in one commit; replies that nobody holds ended
//! honestly; and an orderly end at shutdown.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::ids::NodeId;
use crate::store::{Ending, Orphan, Tx};

use super::{Parts, TurnError, ends};

/// Partial texts are saved this often.
const SAVE_EVERY: Duration = Duration::from_secs(1);
/// Every so many saves the sweeper looks for replies that nobody holds.
const SWEEP_EVERY: u32 = 30;

/// Saves and sweeps for ever.
pub async fn keep(parts: &Arc<Parts>) {
    let mut ticks = tokio::time::interval(SAVE_EVERY);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    for tick in (0..SWEEP_EVERY).cycle() {
        ticks.tick().await;
        if let Err(error) = save(parts).await {
            tracing::error!("partial replies could not be saved: {error}");
        }
        if tick == SWEEP_EVERY - 1
            && let Err(error) = end_orphans(parts).await
        {
            tracing::error!("the sweeper failed: {error}");
        }
    }
}

/// Saves what was asked and what arrived since the last time, all streams in one commit. What could not be saved is saved the next time.
pub async fn save(parts: &Arc<Parts>) -> Result<(), TurnError> {
    let arrived: Vec<_> = parts
        .live
        .all_running()
        .into_iter()
        .filter_map(|running| running.unsaved().map(|(content, reasoning)| (running, content, reasoning)))
        .collect();
    let requests = parts.requests.unsaved();
    if arrived.is_empty() && requests.is_empty() {
        return Ok(());
    }
    let nodes: Vec<NodeId> = requests.iter().map(|(node, _)| *node).collect();
    let lengths: Vec<_> = arrived.iter().map(|(_, content, reasoning)| (content.len(), reasoning.len())).collect();
    let (running, segments): (Vec<_>, Vec<_>) = arrived
        .into_iter()
        .map(|(running, content, reasoning)| (running.clone(), (running.node, content, reasoning)))
        .unzip();
    let write = move |tx: &mut Tx<'_>| {
        requests.iter().try_for_each(|(node, sent)| tx.save_request(*node, &sent.metadata, &sent.trace))?;
        tx.save_segments(&segments)
    };
    parts.store.write(write).await?;
    nodes.iter().for_each(|node| parts.requests.saved(*node));
    running.iter().zip(lengths).for_each(|(running, (content, reasoning))| running.saved(content, reasoning));
    Ok(())
}

/// Ends every reply that is generating in the database and held by nobody here: `error: interrupted`, with what had been
/// saved of it (`docs/domain.md` 5.6).
pub async fn end_orphans(parts: &Arc<Parts>) -> Result<usize, TurnError> {
    let orphans = parts.store.write(|tx| tx.generating()).await?;
    let mut ended = 0;
    for orphan in orphans {
        if parts.live.running(orphan.node).is_some() {
            continue;
        }
        let name = name(parts, &orphan).await?;
        let (session, node) = (orphan.session, orphan.node);
        let ending = ends::failed(orphan.metadata, &ends::interrupted(), orphan.content, orphan.reasoning);
        // It may have ended by itself between the look and now; then there is nothing to do.
        match ends::commit(parts, session, node, 0, Ending { name, ..ending }).await {
            Ok(()) => ended += 1,
            Err(crate::store::WriteError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ended)
}

/// The name under which a placeholder stands.
async fn name(parts: &Arc<Parts>, orphan: &Orphan) -> Result<Option<String>, TurnError> {
    let (session, node) = (orphan.session, orphan.node);
    parts
        .store
        .read(move |reader| {
            let Some(held) = reader.any_session(session)? else { return Ok(None) };
            Ok(reader.node(&held, node)?.and_then(|placed| placed.node.name))
        })
        .await
}

/// Lets no more replies begin, asks every running one to end, and waits for their commits. Each becomes `error:
/// interrupted` with what had arrived, as after a crash: nobody asked for half a reply.
pub async fn stop(parts: &Arc<Parts>) {
    parts.is_stopping.store(true, Ordering::SeqCst);
    let mut counting = parts.live.counting();
    // A reply that was just about to begin is seen when it does.
    while *counting.borrow_and_update() > 0 {
        parts.live.all_running().iter().for_each(|one| one.interrupt());
        if counting.changed().await.is_err() {
            return;
        }
    }
}
