//! A circuit breaker for an endpoint that does not work. After several failures in a row it opens, so that requests
//! fail at once. When the open time is over, one request probes the server.
//!
//! A server may answer requests of one origin with an error, because of their parameters. As long as no other origin
//! has failed, the breaker is open for that one only.

use super::{ProviderFailure, Request};
use serde_json::Value;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Failed replies in a row that open the breaker. Each of them was already retried.
const FAILURE_THRESHOLD: u32 = 3;

/// The first open time. Each further one is twice as long. It is short because a local server starts quickly.
const INITIAL_OPEN_TIME: Duration = Duration::from_secs(5);

/// The maximum open time.
const MAX_OPEN_TIME: Duration = Duration::from_secs(60);

/// The circuit breaker of one endpoint.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker(Mutex<BreakerState>);

#[derive(Debug, Default)]
struct BreakerState {
    failures: u32,
    open_until: Option<Instant>,
    /// Whether one request is probing the server.
    is_probing: bool,
    /// The last failure's message.
    last_failure: Option<ProviderFailure>,
    /// The one origin whose requests have failed, if the server answered all of them.
    culprit: Option<RequestOrigin>,
}

/// A hash of what requests of one session have in common: the model and the parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestOrigin(blake3::Hash);

impl RequestOrigin {
    /// Returns the origin of a request.
    pub(super) fn of(request: &Request) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(request.model.as_bytes());
        let mut params: Vec<(&String, &Value)> = request.params.iter().filter(|(name, _)| *name != "seed").collect();
        params.sort_unstable_by_key(|(name, _)| *name);
        for (name, value) in params {
            // Neither can contain U+0000 as such.
            hasher.update(format!("\0{name}\0{value}").as_bytes());
        }
        Self(hasher.finalize())
    }
}

impl CircuitBreaker {
    fn state(&self) -> MutexGuard<'_, BreakerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks for permission to send a request.
    ///
    /// # Errors
    /// Returns [`ProviderFailure::CircuitOpen`] while the breaker is open.
    pub(super) fn try_acquire(&self, origin: RequestOrigin, now: Instant) -> Result<(), ProviderFailure> {
        let mut state = self.state();
        let Some(until) = state.open_until else { return Ok(()) };
        if state.culprit.is_some_and(|culprit| culprit != origin) {
            return Ok(());
        }
        let left = until.saturating_duration_since(now);
        if left.is_zero() && !state.is_probing {
            state.is_probing = true;
            return Ok(());
        }
        let retry_after = left.max(Duration::from_secs(1));
        let last = Box::new(state.last_failure.clone().unwrap_or(ProviderFailure::CutOff));
        Err(ProviderFailure::CircuitOpen { failures: state.failures, last, retry_after })
    }

    /// Records that a reply has begun.
    pub(super) fn record_success(&self) {
        *self.state() = BreakerState::default();
    }

    /// Records a failed request.
    pub(super) fn record_failure(&self, failure: &ProviderFailure, origin: RequestOrigin, now: Instant) {
        let mut state = self.state();
        if !is_server_fault(failure) {
            // The server answers, so it works.
            *state = BreakerState::default();
            return;
        }
        let is_first = state.failures == 0;
        let is_answer = matches!(failure, ProviderFailure::Failed { status: Some(500), .. });
        state.culprit = Some(origin).filter(|origin| is_answer && (is_first || state.culprit == Some(*origin)));
        state.failures = state.failures.saturating_add(1);
        state.is_probing = false;
        state.last_failure = Some(failure.clone());
        if let Some(more) = state.failures.checked_sub(FAILURE_THRESHOLD) {
            let rest = INITIAL_OPEN_TIME.saturating_mul(2_u32.saturating_pow(more)).min(MAX_OPEN_TIME);
            state.open_until = now.checked_add(rest);
        }
    }

    /// Ends the probe without a result, if a request was abandoned before its outcome was known.
    pub(super) fn abandon_probe(&self) {
        self.state().is_probing = false;
    }
}

/// Returns whether a failure means that the server does not work, rather than that it rejects the request.
fn is_server_fault(failure: &ProviderFailure) -> bool {
    matches!(
        failure,
        ProviderFailure::Unreachable { .. }
            | ProviderFailure::Timeout { .. }
            | ProviderFailure::Failed { .. }
            | ProviderFailure::CutOff
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnreachableCause;

    fn unreachable_failure() -> ProviderFailure {
        ProviderFailure::Unreachable { words: "nobody".into(), cause: UnreachableCause::Other }
    }

    fn origin(user: &str) -> RequestOrigin {
        let params = serde_json::json!({"user": user, "seed": user}).as_object().unwrap().clone();
        RequestOrigin::of(&Request { params, ..Request::default() })
    }

    fn answered_failure() -> ProviderFailure {
        ProviderFailure::Failed { status: Some(500), words: "no".into(), retry_after: None }
    }

    #[test]
    fn circuit_breaker_errors_of_one_origin_stop_no_other() {
        let (breaker, now) = (CircuitBreaker::default(), Instant::now());
        for _ in 0..FAILURE_THRESHOLD {
            breaker.record_failure(&answered_failure(), origin("a"), now);
        }
        assert!(breaker.try_acquire(origin("a"), now).is_err());
        assert_eq!(breaker.try_acquire(origin("b"), now), Ok(()));
        breaker.record_failure(&answered_failure(), origin("b"), now);
        for user in ["a", "b", "c"] {
            assert!(breaker.try_acquire(origin(user), now).is_err(), "{user}: the server fails for everybody");
        }
        breaker.record_success();
        assert_eq!(breaker.try_acquire(origin("a"), now), Ok(()));
    }

    #[test]
    fn circuit_breaker_unreachable_server_stops_everybody() {
        let (breaker, now) = (CircuitBreaker::default(), Instant::now());
        breaker.record_failure(&unreachable_failure(), origin("a"), now);
        for _ in 1..FAILURE_THRESHOLD {
            breaker.record_failure(&answered_failure(), origin("a"), now);
        }
        assert!(breaker.try_acquire(origin("b"), now).is_err());
    }

    #[test]
    fn request_origin_ignores_seed_and_order() {
        let of = |params: Value| {
            RequestOrigin::of(&Request { params: params.as_object().unwrap().clone(), ..Request::default() })
        };
        assert_eq!(
            of(serde_json::json!({"a": 1, "b": 2, "seed": 3})),
            of(serde_json::json!({"seed": 4, "b": 2, "a": 1}))
        );
        assert_ne!(of(serde_json::json!({"a": 1})), of(serde_json::json!({"a": 2})));
    }

    /// Ranked idea 9: after some failures in a row requests fail at once, then one probes. Open times grow up to a
    /// limit.
    #[test]
    fn circuit_breaker_repeated_failures_opens_then_probes_once() {
        let (breaker, start) = (CircuitBreaker::default(), Instant::now());
        for _ in 0..FAILURE_THRESHOLD {
            assert_eq!(breaker.try_acquire(origin("a"), start), Ok(()));
            breaker.record_failure(&unreachable_failure(), origin("a"), start);
        }
        let resting = breaker.try_acquire(origin("a"), start).unwrap_err();
        assert_eq!((resting.code(), resting.retry_after()), ("provider_resting", Some(INITIAL_OPEN_TIME)));
        assert!(resting.to_string().contains("nobody"), "{resting}");

        let later = start + INITIAL_OPEN_TIME;
        assert_eq!(breaker.try_acquire(origin("a"), later), Ok(()));
        assert!(breaker.try_acquire(origin("a"), later).is_err(), "only one looks");
        breaker.abandon_probe();
        assert_eq!(breaker.try_acquire(origin("a"), later), Ok(()), "somebody else looks");
        breaker.record_failure(&unreachable_failure(), origin("a"), later);
        assert_eq!(breaker.try_acquire(origin("a"), later).unwrap_err().retry_after(), Some(INITIAL_OPEN_TIME * 2));
        for _ in 0..40 {
            breaker.record_failure(&unreachable_failure(), origin("a"), later);
        }
        assert_eq!(breaker.try_acquire(origin("a"), later).unwrap_err().retry_after(), Some(MAX_OPEN_TIME));

        breaker.record_success();
        assert_eq!(breaker.try_acquire(origin("a"), later), Ok(()));
    }

    #[test]
    fn circuit_breaker_client_error_stays_closed() {
        let (breaker, now) = (CircuitBreaker::default(), Instant::now());
        for _ in 0..FAILURE_THRESHOLD - 1 {
            breaker.record_failure(&unreachable_failure(), origin("a"), now);
        }
        breaker.record_failure(&ProviderFailure::Refused { status: 404, words: String::new() }, origin("a"), now);
        for _ in 0..FAILURE_THRESHOLD - 1 {
            breaker.record_failure(&unreachable_failure(), origin("a"), now);
        }
        assert_eq!(breaker.try_acquire(origin("a"), now), Ok(()));
    }
}
