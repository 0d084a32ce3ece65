//! Character cards: PNG with an embedded card, JSON (versions 1 to 3), CHARX and BYAF archives, and YAML. [`read`]
//! detects the format from the bytes. [`write_json()`], [`write_png()`] and [`write_charx()`] write cards for other
//! programs.
//!
//! - `fields.rs`: the only mapping between card fields and ours
//! - `charx.rs`, `yaml.rs`, `agnai.rs`, `byaf.rs`: the formats with these names
//! - `archive.rs`: entries of archives
//! - `lenient_fields.rs`: fields that programs write in more than one shape
//! - `unsupported.rs`: findings about features that do nothing here
//! - `macros.rs`: the supported macros
//!
//! To add a field: add a line in `fields.rs`. To add a format: add a file with its name and detect it in [`read`].

mod agnai;
mod archive;
mod byaf;
mod charx;
mod fields;
mod lenient_fields;
mod macros;
mod unsupported;
mod yaml;

use serde_json::{Map, Value};

use super::png::{self as chunks, PngChunk, PngError};
use super::{FindingDetail, FindingReason, ImportFinding, picture, text};
pub use archive::CardAsset;
pub use charx::{ARCHIVE_TAIL_BYTES, card_folder, has_archive_end};
pub use macros::SUPPORTED_MACROS;

/// Maximum size of a card file in bytes. Pictures have some megabytes, and archives contain many of them.
pub const MAX_FILE_BYTES: usize = 64 << 20;

/// An imported card, converted to the format of this program.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ImportedCard {
    /// The card as stored (`docs/api.md`). Unknown fields are in its `metadata`.
    pub card: Map<String, Value>,
    /// The embedded lorebook, in the form it has in the card.
    pub book: Option<Value>,
    /// The picture without the card's text chunks.
    pub picture: Option<Vec<u8>>,
    /// The files packed with the card.
    pub assets: Vec<CardAsset>,
    /// The chat that was last open in the source program.
    pub open_chat: Option<String>,
    /// Whether it was a favourite. Stored for the owner only, not in the card.
    pub is_favourite: bool,
    pub findings: Vec<ImportFinding>,
}

/// A card to export.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExportCard<'a> {
    /// The card as stored.
    pub card: Map<String, Value>,
    /// The lorebook in the form of a card's book.
    pub book: Option<Value>,
    /// The picture, in any format.
    pub picture: Option<&'a [u8]>,
    pub assets: Vec<CardAsset>,
    /// Creation date, used if the card does not contain one.
    pub created: String,
    /// Whether it is a favourite. Set only if the export goes to the owner.
    pub is_favourite: bool,
    /// The last open chat. Set only if the chats are exported too.
    pub open_chat: Option<String>,
}

/// Why a card could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CardImportError {
    /// A part is larger than so many bytes.
    #[error("{0} has more than {1} bytes")]
    TooLong(&'static str, u64),
    /// The file has more than so many of something.
    #[error("the file has more than {1} {0}")]
    TooMany(&'static str, usize),
    #[error("the image contains no card")]
    NoCardInPicture,
    /// The archive has no `card.json`, and is not one of Backyard AI.
    #[error("the archive contains no card.json, and no character of Backyard AI")]
    NoCardInArchive,
    /// The card has no name, so it is probably not a card.
    #[error("this is not a character card: it has no name")]
    NoName,
    /// The format was not recognized.
    #[error("this is not a card: it is neither PNG nor JSON, CHARX or YAML ({0})")]
    Unknown(String),
    /// The PNG is damaged.
    #[error(transparent)]
    Png(#[from] PngError),
    #[error("the card in {place} is not JSON: {cause}")]
    NotJson {
        /// The chunk or file that contains the card.
        place: String,
        cause: String,
    },
    #[error("the archive cannot be read: {0}")]
    BrokenArchive(String),
    #[error("the YAML cannot be read: {0}")]
    NotYaml(String),
}

impl CardImportError {
    /// Returns advice for the user.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::TooLong(..) | Self::TooMany(..) => "make the card smaller in the program that it comes from",
            Self::NoCardInPicture => {
                "export the card again as PNG: many sites and messengers remove the card when they shrink an image"
            }
            Self::NoCardInArchive => {
                "send the .charx or .byaf file as it was exported, with its card.json or manifest.json"
            }
            Self::NoName | Self::Unknown(_) | Self::NotYaml(_) => {
                "send a character card: PNG, JSON (V1, V2, V3), CHARX or YAML; chats and lorebooks have their own \
                 import"
            }
            Self::Png(_) | Self::BrokenArchive(_) => "the file was damaged on its way: download it again",
            Self::NotJson { .. } => "open the card in the program that it comes from, and export it again",
        }
    }
}

/// Reads a card in any supported format.
///
/// # Errors
/// Returns an error if the file is too large, damaged, or not a card.
pub fn read(file: &[u8]) -> Result<ImportedCard, CardImportError> {
    read_named(file, None)
}

/// Reads a card like [`read`]. A card without a name gets that of its file, `file_stem`, which has no extension.
///
/// # Errors
/// Returns an error if the file is too large, damaged, or not a card.
pub fn read_named(file: &[u8], file_stem: Option<&str>) -> Result<ImportedCard, CardImportError> {
    if file.len() > MAX_FILE_BYTES {
        return Err(CardImportError::TooLong("the file", u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX)));
    }
    if file.starts_with(chunks::SIGNATURE) {
        return match from_png(file, file_stem) {
            Err(CardImportError::NoCardInPicture | CardImportError::Png(_)) if charx::is_archive(file) => {
                charx::read(file, file_stem)
            }
            read => read,
        };
    }
    if charx::is_archive(file) {
        return charx::read(file, file_stem);
    }
    if picture::detect_format(file).is_some() {
        return Err(CardImportError::NoCardInPicture);
    }
    let text = text::decode(file).map_err(|error| CardImportError::Unknown(error.to_string()))?;
    if text.trim_start().starts_with(['{', '[']) {
        return fields::read(parse("the file", &text)?, file_stem);
    }
    let (card, left_out) = yaml::read(&text)?;
    let mut read = fields::read(card, file_stem)?;
    if !left_out.is_empty() {
        let detail = FindingDetail::OmittedYamlValues { count: left_out.len(), values: left_out.join(", ") };
        read.findings.push(ImportFinding::skipped(&detail));
    }
    Ok(read)
}

fn from_png(file: &[u8], file_stem: Option<&str>) -> Result<ImportedCard, CardImportError> {
    let (all, fault) = chunks::read_chunks(file)?;
    let behind =
        if newest_card_chunk(&all).is_none() { chunks::read_chunks_behind_end(file, &all) } else { Vec::new() };
    let Some(chosen) = newest_card_chunk(&all).or_else(|| newest_card_chunk(&behind)) else {
        return Err(fault.map_or(CardImportError::NoCardInPicture, CardImportError::Png));
    };
    let keyword = chosen.keyword();
    let text = chosen.text()?;
    // Some tools write the JSON as it is.
    let is_json = text.trim_ascii_start().starts_with(b"{");
    let bytes = if is_json { text } else { chunks::decode_base64(&keyword, &text)? };
    let place = format!("the chunk \"{keyword}\"");
    let text = text::decode(&bytes)
        .map_err(|error| CardImportError::NotJson { place: place.clone(), cause: error.to_string() })?;
    let mut read = fields::read(parse(&place, &text)?, file_stem)?;
    if !chosen.crc_matches {
        read.findings.push(ImportFinding::translated(&FindingDetail::ChunkChecksum { chunk: keyword }));
    }
    let plain = picture::strip_text_chunks(&all);
    match picture::detect_format(&plain).filter(|_| fault.is_none()) {
        Some(_) if all.iter().any(is_placeholder_picture) => {}
        Some(_) => read.picture = Some(plain),
        None => {
            let detail = match fault {
                Some(fault) => FindingDetail::CardPicture { reason: fault.to_string() },
                None => FindingDetail::UnknownCardPicture { reason: FindingReason::NotAPicture },
            };
            read.findings.push(ImportFinding::skipped(&detail));
        }
    }
    Ok(read)
}

/// Returns the chunk of the newest card version, even if that card is broken. Prefers plain to compressed text, then
/// the first chunk.
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
    text::parse_json_lenient(json).map_err(|error| CardImportError::NotJson { place, cause: error.to_string() })
}

/// Returns the card as version 3 JSON, which readers of older versions also understand.
pub fn write_json(sheet: &ExportCard<'_>) -> Value {
    fields::write(sheet)
}

/// Returns a PNG with the card in it, for readers of versions 2 and 3.
pub fn write_png(sheet: &ExportCard<'_>) -> Vec<u8> {
    let drawn = picture::png_or_placeholder(sheet.picture);
    let text = write_json(sheet).to_string();
    let mut texts = vec![chunks::encode_card_chunk("chara", &text), chunks::encode_card_chunk("ccv3", &text)];
    if sheet.picture.is_none() {
        texts.push(chunks::encode_chunk(PLACEHOLDER_PICTURE_CHUNK, b""));
    }
    picture::insert_chunks(&drawn, &texts.concat())
}

/// Marks a PNG whose picture is only a placeholder. By the case of its letters the chunk is ancillary, private and safe
/// to copy.
const PLACEHOLDER_PICTURE_CHUNK: &[u8; 4] = b"clTh";

fn is_placeholder_picture(chunk: &PngChunk<'_>) -> bool {
    chunk.kind == PLACEHOLDER_PICTURE_CHUNK
}

/// Returns the card and its files as a CHARX archive.
///
/// # Errors
/// Returns an error if the archive cannot be written.
pub fn write_charx(sheet: &ExportCard<'_>) -> Result<Vec<u8>, CardImportError> {
    charx::write(sheet)
}
