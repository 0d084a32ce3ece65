//! `clotho plugin …`: tools for plugin authors. No command needs a running server, and only `replay` opens the
//! database.
//!
//! To add a command: a variant of [`PluginCliCommand`] and an arm in [`run`]. Put code longer than a screen into a file
//! in `plugin/`.

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

/// The plugin commands.
#[derive(Debug, Subcommand)]
pub enum PluginCliCommand {
    /// List the plugins of this configuration, with the errors of those that do not load
    List,
    /// Load, compile and check a plugin
    Check {
        /// Plugin id, or path of its folder
        plugin: String,
    },
    /// Run a plugin's tests (`tests/*.toml` in its folder; bundled plugins have none)
    Test {
        /// Plugin id, or path of its folder
        #[arg(required_unless_present = "all")]
        plugin: Option<String>,
        /// Test every plugin in this folder
        #[arg(long, value_name = "FOLDER")]
        all: Option<PathBuf>,
        /// Write the result of each case without [expect] into its file, as its [expect]
        #[arg(long, conflicts_with = "all")]
        bless: bool,
    },
    /// Run a plugin's rules again over an existing branch and show what would change
    Replay(replay::PluginReplayArgs),
    /// Write definitions of the script API for language servers: .rhai/clotho.d.rhai in a plugin folder
    Defs {
        /// Folder [default: `[plugins] dir`, else the working directory]
        folder: Option<PathBuf>,
    },
    /// Print the reference of the script API (`docs/plugins/reference.md`)
    Doc,
    /// Create the folder of a new plugin, with a schema and tests
    New {
        /// Plugin id: lower-case letters, digits and "-", starting with a letter
        id: String,
        /// Template to start from
        #[arg(long, value_enum, default_value = "counter")]
        template: new::PluginTemplate,
        /// Folder to create it in [default: `[plugins] dir`, else the working directory]
        #[arg(long, value_name = "FOLDER")]
        into: Option<PathBuf>,
    },
}

/// Runs a command. Exit code 1 means findings.
pub fn run(command: PluginCliCommand, config: Config) -> CliResult {
    match command {
        PluginCliCommand::List => Ok(list(&app::load_catalogue(&config))),
        PluginCliCommand::Check { plugin } => check(&plugin, &config),
        PluginCliCommand::Test { plugin: Some(plugin), bless, .. } => test_one(&plugin, bless, &config),
        PluginCliCommand::Test { all, .. } => test_all(&all.unwrap_or_default()),
        PluginCliCommand::Replay(wanted) => {
            let plugin = find(&wanted.plugin, &config)?;
            replay::replay(&wanted, plugin, config)
        }
        PluginCliCommand::Defs { folder } => defs(folder.or_else(|| config.plugins.dir.clone())),
        PluginCliCommand::Doc => {
            terminal::print_line(reference::page().trim_end());
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
                terminal::print_line(&format!(
                    "{} {}  {}",
                    plugin.id(),
                    manifest.version,
                    manifest.description.get("en")
                ));
            }
            Err(error) => {
                broken = true;
                terminal::print_error(&format!("{}: {error}", entry.name));
            }
        }
    }
    ExitCode::from(u8::from(broken))
}

fn check(name: &str, config: &Config) -> CliResult {
    let plugin = find(name, config)?;
    let found = print_warnings(&plugin);
    terminal::print_line(&format!("{} {}: {}", plugin.id(), plugin.manifest().version, warning_count(found)));
    Ok(ExitCode::from(u8::from(found > 0)))
}

fn warning_count(count: usize) -> String {
    if count == 1 { "1 warning".to_owned() } else { format!("{count} warnings") }
}

/// Writes the definitions to `.rhai/`, where editors find them. The plugin loader ignores that folder.
fn defs(folder: Option<PathBuf>) -> CliResult {
    let folder = folder.unwrap_or_else(|| PathBuf::from("."));
    let inside = std::fs::read_dir(&folder).with_context(|| format!("the folder {}", folder.display()))?;
    let is_plugin = |folder: &Path| folder.join("plugin.toml").is_file();
    if !is_plugin(&folder) && !inside.flatten().any(|entry| is_plugin(&entry.path())) {
        anyhow::bail!("{} has no plugin: neither the folder nor one inside it has a plugin.toml", folder.display());
    }
    let folder = folder.join(".rhai");
    let file = folder.join("clotho.d.rhai");
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&file, reference::definitions()));
    written.with_context(|| format!("{} cannot be written", file.display()))?;
    terminal::print_line(&file.display().to_string());
    Ok(ExitCode::SUCCESS)
}

/// Tests one plugin. With `is_blessed`, first writes the results of cases without expectations into their files.
fn test_one(name: &str, is_blessed: bool, config: &Config) -> CliResult {
    let plugin = load(find(name, config)?.source().clone())?;
    if !is_blessed {
        return Ok(tests(&[plugin]));
    }
    let folder = folder_of(name, config)
        .with_context(|| format!("{name} is bundled with the program: only the tests in a folder can be written"))?;
    for case in &run_tests(&plugin).cases {
        if let Some(text) = bless(&plugin, case) {
            let file = folder.join(&case.file);
            std::fs::write(&file, text).with_context(|| format!("{} cannot be written", file.display()))?;
            terminal::print_line(&format!(
                "wrote the expectations of {}: read them before you keep them",
                file.display()
            ));
        }
    }
    Ok(tests(&[load(PluginSource::read(&folder)?)?]))
}

/// Returns the folder that [`find`] uses for a plugin; `None` for a bundled plugin.
fn folder_of(name: &str, config: &Config) -> Option<PathBuf> {
    let is_plugin = |folder: &Path| folder.join("plugin.toml").is_file();
    let own = config.plugins.dir.as_ref().map(|folder| folder.join(name));
    [Some(PathBuf::from(name)), own].into_iter().flatten().find(|folder| is_plugin(folder))
}

/// Prints the warnings of a plugin and returns their number.
fn print_warnings(plugin: &LoadedPlugin) -> usize {
    plugin.warnings().iter().for_each(|warning| terminal::print_error(&warning.to_string()));
    plugin.warnings().len()
}

/// Finds a plugin: the folder of that name if there is one, else the installed plugin with that id.
fn find(name: &str, config: &Config) -> Result<Arc<LoadedPlugin>, anyhow::Error> {
    let folder = PathBuf::from(name);
    if folder.join("plugin.toml").is_file() {
        return load(PluginSource::read(&folder)?);
    }
    let catalogue = app::load_catalogue(config);
    let entry = catalogue.entries().find(|entry| entry.name == name);
    match entry.map(|entry| &entry.state) {
        Some(Ok(plugin)) => Ok(Arc::clone(plugin)),
        Some(Err(error)) => Err(anyhow::anyhow!("{error}")),
        None => Err(anyhow::anyhow!("there is no plugin \"{name}\", and no folder of that name with a plugin.toml")),
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
                terminal::print_error(&format!("{name}: {error:#}"));
            }
        }
    }
    let code = tests(&plugins);
    Ok(if broken { ExitCode::from(1) } else { code })
}

/// Runs the tests of plugins and prints a line of counts.
///
/// It is a failure if no test passes, because that proves nothing. A warning is a failure too: a hook with a wrong name
/// passes every test, because it never runs.
fn tests(plugins: &[Arc<LoadedPlugin>]) -> ExitCode {
    let (mut passed, mut failed, mut warned, mut mute) = (0, 0, 0, 0);
    for plugin in plugins {
        warned += print_warnings(plugin);
        let report: PluginTestReport = run_tests(plugin);
        warned += report.cases.iter().map(|case| case.warnings.len()).sum::<usize>();
        if report.cases.is_empty() {
            terminal::print_error(&format!(
                "{} {}: no tests; {}",
                plugin.id(),
                plugin.manifest().version,
                tests_location(plugin)
            ));
            continue;
        }
        terminal::print_line(&format!("{} {}\n{report}\n", plugin.id(), plugin.manifest().version));
        let count = |is: fn(&CaseReport) -> bool| report.cases.iter().filter(|case| is(case)).count();
        failed += count(|case| !case.failures.is_empty());
        passed += count(CaseReport::passed);
        mute += count(CaseReport::expects_nothing);
    }
    let and_mute = match mute {
        0 => String::new(),
        1 => ", 1 without an expectation".to_owned(),
        several => format!(", {several} without an expectation"),
    };
    let and_warnings = if warned > 0 { format!(", {}", warning_count(warned)) } else { String::new() };
    terminal::print_line(&format!("{passed} passed, {failed} failed{and_mute}{and_warnings}"));
    ExitCode::from(u8::from(failed > 0 || passed == 0 || warned > 0))
}

fn tests_location(plugin: &LoadedPlugin) -> &'static str {
    match plugin.origin() {
        PluginOrigin::Bundled => "bundled plugins have no tests in the program: name the folder in the sources",
        PluginOrigin::Folder => "a test is a file tests/*.toml in its folder",
    }
}
