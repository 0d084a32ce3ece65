//! A line as a chat of SillyTavern: the header, then one message a line, and nothing after the last.

use std::io::{self, Write};

use serde_json::Value;

use crate::interop::chat;
use crate::store::{ExportError, Reader};

use super::cast::Cast;
use super::chat::{Chat, STATE};
use super::header;
use super::line::Line;

/// Writes a chat.
pub fn write<W: Write>(reader: &mut Reader<'_>, line: &Line, cast: &Cast, out: &mut W) -> Result<(), ExportError> {
    put(out, &Value::Object(header::of(reader, line)?))?;
    let has_state = reader.world(&line.held, &line.leaf)?.vars.contains_key(STATE);
    let mut chat = Chat { held: &line.held, cast, has_state, before: None };
    line.told(reader, |reader, told| {
        if let Some(row) = chat.row(reader, &told)? {
            out.write_all(b"\n")?;
            put(out, &Value::Object(chat::line(&row)))?;
        }
        Ok(())
    })
}

fn put<W: Write>(out: &mut W, line: &Value) -> io::Result<()> {
    Ok(serde_json::to_writer(out, line)?)
}
