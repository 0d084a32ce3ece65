//! A text as JavaScript sees it: UTF-16 units.

use std::borrow::Cow;
use std::ops::Range;

use super::set::CharSet;
use super::{StepBudget, StepLimitError};

/// A text, ready to be searched. Making it takes a walk through the text; it can be searched as often as one likes.
#[derive(Debug)]
pub struct Utf16Text<'a> {
    text: Cow<'a, str>,
    units: Vec<u16>,
}

impl<'a> Utf16Text<'a> {
    /// A text.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        Self { units: text.encode_utf16().collect(), text }
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text itself, given away.
    pub fn into_string(self) -> String {
        self.text.into_owned()
    }

    /// Its length in UTF-16 units.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// A piece of it. Half a character, which a pattern outside of Unicode mode can find, becomes U+FFFD.
    pub fn piece(&self, range: Range<usize>) -> Cow<'_, str> {
        match range == (0..self.len()) {
            true => Cow::Borrowed(self.as_str()),
            false => Cow::Owned(String::from_utf16_lossy(self.units.get(range).unwrap_or_default())),
        }
    }

    pub(super) fn units(&self) -> &[u16] {
        &self.units
    }

    /// The place behind the unit, in Unicode mode behind the character, at a place.
    pub(super) fn next_position(&self, at: usize, is_unicode: bool) -> usize {
        let is_in = |at: usize, range: Range<u16>| self.units.get(at).is_some_and(|unit| range.contains(unit));
        let is_pair = is_unicode && is_in(at, 0xD800..0xDC00) && is_in(at + 1, 0xDC00..0xE000);
        at + 1 + usize::from(is_pair)
    }

    /// The next place at which a character of the set stands.
    pub(super) fn next_of(
        &self,
        set: &CharSet,
        from: usize,
        is_unicode: bool,
        steps: &mut StepBudget,
    ) -> Result<Option<usize>, StepLimitError> {
        let mut at = from;
        while let Some(unit) = self.units.get(at) {
            let next = self.next_position(at, is_unicode);
            let is_there = match (next - at, self.units.get(at + 1)) {
                (2, Some(low)) => set.has(0x10000 + ((u32::from(*unit) - 0xD800) << 10) + (u32::from(*low) - 0xDC00)),
                _ => set.has((*unit).into()),
            };
            if is_there {
                break;
            }
            at = next;
        }
        steps.spend((at - from) / 4)?;
        Ok((at < self.len()).then_some(at))
    }

    /// How many units stand before a byte.
    pub(super) fn units_before(&self, byte: usize) -> usize {
        self.text.get(..byte).map_or(0, |before| before.encode_utf16().count())
    }

    /// How many bytes stand before a unit.
    pub(super) fn bytes_before(&self, unit: usize) -> usize {
        let mut left = unit;
        let before = self.text.chars().take_while(|c| {
            let goes = left > 0;
            left = left.saturating_sub(c.len_utf16());
            goes
        });
        before.map(char::len_utf8).sum()
    }
}
