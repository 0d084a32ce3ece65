//! Which blocks go when there is no room for all of them (`domain.md` 6.2). Who plays is never left out in silence: then there
//! is no prompt, and that is said.

use crate::tree::Role;

use super::fit::{spent, tokens};
use super::{Block, Slot};

/// Why a block is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOut {
    /// There was no room.
    Budget,
    /// Another block says the same.
    Duplicate,
}

impl LeftOut {
    /// The word for it in traces.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Duplicate => "duplicate",
        }
    }

    /// Reads the word.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Budget, Self::Duplicate].into_iter().find(|one| one.word() == word)
    }
}

/// What may never be left out is larger than the whole prompt may be. Both in tokens, estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge {
    /// What it takes.
    pub needed: usize,
    /// What there is.
    pub budget: usize,
    /// Whether texts of a preset are among it.
    pub has_preset: bool,
}

/// Leaves out blocks until the others fit into `budget` beside the newest message, which takes `newest` tokens and always
/// goes. What another block has said already goes first; then example turns, exchange by exchange from the first on, as long
/// as the history has less than a quarter for itself; last the state of the world. What says who plays stays.
///
/// # Errors
/// What stays is larger than the budget. Then nothing is sent, and every block is marked as left out.
pub fn choose(blocks: &mut [Block], newest: usize, budget: usize) -> Result<(), TooLarge> {
    leave_out_doubles(blocks);
    let needed = blocks.iter().filter(|block| block.left_out.is_none() && !may_go(block.slot));
    let needed = needed.map(|block| tokens(&block.text)).sum();
    if needed > budget {
        blocks.iter_mut().for_each(|block| _ = block.left_out.get_or_insert(LeftOut::Budget));
        return Err(TooLarge { needed, budget, has_preset: false });
    }
    let room = budget.saturating_sub(newest.max(budget / 4));
    while spent(blocks) > room {
        let Some(first) = next_example(blocks, 0) else { break };
        let end = next_question(blocks, first + 1);
        blocks.iter_mut().take(end).skip(first).filter(|block| block.slot == Slot::Example).for_each(leave_out);
    }
    if spent(blocks).saturating_add(newest) > budget {
        blocks.iter_mut().filter(|block| block.slot == Slot::Status).for_each(leave_out);
    }
    Ok(())
}

/// Whether a prompt without it is still a prompt for the same story.
const fn may_go(slot: Slot) -> bool {
    matches!(slot, Slot::Example | Slot::Status)
}

fn leave_out(block: &mut Block) {
    block.left_out = Some(LeftOut::Budget);
}

/// Cards often say the same in two places.
fn leave_out_doubles(blocks: &mut [Block]) {
    let mut said: Vec<String> = Vec::new();
    for block in blocks.iter_mut().filter(|block| block.slot < Slot::Example) {
        if said.contains(&block.text) {
            block.left_out = Some(LeftOut::Duplicate);
        } else {
            said.push(block.text.clone());
        }
    }
}

/// The first example that goes, from a place on.
fn next_example(blocks: &[Block], from: usize) -> Option<usize> {
    let goes = |block: &Block| block.slot == Slot::Example && block.left_out.is_none();
    blocks.iter().enumerate().skip(from).find(|(_, block)| goes(block)).map(|(i, _)| i)
}

/// Where the next exchange of the examples begins, from a place on, or where they end.
fn next_question(blocks: &[Block], from: usize) -> usize {
    let is_answer = |block: &Block| block.slot == Slot::Example && block.role != Role::User;
    blocks.iter().enumerate().skip(from).find(|(_, block)| !is_answer(block)).map_or(blocks.len(), |(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block(slot: Slot, role: Role, size: usize) -> Block {
        // A different letter for each block: none is a double.
        let letter = char::from(b'a' + u8::try_from(size % 26).unwrap());
        Block { slot, role, text: letter.to_string().repeat(size * 4), source: "card", left_out: None }
    }

    /// Main 10 tokens, four example turns of 20 each, the world of 30; four more for the frame of each.
    fn blocks() -> Vec<Block> {
        vec![
            block(Slot::Main, Role::System, 6),
            block(Slot::Example, Role::User, 16),
            block(Slot::Example, Role::Assistant, 15),
            block(Slot::Example, Role::User, 14),
            block(Slot::Example, Role::Assistant, 13),
            block(Slot::Status, Role::System, 26),
            block(Slot::PostHistory, Role::System, 5),
        ]
    }

    fn goes(newest: usize, budget: usize) -> (Vec<usize>, Result<(), TooLarge>) {
        let mut blocks = blocks();
        let result = choose(&mut blocks, newest, budget);
        let goes = blocks.iter().enumerate().filter(|(_, block)| block.left_out.is_none()).map(|(i, _)| i).collect();
        (goes, result)
    }

    /// S0-37: examples go first, by exchanges, then the world; who plays stays, or nothing is sent.
    #[test]
    fn what_is_left_out_first() {
        // 10 + 20 + 19 + 18 + 17 + 30 + 9 = 123 tokens.
        for (newest, budget, expected) in [
            (0, 164, vec![0, 1, 2, 3, 4, 5, 6]),
            (41, 164, vec![0, 1, 2, 3, 4, 5, 6]),
            (42, 164, vec![0, 3, 4, 5, 6]),
            (5, 162, vec![0, 3, 4, 5, 6]),
            (5, 100, vec![0, 5, 6]),
            (51, 100, vec![0, 5, 6]),
            (52, 100, vec![0, 6]),
            (90_000, 100, vec![0, 6]),
            (0, 19, vec![0, 6]),
        ] {
            assert_eq!(goes(newest, budget), (expected, Ok(())), "{newest} of {budget}");
        }
        assert_eq!(goes(0, 18), (vec![], Err(TooLarge { needed: 19, budget: 18, has_preset: false })));
    }

    #[test]
    fn what_is_said_twice_is_sent_once() {
        let twice = |slot| block(slot, Role::System, 7);
        let mut blocks = [
            twice(Slot::Main),
            twice(Slot::Description),
            block(Slot::Scenario, Role::System, 8),
            twice(Slot::PostHistory),
        ];
        choose(&mut blocks, 0, 1_000).unwrap();
        let left_out: Vec<Option<LeftOut>> = blocks.iter().map(|block| block.left_out).collect();
        assert_eq!(left_out, [None, Some(LeftOut::Duplicate), None, None], "the last word is one wherever it was said");
        for one in [LeftOut::Budget, LeftOut::Duplicate] {
            assert_eq!(LeftOut::from_word(one.word()), Some(one));
        }
    }

    proptest! {
        /// Whatever the sizes: what goes fits beside the newest message unless that is too large itself, and a larger budget
        /// never sends fewer blocks.
        #[test]
        fn what_goes_fits(
            sizes in proptest::collection::vec((0_usize..3, 1_usize..60), 0..12), newest in 0_usize..400, budget in 0_usize..900,
        ) {
            let all: Vec<Block> = sizes
                .iter()
                .enumerate()
                .map(|(i, (kind, size))| match kind {
                    0 => block(Slot::Main, Role::System, *size),
                    1 => block(Slot::Example, if i % 2 == 0 { Role::User } else { Role::Assistant }, *size),
                    _ => block(Slot::Status, Role::System, *size),
                })
                .collect();
            let mut chosen = all.clone();
            match choose(&mut chosen, newest, budget) {
                Err(TooLarge { needed, .. }) => {
                    prop_assert!(needed > budget && chosen.iter().all(|block| block.left_out.is_some()));
                }
                Ok(()) => {
                    let may_go_left = chosen.iter().any(|block| block.left_out.is_none() && may_go(block.slot));
                    prop_assert!(spent(&chosen) + newest <= budget || !may_go_left);
                    let mut wider = all;
                    choose(&mut wider, newest, budget + 100).unwrap();
                    let count = |blocks: &[Block]| blocks.iter().filter(|block| block.left_out.is_none()).count();
                    prop_assert!(count(&wider) >= count(&chosen));
                }
            }
        }
    }
}
