//! A whole folder of SillyTavern: its characters become ours, and its chats trees.
//!
//! Everything is read twice and in place, one line at a time. `data_folder.rs` finds what there is in a folder or an archive; `settings.rs` reads the settings, `lore.rs` brings lorebooks in, `personas.rs` personas, `presets.rs` presets and
//! `cast.rs` characters; `import_match.rs` says what becomes of a thing that came before, `export_index.rs` what went out from here, and
//! `dry_run.rs` what comes twice where nothing is written. `scan.rs`
//! is the first reading of a chat, which only finds out which files are one story (`interop/chat_tree.rs`); `import_target.rs` finds or begins
//! its session, `import_chats.rs` is the second, which writes it, `message_to_node.rs` makes a node of a message and `worlds.rs` its operations
//! on the world.
//!
//! **What makes a second run add nothing.** The id of a node follows from its session and from what was said up to and with
//! it ([`clotho_compat::interop::chat_tree::PathHash`]), so a message that is there is known by its id, whoever killed the program in
//! the middle; nothing is compared. Which session a story has become is a row of the table `sources`, written with the session:
//! under the place of the first message of the user, which a grown file still has, and under the name of each file. The
//! hash of a file is kept once all of it is in, so that a file that has not changed is not read a second time.
//!
//! To take in another thing of such a folder: where it lies in `data_folder.rs`, its reading in `interop/`, a file here that writes it.

pub(super) mod cast;
pub(super) mod data_folder;
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

use clotho_compat::interop::{FindingOutcome, ImportFinding, chat_tree};
use clotho_core::clock::{IdGenerator, Time};
use clotho_core::ids::{CharacterId, UserId};
use clotho_store::archive::ArchiveLimits;
use clotho_store::{SourceRecord, Store, Tx, WriteError};

use super::import::{ImportError, ImportProgress, ProgressListener};
use super::report::ForeignImportReport;
use cast::ImportCast;
use data_folder::{ChatFolder, DataFolder, SETTINGS};
use dry_run::DryRunState;
use export_index::ExportIndex;
use lore::FolderLorebook;
use scan::ChatScan;
use settings::SillyTavernSettings;

/// How a folder is taken in.
#[derive(Debug, Clone)]
pub struct ImportOptions {
    /// Whose it will be.
    pub owner: UserId,
    /// The moment.
    pub at: Time,
    /// The time zone of moments that name none.
    pub zone: TimeZone,
    /// Whether nothing is written, and only the report is wanted.
    pub is_dry: bool,
    /// How much is read of the file of a session that lies among others.
    pub limits: ArchiveLimits,
}

/// The zone of a clock that was so many hours ahead of UTC; none beyond 26 of them.
pub fn zone_ahead(hours: f64) -> Option<TimeZone> {
    const MOST: f64 = 26.0;
    if !(-MOST..MOST).contains(&hours) {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "it lies between -26 and 26 hours")]
    let seconds = (hours * 3_600.0) as i32;
    Offset::from_seconds(seconds).ok().map(TimeZone::fixed)
}

/// What is taken in.
#[derive(Debug)]
pub enum ImportSource {
    /// A folder of data, an archive of one, or a chat.
    Path(PathBuf),
    /// An archive or a chat without a place on the disk, and its name.
    File(File, String),
}

/// What came in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ForeignImportResult {
    /// How much there was.
    pub totals: ImportTotals,
    /// What became of each file.
    pub report: ForeignImportReport,
}

/// How much came in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ImportTotals {
    /// Characters that are new or have changed.
    pub characters: u64,
    /// Lorebooks that are new or have changed.
    pub lorebooks: u64,
    /// Presets, regular expressions and groups that are new or have changed.
    pub presets: u64,
    /// Personas that are new or have changed.
    pub personas: u64,
    /// Sessions that are new.
    pub sessions: u64,
    /// Messages that are new, alternatives included.
    pub messages: u64,
    /// Chats that were read.
    pub chats: u64,
    /// Chats of which everything was here already.
    pub unchanged: u64,
    /// Characters, lorebooks, personas, presets, regular expressions and groups that were here already.
    pub known: u64,
    /// Files and lines that were left out.
    pub skipped: u64,
}

impl ImportTotals {
    /// Whether nothing came in, and nothing of it was here already.
    pub fn is_empty(&self) -> bool {
        Self { chats: 0, skipped: 0, ..*self } == Self::default()
    }
}

/// Takes a folder in, or a single chat. What is there already is left alone, so the same call goes on after a crash.
///
/// # Errors
/// There is nothing that is known, the store fails, or `told` answers `false`; what was written until then stays.
pub async fn import(
    store: &Store,
    ids: &IdGenerator,
    given: ImportSource,
    wish: ImportOptions,
    mut told: impl FnMut(ImportProgress) -> bool + Send,
) -> Result<ForeignImportResult, ImportError> {
    let root = match given {
        ImportSource::Path(path) => DataFolder::find(&path)?,
        ImportSource::File(file, name) => DataFolder::of_file(file, &name)?,
    };
    let mut work = ForeignImport::new(store, ids, wish, &mut told);
    work.import_data(&root).await?;
    for other in root.others {
        let words = "left aside: it is nothing of SillyTavern; `clotho import` takes it by itself where it is anything that is known";
        let why = ImportFinding::new(FindingOutcome::Skipped, "left_aside", words);
        work.add_item(super::ForeignImportItem::skipped("file", &other.name, why).from_file(&other.name));
    }
    Ok(work.result)
}

/// An import on its way.
pub(super) struct ForeignImport<'a> {
    pub(super) store: &'a Store,
    pub(super) ids: &'a IdGenerator,
    pub(super) options: ImportOptions,
    pub(super) result: ForeignImportResult,
    pub(super) read_progress: ReadProgress,
    /// The archive in which everything lies that is read now, where it lies in another house.
    pub(super) inside: String,
    settings: SillyTavernSettings,
    /// What went out from here or from another house.
    export_index: ExportIndex,
    /// Who is here, by name; None until somebody asks. Where there is such a list, who was here before.
    namesakes: Option<HashMap<String, Vec<CharacterId>>>,
    /// The lorebooks that came in, by their files without ending.
    books: HashMap<String, FolderLorebook>,
    /// Who answers in stories of other programs, by what they are known by.
    pub(super) answering_characters: HashMap<String, CharacterId>,
    /// What a look has seen.
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
        Self {
            store,
            ids,
            options,
            result,
            read_progress,
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

    /// Takes in what there is of SillyTavern.
    pub(super) async fn import_data(&mut self, root: &DataFolder) -> Result<(), ImportError> {
        // Each chat is read twice.
        self.read_progress.add_total(root.chat_bytes().saturating_mul(2));
        (self.settings, self.export_index, self.books, self.namesakes) = Default::default();
        self.export_index = ExportIndex::of(root)?;
        for left in &root.left_out {
            self.count_item(left.clone());
        }
        match SillyTavernSettings::of(root) {
            Ok(settings) => self.settings = settings,
            Err(why) => {
                let why =
                    ImportFinding::new(FindingOutcome::Skipped, "bad_settings", format!("they cannot be read: {why}"));
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
        self.prompts(root).await?;
        for folder in &root.folders {
            self.import_chat_folder(folder, &mut cast).await?;
        }
        self.presets(root).await?;
        root.aside.iter().for_each(|item| self.add_item(item.clone()));
        Ok(())
    }

    /// The chats of one card, or of one group.
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
                    found.outline.story = self.export_index.story_of(&import_target::file_key(folder, &found));
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

    /// Keeps a thing, and by what it is known again.
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

    /// Tells of something without counting it.
    pub(super) fn add_item(&mut self, mut item: super::ForeignImportItem) {
        if let Some(file) = item.file.as_mut().filter(|_| !self.inside.is_empty()) {
            *file = format!("{}/{file}", self.inside);
        }
        self.result.report.items.push(item);
    }

    /// Tells how far it is; who listens may end it.
    pub(super) fn check_cancelled(&mut self) -> Result<(), ImportError> {
        if (self.listener)(self.read_progress.progress()) { Ok(()) } else { Err(ImportError::Stopped) }
    }
}

pub(super) fn unreadable(name: &str, error: &io::Error) -> super::ForeignImportItem {
    super::ForeignImportItem::skipped(
        "file",
        name,
        ImportFinding::new(FindingOutcome::Skipped, "unreadable", format!("it cannot be read: {error}")),
    )
    .from_file(name)
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
