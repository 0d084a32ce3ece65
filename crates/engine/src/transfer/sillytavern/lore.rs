//! Imports lorebooks: each file of the folder `worlds` is one. Cards, personas and chats refer to them by file name.

use std::collections::HashSet;

use serde_json::{Map, Value};

use clotho_compat::interop::lorebook;
use clotho_compat::interop::{FindingDetail, FindingOutcome, ImportFinding};
use clotho_compat::prompt::lore;
use clotho_core::ids::LorebookId;
use clotho_store::{BindingTarget, StoreError};

use super::super::ForeignImportItem;
use super::super::file_container::SourceFile;
use super::super::import::ImportError;
use super::super::lorebooks::read_lorebook;
use super::data_folder::DataFolder;
use super::data_folder::SETTINGS;
use super::import_match::ImportDecision;
use super::{ForeignImport, unreadable};

/// An imported lorebook.
#[derive(Debug)]
pub struct FolderLorebook {
    pub id: LorebookId,
    file: SourceFile,
}

impl FolderLorebook {
    /// Whether it has every entry of another lorebook, compared by keys and content.
    pub fn has_all(&self, other: &Map<String, Value>) -> bool {
        let Some(own) = self.file.read().ok().and_then(|bytes| lorebook::read(&bytes).ok()) else { return false };
        let settings =
            |entry: &Map<String, Value>| [entry.get("key"), entry.get("content")].map(|one| one.map(Value::to_string));
        let own: HashSet<_> = lorebook::entries(&own).into_iter().map(settings).collect();
        lorebook::entries(other).into_iter().all(|entry| own.contains(&settings(entry)))
    }
}

impl ForeignImport<'_> {
    /// Imports all lorebooks of the folder.
    pub async fn lorebooks(&mut self, root: &DataFolder) -> Result<(), ImportError> {
        for place in &root.worlds {
            self.check_cancelled()?;
            match place.read() {
                Ok(bytes) => {
                    if let Some(id) = self.lorebook(place, &bytes).await? {
                        self.books.insert(place.stem().to_owned(), FolderLorebook { id, file: place.clone() });
                    }
                }
                Err(error) => self.count_item(unreadable(&place.name, &error)),
            }
        }
        Ok(())
    }

    /// Imports a lorebook unless it is known and unchanged. Returns its id; `None` if it cannot be read or was
    /// deleted here.
    pub(in crate::transfer) async fn lorebook(
        &mut self,
        place: &SourceFile,
        bytes: &[u8],
    ) -> Result<Option<LorebookId>, ImportError> {
        let (name, hash) = (format!("worlds/{}", place.stem()), blake3::hash(bytes));
        if let Some(id) = self.existing_export::<LorebookId>(&name, &hash).await? {
            return Ok(Some(id));
        }
        let existing = self.match_item::<LorebookId>(name).await?;
        let (mut book, mut item) = match read_lorebook(bytes, Some(&place.name), self.ids, self.options.at) {
            Ok(import) => import,
            Err(error) => {
                let why = ImportFinding::skipped(&FindingDetail::NoLorebook { reason: error.to_string() });
                self.count_item(ForeignImportItem::skipped("lorebook", place.stem(), why).from_file(&place.name));
                return Ok(None);
            }
        };
        book.id = existing.id_or(|| book.id);
        match self.decide(&existing, &hash, place.stem(), &place.name) {
            ImportDecision::Import => {}
            ImportDecision::KeepExisting => return Ok(Some(book.id)),
            ImportDecision::Deleted => return Ok(None),
        }
        let (id, is_new) = (book.id, existing.stored.is_none());
        if let Some(stored) = &existing.stored {
            book.created = stored.created;
        }
        item.id = Some(id.to_string());
        let is_for_all = self.settings.is_for_all(place.stem());
        if is_for_all {
            item.findings.push(ImportFinding::works(&FindingDetail::GlobalLorebook {}));
        }
        let source = existing.source(id.as_bytes(), Some(hash), &book.card);
        self.result.totals.lorebooks += 1;
        self.count_item(item);
        self.store_with_source(source, move |tx, owner| {
            if is_new { tx.put_lorebook(owner, &book) } else { tx.update_lorebook(owner, &book) }?;
            if is_for_all { tx.bind_lorebook(owner, id, BindingTarget::Everything) } else { Ok(()) }
        })
        .await?;
        Ok(Some(id))
    }

    /// Imports the global lorebook settings, unless the user has set them here already.
    pub async fn lore_settings(&mut self) -> Result<(), ImportError> {
        let Some(wanted) = self.settings.lore() else { return Ok(()) };
        let owner = self.options.owner;
        let stored = self.store.read::<_, StoreError, _>(move |reader| reader.lore_settings(owner)).await?;
        if lore::WorldInfoSettings::from_stored(stored.clone()) == wanted {
            return Ok(());
        }
        let finding = if stored.is_some() {
            ImportFinding::skipped(&FindingDetail::OwnLoreSettings {})
        } else {
            ImportFinding::works(&FindingDetail::LoreSettings {})
        };
        let (fate, file) = (finding.fate, self.settings.file().to_owned());
        self.add_item(ForeignImportItem {
            fate,
            ..ForeignImportItem::skipped("file", SETTINGS, finding).from_file(file)
        });
        if fate == FindingOutcome::Works && !self.options.is_dry {
            self.store.write(move |tx| tx.set_lore_settings(owner, Some(&wanted.to_stored()))).await?;
        }
        Ok(())
    }

    /// Returns the imported lorebook with this name.
    pub fn imported_lorebook(&self, name: &str) -> Option<LorebookId> {
        self.books.get(name).map(|book| book.id)
    }
}
