//! Out of this server in forms that others read: one line of a tree as a chat of SillyTavern, or as a file for readers; and
//! everything as a folder that SillyTavern opens.
//!
//! `branch.rs` walks a line piece by piece, so that neither it nor its tree is ever whole in memory; `cast.rs` knows who speaks.
//! `chat.rs` makes a message of another program of a node, which undoes what `sillytavern/message_to_node.rs` does, `header.rs` what
//! stands before the messages; `sillytavern.rs` writes both. `data_folder.rs` writes all of a user's as a folder of the other program:
//! `branch_files.rs` says which lines go out and how their files are called, `sessions.rs` writes them, `file_names.rs` says what may be a
//! name, `settings.rs` has the settings, `export_index.rs` what an import here or elsewhere has to know, and `export_target.rs` is where all of
//! it goes. `markdown.rs` and `html.rs` write for people.
//!
//! To add a form: a variant of [`BranchExportFormat`], a file here that writes it, and its paragraph in `docs/export.md`.

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

/// In which form a line goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchExportFormat {
    /// A chat of SillyTavern.
    SillyTavern,
    /// Markdown, in which every text reads as it was written.
    Markdown,
    /// One page of HTML that needs nothing else.
    Html,
}

impl BranchExportFormat {
    /// How the names of its files end.
    pub const fn extension(self) -> &'static str {
        match self {
            Self::SillyTavern => "jsonl",
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }
}

/// Which line goes out, and in which form.
#[derive(Debug, Clone)]
pub struct BranchExportOptions<'a> {
    /// The last message.
    pub leaf: NodeId,
    /// The form.
    pub format: BranchExportFormat,
    /// The tags whose blocks readers never see.
    pub hide_tags: &'a [String],
}

/// Writes the line from the root to a leaf; the bytes go back. `None`: no node of the session has that id.
///
/// # Errors
/// The database or the bytes fail.
pub fn export_branch<W: Write>(
    snapshot: &mut DatabaseSnapshot,
    held: &StoredSession,
    wish: &BranchExportOptions<'_>,
    mut out: W,
) -> Result<Option<W>, SessionExportError> {
    let mut reader = snapshot.reader();
    let Some(leaf) = reader.node(held, wish.leaf)? else { return Ok(None) };
    let cast = ExportCast::of(&mut reader, held)?;
    match wish.format {
        BranchExportFormat::SillyTavern => {
            let line = ExportBranch::all_messages(&mut reader, held, leaf)?;
            sillytavern::write(&mut reader, &line, &cast, &ChatLinks::default(), &mut out)?;
        }
        BranchExportFormat::Markdown | BranchExportFormat::Html => {
            let line = ExportBranch::visible_messages(&mut reader, held, leaf)?;
            readable::write(&mut reader, &line, &cast, wish, &mut out)?;
        }
    }
    out.flush()?;
    Ok(Some(out))
}
