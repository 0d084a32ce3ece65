//! The first reading of a chat. It keeps only what is needed to find its story, however long the chat is.

use std::io::{self, BufReader, Read};

use jiff::tz::TimeZone;
use serde_json::Value;

use clotho_compat::interop::chat::{self, ChatFileHeader, ChatFileLine, ChatFileReader};
use clotho_compat::interop::chat_tree::{ChatOutline, PathHash};
use clotho_compat::interop::{FindingDetail, FindingReason, ImportFinding, text};
use clotho_core::tree::AuthorsNote;
use clotho_core::tree::limits::MAX_CHARACTERS;

use super::super::ForeignImportItem;
use super::super::file_container::SourceFile;
use super::ReadProgress;

/// At most this many bad lines of a file are named one by one; the rest are counted.
const NAMED_LINES: usize = 20;

/// At most this many settings of a chat are named.
const NAMED_KEYS: usize = 40;

/// What the first reading finds out about a chat.
#[derive(Debug)]
pub struct ChatScan {
    pub file: SourceFile,
    pub header: ChatFileHeader,
    pub outline: ChatOutline,
    /// The hash of the whole file.
    pub hash: blake3::Hash,
    /// The newest date in it, in milliseconds.
    pub newest: Option<i64>,
    /// The oldest date in it, in milliseconds.
    pub oldest: Option<i64>,
    /// Whether any swipe has message variables.
    pub has_state: bool,
    /// The chat files that are bookmarks of messages in this one.
    pub bookmarks: Vec<String>,
    /// The card files of the speakers, in a chat of several characters.
    pub speakers: Vec<String>,
    /// The first speaker that is not the user.
    pub first_speaker: Option<String>,
    pub user: Option<String>,
    pub messages: u64,
    pub findings: Vec<ImportFinding>,
}

impl ChatScan {
    /// Reads a chat from beginning to end.
    pub fn read(place: &SourceFile, zone: &TimeZone, way: &ReadProgress) -> io::Result<Self> {
        let mut found = Self {
            file: place.clone(),
            header: ChatFileHeader::default(),
            outline: ChatOutline { name: place.stem().to_owned(), ..ChatOutline::default() },
            hash: blake3::hash(b""),
            newest: None,
            oldest: None,
            has_state: false,
            bookmarks: Vec::new(),
            speakers: Vec::new(),
            first_speaker: None,
            user: None,
            messages: 0,
            findings: Vec::new(),
        };
        let mut bad = SkippedLines::default();
        let input = HashingReader::open(place, way)?;
        let mut lines = ChatFileReader::new(BufReader::with_capacity(1 << 16, input));
        let mut at = PathHash::ROOT;
        let mut halves = LoneSurrogates::default();
        while let Some((number, line)) = lines.next_line()? {
            halves.scan_line(number, line.as_deref().unwrap_or_default());
            match line.and_then(chat::read) {
                Ok(ChatFileLine::Header(header)) if number == 1 => {
                    found.outline.parent = header.parent().map(str::to_owned);
                    found.header = header;
                }
                Ok(ChatFileLine::Header(_)) => {
                    bad.add(number, &FindingDetail::MisplacedLine { reason: FindingReason::SecondHeader })
                }
                Ok(ChatFileLine::Message(row)) => {
                    let addresses = found.outline.push_message(at, &row);
                    at = addresses.get(row.selected).copied().unwrap_or(at);
                    found.add_row(&row, zone);
                }
                Err(fault) => bad.add(number, &FindingDetail::UnreadableLine { reason: fault.0 }),
            }
        }
        found.hash = lines.into_input().into_inner().hash();
        found.findings = bad.findings();
        found.findings.extend(halves.finding());
        Ok(found)
    }

    fn add_row(&mut self, row: &chat::ChatFileMessage, zone: &TimeZone) {
        self.messages += 1;
        self.has_state |= row.swipes.iter().any(|one| one.variables.is_some());
        let date = row.selected_swipe().and_then(|shown| chat::date::read(shown.date.as_ref()?, zone));
        self.newest = self.newest.max(date);
        self.oldest = self.oldest.into_iter().chain(date).min();
        let name = (!row.name.trim().is_empty() && !row.is_narration()).then(|| row.name.trim().to_owned());
        if row.is_user {
            self.user = self.user.take().or(name);
        } else {
            self.first_speaker = self.first_speaker.take().or(name);
        }
        if let Some(speaker) = row.speaker_card_file().filter(|file| !self.speakers.iter().any(|other| other == file))
            && self.speakers.len() < MAX_CHARACTERS
        {
            self.speakers.push(speaker.to_owned());
        }
        if let Some(bookmark) = row.bookmark().filter(|name| !self.bookmarks.iter().any(|other| other == name)) {
            self.bookmarks.push(bookmark.to_owned());
        }
    }
}

/// The header keys that are imported, are reported elsewhere, or have no effect anywhere.
const UNDERSTOOD: [&str; 9] = [
    "integrity",
    "main_chat",
    "variables",
    "tainted",
    "persona",
    "world_info",
    "chat_id_hash",
    "lastInContextMessageId",
    "pick_reroll_seed",
];

/// The header keys of the author's note.
const NOTE: [&str; 5] = ["note_prompt", "note_interval", "note_position", "note_depth", "note_role"];

impl ChatScan {
    /// Returns the author's note of the chat.
    pub fn note(&self) -> Option<AuthorsNote> {
        AuthorsNote::from_chat_metadata(self.header.0.get("chat_metadata")?.as_object()?)
    }

    /// Returns the report item for a chat without messages.
    pub fn empty_chat_item(self) -> ForeignImportItem {
        let why = ImportFinding::skipped(&match self.file.is_empty() {
            true => FindingDetail::UnreadFile { reason: FindingReason::EmptyFile },
            false => FindingDetail::NoMessages {},
        });
        ForeignImportItem::skipped("session", self.file.stem(), why)
            .from_file(&self.file.name)
            .with_findings(self.findings)
    }

    /// Returns the finding for header keys that are kept but have no effect here.
    pub fn unused_header_finding(&self) -> Option<ImportFinding> {
        let metadata = self.header.0.get("chat_metadata")?.as_object()?;
        let says = |value: &Value| match value {
            Value::Null => false,
            Value::String(text) => !text.is_empty(),
            Value::Array(list) => !list.is_empty(),
            Value::Object(map) => !map.is_empty(),
            _ => true,
        };
        let is_noted = self.note().is_some() || !metadata.get("note_prompt").is_some_and(says);
        let is_understood = |key: &str| UNDERSTOOD.contains(&key) || (is_noted && NOTE.contains(&key));
        let keys = metadata.iter().filter(|(key, value)| !is_understood(key) && says(value));
        let keys: Vec<&str> = keys.map(|(key, _)| key.as_str()).take(NAMED_KEYS).collect();
        let detail = FindingDetail::ChatSettings { count: keys.len(), keys: keys.join(", ") };
        (!keys.is_empty()).then(|| ImportFinding::kept(&detail))
    }
}

/// Collects the findings for lines that are skipped.
#[derive(Default)]
struct SkippedLines {
    named: Vec<ImportFinding>,
    more: usize,
}

impl SkippedLines {
    fn add(&mut self, line: u64, why: &FindingDetail) {
        if self.named.len() < NAMED_LINES {
            self.named.push(ImportFinding::skipped(why).at_line(line));
        } else {
            self.more += 1;
        }
    }

    fn findings(mut self) -> Vec<ImportFinding> {
        if self.more > 0 {
            self.named.push(ImportFinding::skipped(&FindingDetail::MoreUnreadableLines { count: self.more }));
        }
        self.named
    }
}

/// Counts lone surrogates in the lines of a file.
#[derive(Default)]
struct LoneSurrogates {
    first: u64,
    count: usize,
}

impl LoneSurrogates {
    fn scan_line(&mut self, number: u64, line: &[u8]) {
        let here = std::str::from_utf8(line).map_or(0, text::count_lone_surrogates);
        if here > 0 && self.count == 0 {
            self.first = number;
        }
        self.count += here;
    }

    fn finding(&self) -> Option<ImportFinding> {
        let detail = FindingDetail::LoneSurrogates { count: self.count };
        (self.count > 0).then(|| ImportFinding::translated(&detail).at_line(self.first))
    }
}

/// A reader that hashes a file and reports progress as it reads.
pub struct HashingReader {
    file: Box<dyn Read>,
    hasher: blake3::Hasher,
    read_progress: ReadProgress,
}

impl HashingReader {
    /// Opens the file.
    pub fn open(place: &SourceFile, way: &ReadProgress) -> io::Result<Self> {
        Ok(Self { file: place.open()?, hasher: blake3::Hasher::new(), read_progress: way.clone() })
    }

    /// Returns the hash of what was read so far.
    pub fn hash(&self) -> blake3::Hash {
        self.hasher.finalize()
    }
}

impl Read for HashingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hasher.update(buffer.get(..count).unwrap_or_default());
        self.read_progress.add_read(count);
        Ok(count)
    }
}
