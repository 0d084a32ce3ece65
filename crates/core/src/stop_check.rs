//! Whether somebody still wants the result of long work. Whoever waits sets it; loops that can be long look at it every
//! few units of work and end.
//!
//! Work that was stopped has no result that may be used: it only ends soon. So loops need no error for it. The one who
//! asked for the work is gone, or asks again at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A shared sign to stop. The default one never stops anything. Clones are the same sign.
#[derive(Debug, Clone, Default)]
pub struct StopCheck(Option<Arc<StopSign>>);

#[derive(Debug)]
struct StopSign {
    is_set: AtomicBool,
    looks: AtomicUsize,
    /// The looks after which it stops by itself.
    most_looks: usize,
}

impl StopCheck {
    /// The sign that is never set.
    pub const NEVER: Self = Self(None);

    /// Creates a sign that is not set yet.
    pub fn new() -> Self {
        Self::after_looks(usize::MAX)
    }

    /// Creates a sign that is set after so many looks, for tests of loops.
    pub fn after_looks(most_looks: usize) -> Self {
        let sign = StopSign { is_set: AtomicBool::new(false), looks: AtomicUsize::new(0), most_looks };
        Self(Some(Arc::new(sign)))
    }

    /// Sets the sign.
    pub fn stop(&self) {
        if let Some(sign) = &self.0 {
            sign.is_set.store(true, Ordering::Relaxed);
        }
    }

    /// Looks at the sign. Cheap, but not free: look once in some microseconds of work.
    pub fn is_stopped(&self) -> bool {
        let Some(sign) = &self.0 else { return false };
        let looks = sign.looks.fetch_add(1, Ordering::Relaxed);
        sign.is_set.load(Ordering::Relaxed) || looks >= sign.most_looks
    }

    /// Returns whether the sign can never be set, so that nobody needs to look.
    pub const fn is_never(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the number of looks so far.
    pub fn looks(&self) -> usize {
        self.0.as_ref().map_or(0, |sign| sign.looks.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stop_check_is_shared_by_its_clones() {
        let one = StopCheck::new();
        let other = one.clone();
        assert!(!one.is_stopped() && !other.is_stopped());
        one.stop();
        assert!(other.is_stopped());
        assert_eq!(one.looks(), 3);
        StopCheck::NEVER.stop();
        assert!(!StopCheck::NEVER.is_stopped() && StopCheck::default().is_never());
    }

    #[test]
    fn stop_check_after_looks_stops_at_the_next_one() {
        let stop = StopCheck::after_looks(2);
        assert_eq!([stop.is_stopped(), stop.is_stopped(), stop.is_stopped()], [false, false, true]);
        assert!(stop.is_stopped(), "it stays set");
    }
}
