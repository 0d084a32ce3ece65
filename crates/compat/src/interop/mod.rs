//! File formats of other programs: bytes to plain values, and back. Nothing here uses the store, the disk, the clock or
//! a client; `transfer/` writes the imported values to the store.
//!
//! - `chat/`: SillyTavern chats, one message per line
//! - `chat_title.rs`: tells names of chats that a program made from those that a person chose
//! - `chat_tree.rs`: finds the chat files that form one story, and the position of a message in it
//! - `card/`, `lorebook/`, `persona.rs`, `preset.rs`: read these kinds of files; cards and lorebooks are also written
//! - `scripts.rs`: findings about regex scripts
//! - `foreign_chat/`: chats of programs other than SillyTavern, as trees or flat lists
//! - `file_kind.rs`: detects the kind of a JSON file
//! - `finding.rs`: reports whether each feature of a file works here. `finding_detail.rs` has every code with its
//!   arguments and its sentence, and `finding_reason.rs` the reasons in them.
//! - `lenient.rs`: numbers, flags and lists that files write as texts
//! - `text.rs`: decodes bytes to text; `png.rs`: PNG chunks; `picture.rs`: picture formats and thumbnails
//!
//! To add a format: create a file or folder with its name. Its reader takes bytes (or a `BufRead` if files may be
//! large). It returns a type of its own and findings, and keeps unknown data unchanged. Recorded cases go into
//! `tests/fixtures/golden/`.

pub mod card;
pub mod chat;
pub mod chat_title;
pub mod chat_tree;
pub mod file_kind;
pub mod finding;
mod finding_detail;
mod finding_reason;
pub mod foreign_chat;
pub mod lenient;
pub mod lorebook;
pub mod persona;
pub mod picture;
pub mod png;
pub mod preset;
pub mod scripts;
pub mod text;

pub use finding::{FindingOutcome, ImportFinding};
pub use finding_detail::FindingDetail;
pub use finding_reason::FindingReason;
