//! A session out of a database and into a file.

use std::io::Write;

use clotho_core::clock::Time;
use clotho_store::archive::ArchiveWriter;
use clotho_store::{DatabaseSnapshot, SessionExportError, StoredSession};

/// Writes a session as a file, and tells after each line how many nodes have been written; the bytes go back.
///
/// # Errors
/// The database or the bytes fail.
pub fn export<W: Write>(
    snapshot: &mut DatabaseSnapshot,
    held: &StoredSession,
    out: W,
    at: Time,
    mut told: impl FnMut(u64),
) -> Result<W, SessionExportError> {
    let mut writer = ArchiveWriter::begin(out, at.0)?;
    snapshot.export(held, |line| {
        writer.line(line)?;
        told(writer.nodes());
        Ok(())
    })?;
    Ok(writer.finish()?)
}
