//! Character sets of classes and escapes.

use std::collections::HashMap;
use std::sync::OnceLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, HirKind};

/// Largest UTF-16 unit.
const LAST_UNIT: u32 = 0xFFFF;
/// Largest code point.
const LAST_CHARACTER: u32 = 0x10_FFFF;
/// JavaScript's line terminators.
const LINE_ENDS: [(u32, u32); 3] = [(0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029)];
/// The characters of `\s`.
const SPACES: [(u32, u32); 10] = [
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
];

/// A set of characters, or of UTF-16 units outside Unicode mode. The ranges are sorted and do not touch.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct CharSet {
    ranges: Vec<(u32, u32)>,
    /// The first 128 characters, one bit each: the fast path for most texts.
    ascii: u128,
}

impl CharSet {
    /// Creates a set from ranges in any order.
    pub fn new(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut all: Vec<(u32, u32)> = ranges.into_iter().filter(|(first, last)| first <= last).collect();
        all.sort_unstable();
        let mut ranges: Vec<(u32, u32)> = Vec::with_capacity(all.len());
        for (first, last) in all {
            match ranges.last_mut() {
                Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                _ => ranges.push((first, last)),
            }
        }
        let has = |c: &u32| ranges.iter().any(|(first, last)| (first..=last).contains(&c));
        let ascii = (0..128).filter(has).fold(0, |bits, c| bits | 1_u128 << c);
        Self { ranges, ascii }
    }

    /// Creates a set of one character.
    pub fn single(c: u32) -> Self {
        Self { ranges: vec![(c, c)], ascii: if c < 128 { 1 << c } else { 0 } }
    }

    /// Returns the set of `\d`.
    pub fn digits() -> Self {
        Self::new([(0x30, 0x39)])
    }

    /// Returns the set of `\w`.
    pub fn word() -> Self {
        Self::new([(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
    }

    /// Returns the set of `\s`.
    pub fn spaces() -> Self {
        Self::new(SPACES)
    }

    /// Returns the characters that a dot does not match.
    pub fn line_ends() -> Self {
        Self::new(LINE_ENDS)
    }

    /// Returns the set of a Unicode property: `L`, `Script=Han`, `Emoji`. `None` if there is no such property.
    pub fn property(name: &str) -> Option<Self> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '=';
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        let hir = regex_syntax::parse(&format!(r"\p{{{name}}}")).ok()?;
        match hir.kind() {
            HirKind::Class(Class::Unicode(class)) => Some(Self::from_class(class)),
            _ => None,
        }
    }

    fn from_class(class: &ClassUnicode) -> Self {
        Self::new(class.iter().map(|range| (range.start().into(), range.end().into())))
    }

    /// Returns all other characters.
    pub fn complement(&self, is_unicode: bool) -> Self {
        let mut next = 0;
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        for (first, last) in &self.ranges {
            if *first > next {
                ranges.push((next, first - 1));
            }
            next = last + 1;
        }
        ranges.push((next, if is_unicode { LAST_CHARACTER } else { LAST_UNIT }));
        Self::new(ranges)
    }

    /// Returns the set plus every character that differs from a member only by case.
    pub fn any_case(&self, is_unicode: bool) -> Self {
        match is_unicode {
            true => self.fold_case(),
            false => self.with_case_variants(),
        }
    }

    fn fold_case(&self) -> Self {
        let scalar = |c: u32| char::from_u32(c).unwrap_or(if c < 0xE000 { '\u{D7FF}' } else { char::MAX });
        let ranges = self.ranges.iter().map(|(first, last)| ClassUnicodeRange::new(scalar(*first), scalar(*last)));
        let mut class = ClassUnicode::new(ranges);
        match class.try_case_fold_simple() {
            Ok(()) => Self::from_class(&class),
            Err(_) => self.clone(),
        }
    }

    fn with_case_variants(&self) -> Self {
        let size: u64 = self.ranges.iter().map(|(first, last)| u64::from(last - first) + 1).sum();
        let mut ranges = self.ranges.clone();
        let of = |c: u32| case_variants().get(&c).into_iter().flatten().map(|twin| (*twin, *twin));
        if size < 512 {
            let members = self.ranges.iter().flat_map(|(first, last)| *first..=*last);
            ranges.extend(members.flat_map(of));
        } else {
            ranges.extend(case_variants().keys().filter(|c| self.contains(**c)).flat_map(|c| of(*c)));
        }
        Self::new(ranges)
    }

    /// Returns whether the set contains a character.
    pub fn contains(&self, c: u32) -> bool {
        if c < 128 {
            return self.ascii >> c & 1 == 1;
        }
        let at = self.ranges.partition_point(|(_, last)| *last < c);
        self.ranges.get(at).is_some_and(|(first, _)| *first <= c)
    }

    /// Returns the ranges, sorted.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.ranges
    }

    /// Returns the union of both sets.
    pub fn union(&self, other: &Self) -> Self {
        Self::new(self.ranges.iter().chain(&other.ranges).copied())
    }
}

/// Returns the form that compares case-insensitively outside Unicode mode: the upper case, if that is one unit. A
/// non-ASCII character never becomes an ASCII one.
pub(super) fn to_upper(c: u32) -> u32 {
    let Some(as_char) = char::from_u32(c) else { return c };
    let mut upper = as_char.to_uppercase();
    match (upper.next().map(u32::from), upper.next()) {
        (Some(one), None) if one <= LAST_UNIT && (c < 128 || one >= 128) => one,
        _ => c,
    }
}

/// Returns the form that compares case-insensitively in Unicode mode, for backreferences.
pub(super) fn to_lower(c: u32) -> u32 {
    let Some(as_char) = char::from_u32(c) else { return c };
    let mut lower = as_char.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one.into(),
        _ => c,
    }
}

/// Maps each unit to the units that differ from it only by case.
fn case_variants() -> &'static HashMap<u32, Vec<u32>> {
    static CASE_VARIANTS: OnceLock<HashMap<u32, Vec<u32>>> = OnceLock::new();
    CASE_VARIANTS.get_or_init(|| {
        let mut families: HashMap<u32, Vec<u32>> = HashMap::new();
        (0..=LAST_UNIT).for_each(|c| families.entry(to_upper(c)).or_default().push(c));
        let families: Vec<Vec<u32>> = families.into_values().filter(|family| family.len() > 1).collect();
        families.into_iter().flat_map(|family| family.clone().into_iter().map(move |c| (c, family.clone()))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn char_set_escapes_match_javascript() {
        let any_case = CharSet::new([(0x61, 0x63)]).any_case(false);
        assert_eq!(any_case.ranges(), [(0x41, 0x43), (0x61, 0x63)]);
        assert!(
            !CharSet::single('s'.into()).any_case(false).contains('ſ'.into())
                && CharSet::single('s'.into()).any_case(true).contains('ſ'.into())
        );
        assert!(CharSet::single('Σ'.into()).any_case(false).contains('ς'.into()));
        assert!(CharSet::word().complement(false).contains('雪'.into()) && !CharSet::word().contains('é'.into()));
        assert!(
            CharSet::property("Script=Han").unwrap().contains('灯'.into())
                && CharSet::property("Lu").unwrap().contains('É'.into())
        );
        assert!(
            CharSet::property("Nothing").is_none()
                && CharSet::property("L}|\\p{N").is_none()
                && CharSet::property("").is_none()
        );
        assert_eq!(CharSet::default().complement(true).complement(true), CharSet::default());
        assert!(CharSet::spaces().contains(0xFEFF) && !CharSet::spaces().contains(0x200B));
    }
}
