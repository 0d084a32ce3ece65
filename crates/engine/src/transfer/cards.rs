//! Imports and exports character cards: converts between what `interop` reads or writes and characters with their
//! files.

use std::path::Path;

use serde_json::{Map, Value, json};

use clotho_compat::interop::card::{self, CardImportError, ExportCard};
use clotho_compat::interop::{FindingDetail, ImportFinding, lorebook, picture};
use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{CharacterId, LorebookId, UserId};
use clotho_core::tree::card::{TrimmedList, ValidationError, trim_to_limits, validate_card};
use clotho_core::tree::lorebook::{EXTRA_FIELD as EXTRA_LOREBOOKS, PRIMARY_FIELD as LOREBOOK};
use clotho_plugin::{embedded_plugin, omitted_initial_values, unreadable_initial_values};
use clotho_store::{CardFile, CardVersionOrigin, CharacterCard, Lorebook, Tx, WriteError, card_scripts};

use super::lorebooks::{
    initial_values, invalid_entries_finding, new_lorebook, omitted_values_finding, unreadable_values_finding,
    without_macros,
};
use super::pictures::{picture_files, picture_url};
use super::report::ForeignImportItem;

/// The field with the extensions of a card, also the name of the file that holds them if they are too large.
const EXTENSIONS: &str = "extensions";
/// The extension key under which a card suggests plugins and settings for its sessions.
const CLOTHO_KEY: &str = "clotho";
/// The plugin that keeps MVU values.
const MVU_PLUGIN: &str = "mvu";
/// The name prefix of asset files, so that none of them is taken for the picture.
const BESIDE: &str = "card/";

/// Why a card is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CardRejection {
    #[error(transparent)]
    NoCard(#[from] CardImportError),
    /// A field exceeds a limit.
    #[error(transparent)]
    Unfit(#[from] ValidationError),
}

/// A character that is being imported.
#[derive(Debug, Clone)]
pub struct CharacterImport {
    pub character: CharacterCard,
    /// Its picture, thumbnail and assets.
    pub files: Vec<CardFile>,
    /// The lorebook inside the card.
    pub book: Option<Lorebook>,
    /// The chat that was open last in the other program.
    pub open_chat: Option<String>,
    /// Whether it was a favourite in the other program.
    pub is_favourite: bool,
    /// Whether its regex scripts may run without a question to the owner.
    pub is_trusted: bool,
    /// The report items of character and lorebook.
    pub items: Vec<ForeignImportItem>,
}

/// Reads a card of another program as the character with this id.
///
/// # Errors
/// Returns an error if the file is no card, or the card exceeds a limit.
pub fn read_card(
    file: &[u8],
    name: Option<&str>,
    id: CharacterId,
    ids: &IdGenerator,
    now: Time,
) -> Result<CharacterImport, CardRejection> {
    let card::ImportedCard { card: mut fields, book, picture, assets, open_chat, is_favourite, mut findings } =
        card::read_named(file, name.and_then(|name| Path::new(name).file_stem()?.to_str()))?;
    // Picture and assets become files.
    let mut files = Vec::new();
    if let Some(bytes) = picture {
        let address = picture_url("characters", id, &bytes);
        match picture_files(bytes) {
            Ok(both) => {
                files.extend(both);
                fields.insert("avatar".to_owned(), address.into());
            }
            Err(error) => {
                findings.push(ImportFinding::skipped(&FindingDetail::CardPicture { reason: error.to_string() }));
            }
        }
    }
    files.extend(assets.into_iter().map(|asset| {
        CardFile {
            name: format!("{BESIDE}{}", asset.path),
            kind: picture::detect_format(&asset.bytes)
                .map_or("application/octet-stream", picture::PictureFormat::media_type)
                .to_owned(),
            bytes: asset.bytes,
        }
    }));
    // The lorebook inside the card becomes a lorebook of its own.
    let title = fields.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let book = book.map(|card_book| embedded_lorebook(card_book, &title, ids, now)).transpose()?;
    if let Some((book, _)) = &book {
        fields.insert(LOREBOOK.to_owned(), book.id.to_string().into());
        suggest_plugin(&mut fields, book);
    }
    // Trim the fields to the limits, or reject the card.
    findings.extend(trim_to_limits(&mut fields).into_iter().map(trimmed_list_finding));
    files.extend(extract_scripts(&mut fields, &mut findings));
    findings.extend(embedded_plugin_finding(&fields));
    let greetings = greetings(&fields).flat_map(|text| unreadable_initial_values(&[], &without_macros(text)));
    findings.extend(unreadable_values_finding(greetings.map(|_| "<initvar>".to_owned()).collect()));
    let omitted = self::greetings(&fields).flat_map(|text| omitted_initial_values(&[], &without_macros(text)));
    findings.extend(omitted_values_finding(omitted.collect()));
    validate_card(&fields)?;
    let mut items = vec![ForeignImportItem::new("character", title, id).with_findings(findings)];
    let book = book.map(|(book, item)| {
        items.push(item);
        book
    });
    items.iter_mut().for_each(|item| item.file = name.map(str::to_owned));
    let character = CharacterCard { id, card: fields, created: now, updated: now };
    Ok(CharacterImport { character, files, book, open_chat, is_favourite, is_trusted: false, items })
}

/// Returns the finding for a list that was shortened.
pub fn trimmed_list_finding(list: TrimmedList) -> ImportFinding {
    let TrimmedList { field, removed, total, most, bytes } = list;
    ImportFinding::skipped(&FindingDetail::TooManyEntries { field, removed, total, most, bytes })
}

/// Returns the finding for a plugin embedded in the card.
fn embedded_plugin_finding(fields: &Map<String, Value>) -> Option<ImportFinding> {
    Some(ImportFinding::kept(&match embedded_plugin::read(fields)? {
        Ok(source) => FindingDetail::EmbeddedPlugin { plugin: source.name },
        Err(error) => FindingDetail::UnreadablePlugin { reason: error.to_string() },
    }))
}

fn greetings(fields: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let others = fields.get("alternateGreetings").and_then(Value::as_array).into_iter().flatten();
    fields.get("firstMessage").into_iter().chain(others).filter_map(Value::as_str)
}

/// Adds the suggestion of the MVU plugin if the lorebook has initial values and the card suggests nothing itself.
fn suggest_plugin(fields: &mut Map<String, Value>, book: &Lorebook) {
    if initial_values(&book.card).is_empty() {
        return;
    }
    if let Value::Object(metadata) = fields.entry("metadata").or_insert_with(|| Map::new().into()) {
        metadata.entry(CLOTHO_KEY).or_insert_with(|| json!({"plugins": [{"id": MVU_PLUGIN}]}));
    }
}

/// Converts the lorebook inside a card.
fn embedded_lorebook(
    mut book: Value,
    title: &str,
    ids: &IdGenerator,
    now: Time,
) -> Result<(Lorebook, ForeignImportItem), ValidationError> {
    let odd = book.as_object_mut().map(lorebook::take_invalid_entries).unwrap_or_default();
    let (book, findings) = lorebook::from_card_with_findings(&book);
    let (book, mut item) = new_lorebook(book, title, ids, now)?;
    item.findings.extend(invalid_entries_finding(&odd));
    item.findings.extend(findings);
    Ok((book, item))
}

/// Moves the extensions of a card that is too large into a file beside it, so that they are not loaded with the
/// character. Some cards contain megabytes of scripts.
fn extract_scripts(fields: &mut Map<String, Value>, findings: &mut Vec<ImportFinding>) -> Option<CardFile> {
    if !validate_card(fields).is_err_and(|unfit| unfit.field.is_none()) {
        return None;
    }
    let extensions = fields.get_mut("metadata")?.as_object_mut()?.shift_remove(EXTENSIONS)?;
    let bytes = serde_json::to_vec(&extensions).ok()?;
    findings.push(ImportFinding::kept(&FindingDetail::LargeExtensions { bytes: bytes.len() }));
    Some(CardFile { name: EXTENSIONS.to_owned(), kind: "application/json".to_owned(), bytes })
}

impl CharacterImport {
    /// Returns a character without files and lorebook.
    pub const fn without_files(character: CharacterCard) -> Self {
        Self {
            character,
            files: Vec::new(),
            book: None,
            open_chat: None,
            is_favourite: false,
            is_trusted: false,
            items: Vec::new(),
        }
    }

    /// Writes a new character with its files and lorebook.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub fn insert(&self, tx: &mut Tx<'_>, owner: UserId) -> Result<(), WriteError> {
        self.put_script_consent(tx, owner, None)?;
        tx.put_character(owner, &self.character)?;
        self.put_files_and_lorebook(tx, owner)
    }

    /// Keeps what belongs to the owner of a character that the card is to replace: its favourite mark, and its lorebooks
    /// and picture if the card brings none.
    pub fn keep_owned_fields(&mut self, present: &CharacterCard) {
        self.character.created = present.created;
        for field in ["isFavourite", "avatar", LOREBOOK, EXTRA_LOREBOOKS] {
            if let (None, Some(value)) = (self.character.card.get(field), present.card.get(field)) {
                self.character.card.insert(field.to_owned(), value.clone());
            }
        }
    }

    /// Replaces the character with the same id. Extensions and assets of the card before do not stay beside the new one.
    ///
    /// # Errors
    /// Returns an error if it does not exist or belongs to another user.
    pub fn replace(&self, tx: &mut Tx<'_>, owner: UserId) -> Result<(), WriteError> {
        let known = tx.stored_card_scripts(owner, self.character.id)?;
        self.put_script_consent(tx, owner, known.as_ref())?;
        tx.save_card_version(owner, &self.character, CardVersionOrigin::Imported)?;
        tx.delete_card_file(self.character.id.uuid(), EXTENSIONS)?;
        tx.delete_card_files_below(self.character.id.uuid(), BESIDE)?;
        self.put_files_and_lorebook(tx, owner)
    }

    /// Asks the owner about the scripts of the card, or allows them if the file is trusted.
    fn put_script_consent(&self, tx: &mut Tx<'_>, owner: UserId, known: Option<&Value>) -> Result<(), WriteError> {
        let scripts = card_scripts(&self.character.card);
        if self.is_trusted {
            tx.answer_for_scripts(owner, scripts, true)
        } else {
            tx.ask_for_scripts(owner, scripts, known)
        }
    }

    fn put_files_and_lorebook(&self, tx: &mut Tx<'_>, owner: UserId) -> Result<(), WriteError> {
        self.book.iter().try_for_each(|book| tx.put_lorebook(owner, book))?;
        self.files.iter().try_for_each(|file| tx.put_card_file(self.character.id.uuid(), file))
    }
}

/// Moves the suggestions of a card that Clotho exported from its extensions into its metadata. It is not called for
/// other cards, whose suggestions stay in the extensions.
pub fn take_suggestions(card: &mut Map<String, Value>) {
    let Some(metadata) = card.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let extensions = metadata.get_mut(EXTENSIONS).and_then(Value::as_object_mut);
    if let Some(options) = extensions.and_then(|extensions| extensions.shift_remove(CLOTHO_KEY)) {
        metadata.insert(CLOTHO_KEY.to_owned(), options);
    }
}

/// A character with its files and its lorebook.
pub type CharacterParts<'a> = (&'a CharacterCard, &'a [CardFile], Option<&'a Lorebook>);

/// Whether two characters export as equal cards and pictures, apart from creation dates.
pub fn is_same_character(one: CharacterParts<'_>, other: CharacterParts<'_>) -> bool {
    let content = |(character, files, book): CharacterParts<'_>| {
        let mut sheet = card_sheet(character, files, book);
        sheet.created.clear();
        if let Some(beside) = sheet.card.get_mut("metadata").and_then(|metadata| metadata.get_mut("card")) {
            beside.as_object_mut().map(|beside| beside.shift_remove("create_date"));
        }
        (card::write_json(&sheet), sheet.picture.map(<[u8]>::to_vec))
    };
    content(one) == content(other)
}

/// Returns the lorebook of a character.
pub fn lorebook_of(character: &CharacterCard) -> Option<LorebookId> {
    character.card.get(LOREBOOK)?.as_str()?.parse().ok()
}

/// Sets the lorebook of a character.
pub fn bind_lorebook(character: &mut CharacterCard, book: LorebookId) {
    character.card.insert(LOREBOOK.to_owned(), book.to_string().into());
}

/// Sets the additional lorebooks of a character.
pub fn bind_extra_lorebooks(character: &mut CharacterCard, books: &[LorebookId]) {
    let books: Vec<Value> = books.iter().map(|book| book.to_string().into()).collect();
    character.card.insert(EXTRA_LOREBOOKS.to_owned(), books.into());
}

/// Converts a character for an export. The picture URL and lorebook ids are left out; picture and lorebook are
/// separate fields of the result.
pub fn card_sheet<'a>(character: &CharacterCard, files: &'a [CardFile], book: Option<&Lorebook>) -> ExportCard<'a> {
    let mut card: Map<String, Value> = character.card.clone();
    card.shift_remove("avatar");
    card.shift_remove(LOREBOOK);
    card.shift_remove(EXTRA_LOREBOOKS);
    let beside = files.iter().find(|file| file.name == EXTENSIONS);
    if let Some(extensions) = beside.and_then(|file| serde_json::from_slice::<Value>(&file.bytes).ok()) {
        let metadata = card.entry("metadata").or_insert_with(|| Map::new().into());
        metadata.as_object_mut().map(|metadata| metadata.entry(EXTENSIONS).or_insert(extensions));
    }
    let picture = files.iter().find(|file| file.name == CardFile::PICTURE).map(|file| file.bytes.as_slice());
    let assets = files.iter().filter_map(|file| {
        let path = file.name.strip_prefix(BESIDE)?.to_owned();
        Some(card::CardAsset { path, bytes: file.bytes.clone() })
    });
    let book = book.map(|book| lorebook::to_card(&book.card));
    let created = character.created.to_string();
    ExportCard { card, book, picture, assets: assets.collect(), created, ..ExportCard::default() }
}
