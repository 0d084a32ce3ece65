//! The name of a speaker at the start of the speaker's own text. Models write it where the lines of the prompt begin
//! with names, and then it would stand there twice.

use clotho_core::tree::Role;

/// What may surround the name, with the end of each: `**Mira:**`, `**Mira**:`, `[Mira]:`. The plain form comes last.
const MARKS: [(&str, &str); 8] =
    [("***", "***"), ("**", "**"), ("*", "*"), ("__", "__"), ("_", "_"), ("[", "]"), ("【", "】"), ("", "")];

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
    for expected in name.chars() {
        let mut chars = rest.chars();
        match chars.next() {
            None => return NameMatch::Open,
            Some(char) if char == expected || char.to_lowercase().eq(expected.to_lowercase()) => rest = chars.as_str(),
            Some(_) => return NameMatch::No,
        }
    }
    // The marks end before or after the colon.
    let mut is_closed = close.is_empty();
    if let Some(after) = rest.strip_prefix(close).filter(|_| !is_closed) {
        (rest, is_closed) = (after, true);
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
        ] {
            check(text, "No.");
        }
        check("Mira: *smiles* Mi", "*smiles* Mi");
        check("Mira: Mir", "Mir");
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
        assert_eq!(strip_own_name(": No.", ""), ": No.");
        assert_eq!(strip_own_name("凛：喂", "凛"), "喂");
        assert_eq!(OwnNameFilter::default().push("Mira: No."), "Mira: No.");
    }
}
