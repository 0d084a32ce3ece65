//! Exports everything of a user as a SillyTavern data folder: cards, chats, groups, lorebooks, personas and presets.
//!
//! An imported file is exported under its old name, so that both programs recognize it.

use std::collections::{HashMap, HashSet};
use std::io::{Seek, Write};

use serde_json::{Map, Value, json};

use clotho_compat::interop::{FindingDetail, ImportFinding, card, picture};
use clotho_compat::prompt::lore;
use clotho_core::ids::{CharacterId, LorebookId, PersonaId, UserId};
use clotho_store::{
    BindingTarget, CardFile, DatabaseSnapshot, PersonaCard, SessionExportError, StoreError, StoreReader,
};

use super::super::cards::{card_sheet, lorebook_of};
use super::super::personas::persona_fingerprint;
use super::super::report::{ForeignImportItem, ForeignImportReport};
use super::super::sillytavern::{FOLDERS, LIST, preset_fingerprint, regex_key};
use super::export_index::ExportIndexWriter;
use super::export_names::{ExportFileNames, ImportedGroups, OpenChats};
use super::export_target::ExportTarget;
use super::file_names::{UniqueFileNames, is_plain, safe_file_name};
use super::settings::SettingsWriter;

/// Items read per page.
const PAGE: i64 = 100;

/// The counts of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportOutcome {
    pub characters: u64,
    /// Lorebooks that are not inside a character card.
    pub lorebooks: u64,
    pub personas: u64,
    /// Presets, regular expressions and groups.
    pub presets: u64,
    pub sessions: u64,
    /// Chats; a session has one for each exported branch.
    pub chats: u64,
    /// Items that could not be exported unchanged.
    pub report: ForeignImportReport,
}

/// Exports everything of a user. `report_progress` is called with the number of sessions after each one.
///
/// # Errors
/// Returns an error if the database or the writer fails.
pub fn export_all<W: Write + Seek>(
    snapshot: &mut DatabaseSnapshot,
    owner: UserId,
    export_target: ExportTarget<W>,
    report_progress: impl FnMut(u64),
) -> Result<(Option<W>, ExportOutcome), SessionExportError> {
    let reader = snapshot.reader();
    let (list, gone, settings) = Default::default();
    let mut writer =
        DataFolderWriter { reader, owner, target: export_target, export_index: list, outcome: gone, settings };
    let cards = writer.cards()?;
    writer.lorebooks(&cards)?;
    writer.lore_settings()?;
    let personas = writer.personas(&cards)?;
    let groups = writer.presets()?;
    let files = ExportFileNames { cards: &cards.files, personas: &personas };
    let open = writer.sessions(files, groups, report_progress)?;
    // Cards come after the sessions, because a card names the chat that was open last.
    writer.characters(&cards, &open)?;
    let DataFolderWriter { target: mut export_target, export_index: list, outcome: gone, settings, .. } = writer;
    let mut put = |name: &str, text: String| export_target.put(name, |out| Ok(out.write_all(text.as_bytes())?));
    put("settings.json", settings.into_text())?;
    put(LIST, list.into_text(&gone.report))?;
    Ok((export_target.finish()?, gone))
}

/// A data folder that is being written.
pub struct DataFolderWriter<'a, W: Write + Seek> {
    pub reader: StoreReader<'a>,
    pub owner: UserId,
    pub target: ExportTarget<W>,
    pub export_index: ExportIndexWriter,
    pub outcome: ExportOutcome,
    settings: SettingsWriter,
}

/// The card files, and the lorebooks that are inside cards.
#[derive(Default)]
struct CardFileNames {
    files: HashMap<CharacterId, String>,
    books: Vec<LorebookId>,
}

impl<W: Write + Seek> DataFolderWriter<'_, W> {
    /// Writes a small file and returns its hash.
    pub fn put(&mut self, name: &str, bytes: &[u8]) -> Result<blake3::Hash, SessionExportError> {
        self.target.put(name, |out| Ok(out.write_all(bytes)?))
    }

    /// Returns the file name under which an item was imported, if it is still a valid one.
    fn imported_names(&mut self, became: &[u8; 16], folder: &str) -> Result<Option<String>, StoreError> {
        let sources = self.reader.sources_of(self.owner, became)?;
        let name = sources.iter().find_map(|source| source.name.strip_prefix(folder)?.strip_prefix('/'));
        Ok(name.filter(|name| is_plain(name)).map(str::to_owned))
    }

    /// Writes the global lorebook settings.
    fn lore_settings(&mut self) -> Result<(), StoreError> {
        let stored = self.reader.lore_settings(self.owner)?;
        if stored.is_some() {
            self.settings.lore(lore::WorldInfoSettings::from_stored(stored));
        }
        Ok(())
    }

    /// Chooses the file names of the cards: the imported one, else the name of the character.
    fn cards(&mut self) -> Result<CardFileNames, SessionExportError> {
        let (mut cards, mut names, mut new) = (CardFileNames::default(), UniqueFileNames::default(), Vec::new());
        self.for_each_page(
            |reader, owner, skip, most| reader.characters(owner, skip, most),
            |writer, card| {
                cards.books.extend(lorebook_of(&card));
                match writer.imported_names(card.id.as_bytes(), "characters")?.filter(|name| names.take(name)) {
                    Some(name) => _ = cards.files.insert(card.id, name),
                    None => new
                        .push((card.id, card.card.get("name").and_then(Value::as_str).unwrap_or_default().to_owned())),
                }
                Ok(())
            },
        )?;
        cards.files.extend(new.into_iter().map(|(id, name)| (id, names.unique(&name))));
        Ok(cards)
    }

    fn characters(&mut self, cards: &CardFileNames, open: &OpenChats) -> Result<(), SessionExportError> {
        self.for_each_page(
            |reader, owner, skip, most| reader.characters(owner, skip, most),
            |writer, character| {
                let Some(name) = cards.files.get(&character.id) else { return Ok(()) };
                let files = writer.reader.card_files(writer.owner, character.id.uuid())?;
                let book =
                    lorebook_of(&character).map(|id| writer.reader.lorebook(writer.owner, id)).transpose()?.flatten();
                let mut sheet = card_sheet(&character, &files, book.as_ref());
                sheet.is_favourite = character.card.get("isFavourite") == Some(&json!(true));
                sheet.open_chat = open.get(&character.id).cloned().flatten().map(|(_, chat)| chat);
                if let Some(error) = sheet.picture.and_then(|picture| picture::to_png(picture).err()) {
                    let detail = FindingDetail::DamagedPicture { reason: error.to_string() };
                    let finding = ImportFinding::skipped(&detail);
                    let title = character.card.get("name").and_then(Value::as_str).unwrap_or_default();
                    writer
                        .outcome
                        .report
                        .items
                        .push(ForeignImportItem::new("character", title, character.id).with_findings(vec![finding]));
                }
                let hash = writer.put(&format!("characters/{name}.png"), &card::write_png(&sheet))?;
                writer.export_index.add_file(&format!("characters/{name}"), hash, character.id);
                let tags = character.card.get("tags").and_then(Value::as_array).into_iter().flatten();
                let tags: Vec<&str> = tags.filter_map(Value::as_str).collect();
                if !tags.is_empty() {
                    writer.settings.tags(&format!("{name}.png"), &tags);
                }
                let extra =
                    character.card.get("metadata").and_then(|metadata| metadata.get("sillytavern")?.as_object());
                if let Some(extra) = extra {
                    writer.settings.card(name, extra);
                }
                writer.outcome.characters += 1;
                Ok(())
            },
        )
    }

    fn lorebooks(&mut self, cards: &CardFileNames) -> Result<(), SessionExportError> {
        let mut names = UniqueFileNames::default();
        let for_all = self.reader.bound_lorebooks(self.owner, BindingTarget::Everything)?;
        self.for_each_page(
            |reader, owner, skip, most| reader.lorebooks(owner, skip, most),
            |writer, book| {
                let came = writer.imported_names(book.id.as_bytes(), "worlds")?;
                if came.is_none() && cards.books.contains(&book.id) {
                    return Ok(());
                }
                let title = book.card.get("name").and_then(Value::as_str).unwrap_or_default();
                let name = names.unique(came.as_deref().unwrap_or(title));
                let path = format!("worlds/{name}.json");
                let hash = writer.put(&path, json!(book.card).to_string().as_bytes())?;
                writer.export_index.add_file(&format!("worlds/{name}"), hash, book.id);
                if for_all.iter().any(|linked| linked.id == book.id) {
                    writer.settings.global_lorebook(&name);
                }
                writer.outcome.lorebooks += 1;
                Ok(())
            },
        )
    }

    /// Writes the personas. Returns their picture files.
    fn personas(&mut self, cards: &CardFileNames) -> Result<HashMap<PersonaId, String>, SessionExportError> {
        let choices = self.reader.persona_choices(self.owner)?;
        let (mut files, mut names) = (HashMap::new(), UniqueFileNames::default());
        self.for_each_page(
            |reader, owner, skip, most| reader.personas(owner, skip, most),
            |writer, persona| {
                let file = writer.persona_file(&persona, &mut names)?;
                let text = |key: &str| persona.card.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
                let came = persona_field(&persona, "about").and_then(Value::as_object).cloned();
                let mut about = Map::from_iter([("description".to_owned(), text("description").into())]);
                about.extend(came.unwrap_or_else(|| Map::from_iter([("position".to_owned(), json!(0))])));
                let locks = choices.locks.iter().filter(|(_, locked)| *locked == persona.id);
                connect(&mut about, locks.filter_map(|(character, _)| cards.files.get(character)));
                // The program of an import may have had another default than the owner chose here.
                let was_default = persona_field(&persona, "isDefault") == Some(&json!(true));
                let is_default = choices.default.map_or(was_default, |id| id == persona.id);
                writer.settings.persona(&file, text("name").into(), about, is_default);
                let picture = writer.reader.card_file(writer.owner, persona.id.uuid(), CardFile::PICTURE)?;
                if let Some(picture) = picture {
                    writer.put(&format!("User Avatars/{file}"), &picture.bytes)?;
                }
                writer.export_index.add_file(
                    &format!("personas/{file}"),
                    persona_fingerprint(&persona.card),
                    persona.id,
                );
                files.insert(persona.id, file);
                writer.outcome.personas += 1;
                Ok(())
            },
        )?;
        Ok(files)
    }

    /// Writes the presets: some as files, some in the settings. Returns the groups, which the sessions complete.
    fn presets(&mut self) -> Result<ImportedGroups, SessionExportError> {
        let (mut groups, mut names, mut known) =
            (ImportedGroups::new(), HashMap::<&str, UniqueFileNames>::new(), HashSet::new());
        self.for_each_page(
            |reader, owner, skip, most| reader.presets(owner, None, skip, most),
            |writer, head| {
                let Some(preset) = writer.reader.preset(writer.owner, head.id)? else { return Ok(()) };
                let body = preset.card.get("body").and_then(Value::as_object).cloned().unwrap_or_default();
                let came = writer.imported_names(head.id.as_bytes(), &head.kind)?;
                let name = came.unwrap_or_else(|| safe_file_name(&head.name));
                if head.kind == "group" {
                    groups.insert(name, (head.id.to_string(), body));
                } else if head.kind == "regex" {
                    let key = regex_key(&body, writer.settings.regex_count(), &mut known);
                    writer.export_index.add_file(&key, preset_fingerprint(&body), head.id);
                    writer.settings.regex(body);
                } else if head.kind == "variables" {
                    writer.export_index.add_file("variables/global", preset_fingerprint(&body), head.id);
                    writer.settings.variables(body);
                } else if let Some((folder, _)) = FOLDERS.iter().find(|(_, kind)| *kind == head.kind) {
                    let name = names.entry(folder).or_default().unique(&name);
                    writer.put(&format!("{folder}/{name}.json"), Value::from(body.clone()).to_string().as_bytes())?;
                    writer.export_index.add_file(&format!("{}/{name}", head.kind), preset_fingerprint(&body), head.id);
                }
                writer.outcome.presets += 1;
                Ok(())
            },
        )?;
        Ok(groups)
    }

    fn persona_file(&mut self, persona: &PersonaCard, names: &mut UniqueFileNames) -> Result<String, StoreError> {
        let came = self.imported_names(persona.id.as_bytes(), "personas")?;
        if let Some(came) = came.filter(|came| names.take(came)) {
            return Ok(came);
        }
        let name = persona.card.get("name").and_then(Value::as_str).unwrap_or_default();
        Ok(format!("{}.png", names.unique(name)))
    }

    /// Calls `each` for every item that `page` reads.
    pub fn for_each_page<T>(
        &mut self,
        mut page: impl FnMut(&mut StoreReader<'_>, UserId, i64, i64) -> Result<Vec<T>, StoreError>,
        mut each: impl FnMut(&mut Self, T) -> Result<(), SessionExportError>,
    ) -> Result<(), SessionExportError> {
        let mut skip = 0;
        loop {
            let some = page(&mut self.reader, self.owner, skip, PAGE)?;
            if some.is_empty() {
                return Ok(());
            }
            for one in some {
                each(self, one)?;
            }
            skip += PAGE;
        }
    }
}

/// Adds connections to cards to the description of a persona, by the names of their files without `.png`.
fn connect<'a>(about: &mut Map<String, Value>, cards: impl Iterator<Item = &'a String>) {
    let mut all = about.get("connections").and_then(Value::as_array).cloned().unwrap_or_default();
    for card in cards {
        let connection = json!({"type": "character", "id": format!("{card}.png")});
        if !all.contains(&connection) {
            all.push(connection);
        }
    }
    if !all.is_empty() {
        about.insert("connections".to_owned(), all.into());
    }
}

fn persona_field<'a>(persona: &'a PersonaCard, name: &str) -> Option<&'a Value> {
    persona.card.get("metadata")?.get("sillytavern")?.get(name)
}
