#!/usr/bin/env bash
# serde_json with `arbitrary_precision` does not keep the text of every number.
#
# The feature is for numbers of any size that are written back without loss. Most numbers keep their text: `1.50`, `-0.0`
# and thirty digits come out as they went in. But an exponent is spelt anew while it is read: `1E3` and `1e3` become
# `1e+3`. So cards, books and presets that pass through it are not byte for byte what they were, and a hash or signature
# over them changes, although nobody touched the value.
#
# Seen with serde_json 1.0.154 and Rust 1.95.0. Needs cargo.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir src
cat >Cargo.toml <<'TOML'
[package]
name = "spelling"
version = "0.0.0"
edition = "2021"

[dependencies]
serde_json = { version = "=1.0.154", features = ["arbitrary_precision"] }

[workspace]
TOML
cat >src/main.rs <<'RUST'
fn main() {
    let mut respelt = Vec::new();
    for text in ["1.50", "-0.0", "123456789012345678901234567890", "1e-7", "1e3", "1E3", "1e+3"] {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let written = value.to_string();
        println!("{text} -> {written}");
        if written != text {
            respelt.push((text, written));
        }
    }
    let expected = [("1e3", "1e+3".to_owned()), ("1E3", "1e+3".to_owned())];
    if respelt != expected {
        eprintln!("changed: {respelt:?} are spelt anew, not {expected:?}");
        std::process::exit(1);
    }
    println!("as described");
}
RUST
CARGO_TARGET_DIR="$folder/target" cargo run --quiet
