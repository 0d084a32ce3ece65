//! Where files come from: a folder on the disk, or an archive that is read where it lies. Nothing is unpacked and nothing is
//! written, so no name in an archive leads anywhere; links are named and not followed.

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

use clotho_compat::interop::finding::count_phrase;

/// So many entries of one folder are looked at: nobody has more chats of one card.
pub const MAX_ENTRIES: usize = 200_000;
/// So many entries an archive may have: its list is held in memory.
const MAX_PACKED_ENTRIES: u64 = 200_000;
/// So deep do folders lie in folders at most.
pub const MAX_DEPTH: usize = 8;
/// So deep below what is named does the data of a person lie at most.
const MAX_DATA_FOLDER_DEPTH: usize = 6;
/// Text packs to a twentieth, the same state over and over to a hundredth; what is packed tighter is a trap.
const MAX_COMPRESSION_RATIO: u64 = 300;
/// How far from the end of an archive its list may be named: a comment of the longest kind.
const TAIL: u64 = 66_000;

/// A folder or an archive.
pub enum FileContainer {
    /// A folder.
    Folder(PathBuf),
    /// An archive.
    Archive(ZipIndex),
}

/// What lies in an archive.
pub struct ZipIndex {
    /// By the names inside.
    all: BTreeMap<String, ContainerEntry>,
    /// So many entries it says that it has, and they were not found.
    missing_entries: u64,
}

/// Where the bytes of an archive lie: in a file, or in memory where it lies packed in another one.
trait ArchiveBytes: Read + Seek + Send + fmt::Debug {}

impl<T: Read + Seek + Send + fmt::Debug> ArchiveBytes for T {}

type SharedArchive = Arc<Mutex<dyn ArchiveBytes>>;

/// Something that lies there.
#[derive(Debug, Clone)]
pub struct ContainerEntry {
    /// Its name from the top, with `/`.
    pub name: String,
    /// What it is.
    pub kind: ContainerEntryKind,
}

impl ContainerEntry {
    /// Its name without what it lies in.
    fn base_name(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }
}

/// What something is.
#[derive(Debug, Clone)]
pub enum ContainerEntryKind {
    /// A file.
    File(SourceFile),
    /// A folder.
    Folder,
    /// It is not read, and this is why.
    NotReadable(&'static str),
}

/// A file: how it is named in the report, and how it is read.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// From the folder that is imported, with `/`.
    pub name: String,
    /// How large it is, or says that it is.
    pub bytes: u64,
    location: SourceFileLocation,
}

#[derive(Debug, Clone)]
enum SourceFileLocation {
    Path(PathBuf),
    /// A part of a file, and the checksum of what comes out of it, where one is told.
    Packed {
        file: SharedArchive,
        start: u64,
        packed: u64,
        is_deflated: bool,
        sum: Option<u32>,
    },
}

/// The largest file that is read as a whole: a card with its picture, the definition of a group, settings.
const MAX_FILE_BYTES: u64 = 64 << 20;

impl SourceFile {
    /// A file on the disk.
    pub fn on_disk(path: PathBuf, name: String, bytes: u64) -> Self {
        Self { name, bytes, location: SourceFileLocation::Path(path) }
    }

    /// An open file as a whole.
    pub fn from_file(file: File, name: &str) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self::of(Arc::new(Mutex::new(file)), bytes, name))
    }

    fn of(file: SharedArchive, bytes: u64, name: &str) -> Self {
        let location = SourceFileLocation::Packed { file, start: 0, packed: bytes, is_deflated: false, sum: None };
        Self { name: name.to_owned(), bytes, location }
    }

    /// The name without folder.
    pub fn file(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or_default()
    }

    /// The name without folder and ending: what other files call it.
    pub fn stem(&self) -> &str {
        stem(self.file())
    }

    /// What its name ends in, in small letters.
    pub fn ending(&self) -> String {
        self.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
    }

    /// Reads it from the beginning.
    pub fn open(&self) -> io::Result<Box<dyn Read>> {
        Ok(match &self.location {
            SourceFileLocation::Path(path) => Box::new(File::open(path)?),
            SourceFileLocation::Packed { file, start, packed, is_deflated, sum } => {
                let part = ArchiveSlice::of(file, *start, *packed);
                // It is no longer than it says, whatever comes out.
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

    /// All of a small file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        if self.bytes > MAX_FILE_BYTES {
            return Err(io::Error::other(format!("it has more than {MAX_FILE_BYTES} bytes")));
        }
        let mut bytes = Vec::new();
        self.open()?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// A file's name without its ending.
pub fn stem(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// What comes out of an archive, which has to be what was put in: at its end the checksum is compared.
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

/// A part of a file that several read.
struct ArchiveSlice {
    file: SharedArchive,
    start: u64,
    length: u64,
    /// How far it is read.
    at: u64,
}

impl ArchiveSlice {
    fn of(file: &SharedArchive, start: u64, length: u64) -> Self {
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
    /// What lies in it, where it is an archive. One that is packed in another archive is held in memory, as long as anything of
    /// it is read.
    pub fn archive(&self) -> io::Result<FileContainer> {
        let (file, bytes): (SharedArchive, u64) = match &self.location {
            SourceFileLocation::Path(path) => (Arc::new(Mutex::new(File::open(path)?)), self.bytes),
            SourceFileLocation::Packed { file, start: 0, is_deflated: false, sum: None, packed } => {
                (Arc::clone(file), *packed)
            }
            SourceFileLocation::Packed { .. } => (Arc::new(Mutex::new(Cursor::new(self.read()?))), self.bytes),
        };
        FileContainer::archive(&file, bytes)
    }
}

impl FileContainer {
    /// The list of an archive.
    fn archive(file: &SharedArchive, bytes: u64) -> io::Result<Self> {
        let (most, promised) = entry_counts(ArchiveSlice::of(file, 0, bytes))?;
        if most > MAX_PACKED_ENTRIES {
            return Err(io::Error::other(format!("it has {most} entries, and {MAX_PACKED_ENTRIES} at most are read")));
        }
        let mut archive = ZipArchive::new(BufReader::new(ArchiveSlice::of(file, 0, bytes))).map_err(damaged)?;
        let (mut all, mut folders) = (BTreeMap::new(), 0);
        for index in 0..archive.len() {
            let Some(Ok(name)) = archive.name_for_index(index) else { continue };
            let name = name.replace('\\', "/");
            match entry(&mut archive, index, &name, file) {
                Some(kind) => _ = all.insert(name.clone(), ContainerEntry { name, kind }),
                None => folders += 1,
            }
        }
        let seen = folders + u64::try_from(all.len()).unwrap_or(u64::MAX);
        Ok(Self::Archive(ZipIndex { all, missing_entries: promised.saturating_sub(seen) }))
    }

    /// Whether a file lies at the top of an archive.
    pub fn has(&self, name: &str) -> bool {
        matches!(self, Self::Archive(packed) if packed.all.contains_key(name))
    }

    /// Where the data of a person lies: at the top, or further down (`data/default-user`). Where a folder has one named `data`
    /// in which there is some, the rest of it is the program; and below such data there is no more.
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

    /// Whether what lies in a folder makes it that of a person. The chats of a card lie in a folder of their own.
    fn is_data_folder(&self, found: &[ContainerEntry]) -> bool {
        let has_folder = |name: &str| {
            let inside = self.list(name).map(|(found, _)| found).unwrap_or_default();
            inside.iter().any(|found| matches!(found.kind, ContainerEntryKind::Folder))
        };
        found.iter().any(|found| match (found.base_name(), &found.kind) {
            ("characters", ContainerEntryKind::Folder) => true,
            ("chats", ContainerEntryKind::Folder) => has_folder(&found.name),
            // A link is named later.
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

    /// What of an archive is not read, wherever it says that it lies.
    pub fn unread(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let all = match self {
            Self::Folder(_) => None,
            Self::Archive(packed) => Some(packed.all.values()),
        };
        all.into_iter().flatten().filter_map(|found| match found.kind {
            ContainerEntryKind::NotReadable(why) => Some((found.name.as_str(), why)),
            _ => None,
        })
    }

    /// What an archive says that it has, and has not.
    pub fn missing_entries(&self) -> Option<String> {
        let lost = match self {
            Self::Archive(ZipIndex { missing_entries: lost, .. }) if *lost > 0 => *lost,
            _ => return None,
        };
        let entries = count_phrase(usize::try_from(lost).unwrap_or(usize::MAX), "entry", "entries");
        Some(format!("{entries} of the list of the archive cannot be read: it is damaged, or two have one name"))
    }

    /// How many files lie in a folder, in whatever folders of it.
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

    /// What lies in a folder, by name; and whether there is more than is looked at.
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

/// What an entry of an archive is; nothing where it is a folder.
fn entry<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    index: usize,
    name: &str,
    file: &SharedArchive,
) -> Option<ContainerEntryKind> {
    let Ok(entry) = archive.by_index_raw(index) else {
        return Some(ContainerEntryKind::NotReadable(
            "the archive is damaged: this file does not lie where its list says",
        ));
    };
    if entry.is_dir() {
        return None;
    }
    let (bytes, packed) = (entry.size(), entry.compressed_size());
    let method = entry.compression();
    let is_deflated = method == CompressionMethod::Deflated;
    Some(match entry.data_start() {
        _ if escapes_root(name) => ContainerEntryKind::NotReadable("its name leads out of the archive"),
        _ if entry.is_symlink() => ContainerEntryKind::NotReadable("it is a link, which is not followed"),
        _ if entry.encrypted() => ContainerEntryKind::NotReadable("it is encrypted"),
        _ if bytes / MAX_COMPRESSION_RATIO > packed.max(1 << 10) => {
            ContainerEntryKind::NotReadable("it is packed tighter than any text is")
        }
        Some(start) if is_deflated || method == CompressionMethod::Stored => {
            let sum = Some(entry.crc32());
            let at = SourceFileLocation::Packed { file: Arc::clone(file), start, packed, is_deflated, sum };
            ContainerEntryKind::File(SourceFile { name: name.to_owned(), bytes, location: at })
        }
        _ => ContainerEntryKind::NotReadable("it is packed in a way that is not known"),
    })
}

/// Why an archive cannot be read, in words for people.
fn damaged(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        ZipError::UnsupportedArchive(_) => io::Error::other("it is packed in a way that is not known"),
        _ => io::Error::other("it is damaged or cut off, and the list of what lies in it cannot be read"),
    }
}

/// How many entries an archive may turn out to have, and how many it says that it has, before its list is read.
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
    // Who reads the archive may take another end for the true one than is taken here: the largest counts.
    let short = ends(b"PK\x05\x06").map(|end| number(end + 10, 2)).max().unwrap_or(0);
    let long = ends(b"PK\x06\x06").map(|end| number(end + 32, 8)).max();
    // As many as the short form can say stand for more, which the long one says.
    let unsaid = if short >= u64::from(u16::MAX) { u64::MAX } else { 0 };
    let most = short.max(long.unwrap_or(unsaid));
    // The true end is the one that ends where the archive does, with what it has to remark.
    let is_last = |end: &usize| u64::try_from(tail.len() - end).is_ok_and(|rest| rest == number(end + 20, 2) + 22);
    let promised = ends(b"PK\x05\x06").find(is_last).map(|end| number(end + 10, 2));
    Ok((most, promised.filter(|count| *count < u64::from(u16::MAX)).unwrap_or(0)))
}

/// Whether a folder is the one in which the program keeps what people have.
fn is_data_root(name: &str) -> bool {
    name.rsplit('/').next() == Some("data")
}

/// Whether a folder is one of parts of programs, or a hidden one.
fn is_program_folder(own: &str) -> bool {
    own == "node_modules" || own.starts_with('.')
}

/// A folder that is not there is empty.
fn on_disk(top: &Path, folder: &str) -> io::Result<(Vec<ContainerEntry>, bool)> {
    let path = top.join(folder);
    let Ok(kind) = fs::symlink_metadata(&path) else { return Ok((Vec::new(), false)) };
    if !kind.is_dir() {
        return Err(io::Error::other("it is a link or a file, and a folder is expected"));
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
            ContainerEntryKind::NotReadable("it is a link, which is not followed: put the file itself there")
        } else if kind.is_dir() {
            ContainerEntryKind::Folder
        } else if !kind.is_file() {
            // Opening a pipe would wait for whoever writes into it.
            ContainerEntryKind::NotReadable("it is no file: a pipe, a socket or a device")
        } else {
            ContainerEntryKind::File(SourceFile::on_disk(entry.path(), name.clone(), kind.len()))
        };
        found.push(ContainerEntry { name, kind });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((found, is_more))
}
