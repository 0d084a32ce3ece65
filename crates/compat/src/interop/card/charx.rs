//! CHARX: a packed folder with `card.json` at its top and pictures beside it, which the card names. What its entries are called
//! is never used as a path: they are labels, and those that lead out of the folder are left out.

use std::io::{Cursor, Read as _, Write as _};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::{CardImportError, ExportCard, ImportedCard, fields, parse};
use crate::interop::finding::{FindingOutcome, ImportFinding};
use crate::interop::{picture, text};

/// What an archive begins with, behind whatever unpacks it by itself.
const ZIP_SIGNATURE: &[u8] = b"PK\x03\x04";
/// What each entry of its list begins with.
const ZIP_DIRECTORY_SIGNATURE: &[u8] = b"PK\x01\x02";
/// Entries of one archive.
const MAX_ENTRIES: usize = 4_000;
/// The most bytes of `card.json`.
const MAX_CARD_BYTES: u64 = 32 << 20;
/// The most bytes of all files, unpacked. They are in memory while the card comes in.
const MAX_UNPACKED_BYTES: u64 = 96 << 20;
/// The card.
const CARD: &str = "card.json";
/// How a card says that a file lies beside it.
const EMBEDDED_SCHEMES: [&str; 3] = ["embeded://", "embedded://", "__asset:"];

/// A file that came with a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardAsset {
    /// Its name in the folder: plain words between single slashes.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Whether a file is an archive, maybe behind something else.
pub fn is_archive(file: &[u8]) -> bool {
    file.windows(ZIP_SIGNATURE.len()).any(|four| four == ZIP_SIGNATURE)
}

/// Reads the card and its files.
pub fn read(file: &[u8]) -> Result<ImportedCard, CardImportError> {
    if file.windows(ZIP_DIRECTORY_SIGNATURE.len()).filter(|four| *four == ZIP_DIRECTORY_SIGNATURE).count() > MAX_ENTRIES
    {
        return Err(CardImportError::TooMany("files", MAX_ENTRIES));
    }
    let broken = |error: zip::result::ZipError| CardImportError::BrokenArchive(error.to_string());
    let mut archive = ZipArchive::new(Cursor::new(file)).map_err(broken)?;
    let card = {
        let entry = archive.by_name(CARD).map_err(|error| match error {
            zip::result::ZipError::FileNotFound => CardImportError::NoCardInArchive,
            other => broken(other),
        })?;
        let mut bytes = Vec::new();
        let read = entry.take(MAX_CARD_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|error| CardImportError::BrokenArchive(error.to_string()))?;
        if u64::try_from(bytes.len()).is_ok_and(|length| length > MAX_CARD_BYTES) {
            return Err(CardImportError::TooLong(CARD, MAX_CARD_BYTES));
        }
        let text = text::decode(&bytes)
            .map_err(|error| CardImportError::NotJson { place: CARD.into(), cause: error.to_string() })?;
        parse(CARD, &text)?
    };
    let icon = icon(&card);
    let mut read = fields::read(card)?;
    take_files(&mut archive, &mut read)?;
    let shown = |asset: &&CardAsset| {
        icon.as_deref() == Some(asset.path.as_str()) && picture::detect_format(&asset.bytes).is_some()
    };
    read.picture = read.assets.iter().find(shown).map(|asset| asset.bytes.clone());
    Ok(read)
}

/// The files beside the card, each bounded by what all of them may still take.
fn take_files(archive: &mut ZipArchive<Cursor<&[u8]>>, read: &mut ImportedCard) -> Result<(), CardImportError> {
    let mut room = MAX_UNPACKED_BYTES;
    for n in 0..archive.len() {
        let mut skip = |name: &str, why: &str| {
            let name: String = name.chars().filter(|c| !c.is_control()).take(100).collect();
            read.findings.push(ImportFinding::new(
                FindingOutcome::Skipped,
                "asset",
                format!("the file \"{name}\": {why}"),
            ));
        };
        let mut entry = match archive.by_index(n) {
            Ok(entry) => entry,
            Err(error) => {
                skip(&n.to_string(), &error.to_string());
                continue;
            }
        };
        let name = entry.name().map(|name| name.into_owned()).unwrap_or_default();
        if name == CARD || entry.is_dir() {
            continue;
        }
        if !is_safe_path(&name) || entry.is_symlink() {
            skip(&name, "its name leads out of the archive");
            continue;
        }
        if read.assets.iter().any(|asset| asset.path == name) {
            skip(&name, "another one has the same name");
            continue;
        }
        let mut bytes = Vec::new();
        let length = match (&mut entry).take(room + 1).read_to_end(&mut bytes) {
            Ok(length) => u64::try_from(length).unwrap_or(u64::MAX),
            Err(error) => {
                skip(&name, &error.to_string());
                continue;
            }
        };
        room =
            room.checked_sub(length).ok_or(CardImportError::TooLong("the archive, unpacked,", MAX_UNPACKED_BYTES))?;
        read.assets.push(CardAsset { path: name, bytes });
    }
    Ok(())
}

/// Whether a name is a way down from the top and nowhere else.
fn is_safe_path(name: &str) -> bool {
    let part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']);
    name.len() <= 300 && name.split('/').all(part)
}

/// The file that is the card's picture, as the card says.
fn icon(card: &Value) -> Option<String> {
    let assets = card.pointer("/data/assets")?.as_array()?;
    let is_icon = |asset: &&Value| asset.get("type").and_then(Value::as_str) == Some("icon");
    let main = |asset: &&Value| asset.get("name").and_then(Value::as_str) == Some("main");
    let icons: Vec<&Value> = assets.iter().filter(is_icon).collect();
    let icon = icons.iter().find(|asset| main(asset)).or(icons.first())?;
    embedded_path(icon.get("uri")?.as_str()?).map(str::to_owned)
}

fn embedded_path(uri: &str) -> Option<&str> {
    EMBEDDED_SCHEMES.iter().find_map(|scheme| uri.strip_prefix(scheme))
}

/// Packs a card with its files; a picture that is none of them is put beside it as its icon.
pub fn write(sheet: &ExportCard<'_>) -> Result<Vec<u8>, CardImportError> {
    let mut card = fields::write(sheet);
    let mut files: Vec<(String, &[u8])> =
        sheet.assets.iter().map(|asset| (asset.path.clone(), asset.bytes.as_slice())).collect();
    let is_there = |bytes: &[u8]| sheet.assets.iter().any(|asset| asset.bytes == bytes);
    if let Some(bytes) = sheet.picture.filter(|picture| !is_there(picture)) {
        let end = picture::detect_format(bytes).map_or("bin", |kind| kind.media_type().trim_start_matches("image/"));
        let path = format!("assets/icon/image/main.{end}");
        set_icon(&mut card, &path, end);
        files.retain(|(name, _)| *name != path);
        files.push((path, bytes));
    }
    let text = card.to_string();
    files.insert(0, (CARD.to_owned(), text.as_bytes()));
    pack(&files).map_err(|error| CardImportError::BrokenArchive(error.to_string()))
}

fn set_icon(card: &mut Value, path: &str, end: &str) {
    let Some(data) = card.get_mut("data").and_then(Value::as_object_mut) else { return };
    let assets = data.entry("assets").or_insert_with(|| json!([]));
    let Some(assets) = assets.as_array_mut() else { return };
    assets.retain(|asset| asset.get("type") != Some(&json!("icon")) || asset.get("name") != Some(&json!("main")));
    assets.insert(0, json!({"type": "icon", "uri": format!("embeded://{path}"), "name": "main", "ext": end}));
}

fn pack(files: &[(String, &[u8])]) -> Result<Vec<u8>, zip::result::ZipError> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive.start_file(name.as_str(), SimpleFileOptions::default())?;
        archive.write_all(bytes)?;
    }
    Ok(archive.finish()?.into_inner())
}
