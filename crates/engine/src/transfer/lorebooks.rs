//! Imports lorebooks of other programs.

use std::path::Path;

use serde_json::{Map, Value};

use clotho_compat::interop::lorebook::{self, LorebookImportError};
use clotho_compat::interop::{FindingDetail, ImportFinding};
use clotho_compat::prompt::lore::TitleLabels;
use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::LorebookId;
use clotho_core::tree::card::ValidationError;
use clotho_core::tree::lorebook::validate_lorebook;
use clotho_plugin::{InitVarText, omitted_initial_values, unreadable_initial_values};
use clotho_store::Lorebook;

use super::report::ForeignImportItem;

/// The most characters of a lorebook name.
const LONGEST_NAME: usize = 200;
/// The most invalid entries or texts that a finding names.
const NAMED: usize = 20;

/// Why a lorebook is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LorebookRejection {
    #[error(transparent)]
    NoBook(#[from] LorebookImportError),
    /// It exceeds a limit.
    #[error(transparent)]
    Unfit(#[from] ValidationError),
}

/// Reads a lorebook of another program. One without a name gets that of its file.
///
/// # Errors
/// Returns an error if the file is no lorebook, or it exceeds a limit.
pub fn read_lorebook(
    file: &[u8],
    name: Option<&str>,
    ids: &IdGenerator,
    now: Time,
) -> Result<(Lorebook, ForeignImportItem), LorebookRejection> {
    let stem = name.and_then(|name| Path::new(name).file_stem()?.to_str()).unwrap_or_default();
    let lorebook::ImportedLorebook { book, invalid, findings } = lorebook::read_with_findings(file)?;
    let (book, mut item) = new_lorebook(book, stem, ids, now)?;
    item.findings.extend(invalid_entries_finding(&invalid));
    item.findings.extend(findings);
    item.file = name.map(str::to_owned);
    Ok((book, item))
}

/// Returns the finding for invalid entries, which are left out.
pub fn invalid_entries_finding(odd: &[String]) -> Option<ImportFinding> {
    let named: Vec<&str> = odd.iter().map(String::as_str).take(NAMED).collect();
    let more = if odd.len() > NAMED { ", …" } else { "" };
    let detail = FindingDetail::InvalidEntries { count: odd.len(), entries: format!("{}{more}", named.join(", ")) };
    (!odd.is_empty()).then(|| ImportFinding::skipped(&detail))
}

/// Converts a book in world info format.
///
/// # Errors
/// Returns an error if it exceeds a limit.
pub fn new_lorebook(
    mut book: Map<String, Value>,
    called: &str,
    ids: &IdGenerator,
    now: Time,
) -> Result<(Lorebook, ForeignImportItem), ValidationError> {
    let own = book.get("name").and_then(Value::as_str).map(str::trim).filter(|name| !name.is_empty());
    let called = own.unwrap_or(if called.trim().is_empty() { "Lorebook" } else { called.trim() });
    let called: String = called.chars().take(LONGEST_NAME).collect();
    book.insert("name".to_owned(), called.clone().into());
    validate_lorebook(&book)?;
    let id = LorebookId::new(ids.next_id(now));
    let split = lorebook::split_joined_keys(&mut book);
    let n = lorebook::entries(&book).len();
    let mut findings =
        if n == 0 { Vec::new() } else { vec![ImportFinding::works(&FindingDetail::LoreEntries { count: n })] };
    if split > 0 {
        findings.push(ImportFinding::translated(&FindingDetail::SplitLoreKeys { count: split }));
    }
    findings.extend(lorebook::silent_entry_findings(&book));
    let starts = initial_values(&book);
    findings.extend(omitted_values_finding(omitted_initial_values(&starts, "")));
    let unread =
        starts.into_iter().filter(|start| !unreadable_initial_values(std::slice::from_ref(start), "").is_empty());
    findings.extend(unreadable_values_finding(unread.map(|start| start.name).collect()));
    let item = ForeignImportItem::new("lorebook", called, id).with_findings(findings);
    Ok((Lorebook { id, card: book, created: now, updated: now }, item))
}

/// Returns the entries with initial values (InitVar), with macros replaced.
pub fn initial_values(book: &Map<String, Value>) -> Vec<InitVarText> {
    let entries = match book.get("entries") {
        Some(Value::Object(map)) => map.values().collect::<Vec<_>>(),
        Some(Value::Array(list)) => list.iter().collect(),
        _ => Vec::new(),
    };
    let text = |entry: &Value, key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let named = entries.into_iter().map(|entry| (text(entry, "comment"), entry));
    let begins = named.filter(|(title, _)| TitleLabels::read(title).is_initial_values());
    begins.map(|(name, entry)| InitVarText { name, text: without_macros(&text(entry, "content")) }).collect()
}

/// Replaces each macro by a word, because its value is unknown until a story begins.
pub fn without_macros(text: &str) -> String {
    let (mut output, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, inside)) = rest.split_once("{{") {
        let Some((_, after)) = inside.split_once("}}") else { break };
        output.push_str(before);
        output.push('x');
        rest = after;
    }
    output.push_str(rest);
    output
}

/// Returns the finding for initial values that cannot be parsed.
pub fn unreadable_values_finding(names: Vec<String>) -> Option<ImportFinding> {
    let finding = ImportFinding::kept(&FindingDetail::UnreadableVariables { count: names.len() });
    (!names.is_empty()).then(|| finding.with_names(names.into_iter().take(NAMED).collect()))
}

/// Returns the finding for initial values that are left out: the names of their texts, with the paths.
pub fn omitted_values_finding(omitted: Vec<(String, String)>) -> Option<ImportFinding> {
    let values: Vec<&str> = omitted.iter().map(|(_, values)| values.as_str()).take(NAMED).collect();
    let values: String = values.join(", ").chars().take(LONGEST_NAME).collect();
    let finding = ImportFinding::skipped(&FindingDetail::OmittedVariables { count: omitted.len(), values });
    (!omitted.is_empty()).then(|| finding.with_names(omitted.into_iter().map(|(name, _)| name).take(NAMED).collect()))
}
