//! Imports a SillyTavern data folder: its characters, personas, lorebooks and presets go to the library, its chats
//! become session trees.
//!
//! Each chat is read twice, in place and one line at a time.
//!
//! - `data_folder.rs` finds the files in a folder or an archive.
//! - `settings.rs` reads the settings.
//! - `lore.rs`, `personas.rs`, `presets.rs` and `cast.rs` import lorebooks, personas, presets and characters.
//! - `import_match.rs` decides what happens to something that was imported before, `deleted_characters.rs` brings back
//!   characters that were deleted here.
//! - `export_index.rs` reads the index that an export of Clotho wrote.
//! - `dry_run.rs` recognizes repeated files when nothing is written.
//! - `scan.rs` is the first reading of a chat. It finds out which files are one story (`interop/chat_tree.rs`).
//! - `import_target.rs` finds or creates the session of a story.
//! - `import_chats.rs` is the second reading, which writes the nodes.
//! - `message_to_node.rs` turns a message into a node, `worlds.rs` its variables into operations.
//!
//! **Why a second run adds nothing.** The id of a node is derived from its session and its path
//! ([`clotho_compat::interop::chat_tree::PathHash`]). So a message that was imported before is recognized by its id,
//! even after a crash; no texts are compared. The table `sources` maps each story to its session and is written
//! together with it. The keys are the position of the first user message, which a longer file still has, and the name
//! of each file. The hash of a file is stored once the whole file is imported, so an unchanged file is not read
//! again.
//!
//! To import another kind of file: locate it in `data_folder.rs`, parse it in `interop/`, and write it in a new file
//! here.

pub(super) mod cast;
mod connection_profiles;
pub(super) mod data_folder;
mod deleted_characters;
mod dry_run;
mod export_index;
mod import_chats;
pub(super) mod import_match;
pub(super) mod import_target;
mod lore;
pub(super) mod message_to_node;
mod personas;
mod presets;
pub(super) mod scan;
mod settings;
mod worlds;

pub(super) use data_folder::FOLDERS;
pub(super) use data_folder::LIST;
pub(super) use presets::{preset_fingerprint, regex_key};
pub(super) use worlds::STATE;

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jiff::tz::{Offset, TimeZone};
use serde::Serialize;

use clotho_compat::interop::{FindingDetail, FindingOutcome, FindingReason, ImportFinding, chat_tree};
use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{CharacterId, UserId};
use clotho_store::archive::ArchiveLimits;
use clotho_store::{SourceRecord, Store, Tx, WriteError};

use super::archive_budget::ArchiveBudget;
use super::import::{ImportError, ImportProgress, ProgressListener};
use super::report::ForeignImportReport;
use super::session_titles::TitleLanguage;
use cast::ImportCast;
use data_folder::{ChatFolder, DataFolder, SETTINGS};
use dry_run::DryRunState;
use export_index::ExportIndex;
use lore::FolderLorebook;
use scan::ChatScan;
use settings::SillyTavernSettings;

/// The options of an import.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// The user who will own what is imported.
    pub owner: UserId,
    pub at: Time,
    /// The time zone of dates that name none.
    pub zone: TimeZone,
    /// The language of dates in titles.
    pub language: TitleLanguage,
    /// Whether this is a dry run: only the report is made, nothing is written.
    pub is_dry: bool,
    /// Whether the owner trusts the settings of exported sessions (see `SessionImportOptions`).
    pub is_trusted: bool,
    /// How much is read of a session export that lies among other files, and what all archives may unpack to.
    pub limits: ArchiveLimits,
}

/// Returns the fixed time zone that is `hours` ahead of UTC, or `None` outside of -26 to 26 hours.
pub fn zone_ahead(hours: f64) -> Option<TimeZone> {
    const MOST: f64 = 26.0;
    if !(-MOST..MOST).contains(&hours) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is between -26 and 26 hours")]
    let seconds = (hours * 3_600.0) as i32;
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

/// The source of an import.
#[derive(Debug)]
pub enum ImportSource {
    /// A data folder, an archive of one, or a single chat.
    Path(PathBuf),
    /// An open archive or chat without a path, and its name.
    File(File, String),
}

/// The result of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignImportResult {
    pub totals: ImportTotals,
    /// The outcome for each file.
    pub report: ForeignImportReport,
}

/// The counts of an import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportTotals {
    /// New or changed characters.
    pub characters: u64,
    /// New or changed lorebooks.
    pub lorebooks: u64,
    /// New or changed presets, regular expressions and groups.
    pub presets: u64,
    /// New or changed personas.
    pub personas: u64,
    /// New sessions.
    pub sessions: u64,
    /// New messages, including alternatives.
    pub messages: u64,
    /// Chats that were read.
    pub chats: u64,
    /// Chats that were imported completely before.
    pub unchanged: u64,
    /// Characters, lorebooks, personas, presets, regular expressions and groups that existed already.
    pub known: u64,
    /// Files and lines that were skipped.
    pub skipped: u64,
}

impl ImportTotals {
    /// Whether nothing was imported and nothing was recognized as existing.
    pub fn is_empty(&self) -> bool {
        Self { chats: 0, skipped: 0, ..*self } == Self::default()
    }
}

/// Imports a data folder or a single chat. Existing things are left alone, so the same call continues after a crash.
///
/// `report_progress` is called with the progress; the import stops if it returns `false`.
///
/// # Errors
/// Returns an error if nothing can be imported, the store fails, or `report_progress` returns `false`. What was written
/// until then stays.
pub async fn import(
    store: &Store,
    ids: &IdGenerator,
    given: ImportSource,
    options: ImportOptions,
    mut report_progress: impl FnMut(ImportProgress) -> bool + Send,
) -> Result<ForeignImportResult, ImportError> {
    let mut work = ForeignImport::new(store, ids, options, &mut report_progress);
    let root = match given {
        ImportSource::Path(path) => DataFolder::find(&path, &work.archive_budget)?,
        ImportSource::File(file, name) => DataFolder::of_file(file, &name, &work.archive_budget)?,
    };
    work.import_data(&root).await?;
    for other in root.others {
        let why = ImportFinding::skipped(&FindingDetail::LeftOutFile { reason: FindingReason::NotOfSillyTavern });
        work.add_item(super::ForeignImportItem::skipped("file", &other.name, why).from_file(&other.name));
    }
    work.archive_budget.check()?;
    Ok(work.result)
}

/// A running import.
pub(super) struct ForeignImport<'a> {
    pub(super) store: &'a Store,
    pub(super) ids: &'a IdGenerator,
    pub(super) options: ImportOptions,
    pub(super) result: ForeignImportResult,
    pub(super) read_progress: ReadProgress,
    /// What the archives may still unpack to.
    pub(super) archive_budget: ArchiveBudget,
    /// The path of the archive that is being read, if it lies inside another container. The report puts it before
    /// file names.
    pub(super) inside: String,
    settings: SillyTavernSettings,
    /// The files that this or another Clotho exported.
    export_index: ExportIndex,
    /// Existing characters by name; `None` until first needed. With an export index it is loaded before any
    /// character is imported.
    namesakes: Option<HashMap<String, Vec<CharacterId>>>,
    /// The imported lorebooks, by file stem.
    books: HashMap<String, FolderLorebook>,
    /// The answering characters of chats of other programs, by source name.
    pub(super) answering_characters: HashMap<String, CharacterId>,
    /// What a dry run has seen so far.
    pub(super) dry_run: DryRunState,
    pub(super) listener: ProgressListener<'a>,
}

impl<'a> ForeignImport<'a> {
    pub(super) fn new(
        store: &'a Store,
        ids: &'a IdGenerator,
        options: ImportOptions,
        listener: ProgressListener<'a>,
    ) -> Self {
        let (result, read_progress, inside, settings, export_index, namesakes, books, answering_characters, dry_run) =
            Default::default();
        let archive_budget = ArchiveBudget::new(options.limits.total);
        Self {
            store,
            ids,
            options,
            result,
            read_progress,
            archive_budget,
            inside,
            settings,
            export_index,
            namesakes,
            books,
            answering_characters,
            dry_run,
            listener,
        }
    }

    /// Imports everything that the data folder has.
    pub(super) async fn import_data(&mut self, root: &DataFolder) -> Result<(), ImportError> {
        // Each chat is read twice.
        self.read_progress.add_total(root.chat_bytes().saturating_mul(2));
        (self.settings, self.export_index, self.books, self.namesakes) = Default::default();
        self.export_index = ExportIndex::read(root)?;
        for left in &root.left_out {
            self.count_item(left.clone());
        }
        match SillyTavernSettings::read(root) {
            Ok(settings) => self.settings = settings,
            Err(why) => {
                let why = ImportFinding::skipped(&FindingDetail::UnreadableSettings { reason: why.to_string() });
                self.count_item(super::ForeignImportItem::skipped("file", SETTINGS, why).from_file(SETTINGS));
            }
        }
        let mut cast = ImportCast::default();
        self.lore_settings().await?;
        self.lorebooks(root).await?;
        self.personas(root, &mut cast).await?;
        if !self.export_index.is_empty() {
            self.load_namesakes().await?;
        }
        self.characters(root, &mut cast).await?;
        self.persona_choices(&cast).await?;
        self.prompts(root).await?;
        for folder in &root.folders {
            self.import_chat_folder(folder, &mut cast).await?;
        }
        self.presets(root).await?;
        self.connection_profiles().await?;
        root.skipped.iter().for_each(|item| self.add_item(item.clone()));
        Ok(())
    }

    /// Imports the chats of one card or one group.
    pub(super) async fn import_chat_folder(
        &mut self,
        folder: &ChatFolder,
        cast: &mut ImportCast,
    ) -> Result<(), ImportError> {
        let mut scanned = Vec::with_capacity(folder.chats.len());
        for chat in &folder.chats {
            self.check_cancelled()?;
            match ChatScan::read(chat, &self.options.zone, &self.read_progress) {
                Ok(found) if self.is_known_line(folder, &found).await? => {}
                Ok(mut found) if found.messages > 0 => {
                    found.outline.story_id = self.export_index.story_of(&import_target::file_key(folder, &found));
                    scanned.push(found);
                }
                Ok(found) => {
                    self.result.totals.chats += 1;
                    self.count_item(found.empty_chat_item());
                }
                Err(error) => self.count_item(unreadable(&chat.name, &error)),
            }
        }
        let outlines: Vec<_> = scanned.iter().map(|file| file.outline.clone()).collect();
        let trees = chat_tree::group_trees(&outlines);
        for tree in &trees {
            let files: Vec<&ChatScan> = tree.iter().filter_map(|n| scanned.get(*n)).collect();
            self.import_story(folder, &files, trees.len() == 1, cast).await?;
        }
        Ok(())
    }

    /// Writes one item together with its source record; a dry run only remembers the record.
    pub(super) async fn store_with_source(
        &mut self,
        source: SourceRecord,
        keep: impl Fn(&mut Tx<'_>, UserId) -> Result<(), WriteError> + Send + 'static,
    ) -> Result<(), ImportError> {
        let owner = self.options.owner;
        if self.options.is_dry {
            self.dry_run.keep(source);
            return Ok(());
        }
        let write = move |tx: &mut Tx<'_>| {
            keep(tx, owner)?;
            tx.put_source(owner, &source)
        };
        Ok(self.store.write(write).await?)
    }

    pub(super) fn count_item(&mut self, item: super::ForeignImportItem) {
        let lines =
            item.findings.iter().filter(|finding| finding.fate == FindingOutcome::Skipped).map(|finding| finding.count);
        self.result.totals.skipped += u64::try_from(lines.sum::<usize>()).unwrap_or(0);
        self.add_item(item);
    }

    /// Adds an item to the report without counting it.
    pub(super) fn add_item(&mut self, mut item: super::ForeignImportItem) {
        if let Some(file) = item.file.as_mut().filter(|_| !self.inside.is_empty()) {
            *file = format!("{}/{file}", self.inside);
        }
        self.result.report.items.push(item);
    }

    /// Reports the progress. Returns [`ImportError::Stopped`] if the listener wants to stop, and
    /// [`ImportError::TooLarge`] if the archives have used up their budget.
    pub(super) fn check_cancelled(&mut self) -> Result<(), ImportError> {
        self.archive_budget.check()?;
        if (self.listener)(self.read_progress.progress()) { Ok(()) } else { Err(ImportError::Stopped) }
    }
}

pub(super) fn unreadable(name: &str, error: &io::Error) -> super::ForeignImportItem {
    let why = ImportFinding::skipped(&FindingDetail::UnreadableFile { reason: error.to_string() });
    super::ForeignImportItem::skipped("file", name, why).from_file(name)
}

/// How far an import is, in bytes that are read.
#[derive(Debug, Clone, Default)]
pub(super) struct ReadProgress {
    done: Arc<AtomicU64>,
    total: Arc<AtomicU64>,
}

impl ReadProgress {
    /// So much more is to be read.
    pub(super) fn add_total(&self, bytes: u64) {
        self.total.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn add_read(&self, bytes: usize) {
        self.done.fetch_add(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(super) fn progress(&self) -> ImportProgress {
        let total = self.total.load(Ordering::Relaxed);
        ImportProgress { done: self.done.load(Ordering::Relaxed).min(total), total }
    }
}
