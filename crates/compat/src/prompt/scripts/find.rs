//! Parses the pattern of a script.

use crate::prompt::js_regex::{JsRegex, RegexSyntaxError};

use super::MacroFiller;
use super::read::{FindMacros, RegexScript};

/// Letters that count as flags. JavaScript supports only some of them.
const KNOWN_FLAGS: &str = "gmixXsuUAJ";

/// Returns the pattern text of a script, with macros expanded.
pub(super) fn find_text(script: &RegexScript, filler: &mut dyn MacroFiller) -> String {
    match script.macros {
        FindMacros::Plain => script.find.clone(),
        FindMacros::Raw => filler.fill(&script.find, None),
        FindMacros::Escaped => fill_escaped(&script.find, filler),
    }
}

/// Parses the pattern of a script.
///
/// Only the first non-empty line counts. Between slashes it has flags: the letters after the last slash. With unknown
/// or repeated flags the whole text is the pattern.
pub(super) fn parse_pattern(find: &str) -> Result<JsRegex, RegexSyntaxError> {
    let is_end = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    let line = find.split(is_end).find(|line| !line.is_empty()).unwrap_or_default();
    // The body between the slashes must not be empty.
    let slashed = line.strip_prefix('/').and_then(|rest| rest.rsplit_once('/')).filter(|(body, _)| !body.is_empty());
    let Some((body, behind)) = slashed else { return JsRegex::new(line, "") };
    let letters = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
    let flags = behind.get(..letters).unwrap_or_default();
    let is_flag =
        |(at, c): (usize, char)| KNOWN_FLAGS.contains(c) && !flags.get(..at).is_some_and(|before| before.contains(c));
    if flags.char_indices().all(is_flag) { JsRegex::new(body, flags) } else { JsRegex::new(find, "") }
}

/// Expands macros one by one and escapes their values. A macro that stays unchanged is not escaped.
fn fill_escaped(find: &str, filler: &mut dyn MacroFiller) -> String {
    let mut out = String::with_capacity(find.len());
    let mut rest = find;
    while let Some(start) = rest.find("{{") {
        let (before, at) = rest.split_at(start);
        out.push_str(before);
        let length = macro_length(at);
        let Some((one, behind)) = length.and_then(|length| at.split_at_checked(length)) else {
            rest = at;
            break;
        };
        let filled = filler.fill(one, None);
        if filled == one {
            out.push_str(one);
        } else {
            filled.chars().for_each(|c| escape(c, &mut out));
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// Returns the length of the macro that begins here, up to its matching braces.
fn macro_length(at: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = at.bytes().enumerate().peekable();
    while let Some((i, byte)) = bytes.next() {
        let is_pair = bytes.peek().is_some_and(|(_, next)| *next == byte);
        match byte {
            b'{' if is_pair => depth += 1,
            b'}' if is_pair => depth = depth.saturating_sub(1),
            _ => continue,
        }
        bytes.next();
        if depth == 0 {
            return Some(i + 2);
        }
    }
    None
}

/// Writes a character so that it is literal in a pattern.
fn escape(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        '\u{B}' => out.push_str("\\v"),
        '\u{C}' => out.push_str("\\f"),
        '\0' => out.push_str("\\0"),
        '.' | '^' | '$' | '*' | '+' | '?' | '{' | '}' | '[' | ']' | '\\' | '/' | '|' | '(' | ')' => {
            out.push('\\');
            out.push(c);
        }
        _ => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats 2e.5: patterns between slashes, flags, and other texts.
    #[test]
    fn script_find_pattern_with_flags_is_parsed() {
        let finds = |find: &str, text: &str| parse_pattern(find).map(|pattern| pattern.is_match(text).unwrap());
        for (find, text, expected) in [
            ("/LAMP/i", "lamp", true),
            ("LAMP", "lamp", false),
            ("/a/b/i", "A/B", true),
            ("/", "a/b", true),
            ("//", "a//b", true),
            ("///", "/", true),
            ("/lamp", "a/lamp", true),
            ("a/g", "a/g", true),
            ("/a/y", "a", false),
            ("/a/y", "/a/y", true),
            ("/a/gg", "/a/gg", true),
            ("/a/ i", "A", false),
            ("/a/i2", "A", true),
            ("one\ntwo", "one", true),
            ("/one\ntwo/i", "ONE", false),
            ("/one\ntwo/i", "/one", true),
            ("\n\nlamp", "lamp", true),
        ] {
            assert_eq!(finds(find, text), Ok(expected), "{find:?} on {text:?}");
        }
        for find in ["/lamp/x", "/a/U", "/(/g", "("] {
            assert!(finds(find, "lamp").is_err(), "{find}");
        }
    }
}
