//! Imports characters from cards. A changed card replaces its character, unless that was edited here.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use clotho_compat::interop::{FindingDetail, ImportFinding};
use clotho_core::ids::{CharacterId, LorebookId, PersonaId};
use clotho_core::tree::card::trim_to_limits;
use clotho_core::tree::limits::MAX_SPEAKER_CHARS;
use clotho_store::{CharacterCard, SourceRecord, Tx};

use super::super::ForeignImportItem;
use super::super::cards::{
    CharacterImport, bind_extra_lorebooks, bind_lorebook, lorebook_of, read_card, take_suggestions,
    trimmed_list_finding,
};
use super::super::file_container::SourceFile;
use super::super::import::ImportError;
use super::data_folder::DataFolder;
use super::import_match::ImportDecision;
use super::{ForeignImport, unreadable};

/// The largest note that is kept with a card, in bytes.
const LONGEST_NOTE: usize = 64 << 10;

/// The characters and personas that can take part in a chat.
#[derive(Debug, Default)]
pub struct ImportCast {
    /// Characters by the file stem of their card.
    pub characters: HashMap<String, FolderCharacter>,
    /// Personas, by file name and by name.
    pub personas: HashMap<String, PersonaId>,
    /// Personas by the file stem of the card they are bound to.
    pub card_personas: HashMap<String, PersonaId>,
    /// The default persona for new chats.
    pub default: Option<PersonaId>,
    /// The personas that this import created.
    pub new_personas: HashSet<PersonaId>,
}

/// An imported character.
#[derive(Debug, Clone)]
pub struct FolderCharacter {
    pub id: CharacterId,
    pub open_chat: Option<String>,
}

impl ForeignImport<'_> {
    /// Imports the characters of the folder.
    pub async fn characters(&mut self, root: &DataFolder, cast: &mut ImportCast) -> Result<(), ImportError> {
        for place in &root.cards {
            self.check_cancelled()?;
            match place.read() {
                Ok(bytes) => {
                    if let Some(character) = self.character(place, &bytes).await? {
                        cast.characters.insert(place.stem().to_owned(), character);
                    }
                }
                Err(error) => self.count_item(unreadable(&place.name, &error)),
            }
        }
        Ok(())
    }

    /// Imports a card unless it is known and unchanged. A character that was deleted here comes back. Returns the
    /// character; `None` if the card cannot be read.
    pub(in crate::transfer) async fn character(
        &mut self,
        place: &SourceFile,
        bytes: &[u8],
    ) -> Result<Option<FolderCharacter>, ImportError> {
        // Recognize an unchanged export, else read the card with the owner's settings.
        let name = format!("characters/{}", place.stem());
        if let Some(id) = self.exported_character(&name, &blake3::hash(bytes), place).await? {
            return Ok(Some(FolderCharacter { id, open_chat: None }));
        }
        let mut existing = self.match_item::<CharacterId>(name).await?;
        let returned = self.bring_back(&mut existing).await?;
        let at = self.options.at;
        let id = existing.id_or(|| CharacterId::new(self.ids.next_id(at)));
        let mut import = match read_card(bytes, Some(&place.name), id, self.ids, at) {
            Ok(import) => import,
            Err(error) => {
                let why = ImportFinding::skipped(&FindingDetail::NoCard { reason: error.to_string() });
                self.count_item(ForeignImportItem::skipped("character", place.stem(), why).from_file(&place.name));
                return Ok(None);
            }
        };
        let mut hasher = blake3::Hasher::new();
        hasher.update(bytes);
        self.apply_owner_settings(&mut import, place, &mut hasher);
        let is_of_ours = self.export_index.lists_file(&existing.name);
        if is_of_ours {
            take_suggestions(&mut import.character.card);
        }
        let (character, hash) = (FolderCharacter { id, open_chat: import.open_chat.take() }, hasher.finalize());
        // Stop if the character is not to be imported.
        match self.decide(&existing, &hash, place.stem(), &place.name) {
            ImportDecision::Import => {}
            ImportDecision::KeepExisting => {
                self.report_return(place, id, returned);
                return Ok(Some(character));
            }
            ImportDecision::Deleted => return Ok(None),
        }
        // An export of Clotho may hold a character that exists here under another id.
        if is_of_ours
            && existing.stored.is_none()
            && let Some(same) = self.equal_character(&import).await?
        {
            let source = existing.source(same.id.as_bytes(), Some(hash), &same.card);
            self.store_with_source(source, |_, _| Ok(())).await?;
            self.result.totals.known += 1;
            return Ok(Some(FolderCharacter { id: same.id, ..character }));
        }
        // Write the character, keeping its creation date and an unchanged lorebook.
        if let Some(stored) = &existing.stored {
            import.character.created = stored.created;
            self.same_book(stored, &mut import).await?;
        }
        if let Some(item) = import.items.first_mut() {
            item.findings.extend(returned);
        }
        self.result.totals.characters += 1;
        self.result.totals.lorebooks += u64::from(import.book.is_some());
        std::mem::take(&mut import.items).into_iter().for_each(|item| self.count_item(item));
        let source = existing.source(id.as_bytes(), Some(hash), &import.character.card);
        self.keep_character(import, existing.stored.is_none(), source).await?;
        Ok(Some(character))
    }

    /// Applies what the settings say about a card: tags, favourite, lorebooks and note.
    fn apply_owner_settings(&mut self, import: &mut CharacterImport, place: &SourceFile, hasher: &mut blake3::Hasher) {
        let tags = self.settings.tags_of(place.file());
        let (card, mut findings) = (&mut import.character.card, Vec::new());
        for tag in &tags {
            hasher.update(tag.as_bytes()).update(b"\n");
        }
        add_tags(card, tags);
        findings.extend(trim_to_limits(card).into_iter().map(trimmed_list_finding));
        if import.is_favourite {
            card.insert("isFavourite".to_owned(), true.into());
            findings.push(ImportFinding::kept(&FindingDetail::Favourite {}));
        }
        let world = card.get("metadata").and_then(|metadata| metadata.pointer("/extensions/world"));
        if let Some(world) = world.and_then(Value::as_str).filter(|world| !world.is_empty()).map(str::to_owned) {
            findings.push(self.bind_card_lorebook(import, &world, hasher));
        }
        findings.extend(self.extra_books(import, place.stem(), hasher));
        findings.extend(self.character_note(import, place.stem(), hasher));
        if let Some(item) = import.items.first_mut() {
            item.findings.extend(findings);
        }
    }

    /// Binds the additional lorebooks that the owner gave to the card.
    fn extra_books(&self, import: &mut CharacterImport, card: &str, hasher: &mut blake3::Hasher) -> Vec<ImportFinding> {
        let names = self.settings.extra_books_of(card);
        if names.is_empty() {
            return Vec::new();
        }
        let there = |name: &&str| self.books.get(*name).map(|book| book.id);
        let ids: Vec<LorebookId> = names.iter().filter_map(there).collect();
        names.iter().for_each(|name| _ = hasher.update(name.as_bytes()).update(b"\n"));
        ids.iter().for_each(|id| _ = hasher.update(id.as_bytes()));
        bind_extra_lorebooks(&mut import.character, &ids);
        keep_card_setting(&mut import.character.card, "extraBooks", names.as_slice().into());
        let findings = names.iter().map(|name| match self.books.contains_key(*name) {
            true => ImportFinding::works(&FindingDetail::ExtraLorebook { name: (*name).to_owned() }),
            false => ImportFinding::kept(&FindingDetail::ExtraLorebookMissing { name: (*name).to_owned() }),
        });
        findings.collect()
    }

    /// Stores the character's note of a card.
    fn character_note(
        &self,
        import: &mut CharacterImport,
        card: &str,
        hasher: &mut blake3::Hasher,
    ) -> Option<ImportFinding> {
        let note = Value::Object(self.settings.note_of(card)?.clone());
        let text = note.to_string();
        hasher.update(text.as_bytes());
        if text.len() > LONGEST_NOTE {
            return Some(ImportFinding::skipped(&FindingDetail::CharacterNoteTooLong { most: LONGEST_NOTE }));
        }
        let is_on = note.get("useChara").and_then(Value::as_bool).unwrap_or(false);
        keep_card_setting(&mut import.character.card, "note", note);
        Some(match is_on {
            true => ImportFinding::works(&FindingDetail::CharacterNote {}),
            false => ImportFinding::kept(&FindingDetail::CharacterNoteOff {}),
        })
    }

    /// Binds the lorebook that the card names. The book inside the card is usually a copy of it and is dropped; a
    /// different one is kept as a lorebook of its own.
    fn bind_card_lorebook(
        &self,
        import: &mut CharacterImport,
        world: &str,
        hasher: &mut blake3::Hasher,
    ) -> ImportFinding {
        let name = world.to_owned();
        let Some(shelved) = self.books.get(world) else {
            return ImportFinding::kept(&FindingDetail::CardLorebookMissing { name });
        };
        hasher.update(shelved.id.as_bytes());
        bind_lorebook(&mut import.character, shelved.id);
        if import.book.take_if(|copy| shelved.has_all(&copy.card)).is_some() {
            import.items.retain(|item| item.kind != "lorebook");
            return ImportFinding::translated(&FindingDetail::CopiedBook { name });
        }
        ImportFinding::works(&match &import.book {
            Some(_) => FindingDetail::CardLorebookAndBook { name },
            None => FindingDetail::CardLorebook { name },
        })
    }

    /// Drops the book of a re-imported card if it is unchanged, and binds the existing lorebook.
    async fn same_book(&self, stored: &CharacterCard, import: &mut CharacterImport) -> Result<(), ImportError> {
        let (owner, Some(before), Some(book)) = (self.options.owner, lorebook_of(stored), &import.book) else {
            return Ok(());
        };
        if lorebook_of(&import.character) != Some(book.id) {
            return Ok(());
        }
        let before = self.store.read(move |reader| Ok::<_, ImportError>(reader.lorebook(owner, before)?)).await?;
        if let Some(before) = before.filter(|before| before.card == book.card) {
            import.book = None;
            import.items.retain(|item| item.kind != "lorebook");
            bind_lorebook(&mut import.character, before.id);
        }
        Ok(())
    }

    /// Returns a character for a chat without a card. It has only a name.
    pub async fn placeholder_character(
        &mut self,
        stem: &str,
        cast: &mut ImportCast,
    ) -> Result<FolderCharacter, ImportError> {
        if let Some(character) = cast.characters.get(stem) {
            return Ok(character.clone());
        }
        let name: String = stem.chars().filter(|c| !c.is_control()).take(MAX_SPEAKER_CHARS).collect();
        let name = if name.trim().is_empty() { "Somebody".to_owned() } else { name };
        let card = Map::from_iter([("name".to_owned(), Value::from(name))]);
        let why = ImportFinding::kept(&FindingDetail::CardMissing {});
        let id = self.named_character(format!("characters/{stem}"), card, why).await?;
        let character = FolderCharacter { id, open_chat: None };
        cast.characters.insert(stem.to_owned(), character.clone());
        Ok(character)
    }

    /// Returns the character with this source key, also one that was deleted here, else the only existing one of that
    /// name, else a new one with this card. The existing one may stem from a card that was imported alone.
    pub(in crate::transfer) async fn named_character(
        &mut self,
        known_by: String,
        card: Map<String, Value>,
        why: ImportFinding,
    ) -> Result<CharacterId, ImportError> {
        let mut existing = self.match_item::<CharacterId>(known_by).await?;
        if let Some(id) = existing.existing_id() {
            return Ok(id);
        }
        let name = card.get("name").and_then(Value::as_str).unwrap_or_default();
        let returned = self.bring_back(&mut existing).await?;
        if let Some(id) = existing.existing_id() {
            let findings = returned.into_iter().collect();
            self.count_item(ForeignImportItem::new("character", name, id).with_findings(findings));
            return Ok(id);
        }
        if let Some(id) = self.only_namesake(name).await? {
            let why = ImportFinding::works(&FindingDetail::Namesake {});
            self.count_item(ForeignImportItem::new("character", name, id).with_findings(vec![why]));
            return Ok(id);
        }
        let at = self.options.at;
        let id = existing.id_or(|| CharacterId::new(self.ids.next_id(at)));
        let findings = std::iter::once(why).chain(returned).collect();
        self.count_item(ForeignImportItem::new("character", name, id).with_findings(findings));
        self.result.totals.characters += 1;
        let source = existing.source(id.as_bytes(), None, &card);
        let character = CharacterCard { id, card, created: at, updated: at };
        self.keep_character(CharacterImport::without_files(character), true, source).await?;
        Ok(id)
    }

    async fn keep_character(
        &mut self,
        import: CharacterImport,
        is_new: bool,
        source: SourceRecord,
    ) -> Result<(), ImportError> {
        let import = CharacterImport { is_trusted: self.options.is_trusted, ..import };
        self.store_with_source(
            source,
            move |tx: &mut Tx<'_>, owner| {
                if is_new { import.insert(tx, owner) } else { import.replace(tx, owner) }
            },
        )
        .await
    }
}

/// Stores a value of the settings in the metadata of a card.
fn keep_card_setting(card: &mut Map<String, Value>, key: &str, value: Value) {
    let metadata = card.entry("metadata").or_insert_with(|| Map::new().into());
    let own =
        metadata.as_object_mut().map(|metadata| metadata.entry("sillytavern").or_insert_with(|| Map::new().into()));
    own.and_then(Value::as_object_mut).map(|own| own.insert(key.to_owned(), value));
}

/// Adds the tags that a card does not have yet, ignoring case.
fn add_tags(card: &mut Map<String, Value>, tags: Vec<&str>) {
    let Some(list) =
        (!tags.is_empty()).then(|| card.entry("tags").or_insert_with(|| Value::from(Vec::<String>::new())))
    else {
        return;
    };
    let Some(list) = list.as_array_mut() else { return };
    for tag in tags {
        let is_there = |one: &Value| one.as_str().is_some_and(|one| one.to_lowercase() == tag.to_lowercase());
        if !list.iter().any(is_there) {
            list.push(tag.into());
        }
    }
}
