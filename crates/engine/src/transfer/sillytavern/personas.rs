//! Imports personas. The settings name them by the files of their pictures.

use serde_json::Value;

use clotho_compat::interop::persona::{self, ImportedPersona, PersonaError};
use clotho_compat::interop::{FindingDetail, FindingReason, ImportFinding};
use clotho_core::ids::{LorebookId, PersonaId};
use clotho_store::{BindingTarget, Tx};

use super::super::ForeignImportItem;
use super::super::file_container::{SourceFile, stem};
use super::super::import::ImportError;
use super::super::personas::{PersonaImport, new_persona, persona_fingerprint};
use super::cast::ImportCast;
use super::data_folder::DataFolder;
use super::import_match::ImportDecision;
use super::settings::SillyTavernSettings;
use super::{ForeignImport, unreadable};

/// A persona of the folder as it is here.
struct PersonaMatch {
    id: PersonaId,
    /// Whether this import created it.
    is_new: bool,
}

impl ForeignImport<'_> {
    /// Imports the personas of a single file: settings, or a backup of personas.
    pub(in crate::transfer) async fn personas_of(
        &mut self,
        place: &SourceFile,
        value: Value,
    ) -> Result<(), ImportError> {
        let is_settings = value.get("power_user").is_some();
        if !is_settings && persona::from_value(&value) == Err(PersonaError::None) {
            let detail = FindingDetail::NoPersonas { reason: PersonaError::None.to_string() };
            let why = ImportFinding::skipped(&detail);
            self.count_item(ForeignImportItem::skipped("file", place.stem(), why).from_file(&place.name));
        }
        let outside = std::mem::replace(&mut self.settings, SillyTavernSettings::new(value, &place.name));
        let mut cast = ImportCast::default();
        let took = self.personas(&DataFolder::default(), &mut cast).await;
        self.settings = outside;
        self.persona_choices(&cast).await?;
        if is_settings {
            let why = ImportFinding::skipped(&FindingDetail::LeftOutFile { reason: FindingReason::OnlyPersonas });
            self.add_item(ForeignImportItem::skipped("file", place.stem(), why).from_file(&place.name));
        }
        took
    }

    /// Imports the personas that the settings name.
    pub async fn personas(&mut self, root: &DataFolder, cast: &mut ImportCast) -> Result<(), ImportError> {
        let all = match persona::from_value(self.settings.all()) {
            Ok(all) => all,
            Err(PersonaError::None) => return Ok(()),
            Err(error) => {
                let why = ImportFinding::skipped(&FindingDetail::NoPersonas { reason: error.to_string() });
                let file = self.settings.file().to_owned();
                self.count_item(ForeignImportItem::skipped("file", &file, why).from_file(&file));
                return Ok(());
            }
        };
        for read in all {
            self.check_cancelled()?;
            if !read.is_named {
                let why = ImportFinding::skipped(&FindingDetail::NoPersonaName {});
                let from = self.settings.file().to_owned();
                self.count_item(ForeignImportItem::skipped("persona", &read.file, why).from_file(from));
                continue;
            }
            let (file, is_default, bound) = (read.file.clone(), read.is_default, read.bound_cards.clone());
            let name = read.card.get("name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
            let Some(PersonaMatch { id, is_new }) = self.persona(root, read).await? else { continue };
            if is_new {
                cast.new_personas.insert(id);
            }
            cast.personas.insert(file, id);
            cast.personas.entry(name).or_insert(id);
            cast.default = cast.default.or(is_default.then_some(id));
            for card in bound {
                cast.card_personas.entry(stem(&card).to_owned()).or_insert(id);
            }
        }
        Ok(())
    }

    /// Makes the default persona and the personas of cards the choices for new sessions. What the owner has chosen
    /// here stays, and so do the choices about personas that were here before.
    pub async fn persona_choices(&mut self, cast: &ImportCast) -> Result<(), ImportError> {
        let of_cards = cast.card_personas.iter().filter_map(|(card, persona)| {
            let character = cast.characters.get(card)?;
            Some((Some(character.id), *persona))
        });
        let all = cast.default.map(|persona| (None, persona)).into_iter().chain(of_cards);
        let new: Vec<_> = all.filter(|(_, persona)| cast.new_personas.contains(persona)).collect();
        if self.options.is_dry || new.is_empty() {
            return Ok(());
        }
        let owner = self.options.owner;
        let write = move |tx: &mut Tx<'_>| {
            new.iter().try_for_each(|(character, persona)| tx.suggest_persona(owner, *character, *persona))
        };
        Ok(self.store.write(write).await?)
    }

    /// Imports a persona unless it is known and unchanged. Returns `None` if it is invalid or was deleted here.
    async fn persona(
        &mut self,
        root: &DataFolder,
        mut read: ImportedPersona,
    ) -> Result<Option<PersonaMatch>, ImportError> {
        let (file, at) = (read.file.clone(), self.options.at);
        let picture = match root.avatars.get(&file).map(|place| (place, place.read())) {
            Some((_, Ok(bytes))) => Some(bytes),
            Some((place, Err(error))) => {
                self.count_item(unreadable(&place.name, &error));
                None
            }
            None => None,
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(serde_json::Value::from(read.card.clone()).to_string().as_bytes());
        hasher.update(picture.as_deref().unwrap_or_default());
        let hash = hasher.finalize();
        let name = format!("personas/{file}");
        if let Some(id) = self.existing_export::<PersonaId>(&name, &persona_fingerprint(&read.card)).await? {
            return Ok(Some(PersonaMatch { id, is_new: false }));
        }
        let existing = self.match_item::<PersonaId>(name).await?;
        let id = existing.id_or(|| PersonaId::new(self.ids.next_id(at)));
        let called = read.card.get("name").and_then(|name| name.as_str()).unwrap_or_default().to_owned();
        let from = self.settings.file().to_owned();
        match self.decide(&existing, &hash, &called, &from) {
            ImportDecision::Import => {}
            ImportDecision::KeepExisting => return Ok(Some(PersonaMatch { id, is_new: false })),
            ImportDecision::Deleted => return Ok(None),
        }
        let book = self.name_book(&mut read);
        let mut import = match new_persona(read, picture, id, at) {
            Ok(import) => import,
            Err(item) => {
                self.count_item(item.from_file(from));
                return Ok(None);
            }
        };
        let is_new = existing.stored.is_none();
        if let Some(stored) = &existing.stored {
            import.persona.created = stored.created;
        }
        let PersonaImport { persona, item, .. } = &import;
        let source = existing.source(id.as_bytes(), Some(hash), &persona.card);
        self.result.totals.personas += 1;
        self.count_item(item.clone().from_file(from));
        let keep = move |tx: &mut Tx<'_>, owner| {
            import.write(tx, owner, is_new)?;
            book.map_or(Ok(()), |book| tx.bind_lorebook(owner, book, BindingTarget::Persona(id)))
        };
        self.store_with_source(source, keep).await?;
        Ok(Some(PersonaMatch { id, is_new }))
    }

    /// Returns the imported lorebook of a persona, and updates the finding about it.
    fn name_book(&self, read: &mut ImportedPersona) -> Option<LorebookId> {
        let card = serde_json::Value::from(read.card.clone());
        let name = card.pointer("/metadata/sillytavern/about/lorebook").and_then(|name| name.as_str());
        let about = read.findings.iter_mut().find(|finding| finding.code == "persona_lorebook")?;
        let name = name?.to_owned();
        let book = self.imported_lorebook(&name);
        *about = match book {
            Some(_) => ImportFinding::works(&FindingDetail::PersonaLorebook { name }),
            None => ImportFinding::kept(&FindingDetail::PersonaLorebookMissing { name }),
        };
        book
    }
}
