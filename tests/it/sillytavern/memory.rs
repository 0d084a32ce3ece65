//! A chat may be larger than the memory.

use std::fs::File;
use std::io::{BufWriter, Write};

use serde_json::json;

use super::*;
use crate::support::data_root::{DataRoot, greeting, said};
use crate::transfer::memory::{each, held};

/// S0-54: of a chat that comes in a place for each message is held, and never their texts.
#[test]
fn a_chat_comes_in_without_being_held() {
    let take = |messages: usize| {
        let (store, root) = (TestStore::new(), DataRoot::new());
        root.card("Ivo");
        let path = root.chat("Ivo", "long", &[]);
        let mut out = BufWriter::new(File::create(path).unwrap());
        write!(out, "{}", greeting()).unwrap();
        for n in 0..messages {
            let parts = (0..100).map(|part| blake3::hash(format!("{n} {part}").as_bytes()).to_hex());
            let mut row = said(&parts.map(|part| part.to_string()).collect::<String>(), n);
            row["extra"] = json!({"own": "x".repeat(500)});
            write!(out, "\n{row}").unwrap();
        }
        drop(out);
        let held = held(|| _ = taken(&store, root.path()));
        (messages, held)
    };
    let each = each(take(500), take(2_500));
    assert!((8..400).contains(&each), "{each} bytes for each further message of 7 000");
}
