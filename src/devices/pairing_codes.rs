//! Single-use pairing codes: each is valid for 5 minutes and kept as a hash.
//!
//! A code has two forms, one to scan and a short one to type; using either uses up both. The form to scan has 128 bits
//! and cannot be guessed. The short form has 40 bits and counts wrong codes, whoever sends them: after
//! [`MAX_WRONG_CODES`] only the form to scan is left. So all clients together guess one of the open codes with a chance
//! of one in 250 million. Codes that are made after so many wrong ones have a long form to type, with 80 bits, which
//! needs no count.
//!
//! A right code is always accepted. Otherwise whoever sends wrong ones could keep everybody out who shares an address
//! with them, such as all clients of a proxy. An address that sends many wrong ones is only told to wait.

use std::collections::HashMap;
use std::net::IpAddr;

use clotho_core::clock::Time;

/// How long a code is valid, in milliseconds.
pub const LIFETIME_MS: i64 = 5 * 60 * 1_000;
/// How many codes are open at the same time. A new one replaces the oldest.
const MAX_OPEN_CODES: usize = 8;
/// How many wrong codes, of all clients together, end the short form of an open code. So many within [`LIFETIME_MS`]
/// also make the next codes long.
pub const MAX_WRONG_CODES: u32 = 500;
/// How many wrong codes of one address are looked at within [`ATTEMPT_WINDOW_MS`] without telling it to wait.
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
    /// The code is wrong too, and there were too many before; retry after this many seconds.
    RateLimited(u64),
}

/// The strength of the form of a code that is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypedForm {
    /// Few characters; it ends after [`MAX_WRONG_CODES`].
    Short,
    /// Too many to guess.
    Long,
}

/// A code that a device may present.
#[derive(Debug)]
struct OpenCode {
    /// The hash of the form to scan.
    scanned: [u8; 32],
    /// The hash of the form to type.
    typed: [u8; 32],
    form: TypedForm,
    expiry: Time,
    /// Wrong codes since it was made.
    wrong: u32,
}

impl OpenCode {
    /// Returns whether a hash is that of the code. Both forms are compared whether or not one fits. Whoever sends codes
    /// does not know their hashes, so the time of a comparison tells nothing about them.
    fn fits(&self, hash: &[u8; 32]) -> bool {
        let (is_scanned, is_typed) = (self.scanned == *hash, self.typed == *hash);
        is_scanned || (is_typed && (self.form == TypedForm::Long || self.wrong < MAX_WRONG_CODES))
    }
}

/// The open codes, and the wrong ones that were sent.
#[derive(Debug, Default)]
pub struct PairingCodes {
    /// Oldest first.
    open: Vec<OpenCode>,
    /// The start of the current window of [`LIFETIME_MS`], and all wrong codes since then.
    wrong: Option<(Time, u32)>,
    /// The start of each address's window, and its wrong codes since then.
    attempts: HashMap<Option<IpAddr>, (Time, u32)>,
}

impl PairingCodes {
    /// Returns which form to type a new code needs.
    pub fn needed_form(&mut self, now: Time) -> TypedForm {
        self.remove_stale(now);
        let wrong = self.wrong.map_or(0, |(_, count)| count);
        if wrong < MAX_WRONG_CODES { TypedForm::Short } else { TypedForm::Long }
    }

    /// Adds a code, given the hashes of the forms to scan and to type. It is valid from now on.
    pub fn add(&mut self, [scanned, typed]: [[u8; 32]; 2], form: TypedForm, now: Time) {
        self.remove_stale(now);
        if self.open.len() >= MAX_OPEN_CODES {
            self.open.remove(0);
        }
        let expiry = Time(now.0.saturating_add(LIFETIME_MS));
        self.open.push(OpenCode { scanned, typed, form, expiry, wrong: 0 });
    }

    /// Checks a code and uses it up. A wrong one is counted.
    pub fn claim(&mut self, hash: &[u8; 32], client: Option<IpAddr>, now: Time) -> ClaimResult {
        self.remove_stale(now);
        if let Some(at) = self.open.iter().position(|open| open.fits(hash)) {
            self.open.remove(at);
            return ClaimResult::Accepted;
        }
        for open in &mut self.open {
            open.wrong = open.wrong.saturating_add(1);
        }
        let (_, all) = self.wrong.get_or_insert((now, 0));
        *all = all.saturating_add(1);
        self.count_attempt(client, now).map_or(ClaimResult::Invalid, ClaimResult::RateLimited)
    }

    /// Counts a wrong code. Returns the seconds to wait if the address has sent too many.
    fn count_attempt(&mut self, client: Option<IpAddr>, now: Time) -> Option<u64> {
        if self.attempts.len() >= MAX_PEERS && !self.attempts.contains_key(&client) {
            return Some(ATTEMPT_WINDOW_MS.unsigned_abs() / 1_000);
        }
        let (since, count) = self.attempts.entry(client).or_insert((now, 0));
        *count = count.saturating_add(1);
        let left = ATTEMPT_WINDOW_MS.unsigned_abs().saturating_sub(now.millis_since(*since));
        (*count > MAX_ATTEMPTS).then(|| left.div_ceil(1_000).max(1))
    }

    fn remove_stale(&mut self, now: Time) {
        self.open.retain(|open| open.expiry > now);
        self.wrong = self.wrong.filter(|(since, _)| now.0.saturating_sub(since.0) < LIFETIME_MS);
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
        codes.add(BOTH, TypedForm::Short, Time(0));
        assert_eq!(codes.claim(&[2; 32], None, Time(1)), ClaimResult::Invalid);
        assert_eq!(codes.claim(&CODE, None, Time(2)), ClaimResult::Accepted);
        assert_eq!(codes.claim(&CODE, None, Time(3)), ClaimResult::Invalid);
        codes.add(BOTH, TypedForm::Short, Time(10));
        assert_eq!(codes.claim(&CODE, None, Time(10 + LIFETIME_MS)), ClaimResult::Invalid);
    }

    #[test]
    fn pairing_code_claim_consumes_both_forms() {
        for (one, other) in [(CODE, SHORT), (SHORT, CODE)] {
            let mut codes = PairingCodes::default();
            codes.add(BOTH, TypedForm::Short, Time(0));
            assert_eq!(codes.claim(&one, None, Time(1)), ClaimResult::Accepted);
            assert_eq!(codes.claim(&other, None, Time(2)), ClaimResult::Invalid);
        }
    }

    const WRONG: [u8; 32] = [2; 32];

    #[test]
    fn pairing_wrong_codes_too_many_are_rate_limited() {
        let mut codes = PairingCodes::default();
        codes.add(BOTH, TypedForm::Short, Time(0));
        let (one, two) = (Some([192, 168, 0, 2].into()), Some([192, 168, 0, 3].into()));
        for n in 0..MAX_ATTEMPTS {
            assert_eq!(codes.claim(&WRONG, one, Time(n.into())), ClaimResult::Invalid);
        }
        assert_eq!(codes.claim(&WRONG, one, Time(20)), ClaimResult::RateLimited(60));
        assert_eq!(codes.claim(&WRONG, two, Time(20)), ClaimResult::Invalid);
        assert_eq!(codes.claim(&WRONG, one, Time(ATTEMPT_WINDOW_MS)), ClaimResult::Invalid, "a new minute");
    }

    /// Whoever shares an address with somebody who guesses is not kept out.
    #[test]
    fn pairing_right_code_after_many_wrong_ones_is_accepted() {
        for right in [CODE, SHORT] {
            let mut codes = PairingCodes::default();
            codes.add(BOTH, TypedForm::Short, Time(0));
            for _ in 1..MAX_WRONG_CODES {
                codes.claim(&WRONG, None, Time(1));
            }
            assert_eq!(codes.claim(&right, None, Time(2)), ClaimResult::Accepted);
        }
    }

    /// The short form cannot be guessed: it ends, for all addresses together. The form to scan stays, and new codes
    /// have a long form to type.
    #[test]
    fn pairing_short_code_ends_after_too_many_wrong_ones() {
        let guessed = || {
            let mut codes = PairingCodes::default();
            codes.add(BOTH, TypedForm::Short, Time(0));
            assert_eq!(codes.needed_form(Time(0)), TypedForm::Short);
            for n in 0..MAX_WRONG_CODES {
                codes.claim(&WRONG, Some(IpAddr::from(n.to_be_bytes())), Time(1));
            }
            codes
        };
        assert_ne!(guessed().claim(&SHORT, None, Time(2)), ClaimResult::Accepted);
        assert_eq!(guessed().claim(&CODE, None, Time(2)), ClaimResult::Accepted);
        let mut codes = guessed();
        assert_eq!(codes.needed_form(Time(2)), TypedForm::Long);
        let typed = [4; 32];
        codes.add([[5; 32], typed], TypedForm::Long, Time(2));
        for _ in 0..2 * MAX_WRONG_CODES {
            codes.claim(&WRONG, None, Time(3));
        }
        assert_eq!(codes.claim(&typed, None, Time(4)), ClaimResult::Accepted);
        assert_eq!(codes.needed_form(Time(1 + LIFETIME_MS)), TypedForm::Short);
    }

    #[test]
    fn pairing_codes_open_codes_stay_bounded() {
        let mut codes = PairingCodes::default();
        for n in 0..100 {
            codes.add([[n; 32], SHORT], TypedForm::Short, Time(0));
        }
        assert_eq!(codes.open.len(), MAX_OPEN_CODES);
        for n in 0..1_000_u32 {
            codes.claim(&WRONG, Some(IpAddr::from(n.to_be_bytes())), Time(0));
        }
        assert_eq!(codes.attempts.len(), MAX_PEERS);
    }
}
