//! Recognizes what was imported before, by its name in the folder. A second run compares the file with its old hash,
//! and the stored thing with what was imported.

use serde_json::{Map, Value, json};

use clotho_compat::interop::{FindingDetail, FindingOutcome, ImportFinding};
use clotho_core::ids::{CharacterId, LorebookId, PersonaId, PresetId, UserId};
use clotho_store::{LibraryItem, SourceRecord, StoreError, StoreReader};

use super::super::ForeignImportItem;
use super::super::import::ImportError;
use super::ForeignImport;

/// The id of a library item that can be imported from a folder.
pub trait ImportableId: Copy + std::fmt::Display + Send + 'static {
    /// The name of the kind in the report.
    const KIND: &'static str;

    /// Returns the id with these sixteen bytes.
    fn from_slice(bytes: &[u8]) -> Option<Self>;

    /// Reads the item with this id if `owner` has it.
    fn held(self, reader: &mut StoreReader<'_>, owner: UserId) -> Result<Option<LibraryItem<Self>>, StoreError>;
}

macro_rules! importable_ids {
    ($($id:ident $kind:literal $get:ident;)*) => {$(
        impl ImportableId for $id {
            const KIND: &'static str = $kind;

            fn from_slice(bytes: &[u8]) -> Option<Self> {
                $id::from_slice(bytes)
            }

            fn held(self, reader: &mut StoreReader<'_>, owner: UserId) -> Result<Option<LibraryItem<Self>>, StoreError> {
                reader.$get(owner, self)
            }
        }
    )*};
}

importable_ids! {
    CharacterId "character" character;
    PersonaId "persona" persona;
    LorebookId "lorebook" lorebook;
    PresetId "preset" preset;
}

/// What is known of an item from earlier imports.
pub struct ImportMatch<Id> {
    /// Its source key.
    pub name: String,
    source: Option<SourceRecord>,
    /// The library item it became, if that still exists.
    pub stored: Option<LibraryItem<Id>>,
    /// The id it got earlier in this dry run.
    dry_run_id: Option<Id>,
    /// The id under which it is imported anew, if it was deleted here permanently.
    new_id: Option<Id>,
}

/// What to do with an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportDecision {
    /// Import it, replacing what it became before.
    Import,
    /// Keep the existing item unchanged.
    KeepExisting,
    /// It was deleted here: do not import it again.
    Deleted,
}

impl<Id: ImportableId> ImportMatch<Id> {
    /// Returns its existing id, or a new one.
    pub fn id_or(&self, new: impl FnOnce() -> Id) -> Id {
        self.existing_id().or(self.new_id).unwrap_or_else(new)
    }

    /// Returns the id it got in an earlier import, whether or not it still exists.
    pub fn former_id(&self) -> Option<Id> {
        self.source.as_ref().and_then(|source| Id::from_slice(&source.became))
    }

    /// Takes it as existing, because it came back from the trash. A dry run leaves it there and has no `stored`.
    pub fn restore(&mut self, id: Id, stored: Option<LibraryItem<Id>>) {
        self.dry_run_id = stored.is_none().then_some(id);
        self.stored = stored;
    }

    /// Takes it as never imported. It gets this id.
    pub fn begin_again(&mut self, id: Id) {
        self.new_id = Some(id);
    }

    /// Returns its id, if it is known and still exists.
    pub fn existing_id(&self) -> Option<Id> {
        self.stored.as_ref().map(|stored| stored.id).or(self.dry_run_id)
    }

    /// Returns the source record that recognizes it from now on.
    pub fn source(&self, bytes: &[u8; 16], hash: Option<blake3::Hash>, card: &Map<String, Value>) -> SourceRecord {
        let mut source = SourceRecord::new(self.name.clone(), bytes);
        (source.hash, source.header) = (hash.map(|hash| hash.as_bytes().to_vec()), Some(card_fingerprint(card)));
        source
    }

    /// Decides what to do with an item that has this hash. Adds a finding if the user should know the reason.
    pub fn decide(&self, hash: &blake3::Hash) -> (ImportDecision, Option<ImportFinding>) {
        let Some(source) = self.source.as_ref().filter(|_| self.new_id.is_none()) else {
            return (ImportDecision::Import, None);
        };
        let is_same = source.hash.as_deref() == Some(hash.as_bytes());
        match &self.stored {
            _ if self.dry_run_id.is_some() => {
                (if is_same { ImportDecision::KeepExisting } else { ImportDecision::Import }, None)
            }
            Some(_) if is_same => (ImportDecision::KeepExisting, None),
            None if is_same => (ImportDecision::Deleted, Some(ImportFinding::skipped(&FindingDetail::DeletedHere {}))),
            Some(stored) if source.header.as_ref().is_none_or(|header| card_fingerprint(&stored.card) != *header) => {
                let why = ImportFinding::kept(&FindingDetail::EditedHere { item: Id::KIND });
                (ImportDecision::KeepExisting, Some(why))
            }
            _ => (ImportDecision::Import, None),
        }
    }
}

impl ForeignImport<'_> {
    /// Looks up what earlier imports made of the item with this source key.
    pub async fn match_item<Id: ImportableId>(&self, name: String) -> Result<ImportMatch<Id>, ImportError> {
        let (owner, wanted) = (self.options.owner, name.clone());
        let seen = self.dry_run.source(&name).cloned();
        let read = move |reader: &mut StoreReader<'_>| {
            let source = reader.source(owner, &wanted)?;
            let id = source.as_ref().and_then(|source| Id::from_slice(&source.became));
            let existing = id.map(|id| id.held(reader, owner)).transpose()?.flatten();
            Ok::<_, ImportError>((source, existing))
        };
        let (source, existing) = self.store.read(read).await?;
        let became = seen.as_ref().and_then(|seen| Id::from_slice(&seen.became));
        Ok(ImportMatch { name, source: seen.or(source), stored: existing, dry_run_id: became, new_id: None })
    }

    /// Decides what to do with an item, counts it, and reports why it is not imported.
    pub fn decide<Id: ImportableId>(
        &mut self,
        existing: &ImportMatch<Id>,
        hash: &blake3::Hash,
        called: &str,
        file: &str,
    ) -> ImportDecision {
        let (verdict, why) = existing.decide(hash);
        self.result.totals.known += u64::from(verdict == ImportDecision::KeepExisting);
        if let Some(why) = why {
            let mut item = ForeignImportItem::skipped(Id::KIND, called, why).from_file(file);
            item.id = existing.stored.as_ref().map(|stored| stored.id.to_string());
            if verdict == ImportDecision::KeepExisting {
                item.fate = FindingOutcome::Kept;
            }
            self.count_item(item);
        }
        verdict
    }
}

/// Returns a hash of the card, which shows whether it was edited here since the import.
fn card_fingerprint(card: &Map<String, Value>) -> String {
    blake3::hash(json!(card).to_string().as_bytes()).to_hex().to_string()
}
