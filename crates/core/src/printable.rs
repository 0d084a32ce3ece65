//! Texts of strangers on a terminal or in a log.

use std::fmt::{self, Write as _};

/// Shows a text on one line. Characters that control a terminal, break lines or reorder the text around them are written
/// as escapes, so a name can neither change a screen nor forge a line.
///
/// # Examples
/// ```
/// use clotho_core::printable::Printable;
///
/// assert_eq!(Printable("Rin\r\nok").to_string(), "Rin\\u{d}\\u{a}ok");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Printable<'t>(pub &'t str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, self.0, |_| false)
    }
}

/// Shows a text of several lines: line breaks and tabs stay.
#[derive(Debug, Clone, Copy)]
pub struct PrintableLines<'t>(pub &'t str);

impl fmt::Display for PrintableLines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_escaped(f, self.0, |char| matches!(char, '\n' | '\t'))
    }
}

fn write_escaped(f: &mut fmt::Formatter<'_>, text: &str, is_kept: fn(char) -> bool) -> fmt::Result {
    text.chars().try_for_each(|char| match char {
        char if is_unsafe(char) && !is_kept(char) => write!(f, "{}", char.escape_unicode()),
        char => f.write_char(char),
    })
}

/// Returns whether a character controls a terminal, breaks lines, or reorders the text around it.
fn is_unsafe(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_control_and_bidi_characters_are_escaped() {
        for (given, line, lines) in [
            ("Rin 狐 🦊", "Rin 狐 🦊", "Rin 狐 🦊"),
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\r\nb\tc", "a\\u{d}\\u{a}b\\u{9}c", "a\\u{d}\nb\tc"),
            ("a\u{9b}b\u{7}", "a\\u{9b}b\\u{7}", "a\\u{9b}b\\u{7}"),
            ("a\u{202e}b\u{2028}", "a\\u{202e}b\\u{2028}", "a\\u{202e}b\\u{2028}"),
        ] {
            assert_eq!(Printable(given).to_string(), line);
            assert_eq!(PrintableLines(given).to_string(), lines);
        }
    }
}
