//! Files of other programs, as they are: bytes in, plain values out, and back. Nothing here knows the store, the disk, the
//! clock or a client; whoever writes what was read into the store does so in `transfer/`.
//!
//! `chat/` reads chats, one message a line; `chat_tree.rs` says which of many files are one story, and where a message stands in
//! it. `text.rs` makes text of bytes, `finding.rs` says of each thing in a file whether it works here, `png.rs` knows the chunks of
//! a picture and `picture.rs` what a picture is. `card/` reads and writes cards of characters,
//! `book/` lorebooks, `persona.rs` personas, `preset.rs` presets, `scripts.rs` what becomes of regex scripts, `foreign_chat/` stories of programs whose chats are trees or plain lists;
//! `file_kind.rs` says what a file is that nobody has named.
//!
//! To add a format: a folder or file with its name, whose reader takes bytes (or a `BufRead`, where a file may be large) and
//! answers with a value of its own and with findings; what it does not know it keeps as it is. Its recorded cases go into
//! `tests/fixtures/golden/`.

pub mod card;
pub mod chat;
pub mod chat_tree;
pub mod file_kind;
pub mod finding;
pub mod foreign_chat;
pub mod lorebook;
pub mod persona;
pub mod picture;
pub mod png;
pub mod preset;
pub mod scripts;
pub mod text;

pub use finding::{FindingOutcome, ImportFinding};
