//! Parses a text into pieces: plain text, macros with their contents, and blocks between opening and closing macros.
//!
//! One pass from left to right, without recursion. An unclosed opening stays plain text, and its contents are still
//! parsed. [`MAX_NESTING`] limits the nesting, so that code that walks the pieces may be recursive.

use super::blocks;
use super::head::{self, ArgumentStyle, MacroHead};
use super::pieces::{MAX_NESTING, MacroNode, MacroPiece};

/// A parsed text.
#[derive(Debug, Default)]
pub struct MacroParse {
    pub pieces: Vec<MacroPiece>,
    /// Whether macros were nested too deeply; the outer ones then stay plain text.
    pub too_deep: bool,
}

/// Parses a text. `takes_block` returns whether a macro with so many arguments may have a block as one more.
pub fn parse(text: &str, takes_block: &dyn Fn(&MacroHead, usize) -> bool) -> MacroParse {
    let mut reader =
        MacroParser { text, takes_block, pieces: Vec::new(), frames: Vec::new(), text_start: 0, too_deep: false };
    reader.run();
    let (pieces, too_deep) = blocks::pair_blocks(reader.pieces, takes_block);
    MacroParse { pieces, too_deep: reader.too_deep || too_deep }
}

/// A macro that is not closed yet.
struct OpenMacro {
    head: MacroHead,
    /// Index of the piece of its opening braces; plain text until it is closed.
    opening_piece: usize,
    commas: Vec<usize>,
    height: usize,
}

struct MacroParser<'a> {
    text: &'a str,
    takes_block: &'a dyn Fn(&MacroHead, usize) -> bool,
    pieces: Vec<MacroPiece>,
    frames: Vec<OpenMacro>,
    /// Start of the plain text that is not a piece yet.
    text_start: usize,
    too_deep: bool,
}

impl MacroParser<'_> {
    fn run(&mut self) {
        let bytes = self.text.as_bytes();
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let next = bytes.get(at + 1).copied().unwrap_or_default();
            at = match (byte, next) {
                (b'{', b'{') => self.open(at),
                (b'}', b'}') if !self.frames.is_empty() => self.close(at),
                (b':', b':') if self.is_list() => self.separator(at),
                (b'<', _) => self.legacy_name(at),
                _ => at + 1,
            };
        }
        self.flush(bytes.len());
    }

    fn is_list(&self) -> bool {
        self.frames.last().is_some_and(|frame| frame.head.style == ArgumentStyle::List)
    }

    /// Adds the pending plain text up to `to` as a piece.
    fn flush(&mut self, to: usize) {
        if self.text_start < to {
            self.pieces.push(MacroPiece::Text(self.text_start..to));
        }
        self.text_start = to;
    }

    fn open(&mut self, at: usize) -> usize {
        let Some(head) = head::read(self.text, at) else { return at + 1 };
        let body = head.end;
        self.flush(at);
        self.frames.push(OpenMacro { opening_piece: self.pieces.len(), head, commas: Vec::new(), height: 0 });
        self.pieces.push(MacroPiece::Text(at..body));
        self.text_start = body;
        body
    }

    fn separator(&mut self, at: usize) -> usize {
        self.flush(at);
        if let Some(frame) = self.frames.last_mut() {
            frame.commas.push(self.pieces.len());
        }
        self.pieces.push(MacroPiece::Separator(at..at + 2));
        self.text_start = at + 2;
        self.text_start
    }

    /// Parses a legacy name: `<USER>`.
    fn legacy_name(&mut self, at: usize) -> usize {
        let Some(head) = head::read_legacy_name(self.text, at) else { return at + 1 };
        let end = head.end;
        self.flush(at);
        let whole = MacroNode { head, open: at..end, body: Vec::new(), close: end..end, block: None, nesting: 1 };
        self.put(whole);
        self.text_start = end;
        end
    }

    fn close(&mut self, at: usize) -> usize {
        let end = at + 2;
        let Some(mut frame) = self.frames.pop() else { return end };
        self.flush(at);
        if frame.height >= MAX_NESTING {
            self.unwind(&frame);
            self.text_start = at;
            self.flush(end);
            return end;
        }
        let body = self.pieces.split_off(frame.opening_piece + 1);
        let open = match self.pieces.pop() {
            Some(MacroPiece::Text(open)) => open,
            _ => at..at,
        };
        let body = self.pair_args(body, &mut frame.height);
        let height = frame.height + 1;
        self.put(MacroNode { head: frame.head, open, body, close: at..end, block: None, nesting: height });
        self.text_start = end;
        end
    }

    /// Pairs blocks inside each argument.
    fn pair_args(&mut self, body: Vec<MacroPiece>, height: &mut usize) -> Vec<MacroPiece> {
        let mut paired = Vec::with_capacity(body.len());
        let mut arg = Vec::new();
        let mut end = |arg: Vec<MacroPiece>, paired: &mut Vec<MacroPiece>| {
            let (arg, too_deep) = blocks::pair_blocks_to_depth(arg, self.takes_block, MAX_NESTING - 1);
            self.too_deep |= too_deep;
            *height = arg.iter().map(MacroPiece::nesting).fold(*height, usize::max);
            paired.extend(arg);
        };
        for piece in body {
            match piece {
                MacroPiece::Separator(_) => {
                    end(std::mem::take(&mut arg), &mut paired);
                    paired.push(piece);
                }
                _ => arg.push(piece),
            }
        }
        end(arg, &mut paired);
        paired
    }

    /// Turns a macro into plain text, because its contents are nested too deeply.
    fn unwind(&mut self, frame: &OpenMacro) {
        self.too_deep = true;
        for at in &frame.commas {
            if let Some(piece) = self.pieces.get_mut(*at)
                && let MacroPiece::Separator(range) = piece
            {
                *piece = MacroPiece::Text(range.clone());
            }
        }
        if let Some(outer) = self.frames.last_mut() {
            outer.height = outer.height.max(frame.height);
        }
    }

    fn put(&mut self, one: MacroNode) {
        if let Some(outer) = self.frames.last_mut() {
            outer.height = outer.height.max(one.nesting);
        }
        self.pieces.push(MacroPiece::Macro(Box::new(one)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prints pieces: plain text as it is, a macro as `name(arg|arg)`, a block as `name(arg)[block]`.
    fn format_pieces(text: &str, pieces: &[MacroPiece]) -> String {
        let one = |piece: &MacroPiece| match piece {
            MacroPiece::Text(range) | MacroPiece::Separator(range) => text.get(range.clone()).unwrap().to_owned(),
            MacroPiece::Macro(one) => {
                let args: Vec<String> = one.args().iter().map(|arg| format_pieces(text, arg)).collect();
                let block = one.block.as_ref().map(|block| format!("[{}]", format_pieces(text, &block.pieces)));
                format!("{}({}){}", one.head.name, args.join("|"), block.unwrap_or_default())
            }
        };
        pieces.iter().map(one).collect()
    }

    fn check(text: &str, expected: &str) {
        let read = parse(text, &|head, args| args < 2 && !head.is_closing);
        assert_eq!(format_pieces(text, &read.pieces), expected, "{text}");
    }

    /// `domain.md` 6.4: invalid macros are plain text, and their contents are still parsed.
    #[test]
    fn macro_parse_plain_text_and_macros() {
        check("a {{user}} b", "a user() b");
        check("{{{user}}}", "{user()}");
        check("{{{user}}", "{user()");
        check("{{ }} }} {{用户}} {{__x}}", "{{ }} }} {{用户}} {{__x}}");
        check("\\{{user}} \\{\\{x\\}\\}", "\\user() \\{\\{x\\}\\}");
        check("{{a::{{b}}::c}}", "a(b()|c)");
        check("{{a {{b}}", "{{a b()");
        check("{{a::x{{b::y}}", "{{a::xb(y)");
        check("{{a b::c}} {{a:b:c}}", "a(b::c) a(b:c)");
        check("<USER> <b> <Bot>", "user() <b> char()");
    }

    #[test]
    fn macro_parse_block_closes_nearest_opening() {
        check("{{a}}x{{/a}}", "a()[x]");
        check("{{a}}1{{a}}2{{/a}}3{{/a}}", "a()[1a()[2]3]");
        check("{{a}}1{{b}}2{{/a}}{{/b}}", "a()[1b()2]b()");
        check("{{a::1::2}}x{{/a}}", "a(1|2)xa()");
        check("{{x::{{a}}1{{/a}}}}", "x(a()[1])");
        check("{{a}}{{x::{{/a}}}}", "a()x(a())");
    }

    #[test]
    fn macro_parse_excess_nesting_stays_text() {
        let deep = |n: usize| format!("{}x{}", "{{a::".repeat(n), "}}".repeat(n));
        let all = |_: &MacroHead, _: usize| true;
        let height = |read: &MacroParse| read.pieces.iter().map(MacroPiece::nesting).max();
        let just = parse(&deep(MAX_NESTING), &all);
        assert!(!just.too_deep && height(&just) == Some(MAX_NESTING));
        let more = parse(&deep(100_000), &all);
        assert!(more.too_deep && height(&more) == Some(MAX_NESTING));
        let blocks = format!("{}x{}", "{{a}}".repeat(50_000), "{{/a}}".repeat(50_000));
        let more = parse(&blocks, &all);
        assert!(more.too_deep && height(&more) == Some(MAX_NESTING));
    }
}
