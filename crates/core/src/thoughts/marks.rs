//! The marks around thoughts: which there are, and which one stands at the beginning of a text. Pure.

use std::sync::Arc;

/// Tag names that are marks of thoughts if a thought tag is hidden. Other known names count only if they are listed.
const BUILT_IN_TAGS: [&str; 7] =
    ["think", "thinking", "thought", "reasoning", "seed:think", "longcat_think", "antml:thinking"];

/// Tag names of thoughts. If they are hidden, no rule acts on their content; other hidden tags are there for rules.
const THOUGHT_TAGS: [&str; 13] = [
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "analysis",
    "scratchpad",
    "cot",
    "思考",
    "思考过程",
    "思维链",
    "推理",
];

/// Built-in marks that are no tags: opening and closing mark.
const BUILT_IN_LITERALS: [(&str, &str); 4] = [
    ("<|channel>thought", "<channel|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<unused94>thought", "<unused95>"),
];

/// Marks around the answer, which are dropped.
const DROPPED: [&str; 4] = ["<|begin_of_solution|>", "<|end_of_solution|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>"];

const CHANNEL: &str = "<|channel|>";
const MESSAGE: &str = "<|message|>";
const CHANNEL_START: &str = "<|start|>assistant";
const CHANNEL_ENDS: [&str; 3] = ["<|end|>", "<|return|>", "<|call|>"];

/// The most bytes of a tag or of a channel's header. Longer ones are text, so that little is held back.
const MAX_MARK: usize = 200;

/// Returns whether a hidden tag name is one of thoughts.
pub fn is_thought_tag(name: &str) -> bool {
    THOUGHT_TAGS.iter().chain(&BUILT_IN_TAGS).any(|thought| thought.eq_ignore_ascii_case(name))
}

/// Splits a pair of marks, written as `opening…closing` or `opening...closing`; `None` if it is none.
pub fn mark_pair(entry: &str) -> Option<(&str, &str)> {
    let (open, close) = entry.split_once('…').or_else(|| entry.split_once("..."))?;
    let (open, close) = (open.trim(), close.trim());
    let is_plain = !open.is_empty() && !close.is_empty() && !open.eq_ignore_ascii_case(close);
    (is_plain && open.len() <= MAX_MARK && close.len() <= MAX_MARK).then_some((open, close))
}

/// The form of a pair of marks.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MarkForm {
    /// A name between two characters, with a slash before it in the closing mark.
    Tag { left: char, right: char, name: String },
    /// Two texts; case of ASCII letters does not matter.
    Literal { open: String, close: String },
    /// The channels of the Harmony format. A header names the channel; only the channel `final` is no thought.
    Channels,
}

/// A mark found in a text. The number is that of its pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Open(usize),
    /// An opening tag that closes itself.
    Empty,
    Close(usize),
    /// The header of the channel with the answer.
    FinalChannel(usize),
    /// The end of a channel.
    ChannelEnd(usize),
    /// The start of another channel, or a mark around the answer.
    Dropped,
}

/// What stands at the beginning of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkMatch {
    /// A mark and its length in bytes.
    Found(Mark, usize),
    /// The text may become a mark.
    Partial,
    None,
}

/// The marks around thoughts that are in force.
#[derive(Debug, Clone, Default)]
pub struct ThoughtMarks {
    forms: Arc<[MarkForm]>,
    has_built_in: bool,
    /// The characters with which marks begin.
    leads: Arc<[char]>,
}

impl ThoughtMarks {
    /// Returns the marks that a list of hidden tags turns on.
    ///
    /// A name of a thought tag turns on all built-in marks and itself. An entry `opening…closing` is a pair of marks.
    pub fn from_hidden_tags(tags: &[String]) -> Self {
        let mut forms: Vec<MarkForm> = Vec::new();
        let has_built_in = tags.iter().any(|tag| is_thought_tag(tag));
        let listed = tags.iter().map(String::as_str).filter(|tag| is_thought_tag(tag));
        if has_built_in {
            let mut names: Vec<&str> = BUILT_IN_TAGS.to_vec();
            names.extend(listed.filter(|tag| !BUILT_IN_TAGS.iter().any(|own| own.eq_ignore_ascii_case(tag))));
            forms.extend(names.into_iter().map(|name| MarkForm::tag('<', '>', name)));
            forms.push(MarkForm::tag('[', ']', "think"));
            forms.push(MarkForm::tag('◁', '▷', "think"));
            forms.extend(BUILT_IN_LITERALS.iter().map(|(open, close)| MarkForm::literal(open, close)));
            forms.push(MarkForm::Channels);
        }
        forms.extend(tags.iter().filter_map(|tag| mark_pair(tag)).map(|(open, close)| MarkForm::literal(open, close)));
        let mut leads: Vec<char> = forms.iter().flat_map(MarkForm::leads).collect();
        leads.sort_unstable();
        leads.dedup();
        Self { forms: forms.into(), has_built_in, leads: leads.into() }
    }

    /// Returns whether no marks are in force.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Returns the offset of the next character with which a mark may begin.
    pub(super) fn next_lead(&self, text: &str) -> Option<usize> {
        text.find(&*self.leads)
    }

    /// Returns which mark stands at the beginning of a text. With `is_end` nothing more follows it.
    pub(super) fn read(&self, text: &str, is_end: bool) -> MarkMatch {
        let mut best = MarkMatch::None;
        for (pair, form) in self.forms.iter().enumerate() {
            match form.read(text, pair) {
                found @ MarkMatch::Found(..) => return found,
                MarkMatch::Partial if !is_end => best = MarkMatch::Partial,
                _ => {}
            }
        }
        let dropped = DROPPED.iter().filter(|_| self.has_built_in).map(|mark| read_literal(text, mark, Mark::Dropped));
        dropped.fold(best, |best, found| match found {
            MarkMatch::Found(..) => found,
            MarkMatch::Partial if !is_end && best == MarkMatch::None => found,
            _ => best,
        })
    }
}

impl MarkForm {
    fn tag(left: char, right: char, name: &str) -> Self {
        Self::Tag { left, right, name: name.to_owned() }
    }

    fn literal(open: &str, close: &str) -> Self {
        Self::Literal { open: open.to_owned(), close: close.to_owned() }
    }

    /// Returns the first characters of both marks, in each case.
    fn leads(&self) -> Vec<char> {
        match self {
            Self::Tag { left, .. } => vec![*left],
            Self::Literal { open, close } => {
                let firsts = open.chars().take(1).chain(close.chars().take(1));
                firsts.flat_map(|c| [c.to_ascii_lowercase(), c.to_ascii_uppercase()]).collect()
            }
            Self::Channels => vec!['<'],
        }
    }

    fn read(&self, text: &str, pair: usize) -> MarkMatch {
        match self {
            Self::Tag { left, right, name } => read_tag(text, (*left, *right), name, pair),
            Self::Literal { open, close } => match read_literal(text, close, Mark::Close(pair)) {
                MarkMatch::None => read_literal(text, open, Mark::Open(pair)),
                partial @ MarkMatch::Partial => match read_literal(text, open, Mark::Open(pair)) {
                    MarkMatch::None => partial,
                    found => found,
                },
                found @ MarkMatch::Found(..) => found,
            },
            Self::Channels => read_channel(text, pair),
        }
    }
}

fn read_literal(text: &str, mark: &str, found: Mark) -> MarkMatch {
    if starts_with_ignoring_case(text, mark) {
        return MarkMatch::Found(found, mark.len());
    }
    if starts_with_ignoring_case(mark, text) { MarkMatch::Partial } else { MarkMatch::None }
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.as_bytes().get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start.as_bytes()))
}

/// Reads `<name>`, `<name attribute="…">`, `<name/>` or `</name>`, with blanks around the name and the slash.
fn read_tag(text: &str, (left, right): (char, char), name: &str, pair: usize) -> MarkMatch {
    let Some(rest) = text.strip_prefix(left) else { return MarkMatch::None };
    let rest = skip_blanks(rest);
    let (is_closing, rest) = rest.strip_prefix('/').map_or((false, rest), |rest| (true, skip_blanks(rest)));
    let partial = if text.len() < MAX_MARK { MarkMatch::Partial } else { MarkMatch::None };
    if !starts_with_ignoring_case(rest, name) {
        return if starts_with_ignoring_case(name, rest) { partial } else { MarkMatch::None };
    }
    let after = rest.get(name.len()..).unwrap_or_default();
    let Some(next) = after.chars().next() else { return partial };
    if next != right && next != '/' && !next.is_whitespace() {
        return MarkMatch::None;
    }
    // Within the limit and before another tag, so that a lone `<think ` in a text holds nothing back.
    let Some(end) = after.find([left, right]) else {
        return if is_attributes(after, is_closing, true) { partial } else { MarkMatch::None };
    };
    let inside = after.get(..end).unwrap_or_default();
    let ends_right = after.get(end..).is_some_and(|rest| rest.starts_with(right));
    if !ends_right || inside.len() > MAX_MARK || !is_attributes(inside, is_closing, false) {
        return MarkMatch::None;
    }
    let length = text.len() - after.len() + end + right.len_utf8();
    let mark = match (is_closing, inside.trim_end().ends_with('/')) {
        (true, _) => Mark::Close(pair),
        (false, true) => Mark::Empty,
        (false, false) => Mark::Open(pair),
    };
    MarkMatch::Found(mark, length)
}

/// Returns whether the rest of a tag may be attributes. Words without `=` are prose: `<think about it>`.
fn is_attributes(inside: &str, is_closing: bool, may_grow: bool) -> bool {
    let words = inside.trim_matches(|c: char| c.is_whitespace() || c == '/');
    words.is_empty() || (!is_closing && (words.contains('=') || (may_grow && !words.contains(char::is_whitespace))))
}

fn skip_blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

/// Reads a header, an end or a start of a channel.
fn read_channel(text: &str, pair: usize) -> MarkMatch {
    let mut is_partial = false;
    let ends = CHANNEL_ENDS.iter().map(|end| (*end, Mark::ChannelEnd(pair)));
    for (mark, found) in ends.chain([(CHANNEL_START, Mark::Dropped)]) {
        match read_literal(text, mark, found) {
            found @ MarkMatch::Found(..) => return found,
            MarkMatch::Partial => is_partial = true,
            MarkMatch::None => {}
        }
    }
    let partial =
        if is_partial || starts_with_ignoring_case(CHANNEL, text) { MarkMatch::Partial } else { MarkMatch::None };
    if !starts_with_ignoring_case(text, CHANNEL) {
        return partial;
    }
    let header = text.get(CHANNEL.len()..).unwrap_or_default();
    let line = header.lines().next().unwrap_or_default();
    let line = line.get(..line.floor_char_boundary(MAX_MARK)).unwrap_or_default();
    let Some((name, _)) = line.split_once(MESSAGE) else {
        return if line.len() == header.len() { MarkMatch::Partial } else { MarkMatch::None };
    };
    let is_final = name.split_whitespace().next().is_some_and(|word| starts_with_ignoring_case(word, "final"));
    let mark = if is_final { Mark::FinalChannel(pair) } else { Mark::Open(pair) };
    MarkMatch::Found(mark, CHANNEL.len() + name.len() + MESSAGE.len())
}
