//! Keeping what runs: partial texts on disk every second, all of them in one commit; replies that nobody holds ended
//! honestly; and an orderly end at shutdown.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::store::Ending;
use crate::tree::{Delta, Status};

use super::machine::Fault;
use super::{Parts, TurnError, runner};

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

/// Saves what arrived since the last time, all streams in one commit.
pub async fn save(parts: &Arc<Parts>) -> Result<(), TurnError> {
    let arrived: Vec<_> = parts
        .live
        .all_running()
        .iter()
        .filter_map(|running| running.unsaved().map(|(content, reasoning)| (running.node, content, reasoning)))
        .collect();
    if arrived.is_empty() {
        return Ok(());
    }
    Ok(parts.store.write(move |tx| tx.save_segments(&arrived)).await?)
}

/// Ends every reply that is generating in the database and held by nobody here: `error: interrupted`, with what had been
/// saved of it (`domain.md` 5.6).
pub async fn end_orphans(parts: &Arc<Parts>) -> Result<usize, TurnError> {
    let orphans = parts.store.write(|tx| tx.generating()).await?;
    let mut ended = 0;
    for orphan in orphans {
        if parts.live.running(orphan.node).is_some() {
            continue;
        }
        let fault = Fault::new(
            "interrupted",
            "the server stopped while this reply was being written",
            "try again: what had arrived is kept",
        );
        let ending = failed(orphan.metadata, &fault, orphan.content, orphan.reasoning);
        // It may have ended by itself between the look and now; then there is nothing to do.
        match runner::commit(parts, orphan.session, orphan.node, 0, ending).await {
            Ok(()) => ended += 1,
            Err(crate::store::WriteError::Refused(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(ended)
}

/// The ending of a reply that failed outside the machine.
pub fn failed(mut metadata: Map<String, Value>, fault: &Fault, content: String, reasoning: String) -> Ending {
    metadata.insert("error".into(), json!({"code": fault.code, "message": fault.message, "hint": fault.hint}));
    Ending {
        status: Status::Error,
        content,
        reasoning: Some(reasoning).filter(|text| !text.is_empty()),
        name: None,
        metadata,
        delta: Delta::default(),
        trace: None,
        asked: None,
    }
}

/// Asks every running reply to end and waits for their commits.
pub async fn stop(parts: &Arc<Parts>) {
    let running = parts.live.all_running();
    running.iter().for_each(|one| one.cancel());
    while !parts.live.all_running().is_empty() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
