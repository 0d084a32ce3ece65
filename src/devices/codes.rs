//! Single-use codes: each lives for five minutes and is kept as a hash. There are two for the same thing, one to scan and a
//! short one to type; with either, both are used up. How often somebody may try is bounded: the short one has 40 bits, so
//! that all addresses that are counted guess it in five minutes with a chance of one in ten million.

use std::collections::HashMap;
use std::net::IpAddr;

use crate::clock::Time;

/// How long a code lives, in milliseconds.
pub const LIVES_MS: i64 = 5 * 60 * 1_000;
/// So many codes are open at the same time; a newer one takes the place of the oldest.
const MOST_OPEN: usize = 8;
/// So many tries of one address within [`WITHIN_MS`].
const MOST_TRIES: u32 = 10;
/// The time in which tries are counted.
const WITHIN_MS: i64 = 60 * 1_000;
/// So many addresses are counted at the same time; whoever comes beyond waits.
const MOST_COUNTED: usize = 256;

/// What comes of a code that somebody shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimResult {
    /// It was good, and is used up.
    Good,
    /// It is wrong, old or used.
    Wrong,
    /// Too many tries; the next one may come after so many seconds.
    Later(u64),
}

/// The open codes, and who tried.
#[derive(Debug, Default)]
pub struct PairingCodes {
    /// Both hashes with the moment at which they end, oldest first.
    open: Vec<([[u8; 32]; 2], Time)>,
    /// When each address began to try, and how often it did since.
    tries: HashMap<Option<IpAddr>, (Time, u32)>,
}

impl PairingCodes {
    /// A code is good from now on, in its two forms.
    pub fn offer(&mut self, hashes: [[u8; 32]; 2], now: Time) {
        self.forget(now);
        if self.open.len() >= MOST_OPEN {
            self.open.remove(0);
        }
        self.open.push((hashes, Time(now.0.saturating_add(LIVES_MS))));
    }

    /// Somebody shows a code.
    pub fn claim(&mut self, hash: &[u8; 32], peer: Option<IpAddr>, now: Time) -> ClaimResult {
        self.forget(now);
        if let Some(wait_s) = self.counted(peer, now) {
            return ClaimResult::Later(wait_s);
        }
        match self.open.iter().position(|(open, _)| open.contains(hash)) {
            Some(at) => {
                self.open.remove(at);
                ClaimResult::Good
            }
            None => ClaimResult::Wrong,
        }
    }

    /// Counts a try; how many seconds to wait if it is one too many.
    fn counted(&mut self, peer: Option<IpAddr>, now: Time) -> Option<u64> {
        if self.tries.len() >= MOST_COUNTED && !self.tries.contains_key(&peer) {
            return Some(WITHIN_MS.unsigned_abs() / 1_000);
        }
        let (since, count) = self.tries.entry(peer).or_insert((now, 0));
        *count = count.saturating_add(1);
        let left = WITHIN_MS.unsigned_abs().saturating_sub(now.since(*since));
        (*count > MOST_TRIES).then(|| left.div_ceil(1_000).max(1))
    }

    fn forget(&mut self, now: Time) {
        self.open.retain(|(_, ends)| *ends > now);
        self.tries.retain(|_, (since, _)| now.0.saturating_sub(since.0) < WITHIN_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: [u8; 32] = [1; 32];
    const SHORT: [u8; 32] = [3; 32];
    const BOTH: [[u8; 32]; 2] = [CODE, SHORT];

    #[test]
    fn a_code_is_good_once_and_for_five_minutes() {
        let mut codes = PairingCodes::default();
        codes.offer(BOTH, Time(0));
        assert_eq!(codes.claim(&[2; 32], None, Time(1)), ClaimResult::Wrong);
        assert_eq!(codes.claim(&CODE, None, Time(2)), ClaimResult::Good);
        assert_eq!(codes.claim(&CODE, None, Time(3)), ClaimResult::Wrong);
        codes.offer(BOTH, Time(10));
        assert_eq!(codes.claim(&CODE, None, Time(10 + LIVES_MS)), ClaimResult::Wrong);
    }

    #[test]
    fn with_either_form_both_are_used_up() {
        for (one, other) in [(CODE, SHORT), (SHORT, CODE)] {
            let mut codes = PairingCodes::default();
            codes.offer(BOTH, Time(0));
            assert_eq!(codes.claim(&one, None, Time(1)), ClaimResult::Good);
            assert_eq!(codes.claim(&other, None, Time(2)), ClaimResult::Wrong);
        }
    }

    #[test]
    fn whoever_tries_too_often_waits() {
        let mut codes = PairingCodes::default();
        codes.offer(BOTH, Time(0));
        let (one, two) = (Some([192, 168, 0, 2].into()), Some([192, 168, 0, 3].into()));
        for n in 0..MOST_TRIES {
            assert_eq!(codes.claim(&[2; 32], one, Time(n.into())), ClaimResult::Wrong);
        }
        assert_eq!(codes.claim(&CODE, one, Time(20)), ClaimResult::Later(60));
        assert_eq!(codes.claim(&[2; 32], two, Time(20)), ClaimResult::Wrong);
        assert_eq!(codes.claim(&CODE, one, Time(WITHIN_MS)), ClaimResult::Good);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut codes = PairingCodes::default();
        for n in 0..100 {
            codes.offer([[n; 32], SHORT], Time(0));
        }
        assert_eq!(codes.open.len(), MOST_OPEN);
        for n in 0..1_000_u32 {
            codes.claim(&CODE, Some(IpAddr::from(n.to_be_bytes())), Time(0));
        }
        assert_eq!(codes.tries.len(), MOST_COUNTED);
    }
}
