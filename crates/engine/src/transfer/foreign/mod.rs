//! Imports files of other programs; the content decides what a file is. SillyTavern data goes to `sillytavern/`. All
//! other files, also those beside such data, are imported one by one. A file in a folder or archive is treated as if
//! it came alone.
//!
//! `file_type.rs` detects the type, `foreign_chat.rs` turns a story into a session (`interop/foreign_chat/`), and
//! `own_session.rs` imports a session file of Clotho. To import another kind of file: detect it in `file_type.rs` or
//! in `interop/file_kind.rs`, and add its arm to `import_by_type` or `import_json`.

mod file_type;
mod foreign_chat;
mod own_session;

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Map, Value};

use clotho_compat::interop::{FindingDetail, FindingReason, ImportFinding, file_kind, lorebook, text};
use clotho_core::clock::IdGenerator;
use clotho_store::Store;

use super::ForeignImportItem;
use super::archive_budget::ArchiveBudget;
use super::file_container::{ContainerEntry, ContainerEntryKind, FileContainer, MAX_DEPTH, SourceFile};
use super::import::{ImportError, ImportProgress, REPAIR_LIST_HINT};
use super::sillytavern::data_folder::{ChatFolder, DataFolder, unread, unread_item};
use super::sillytavern::{ForeignImport, ForeignImportResult, ImportOptions, ImportSource, unreadable};
use file_type::ForeignFileType;

/// At most this many unknown files are named one by one; the rest are counted.
const NAMED: usize = 200;
/// The greatest depth of archives inside archives.
const MAX_ARCHIVE_DEPTH: usize = 2;

/// The accepted kinds of input, for the error message.
const ACCEPTED_INPUTS: &str = "a session (.clotho), a folder or archive of SillyTavern or a chat of it (.jsonl), a character card (PNG, JSON, CHARX, also behind a JPEG, BYAF, YAML), a lorebook, personas, chats of \
                     ChatGPT (conversations.json), Open WebUI, LibreChat, RisuAI, Agnai, KoboldAI, NovelAI, text-generation-webui, CAI Tools or \
                     Chub, or a folder or archive of these";

/// Imports a folder, an archive or a file of another program. What exists already is left alone.
///
/// # Errors
/// Returns an error if nothing is recognized, the store fails, or `report_progress` returns `false`. What was written
/// until then stays.
pub async fn import(
    store: &Store,
    ids: &IdGenerator,
    given: ImportSource,
    options: ImportOptions,
    mut report_progress: impl FnMut(ImportProgress) -> bool + Send,
) -> Result<ForeignImportResult, ImportError> {
    let mut work = ForeignImport::new(store, ids, options, &mut report_progress);
    let (count, unknown) = match open_input(given, &work.archive_budget)? {
        OpenInput::Container(container) => work.import_container(&container, 0).await?,
        OpenInput::File(place) => (1, work.import_files(vec![place], 0).await?),
    };
    work.archive_budget.check()?;
    if unknown.len() == count {
        let what = if count == 1 { "it is" } else { "all of its files have this problem:" };
        return Err(ImportError::Unknown(format!(
            "{what} not an archive, and not a supported file: {ACCEPTED_INPUTS}"
        )));
    }
    work.report_unknown(unknown);
    Ok(work.result)
}

/// Whether a path is something of another program, not a session file. A path that does not exist is not.
pub fn is_foreign(path: &Path) -> bool {
    path.is_dir() || File::open(path).is_ok_and(|file| file_type::is_foreign(file).unwrap_or(false))
}

/// The opened input.
enum OpenInput {
    Container(FileContainer),
    File(SourceFile),
}

fn open_input(given: ImportSource, budget: &ArchiveBudget) -> Result<OpenInput, ImportError> {
    let place = match given {
        ImportSource::Path(path) if fs::metadata(&path)?.is_dir() => {
            return Ok(OpenInput::Container(FileContainer::Folder(path)));
        }
        ImportSource::Path(path) => SourceFile::from_file(File::open(&path)?, base_name(&path.to_string_lossy()))?,
        ImportSource::File(file, name) => SourceFile::from_file(file, base_name(&name))?,
    };
    if place.is_empty() {
        return Err(ImportError::Unknown(FindingReason::EmptyFile.to_string()));
    }
    if file_type::detect_type(&place)? != ForeignFileType::Archive {
        return Ok(OpenInput::File(place));
    }
    let bad = |error| ImportError::Unknown(format!("the archive cannot be read: {error}"));
    let container = place.archive(budget).map_err(bad)?;
    Ok(if container.is_card() { OpenInput::File(place) } else { OpenInput::Container(container) })
}

/// Returns the last part of a path.
fn base_name(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or_default()
}

/// Returns all files below these entries, sorted by name, and the report items of those that cannot be read.
fn collect_files(
    container: &FileContainer,
    top: Vec<ContainerEntry>,
) -> Result<(Vec<SourceFile>, Vec<ForeignImportItem>), ImportError> {
    let (mut files, mut left_out, mut next) = (Vec::new(), Vec::new(), vec![(top, 0)]);
    while let Some((found, depth)) = next.pop() {
        for ContainerEntry { name, kind } in found {
            match kind {
                ContainerEntryKind::File(place) => files.push(place),
                ContainerEntryKind::Folder if depth < MAX_DEPTH => {
                    let (inside, is_more) = container.list(&name)?;
                    if is_more {
                        left_out.push(unread_item(&name, FindingReason::TooManyFiles));
                    }
                    next.push((inside, depth + 1));
                }
                ContainerEntryKind::Folder => left_out.push(unread_item(&name, FindingReason::TooDeepInFolders)),
                ContainerEntryKind::NotReadable(why) => left_out.push(unread_item(&name, why)),
            }
        }
    }
    files.sort_by(|one, other| one.name.cmp(&other.name));
    Ok((files, left_out))
}

fn unread_archive_item(name: &str, reason: String) -> ForeignImportItem {
    let why = ImportFinding::skipped(&FindingDetail::UnreadArchive { reason });
    ForeignImportItem::skipped("file", name, why).from_file(name)
}

/// The number of files, and those of unknown type.
type UnknownFiles = (usize, Vec<SourceFile>);

impl ForeignImport<'_> {
    /// Imports a folder or an archive: SillyTavern data if there is some, and all other files.
    async fn import_container(&mut self, container: &FileContainer, depth: usize) -> Result<UnknownFiles, ImportError> {
        let (top, is_root) = if container.data_folders()?.is_empty() {
            unread(container).into_iter().for_each(|item| self.count_item(item));
            let (top, is_more) = container.list("")?;
            if is_more {
                self.count_item(unread_item("", FindingReason::TooManyFiles));
            }
            (top, 0)
        } else {
            let root = DataFolder::find_in(container)?;
            self.import_data(&root).await?;
            (root.others, 1)
        };
        let (files, left_out) = collect_files(container, top)?;
        left_out.into_iter().for_each(|item| self.count_item(item));
        Ok((files.len() + is_root, self.import_files(files, depth).await?))
    }

    /// Imports files by their types; returns those of unknown type.
    async fn import_files(&mut self, files: Vec<SourceFile>, depth: usize) -> Result<Vec<SourceFile>, ImportError> {
        self.read_progress.add_total(files.iter().map(|place| place.bytes).sum());
        let (mut unknown, mut chats, mut sorted) = (Vec::new(), Vec::new(), Vec::with_capacity(files.len()));
        for place in files {
            if place.is_empty() {
                self.count_item(unread_item(&place.name, FindingReason::EmptyFile));
                continue;
            }
            match file_type::detect_type(&place) {
                Ok(sort) => sorted.push((place, sort)),
                Err(error) => self.count_item(unreadable(&place.name, &error)),
            }
        }
        // Cards first, so that the characters exist before their chats.
        sorted.sort_by_key(|(_, sort)| *sort != ForeignFileType::Card);
        for (place, sort) in sorted {
            self.check_cancelled()?;
            match self.import_by_type(&place, sort, depth).await {
                Ok(None) => {}
                Ok(Some(ForeignFileType::Chat)) => chats.push(place),
                Ok(Some(_)) => unknown.push(place),
                Err(ImportError::Read(why)) => self.count_item(unreadable(&place.name, &std::io::Error::other(why))),
                Err(error) => return Err(error),
            }
        }
        if !chats.is_empty() {
            let folder = ChatFolder { key: "chats".into(), chats, ..ChatFolder::default() };
            self.import_chat_folder(&folder, &mut Default::default()).await?;
        }
        Ok(unknown)
    }

    /// Reports files of unknown type.
    fn report_unknown(&mut self, unknown: Vec<SourceFile>) {
        let more = unknown.len().saturating_sub(NAMED);
        for place in unknown.into_iter().take(NAMED) {
            let why = ImportFinding::skipped(&FindingDetail::UnknownType {});
            self.count_item(ForeignImportItem::skipped("file", place.stem(), why).from_file(&place.name));
        }
        if more > 0 {
            let why = ImportFinding::skipped(&FindingDetail::MoreUnknownTypes { count: more });
            self.count_item(ForeignImportItem::skipped("file", "more files", why));
        }
    }

    /// Imports a file. Returns its type if it is a chat or unknown, which the caller handles.
    async fn import_by_type(
        &mut self,
        place: &SourceFile,
        sort: ForeignFileType,
        depth: usize,
    ) -> Result<Option<ForeignFileType>, ImportError> {
        match sort {
            ForeignFileType::Card => {
                let bytes = place.read()?;
                match lorebook::is_in_picture(&bytes) {
                    true => _ = self.lorebook(place, &bytes).await?,
                    false => _ = self.character(place, &bytes).await?,
                }
                Ok(None)
            }
            ForeignFileType::Archive => self.import_archive(place, depth).await,
            ForeignFileType::Session => {
                self.import_session(place).await?;
                Ok(None)
            }
            ForeignFileType::Json => match self.import_stories(place).await? {
                Some(ForeignFileType::Unknown) => self.import_json(place).await,
                read => Ok(read),
            },
            ForeignFileType::Chat | ForeignFileType::Unknown => Ok(Some(sort)),
        }
    }

    /// Imports an archive that lies among other files, and reports its unknown files.
    async fn import_archive(
        &mut self,
        place: &SourceFile,
        depth: usize,
    ) -> Result<Option<ForeignFileType>, ImportError> {
        let container = place.archive(&self.archive_budget)?;
        if container.is_card() {
            self.character(place, &place.read()?).await?;
            return Ok(None);
        }
        if depth >= MAX_ARCHIVE_DEPTH {
            self.count_item(unread_item(&place.name, FindingReason::TooDeepInArchives));
            return Ok(None);
        }
        let inside =
            if self.inside.is_empty() { place.name.clone() } else { format!("{}/{}", self.inside, place.name) };
        let outside = std::mem::replace(&mut self.inside, inside);
        let seen = match Box::pin(self.import_container(&container, depth + 1)).await {
            Ok((count, unknown)) if unknown.len() < count => {
                self.report_unknown(unknown);
                Ok(None)
            }
            Ok(_) => Ok(Some(ForeignFileType::Unknown)),
            Err(error) => Err(error),
        };
        self.inside = outside;
        match seen {
            Err(ImportError::Unknown(why)) => {
                self.count_item(unread_archive_item(&place.name, why));
                Ok(None)
            }
            Err(error @ ImportError::BadList(_)) => {
                self.count_item(unread_archive_item(&place.name, format!("{error}; {REPAIR_LIST_HINT}")));
                Ok(None)
            }
            seen => seen,
        }
    }

    /// Imports JSON that is no chat: a card, a lorebook or personas.
    async fn import_json(&mut self, place: &SourceFile) -> Result<Option<ForeignFileType>, ImportError> {
        let bytes = place.read()?;
        let text = text::decode(&bytes).ok();
        let value = text.and_then(|text| serde_json::from_str::<Map<String, Value>>(&text).ok());
        match (value.as_ref().and_then(file_kind::detect), value) {
            (Some(file_kind::JsonFileKind::Card), _) => {
                self.character(place, &bytes).await?;
                Ok(None)
            }
            (Some(file_kind::JsonFileKind::Book), _) => {
                self.lorebook(place, &bytes).await?;
                Ok(None)
            }
            (Some(file_kind::JsonFileKind::Personas), Some(value)) => {
                self.personas_of(place, value.into()).await?;
                Ok(None)
            }
            _ => Ok(Some(ForeignFileType::Unknown)),
        }
    }
}
