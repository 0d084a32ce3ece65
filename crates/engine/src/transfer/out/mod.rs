//! Exports in forms that other programs read: one branch as a SillyTavern chat or a readable file, or everything as a
//! SillyTavern data folder.
//!
//! - `branch.rs` reads a branch in batches, so that neither it nor its tree is ever in memory as a whole.
//! - `cast.rs` knows the names of the speakers.
//! - `chat.rs` turns a node into a SillyTavern message, the reverse of `sillytavern/message_to_node.rs`. `header.rs`
//!   makes the header of a chat; `sillytavern.rs` writes both.
//! - `data_folder.rs` writes everything of a user as a data folder.
//! - `branch_files.rs` chooses the branches to export and names their files, `sessions.rs` writes them,
//!   `file_names.rs` makes file names valid.
//! - `settings.rs` writes the settings, `export_index.rs` the index that an import reads, and `export_target.rs` is
//!   the folder or archive.
//! - `markdown.rs` and `html.rs` write for readers.
//!
//! To add a format: a variant of [`BranchExportFormat`], a file here that writes it, and its paragraph in
//! `docs/export.md`.

mod branch;
mod branch_files;
mod cast;
mod chat;
mod data_folder;
mod export_index;
mod export_names;
mod export_target;
mod file_names;
mod header;
mod html;
mod markdown;
mod readable;
mod readable_message;
mod sessions;
mod settings;
mod sillytavern;

use std::io::Write;

use clotho_core::ids::NodeId;
use clotho_store::{DatabaseSnapshot, SessionExportError, StoredSession};

pub use data_folder::{ExportOutcome, export_all};
pub use export_target::ExportTarget;

use branch::ExportBranch;
use cast::ExportCast;
use sillytavern::ChatLinks;

/// The file format of an exported branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchExportFormat {
    /// A SillyTavern chat.
    SillyTavern,
    /// Markdown, with all text escaped so that it reads as written.
    Markdown,
    /// One self-contained HTML page.
    Html,
}

impl BranchExportFormat {
    /// Returns the file extension of the format.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::SillyTavern => "jsonl",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }
}

/// Which branch to export, and how.
#[derive(Debug, Clone)]
pub struct BranchExportOptions<'a> {
    /// The last node of the branch.
    pub leaf: NodeId,
    pub format: BranchExportFormat,
    /// The tags whose blocks are hidden from readers.
    pub hide_tags: &'a [String],
}

/// Writes the branch from the root to a leaf and returns the writer. Returns `None` if the session has no such node.
///
/// # Errors
/// Returns an error if the database or the writer fails.
pub fn export_branch<W: Write>(
    snapshot: &mut DatabaseSnapshot,
    stored: &StoredSession,
    options: &BranchExportOptions<'_>,
    mut out: W,
) -> Result<Option<W>, SessionExportError> {
    let mut reader = snapshot.reader();
    let Some(leaf) = reader.node(stored, options.leaf)? else { return Ok(None) };
    let cast = ExportCast::read(&mut reader, stored)?;
    match options.format {
        BranchExportFormat::SillyTavern => {
            let line = ExportBranch::all_messages(&mut reader, stored, leaf)?;
            sillytavern::write(&mut reader, &line, &cast, &ChatLinks::default(), &mut out)?;
        }
        BranchExportFormat::Markdown | BranchExportFormat::Html => {
            let line = ExportBranch::visible_messages(&mut reader, stored, leaf)?;
            readable::write(&mut reader, &line, &cast, options, &mut out)?;
        }
    }
    out.flush()?;
    Ok(Some(out))
}
