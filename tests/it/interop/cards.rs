//! Character cards: the recorded ones are read and exported again.

use base64::Engine;
use clotho_compat::interop::card::{self, CardImportError, ExportCard, ImportedCard};
use clotho_compat::interop::{FindingOutcome, picture, png};
use serde_json::{Map, Value, json};

use super::*;

/// Fields that SillyTavern adds to a version 1 card, or loses from the card.
const OTHERWISE: [&str; 6] = [
    "/talkativeness",
    "/data/extensions/talkativeness",
    "/data/extensions/world",
    "/data/extensions/depth_prompt",
    "/data/alternate_greetings",
    "/data/system_prompt",
];

fn export_card(read: &ImportedCard) -> ExportCard<'_> {
    let card = read.card.clone();
    ExportCard { card, book: read.book.clone(), picture: read.picture.as_deref(), ..ExportCard::default() }
}

/// Returns the cards inside a PNG, with the names of their chunks.
fn embedded_cards(file: &[u8]) -> Vec<(String, Value)> {
    let (chunks, fault) = png::read_chunks(file).unwrap();
    assert_eq!(fault, None);
    assert!(chunks.iter().all(|chunk| chunk.crc_matches));
    let texts = chunks.iter().filter(|chunk| chunk.is_text()).map(|chunk| {
        let text = png::decode_base64("x", &chunk.text().unwrap()).unwrap();
        (chunk.keyword(), serde_json::from_slice(&text).unwrap())
    });
    texts.collect()
}

/// S0-05: every recorded card is read, and its export has everything that the recorded export has, with both chunks.
#[test]
fn cards_recorded_files_read_and_export_as_recorded() {
    let mut read_well = 0;
    for case in case_files("cards") {
        let expected = read_fixture_json(&format!("cards/{}.expect.json", case.rsplit_once('.').unwrap().0));
        let found = card::read(&read_fixture(&format!("cards/{case}")));
        assert_eq!(found.is_ok(), expected["import_ok"] == true, "{case}: {:?}", found.err());
        let Ok(read) = found else { continue };
        read_well += 1;
        let mut lost = Vec::new();
        let out = card::write_json(&export_card(&read));
        collect_missing_paths(&expected["export_json"], &out, "", &mut lost);
        let is_old = expected["export_json"]["data"]["extensions"]["depth_prompt"]["prompt"] == "";
        lost.retain(|at| !(is_old && OTHERWISE.contains(&at.as_str())));
        assert_eq!(lost, Vec::<String>::new(), "{case}: {out:#}");
        let file = card::write_png(&export_card(&read));
        let texts = embedded_cards(&file);
        assert_eq!(texts, [("chara".to_owned(), out.clone()), ("ccv3".to_owned(), out)], "{case}");
        assert!(picture::thumbnail(&file).is_ok(), "{case}");
    }
    assert!(read_well > 8, "{read_well}");
}

/// An exported card can be imported unchanged, in every format.
#[test]
fn card_export_then_import_round_trips() {
    for case in
        ["v2-full.json", "v3-version-40.json", "png-unicode-book.png", "v1-extra-fields.json", "v2-unicode.json"]
    {
        let first = card::read(&read_fixture(&format!("cards/{case}"))).unwrap();
        let sheet = export_card(&first);
        let (json, png, charx) = (
            card::write_json(&sheet).to_string().into_bytes(),
            card::write_png(&sheet),
            card::write_charx(&sheet).unwrap(),
        );
        for file in [json, png, charx] {
            let again = card::read(&file).unwrap();
            let bare = |read: &ImportedCard| {
                let mut card = read.card.clone();
                // The version of the original card, and fields that are empty there and absent here.
                let metadata = card["metadata"].as_object_mut().unwrap();
                metadata.remove("card");
                metadata.retain(|name, value| name != "assets" && *value != json!("") && *value != json!({}));
                card.retain(|_, value| *value != json!("") && *value != json!([]));
                (Value::Object(card), read.book.clone())
            };
            assert_eq!(bare(&again), bare(&first), "{case}");
        }
    }
}

fn png_with_chunks(chunks: &[Vec<u8>]) -> Vec<u8> {
    let drawn = picture::png_or_placeholder(None);
    picture::insert_chunks(&drawn, &chunks.concat())
}

fn text_chunk(kind: &[u8; 4], keyword: &str, json: &Value) -> Vec<u8> {
    let text = base64::engine::general_purpose::STANDARD.encode(json.to_string());
    let between: &[u8] = if kind == b"iTXt" { b"\0\0\0\0\0" } else { b"\0" };
    png::encode_chunk(kind, &[keyword.as_bytes(), between, text.as_bytes()].concat())
}

fn card_json(name: &str) -> Value {
    json!({"spec": "chara_card_v2", "data": {"name": name}})
}

/// Chunk priority, whichever program wrote them: the newer version before the older, the first of two, plain text
/// before compressed.
#[test]
fn card_png_chunks_are_read_in_priority_order() {
    let check = |chunks: &[Vec<u8>], name: &str| {
        let read = card::read(&png_with_chunks(chunks)).unwrap();
        assert_eq!(read.card["name"], name);
        assert!(read.picture.is_some_and(|picture| embedded_cards(&picture).is_empty()), "the image contains no card");
    };
    check(&[text_chunk(b"tEXt", "chara", &card_json("a"))], "a");
    check(&[text_chunk(b"iTXt", "Chara", &card_json("a"))], "a");
    check(&[text_chunk(b"tEXt", "chara", &card_json("a")), text_chunk(b"tEXt", "ccv3", &card_json("b"))], "b");
    check(&[text_chunk(b"iTXt", "chara", &card_json("a")), text_chunk(b"tEXt", "chara", &card_json("b"))], "b");
    check(&[text_chunk(b"tEXt", "chara", &card_json("a")), text_chunk(b"tEXt", "CHARA", &card_json("b"))], "a");
}

/// A truncated or changed picture still gives its card, and reports what is damaged.
#[test]
fn card_in_damaged_png_is_read_with_findings() {
    let whole = png_with_chunks(&[]);
    let card = text_chunk(b"tEXt", "chara", &card_json("Rin"));
    // After the header, before the pixels.
    let at = 8 + 25;
    let file = [&whole[..at], &card, &whole[at..whole.len() - 30]].concat();
    let read = card::read(&file).unwrap();
    assert_eq!((read.card["name"].as_str(), read.picture), (Some("Rin"), None));
    assert!(read.findings.iter().any(|finding| finding.code == "picture" && finding.fate == FindingOutcome::Skipped));
    let mut changed = card.clone();
    *changed.last_mut().unwrap() ^= 1;
    let read = card::read(&png_with_chunks(&[changed])).unwrap();
    assert!(read.findings.iter().any(|finding| finding.code == "chunk_sum"));
}

/// Some tools write the JSON itself into the chunk, or the chunk behind the end of the image.
#[test]
fn card_in_raw_chunk_or_behind_image_is_read() {
    let card = json!({"spec": "chara_card_v2", "data": {"name": "Rin", "first_mes": "Oh."}});
    for kind in [b"tEXt", b"iTXt"] {
        let between: &[u8] = if kind == b"iTXt" { b"\0\0\0\0\0" } else { b"\0" };
        let raw = png::encode_chunk(kind, &[b"chara".as_slice(), between, card.to_string().as_bytes()].concat());
        assert_eq!(card::read(&png_with_chunks(&[raw])).unwrap().card["name"], "Rin");
    }
    let chunk = text_chunk(b"tEXt", "ccv3", &card);
    let behind = [png_with_chunks(&[]), chunk.clone(), b"more".to_vec()].concat();
    assert_eq!(card::read(&behind).unwrap().card["name"], "Rin");
    // What is inside of the image counts first.
    let other = text_chunk(b"tEXt", "chara", &json!({"spec": "chara_card_v2", "data": {"name": "Ivo"}}));
    let both = [png_with_chunks(&[other]), chunk].concat();
    assert_eq!(card::read(&both).unwrap().card["name"], "Ivo");
}

/// A file that is not a card is refused with a reason and a hint.
#[test]
fn card_invalid_file_error_names_reason_and_hint() {
    let check = |file: &[u8], words: &str| {
        let error = card::read(file).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        assert!(!error.hint().is_empty());
    };
    let chunk = |keyword: &str, text: &[u8]| png::encode_chunk(b"tEXt", &[keyword.as_bytes(), b"\0", text].concat());
    check(&png_with_chunks(&[]), "contains no card");
    check(&png_with_chunks(&[chunk("chara", b"%%%")]), "the chunk \"chara\" is not base64");
    check(&png_with_chunks(&[chunk("chara", b"e29vcHM=")]), "the card in the chunk \"chara\" is not JSON");
    check(&png_with_chunks(&[chunk("chara", b"//79")]), "is not JSON: it claims to be UTF-16");
    check(b"\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXtchara\0", "a chunk claims 4294967295 bytes, and the file has 6");
    check(b"", "neither PNG nor");
    check(b"\xff\xfe\xfd", "UTF-16");
    check(b"\x80\x81", "not UTF-8 at byte 0");
    check(b"[1]", "no name");
    check(b"{\"name\": ", "not JSON: EOF");
    check(("[".repeat(5_000) + &"]".repeat(5_000)).as_bytes(), "127 levels");
    let values = format!("{{\"data\": {{\"name\": \"P\", \"extensions\": [{}[]]}}}}", "[],".repeat(700_000));
    check(values.as_bytes(), "too many values");
    check(b"just some words", "neither PNG nor");
    check(&vec![b' '; card::MAX_FILE_BYTES + 1], "the file has more than");
}

/// YAML of text-generation-webui and a version 2 card in YAML are read. Exponential anchor expansion is stopped.
#[test]
fn card_yaml_files_are_read() {
    let read =
        card::read("name: Rin\ncontext: |-\n  Keeper of\n  the light.\ngreeting: 你好\nodd: [1, 2]\n".as_bytes())
            .unwrap();
    let expected = json!({
        "name": "Rin", "description": "Keeper of\nthe light.", "firstMessage": "你好",
        "metadata": {"odd": [1, 2], "extensions": {}, "card": {}},
    });
    let mut card: Map<String, Value> = read.card;
    card["metadata"].as_object_mut().unwrap().entry("extensions").or_insert(json!({}));
    assert_eq!(Value::Object(card), expected);
    let read = card::read(b"spec: chara_card_v2\ndata:\n  name: Rin\n  tags: [a, b]\n").unwrap();
    assert_eq!(read.card["tags"], json!(["a", "b"]));
    let bomb = (0..30).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        text + &format!("a{}: &a{} [{}]\n", n + 1, n + 1, vec![format!("*a{n}"); 9].join(", "))
    });
    assert!(matches!(card::read(bomb.as_bytes()), Err(CardImportError::NotYaml(_))));
}

fn charx_archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    use std::io::Write;
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in files {
        archive.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A CHARX archive keeps its picture and assets. The names of its entries are only labels, never paths.
#[test]
fn card_charx_archive_keeps_picture_and_assets() {
    let drawn = picture::png_or_placeholder(None);
    let card_of = json!({"spec": "chara_card_v3", "data": {"name": "Rin", "assets": [
        {"type": "icon", "name": "main", "uri": "embeded://assets/icon/main.png", "ext": "png"},
    ]}});
    let card_text = card_of.to_string();
    let files: [(&str, &[u8]); 6] = [
        ("card.json", card_text.as_bytes()),
        ("assets/icon/main.png", &drawn),
        ("../../etc/passwd", b"x"),
        ("/absolute", b"x"),
        ("a\\..\\b", b"x"),
        ("assets/other/狐.bin", b"12"),
    ];
    let file = [b"#!/bin/sh\n".as_slice(), &charx_archive(&files)].concat();
    let read = card::read(&file).unwrap();
    assert_eq!(read.picture.as_deref(), Some(drawn.as_slice()));
    let paths: Vec<&str> = read.assets.iter().map(|asset| asset.path.as_str()).collect();
    assert_eq!(paths, ["assets/icon/main.png", "assets/other/狐.bin"]);
    let skipped = read.findings.iter().filter(|finding| finding.fate == FindingOutcome::Skipped);
    assert_eq!(skipped.filter(|finding| finding.message.contains("points outside")).count(), 3);
    let again = ExportCard { assets: read.assets.clone(), ..export_card(&read) };
    let again = card::read(&card::write_charx(&again).unwrap()).unwrap();
    assert_eq!((again.assets, again.picture), (read.assets, read.picture));
}

/// Decompression bombs are not unpacked.
#[test]
fn card_archive_decompression_bomb_is_refused() {
    let zeros = vec![0; 33 << 20];
    let error = card::read(&charx_archive(&[("card.json", &zeros)])).unwrap_err();
    assert_eq!(error, CardImportError::TooLong("card.json", 32 << 20));
    let card_text = card_json("Rin").to_string();
    let names: Vec<String> = (0..4).map(|n| format!("{n}.bin")).collect();
    let mut files = vec![("card.json", card_text.as_bytes())];
    files.extend(names.iter().map(|name| (name.as_str(), zeros.as_slice())));
    let error = card::read(&charx_archive(&files)).unwrap_err();
    assert_eq!(error, CardImportError::TooLong("the archive, unpacked,", 96 << 20));
    let many: Vec<String> = (0..4_001).map(|n| n.to_string()).collect();
    let many: Vec<(&str, &[u8])> = many.iter().map(|name| (name.as_str(), &b""[..])).collect();
    assert_eq!(card::read(&charx_archive(&many)).unwrap_err(), CardImportError::TooMany("files", 4_000));
    let mut broken = charx_archive(&[("card.json", card_text.as_bytes())]);
    broken.truncate(60);
    assert!(matches!(card::read(&broken), Err(CardImportError::BrokenArchive(_))));
}

/// Memory use stays within the limit for a card, whatever size a file claims.
#[test]
fn card_import_memory_stays_within_limit() {
    use clotho_plugin::heap;
    let check = |what: &str, file: &[u8], most: i64| {
        heap::reset_peak();
        let before = heap::live_bytes();
        let _ = card::read(file);
        let held = heap::peak_bytes() - before;
        assert!(held < most, "{what}: {held} bytes");
    };
    let megabyte = 1_i64 << 20;
    let text = |kind: &[u8; 4], keyword: &str, text: &[u8]| {
        png::encode_chunk(kind, &[keyword.as_bytes(), b"\0", text].concat())
    };
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packer, &vec![b'A'; 80 << 20]).unwrap();
    let packed = packer.finish().unwrap();
    check(
        "a text that unpacks",
        &png_with_chunks(&[text(b"zTXt", "chara", &[b"\0", packed.as_slice()].concat())]),
        100 * megabyte,
    );
    let lying = [b"\x89PNG\r\n\x1a\n\x7f\xff\xff\xfftEXtchara\0".as_slice(), &[b'A'; 1_000]].concat();
    check("a length that lies", &lying, megabyte);
    let chunks = png::encode_chunk(b"tEXt", b"x\0").repeat(200_000);
    check("chunks and nothing else", &[png::SIGNATURE.as_slice(), &chunks].concat(), 32 * megabyte);
    check("an archive that unpacks", &charx_archive(&[("card.json", &vec![b' '; 80 << 20])]), 100 * megabyte);
    check("a list without end", &[b"PK\x03\x04".as_slice(), &b"PK\x01\x02".repeat(100_000)].concat(), megabyte);
    let key = format!("{{\"name\": \"Rin\", \"{}\": 1}}", "k".repeat(1 << 20));
    check("a key of a megabyte", key.as_bytes(), 16 * megabyte);
    check("deep YAML", format!("name: {}", "[".repeat(100_000)).as_bytes(), 64 * megabyte);
}

/// The importer is told which macros stay as text. Every macro in the table is replaced and documented, and no other
/// is replaced.
#[test]
fn card_supported_macros_match_macro_table_and_docs() {
    let explained = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/prompts.md")).unwrap();
    let mut names: Vec<&str> = clotho_compat::prompt::macros::names().filter(|name| *name != "//").collect();
    names.sort_unstable();
    assert_eq!(names, clotho_compat::interop::card::SUPPORTED_MACROS);
    for name in names {
        assert!(explained.contains(&format!("`{name}`")), "docs/prompts.md lacks `{name}`");
    }
}
