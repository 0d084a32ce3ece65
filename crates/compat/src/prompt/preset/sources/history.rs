//! The history: where its messages and the texts at a depth stand, and the messages one by one.

use std::collections::BTreeMap;

use super::super::candidate::{
    AllocationStage, CandidateKind, ChatText, HISTORY, HistoryCandidate, PromptCandidate, PromptCandidates,
    PromptOrder, PromptScope, PromptSource,
};
use super::super::render::without_carriage_returns;
use super::super::{GenerationType, MessageSource, PromptLayout, PromptMessage, PromptRenderer, names};
use super::chat_texts::LORE;
use clotho_core::tree::Role;

/// The source of the history.
pub(super) struct HistorySource;

impl PromptSource for HistorySource {
    fn gather(&self, scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer, gathered: &mut PromptCandidates) {
        let Some(part) = scope.anchor(HISTORY) else { return };
        let texts = std::mem::take(&mut gathered.chat_texts);
        // The texts are measured before they are joined.
        let between = texts.iter().filter(|one| !one.text.trim().is_empty()).map(|one| renderer.count(&one.text));
        gathered.chat_tokens = scope.newest().map_or(0, |newest| renderer.count(&newest.text)) + between.sum::<usize>();
        // The newest stands last, just before the filler.
        let entries = chat_entries(scope, texts);
        let last = entries.len();
        let filler = filler(scope, &entries, renderer);
        for (at, entry) in entries.into_iter().enumerate() {
            let order = PromptOrder::after(part, last - at);
            match entry {
                ChatEntry::History(index) => gathered.history.push(HistoryCandidate { order, index }),
                ChatEntry::Text(message) => {
                    let tokens = renderer.count(&message.text);
                    gathered.push(order, AllocationStage::ChatText, tokens, vec![message]);
                }
            }
        }
        if let Some(filler) = filler {
            let tokens = renderer.count(&filler.text);
            gathered.push(PromptOrder::after(part, last + 1), AllocationStage::Filler, tokens, vec![filler]);
        }
    }
}

/// Renders the messages of the history, when the allocator asks for them.
pub(in crate::prompt::preset) struct HistoryRenderer<'s, 'a> {
    scope: &'s PromptScope<'a>,
    renderer: &'s mut dyn PromptRenderer,
    /// Newest first.
    messages: std::vec::IntoIter<HistoryCandidate>,
}

impl<'s, 'a> HistoryRenderer<'s, 'a> {
    /// Renders these messages, which are given newest first.
    pub fn new(
        scope: &'s PromptScope<'a>,
        newest_first: Vec<HistoryCandidate>,
        renderer: &'s mut dyn PromptRenderer,
    ) -> Self {
        Self { scope, renderer, messages: newest_first.into_iter() }
    }
}

impl Iterator for HistoryRenderer<'_, '_> {
    type Item = PromptCandidate;

    fn next(&mut self) -> Option<PromptCandidate> {
        let HistoryCandidate { order, index } = self.messages.next()?;
        let said = self.scope.input.history.get(index)?;
        // The text to go on from stands behind the message that it answers.
        let after = usize::from(self.scope.input.kind == GenerationType::Continue);
        let is_new = said.role == Role::User && index + 1 + after == self.scope.input.history.len();
        let text = without_carriage_returns(self.renderer.fill_message(&said.text, is_new));
        let (name, text) = names::apply_naming(self.scope.preset.settings.naming, said, text);
        Some(PromptCandidate {
            kind: CandidateKind::Message,
            order,
            stage: AllocationStage::History,
            tokens: self.renderer.count(&text),
            messages: vec![PromptMessage { role: said.role, name, text, sources: vec![MessageSource::History(index)] }],
        })
    }
}

/// An entry of the chat: a message of the history or a text at a depth.
enum ChatEntry {
    History(usize),
    Text(PromptMessage),
}

/// Returns the chat, newest first. Texts deeper than the history come before all messages.
fn chat_entries(scope: &PromptScope<'_>, texts: Vec<ChatText>) -> Vec<ChatEntry> {
    // The message to continue stands at the end. With `continue_prefill`, the depths are counted without it.
    let is_moved = scope.input.kind == GenerationType::Continue;
    let uncounted = usize::from(is_moved && scope.preset.settings.continue_prefill);
    let count = scope.input.history.len().saturating_sub(uncounted);
    let is_said = |depth: usize| !(is_moved && depth == 0 && uncounted == 0);
    let mut depths = messages_by_depth(texts);
    let beyond: Vec<PromptMessage> = depths.split_off(&count).into_values().rev().flatten().collect();
    let mut entries = Vec::new();
    for (depth, at) in (0..count).rev().enumerate() {
        let texts = depths.remove(&depth).unwrap_or_default();
        entries.extend(texts.into_iter().rev().map(ChatEntry::Text));
        entries.extend(is_said(depth).then_some(ChatEntry::History(at)));
    }
    entries.extend(beyond.into_iter().rev().map(ChatEntry::Text));
    entries
}

/// Returns the user message for a request in which the model spoke last: the preset's, else the filler. The filler is
/// also used if no user spoke at all.
fn filler(scope: &PromptScope<'_>, entries: &[ChatEntry], renderer: &mut dyn PromptRenderer) -> Option<PromptMessage> {
    let (settings, given) = (&scope.preset.settings, scope.input);
    let asks = given.kind == GenerationType::Impersonate && settings.layout == PromptLayout::Turns;
    let role = |entry: &ChatEntry| match entry {
        ChatEntry::History(at) => {
            given.history.get(*at).filter(|said| !said.text.trim().is_empty()).map(|said| said.role)
        }
        ChatEntry::Text(message) => Some(message.role),
    };
    let has_last_word = entries.iter().find_map(role) == Some(Role::Assistant);
    let own = &settings.send_if_empty;
    if has_last_word && !own.is_empty() {
        return Some(PromptMessage::from_part(Role::User, renderer.fill(own), "sendIfEmpty"));
    }
    let is_needed = !asks && (has_last_word || !entries.iter().any(|entry| role(entry) == Some(Role::User)));
    (is_needed && !given.filler.is_empty()).then(|| PromptMessage::from_part(Role::User, given.filler, "filler"))
}

/// Returns the messages at each depth; the one nearest to the end is last.
///
/// Higher orders are nearer to the end. Texts of one order are joined by role: assistant first, then user, then system.
/// Lorebook entries of several roles keep their own order, and stand before the other texts.
fn messages_by_depth(all: Vec<ChatText>) -> BTreeMap<usize, Vec<PromptMessage>> {
    let mut orders: BTreeMap<(usize, i64), Vec<ChatText>> = BTreeMap::new();
    for one in all.into_iter().filter(|one| !one.text.trim().is_empty()) {
        orders.entry((one.at.depth, one.at.order)).or_default().push(one);
    }
    let mut depths: BTreeMap<usize, Vec<PromptMessage>> = BTreeMap::new();
    for ((depth, _), mut texts) in orders {
        let roles: Vec<Role> = texts.iter().filter(|one| one.id == LORE).map(|one| one.role).collect();
        let has_several = roles.windows(2).any(|pair| pair.first() != pair.last());
        texts.sort_by_key(|one| match one.role {
            _ if has_several && one.id == LORE => 0,
            Role::Assistant => 1,
            Role::User => 2,
            Role::System => 3,
        });
        let mut joined: Vec<PromptMessage> = Vec::new();
        for one in texts {
            if joined.last().is_none_or(|last| last.role != one.role) {
                joined.push(PromptMessage { role: one.role, name: None, text: String::new(), sources: Vec::new() });
            }
            let Some(message) = joined.last_mut() else { continue };
            join(message, &one.text);
            message.sources.push(MessageSource::Part(one.id));
        }
        depths.entry(depth).or_default().extend(joined);
    }
    depths
}

/// Appends a text on a new line. White space is trimmed, except at the beginning of a later text.
fn join(message: &mut PromptMessage, text: &str) {
    if message.text.is_empty() {
        message.text.push_str(text.trim());
    } else {
        message.text.push('\n');
        message.text.push_str(text.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::ChatPosition;
    use super::*;

    fn text(role: Role, text: &str, id: &str, order: i64) -> ChatText {
        let at = ChatPosition { depth: 1, order };
        ChatText { at, role, text: text.to_owned(), id: id.to_owned(), part: None }
    }

    /// Lorebook entries of several roles at one depth keep their order. Of one role, they are joined to the others.
    #[test]
    fn history_lore_of_several_roles_keeps_its_order() {
        let (system, user, assistant) = (Role::System, Role::User, Role::Assistant);
        let shown = |texts: Vec<ChatText>| {
            let depths = messages_by_depth(texts);
            let told = depths[&1].iter().map(|one| format!("{} {}", one.role.as_str(), one.text.replace('\n', "|")));
            told.collect::<Vec<_>>()
        };
        let own = || [text(system, "note", "authorsNote", 100), text(assistant, "part", "own", 100)];
        let lore = [text(user, "first", LORE, 100), text(assistant, "second", LORE, 100)];
        let before = [text(system, "early", "own", 5)];
        assert_eq!(
            shown([&own()[..], &lore, &before].concat()),
            ["system early", "user first", "assistant second|part", "system note"]
        );
        let one_role = [text(system, "first", LORE, 100), text(system, "second", LORE, 100)];
        assert_eq!(shown([&own()[..], &one_role].concat()), ["assistant part", "system note|first|second"]);
    }
}
