//! Claims: an Idempotency-Key on its way to the write that acts for it, so that both are kept in one commit. A crash after
//! that commit finds what was made, and the next try does not act again.
//!
//! The claim goes with the task and not through every signature: only the door that takes the key and the write that acts
//! know of it, and what lies between them cannot lose it by forgetting an argument.

use std::collections::HashSet;
use std::future::Future;

use diesel::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use clotho_core::clock::Time;
use clotho_core::ids::{NodeId, UserId};

use super::error::{StoreError, WriteError};
use super::library::SavedResponse;
use super::tables::{answers, users};
use super::tx::Tx;

tokio::task_local! {
    static PRESENT: IdempotencyClaim;
}

/// A request with an Idempotency-Key.
#[derive(Debug, Clone)]
pub struct IdempotencyClaim {
    /// The caller; keys are each caller's own.
    pub caller: UserId,
    /// The key.
    pub key: String,
    /// The hash of method, path and body.
    pub request: Vec<u8>,
    /// The moment.
    pub at: Time,
    /// Keys from before this moment are forgotten.
    pub forget_before: Time,
    /// What an earlier try made, as JSON, if its answer was lost.
    pub made: Option<String>,
}

impl IdempotencyClaim {
    /// The claim of the task that asks.
    pub fn current() -> Option<Self> {
        PRESENT.try_with(Clone::clone).ok()
    }

    /// Runs work that acts for a claim, if there is one.
    pub async fn scope<F: Future>(claim: Option<Self>, work: F) -> F::Output {
        match claim {
            Some(claim) => PRESENT.scope(claim, work).await,
            None => work.await,
        }
    }

    /// What an earlier try of the present request made: it is not made again.
    pub fn previous_result<T: DeserializeOwned>() -> Option<T> {
        let made = Self::current()?.made?;
        serde_json::from_str(&made).ok()
    }
}

impl Tx<'_> {
    /// Keeps with an act that it was done for a claim, and what it made.
    ///
    /// # Errors
    /// Another request with that key acted first, or the database fails.
    pub fn record_claim<T: Serialize>(&mut self, claim: Option<&IdempotencyClaim>, made: &T) -> Result<(), WriteError> {
        let Some(claim) = claim else { return Ok(()) };
        let body = serde_json::to_string(made).map_err(|error| StoreError::Database(error.to_string()))?;
        let acted = SavedResponse { request: claim.request.clone(), status: SavedResponse::LOST, body };
        self.save_response(claim.caller, &claim.key, &acted, claim.at, claim.forget_before)
    }

    /// The kept answers of a caller that name one of these nodes are emptied: they may hold its text. What they were answers
    /// to is not done again.
    pub(super) fn purge_responses(&mut self, caller: UserId, gone: &HashSet<NodeId>) -> Result<(), StoreError> {
        self.run(|conn| {
            let own = answers::table
                .inner_join(users::table.on(users::n.eq(answers::caller_n)))
                .filter(users::id.eq(caller.as_bytes().to_vec()));
            let kept: Vec<(i64, String)> = own.select((answers::n, answers::body)).load(conn)?;
            // Ids stand in quotes, wherever in the body.
            let is_named = |text: &str| text.len() == 36 && text.parse().is_ok_and(|id: NodeId| gone.contains(&id));
            for (n, _) in kept.iter().filter(|(_, body)| body.split('"').any(is_named)) {
                let emptied = (answers::status.eq(SavedResponse::PURGED.cast_signed()), answers::body.eq(""));
                diesel::update(answers::table.find(n)).set(emptied).execute(conn)?;
            }
            Ok(())
        })
    }
}
