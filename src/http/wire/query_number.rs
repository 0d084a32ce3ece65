//! Whole numbers in queries. The type knows the range, so that every error names it.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Visitor};

use crate::http::body::printable;

/// Maximum number of items per page.
pub const MAX_PAGE_SIZE: i64 = 500;

/// A whole number of a query, from `MIN` to `MAX`. `MAX` is `i64::MAX` if only `MIN` matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryNumber<const MIN: i64, const MAX: i64>(i64);

/// The size of a page.
pub type PageLimit = QueryNumber<1, MAX_PAGE_SIZE>;

impl<const MIN: i64, const MAX: i64> QueryNumber<MIN, MAX> {
    /// Returns the number.
    pub const fn get(self) -> i64 {
        self.0
    }
}

impl<'de, const MIN: i64, const MAX: i64> Deserialize<'de> for QueryNumber<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(QueryNumberVisitor)
    }
}

struct QueryNumberVisitor<const MIN: i64, const MAX: i64>;

impl<const MIN: i64, const MAX: i64> Visitor<'_> for QueryNumberVisitor<MIN, MAX> {
    type Value = QueryNumber<MIN, MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&expected_range(MIN, MAX))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Self::Value, E> {
        let number = text.parse().ok().filter(|number| (MIN..=MAX).contains(number));
        number.map(QueryNumber).ok_or_else(|| {
            let is_number = !text.is_empty() && text.trim_start_matches(['-', '+']).bytes().all(|c| c.is_ascii_digit());
            let found = if is_number { printable(text) } else { format!("the text \"{}\"", printable(text)) };
            E::custom(format!("got {found}, expected {}", expected_range(MIN, MAX)))
        })
    }
}

fn expected_range(min: i64, max: i64) -> String {
    match max {
        i64::MAX => format!("a whole number, {min} or more"),
        _ => format!("a whole number from {min} to {max}"),
    }
}
