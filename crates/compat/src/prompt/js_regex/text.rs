//! A text as JavaScript sees it: UTF-16 units.

use std::borrow::Cow;
use std::ops::Range;

use super::set::CharSet;
use super::{StepBudget, StepLimitError};

/// A text prepared for searching. Creating it converts the text once; it can be searched any number of times.
#[derive(Debug)]
pub struct Utf16Text<'a> {
    text: Cow<'a, str>,
    units: Vec<u16>,
}

impl<'a> Utf16Text<'a> {
    /// Converts a text.
    pub fn new(text: impl Into<Cow<'a, str>>) -> Self {
        let text = text.into();
        Self { units: text.encode_utf16().collect(), text }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text as an owned string.
    pub fn into_string(self) -> String {
        self.text.into_owned()
    }

    /// Returns the length in UTF-16 units.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Returns a slice of the text. A lone surrogate, which patterns outside Unicode mode can match, becomes U+FFFD.
    pub fn slice(&self, range: Range<usize>) -> Cow<'_, str> {
        match range == (0..self.len()) {
            true => Cow::Borrowed(self.as_str()),
            false => Cow::Owned(String::from_utf16_lossy(self.units.get(range).unwrap_or_default())),
        }
    }

    pub(super) fn units(&self) -> &[u16] {
        &self.units
    }

    /// Returns the position after the unit at `at`; in Unicode mode after the character.
    pub(super) fn next_position(&self, at: usize, is_unicode: bool) -> usize {
        let is_in = |at: usize, range: Range<u16>| self.units.get(at).is_some_and(|unit| range.contains(unit));
        let is_pair = is_unicode && is_in(at, 0xD800..0xDC00) && is_in(at + 1, 0xDC00..0xE000);
        at + 1 + usize::from(is_pair)
    }

    /// Returns the next position of a character of the set.
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
                (2, Some(low)) => {
                    set.contains(0x10000 + ((u32::from(*unit) - 0xD800) << 10) + (u32::from(*low) - 0xDC00))
                }
                _ => set.contains((*unit).into()),
            };
            if is_there {
                break;
            }
            at = next;
        }
        steps.spend((at - from) / 4)?;
        Ok((at < self.len()).then_some(at))
    }

    /// Converts a byte offset to a unit offset.
    pub(super) fn units_before(&self, byte: usize) -> usize {
        self.text.get(..byte).map_or(0, |before| before.encode_utf16().count())
    }

    /// Converts a unit offset to a byte offset.
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
