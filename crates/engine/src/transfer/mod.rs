//! Sessions out of this server and into it: whole, as one file of ours, and in the forms of other programs.
//!
//! [`export`] reads a session in one snapshot and writes it line by line. [`import`] reads a file twice: the first time it
//! only looks (`check.rs`, each line by itself in `line_validation.rs`) and finds whatever is wrong before anything is written; the second
//! time it writes, in small pieces between the writes of others, into a session that nobody sees until it is whole. `id_map.rs`
//! gives new ids where the old ones are taken; `file_container.rs` reads folders and archives in place; `import_queue.rs` carries imports out one after the other, and `jobs.rs` tells how far
//! they are.
//!
//! `out/` writes one line of a session, or everything, in forms that others read. `foreign/` is the door for files of other
//! programs, whatever they are; `sillytavern/` takes in a whole folder of one. `session_start.rs` begins a session for what comes in;
//! `cards.rs` brings cards in and out, `lorebooks.rs` lorebooks, `personas.rs` personas, `presets.rs` presets, `pictures.rs` pictures; `report.rs` says of
//! every card and file of another program what became of it.
//!
//! To add something to a file: its line in `archive/`, its reading in `store/export.rs`, what must hold of it in `check.rs` or `line_validation.rs`,
//! its writing in `store/session_import.rs`, and its paragraph in `docs/export.md`.

mod cards;
mod check;
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
pub mod sillytavern;

pub use cards::{CardRejection, CharacterImport, card_sheet, lorebook_of, read_card};
pub use check::{ImportCheck, StashAndLabels, check};
pub use export::export;
pub use import::{ImportError, ImportProgress, REPAIR_LIST_HINT, SessionImportOptions, discard, import};
pub use import_queue::{ForeignUpload, ImportQueue, UploadKind, UploadSlot};
pub use jobs::{ImportResult, TooManyImports, TransferJob, TransferJobState, TransferJobs};
pub use lorebooks::{LorebookRejection, new_lorebook, read_lorebook};
pub use out::{BranchExportFormat, BranchExportOptions, ExportOutcome, ExportTarget, export_all, export_branch};
pub use personas::read_personas;
pub use pictures::{picture_files, picture_url};
pub use presets::{PresetRejection, read_presets};
pub use report::{ForeignImportItem, ForeignImportReport};
