//! Computes the cost of a reply from the provider's prices. Uses decimal numbers, because binary fractions would round
//! prices.

use super::{ModelInfo, Usage};
use serde_json::Number;

/// Returns tokens times prices, in the provider's currency. Tokens read from or written to the provider's cache have
/// their own price if listed. Returns `None` if the prompt or reply price is unknown, or the sum has too many digits.
pub fn cost(usage: &Usage, info: &ModelInfo) -> Option<Number> {
    let prompt = DecimalPrice::read(info.prompt_price?)?;
    let apart = |count: Option<u64>, price: Option<f64>| Some((count?, DecimalPrice::read(price?)?));
    let kept = [apart(usage.cached, info.cached_price), apart(usage.written, info.written_price)];
    let kept: Vec<(u64, DecimalPrice)> = kept.into_iter().flatten().collect();
    let fresh = kept.iter().fold(usage.prompt, |left, (count, _)| left.saturating_sub(*count));
    let mut sum = prompt.times(fresh)?.plus(DecimalPrice::read(info.completion_price?)?.times(usage.completion)?)?;
    for (count, price) in kept {
        sum = sum.plus(price.times(count)?)?;
    }
    sum.write()
}

/// Returns a cost that a provider reports as a number, rounded to twelve digits. This removes the noise of binary
/// fractions: 0.020999999999999998 becomes 0.021. `None` if it is not finite.
pub fn rounded_cost(cost: f64) -> Option<Number> {
    Number::from_f64(format!("{cost:.11e}").parse().ok()?)
}

/// Returns what the provider's cache saved: cached tokens times the difference to the prompt price. `None` if nothing
/// was saved or a price is unknown.
pub fn cache_savings(usage: &Usage, info: &ModelInfo) -> Option<Number> {
    let cached = usage.cached.filter(|cached| *cached > 0)?;
    let (full, less) = (
        DecimalPrice::read(info.prompt_price?)?.times(cached)?,
        DecimalPrice::read(info.cached_price?)?.times(cached)?,
    );
    full.minus(less)?.write()
}

/// `digits / 10^places`.
#[derive(Debug, Clone, Copy)]
struct DecimalPrice {
    digits: u128,
    places: usize,
}

impl DecimalPrice {
    /// Converts a price. The shortest decimal that represents the float is the one the provider wrote.
    fn read(price: f64) -> Option<Self> {
        let text = price.to_string();
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        Some(Self { digits: format!("{whole}{fraction}").parse().ok()?, places: fraction.len() })
    }

    fn times(self, count: u64) -> Option<Self> {
        Some(Self { digits: self.digits.checked_mul(u128::from(count))?, ..self })
    }

    fn plus(self, other: Self) -> Option<Self> {
        let places = self.places.max(other.places);
        Some(Self { digits: self.widen(places)?.checked_add(other.widen(places)?)?, places })
    }

    /// Subtracts. Returns `None` if the result would be negative.
    fn minus(self, other: Self) -> Option<Self> {
        let places = self.places.max(other.places);
        Some(Self { digits: self.widen(places)?.checked_sub(other.widen(places)?)?, places })
    }

    fn widen(self, places: usize) -> Option<u128> {
        let more = u32::try_from(places.checked_sub(self.places)?).ok()?;
        self.digits.checked_mul(10_u128.checked_pow(more)?)
    }

    fn write(self) -> Option<Number> {
        let digits = format!("{:0>width$}", self.digits, width = self.places + 1);
        let (whole, fraction) = digits.split_at_checked(digits.len().checked_sub(self.places)?)?;
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { whole.parse().ok() } else { format!("{whole}.{fraction}").parse().ok() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cost_decimal_prices_returns_exact_amount() {
        let cost = |prompt, completion, prices: (f64, f64)| {
            let info = ModelInfo {
                id: "m".into(),
                context_length: None,
                prompt_price: Some(prices.0),
                completion_price: Some(prices.1),
                ..ModelInfo::default()
            };
            let usage = Usage { prompt, completion, ..Usage::default() };
            super::cost(&usage, &info).map(|cost| cost.to_string())
        };
        for (prompt, completion, prices, expected) in [
            (12, 2, (0.000_001, 0.000_002), "0.000016"),
            // As binary fractions: 0.30000000000000004.
            (1, 1, (0.1, 0.2), "0.3"),
            (3, 0, (0.1, 0.0), "0.3"),
            (1_234_567, 89_012, (0.000_000_15, 0.000_000_6), "0.23859225"),
            (1_000, 1_000, (0.001, 0.002), "3"),
            (5, 5, (0.0, 0.0), "0"),
            (7, 0, (2.0, 1e-9), "14"),
        ] {
            assert_eq!(cost(prompt, completion, prices).as_deref(), Some(expected), "{prompt} {completion} {prices:?}");
        }
        assert_eq!(cost(u64::MAX, 1, (1e300, 1.0)), None);
        assert_eq!(cost(1, 1, (1e-300, 1.0)), None);
        let unknown = ModelInfo { prompt_price: Some(1.0), ..ModelInfo::default() };
        assert_eq!(super::cost(&Usage::default(), &unknown), None);
    }

    #[test]
    fn cost_reported_number_is_rounded() {
        for (cost, expected) in [
            (0.020_999_999_999_999_998, "0.021"),
            (0.1 + 0.2, "0.3"),
            (0.0015, "0.0015"),
            (0.000_012_345_678_9, "0.0000123456789"),
            (0.0, "0"),
            (2.0, "2"),
            (1_234.567_8, "1234.5678"),
        ] {
            assert_eq!(rounded_cost(cost).and_then(|cost| cost.as_f64()), expected.parse().ok(), "{cost}");
        }
        assert_eq!(rounded_cost(0.020_999_999_999_999_998).unwrap().to_string(), "0.021");
        assert_eq!(rounded_cost(f64::NAN), None);
    }

    #[test]
    fn cost_cached_tokens_uses_cache_price() {
        let info = ModelInfo {
            prompt_price: Some(0.000_003),
            completion_price: Some(0.000_015),
            cached_price: Some(0.000_000_3),
            written_price: Some(0.000_003_75),
            ..ModelInfo::default()
        };
        let usage = Usage { prompt: 1_000, completion: 10, cached: Some(800), written: Some(100), ..Usage::default() };
        let text = |number: Option<Number>| number.map(|number| number.to_string());
        assert_eq!(text(super::cost(&usage, &info)).as_deref(), Some("0.001065"));
        assert_eq!(text(cache_savings(&usage, &info)).as_deref(), Some("0.00216"));
        let plain = ModelInfo { cached_price: None, written_price: None, ..info };
        assert_eq!(text(super::cost(&usage, &plain)).as_deref(), Some("0.00315"));
        assert_eq!(cache_savings(&usage, &plain), None);
        assert_eq!(cache_savings(&Usage { cached: Some(0), ..usage }, &plain), None);
        let odd = Usage { cached: Some(9_999), ..usage };
        assert!(super::cost(&odd, &plain).is_some(), "a count that cannot be is no reason to fail");
    }
}
