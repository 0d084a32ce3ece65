//! Calculates sums of numbers in commands: `15-3`, `2*(3+4)`. There are no names, calls or assignments, so nothing that
//! a model wrote is run.

use serde_json::Number;

/// The most bytes of one expression.
const MAX_BYTES: usize = 200;
/// The deepest nesting of brackets and signs.
const MAX_DEPTH: usize = 32;
/// Whole numbers up to here are exact.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Calculates an expression of numbers with `+ - * / % ^ **` and brackets. `None` if it is anything else, if it looks
/// like a date, or if its result is not finite. Other results than whole numbers have twelve digits, as in MVU.
pub(super) fn calculate(text: &str) -> Option<Number> {
    if text.len() > MAX_BYTES || is_date(text) {
        return None;
    }
    let mut reader = ExpressionReader { rest: text.trim_start() };
    let result = reader.sum(MAX_DEPTH).filter(|_| reader.rest.is_empty())?;
    to_number(result)
}

fn to_number(result: f64) -> Option<Number> {
    if result.fract() == 0.0 && result.abs() <= MAX_EXACT {
        return format!("{result:.0}").parse::<i64>().ok().map(Number::from);
    }
    Number::from_f64(format!("{result:.11e}").parse().ok()?)
}

/// Returns whether a text has the form of a date: three groups of digits, a year first or last.
fn is_date(text: &str) -> bool {
    ['-', '/'].into_iter().any(|sign| {
        let groups: Vec<usize> = text.split(sign).map(str::len).collect();
        let is_whole = text.chars().all(|c| c.is_ascii_digit() || c == sign);
        is_whole && matches!(groups.as_slice(), [4, 1..=2, 1..=2] | [1..=2, 1..=2, 4])
    })
}

struct ExpressionReader<'t> {
    /// What is left, without leading white space.
    rest: &'t str,
}

impl ExpressionReader<'_> {
    fn take(&mut self, sign: &str) -> bool {
        let Some(rest) = self.rest.strip_prefix(sign) else { return false };
        self.rest = rest.trim_start();
        true
    }

    fn sum(&mut self, depth: usize) -> Option<f64> {
        let depth = depth.checked_sub(1)?;
        let mut sum = self.product(depth)?;
        loop {
            if self.take("+") {
                sum += self.product(depth)?;
            } else if self.take("-") {
                sum -= self.product(depth)?;
            } else {
                return Some(sum);
            }
        }
    }

    fn product(&mut self, depth: usize) -> Option<f64> {
        let mut product = self.signed(depth)?;
        loop {
            if self.take("*") {
                product *= self.signed(depth)?;
            } else if self.take("/") {
                product /= self.signed(depth)?;
            } else if self.take("%") {
                let by = self.signed(depth)?;
                product -= by * (product / by).floor();
            } else {
                return Some(product);
            }
        }
    }

    fn signed(&mut self, depth: usize) -> Option<f64> {
        let depth = depth.checked_sub(1)?;
        if self.take("-") {
            return self.signed(depth).map(|value| -value);
        }
        if self.take("+") {
            return self.signed(depth);
        }
        let base = self.operand(depth)?;
        if self.take("**") || self.take("^") { Some(base.powf(self.signed(depth)?)) } else { Some(base) }
    }

    fn operand(&mut self, depth: usize) -> Option<f64> {
        if self.take("(") {
            let inside = self.sum(depth)?;
            return self.take(")").then_some(inside);
        }
        self.number()
    }

    fn number(&mut self) -> Option<f64> {
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let whole = digits(self.rest);
        let mut end = whole;
        if let Some(fraction) = self.rest.get(end..)?.strip_prefix('.') {
            end += 1 + digits(fraction);
        }
        if let Some(exponent) = self.rest.get(end..)?.strip_prefix(['e', 'E']) {
            let sign = usize::from(exponent.starts_with(['+', '-']));
            let length = digits(exponent.get(sign..)?);
            end += if length > 0 { 1 + sign + length } else { 0 };
        }
        // A leading zero belongs to a time, a date or a number of a door.
        let (number, rest) = self.rest.split_at(end);
        if whole > 1 && number.starts_with('0') {
            return None;
        }
        self.rest = rest.trim_start();
        number.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn mvu_arithmetic_of_numbers_is_calculated() {
        for (text, expected) in [
            ("15-3", json!(12)),
            ("-2*3", json!(-6)),
            ("(-3)", json!(-3)),
            ("2*(3+4)", json!(14)),
            ("10/4", json!(2.5)),
            ("10 % 4", json!(2)),
            ("-7 % 3", json!(2)),
            ("2**3**2", json!(512)),
            ("-2^2", json!(-4)),
            ("0.1 + 0.2", json!(0.3)),
            ("1/3", json!(0.333333333333)),
            ("1e3-1", json!(999)),
            (".5*4", json!(2)),
            ("100 - 20 - 5", json!(75)),
            ("((1))", json!(1)),
            ("5--3", json!(8)),
            ("0*-1", json!(0)),
        ] {
            assert_eq!(calculate(text).map(serde_json::Value::Number), Some(expected), "{text}");
        }
    }

    #[test]
    fn mvu_arithmetic_other_texts_are_no_sums() {
        for text in [
            "",
            "x",
            "2x",
            "1+",
            "(1",
            "1)",
            "1 2",
            "2(3)",
            "10:30",
            "50%",
            "1/0",
            "0/0",
            "9**9**9**9",
            "e",
            "1+a",
            "2024-05-01",
            "2024-12-25",
            "25/12/2024",
            "007-1",
            "max(1,2)",
            "1,000+1",
            "1=1",
            "process.exit(1)",
        ] {
            assert_eq!(calculate(text), None, "{text}");
        }
        assert_eq!(calculate(&"(".repeat(150)), None);
        assert_eq!(calculate(&format!("1{}", "+1".repeat(200))), None);
    }

    proptest! {
        #[test]
        fn mvu_arithmetic_random_text_never_panics(text in "[0-9.eE()+*/%^ 猫-]{0,80}") {
            if let Some(number) = calculate(&text) {
                prop_assert!(number.as_f64().is_some_and(f64::is_finite));
            }
        }
    }
}
