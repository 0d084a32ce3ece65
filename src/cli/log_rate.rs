//! A limit for log lines that anybody on the network can cause: the HTTP library writes an error for each malformed
//! request. Without a limit they would fill the disk and hide everything else.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use tracing::{Metadata, Subscriber};
use tracing_subscriber::filter::{DynFilterFn, dynamic_filter_fn};
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// The library whose lines are limited.
const TARGET: &str = "actix_http";
/// How many lines are written in each period.
const LINES: u32 = 10;
const PERIOD: Duration = Duration::from_secs(60);

/// Counts lines by periods.
#[derive(Debug, Default)]
struct LineLimit {
    /// The start of the period and its lines.
    period: Option<(Instant, u32)>,
}

impl LineLimit {
    /// Counts a line. Returns whether it may be written.
    fn take(&mut self, now: Instant) -> bool {
        let (start, lines) = match self.period {
            Some((start, lines)) if now.saturating_duration_since(start) < PERIOD => (start, lines),
            _ => (now, 0),
        };
        self.period = Some((start, lines.saturating_add(1)));
        lines < LINES
    }
}

/// A filter that leaves out what exceeds the limit.
pub(super) fn network_lines<S: Subscriber + for<'a> LookupSpan<'a>>()
-> DynFilterFn<S, impl Fn(&Metadata<'_>, &Context<'_, S>) -> bool> {
    let limit = Mutex::new(LineLimit::default());
    dynamic_filter_fn(move |metadata, _| {
        let is_limited = metadata.is_event() && metadata.target().starts_with(TARGET);
        !is_limited || limit.lock().unwrap_or_else(PoisonError::into_inner).take(Instant::now())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_limit_starts_again_with_each_period() {
        let (mut limit, start) = (LineLimit::default(), Instant::now());
        let mut write = |seconds: u64, count: usize| {
            (0..count).filter(|_| limit.take(start + Duration::from_secs(seconds))).count()
        };
        assert_eq!(write(0, 25), 10);
        assert_eq!(write(59, 25), 0);
        assert_eq!(write(60, 25), 10);
        assert_eq!(write(1_000, 3), 3);
    }
}
