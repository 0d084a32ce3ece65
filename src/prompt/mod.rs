//! What the model is sent: a blueprint of typed blocks and the history, woven into messages within a budget. Pure; the turn
//! reads everything first and hands it in.
//!
//! - [`blueprint()`] makes the blocks from character, persona and world; [`weave`] orders, joins and fits them.
//! - [`macros`] fills in names, [`tags`] hides what models write for machines, [`status`] shows the world to the model.
//!
//! To add a block: a [`Slot`], its text in `blueprint`, and whether it stands before or behind the history. Every block
//! that is left out says why, and the trace keeps it.

pub mod macros;
pub mod status;
pub mod tags;

use crate::tree::Role;

/// Where a block belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Slot {
    /// The instructions of the card, or the default ones.
    Main,
    /// Who the character is.
    Description,
    /// How the character is.
    Personality,
    /// Where the story is set.
    Scenario,
    /// Who the user plays.
    Persona,
    /// Example turns.
    Example,
    /// The world as its schemas show it; changes each turn, so it stands behind the history.
    Status,
    /// The last word to the model.
    PostHistory,
}

impl Slot {
    /// The word for it in traces.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Main => "main",
            Self::Description => "description",
            Self::Personality => "personality",
            Self::Scenario => "scenario",
            Self::Persona => "persona",
            Self::Example => "example",
            Self::Status => "status",
            Self::PostHistory => "postHistory",
        }
    }

    /// Reads the word.
    pub fn from_word(word: &str) -> Option<Self> {
        const ALL: [Slot; 8] = [
            Slot::Main,
            Slot::Description,
            Slot::Personality,
            Slot::Scenario,
            Slot::Persona,
            Slot::Example,
            Slot::Status,
            Slot::PostHistory,
        ];
        ALL.into_iter().find(|slot| slot.word() == word)
    }
}

/// One typed block of the blueprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Where it belongs.
    pub slot: Slot,
    /// Who says it.
    pub role: Role,
    /// The text, macros filled in.
    pub text: String,
    /// Where it comes from: `card`, `persona`, `world`, `default`.
    pub source: &'static str,
}

/// One message of the history, as it goes into a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Who it speaks as.
    pub role: Role,
    /// The speaker.
    pub name: Option<String>,
    /// The text, with what is hidden from models taken out.
    pub text: String,
}

/// One message as sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Who it speaks as.
    pub role: Role,
    /// The text.
    pub text: String,
}

/// Who plays: names and texts of the cards, macros not yet filled in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cast {
    /// The user's name in the story.
    pub user: String,
    /// Who the user plays.
    pub persona: String,
    /// The character's name.
    pub character: String,
    /// Who the character is.
    pub description: String,
    /// How the character is.
    pub personality: String,
    /// Where the story is set.
    pub scenario: String,
    /// Example turns, in the form of character cards.
    pub examples: String,
    /// Instructions that replace the default ones.
    pub system: String,
    /// The last word to the model.
    pub post_history: String,
}

const DEFAULT_MAIN: &str = "Write {{char}}'s next reply in a story that {{char}} and {{user}} tell together. Stay in \
                            character, describe what can be seen and heard, and never speak for {{user}}.";

/// The blocks of a prompt, in the order in which they are sent.
pub fn blueprint(cast: &Cast, status: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut put = |slot, role, text: &str, source| {
        let text = macros::fill(text, cast).trim().to_owned();
        if !text.is_empty() {
            blocks.push(Block { slot, role, text, source });
        }
    };
    let own_main = !cast.system.trim().is_empty();
    let (main, source) = if own_main { (cast.system.as_str(), "card") } else { (DEFAULT_MAIN, "default") };
    put(Slot::Main, Role::System, main, source);
    put(Slot::Description, Role::System, &cast.description, "card");
    put(Slot::Personality, Role::System, &cast.personality, "card");
    put(Slot::Scenario, Role::System, &cast.scenario, "card");
    put(Slot::Persona, Role::System, &cast.persona, "persona");
    for (role, text) in examples(&cast.examples) {
        put(Slot::Example, role, &text, "card");
    }
    put(Slot::Status, Role::System, status, "world");
    put(Slot::PostHistory, Role::System, &cast.post_history, "card");
    blocks
}

/// Example turns from a card: blocks begin with `<START>`, turns with `{{user}}:` or `{{char}}:`.
fn examples(text: &str) -> Vec<(Role, String)> {
    let mut turns: Vec<(Role, String)> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().eq_ignore_ascii_case("<START>")) {
        let spoken = line.trim_start();
        if let Some(rest) = spoken.strip_prefix("{{user}}:") {
            turns.push((Role::User, rest.trim().to_owned()));
        } else if let Some(rest) = spoken.strip_prefix("{{char}}:") {
            turns.push((Role::Assistant, rest.trim().to_owned()));
        } else if let Some((_, text)) = turns.last_mut() {
            text.push('\n');
            text.push_str(line);
        } else if !spoken.is_empty() {
            turns.push((Role::System, line.to_owned()));
        }
    }
    turns
}

/// The history that fits, and what was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitted {
    /// How many of the newest lines fit.
    pub kept: usize,
    /// Tokens of the whole prompt, estimated.
    pub tokens: usize,
}

/// How many of the newest lines fit beside the blocks into `budget` tokens. The newest always goes, whole.
pub fn fit(blocks: &[Block], newest_first: &[usize], budget: usize) -> Fitted {
    let mut tokens: usize = blocks.iter().map(|block| tokens(&block.text)).sum();
    let mut kept = 0;
    for (i, cost) in newest_first.iter().enumerate() {
        if i > 0 && tokens + cost > budget {
            break;
        }
        tokens += cost;
        kept += 1;
    }
    Fitted { kept, tokens }
}

/// An honest estimate of the tokens of a text: four bytes of Latin script, one character of any other, and a few for the
/// frame of a message. Marked as an estimate wherever it is shown.
pub fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + other + 4
}

/// Weaves blocks and history into messages: what is stable first, then the history, with what changes each turn just
/// before its last line, so that the provider's cache of the common beginning holds. Neighbours of one role are joined by
/// a blank line, empty ones dropped.
pub fn weave(blocks: &[Block], history: &[Line]) -> Vec<Sent> {
    let named = needs_names(history);
    let mut sent: Vec<Sent> = Vec::new();
    let of = |wanted: &dyn Fn(Slot) -> bool| {
        blocks
            .iter()
            .filter(|block| wanted(block.slot))
            .map(|block| Sent { role: block.role, text: block.text.clone() })
            .collect::<Vec<_>>()
    };
    sent.extend(of(&|slot| slot < Slot::Status));
    let (last, earlier) = match history.split_last() {
        Some((last, earlier)) => (Some(last), earlier),
        None => (None, history),
    };
    sent.extend(earlier.iter().map(|line| spoken(line, named)));
    sent.extend(of(&|slot| slot == Slot::Status));
    sent.extend(last.map(|line| spoken(line, named)));
    sent.extend(of(&|slot| slot == Slot::PostHistory));
    join(sent)
}

/// Names are prefixed as soon as two people or two characters are on the path (`domain.md` 2.4).
fn needs_names(history: &[Line]) -> bool {
    [Role::User, Role::Assistant].into_iter().any(|role| {
        let mut names = history.iter().filter(|line| line.role == role).filter_map(|line| line.name.as_deref());
        names.next().is_some_and(|first| names.any(|name| name != first))
    })
}

fn spoken(line: &Line, named: bool) -> Sent {
    let text = match &line.name {
        Some(name) if named && line.role != Role::System => format!("{name}: {}", line.text),
        _ => line.text.clone(),
    };
    Sent { role: line.role, text }
}

fn join(sent: Vec<Sent>) -> Vec<Sent> {
    let mut joined: Vec<Sent> = Vec::new();
    for message in sent.into_iter().filter(|message| !message.text.trim().is_empty()) {
        match joined.last_mut() {
            Some(last) if last.role == message.role => {
                last.text.push_str("\n\n");
                last.text.push_str(&message.text);
            }
            _ => joined.push(message),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(role: Role, name: &str, text: &str) -> Line {
        Line { role, name: Some(name.into()), text: text.into() }
    }

    fn cast() -> Cast {
        Cast {
            user: "Ann".into(),
            character: "Rin".into(),
            description: "{{char}} keeps a lamp.".into(),
            ..Cast::default()
        }
    }

    /// S0-03, S4-51: the model sees a plain list; blocks in order, macros filled in, nothing of the tree.
    #[test]
    fn stable_blocks_first_and_the_world_just_before_the_last_line() {
        let blocks = blueprint(&Cast { system: "Be brief.".into(), ..cast() }, "hp: 90");
        let history = [line(Role::Assistant, "Rin", "Hello."), line(Role::User, "Ann", "Hi.")];
        let texts: Vec<(Role, String)> = weave(&blocks, &history).into_iter().map(|m| (m.role, m.text)).collect();
        assert_eq!(
            texts,
            [
                (Role::System, "Be brief.\n\nRin keeps a lamp.".to_owned()),
                (Role::Assistant, "Hello.".to_owned()),
                (Role::System, "hp: 90".to_owned()),
                (Role::User, "Hi.".to_owned()),
            ]
        );
    }

    #[test]
    fn two_people_are_told_apart_by_name() {
        let history =
            [line(Role::User, "Ann", "Hi."), line(Role::User, "Bob", "Hi."), line(Role::Assistant, "Rin", "Yes?")];
        let texts: Vec<String> = weave(&[], &history).into_iter().map(|m| m.text).collect();
        assert_eq!(texts, ["Ann: Hi.\n\nBob: Hi.", "Rin: Yes?"]);
    }

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
    fn the_newest_line_goes_whole_and_older_ones_as_they_fit() {
        let blocks = blueprint(&cast(), "");
        assert_eq!(fit(&blocks, &[10_000, 5, 5], 100).kept, 1);
        let used = fit(&blocks, &[5], 1_000).tokens;
        assert_eq!(fit(&blocks, &[5, 5, 5, 5], used + 10).kept, 3);
    }
}
