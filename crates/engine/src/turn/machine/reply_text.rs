//! The text of a reply while it arrives. Thoughts are parted from it first, so that no filter and no tool sees them.

use clotho_compat::prompt::own_name::OwnNameFilter;
use clotho_core::thoughts::{ReplyParts, ThoughtMarks, ThoughtPiece, ThoughtSplitter};
use clotho_provider::ToolCall;

use super::prefix_filter::PrefixFilter;
use crate::turn::tools::text_tools::TextToolParser;

/// The text and the thoughts of a reply, with the filters that its text passes.
#[derive(Debug, Clone)]
pub struct ArrivingText {
    parts: ReplyParts,
    splitter: ThoughtSplitter,
    /// The length in bytes of the text that the reply continues.
    prefix_len: usize,
    prefix_filter: PrefixFilter,
    /// The name of the speaker, which is dropped from the start of the text; empty to keep it.
    own_name: String,
    name_filter: OwnNameFilter,
    /// Extracts tool calls from the text, if the model writes them there.
    text_tools: Option<TextToolParser>,
    /// The calls found in the text since they were taken.
    calls: Vec<ToolCall>,
    /// The offset at which the text of the current request begins.
    request_start: usize,
    /// The model was asked again, after tool calls.
    is_asked_again: bool,
}

/// What a piece has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextChange {
    /// Only so many bytes of the text so far stay; `None` = all.
    pub keep: Option<usize>,
    /// The text behind that.
    pub content: String,
    /// The new reasoning.
    pub reasoning: String,
}

impl Default for ArrivingText {
    fn default() -> Self {
        Self {
            parts: ReplyParts::default(),
            splitter: ThoughtSplitter::new(ThoughtMarks::default()),
            prefix_len: 0,
            prefix_filter: PrefixFilter::default(),
            own_name: String::new(),
            name_filter: OwnNameFilter::default(),
            text_tools: None,
            calls: Vec::new(),
            request_start: 0,
            is_asked_again: false,
        }
    }
}

impl ArrivingText {
    /// Turns this into a text that continues another.
    #[must_use]
    pub fn continuing_from(self, prefix: &str) -> Self {
        let mut text = Self {
            prefix_len: prefix.len(),
            request_start: prefix.len(),
            prefix_filter: PrefixFilter::new(prefix),
            parts: ReplyParts::new(prefix.to_owned(), String::new()),
            ..self
        };
        text.splitter.restart_after(prefix);
        text
    }

    /// Parts thoughts with the marks of these hidden tags.
    pub fn part_thoughts(&mut self, hide_tags: &[String]) {
        self.splitter = ThoughtSplitter::new(ThoughtMarks::from_hidden_tags(hide_tags));
        self.splitter.restart_after(&self.parts.text);
    }

    /// Drops the speaker's name from the start of the text. Not of one that continues a text.
    pub fn strip_name(&mut self, name: &str) {
        if !self.has_prefix() {
            name.clone_into(&mut self.own_name);
            self.name_filter = OwnNameFilter::new(name);
        }
    }

    /// Sets whether the model writes tool calls in its text.
    pub fn find_tool_calls(&mut self, is_on: bool) {
        self.text_tools = is_on.then(TextToolParser::default);
    }

    /// Begins the text of another request, which is appended.
    pub fn continue_after_tools(&mut self) {
        self.is_asked_again = true;
        self.request_start = self.parts.text.len();
        self.parts.settle();
        self.restart();
    }

    /// Forgets the unfinished start of a reply that brought no text, before another model is asked.
    pub fn switch_model(&mut self) {
        self.prefix_filter = PrefixFilter::new(self.prefix());
        self.calls.clear();
        self.restart();
    }

    fn restart(&mut self) {
        self.name_filter = OwnNameFilter::new(&self.own_name);
        self.splitter.restart_after("");
        self.text_tools.iter_mut().for_each(TextToolParser::reset);
    }

    /// Adds a piece of the reply.
    pub fn push(&mut self, piece: &str) -> TextChange {
        let pieces = self.splitter.push(&piece.replace('\0', "\u{fffd}"));
        self.apply(pieces)
    }

    /// Adds a piece of reasoning that the server sent apart.
    pub fn push_reasoning(&mut self, piece: &str) -> TextChange {
        // The database does not accept U+0000.
        let reasoning = piece.replace('\0', "\u{fffd}");
        self.parts.thoughts.push_str(&reasoning);
        TextChange { reasoning, ..TextChange::default() }
    }

    /// Adds what was held back. A reply that `is_cut` may end in a thought; one that `is_whole` in an echo or a call.
    pub fn finish(&mut self, is_cut: bool, is_whole: bool) -> TextChange {
        let pieces = self.splitter.finish(is_cut);
        let mut change = self.apply(pieces);
        let start = self.parts.text.len();
        if is_whole {
            self.flush_filters();
        } else {
            // What could be a name is text; the start of an echo is none.
            let rest = self.name_filter.finish();
            let rest = self.strip_tool_calls(rest);
            self.parts.text.push_str(&rest);
        }
        change.content.push_str(self.parts.text.get(start..).unwrap_or_default());
        change
    }

    fn apply(&mut self, pieces: Vec<ThoughtPiece>) -> TextChange {
        let (start, thoughts) = (self.parts.text.len(), self.parts.thoughts.len());
        let mut kept = start;
        for piece in pieces {
            if piece == ThoughtPiece::TakeBack {
                self.flush_filters();
                self.prefix_filter = PrefixFilter::new(self.prefix());
                self.name_filter = OwnNameFilter::new(&self.own_name);
                self.text_tools.iter_mut().for_each(TextToolParser::reset);
                self.calls.clear();
            }
            let text = self.parts.apply(piece);
            kept = kept.min(self.parts.text.len());
            if let Some(text) = text {
                self.add_text(&text);
            }
        }
        TextChange {
            keep: (kept < start).then_some(kept),
            content: self.parts.text.get(kept..).unwrap_or_default().to_owned(),
            reasoning: self.parts.thoughts.get(thoughts..).unwrap_or_default().to_owned(),
        }
    }

    fn add_text(&mut self, text: &str) {
        let new = self.prefix_filter.push(text);
        let new = self.name_filter.push(&new);
        let new = self.strip_tool_calls(new);
        if self.needs_separator(&new) {
            self.parts.text.push_str("\n\n");
        }
        self.parts.text.push_str(&new);
    }

    fn flush_filters(&mut self) {
        let rest = self.prefix_filter.finish();
        let rest = self.name_filter.push(&rest) + &self.name_filter.finish();
        let rest = self.strip_tool_calls(rest);
        self.parts.text.push_str(&rest);
        if let Some((shown, calls)) = self.text_tools.as_mut().map(TextToolParser::finish) {
            self.parts.text.push_str(&shown);
            self.calls.extend(calls);
        }
    }

    /// Removes tool calls from a text and keeps them.
    fn strip_tool_calls(&mut self, text: String) -> String {
        let Some(spoken) = &mut self.text_tools else { return text };
        let (shown, calls) = spoken.push(&text);
        self.calls.extend(calls);
        shown
    }

    /// Returns whether a paragraph break has to separate the new text from the text before a tool call.
    fn needs_separator(&self, new: &str) -> bool {
        let is_first = self.is_asked_again && self.parts.text.len() == self.request_start;
        let ends_open = |text: &str| !text.is_empty() && !text.ends_with(char::is_whitespace);
        is_first && !new.is_empty() && ends_open(self.added()) && !new.starts_with(char::is_whitespace)
    }

    /// Takes the tool calls found in the text.
    pub fn take_calls(&mut self) -> Vec<ToolCall> {
        std::mem::take(&mut self.calls)
    }

    /// Returns the text so far.
    pub fn content(&self) -> &str {
        &self.parts.text
    }

    /// Returns the thoughts so far.
    pub fn reasoning(&self) -> &str {
        &self.parts.thoughts
    }

    /// Returns the text that the reply continues.
    fn prefix(&self) -> &str {
        self.parts.text.get(..self.prefix_len).unwrap_or_default()
    }

    /// Returns whether the reply continues a text.
    pub fn has_prefix(&self) -> bool {
        self.prefix_len > 0
    }

    /// Returns the text without the prefix that it continues.
    pub fn added(&self) -> &str {
        self.parts.text.get(self.prefix_len..).unwrap_or_default()
    }

    /// Returns the text of the current request.
    pub fn of_request(&self) -> &str {
        self.parts.text.get(self.request_start..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arriving_text(prefix: &str) -> ArrivingText {
        let mut text = ArrivingText::default().continuing_from(prefix);
        text.part_thoughts(&["think".to_owned()]);
        text
    }

    fn push_all(text: &mut ArrivingText, pieces: &[&str]) -> Vec<TextChange> {
        let mut changes: Vec<TextChange> = pieces.iter().map(|piece| text.push(piece)).collect();
        changes.push(text.finish(false, true));
        changes
    }

    /// What was published is what is stored, also if text was taken back.
    #[test]
    fn reply_text_changes_join_to_text() {
        for (prefix, pieces, content, reasoning) in [
            ("", &["<thi", "nk>a</think>", "\n\nNo."][..], "No.", "a"),
            ("", &["A plan.", "\n</th", "ink>\n", "No."], "No.", "A plan."),
            ("", &["<think>a</think>b", "</think>", "c"], "c", "a\n\nb"),
            ("", &["No.", "\n</th", "ink>", "\n"], "No.", ""),
            ("", &["Plan a.\n</think>\nPlan b.", "\n</think>\n", "No."], "No.", "Plan a.\n\nPlan b."),
            ("", &["She wr", "ites <thi"], "She writes <thi", ""),
            ("", &["a\0", "<think>"], "a\u{fffd}<think>", ""),
            ("She lights", &["<think>a</think>She", " lights", " it."], "She lights it.", "a"),
            ("She lights", &["Plan. She", "</think>", "She lights it."], "She lights it.", "Plan. She"),
            ("She lights", &["She", "</think>", "She lights it."], "She lights it.", "She"),
            ("She lights", &["She"], "She lightsShe", ""),
            ("She ", &["<think>a <think> b</think>", "waits."], "She waits.", "a <think> b</think>"),
        ] {
            let mut text = arriving_text(prefix);
            let mut shown = prefix.to_owned();
            for change in push_all(&mut text, pieces) {
                shown.truncate(change.keep.unwrap_or(shown.len()));
                shown.push_str(&change.content);
            }
            assert_eq!((shown.as_str(), text.content(), text.reasoning()), (content, content, reasoning), "{pieces:?}");
        }
    }

    /// The text before a tool call stays, whatever mark comes after it.
    #[test]
    fn reply_text_after_tools_begins_anew() {
        let mut text = arriving_text("");
        push_all(&mut text, &["<think>a</think>She rolls."]);
        text.continue_after_tools();
        push_all(&mut text, &["A six. I see.", "</think>", "She wins."]);
        assert_eq!((text.content(), text.reasoning()), ("She rolls.\n\nShe wins.", "a\n\nA six. I see."));
        assert_eq!((text.added(), text.of_request()), ("She rolls.\n\nShe wins.", "\n\nShe wins."));
    }

    /// A tool call inside of a thought is none.
    #[test]
    fn reply_text_call_in_thought_is_not_made() {
        let call = "<tool_call>{\"name\": \"roll\", \"arguments\": {}}</tool_call>";
        for (reply, calls) in [
            (format!("<think>{call}</think>She waits."), 0),
            (format!("I may {call}\n</think>\nShe waits."), 0),
            (format!("<think>a</think>She rolls. {call}"), 1),
        ] {
            let mut text = arriving_text("");
            text.find_tool_calls(true);
            push_all(&mut text, &[&reply]);
            assert_eq!(text.take_calls().len(), calls, "{reply}");
        }
    }

    #[test]
    fn reply_text_native_reasoning_precedes_thoughts() {
        let mut text = arriving_text("");
        assert_eq!(text.push_reasoning("a\0").reasoning, "a\u{fffd}");
        push_all(&mut text, &["<think>b</think>No."]);
        assert_eq!((text.content(), text.reasoning()), ("No.", "a\u{fffd}\n\nb"));
    }
}
