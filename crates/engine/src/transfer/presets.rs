//! Imports single preset files of other programs.

use std::path::Path;

use serde_json::{Map, Value};

use clotho_compat::interop::FindingOutcome;
use clotho_compat::interop::preset::{self, PresetImportError, import_findings};
use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{PresetId, UserId};
use clotho_core::tree::card::ValidationError;
use clotho_core::tree::preset::{MAX_NAME_CHARS, validate_preset};
use clotho_store::{StoredPreset, Tx, WriteError, preset_scripts};

use super::report::{ForeignImportItem, ForeignImportReport};

/// Why a preset file is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PresetRejection {
    /// The file has no preset.
    #[error(transparent)]
    NoPreset(#[from] PresetImportError),
    /// A preset exceeds a limit.
    #[error(transparent)]
    Unfit(#[from] ValidationError),
}

/// Reads the presets of a file. `kind` is used for all of them, else each must show its own; the file name is the
/// name of a preset without one.
///
/// # Errors
/// Returns an error if the file has no preset, or one of unknown kind, or one that exceeds a limit.
pub fn read_presets(
    file: &[u8],
    name: Option<&str>,
    kind: Option<&str>,
    ids: &IdGenerator,
    now: Time,
) -> Result<(Vec<StoredPreset>, ForeignImportReport), PresetRejection> {
    let stem = name.and_then(|name| Path::new(name).file_stem()?.to_str()).map(str::trim).unwrap_or_default();
    let (mut presets, mut report) = (Vec::new(), ForeignImportReport::default());
    for body in preset::read(file)? {
        let kind = kind.or_else(|| preset::kind_of(&body)).ok_or(PresetImportError::NoKind)?;
        let called = preset::embedded_name(&body).unwrap_or(if stem.is_empty() { "Preset" } else { stem });
        let called: String = called.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
        let findings = import_findings(kind, &body);
        let card = [("kind", Value::from(kind)), ("name", called.clone().into()), ("body", body.into())];
        let mut card: Map<String, Value> = card.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        card.extend(name.map(|name| ("file".to_owned(), name.into())));
        validate_preset(&card)?;
        let id = PresetId::new(ids.next_id(now));
        let mut item = ForeignImportItem::new(if kind == "regex" { "regex" } else { "preset" }, called, id)
            .with_findings(findings);
        item.fate = item.findings.first().map_or(FindingOutcome::Kept, |finding| finding.fate);
        item.file = name.map(str::to_owned);
        report.items.push(item);
        presets.push(StoredPreset { id, card, created: now, updated: now });
    }
    Ok((presets, report))
}

/// Asks the owner about the regex scripts of an imported preset, or allows them if its file is trusted. `known`: the
/// scripts of the stored preset that it replaces; nobody is asked about the same ones.
///
/// # Errors
/// Returns an error if the owner does not exist or the database fails.
pub fn put_preset_consent(
    tx: &mut Tx<'_>,
    owner: UserId,
    preset: &StoredPreset,
    known: Option<&Value>,
    is_trusted: bool,
) -> Result<(), WriteError> {
    let scripts = preset_scripts(&preset.card);
    let scripts = scripts.as_ref();
    if is_trusted { tx.answer_for_scripts(owner, scripts, true) } else { tx.ask_for_scripts(owner, scripts, known) }
}
