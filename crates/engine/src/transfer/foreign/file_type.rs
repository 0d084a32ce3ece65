//! Detects the type of a file by its first bytes. The name only matters for YAML and `.jsonl`.

use std::fs::File;
use std::io::{self, BufReader, Read};

use serde::de::IgnoredAny;

use clotho_compat::interop::card::{ARCHIVE_TAIL_BYTES, has_archive_end};
use clotho_compat::interop::chat::{self, ChatFileLine, ChatFileReader};
use clotho_compat::interop::{foreign_chat, png};

use super::super::file_container::SourceFile;

/// The signatures of zip archives; the second is that of an empty one.
const ARCHIVE: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// The signature of session files, which are Zstandard streams.
const SESSION: &[u8] = b"\x28\xb5\x2f\xfd";
/// The number of bytes that are read to detect the type.
const HEAD: u64 = 64;
/// The number of lines that are read to detect what the lines are. All before the last one are broken.
const LINES: usize = 20;

/// The type of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignFileType {
    /// A SillyTavern chat, one message per line.
    Chat,
    /// A character card: a picture or YAML.
    Card,
    /// A zip archive, including a card in one.
    Archive,
    /// A session file of Clotho.
    Session,
    /// Any JSON.
    Json,
    Unknown,
}

/// Whether a file does not start like a session file.
pub fn is_foreign(file: File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(4).read_to_end(&mut head)?;
    Ok(head != SESSION)
}

/// Detects the type of a file.
pub fn detect_type(place: &SourceFile) -> io::Result<ForeignFileType> {
    let mut head = Vec::new();
    place.open()?.take(HEAD).read_to_end(&mut head)?;
    let begins = |marks: &[&[u8]]| marks.iter().any(|mark| head.starts_with(mark));
    if begins(&[png::SIGNATURE]) {
        return Ok(ForeignFileType::Card);
    }
    if begins(&ARCHIVE) {
        return Ok(ForeignFileType::Archive);
    }
    if begins(&[SESSION]) {
        return Ok(ForeignFileType::Session);
    }
    // Skip white space, byte order marks, and the zero byte of a UTF-16 character.
    let is_before = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF | 0xFF | 0xFE | 0);
    let is_lines = place.ending() == "jsonl";
    Ok(match head.iter().find(|byte| !is_before(byte)) {
        Some(b'{') => {
            detect_lines(place)?.unwrap_or(if is_lines { ForeignFileType::Chat } else { ForeignFileType::Json })
        }
        Some(b'[') => ForeignFileType::Json,
        _ if matches!(place.ending().as_str(), "yaml" | "yml") => ForeignFileType::Card,
        _ if is_lines => detect_lines(place)?.unwrap_or(ForeignFileType::Chat),
        // An archive may stand behind a picture or a program that unpacks it.
        _ if has_archive_end(&place.tail(u64::try_from(ARCHIVE_TAIL_BYTES).unwrap_or(u64::MAX))?) => {
            ForeignFileType::Archive
        }
        _ => ForeignFileType::Unknown,
    })
}

/// Detects what the lines of a file are: messages of SillyTavern, or chats of another program. `None` if they are neither.
///
/// The first line that can be read decides. Those before it are broken; who reads the file names them. In a file that is
/// not named `.jsonl`, every line looked at must begin like an object, as no line but the first does in laid out JSON.
fn detect_lines(place: &SourceFile) -> io::Result<Option<ForeignFileType>> {
    let is_lines = place.ending() == "jsonl";
    let mut lines = ChatFileReader::new(BufReader::new(place.open()?));
    for _ in 0..LINES {
        let Some((_, line)) = lines.next_raw_line()? else { break };
        let Ok(line) = line else { continue };
        if !is_lines && !line.starts_with(b"{") {
            break;
        }
        let line = line.trim_ascii();
        match chat::read(line) {
            Ok(ChatFileLine::Message(_)) => return Ok(Some(ForeignFileType::Chat)),
            // A card can also look like a header, since it has a creation date.
            Ok(ChatFileLine::Header(header)) => {
                let is_header =
                    ["chat_metadata", "user_name", "character_name"].iter().any(|key| header.0.contains_key(*key));
                return Ok(Some(if is_header { ForeignFileType::Chat } else { ForeignFileType::Json }));
            }
            // Open WebUI exports one chat per line too.
            Err(_) if is_lines && foreign_chat::read(line).is_ok() => return Ok(Some(ForeignFileType::Json)),
            // Elsewhere, other JSON on one line is the whole file.
            Err(_) if !is_lines && serde_json::from_slice::<IgnoredAny>(line).is_ok() => break,
            Err(_) => {}
        }
    }
    Ok(None)
}
