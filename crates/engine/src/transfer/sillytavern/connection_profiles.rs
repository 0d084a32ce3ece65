//! Imports the connection profiles of the settings. Only their names and presets are imported: a profile of SillyTavern
//! names a kind of server there, and keys stay where they are. The report asks for the model.

use std::collections::HashSet;

use serde_json::Value;

use clotho_compat::interop::{FindingDetail, FindingOutcome, ImportFinding};
use clotho_core::ids::{ConnectionProfileId, PresetId};
use clotho_core::tree::ConnectionSettings;
use clotho_core::tree::limits::{MAX_PROFILE_NAME_CHARS, check_profile_name};
use clotho_store::{ConnectionProfile, SourceRecord, StoreReader};

use super::super::ForeignImportItem;
use super::super::import::ImportError;
use super::ForeignImport;

/// The most profiles that are imported from one file.
const MAX_PROFILES: usize = 500;

impl ForeignImport<'_> {
    /// Imports the connection profiles that were not imported before, unless a profile here has the name.
    pub async fn connection_profiles(&mut self) -> Result<(), ImportError> {
        let all =
            self.settings.all().pointer("/extension_settings/connectionManager/profiles").and_then(Value::as_array);
        let all: Vec<Value> = all.into_iter().flatten().take(MAX_PROFILES).cloned().collect();
        if all.is_empty() {
            return Ok(());
        }
        let mut taken = self.profile_names().await?;
        for profile in &all {
            self.check_cancelled()?;
            let name = profile.get("name").and_then(Value::as_str).unwrap_or_default().trim();
            let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_PROFILE_NAME_CHARS).collect();
            if check_profile_name(&name).is_ok() && taken.insert(name.clone()) {
                self.connection_profile(profile, name).await?;
            }
        }
        Ok(())
    }

    async fn connection_profile(&mut self, profile: &Value, name: String) -> Result<(), ImportError> {
        let key = profile.get("id").and_then(Value::as_str).unwrap_or(&name);
        let key = format!("connectionProfile/{key}");
        let (owner, wanted) = (self.options.owner, key.clone());
        let read = move |reader: &mut StoreReader<'_>| Ok::<_, ImportError>(reader.source(owner, &wanted)?.is_some());
        if self.dry_run.source(&key).is_some() || self.store.read(read).await? {
            self.result.totals.known += 1;
            return Ok(());
        }
        let settings = ConnectionSettings { preset: self.preset_of(profile).await?, ..ConnectionSettings::default() };
        let at = self.options.at;
        let id = ConnectionProfileId::new(self.ids.next_id(at));
        let finding = ImportFinding::kept(&FindingDetail::ConnectionProfileModel {});
        let mut item = ForeignImportItem::new("profile", name.clone(), id).from_file(self.settings.file().to_owned());
        (item.fate, item.findings) = (FindingOutcome::Kept, vec![finding]);
        self.count_item(item);
        let new = ConnectionProfile { id, name, settings, created: at, updated: at };
        let source = SourceRecord::new(key, id.as_bytes());
        self.store_with_source(source, move |tx, owner| tx.put_connection_profile(owner, &new)).await
    }

    /// Returns the imported preset that a profile for chat completion names.
    async fn preset_of(&self, profile: &Value) -> Result<Option<PresetId>, ImportError> {
        let text = |key: &str| profile.get(key).and_then(Value::as_str);
        let Some(preset) = text("preset").filter(|_| text("mode") == Some("cc")) else { return Ok(None) };
        let found = self.match_item::<PresetId>(format!("openai/{preset}")).await?;
        Ok(found.existing_id())
    }

    /// Returns the names of the owner's profiles.
    async fn profile_names(&self) -> Result<HashSet<String>, ImportError> {
        let owner = self.options.owner;
        let read = move |reader: &mut StoreReader<'_>| {
            Ok::<_, ImportError>(reader.connection_profiles(owner, 0, i64::from(u32::MAX))?)
        };
        Ok(self.store.read(read).await?.into_iter().map(|profile| profile.name).collect())
    }
}
