//! Numbers as strings that sort numerically; exact for any size, so that `gold:>9007199254740992` is right.

/// How many significant digits count; the rest is ignored.
const DIGITS_MAX: usize = 40;
/// Larger exponents are clamped to this.
const EXPONENT_MAX: i64 = 400_000;

/// Sorts before the code of any number.
pub(super) const LEAST: &str = "n";
/// Sorts after the code of any number.
pub(super) const MOST: &str = "q";

/// Encodes a number as JSON or a person writes it (`-12`, `+3`, `.5`, `1e9`). Codes sort like the numbers, and equal
/// numbers have equal codes. Returns `None` if the text is no number.
pub(super) fn encode(text: &str) -> Option<String> {
    let (is_negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, power) = match rest.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, exponent(power)?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || (whole.is_empty() && fraction.is_empty()) {
        return None;
    }
    let whole = whole.trim_start_matches('0');
    let all: String = whole.chars().chain(fraction.chars()).collect();
    let significant = all.trim_start_matches('0');
    let digits: String = significant.chars().take(DIGITS_MAX).collect();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return Some("o".to_owned());
    }
    // The number is 0.digits * 10^magnitude.
    let magnitude = i64::try_from(whole.len()).ok()? - i64::try_from(all.len() - significant.len()).ok()? + power;
    let magnitude = magnitude.clamp(-EXPONENT_MAX, EXPONENT_MAX) + EXPONENT_MAX;
    let plain = format!("{magnitude:06}{digits}");
    Some(if is_negative { format!("n{}~", complement_digits(&plain)) } else { format!("p{plain}") })
}

fn exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits.parse().unwrap_or(EXPONENT_MAX).min(EXPONENT_MAX);
    Some(if text.starts_with('-') { -size } else { size })
}

/// Returns the nines' complement, which reverses the order.
fn complement_digits(digits: &str) -> String {
    digits.chars().filter_map(|c| c.to_digit(10)).filter_map(|digit| char::from_digit(9 - digit, 10)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimal_code_equal_numbers_are_equal() {
        for same in [
            &["0", "-0", "0.00", "0e7", ".0", "+0"][..],
            &["20", "20.0", "2e1", "0.2E+2", "020", "+20."],
            &["-0.5", "-.5", "-5e-1", "-0.50"],
            &["9007199254740993", "9007199254740993.0"],
        ] {
            for one in same {
                assert_eq!(encode(one), encode(same[0]), "{one}");
                assert!(encode(one).is_some());
            }
        }
        for none in ["", "-", ".", "e5", "1e", "1e+", "0x10", "1_000", "２０", "nan", "--1", "1.2.3", "NaN", "1e5.0"]
        {
            assert_eq!(encode(none), None, "{none}");
        }
    }

    #[test]
    fn decimal_code_sorts_numerically() {
        let ordered = [
            "-1e999999999999",
            "-9007199254740993",
            "-9007199254740992",
            "-20",
            "-2.01",
            "-2",
            "-1.23",
            "-1.2",
            "-0.5",
            "-0.05",
            "-1e-999999999999",
            "0",
            "1e-400",
            "0.05",
            "0.5",
            "1",
            "1.2",
            "1.23",
            "9",
            "10",
            "19.99",
            "20",
            "100",
            "9007199254740992",
            "9007199254740993",
            "1e400",
        ];
        for pair in ordered.windows(2) {
            let [Some(less), Some(more)] = [encode(pair[0]), encode(pair[1])] else { panic!("{pair:?}") };
            assert!(less < more, "{pair:?} {less} {more}");
            assert!(LEAST <= less.as_str() && more.as_str() < MOST);
        }
        let long = encode(&"9".repeat(1_000_000)).unwrap();
        assert!(long.len() < 60 && encode("1e400").unwrap() < long);
    }

    proptest! {
        #[test]
        fn decimal_code_matches_float_order(a in -1e9_f64..1e9, b in -10_i32..10) {
            let (one, other) = (format!("{a}"), b.to_string());
            let expected = a.partial_cmp(&f64::from(b)).unwrap();
            prop_assert_eq!(encode(&one).unwrap().cmp(&encode(&other).unwrap()), expected);
        }
    }
}
