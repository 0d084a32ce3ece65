//! Applies one script to one text.

use crate::prompt::js_regex::{JsRegex, RegexMatch, StepBudget, StepLimitError, Utf16Text};

use super::read::RegexScript;
use super::{MAX_GROWTH_BYTES, MacroFiller, ScriptPlacement, ScriptUse};

/// Why a script failed on a text.
pub(super) enum ScriptFailure {
    RanAway(StepLimitError),
    TooLarge,
}

impl From<StepLimitError> for ScriptFailure {
    fn from(gone: StepLimitError) -> Self {
        Self::RanAway(gone)
    }
}

/// A piece of a parsed replacement.
#[derive(Debug, PartialEq, Eq)]
enum ReplacementPiece<'a> {
    Text(&'a str),
    Group(usize),
    Named(&'a str),
}

impl RegexScript {
    /// Returns whether the script runs on a text for a use.
    pub(super) fn applies_to(&self, what_for: ScriptUse, place: ScriptPlacement<'_>) -> bool {
        let neither = !self.for_display && !self.for_prompt;
        let (is_meant, has_depth) = match what_for {
            ScriptUse::Stored => (neither, false),
            ScriptUse::Edited => (neither && self.on_edit, false),
            ScriptUse::Display => (self.for_display, true),
            ScriptUse::Prompt => (self.for_prompt, true),
        };
        let is_there = self.placements.as_ref().is_some_and(|placements| placements.contains(&place.placement));
        is_meant && is_there && (!has_depth || self.is_in_depth(place.depth))
    }
}

/// Applies a script; `None` if nothing matches or the text stays the same.
pub(super) fn apply(
    script: &RegexScript,
    pattern: &JsRegex,
    whole: &Utf16Text<'_>,
    speaker: Option<&str>,
    steps: &mut StepBudget,
    filler: &mut dyn MacroFiller,
) -> Result<Option<String>, ScriptFailure> {
    // Search, charged to the budget of this use and to the total.
    let mut own = steps.part(StepBudget::for_text(whole.len()).remaining());
    let before = own.remaining();
    let found = pattern.matches(whole, &mut own);
    let paid = steps.spend(before - own.remaining());
    let found = found?;
    paid?;
    if found.is_empty() {
        return Ok(None);
    }
    // Build the new text, match by match.
    let pieces = parse_replacement(&script.replace);
    let trim: Vec<String> = match pieces.iter().any(|piece| !matches!(piece, ReplacementPiece::Text(_))) {
        true => script.trim.iter().map(|text| filler.fill(text, speaker)).filter(|text| !text.is_empty()).collect(),
        false => Vec::new(),
    };
    let most = whole.as_str().len().saturating_add(MAX_GROWTH_BYTES);
    let mut out = String::new();
    let mut done = 0;
    for one in found {
        let range = one.range();
        out.push_str(&whole.slice(done..range.start));
        let instead = expand_replacement(&pieces, &trim, pattern, whole, &one, most.saturating_sub(out.len()))?;
        // Output costs steps too.
        steps.spend(1 + instead.len() / 16)?;
        let is_plain = !instead.contains(['{', '<', '\\']);
        out.push_str(&if is_plain { instead } else { filler.fill(&instead, None) });
        if out.len() > most {
            return Err(ScriptFailure::TooLarge);
        }
        done = range.end;
    }
    out.push_str(&whole.slice(done..whole.len()));
    Ok(Some(out).filter(|out| out != whole.as_str()))
}

/// Returns the replacement of a match, before macro expansion.
fn expand_replacement(
    pieces: &[ReplacementPiece<'_>],
    trim: &[String],
    pattern: &JsRegex,
    whole: &Utf16Text<'_>,
    found: &RegexMatch,
    most: usize,
) -> Result<String, ScriptFailure> {
    let mut out = String::new();
    for piece in pieces {
        let range = match piece {
            ReplacementPiece::Text(text) => {
                out.push_str(text);
                continue;
            }
            ReplacementPiece::Group(group) => found.group(*group),
            ReplacementPiece::Named(name) => pattern.named_group(name, found),
        };
        let Some(range) = range else { continue };
        let group = whole.slice(range);
        let trimmed = trim.iter().fold(group.into_owned(), |text, away| text.replace(away.as_str(), ""));
        out.push_str(&trimmed);
        if out.len() > most {
            return Err(ScriptFailure::TooLarge);
        }
    }
    Ok(out)
}

/// Parses a replacement: `$1`, `$<name>`, and `{{match}}` (any case), which means `$0`.
fn parse_replacement(replace: &str) -> Vec<ReplacementPiece<'_>> {
    const MATCH: &str = "{{match}}";
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(next) = replace.get(at..).and_then(|rest| rest.find(['$', '{'])) {
        at += next;
        let rest = replace.get(at..).unwrap_or_default();
        let is_match = rest.get(..MATCH.len()).is_some_and(|word| word.eq_ignore_ascii_case(MATCH));
        let found = if is_match { Some((ReplacementPiece::Group(0), MATCH.len())) } else { parse_dollar(rest) };
        let Some((piece, length)) = found else {
            at += 1;
            continue;
        };
        pieces.extend(replace.get(from..at).filter(|text| !text.is_empty()).map(ReplacementPiece::Text));
        pieces.push(piece);
        at += length;
        from = at;
    }
    pieces.extend(replace.get(from..).filter(|text| !text.is_empty()).map(ReplacementPiece::Text));
    pieces
}

/// Parses a group reference that begins with `$`; returns it with its length in bytes.
fn parse_dollar(rest: &str) -> Option<(ReplacementPiece<'_>, usize)> {
    let behind = rest.strip_prefix('$')?;
    let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        // A number that is too large refers to no group.
        let number = behind.get(..digits)?.parse().unwrap_or(usize::MAX);
        return Some((ReplacementPiece::Group(number), 1 + digits));
    }
    let (name, _) = behind.strip_prefix('<')?.split_once('>')?;
    (!name.is_empty()).then_some((ReplacementPiece::Named(name), 3 + name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn script_replacement_dollar_groups_are_parsed() {
        use ReplacementPiece::{Group, Named, Text};
        for (replace, expected) in [
            ("[$1]", vec![Text("["), Group(1), Text("]")]),
            ("$01$12x", vec![Group(1), Group(12), Text("x")]),
            ("{{MATCH}}{{ match}}", vec![Group(0), Text("{{ match}}")]),
            ("$& $$ $", vec![Text("$& $$ $")]),
            ("$<名>$<>$<a", vec![Named("名"), Text("$<>$<a")]),
            ("$99999999999999999999999", vec![Group(usize::MAX)]),
            ("{{$1}}$0", vec![Text("{{"), Group(1), Text("}}"), Group(0)]),
            ("", vec![]),
        ] {
            assert_eq!(parse_replacement(replace), expected, "{replace}");
        }
    }
}
