//! Writes a branch as a SillyTavern chat: the header, then one message per line, without a final newline.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Map, Value};

use clotho_compat::interop::chat;
use clotho_core::ids::NodeId;
use clotho_store::{SessionExportError, StoreReader};

use super::super::sillytavern::STATE;
use super::branch::ExportBranch;
use super::cast::ExportCast;
use super::chat::ChatExport;
use super::header;

/// How the chats of a folder refer to each other.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChatLinks<'a> {
    /// The chat from which this one branches off.
    pub parent: Option<&'a str>,
    /// The bookmark files, by the message at which they end.
    pub bookmarks: Option<&'a HashMap<NodeId, String>>,
    /// The picture file of the persona.
    pub persona: Option<&'a str>,
    /// The message whose number in the file is wanted.
    pub wanted: Option<NodeId>,
}

/// The result of writing a chat.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChatWriteResult {
    /// The number of messages in the file.
    pub messages: u64,
    /// The number of the wanted message, counted from 1.
    pub wanted: Option<u64>,
}

impl ChatLinks<'_> {
    /// Adds the links to a header that does not have them.
    fn fill_header(&self, header: &mut Map<String, Value>) {
        let Some(metadata) = header.get_mut("chat_metadata").and_then(Value::as_object_mut) else { return };
        for (key, value) in [("main_chat", self.parent), ("persona", self.persona)] {
            if let Some(value) = value {
                metadata.entry(key).or_insert_with(|| value.into());
            }
        }
    }
}

/// Writes a chat.
pub fn write<W: Write>(
    reader: &mut StoreReader<'_>,
    line: &ExportBranch,
    cast: &ExportCast,
    links: &ChatLinks<'_>,
    out: &mut W,
) -> Result<ChatWriteResult, SessionExportError> {
    let mut header = header::chat_header(reader, line)?;
    links.fill_header(&mut header);
    put(out, &Value::Object(header))?;
    let has_state = reader.world(&line.stored, &line.leaf)?.vars.contains_key(STATE);
    let mut chat =
        ChatExport { stored: &line.stored, cast, bookmarks: links.bookmarks, has_state, previous_variables: None };
    let mut written = ChatWriteResult::default();
    line.messages_with_siblings(reader, |reader, message| {
        if let Some(row) = chat.row(reader, &message)? {
            out.write_all(b"\n")?;
            put(out, &Value::Object(chat::message_line(&row)))?;
            written.messages += 1;
        }
        if links.wanted == Some(message.message.node.id) {
            written.wanted = Some(written.messages);
        }
        Ok::<_, SessionExportError>(())
    })?;
    Ok(written)
}

fn put<W: Write>(out: &mut W, line: &Value) -> io::Result<()> {
    Ok(serde_json::to_writer(out, line)?)
}
