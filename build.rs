//! Embeds the page (`static/`) and the bundled plugins (`plugins/`) in the program: writes a table of their files,
//! which `src/assets.rs` includes. cargo builds again when a file is added, changed or removed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let var = |name| env::var_os(name).map(PathBuf::from).ok_or_else(|| io::Error::other(format!("{name} is not set")));
    let (root, out) = (var("CARGO_MANIFEST_DIR")?, var("OUT_DIR")?);
    println!("cargo::rerun-if-changed=build.rs");
    let mut code = String::new();
    for (name, folder) in [("STATIC", "static"), ("PLUGINS", "plugins")] {
        let mut files = Vec::new();
        collect(&root.join(folder), "", &mut files)?;
        files.sort();
        code += &format!("static {name}: &[BundledFile] = &[\n");
        for path in files {
            let place = format!("/{folder}/{path}");
            writeln!(
                code,
                "BundledFile {{ path: {path:?}, bytes: include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {place:?})) }},"
            )
            .map_err(io::Error::other)?;
        }
        code += "];\n";
    }
    fs::write(out.join("assets.rs"), code)
}

/// The page's modules and styles. The program embeds the few files that are bundled from them
/// (`tools/vendor/page.mjs`).
const PARTS: [&str; 2] = ["src", "css"];

/// Collects the files below `folder`, with `/` between the parts of their paths.
fn collect(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).map_err(|error| io::Error::other(format!("{}: {error}", folder.display())))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| io::Error::other(format!("{} is not UTF-8", entry.path().display())))?;
        let path = format!("{prefix}{name}");
        if is_left_out(name) || PARTS.contains(&path.as_str()) {
            continue;
        }
        if entry.path().is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns whether a file only serves development: hidden files, tests of plugins, types and settings for the
/// checkers.
fn is_left_out(name: &str) -> bool {
    name.starts_with('.')
        || matches!(name, "tests" | "node_modules" | "tsconfig.json" | "biome.jsonc")
        || name.ends_with(".d.ts")
}
