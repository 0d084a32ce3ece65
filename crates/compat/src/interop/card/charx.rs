//! CHARX: a ZIP archive with `card.json` and the files that the card names. The archive may stand behind other bytes,
//! such as a JPEG, and the card in a folder. Entry names are labels and are never used as paths. Entries whose names
//! lead out of the archive are skipped.

use std::io::{Cursor, Read as _, Write as _};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use super::archive::{CardArchive, CardAsset, broken, entry_path, read_entry};
use super::{CardImportError, ExportCard, ImportedCard, byaf, fields, parse};
use crate::interop::{FindingDetail, FindingReason, ImportFinding, picture, png, text};

/// Signature of a ZIP entry. In a self-extracting archive it is not at the start of the file.
const ZIP_SIGNATURE: &[u8] = b"PK\x03\x04";
/// Signature of an entry in the central directory.
const ZIP_DIRECTORY_SIGNATURE: &[u8] = b"PK\x01\x02";
/// Signature of the record at the end of an archive, and its length without the comment.
const ZIP_END: (&[u8], usize) = (b"PK\x05\x06", 22);
/// How many bytes at the end of a file contain the end record of an archive: the longest comment and more.
pub const ARCHIVE_TAIL_BYTES: usize = 66_000;
/// Maximum number of entries in an archive.
const MAX_ENTRIES: usize = 4_000;
/// Maximum size of all files in bytes, decompressed. They are in memory during the import.
const MAX_UNPACKED_BYTES: u64 = 96 << 20;
/// The card's entry in the archive.
const CARD: &str = "card.json";
/// URI schemes with which a card names a file of its archive.
const EMBEDDED_SCHEMES: [&str; 3] = ["embeded://", "embedded://", CHUNK_SCHEME];
/// The URI scheme with which a card of RisuAI names a file in a text chunk of its PNG.
const CHUNK_SCHEME: &str = "__asset:";

/// Returns whether a file contains a ZIP archive, possibly after other data.
pub fn is_archive(file: &[u8]) -> bool {
    let tail = file.get(file.len().saturating_sub(ARCHIVE_TAIL_BYTES)..).unwrap_or_default();
    file.starts_with(ZIP_SIGNATURE) || has_archive_end(tail)
}

/// Returns whether the last bytes of a file contain the end record of a ZIP archive with entries.
pub fn has_archive_end(tail: &[u8]) -> bool {
    let number = |at: usize| {
        tail.get(at..at.saturating_add(2)).map(|two| two.iter().rev().fold(0, |n, byte| (n << 8) | usize::from(*byte)))
    };
    let is_end = |at: usize| {
        let (disk, entries, comment) = (number(at + 4)?, number(at + 10)?, number(at + 20)?);
        Some(matches!(disk, 0 | 0xFFFF) && entries > 0 && at + ZIP_END.1 + comment <= tail.len())
    };
    tail.windows(ZIP_END.0.len()).enumerate().any(|(at, four)| four == ZIP_END.0 && is_end(at) == Some(true))
}

/// Returns whether a path is that of a card, and the folder with its files: empty, or with a slash at its end.
pub fn card_folder(path: &str) -> Option<&str> {
    let start = path.rfind('/').map_or(0, |slash| slash + 1);
    let (folder, name) = path.split_at_checked(start)?;
    (name.eq_ignore_ascii_case(CARD) && !folder.starts_with("__MACOSX/")).then_some(folder)
}

/// The card in an archive.
struct CardEntry {
    index: usize,
    folder: String,
}

/// Returns the card that stands least deep, preferring the usual spelling of its name.
fn find_card(archive: &CardArchive<'_>) -> Option<CardEntry> {
    let all = (0..archive.len()).filter_map(|index| {
        let path = entry_path(&archive.name_for_index(index)?.ok()?);
        let folder = card_folder(&path)?.to_owned();
        Some((folder.matches('/').count(), !path.ends_with(CARD), CardEntry { index, folder }))
    });
    all.min_by_key(|(depth, is_odd, entry)| (*depth, *is_odd, entry.index)).map(|(.., entry)| entry)
}

/// Reads the card and its files.
pub fn read(file: &[u8], file_stem: Option<&str>) -> Result<ImportedCard, CardImportError> {
    if file.windows(ZIP_DIRECTORY_SIGNATURE.len()).filter(|four| *four == ZIP_DIRECTORY_SIGNATURE).count() > MAX_ENTRIES
    {
        return Err(CardImportError::TooMany("files", MAX_ENTRIES));
    }
    let mut archive = ZipArchive::new(Cursor::new(file)).map_err(broken)?;
    let Some(entry) = find_card(&archive) else { return byaf::read(&mut archive, file_stem) };
    let bytes = read_entry(&mut archive, entry.index, CARD)?;
    let text = text::decode(&bytes)
        .map_err(|error| CardImportError::NotJson { place: CARD.into(), cause: error.to_string() })?;
    let card = parse(CARD, &text)?;
    let icon = icon(&card);
    let mut read = fields::read(card, file_stem)?;
    take_files(&mut archive, &entry, &mut read)?;
    read.picture = shown_picture(&mut archive, file, icon.as_deref(), &read.assets);
    Ok(read)
}

/// Returns the picture of a card: the icon that it names, else the picture before the archive, else an icon among its
/// files, else its first picture.
fn shown_picture(
    archive: &mut CardArchive<'_>,
    file: &[u8],
    icon: Option<&str>,
    assets: &[CardAsset],
) -> Option<Vec<u8>> {
    let is_picture = |asset: &&CardAsset| picture::detect_format(&asset.bytes).is_some();
    let named = assets.iter().filter(is_picture).find(|asset| icon == Some(asset.path.as_str()));
    if let Some(asset) = named {
        return Some(asset.bytes.clone());
    }
    let start = (0..archive.len()).filter_map(|n| archive.by_index_raw(n).ok().map(|entry| entry.header_start())).min();
    let before = start.and_then(|start| file.get(..usize::try_from(start).ok()?)).unwrap_or_default();
    if picture::detect_format(before).is_some() {
        return Some(before.to_vec());
    }
    let mut pictures = assets.iter().filter(is_picture);
    let first = pictures.clone().next();
    pictures.find(|asset| asset.path.contains("icon")).or(first).map(|asset| asset.bytes.clone())
}

/// Reads the files beside the card, up to [`MAX_UNPACKED_BYTES`] in all.
fn take_files(archive: &mut CardArchive<'_>, card: &CardEntry, read: &mut ImportedCard) -> Result<(), CardImportError> {
    let mut room = MAX_UNPACKED_BYTES;
    for n in (0..archive.len()).filter(|n| *n != card.index) {
        let mut skip = |detail: FindingDetail| read.findings.push(ImportFinding::skipped(&detail));
        let unreadable =
            |name: &str, error: String| FindingDetail::UnreadableAsset { file: displayed_name(name), reason: error };
        // Skip folders, unsafe names and duplicates.
        let mut entry = match archive.by_index(n) {
            Ok(entry) => entry,
            Err(error) => {
                skip(unreadable(&n.to_string(), error.to_string()));
                continue;
            }
        };
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().map(|name| name.into_owned()).unwrap_or_default();
        let path = name.strip_prefix("./").unwrap_or(&name);
        let name = path.strip_prefix(card.folder.as_str()).unwrap_or(path).to_owned();
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
    let in_picture = assets_in_picture(&mut card, sheet);
    let assets = sheet.assets.iter().chain(&in_picture);
    let mut files: Vec<(String, &[u8])> = assets.map(|asset| (asset.path.clone(), asset.bytes.as_slice())).collect();
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

/// Returns the files that RisuAI stores in text chunks of the picture, and lets the card name them as files.
fn assets_in_picture(card: &mut Value, sheet: &ExportCard<'_>) -> Vec<CardAsset> {
    let picture = sheet.picture.filter(|picture| picture.starts_with(png::SIGNATURE)).unwrap_or_default();
    let chunks = png::read_chunks(picture).map(|(chunks, _)| chunks).unwrap_or_default();
    let bytes_of = |number: &str| {
        let keywords = [format!("chara-ext-asset_:{number}"), format!("chara-ext-asset_{number}")];
        let chunk = chunks.iter().find(|chunk| chunk.is_text() && keywords.contains(&chunk.keyword()))?;
        png::decode_base64(&chunk.keyword(), &chunk.text().ok()?).ok()
    };
    let mut found: Vec<CardAsset> = Vec::new();
    let assets = card.pointer_mut("/data/assets").and_then(Value::as_array_mut);
    for asset in assets.into_iter().flatten().filter_map(Value::as_object_mut) {
        let number = asset.get("uri").and_then(Value::as_str).and_then(|uri| uri.strip_prefix(CHUNK_SCHEME));
        let Some(number) = number.filter(|number| number.chars().all(|c| c.is_ascii_digit())) else { continue };
        let Some(bytes) = bytes_of(number) else { continue };
        let word = |key: &str, blank: &str| {
            let text = asset.get(key).and_then(Value::as_str).unwrap_or_default();
            let text: String =
                text.chars().filter(|c| c.is_alphanumeric() || matches!(c, '_' | '-')).take(60).collect();
            if text.is_empty() { blank.to_owned() } else { text }
        };
        let (kind, name, end) = (word("type", "other"), word("name", "file"), word("ext", "bin"));
        let path = format!("assets/{kind}/{number}-{name}.{end}");
        asset.insert("uri".to_owned(), format!("embeded://{path}").into());
        found.push(CardAsset { path, bytes });
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::card;

    const JPEG: &[u8] = b"\xff\xd8\xff\xe0\x00\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xd9";
    const NELL: &[u8] = br#"{"spec": "chara_card_v3", "data": {"name": "Nell", "assets": [{"type": "icon", "uri": "ccdefault:", "name": "main", "ext": "png"}]}}"#;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        pack(&files.iter().map(|(name, bytes)| ((*name).to_owned(), *bytes)).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn charx_behind_other_bytes_is_read_with_picture_before_it() {
        let packed = archive(&[("card.json", NELL), ("assets/happy.png", b"no picture")]);
        for before in [JPEG, b"", b"#!/bin/sh\nexit 0\n", &[0xFF; 300]] {
            let file = [before, &packed].concat();
            let read = card::read(&file).unwrap();
            assert_eq!(read.card["name"], "Nell");
            assert_eq!(read.picture.as_deref(), Some(before).filter(|before| *before == JPEG), "{before:?}");
            assert_eq!(read.assets.len(), 1);
            // The archive may also have a comment.
            let mut commented = file.clone();
            let at = commented.len() - 2;
            commented.splice(at.., [3, 0, b'h', b'i', b'!']);
            assert_eq!(card::read(&commented).unwrap().card["name"], "Nell");
        }
        assert!(!is_archive(JPEG) && !is_archive(b"PK\x05\x06 is a text, not a record of an archive"));
        assert_eq!(card::read(JPEG).unwrap_err(), CardImportError::NoCardInPicture);
    }

    /// As `zip -A` writes them: the offsets count from the start of the file, not of the archive.
    #[test]
    fn charx_with_adjusted_offsets_is_read() {
        let mut start = Cursor::new(JPEG.to_vec());
        start.set_position(u64::try_from(JPEG.len()).unwrap());
        let mut writer = ZipWriter::new(start);
        writer.start_file("card.json", SimpleFileOptions::default()).unwrap();
        writer.write_all(NELL).unwrap();
        let file = writer.finish().unwrap().into_inner();
        assert!(file.starts_with(JPEG));
        let read = card::read(&file).unwrap();
        assert_eq!((&read.card["name"], read.picture.as_deref()), (&Value::from("Nell"), Some(JPEG)));
    }

    #[test]
    fn charx_card_in_folder_or_of_other_case_is_read() {
        for (name, asset) in [
            ("./card.json", "./assets/a.bin"),
            ("Anna/card.json", "Anna/assets/a.bin"),
            ("./Anna/Card.JSON", "./Anna/assets/a.bin"),
            ("CARD.json", "assets/a.bin"),
        ] {
            let read = card::read(&archive(&[(asset, b"A"), (name, NELL), ("__MACOSX/card.json", b"x")])).unwrap();
            assert_eq!(read.card["name"], "Nell", "{name}");
            assert!(read.assets.iter().any(|asset| asset.path == "assets/a.bin"), "{name}: {:?}", read.assets);
        }
        let two = archive(&[("b/card.json", br#"{"name": "Deep"}"#), ("card.json", NELL)]);
        assert_eq!(card::read(&two).unwrap().card["name"], "Nell", "the one at the top");
        let error = card::read(&archive(&[("notes.txt", b"x")])).unwrap_err();
        assert_eq!(error, CardImportError::NoCardInArchive);
    }

    /// Files that RisuAI stores in chunks of a PNG are files of the archive, and the card names them as such.
    #[test]
    fn charx_export_packs_files_in_chunks_of_picture() {
        let chunk = png::encode_chunk(b"tEXt", b"chara-ext-asset_:0\0aGFwcHk=");
        let drawn = picture::insert_chunks(&picture::png_or_placeholder(None), &chunk);
        let assets = json!([
            {"type": "emotion", "uri": "__asset:0", "name": "hap/py", "ext": "png"},
            {"type": "emotion", "uri": "__asset:7", "name": "gone", "ext": "png"},
        ]);
        let card = json!({"name": "Rin", "metadata": {"assets": assets}});
        let sheet =
            ExportCard { card: card.as_object().cloned().unwrap(), picture: Some(&drawn), ..ExportCard::default() };
        let read = card::read(&write(&sheet).unwrap()).unwrap();
        let happy = read.assets.iter().find(|asset| asset.path == "assets/emotion/0-happy.png").unwrap();
        assert_eq!(happy.bytes, b"happy");
        let uris: Vec<&str> =
            read.card["metadata"]["assets"].as_array().unwrap().iter().filter_map(|one| one["uri"].as_str()).collect();
        assert!(uris.contains(&"embeded://assets/emotion/0-happy.png") && uris.contains(&"__asset:7"), "{uris:?}");
    }

    #[test]
    fn charx_without_icon_shows_first_picture() {
        let files: [(&str, &[u8]); 3] = [("card.json", NELL), ("a/note.txt", b"x"), ("a/happy.jpg", JPEG)];
        assert_eq!(card::read(&archive(&files)).unwrap().picture.as_deref(), Some(JPEG));
    }
}
