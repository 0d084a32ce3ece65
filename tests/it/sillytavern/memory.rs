//! A chat may be larger than the memory.

use std::fs::File;
use std::io::{BufWriter, Write};

use serde_json::json;
use tempfile::TempDir;

use crate::support::data_root::{DataRoot, greeting_row, user_row};
use crate::transfer::memory::import_peak_kilobytes;

/// S0-54: a chat whose texts are larger than the program's memory limit is imported.
#[cfg(target_os = "linux")]
#[test]
fn chat_import_memory_does_not_grow_with_text() {
    let most = |messages: usize| {
        let (home, root) = (TempDir::new().unwrap(), DataRoot::new());
        root.write_card("Ivo");
        let mut out = BufWriter::new(File::create(root.write_chat("Ivo", "long", &[])).unwrap());
        write!(out, "{}", greeting_row()).unwrap();
        for n in 0..messages {
            let parts = (0..100).map(|part| blake3::hash(format!("{n} {part}").as_bytes()).to_hex());
            let mut row = user_row(&parts.map(|part| part.to_string()).collect::<String>(), n);
            row["extra"] = json!({"own": n});
            write!(out, "\n{row}").unwrap();
        }
        drop(out);
        import_peak_kilobytes(home.path(), &["sillytavern", root.path().to_str().unwrap()])
    };
    let (small, large) = (most(500), most(8_000));
    // 7 500 more messages are 48 MB of texts.
    assert!(small > 1_000 && large < small + 32_000, "{small} kB, and {large} kB for sixteen times as much");
}
