//! Where in a text a mark stands: on its line, in quotes, in code. Pure.

/// Marks directly between these stand in quotes.
const QUOTES: [(char, char); 6] = [('“', '”'), ('‘', '’'), ('«', '»'), ('「', '」'), ('『', '』'), ('`', '`')];

/// The most characters of a speaker's name with its colon before a thought.
const MAX_NAME: usize = 40;

/// Returns whether a character shows nothing: white space, or one of the characters without width.
pub(super) fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}')
}

/// The position at the end of a text that grows.
#[derive(Debug, Clone, Default)]
pub(super) struct TextPosition {
    /// The last two characters.
    last: Option<char>,
    before_last: Option<char>,
    /// Something stands on the current line.
    has_words: bool,
    /// The current line has an odd number of backtick runs.
    is_in_ticks: bool,
    /// The character of the open code fence.
    fence: Option<char>,
    /// How many of the same fence characters begin the current line.
    run: usize,
    /// How many characters stand since the first that is no blank. More than `MAX_NAME` where no name can be.
    letters: usize,
    /// The last character is a colon, apart from blanks and marks of emphasis.
    ends_in_colon: bool,
}

impl TextPosition {
    /// Moves behind a piece of text. Returns whether it contains a blank line, outside of code.
    pub(super) fn advance(&mut self, text: &str) -> bool {
        let mut has_blank_line = false;
        for c in text.chars() {
            has_blank_line |= c == '\n' && !self.has_words && self.last.is_some() && self.fence.is_none();
            self.step(c);
        }
        has_blank_line
    }

    fn step(&mut self, c: char) {
        self.step_name(c);
        if c == '\n' {
            (self.has_words, self.is_in_ticks, self.run) = (false, false, 0);
        } else if !is_blank(c) {
            let begins = !self.has_words;
            let goes_on = self.run > 0 && self.last == Some(c);
            self.run = if matches!(c, '`' | '~') && (begins || goes_on) { self.run + 1 } else { 0 };
            if self.run == 3 {
                self.fence = match self.fence {
                    None => Some(c),
                    Some(open) if open == c => None,
                    open => open,
                };
            }
            if c == '`' && self.last != Some('`') {
                self.is_in_ticks = !self.is_in_ticks;
            }
            self.has_words = true;
        } else {
            self.run = 0;
        }
        self.before_last = self.last.replace(c);
    }

    fn step_name(&mut self, c: char) {
        if self.letters == 0 && is_blank(c) {
            return;
        }
        // Names have no words in lower case behind the first: `She wrote: <think>` is a sentence.
        let is_sentence = self.letters > 0 && c.is_lowercase() && self.last.is_some_and(is_blank);
        self.letters = if c == '\n' || is_sentence { MAX_NAME + 1 } else { self.letters.saturating_add(1) };
        if !is_blank(c) && !matches!(c, '*' | '_') {
            self.ends_in_colon = matches!(c, ':' | '：');
        }
    }

    /// Moves to the beginning of a new text. A code fence stays open.
    pub(super) fn restart(&mut self) {
        *self = Self { fence: self.fence, ..Self::default() };
    }

    /// Returns whether only blanks stand before it on its line.
    pub(super) fn is_at_line_start(&self) -> bool {
        !self.has_words
    }

    /// Returns whether only what looks like the name of a speaker stands before it: a short beginning with a colon.
    pub(super) fn is_behind_name(&self) -> bool {
        self.ends_in_colon && self.letters <= MAX_NAME
    }

    /// Returns whether words and then a blank stand directly before it on its line.
    pub(super) fn is_behind_blank(&self) -> bool {
        self.has_words && self.last.is_some_and(is_blank)
    }

    /// Returns whether it is in a block of code, or in code on its line.
    pub(super) fn is_in_code(&self) -> bool {
        self.fence.is_some() || self.is_in_ticks
    }

    /// Returns whether a mark here may stand in quotes, so that the next character decides.
    pub(super) fn may_be_quoted(&self) -> bool {
        self.closing_quote().is_some()
    }

    /// Returns whether a mark here stands in quotes, if `next` follows it.
    pub(super) fn is_quoted(&self, next: Option<char>) -> bool {
        self.closing_quote().is_some_and(|quote| next == Some(quote))
    }

    fn closing_quote(&self) -> Option<char> {
        let last = self.last?;
        // A straight quotation mark opens after a blank only: `says "no"</think>"Hello"` quotes no mark.
        let opens = self.before_last.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '['));
        if matches!(last, '"' | '\'') && opens {
            return Some(last);
        }
        QUOTES.iter().find(|(open, _)| *open == last).map(|(_, close)| *close)
    }
}
