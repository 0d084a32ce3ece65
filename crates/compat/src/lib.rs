//! What SillyTavern and programs like it have made common: their files, and how their prompts are built.
//!
//! - [`interop`]: character cards, lorebooks, presets, personas and chat files; bytes to plain values, and back
//! - [`prompt`]: macros, regex scripts with JavaScript's engine, lorebook scans, presets and prompt assembly
//!
//! Everything is pure: bytes and values in, values out. Time and chance are arguments. `README.md` shows how to use it alone.

pub mod interop;
pub mod prompt;
