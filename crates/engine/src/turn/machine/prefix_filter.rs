//! Some servers repeat the text that they should continue. The filter drops this echo.

/// Drops the echo of a text at the start of a reply.
#[derive(Debug, Clone, Default)]
pub struct PrefixFilter {
    /// The text; empty once it is clear whether it was repeated.
    expected: String,
    /// What has arrived that may still be the start of the echo.
    pending: String,
}

impl PrefixFilter {
    /// Creates a filter that drops `expected`.
    pub fn new(expected: &str) -> Self {
        Self { expected: expected.to_owned(), pending: String::new() }
    }

    /// Takes a piece and returns its new part. Returns nothing while everything so far may be an echo.
    pub fn push(&mut self, piece: &str) -> String {
        if self.expected.is_empty() {
            return piece.to_owned();
        }
        self.pending.push_str(piece);
        if let Some(new) = self.pending.strip_prefix(&self.expected) {
            let new = new.to_owned();
            *self = Self::default();
            return new;
        }
        if self.expected.starts_with(&self.pending) { String::new() } else { self.finish() }
    }

    /// Ends the filter and returns what was held back, because it was no complete echo.
    pub fn finish(&mut self) -> String {
        std::mem::take(self).pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filtered_text(expected: &str, pieces: &[&str]) -> String {
        let mut echo = PrefixFilter::new(expected);
        let mut text: String = pieces.iter().map(|piece| echo.push(piece)).collect();
        text += &echo.finish();
        text
    }

    /// `domain.md` 5.8: only the added text remains, whether or not the server repeats the beginning.
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
