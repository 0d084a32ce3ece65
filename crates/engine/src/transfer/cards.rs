//! Cards of other programs in and out: what `interop` reads becomes a character with its files, and a character becomes what
//! `interop` writes.

use serde_json::{Map, Value, json};

use clotho_compat::interop::card::{self, CardImportError, ExportCard};
use clotho_compat::interop::{FindingOutcome, ImportFinding, lorebook, picture};
use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{CharacterId, LorebookId, UserId};
use clotho_core::tree::card::{ValidationError, trim_to_limits, validate_card};
use clotho_core::tree::lorebook::{EXTRA_FIELD as EXTRA_LOREBOOKS, PRIMARY_FIELD as LOREBOOK};
use clotho_plugin::{embedded_plugin, unread_starts};
use clotho_store::{CardFile, CharacterCard, Lorebook, Tx, WriteError};

use super::lorebooks::{
    initial_values, invalid_entries_finding, new_lorebook, unreadable_values_finding, without_macros,
};
use super::pictures::{picture_files, picture_url};
use super::report::ForeignImportItem;

/// What cards say beyond their fields; also the name of the file that has it where it is too large.
const EXTENSIONS: &str = "extensions";
/// Below this name a card says what it suggests for its sessions.
const CLOTHO_KEY: &str = "clotho";
/// The plugin that keeps values in the way of MVU.
const MVU_PLUGIN: &str = "mvu";
/// A card's own files stand below this name, so that none of them is taken for its picture.
const BESIDE: &str = "card/";

/// Why a card is not kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CardRejection {
    /// The file is no card.
    #[error(transparent)]
    NoCard(#[from] CardImportError),
    /// A field is more than a card may have.
    #[error(transparent)]
    Unfit(#[from] ValidationError),
}

/// A character on its way in.
#[derive(Debug, Clone)]
pub struct CharacterImport {
    /// The character.
    pub character: CharacterCard,
    /// Its picture and what came with it.
    pub files: Vec<CardFile>,
    /// Its lorebook.
    pub book: Option<Lorebook>,
    /// The chat that was open last where it comes from.
    pub open_chat: Option<String>,
    /// Whether it was a favourite there.
    pub is_favourite: bool,
    /// What is to say of the two.
    pub items: Vec<ForeignImportItem>,
}

/// Reads a card of another program, for a character of this id.
///
/// # Errors
/// It is no card, or more than a card may be.
pub fn read_card(
    file: &[u8],
    name: Option<&str>,
    id: CharacterId,
    ids: &IdGenerator,
    now: Time,
) -> Result<CharacterImport, CardRejection> {
    let card::ImportedCard { card: mut fields, book, picture, assets, open_chat, is_favourite, mut findings } =
        card::read(file)?;
    let mut files = Vec::new();
    if let Some(bytes) = picture {
        let address = picture_url("characters", id, &bytes);
        match picture_files(bytes) {
            Ok(both) => {
                files.extend(both);
                fields.insert("avatar".to_owned(), address.into());
            }
            Err(error) => {
                let words = format!("the picture of the card: {error}");
                findings.push(ImportFinding::new(FindingOutcome::Skipped, "picture", words));
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
    let title = fields.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let book = book.map(|card_book| embedded_lorebook(card_book, &title, ids, now)).transpose()?;
    if let Some((book, _)) = &book {
        fields.insert(LOREBOOK.to_owned(), book.id.to_string().into());
        suggest_plugin(&mut fields, book);
    }
    findings.extend(
        trim_to_limits(&mut fields)
            .into_iter()
            .map(|words| ImportFinding::new(FindingOutcome::Skipped, "too_many", words)),
    );
    files.extend(extract_scripts(&mut fields, &mut findings));
    findings.extend(embedded_plugin_finding(&fields));
    let greetings = greetings(&fields).flat_map(|text| unread_starts(&[], &without_macros(text)));
    findings.extend(unreadable_values_finding(greetings.map(|_| "<initvar>".to_owned()).collect()));
    validate_card(&fields)?;
    let mut items = vec![ForeignImportItem::new("character", title, id).with(findings)];
    let book = book.map(|(book, item)| {
        items.push(item);
        book
    });
    items.iter_mut().for_each(|item| item.file = name.map(str::to_owned));
    let character = CharacterCard { id, card: fields, created: now, updated: now };
    Ok(CharacterImport { character, files, book, open_chat, is_favourite, items })
}

/// What is to say of rules for this program that a card brings along.
fn embedded_plugin_finding(fields: &Map<String, Value>) -> Option<ImportFinding> {
    let words = match embedded_plugin::read(fields)? {
        Ok(source) => format!(
            "rules for this program, the plugin \"{}\": nothing of them runs before who runs the server looks at them and takes them in",
            source.name
        ),
        Err(error) => error.to_string(),
    };
    Some(ImportFinding::new(FindingOutcome::Kept, "rules", words))
}

fn greetings(fields: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let others = fields.get("alternateGreetings").and_then(Value::as_array).into_iter().flatten();
    fields.get("firstMessage").into_iter().chain(others).filter_map(Value::as_str)
}

/// A card whose lorebook says what values begin with suggests the plugin that keeps them, where it suggests nothing itself.
fn suggest_plugin(fields: &mut Map<String, Value>, book: &Lorebook) {
    if initial_values(&book.card).is_empty() {
        return;
    }
    if let Value::Object(metadata) = fields.entry("metadata").or_insert_with(|| Map::new().into()) {
        metadata.entry(CLOTHO_KEY).or_insert_with(|| json!({"plugins": [{"id": MVU_PLUGIN}]}));
    }
}

/// The lorebook inside a card.
fn embedded_lorebook(
    mut book: Value,
    title: &str,
    ids: &IdGenerator,
    now: Time,
) -> Result<(Lorebook, ForeignImportItem), ValidationError> {
    let odd = book.as_object_mut().map(lorebook::take_invalid_entries).unwrap_or_default();
    let (book, mut item) = new_lorebook(lorebook::from_card(&book), title, ids, now)?;
    item.findings.extend(invalid_entries_finding(&odd));
    Ok((book, item))
}

/// Some cards bring megabytes of scripts. They are not read again and again with the character: what makes it too large
/// is kept beside it.
fn extract_scripts(fields: &mut Map<String, Value>, findings: &mut Vec<ImportFinding>) -> Option<CardFile> {
    if !validate_card(fields).is_err_and(|unfit| unfit.field.is_none()) {
        return None;
    }
    let extensions = fields.get_mut("metadata")?.as_object_mut()?.shift_remove(EXTENSIONS)?;
    let bytes = serde_json::to_vec(&extensions).ok()?;
    let words = format!("its extensions, {} bytes, are kept beside it and shown only in an export", bytes.len());
    findings.push(ImportFinding::new(FindingOutcome::Kept, "extensions_beside", words));
    Some(CardFile { name: EXTENSIONS.to_owned(), kind: "application/json".to_owned(), bytes })
}

impl CharacterImport {
    /// A character that has nothing beside it.
    pub const fn without_files(character: CharacterCard) -> Self {
        Self { character, files: Vec::new(), book: None, open_chat: None, is_favourite: false, items: Vec::new() }
    }

    /// Keeps the character with its files and its lorebook.
    ///
    /// # Errors
    /// The database fails.
    pub fn keep(&self, tx: &mut Tx<'_>, owner: UserId) -> Result<(), WriteError> {
        tx.put_character(owner, &self.character)?;
        self.put_files_and_lorebook(tx, owner)
    }

    /// Puts the character in the place of the one with its id.
    ///
    /// # Errors
    /// It is not there or somebody else's.
    pub fn replace(&self, tx: &mut Tx<'_>, owner: UserId) -> Result<(), WriteError> {
        tx.update_character(owner, &self.character)?;
        self.put_files_and_lorebook(tx, owner)
    }

    fn put_files_and_lorebook(&self, tx: &mut Tx<'_>, owner: UserId) -> Result<(), WriteError> {
        self.book.iter().try_for_each(|book| tx.put_lorebook(owner, book))?;
        self.files.iter().try_for_each(|file| tx.put_card_file(self.character.id.uuid(), file))
    }
}

/// Gives a card of this program what it suggests for its sessions, which it says below its extensions where it travels. What a
/// stranger's card says there stays there.
pub fn take_suggestions(card: &mut Map<String, Value>) {
    let Some(metadata) = card.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let extensions = metadata.get_mut(EXTENSIONS).and_then(Value::as_object_mut);
    if let Some(wish) = extensions.and_then(|extensions| extensions.shift_remove(CLOTHO_KEY)) {
        metadata.insert(CLOTHO_KEY.to_owned(), wish);
    }
}

/// A character with all that belongs to it.
pub type CharacterParts<'a> = (&'a CharacterCard, &'a [CardFile], Option<&'a Lorebook>);

/// Whether two characters say the same and look the same, wherever and whenever they were made.
pub fn is_same_character(one: CharacterParts<'_>, other: CharacterParts<'_>) -> bool {
    let said = |(character, files, book): CharacterParts<'_>| {
        let mut sheet = card_sheet(character, files, book);
        sheet.created.clear();
        if let Some(beside) = sheet.card.get_mut("metadata").and_then(|metadata| metadata.get_mut("card")) {
            beside.as_object_mut().map(|beside| beside.shift_remove("create_date"));
        }
        (card::json(&sheet), sheet.picture.map(<[u8]>::to_vec))
    };
    said(one) == said(other)
}

/// The lorebook that belongs to a character.
pub fn lorebook_of(character: &CharacterCard) -> Option<LorebookId> {
    character.card.get(LOREBOOK)?.as_str()?.parse().ok()
}

/// Gives a character the lorebook that belongs to it.
pub fn bind_lorebook(character: &mut CharacterCard, book: LorebookId) {
    character.card.insert(LOREBOOK.to_owned(), book.to_string().into());
}

/// Gives a character lorebooks beside its own.
pub fn bind_extra_lorebooks(character: &mut CharacterCard, books: &[LorebookId]) {
    let books: Vec<Value> = books.iter().map(|book| book.to_string().into()).collect();
    character.card.insert(EXTRA_LOREBOOKS.to_owned(), books.into());
}

/// A character as a sheet that goes out. Which picture it shows and which lorebook is its own stand beside it, not in it.
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
