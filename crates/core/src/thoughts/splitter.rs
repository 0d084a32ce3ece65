//! Splits a reply that arrives in pieces into text and thoughts. Pure. What is held back is bounded, so a piece of a
//! long reply costs no more than one of a short reply.

use super::marks::{Mark, MarkMatch, ThoughtMarks};
use super::position::{TextPosition, is_blank};

/// How many closing marks alone on their lines end thoughts, in one reply.
const MAX_LONE_LINES: usize = 8;

/// How many bytes behind a closing mark decide at most what it is.
const MAX_AHEAD: usize = 16;

/// A piece of a reply, in the order of the reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThoughtPiece {
    /// Text for readers.
    Text(String),
    /// The first piece of another thought.
    NewThought(String),
    /// More of the same thought.
    Thought(String),
    /// A thought has ended; text after it is taken back at most to here.
    ThoughtEnd,
    /// All text since the end of the last thought, or since the beginning, was a thought.
    TakeBack,
    /// The reply has ended with a mark. The blanks before it are dropped.
    TrimEnd,
    /// The last bytes of the thoughts were text. The text has their marks and blanks too.
    GiveBack {
        /// How many bytes of the thoughts are none.
        bytes: usize,
        text: String,
    },
}

/// The end of an open thought that may turn out to be text.
#[derive(Debug, Clone, Default)]
struct ThoughtTail {
    raw: String,
    /// How many bytes of it were returned as thought.
    returned: usize,
}

/// A thought whose closing mark has not come.
#[derive(Debug, Clone)]
struct OpenThought {
    pair: usize,
    position: TextPosition,
    /// Opening marks inside that are not closed, within lines and at their beginning.
    inline: usize,
    blocks: usize,
    has_words: bool,
    /// Blanks at the end, returned only if more follows.
    blanks: String,
    /// What becomes text if the reply ends before the thought does.
    tail: Option<ThoughtTail>,
}

/// Where a closing mark without an opening one stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LoneMark {
    /// Nothing else is on its line.
    OnOwnLine,
    BesideText,
    /// A sentence speaks of it.
    InSentence,
}

/// Splits a reply into text and thoughts.
#[derive(Debug, Clone)]
pub struct ThoughtSplitter {
    marks: ThoughtMarks,
    /// The end of what arrived, which may be the start of a mark.
    held: String,
    position: TextPosition,
    thought: Option<OpenThought>,
    /// How many closing marks without an opening one end a thought, and how many of those alone on their lines.
    lone_left: usize,
    lone_lines_left: usize,
    has_thought: bool,
    /// A closing mark without an opening one has come behind text. It counts if text follows.
    lone_pending: Option<LoneMark>,
    /// Only blanks have come since a mark that was dropped.
    is_after_mark: bool,
    /// Opening marks in the paragraph that are only spoken of.
    spoken: usize,
    /// The text has words, in all and since the last thought.
    has_words: bool,
    has_new_words: bool,
    /// The position at which the text since the last thought begins, and whether words stand before it.
    region: (TextPosition, bool),
    /// Blanks at the beginning.
    lead: String,
    skips_blanks: bool,
    /// Marks of channels were seen, in the whole reply and just before.
    has_channels: bool,
    is_after_channel: bool,
}

impl ThoughtSplitter {
    /// Creates a splitter for a reply with these marks.
    pub fn new(marks: ThoughtMarks) -> Self {
        Self {
            marks,
            held: String::new(),
            position: TextPosition::default(),
            thought: None,
            lone_left: 1,
            lone_lines_left: MAX_LONE_LINES,
            has_thought: false,
            lone_pending: None,
            is_after_mark: false,
            spoken: 0,
            has_words: false,
            has_new_words: false,
            region: (TextPosition::default(), false),
            lead: String::new(),
            skips_blanks: false,
            has_channels: false,
            is_after_channel: false,
        }
    }

    /// Lets no closing mark alone end a thought, because the thoughts of this text are known already.
    #[must_use]
    pub fn without_lone_marks(self) -> Self {
        Self { lone_left: 0, lone_lines_left: 0, ..self }
    }

    /// Begins another reply that is appended to a text.
    pub fn restart_after(&mut self, text: &str) {
        let mut position = std::mem::take(&mut self.position);
        position.advance(text);
        position.restart();
        *self = Self { region: (position.clone(), false), position, ..Self::new(self.marks.clone()) };
    }

    /// Takes a piece of the reply and returns what is certain.
    pub fn push(&mut self, piece: &str) -> Vec<ThoughtPiece> {
        let mut out = Vec::new();
        if self.marks.is_empty() {
            push_text(piece, &mut out);
        } else {
            self.read(piece, false, &mut out);
        }
        out
    }

    /// Ends the reply and returns the rest. An open thought of a reply that `is_cut` stays a thought.
    pub fn finish(&mut self, is_cut: bool) -> Vec<ThoughtPiece> {
        let mut out = Vec::new();
        self.read("", true, &mut out);
        if is_cut && !self.has_thought && self.lone_pending.is_some() {
            self.take_back(&mut out);
        }
        let lead = std::mem::take(&mut self.lead);
        match self.thought.take() {
            Some(OpenThought { tail: Some(tail), .. }) if !is_cut && !tail.raw.trim().is_empty() => {
                out.push(ThoughtPiece::GiveBack { bytes: tail.returned, text: tail.raw });
            }
            Some(_) => {}
            None if !self.has_thought && !lead.is_empty() => out.push(ThoughtPiece::Text(lead)),
            None if self.is_after_mark => out.push(ThoughtPiece::TrimEnd),
            None => {}
        }
        out
    }

    fn read(&mut self, piece: &str, is_end: bool, out: &mut Vec<ThoughtPiece>) {
        let mut text = std::mem::take(&mut self.held);
        text.push_str(piece);
        let mut rest = text.as_str();
        while let Some(found) = self.marks.next_lead(rest) {
            let (before, from) = rest.split_at(found);
            self.write(before, out);
            match self.marks.read(from, is_end) {
                MarkMatch::Partial => return from.clone_into(&mut self.held),
                MarkMatch::Found(mark, length) => {
                    let (mark_text, after) = from.split_at(length);
                    if !is_end && self.needs_more(mark, after) {
                        return from.clone_into(&mut self.held);
                    }
                    self.mark(mark, mark_text, after, out);
                    rest = after;
                }
                MarkMatch::None => {
                    let length = from.chars().next().map_or(from.len(), char::len_utf8);
                    let (lead, after) = from.split_at(length);
                    self.write(lead, out);
                    rest = after;
                }
            }
        }
        self.write(rest, out);
    }

    /// Returns whether more of what stands behind a mark decides what the mark is.
    fn needs_more(&self, mark: Mark, after: &str) -> bool {
        match (&self.thought, mark) {
            (Some(thought), _) => after.is_empty() && (thought.position.may_be_quoted() || thought.inline > 0),
            (None, Mark::Close(_)) => {
                let words = after.trim_start_matches([' ', '\t']);
                after.len() < MAX_AHEAD && !after.contains(['\n', '\r']) && words.chars().take(3).count() < 3
            }
            (None, _) => after.is_empty() && self.position.may_be_quoted(),
        }
    }

    fn write(&mut self, piece: &str, out: &mut Vec<ThoughtPiece>) {
        if piece.is_empty() {
            return;
        }
        match &mut self.thought {
            Some(thought) => thought.write(piece, out),
            None => self.write_text(piece, out),
        }
    }

    fn write_text(&mut self, piece: &str, out: &mut Vec<ThoughtPiece>) {
        let piece = if self.skips_blanks { piece.trim_start_matches(is_blank) } else { piece };
        let has_words = !piece.chars().all(is_blank);
        if !has_words && (!self.has_words || self.skips_blanks) {
            self.lead.push_str(piece);
            return;
        }
        if self.lone_pending.is_some() && has_words {
            self.take_back(out);
            return self.write_text(piece, out);
        }
        self.skips_blanks = false;
        let lead = std::mem::take(&mut self.lead);
        if !lead.is_empty() && !self.has_thought {
            push_text(&lead, out);
        }
        if self.position.advance(piece) {
            self.spoken = 0;
        }
        if has_words {
            (self.has_words, self.has_new_words) = (true, true);
            (self.is_after_channel, self.is_after_mark) = (false, false);
        }
        push_text(piece, out);
    }

    fn mark(&mut self, mark: Mark, raw: &str, after: &str, out: &mut Vec<ThoughtPiece>) {
        if self.thought.is_some() {
            self.mark_in_thought(mark, raw, after.chars().next(), out);
        } else {
            self.mark_in_text(mark, raw, after, out);
        }
    }

    fn mark_in_text(&mut self, mark: Mark, raw: &str, after: &str, out: &mut Vec<ThoughtPiece>) {
        if self.lone_pending.is_some() {
            match mark {
                Mark::Open(_) | Mark::Empty => self.take_back(out),
                // A repeated mark.
                Mark::Close(_) if !raw.starts_with(char::is_alphanumeric) => return,
                _ => {}
            }
        }
        let (is_quoted, is_code) = (self.position.is_quoted(after.chars().next()), self.position.is_in_code());
        if is_quoted || is_code {
            return self.write_text(raw, out);
        }
        let is_behind_name = self.position.is_behind_name() && !self.has_thought;
        let opens = self.position.is_at_line_start() || self.is_after_channel || is_behind_name;
        let lone = self.lone_mark(after);
        match mark {
            Mark::Empty if opens => self.skip_mark(),
            Mark::Open(pair) if opens => self.open(pair, raw),
            Mark::Open(_) => {
                self.write_text(raw, out);
                self.spoken += 1;
            }
            Mark::Close(_) if lone == LoneMark::InSentence && self.spoken == 0 => self.write_text(raw, out),
            Mark::Close(_) if self.spoken > 0 && lone != LoneMark::OnOwnLine => {
                self.spoken -= 1;
                self.write_text(raw, out);
            }
            // A mark of a host's own may be a word.
            Mark::Close(_) if raw.starts_with(char::is_alphanumeric) => self.write_text(raw, out),
            Mark::Close(_) => self.lone_close(lone, raw, out),
            Mark::FinalChannel(_) => {
                if self.has_new_words && !self.has_channels {
                    self.lone_close(LoneMark::BesideText, raw, out);
                }
                self.skip_channel_mark();
            }
            Mark::ChannelEnd(_) if self.has_channels => self.skip_channel_mark(),
            Mark::Dropped => {
                self.is_after_channel |= raw.starts_with("<|start");
                self.is_after_mark = true;
            }
            Mark::Empty | Mark::ChannelEnd(_) => self.write_text(raw, out),
        }
    }

    fn skip_mark(&mut self) {
        self.has_thought = true;
        self.skips_blanks = true;
    }

    fn skip_channel_mark(&mut self) {
        (self.has_channels, self.is_after_channel, self.is_after_mark) = (true, true, true);
        self.skips_blanks |= !self.has_new_words;
    }

    fn open(&mut self, pair: usize, raw: &str) {
        let tail = self.has_words.then(|| ThoughtTail { raw: raw.to_owned(), returned: 0 });
        self.thought = Some(OpenThought {
            pair,
            position: TextPosition::default(),
            inline: 0,
            blocks: 0,
            has_words: false,
            blanks: String::new(),
            tail,
        });
    }

    /// Returns where a closing mark stands, if it has no opening one.
    fn lone_mark(&self, after: &str) -> LoneMark {
        let after = after.get(..after.floor_char_boundary(MAX_AHEAD)).unwrap_or_default();
        if self.position.is_at_line_start() {
            let rest = after.trim_start_matches([' ', '\t']);
            let ends_line = rest.is_empty() || rest.starts_with(['\n', '\r']);
            return if ends_line { LoneMark::OnOwnLine } else { LoneMark::BesideText };
        }
        if self.position.is_behind_blank() && goes_on(after) { LoneMark::InSentence } else { LoneMark::BesideText }
    }

    /// Handles a closing mark without an opening one. One behind the whole answer must not hide the answer.
    fn lone_close(&mut self, lone: LoneMark, raw: &str, out: &mut Vec<ThoughtPiece>) {
        if !self.has_new_words {
            self.lone_left = self.lone_left.saturating_sub(1);
            return self.skip_mark();
        }
        let left = if lone == LoneMark::OnOwnLine { self.lone_lines_left } else { self.lone_left };
        if left == 0 {
            return self.write_text(raw, out);
        }
        self.lone_pending = Some(lone);
        self.is_after_mark = true;
    }

    fn take_back(&mut self, out: &mut Vec<ThoughtPiece>) {
        out.push(ThoughtPiece::TakeBack);
        self.lone_left = self.lone_left.saturating_sub(1);
        if self.lone_pending.take() == Some(LoneMark::OnOwnLine) {
            self.lone_lines_left = self.lone_lines_left.saturating_sub(1);
        }
        (self.position, self.has_words) = self.region.clone();
        self.end_thought();
    }

    /// Begins the text behind a thought.
    fn end_thought(&mut self) {
        (self.has_thought, self.skips_blanks, self.has_new_words, self.spoken) = (true, true, false, 0);
        self.lead.clear();
        self.region = (self.position.clone(), self.has_words);
    }

    fn mark_in_thought(&mut self, mark: Mark, raw: &str, next: Option<char>, out: &mut Vec<ThoughtPiece>) {
        let Some(thought) = &mut self.thought else { return };
        match mark {
            Mark::Open(pair) if pair == thought.pair => thought.open_inside(raw, next, out),
            Mark::Close(pair) if pair == thought.pair => {
                if let Some(unclosed) = thought.close(raw, next, out) {
                    self.close(unclosed, out);
                }
            }
            Mark::ChannelEnd(pair) | Mark::FinalChannel(pair) if pair == thought.pair => {
                self.close(0, out);
                self.skip_channel_mark();
            }
            // Some models mix the marks.
            Mark::Close(_) => thought.end_candidate(raw, out),
            Mark::Dropped => {}
            _ => thought.write(raw, out),
        }
    }

    fn close(&mut self, unclosed: usize, out: &mut Vec<ThoughtPiece>) {
        self.thought = None;
        self.lone_left += unclosed;
        self.lone_pending = None;
        self.end_thought();
        out.push(ThoughtPiece::ThoughtEnd);
    }
}

impl OpenThought {
    fn write(&mut self, piece: &str, out: &mut Vec<ThoughtPiece>) {
        self.position.advance(piece);
        if let Some(tail) = &mut self.tail {
            tail.raw.push_str(piece);
        }
        let piece = if self.has_words { piece } else { piece.trim_start() };
        let words = piece.trim_end();
        if words.is_empty() {
            self.blanks.push_str(piece);
            return;
        }
        let mut text = std::mem::take(&mut self.blanks);
        text.push_str(words);
        self.blanks.push_str(piece.get(words.len()..).unwrap_or_default());
        if let Some(tail) = &mut self.tail {
            tail.returned += text.len();
        }
        out.push(if self.has_words { ThoughtPiece::Thought(text) } else { ThoughtPiece::NewThought(text) });
        self.has_words = true;
    }

    /// Handles an opening mark inside. One directly behind the first repeats it.
    fn open_inside(&mut self, raw: &str, next: Option<char>, out: &mut Vec<ThoughtPiece>) {
        if !self.has_words {
            self.tail.iter_mut().for_each(|tail| tail.raw.push_str(raw));
            return;
        }
        if !self.position.is_quoted(next) {
            let depth = if self.position.is_at_line_start() { &mut self.blocks } else { &mut self.inline };
            *depth += 1;
        }
        self.write(raw, out);
    }

    /// Handles a closing mark. If it ends the thought, returns how many marks inside stay open.
    fn close(&mut self, raw: &str, next: Option<char>, out: &mut Vec<ThoughtPiece>) -> Option<usize> {
        let ends_line = self.position.is_at_line_start() || next.is_none_or(|c| matches!(c, '\n' | '\r'));
        if !self.position.is_quoted(next) {
            match (ends_line, self.inline, self.blocks) {
                (false, 1.., _) => self.inline -= 1,
                (_, _, 1..) => self.blocks -= 1,
                _ => return Some(self.inline),
            }
        }
        self.end_candidate(raw, out);
        None
    }

    /// Notes that the thought may end here, if it does not end later.
    fn end_candidate(&mut self, raw: &str, out: &mut Vec<ThoughtPiece>) {
        self.write(raw, out);
        self.tail = Some(ThoughtTail::default());
    }
}

/// Returns whether a sentence goes on behind a closing mark that it speaks of.
fn goes_on(after: &str) -> bool {
    let mut next = after.chars();
    match next.next() {
        // Dots begin an answer: `</think>...No.`
        Some('.') => next.next() != Some('.'),
        Some(',' | ';' | ':' | '!' | '?' | ')' | '”' | '’' | '。' | '，' | '、') => true,
        // A quotation mark closes before a blank or a sign, and opens before a word.
        Some('"' | '\'') => match (next.next(), next.next()) {
            (Some('.'), after_dot) => after_dot != Some('.'),
            (sign, _) => sign.is_none_or(|c| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '!' | '?' | ')')),
        },
        Some(' ' | '\t') => after.trim_start_matches([' ', '\t']).chars().next().is_some_and(char::is_lowercase),
        _ => false,
    }
}

fn push_text(piece: &str, out: &mut Vec<ThoughtPiece>) {
    match out.last_mut() {
        Some(ThoughtPiece::Text(text)) => text.push_str(piece),
        _ => out.push(ThoughtPiece::Text(piece.to_owned())),
    }
}
