//! Splits a stream into lines. Lines that are too long are skipped and never held in memory.

use std::io::{self, BufRead};

use super::ChatFileError;

/// Maximum length of a line in bytes. A message with a hundred swipes fits, each with the whole state of a large story.
pub const MAX_LINE_BYTES: usize = 32 << 20;

/// Some editors write this at the start of a file.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A line with its number, from 1.
pub type NumberedLine<'a> = (u64, Result<&'a [u8], ChatFileError>);

/// Reads the lines of a chat.
pub struct ChatFileReader<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
    longest: usize,
}

impl<R: BufRead> ChatFileReader<R> {
    /// Creates a reader at the start of a file.
    pub fn new(input: R) -> Self {
        Self::with_max_len(input, MAX_LINE_BYTES)
    }

    /// Creates a reader with a maximum line length in bytes.
    pub fn with_max_len(input: R, longest: usize) -> Self {
        Self { input, line: Vec::new(), number: 0, longest }
    }

    /// Returns the next line that is not blank, without the blanks around it, with its number from 1. A line that is too
    /// long is skipped and gives an error.
    ///
    /// # Errors
    /// Returns an error if the stream cannot be read.
    pub fn next_line(&mut self) -> io::Result<Option<NumberedLine<'_>>> {
        Ok(self.next_raw_line()?.map(|(number, line)| (number, line.map(<[u8]>::trim_ascii))))
    }

    /// Like [`Self::next_line`], with the blanks around it.
    ///
    /// # Errors
    /// Returns an error if the stream cannot be read.
    pub fn next_raw_line(&mut self) -> io::Result<Option<NumberedLine<'_>>> {
        loop {
            self.line.clear();
            let length = self.fill()?;
            if length == 0 {
                return Ok(None);
            }
            self.number += 1;
            if length > self.longest {
                let fault = ChatFileError(format!("it is longer than {} bytes", self.longest));
                return Ok(Some((self.number, Err(fault))));
            }
            let is_blank = self.text().trim_ascii().is_empty();
            if !is_blank {
                break;
            }
        }
        Ok(Some((self.number, Ok(self.text()))))
    }

    /// Returns the underlying input.
    pub fn into_input(self) -> R {
        self.input
    }

    fn text(&self) -> &[u8] {
        let line = self.line.as_slice();
        if self.number == 1 { line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line) } else { line }
    }

    /// Reads up to a line feed and stores the line while it is short enough. Returns the length of the line.
    fn fill(&mut self) -> io::Result<usize> {
        let mut length = 0_usize;
        loop {
            let here = match self.input.fill_buf() {
                Ok(here) => here,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let end = here.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(here.len(), |end| end + 1);
            if length + used <= self.longest {
                self.line.extend(here.iter().take(used));
            }
            length += used;
            self.input.consume(used);
            if end.is_some() || used == 0 {
                return Ok(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all_lines(text: &[u8], longest: usize) -> Vec<(u64, Result<String, String>)> {
        // A small buffer, so that lines are assembled from pieces.
        let mut lines = ChatFileReader::with_max_len(io::BufReader::with_capacity(3, text), longest);
        let mut found = Vec::new();
        while let Some((number, line)) = lines.next_line().unwrap() {
            let line = line.map(|line| String::from_utf8_lossy(line).into_owned());
            found.push((number, line.map_err(|fault| fault.to_string())));
        }
        found
    }

    #[test]
    fn chat_lines_any_line_ending_are_numbered() {
        let text = b"\xEF\xBB\xBFfirst\r\n\r\n \nfourth\nlast";
        let expected = [(1, Ok("first".to_owned())), (4, Ok("fourth".to_owned())), (5, Ok("last".to_owned()))];
        assert_eq!(read_all_lines(text, 100), expected);
        assert_eq!(read_all_lines(b"", 100), []);
        assert_eq!(read_all_lines(b"\n\n", 100), []);
    }

    /// Domain 5, hostile files: an endless line is skipped without using memory.
    #[test]
    fn chat_lines_oversized_line_is_skipped() {
        let text = [b"a\n".as_slice(), &[b'x'; 50], b"\nb\n"].concat();
        let expected =
            [(1, Ok("a".to_owned())), (2, Err("it is longer than 10 bytes".to_owned())), (3, Ok("b".to_owned()))];
        assert_eq!(read_all_lines(&text, 10), expected);
        let mut lines = ChatFileReader::with_max_len(io::BufReader::new(io::repeat(b'x').take(1 << 20)), 10);
        assert!(lines.next_line().unwrap().unwrap().1.is_err());
        assert!(lines.line.capacity() < 64);
    }

    use std::io::Read as _;
}
