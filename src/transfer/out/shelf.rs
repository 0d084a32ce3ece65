//! Where many files go: a new folder, or an archive. What went there is listed, with hashes, in a last file, by which an import
//! into the same house knows what is there already ([`List`]).

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::store::ExportError;

/// A place for files.
pub enum Shelf<W: Write + Seek> {
    /// A folder.
    Folder(PathBuf),
    /// An archive.
    Archive(Box<ZipWriter<W>>),
}

impl<W: Write + Seek> Shelf<W> {
    /// A folder, which must be new or empty.
    ///
    /// # Errors
    /// There is something in it, or it cannot be made.
    pub fn folder(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        if fs::read_dir(path)?.next().is_some() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty"));
        }
        Ok(Self::Folder(path.to_owned()))
    }

    /// An archive.
    pub fn archive(out: W) -> Self {
        Self::Archive(Box::new(ZipWriter::new(out)))
    }

    /// Puts a file there, piece by piece; answers with the hash of its bytes.
    pub fn put(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<(), ExportError>,
    ) -> Result<blake3::Hash, ExportError> {
        match self {
            Self::Folder(top) => {
                let path = top.join(name);
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                let mut out = Hashed::new(BufWriter::new(File::create_new(path)?));
                write(&mut out)?;
                out.out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
                Ok(out.hasher.finalize())
            }
            Self::Archive(zip) => {
                // Pictures are packed already.
                let method =
                    if name.ends_with(".png") { CompressionMethod::Stored } else { CompressionMethod::Deflated };
                let options = SimpleFileOptions::default().compression_method(method).large_file(true);
                zip.start_file(name, options).map_err(io::Error::from)?;
                let mut out = Hashed::new(zip);
                write(&mut out)?;
                Ok(out.hasher.finalize())
            }
        }
    }

    /// Ends it; the bytes of an archive go back.
    pub fn end(self) -> io::Result<Option<W>> {
        match self {
            Self::Folder(_) => Ok(None),
            Self::Archive(zip) => Ok(Some(zip.finish().map_err(io::Error::from)?)),
        }
    }
}

/// Bytes that are hashed as they are written.
struct Hashed<W> {
    out: W,
    hasher: blake3::Hasher,
}

impl<W> Hashed<W> {
    fn new(out: W) -> Self {
        Self { out, hasher: blake3::Hasher::new() }
    }
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What went out: each file, by what an import knows it again, with its hash, and the id of what it is here.
#[derive(Debug, Default)]
pub struct List(Map<String, Value>);

impl List {
    /// Notes a file.
    pub fn note(&mut self, name: &str, hash: blake3::Hash, is: impl std::fmt::Display) {
        self.0.insert(name.to_owned(), json!({"hash": hash.to_hex().as_str(), "is": is.to_string()}));
    }

    /// As it is written.
    pub fn text(self) -> String {
        json!({"format": "clotho-list", "version": 1, "files": self.0}).to_string()
    }
}
