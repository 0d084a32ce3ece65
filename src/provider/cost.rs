//! What a reply costs by the provider's list of prices. In decimals, as prices are written: no binary fraction is in between.

use super::{ModelInfo, Usage};
use serde_json::Number;

/// Tokens times prices, in the provider's currency; `None` where the list does not say both prices, or the sum has more
/// digits than anyone can pay. Tokens that the provider had read before count like all others: lists rarely say their price.
pub fn cost(usage: &Usage, info: &ModelInfo) -> Option<Number> {
    let prompt = Price::read(info.prompt_price?)?.times(usage.prompt)?;
    let completion = Price::read(info.completion_price?)?.times(usage.completion)?;
    prompt.plus(completion)?.write()
}

/// `digits / 10^places`.
#[derive(Debug, Clone, Copy)]
struct Price {
    digits: u128,
    places: usize,
}

impl Price {
    /// The shortest decimal that stands for the price is the one that the provider wrote.
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
    fn exact_to_the_last_digit() {
        let cost = |prompt, completion, prices: (f64, f64)| {
            let info = ModelInfo {
                id: "m".into(),
                context_length: None,
                prompt_price: Some(prices.0),
                completion_price: Some(prices.1),
            };
            let usage = Usage { prompt, completion, ..Usage::default() };
            super::cost(&usage, &info).map(|cost| cost.to_string())
        };
        for (prompt, completion, prices, expected) in [
            (12, 2, (0.000_001, 0.000_002), "0.000016"),
            // In binary fractions: 0.30000000000000004.
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
        let unknown =
            ModelInfo { id: "m".into(), context_length: None, prompt_price: Some(1.0), completion_price: None };
        assert_eq!(super::cost(&Usage::default(), &unknown), None);
    }
}
