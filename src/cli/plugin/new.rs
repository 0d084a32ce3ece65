//! `clotho plugin new`: creates a plugin folder that passes its checks and tests.
//!
//! To add a template: a folder under `templates/` and its line in [`PluginTemplate::files`]. In its files, `@ID@` and
//! `@TITLE@` stand for the id and title, `@FOLDER@` for the name by which commands find the plugin.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;

use crate::cli::{CliResult, terminal};
use clotho_config::Config;
use clotho_plugin::{LoadedPlugin, PluginOrigin, PluginSource, ScriptLimits};

/// The templates of `clotho plugin new`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PluginTemplate {
    /// Counts gold: one value, one rule, one setting
    Counter,
    /// Hit points, an inventory, dice and commands
    Combat,
    /// Affinity of a character, changed by the commands that cards teach models
    Affinity,
}

macro_rules! template_files {
    ($folder:literal: $($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("templates/", $folder, "/", $path)))),+]
    };
}

impl PluginTemplate {
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Counter => template_files!("counter": "plugin.toml", "main.rhai", "state.schema.json", "README.md",
                "tests/begin.toml", "tests/empty.toml", "tests/market.toml"),
            Self::Combat => template_files!("combat": "plugin.toml", "main.rhai", "state.schema.json", "README.md",
                "tests/drink.toml", "tests/felled.toml", "tests/goblin.toml", "tests/none_left.toml",
                "tests/ogre.toml"),
            Self::Affinity => template_files!("affinity": "plugin.toml", "main.rhai", "state.schema.json", "README.md",
                "tests/excited.toml", "tests/friend.toml", "tests/smile.toml"),
        }
    }
}

/// Creates the folder of a new plugin: in `into`, else in the configured plugin folder, else in the working directory.
pub fn new(id: &str, template: PluginTemplate, into: Option<PathBuf>, config: &Config) -> CliResult {
    let title = title(id);
    let looked_at = config.plugins.dir.as_deref();
    let parent = into.unwrap_or_else(|| looked_at.unwrap_or(Path::new(".")).to_owned());
    let folder = parent.join(id);
    let is_looked_at = looked_at.is_some_and(|looked_at| looked_at == parent);
    // In the configured plugin folder, the id is enough to name it.
    let named = if is_looked_at { id.to_owned() } else { display_path(&folder) };
    let fill = |text: &str| text.replace("@ID@", id).replace("@TITLE@", &title).replace("@FOLDER@", &named);
    let files: Vec<(&str, String)> = template.files().iter().map(|(path, text)| (*path, fill(text))).collect();
    // Loading reports an invalid id before anything is written.
    let source =
        PluginSource::new(id, PluginOrigin::Folder, files.iter().map(|(path, text)| (*path, text.as_bytes().to_vec())));
    LoadedPlugin::load(source, &ScriptLimits::relaxed()).map_err(|error| anyhow::anyhow!("{}", error.message))?;
    std::fs::create_dir_all(&parent).with_context(|| format!("the folder {}", parent.display()))?;
    std::fs::create_dir(&folder).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            anyhow::anyhow!("{} already exists: choose another id, or move it", folder.display())
        }
        _ => anyhow::anyhow!("the folder {} cannot be created: {error}", folder.display()),
    })?;
    for (path, text) in &files {
        write_file(&folder.join(path), text)?;
        terminal::print_line(&folder.join(path).display().to_string());
    }
    terminal::print_line(&format!("\nclotho plugin test {}", folder.display()));
    if crate::app::is_bundled(id) {
        terminal::print_line(&format!(
            "The program has a bundled plugin \"{id}\": in [plugins] dir this one replaces it."
        ));
    }
    if !is_looked_at {
        let parent = parent.canonicalize().unwrap_or(parent);
        terminal::print_line(&format!("To use it: [plugins] dir = \"{}\" in config.toml.", parent.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns a path as it is typed in a shell.
fn display_path(folder: &Path) -> String {
    let path = folder.display().to_string();
    let path = path.strip_prefix("./").unwrap_or(&path);
    if path.contains(char::is_whitespace) { format!("\"{path}\"") } else { path.to_owned() }
}

fn write_file(file: &Path, text: &str) -> Result<(), anyhow::Error> {
    let written = file.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(file, text));
    written.with_context(|| format!("{} cannot be written", file.display()))
}

/// Turns an id into a title: `rusty-purse` → `Rusty purse`.
fn title(id: &str) -> String {
    let words = id.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
