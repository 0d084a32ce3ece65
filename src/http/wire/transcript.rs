//! Transcripts: one branch as a file, to keep, share or read elsewhere.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireId, WireNodeId, WireSessionId};
use super::node::{ChatMessageNode, NodeRenderer};
use crate::http::response::FileResponseHead;
use clotho_compat::interop::text;
use clotho_core::ids::NodeId;
use clotho_core::tree::Session;
use clotho_store::NodeDetails;

/// The format of a transcript.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum TranscriptFormat {
    /// The title as a heading, then each message below its speaker's name.
    #[default]
    Markdown,
    /// Each message after its speaker's name.
    Text,
    /// `{sessionId, title, leafId, op, items}`: every message with all fields.
    Json,
}

/// The branch and the format.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct TranscriptQuery {
    /// Leaf of the branch; default HEAD.
    #[param(value_type = Option<String>)]
    pub leaf: Option<WireNodeId>,
    /// Alternatively, the label of the leaf.
    pub label: Option<String>,
    /// Format of the file; default `markdown`.
    #[param(inline)]
    pub format: Option<TranscriptFormat>,
    /// Include disabled nodes, `change` nodes and the root; default false.
    pub all: bool,
}

/// The fields before the messages in the JSON format.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TranscriptHeader<'a> {
    session_id: WireSessionId,
    title: &'a str,
    leaf_id: WireNodeId,
    op: i64,
}

/// Maximum length of a file name in characters, without the extension.
const MAX_NAME_CHARS: usize = 80;

impl TranscriptFormat {
    /// Returns the media type and the name of the file.
    pub fn file_head(self, title: &str) -> FileResponseHead {
        let (kind, ending) = match self {
            Self::Markdown => ("text/markdown; charset=utf-8", "md"),
            Self::Text => ("text/plain; charset=utf-8", "txt"),
            Self::Json => ("application/json", "json"),
        };
        let words: Vec<&str> = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let name: String = words.join("-").chars().take(MAX_NAME_CHARS).collect();
        let name = if name.is_empty() { "story" } else { &name };
        FileResponseHead { kind, name: format!("{name}.{ending}") }
    }

    /// Returns the text before the first message.
    pub fn header(self, session: &Session, leaf: NodeId) -> String {
        let title = one_line(&session.title);
        match self {
            Self::Json => {
                let head = TranscriptHeader {
                    session_id: WireId(session.id),
                    title: &session.title,
                    leaf_id: WireId(leaf),
                    op: session.op,
                };
                let head = serde_json::to_string(&head).unwrap_or_default();
                format!("{},\"items\":[", head.strip_suffix('}').unwrap_or(&head))
            }
            _ if title.is_empty() => String::new(),
            Self::Markdown => format!("# {title}\n\n"),
            Self::Text => format!("{title}\n\n"),
        }
    }

    /// Returns one message. Messages without text are empty except in JSON.
    pub fn message(self, look: &NodeRenderer, dressed: NodeDetails, is_first: bool) -> String {
        let node = look.node(dressed);
        if self == Self::Json {
            let node = serde_json::to_string(&node).unwrap_or_default();
            return if is_first { node } else { format!(",{node}") };
        }
        let shown = text::trim_blank_lines(node.display.as_deref().unwrap_or(&node.content));
        let speaker = one_line(&speaker(&node));
        match self {
            _ if shown.is_empty() => String::new(),
            Self::Markdown => {
                // An unclosed code block would swallow all later messages.
                let fence = open_fence(shown).map_or_else(String::new, |fence| format!("\n{fence}"));
                format!("**{speaker}**\n\n{shown}{fence}\n\n")
            }
            _ => format!("{speaker}: {shown}\n\n"),
        }
    }

    /// Returns the text after the last message.
    pub const fn footer(self) -> &'static str {
        if matches!(self, Self::Json) { "]}" } else { "" }
    }
}

fn speaker(node: &ChatMessageNode) -> String {
    node.name.clone().unwrap_or_else(|| clotho_core::tree::Role::from(node.role).word().to_owned())
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
