//! What a file is, by how it begins; its name only tells YAML from other texts.

use std::fs::File;
use std::io::{self, BufReader, Read};

use clotho_compat::interop::chat::{self, ChatFileLine, ChatFileReader};
use clotho_compat::interop::png;

use super::super::file_container::SourceFile;

/// How an archive begins; the second is one in which nothing lies.
const ARCHIVE: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];
/// How the file of a session begins: it is packed by Zstandard.
const SESSION: &[u8] = b"\x28\xb5\x2f\xfd";
/// So many bytes say what a file is.
const HEAD: u64 = 64;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignFileType {
    /// A chat of SillyTavern, one message a line.
    Chat,
    /// A card of a character, in a picture or as YAML.
    Card,
    /// An archive, also that of a card.
    Archive,
    /// A session, as this program writes it.
    Session,
    /// JSON, whatever is in it.
    Json,
    /// Nothing that is known.
    Unknown,
}

/// Whether an open file begins as files of other programs do; what begins in no known way is for whoever reads sessions.
pub fn is_foreign(file: File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(4).read_to_end(&mut head)?;
    Ok(head != SESSION)
}

/// Looks at a file.
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
    // The marks before a text, in UTF-8 or UTF-16, and the half of its first letter that says nothing.
    let is_before = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF | 0xFF | 0xFE | 0);
    Ok(match head.iter().find(|byte| !is_before(byte)) {
        Some(b'{') if is_chat(place)? => ForeignFileType::Chat,
        Some(b'{' | b'[') => ForeignFileType::Json,
        _ if matches!(place.ending().as_str(), "yaml" | "yml") => ForeignFileType::Card,
        _ if place.ending() == "jsonl" => ForeignFileType::Chat,
        _ => ForeignFileType::Unknown,
    })
}

/// Whether the first line is the header of a chat, or a message.
fn is_chat(place: &SourceFile) -> io::Result<bool> {
    let mut lines = ChatFileReader::new(BufReader::new(place.open()?));
    let Some((_, Ok(line))) = lines.next_line()? else { return Ok(false) };
    Ok(match chat::read(line) {
        Ok(ChatFileLine::Row(_)) => true,
        // A card says when it was made as well.
        Ok(ChatFileLine::Header(header)) => {
            ["chat_metadata", "user_name", "character_name"].iter().any(|key| header.0.contains_key(*key))
        }
        Err(_) => place.ending() == "jsonl",
    })
}
