//! The door for files of other programs: what a file is, its content says, and it is taken in by whoever knows it. A folder
//! or an archive of SillyTavern goes to `sillytavern/`; anything else is looked at file by file.
//!
//! `sort.rs` says what a file is, `tale.rs` makes a session of a story (`interop/tale/`). To take in another kind of file: its
//! sign in `sort.rs` or in `interop/kind.rs`, and its arm in `file`.

mod sort;
mod tale;

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Map, Value};

use crate::clock::Ids;
use crate::interop::{Fate, Finding, kind, text};
use crate::store::Store;

use super::Item;
use super::import::{ImportError, Progress};
use super::sillytavern::house::{Found, House, Kind, Place};
use super::sillytavern::root::Folder;
use super::sillytavern::{self, Arrived, Given, Way, Wish, Work, unreadable};
use sort::Sort;

/// So many files that are nothing are named one by one; the rest are counted.
const NAMED: usize = 200;
/// So deep do folders lie in folders at most.
const DEEPEST: usize = 8;

/// What is taken in, for whoever sends something else.
const TAKEN: &str = "a folder or archive of SillyTavern or a chat of it (.jsonl), a character card (PNG, JSON, CHARX, YAML), a lorebook, chats of \
                     ChatGPT (conversations.json), Open WebUI, LibreChat, RisuAI, Agnai, KoboldAI, text-generation-webui, CAI Tools or \
                     Chub, or a folder or archive of these";

/// Takes in whatever another program has kept: a folder, an archive, a file. What is there already is left alone.
///
/// # Errors
/// There is nothing that is known, the store fails, or `told` answers `false`; what was written until then stays.
pub async fn import(
    store: &Store,
    ids: &Ids,
    given: Given,
    wish: Wish,
    told: impl FnMut(Progress) -> bool,
) -> Result<Arrived, ImportError> {
    let (house, given) = match given {
        Given::Path(path) if fs::metadata(&path)?.is_dir() => (Some(House::Folder(path.clone())), Given::Path(path)),
        Given::Path(path) => {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            opened(File::open(&path)?, name)?
        }
        Given::File(file, name) => opened(file, name)?,
    };
    let is_root = house.as_ref().map(House::homes).transpose()?.is_some_and(|homes| !homes.is_empty());
    if is_root {
        return sillytavern::import(store, ids, given, wish, told).await;
    }
    let (files, left_out) = match (house, given) {
        (Some(house), _) => gathered(&house)?,
        (None, Given::File(file, name)) => (vec![Place::whole(file, base(&name))?], Vec::new()),
        (None, Given::Path(path)) => (vec![Place::whole(File::open(&path)?, &path.to_string_lossy())?], Vec::new()),
    };
    let bytes = files.iter().map(|place| place.bytes).sum();
    let mut work = Work::new(store, ids, wish, Way::new(bytes), told);
    left_out.into_iter().for_each(|item| work.report(item));
    work.files(&files).await?;
    Ok(work.arrived)
}

/// Whether a path leads to something of another program, and not to the file of a session. One that leads nowhere does not.
pub fn is_foreign(path: &Path) -> bool {
    path.is_dir() || File::open(path).is_ok_and(|file| sort::is_foreign(&file).unwrap_or(false))
}

/// An archive, or nothing where the file is none.
fn opened(file: File, name: String) -> Result<(Option<House>, Given), ImportError> {
    if !sort::is_archive(&file)? {
        return Ok((None, Given::File(file, name)));
    }
    let house = House::archive(file.try_clone()?)
        .map_err(|error| ImportError::Unknown(format!("it is no archive that can be read: {error}")))?;
    // A packed card is an archive as well.
    let is_card = matches!(&house, House::Archive(all) if all.contains_key("card.json"));
    Ok(((!is_card).then_some(house), Given::File(file, name)))
}

/// The last part of a name.
fn base(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// All files of a folder, by name, and what is not even looked at.
fn gathered(house: &House) -> Result<(Vec<Place>, Vec<Item>), ImportError> {
    let leave =
        |name: &str, why: &str| Item::skipped("file", name, Finding::new(Fate::Skipped, "unread", why)).from_file(name);
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    left_out.extend(house.unread().take(NAMED).map(|(name, why)| leave(name, why)));
    let mut folders = vec![(String::new(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        let (found, is_more) = house.list(&folder)?;
        if is_more {
            left_out.push(leave(&folder, "it has more files than are looked at"));
        }
        for Found { name, kind } in found {
            match kind {
                Kind::File(place) => files.push(place),
                Kind::Folder if depth < DEEPEST => folders.push((name, depth + 1)),
                Kind::Folder => left_out.push(leave(&name, "it lies too deep in other folders")),
                Kind::Unread(why) => left_out.push(leave(&name, why)),
            }
        }
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((files, left_out))
}

impl<F: FnMut(Progress) -> bool> Work<'_, F> {
    /// Takes files in, each as what it is. One that is nothing is named, unless it is the only one: then it is refused.
    async fn files(&mut self, files: &[Place]) -> Result<(), ImportError> {
        let (mut unknown, mut chats, mut sorted) = (Vec::new(), Vec::new(), Vec::with_capacity(files.len()));
        for place in files {
            match sort::look(place) {
                Ok(sort) => sorted.push((place, sort)),
                Err(error) => self.report(unreadable(&place.name, &error)),
            }
        }
        // Whoever has a card is there before what they say.
        sorted.sort_by_key(|(_, sort)| *sort != Sort::Card);
        for (place, sort) in sorted {
            self.go_on()?;
            match self.file(place, sort).await {
                Ok(None) => {}
                Ok(Some(Sort::Chat)) => chats.push(place.clone()),
                Ok(Some(_)) => unknown.push(place),
                Err(ImportError::Read(why)) => self.report(unreadable(&place.name, &std::io::Error::other(why))),
                Err(error) => return Err(error),
            }
        }
        if !chats.is_empty() {
            let folder = Folder { key: "chats".into(), chats, ..Folder::default() };
            self.folder(&folder, &mut Default::default()).await?;
        }
        if unknown.len() == files.len() {
            let what = if files.len() == 1 { "it is" } else { "there is nothing but files that are" };
            return Err(ImportError::Unknown(format!("{what} no archive and nothing else that is taken in: {TAKEN}")));
        }
        for place in unknown.iter().take(NAMED) {
            let why = Finding::new(Fate::Skipped, "not_known", "it is nothing that is taken in");
            self.report(Item::skipped("file", place.stem(), why).from_file(&place.name));
        }
        if let Some(more) = unknown.len().checked_sub(NAMED).filter(|more| *more > 0) {
            let why =
                Finding::new(Fate::Skipped, "not_known", format!("{more} more files are nothing that is taken in"));
            self.report(Item::skipped("file", "more files", why.of(more)));
        }
        Ok(())
    }

    /// Takes a file in; answers with what it is where that is left to do.
    async fn file(&mut self, place: &Place, sort: Sort) -> Result<Option<Sort>, ImportError> {
        match sort {
            Sort::Card => {
                self.character(place, &place.read()?).await?;
                Ok(None)
            }
            Sort::Json => match self.stories(place).await? {
                Some(Sort::Nothing) => self.thing(place).await,
                read => Ok(read),
            },
            Sort::Chat | Sort::Nothing => Ok(Some(sort)),
        }
    }

    /// Takes JSON in that is no story.
    async fn thing(&mut self, place: &Place) -> Result<Option<Sort>, ImportError> {
        let bytes = place.read()?;
        let text = text::decode(&bytes).ok();
        let value = text.and_then(|text| serde_json::from_str::<Map<String, Value>>(&text).ok());
        match value.as_ref().and_then(kind::of) {
            Some(kind::Kind::Card) => {
                self.character(place, &bytes).await?;
                Ok(None)
            }
            Some(kind::Kind::Book) => {
                self.lorebook(place, &bytes).await?;
                Ok(None)
            }
            Some(kind::Kind::Personas) | None => Ok(Some(Sort::Nothing)),
        }
    }
}
