//! The name of a speaker at the start of the speaker's own text. Models write it where the lines of the prompt begin
//! with names, and then it would stand there twice.

use clotho_core::{letters::compose_letters, tree::Role};

/// What may surround the name, with the end of each: `**Mira:**`, `**Mira**:`, `[Mira]:`. The plain form comes last.
const MARKS: [(&str, &str); 13] = [
    ("***", "***"),
    ("**", "**"),
    ("*", "*"),
    ("__", "__"),
    ("_", "_"),
    ("[", "]"),
    ("【", "】"),
    ("<", ">"),
    ("#### ", ""),
    ("### ", ""),
    ("## ", ""),
    ("# ", ""),
    ("", ""),
];

/// Maximum number of characters in a parenthesis after the name, such as `Mira (softly):`.
const MAX_PARENTHESIS: usize = 40;

/// Whether a text begins with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NameMatch {
    No,
    /// More of the text is needed to tell.
    Open,
    /// It does, and its own text begins at this byte.
    Ends(usize),
}

/// Returns the text without the speaker's name at its start, however often the name stands there. A text with nothing
/// but names stays as it is.
pub fn strip_own_name<'t>(text: &'t str, name: &str) -> &'t str {
    let rest = after_names(text, name).0;
    if rest.trim().is_empty() { text } else { rest }
}

/// Returns a text with its speaker's name before it. A reply that already begins with the name has it once. What people
/// wrote stays as it is.
pub fn named_text(role: Role, name: &str, text: &str) -> String {
    let own = if role == Role::Assistant { strip_own_name(text, name) } else { text };
    format!("{name}: {own}")
}

/// Returns the rest of a text that begins with names, and whether more text could continue the names.
fn after_names<'t>(text: &'t str, name: &str) -> (&'t str, bool) {
    let mut rest = text;
    loop {
        match match_name(rest, name) {
            NameMatch::Ends(at) => rest = rest.get(at..).unwrap_or_default(),
            NameMatch::Open => return (rest, true),
            NameMatch::No => return (rest, false),
        }
    }
}

fn match_name(text: &str, name: &str) -> NameMatch {
    let body = text.trim_start();
    if name.trim().is_empty() {
        return NameMatch::No;
    }
    let matches = MARKS.map(|(open, close)| match_marked(body, name.trim(), open, close));
    let end = |found: &NameMatch| matches!(found, NameMatch::Ends(_));
    match matches.into_iter().find(end).or_else(|| matches.into_iter().find(|found| *found == NameMatch::Open)) {
        Some(NameMatch::Ends(left)) => NameMatch::Ends(text.len().saturating_sub(left)),
        Some(found) => found,
        None => NameMatch::No,
    }
}

/// Matches a name in one kind of marks. A match has the length of the text after it.
fn match_marked(body: &str, name: &str, open: &str, close: &str) -> NameMatch {
    let Some(mut rest) = body.strip_prefix(open) else { return open_if(open.starts_with(body)) };
    let mut own = name;
    while let Some((expected, more)) = next_letter(own) {
        own = more;
        match next_letter(rest) {
            None => return NameMatch::Open,
            Some((letter, after)) if is_same_letter(letter, expected) => rest = after,
            Some((letter, "")) => return open_if(can_become(letter, expected)),
            Some(_) => return NameMatch::No,
        }
    }
    // The marks end before or after the colon, and before or after a parenthesis.
    let mut is_closed = close.is_empty();
    for _ in 0..2 {
        if let Some(after) = rest.strip_prefix(close).filter(|_| !is_closed) {
            (rest, is_closed) = (after, true);
        }
        match after_parenthesis(rest) {
            Some("") => return NameMatch::Open,
            Some(after) => rest = after,
            None => {}
        }
    }
    if is_closed && matches!(open, "***" | "**" | "__") && is_line_end(rest) {
        let own_text = rest.trim_start();
        return if own_text.is_empty() { NameMatch::Open } else { NameMatch::Ends(own_text.len()) };
    }
    let is_unfinished = rest.is_empty() || (!is_closed && close.starts_with(rest));
    let Some(after) = rest.trim_start().strip_prefix([':', '：']) else {
        return open_if(is_unfinished || rest.trim_start().is_empty());
    };
    let after = match after.strip_prefix(close) {
        Some(after) if !is_closed => after,
        _ if !is_closed => return open_if(close.starts_with(after)),
        _ => after,
    };
    // `7:30` and `http://` are no lines of somebody.
    let is_time =
        name.ends_with(|char: char| char.is_ascii_digit()) && after.starts_with(|char: char| char.is_ascii_digit());
    match after.trim_start() {
        "" => NameMatch::Ends(0),
        _ if after == "/" => NameMatch::Open,
        _ if is_time || after.starts_with("//") => NameMatch::No,
        rest => NameMatch::Ends(rest.len()),
    }
}

/// Returns the first letter of a text, composed with the marks after it, and the rest.
fn next_letter(text: &str) -> Option<(char, &str)> {
    let mut chars = text.chars();
    let mut letter = chars.next()?;
    let mut rest = chars.as_str();
    while let Some(composed) = chars.next().and_then(|mark| compose_letters(letter, mark)) {
        (letter, rest) = (composed, chars.as_str());
    }
    Some((letter, rest))
}

/// Compares letters without their case.
fn is_same_letter(one: char, other: char) -> bool {
    one == other || one.to_lowercase().eq(other.to_lowercase())
}

/// Returns whether a letter at the end of a text is another one with marks that have not arrived yet.
fn can_become(letter: char, expected: char) -> bool {
    let marks = || ('\u{300}'..='\u{36f}').chain('\u{1161}'..='\u{11c2}').chain('\u{3099}'..='\u{309a}');
    let composed = |letter: char| marks().filter_map(move |mark| compose_letters(letter, mark));
    let is_expected = |letter: char| is_same_letter(letter, expected);
    !expected.is_ascii() && composed(letter).any(|one| is_expected(one) || composed(one).any(is_expected))
}

/// Returns the text after a short parenthesis at its start. The text is empty if more is needed to tell.
fn after_parenthesis(text: &str) -> Option<&str> {
    let inner = text.trim_start_matches([' ', '\t']).strip_prefix(['(', '（'])?;
    let is_end = |char: &char| matches!(char, ')' | '）' | '\n' | '\r');
    let found = inner.char_indices().take(MAX_PARENTHESIS.saturating_add(1)).find(|(_, char)| is_end(char));
    match found {
        Some((at, char @ (')' | '）'))) => inner.get(at.saturating_add(char.len_utf8())..),
        Some(_) => None,
        None => (inner.chars().count() <= MAX_PARENTHESIS).then_some(""),
    }
}

/// Returns whether a text begins with the end of its line.
fn is_line_end(text: &str) -> bool {
    text.trim_start_matches([' ', '\t']).starts_with(['\n', '\r'])
}

fn open_if(is_open: bool) -> NameMatch {
    if is_open { NameMatch::Open } else { NameMatch::No }
}

/// Strips the speaker's name from the start of a text that arrives in pieces.
#[derive(Debug, Clone, Default)]
pub struct OwnNameFilter {
    /// The name; empty once it is clear what the text begins with.
    name: String,
    /// What has arrived that may still be names.
    pending: String,
}

impl OwnNameFilter {
    /// Creates a filter of this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.trim().to_owned(), pending: String::new() }
    }

    /// Takes a piece and returns the text that is certain. Returns nothing while everything so far may be names.
    pub fn push(&mut self, piece: &str) -> String {
        if self.name.is_empty() {
            return piece.to_owned();
        }
        self.pending.push_str(piece);
        let (rest, is_open) = after_names(&self.pending, &self.name);
        if is_open || rest.trim().is_empty() {
            return String::new();
        }
        let rest = rest.to_owned();
        *self = Self::default();
        rest
    }

    /// Ends the filter and returns what was held back, without names.
    pub fn finish(&mut self) -> String {
        let Self { name, pending } = std::mem::take(self);
        strip_own_name(&pending, &name).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each case gives the same result as a whole and in pieces of any size.
    fn check(text: &str, expected: &str) {
        assert_eq!(strip_own_name(text, "Mira"), expected, "{text:?}");
        let chars: Vec<char> = text.chars().collect();
        for size in 1..=chars.len().max(1) {
            let mut filter = OwnNameFilter::new("Mira");
            let mut streamed: String =
                chars.chunks(size).map(|piece| filter.push(&piece.iter().collect::<String>())).collect();
            streamed += &filter.finish();
            assert_eq!(streamed, expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn own_name_at_start_is_stripped() {
        for text in [
            "Mira: No.",
            "Mira:No.",
            "Mira：No.",
            "Mira : No.",
            "\n Mira: No.",
            "**Mira:** No.",
            "**Mira**: No.",
            "*Mira:* No.",
            "__Mira:__ No.",
            "[Mira]: No.",
            "MIRA: No.",
            "Mira:\n\nNo.",
            "Mira: Mira: No.",
            "Mira: **Mira:** Mira：No.",
            "<Mira>: No.",
            "### Mira: No.",
            "# Mira:\nNo.",
            "Mira (softly): No.",
            "Mira（小声）：No.",
            "**Mira (softly):** No.",
            "**Mira** (softly): No.",
            "**Mira**\nNo.",
            "**Mira** \r\n\r\nNo.",
            "__Mira__\n**Mira:** No.",
        ] {
            check(text, "No.");
        }
        check("Mira: *smiles* Mi", "*smiles* Mi");
        check("Mira: Mir", "Mir");
    }

    /// Letters with marks are the same however they are encoded, in pieces of any size too.
    #[test]
    fn own_name_with_other_encoding_is_stripped() {
        for (name, text) in [
            ("Zo\u{e9}", "Zoe\u{301}: No."),
            ("Zoe\u{301}", "Zo\u{e9}: No."),
            ("\u{c9}va", "e\u{301}va: No."),
            ("H\u{1ebf}", "He\u{302}\u{301}: No."),
            ("\u{ac00}", "\u{1100}\u{1161}: No."),
        ] {
            assert_eq!(strip_own_name(text, name), "No.", "{name} {text}");
            let mut filter = OwnNameFilter::new(name);
            let mut streamed: String = text.chars().map(|char| filter.push(&char.to_string())).collect();
            streamed += &filter.finish();
            assert_eq!(streamed, "No.", "{name} {text}");
        }
    }

    #[test]
    fn own_name_elsewhere_is_kept() {
        for text in [
            "No. Mira: yes",
            "Mirabel: No.",
            "Ann: No.",
            "Mira says no.",
            "*Mira: smiles*",
            "**Mira** smiles.",
            "*Mira*\nNo.",
            "Mira\nNo.",
            "**Mira**",
            "**Mira**\n",
            "<Mira> No.",
            "### Mirabel: No.",
            "###",
            "Mira (softly) smiles.",
            "Mira (softly",
            "Mira (soft\nly): No.",
            "Mira (softly, but not so softly that nobody hears it): No.",
            "Mira://x",
            "Mira",
            "Mira:",
            "Mira: Mira: ",
            "**Mira:**",
            "*Mi",
            " ",
            "",
        ] {
            check(text, text);
        }
        assert_eq!(strip_own_name("7:30 sharp", "7"), "7:30 sharp");
        assert_eq!(strip_own_name("Zoe: No.", "Zo\u{e9}"), "Zoe: No.");
        assert_eq!(strip_own_name("Zo\u{e9}: No.", "Zoe"), "Zo\u{e9}: No.");
        assert_eq!(strip_own_name(": No.", ""), ": No.");
        assert_eq!(strip_own_name("凛：喂", "凛"), "喂");
        assert_eq!(OwnNameFilter::default().push("Mira: No."), "Mira: No.");
    }
}
