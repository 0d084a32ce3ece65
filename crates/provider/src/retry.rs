//! When to retry, and after which delay.

use super::ProviderFailure;
use jiff::fmt::rfc2822;
use std::time::Duration;

/// How often to retry when a server is unreachable, busy or failing and no reply has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum number of retries.
    pub max: u32,
    /// The first delay. Each later one is twice as long.
    pub first_wait: Duration,
    /// Maximum delay. If a server asks for more, there is no retry.
    pub longest_wait: Duration,
}

impl Default for RetryPolicy {
    /// Returns 2 retries, after 0.5 s and 1 s, with at most 10 s if the server asks for a delay.
    fn default() -> Self {
        Self { max: 2, first_wait: Duration::from_millis(500), longest_wait: Duration::from_secs(10) }
    }
}

impl RetryPolicy {
    /// Returns the delay before the next retry after `failure`, given that `done` retries were made. `None` = give up.
    pub(super) fn delay(&self, done: u32, failure: &ProviderFailure) -> Option<Duration> {
        if done >= self.max || !failure.is_retryable() {
            return None;
        }
        match failure.retry_after() {
            Some(asked) => (asked <= self.longest_wait).then_some(asked),
            None => Some(self.first_wait.saturating_mul(2_u32.saturating_pow(done)).min(self.longest_wait)),
        }
    }
}

/// Parses `Retry-After`: seconds, or a date, which is compared with the response's own `Date`.
pub(super) fn parse_retry_after(value: &str, date: Option<&str>) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let parser = rfc2822::DateTimeParser::new();
    let until = parser.parse_timestamp(value).ok()?;
    let now = parser.parse_timestamp(date?.trim()).ok()?;
    Some(until.duration_since(now).try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRIES: RetryPolicy =
        RetryPolicy { max: 2, first_wait: Duration::from_secs(1), longest_wait: Duration::from_secs(3) };

    #[test]
    fn retry_delay_doubles_until_max() {
        let unreachable =
            ProviderFailure::Unreachable { words: String::new(), cause: crate::failure::UnreachableCause::Other };
        assert_eq!(RETRIES.delay(0, &unreachable), Some(Duration::from_secs(1)));
        assert_eq!(RETRIES.delay(1, &unreachable), Some(Duration::from_secs(2)));
        assert_eq!(RETRIES.delay(2, &unreachable), None);
        let many = RetryPolicy { max: u32::MAX, ..RETRIES };
        assert_eq!(many.delay(40, &unreachable), Some(RETRIES.longest_wait));
    }

    #[test]
    fn retry_after_is_honored_or_gives_up() {
        let asks = |seconds| ProviderFailure::from_status(429, String::new(), Some(Duration::from_secs(seconds)));
        assert_eq!(RETRIES.delay(0, &asks(0)), Some(Duration::ZERO));
        assert_eq!(RETRIES.delay(1, &asks(3)), Some(Duration::from_secs(3)));
        assert_eq!(RETRIES.delay(0, &asks(4)), None);
    }

    #[test]
    fn retry_only_retryable_failures() {
        for (status, again) in
            [(400, false), (401, false), (404, false), (429, true), (500, true), (501, false), (503, true)]
        {
            assert_eq!(
                RETRIES.delay(0, &ProviderFailure::from_status(status, String::new(), None)).is_some(),
                again,
                "{status}"
            );
        }
        for failure in [
            ProviderFailure::CutOff,
            ProviderFailure::TooLarge { limit: 1 },
            ProviderFailure::InvalidResponse { words: String::new() },
        ] {
            assert_eq!(RETRIES.delay(0, &failure), None);
        }
    }

    #[test]
    fn retry_after_seconds_and_date_are_parsed() {
        let date = Some("Sun, 06 Nov 1994 08:49:37 GMT");
        for (value, expected) in [
            ("7", Some(Duration::from_secs(7))),
            (" 0.5 ", Some(Duration::from_millis(500))),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(Duration::from_secs(60))),
            ("Sun, 06 Nov 1994 08:00:00 GMT", Some(Duration::ZERO)),
            ("-3", None),
            ("NaN", None),
            ("1e300", None),
            ("soon", None),
        ] {
            assert_eq!(parse_retry_after(value, date), expected, "{value}");
        }
        assert_eq!(parse_retry_after("Sun, 06 Nov 1994 08:50:37 GMT", None), None);
    }
}
