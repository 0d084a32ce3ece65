//! The blocks of a prompt: from cards and world.

use crate::tree::Role;

use super::{Block, Cast, Slot, macros};

const DEFAULT_MAIN: &str = "Write {{char}}'s next reply in a story that {{char}} and {{user}} tell together. Stay in \
                            character, describe what can be seen and heard, and never speak for {{user}}.";

/// The blocks of a prompt, in the order in which they are sent.
pub fn blueprint(cast: &Cast, status: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut put = |slot, role, text: &str, source| {
        let text = macros::fill(text, cast).trim().to_owned();
        if !text.is_empty() {
            blocks.push(Block { slot, role, text, source, left_out: None });
        }
    };
    let own_main = !cast.system.trim().is_empty();
    let (main, source) = if own_main { (cast.system.as_str(), "card") } else { (DEFAULT_MAIN, "default") };
    put(Slot::Main, Role::System, &with_original(main, DEFAULT_MAIN), source);
    put(Slot::Description, Role::System, &cast.description, "card");
    put(Slot::Personality, Role::System, &cast.personality, "card");
    put(Slot::Scenario, Role::System, &cast.scenario, "card");
    put(Slot::Persona, Role::System, &cast.persona, "persona");
    for (role, text) in examples(&cast.examples) {
        put(Slot::Example, role, &text, "card");
    }
    put(Slot::Status, Role::System, status, "world");
    // There is no last word but the card's.
    put(Slot::PostHistory, Role::System, &with_original(&cast.post_history, ""), "card");
    blocks
}

/// A card that replaces a text may say where in its own words the replaced ones stand.
pub fn with_original(own: &str, replaced: &str) -> String {
    const MACRO: &str = "{{original}}";
    let lower = own.to_ascii_lowercase();
    let mut out = String::with_capacity(own.len());
    let mut done = 0;
    for (at, _) in lower.match_indices(MACRO) {
        out.push_str(own.get(done..at).unwrap_or_default());
        out.push_str(replaced);
        done = at + MACRO.len();
    }
    out.push_str(own.get(done..).unwrap_or_default());
    out
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
        let blocks = blueprint(&cast, "");
        assert!(blocks[0].text.starts_with("First. Write Rin's next reply"), "{}", blocks[0].text);
        assert!(blocks[0].text.ends_with("最后。"));
        assert_eq!(blocks[1].text, "Short.");
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
        };
        let blocks = blueprint(&cast, "hp: 90");
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
                (Slot::Status, Role::System, "hp: 90", "world"),
                (Slot::PostHistory, Role::System, "Answer as Rin.", "card"),
            ]
        );
        for block in &blocks {
            assert_eq!(Slot::from_word(block.slot.word()), Some(block.slot));
        }
    }
}
