//! Counts limit violations: a plugin that keeps hitting its limits is turned off in that session.

/// Counts the limit violations of one plugin in one session. Five in the last fifty calls turn the plugin off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitViolations {
    /// The last calls, newest in the lowest bit; 1 means ended by a limit.
    last: u64,
}

impl LimitViolations {
    /// Number of remembered calls.
    pub const WINDOW: u32 = 50;
    /// Number of violations that turn the plugin off.
    pub const MAX_VIOLATIONS: u32 = 5;

    /// Counts a call; returns true if the plugin must be turned off.
    #[must_use]
    pub fn record(&mut self, hit_limit: bool) -> bool {
        let window = u64::MAX >> (u64::BITS - Self::WINDOW);
        self.last = ((self.last << 1) | u64::from(hit_limit)) & window;
        self.last.count_ones() >= Self::MAX_VIOLATIONS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_violations_five_in_fifty_calls_disables_plugin() {
        let mut often = LimitViolations::default();
        let outs: Vec<bool> = (0..5).map(|_| often.record(true)).collect();
        assert_eq!(outs, [false, false, false, false, true]);
        let mut rarely = LimitViolations::default();
        assert!((0..1_000).all(|n| !rarely.record(n % 13 == 0)), "four in any fifty");
        let mut forgotten = LimitViolations::default();
        assert!((0..4).all(|_| !forgotten.record(true)));
        assert!((0..47).all(|_| !forgotten.record(false)), "the first falls out of the window");
        assert!(!forgotten.record(true));
    }
}
