//! The same pattern for an engine whose time is linear in the text, where it can be written for that: without looks, without
//! what groups remember, and over whole characters. It answers whether and where there is a match; what the groups are is
//! left to the machine, whose rules differ there.

use std::fmt::Write as _;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};

use super::set::Set;
use super::syntax::{Modes, Part, Tree};
use super::{RanAway, Steps, Text};

/// What the other engine may take for one pattern, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// A counted repetition beyond this is not written: there it stands as often as it is counted.
const MAX_COUNT: u32 = 1_000;

/// The other form of a pattern, made when it is first needed.
#[derive(Debug)]
pub(super) struct Linear {
    source: Option<String>,
    needs_plain: bool,
    regex: OnceLock<Option<Regex>>,
}

/// What it says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// There is no match from there on.
    None,
    /// It cannot say.
    Unknown,
    /// The first match begins here.
    At(usize),
}

impl Linear {
    pub fn new(tree: &Tree, modes: Modes) -> Self {
        let mut source = String::new();
        let can = write(&tree.root, &mut source).is_some();
        Self { source: can.then_some(source), needs_plain: !modes.is_unicode, regex: OnceLock::new() }
    }

    /// The first match from a place on.
    pub fn next(&self, text: &Text<'_>, from: usize, steps: &mut Steps) -> Result<Next, RanAway> {
        let Some(source) = &self.source else { return Ok(Next::Unknown) };
        // Outside of Unicode mode a character beyond the first plane is two.
        if self.needs_plain && text.len() != text.as_str().chars().count() {
            return Ok(Next::Unknown);
        }
        let build = || RegexBuilder::new(source).size_limit(MAX_BYTES).dfa_size_limit(MAX_BYTES).build().ok();
        let Some(regex) = self.regex.get_or_init(build) else { return Ok(Next::Unknown) };
        steps.pay(text.len().saturating_sub(from))?;
        let found = regex.find_at(text.as_str(), text.bytes_before(from));
        Ok(found.map_or(Next::None, |found| Next::At(text.units_before(found.start()))))
    }
}

/// Writes a part; `None` where it cannot be written.
fn write(part: &Part, out: &mut String) -> Option<()> {
    match part {
        Part::Set(set) => class(set, out),
        Part::Start { by_line: false } => out.push_str(r"\A"),
        Part::End { by_line: false } => out.push_str(r"\z"),
        Part::Edge { folded: true, .. } => return None,
        Part::Edge { negated, .. } => out.push_str(if *negated { r"(?-u:\B)" } else { r"(?-u:\b)" }),
        // Lines end in other ways too, for JavaScript.
        Part::Start { .. } | Part::End { .. } | Part::Back { .. } | Part::Look { .. } => return None,
        Part::Row(parts) => parts.iter().try_for_each(|part| write(part, out))?,
        Part::Group { inner, .. } => wrapped(inner, out)?,
        Part::Either(ways) => {
            out.push_str("(?:");
            for (i, way) in ways.iter().enumerate() {
                out.push_str(if i > 0 { "|" } else { "" });
                write(way, out)?;
            }
            out.push(')');
        }
        Part::Repeat { inner, min, max, .. } => {
            wrapped(inner, out)?;
            if *min > MAX_COUNT || max.is_some_and(|max| max > MAX_COUNT) {
                return None;
            }
            let max = max.map(|max| max.to_string()).unwrap_or_default();
            write!(out, "{{{min},{max}}}").ok()?;
        }
    }
    Some(())
}

fn wrapped(inner: &Part, out: &mut String) -> Option<()> {
    out.push_str("(?:");
    write(inner, out)?;
    out.push(')');
    Some(())
}

/// A set without the halves of characters, which no text of ours has.
fn class(set: &Set, out: &mut String) {
    let before = set.ranges().iter().map(|(first, last)| (*first, (*last).min(0xD7FF)));
    let behind = set.ranges().iter().map(|(first, last)| ((*first).max(0xE000), *last));
    let whole = Set::new(before.chain(behind));
    if whole.ranges().is_empty() {
        return out.push_str(r"[^\x00-\x{10FFFF}]");
    }
    out.push('[');
    for (first, last) in whole.ranges() {
        // Writing into a text does not fail.
        _ = write!(out, r"\x{{{first:X}}}-\x{{{last:X}}}");
    }
    out.push(']');
}
