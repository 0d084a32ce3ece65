//! When to retry, and after which delay.

use super::ProviderFailure;
use std::time::Duration;
use tokio::time::Instant;

/// How often to retry when a server is unreachable, busy or failing and no reply has begun. An error inside of a
/// response counts like an error status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries.
    pub max: u32,
    /// The first delay. Each later one is twice as long.
    pub first_wait: Duration,
    /// Maximum delay. If a server asks for more, there is no retry.
    pub longest_wait: Duration,
    /// A refusal that took this long is not tried again: the server has tried or waited itself.
    pub slow_answer: Duration,
    /// Maximum time from the first request to the last retry.
    pub longest_total: Duration,
}

/// What was tried so far.
#[derive(Debug, Clone, Copy, Default)]
struct RetryAttempt {
    /// Number of retries.
    done: u32,
    /// How long the last answer took.
    took: Duration,
    /// The time since the first request.
    total: Duration,
}

/// The retries of one request, whether its errors come as a status or inside of a response.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RetryBudget {
    /// Number of retries.
    done: u32,
    /// When the request was first sent.
    first: Option<Instant>,
    /// When it was last sent.
    last: Option<Instant>,
}

impl RetryBudget {
    /// Notes that the request is sent now.
    pub(super) fn start(&mut self, now: Instant) {
        self.first.get_or_insert(now);
        self.last = Some(now);
    }

    /// Returns the delay before the next retry after `failure`, and counts that retry. `None` = give up.
    pub(super) fn next_delay(
        &mut self,
        policy: &RetryPolicy,
        failure: &ProviderFailure,
        now: Instant,
    ) -> Option<Duration> {
        let since = |time: Option<Instant>| time.map(|time| now.saturating_duration_since(time)).unwrap_or_default();
        let attempt = RetryAttempt { done: self.done, took: since(self.last), total: since(self.first) };
        let wait = policy.delay(attempt, failure)?;
        self.done = self.done.saturating_add(1);
        Some(wait)
    }
}

impl Default for RetryPolicy {
    /// Returns 2 retries, after 0.5 s and 1 s, with at most 10 s if the server asks for a delay. Answers that take 5 s
    /// are slow. All retries begin within 30 s.
    fn default() -> Self {
        Self {
            max: 2,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(10),
            slow_answer: Duration::from_secs(5),
            longest_total: Duration::from_secs(30),
        }
    }
}

impl RetryPolicy {
    /// Returns the delay before the next retry after `failure`. `None` = give up.
    fn delay(&self, attempt: RetryAttempt, failure: &ProviderFailure) -> Option<Duration> {
        let RetryAttempt { done, took, total } = attempt;
        if done >= self.max || !failure.is_retryable() || took >= self.slow_answer {
            return None;
        }
        let wait = match failure.retry_after() {
            Some(asked) => Some(asked).filter(|asked| *asked <= self.longest_wait)?,
            None => self.first_wait.saturating_mul(2_u32.saturating_pow(done)).min(self.longest_wait),
        };
        (total.saturating_add(wait) <= self.longest_total).then_some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRIES: RetryPolicy = RetryPolicy {
        max: 2,
        first_wait: Duration::from_secs(1),
        longest_wait: Duration::from_secs(3),
        slow_answer: Duration::from_secs(5),
        longest_total: Duration::from_secs(10),
    };

    fn after(done: u32) -> RetryAttempt {
        RetryAttempt { done, ..RetryAttempt::default() }
    }

    fn busy() -> ProviderFailure {
        ProviderFailure::from_status(503, String::new(), None)
    }

    /// A gateway has tried for a long time itself, and would do so with each retry.
    #[test]
    fn retry_slow_refusal_is_not_repeated() {
        let took = |seconds| RetryAttempt { took: Duration::from_secs(seconds), ..RetryAttempt::default() };
        assert_eq!(RETRIES.delay(took(4), &busy()), Some(Duration::from_secs(1)));
        assert_eq!(RETRIES.delay(took(5), &busy()), None);
    }

    /// Errors with a status and errors inside of a response use up the same retries.
    #[test]
    fn retry_budget_counts_all_retries_of_request() {
        let (mut budget, now) = (RetryBudget::default(), Instant::now());
        let wait = |seconds| Some(Duration::from_secs(seconds));
        budget.start(now);
        assert_eq!(budget.next_delay(&RETRIES, &busy(), now), wait(1));
        budget.start(now);
        assert_eq!(budget.next_delay(&RETRIES, &ProviderFailure::CutOff, now), None);
        assert_eq!(budget.next_delay(&RETRIES, &busy(), now), wait(2));
        budget.start(now);
        assert_eq!(budget.next_delay(&RETRIES, &busy(), now), None);
        let mut slow = RetryBudget::default();
        slow.start(now);
        assert_eq!(slow.next_delay(&RETRIES, &busy(), now + Duration::from_secs(5)), None);
    }

    #[test]
    fn retry_total_time_is_bounded() {
        let total = |seconds| RetryAttempt { total: Duration::from_secs(seconds), ..RetryAttempt::default() };
        assert_eq!(RETRIES.delay(total(9), &busy()), Some(Duration::from_secs(1)));
        assert_eq!(RETRIES.delay(total(10), &busy()), None);
    }

    #[test]
    fn retry_delay_doubles_until_max() {
        let unreachable =
            ProviderFailure::Unreachable { words: String::new(), cause: crate::failure::UnreachableCause::Other };
        assert_eq!(RETRIES.delay(after(0), &unreachable), Some(Duration::from_secs(1)));
        assert_eq!(RETRIES.delay(after(1), &unreachable), Some(Duration::from_secs(2)));
        assert_eq!(RETRIES.delay(after(2), &unreachable), None);
        let many = RetryPolicy { max: u32::MAX, ..RETRIES };
        assert_eq!(many.delay(after(40), &unreachable), Some(RETRIES.longest_wait));
    }

    #[test]
    fn retry_after_is_honored_or_gives_up() {
        let asks = |seconds| ProviderFailure::from_status(429, String::new(), Some(Duration::from_secs(seconds)));
        assert_eq!(RETRIES.delay(after(0), &asks(0)), Some(Duration::ZERO));
        assert_eq!(RETRIES.delay(after(1), &asks(3)), Some(Duration::from_secs(3)));
        assert_eq!(RETRIES.delay(after(0), &asks(4)), None);
    }

    #[test]
    fn retry_only_retryable_failures() {
        for (status, again) in
            [(400, false), (401, false), (402, false), (408, true), (429, true), (500, true), (501, false), (503, true)]
        {
            assert_eq!(
                RETRIES.delay(after(0), &ProviderFailure::from_status(status, String::new(), None)).is_some(),
                again,
                "{status}"
            );
        }
        for failure in [
            ProviderFailure::CutOff,
            ProviderFailure::TooLarge { limit: 1 },
            ProviderFailure::InvalidResponse { words: String::new() },
        ] {
            assert_eq!(RETRIES.delay(after(0), &failure), None);
        }
    }
}
