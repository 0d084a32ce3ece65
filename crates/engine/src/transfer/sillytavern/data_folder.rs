//! Finds what can be imported in a data folder: cards, chats, groups, lorebooks, presets and the settings with
//! personas and tags.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use serde_json::Value;

use clotho_compat::interop::card::{ARCHIVE_TAIL_BYTES, has_archive_end};
use clotho_compat::interop::{FindingDetail, FindingReason, ImportFinding, text};

use super::super::ForeignImportItem;
use super::super::archive_budget::ArchiveBudget;
use super::super::file_container::{ContainerEntry, ContainerEntryKind, FileContainer, MAX_ENTRIES, SourceFile, stem};
use super::super::import::ImportError;

/// The folders of presets, each with the kind of its presets.
pub const FOLDERS: [(&str, &str); 10] = [
    ("OpenAI Settings", "openai"),
    ("TextGen Settings", "textgen"),
    ("KoboldAI Settings", "kobold"),
    ("NovelAI Settings", "novel"),
    ("instruct", "instruct"),
    ("context", "context"),
    ("sysprompt", "sysprompt"),
    ("reasoning", "reasoning"),
    ("QuickReplies", "quickReplies"),
    ("themes", "theme"),
];

/// The settings file, also its name in the report.
pub const SETTINGS: &str = "settings.json";

/// The most unreadable archive entries that the report names one by one.
const NAMED: usize = 1_000;
/// The most skipped files of a folder that the report names.
const EXAMPLES: usize = 5;
/// The file extensions of cards.
const CARDS: [&str; 6] = ["png", "json", "charx", "byaf", "yaml", "yml"];
/// The file extensions of pictures that are cards if an archive stands behind the picture.
const PICTURE_CARDS: [&str; 2] = ["jpg", "jpeg"];

/// The index file of a folder that Clotho exported (`export_index.rs`).
pub const LIST: &str = "clotho.json";
/// The file extensions of pictures.
const PICTURES: [&str; 5] = ["png", "jpg", "jpeg", "webp", "gif"];

/// The chats of one card, or of one group.
#[derive(Debug, Clone, Default)]
pub struct ChatFolder {
    /// The prefix of the source keys of these chats, such as `chats/Rin`.
    pub key: String,
    /// The file stems of the cards that take part.
    pub cards: Vec<String>,
    /// The chat files, sorted by name.
    pub chats: Vec<SourceFile>,
    /// The name of the group.
    pub title: Option<String>,
    /// The chat of the group that was open last.
    pub open_chat: Option<String>,
}

/// Everything in a data folder that is imported or reported.
#[derive(Debug, Default)]
pub struct DataFolder {
    pub cards: Vec<SourceFile>,
    pub folders: Vec<ChatFolder>,
    pub worlds: Vec<SourceFile>,
    /// The pictures of personas, by file name.
    pub avatars: BTreeMap<String, SourceFile>,
    /// Preset files, each with its kind.
    pub presets: Vec<(&'static str, SourceFile)>,
    /// Report items of known things that are not imported.
    pub skipped: Vec<ForeignImportItem>,
    /// Entries that do not belong to SillyTavern.
    pub others: Vec<ContainerEntry>,
    pub settings: Option<SourceFile>,
    /// The export index, or why it cannot be read.
    pub export_index: Option<Result<SourceFile, FindingReason>>,
    /// Report items of files that cannot be read.
    pub left_out: Vec<ForeignImportItem>,
    /// The path of the data folder inside the given source; empty if it is the source itself.
    prefix: String,
}

impl DataFolder {
    /// Opens a data folder, an archive of one, or a single chat. The data folder may lie deeper inside, if there
    /// is only one.
    ///
    /// # Errors
    /// Returns an error if nothing can be imported.
    pub fn find(path: &Path, budget: &ArchiveBudget) -> Result<Self, ImportError> {
        let kind = fs::metadata(path)?;
        if kind.is_dir() {
            return Self::find_in(&FileContainer::Folder(path.to_owned()));
        }
        if !kind.is_file() {
            return Err(unknown_source("it is neither a file nor a folder"));
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Self::of_file(File::open(path)?, &name, budget)
    }

    /// Opens an archive or a single chat; the extension `.jsonl` means a chat.
    ///
    /// # Errors
    /// Returns an error if the file is no readable archive or has no data folder.
    pub fn of_file(file: File, name: &str, budget: &ArchiveBudget) -> Result<Self, ImportError> {
        if !name.to_ascii_lowercase().ends_with(".jsonl") {
            let bad = |error| unknown_source(&format!("it is neither a chat (.jsonl) nor a readable archive: {error}"));
            return Self::find_in(&SourceFile::from_file(file, name)?.archive(budget).map_err(bad)?);
        }
        let chats = vec![SourceFile::from_file(file, name.rsplit(['/', '\\']).next().unwrap_or_default())?];
        let folder = ChatFolder { key: "chats".into(), chats, ..ChatFolder::default() };
        Ok(Self { folders: vec![folder], ..Self::default() })
    }

    /// Lists the data folder inside a folder or an archive.
    ///
    /// # Errors
    /// Returns an error if there is no data folder, or more than one.
    pub fn find_in(container: &FileContainer) -> Result<Self, ImportError> {
        let homes = container.data_folders()?;
        let home = match homes.as_slice() {
            [] => {
                return Err(unknown_source(
                    "it has no folder characters or chats: name the folder that has them, such as data/default-user",
                ));
            }
            [home] => home.clone(),
            several => {
                let names = several.join(", ");
                return Err(unknown_source(&format!("it has the data of several users; name one of them: {names}")));
            }
        };
        let mut root = Self { prefix: home, ..Self::default() };
        root.left_out = unread(container);
        root.cards = root.files_where(container, "characters", is_card);
        root.chats(container);
        root.groups(container);
        root.worlds = root.files(container, "worlds", &["json"]);
        let pictures = root.files(container, "User Avatars", &PICTURES);
        root.avatars = pictures.into_iter().map(|place| (place.file().to_owned(), place)).collect();
        for (folder, kind) in FOLDERS {
            let files = root.files(container, folder, &["json"]);
            root.presets.extend(files.into_iter().map(|place| (kind, place)));
        }
        root.scan_siblings(container);
        root.scan_top(container);
        // An archive does not list an entry that it cannot read, so look for an unreadable index here.
        let list =
            [root.prefix.as_str(), LIST].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        if let Some((_, why)) = container.unread().find(|(name, _)| *name == list) {
            root.export_index = Some(Err(why));
        }
        Ok(root)
    }

    /// Lists the chats of cards: one folder for each card.
    fn chats(&mut self, container: &FileContainer) {
        let (folders, others) = self
            .list(container, "chats")
            .into_iter()
            .partition(|found| matches!(found.kind, ContainerEntryKind::Folder));
        self.skip_entries(container, "chats", FindingReason::NoCardFolder, others);
        let folders: Vec<ContainerEntry> = folders;
        for found in folders {
            let card = found.name.rsplit('/').next().unwrap_or_default().to_owned();
            let key = format!("chats/{card}");
            let chats = self.files(container, &key, &["jsonl"]);
            self.folders.push(ChatFolder { key, cards: vec![card], chats, ..ChatFolder::default() });
        }
    }

    /// Lists the chats of groups. The file of a group names its chats and members.
    fn groups(&mut self, container: &FileContainer) {
        let chats = self.files(container, "group chats", &["jsonl"]);
        let mut chats: BTreeMap<String, SourceFile> =
            chats.into_iter().map(|chat| (chat.stem().to_owned(), chat)).collect();
        for group in self.files(container, "groups", &["json"]) {
            match read_group(&group) {
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
                    self.folders.push(ChatFolder { key, cards, chats: own, title, open_chat: open });
                }
                Err(reason) => self.leave_out(&group.name, &FindingDetail::InvalidGroup { reason }),
            }
        }
        if !chats.is_empty() {
            let chats = chats.into_values().collect();
            self.folders.push(ChatFolder { key: "group chats".into(), chats, ..ChatFolder::default() });
        }
    }

    /// Sorts the top-level entries: settings, index, known things that are not imported, and others. Known ones
    /// are only reported.
    fn scan_top(&mut self, container: &FileContainer) {
        let read = ["characters", "chats", "groups", "group chats", "worlds", "User Avatars"];
        let is_read = |name: &str| read.contains(&name) || FOLDERS.iter().any(|(folder, _)| *folder == name);
        for ContainerEntry { name, kind } in self.list(container, "") {
            let own = name.rsplit('/').next().unwrap_or_default();
            let is_settings = own.eq_ignore_ascii_case(SETTINGS);
            match kind {
                ContainerEntryKind::NotReadable(reason) if is_settings => {
                    self.leave_out(&name, &FindingDetail::UnreadFile { reason })
                }
                ContainerEntryKind::File(place) if is_settings && self.settings.is_none() => {
                    self.settings = Some(place)
                }
                ContainerEntryKind::File(place) if own == LIST => self.export_index = Some(Ok(place)),
                ContainerEntryKind::NotReadable(why) if own == LIST => self.export_index = Some(Err(why)),
                _ if is_read(own) => {}
                kind => match skip_reason(own) {
                    Some(reason) => {
                        let count = count(container, &name, &kind);
                        self.skipped.push(left_out_item(own, &FindingDetail::LeftOut { count, reason }));
                    }
                    None => self.others.push(ContainerEntry { name, kind }),
                },
            }
        }
    }

    /// Adds what lies beside the data folder, and beside its parent folders, to `others`. Inside a SillyTavern
    /// installation these files are only counted.
    fn scan_siblings(&mut self, container: &FileContainer) {
        let home = self.prefix.clone();
        let parts: Vec<&str> = home.split('/').filter(|part| !part.is_empty()).collect();
        let program = parts.iter().position(|part| *part == "data");
        let (mut above, mut count_of_program) = (String::new(), 0);
        for (depth, part) in parts.iter().enumerate() {
            let found = container.list(&above).map(|(found, _)| found).unwrap_or_default();
            above = if above.is_empty() { (*part).to_owned() } else { format!("{above}/{part}") };
            let others = found.into_iter().filter(|found| found.name != above);
            if program.is_some_and(|program| depth >= program) {
                count_of_program +=
                    others.map(|ContainerEntry { name, kind }| count(container, &name, &kind)).sum::<usize>();
            } else {
                self.others.extend(others);
            }
        }
        if count_of_program > 0 {
            let detail = FindingDetail::LeftOutBeside {
                count: count_of_program,
                reason: FindingReason::OutsideOfFolder,
                names: home.clone(),
            };
            self.skipped.push(left_out_item(parts.first().copied().unwrap_or_default(), &detail));
        }
    }

    /// Returns the files of a folder with the given extensions, sorted by name. The others are reported as left
    /// aside.
    fn files(&mut self, container: &FileContainer, folder: &str, endings: &[&str]) -> Vec<SourceFile> {
        self.files_where(container, folder, |place| endings.contains(&place.ending().as_str()))
    }

    /// Returns the files of a folder that are wanted, like [`Self::files`].
    fn files_where(
        &mut self,
        container: &FileContainer,
        folder: &str,
        is_wanted: impl Fn(&SourceFile) -> bool,
    ) -> Vec<SourceFile> {
        let (mut files, mut others) = (Vec::new(), Vec::new());
        for found in self.list(container, folder) {
            match found.kind {
                ContainerEntryKind::File(place) if is_wanted(&place) => files.push(place),
                _ => others.push(found),
            }
        }
        self.skip_entries(container, folder, FindingReason::OtherType, others);
        files
    }

    /// Reports the entries of a folder that are not imported; some are named.
    fn skip_entries(
        &mut self,
        container: &FileContainer,
        folder: &str,
        reason: FindingReason,
        others: Vec<ContainerEntry>,
    ) {
        let (mut count, mut moods, mut names) = (0, 0, Vec::new());
        for ContainerEntry { name, kind } in others {
            let own = name.rsplit('/').next().unwrap_or_default();
            match kind {
                ContainerEntryKind::NotReadable(_) => {}
                ContainerEntryKind::Folder if folder == "characters" => moods += container.count(&name),
                ContainerEntryKind::Folder => {
                    count += container.count(&name);
                    names.push(format!("{own}/"));
                }
                ContainerEntryKind::File(_) => {
                    count += 1;
                    names.push(own.to_owned());
                }
            }
        }
        if count > 0 {
            let more = if names.len() > EXAMPLES { ", …" } else { "" };
            names.truncate(EXAMPLES);
            let names = format!("{}{more}", names.join(", "));
            self.skipped.push(left_out_item(folder, &FindingDetail::LeftOutOfFolder { count, reason, names }));
        }
        if moods > 0 {
            let detail = FindingDetail::LeftOut { count: moods, reason: FindingReason::Expressions };
            self.skipped.push(left_out_item(folder, &detail));
        }
    }

    /// Lists a folder, sorted by name, and reports the entries that cannot be read.
    fn list(&mut self, container: &FileContainer, folder: &str) -> Vec<ContainerEntry> {
        let path =
            [self.prefix.as_str(), folder].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let (found, is_more) = match container.list(&path) {
            Ok(found) => found,
            Err(error) => {
                self.leave_out(folder, &FindingDetail::UnreadableFile { reason: error.to_string() });
                return Vec::new();
            }
        };
        if is_more {
            self.leave_out(folder, &FindingDetail::TooManyFiles { most: MAX_ENTRIES });
        }
        for found in found.iter().filter(|_| !folder.is_empty()) {
            if let ContainerEntryKind::NotReadable(reason) = found.kind {
                self.leave_out(&found.name, &FindingDetail::UnreadFile { reason });
            }
        }
        found
    }

    fn leave_out(&mut self, name: &str, why: &FindingDetail) {
        self.left_out.push(left_out_item(name, why));
    }

    /// Returns the size of all chats in bytes.
    pub fn chat_bytes(&self) -> u64 {
        self.folders.iter().flat_map(|folder| &folder.chats).map(|chat| chat.bytes).sum()
    }
}

/// Returns whether a file of the folder of characters may be a card. Plain pictures stand there too.
fn is_card(place: &SourceFile) -> bool {
    let ending = place.ending();
    let has_archive = || {
        let tail = place.tail(u64::try_from(ARCHIVE_TAIL_BYTES).unwrap_or(u64::MAX));
        tail.is_ok_and(|tail| has_archive_end(&tail))
    };
    CARDS.contains(&ending.as_str()) || (PICTURE_CARDS.contains(&ending.as_str()) && has_archive())
}

/// Parses the file of a group, within the bounds of any JSON from outside.
fn read_group(place: &SourceFile) -> Result<Value, String> {
    let bytes = place.read().map_err(|error| error.to_string())?;
    let text = text::decode(&bytes).map_err(|error| error.to_string())?;
    text::parse_json_lenient(&text).map_err(|error| error.to_string())
}

/// Returns report items for the archive entries that cannot be read.
pub fn unread(container: &FileContainer) -> Vec<ForeignImportItem> {
    let mut items: Vec<ForeignImportItem> =
        container.unread().take(NAMED).map(|(name, reason)| unread_item(name, reason)).collect();
    let more = container.unread().skip(NAMED).count();
    if more > 0 {
        let why = ImportFinding::skipped(&FindingDetail::MoreUnreadEntries { count: more });
        items.push(ForeignImportItem::skipped("file", "more entries", why));
    }
    let entries = container.missing_entries();
    if entries > 0 {
        let why = ImportFinding::skipped(&FindingDetail::MissingArchiveEntries { entries });
        items.push(ForeignImportItem::skipped("file", "entries", why));
    }
    items
}

/// Returns the report item for a file or folder that is not read.
pub fn unread_item(name: &str, reason: FindingReason) -> ForeignImportItem {
    left_out_item(name, &FindingDetail::UnreadFile { reason })
}

/// Returns the number of files in an entry.
fn count(container: &FileContainer, name: &str, kind: &ContainerEntryKind) -> usize {
    if matches!(kind, ContainerEntryKind::Folder) { container.count(name) } else { 1 }
}

/// Returns the report item for a file or folder that is not imported.
fn left_out_item(name: &str, why: &FindingDetail) -> ForeignImportItem {
    ForeignImportItem::skipped("file", name, ImportFinding::skipped(why)).from_file(name)
}

/// Returns why a known top-level entry is not imported.
fn skip_reason(name: &str) -> Option<FindingReason> {
    Some(match name {
        "backgrounds" => FindingReason::Backgrounds,
        "backups" => FindingReason::Backups,
        "thumbnails" => FindingReason::Thumbnails,
        "vectors" => FindingReason::Vectors,
        "extensions" => FindingReason::Extensions,
        "movingUI" => FindingReason::PanelLayout,
        "secrets.json" => FindingReason::ApiKeys,
        "stats.json" | "content.log" | "image-metadata.json" => FindingReason::Statistics,
        "assets" | "user" => FindingReason::Uploads,
        _ => return None,
    })
}

fn unknown_source(why: &str) -> ImportError {
    ImportError::Unknown(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A picture is a card only if an archive stands behind it.
    #[test]
    fn data_folder_pictures_with_archive_are_cards() {
        let home = tempfile::tempdir().unwrap();
        let characters = home.path().join("characters");
        fs::create_dir(&characters).unwrap();
        let plain: &[u8] = b"\xFF\xD8\xFF\xE0 a picture";
        // The end record of an archive with one entry.
        let end: &[u8] = b"PK\x05\x06\0\0\0\0\x01\0\x01\0\0\0\0\0\0\0\0\0\0\0";
        let packed = [plain, end].concat();
        for (name, bytes) in [
            ("Ann.jpg", plain),
            ("Bob.JPEG", packed.as_slice()),
            ("Cid.jpg", packed.as_slice()),
            ("Dee.byaf", plain),
            ("Eve.webp", plain),
            ("Fay.png", plain),
        ] {
            fs::write(characters.join(name), bytes).unwrap();
        }
        let root = DataFolder::find_in(&FileContainer::Folder(home.path().to_owned())).unwrap();
        let cards: Vec<&str> = root.cards.iter().map(SourceFile::file).collect();
        assert_eq!(cards, ["Bob.JPEG", "Cid.jpg", "Dee.byaf", "Fay.png"]);
        assert_eq!(root.skipped.len(), 1, "the others are of another type");
    }
}
