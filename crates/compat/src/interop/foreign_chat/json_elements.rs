//! Splits a file into chats: the elements of a top-level list, or objects that follow each other, one per line or in
//! any other layout. Elements that are too long are skipped and never held in memory.

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
    /// A single element.
    Whole,
    Finished,
}

/// The state of a scan through JSON text.
#[derive(Clone, Copy, Default)]
struct JsonPosition {
    depth: usize,
    is_text: bool,
    is_escaped: bool,
}

/// The role of a byte in the list around it.
#[derive(PartialEq, Eq)]
enum ByteRole {
    Inner,
    Comma,
    End,
    /// The end of an object or list at the top.
    Closed,
}

impl JsonPosition {
    fn advance(&mut self, byte: u8) -> ByteRole {
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
            b'[' | b'{' => self.depth += 1,
            b']' if self.depth == 0 => return ByteRole::End,
            b']' | b'}' => {
                self.depth = self.depth.saturating_sub(1);
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
        if self.form == FileLayout::Unknown {
            self.form = self.detect_layout()?;
        }
        loop {
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

    /// Skips a byte order mark and whitespace, and detects the layout.
    fn detect_layout(&mut self) -> io::Result<FileLayout> {
        loop {
            let Some(byte) = self.peek()? else { return Ok(FileLayout::Finished) };
            match byte {
                0xEF | 0xBB | 0xBF | b' ' | b'\t' | b'\r' | b'\n' => self.input.consume(1),
                b'[' => {
                    self.input.consume(1);
                    return Ok(FileLayout::List);
                }
                b'{' => return Ok(FileLayout::Objects),
                _ => return Ok(FileLayout::Whole),
            }
        }
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
                // The bracket belongs to the object.
                FileLayout::Objects => each.find(|(_, byte)| *byte == ByteRole::Closed).map(|(n, byte)| (n + 1, byte)),
                FileLayout::Unknown | FileLayout::Whole | FileLayout::Finished => None,
            };
            let count = end.as_ref().map_or(here.len(), |(n, _)| *n);
            length += count;
            if length <= self.longest {
                self.piece.extend(here.iter().take(count));
            }
            let is_separator = matches!(end, Some((_, ByteRole::Comma | ByteRole::End)));
            let used = count + usize::from(is_separator);
            let is_over = here.is_empty() || matches!(end, Some((_, ByteRole::End)));
            self.input.consume(used);
            if is_over {
                self.form = FileLayout::Finished;
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
        check("[1,,2] and more", &["1", "2"]);
        check("[{\"a\": \"cut", &["{\"a\": \"cut"]);
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
