//! A breaker for an endpoint that is out of order: after some failures in a row it rests, so that nobody waits for what
//! cannot come, and then one request looks whether it is back.

use super::ProviderFailure;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// So many replies in a row have to fail. Each of them was tried several times already.
const PATIENCE: u32 = 3;

/// The first rest; each further one is twice as long. Short, for a server on one's own machine is soon started.
const FIRST_REST: Duration = Duration::from_secs(5);

/// No rest is longer.
const LONGEST_REST: Duration = Duration::from_secs(60);

/// The breaker of one endpoint.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker(Mutex<BreakerState>);

#[derive(Debug, Default)]
struct BreakerState {
    /// Failures since the last success.
    failures: u32,
    rests_until: Option<Instant>,
    /// One request looks whether the server is back.
    is_looking: bool,
    /// What the last failure said.
    words: String,
}

impl CircuitBreaker {
    fn state(&self) -> MutexGuard<'_, BreakerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks to be let through.
    ///
    /// # Errors
    /// [`ProviderFailure::Resting`].
    pub(super) fn pass(&self, now: Instant) -> Result<(), ProviderFailure> {
        let mut state = self.state();
        let Some(until) = state.rests_until else { return Ok(()) };
        let left = until.saturating_duration_since(now);
        if left.is_zero() && !state.is_looking {
            state.is_looking = true;
            return Ok(());
        }
        let retry_after = left.max(Duration::from_secs(1));
        Err(ProviderFailure::Resting { failures: state.failures, words: state.words.clone(), retry_after })
    }

    /// A reply has begun.
    pub(super) fn went_well(&self) {
        *self.state() = BreakerState::default();
    }

    /// A request came to nothing.
    pub(super) fn failed(&self, failure: &ProviderFailure, now: Instant) {
        let mut state = self.state();
        if !is_its_fault(failure) {
            // It answers, so it is there.
            *state = BreakerState::default();
            return;
        }
        state.failures = state.failures.saturating_add(1);
        state.is_looking = false;
        state.words = failure.to_string();
        if let Some(more) = state.failures.checked_sub(PATIENCE) {
            let rest = FIRST_REST.saturating_mul(2_u32.saturating_pow(more)).min(LONGEST_REST);
            state.rests_until = now.checked_add(rest);
        }
    }

    /// A request was given up before it was known what would come of it.
    pub(super) fn given_up(&self) {
        self.state().is_looking = false;
    }
}

/// Whether a failure says that the server is out of order, and not that it wants something else.
fn is_its_fault(failure: &ProviderFailure) -> bool {
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

    fn down() -> ProviderFailure {
        ProviderFailure::Unreachable { words: "nobody".into() }
    }

    /// Ranked idea 9: after some failures in a row nobody waits, then one looks, and the rests grow up to a limit.
    #[test]
    fn it_rests_and_one_looks_again() {
        let (breaker, start) = (CircuitBreaker::default(), Instant::now());
        for _ in 0..PATIENCE {
            assert_eq!(breaker.pass(start), Ok(()));
            breaker.failed(&down(), start);
        }
        let resting = breaker.pass(start).unwrap_err();
        assert_eq!((resting.code(), resting.retry_after()), ("provider_resting", Some(FIRST_REST)));
        assert!(resting.to_string().contains("nobody"), "{resting}");

        let later = start + FIRST_REST;
        assert_eq!(breaker.pass(later), Ok(()));
        assert!(breaker.pass(later).is_err(), "only one looks");
        breaker.given_up();
        assert_eq!(breaker.pass(later), Ok(()), "somebody else looks");
        breaker.failed(&down(), later);
        assert_eq!(breaker.pass(later).unwrap_err().retry_after(), Some(FIRST_REST * 2));
        for _ in 0..40 {
            breaker.failed(&down(), later);
        }
        assert_eq!(breaker.pass(later).unwrap_err().retry_after(), Some(LONGEST_REST));

        breaker.went_well();
        assert_eq!(breaker.pass(later), Ok(()));
    }

    #[test]
    fn a_server_that_says_no_is_not_out_of_order() {
        let (breaker, now) = (CircuitBreaker::default(), Instant::now());
        for _ in 0..PATIENCE - 1 {
            breaker.failed(&down(), now);
        }
        breaker.failed(&ProviderFailure::Refused { status: 404, words: String::new() }, now);
        for _ in 0..PATIENCE - 1 {
            breaker.failed(&down(), now);
        }
        assert_eq!(breaker.pass(now), Ok(()));
    }
}
