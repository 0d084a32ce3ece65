//! Idempotency claims: a request's Idempotency-Key is stored in the same commit as its write. After a crash, a
//! retry finds the result and does not act again.
//!
//! The claim is task-local instead of a parameter. Only the handler of the key and the write know of it, so no
//! code between them can forget to pass it on.

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
    /// The caller; each caller has its own keys.
    pub caller: UserId,
    pub key: String,
    /// The hash of method, path and body.
    pub request: Vec<u8>,
    /// The time of the request.
    pub at: Time,
    /// Keys older than this are deleted.
    pub forget_before: Time,
    /// The result of an earlier try as JSON, if its response was lost.
    pub result: Option<String>,
}

impl IdempotencyClaim {
    /// Returns the claim of the current task.
    pub fn current() -> Option<Self> {
        PRESENT.try_with(Clone::clone).ok()
    }

    /// Runs a future with a claim, if there is one.
    pub async fn scope<F: Future>(claim: Option<Self>, work: F) -> F::Output {
        match claim {
            Some(claim) => PRESENT.scope(claim, work).await,
            None => work.await,
        }
    }

    /// Returns the result of an earlier try of the current request, which must not be made again.
    pub fn previous_result<T: DeserializeOwned>() -> Option<T> {
        let result = Self::current()?.result?;
        serde_json::from_str(&result).ok()
    }
}

impl Tx<'_> {
    /// Stores the claim of a write with its result.
    ///
    /// # Errors
    /// Returns an error if another request with that key acted first, or if the database fails.
    pub fn record_claim<T: Serialize>(
        &mut self,
        claim: Option<&IdempotencyClaim>,
        result: &T,
    ) -> Result<(), WriteError> {
        let Some(claim) = claim else { return Ok(()) };
        let body = serde_json::to_string(result).map_err(|error| StoreError::Database(error.to_string()))?;
        let acted = SavedResponse { request: claim.request.clone(), status: SavedResponse::LOST, body };
        self.save_response(claim.caller, &claim.key, &acted, claim.at, claim.forget_before)
    }

    /// Empties the caller's saved responses that name one of these nodes, because they may contain its text.
    /// Their requests are not run again.
    pub(super) fn purge_responses(&mut self, caller: UserId, gone: &HashSet<NodeId>) -> Result<(), StoreError> {
        self.run(|conn| {
            let own = answers::table
                .inner_join(users::table.on(users::n.eq(answers::caller_n)))
                .filter(users::id.eq(caller.as_bytes().to_vec()));
            let stored: Vec<(i64, String)> = own.select((answers::n, answers::body)).load(conn)?;
            // Ids are quoted strings anywhere in the body.
            let is_named = |text: &str| text.len() == 36 && text.parse().is_ok_and(|id: NodeId| gone.contains(&id));
            for (n, _) in stored.iter().filter(|(_, body)| body.split('"').any(is_named)) {
                let emptied = (answers::status.eq(SavedResponse::PURGED.cast_signed()), answers::body.eq(""));
                diesel::update(answers::table.find(n)).set(emptied).execute(conn)?;
            }
            Ok(())
        })
    }
}
