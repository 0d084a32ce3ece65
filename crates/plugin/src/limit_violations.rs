//! Three strikes, or five: a plugin that keeps running into its limits is switched off in that session.

/// Counts limit errors of one plugin in one session: five in its last fifty calls are too many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitViolations {
    /// The last calls, newest in the lowest bit; 1 = ended by a limit.
    last: u64,
}

impl LimitViolations {
    /// How many calls are remembered.
    pub const WINDOW: u32 = 50;
    /// How many strikes switch the plugin off.
    pub const MAX_VIOLATIONS: u32 = 5;

    /// Counts a call; true when the plugin is out.
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
