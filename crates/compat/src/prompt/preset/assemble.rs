//! Builds the messages of one request.

use std::collections::BTreeMap;

use super::order::{EXAMPLES, HISTORY, MAIN, RenderedPart};
use super::{
    GenerationType, HistoryMessage, HistoryTruncation, MessageSource, OmittedText, PositionedText, Preset, PromptInput,
    PromptInsert, PromptLayout, PromptMessage, PromptPosition, PromptRenderer, duplicates, examples, inject, names,
    order, squash,
};
use clotho_core::tree::Role;

use super::budget::PromptBudget;
use crate::prompt::{OmitReason, TokenOverflow};

/// A built request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PromptAssembly {
    pub messages: Vec<PromptMessage>,
    /// Start of the reply, if the provider supports prefill.
    pub prefill: Option<String>,
    /// Number of history messages sent: the newest ones.
    pub kept: usize,
    /// Omitted texts, without the history.
    pub left: Vec<OmittedText>,
    /// Tokens of the whole request.
    pub tokens: usize,
    /// Tokens that were reserved for something else.
    pub aside: usize,
}

impl PromptAssembly {
    /// Returns the messages with the prefill as the last one.
    pub fn messages_with_prefill(&self) -> Vec<PromptMessage> {
        let begun =
            self.prefill.as_ref().map(|text| PromptMessage::from_part(Role::Assistant, text.as_str(), "prefill"));
        self.messages.iter().cloned().chain(begun).collect()
    }
}

/// Error: the mandatory texts do not fit, so nothing is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptOverflow {
    pub too_large: TokenOverflow,
    /// Texts that would have been sent.
    pub left: Vec<OmittedText>,
}

/// Builds the messages of one request. The newest message is always sent whole.
///
/// # Errors
/// Returns an error if the mandatory texts do not fit.
pub fn assemble(
    preset: &Preset,
    given: &PromptInput<'_>,
    words: &mut dyn PromptRenderer,
) -> Result<PromptAssembly, PromptOverflow> {
    // Render the parts, the ending and the note.
    let form = preset.settings.layout;
    let mut parts = order::render_parts(preset, given, words);
    let mut left = match form {
        PromptLayout::Parts => Vec::new(),
        PromptLayout::Turns => duplicates::remove_duplicates(&mut parts),
    };
    let has_history = parts.iter().any(|part| part.id == HISTORY);
    let ending = PromptEnding::new(preset, given, has_history, words);
    let note = authors_note(given, words);
    insert_beside_main(&mut parts, note.as_ref());
    // Spend the mandatory texts.
    let mut room = PromptBudget::new(given.default_budget);
    for part in parts.iter().filter(|part| part.in_chat.is_none()) {
        room.spend(words.count(&part.text));
    }
    ending.reserve(false, &mut room, words);
    let new_chat = words.fill(&preset.settings.new_chat);
    let is_in = |id: &str| parts.iter().any(|part| part.id == id && part.in_chat.is_none());
    if is_in(HISTORY) {
        room.spend(words.count(&new_chat));
    }
    if let Err(too_large) = room.check() {
        return Err(PromptOverflow { too_large, left: omit_all(parts, left) });
    }
    ending.reserve(true, &mut room, words);
    room.reserve(given.aside, given.history.last().map_or(0, |newest| words.count(&newest.text)));
    // Examples: before the history if they are pinned, or with the layout `Turns`.
    let mut chat = ChatSection { new_chat, messages: Vec::new(), kept: 0, left: Vec::new() };
    let mut shown = ExampleSelection::default();
    let blocks = if is_in(EXAMPLES) && !given.strips_examples {
        examples::example_blocks(&preset.settings.new_example, form, given, words)
    } else {
        Vec::new()
    };
    let share = ExampleBudget::new(preset, given);
    if given.pins_examples {
        shown = ExampleSelection::fit(&blocks, &mut room, words, share);
    } else if form == PromptLayout::Turns {
        let newest = given.history.last().map_or(0, |said| words.count(&said.text));
        // The history keeps its share, or a quarter of the room, but at least its newest message.
        let kept = newest.max(if share.has_reserve { share.reserved } else { room.total() / 4 });
        shown = ExampleSelection::fit(&blocks, &mut room, words, ExampleBudget { reserved: kept, ..share });
    }
    // History and the texts between its messages.
    if is_in(HISTORY) {
        let injected = inject::collect_injections(&parts, note.as_ref(), given, words);
        let between = injected.iter().filter(|one| !one.text.trim().is_empty()).map(|one| words.count(&one.text)).sum();
        room.reserve(
            room.reserved(),
            given.history.last().map_or(between, |newest| between + words.count(&newest.text)),
        );
        chat.fit(preset, given, injected, &mut room, words);
    } else {
        left.extend(given.injected.iter().map(PromptInsert::without_place));
    }
    if !given.pins_examples && form == PromptLayout::Parts {
        shown = ExampleSelection::fit(&blocks, &mut room, words, ExampleBudget { reserved: 0, ..share });
    }
    // Lay out the messages, and record what was omitted.
    let examples = blocks.into_iter().skip(shown.blocks).flatten().filter(|message| !message.text.is_empty());
    left.extend(examples.map(|message| message.omit(OmitReason::Budget)));
    left.append(&mut chat.left);
    let kept = chat.kept;
    let messages = lay_out(form, parts, chat, shown, ending.messages);
    let messages = if preset.settings.squash { squash::squash_system_messages(messages) } else { messages };
    Ok(PromptAssembly { messages, prefill: ending.prefill, kept, left, tokens: room.spent(), aside: room.reserved() })
}

/// Returns the texts of a request that is not sent.
fn omit_all(parts: Vec<RenderedPart>, left: Vec<OmittedText>) -> Vec<OmittedText> {
    let one = |part: RenderedPart| PromptMessage::from_part(part.role, part.text, &part.id).omit(OmitReason::Budget);
    let parts = parts.into_iter().filter(|part| !part.text.trim().is_empty()).map(one);
    parts.chain(left).collect()
}

/// The messages after everything else, and the prefill.
struct PromptEnding {
    messages: Vec<PromptMessage>,
    prefill: Option<String>,
}

impl PromptEnding {
    fn new(preset: &Preset, given: &PromptInput<'_>, has_history: bool, words: &mut dyn PromptRenderer) -> Self {
        let settings = &preset.settings;
        let prefill =
            if given.kind == GenerationType::Impersonate { &settings.impersonation_prefill } else { &settings.prefill };
        let mut prefill = given.has_prefill.then(|| words.fill(prefill)).filter(|text| !text.is_empty());
        let mut messages = Vec::new();
        match (given.kind, given.history.split_last()) {
            (GenerationType::Impersonate, _) => {
                let asks = match settings.layout {
                    PromptLayout::Parts => Role::System,
                    PromptLayout::Turns => Role::User,
                };
                messages.push(PromptMessage::from_part(asks, words.fill(&settings.impersonation), "impersonation"));
            }
            (GenerationType::Continue, Some((last, before))) if has_history => {
                let text = without_carriage_returns(words.fill(&last.text));
                let said = text.trim().to_owned();
                let (name, text) = match (settings.continue_prefill, prefill.take()) {
                    (true, Some(prefill)) => (None, format!("{prefill}\n\n{text}")),
                    (true, None) => names::apply_naming(settings.naming, last, text),
                    // A message moved to the end has no name field.
                    (false, other) => {
                        prefill = other;
                        (None, names::apply_naming(settings.naming, last, text).1)
                    }
                };
                let from = vec![MessageSource::History(before.len())];
                messages.push(PromptMessage { role: last.role, name, text, from });
                if !settings.continue_prefill {
                    messages.push(PromptMessage::from_part(
                        Role::System,
                        continue_nudge(&settings.continue_nudge, &said, words),
                        "nudge",
                    ));
                }
            }
            _ => {}
        }
        Self { messages, prefill }
    }

    /// Spends the tokens of the history message, which is sent whatever its size, or of the other messages.
    fn reserve(&self, is_said: bool, room: &mut PromptBudget, words: &dyn PromptRenderer) {
        let messages = self.messages.iter().filter(|message| history_index(message).is_some() == is_said);
        let texts = messages.map(|message| message.text.as_str());
        texts.chain(self.prefill.as_deref().filter(|_| !is_said)).for_each(|text| room.spend(words.count(text)));
    }
}

/// Builds the instruction to continue; `{{lastChatMessage}}` in it is the message to continue.
fn continue_nudge(text: &str, said: &str, words: &mut dyn PromptRenderer) -> String {
    let parts: Vec<String> = text.split("{{lastChatMessage}}").map(|part| words.fill(part)).collect();
    parts.join(said)
}

/// Builds the author's note with its top and bottom texts, one per line.
fn authors_note(given: &PromptInput<'_>, words: &mut dyn PromptRenderer) -> Option<PositionedText> {
    let note = given.note.as_ref()?;
    let mut lines: Vec<String> = Vec::new();
    let persona = |place| (given.persona.place == place).then(|| given.persona.text.clone());
    let top = persona(PromptPosition::NoteTop).map(|text| words.fill(&text));
    let text = words.fill(&note.text);
    let bottom = persona(PromptPosition::NoteBottom).map(|text| words.fill(&text));
    lines.extend(top);
    lines.extend(given.lore.note_top.iter().cloned());
    lines.push(text);
    lines.extend(given.lore.note_bottom.iter().cloned());
    lines.extend(bottom);
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(PositionedText { text, place: note.place, role: note.role })
}

/// Inserts a note next to the main part: as its own message, or joined to a main part in the chat.
fn insert_beside_main(parts: &mut Vec<RenderedPart>, note: Option<&PositionedText>) {
    let Some(note) = note.filter(|note| matches!(note.place, PromptPosition::Prompt | PromptPosition::BeforeMain))
    else {
        return;
    };
    let is_before = note.place == PromptPosition::BeforeMain;
    let at = parts.iter().position(|part| part.id == MAIN);
    if let Some(main) = at.and_then(|at| parts.get_mut(at)).filter(|main| main.in_chat.is_some()) {
        main.text =
            if is_before { format!("{}\n{}", note.text, main.text) } else { format!("{}\n{}", main.text, note.text) };
        return;
    }
    let own = RenderedPart { id: "authorsNote".to_owned(), role: note.role, text: note.text.clone(), in_chat: None };
    parts.insert(at.map_or(0, |at| at + usize::from(!is_before)), own);
}

/// The chat section of the prompt.
struct ChatSection {
    new_chat: String,
    messages: Vec<PromptMessage>,
    kept: usize,
    left: Vec<OmittedText>,
}

impl ChatSection {
    /// Selects the messages of the chat.
    ///
    /// The newest message comes first, whatever its size; then the inserted texts that fit; then older messages until
    /// one does not fit. Texts deeper than the kept history come before all messages.
    fn fit(
        &mut self,
        preset: &Preset,
        given: &PromptInput<'_>,
        injected: Vec<inject::ChatInjection>,
        room: &mut PromptBudget,
        words: &mut dyn PromptRenderer,
    ) {
        let is_moved = given.kind == GenerationType::Continue;
        let counts = usize::from(is_moved && preset.settings.continue_prefill);
        let history = given.history.get(..given.history.len().saturating_sub(counts)).unwrap_or_default();
        let is_said = |depth: usize| !(is_moved && depth == 0 && counts == 0);
        let entries = candidates(history.len(), injected, is_said);
        let filler = user_filler(preset, given, &entries, words);
        room.spend(filler.as_ref().map_or(0, |filler| words.count(&filler.text)));
        // The newest message.
        let mut line = ChatSelection { kept: BTreeMap::new(), said: Vec::new() };
        let mut said = entries.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.history_index()?)));
        if let Some((at, n)) = said.next() {
            let message = history_message(n, preset, history, words);
            room.spend(words.count(&message.text));
            line.push_history(at, message);
        }
        // Inserted texts.
        for (at, text) in entries.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.text()?))) {
            if text.text.is_empty() || room.try_take(words.count(&text.text)) {
                line.kept.insert(at, text.clone());
            } else {
                self.left.push(text.clone().omit(OmitReason::Budget));
            }
        }
        // Older messages.
        let mut is_full = false;
        for (at, n) in said {
            let message = history_message(n, preset, history, words);
            is_full = !message.text.is_empty() && !room.try_take(words.count(&message.text));
            if is_full {
                break;
            }
            line.push_history(at, message);
        }
        if let (true, HistoryTruncation::Steps(began)) = (is_full, given.cut) {
            line.truncate_in_steps(began, room, words);
        }
        self.kept = line.said.len();
        self.messages = line.kept.into_values().rev().chain(filler).collect();
    }
}

/// Returns a history message as it is sent.
fn history_message(
    at: usize,
    preset: &Preset,
    history: &[HistoryMessage],
    words: &mut dyn PromptRenderer,
) -> PromptMessage {
    let from = vec![MessageSource::History(at)];
    let Some(said) = history.get(at) else {
        return PromptMessage { role: Role::System, name: None, text: String::new(), from };
    };
    let text = without_carriage_returns(words.fill(&said.text));
    let (name, text) = names::apply_naming(preset.settings.naming, said, text);
    PromptMessage { role: said.role, name, text, from }
}

/// The selected messages, by index among the candidates, newest first.
struct ChatSelection {
    kept: BTreeMap<usize, PromptMessage>,
    /// Candidate indices of the history messages.
    said: Vec<usize>,
}

impl ChatSelection {
    fn push_history(&mut self, at: usize, message: PromptMessage) {
        self.kept.insert(at, message);
        self.said.push(at);
    }

    /// Returns the tokens of the messages before a history index.
    fn tokens_before(&self, began: usize, words: &dyn PromptRenderer) -> usize {
        let older = self.kept.values().filter(|message| history_index(message).is_some_and(|at| at < began));
        older.map(|message| words.count(&message.text)).sum()
    }

    /// Cuts a full history in steps; the newest message stays.
    fn truncate_in_steps(&mut self, began: Option<usize>, room: &mut PromptBudget, words: &dyn PromptRenderer) {
        let began = began.filter(|began| self.kept.values().any(|message| history_index(message) == Some(*began)));
        // Drop a start that was chosen for a smaller room: most of the current room would stay empty.
        let began = began.filter(|began| !room.is_under_half_without(self.tokens_before(*began, words)));
        while self.said.len() > 1 {
            let Some(oldest) = self.said.last() else { return };
            let message = self.kept.get(oldest);
            let goes = match began {
                Some(began) => message.and_then(history_index).is_none_or(|at| at < began),
                None => room.is_mostly_used(),
            };
            if !goes {
                return;
            }
            room.give_back(message.map_or(0, |message| words.count(&message.text)));
            self.kept.remove(oldest);
            self.said.pop();
        }
    }
}

/// Returns the history index of a message that comes from the history.
fn history_index(message: &PromptMessage) -> Option<usize> {
    match message.from.as_slice() {
        [MessageSource::History(at)] => Some(*at),
        _ => None,
    }
}

/// A candidate for the chat: a history message or an inserted text.
enum ChatCandidate {
    History(usize),
    Text(PromptMessage),
}

impl ChatCandidate {
    const fn history_index(&self) -> Option<usize> {
        if let Self::History(at) = self { Some(*at) } else { None }
    }

    const fn text(&self) -> Option<&PromptMessage> {
        if let Self::Text(message) = self { Some(message) } else { None }
    }
}

/// Returns the candidates, newest first. `is_said` returns whether the message at a depth is among them.
fn candidates(
    history: usize,
    injected: Vec<inject::ChatInjection>,
    is_said: impl Fn(usize) -> bool,
) -> Vec<ChatCandidate> {
    let mut depths = inject::messages_by_depth(injected);
    let beyond: Vec<PromptMessage> = depths.split_off(&history).into_values().rev().flatten().collect();
    let mut entries = Vec::new();
    for (depth, at) in (0..history).rev().enumerate() {
        let texts = depths.remove(&depth).unwrap_or_default();
        entries.extend(texts.into_iter().rev().map(ChatCandidate::Text));
        entries.extend(is_said(depth).then_some(ChatCandidate::History(at)));
    }
    entries.extend(beyond.into_iter().rev().map(ChatCandidate::Text));
    entries
}

/// Returns the user message for a request in which the model spoke last: the preset's, else the filler. The filler is
/// also used if no user spoke at all.
fn user_filler(
    preset: &Preset,
    given: &PromptInput<'_>,
    entries: &[ChatCandidate],
    words: &mut dyn PromptRenderer,
) -> Option<PromptMessage> {
    let asks = given.kind == GenerationType::Impersonate && preset.settings.layout == PromptLayout::Turns;
    let role = |entry: &ChatCandidate| match entry {
        ChatCandidate::History(at) => {
            given.history.get(*at).filter(|said| !said.text.trim().is_empty()).map(|said| said.role)
        }
        ChatCandidate::Text(message) => Some(message.role),
    };
    let has_last_word = entries.iter().find_map(role) == Some(Role::Assistant);
    let own = &preset.settings.send_if_empty;
    if has_last_word && !own.is_empty() {
        return Some(PromptMessage::from_part(Role::User, words.fill(own), "sendIfEmpty"));
    }
    let is_needed = !asks && (has_last_word || !entries.iter().any(|entry| role(entry) == Some(Role::User)));
    (is_needed && !given.filler.is_empty()).then(|| PromptMessage::from_part(Role::User, given.filler, "filler"))
}

/// The examples that fit.
#[derive(Default)]
struct ExampleSelection {
    messages: Vec<PromptMessage>,
    blocks: usize,
}

/// The token budget of examples.
#[derive(Clone, Copy)]
struct ExampleBudget {
    /// Largest number of tokens.
    max: usize,
    /// Tokens left to the history.
    reserved: usize,
    /// Whether the preset sets `reserved`.
    has_reserve: bool,
}

impl ExampleBudget {
    fn new(preset: &Preset, given: &PromptInput<'_>) -> Self {
        let (context, reply) = given.default_budget;
        let whole = if given.prompt_tokens > 0 { given.prompt_tokens } else { context.saturating_sub(reply) };
        let shares = &preset.own.shares;
        let kept = shares.for_history(whole);
        Self { max: shares.for_examples(whole), reserved: kept.unwrap_or_default(), has_reserve: kept.is_some() }
    }
}

impl ExampleSelection {
    /// Takes whole blocks in order, until one does not fit or exceeds their share.
    fn fit(
        blocks: &[Vec<PromptMessage>],
        room: &mut PromptBudget,
        words: &dyn PromptRenderer,
        share: ExampleBudget,
    ) -> Self {
        let cost = |block: &[PromptMessage]| block.iter().map(|message| words.count(&message.text)).sum();
        let mut own = room.with_reserve(share.reserved).with_cap(share.max);
        let blocks: Vec<&Vec<PromptMessage>> = blocks.iter().take_while(|block| own.try_take(cost(block))).collect();
        room.spend(own.spent().saturating_sub(room.spent()));
        Self { blocks: blocks.len(), messages: blocks.into_iter().flatten().cloned().collect() }
    }
}

fn lay_out(
    form: PromptLayout,
    parts: Vec<RenderedPart>,
    chat: ChatSection,
    shown: ExampleSelection,
    ending: Vec<PromptMessage>,
) -> Vec<PromptMessage> {
    let (mut chat, mut shown) = (Some(chat), Some(shown));
    let mut messages = Vec::new();
    for part in parts.into_iter().filter(|part| part.in_chat.is_none()) {
        match part.id.as_str() {
            HISTORY => {
                let Some(chat) = chat.take() else { continue };
                messages.push(PromptMessage::from_part(Role::System, chat.new_chat, "newChat"));
                messages.extend(chat.messages);
            }
            EXAMPLES => messages.extend(shown.take().into_iter().flat_map(|shown| shown.messages)),
            _ if form == PromptLayout::Turns => {
                messages.push(PromptMessage::from_part(part.role, without_carriage_returns(part.text).trim(), &part.id))
            }
            _ => messages.push(PromptMessage::from_part(part.role, without_carriage_returns(part.text), &part.id)),
        }
    }
    messages.extend(ending);
    messages.retain(|message| !message.text.is_empty());
    messages
}

/// Removes carriage returns, which are never sent.
fn without_carriage_returns(text: String) -> String {
    if text.contains('\r') { text.replace('\r', "") } else { text }
}
