//! Parses JavaScript patterns into a tree.
//!
//! Outside Unicode mode the tolerant grammar of browsers applies: a lone `{` or `]` is literal, `\8` is `8`, an unknown
//! escape is its letter. In Unicode mode the strict grammar applies.

use std::ops::Range;

use super::RegexSyntaxError;
use super::set::CharSet;

/// Largest pattern in UTF-16 units. Hand-written patterns are far smaller, and parsing takes time.
pub(super) const MAX_UNITS: usize = 16_384;
/// Deepest nesting of groups: the parser is recursive.
const MAX_DEPTH: usize = 100;
/// Largest number of capturing groups: each loop iteration has to clear them.
const MAX_GROUPS: usize = 1_000;

/// The flags that affect parsing and matching.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct RegexModes {
    /// Flag `i`.
    pub any_case: bool,
    /// Flag `m`.
    pub by_line: bool,
    /// Flag `s`.
    pub dot_all: bool,
    /// Flag `u`.
    pub is_unicode: bool,
}

/// A node of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RegexNode {
    /// One character of a set.
    Set(CharSet),
    /// `^`, for each line or for the text.
    Start {
        by_line: bool,
    },
    /// `$`, for each line or for the text.
    End {
        by_line: bool,
    },
    /// `\b`, `\B`. With `folded`, letters that fold to ASCII letters are word characters too.
    WordBoundary {
        negated: bool,
        folded: bool,
    },
    /// A backreference. Of several groups with one name, the one that took part counts.
    Backreference {
        groups: Vec<usize>,
        any_case: bool,
    },
    Sequence(Vec<RegexNode>),
    /// Alternatives; the first that matches counts.
    Alternation(Vec<RegexNode>),
    /// A capturing group.
    Group {
        index: usize,
        inner: Box<RegexNode>,
    },
    /// A repetition; `groups` are the indices of the groups inside it.
    Repeat {
        inner: Box<RegexNode>,
        quantifier: RegexQuantifier,
        groups: Range<usize>,
    },
    /// A lookahead or lookbehind.
    Lookaround {
        inner: Box<RegexNode>,
        behind: bool,
        negated: bool,
    },
}

/// How often a part repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RegexQuantifier {
    pub min: u32,
    /// `None` = unbounded.
    pub max: Option<u32>,
    /// Whether as many repetitions as possible are tried first.
    pub greedy: bool,
}

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RegexTree {
    pub root: RegexNode,
    /// Number of capturing groups, without the whole match.
    pub groups: usize,
    /// Group names with their group numbers, in order.
    pub names: Vec<(String, Vec<usize>)>,
}

pub(super) fn parse(body: &str, modes: RegexModes) -> Result<RegexTree, RegexSyntaxError> {
    let source: Vec<u32> = match modes.is_unicode {
        true => body.chars().take(MAX_UNITS + 1).map(u32::from).collect(),
        false => body.encode_utf16().take(MAX_UNITS + 1).map(u32::from).collect(),
    };
    if source.len() > MAX_UNITS {
        return Err(RegexSyntaxError::TooLarge);
    }
    // Count the groups first: whether `\1` and `\k` are references depends on it.
    let (total, has_names) = count_groups(&source);
    if total > MAX_GROUPS {
        return Err(RegexSyntaxError::TooLarge);
    }
    let mut reader = RegexParser {
        source,
        at: 0,
        modes,
        total,
        has_names,
        opened: 0,
        names: Vec::new(),
        names_in_scope: Vec::new(),
        wanted: Vec::new(),
    };
    let mut root = reader.alternation(0)?;
    if reader.at < reader.source.len() {
        return Err(RegexSyntaxError::syntax_at("a `)` that closes nothing", reader.at));
    }
    // Resolve the named references.
    for wanted in &reader.wanted {
        if !reader.names.iter().any(|(name, _)| name == wanted) {
            return Err(RegexSyntaxError::syntax_at("a reference to a missing group name", reader.at));
        }
    }
    resolve_names(&mut root, &reader.wanted, &reader.names);
    Ok(RegexTree { root, groups: total, names: reader.names })
}

/// Counts the capturing groups and returns whether any is named.
fn count_groups(source: &[u32]) -> (usize, bool) {
    let (mut total, mut has_names, mut in_class, mut at) = (0, false, false, 0);
    let is = |at: usize, c: char| source.get(at) == Some(&u32::from(c));
    while at < source.len() {
        if is(at, '\\') {
            at += 1;
        } else if in_class {
            in_class = !is(at, ']');
        } else if is(at, '[') {
            in_class = true;
        } else if is(at, '(') {
            let named = is(at + 1, '?') && is(at + 2, '<') && !is(at + 3, '=') && !is(at + 3, '!');
            has_names |= named;
            total += usize::from(named || !is(at + 1, '?'));
        }
        at += 1;
    }
    (total, has_names)
}

/// Replaces group names by group numbers. Until then, a name is stored as a number from [`NAME_INDEX_BASE`] on.
fn resolve_names(part: &mut RegexNode, wanted: &[String], names: &[(String, Vec<usize>)]) {
    match part {
        RegexNode::Backreference { groups, .. } => {
            let place = groups.first().and_then(|n| n.checked_sub(NAME_INDEX_BASE)).and_then(|at| wanted.get(at));
            if let Some((_, found)) = place.and_then(|name| names.iter().find(|(known, _)| known == name)) {
                groups.clone_from(found);
            }
        }
        RegexNode::Sequence(parts) | RegexNode::Alternation(parts) => {
            parts.iter_mut().for_each(|part| resolve_names(part, wanted, names))
        }
        RegexNode::Group { inner, .. } | RegexNode::Repeat { inner, .. } | RegexNode::Lookaround { inner, .. } => {
            resolve_names(inner, wanted, names)
        }
        RegexNode::Set(_) | RegexNode::Start { .. } | RegexNode::End { .. } | RegexNode::WordBoundary { .. } => {}
    }
}

/// Group numbers from here on are indices into the list of referenced names.
const NAME_INDEX_BASE: usize = 1 << 32;

pub(super) struct RegexParser {
    pub(super) source: Vec<u32>,
    pub(super) at: usize,
    pub(super) modes: RegexModes,
    pub(super) total: usize,
    pub(super) has_names: bool,
    opened: usize,
    names: Vec<(String, Vec<usize>)>,
    /// Names in the current alternative and around it; they must be unique.
    names_in_scope: Vec<String>,
    wanted: Vec<String>,
}

impl RegexParser {
    pub(super) fn peek(&self) -> Option<u32> {
        self.source.get(self.at).copied()
    }

    pub(super) fn is_next(&self, c: char) -> bool {
        self.peek() == Some(u32::from(c))
    }

    pub(super) fn take(&mut self, c: char) -> bool {
        let is = self.is_next(c);
        self.at += usize::from(is);
        is
    }

    pub(super) fn take_all(&mut self, text: &str) -> bool {
        let is = text.chars().enumerate().all(|(i, c)| self.source.get(self.at + i) == Some(&u32::from(c)));
        self.at += if is { text.len() } else { 0 };
        is
    }

    pub(super) fn error<T>(&self, what: &'static str) -> Result<T, RegexSyntaxError> {
        Err(RegexSyntaxError::syntax_at(what, self.at))
    }

    fn alternation(&mut self, depth: usize) -> Result<RegexNode, RegexSyntaxError> {
        if depth > MAX_DEPTH {
            return Err(RegexSyntaxError::TooLarge);
        }
        let mut ways = Vec::new();
        let mut seen = Vec::new();
        loop {
            let outside = self.names_in_scope.len();
            ways.push(self.sequence(depth)?);
            seen.extend(self.names_in_scope.drain(outside..));
            if !self.take('|') {
                break;
            }
        }
        self.names_in_scope.extend(seen);
        Ok(if ways.len() == 1 { ways.swap_remove(0) } else { RegexNode::Alternation(ways) })
    }

    fn sequence(&mut self, depth: usize) -> Result<RegexNode, RegexSyntaxError> {
        let mut parts = Vec::new();
        while let Some(c) = self.peek() {
            if c == u32::from('|') || c == u32::from(')') {
                break;
            }
            let opened = self.opened;
            let (part, may_repeat) = self.atom(c, depth)?;
            parts.push(self.quantified(part, may_repeat, opened)?);
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { RegexNode::Sequence(parts) })
    }

    /// Parses one node. Returns it and whether a quantifier may follow.
    fn atom(&mut self, c: u32, depth: usize) -> Result<(RegexNode, bool), RegexSyntaxError> {
        let by_line = self.modes.by_line;
        let strict = self.modes.is_unicode;
        let before = self.at;
        self.at += 1;
        Ok(match char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER) {
            '^' => (RegexNode::Start { by_line }, false),
            '$' => (RegexNode::End { by_line }, false),
            '(' => self.group(depth)?,
            '.' => (RegexNode::Set(self.dot_set()), true),
            '[' => (RegexNode::Set(self.class()?), true),
            '\\' => self.escape()?,
            '*' | '+' | '?' => return self.error("nothing to repeat"),
            '{' if strict => return self.error("nothing to repeat"),
            '{' => {
                self.at = before;
                if self.bounds()?.is_some() {
                    return self.error("nothing to repeat");
                }
                self.at = before + 1;
                (self.literal(c), true)
            }
            ']' | '}' if strict => return self.error("a bracket that closes nothing"),
            _ => (self.literal(c), true),
        })
    }

    fn dot_set(&self) -> CharSet {
        let nothing = if self.modes.dot_all { CharSet::default() } else { CharSet::line_ends() };
        nothing.complement(self.modes.is_unicode)
    }

    pub(super) fn literal(&self, c: u32) -> RegexNode {
        RegexNode::Set(self.apply_case(CharSet::single(c)))
    }

    pub(super) fn apply_case(&self, set: CharSet) -> CharSet {
        if self.modes.any_case { set.any_case(self.modes.is_unicode) } else { set }
    }

    fn group(&mut self, depth: usize) -> Result<(RegexNode, bool), RegexSyntaxError> {
        let modes = self.modes;
        let looks = [("?=", false, false), ("?!", false, true), ("?<=", true, false), ("?<!", true, true)];
        let look = looks.into_iter().find(|(mark, ..)| self.take_all(mark));
        let mut index = None;
        if look.is_none() && !self.take_all("?:") {
            if self.take_all("?<") {
                index = Some(self.open_group());
                self.name_group()?;
            } else if self.take('?') {
                self.switch_modes()?;
            } else {
                index = Some(self.open_group());
            }
        }
        let inner = self.alternation(depth + 1)?;
        if !self.take(')') {
            return self.error("a `(` that is not closed");
        }
        let strict = modes.is_unicode;
        self.modes = modes;
        Ok(match (look, index) {
            (Some((_, behind, negated)), _) => {
                (RegexNode::Lookaround { inner: Box::new(inner), behind, negated }, !behind && !strict)
            }
            (None, Some(index)) => (RegexNode::Group { index, inner: Box::new(inner) }, true),
            // A sequence keeps a quantifier inside separate from one outside.
            (None, None) => (RegexNode::Sequence(vec![inner]), true),
        })
    }

    fn open_group(&mut self) -> usize {
        self.opened += 1;
        self.opened
    }

    fn name_group(&mut self) -> Result<(), RegexSyntaxError> {
        let name = self.name()?;
        if self.names_in_scope.contains(&name) {
            return self.error("a group name that appears twice");
        }
        self.names_in_scope.push(name.clone());
        match self.names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, groups)) => groups.push(self.opened),
            None => self.names.push((name, vec![self.opened])),
        }
        Ok(())
    }

    /// Parses a group name up to its `>`.
    fn name(&mut self) -> Result<String, RegexSyntaxError> {
        let rest = self.source.get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|c| *c == u32::from('>')).unwrap_or(0);
        let units: Vec<u32> = rest.iter().take(length).copied().collect();
        let name = match self.modes.is_unicode {
            true => units.into_iter().filter_map(char::from_u32).collect(),
            false => {
                let units: Vec<u16> = units.into_iter().filter_map(|unit| u16::try_from(unit).ok()).collect();
                String::from_utf16_lossy(&units)
            }
        };
        let begins = |c: char| c.is_alphabetic() || c == '_' || c == '$';
        let is_name = name.chars().enumerate().all(|(i, c)| begins(c) || i > 0 && c.is_alphanumeric());
        if name.is_empty() || !is_name {
            return self.error("an invalid group name");
        }
        self.at += length + 1;
        Ok(name)
    }

    /// Parses the modes of a group such as `(?i-s:`.
    fn switch_modes(&mut self) -> Result<(), RegexSyntaxError> {
        let mut on = true;
        let mut seen = String::new();
        loop {
            let Some(c) = self.peek().and_then(char::from_u32) else { return self.error("a group that is not closed") };
            self.at += 1;
            match c {
                ':' if seen.len() > usize::from(!on) => return Ok(()),
                '-' if on => on = false,
                'i' | 'm' | 's' if seen.contains(c) => return self.error("a flag that appears twice"),
                'i' => self.modes.any_case = on,
                'm' => self.modes.by_line = on,
                's' => self.modes.dot_all = on,
                _ => return self.error("an unknown kind of group"),
            }
            seen.push(c);
        }
    }

    /// Parses the quantifier after a node, if there is one.
    fn quantified(&mut self, part: RegexNode, may_repeat: bool, opened: usize) -> Result<RegexNode, RegexSyntaxError> {
        let before = self.at;
        let bounds = match self.peek().and_then(char::from_u32) {
            Some('*') => Some((0, None)),
            Some('+') => Some((1, None)),
            Some('?') => Some((0, Some(1))),
            Some('{') => self.bounds()?,
            _ => None,
        };
        let Some((min, max)) = bounds else {
            self.at = before;
            return Ok(part);
        };
        if self.at == before {
            self.at += 1;
        }
        if !may_repeat {
            return self.error("nothing to repeat");
        }
        let quantifier = RegexQuantifier { min, max, greedy: !self.take('?') };
        Ok(RegexNode::Repeat { inner: Box::new(part), quantifier, groups: opened + 1..self.opened + 1 })
    }

    /// Parses `{2}`, `{2,}`, `{2,5}`. Outside Unicode mode, an incomplete form is literal text (`None`).
    fn bounds(&mut self) -> Result<Option<(u32, Option<u32>)>, RegexSyntaxError> {
        let before = self.at;
        self.at += 1;
        let min = self.number();
        let max = if self.take(',') { self.number().map(Some).or(Some(None)) } else { Some(min) };
        match (min, max) {
            (Some(min), Some(max)) if self.take('}') => match max {
                Some(max) if max < min => self.error("bounds in the wrong order"),
                _ => Ok(Some((min, max))),
            },
            _ if self.modes.is_unicode => self.error("bounds that are not closed"),
            _ => {
                self.at = before;
                Ok(None)
            }
        }
    }

    /// Parses a decimal number; it saturates at `u32::MAX`.
    pub(super) fn number(&mut self) -> Option<u32> {
        let mut number: Option<u32> = None;
        while let Some(digit) = self.peek().and_then(char::from_u32).and_then(|c| c.to_digit(10)) {
            number = Some(number.unwrap_or(0).saturating_mul(10).saturating_add(digit));
            self.at += 1;
        }
        number
    }

    /// Parses the rest of `\k<name>`.
    pub(super) fn named_backreference(&mut self) -> Result<RegexNode, RegexSyntaxError> {
        if !self.take('<') {
            return self.error("`\\k` without a name");
        }
        let name = self.name()?;
        self.wanted.push(name);
        Ok(RegexNode::Backreference {
            groups: vec![NAME_INDEX_BASE + self.wanted.len() - 1],
            any_case: self.modes.any_case,
        })
    }
}
