//! Parses server-sent events, as far as model servers use them. Does no I/O.
//!
//! Follows the `text/event-stream` grammar of the HTML standard. Lines end in CR LF, LF or CR; a blank line sends the
//! event. Several `data` lines are joined by a line feed; a byte order mark at the start is skipped.
//!
//! Deviations for model servers:
//! - Invalid UTF-8 becomes U+FFFD.
//! - An event interrupted by the end of the body is returned too, because some servers omit the last blank line.
//! - `error` lines count as data, because llama.cpp once sent its errors like that.

/// A part of an event stream. `event`, `id` and `retry` lines are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseEvent {
    /// A comment line, sent to keep the connection alive.
    Comment,
    /// The payload of one event.
    Data(String),
}

/// A line, or all lines of one event, exceed the parser's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an event is longer than {limit} bytes")]
pub struct LineTooLong {
    /// The limit in bytes.
    pub limit: usize,
}

/// An incremental parser. Bytes can be split anywhere without changing the result.
#[derive(Debug)]
pub struct SseParser {
    limit: usize,
    line: Vec<u8>,
    data: Option<String>,
    after_cr: bool,
    first_line: bool,
}

impl SseParser {
    /// Creates a parser that rejects lines and events longer than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), data: None, after_cr: false, first_line: true }
    }

    /// Parses the next bytes and appends completed events to `events`.
    ///
    /// # Errors
    /// Returns [`LineTooLong`]. The events before it are in `events`; the parser cannot be used again.
    pub fn feed(&mut self, bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), LineTooLong> {
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            match piece.split_last() {
                // The LF of a CR LF whose CR has already ended the line.
                Some((b'\n', [])) if self.after_cr => self.after_cr = false,
                Some((end @ (b'\n' | b'\r'), rest)) => {
                    self.after_cr = *end == b'\r';
                    self.append(rest)?;
                    self.end_line(events)?;
                }
                _ => {
                    self.after_cr = false;
                    self.append(piece)?;
                }
            }
        }
        Ok(())
    }

    /// Ends the stream and returns the unfinished event, if any.
    ///
    /// # Errors
    /// Returns [`LineTooLong`], as for [`SseParser::feed`].
    pub fn finish(mut self) -> Result<Option<String>, LineTooLong> {
        if !self.line.is_empty() {
            self.end_line(&mut Vec::new())?;
        }
        Ok(self.data)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), LineTooLong> {
        if self.line.len().saturating_add(bytes.len()) > self.limit {
            return Err(LineTooLong { limit: self.limit });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self, events: &mut Vec<SseEvent>) -> Result<(), LineTooLong> {
        let taken = std::mem::take(&mut self.line);
        let mut line = taken.as_slice();
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        }
        match line {
            [] => events.extend(self.data.take().map(SseEvent::Data)),
            [b':', ..] => events.push(SseEvent::Comment),
            _ => self.field(line)?,
        }
        Ok(())
    }

    fn field(&mut self, line: &[u8]) -> Result<(), LineTooLong> {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        if !matches!(parts.next(), Some(b"data" | b"error")) {
            return Ok(());
        }
        let value = parts.next().unwrap_or_default();
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match &mut self.data {
            None => self.data = Some(value.into_owned()),
            Some(data) if data.len().saturating_add(value.len()) < self.limit => {
                data.push('\n');
                data.push_str(&value);
            }
            Some(_) => return Err(LineTooLong { limit: self.limit }),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds `pieces` in order. Returns the events and the error, if any.
    fn parse_pieces<'a>(
        limit: usize,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> (Vec<SseEvent>, Result<Option<String>, LineTooLong>) {
        let mut parser = SseParser::new(limit);
        let mut events = Vec::new();
        for piece in pieces {
            if let Err(error) = parser.feed(piece, &mut events) {
                return (events, Err(error));
            }
        }
        let end = parser.finish();
        (events, end)
    }

    fn check(body: &str, expected: &[&str], open: Option<&str>) {
        let (events, end) = parse_pieces(1 << 20, [body.as_bytes()]);
        let shown: Vec<_> = events
            .iter()
            .map(|event| match event {
                SseEvent::Comment => "<comment>",
                SseEvent::Data(data) => data,
            })
            .collect();
        assert_eq!(shown, expected, "{body:?}");
        assert_eq!(end, Ok(open.map(str::to_owned)), "{body:?}");
    }

    #[test]
    fn sse_parser_fields_and_line_endings_are_parsed() {
        check("data: a\n\ndata: b\n\n", &["a", "b"], None);
        check("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"], None);
        check("data: a\r\n\n", &["a"], None);
        check("data:a\n\ndata:  b\n\n", &["a", " b"], None);
        check("data: one\ndata: two\ndata\n\n", &["one\ntwo\n"], None);
        check("data:\n\n", &[""], None);
        check(": hello\n\n:\n", &["<comment>", "<comment>"], None);
        check("event: error\nid: 7\nretry: 3\nfoo\ndata: a\n\n", &["a"], None);
        check("database: no\n\n", &[], None);
        check("error: {}\n\n", &["{}"], None);
        check("\u{feff}data: a\n\n", &["a"], None);
        check("data: a\n\n\u{feff}data: b\n\n", &["a"], None);
        check("data: a\n", &[], Some("a"));
        check("data: a", &[], Some("a"));
        check("\n\n\r\n", &[], None);
        check("", &[], None);
    }

    #[test]
    fn sse_parser_invalid_utf8_becomes_replacement_characters() {
        let (events, _) = parse_pieces(100, [b"data: a\xff\xe5\xa4b\n\n".as_slice()]);
        assert_eq!(events, [SseEvent::Data("a\u{fffd}\u{fffd}b".into())]);
    }

    #[test]
    fn sse_parser_oversized_event_returns_error() {
        let long = LineTooLong { limit: 10 };
        assert_eq!(parse_pieces(10, [b"data: 1234\n\n".as_slice()]).0, [SseEvent::Data("1234".into())]);
        assert_eq!(
            parse_pieces(10, [b"data: a\n\ndata: 12345".as_slice()]),
            (vec![SseEvent::Data("a".into())], Err(long))
        );
        assert_eq!(parse_pieces(10, [b"data: 1234\ndata: 1234\ndata: 1\n\n".as_slice()]), (vec![], Err(long)));
    }

    /// Lines of all relevant parts, so that splits fall inside each of them.
    fn any_body() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"data: ".to_vec()),
            Just(b"data:".to_vec()),
            Just(b"\n".to_vec()),
            Just(b"\r".to_vec()),
            Just(b"\r\n".to_vec()),
            Just(b"\n\n".to_vec()),
            Just(b": ping".to_vec()),
            Just(b"event: x".to_vec()),
            Just("\u{feff}".as_bytes().to_vec()),
            Just("夜🌙é".as_bytes().to_vec()),
            Just(b"\xf0\x9f".to_vec()),
            Just(br#"{"a":1}"#.to_vec()),
            proptest::collection::vec(any::<u8>(), 0..6),
        ];
        proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        /// Any split of the bytes gives the same events and the same end, including errors.
        #[test]
        fn sse_parser_any_split_returns_same_events(body in any_body(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..20), limit in 4_usize..80) {
            let whole = parse_pieces(limit, [body.as_slice()]);
            let mut at: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
            at.extend([0, body.len()]);
            at.sort_unstable();
            prop_assert_eq!(&parse_pieces(limit, at.windows(2).map(|pair| &body[pair[0]..pair[1]])), &whole);
            prop_assert_eq!(&parse_pieces(limit, body.chunks(1)), &whole);
        }
    }
}
