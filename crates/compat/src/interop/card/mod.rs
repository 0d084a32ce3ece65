//! Cards of characters as other programs write them: a picture with the card inside (PNG), plain JSON in any of its three
//! versions, a packed folder (CHARX), or YAML. [`read`] says by the bytes which of them a file is; [`json()`], [`png()`] and
//! [`charx()`] write a card in a form that those programs read.
//!
//! `fields.rs` is the one place that knows which field of theirs is which of ours; `charx.rs` knows CHARX,
//! `yaml.rs` YAML, `agnai.rs` characters of Agnai; `unsupported.rs` says what a card has that does nothing here, `macros.rs` which macros do something. To add a field: its line in `fields.rs`. To add a
//! form: a file with its name, and its sign in [`read`].

mod agnai;
mod charx;
mod fields;
mod macros;
mod unsupported;
mod yaml;

use serde_json::{Map, Value};

use super::finding::{FindingOutcome, ImportFinding};
use super::png::{self as chunks, PngChunk, PngError};
use super::{picture, text};
pub use charx::CardAsset;
pub use macros::SUPPORTED_MACROS;

/// The most bytes of the file of a card: pictures of some megabytes, and archives with many of them.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// A card that came in, in our own words.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedCard {
    /// The card as it is kept (`docs/api.md`): what nobody here knows is in its `metadata`.
    pub card: Map<String, Value>,
    /// The lorebook inside, as it stands in the card.
    pub book: Option<Value>,
    /// Its picture, without the texts inside.
    pub picture: Option<Vec<u8>>,
    /// Files that came with it.
    pub assets: Vec<CardAsset>,
    /// The chat that was open last where the card comes from.
    pub open_chat: Option<String>,
    /// Whether it was a favourite there. That stays with its owner, and does not travel with the card.
    pub is_favourite: bool,
    /// What is to say of it.
    pub findings: Vec<ImportFinding>,
}

/// A card that goes out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExportCard<'a> {
    /// The card as it is kept.
    pub card: Map<String, Value>,
    /// Its lorebook, in the form of cards.
    pub book: Option<Value>,
    /// Its picture, whatever kind of picture that is.
    pub picture: Option<&'a [u8]>,
    /// Files that came with it.
    pub assets: Vec<CardAsset>,
    /// When it was made, where the card itself does not say so.
    pub created: String,
    /// Whether it is a favourite; only where it goes to its owner.
    pub is_favourite: bool,
    /// The chat that was open last; only where the chats go along.
    pub open_chat: Option<String>,
}

/// Why a file is no card.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CardImportError {
    /// It is larger than any card.
    #[error("{0} has more than {1} bytes")]
    TooLong(&'static str, u64),
    /// It has more of something than any card.
    #[error("the file has more than {1} {0}")]
    TooMany(&'static str, usize),
    /// A picture, and nothing else.
    #[error("the picture has no card in it")]
    NoCardInPicture,
    /// An archive of something else.
    #[error("the archive has no card.json in it")]
    NoCardInArchive,
    /// JSON of something else.
    #[error("this is no card of a character: it has no name")]
    NoName,
    /// Bytes of something else.
    #[error("this is no card: neither a PNG nor JSON, CHARX or YAML ({0})")]
    Unknown(String),
    /// The picture is damaged.
    #[error(transparent)]
    Png(#[from] PngError),
    /// The card is no JSON.
    #[error("the card in {place} is not JSON: {cause}")]
    NotJson {
        /// Where it stands.
        place: String,
        /// What is wrong.
        cause: String,
    },
    /// The archive cannot be read.
    #[error("the archive cannot be read: {0}")]
    BrokenArchive(String),
    /// YAML that cannot be read.
    #[error("the YAML cannot be read: {0}")]
    NotYaml(String),
}

impl CardImportError {
    /// What one can do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::TooLong(..) | Self::TooMany(..) => "make the card smaller where it comes from",
            Self::NoCardInPicture => {
                "export the card anew as PNG: many sites and messengers take the card out of a picture when they make it smaller"
            }
            Self::NoCardInArchive => "send a .charx file as it was exported: card.json stands at its top",
            Self::NoName | Self::Unknown(_) | Self::NotYaml(_) => {
                "send a character card: PNG, JSON (V1, V2, V3), CHARX or YAML; whole chats and lorebooks have their own import"
            }
            Self::Png(_) | Self::BrokenArchive(_) => {
                "the file was damaged on its way: get it again from where it comes from"
            }
            Self::NotJson { .. } => "open the card where it comes from and export it anew",
        }
    }
}

/// Reads a card of any kind.
///
/// # Errors
/// It is no card.
pub fn read(file: &[u8]) -> Result<ImportedCard, CardImportError> {
    if file.len() > MAX_FILE_BYTES {
        return Err(CardImportError::TooLong("the file", u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX)));
    }
    if file.starts_with(chunks::SIGNATURE) {
        return from_png(file);
    }
    if charx::is_archive(file) {
        return charx::read(file);
    }
    let text = text::decode(file).map_err(|error| CardImportError::Unknown(error.to_string()))?;
    if text.trim_start().starts_with(['{', '[']) {
        return fields::read(parse("the file", &text)?);
    }
    fields::read(yaml::read(&text)?)
}

fn from_png(file: &[u8]) -> Result<ImportedCard, CardImportError> {
    let (all, fault) = chunks::read(file)?;
    let Some(chosen) = newest_card_chunk(&all) else {
        return Err(fault.map_or(CardImportError::NoCardInPicture, CardImportError::Png));
    };
    let keyword = chosen.keyword();
    let bytes = chunks::decode_base64(&keyword, &chosen.text()?)?;
    let place = format!("the chunk \"{keyword}\"");
    let text = text::decode(&bytes)
        .map_err(|error| CardImportError::NotJson { place: place.clone(), cause: error.to_string() })?;
    let mut read = fields::read(parse(&place, &text)?)?;
    if !chosen.crc_matches {
        let words = format!("the sum of {place} is wrong; the card in it reads well");
        read.findings.push(ImportFinding::new(FindingOutcome::Translated, "chunk_sum", words));
    }
    let plain = picture::strip_text_chunks(&all);
    match picture::detect_format(&plain).filter(|_| fault.is_none()) {
        Some(_) if all.iter().any(is_placeholder_picture) => {}
        Some(_) => read.picture = Some(plain),
        None => {
            let why = fault.map_or_else(|| "it is no picture that can be shown".to_owned(), |fault| fault.to_string());
            read.findings.push(ImportFinding::new(
                FindingOutcome::Skipped,
                "picture",
                format!("the picture of the card: {why}"),
            ));
        }
    }
    Ok(read)
}

/// The card of the newer version wins, even one that is broken; of two the first; plain text before packed.
fn newest_card_chunk<'a, 'b>(all: &'b [PngChunk<'a>]) -> Option<&'b PngChunk<'a>> {
    let of = |keyword: &str| {
        let mut named: Vec<_> = all.iter().filter(|chunk| chunk.is_text() && chunk.keyword() == keyword).collect();
        named.sort_by_key(|chunk| chunk.kind != b"tEXt");
        named.first().copied()
    };
    of("ccv3").or_else(|| of("chara"))
}

fn parse(place: &str, json: &str) -> Result<Value, CardImportError> {
    let place = place.to_owned();
    text::json(json).map_err(|error| CardImportError::NotJson { place, cause: error.to_string() })
}

/// The card as JSON of version 3, which readers of the older ones understand as well.
pub fn json(sheet: &ExportCard<'_>) -> Value {
    fields::write(sheet)
}

/// The card inside its picture, for readers of both versions.
pub fn write_png(sheet: &ExportCard<'_>) -> Vec<u8> {
    let drawn = picture::png_or_placeholder(sheet.picture);
    let text = json(sheet).to_string();
    let mut texts = vec![chunks::encode_card_chunk("chara", &text), chunks::encode_card_chunk("ccv3", &text)];
    if sheet.picture.is_none() {
        texts.push(chunks::encode_chunk(PLACEHOLDER_PICTURE_CHUNK, b""));
    }
    picture::insert_chunks(&drawn, &texts.concat())
}

/// The chunk that says that the picture of a PNG was only drawn because the card has none. By its letters it may be left out,
/// is nobody's standard, and stays where others write texts beside it.
const PLACEHOLDER_PICTURE_CHUNK: &[u8; 4] = b"clTh";

fn is_placeholder_picture(chunk: &PngChunk<'_>) -> bool {
    chunk.kind == PLACEHOLDER_PICTURE_CHUNK
}

/// The card as a packed folder, with its files.
///
/// # Errors
/// It is too large to be packed.
pub fn write_charx(sheet: &ExportCard<'_>) -> Result<Vec<u8>, CardImportError> {
    charx::write(sheet)
}
