//! Splits a stream of JSON lines. Does no I/O.

use super::sse::LineTooLong;

/// An incremental parser. Bytes can be split anywhere without changing the result. Lines end in LF, CR LF or CR. Blank
/// lines are skipped; invalid UTF-8 becomes U+FFFD.
#[derive(Debug)]
pub(super) struct JsonLinesParser {
    limit: usize,
    line: Vec<u8>,
}

impl JsonLinesParser {
    /// Creates a parser that rejects lines longer than `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new() }
    }

    /// Parses the next bytes and appends completed lines to `lines`.
    ///
    /// # Errors
    /// Returns [`LineTooLong`]. The lines before it are in `lines`; the parser cannot be used again.
    pub(super) fn feed(&mut self, bytes: &[u8], lines: &mut Vec<String>) -> Result<(), LineTooLong> {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, is_whole) = match piece.split_last() {
                Some((b'\n' | b'\r', text)) => (text, true),
                _ => (piece, false),
            };
            if self.line.len().saturating_add(text.len()) > self.limit {
                return Err(LineTooLong { limit: self.limit });
            }
            self.line.extend_from_slice(text);
            if is_whole {
                lines.extend(self.take_line());
            }
        }
        Ok(())
    }

    /// Ends the stream and returns the unfinished line, if any.
    pub(super) fn finish(mut self) -> Option<String> {
        self.take_line()
    }

    fn take_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(line.trim_ascii()).into_owned();
        (!line.is_empty()).then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse_pieces<'a>(
        limit: usize,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> (Vec<String>, Result<Option<String>, LineTooLong>) {
        let (mut parser, mut lines) = (JsonLinesParser::new(limit), Vec::new());
        let fed = pieces.into_iter().try_for_each(|piece| parser.feed(piece, &mut lines));
        (lines, fed.map(|()| parser.finish()))
    }

    #[test]
    fn json_lines_parser_returns_lines_and_remainder() {
        let all = |body: &[u8]| parse_pieces(100, [body]);
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert_eq!(all(b"{}\r\n\n  {\"a\":1} \n"), (lines(&["{}", "{\"a\":1}"]), Ok(None)));
        assert_eq!(all(b"{}\n{\"a"), (lines(&["{}"]), Ok(Some("{\"a".to_owned()))));
        assert_eq!(all(b"{}\r{\"a\":1}\r").0, lines(&["{}", "{\"a\":1}"]));
        assert_eq!(all(b"a\xff\n").0, lines(&["a\u{fffd}"]));
        assert_eq!(parse_pieces(3, [b"{}\n{{}}".as_slice()]), (lines(&["{}"]), Err(LineTooLong { limit: 3 })));
    }

    proptest! {
        #[test]
        fn json_lines_parser_any_split_returns_same_lines(body in "[{}a夜\r\n ]{0,40}", size in 1_usize..9, limit in 2_usize..60) {
            prop_assert_eq!(parse_pieces(limit, body.as_bytes().chunks(size)), parse_pieces(limit, [body.as_bytes()]));
        }
    }
}
