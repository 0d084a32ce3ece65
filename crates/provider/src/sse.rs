//! Parses server-sent events, as far as model servers use them. Does no I/O.
//!
//! Follows the `text/event-stream` grammar of the HTML standard. Lines end in CR LF, LF or CR; a blank line sends the
//! event. Several `data` lines are joined by a line feed; a byte order mark at the start is skipped.
//!
//! Deviations for model servers:
//! - Invalid UTF-8 becomes U+FFFD.
//! - An event interrupted by the end of the body is returned too, because some servers omit the last blank line.
//! - Some servers omit the blank lines between events. Two JSON objects in a row are two events, because a line that ends
//!   in `}` and one that begins with `{` are never neighbours inside of one object.
//! - A line with a whole JSON object and no field name is an event, because some servers write their errors like that.
//! - `error` lines count as data of an event named `error`, because llama.cpp once sent its errors like that.

/// A part of an event stream. `id` and `retry` lines are ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SseEvent {
    /// A comment line, sent to keep the connection alive.
    Comment,
    /// The payload of an event without a name, or with the default name `message`.
    Data(String),
    /// An event with another name.
    Named { name: String, data: String },
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
    name: String,
    data: Option<String>,
    after_cr: bool,
    first_line: bool,
}

impl SseParser {
    /// Creates a parser that rejects lines and events longer than `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), name: String::new(), data: None, after_cr: false, first_line: true }
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

    /// Ends the stream: appends completed events to `events`, and returns the unfinished one, if any.
    ///
    /// # Errors
    /// Returns [`LineTooLong`], as for [`SseParser::feed`].
    pub fn finish(mut self, events: &mut Vec<SseEvent>) -> Result<Option<SseEvent>, LineTooLong> {
        if !self.line.is_empty() {
            self.end_line(events)?;
        }
        Ok(self.take_event())
    }

    /// Returns the event whose lines were read, if it has data.
    fn take_event(&mut self) -> Option<SseEvent> {
        let (name, data) = (std::mem::take(&mut self.name), self.data.take()?);
        Some(if matches!(name.as_str(), "" | "message") {
            SseEvent::Data(data)
        } else {
            SseEvent::Named { name, data }
        })
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
            [] => events.extend(self.take_event()),
            [b':', ..] => events.push(SseEvent::Comment),
            [b'{', .., b'}'] => {
                if self.data.is_some() {
                    events.extend(self.take_event());
                }
                self.data = Some(String::from_utf8_lossy(line).into_owned());
            }
            _ => self.field(line, events)?,
        }
        Ok(())
    }

    fn field(&mut self, line: &[u8], events: &mut Vec<SseEvent>) -> Result<(), LineTooLong> {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let name = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default();
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match name {
            b"data" => {}
            b"error" => "error".clone_into(&mut self.name),
            b"event" => {
                if !self.name.is_empty() {
                    events.extend(self.take_event());
                }
                self.name = value.into_owned();
                return Ok(());
            }
            _ => return Ok(()),
        }
        if self.data.as_deref().is_some_and(|data| begins_event(data, &value)) {
            events.extend(self.take_event());
        }
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

/// Returns whether a line of data begins another event than the data before it.
fn begins_event(data: &str, line: &str) -> bool {
    let line = line.trim();
    data.trim_end().ends_with('}') && (line.starts_with('{') || line == "[DONE]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Feeds `pieces` in order. Returns the events and the error, if any.
    fn parse_pieces<'a>(
        limit: usize,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> (Vec<SseEvent>, Result<Option<SseEvent>, LineTooLong>) {
        let mut parser = SseParser::new(limit);
        let mut events = Vec::new();
        for piece in pieces {
            if let Err(error) = parser.feed(piece, &mut events) {
                return (events, Err(error));
            }
        }
        let end = parser.finish(&mut events);
        (events, end)
    }

    fn check(body: &str, expected: &[&str], open: Option<&str>) {
        let (events, end) = parse_pieces(1 << 20, [body.as_bytes()]);
        let shown: Vec<_> = events
            .iter()
            .map(|event| match event {
                SseEvent::Comment => "<comment>",
                SseEvent::Data(data) => data,
                SseEvent::Named { .. } => "<named>",
            })
            .collect();
        assert_eq!(shown, expected, "{body:?}");
        assert_eq!(end, Ok(open.map(|data| SseEvent::Data(data.to_owned()))), "{body:?}");
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
        check("event: message\nid: 7\nretry: 3\nfoo\ndata: a\n\n", &["a"], None);
        check("database: no\n\n", &[], None);
        check("\u{feff}data: a\n\n", &["a"], None);
        check("data: a\n\n\u{feff}data: b\n\n", &["a"], None);
        check("data: a\n", &[], Some("a"));
        check("data: a", &[], Some("a"));
        check("\n\n\r\n", &[], None);
        check("", &[], None);
    }

    #[test]
    fn sse_parser_events_without_blank_lines_are_split() {
        let named = |name: &str, data: &str| SseEvent::Named { name: name.into(), data: data.into() };
        check("data: {\"a\":1}\ndata: {\"a\":2}\ndata: [DONE]\n", &["{\"a\":1}", "{\"a\":2}"], Some("[DONE]"));
        check("data: {\ndata: \"a\": {}\ndata: }\n\n", &["{\n\"a\": {}\n}"], None);
        check("data: {\"a\":[{},\ndata: {}]}\n\n", &["{\"a\":[{},\n{}]}"], None);
        check("data: {\"a\":1}\ndata: {\"a\":2}", &["{\"a\":1}"], Some("{\"a\":2}"));
        check("data: {\"a\":1}\n{\"error\":\"w\"}\n", &["{\"a\":1}"], Some("{\"error\":\"w\"}"));
        check(": x\n{\"a\":1}\n\n", &["<comment>", "{\"a\":1}"], None);
        check("{\"a\n", &[], None);
        let body = b"event: x\ndata: {}\nevent: y\ndata: {}\n";
        let (events, end) = parse_pieces(100, [body.as_slice()]);
        assert_eq!((events, end), (vec![named("x", "{}")], Ok(Some(named("y", "{}")))));
    }

    /// A name counts for one event, with or without data, and an `error` line names its event.
    #[test]
    fn sse_parser_event_names_are_kept_for_one_event() {
        let named = |name: &str, data: &str| SseEvent::Named { name: name.into(), data: data.into() };
        let body = b"event: ping\ndata: a\n\nevent: gone\n\ndata: b\n\nerror: {}\n\ndata: c\nevent:error\n";
        let (events, end) = parse_pieces(100, [body.as_slice()]);
        assert_eq!(events, [named("ping", "a"), SseEvent::Data("b".into()), named("error", "{}")]);
        assert_eq!(end, Ok(Some(named("error", "c"))));
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
