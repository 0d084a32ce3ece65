//! Transcripts: one branch as a text, to keep, share or read elsewhere.

use clotho_compat::interop::text;
use clotho_core::ids::NodeId;
use clotho_store::{PathFilter, StoreReader, StoredSession};

use crate::error::ReadError;
use crate::lookup::{BranchEnd, branch_leaf};
use crate::node_view::{NodeRenderer, NodeView};

/// Number of messages held in memory at once.
const CHUNK_MESSAGES: usize = 32;

/// A branch at one moment: the rows of its messages, whose texts never change.
#[derive(Debug)]
pub struct Transcript {
    pub stored: StoredSession,
    pub leaf: NodeId,
    rows: Vec<i64>,
}

/// How a transcript is written for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TranscriptStyle {
    /// The title as a heading, then each message below its speaker's name.
    Markdown,
    /// Each message after its speaker's name.
    Text,
}

impl Transcript {
    /// Reads a branch: its enabled messages in order, or all nodes.
    ///
    /// # Errors
    /// Returns an error if the leaf does not exist.
    pub fn read(
        reader: &mut StoreReader<'_>,
        stored: &StoredSession,
        end: &BranchEnd,
        all: bool,
    ) -> Result<Self, ReadError> {
        let leaf = branch_leaf(reader, stored, end)?;
        let show = if all { PathFilter::All } else { PathFilter::Enabled };
        Ok(Self { stored: stored.clone(), leaf: leaf.node.id, rows: reader.path_rows(&leaf, show)? })
    }

    /// Returns the rows of its messages in chunks, for [`read_messages`]. However long the branch is, only one chunk of
    /// texts is in memory.
    pub fn chunks(&self) -> Vec<Vec<i64>> {
        self.rows.chunks(CHUNK_MESSAGES).map(<[i64]>::to_vec).collect()
    }
}

/// Reads the messages of a chunk.
///
/// # Errors
/// Returns an error if one was purged meanwhile. A truncated file is better than one that hides the gap.
pub fn read_messages(
    reader: &mut StoreReader<'_>,
    stored: &StoredSession,
    look: &NodeRenderer,
    rows: &[i64],
) -> Result<Vec<NodeView>, ReadError> {
    let placed = reader.nodes_by_row(stored, rows)?;
    if placed.len() < rows.len() {
        return Err(ReadError::Purged);
    }
    Ok(reader.node_details(placed)?.into_iter().map(|dressed| look.node(dressed)).collect())
}

impl TranscriptStyle {
    /// Returns the text before the first message.
    pub fn heading(self, title: &str) -> String {
        let title = one_line(title);
        match self {
            _ if title.is_empty() => String::new(),
            Self::Markdown => format!("# {title}\n\n"),
            Self::Text => format!("{title}\n\n"),
        }
    }

    /// Returns one message; nothing if it has no text.
    pub fn message(self, view: &NodeView) -> String {
        let shown = text::trim_blank_lines(view.shown_text());
        let speaker = one_line(view.node.name.as_deref().unwrap_or(view.node.role.as_str()));
        match self {
            _ if shown.is_empty() => String::new(),
            Self::Markdown => {
                // An unclosed code block would swallow all later messages.
                let fence = open_fence(shown).map_or_else(String::new, |fence| format!("\n{fence}"));
                format!("**{speaker}**\n\n{shown}{fence}\n\n")
            }
            Self::Text => format!("{speaker}: {shown}\n\n"),
        }
    }
}

/// Returns the fence that closes the code block a text leaves open (CommonMark, fenced code blocks).
fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let indent = line.chars().take_while(|c| *c == ' ').count();
        let line = line.trim_start_matches(' ');
        let Some(mark) = line.chars().next().filter(|c| matches!(c, '`' | '~') && indent < 4) else { continue };
        let length = line.chars().take_while(|c| *c == mark).count();
        let rest = line.trim_start_matches(mark);
        open = match open {
            None if length >= 3 && (mark == '~' || !rest.contains('`')) => Some((mark, length)),
            Some((begun, least)) if mark == begun && length >= least && rest.trim().is_empty() => None,
            unchanged => unchanged,
        };
    }
    open.map(|(mark, length)| mark.to_string().repeat(length))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transcript_unclosed_code_fence_is_found() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(open_fence(text).as_deref(), expected, "{text:?}");
        check("Plain.", None);
        check("```rust\nlet a;", Some("```"));
        check("```rust\nlet a;\n```", None);
        check("   ~~~~\ncode\n~~~", Some("~~~~"));
        check("````\n```\n", Some("````"));
        check("```\n```rust\n", Some("```"));
        check("``` not `a` fence\ntext", None);
        check("    ```\nindented code", None);
        check("```\na\n```\n\n~~~\nb", Some("~~~"));
        check("``\ntwo are none", None);
    }
}
