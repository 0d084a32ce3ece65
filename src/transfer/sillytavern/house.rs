//! Where files come from: a folder on the disk, or an archive that is read where it lies. Nothing is unpacked and nothing is
//! written, so no name in an archive leads anywhere; links are named and not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use flate2::CrcReader;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

/// So many entries of one folder are looked at: nobody has more chats of one card.
pub const MOST_ENTRIES: usize = 200_000;
/// So many entries an archive may have: its list is held in memory.
const MOST_PACKED: u64 = 200_000;
/// Text packs to a twentieth, the same state over and over to a hundredth; what is packed tighter is a trap.
const TIGHTEST: u64 = 300;
/// How far from the end of an archive its list may be named: a comment of the longest kind.
const TAIL: u64 = 66_000;

/// A folder or an archive.
pub enum House {
    /// A folder.
    Folder(PathBuf),
    /// An archive, by the names inside.
    Archive(BTreeMap<String, Found>),
}

/// Something that lies there.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its name from the top, with `/`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

impl Found {
    /// The file, if it is one.
    pub fn file(self) -> Option<Place> {
        match self.kind {
            Kind::File(place) => Some(place),
            _ => None,
        }
    }
}

/// What something is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// A file.
    File(Place),
    /// A folder.
    Folder,
    /// It is not read, and this is why.
    Unread(&'static str),
}

/// A file: how it is named in the report, and how it is read.
#[derive(Debug, Clone)]
pub struct Place {
    /// From the folder that is imported, with `/`.
    pub name: String,
    /// How large it is, or says that it is.
    pub bytes: u64,
    at: At,
}

#[derive(Debug, Clone)]
enum At {
    Path(PathBuf),
    /// A part of a file, and the checksum of what comes out of it, where one is told.
    Packed {
        file: Arc<Mutex<File>>,
        start: u64,
        packed: u64,
        is_deflated: bool,
        sum: Option<u32>,
    },
}

/// The largest file that is read as a whole: a card with its picture, the definition of a group, settings.
const LARGEST_FILE: u64 = 64 << 20;

impl Place {
    /// A file on the disk.
    pub fn on_disk(path: PathBuf, name: String, bytes: u64) -> Self {
        Self { name, bytes, at: At::Path(path) }
    }

    /// An open file as a whole.
    pub fn whole(file: File, name: &str) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        let at =
            At::Packed { file: Arc::new(Mutex::new(file)), start: 0, packed: bytes, is_deflated: false, sum: None };
        Ok(Self { name: name.to_owned(), bytes, at })
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
        Ok(match &self.at {
            At::Path(path) => Box::new(File::open(path)?),
            At::Packed { file, start, packed, is_deflated, sum } => {
                let part = Part { file: Arc::clone(file), at: *start, left: *packed };
                // It is no longer than it says, whatever comes out.
                let plain: Box<dyn Read> = match is_deflated {
                    true => Box::new(DeflateDecoder::new(BufReader::new(part)).take(self.bytes)),
                    false => Box::new(part.take(self.bytes)),
                };
                match *sum {
                    Some(sum) => Box::new(Whole { read: CrcReader::new(plain), sum }),
                    None => plain,
                }
            }
        })
    }

    /// All of a small file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        if self.bytes > LARGEST_FILE {
            return Err(io::Error::other(format!("it has more than {LARGEST_FILE} bytes")));
        }
        let mut bytes = Vec::new();
        self.open()?.take(LARGEST_FILE).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// A file's name without its ending.
pub fn stem(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// What comes out of an archive, which has to be what was put in: at its end the checksum is compared.
struct Whole {
    read: CrcReader<Box<dyn Read>>,
    sum: u32,
}

impl Read for Whole {
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
struct Part {
    file: Arc<Mutex<File>>,
    at: u64,
    left: u64,
}

impl Read for Part {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        let count = file.read(buffer.get_mut(..wanted).unwrap_or_default())?;
        let passed = u64::try_from(count).unwrap_or(self.left);
        (self.at, self.left) = (self.at + passed, self.left.saturating_sub(passed));
        Ok(count)
    }
}

impl House {
    /// The list of an archive.
    pub fn archive(mut file: File) -> io::Result<Self> {
        let count = announced(&mut file)?;
        if count > MOST_PACKED {
            return Err(io::Error::other(format!("it has {count} entries, and {MOST_PACKED} at most are read")));
        }
        let shared = Arc::new(Mutex::new(file.try_clone()?));
        let mut archive = ZipArchive::new(BufReader::new(file)).map_err(io::Error::other)?;
        let mut all = BTreeMap::new();
        for index in 0..archive.len() {
            let Ok(entry) = archive.by_index_raw(index) else { continue };
            let Ok(name) = entry.name().map(|name| name.replace('\\', "/")) else { continue };
            if entry.is_dir() {
                continue;
            }
            let (bytes, packed) = (entry.size(), entry.compressed_size());
            let method = entry.compression();
            let is_deflated = method == CompressionMethod::Deflated;
            let kind = match entry.data_start() {
                _ if leads_out(&name) => Kind::Unread("its name leads out of the archive"),
                _ if entry.is_symlink() => Kind::Unread("it is a link, which is not followed"),
                _ if entry.encrypted() => Kind::Unread("it is encrypted"),
                _ if bytes / TIGHTEST > packed.max(1 << 10) => Kind::Unread("it is packed tighter than any text is"),
                Some(start) if is_deflated || method == CompressionMethod::Stored => {
                    let sum = Some(entry.crc32());
                    let at = At::Packed { file: Arc::clone(&shared), start, packed, is_deflated, sum };
                    Kind::File(Place { name: name.clone(), bytes, at })
                }
                _ => Kind::Unread("it is packed in a way that is not known"),
            };
            all.insert(name.clone(), Found { name, kind });
        }
        Ok(Self::Archive(all))
    }

    /// Where the data of a person lies: at the top, or further down (`data/default-user`).
    pub fn homes(&self) -> io::Result<Vec<String>> {
        match self {
            Self::Folder(path) => homes(path),
            Self::Archive(all) => {
                let home = |name: &String| {
                    if leads_out(name) {
                        return None;
                    }
                    let parts: Vec<&str> = name.split('/').collect();
                    let at = parts.iter().position(|part| matches!(*part, "characters" | "chats"))?;
                    (at < 5 && at + 1 < parts.len())
                        .then(|| parts.iter().take(at).copied().collect::<Vec<_>>().join("/"))
                };
                let homes: BTreeSet<String> = all.keys().filter_map(home).collect();
                Ok(homes.into_iter().collect())
            }
        }
    }

    /// What of an archive is not read, wherever it says that it lies.
    pub fn unread(&self) -> impl Iterator<Item = (&str, &'static str)> {
        let all = match self {
            Self::Folder(_) => None,
            Self::Archive(all) => Some(all.values()),
        };
        all.into_iter().flatten().filter_map(|found| match found.kind {
            Kind::Unread(why) => Some((found.name.as_str(), why)),
            _ => None,
        })
    }

    /// What lies in a folder, by name; and whether there is more than is looked at.
    pub fn list(&self, folder: &str) -> io::Result<(Vec<Found>, bool)> {
        match self {
            Self::Folder(top) => on_disk(top, folder),
            Self::Archive(all) => {
                let start = if folder.is_empty() { String::new() } else { format!("{folder}/") };
                let mut found: Vec<Found> = Vec::new();
                let below = all.range(start.clone()..).take_while(|(name, _)| name.starts_with(&start));
                for (name, entry) in below.filter(|(_, entry)| !matches!(entry.kind, Kind::Unread(_))) {
                    let rest = name.get(start.len()..).unwrap_or_default();
                    match rest.split_once('/') {
                        None => found.push(entry.clone()),
                        Some((inner, _)) => {
                            let name = format!("{start}{inner}");
                            if found.last().is_none_or(|last| last.name != name) {
                                found.push(Found { name, kind: Kind::Folder });
                            }
                        }
                    }
                }
                let is_more = found.len() > MOST_ENTRIES;
                found.truncate(MOST_ENTRIES);
                Ok((found, is_more))
            }
        }
    }
}

fn leads_out(name: &str) -> bool {
    name.starts_with('/') || name.contains(['\0', ':']) || name.split('/').any(|part| part == ".." || part == ".")
}

/// How many entries an archive says that it has, before its list is read.
fn announced(file: &mut File) -> io::Result<u64> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    file.rewind()?;
    let number = |at: usize, bytes: usize| {
        let read = tail.get(at..at.saturating_add(bytes)).unwrap_or_default();
        read.iter().rev().fold(0_u64, |number, byte| (number << 8) | u64::from(*byte))
    };
    // Who reads the archive may take another end for the true one than is taken here: the largest counts.
    let most = |mark: &[u8], at: usize, bytes: usize| {
        let ends = tail.windows(mark.len()).enumerate().filter(|(_, window)| *window == mark);
        ends.map(|(end, _)| number(end + at, bytes)).max()
    };
    let (short, long) = (most(b"PK\x05\x06", 10, 2).unwrap_or(0), most(b"PK\x06\x06", 32, 8));
    // As many as the short form can say stand for more, which the long one says.
    let unsaid = if short >= u64::from(u16::MAX) { u64::MAX } else { 0 };
    Ok(short.max(long.unwrap_or(unsaid)))
}

fn homes(path: &Path) -> io::Result<Vec<String>> {
    let is_home = |path: &Path| path.join("characters").is_dir() || path.join("chats").is_dir();
    if is_home(path) {
        return Ok(vec![String::new()]);
    }
    let top = if path.join("data").is_dir() { "data/" } else { "" };
    let mut homes = Vec::new();
    for entry in fs::read_dir(path.join(top))?.take(MOST_ENTRIES) {
        let entry = entry?;
        if entry.file_type()?.is_dir() && is_home(&entry.path()) {
            homes.push(format!("{top}{}", entry.file_name().to_string_lossy()));
        }
    }
    homes.sort();
    Ok(homes)
}

/// A folder that is not there is empty.
fn on_disk(top: &Path, folder: &str) -> io::Result<(Vec<Found>, bool)> {
    let path = top.join(folder);
    let Ok(kind) = fs::symlink_metadata(&path) else { return Ok((Vec::new(), false)) };
    if !kind.is_dir() {
        return Err(io::Error::other("it is a link or a file, and a folder is expected"));
    }
    let (mut found, mut is_more) = (Vec::new(), false);
    for (count, entry) in fs::read_dir(&path)?.enumerate() {
        if count >= MOST_ENTRIES {
            is_more = true;
            break;
        }
        let entry = entry?;
        let kind = entry.metadata()?;
        let own = entry.file_name().to_string_lossy().into_owned();
        let name = if folder.is_empty() { own } else { format!("{folder}/{own}") };
        let kind = if kind.is_symlink() {
            Kind::Unread("it is a link, which is not followed: put the file itself there")
        } else if kind.is_dir() {
            Kind::Folder
        } else if !kind.is_file() {
            // Opening a pipe would wait for whoever writes into it.
            Kind::Unread("it is no file: a pipe, a socket or a device")
        } else {
            Kind::File(Place::on_disk(entry.path(), name.clone(), kind.len()))
        };
        found.push(Found { name, kind });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((found, is_more))
}
