//! Some servers that are to go on from a text send it once more from its beginning. What is only an echo is not written twice.

/// Listens for a text to be repeated.
#[derive(Debug, Clone, Default)]
pub struct PrefixFilter {
    /// The text; empty once it is known whether it is repeated.
    expected: String,
    /// What has come that may still turn out to be its beginning.
    pending: String,
}

impl PrefixFilter {
    /// Listens for `expected`.
    pub fn new(expected: &str) -> Self {
        Self { expected: expected.to_owned(), pending: String::new() }
    }

    /// Takes a piece; answers with what of it is new. As long as all that came may be an echo, nothing is.
    pub fn hear(&mut self, piece: &str) -> String {
        if self.expected.is_empty() {
            return piece.to_owned();
        }
        self.pending.push_str(piece);
        if let Some(new) = self.pending.strip_prefix(&self.expected) {
            let new = new.to_owned();
            *self = Self::default();
            return new;
        }
        if self.expected.starts_with(&self.pending) { String::new() } else { self.rest() }
    }

    /// Nothing more comes: what was held back was no echo.
    pub fn rest(&mut self) -> String {
        std::mem::take(self).pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered_text(expected: &str, pieces: &[&str]) -> String {
        let mut echo = PrefixFilter::new(expected);
        let mut text: String = pieces.iter().map(|piece| echo.hear(piece)).collect();
        text += &echo.rest();
        text
    }

    /// `domain.md` 5.8: what a model adds is written once, whether its server repeats the beginning or not.
    #[test]
    fn prefix_filter_repeated_prefix_is_removed() {
        for (pieces, added) in [
            (&[" the lamp."][..], " the lamp."),
            (&["She lights", " the lamp."], " the lamp."),
            (&["She", " lights the", " lamp."], " the lamp."),
            (&["She lights"], ""),
            (&["She lifts the lamp."], "She lifts the lamp."),
            (&["She", " said so."], "She said so."),
            (&["She"], "She"),
            (&["She lights", "She lights"], "She lights"),
        ] {
            assert_eq!(filtered_text("She lights", pieces), added, "{pieces:?}");
        }
        assert_eq!(filtered_text("", &["All", " of it."]), "All of it.");
        assert_eq!(filtered_text("夜色", &["夜", "色渐深"]), "渐深");
    }
}
