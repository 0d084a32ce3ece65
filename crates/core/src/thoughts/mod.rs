//! Thoughts that models write into their replies, such as `<think>…</think>`: finds them and parts them from the text.
//! Pure.
//!
//! - An opening mark begins a thought at the beginning of a reply, and at the beginning of a line if its closing mark
//!   follows. Elsewhere, in quotes and in code it is text.
//! - Marks inside of a thought are matched: the thought ends with its own closing mark.
//! - A closing mark without an opening one ends a thought that began before the reply did. All text before it is the
//!   thought, once per reply, and again if the mark stands alone on its line. A mark that a sentence speaks of is text.
//!   A mark behind all of the text is dropped.
//! - A reply that was cut off may end in a thought.
//!
//! To add marks: a name or a pair in `marks.rs`.

mod marks;
mod position;
mod splitter;
#[cfg(test)]
mod tests;

pub use marks::{ThoughtMarks, is_thought_tag, mark_pair};
pub use splitter::{ThoughtPiece, ThoughtSplitter};

use marks::{Mark, MarkMatch};

/// The parts of a reply.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplyParts {
    /// The text for readers.
    pub text: String,
    /// The thoughts, with a blank line between them.
    pub thoughts: String,
    /// The offset of the text since the last thought.
    region: usize,
}

impl ReplyParts {
    /// Creates parts with the text and the thoughts that are known before.
    pub fn new(text: String, thoughts: String) -> Self {
        Self { region: text.len(), text, thoughts }
    }

    /// Sets that no text so far can turn out to be a thought.
    pub fn settle(&mut self) {
        self.region = self.text.len();
    }

    /// Adds a piece. Returns new text for readers, which is not added yet: the caller does that after its own filters.
    pub fn apply(&mut self, piece: ThoughtPiece) -> Option<String> {
        match piece {
            ThoughtPiece::Text(text) => return Some(text),
            ThoughtPiece::Thought(text) => self.thoughts.push_str(&text),
            ThoughtPiece::NewThought(text) => self.add_thought(&text),
            ThoughtPiece::ThoughtEnd => self.settle(),
            ThoughtPiece::TrimEnd => {
                let new = self.text.get(self.region..).unwrap_or_default();
                let blanks = new.len() - new.trim_end_matches(position::is_blank).len();
                self.text.truncate(self.text.len() - blanks);
            }
            ThoughtPiece::TakeBack => {
                let thought = self.text.split_off(self.region.min(self.text.len()));
                self.add_thought(thought.trim_matches(position::is_blank));
            }
            ThoughtPiece::GiveBack { bytes, text } => {
                let kept = self.thoughts.len().saturating_sub(bytes);
                if self.thoughts.is_char_boundary(kept) {
                    self.thoughts.truncate(kept);
                }
                self.thoughts.truncate(self.thoughts.trim_end().len());
                self.settle();
                let is_first = self.text.trim().is_empty();
                return Some(if is_first { text.trim_start().to_owned() } else { text });
            }
        }
        None
    }

    /// Adds another thought below the earlier ones.
    pub fn add_thought(&mut self, thought: &str) {
        if !self.thoughts.is_empty() && !self.thoughts.ends_with("\n\n") && !thought.is_empty() {
            self.thoughts.push_str("\n\n");
        }
        self.thoughts.push_str(thought);
    }

    fn push(&mut self, pieces: Vec<ThoughtPiece>) {
        for piece in pieces {
            let text = self.apply(piece).unwrap_or_default();
            self.text.push_str(&text);
        }
    }
}

/// Splits a whole reply that ended by itself; `None` if it has no thoughts and no marks.
///
/// With `has_thoughts` the thoughts of the reply are known already. A closing mark alone is text then.
pub fn split_reply(reply: &str, has_thoughts: bool, marks: &ThoughtMarks) -> Option<ReplyParts> {
    if marks.is_empty() || marks.next_lead(reply).is_none() {
        return None;
    }
    let mut splitter = ThoughtSplitter::new(marks.clone());
    if has_thoughts {
        splitter = splitter.without_lone_marks();
    }
    let mut parts = ReplyParts::default();
    parts.push(splitter.push(reply));
    parts.push(splitter.finish(false));
    (parts.text != reply).then_some(parts)
}

/// Returns the opening mark with which a prompt ends, as it is written there; `None` if it ends otherwise.
///
/// A chat template may begin the thought of the reply that way. A word in a sentence is no mark.
pub fn open_mark_at_end(prompt: &str) -> Option<&str> {
    let marks = ThoughtMarks::from_hidden_tags(&["think".to_owned()]);
    let prompt = prompt.trim_end();
    let mut from = prompt.len();
    // No mark is longer; look at each place where one may begin, the last first.
    while let Some(at) = prompt.get(..from)?.rfind(['<', '[', '◁']).filter(|at| prompt.len() - at <= 64) {
        let (before, mark) = prompt.split_at(at);
        let before = before.trim_end_matches([' ', '\t']);
        let begins = before.is_empty() || before.ends_with(['\n', '>', ']', '\r']) || mark.starts_with("<|");
        if let (MarkMatch::Found(Mark::Open(_), length), true) = (marks.read(mark, true), begins) {
            return (length == mark.len()).then_some(mark);
        }
        from = at;
    }
    None
}
