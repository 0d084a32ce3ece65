//! How much of the history goes with the blocks.
//!
//! A provider that has read the beginning of a prompt before need not read it again. So the history is not cut by one
//! message each turn: when it is full it is cut down to three quarters, and then only grows until it is full again
//! (`domain.md` 6.3).

use super::Block;

/// The history that goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    /// How many of the newest lines.
    pub kept: usize,
    /// Tokens of the whole prompt, estimated.
    pub tokens: usize,
}

/// How many of the newest lines fit beside the blocks into `budget` tokens. The newest always goes, whole; others go whole
/// or not at all. Fewer than were given means that the history is full.
pub fn fit(blocks: &[Block], newest_first: &[usize], budget: usize) -> Fit {
    let mut tokens = spent(blocks);
    let mut kept = 0;
    for (i, cost) in newest_first.iter().enumerate() {
        if i > 0 && tokens + cost > budget {
            break;
        }
        tokens += cost;
        kept += 1;
    }
    Fit { kept, tokens }
}

impl Fit {
    /// A full history cut in a step: as far back as the last prompt went, if that still fits (`began`: its position in
    /// `newest_first`), else down to three quarters of the budget.
    pub fn cut(self, blocks: &[Block], newest_first: &[usize], began: Option<usize>, budget: usize) -> Self {
        match began.filter(|began| *began < self.kept) {
            Some(began) => fit(blocks, newest_first.get(..=began).unwrap_or(newest_first), budget),
            None => fit(blocks, newest_first, budget / 4 * 3),
        }
    }
}

/// Tokens of the blocks that go, estimated.
pub fn spent(blocks: &[Block]) -> usize {
    blocks.iter().filter(|block| block.left_out.is_none()).map(|block| tokens(&block.text)).sum()
}

/// An honest estimate of the tokens of a text: four bytes of Latin script, one character of any other, and a few for the
/// frame of a message. Marked as an estimate wherever it is shown.
pub fn tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + other + 4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::Slot;
    use crate::tree::Role;
    use proptest::prelude::*;

    fn blocks(text: &str) -> Vec<Block> {
        vec![Block { slot: Slot::Main, role: Role::System, text: text.into(), source: "card", left_out: None }]
    }

    #[test]
    fn the_newest_line_goes_whole_and_older_ones_as_they_fit() {
        let blocks = blocks("Rin keeps a lamp.");
        assert_eq!(fit(&blocks, &[10_000, 5, 5], 100).kept, 1);
        let used = fit(&blocks, &[5], 1_000).tokens;
        assert_eq!(fit(&blocks, &[5, 5, 5, 5], used + 10).kept, 3);
        assert_eq!(fit(&blocks, &[], 10), Fit { kept: 0, tokens: tokens("Rin keeps a lamp.") });
    }

    /// The provider's cache holds: between two cuts the prompt only grows.
    #[test]
    fn a_full_history_is_cut_in_steps() {
        let (blocks, budget) = (blocks(""), 404);
        let mut starts = Vec::new();
        let mut began_at: Option<usize> = None;
        for turn in 1..=60 {
            let costs = vec![10; turn];
            let full = fit(&blocks, &costs, budget);
            let kept = if full.kept < turn {
                let began = began_at.map(|line| turn - 1 - line);
                full.cut(&blocks, &costs, began, budget).kept
            } else {
                full.kept
            };
            began_at = Some(turn - kept);
            starts.push(turn - kept);
            assert!(kept * 10 + 4 <= budget, "turn {turn} keeps {kept}");
        }
        assert!(starts.windows(2).all(|pair| pair[0] <= pair[1]));
        starts.dedup();
        assert_eq!(starts, [0, 12, 24], "cut twice in sixty turns, by a quarter each time");
    }

    proptest! {
        #[test]
        fn a_cut_history_always_fits(
            costs in proptest::collection::vec(1_usize..200, 1..60), began in proptest::option::of(0_usize..80), budget in 50_usize..2_000,
        ) {
            let blocks = blocks("");
            let full = fit(&blocks, &costs, budget);
            prop_assert!(full.kept >= 1 && full.kept <= costs.len());
            if full.kept < costs.len() {
                let cut = full.cut(&blocks, &costs, began, budget);
                prop_assert!(cut.kept >= 1 && cut.kept <= full.kept);
                prop_assert!(cut.kept == 1 || cut.tokens <= budget);
            }
        }
    }
}
