//! Writes a branch for readers: who takes part, the dates, and what was said. It contains no fixed words, so it suits
//! any language.

use std::collections::HashSet;
use std::io::Write;

use clotho_compat::interop::text;
use clotho_compat::prompt::tags;
use clotho_core::clock::Time;
use clotho_core::tree::{Node, Role};
use clotho_store::{CardFile, SessionExportError, StoreError, StoreReader};

use super::branch::ExportBranch;
use super::cast::ExportCast;
use super::readable_message::{ReadableHeader, ReadableMessage};
use super::{BranchExportFormat, BranchExportOptions, html, markdown};

/// Writes a branch as Markdown or HTML.
pub fn write<W: Write>(
    reader: &mut StoreReader<'_>,
    line: &ExportBranch,
    cast: &ExportCast,
    options: &BranchExportOptions<'_>,
    out: &mut W,
) -> Result<(), SessionExportError> {
    let title = title(reader, line, cast)?;
    let is_html = options.format == BranchExportFormat::Html;
    out.write_all(if is_html { html::header(&title) } else { markdown::header(&title) }.as_bytes())?;
    line.messages(reader, |_, placed| {
        let node = &placed.node;
        let hidden = tags::hide_for_reader(&node.content, node.reasoning.is_some(), options.hide_tags);
        let text = text::trim_blank_lines(hidden.as_deref().unwrap_or(&node.content));
        if text.is_empty() {
            return Ok::<_, SessionExportError>(());
        }
        let passage = ReadableMessage { name: name(cast, node), role: node.role, text };
        let written = if is_html { html::message(&passage) } else { markdown::message(&passage) };
        Ok(out.write_all(written.as_bytes())?)
    })?;
    Ok(out.write_all(if is_html { html::END } else { "" }.as_bytes())?)
}

/// Returns the speaker; empty for system messages without a name.
fn name(cast: &ExportCast, node: &Node) -> String {
    let is_nobody = node.role == Role::System && node.name.is_none();
    if is_nobody { String::new() } else { one_line(&cast.name(node)) }
}

fn title(reader: &mut StoreReader<'_>, line: &ExportBranch, cast: &ExportCast) -> Result<ReadableHeader, StoreError> {
    let owner = line.stored.session.owner;
    let mut all = Vec::new();
    for character in &cast.characters {
        all.push((one_line(&character.name), reader.card_file(owner, character.id.uuid(), CardFile::THUMBNAIL)?));
    }
    if let (Some(name), Some(persona)) = (&cast.persona, &line.stored.session.persona) {
        all.push((one_line(name), reader.card_file(owner, persona.id.uuid(), CardFile::THUMBNAIL)?));
    }
    let mut seen = HashSet::new();
    all.retain(|(name, _)| !name.is_empty() && seen.insert(name.clone()));
    let ends = line.span(reader)?;
    let mut days: Vec<String> = ends.into_iter().flat_map(|(first, last)| [day(first), day(last)]).collect();
    days.dedup();
    Ok(ReadableHeader { name: one_line(&line.stored.session.title), cast: all, days })
}

fn day(time: Time) -> String {
    time.to_string().chars().take_while(|c| *c != 'T').collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
