//! Reads the files of a folder or a zip archive in place. Nothing is unpacked to disk, so no name in an archive can
//! escape; links are reported and not followed.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use clotho_compat::interop::FindingReason;
use clotho_compat::interop::card::card_folder;

use super::archive_budget::{ArchiveBudget, EntryCharge};

/// The most entries that are read of one folder.
pub const MAX_ENTRIES: usize = 200_000;
/// The most entries of an archive, whose directory is kept in memory.
const MAX_PACKED_ENTRIES: u64 = 200_000;
/// The greatest depth of nested folders.
pub const MAX_DEPTH: usize = 8;
/// The greatest depth of a data folder below the given path.
const MAX_DATA_FOLDER_DEPTH: usize = 6;
/// The highest compression ratio that is read. Text compresses about 20:1 and repeated states 100:1; more than this
/// is taken for a zip bomb.
const MAX_COMPRESSION_RATIO: u64 = 300;
/// How many bytes at the end of an archive are searched for its directory record: the longest comment and more.
const TAIL: u64 = 66_000;

/// A folder or an archive.
pub enum FileContainer {
    Folder(PathBuf),
    Archive(ZipIndex),
}

/// The entries of an archive.
pub struct ZipIndex {
    /// Entries by path.
    all: BTreeMap<String, ContainerEntry>,
    /// The number of entries that the archive promises but that were not found.
    missing_entries: u64,
}

/// The bytes of an archive: an open file, or a buffer if the archive lies inside another one.
trait ArchiveBytes: Read + Seek + Send + fmt::Debug {}

impl<T: Read + Seek + Send + fmt::Debug> ArchiveBytes for T {}

type SharedArchive = Arc<Mutex<dyn ArchiveBytes>>;

/// An entry of a folder or archive.
#[derive(Debug, Clone)]
pub struct ContainerEntry {
    /// Its path from the top, with `/`.
    pub name: String,
    pub kind: ContainerEntryKind,
}

impl ContainerEntry {
    /// Returns the last part of its path.
    fn base_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }
}

/// The kind of an entry.
#[derive(Debug, Clone)]
pub enum ContainerEntryKind {
    File(SourceFile),
    Folder,
    /// It cannot be read, for this reason.
    NotReadable(FindingReason),
}

/// A file that can be read, with its name for the report.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Its path from the imported folder, with `/`.
    pub name: String,
    /// Its size, or the size that the archive states.
    pub bytes: u64,
    location: SourceFileLocation,
}

#[derive(Debug, Clone)]
enum SourceFileLocation {
    Path(PathBuf),
    /// A part of an archive, with the checksum of the unpacked bytes if there is one.
    Packed {
        file: SharedArchive,
        start: u64,
        packed: u64,
        is_deflated: bool,
        sum: Option<u32>,
        /// What an entry of an archive costs; `None` for a file that is not packed.
        charge: Option<Arc<EntryCharge>>,
    },
}

/// The largest file that is read into memory, such as a card with its picture or the settings.
const MAX_FILE_BYTES: u64 = 64 << 20;

impl SourceFile {
    /// Returns a file on disk.
    pub fn on_disk(path: PathBuf, name: String, bytes: u64) -> Self {
        Self { name, bytes, location: SourceFileLocation::Path(path) }
    }

    /// Returns an open file.
    pub fn from_file(file: File, name: &str) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self::new(Arc::new(Mutex::new(file)), bytes, name))
    }

    fn new(file: SharedArchive, bytes: u64, name: &str) -> Self {
        let (packed, is_deflated) = (bytes, false);
        let location = SourceFileLocation::Packed { file, start: 0, packed, is_deflated, sum: None, charge: None };
        Self { name: name.to_owned(), bytes, location }
    }

    /// Returns whether it has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Returns the file name without folder.
    pub fn file(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the file name without folder and extension, by which other files refer to it.
    pub fn stem(&self) -> &str {
        stem(self.file())
    }

    /// Returns the extension in lower case.
    pub fn ending(&self) -> String {
        self.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
    }

    /// Opens the file for reading from its beginning. An entry of an archive is charged to the budget of the import.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match &self.location {
            SourceFileLocation::Path(path) => Box::new(File::open(path)?),
            SourceFileLocation::Packed { file, start, packed, is_deflated, sum, charge } => {
                charge.as_ref().map_or(Ok(()), |charge| charge.pay(self.bytes)).map_err(io::Error::other)?;
                let part = ArchiveSlice::new(file, *start, *packed);
                // Never read more than the stated size.
                let plain: Box<dyn Read> = match is_deflated {
                    true => Box::new(DeflateDecoder::new(BufReader::new(part)).take(self.bytes)),
                    false => Box::new(part.take(self.bytes)),
                };
                match *sum {
                    Some(sum) => Box::new(ChecksumReader { read: CrcReader::new(plain), sum }),
                    None => plain,
                }
            }
        })
    }

    /// Returns the last bytes of the file, at most `count`. An entry of an archive that has to be unpacked for that,
    /// and is too large to be read into memory, gives none.
    pub fn tail(&self, count: u64) -> io::Result<Vec<u8>> {
        let (mut tail, start) = (Vec::new(), self.bytes.saturating_sub(count));
        match &self.location {
            SourceFileLocation::Path(path) => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(start))?;
                file.take(count).read_to_end(&mut tail)?;
            }
            SourceFileLocation::Packed { file, start: 0, packed, is_deflated: false, charge: None, .. } => {
                let mut part = ArchiveSlice::new(file, 0, *packed);
                part.seek(SeekFrom::Start(start))?;
                part.take(count).read_to_end(&mut tail)?;
            }
            SourceFileLocation::Packed { .. } if self.bytes > MAX_FILE_BYTES => {}
            SourceFileLocation::Packed { .. } => {
                let mut file = self.open()?;
                io::copy(&mut file.by_ref().take(start), &mut io::sink())?;
                file.take(count).read_to_end(&mut tail)?;
            }
        }
        Ok(tail)
    }

    /// Reads a small file completely. An empty one is an error, because no format is empty.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        if self.is_empty() {
            return Err(io::Error::other("the file is empty"));
        }
        if self.bytes > MAX_FILE_BYTES {
            return Err(io::Error::other(format!("it has more than {MAX_FILE_BYTES} bytes")));
        }
        let mut bytes = Vec::new();
        self.open()?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Returns a file name without its extension.
pub fn stem(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// A reader that compares the checksum at the end.
struct ChecksumReader {
    read: CrcReader<Box<dyn Read>>,
    sum: u32,
}

impl Read for ChecksumReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.read.read(buffer)?;
        if count == 0 && !buffer.is_empty() && self.read.crc().sum() != self.sum {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "it is damaged: its checksum is not that of the archive",
            ));
        }
        Ok(count)
    }
}

/// A reader of a part of a shared file.
struct ArchiveSlice {
    file: SharedArchive,
    start: u64,
    length: u64,
    /// The position inside the part.
    at: u64,
}

impl ArchiveSlice {
    fn new(file: &SharedArchive, start: u64, length: u64) -> Self {
        Self { file: Arc::clone(file), start, length, at: 0 }
    }
}

impl Read for ArchiveSlice {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.length.saturating_sub(self.at);
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.start.saturating_add(self.at)))?;
        let count = file.read(buffer.get_mut(..wanted).unwrap_or_default())?;
        self.at += u64::try_from(count).unwrap_or(left);
        Ok(count)
    }
}

impl Seek for ArchiveSlice {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}

impl SourceFile {
    /// Opens the file as an archive. An archive inside another archive is kept in memory while any of it is read.
    /// `budget` is that of the import.
    pub fn archive(&self, budget: &ArchiveBudget) -> io::Result<FileContainer> {
        let (file, bytes): (SharedArchive, u64) = match &self.location {
            SourceFileLocation::Path(path) => (Arc::new(Mutex::new(File::open(path)?)), self.bytes),
            SourceFileLocation::Packed { file, start: 0, is_deflated: false, sum: None, packed, .. } => {
                (Arc::clone(file), *packed)
            }
            SourceFileLocation::Packed { .. } => (Arc::new(Mutex::new(Cursor::new(self.read()?))), self.bytes),
        };
        FileContainer::archive(&file, bytes, budget)
    }
}

impl FileContainer {
    /// Reads the directory of an archive.
    fn archive(file: &SharedArchive, bytes: u64, budget: &ArchiveBudget) -> io::Result<Self> {
        let (most, promised) = entry_counts(ArchiveSlice::new(file, 0, bytes))?;
        if most > MAX_PACKED_ENTRIES {
            return Err(io::Error::other(format!("it has {most} entries, and the limit is {MAX_PACKED_ENTRIES}")));
        }
        budget.add_entries(most).map_err(io::Error::other)?;
        let mut archive = ZipArchive::new(BufReader::new(ArchiveSlice::new(file, 0, bytes))).map_err(damaged)?;
        let (mut all, mut folders) = (BTreeMap::new(), 0);
        for index in 0..archive.len() {
            let Some(Ok(name)) = archive.name_for_index(index) else { continue };
            // Some programs begin every path with `./`.
            let name = name.replace('\\', "/");
            let name = name.strip_prefix("./").unwrap_or(&name).to_owned();
            match entry(&mut archive, index, &name, file, budget) {
                Some(kind) => _ = all.insert(name.clone(), ContainerEntry { name, kind }),
                None => folders += 1,
            }
        }
        let seen = folders + u64::try_from(all.len()).unwrap_or(u64::MAX);
        Ok(Self::Archive(ZipIndex { all, missing_entries: promised.saturating_sub(seen) }))
    }

    /// Whether an archive is a character card: it has one `card.json`, at its top or in the folder that contains all of
    /// its files, or it is one of Backyard AI.
    pub fn is_card(&self) -> bool {
        let Self::Archive(ZipIndex { all, .. }) = self else { return false };
        let files = || all.keys().filter(|name| !name.starts_with("__MACOSX/"));
        let mut folders = files().filter_map(|name| card_folder(name));
        let is_alone = |folder: &str| files().all(|name| name.starts_with(folder));
        let is_card = match (folders.next(), folders.next()) {
            (Some(folder), None) => folder.matches('/').count() <= 1 && is_alone(folder),
            // Of several, one at the top names the others as its files.
            (Some(_), Some(_)) => files().any(|name| card_folder(name) == Some("")),
            _ => false,
        };
        is_card || self.is_backyard_card()
    }

    /// Whether an archive has the files of a character of Backyard AI.
    fn is_backyard_card(&self) -> bool {
        let Self::Archive(ZipIndex { all, .. }) = self else { return false };
        let is_character = |name: &String| name.starts_with("characters/") && name.ends_with("/character.json");
        all.contains_key("manifest.json") && all.keys().any(is_character)
    }

    /// Finds the data folders: at the top or deeper, such as `data/default-user`. If a folder contains a `data`
    /// folder with data, the rest of it is the program and is not searched. Data folders are not searched for
    /// more.
    pub fn data_folders(&self) -> io::Result<Vec<String>> {
        let (mut homes, mut next, mut seen) = (Vec::new(), vec![(String::new(), 0, self.list("")?.0)], 0);
        while let Some((folder, depth, found)) = next.pop() {
            if self.is_data_folder(&found) {
                homes.push(folder);
                continue;
            }
            let folders = found
                .into_iter()
                .filter(|found| matches!(found.kind, ContainerEntryKind::Folder) && depth < MAX_DATA_FOLDER_DEPTH);
            let mut inside = Vec::new();
            for ContainerEntry { name, .. } in folders.filter(|found| !is_program_folder(found.base_name())) {
                seen += 1;
                if seen > MAX_ENTRIES {
                    break;
                }
                let found = self.list(&name).map(|(found, _)| found).unwrap_or_default();
                inside.push((name, depth + 1, found));
            }
            let data = inside.iter().position(|(name, _, found)| is_data_root(name) && self.has_data_folder(found));
            match data {
                Some(data) => next.push(inside.swap_remove(data)),
                None => next.extend(inside),
            }
        }
        homes.sort();
        Ok(homes)
    }

    /// Whether these entries make a folder a data folder. `chats` must contain a folder, because the chats of a
    /// card lie in one.
    fn is_data_folder(&self, found: &[ContainerEntry]) -> bool {
        let has_folder = |name: &str| {
            let inside = self.list(name).map(|(found, _)| found).unwrap_or_default();
            inside.iter().any(|found| matches!(found.kind, ContainerEntryKind::Folder))
        };
        found.iter().any(|found| match (found.base_name(), &found.kind) {
            ("characters", ContainerEntryKind::Folder) => true,
            ("chats", ContainerEntryKind::Folder) => has_folder(&found.name),
            // The link itself is reported later.
            ("characters" | "chats", ContainerEntryKind::NotReadable(_)) => true,
            _ => false,
        })
    }

    fn has_data_folder(&self, found: &[ContainerEntry]) -> bool {
        let folders = found.iter().filter(|found| matches!(found.kind, ContainerEntryKind::Folder));
        self.is_data_folder(found)
            || folders
                .into_iter()
                .any(|found| self.list(&found.name).is_ok_and(|(found, _)| self.is_data_folder(&found)))
    }

    /// Returns the entries of an archive that cannot be read, with the reasons.
    pub fn unread(&self) -> impl Iterator<Item = (&str, FindingReason)> {
        let all = match self {
            Self::Folder(_) => None,
            Self::Archive(packed) => Some(packed.all.values()),
        };
        all.into_iter().flatten().filter_map(|found| match found.kind {
            ContainerEntryKind::NotReadable(why) => Some((found.name.as_str(), why)),
            _ => None,
        })
    }

    /// Returns how many entries the archive promises that were not found.
    pub fn missing_entries(&self) -> usize {
        match self {
            Self::Archive(ZipIndex { missing_entries, .. }) => usize::try_from(*missing_entries).unwrap_or(usize::MAX),
            Self::Folder(_) => 0,
        }
    }

    /// Counts the files in a folder and its subfolders.
    pub fn count(&self, folder: &str) -> usize {
        let (mut count, mut folders) = (0, vec![(folder.to_owned(), 0)]);
        while let Some((folder, depth)) = folders.pop() {
            for found in self.list(&folder).map(|(found, _)| found).unwrap_or_default() {
                match found.kind {
                    ContainerEntryKind::Folder if depth < MAX_DEPTH => folders.push((found.name, depth + 1)),
                    _ => count += 1,
                }
            }
        }
        count
    }

    /// Lists a folder, sorted by name, and whether there are more entries than are read.
    pub fn list(&self, folder: &str) -> io::Result<(Vec<ContainerEntry>, bool)> {
        match self {
            Self::Folder(top) => on_disk(top, folder),
            Self::Archive(ZipIndex { all, .. }) => {
                let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
                let mut found: Vec<ContainerEntry> = Vec::new();
                let below = all.range(start.clone()..).take_while(|(name, _)| name.starts_with(&start));
                for (name, entry) in
                    below.filter(|(_, entry)| !matches!(entry.kind, ContainerEntryKind::NotReadable(_)))
                {
                    let rest = name.get(start.len()..).unwrap_or_default();
                    match rest.split_once('/') {
                        None => found.push(entry.clone()),
                        Some((inner, _)) => {
                            let name = format!("{start}{inner}");
                            if found.last().is_none_or(|last| last.name != name) {
                                found.push(ContainerEntry { name, kind: ContainerEntryKind::Folder });
                            }
                        }
                    }
                }
                let is_more = found.len() > MAX_ENTRIES;
                found.truncate(MAX_ENTRIES);
                Ok((found, is_more))
            }
        }
    }
}

fn escapes_root(name: &str) -> bool {
    name.starts_with('/') || name.contains(['\0', ':']) || name.split('/').any(|part| part == ".." || part == ".")
}

/// Returns the kind of an archive entry; `None` for a folder.
fn entry<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    index: usize,
    name: &str,
    file: &SharedArchive,
    budget: &ArchiveBudget,
) -> Option<ContainerEntryKind> {
    let Ok(entry) = archive.by_index_raw(index) else {
        return Some(ContainerEntryKind::NotReadable(FindingReason::ArchiveDamaged));
    };
    if entry.is_dir() {
        return None;
    }
    let (bytes, packed) = (entry.size(), entry.compressed_size());
    let method = entry.compression();
    let is_deflated = method == CompressionMethod::Deflated;
    Some(match entry.data_start() {
        _ if escapes_root(name) => ContainerEntryKind::NotReadable(FindingReason::OutsideOfArchive),
        _ if entry.is_symlink() => ContainerEntryKind::NotReadable(FindingReason::Link),
        _ if entry.encrypted() => ContainerEntryKind::NotReadable(FindingReason::Encrypted),
        _ if bytes / MAX_COMPRESSION_RATIO > packed.max(1 << 10) => {
            ContainerEntryKind::NotReadable(FindingReason::CompressionRatio)
        }
        Some(start) if is_deflated || method == CompressionMethod::Stored => {
            let (sum, charge) = (Some(entry.crc32()), Some(Arc::new(EntryCharge::new(budget))));
            let at = SourceFileLocation::Packed { file: Arc::clone(file), start, packed, is_deflated, sum, charge };
            ContainerEntryKind::File(SourceFile { name: name.to_owned(), bytes, location: at })
        }
        _ => ContainerEntryKind::NotReadable(FindingReason::CompressionMethod),
    })
}

/// Describes an archive error in words for users.
fn damaged(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        ZipError::UnsupportedArchive(_) => io::Error::other("its compression method is not supported"),
        _ => io::Error::other("it is damaged or incomplete: its directory cannot be read"),
    }
}

/// Returns how many entries an archive may have at most, and how many it promises, before its directory is read.
fn entry_counts(mut file: ArchiveSlice) -> io::Result<(u64, u64)> {
    file.seek(SeekFrom::Start(file.length.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let number = |at: usize, bytes: usize| {
        let read = tail.get(at..at.saturating_add(bytes)).unwrap_or_default();
        read.iter().rev().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte))
    };
    let ends =
        |mark: &'static [u8]| tail.windows(4).enumerate().filter(move |(_, here)| *here == mark).map(|(at, _)| at);
    // The zip reader may choose another end record than this code does, so take the largest count.
    let short = ends(b"PK\x05\x06").map(|end| number(end + 10, 2)).max().unwrap_or(0);
    let long = ends(b"PK\x06\x06").map(|end| number(end + 32, 8)).max();
    // The highest 16-bit count means that the zip64 record has the real one.
    let unsaid = if short >= u64::from(u16::MAX) { u64::MAX } else { 0 };
    let most = short.max(long.unwrap_or(unsaid));
    // The true end record ends exactly where the archive does, including its comment.
    let is_last = |end: &usize| u64::try_from(tail.len() - end).is_ok_and(|rest| rest == number(end + 20, 2) + 22);
    let promised = ends(b"PK\x05\x06").find(is_last).map(|end| number(end + 10, 2));
    Ok((most, promised.filter(|count| *count < u64::from(u16::MAX)).unwrap_or(0)))
}

/// Whether a folder has the name of SillyTavern's data root.
fn is_data_root(name: &str) -> bool {
    name.rsplit('/').next() == Some("data")
}

/// Whether a folder belongs to a program or is hidden.
fn is_program_folder(own: &str) -> bool {
    own == "node_modules" || own.starts_with('.')
}

/// Lists a folder on disk; a missing one is empty.
fn on_disk(top: &Path, folder: &str) -> io::Result<(Vec<ContainerEntry>, bool)> {
    let path = top.join(folder);
    let Ok(kind) = fs::symlink_metadata(&path) else { return Ok((Vec::new(), false)) };
    if !kind.is_dir() {
        return Err(io::Error::other("expected a folder, got a link or a file"));
    }
    let (mut found, mut is_more) = (Vec::new(), false);
    for (count, entry) in fs::read_dir(&path)?.enumerate() {
        if count >= MAX_ENTRIES {
            is_more = true;
            break;
        }
        let entry = entry?;
        let kind = entry.metadata()?;
        let own = entry.file_name().to_string_lossy().into_owned();
        let name = if folder.is_empty() { own } else { format!("{folder}/{own}") };
        let kind = if kind.is_symlink() {
            ContainerEntryKind::NotReadable(FindingReason::LinkOnDisk)
        } else if kind.is_dir() {
            ContainerEntryKind::Folder
        } else if !kind.is_file() {
            // Opening a pipe would block until somebody writes to it.
            ContainerEntryKind::NotReadable(FindingReason::NotAFile)
        } else {
            ContainerEntryKind::File(SourceFile::on_disk(entry.path(), name.clone(), kind.len()))
        };
        found.push(ContainerEntry { name, kind });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((found, is_more))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(names: &[&str]) -> FileContainer {
        let place = |name: &&str| {
            ((*name).to_owned(), ContainerEntry { name: (*name).to_owned(), kind: ContainerEntryKind::Folder })
        };
        FileContainer::Archive(ZipIndex { all: names.iter().map(place).collect(), missing_entries: 0 })
    }

    #[test]
    fn archive_is_card_if_its_files_belong_to_one() {
        for (names, expected) in [
            (&["card.json", "assets/a.png"][..], true),
            (&["Card.JSON"], true),
            (&["Anna/card.json", "Anna/assets/a.png", "__MACOSX/Anna/._card.json"], true),
            (&["card.json", "old/card.json"], true),
            (&["Anna/card.json", "Berta/card.json"], false),
            (&["Anna/card.json", "notes.txt"], false),
            (&["a/b/card.json"], false),
            (&["manifest.json", "characters/a/character.json"], true),
            (&["manifest.json"], false),
            (&["discard.json"], false),
        ] {
            assert_eq!(archive(names).is_card(), expected, "{names:?}");
        }
    }
}
