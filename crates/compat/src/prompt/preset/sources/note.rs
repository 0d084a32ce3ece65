//! The author's note, beside the main part or inside the chat.

use super::super::candidate::{
    AllocationStage, CandidateKind, ChatText, MAIN, PromptCandidate, PromptCandidates, PromptOrder, PromptScope,
    PromptSource,
};
use super::super::{PositionedText, PromptInput, PromptMessage, PromptPosition, PromptRenderer};
use super::chat_texts;

const ID: &str = "authorsNote";

/// The source of the note.
pub(super) struct NoteSource;

impl PromptSource for NoteSource {
    fn gather(&self, scope: &PromptScope<'_>, renderer: &mut dyn PromptRenderer, gathered: &mut PromptCandidates) {
        let Some(note) = note_text(scope.input, renderer) else { return };
        match note.position {
            PromptPosition::Prompt => stand_beside_main(scope, &note, false, renderer, gathered),
            PromptPosition::BeforeMain => stand_beside_main(scope, &note, true, renderer, gathered),
            _ => gathered.chat_texts.extend(chat_texts::at_depth(&note, note.text.clone(), ID)),
        }
    }
}

/// Builds the note with its top and bottom texts, one per line.
fn note_text(given: &PromptInput<'_>, renderer: &mut dyn PromptRenderer) -> Option<PositionedText> {
    let note = given.note.as_ref()?;
    let mut lines: Vec<String> = Vec::new();
    let persona = |place| (given.persona.position == place).then(|| given.persona.text.clone());
    let top = persona(PromptPosition::NoteTop).map(|text| renderer.fill(&text));
    let text = renderer.fill(&note.text);
    let bottom = persona(PromptPosition::NoteBottom).map(|text| renderer.fill(&text));
    lines.extend(top);
    lines.extend(given.lore.note_top.iter().cloned());
    lines.push(text);
    lines.extend(given.lore.note_bottom.iter().cloned());
    lines.extend(bottom);
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(PositionedText { text, position: note.position, role: note.role })
}

/// Adds a note next to the main part: as its own message, or joined to a main part in the chat.
fn stand_beside_main(
    scope: &PromptScope<'_>,
    note: &PositionedText,
    is_before: bool,
    renderer: &dyn PromptRenderer,
    gathered: &mut PromptCandidates,
) {
    let main = scope.parts.iter().position(|own| own.part.id == MAIN);
    let in_chat = |text: &&mut ChatText| main.is_some() && text.part == main;
    if let Some(main) = gathered.chat_texts.iter_mut().find(in_chat) {
        main.text =
            if is_before { format!("{}\n{}", note.text, main.text) } else { format!("{}\n{}", main.text, note.text) };
        return;
    }
    gathered.texts.push(PromptCandidate {
        kind: CandidateKind::Part,
        order: match main {
            Some(main) if !is_before => PromptOrder::after(main, 0),
            _ => PromptOrder::before(main.unwrap_or(0)),
        },
        stage: AllocationStage::Required,
        tokens: renderer.count(&note.text),
        messages: vec![PromptMessage::from_part(note.role, note.text.as_str(), ID)],
    });
}
