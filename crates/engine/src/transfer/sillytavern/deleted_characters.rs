//! Characters that were deleted here and come again. The import brings them back, under the id that their sessions
//! name, so that no second character of that name appears.

use clotho_compat::interop::{FindingDetail, ImportFinding};
use clotho_core::ids::{CharacterId, TrashId};
use clotho_store::TrashEntryKind;

use super::super::ForeignImportItem;
use super::super::file_container::SourceFile;
use super::super::import::ImportError;
use super::ForeignImport;
use super::import_match::{ImportMatch, ImportableId};

impl ForeignImport<'_> {
    /// Brings back the character that an earlier import made, if it was deleted here: from the trash, else anew.
    /// Returns the finding for the report.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn bring_back(
        &mut self,
        existing: &mut ImportMatch<CharacterId>,
    ) -> Result<Option<ImportFinding>, ImportError> {
        let Some(id) = existing.former_id().filter(|_| existing.existing_id().is_none()) else { return Ok(None) };
        let owner = self.options.owner;
        if self.restore_character(id).await? {
            let stored = self.store.read(move |reader| Ok::<_, ImportError>(id.held(reader, owner)?)).await?;
            existing.restore(id, stored);
            return Ok(Some(ImportFinding::works(&FindingDetail::RestoredFromTrash {})));
        }
        // Its id is free, unless another user has got the character with a session.
        let is_taken =
            move |reader: &mut clotho_store::StoreReader<'_>| Ok::<_, ImportError>(reader.is_character_id_taken(id)?);
        let is_taken = self.store.read(is_taken).await?;
        existing.begin_again(if is_taken { CharacterId::new(self.ids.next_id(self.options.at)) } else { id });
        Ok(Some(ImportFinding::works(&FindingDetail::ImportedAgain {})))
    }

    /// Returns the character that was exported as this file, if the file is unchanged. One that is in the trash comes
    /// back.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub async fn exported_character(
        &mut self,
        name: &str,
        hash: &blake3::Hash,
        place: &SourceFile,
    ) -> Result<Option<CharacterId>, ImportError> {
        if let Some(id) = self.existing_export::<CharacterId>(name, hash).await? {
            return Ok(Some(id));
        }
        let exported = self.export_index.exported_id(name, hash);
        let Some(id) = exported.and_then(|id| CharacterId::from_slice(id.as_bytes())) else { return Ok(None) };
        if !self.restore_character(id).await? {
            return Ok(None);
        }
        self.result.totals.known += 1;
        self.report_return(place, id, Some(ImportFinding::works(&FindingDetail::RestoredFromTrash {})));
        Ok(Some(id))
    }

    /// Reports that an unchanged character came back.
    pub fn report_return(&mut self, place: &SourceFile, id: CharacterId, finding: Option<ImportFinding>) {
        if let Some(finding) = finding {
            let item = ForeignImportItem::new("character", place.stem(), id).from_file(&place.name);
            self.count_item(item.with_findings(vec![finding]));
        }
    }

    /// Restores a character from the trash; a dry run only looks. Returns `false` if it is not there.
    async fn restore_character(&self, id: CharacterId) -> Result<bool, ImportError> {
        let (owner, at, id) = (self.options.owner, self.options.at, TrashId::new(id.uuid()));
        let entry = self.store.read(move |reader| Ok::<_, ImportError>(reader.trash_entry(owner, id)?)).await?;
        let is_there = entry.is_some_and(|entry| entry.kind == TrashEntryKind::Character);
        if is_there && !self.options.is_dry {
            self.store.write(move |tx| tx.restore(owner, id, at)).await?;
        }
        Ok(is_there)
    }
}
