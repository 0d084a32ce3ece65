//! Sessions out of this server and into it: whole, as one file of ours, and in the forms of other programs.
//!
//! [`export`] reads a session in one snapshot and writes it line by line. [`import`] reads a file twice: the first time it
//! only looks (`check.rs`, each line by itself in `fits.rs`) and finds whatever is wrong before anything is written; the second
//! time it writes, in small pieces between the writes of others, into a session that nobody sees until it is whole. `names.rs`
//! gives new ids where the old ones are taken; `house.rs` reads folders and archives in place; `desk.rs` carries imports out one after the other, and `jobs.rs` tells how far
//! they are.
//!
//! `out/` writes one line of a session, or everything, in forms that others read. `foreign/` is the door for files of other
//! programs, whatever they are; `sillytavern/` takes in a whole folder of one. `begin.rs` begins a session for what comes in;
//! `cards.rs` brings cards in and out, `books.rs` lorebooks, `personas.rs` personas, `presets.rs` presets, `pictures.rs` pictures; `report.rs` says of
//! every card and file of another program what became of it.
//!
//! To add something to a file: its line in `archive/`, its reading in `store/export.rs`, what must hold of it in `check.rs` or `fits.rs`,
//! its writing in `store/import.rs`, and its paragraph in `docs/export.md`.

mod begin;
mod books;
mod cards;
mod check;
mod desk;
mod export;
mod fits;
pub mod foreign;
mod house;
mod import;
mod jobs;
mod names;
mod out;
mod personas;
mod pictures;
mod presets;
mod report;
pub mod sillytavern;

pub use books::{LorebookRejection, arriving_book, new_book};
pub use cards::{CardRejection, CharacterImport, arriving, lorebook_of, sheet};
pub use check::{ImportCheck, StashAndLabels, check};
pub use desk::{ForeignUpload, ImportQueue, UploadKind, UploadSlot};
pub use export::export;
pub use import::{ImportError, ImportProgress, MEND_LIST, SessionImportOptions, discard, import};
pub use jobs::{ImportResult, TooManyImports, TransferJob, TransferJobState, TransferJobs};
pub use out::{BranchExportFormat, BranchExportOptions, ExportOutcome, ExportTarget, export_all, export_line};
pub use personas::arriving_personas;
pub use pictures::{picture_address, pictures};
pub use presets::{PresetRejection, arriving_presets};
pub use report::{ForeignImportItem, ForeignImportReport};
