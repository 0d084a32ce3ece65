//! The messages that a prompt may show, and which of them it keeps.

use clotho_compat::prompt::preset::{HistoryMessage, HistoryTruncation, SpeakerNaming};
use clotho_compat::prompt::{PromptCast, PromptLine};
use clotho_core::tree::Role;
use clotho_store::{PathFilter, StoreError, StoreReader, StoredNode};

use super::prompt_bounds::{self, LastPrompt, PAGE, PromptBounds};
use super::regex_scripts::PromptScripts;
use super::trace;
use crate::turn::snapshot::TurnSnapshot;

/// The messages that a prompt may show, oldest first.
pub(super) struct PromptHistory {
    /// The nodes, and their lines before scripts changed them.
    pub placed: Vec<StoredNode>,
    pub lines: Vec<PromptLine>,
    /// The lines after scripts changed them.
    pub messages: Vec<HistoryMessage>,
    /// How the history is cut: it begins as in the last prompt as long as that fits.
    pub truncation: HistoryTruncation,
    pub last: Option<LastPrompt>,
}

/// How much of the history is read at least.
#[derive(Clone, Copy)]
pub(super) struct HistoryExtent {
    pub tokens: usize,
    pub messages: usize,
}

/// Which of these messages a prompt shows: those from the place `first` on.
#[derive(Clone, Copy)]
pub(super) struct KeptHistory<'h> {
    pub placed: &'h [StoredNode],
    pub lines: &'h [PromptLine],
    pub first: usize,
    pub last: Option<&'h LastPrompt>,
}

impl PromptHistory {
    /// Reads the newest messages, at least as many as the extent asks for.
    ///
    /// # Errors
    /// Returns an error if the database fails.
    pub(super) fn read(
        reader: &mut StoreReader<'_>,
        snapshot: &mut TurnSnapshot,
        bounds: &PromptBounds,
        extent: HistoryExtent,
        scripts: &mut PromptScripts<'_, '_>,
    ) -> Result<Self, StoreError> {
        let newest = newest_messages(reader, snapshot, bounds, extent, scripts)?;
        let (newest_first, mut messages) = (newest.stored, newest.scripted);
        messages.reverse();
        let last = prompt_bounds::last_prompt(reader, newest_first.iter().map(|(placed, _)| placed))?;
        let place = |first: i64| newest_first.iter().rev().position(|(placed, _)| placed.n == first);
        let truncation = HistoryTruncation::Steps(last.as_ref().and_then(|last| place(last.first)));
        let (placed, lines): (Vec<StoredNode>, Vec<PromptLine>) = newest_first.into_iter().rev().unzip();
        Ok(Self { placed, lines, messages, truncation, last })
    }

    /// Decides whether speakers are named where the preset leaves that open.
    pub(super) fn name_speakers(&self, speakers: &mut SpeakerNaming) {
        if *speakers == SpeakerNaming::AsNeeded {
            *speakers = naming(&self.lines);
        }
    }

    /// Returns the newest `count` messages.
    pub(super) fn kept(&self, count: usize) -> KeptHistory<'_> {
        let first = self.lines.len().saturating_sub(count);
        KeptHistory { placed: &self.placed, lines: &self.lines, first, last: self.last.as_ref() }
    }
}

impl<'h> KeptHistory<'h> {
    /// Returns the first message that is shown.
    pub(super) fn begin(self) -> Option<&'h StoredNode> {
        self.placed.get(self.first)
    }

    /// Returns the newest message that is not shown.
    pub(super) fn newest_cut(self) -> Option<&'h StoredNode> {
        self.first.checked_sub(1).and_then(|at| self.placed.get(at))
    }
}

/// Decides whether texts start with names: if two users or two characters speak on the branch (`domain.md` 2.4).
fn naming(lines: &[PromptLine]) -> SpeakerNaming {
    let has_several = [Role::User, Role::Assistant].into_iter().any(|role| {
        let spoken = lines.iter().filter(|line| line.role == role && !line.text.trim().is_empty());
        let mut names = spoken.filter_map(|line| line.name.as_deref());
        names.next().is_some_and(|first| names.any(|name| name != first))
    });
    if has_several { SpeakerNaming::Before } else { SpeakerNaming::Never }
}

/// Returns the messages before a prompt, oldest first, as far as lore scans.
///
/// # Errors
/// Returns an error if the database fails.
pub(in crate::turn) fn messages_before(
    reader: &mut StoreReader<'_>,
    snapshot: &mut TurnSnapshot,
    bounds: &PromptBounds,
    messages: usize,
    scripts: &mut PromptScripts<'_, '_>,
) -> Result<Vec<HistoryMessage>, StoreError> {
    let newest = newest_messages(reader, snapshot, bounds, HistoryExtent { tokens: 0, messages }, scripts)?;
    Ok(newest.scripted.into_iter().rev().collect())
}

/// Messages, newest first.
#[derive(Default)]
struct NewestMessages {
    /// The nodes with their lines.
    stored: Vec<(StoredNode, PromptLine)>,
    /// The same messages after regex scripts.
    scripted: Vec<HistoryMessage>,
}

/// Reads the newest messages until there are more than the extent asks for.
fn newest_messages(
    reader: &mut StoreReader<'_>,
    snapshot: &mut TurnSnapshot,
    bounds: &PromptBounds,
    extent: HistoryExtent,
    scripts: &mut PromptScripts<'_, '_>,
) -> Result<NewestMessages, StoreError> {
    let mut newest = NewestMessages::default();
    let mut tokens = 0_usize;
    let mut page = std::mem::take(&mut snapshot.page);
    loop {
        let before = page.next;
        for placed in page.nodes.into_iter().rev().filter(|placed| placed.node.is_in_prompt()) {
            reader.check_wanted()?;
            let line = trace::prompt_line(&placed.node, &bounds.hide_tags);
            let message = preset_message(&line, &snapshot.cast);
            let message =
                scripts.apply_to_message(reader, &snapshot.stored, &placed.node, message, newest.scripted.len())?;
            tokens = tokens.saturating_add(bounds.measure.message(&message.text));
            newest.scripted.push(message);
            newest.stored.push((placed, line));
        }
        if before.is_none() || (tokens > extent.tokens && newest.stored.len() >= extent.messages) {
            return Ok(newest);
        }
        page = reader.page(&snapshot.stored, snapshot.at.node.id, before, PAGE, PathFilter::Enabled)?;
    }
}

fn preset_message(line: &PromptLine, cast: &PromptCast) -> HistoryMessage {
    let own = if line.role == Role::Assistant { &cast.character } else { &cast.user };
    let name = line.name.clone().unwrap_or_else(|| own.clone());
    HistoryMessage {
        role: line.role,
        is_other: line.role != Role::System && name != *own,
        name,
        text: line.text.clone(),
    }
}
