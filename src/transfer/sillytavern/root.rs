//! What of a folder of data is imported: cards, chats, groups, lorebooks, presets, and the settings that name personas and tags.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use serde_json::Value;

use crate::interop::finding::many;
use crate::interop::{Fate, Finding};

use super::super::Item;
use super::super::import::ImportError;
use super::house::{Found, House, Kind, MOST_ENTRIES, Place, stem};
use super::presets::FOLDERS;
use super::settings::SETTINGS;

/// So many entries of an archive are named that are not read.
const NAMED: usize = 1_000;

/// The list of a folder that went out from here (`list.rs`).
pub const LIST: &str = "clotho.json";
/// How the names of pictures end.
const PICTURES: [&str; 5] = ["png", "jpg", "jpeg", "webp", "gif"];

/// The chats of one card, or of one group.
#[derive(Debug, Clone, Default)]
pub struct Folder {
    /// By what they are known again: `chats/Rin`.
    pub key: String,
    /// The files of the cards that play, without ending.
    pub cards: Vec<String>,
    /// The chats, by name.
    pub chats: Vec<Place>,
    /// What a group is called.
    pub title: Option<String>,
    /// The chat of a group that was open last.
    pub open: Option<String>,
}

/// Everything that is imported.
#[derive(Debug, Default)]
pub struct Root {
    /// Cards.
    pub cards: Vec<Place>,
    /// Chats.
    pub folders: Vec<Folder>,
    /// Lorebooks.
    pub worlds: Vec<Place>,
    /// The pictures of personas, by their files.
    pub avatars: BTreeMap<String, Place>,
    /// Presets, with their kinds.
    pub presets: Vec<(&'static str, Place)>,
    /// What is left aside, and why.
    pub aside: Vec<Item>,
    /// The settings, which name personas and tags.
    pub settings: Option<Place>,
    /// What went out from here or from another house.
    pub list: Option<Place>,
    /// What is not even looked at, and why.
    pub left_out: Vec<Item>,
    /// Where the data lies below what was named.
    home: String,
}

impl Root {
    /// Looks at a folder of data or at an archive of one, also at one that has a single such folder inside, or at a single
    /// chat.
    ///
    /// # Errors
    /// There is nothing that is known.
    pub fn find(path: &Path) -> Result<Self, ImportError> {
        let kind = fs::metadata(path)?;
        if kind.is_dir() {
            return Self::of(&House::Folder(path.to_owned()));
        }
        if !kind.is_file() {
            return Err(unknown("it is neither a file nor a folder"));
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self::of_file(File::open(path)?, &name)
    }

    /// Looks at an archive or a single chat, which its name tells apart.
    ///
    /// # Errors
    /// There is nothing that is known in it, or it is none.
    pub fn of_file(file: File, name: &str) -> Result<Self, ImportError> {
        if !name.to_ascii_lowercase().ends_with(".jsonl") {
            let bad =
                |error| unknown(&format!("it is no archive that can be read, and a chat ends in .jsonl: {error}"));
            return Self::of(&House::archive(file).map_err(bad)?);
        }
        let chats = vec![Place::whole(file, name.rsplit(['/', '\\']).next().unwrap_or_default())?];
        let folder = Folder { key: "chats".into(), chats, ..Folder::default() };
        Ok(Self { folders: vec![folder], ..Self::default() })
    }

    fn of(house: &House) -> Result<Self, ImportError> {
        let homes = house.homes()?;
        let home = match homes.as_slice() {
            [] => {
                return Err(unknown(
                    "no folder characters or chats lies in it: name the one that has them, such as data/default-user",
                ));
            }
            [home] => home.clone(),
            several => {
                let names = several.join(", ");
                return Err(unknown(&format!("it holds several people's data; name one of them: {names}")));
            }
        };
        let mut root = Self { home, ..Self::default() };
        for (name, why) in house.unread().take(NAMED) {
            root.leave_out(name, "unread", why);
        }
        let endings = ["png", "json", "charx", "yaml", "yml"];
        root.cards = root.files(house, "characters", |ending| endings.contains(&ending));
        for found in root.list(house, "chats") {
            if let Kind::Folder = found.kind {
                let card = found.name.rsplit('/').next().unwrap_or_default().to_owned();
                let key = format!("chats/{card}");
                let chats = root.files(house, &key, |ending| ending == "jsonl");
                root.folders.push(Folder { key, cards: vec![card], chats, ..Folder::default() });
            }
        }
        root.groups(house);
        root.worlds = root.files(house, "worlds", |ending| ending == "json");
        let pictures = root.files(house, "User Avatars", |ending| PICTURES.contains(&ending));
        root.avatars = pictures.into_iter().map(|place| (place.file().to_owned(), place)).collect();
        for (folder, kind) in FOLDERS {
            let files = root.files(house, folder, |ending| ending == "json");
            root.presets.extend(files.into_iter().map(|place| (kind, place)));
        }
        let top = root.list(house, "");
        root.lay_aside(house, &top);
        for Found { name, kind } in top {
            let own = name.rsplit('/').next().unwrap_or_default();
            let is_settings = own.eq_ignore_ascii_case(SETTINGS);
            match kind {
                Kind::Unread(why) if is_settings => root.leave_out(&name, "unread", why),
                Kind::File(place) if is_settings => root.settings = root.settings.or(Some(place)),
                Kind::File(place) if own == LIST => root.list = Some(place),
                _ => {}
            }
        }
        Ok(root)
    }

    /// The chats of groups: a file of its own says which chats a group has, and who plays in it.
    fn groups(&mut self, house: &House) {
        let chats = self.files(house, "group chats", |ending| ending == "jsonl");
        let mut chats: BTreeMap<String, Place> = chats.into_iter().map(|chat| (chat.stem().to_owned(), chat)).collect();
        for group in self.files(house, "groups", |ending| ending == "json") {
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
                    self.presets.push(("group", group.clone()));
                    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
                    let (key, title, open) = (format!("group chats/{}", group.stem()), text("name"), text("chat_id"));
                    self.folders.push(Folder { key, cards, chats: own, title, open });
                }
                Err(why) => self.leave_out(&group.name, "bad_group", &format!("it is no group: {why}")),
            }
        }
        if !chats.is_empty() {
            let chats = chats.into_values().collect();
            self.folders.push(Folder { key: "group chats".into(), chats, ..Folder::default() });
        }
    }

    /// What else there is has nothing to do with stories, or is made anew from them: it is counted by name and stays there.
    fn lay_aside(&mut self, house: &House, top: &[Found]) {
        let read = ["characters", "chats", "groups", "group chats", "worlds", "User Avatars", SETTINGS, LIST];
        let is_read = |name: &str| read.contains(&name) || FOLDERS.iter().any(|(folder, _)| *folder == name);
        for found in top {
            let name = found.name.rsplit('/').next().unwrap_or_default();
            if !is_read(name) {
                let inside = match found.kind {
                    Kind::Folder => house.list(&found.name).map_or(0, |(inside, _)| inside.len()),
                    _ => 1,
                };
                self.aside.push(aside(name, inside, meaning(name)));
            }
        }
        let characters = [self.home.as_str(), "characters"].into_iter().filter(|part| !part.is_empty());
        let characters =
            house.list(&characters.collect::<Vec<_>>().join("/")).map_or_else(|_| Vec::new(), |(all, _)| all);
        let sprites = characters.iter().filter(|found| matches!(found.kind, Kind::Folder)).count();
        if sprites > 0 {
            self.aside.push(aside("characters", sprites, "folders with pictures of moods, which nothing here shows"));
        }
    }

    /// The files of a folder with some endings, by name.
    fn files(&mut self, house: &House, folder: &str, wanted: impl Fn(&str) -> bool) -> Vec<Place> {
        self.list(house, folder).into_iter().filter_map(Found::file).filter(|place| wanted(&place.ending())).collect()
    }

    /// What lies in a folder, by name; what is not read is named.
    fn list(&mut self, house: &House, folder: &str) -> Vec<Found> {
        let path =
            [self.home.as_str(), folder].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let (found, is_more) = match house.list(&path) {
            Ok(found) => found,
            Err(error) => {
                self.leave_out(folder, "unreadable", &error.to_string());
                return Vec::new();
            }
        };
        if is_more {
            self.leave_out(folder, "too_many_files", &format!("only {MOST_ENTRIES} of its files are read"));
        }
        for found in found.iter().filter(|_| !folder.is_empty()) {
            if let Kind::Unread(why) = found.kind {
                self.leave_out(&found.name, "unread", why);
            }
        }
        found
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

/// Something of which so much is left where it is.
fn aside(name: &str, count: usize, meaning: &str) -> Item {
    let words = format!("left aside, {}: {meaning}", many(count, "file", "files"));
    Item::skipped("file", name, Finding::new(Fate::Skipped, "left_aside", words).of(count)).from_file(name)
}

/// Why something is left aside.
fn meaning(name: &str) -> &'static str {
    match name {
        "backgrounds" => "pictures behind the chat, which nothing here shows",
        "backups" => "copies of chats that are read from their own folder",
        "thumbnails" => "small copies of pictures, made anew here",
        "vectors" => "an index of texts, which are indexed anew here",
        "extensions" => "programs for another page, which run nowhere else",
        "secrets.json" => "keys of model servers: give them to this server yourself",
        "assets" | "user" => "files that other programs made or were given",
        _ => "nothing that is known here",
    }
}

fn unknown(why: &str) -> ImportError {
    ImportError::Unknown(why.to_owned())
}
