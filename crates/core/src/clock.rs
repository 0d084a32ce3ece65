//! Time, ids and randomness as arguments: no other code reads the system's clock or randomness. `main` creates the
//! real sources and tests create fixed ones, so a replay is exact.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use uuid::Uuid;

/// A point in time: milliseconds since the Unix epoch, UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub i64);

impl Time {
    /// Returns the milliseconds from `earlier` to `self`; 0 if `earlier` is later.
    pub fn millis_since(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// Returns whether the year is 0 to 9999, so that every program reads and writes the date alike. The last day is
    /// left out: in some time zones it is in the year 10000 already.
    pub fn has_date(self) -> bool {
        (-62_167_219_200_000..253_402_207_200_000).contains(&self.0)
    }
}

/// ISO 8601 in UTC with milliseconds: `2026-11-21T04:05:06.789Z`. A time out of range is written as milliseconds.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(stamp) => write!(f, "{stamp:.3}"),
            Err(_) => write!(f, "{}ms", self.0),
        }
    }
}

/// A source of the current time.
pub trait Clock: Send + Sync {
    /// Returns the current time.
    fn now(&self) -> Time;
}

/// The system clock; created once, in `main`.
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place that reads the clock")]
    fn now(&self) -> Time {
        Time(jiff::Timestamp::now().as_millisecond())
    }
}

/// A clock for tests. It advances by one millisecond per reading, so that order is visible.
pub struct TestClock(AtomicI64);

impl TestClock {
    /// Creates a clock whose first reading is `start`.
    pub fn new(start: Time) -> Self {
        Self(AtomicI64::new(start.0))
    }

    /// Advances the clock.
    pub fn advance(&self, milliseconds: i64) {
        self.0.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Time {
        Time(self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Splitmix64, the generator behind ids and dice. Small, fast and the same on every machine; not for secrets.
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Creates a generator; equal seeds give equal sequences.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a uniformly distributed number in `0..bound`; 0 if `bound` is 0.
    pub fn next_below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        // Draw again above the last whole multiple of `bound`: the remainder would favour small values.
        let fair = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.next_u64();
            if draw < fair {
                return draw % bound;
            }
        }
    }
}

/// Generates ids and seeds. Ids are time-ordered UUIDs (version 7), increasing even within one millisecond.
pub struct IdGenerator {
    state: Mutex<IdGeneratorState>,
}

struct IdGeneratorState {
    random: SplitMix64,
    last_ms: i64,
    counter: u16,
}

impl IdGenerator {
    /// Creates a generator; equal seeds give equal ids at equal times.
    pub fn new(seed: u64) -> Self {
        let state = IdGeneratorState { random: SplitMix64::new(seed), last_ms: i64::MIN, counter: 0 };
        Self { state: Mutex::new(state) }
    }

    /// Creates a generator seeded by the operating system; called once, in `main`.
    ///
    /// # Errors
    /// Returns an error if the operating system provides no randomness.
    pub fn from_entropy() -> Result<Self, getrandom::Error> {
        getrandom::u64().map(Self::new)
    }

    /// Returns a new id for the time `now`. Later ids sort after earlier ones even if the clock stands still or jumps
    /// back.
    pub fn next_id(&self, now: Time) -> Uuid {
        let mut state = self.lock();
        if now.0 > state.last_ms {
            state.last_ms = now.0;
            state.counter = 0;
        } else {
            state.counter += 1;
            if state.counter > 0x0fff {
                state.last_ms += 1;
                state.counter = 0;
            }
        }
        let millis = u64::try_from(state.last_ms).unwrap_or(0) & 0xffff_ffff_ffff;
        let high = (millis << 16) | 0x7000 | u64::from(state.counter);
        let low = (state.random.next_u64() >> 2) | (1 << 63);
        Uuid::from_u64_pair(high, low)
    }

    /// Returns a new seed for the dice of a session or node.
    pub fn next_seed(&self) -> u64 {
        self.lock().random.next_u64()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, IdGeneratorState> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_display_is_iso_8601() {
        assert_eq!(Time(1_700_000_000_123).to_string(), "2023-11-14T22:13:20.123Z");
        assert_eq!(Time(0).to_string(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn id_generator_fixed_time_ids_increase() {
        let ids = IdGenerator::new(7);
        let made: Vec<Uuid> = (0..10_000).map(|_| ids.next_id(Time(1_000))).collect();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(made.iter().all(|id| id.get_version_num() == 7));
    }

    #[test]
    fn id_generator_equal_seeds_give_equal_ids() {
        let (a, b) = (IdGenerator::new(3), IdGenerator::new(3));
        assert_eq!(a.next_id(Time(5)), b.next_id(Time(5)));
        assert_ne!(a.next_id(Time(5)), IdGenerator::new(4).next_id(Time(5)));
    }

    #[test]
    fn random_next_below_reaches_every_value() {
        let mut random = SplitMix64::new(1);
        let mut seen = [0_u32; 6];
        for _ in 0..6_000 {
            seen[usize::try_from(random.next_below(6)).unwrap()] += 1;
        }
        assert!(seen.iter().all(|&n| n > 800), "{seen:?}");
        assert_eq!(random.next_below(0), 0);
    }
}
