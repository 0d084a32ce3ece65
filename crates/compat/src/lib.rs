//! Reads and writes the file formats of SillyTavern and similar programs, and builds prompts the way they do.
//!
//! - [`interop`]: converts character cards, lorebooks, presets, personas and chat files from bytes to plain values and
//!   back
//! - [`prompt`]: macros, regex scripts on a JavaScript regex engine, lorebook scans, presets and prompt assembly
//!
//! Everything is pure: time and randomness are arguments. `README.md` shows how to use the crate alone.

pub mod interop;
pub mod prompt;
