//! Exports a session from the database to a file.

use std::io::Write;

use clotho_core::clock::Time;
use clotho_store::archive::ArchiveWriter;
use clotho_store::{DatabaseSnapshot, SessionExportError, StoredSession};

/// Writes a session to `out` and returns `out`. `report_progress` is called after each line with the number of nodes so
/// far.
///
/// # Errors
/// Returns an error if the database or the writer fails.
pub fn export<W: Write>(
    snapshot: &mut DatabaseSnapshot,
    stored: &StoredSession,
    out: W,
    at: Time,
    mut report_progress: impl FnMut(u64),
) -> Result<W, SessionExportError> {
    let mut writer = ArchiveWriter::begin(out, at.0)?;
    snapshot.export(stored, |line| {
        writer.write_line(line)?;
        report_progress(writer.nodes());
        Ok(())
    })?;
    Ok(writer.finish()?)
}
