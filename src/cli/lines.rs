//! `clotho export sillytavern`, `markdown` and `html`: one line of a session as a file that others read.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};

use crate::config::Config;
use crate::ids::{NodeId, SessionId};
use crate::store::Snapshot;
use crate::transfer::{Form, LineWish, export_line};

use super::work::{held, into_new};
use super::write;

/// In which form.
#[derive(Debug, Subcommand)]
pub enum Into {
    /// A chat of SillyTavern, with the siblings of replies as swipes.
    Sillytavern(Line),
    /// Markdown, in which every text reads as it was written.
    Markdown(Line),
    /// One page of HTML that needs nothing else.
    Html(Line),
}

/// Which line, and where to.
#[derive(Debug, Args)]
pub struct Line {
    /// The session, as its address in the browser names it.
    session: SessionId,
    /// The file to write; it must not be there yet.
    file: PathBuf,
    /// The message with which the line ends; where the session stands unless named.
    #[arg(long, value_name = "NODE")]
    leaf: Option<NodeId>,
}

/// Writes what is wanted.
pub fn export(snapshot: &mut Snapshot, wanted: &Into, config: &Config) -> Result<(), anyhow::Error> {
    let (line, form) = match wanted {
        Into::Sillytavern(line) => (line, Form::SillyTavern),
        Into::Markdown(line) => (line, Form::Markdown),
        Into::Html(line) => (line, Form::Html),
    };
    one(snapshot, line, form, config)
}

fn one(snapshot: &mut Snapshot, line: &Line, form: Form, config: &Config) -> Result<(), anyhow::Error> {
    let held = held(snapshot, line.session)?;
    let leaf = line.leaf.unwrap_or(held.session.head);
    let wish = LineWish { leaf, form, hide_tags: &config.generation.hide_tags };
    let file: &Path = &line.file;
    into_new(file, |out| {
        export_line(snapshot, &held, &wish, out)?
            .with_context(|| format!("no message of this session has the id {leaf}"))
    })?;
    write::line(&format!("{}  {}  {}", line.session, file.display(), held.session.title));
    Ok(())
}
