//! `clotho plugin …`: what modders do at night. Nothing here needs a running server, and only a replay looks at its data.
//!
//! To add a command: a variant of [`PluginCliCommand`] and its arm in [`run`]; what is longer than a screen gets its file in
//! `plugin/`.

mod new;
mod replay;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context;
use clap::Subcommand;

use crate::app;
use clotho_config::Config;
use clotho_plugin::reference;
use clotho_plugin::testing::{CaseReport, PluginTestReport, bless, run_tests};
use clotho_plugin::{Catalogue, LoadedPlugin, PluginOrigin, PluginSource, ScriptLimits};

use super::{CliResult, terminal};

/// What can be done with plugins.
#[derive(Debug, Subcommand)]
pub enum PluginCliCommand {
    /// List the plugins that this configuration finds, and what is wrong with those that do not load.
    List,
    /// Read, compile and check a plugin: its id, or a folder.
    Check {
        /// An id, or the path of a plugin's folder.
        plugin: String,
    },
    /// Run a plugin's tests (`tests/*.toml` in its folder; the program itself carries none).
    Test {
        /// An id, or the path of a plugin's folder.
        #[arg(required_unless_present = "all")]
        plugin: Option<String>,
        /// Every plugin in this folder.
        #[arg(long, value_name = "FOLDER")]
        all: Option<PathBuf>,
        /// Write what came of each case that expects nothing yet into its file, as its [expect].
        #[arg(long, conflicts_with = "all")]
        bless: bool,
    },
    /// Run a plugin's rules again over a story that was played, and say what they would do elsewise.
    Replay(replay::PluginReplayArgs),
    /// Write what scripts can call, for an editor's language server: .rhai/clotho.d.rhai in a folder of plugins.
    Defs {
        /// The folder; else `[plugins] dir`, else here.
        folder: Option<PathBuf>,
    },
    /// Print the reference of what scripts can call (`docs/plugins/reference.md`).
    Doc,
    /// Make the folder of a new plugin, with a schema and tests.
    New {
        /// Its id: lower-case letters, digits and "-", a letter first.
        id: String,
        /// What it begins as.
        #[arg(long, value_enum, default_value = "counter")]
        template: new::PluginTemplate,
        /// The folder to make it in; else `[plugins] dir`, else here.
        #[arg(long, value_name = "FOLDER")]
        into: Option<PathBuf>,
    },
}

/// Runs a command; 1 = something was found.
pub fn run(command: PluginCliCommand, config: Config) -> CliResult {
    match command {
        PluginCliCommand::List => Ok(list(&app::catalogue(&config))),
        PluginCliCommand::Check { plugin } => check(&plugin, &config),
        PluginCliCommand::Test { plugin: Some(plugin), bless, .. } => test_one(&plugin, bless, &config),
        PluginCliCommand::Test { all, .. } => test_all(&all.unwrap_or_default()),
        PluginCliCommand::Replay(wanted) => {
            let plugin = find(&wanted.plugin, &config)?;
            replay::replay(&wanted, plugin, config)
        }
        PluginCliCommand::Defs { folder } => defs(folder.or_else(|| config.plugins.dir.clone())),
        PluginCliCommand::Doc => {
            terminal::line(reference::page().trim_end());
            Ok(ExitCode::SUCCESS)
        }
        PluginCliCommand::New { id, template, into } => new::new(&id, template, into, &config),
    }
}

fn list(catalogue: &Catalogue) -> ExitCode {
    let mut broken = false;
    for entry in catalogue.entries() {
        match &entry.state {
            Ok(plugin) => {
                let manifest = plugin.manifest();
                terminal::line(&format!("{} {}  {}", plugin.id(), manifest.version, manifest.description.get("en")));
            }
            Err(error) => {
                broken = true;
                terminal::error(&format!("{}: {error}", entry.name));
            }
        }
    }
    ExitCode::from(u8::from(broken))
}

fn check(name: &str, config: &Config) -> CliResult {
    let plugin = find(name, config)?;
    let found = print_warnings(&plugin);
    terminal::line(&format!("{} {}: {}", plugin.id(), plugin.manifest().version, warning_count(found)));
    Ok(ExitCode::from(u8::from(found > 0)))
}

fn warning_count(count: usize) -> String {
    if count == 1 { "1 warning".to_owned() } else { format!("{count} warnings") }
}

/// Writes the definitions where an editor that is open in a folder finds them; no reader of plugins looks there.
fn defs(folder: Option<PathBuf>) -> CliResult {
    let folder = folder.unwrap_or_else(|| PathBuf::from("."));
    let inside = std::fs::read_dir(&folder).with_context(|| format!("the folder {}", folder.display()))?;
    let is_plugin = |folder: &Path| folder.join("plugin.toml").is_file();
    if !is_plugin(&folder) && !inside.flatten().any(|entry| is_plugin(&entry.path())) {
        anyhow::bail!("{} holds no plugin: neither it nor a folder in it has a plugin.toml", folder.display());
    }
    let folder = folder.join(".rhai");
    let file = folder.join("clotho.d.rhai");
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, reference::definitions()));
    written.with_context(|| format!("{} cannot be written", file.display()))?;
    terminal::line(&file.display().to_string());
    Ok(ExitCode::SUCCESS)
}

/// Tests one plugin; what came of cases that expect nothing yet is written into their files first, if that is wanted.
fn test_one(name: &str, is_blessed: bool, config: &Config) -> CliResult {
    let plugin = load(find(name, config)?.source().clone())?;
    if !is_blessed {
        return Ok(tests(&[plugin]));
    }
    let folder = folder_of(name, config)
        .with_context(|| format!("{name} is inside the program: only the tests of a folder can be written"))?;
    for case in &run_tests(&plugin).cases {
        if let Some(text) = bless(&plugin, case) {
            let file = folder.join(&case.file);
            std::fs::write(&file, text).with_context(|| format!("{} cannot be written", file.display()))?;
            terminal::line(&format!("blessed {}: read it before you keep it", file.display()));
        }
    }
    Ok(tests(&[load(PluginSource::read(&folder)?)?]))
}

/// The folder in which [`find`] finds a plugin; `None` for one inside the program.
fn folder_of(name: &str, config: &Config) -> Option<PathBuf> {
    let is_plugin = |folder: &Path| folder.join("plugin.toml").is_file();
    let own = config.plugins.dir.as_ref().map(|folder| folder.join(name));
    [Some(PathBuf::from(name)), own].into_iter().flatten().find(|folder| is_plugin(folder))
}

/// Says what is probably a mistake in a plugin; how many there are.
fn print_warnings(plugin: &LoadedPlugin) -> usize {
    plugin.warnings().iter().for_each(|warning| terminal::error(&warning.to_string()));
    plugin.warnings().len()
}

/// A folder where there is one of that name, else a plugin by id.
fn find(name: &str, config: &Config) -> Result<Arc<LoadedPlugin>, anyhow::Error> {
    let folder = PathBuf::from(name);
    if folder.join("plugin.toml").is_file() {
        return load(PluginSource::read(&folder)?);
    }
    let catalogue = app::catalogue(config);
    let entry = catalogue.entries().find(|entry| entry.name == name);
    match entry.map(|entry| &entry.state) {
        Some(Ok(plugin)) => Ok(Arc::clone(plugin)),
        Some(Err(error)) => Err(anyhow::anyhow!("{error}")),
        None => Err(anyhow::anyhow!("no plugin is named \"{name}\", and no folder of that name holds a plugin.toml")),
    }
}

fn load(source: PluginSource) -> Result<Arc<LoadedPlugin>, anyhow::Error> {
    LoadedPlugin::load(source, &ScriptLimits::relaxed()).map(Arc::new).map_err(|error| anyhow::anyhow!("{error}"))
}

fn test_all(folder: &Path) -> CliResult {
    let mut plugins = Vec::new();
    let mut broken = false;
    let all = PluginSource::read_all(folder).with_context(|| format!("the folder {}", folder.display()))?;
    for (name, source) in all {
        match source.map_err(anyhow::Error::from).and_then(load) {
            Ok(plugin) => plugins.push(plugin),
            Err(error) => {
                broken = true;
                terminal::error(&format!("{name}: {error:#}"));
            }
        }
    }
    let code = tests(&plugins);
    Ok(if broken { ExitCode::from(1) } else { code })
}

/// Runs the tests of plugins; ends with a line that counts them. No test that passes is a failure: it proves nothing. So is a
/// warning: a hook with a wrong name passes every test, because it never runs.
fn tests(plugins: &[Arc<LoadedPlugin>]) -> ExitCode {
    let (mut passed, mut failed, mut warned, mut mute) = (0, 0, 0, 0);
    for plugin in plugins {
        warned += print_warnings(plugin);
        let report: PluginTestReport = run_tests(plugin);
        warned += report.cases.iter().map(|case| case.warnings.len()).sum::<usize>();
        if report.cases.is_empty() {
            terminal::error(&format!(
                "{} {}: no tests; {}",
                plugin.id(),
                plugin.manifest().version,
                tests_location(plugin)
            ));
            continue;
        }
        terminal::line(&format!("{} {}\n{report}\n", plugin.id(), plugin.manifest().version));
        let count = |is: fn(&CaseReport) -> bool| report.cases.iter().filter(|case| is(case)).count();
        failed += count(|case| !case.failures.is_empty());
        passed += count(CaseReport::passed);
        mute += count(CaseReport::expects_nothing);
    }
    let and_mute = match mute {
        0 => String::new(),
        1 => ", 1 expects nothing".to_owned(),
        several => format!(", {several} expect nothing"),
    };
    let and_warnings = if warned > 0 { format!(", {}", warning_count(warned)) } else { String::new() };
    terminal::line(&format!("{passed} passed, {failed} failed{and_mute}{and_warnings}"));
    ExitCode::from(u8::from(failed > 0 || passed == 0 || warned > 0))
}

fn tests_location(plugin: &LoadedPlugin) -> &'static str {
    match plugin.origin() {
        PluginOrigin::Bundled => "the program carries a bundled plugin without them: name its folder in the sources",
        PluginOrigin::Folder => "a test is a file tests/*.toml in its folder",
    }
}
