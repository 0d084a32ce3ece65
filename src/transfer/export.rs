//! A session out of a database and into a file.

use std::io::Write;

use crate::archive::Writer;
use crate::clock::Time;
use crate::store::{ExportError, Held, Snapshot};

/// Writes a session as a file, and tells after each line how many nodes have been written; the bytes go back.
///
/// # Errors
/// The database or the bytes fail.
pub fn export<W: Write>(
    snapshot: &mut Snapshot,
    held: &Held,
    out: W,
    at: Time,
    mut told: impl FnMut(u64),
) -> Result<W, ExportError> {
    let mut writer = Writer::begin(out, at.0)?;
    snapshot.export(held, |line| {
        writer.line(line)?;
        told(writer.nodes());
        Ok(())
    })?;
    Ok(writer.end()?)
}
