//! What came in before: a thing of a folder is known again by its name there, and what a second run does with it depends on
//! whether it has changed there, and on what has become of it here.

use serde_json::{Map, Value, json};

use clotho_compat::interop::{FindingOutcome, ImportFinding};
use clotho_core::ids::{CharacterId, LorebookId, PersonaId, PresetId, UserId};
use clotho_store::{LibraryItem, SourceRecord, StoreError, StoreReader};

use super::super::ForeignImportItem;
use super::super::import::ImportError;
use super::ForeignImport;

/// A kind of thing that a folder has and this server keeps.
pub trait ImportableId: Copy + std::fmt::Display + Send + 'static {
    /// What the report calls it.
    const KIND: &'static str;

    /// Its id from sixteen bytes.
    fn from_slice(bytes: &[u8]) -> Option<Self>;

    /// The one that the caller has.
    fn held(self, reader: &mut StoreReader<'_>, owner: UserId) -> Result<Option<LibraryItem<Self>>, StoreError>;
}

macro_rules! things {
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

things! {
    CharacterId "character" character;
    PersonaId "persona" persona;
    LorebookId "lorebook" lorebook;
    PresetId "preset" preset;
}

/// What is known of a thing.
pub struct ImportMatch<Id> {
    /// By what it is known again.
    pub name: String,
    source: Option<SourceRecord>,
    /// What it has become.
    pub stored: Option<LibraryItem<Id>>,
    /// What it would be by now, where a look has seen it.
    dry_run_id: Option<Id>,
}

/// What is to be done with a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportDecision {
    /// It comes in, in the place of what it has become before.
    Import,
    /// What is here stays as it is.
    KeepExisting,
    /// It was deleted here, and does not come again.
    Deleted,
}

impl<Id: ImportableId> ImportMatch<Id> {
    /// Its id here, or a new one.
    pub fn id_or(&self, new: impl FnOnce() -> Id) -> Id {
        self.here().unwrap_or_else(new)
    }

    /// Its id, where it is known and here.
    pub fn here(&self) -> Option<Id> {
        self.stored.as_ref().map(|held| held.id).or(self.dry_run_id)
    }

    /// By what it is known from now on.
    pub fn source(&self, bytes: &[u8; 16], hash: Option<blake3::Hash>, card: &Map<String, Value>) -> SourceRecord {
        let mut source = SourceRecord::new(self.name.clone(), bytes);
        (source.hash, source.header) = (hash.map(|hash| hash.as_bytes().to_vec()), Some(card_fingerprint(card)));
        source
    }

    /// What is to be done with one that has this hash; and what is to say of it, where that is not all.
    pub fn decide(&self, hash: &blake3::Hash) -> (ImportDecision, Option<ImportFinding>) {
        let Some(source) = &self.source else { return (ImportDecision::Import, None) };
        let is_same = source.hash.as_deref() == Some(hash.as_bytes());
        match &self.stored {
            _ if self.dry_run_id.is_some() => {
                (if is_same { ImportDecision::KeepExisting } else { ImportDecision::Import }, None)
            }
            Some(_) if is_same => (ImportDecision::KeepExisting, None),
            None if is_same => {
                let message = "you have deleted it here: it is not brought back";
                (ImportDecision::Deleted, Some(ImportFinding::new(FindingOutcome::Skipped, "deleted_here", message)))
            }
            Some(held) if source.header.as_ref().is_none_or(|header| card_fingerprint(&held.card) != *header) => {
                let message = format!("it has changed there, but so has the {} here, which stays as it is", Id::KIND);
                (ImportDecision::KeepExisting, Some(ImportFinding::new(FindingOutcome::Kept, "edited_here", message)))
            }
            _ => (ImportDecision::Import, None),
        }
    }
}

impl ForeignImport<'_> {
    /// What is known of the thing of a name.
    pub async fn known<Id: ImportableId>(&self, name: String) -> Result<ImportMatch<Id>, ImportError> {
        let (owner, wanted) = (self.options.owner, name.clone());
        let seen = self.dry_run.source(&name).cloned();
        let read = move |reader: &mut StoreReader<'_>| {
            let source = reader.source(owner, &wanted)?;
            let id = source.as_ref().and_then(|source| Id::from_slice(&source.became));
            let held = id.map(|id| id.held(reader, owner)).transpose()?.flatten();
            Ok::<_, ImportError>((source, held))
        };
        let (source, held) = self.store.read(read).await?;
        let became = seen.as_ref().and_then(|seen| Id::from_slice(&seen.became));
        Ok(ImportMatch { name, source: seen.or(source), stored: held, dry_run_id: became })
    }

    /// What is to be done with a thing. Of one that stays out the report says why.
    pub fn decide<Id: ImportableId>(
        &mut self,
        known: &ImportMatch<Id>,
        hash: &blake3::Hash,
        (called, file): (&str, &str),
    ) -> ImportDecision {
        let (verdict, why) = known.decide(hash);
        self.result.totals.known += u64::from(verdict == ImportDecision::KeepExisting);
        if let Some(why) = why {
            let mut item = ForeignImportItem::skipped(Id::KIND, called, why).from_file(file);
            item.id = known.stored.as_ref().map(|held| held.id.to_string());
            if verdict == ImportDecision::KeepExisting {
                item.fate = FindingOutcome::Kept;
            }
            self.count_item(item);
        }
        verdict
    }
}

/// By what it is seen whether a thing has been edited here since.
fn card_fingerprint(card: &Map<String, Value>) -> String {
    blake3::hash(json!(card).to_string().as_bytes()).to_hex().to_string()
}
