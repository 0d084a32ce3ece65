//! The autosave of running replies: saves all partial texts in one commit every second, ends orphaned replies, and ends
//! running replies at shutdown.

use std::sync::atomic::Ordering;

use clotho_core::ids::NodeId;
use clotho_store::{OrphanReply, ReplyCompletion, Trace, Tx};

use super::endings;
use crate::turn::TurnError;
use crate::turn::running::RunningWork;
use crate::turn::storage::TreeStorage;

/// Runs the autosave and the orphan check forever.
pub async fn run_autosave(storage: &TreeStorage, work: &RunningWork) {
    let rhythm = work.save_intervals;
    let mut ticks = tokio::time::interval(rhythm.save);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut ticked = 0;
    loop {
        let saved = tokio::select! {
            _ = ticks.tick() => {
                ticked += 1;
                // A failure of one does not stop the other.
                let (texts, requests) = (save_partial_texts(storage, work).await, save_requests(storage, work).await);
                texts.and(requests)
            }
            () = work.requests.wait_for_new() => {
                tokio::time::sleep(rhythm.request).await;
                save_requests(storage, work).await
            }
        };
        if let Err(error) = saved {
            tracing::error!("running replies could not be saved: {error}");
        }
        if ticked >= rhythm.orphan_check_every {
            ticked = 0;
            if let Err(error) = end_orphans(storage, work).await {
                tracing::error!("ending interrupted replies failed: {error}");
            }
        }
    }
}

/// Saves the requests of replies that have run for a while. After a failure they are saved at the next tick.
async fn save_requests(storage: &TreeStorage, work: &RunningWork) -> Result<(), TurnError> {
    let requests = work.requests.due_for_save();
    if requests.is_empty() {
        return Ok(());
    }
    let nodes: Vec<NodeId> = requests.iter().map(|(node, _)| *node).collect();
    let write = move |tx: &mut Tx<'_>| {
        requests.iter().try_for_each(|(node, sent)| tx.save_request(*node, &sent.metadata, &sent.trace))
    };
    storage.store.write(write).await?;
    nodes.iter().for_each(|node| work.requests.mark_saved(*node));
    Ok(())
}

/// Saves the new text of all replies in one commit. After a failure it is saved the next time.
pub async fn save_partial_texts(storage: &TreeStorage, work: &RunningWork) -> Result<(), TurnError> {
    let running = work.live.all_running_replies();
    let arrived: Vec<_> =
        running.into_iter().filter_map(|running| running.unsaved().map(|text| (running, text))).collect();
    if arrived.is_empty() {
        return Ok(());
    }
    let segments: Vec<(NodeId, String, String)> =
        arrived.iter().map(|(running, text)| (running.id, text.content.clone(), text.reasoning.clone())).collect();
    let changed: Vec<NodeId> =
        arrived.iter().filter(|(_, text)| text.is_whole).map(|(running, _)| running.id).collect();
    let write = move |tx: &mut Tx<'_>| {
        tx.clear_segments(&changed)?;
        tx.save_segments(&segments)
    };
    storage.store.write(write).await?;
    arrived.iter().for_each(|(running, text)| running.mark_saved(text));
    Ok(())
}

/// Ends every reply that is generating in the database and not running here: `error: interrupted`, with the text saved
/// so far (`docs/domain.md` 5.6). Returns how many it ended.
pub async fn end_orphans(storage: &TreeStorage, work: &RunningWork) -> Result<usize, TurnError> {
    let orphans = storage.store.write(|tx| tx.generating_replies()).await?;
    let mut ended = 0;
    for orphan in orphans {
        if work.live.running_reply(orphan.node).is_some() {
            continue;
        }
        let (name, trace) = saved_request(storage, &orphan).await?;
        let (session, node) = (orphan.session, orphan.node);
        let ending = endings::failure_ending(
            orphan.metadata,
            trace,
            &endings::interrupted_fault(),
            orphan.content,
            orphan.reasoning,
        );
        // The reply may have ended by itself since the read; then there is nothing to do.
        match endings::commit_reply(storage, session, node, 0, ReplyCompletion { name, ..ending }).await {
            Ok(()) => {
                tracing::info!(%session, %node, code = "interrupted", "a reply without a task was ended");
                ended += 1;
            }
            Err(clotho_store::WriteError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ended)
}

/// Returns the name of a placeholder and its saved trace.
async fn saved_request(storage: &TreeStorage, orphan: &OrphanReply) -> Result<(Option<String>, Trace), TurnError> {
    let (session, node) = (orphan.session, orphan.node);
    storage
        .store
        .read(move |reader| {
            let Some(stored) = reader.any_session(session)? else { return Ok(Default::default()) };
            let Some(placed) = reader.node(&stored, node)? else { return Ok(Default::default()) };
            let trace = reader.trace(&placed)?.unwrap_or_default();
            Ok((placed.node.name, trace))
        })
        .await
}

/// Stops new replies, interrupts the running ones and waits for their commits. Each becomes `error: interrupted` with
/// its partial text, as after a crash, because no user asked for half a reply.
pub async fn stop_replies(work: &RunningWork) {
    work.is_stopping.store(true, Ordering::SeqCst);
    let mut counting = work.live.watch_count();
    // A reply that starts just now is interrupted when the count changes.
    while *counting.borrow_and_update() > 0 {
        work.live.interrupt_all();
        if counting.changed().await.is_err() {
            return;
        }
    }
}
