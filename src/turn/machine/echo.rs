//! Some servers that are to go on from a text send it once more from its beginning. What is only an echo is not written twice.

/// Listens for a text to be repeated.
#[derive(Debug, Clone, Default)]
pub struct PrefixFilter {
    /// The text; empty once it is known whether it is repeated.
    expected: String,
    /// What has come that may still turn out to be its beginning.
    held: String,
}

impl PrefixFilter {
    /// Listens for `expected`.
    pub fn of(expected: &str) -> Self {
        Self { expected: expected.to_owned(), held: String::new() }
    }

    /// Takes a piece; answers with what of it is new. As long as all that came may be an echo, nothing is.
    pub fn hear(&mut self, piece: &str) -> String {
        if self.expected.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        if let Some(new) = self.held.strip_prefix(&self.expected) {
            let new = new.to_owned();
            *self = Self::default();
            return new;
        }
        if self.expected.starts_with(&self.held) { String::new() } else { self.rest() }
    }

    /// Nothing more comes: what was held back was no echo.
    pub fn rest(&mut self) -> String {
        std::mem::take(self).held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heard(expected: &str, pieces: &[&str]) -> String {
        let mut echo = PrefixFilter::of(expected);
        let mut text: String = pieces.iter().map(|piece| echo.hear(piece)).collect();
        text += &echo.rest();
        text
    }

    /// `domain.md` 5.8: what a model adds is written once, whether its server repeats the beginning or not.
    #[test]
    fn only_a_whole_echo_is_left_out() {
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
            assert_eq!(heard("She lights", pieces), added, "{pieces:?}");
        }
        assert_eq!(heard("", &["All", " of it."]), "All of it.");
        assert_eq!(heard("夜色", &["夜", "色渐深"]), "渐深");
    }
}
