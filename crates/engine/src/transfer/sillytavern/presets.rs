//! Imports presets: preset files, the regular expressions and global variables of the settings, and groups. They are
//! stored whole; the report says what has no effect here.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use clotho_compat::interop::preset::{self, PresetImportError, import_findings};
use clotho_compat::interop::{FindingDetail, FindingOutcome, FindingReason, ImportFinding};
use clotho_core::ids::PresetId;
use clotho_core::tree::preset::{MAX_BYTES, MAX_NAME_CHARS, validate_preset};
use clotho_store::StoredPreset;

use super::super::ForeignImportItem;
use super::super::file_container::SourceFile;
use super::super::import::ImportError;
use super::super::presets::put_preset_consent;
use super::data_folder::{DataFolder, SETTINGS};
use super::import_match::ImportDecision;
use super::{ForeignImport, unreadable};

/// A preset that was read.
struct FolderPreset<'a> {
    kind: &'static str,
    source_name: String,
    name: String,
    file: &'a str,
    body: Map<String, Value>,
}

impl ForeignImport<'_> {
    /// Imports the presets that make prompts. Sessions can choose one of them, so these come before the chats.
    pub async fn prompts(&mut self, root: &DataFolder) -> Result<(), ImportError> {
        self.preset_files(root, true).await
    }

    /// Imports the other presets.
    pub async fn presets(&mut self, root: &DataFolder) -> Result<(), ImportError> {
        self.preset_files(root, false).await?;
        self.regular_expressions().await?;
        self.variables().await
    }

    async fn preset_files(&mut self, root: &DataFolder, makes_prompts: bool) -> Result<(), ImportError> {
        for (kind, place) in root.presets.iter().filter(|(kind, _)| (*kind == "openai") == makes_prompts) {
            self.check_cancelled()?;
            match place.read() {
                Ok(bytes) => self.preset_file(kind, place, &bytes).await?,
                Err(error) => self.count_item(unreadable(&place.name, &error)),
            }
        }
        Ok(())
    }

    /// Imports the global variables.
    async fn variables(&mut self) -> Result<(), ImportError> {
        let Some(body) = self.settings.variables().cloned() else { return Ok(()) };
        let (key, name) = ("variables/global".to_owned(), "Global variables".to_owned());
        self.preset(FolderPreset { kind: "variables", source_name: key, name, file: SETTINGS, body }).await
    }

    async fn preset_file(&mut self, kind: &'static str, place: &SourceFile, bytes: &[u8]) -> Result<(), ImportError> {
        let body = match object(bytes) {
            Ok(body) => body,
            Err(reason) => {
                let why = ImportFinding::skipped(&FindingDetail::NoPreset { reason });
                self.count_item(ForeignImportItem::skipped("preset", place.stem(), why).from_file(&place.name));
                return Ok(());
            }
        };
        let own = body.get("name").and_then(Value::as_str).filter(|_| kind == "group").map(str::trim);
        let name = own.filter(|name| !name.is_empty()).unwrap_or(place.stem()).to_owned();
        let key = format!("{kind}/{}", place.stem());
        if kind == "group" && self.is_same_group(&key, &blake3::hash(bytes)).await? {
            return Ok(());
        }
        self.preset(FolderPreset { kind, source_name: key, name, file: &place.name, body }).await
    }

    /// Imports the global regular expressions, in the order in which they ran.
    async fn regular_expressions(&mut self) -> Result<(), ImportError> {
        let all = self.settings.all().pointer("/extension_settings/regex").and_then(Value::as_array);
        let all: Vec<Value> = all.cloned().unwrap_or_default();
        let mut keys = HashSet::new();
        for (place, script) in all.into_iter().enumerate() {
            self.check_cancelled()?;
            let Value::Object(body) = script else {
                let detail = FindingDetail::NoRegexScript { reason: FindingReason::NotARegex };
                let why = ImportFinding::skipped(&detail);
                self.count_item(ForeignImportItem::skipped("regex", (place + 1).to_string(), why).from_file(SETTINGS));
                continue;
            };
            let name = string_field(&body, "scriptName").unwrap_or(REGEX).to_owned();
            let key = regex_key(&body, place, &mut keys);
            self.preset(FolderPreset { kind: "regex", source_name: key, name, file: SETTINGS, body }).await?;
        }
        Ok(())
    }

    /// Stores a preset, unless it is known and unchanged.
    async fn preset(&mut self, found: FolderPreset<'_>) -> Result<(), ImportError> {
        let FolderPreset { kind, source_name, name, file, body } = found;
        if self.existing_export::<PresetId>(&source_name, &preset_fingerprint(&body)).await?.is_some() {
            return Ok(());
        }
        let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
        let findings = import_findings(kind, &body);
        let card = [("kind", kind.into()), ("name", name.clone().into()), ("file", file.into()), ("body", body.into())];
        let card: Map<String, Value> = card.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        let word = if kind == "regex" { "regex" } else { "preset" };
        if let Err(unfit) = validate_preset(&card) {
            let why = ImportFinding::skipped(&FindingDetail::Invalid { reason: unfit.message });
            self.count_item(ForeignImportItem::skipped(word, name, why).from_file(file));
            return Ok(());
        }
        let hash = blake3::hash(Value::from(card.clone()).to_string().as_bytes());
        let existing = self.match_item::<PresetId>(source_name).await?;
        if self.decide(&existing, &hash, &name, file) != ImportDecision::Import {
            return Ok(());
        }
        let (at, is_new) = (self.options.at, existing.stored.is_none());
        let id = existing.id_or(|| PresetId::new(self.ids.next_id(at)));
        let source = existing.source(id.as_bytes(), Some(hash), &card);
        self.result.totals.presets += 1;
        let mut item = ForeignImportItem::new(word, name, id).from_file(file).with_findings(findings);
        item.fate = item.findings.first().map_or(FindingOutcome::Kept, |finding| finding.fate);
        self.count_item(item);
        let preset = StoredPreset { id, card, created: at, updated: at };
        let is_trusted = self.options.is_trusted;
        self.store_with_source(source, move |tx, owner| {
            let known = tx.stored_preset_scripts(owner, preset.id)?;
            put_preset_consent(tx, owner, &preset, known.as_ref(), is_trusted)?;
            if is_new { tx.put_preset(owner, &preset) } else { tx.update_preset(owner, &preset) }
        })
        .await
    }
}

/// The name of a regular expression that has none.
const REGEX: &str = "regex";

/// Returns the source key of a regular expression of the settings; `place` is its index there.
pub fn regex_key(body: &Map<String, Value>, place: usize, keys: &mut HashSet<String>) -> String {
    let key = format!("regex/{}", string_field(body, "id").or(string_field(body, "scriptName")).unwrap_or(REGEX));
    if keys.insert(key.clone()) { key } else { format!("{key}#{place}") }
}

/// Returns a hash of the preset body, which shows whether it was changed.
pub fn preset_fingerprint(body: &Map<String, Value>) -> blake3::Hash {
    blake3::hash(json!(body).to_string().as_bytes())
}

fn string_field<'a>(body: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    body.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty())
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    match preset::read(bytes).map_err(|error| error.to_string())?.as_mut_slice() {
        [body] => Ok(std::mem::take(body)),
        _ => Err(PresetImportError::NoPreset.to_string()),
    }
}
