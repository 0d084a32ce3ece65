//! The header of an exported chat: as it was imported, if it was, with the current variables and author's note.

use serde_json::{Map, Value, json};

use clotho_core::tree::AuthorsNote;
use clotho_store::{SourceRecord, StoreError, StoreReader};

use super::super::sillytavern::STATE;
use super::branch::ExportBranch;

/// Returns the header of the file from which the branch was imported, else a new one. Of several files, the one that
/// ends furthest along the branch counts.
pub fn chat_header(reader: &mut StoreReader<'_>, line: &ExportBranch) -> Result<Map<String, Value>, StoreError> {
    let session = &line.stored.session;
    let sources = reader.sources_of(session.owner, session.id.as_bytes())?;
    let own = furthest_source(reader, line, &sources)?.and_then(|source| source.header.as_deref());
    let mut header = match own.and_then(|text| serde_json::from_str(text).ok()) {
        Some(Value::Object(map)) if !map.is_empty() => map,
        _ => new_header(line),
    };
    let world = reader.world(&line.stored, &line.leaf)?;
    let metadata = header.entry("chat_metadata").or_insert_with(|| json!({}));
    if let Some(metadata) = metadata.as_object_mut() {
        let vars = world.vars.iter().filter(|(key, _)| *key != STATE);
        set_variables(metadata, vars.map(|(key, value)| (key.clone(), value.clone())).collect());
        if !has_imported_note(&sources, session.note.as_ref()) {
            set_note(metadata, session.note.as_ref());
        }
    }
    Ok(header)
}

/// Returns the source whose end lies furthest along the branch, else the first.
fn furthest_source<'a>(
    reader: &mut StoreReader<'_>,
    line: &ExportBranch,
    sources: &'a [SourceRecord],
) -> Result<Option<&'a SourceRecord>, StoreError> {
    let files: Vec<&SourceRecord> = sources.iter().filter(|source| source.header.is_some()).collect();
    if let Some(own) = files.iter().find(|source| source.node == Some(line.leaf.node.id)) {
        return Ok(Some(own));
    }
    let ends: Vec<_> = files.iter().filter_map(|source| source.node).collect();
    let spots = reader.node_positions(&line.stored, &ends)?;
    let passed = reader.positions_on_path(&line.stored, line.leaf.node.id, &spots)?;
    let furthest = spots.iter().filter(|spot| passed.contains(&spot.id)).max_by_key(|spot| spot.depth);
    let ends_there = |source: &&&SourceRecord| furthest.is_some_and(|spot| source.node == Some(spot.id));
    Ok(files.iter().find(ends_there).or(files.first()).copied())
}

/// Whether an imported file has the current author's note. In that case each file keeps its own.
fn has_imported_note(sources: &[SourceRecord], now: Option<&AuthorsNote>) -> bool {
    let headers = sources.iter().filter_map(|source| serde_json::from_str::<Value>(source.header.as_deref()?).ok());
    let mut notes = headers.map(|header| AuthorsNote::from_chat_metadata(header.get("chat_metadata")?.as_object()?));
    let of_chats = |note: &AuthorsNote| AuthorsNote { is_for_lore: false, ..note.clone() };
    match now.map(of_chats) {
        Some(now) => notes.any(|note| note.as_ref() == Some(&now)),
        None => notes.all(|note| note.is_none()),
    }
}

/// Writes the current author's note.
fn set_note(metadata: &mut Map<String, Value>, note: Option<&AuthorsNote>) {
    match note {
        Some(note) => metadata.extend(note.to_chat_metadata().map(|(key, value)| (key.to_owned(), value))),
        None => _ = metadata.get_mut("note_prompt").map(|text| *text = "".into()),
    }
}

/// Writes the current variables, keeping the old order of keys.
fn set_variables(metadata: &mut Map<String, Value>, mut now: Map<String, Value>) {
    let was = metadata.get("variables").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut ordered: Map<String, Value> = was.keys().filter_map(|key| now.shift_remove_entry(key)).collect();
    ordered.extend(now);
    if !ordered.is_empty() || metadata.contains_key("variables") {
        metadata.insert("variables".into(), Value::Object(ordered));
    }
}

fn new_header(line: &ExportBranch) -> Map<String, Value> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(line.stored.session.id.as_bytes()).update(line.leaf.node.id.as_bytes());
    let mut bytes = [0; 16];
    hasher.finalize_xof().fill(&mut bytes);
    let integrity = uuid::Builder::from_random_bytes(bytes).into_uuid().to_string();
    let metadata = json!({"integrity": integrity, "variables": {}});
    ["chat_metadata", "user_name", "character_name"]
        .into_iter()
        .map(str::to_owned)
        .zip([metadata, "unused".into(), "unused".into()])
        .collect()
}
