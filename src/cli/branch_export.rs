//! `clotho export sillytavern`, `markdown` and `html`: one branch of a session in a format of other programs.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::{Args, Subcommand};

use clotho_config::Config;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::printable::Printable;
use clotho_engine::transfer::{
    BranchExportFormat, BranchExportOptions, ExportOutcome, ExportTarget, export_all, export_branch,
};
use clotho_store::DatabaseSnapshot;

use super::common::progress_bar;
use super::common::{load_session, write_new_file};
use super::terminal;

/// The export formats of other programs.
#[derive(Debug, Subcommand)]
pub enum BranchExportCommand {
    /// Export a SillyTavern chat with sibling replies as swipes, or with --all a SillyTavern data folder
    Sillytavern(ChatExportArgs),
    /// Export Markdown that shows every text as it was written
    Markdown(BranchExportArgs),
    /// Export a single self-contained HTML page
    Html(BranchExportArgs),
}

/// The branch to export, and the target file.
#[derive(Debug, Args)]
pub struct BranchExportArgs {
    /// Session id, as in its address in the browser
    session: SessionId,
    /// File to write; must not exist yet
    file: PathBuf,
    /// Last message of the branch [default: the current message of the session]
    #[arg(long, value_name = "NODE")]
    leaf: Option<NodeId>,
}

/// The chat or user to export, and the target.
#[derive(Debug, Args)]
pub struct ChatExportArgs {
    /// Session id, as in its address in the browser
    #[arg(required_unless_present = "all")]
    session: Option<SessionId>,
    /// File to write; must not exist yet
    #[arg(required_unless_present = "all")]
    file: Option<PathBuf>,
    /// Last message of the branch [default: the current message of the session]
    #[arg(long, value_name = "NODE")]
    leaf: Option<NodeId>,
    /// Export all data of a user into a new folder, or into an archive if the path ends in .zip
    #[arg(long, value_name = "PATH", conflicts_with_all = ["session", "file", "leaf"])]
    all: Option<PathBuf>,
    /// User whose data is exported [default: the owner]
    #[arg(long, value_name = "NAME", requires = "all")]
    user: Option<String>,
}

/// Runs an export command.
pub fn export(
    snapshot: &mut DatabaseSnapshot,
    wanted: &BranchExportCommand,
    config: &Config,
) -> Result<(), anyhow::Error> {
    let (line, form) = match wanted {
        BranchExportCommand::Sillytavern(ChatExportArgs { all: Some(path), user, .. }) => {
            return export_user_data(snapshot, path, user.as_deref());
        }
        BranchExportCommand::Sillytavern(ChatExportArgs { session: Some(session), file: Some(file), leaf, .. }) => {
            let line = BranchExportArgs { session: *session, file: file.clone(), leaf: *leaf };
            return write_branch(snapshot, &line, BranchExportFormat::SillyTavern, config);
        }
        // clap has checked that one of both is present.
        BranchExportCommand::Sillytavern(_) => bail!("expected a session and a file, or --all with a path"),
        BranchExportCommand::Markdown(line) => (line, BranchExportFormat::Markdown),
        BranchExportCommand::Html(line) => (line, BranchExportFormat::Html),
    };
    write_branch(snapshot, line, form, config)
}

fn write_branch(
    snapshot: &mut DatabaseSnapshot,
    line: &BranchExportArgs,
    form: BranchExportFormat,
    config: &Config,
) -> Result<(), anyhow::Error> {
    let stored = load_session(snapshot, line.session)?;
    let leaf = line.leaf.unwrap_or(stored.session.head);
    let options = BranchExportOptions { leaf, format: form, hide_tags: &config.generation.hide_tags };
    let file: &Path = &line.file;
    write_new_file(file, |out| {
        export_branch(snapshot, &stored, &options, out)?
            .with_context(|| format!("this session has no message with the id {leaf}"))
    })?;
    let title = Printable(&stored.session.title);
    terminal::print_line(&format!("{}  {}  {title}", line.session, file.display()));
    Ok(())
}

/// Exports all data of a user.
fn export_user_data(snapshot: &mut DatabaseSnapshot, path: &Path, user: Option<&str>) -> Result<(), anyhow::Error> {
    let owner = owner(snapshot, user)?;
    let bar = progress_bar(0, "{spinner} {pos} sessions");
    let report_progress = |sessions| bar.set_position(sessions);
    let is_archive = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
    let mut gone = ExportOutcome::default();
    let written = if is_archive {
        write_new_file(path, |out| {
            let (out, all) = export_all(snapshot, owner, ExportTarget::archive(out), report_progress)?;
            gone = all;
            out.context("expected the bytes of an archive")
        })
    } else {
        let target = ExportTarget::<File>::folder(path).with_context(|| format!("the folder {}", path.display()))?;
        export_all(snapshot, owner, target, report_progress).map(|(_, all)| gone = all).map_err(anyhow::Error::from)
    };
    bar.finish_and_clear();
    written?;
    let ExportOutcome { characters, lorebooks, personas, presets, sessions, chats, report } = gone;
    terminal::print_line(&format!(
        "{}: {characters} characters, {lorebooks} lorebooks, {personas} personas, {presets} presets, {sessions} sessions in {chats} chats",
        path.display()
    ));
    report.items.iter().for_each(|item| terminal::print_line(item.to_string().trim_end()));
    Ok(())
}

fn owner(snapshot: &mut DatabaseSnapshot, name: Option<&str>) -> Result<UserId, anyhow::Error> {
    let users = snapshot.reader().users()?;
    let found = users.iter().find(|user| name.map_or(user.role == "owner", |name| user.name == name));
    let names: Vec<&str> = users.iter().map(|user| user.name.as_str()).collect();
    let nobody = || format!("there is no user \"{}\"; the users are {}", name.unwrap_or("owner"), names.join(", "));
    Ok(found.with_context(nobody)?.id)
}
