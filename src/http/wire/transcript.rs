//! Transcripts: one branch as a file, to keep, share or read elsewhere.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::ids::{WireId, WireNodeId, WireSessionId};
use super::node::ChatMessageNode;
use crate::http::response::FileResponseHead;
use clotho_core::ids::NodeId;
use clotho_core::tree::Session;
use clotho_queries::node_view::NodeView;
use clotho_queries::transcript::TranscriptStyle;

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

    /// Returns how texts are written; `None` for JSON.
    const fn style(self) -> Option<TranscriptStyle> {
        match self {
            Self::Markdown => Some(TranscriptStyle::Markdown),
            Self::Text => Some(TranscriptStyle::Text),
            Self::Json => None,
        }
    }

    /// Returns the text before the first message.
    pub fn header(self, session: &Session, leaf: NodeId) -> String {
        if let Some(style) = self.style() {
            return style.heading(&session.title);
        }
        let head = TranscriptHeader {
            session_id: WireId(session.id),
            title: &session.title,
            leaf_id: WireId(leaf),
            op: session.op,
        };
        let head = serde_json::to_string(&head).unwrap_or_default();
        format!("{},\"items\":[", head.strip_suffix('}').unwrap_or(&head))
    }

    /// Returns one message. Messages without text are empty except in JSON.
    pub fn message(self, view: NodeView, is_first: bool) -> String {
        if let Some(style) = self.style() {
            return style.message(&view);
        }
        let node = serde_json::to_string(&ChatMessageNode::from(view)).unwrap_or_default();
        if is_first { node } else { format!(",{node}") }
    }

    /// Returns the text after the last message.
    pub const fn footer(self) -> &'static str {
        if matches!(self, Self::Json) { "]}" } else { "" }
    }
}
