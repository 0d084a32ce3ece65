//! The target of an export with many files: a new folder or a zip archive.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, Write};
use std::path::{Path, PathBuf};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use clotho_store::SessionExportError;

/// A writable folder or archive.
pub enum ExportTarget<W: Write + Seek> {
    Folder(PathBuf),
    Archive(Box<ZipWriter<W>>),
}

impl<W: Write + Seek> ExportTarget<W> {
    /// Creates a folder; an existing one must be empty.
    ///
    /// # Errors
    /// Returns an error if the folder is not empty or cannot be created.
    pub fn folder(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        if fs::read_dir(path)?.next().is_some() {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty"));
        }
        Ok(Self::Folder(path.to_owned()))
    }

    /// Starts an archive.
    pub fn archive(out: W) -> Self {
        Self::Archive(Box::new(ZipWriter::new(out)))
    }

    /// Streams one file to the target and returns the hash of its bytes.
    pub fn put(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> Result<(), SessionExportError>,
    ) -> Result<blake3::Hash, SessionExportError> {
        match self {
            Self::Folder(top) => {
                let path = top.join(name);
                path.parent().map_or(Ok(()), fs::create_dir_all)?;
                let mut out = HashingWriter::new(BufWriter::new(File::create_new(path)?));
                write(&mut out)?;
                out.out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
                Ok(out.hasher.finalize())
            }
            Self::Archive(zip) => {
                // PNG files are compressed already.
                let method =
                    if name.ends_with(".png") { CompressionMethod::Stored } else { CompressionMethod::Deflated };
                let options = SimpleFileOptions::default().compression_method(method).large_file(true);
                zip.start_file(name, options).map_err(io::Error::from)?;
                let mut out = HashingWriter::new(zip);
                write(&mut out)?;
                Ok(out.hasher.finalize())
            }
        }
    }

    /// Finishes the export. Returns the writer of an archive.
    pub fn finish(self) -> io::Result<Option<W>> {
        match self {
            Self::Folder(_) => Ok(None),
            Self::Archive(zip) => Ok(Some(zip.finish().map_err(io::Error::from)?)),
        }
    }
}

/// A writer that hashes what passes through.
struct HashingWriter<W> {
    out: W,
    hasher: blake3::Hasher,
}

impl<W> HashingWriter<W> {
    fn new(out: W) -> Self {
        Self { out, hasher: blake3::Hasher::new() }
    }
}

impl<W: Write> Write for HashingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
