//! Arithmetic of a world's numbers: exact for integers, twelve significant digits otherwise (`domain.md` 3.11).
//!
//! A number keeps the text it was written with. It is parsed as decimal digits and never as a float, so nothing is
//! lost: 2^53 + 1 stays exact and 0.1 + 0.2 is 0.3. `1.0` and `1e2` count as integers, as in JSON Schema.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The significant digits that a result with a fraction keeps; its whole part is never rounded.
const SIGNIFICANT_DIGITS: i64 = 12;

/// The maximum decimal exponent of non-zero numbers, negative or positive. Any JSON parser can hold these numbers.
const MAX_EXPONENT: i64 = 308;

/// Larger exponents are capped, so that arithmetic on them cannot overflow.
const EXPONENT_CAP: i64 = 1 << 40;

/// The error for a result that is too large to be exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the result is too large to be exact")]
pub struct NumberTooLarge;

/// Adds two numbers. The sum of two integers is exact. Other sums are rounded half away from zero to 12 significant
/// digits, but never inside the whole part. The result is written without `-0` and `.0`.
///
/// # Errors
/// Returns an error if an integer operand or the result exceeds 128 bits, or if an operand is out of reach (see
/// [`is_within_reach`]).
pub fn add(a: &Number, b: &Number) -> Result<Number, NumberTooLarge> {
    let (left, right) = (Decimal::read(a), Decimal::read(b));
    if left.is_whole() && right.is_whole() {
        let (left, right) = (left.to_integer().ok_or(NumberTooLarge)?, right.to_integer().ok_or(NumberTooLarge)?);
        return left.checked_add(right).and_then(|sum| sum.to_string().parse().ok()).ok_or(NumberTooLarge);
    }
    if !(left.is_within_reach() && right.is_within_reach()) {
        return Err(NumberTooLarge);
    }
    let sum = left.plus(&right);
    let keep = SIGNIFICANT_DIGITS.max(sum.exponent);
    let sum = sum.rounded(keep);
    if sum.is_whole() && sum.to_integer().is_none() { Err(NumberTooLarge) } else { sum.write().ok_or(NumberTooLarge) }
}

/// Compares by value: `1`, `1.0` and `10e-1` are equal.
pub fn compare(a: &Number, b: &Number) -> Ordering {
    match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => Decimal::read(a).compare(&Decimal::read(b)),
    }
}

/// Returns whether the value has no fraction.
pub fn is_integer(number: &Number) -> bool {
    number.as_i64().is_some() || Decimal::read(number).is_whole()
}

/// Rounds to the nearest integer, halves away from zero. An integer keeps its text.
pub fn round(number: &Number) -> Number {
    to_integer_number(number, |decimal| {
        let first_behind_the_point = decimal.digits.get(decimal.integer_digits());
        decimal.exponent >= 0 && first_behind_the_point.is_some_and(|digit| *digit >= 5)
    })
}

/// Rounds down.
pub(super) fn floor(number: &Number) -> Number {
    to_integer_number(number, |decimal| decimal.negative)
}

/// Rounds up.
pub(super) fn ceil(number: &Number) -> Number {
    to_integer_number(number, |decimal| !decimal.negative)
}

/// Clamps a number to two optional bounds; `None` if it is already inside.
pub fn clamp(number: &Number, low: Option<&Number>, high: Option<&Number>) -> Option<Number> {
    let below = low.filter(|low| compare(number, low).is_lt());
    below.or_else(|| high.filter(|high| compare(number, high).is_gt())).cloned()
}

/// Returns whether any JSON parser can hold the number: it is 0 or its size is between 1e-308 and 1e308.
pub fn is_within_reach(number: &Number) -> bool {
    number.as_i64().is_some() || Decimal::read(number).is_within_reach()
}

/// Returns whether two values are equal. Numbers compare by value, so `[1]` equals `[1.0]`; the order of keys is
/// ignored.
pub fn values_equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values_equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| values_equal(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Returns the same text for all spellings of a number.
pub(super) fn canonical_number(number: &Number) -> String {
    Decimal::read(number).write().map_or_else(|| number.to_string(), |number| number.to_string())
}

fn to_integer_number(number: &Number, away_from_zero: impl Fn(&Decimal) -> bool) -> Number {
    let decimal = Decimal::read(number);
    if decimal.is_whole() {
        return number.clone();
    }
    let (keep, away) = (decimal.exponent, away_from_zero(&decimal));
    decimal.cut(keep, away).write().unwrap_or_else(|| number.clone())
}

/// `0.digits * 10^exponent`, without zeros at either end of the digits. Zero has no digits and the least exponent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn read(number: &Number) -> Self {
        let text = number.as_str();
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let unsigned = mantissa.trim_start_matches('-');
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let digits = whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
        let far = if exponent.starts_with('-') { -EXPONENT_CAP } else { EXPONENT_CAP };
        let exponent = exponent
            .parse::<i64>()
            .unwrap_or(far)
            .clamp(-EXPONENT_CAP, EXPONENT_CAP)
            .saturating_add(length(whole.len()));
        Self { negative: mantissa.starts_with('-'), digits, exponent }.normalize()
    }

    fn normalize(mut self) -> Self {
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
        while self.digits.last() == Some(&0) {
            self.digits.pop();
        }
        if self.digits.is_empty() {
            return Self { negative: false, digits: Vec::new(), exponent: i64::MIN };
        }
        self.exponent = self.exponent.saturating_sub(length(zeros));
        self
    }

    fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    fn is_whole(&self) -> bool {
        self.is_zero() || length(self.digits.len()) <= self.exponent
    }

    fn is_within_reach(&self) -> bool {
        self.is_zero() || (-MAX_EXPONENT..=MAX_EXPONENT).contains(&self.exponent)
    }

    /// Returns the number of digits before the decimal point.
    fn integer_digits(&self) -> usize {
        usize::try_from(self.exponent).unwrap_or(0)
    }

    /// Returns the position of the last digit, counted like the exponent.
    fn last_digit_position(&self) -> i64 {
        self.exponent.saturating_sub(length(self.digits.len()))
    }

    fn to_integer(&self) -> Option<i128> {
        if self.is_zero() {
            return Some(0);
        }
        // 128 bits hold at most 39 digits.
        (self.is_whole() && self.exponent <= 39).then(|| self.whole_text().parse().ok()).flatten()
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_size(other),
            (true, true) => other.compare_size(self),
        }
    }

    fn compare_size(&self, other: &Self) -> Ordering {
        self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits))
    }

    fn plus(&self, other: &Self) -> Self {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() { other.clone() } else { self.clone() };
        }
        let (top, bottom) =
            (self.exponent.max(other.exponent), self.last_digit_position().min(other.last_digit_position()));
        let (big, small) = if self.compare_size(other).is_ge() { (self, other) } else { (other, self) };
        let (upper, lower) = (big.digit_range(top, bottom), small.digit_range(top, bottom));
        let digits = if big.negative == small.negative { sum(&upper, &lower) } else { difference(&upper, &lower) };
        Self { negative: big.negative, digits, exponent: top.saturating_add(1) }.normalize()
    }

    /// Returns the digits from position `top` down to `bottom`, padded with zeros.
    fn digit_range(&self, top: i64, bottom: i64) -> Vec<u8> {
        let before = std::iter::repeat_n(0, count(top.saturating_sub(self.exponent)));
        let after = std::iter::repeat_n(0, count(self.last_digit_position().saturating_sub(bottom)));
        before.chain(self.digits.iter().copied()).chain(after).collect()
    }

    /// Keeps `keep` digits and rounds the last one half away from zero.
    fn rounded(self, keep: i64) -> Self {
        if keep >= length(self.digits.len()) {
            return self;
        }
        let up = self.digits.get(count(keep)).is_some_and(|digit| *digit >= 5);
        self.cut(keep, up)
    }

    /// Drops the digits after the first `keep` (there are more), and increments the last one if `up`.
    fn cut(mut self, keep: i64, up: bool) -> Self {
        self.digits.truncate(count(keep));
        if !up {
            return self.normalize();
        }
        let position = self.exponent.saturating_sub(keep);
        while self.digits.last() == Some(&9) {
            self.digits.pop();
        }
        match self.digits.last_mut() {
            Some(last) => *last += 1,
            None => {
                self.exponent = if keep > 0 { self.exponent.saturating_add(1) } else { position.saturating_add(1) };
                self.digits.push(1);
            }
        }
        self.normalize()
    }

    fn whole_text(&self) -> String {
        let zeros = self.exponent.saturating_sub(length(self.digits.len()));
        format!("{}{}{}", self.sign(), digits_to_text(&self.digits), "0".repeat(count(zeros)))
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    /// Writes plain notation, or an exponent for very small numbers; `None` if out of reach.
    fn write(&self) -> Option<Number> {
        if !self.is_within_reach() {
            return None;
        }
        let sign = self.sign();
        let text = if self.is_zero() {
            "0".to_owned()
        } else if self.is_whole() {
            self.whole_text()
        } else if self.exponent > 0 {
            let (whole, fraction) = self.digits.split_at_checked(self.integer_digits())?;
            format!("{sign}{}.{}", digits_to_text(whole), digits_to_text(fraction))
        } else if self.exponent > -6 {
            format!("{sign}0.{}{}", "0".repeat(count(self.exponent.saturating_neg())), digits_to_text(&self.digits))
        } else {
            let (first, rest) = self.digits.split_first()?;
            let point = if rest.is_empty() { "" } else { "." };
            format!("{sign}{first}{point}{}e{}", digits_to_text(rest), self.exponent.saturating_sub(1))
        };
        text.parse().ok()
    }
}

/// Adds two digit rows of equal length; the result is one digit longer.
fn sum(upper: &[u8], lower: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let mut out: Vec<u8> = Vec::with_capacity(upper.len().saturating_add(1));
    for (a, b) in upper.iter().zip(lower).rev() {
        let column = a + b + carry;
        out.push(column % 10);
        carry = column / 10;
    }
    out.push(carry);
    out.reverse();
    out
}

/// Subtracts `lower` from `upper`, which is not smaller; the result is one digit longer.
fn difference(upper: &[u8], lower: &[u8]) -> Vec<u8> {
    let mut borrow = 0;
    let mut out: Vec<u8> = Vec::with_capacity(upper.len().saturating_add(1));
    for (a, b) in upper.iter().zip(lower).rev() {
        let column = a + 10 - b - borrow;
        out.push(column % 10);
        borrow = u8::from(column < 10);
    }
    out.push(0);
    out.reverse();
    out
}

fn digits_to_text(digits: &[u8]) -> String {
    digits.iter().map(|digit| char::from(b'0' + digit)).collect()
}

fn length(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Converts a distance to a length; negative distances become 0.
fn count(distance: i64) -> usize {
    usize::try_from(distance).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn n(text: &str) -> Number {
        text.parse().unwrap()
    }

    /// C20, S3-20: sums are exact on integers and have at most twelve significant digits otherwise.
    #[test]
    fn number_add_returns_exact_sum() {
        let check =
            |a: &str, b: &str, expected: &str| assert_eq!(add(&n(a), &n(b)).unwrap().as_str(), expected, "{a} + {b}");
        check("1", "2", "3");
        check("40", "-12", "28");
        check("5", "-5", "0");
        check("-0", "0", "0");
        check("-0.0", "-0.0", "0");
        check("1.0", "2", "3");
        check("1e2", "1", "101");
        check("9007199254740993", "2", "9007199254740995");
        check("18446744073709551615", "1", "18446744073709551616");
        check("170141183460469231731687303715884105726", "1", "170141183460469231731687303715884105727");
        check("0.1", "0.2", "0.3");
        check("0.5", "0.5", "1");
        check("0.5", "-0.5", "0");
        check("1", "-0.1", "0.9");
        check("-1.5", "0.25", "-1.25");
        check("99.95", "0.05", "100");
        check("0.333333333333333", "0", "0.333333333333");
        check("0.9999999999999", "0", "1");
        check("1234567890123.5", "1", "1234567890125");
        check("9007199254740993", "0.25", "9007199254740993");
        check("1e-7", "2e-7", "3e-7");
        check("1.25e-9", "0", "1.25e-9");
        check("0.000001", "0", "0.000001");
        check("1e30", "0.1", "1000000000000000000000000000000");
    }

    #[test]
    fn number_add_overflow_returns_error() {
        for (a, b) in [
            ("170141183460469231731687303715884105727", "1"),
            ("1e40", "1"),
            ("1e40", "0.5"),
            ("1e999999999999999999999", "1"),
            ("1e-999999999999999999999", "0.5"),
            ("1e308", "1e308"),
        ] {
            assert_eq!(add(&n(a), &n(b)), Err(NumberTooLarge), "{a} + {b}");
        }
    }

    #[test]
    fn number_compare_equal_values_are_equal() {
        let check = |a: &str, b: &str, expected: Ordering| {
            assert_eq!(compare(&n(a), &n(b)), expected, "{a} {b}");
            assert_eq!(compare(&n(b), &n(a)), expected.reverse(), "{b} {a}");
        };
        check("1", "1.0", Ordering::Equal);
        check("100", "1e2", Ordering::Equal);
        check("0.1", "1e-1", Ordering::Equal);
        check("-0", "0.0", Ordering::Equal);
        check("9007199254740993", "9007199254740992.0", Ordering::Greater);
        check("-2", "-1.5", Ordering::Less);
        check("-1", "0.001", Ordering::Less);
        check("0", "1e-300", Ordering::Less);
        check("1e400", "1e399", Ordering::Greater);
        check("99999999999999999999999999999999999999999", "1e40", Ordering::Greater);
    }

    #[test]
    fn number_round_half_away_from_zero() {
        let check = |text: &str, down: &str, near: &str, up: &str| {
            let got = [floor(&n(text)), round(&n(text)), ceil(&n(text))].map(|number| number.to_string());
            assert_eq!(got, [down, near, up], "{text}");
            assert_eq!(is_integer(&n(text)), down == up, "{text}");
        };
        check("2.5", "2", "3", "3");
        check("-2.5", "-3", "-3", "-2");
        check("2.4", "2", "2", "3");
        check("0.4", "0", "0", "1");
        check("0.5", "0", "1", "1");
        check("-0.04", "-1", "0", "0");
        check("0.04", "0", "0", "1");
        check("0.06", "0", "0", "1");
        check("99.9", "99", "100", "100");
        check("1.0", "1.0", "1.0", "1.0");
        check("1e+2", "1e+2", "1e+2", "1e+2");
        check("9007199254740993.5", "9007199254740993", "9007199254740994", "9007199254740994");
    }

    #[test]
    fn number_clamp_out_of_range_returns_bound() {
        let (low, high) = (n("0"), n("20"));
        let check = |text: &str| clamp(&n(text), Some(&low), Some(&high)).map(|number| number.to_string());
        assert_eq!(check("-5"), Some("0".into()));
        assert_eq!(check("20.5"), Some("20".into()));
        assert_eq!((check("0"), check("20.0"), check("7")), (None, None, None));
        assert_eq!(clamp(&n("-5"), None, None), None);
    }

    #[test]
    fn number_values_equal_compares_nested_values() {
        assert!(values_equal(&json!({"a": [1, null], "b": "x"}), &json!({"b": "x", "a": [1.0, null]})));
        assert!(
            !values_equal(&json!([1, 2]), &json!([2, 1]))
                && !values_equal(&json!(1), &json!("1"))
                && !values_equal(&json!({}), &json!(null))
        );
    }

    fn any_number() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<i64>().prop_map(|i| i.to_string()),
            any::<i128>().prop_map(|i| i.to_string()),
            "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
            "-?(0|[1-9][0-9]{0,3})\\.[0-9]{1,6}",
            Just("1e-99999999999999999999".to_owned()),
            Just("-1e99999999999999999999".to_owned()),
        ]
    }

    proptest! {
        /// C20: integers of any size add up exactly or return an error.
        #[test]
        fn number_add_integers_is_exact(a: i128, b: i128) {
            let expected = a.checked_add(b).map(|sum| sum.to_string()).ok_or(NumberTooLarge);
            prop_assert_eq!(add(&n(&a.to_string()), &n(&b.to_string())).map(|sum| sum.to_string()), expected);
        }

        #[test]
        fn number_add_short_decimals_is_exact(a in -1_000_000_000i64..1_000_000_000, b in -1_000_000_000i64..1_000_000_000) {
            let thousandths = |i: i64| n(&format!("{i}e-3"));
            let sum = add(&thousandths(a), &thousandths(b)).unwrap();
            prop_assert_eq!(compare(&sum, &thousandths(a + b)), Ordering::Equal, "{}", sum);
        }

        #[test]
        fn number_any_input_returns_valid_json(a in any_number(), b in any_number()) {
            let (a, b) = (n(&a), n(&b));
            prop_assert_eq!(compare(&a, &b), compare(&b, &a).reverse());
            prop_assert!(compare(&floor(&a), &a).is_le() && compare(&ceil(&a), &a).is_ge());
            prop_assert!(is_integer(&a) || !is_within_reach(&a) || is_integer(&round(&a)));
            let sum = add(&a, &b);
            prop_assert_eq!(&sum, &add(&b, &a));
            if let Ok(sum) = sum {
                let text = sum.to_string();
                prop_assert_ne!(&text, "-0");
                prop_assert!(!text.ends_with(".0"));
                let read = serde_json::from_str::<Value>(&text).unwrap().to_string();
                prop_assert_eq!(read, text);
            }
        }

        #[test]
        fn number_compare_matches_float_order(a in -1e15f64..1e15, b in -1e15f64..1e15) {
            let number = |f: f64| Number::from_f64(f).unwrap();
            prop_assert_eq!(Some(compare(&number(a), &number(b))), a.partial_cmp(&b));
        }
    }
}
