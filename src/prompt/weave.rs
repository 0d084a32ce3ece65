//! Blocks and history become messages.

use crate::tree::Role;

use super::{Block, Line, Sent, Slot};

/// Weaves blocks and history into messages: what is stable first, then the history, with what changes each turn just
/// before its last line, so that the provider's cache of the common beginning holds. Neighbours of one role are joined by
/// a blank line, empty ones dropped.
pub fn weave(blocks: &[Block], history: &[Line]) -> Vec<Sent> {
    let history: Vec<&Line> = history.iter().filter(|line| !line.text.trim().is_empty()).collect();
    let named = needs_names(&history);
    let mut sent: Vec<Sent> = Vec::new();
    let of = |wanted: &dyn Fn(Slot) -> bool| {
        blocks
            .iter()
            .filter(|block| block.left_out.is_none() && wanted(block.slot))
            .map(|block| Sent { role: block.role, name: None, text: block.text.clone() })
            .collect::<Vec<_>>()
    };
    sent.extend(of(&|slot| slot < Slot::Status));
    let (last, earlier) = match history.split_last() {
        Some((last, earlier)) => (Some(last), earlier),
        None => (None, history.as_slice()),
    };
    sent.extend(earlier.iter().map(|line| spoken(line, named)));
    sent.extend(of(&|slot| slot == Slot::Status));
    sent.extend(last.map(|line| spoken(line, named)));
    for end in [Slot::Filler, Slot::PostHistory, Slot::Instruction, Slot::Continued] {
        sent.extend(of(&|slot| slot == end));
    }
    join(sent)
}

/// Names are prefixed as soon as two people or two characters are on the path (`domain.md` 2.4).
fn needs_names(history: &[&Line]) -> bool {
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
    Sent { role: line.role, name: None, text }
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

/// How many of the first messages are expected to begin the next prompt too: the blocks before the history, and the history
/// but for its last line, behind which stands what changes each turn. Providers that keep what they have read are told so
/// (`domain.md` 6.3). `sent` is what [`weave`] made of both.
pub fn stable(blocks: &[Block], history: &[Line], sent: &[Sent]) -> usize {
    let said: Vec<Line> = history.iter().filter(|line| !line.text.trim().is_empty()).cloned().collect();
    let blocks: Vec<Block> = blocks.iter().filter(|block| block.slot < Slot::Status).cloned().collect();
    let earlier = said.split_last().map_or(said.as_slice(), |(_, earlier)| earlier);
    let stays = weave(&blocks, earlier);
    stays.iter().zip(sent).take_while(|(stays, sent)| stays == sent).count()
}

/// The block that a history without any user's text needs, or one in which a reply has the last word: model servers refuse
/// the one, and take the other for a text to go on from. Not needed where the blocks ask for something themselves.
pub fn filler(blocks: &[Block], history: &[Line], text: &str) -> Option<Block> {
    let mut said = history.iter().rev().filter(|line| !line.text.trim().is_empty()).map(|line| line.role);
    let has_last_word = said.clone().next() == Some(Role::Assistant);
    let asks = blocks.iter().any(|block| block.slot == Slot::Instruction);
    let is_needed = !asks && (has_last_word || !said.any(|role| role == Role::User));
    let filler =
        || Block { slot: Slot::Filler, role: Role::User, text: text.to_owned(), source: "settings", left_out: None };
    (is_needed && !text.trim().is_empty()).then(filler)
}

/// The block of a reply that the model is to go on from: the last message, and the model's own.
pub fn continued(text: String) -> Block {
    Block { slot: Slot::Continued, role: Role::Assistant, text, source: "reply", left_out: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Cast;
    use crate::prompt::blueprint::of_cast;

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

    fn woven(blocks: &[Block], history: &[Line]) -> Vec<(Role, String)> {
        weave(blocks, history).into_iter().map(|sent| (sent.role, sent.text)).collect()
    }

    /// S0-03, S4-51: the model sees a plain list; blocks in order, macros filled in, nothing of the tree.
    #[test]
    fn stable_blocks_first_and_the_world_just_before_the_last_line() {
        let blocks = of_cast(&Cast { system: "Be brief.".into(), post_history: "Go on.".into(), ..cast() }, "hp: 90");
        let history = [line(Role::Assistant, "Rin", "Hello."), line(Role::User, "Ann", "Hi.")];
        assert_eq!(
            woven(&blocks, &history),
            [
                (Role::System, "Be brief.\n\nRin keeps a lamp.".to_owned()),
                (Role::Assistant, "Hello.".to_owned()),
                (Role::System, "hp: 90".to_owned()),
                (Role::User, "Hi.".to_owned()),
                (Role::System, "Go on.".to_owned()),
            ]
        );
    }

    /// `domain.md` 6.3: what a provider is told to keep begins the next prompt too.
    #[test]
    fn what_stays_begins_the_next_prompt() {
        let blocks =
            |hp: &str| of_cast(&Cast { system: "Be brief.".into(), post_history: "Go on.".into(), ..cast() }, hp);
        let mut history = vec![line(Role::Assistant, "Rin", "Hello."), line(Role::User, "Ann", "Hi.")];
        for turn in 0..4 {
            let now = weave(&blocks("hp: 90"), &history);
            let stays = stable(&blocks("hp: 90"), &history, &now);
            assert_eq!(stays, 2 + 2 * turn, "the card, and all lines but the last");
            history.extend([line(Role::Assistant, "Rin", "Yes?"), line(Role::User, "Ann", "On.")]);
            let next = weave(&blocks("hp: 70"), &history);
            assert_eq!(now[..stays], next[..stays]);
        }
        assert_eq!(stable(&[], &[], &[]), 0);
    }

    #[test]
    fn two_people_are_told_apart_by_name() {
        let history =
            [line(Role::User, "Ann", "Hi."), line(Role::User, "Bob", "Hi."), line(Role::Assistant, "Rin", "Yes?")];
        let texts: Vec<String> = weave(&[], &history).into_iter().map(|m| m.text).collect();
        assert_eq!(texts, ["Ann: Hi.\n\nBob: Hi.", "Rin: Yes?"]);
        let two_characters = [line(Role::Assistant, "Rin", "Yes?"), line(Role::Assistant, "Moss", "No.")];
        assert_eq!(woven(&[], &two_characters), [(Role::Assistant, "Rin: Yes?\n\nMoss: No.".to_owned())]);
        let narrated =
            [line(Role::User, "Ann", "Hi."), line(Role::System, "Fate", "Rain."), line(Role::User, "Ann", "Oh.")];
        let texts: Vec<String> = weave(&[], &narrated).into_iter().map(|m| m.text).collect();
        assert_eq!(texts, ["Hi.", "Rain.", "Oh."], "narration is nobody's");
    }

    #[test]
    fn empty_texts_are_left_out_and_their_neighbours_join() {
        let history =
            [line(Role::User, "Ann", "One."), line(Role::Assistant, "Rin", " \n"), line(Role::User, "Ann", "Two.")];
        assert_eq!(woven(&[], &history), [(Role::User, "One.\n\nTwo.".to_owned())]);
        let two = [line(Role::User, "Ann", "One."), line(Role::User, "Bob", "Two."), line(Role::Assistant, "Rin", "")];
        assert_eq!(woven(&[], &two), [(Role::User, "Ann: One.\n\nBob: Two.".to_owned())], "no name without words");
        assert_eq!(woven(&[], &[]), []);
    }

    /// S4-35: a prompt without any user's text gets one, and the blueprint shows it.
    #[test]
    fn a_history_without_a_user_is_filled() {
        let greeting = [line(Role::Assistant, "Rin", "Hello."), line(Role::User, "Ann", " ")];
        let mut blocks = of_cast(&Cast { system: "Be brief.".into(), ..Cast::default() }, "");
        blocks.extend(filler(&[], &greeting, "[Go on]"));
        assert_eq!(
            woven(&blocks, &greeting),
            [
                (Role::System, "Be brief.".to_owned()),
                (Role::Assistant, "Hello.".to_owned()),
                (Role::User, "[Go on]".to_owned()),
            ]
        );
        assert_eq!(filler(&[], &greeting, ""), None, "switched off");
        assert_eq!(filler(&[], &[line(Role::User, "Ann", "Hi.")], "[Go on]"), None);
    }

    /// S4-35: where messages between were switched off and a reply has the last word, the model is asked to go on.
    #[test]
    fn a_reply_does_not_have_the_last_word() {
        let ann = || line(Role::User, "Ann", "Hi.");
        let rin = |text| line(Role::Assistant, "Rin", text);
        let filled = |history: &[Line]| filler(&[], history, "[Go on]").is_some();
        assert!(filled(&[ann(), rin("Yes?")]) && filled(&[ann(), rin("Yes?"), line(Role::User, "Ann", " \n")]));
        assert!(!filled(&[rin("Yes?"), ann()]) && !filled(&[ann(), rin(" ")]));
        assert!(!filled(&[ann(), rin("Yes?"), line(Role::System, "", "Rain.")]), "narration is answered as it is");
    }

    /// `domain.md` 5.8: a text to go on from is the last message whatever else there is, and the model's own.
    #[test]
    fn a_text_to_go_on_from_comes_last() {
        let mut blocks = vec![continued("She lights".into())];
        blocks.extend(of_cast(&Cast { system: "Be brief.".into(), post_history: "Go on.".into(), ..cast() }, "hp: 90"));
        let sent = woven(&blocks, &[line(Role::User, "Ann", "Hi.")]);
        assert_eq!(sent.last(), Some(&(Role::Assistant, "She lights".to_owned())));
        assert_eq!(sent.iter().filter(|(role, _)| *role == Role::Assistant).count(), 1);
    }
}
