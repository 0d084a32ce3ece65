//! Reads untrusted files: every size is limited, and each error names its line.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};

use clotho_core::json_scan::{self, JsonBounds, JsonScanFault};
use serde::Deserialize;

use super::{ArchiveFooter, ArchiveHeader, ArchiveLine, FORMAT, VERSION};

/// The maximum zstd window as a power of two: 8 MiB.
const WINDOW_LOG: u32 = 23;

/// The maximum length of a line in bytes. A message with its world is much shorter.
const MAX_LINE_BYTES: u64 = 32 << 20;

/// How many times its length the values of a line may need in memory, beyond what any document may need.
const GROWTH: usize = 16;

/// The maximum number of lists and objects inside each other that are counted.
const MAX_LINE_DEPTH: usize = 10_000;

/// The size limits of a reader.
#[derive(Debug, Clone, Copy)]
pub struct ArchiveLimits {
    /// The size of the whole file in bytes, decompressed.
    pub total: u64,
    /// The size of one line in bytes.
    pub line: u64,
}

impl ArchiveLimits {
    /// Creates limits for a file of `total` bytes, decompressed, and the default line length.
    pub fn for_archive(total: u64) -> Self {
        Self { total, line: MAX_LINE_BYTES }
    }
}

/// An error in a file, with its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct ArchiveError {
    /// The line number, from 1.
    pub line: u64,
    /// One sentence without a final period.
    pub message: String,
    /// The kind, if the error is about the file as a whole.
    pub flaw: Option<ArchiveErrorKind>,
}

/// An error about the file as a whole, for clients that translate messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveErrorKind {
    /// It is empty or has another format.
    OtherFormat,
    /// It has another version of the format.
    OtherVersion,
    /// Its end is missing.
    Truncated,
    /// It was changed after it was written.
    Changed,
    /// It or one of its lines is larger than the limits.
    TooLarge,
}

impl ArchiveErrorKind {
    /// Returns the word for the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OtherFormat => "other_format",
            Self::OtherVersion => "other_version",
            Self::Truncated => "breaks_off",
            Self::Changed => "changed",
            Self::TooLarge => "too_large",
        }
    }
}

/// A reader of the lines of a file.
pub struct ArchiveReader<R: Read> {
    input: BufReader<zstd::Decoder<'static, BufReader<R>>>,
    limits: ArchiveLimits,
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
    number: u64,
    bytes: u64,
    counts: (u64, u64),
    is_over: bool,
}

/// The part of a header that every version has.
#[derive(Deserialize)]
struct ArchiveVersion {
    format: String,
    version: u64,
}

impl<R: Read> ArchiveReader<R> {
    /// Starts reading: checks that the header has this format and a supported version.
    ///
    /// # Errors
    /// Returns an error for line 1 otherwise.
    pub fn begin(input: R, limits: ArchiveLimits) -> Result<Self, ArchiveError> {
        let unpacking = zstd::Decoder::new(input).and_then(|mut decoder| {
            decoder.window_log_max(WINDOW_LOG)?;
            Ok(decoder)
        });
        let decoder = unpacking.map_err(|error| ArchiveError { line: 1, message: error.to_string(), flaw: None })?;
        let mut lines = Self {
            input: BufReader::new(decoder),
            limits,
            hasher: blake3::Hasher::new(),
            buffer: Vec::new(),
            number: 0,
            bytes: 0,
            counts: (0, 0),
            is_over: false,
        };
        lines.header()?;
        Ok(lines)
    }

    fn header(&mut self) -> Result<(), ArchiveError> {
        if !self.read_line()? {
            return Err(self.error_of_kind(ArchiveErrorKind::OtherFormat, "the file is empty"));
        }
        let claim: Option<ArchiveVersion> = serde_json::from_slice(&self.buffer).ok();
        let Some(claim) = claim.filter(|claim| claim.format == FORMAT) else {
            return Err(self.error_of_kind(
                ArchiveErrorKind::OtherFormat,
                format!("this is not the header of a \"{FORMAT}\" file"),
            ));
        };
        if claim.version != u64::from(VERSION) {
            let message = format!("the file has version {}, and this program reads version {VERSION}", claim.version);
            return Err(self.error_of_kind(ArchiveErrorKind::OtherVersion, message));
        }
        self.check_bounds()?;
        serde_json::from_slice::<ArchiveHeader>(&self.buffer).map_err(|error| self.json_error(&error))?;
        self.hasher.update(&self.buffer);
        Ok(())
    }

    /// Returns the next line; `None` after the last one. The last line is checked here: its counts and its hash
    /// must match, and nothing may follow.
    ///
    /// # Errors
    /// Returns an error if the line is invalid, or if the file is truncated, too large or changed.
    pub fn next_line(&mut self) -> Result<Option<ArchiveLine>, ArchiveError> {
        if self.is_over {
            return Ok(None);
        }
        if !self.read_line()? {
            return Err(self.error_of_kind(ArchiveErrorKind::Truncated, "the last line of the file is missing"));
        }
        self.check_bounds()?;
        let line: ArchiveLine = serde_json::from_slice(&self.buffer).map_err(|error| self.json_error(&error))?;
        match &line {
            ArchiveLine::End(end) => {
                self.is_over = true;
                self.check_footer(end)?;
                return Ok(None);
            }
            ArchiveLine::Node(_) => self.counts.0 += 1,
            ArchiveLine::Operation(_) => self.counts.1 += 1,
            _ => {}
        }
        self.hasher.update(&self.buffer);
        Ok(Some(line))
    }

    fn check_footer(&mut self, end: &ArchiveFooter) -> Result<(), ArchiveError> {
        let blake3 = self.hasher.finalize().to_hex().to_string();
        let (nodes, operations) = self.counts;
        if *end != (ArchiveFooter { lines: self.number - 1, nodes, operations, blake3 }) {
            let message = "the counts or the hash do not match: the file was changed";
            return Err(self.error_of_kind(ArchiveErrorKind::Changed, message));
        }
        if self.read_line()? {
            return Err(self.error_of_kind(ArchiveErrorKind::Changed, "there is text after the last line"));
        }
        // No line was read, so the number of the last one stays.
        self.number -= 1;
        Ok(())
    }

    /// Returns the number of the last line that was read, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of decompressed bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Creates an error for the last line that was read.
    pub fn error(&self, message: impl Into<String>) -> ArchiveError {
        ArchiveError { line: self.number, message: message.into(), flaw: None }
    }

    fn error_of_kind(&self, flaw: ArchiveErrorKind, message: impl Into<String>) -> ArchiveError {
        ArchiveError { flaw: Some(flaw), ..self.error(message) }
    }

    /// Reads a line into the buffer; `false` if there is none.
    fn read_line(&mut self) -> Result<bool, ArchiveError> {
        self.buffer.clear();
        self.number += 1;
        let left = self.limits.total.saturating_sub(self.bytes).min(self.limits.line);
        let read = (&mut self.input).take(left + 1).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|error| self.io_error(&error))?;
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        self.bytes += read;
        if read > left {
            let ArchiveLimits { total, line } = self.limits;
            let is_line = left == line;
            let message = if is_line {
                format!("the line is longer than {line} bytes")
            } else {
                format!("the file has more than {total} bytes, unpacked")
            };
            return Err(self.error_of_kind(ArchiveErrorKind::TooLarge, message));
        }
        if read > 0 && self.buffer.last() != Some(&b'\n') {
            return Err(self.error_of_kind(ArchiveErrorKind::Truncated, "the line is incomplete"));
        }
        Ok(read > 0)
    }

    /// Checks that the values of the line do not need too much memory.
    fn check_bounds(&self) -> Result<(), ArchiveError> {
        let text = std::str::from_utf8(&self.buffer).map_err(|_| self.error("the line is not UTF-8"))?;
        // An operation on a long branch, and the node of a merge, name each node. The parser checks the depth.
        let bounds = JsonBounds { depth: MAX_LINE_DEPTH, growth: GROWTH, ..JsonBounds::DOCUMENT };
        json_scan::check_bounds(text, bounds).map_err(|error| match error.fault {
            JsonScanFault::TooManyValues { .. } => self.error_of_kind(ArchiveErrorKind::TooLarge, error.to_string()),
            _ => self.error(format!("the line has a wrong format: {error}")),
        })
    }

    fn json_error(&self, error: &serde_json::Error) -> ArchiveError {
        let words = error.to_string();
        let words = words.rsplit_once(" at line ").map_or(words.as_str(), |(words, _)| words);
        self.error(format!("the line has a wrong format: {}", words.replace('`', "\"")))
    }

    fn io_error(&self, error: &io::Error) -> ArchiveError {
        match error.kind() {
            ErrorKind::UnexpectedEof => self.error_of_kind(ArchiveErrorKind::Truncated, "the file is incomplete"),
            // If nothing could be decompressed, it was never a file of this format.
            _ if self.bytes == 0 => {
                self.error_of_kind(ArchiveErrorKind::OtherFormat, format!("the file cannot be decompressed: {error}"))
            }
            _ => self.error_of_kind(ArchiveErrorKind::Changed, format!("the file cannot be decompressed: {error}")),
        }
    }
}
