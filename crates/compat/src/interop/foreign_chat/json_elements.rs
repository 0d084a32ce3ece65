//! Splits a file into chats: the elements of a top-level list, or objects that follow each other, one per line or in
//! any other layout. Elements that are too long are skipped and never held in memory. What follows a list is read too.
//!
//! Of objects that follow each other, one that is not closed ends where the next line begins another. So does what is no
//! object before the first one.

use std::io::{self, BufRead};

use crate::interop::chat::ChatFileError;

/// Maximum size of a chat in bytes: some hundred thousand messages.
pub const MAX_ELEMENT_BYTES: usize = 64 << 20;

/// An element with its number, from 1.
pub type NumberedElement<'a> = (u64, Result<&'a [u8], ChatFileError>);

/// Reads the elements of a file.
pub struct JsonElements<R> {
    input: R,
    piece: Vec<u8>,
    number: u64,
    longest: usize,
    form: FileLayout,
}

/// The layout of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FileLayout {
    /// Not yet detected.
    Unknown,
    List,
    /// Objects that follow each other; most files have one.
    Objects,
    /// Neither a list nor an object, up to the first line that begins an object.
    Other,
    Finished,
}

/// The state of a scan through JSON text.
#[derive(Clone, Copy, Default)]
struct JsonPosition {
    depth: usize,
    /// The innermost brackets, the last one in the lowest bit: 1 for an object, 0 for a list or an unknown one.
    brackets: u128,
    is_text: bool,
    is_escaped: bool,
    is_line_start: bool,
    /// The last byte that is not blank, if any.
    last: Option<u8>,
}

/// The role of a byte in the list around it.
#[derive(PartialEq, Eq)]
enum ByteRole {
    Inner,
    Comma,
    End,
    /// The end of an object or list at the top.
    Closed,
    /// The start of a line that begins an object where JSON allows none.
    NextLine,
}

impl JsonPosition {
    fn advance(&mut self, byte: u8) -> ByteRole {
        let is_misplaced = byte == b'{' && self.is_line_start && !self.may_begin_object();
        self.is_line_start = matches!(byte, b'\n' | b'\r');
        let role = self.role_of(byte);
        if !byte.is_ascii_whitespace() {
            self.last = Some(byte);
        }
        if is_misplaced { ByteRole::NextLine } else { role }
    }

    /// Returns whether JSON allows an object here. In doubt, it does.
    const fn may_begin_object(&self) -> bool {
        match self.last {
            _ if self.is_text => false,
            None | Some(b'[' | b':') => true,
            Some(b',') => self.brackets & 1 == 0,
            Some(_) => false,
        }
    }

    fn role_of(&mut self, byte: u8) -> ByteRole {
        if self.is_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_text = false,
                _ => {}
            }
            return ByteRole::Inner;
        }
        match byte {
            b'"' => self.is_text = true,
            b'[' | b'{' => {
                self.depth += 1;
                self.brackets = (self.brackets << 1) | u128::from(byte == b'{');
            }
            b']' if self.depth == 0 => return ByteRole::End,
            b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
                self.brackets >>= 1;
                if self.depth == 0 {
                    return ByteRole::Closed;
                }
            }
            b',' if self.depth == 0 => return ByteRole::Comma,
            _ => {}
        }
        ByteRole::Inner
    }
}

impl<R: BufRead> JsonElements<R> {
    /// Creates a reader at the start of a file.
    pub fn new(input: R) -> Self {
        Self::with_max_len(input, MAX_ELEMENT_BYTES)
    }

    /// Creates a reader with a maximum element size in bytes.
    pub fn with_max_len(input: R, longest: usize) -> Self {
        Self { input, piece: Vec::new(), number: 0, longest, form: FileLayout::Unknown }
    }

    /// Returns the next element, with its number from 1. An element that is too long is skipped and gives an error.
    ///
    /// # Errors
    /// Returns an error if the stream cannot be read.
    pub fn next_element(&mut self) -> io::Result<Option<NumberedElement<'_>>> {
        loop {
            match self.form {
                FileLayout::Unknown => self.form = self.detect_layout()?,
                FileLayout::Objects => self.skip_separators()?,
                FileLayout::List | FileLayout::Other | FileLayout::Finished => {}
            }
            if self.form == FileLayout::Finished {
                return Ok(None);
            }
            let length = self.fill()?;
            let is_blank = self.piece.trim_ascii().is_empty();
            if is_blank && length <= self.longest {
                continue;
            }
            self.number += 1;
            let piece = if length > self.longest {
                Err(ChatFileError(format!("it is longer than {} bytes", self.longest)))
            } else {
                Ok(self.piece.trim_ascii())
            };
            return Ok(Some((self.number, piece)));
        }
    }

    /// Returns whether the file is a list.
    pub fn is_list(&self) -> bool {
        self.form == FileLayout::List
    }

    /// Returns the underlying input.
    pub fn into_input(self) -> R {
        self.input
    }

    /// Skips a byte order mark and separators, and detects the layout of what follows.
    fn detect_layout(&mut self) -> io::Result<FileLayout> {
        self.skip_separators()?;
        Ok(match self.peek()? {
            None => FileLayout::Finished,
            Some(b'[') => {
                self.input.consume(1);
                FileLayout::List
            }
            Some(b'{') => FileLayout::Objects,
            Some(_) => FileLayout::Other,
        })
    }

    /// Skips byte order marks, whitespace, and commas, which some files have after each line.
    fn skip_separators(&mut self) -> io::Result<()> {
        while let Some(0xEF | 0xBB | 0xBF | b' ' | b'\t' | b'\r' | b'\n' | b',') = self.peek()? {
            self.input.consume(1);
        }
        Ok(())
    }

    fn peek(&mut self) -> io::Result<Option<u8>> {
        loop {
            match self.input.fill_buf() {
                Ok(here) => return Ok(here.first().copied()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads an element and stores it while it is short enough. Returns its length.
    fn fill(&mut self) -> io::Result<usize> {
        self.piece.clear();
        let (mut at, mut length) = (JsonPosition::default(), 0_usize);
        loop {
            let here = match self.input.fill_buf() {
                Ok(here) => here,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut each = here.iter().enumerate().map(|(n, byte)| (n, at.advance(*byte)));
            let end = match self.form {
                FileLayout::List => each.find(|(_, byte)| matches!(byte, ByteRole::Comma | ByteRole::End)),
                // The bracket belongs to the object that it closes, or to the next one.
                FileLayout::Objects => each
                    .find(|(_, byte)| matches!(byte, ByteRole::Closed | ByteRole::NextLine))
                    .map(|(n, byte)| (n + usize::from(byte == ByteRole::Closed), byte)),
                FileLayout::Other => each.find(|(_, byte)| matches!(byte, ByteRole::NextLine)),
                FileLayout::Unknown | FileLayout::Finished => None,
            };
            let count = end.as_ref().map_or(here.len(), |(n, _)| *n);
            length += count;
            if length <= self.longest {
                self.piece.extend(here.iter().take(count));
            }
            let is_separator = matches!(end, Some((_, ByteRole::Comma | ByteRole::End)));
            let used = count + usize::from(is_separator);
            let is_over = here.is_empty();
            self.input.consume(used);
            if is_over {
                self.form = FileLayout::Finished;
            } else if matches!(end, Some((_, ByteRole::End))) || (end.is_some() && self.form == FileLayout::Other) {
                // Another list or objects may follow.
                self.form = FileLayout::Unknown;
            }
            if is_over || end.is_some() {
                return Ok(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn read_all_elements(text: &[u8], longest: usize) -> Vec<(u64, Result<String, String>)> {
        // A small buffer, so that elements are assembled from pieces.
        let mut pieces = JsonElements::with_max_len(io::BufReader::with_capacity(3, text), longest);
        let mut found = Vec::new();
        while let Some((number, piece)) = pieces.next_element().unwrap() {
            let piece = piece.map(|piece| String::from_utf8_lossy(piece).into_owned());
            found.push((number, piece.map_err(|fault| fault.to_string())));
        }
        found
    }

    #[test]
    fn json_elements_list_is_split_other_json_stays_whole() {
        let check = |text: &str, expected: &[&str]| {
            let found = read_all_elements(text.as_bytes(), 100);
            let expected = (1..).zip(expected).map(|(n, piece)| (n, Ok((*piece).to_owned())));
            assert_eq!(found, expected.collect::<Vec<_>>(), "{text}");
        };
        check(r#"[{"a":[1,2]}, {"b":"],\""} ,3 ]"#, &[r#"{"a":[1,2]}"#, r#"{"b":"],\""}"#, "3"]);
        check("\u{feff} \n[1,\n2", &["1", "2"]);
        check("{\"a\": [1]}\n", &["{\"a\": [1]}"]);
        check(
            "{\"a\": [1]}\n{\"b\": \"}\"}\r\n\n{\n \"c\": 3\n}",
            &["{\"a\": [1]}", "{\"b\": \"}\"}", "{\n \"c\": 3\n}"],
        );
        check("{\"a\": 1} and more", &["{\"a\": 1}", "and more"]);
        check("[]", &[]);
        check("", &[]);
        check("[1,,2] and more", &["1", "2", "and more"]);
        check("[{\"a\": \"cut", &["{\"a\": \"cut"]);
    }

    #[test]
    fn json_elements_after_a_list_are_read() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<_> = read_all_elements(text.as_bytes(), 100).into_iter().map(|(_, piece)| piece).collect();
            assert_eq!(found, expected.iter().map(|piece| Ok((*piece).to_owned())).collect::<Vec<_>>(), "{text}");
        };
        check("[{\"a\": 1}]\n[{\"b\": 2}, 3]\n", &["{\"a\": 1}", "{\"b\": 2}", "3"]);
        check("[{\"a\": 1}],[]\n{\"b\": 2}\n{\"c\": 3}", &["{\"a\": 1}", "{\"b\": 2}", "{\"c\": 3}"]);
        check("{\"a\": 1}\n[{\"b\": 2}]", &["{\"a\": 1}", "[{\"b\": 2}]"]);
    }

    #[test]
    fn json_elements_broken_line_loses_only_itself() {
        let good = "{\"b\": [{\"c\": \"}\"}]}";
        for broken in [
            "{\"a\": 1",
            "{\"a\": 1,",
            "{\"a\": [1}",
            "{\"a\": \"cut",
            "{\"a\": \"cut \\\"",
            "{\"a\": {\"b\": [1, 2], ",
            "{\"a\"",
        ] {
            for line_break in ["\n", "\r\n", ",\n"] {
                let text = [good, broken, good, good, ""].join(line_break);
                let found = read_all_elements(text.as_bytes(), 100);
                let is_good: Vec<_> = found.iter().map(|(_, piece)| piece.as_deref() == Ok(good)).collect();
                assert_eq!(is_good, [true, false, true, true], "{text}");
                let first = read_all_elements([broken, good].join(line_break).as_bytes(), 100);
                assert_eq!(first.last().map(|(n, piece)| (*n, piece.as_deref())), Some((2, Ok(good))), "{text}");
            }
        }
        // What is no object at all, at the beginning.
        for broken in ["garbage", "\"cut", "5", "\"a\": 1}", "}", "]"] {
            let found = read_all_elements([broken, good, good].join("\n").as_bytes(), 100);
            let is_good: Vec<_> = found.iter().map(|(_, piece)| piece.as_deref() == Ok(good)).collect();
            assert_eq!(is_good, [false, true, true], "{broken}");
        }
        // Sound JSON in any layout is never cut.
        for whole in ["{\"a\":\n{\n\"b\": [\n{},\n{\"c\":\n{}}\n]\n}\n}", "{\"a\": [[1],\n{}\n,\n{}]}"] {
            assert_eq!(read_all_elements(whole.as_bytes(), 100), [(1, Ok(whole.to_owned()))]);
        }
    }

    /// Domain 5, hostile files: an endless chat is skipped without using memory.
    #[test]
    fn json_elements_oversized_element_is_skipped() {
        let text = format!("[1,\"{}\",2]", "x".repeat(50));
        let expected =
            [(1, Ok("1".to_owned())), (2, Err("it is longer than 10 bytes".to_owned())), (3, Ok("2".to_owned()))];
        assert_eq!(read_all_elements(text.as_bytes(), 10), expected);
        let mut pieces = JsonElements::with_max_len(io::BufReader::new(io::repeat(b'{').take(1 << 20)), 10);
        assert!(pieces.next_element().unwrap().unwrap().1.is_err());
        assert!(pieces.piece.capacity() < 64);
    }
}
