//! Parses escapes and character classes.

use super::RegexSyntaxError;
use super::set::CharSet;
use super::syntax::{RegexNode, RegexParser};

/// A class member: a character, or a set, which cannot begin a range.
enum ClassMember {
    One(u32),
    Many(CharSet),
}

impl RegexParser {
    /// Parses what follows a `\` outside a class. Returns the node and whether a quantifier may follow.
    pub(super) fn escape(&mut self) -> Result<(RegexNode, bool), RegexSyntaxError> {
        let Some(c) = self.peek() else { return self.error("a `\\` at the end") };
        let strict = self.modes.is_unicode;
        if let Some(set) = self.class_escape()? {
            return Ok((RegexNode::Set(self.apply_case(set)), true));
        }
        Ok(match char::from_u32(c) {
            Some('b' | 'B') => {
                self.at += 1;
                let folded = strict && self.modes.any_case;
                (RegexNode::WordBoundary { negated: c == u32::from('B'), folded }, false)
            }
            Some('k') if strict || self.has_names => {
                self.at += 1;
                (self.named_backreference()?, true)
            }
            Some('1'..='9') => {
                let before = self.at;
                let group = self.number().and_then(|number| usize::try_from(number).ok()).unwrap_or(usize::MAX);
                if group <= self.total {
                    return Ok((RegexNode::Backreference { groups: vec![group], any_case: self.modes.any_case }, true));
                }
                if strict {
                    return self.error("a reference to a missing group");
                }
                self.at = before;
                let c = self.octal();
                (self.literal(c), true)
            }
            _ => {
                let c = self.character_escape()?;
                (self.literal(c), true)
            }
        })
    }

    /// Parses `\d`, `\p{…}` and other escapes for a set.
    fn class_escape(&mut self) -> Result<Option<CharSet>, RegexSyntaxError> {
        let c = self.peek().and_then(char::from_u32).unwrap_or_default();
        let set = match c {
            'd' | 'D' => CharSet::digits(),
            'w' | 'W' => CharSet::word(),
            's' | 'S' => CharSet::spaces(),
            'p' | 'P' if self.modes.is_unicode => {
                self.at += 1;
                self.property()?
            }
            _ => return Ok(None),
        };
        if !matches!(c, 'p' | 'P') {
            self.at += 1;
        }
        if c.is_ascii_lowercase() {
            return Ok(Some(set));
        }
        // `\W` applies case before the complement, `\P` does not: a letter outside a property can equal one inside but
        // for case.
        let set = if c == 'W' { self.apply_case(set) } else { set };
        Ok(Some(set.complement(self.modes.is_unicode)))
    }

    fn property(&mut self) -> Result<CharSet, RegexSyntaxError> {
        let rest = self.source.get(self.at..).unwrap_or_default();
        let end = rest.iter().position(|c| *c == u32::from('}')).unwrap_or(0);
        let text: String = rest.iter().take(end).filter_map(|c| char::from_u32(*c)).collect();
        match text.strip_prefix('{').and_then(CharSet::property) {
            Some(set) => {
                self.at += end + 1;
                Ok(set)
            }
            None => self.error("an unknown Unicode property"),
        }
    }

    /// Parses up to three octal digits, at most `\377`; `\8` and `\9` mean the digit itself.
    fn octal(&mut self) -> u32 {
        let mut value = 0;
        for i in 0..3 {
            let digit = self.peek().and_then(char::from_u32).and_then(|c| c.to_digit(10)).filter(|digit| *digit < 8);
            match digit {
                Some(digit) if value * 8 + digit <= 0o377 => value = value * 8 + digit,
                _ if i > 0 => break,
                _ => {
                    value = self.peek().unwrap_or_default();
                    self.at += 1;
                    break;
                }
            }
            self.at += 1;
        }
        value
    }

    /// Parses what follows a `\` if it is one character.
    fn character_escape(&mut self) -> Result<u32, RegexSyntaxError> {
        let Some(c) = self.peek() else { return self.error("a `\\` at the end") };
        let strict = self.modes.is_unicode;
        self.at += 1;
        Ok(match char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER) {
            't' => 0x09,
            'n' => 0x0A,
            'v' => 0x0B,
            'f' => 0x0C,
            'r' => 0x0D,
            '0' if !self.peek().and_then(char::from_u32).is_some_and(|c| c.is_ascii_digit()) => 0,
            '0' if !strict => {
                self.at -= 1;
                self.octal()
            }
            'c' => match self.peek().and_then(char::from_u32).filter(char::is_ascii_alphabetic) {
                Some(letter) => {
                    self.at += 1;
                    u32::from(letter) & 31
                }
                None if strict => return self.error("an unknown escape"),
                None => {
                    self.at -= 1;
                    u32::from('\\')
                }
            },
            'x' => match self.hex(2) {
                Some(value) => value,
                None if strict => return self.error("an unknown escape"),
                None => c,
            },
            'u' => match self.code_point() {
                Some(value) => value,
                None if strict => return self.error("an unknown escape"),
                None => c,
            },
            'k' if self.has_names => return self.error("`\\k` without a name"),
            '^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '/' => c,
            _ if strict => return self.error("an unknown escape"),
            _ => c,
        })
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let mut value = 0;
        for i in 0..digits {
            let digit = self.source.get(self.at + i).and_then(|c| char::from_u32(*c)).and_then(|c| c.to_digit(16))?;
            value = value * 16 + digit;
        }
        self.at += digits;
        Some(value)
    }

    /// Parses what follows `\u`: four digits. In Unicode mode also a surrogate pair, or digits in braces.
    fn code_point(&mut self) -> Option<u32> {
        let strict = self.modes.is_unicode;
        let before = self.at;
        if strict && self.take('{') {
            let rest = self.source.get(self.at..).unwrap_or_default();
            let digits = rest.iter().position(|c| *c == u32::from('}')).filter(|digits| (1..=16).contains(digits));
            let value = digits.and_then(|digits| self.hex(digits)).filter(|value| *value <= 0x10_FFFF);
            let value = value.filter(|_| self.take('}'));
            self.at = if value.is_some() { self.at } else { before };
            return value;
        }
        let first = self.hex(4)?;
        if !strict || !(0xD800..0xDC00).contains(&first) {
            return Some(first);
        }
        let after = self.at;
        let second = if self.take_all("\\u") { self.hex(4) } else { None };
        match second.filter(|second| (0xDC00..0xE000).contains(second)) {
            Some(second) => Some(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)),
            None => {
                self.at = after;
                Some(first)
            }
        }
    }

    /// Parses a class after its `[`.
    pub(super) fn class(&mut self) -> Result<CharSet, RegexSyntaxError> {
        let negated = self.take('^');
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        while !self.take(']') {
            let first = self.class_member()?;
            let is_range = self.is_next('-') && self.source.get(self.at + 1).is_some_and(|c| *c != u32::from(']'));
            if !is_range {
                first.add_to(&mut ranges);
                continue;
            }
            self.at += 1;
            let last = self.class_member()?;
            match (first, last) {
                (ClassMember::One(first), ClassMember::One(last)) if first <= last => ranges.push((first, last)),
                (ClassMember::One(_), ClassMember::One(_)) => return self.error("a range in the wrong order"),
                _ if self.modes.is_unicode => return self.error("a range that begins or ends with a class"),
                (first, last) => {
                    first.add_to(&mut ranges);
                    last.add_to(&mut ranges);
                    ClassMember::One(u32::from('-')).add_to(&mut ranges);
                }
            }
        }
        let set = self.apply_case(CharSet::new(ranges));
        Ok(if negated { set.complement(self.modes.is_unicode) } else { set })
    }

    fn class_member(&mut self) -> Result<ClassMember, RegexSyntaxError> {
        let Some(c) = self.peek() else { return self.error("a `[` that is not closed") };
        self.at += 1;
        if c != u32::from('\\') {
            return Ok(ClassMember::One(c));
        }
        if let Some(set) = self.class_escape()? {
            return Ok(ClassMember::Many(set));
        }
        let strict = self.modes.is_unicode;
        let next = self.source.get(self.at + 1).and_then(|c| char::from_u32(*c));
        Ok(ClassMember::One(match self.peek().and_then(char::from_u32) {
            Some('b') => {
                self.at += 1;
                0x08
            }
            Some('-') if strict => {
                self.at += 1;
                u32::from('-')
            }
            Some('c') if !strict && next.is_some_and(|c| c.is_ascii_digit() || c == '_') => {
                self.at += 2;
                next.map_or(0, u32::from) & 31
            }
            Some('1'..='9') if !strict => self.octal(),
            _ => self.character_escape()?,
        }))
    }
}

impl ClassMember {
    fn add_to(&self, ranges: &mut Vec<(u32, u32)>) {
        match self {
            Self::One(c) => ranges.push((*c, *c)),
            Self::Many(set) => ranges.extend(set.ranges()),
        }
    }
}
