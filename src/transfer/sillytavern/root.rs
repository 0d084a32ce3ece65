//! What lies in a folder. Links are named and not followed: they may lead anywhere.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::interop::{Fate, Finding};

use super::super::Item;
use super::super::import::ImportError;

/// So many entries of one folder are looked at: nobody has more chats of one card.
const MOST_ENTRIES: usize = 200_000;
/// The largest file that is read as a whole: the definition of a group, settings.
pub const LARGEST_FILE: u64 = 64 << 20;

/// A file, and how it is named in the report: from the folder that is imported, with `/`.
#[derive(Debug, Clone)]
pub struct Place {
    pub path: PathBuf,
    pub name: String,
    pub bytes: u64,
}

impl Place {
    /// The name without folder and ending: what other files call it.
    pub fn stem(&self) -> &str {
        let file = self.name.rsplit('/').next().unwrap_or_default();
        file.rsplit_once('.').map_or(file, |(stem, _)| stem)
    }

    fn ending(&self) -> String {
        self.name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).unwrap_or_default()
    }

    /// All of a small file.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        if self.bytes > LARGEST_FILE {
            return Err(io::Error::other(format!("it has more than {LARGEST_FILE} bytes")));
        }
        fs::read(&self.path)
    }
}

/// The chats of one card, or of one group.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    /// By what they are known again: `chats/Rin`.
    pub key: String,
    /// The files of the cards that play, without ending.
    pub cards: Vec<String>,
    /// The chats, by name.
    pub chats: Vec<Place>,
}

/// Everything that is imported.
#[derive(Debug, Default)]
pub struct Root {
    /// Cards.
    pub cards: Vec<Place>,
    /// Chats.
    pub folders: Vec<Folder>,
    /// The settings, which name personas.
    pub settings: Option<Place>,
    /// What is not even looked at, and why.
    pub left_out: Vec<Item>,
}

impl Root {
    /// Looks at a folder of data, at one that has a single such folder inside, or at a single chat.
    ///
    /// # Errors
    /// There is nothing that is known.
    pub fn find(path: &Path) -> Result<Self, ImportError> {
        let kind = fs::metadata(path)?;
        if kind.is_file() {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let chat = Place { path: path.to_owned(), name, bytes: kind.len() };
            if chat.ending() != "jsonl" {
                return Err(unknown(
                    "a chat ends in .jsonl, and a folder of data has the folders characters and chats",
                ));
            }
            let folder = Folder { key: "chats".into(), cards: Vec::new(), chats: vec![chat] };
            return Ok(Self { folders: vec![folder], ..Self::default() });
        }
        let homes = homes(path)?;
        match homes.as_slice() {
            [] => Err(unknown(
                "no folder characters or chats lies in it: name the one that has them, such as data/default-user",
            )),
            [home] => Self::of(home),
            several => {
                let names: Vec<String> = several.iter().map(|home| home.display().to_string()).collect();
                Err(unknown(&format!("it holds several people's data; name one of them: {}", names.join(", "))))
            }
        }
    }

    fn of(home: &Path) -> Result<Self, ImportError> {
        let mut root = Self::default();
        let endings = ["png", "json", "charx", "yaml", "yml"];
        root.cards = root.files(home, "characters", |ending| endings.contains(&ending))?;
        for chats in root.folders_in(home, "chats")? {
            let card = chats.rsplit('/').next().unwrap_or_default().to_owned();
            let files = root.files(home, &chats, |ending| ending == "jsonl")?;
            root.folders.push(Folder { key: chats, cards: vec![card], chats: files });
        }
        root.groups(home)?;
        let settings = home.join("settings.json");
        if let Ok(kind) = fs::symlink_metadata(&settings).map(|kind| (kind.is_file(), kind.len()))
            && kind.0
        {
            root.settings = Some(Place { path: settings, name: "settings.json".into(), bytes: kind.1 });
        }
        Ok(root)
    }

    /// The chats of groups: a file of its own says which chats a group has, and who plays in it.
    fn groups(&mut self, home: &Path) -> Result<(), ImportError> {
        let mut chats: BTreeMap<String, Place> = self
            .files(home, "group chats", |ending| ending == "jsonl")?
            .into_iter()
            .map(|chat| (chat.stem().to_owned(), chat))
            .collect();
        for group in self.files(home, "groups", |ending| ending == "json")? {
            let read = group.read().map_err(|error| error.to_string());
            let value: Result<Value, String> =
                read.and_then(|bytes| serde_json::from_slice(&bytes).map_err(|error| error.to_string()));
            match value {
                Ok(value) => {
                    let texts = |key: &str| {
                        let list = value.get(key).and_then(Value::as_array).into_iter().flatten();
                        list.filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
                    };
                    let own = texts("chats").iter().filter_map(|chat| chats.remove(chat)).collect();
                    let cards = texts("members").iter().map(|file| stem(file).to_owned()).collect();
                    self.folders.push(Folder { key: format!("group chats/{}", group.stem()), cards, chats: own });
                }
                Err(why) => self.leave_out(&group.name, "bad_group", &format!("it is no group: {why}")),
            }
        }
        if !chats.is_empty() {
            let chats = chats.into_values().collect();
            self.folders.push(Folder { key: "group chats".into(), cards: Vec::new(), chats });
        }
        Ok(())
    }

    /// The files of a folder with some endings, by name.
    fn files(&mut self, home: &Path, folder: &str, wanted: impl Fn(&str) -> bool) -> Result<Vec<Place>, ImportError> {
        let mut found = Vec::new();
        for (name, entry) in self.entries(home, folder)? {
            let Ok(kind) = entry.metadata().map(|kind| (kind.is_file(), kind.len())) else { continue };
            let place = Place { path: entry.path(), name, bytes: kind.1 };
            if kind.0 && wanted(&place.ending()) {
                found.push(place);
            }
        }
        Ok(found)
    }

    fn folders_in(&mut self, home: &Path, folder: &str) -> Result<Vec<String>, ImportError> {
        let entries = self.entries(home, folder)?;
        Ok(entries
            .into_iter()
            .filter(|(_, entry)| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|(name, _)| name)
            .collect())
    }

    /// What lies in a folder, by name; links are left out, and a folder that is not there is empty.
    fn entries(&mut self, home: &Path, folder: &str) -> Result<Vec<(String, fs::DirEntry)>, ImportError> {
        let path = home.join(folder);
        match fs::symlink_metadata(&path) {
            Ok(kind) if kind.is_dir() => {}
            Ok(_) => {
                self.leave_out(folder, "no_folder", "it is a link or a file, and a folder is expected");
                return Ok(Vec::new());
            }
            Err(_) => return Ok(Vec::new()),
        }
        let mut found = Vec::new();
        for (count, entry) in fs::read_dir(&path)?.enumerate() {
            if count >= MOST_ENTRIES {
                self.leave_out(folder, "too_many_files", &format!("only its first {MOST_ENTRIES} files are read"));
                break;
            }
            let entry = entry?;
            let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_symlink() {
                self.leave_out(&name, "link", "it is a link, which is not followed: put the file itself there");
            } else {
                found.push((name, entry));
            }
        }
        found.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(found)
    }

    fn leave_out(&mut self, name: &str, code: &'static str, why: &str) {
        let why = Finding::new(Fate::Skipped, code, why);
        self.left_out.push(Item::skipped("file", name, why).from_file(name));
    }

    /// The bytes of all chats.
    pub fn chat_bytes(&self) -> u64 {
        self.folders.iter().flat_map(|folder| &folder.chats).map(|chat| chat.bytes).sum()
    }
}

/// A file's name without its ending.
pub fn stem(file: &str) -> &str {
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// Where the data of a person lies: here, or one or two folders down (`data/default-user`).
fn homes(path: &Path) -> io::Result<Vec<PathBuf>> {
    let is_home = |path: &Path| path.join("characters").is_dir() || path.join("chats").is_dir();
    if is_home(path) {
        return Ok(vec![path.to_owned()]);
    }
    let data = path.join("data");
    let top = if data.is_dir() { data } else { path.to_owned() };
    let mut homes = Vec::new();
    for entry in fs::read_dir(&top)?.take(MOST_ENTRIES) {
        let entry = entry?;
        if entry.file_type()?.is_dir() && is_home(&entry.path()) {
            homes.push(entry.path());
        }
    }
    homes.sort();
    Ok(homes)
}

fn unknown(why: &str) -> ImportError {
    ImportError::Unknown(why.to_owned())
}
