//! Translates a pattern for a linear-time engine, if possible: no lookarounds or backreferences, and whole characters
//! only. The engine says whether and where a match begins. The groups are left to the machine, whose rules differ
//! there.

use std::fmt::Write as _;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use super::set::CharSet;
use super::syntax::{RegexModes, RegexNode, RegexQuantifier, RegexTree};
use super::{StepBudget, StepLimitError, Utf16Text};

/// Limit for the compiled form of one pattern, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// Larger repetition counts are not translated: the engine would expand them into copies.
const MAX_REPEAT: u32 = 1_000;

/// The translated pattern, compiled on first use.
#[derive(Debug)]
pub(super) struct LinearRegex {
    source: Option<String>,
    needs_plain: bool,
    regex: OnceLock<Option<Regex>>,
}

/// Result of a linear search.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinearSearch {
    /// There is no match from there on.
    None,
    /// The pattern or text cannot be searched by the linear engine.
    Unknown,
    /// The first match begins at this unit.
    At(usize),
}

impl LinearRegex {
    /// Translates a pattern to the linear engine, where that engine can match it the same way.
    pub fn new(tree: &RegexTree, modes: RegexModes) -> Self {
        let mut source = String::new();
        let can = write(&tree.root, &mut source).is_some();
        Self { source: can.then_some(source), needs_plain: !modes.is_unicode, regex: OnceLock::new() }
    }

    /// Searches for the first match at `from` or later.
    pub fn find_from(
        &self,
        text: &Utf16Text<'_>,
        from: usize,
        steps: &mut StepBudget,
    ) -> Result<LinearSearch, StepLimitError> {
        let Some(source) = &self.source else { return Ok(LinearSearch::Unknown) };
        // Outside Unicode mode a character beyond the BMP counts as two units.
        if self.needs_plain && text.len() != text.as_str().chars().count() {
            return Ok(LinearSearch::Unknown);
        }
        let build =
            || RegexBuilder::new(source).size_limit(MAX_COMPILED_BYTES).dfa_size_limit(MAX_COMPILED_BYTES).build().ok();
        let Some(regex) = self.regex.get_or_init(build) else { return Ok(LinearSearch::Unknown) };
        steps.spend(text.len().saturating_sub(from))?;
        let found = regex.find_at(text.as_str(), text.bytes_before(from));
        Ok(found.map_or(LinearSearch::None, |found| LinearSearch::At(text.units_before(found.start()))))
    }
}

/// Writes a node in the engine's syntax; `None` if it cannot be translated.
fn write(part: &RegexNode, out: &mut String) -> Option<()> {
    match part {
        RegexNode::Set(set) => class(set, out),
        RegexNode::Start { by_line: false } => out.push_str(r"\A"),
        RegexNode::End { by_line: false } => out.push_str(r"\z"),
        RegexNode::WordBoundary { folded: true, .. } => return None,
        RegexNode::WordBoundary { negated, .. } => out.push_str(if *negated { r"(?-u:\B)" } else { r"(?-u:\b)" }),
        // JavaScript knows more line ends than `regex` does, so line anchors are not translated.
        RegexNode::Start { .. }
        | RegexNode::End { .. }
        | RegexNode::Backreference { .. }
        | RegexNode::Lookaround { .. } => {
            return None;
        }
        RegexNode::Sequence(parts) => parts.iter().try_for_each(|part| write(part, out))?,
        RegexNode::Group { inner, .. } => write_group(inner, out)?,
        RegexNode::Alternation(ways) => {
            out.push_str("(?:");
            for (i, way) in ways.iter().enumerate() {
                out.push_str(if i > 0 { "|" } else { "" });
                write(way, out)?;
            }
            out.push(')');
        }
        RegexNode::Repeat { inner, quantifier: RegexQuantifier { min, max, .. }, .. } => {
            write_group(inner, out)?;
            if *min > MAX_REPEAT || max.is_some_and(|max| max > MAX_REPEAT) {
                return None;
            }
            let max = max.map(|max| max.to_string()).unwrap_or_default();
            write!(out, "{{{min},{max}}}").ok()?;
        }
    }
    Some(())
}

fn write_group(inner: &RegexNode, out: &mut String) -> Option<()> {
    out.push_str("(?:");
    write(inner, out)?;
    out.push(')');
    Some(())
}

/// Writes a set without surrogates, which no Rust string contains.
fn class(set: &CharSet, out: &mut String) {
    let before = set.ranges().iter().map(|(first, last)| (*first, (*last).min(0xD7FF)));
    let behind = set.ranges().iter().map(|(first, last)| ((*first).max(0xE000), *last));
    let whole = CharSet::new(before.chain(behind));
    if whole.ranges().is_empty() {
        return out.push_str(r"[^\x00-\x{10FFFF}]");
    }
    out.push('[');
    for (first, last) in whole.ranges() {
        // Writing into a `String` does not fail.
        _ = write!(out, r"\x{{{first:X}}}-\x{{{last:X}}}");
    }
    out.push(']');
}
