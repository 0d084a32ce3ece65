//! Single-use pairing codes: each is valid for 5 minutes and kept as a hash.
//!
//! A code has two forms, one to scan and a short one to type; using either uses up both. Attempts are limited per
//! address. The short form has 40 bits, so all counted addresses together guess it within 5 minutes with a chance of
//! one in ten million.

use std::collections::HashMap;
use std::net::IpAddr;

use clotho_core::clock::Time;

/// How long a code is valid, in milliseconds.
pub const LIFETIME_MS: i64 = 5 * 60 * 1_000;
/// How many codes are open at the same time. A new one replaces the oldest.
const MAX_OPEN_CODES: usize = 8;
/// How many attempts one address has within [`ATTEMPT_WINDOW_MS`].
const MAX_ATTEMPTS: u32 = 10;
/// The window in which attempts are counted, in milliseconds.
const ATTEMPT_WINDOW_MS: i64 = 60 * 1_000;
/// How many addresses are counted at the same time. Further addresses must wait.
const MAX_PEERS: usize = 256;

/// The result of checking a pairing code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimResult {
    /// The code was valid, and is used up.
    Accepted,
    /// The code is wrong, expired or used.
    Invalid,
    /// Too many attempts; retry after this many seconds.
    RateLimited(u64),
}

/// The open codes and the attempts of each address.
#[derive(Debug, Default)]
pub struct PairingCodes {
    /// The hashes of both forms with their expiry, oldest first.
    open: Vec<([[u8; 32]; 2], Time)>,
    /// The start of each address's window, and its attempts since then.
    attempts: HashMap<Option<IpAddr>, (Time, u32)>,
}

impl PairingCodes {
    /// Adds a code in its two forms, valid from now on.
    pub fn add(&mut self, hashes: [[u8; 32]; 2], now: Time) {
        self.remove_stale(now);
        if self.open.len() >= MAX_OPEN_CODES {
            self.open.remove(0);
        }
        self.open.push((hashes, Time(now.0.saturating_add(LIFETIME_MS))));
    }

    /// Checks a code and uses it up.
    pub fn claim(&mut self, hash: &[u8; 32], peer: Option<IpAddr>, now: Time) -> ClaimResult {
        self.remove_stale(now);
        if let Some(wait_s) = self.count_attempt(peer, now) {
            return ClaimResult::RateLimited(wait_s);
        }
        match self.open.iter().position(|(open, _)| open.contains(hash)) {
            Some(at) => {
                self.open.remove(at);
                ClaimResult::Accepted
            }
            None => ClaimResult::Invalid,
        }
    }

    /// Counts an attempt. Returns the seconds to wait if the address has no attempt left.
    fn count_attempt(&mut self, peer: Option<IpAddr>, now: Time) -> Option<u64> {
        if self.attempts.len() >= MAX_PEERS && !self.attempts.contains_key(&peer) {
            return Some(ATTEMPT_WINDOW_MS.unsigned_abs() / 1_000);
        }
        let (since, count) = self.attempts.entry(peer).or_insert((now, 0));
        *count = count.saturating_add(1);
        let left = ATTEMPT_WINDOW_MS.unsigned_abs().saturating_sub(now.millis_since(*since));
        (*count > MAX_ATTEMPTS).then(|| left.div_ceil(1_000).max(1))
    }

    fn remove_stale(&mut self, now: Time) {
        self.open.retain(|(_, ends)| *ends > now);
        self.attempts.retain(|_, (since, _)| now.0.saturating_sub(since.0) < ATTEMPT_WINDOW_MS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: [u8; 32] = [1; 32];
    const SHORT: [u8; 32] = [3; 32];
    const BOTH: [[u8; 32]; 2] = [CODE, SHORT];

    #[test]
    fn pairing_code_is_valid_once_for_five_minutes() {
        let mut codes = PairingCodes::default();
        codes.add(BOTH, Time(0));
        assert_eq!(codes.claim(&[2; 32], None, Time(1)), ClaimResult::Invalid);
        assert_eq!(codes.claim(&CODE, None, Time(2)), ClaimResult::Accepted);
        assert_eq!(codes.claim(&CODE, None, Time(3)), ClaimResult::Invalid);
        codes.add(BOTH, Time(10));
        assert_eq!(codes.claim(&CODE, None, Time(10 + LIFETIME_MS)), ClaimResult::Invalid);
    }

    #[test]
    fn pairing_code_claim_consumes_both_forms() {
        for (one, other) in [(CODE, SHORT), (SHORT, CODE)] {
            let mut codes = PairingCodes::default();
            codes.add(BOTH, Time(0));
            assert_eq!(codes.claim(&one, None, Time(1)), ClaimResult::Accepted);
            assert_eq!(codes.claim(&other, None, Time(2)), ClaimResult::Invalid);
        }
    }

    #[test]
    fn pairing_code_too_many_attempts_is_rate_limited() {
        let mut codes = PairingCodes::default();
        codes.add(BOTH, Time(0));
        let (one, two) = (Some([192, 168, 0, 2].into()), Some([192, 168, 0, 3].into()));
        for n in 0..MAX_ATTEMPTS {
            assert_eq!(codes.claim(&[2; 32], one, Time(n.into())), ClaimResult::Invalid);
        }
        assert_eq!(codes.claim(&CODE, one, Time(20)), ClaimResult::RateLimited(60));
        assert_eq!(codes.claim(&[2; 32], two, Time(20)), ClaimResult::Invalid);
        assert_eq!(codes.claim(&CODE, one, Time(ATTEMPT_WINDOW_MS)), ClaimResult::Accepted);
    }

    #[test]
    fn pairing_codes_open_codes_stay_bounded() {
        let mut codes = PairingCodes::default();
        for n in 0..100 {
            codes.add([[n; 32], SHORT], Time(0));
        }
        assert_eq!(codes.open.len(), MAX_OPEN_CODES);
        for n in 0..1_000_u32 {
            codes.claim(&CODE, Some(IpAddr::from(n.to_be_bytes())), Time(0));
        }
        assert_eq!(codes.attempts.len(), MAX_PEERS);
    }
}
