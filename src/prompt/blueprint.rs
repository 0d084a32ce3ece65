//! The blocks of a prompt: from cards and world.

use crate::tree::Role;

use super::macros::Macros;
use super::{Block, Cast, Slot};

/// What the model is told where the card has no instructions of its own.
pub const MAIN: &str = "Write {{char}}'s next reply in a story that {{char}} and {{user}} tell together. Stay in \
                        character, describe what can be seen and heard, and never speak for {{user}}.";

/// The blocks of a prompt, in the order in which they are sent and filled: what one writes into variables the next one sees.
/// The state of the world is no text of a card: nothing is filled into it.
pub fn blueprint(cast: &Cast, macros: &mut Macros<'_>, status: &str) -> Vec<Block> {
    let mut blocks = Blocks { macros, made: Vec::new() };
    let has_own = !cast.system.trim().is_empty();
    let (main, source) = if has_own { (cast.system.as_str(), "card") } else { (MAIN, "default") };
    blocks.replacing(Slot::Main, main, MAIN, source);
    blocks.fill(Slot::Description, Role::System, &cast.description, "card");
    blocks.fill(Slot::Personality, Role::System, &cast.personality, "card");
    blocks.fill(Slot::Scenario, Role::System, &cast.scenario, "card");
    blocks.fill(Slot::Persona, Role::System, &cast.persona, "persona");
    for (role, text) in examples(&cast.examples) {
        blocks.fill(Slot::Example, role, &text, "card");
    }
    blocks.put(Slot::Status, Role::System, status, "world");
    // There is no last word but the card's.
    blocks.replacing(Slot::PostHistory, &cast.post_history, "", "card");
    blocks.made
}

/// Blocks, one after the other.
struct Blocks<'m, 'a> {
    macros: &'m mut Macros<'a>,
    made: Vec<Block>,
}

impl Blocks<'_, '_> {
    fn put(&mut self, slot: Slot, role: Role, text: &str, source: &'static str) {
        let text = text.trim().to_owned();
        if !text.is_empty() {
            self.made.push(Block { slot, role, text, source, left_out: None });
        }
    }

    fn fill(&mut self, slot: Slot, role: Role, text: &str, source: &'static str) {
        let text = self.macros.fill(text);
        self.put(slot, role, &text, source);
    }

    /// A text that replaces another may say where in its own words the replaced ones stand.
    fn replacing(&mut self, slot: Slot, text: &str, replaced: &str, source: &'static str) {
        let replaced = self.macros.fill(replaced);
        let text = self.macros.fill_over(text, &replaced);
        self.put(slot, Role::System, &text, source);
    }
}

/// The blocks of a cast that knows nothing else.
#[cfg(test)]
pub fn of_cast(cast: &Cast, status: &str) -> Vec<Block> {
    let (facts, none) = (cast.facts(), serde_json::Map::new());
    blueprint(cast, &mut Macros::new(&facts, none.clone(), none, &mut || 0.5), status)
}

/// Example turns from a card: blocks begin with `<START>`, turns with `{{user}}:` or `{{char}}:`.
fn examples(text: &str) -> Vec<(Role, String)> {
    let mut turns: Vec<(Role, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().eq_ignore_ascii_case("<START>")) {
        let spoken = line.trim_start();
        if let Some((role, rest)) = turn(spoken) {
            turns.push((role, rest.trim().to_owned()));
        } else if let Some((_, text)) = turns.last_mut() {
            text.push('\n');
            text.push_str(line);
        } else if !spoken.is_empty() {
            turns.push((Role::System, line.to_owned()));
        }
    }
    turns
}

/// The speaker of a line that begins a turn, and what follows; macros are read whatever their case.
fn turn(line: &str) -> Option<(Role, &str)> {
    [("{{user}}:", Role::User), ("{{char}}:", Role::Assistant)].into_iter().find_map(|(mark, role)| {
        let (head, rest) = line.split_at_checked(mark.len())?;
        head.eq_ignore_ascii_case(mark).then_some((role, rest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_become_turns() {
        let text = "<START>\n{{user}}: I swing.\n{{char}}: The ogre hits back.\n[HP -5]\n<START>\n{{user}}: I rest.";
        assert_eq!(
            examples(text),
            [
                (Role::User, "I swing.".to_owned()),
                (Role::Assistant, "The ogre hits back.\n[HP -5]".to_owned()),
                (Role::User, "I rest.".to_owned()),
            ]
        );
    }

    #[test]
    fn a_card_can_say_where_the_replaced_words_stand() {
        let cast = Cast {
            character: "Rin".into(),
            system: "First. {{Original}} 最后。".into(),
            post_history: "{{original}} Short.".into(),
            ..Cast::default()
        };
        let blocks = of_cast(&cast, "");
        assert!(blocks[0].text.starts_with("First. Write Rin's next reply"), "{}", blocks[0].text);
        assert!(blocks[0].text.ends_with("最后。"));
        assert_eq!(blocks[1].text, "Short.");
    }

    /// `domain.md` 6.4: what a block writes is seen by the blocks after it, and by none before.
    #[test]
    fn blocks_share_their_variables() {
        let cast = Cast {
            system: "{{setvar::mood::grey}}Be {{getvar::mood}}{{getvar::late}}.".into(),
            description: "{{getvar::mood}} eyes{{setvar::late::!}}".into(),
            post_history: "{{getvar::mood}}{{getvar::late}}".into(),
            ..Cast::default()
        };
        let told: Vec<String> = of_cast(&cast, "").into_iter().map(|block| block.text).collect();
        assert_eq!(told, ["Be grey.", "grey eyes", "grey!"]);
    }

    /// S0-37: every text of the cards has its slot, empty ones have none, macros are filled.
    #[test]
    fn every_text_has_its_slot() {
        let cast = Cast {
            user: "Ann".into(),
            persona: "{{user}} is a smith.".into(),
            character: "Rin".into(),
            description: "  ".into(),
            personality: "Calm.".into(),
            scenario: "A quay.".into(),
            examples: "Before.\n{{User}}: Hi {{char}}.\n{{CHAR}}: Hi <USER>.".into(),
            system: String::new(),
            post_history: "Answer as {{char}}.".into(),
            ..Cast::default()
        };
        let blocks = of_cast(&cast, "hp: 90 {{user}}");
        let told: Vec<(Slot, Role, &str, &str)> =
            blocks.iter().map(|block| (block.slot, block.role, block.text.as_str(), block.source)).collect();
        assert!(told[0].2.starts_with("Write Rin's next reply"), "{}", told[0].2);
        assert_eq!(
            told[1..],
            [
                (Slot::Personality, Role::System, "Calm.", "card"),
                (Slot::Scenario, Role::System, "A quay.", "card"),
                (Slot::Persona, Role::System, "Ann is a smith.", "persona"),
                (Slot::Example, Role::System, "Before.", "card"),
                (Slot::Example, Role::User, "Hi Rin.", "card"),
                (Slot::Example, Role::Assistant, "Hi Ann.", "card"),
                (Slot::Status, Role::System, "hp: 90 {{user}}", "world"),
                (Slot::PostHistory, Role::System, "Answer as Rin.", "card"),
            ]
        );
        for block in &blocks {
            assert_eq!(Slot::from_word(block.slot.word()), Some(block.slot));
        }
    }
}
