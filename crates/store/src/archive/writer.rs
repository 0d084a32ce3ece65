//! Writes a file line by line.

use std::io::{self, Write};

use serde::Serialize;

use super::{ArchiveFooter, ArchiveHeader, ArchiveLine, FORMAT, VERSION};

/// The zstd level: its default, with a window of 2 MiB that every reader accepts.
const LEVEL: i32 = 3;

/// A writer of a file. A reader refuses a file that was not finished.
pub struct ArchiveWriter<W: Write> {
    out: zstd::Encoder<'static, W>,
    hasher: blake3::Hasher,
    buffer: Vec<u8>,
    counts: ArchiveFooter,
}

impl<W: Write> ArchiveWriter<W> {
    /// Starts a file with its header.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be written.
    pub fn begin(out: W, exported: i64) -> io::Result<Self> {
        let counts = ArchiveFooter { lines: 0, nodes: 0, operations: 0, blake3: String::new() };
        let out = zstd::Encoder::new(out, LEVEL)?;
        let mut writer = Self { out, hasher: blake3::Hasher::new(), buffer: Vec::new(), counts };
        let (format, program) = (FORMAT.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        writer.write_json(&ArchiveHeader { format, version: VERSION, program, exported })?;
        Ok(writer)
    }

    /// Writes a line.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be written.
    pub fn write_line(&mut self, line: &ArchiveLine) -> io::Result<()> {
        self.counts.nodes += u64::from(matches!(line, ArchiveLine::Node(_)));
        self.counts.operations += u64::from(matches!(line, ArchiveLine::Operation(_)));
        self.write_json(line)
    }

    /// Returns the number of nodes written so far.
    pub fn nodes(&self) -> u64 {
        self.counts.nodes
    }

    /// Writes the last line and returns the output.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        let end = ArchiveFooter { blake3: self.hasher.finalize().to_hex().to_string(), ..self.counts.clone() };
        self.write_json(&ArchiveLine::End(Box::new(end)))?;
        self.out.finish()
    }

    fn write_json(&mut self, line: &impl Serialize) -> io::Result<()> {
        self.buffer.clear();
        serde_json::to_writer(&mut self.buffer, line)?;
        self.buffer.push(b'\n');
        self.hasher.update(&self.buffer);
        self.counts.lines += 1;
        self.out.write_all(&self.buffer)
    }
}
