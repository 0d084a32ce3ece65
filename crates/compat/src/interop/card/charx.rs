//! CHARX: a ZIP archive with `card.json` at its top and the files that the card names. Entry names are labels and are
//! never used as paths. Entries whose names lead out of the archive are skipped.

use std::io::{Cursor, Read as _, Write as _};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::{CardImportError, ExportCard, ImportedCard, fields, parse};
use crate::interop::{FindingDetail, FindingReason, ImportFinding, picture, text};

/// Signature of a ZIP entry. In a self-extracting archive it is not at the start of the file.
const ZIP_SIGNATURE: &[u8] = b"PK\x03\x04";
/// Signature of an entry in the central directory.
const ZIP_DIRECTORY_SIGNATURE: &[u8] = b"PK\x01\x02";
/// Maximum number of entries in an archive.
const MAX_ENTRIES: usize = 4_000;
/// Maximum size of `card.json` in bytes.
const MAX_CARD_BYTES: u64 = 32 << 20;
/// Maximum size of all files in bytes, decompressed. They are in memory during the import.
const MAX_UNPACKED_BYTES: u64 = 96 << 20;
/// The card's entry in the archive.
const CARD: &str = "card.json";
/// URI schemes with which a card names a file of its archive.
const EMBEDDED_SCHEMES: [&str; 3] = ["embeded://", "embedded://", "__asset:"];

/// A file packed with a card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CardAsset {
    /// Its path in the archive: segments between single slashes, without `.` or `..`.
    pub path: String,
    pub bytes: Vec<u8>,
}

/// Returns whether a file contains a ZIP archive, possibly after other data.
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

/// Reads the files beside the card, up to [`MAX_UNPACKED_BYTES`] in all.
fn take_files(archive: &mut ZipArchive<Cursor<&[u8]>>, read: &mut ImportedCard) -> Result<(), CardImportError> {
    let mut room = MAX_UNPACKED_BYTES;
    for n in 0..archive.len() {
        let mut skip = |detail: FindingDetail| read.findings.push(ImportFinding::skipped(&detail));
        let unreadable =
            |name: &str, error: String| FindingDetail::UnreadableAsset { file: displayed_name(name), reason: error };
        // Skip the card, folders, unsafe names and duplicates.
        let mut entry = match archive.by_index(n) {
            Ok(entry) => entry,
            Err(error) => {
                skip(unreadable(&n.to_string(), error.to_string()));
                continue;
            }
        };
        let name = entry.name().map(|name| name.into_owned()).unwrap_or_default();
        if name == CARD || entry.is_dir() {
            continue;
        }
        if !is_safe_path(&name) || entry.is_symlink() {
            let (file, reason) = (displayed_name(&name), FindingReason::OutsideOfArchive);
            skip(FindingDetail::SkippedAsset { file, reason });
            continue;
        }
        if read.assets.iter().any(|asset| asset.path == name) {
            let (file, reason) = (displayed_name(&name), FindingReason::SameName);
            skip(FindingDetail::SkippedAsset { file, reason });
            continue;
        }
        // Read at most one byte more than the remaining limit.
        let mut bytes = Vec::new();
        let length = match (&mut entry).take(room + 1).read_to_end(&mut bytes) {
            Ok(length) => u64::try_from(length).unwrap_or(u64::MAX),
            Err(error) => {
                skip(unreadable(&name, error.to_string()));
                continue;
            }
        };
        room =
            room.checked_sub(length).ok_or(CardImportError::TooLong("the archive, unpacked,", MAX_UNPACKED_BYTES))?;
        read.assets.push(CardAsset { path: name, bytes });
    }
    Ok(())
}

/// Returns the name of an entry for the report.
fn displayed_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(100).collect()
}

/// Returns whether a name is a relative path that stays below the top.
fn is_safe_path(name: &str) -> bool {
    let part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0']);
    name.len() <= 300 && name.split('/').all(part)
}

/// Returns the path of the file that the card names as its icon.
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

/// Packs a card with its files. Adds the picture as the icon if it is not among the files.
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
