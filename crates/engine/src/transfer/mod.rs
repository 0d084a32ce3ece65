//! Export and import: sessions in Clotho's own format, and data in the formats of other programs.
//!
//! [`export`] reads a session in one snapshot and writes it line by line. [`import`] reads a file twice. The first
//! reading only checks it (`check.rs`, single lines in `line_validation.rs`), so every fault is found before anything
//! is written. The second one writes small batches between other writes, into a session that stays invisible until it
//! is complete.
//!
//! - `id_map.rs` gives new ids where the old ones are taken.
//! - `file_container.rs` reads folders and archives in place, `archive_budget.rs` bounds what they unpack to in all.
//! - `import_queue.rs` runs imports one after the other; `jobs.rs` keeps their progress.
//! - `out/` exports one branch of a session, or everything, in forms that others read.
//! - `foreign/` imports files of other programs, `sillytavern/` a whole data folder.
//! - `session_start.rs` creates the session of an imported story, `session_titles.rs` names it.
//! - `cards.rs`, `lorebooks.rs`, `personas.rs`, `presets.rs` and `pictures.rs` convert single files.
//! - `report.rs` is the report of an import: what happened to each card and file.
//!
//! To add something to the session format: its line in `archive/`, its reading in `store/export.rs`, its checks in
//! `check.rs` or `line_validation.rs`, its writing in `store/session_import.rs`, and its paragraph in
//! `docs/export.md`.

mod archive_budget;
mod cards;
mod check;
mod consent;
mod export;
mod file_container;
pub mod foreign;
mod id_map;
mod import;
mod import_queue;
mod jobs;
mod line_validation;
mod lorebooks;
mod out;
mod personas;
mod pictures;
mod presets;
mod report;
mod session_start;
mod session_titles;
pub mod sillytavern;

pub use archive_budget::ArchiveBudgetError;
pub use cards::{CardRejection, CharacterImport, card_sheet, lorebook_of, read_card};
pub use check::{ImportCheck, StashAndLabels, check};
pub use export::export;
pub use import::{ImportError, ImportProgress, REPAIR_LIST_HINT, SessionImportOptions, discard, import};
pub use import_queue::{ForeignUpload, ImportQueue, SessionUpload, UploadKind, UploadSlot};
pub use jobs::{ImportResult, TooManyImports, TransferJob, TransferJobState, TransferJobs};
pub use lorebooks::{LorebookRejection, new_lorebook, read_lorebook};
pub use out::{BranchExportFormat, BranchExportOptions, ExportOutcome, ExportTarget, export_all, export_branch};
pub use personas::read_personas;
pub use pictures::{picture_files, picture_url};
pub use presets::{PresetRejection, put_preset_consent, read_presets};
pub use report::{ForeignImportItem, ForeignImportReport};
pub use session_titles::TitleLanguage;
