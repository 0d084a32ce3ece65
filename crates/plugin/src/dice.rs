//! Dice: notation, rolling, and the recorded result (`domain.md` 3.8).
//!
//! The n-th roll of a hook at a node draws from SplitMix64, seeded by blake3 over (session seed, the node's dice seed,
//! plugin, hook, n). So a replay of a node has the same dice, and another generation has others. A recorded roll takes
//! precedence over a computed one: generators may change, history may not.

use serde::{Deserialize, Serialize};

use clotho_core::clock::SplitMix64;

/// The most dice of one roll.
pub const MAX_DICE: u32 = 100;
/// The most faces of a die.
pub const MAX_FACES: u32 = 1_000;
const MAX_TERMS: usize = 16;
const MAX_NUMBER: u32 = 1_000_000;

/// One recorded roll of a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roll {
    pub plugin: String,
    pub hook: String,
    /// Position among the rolls of that hook, counted from 0.
    pub n: u32,
    /// What was rolled, in normal form: `2d6+3`, `chance(0.25)`, `pick(5)`.
    pub spec: String,
    /// Every die in order, including those that did not count.
    pub dice: Vec<i64>,
    /// The sum of the dice that count; 1 or 0 for a chance; the position for a pick.
    pub total: i64,
}

/// The two seeds of a node's dice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DiceSeeds {
    /// Seed of the session.
    pub session: u64,
    /// Seed of the node; copies of the node keep it.
    pub node: u64,
}

impl DiceSeeds {
    /// Returns the generator of the `n`-th roll of a hook.
    pub fn generator(self, plugin: &str, hook: &str, n: u32) -> SplitMix64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"clotho dice 1");
        hasher.update(&self.session.to_le_bytes()).update(&self.node.to_le_bytes());
        for text in [plugin, hook] {
            // The length prefix keeps different pairs of names from hashing the same.
            hasher.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes()).update(text.as_bytes());
        }
        hasher.update(&n.to_le_bytes());
        let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
        SplitMix64::new(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }
}

/// Why a text is not a valid roll.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MalformedDice {
    /// The text does not follow the grammar.
    #[error("\"{0}\" is not a roll; write \"d20\", \"2d6+3\" or \"4d6kh3\"")]
    Grammar(String),
    /// No dice, or more than 100.
    #[error("a roll has 1 to {MAX_DICE} dice")]
    Dice,
    /// No faces, or more than 1000.
    #[error("a die has 1 to {MAX_FACES} faces")]
    Faces,
    /// No dice to keep, or more than are rolled.
    #[error("\"kh\" and \"kl\" keep at least one die and at most all dice")]
    Keep,
    /// A number is too large, or there are too many terms.
    #[error("a roll has at most {MAX_TERMS} terms and no number above {MAX_NUMBER}")]
    TooLong,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiceTerm {
    Number(u32),
    Dice { count: u32, faces: u32, keep: KeepRule },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeepRule {
    All,
    Highest(u32),
    Lowest(u32),
}

/// A parsed roll: signed terms with at most `MAX_DICE` dice in all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiceSpec {
    terms: Vec<(bool, DiceTerm)>,
}

/// The result of a roll.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiceResult {
    /// Every die, in order.
    pub dice: Vec<i64>,
    /// The sum of the dice that count.
    pub total: i64,
}

impl DiceSpec {
    /// Parses `NdF`, `NdFkhK`, `NdFklK`, `d%` and whole numbers, joined by `+` and `-`. Spaces and case do not matter.
    ///
    /// # Errors
    /// Returns the rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, MalformedDice> {
        let grammar = || MalformedDice::Grammar(text.chars().take(40).collect());
        let tidy: String = text.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect();
        if tidy.len() > 128 {
            return Err(MalformedDice::TooLong);
        }
        let mut terms = Vec::new();
        let mut rest = tidy.as_str();
        let mut minus = rest.starts_with('-');
        rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        loop {
            let end = rest.find(['+', '-']).unwrap_or(rest.len());
            let (term, after) = rest.split_at(end);
            terms.push((minus, DiceTerm::parse(term, &grammar)?));
            if after.is_empty() {
                break;
            }
            minus = after.starts_with('-');
            rest = after.strip_prefix(['+', '-']).unwrap_or(after);
        }
        Self { terms }.check()
    }

    fn check(self) -> Result<Self, MalformedDice> {
        let dice: u32 = self.terms.iter().fold(0, |sum, (_, term)| match term {
            DiceTerm::Dice { count, .. } => sum.saturating_add(*count),
            DiceTerm::Number(_) => sum,
        });
        if self.terms.len() > MAX_TERMS {
            Err(MalformedDice::TooLong)
        } else if dice == 0 || dice > MAX_DICE {
            Err(MalformedDice::Dice)
        } else {
            Ok(self)
        }
    }

    /// Rolls the dice.
    pub fn roll(&self, random: &mut SplitMix64) -> DiceResult {
        let mut fall = DiceResult { dice: Vec::new(), total: 0 };
        for (minus, term) in &self.terms {
            let sum = match *term {
                DiceTerm::Number(n) => i64::from(n),
                DiceTerm::Dice { count, faces, keep } => {
                    let thrown: Vec<i64> = (0..count).map(|_| roll_die(random, faces)).collect();
                    let sum = keep.sum(&thrown);
                    fall.dice.extend(thrown);
                    sum
                }
            };
            fall.total += if *minus { -sum } else { sum };
        }
        fall
    }
}

impl std::fmt::Display for DiceSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (minus, term)) in self.terms.iter().enumerate() {
            match (*minus, i) {
                (true, _) => f.write_str("-")?,
                (false, 0) => {}
                (false, _) => f.write_str("+")?,
            }
            match *term {
                DiceTerm::Number(n) => write!(f, "{n}")?,
                DiceTerm::Dice { count, faces, keep } => {
                    write!(f, "{count}d{faces}")?;
                    match keep {
                        KeepRule::All => {}
                        KeepRule::Highest(k) => write!(f, "kh{k}")?,
                        KeepRule::Lowest(k) => write!(f, "kl{k}")?,
                    }
                }
            }
        }
        Ok(())
    }
}

fn roll_die(random: &mut SplitMix64, faces: u32) -> i64 {
    i64::try_from(random.next_below(u64::from(faces))).unwrap_or(0) + 1
}

impl KeepRule {
    fn sum(self, thrown: &[i64]) -> i64 {
        let mut sorted = thrown.to_vec();
        sorted.sort_unstable();
        let count = |k: u32| usize::try_from(k).unwrap_or(usize::MAX);
        match self {
            Self::All => sorted.iter().sum(),
            Self::Highest(k) => sorted.iter().rev().take(count(k)).sum(),
            Self::Lowest(k) => sorted.iter().take(count(k)).sum(),
        }
    }
}

impl DiceTerm {
    fn parse(text: &str, grammar: &impl Fn() -> MalformedDice) -> Result<Self, MalformedDice> {
        let Some((count, rest)) = text.split_once('d') else {
            return Ok(Self::Number(number(text, grammar)?));
        };
        let count = if count.is_empty() { 1 } else { number(count, grammar)? };
        let (faces, keep) = match rest.split_once('k') {
            None => (rest, KeepRule::All),
            Some((faces, keep)) => (faces, KeepRule::parse(keep, grammar)?),
        };
        let faces = if faces == "%" { 100 } else { number(faces, grammar)? };
        if count == 0 || count > MAX_DICE {
            return Err(MalformedDice::Dice);
        }
        if faces == 0 || faces > MAX_FACES {
            return Err(MalformedDice::Faces);
        }
        if let KeepRule::Highest(k) | KeepRule::Lowest(k) = keep
            && (k == 0 || k > count)
        {
            return Err(MalformedDice::Keep);
        }
        Ok(Self::Dice { count, faces, keep })
    }
}

impl KeepRule {
    /// Parses `h3` or `l1`; `h` or `l` alone keeps one die.
    fn parse(text: &str, grammar: &impl Fn() -> MalformedDice) -> Result<Self, MalformedDice> {
        let one_or = |k: &str| if k.is_empty() { Ok(1) } else { number(k, grammar) };
        if let Some(k) = text.strip_prefix('h') {
            Ok(Self::Highest(one_or(k)?))
        } else if let Some(k) = text.strip_prefix('l') {
            Ok(Self::Lowest(one_or(k)?))
        } else {
            Err(grammar())
        }
    }
}

fn number(text: &str, grammar: &impl Fn() -> MalformedDice) -> Result<u32, MalformedDice> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(grammar());
    }
    match text.parse::<u32>() {
        Ok(n) if n <= MAX_NUMBER => Ok(n),
        _ => Err(MalformedDice::TooLong),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dice_valid_notation_is_parsed() {
        let check = |text: &str, tidy: &str| assert_eq!(DiceSpec::parse(text).unwrap().to_string(), tidy, "{text}");
        check("d20", "1d20");
        check(" 2D6 + 3 ", "2d6+3");
        check("4d6kh3", "4d6kh3");
        check("2d20kl-1", "2d20kl1-1");
        check("d%", "1d100");
        check("-1d4+10", "-1d4+10");
        check("1d4-3", "1d4-3");
    }

    #[test]
    fn dice_invalid_notation_returns_error() {
        let check = |text: &str, why: &str| assert_eq!(DiceSpec::parse(text).unwrap_err().to_string(), why, "{text}");
        let grammar = |text: &str| format!("\"{text}\" is not a roll; write \"d20\", \"2d6+3\" or \"4d6kh3\"");
        for text in ["", "sword", "2d", "d", "2d6+", "2d6++1", "2d6kx", "2x6", "1.5d6", "٣d6", "2d6kh3kl1"] {
            check(text, &grammar(text));
        }
        check("0d6", "a roll has 1 to 100 dice");
        check("7", "a roll has 1 to 100 dice");
        check("60d6+60d6", "a roll has 1 to 100 dice");
        check("101d6", "a roll has 1 to 100 dice");
        check("d0", "a die has 1 to 1000 faces");
        check("d1001", "a die has 1 to 1000 faces");
        check("2d6kh3", "\"kh\" and \"kl\" keep at least one die and at most all dice");
        check("d6+99999999999", "a roll has at most 16 terms and no number above 1000000");
        check("d6+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1", "a roll has at most 16 terms and no number above 1000000");
    }

    #[test]
    fn dice_keep_highest_and_lowest_select_right_dice() {
        assert_eq!(KeepRule::Highest(2).sum(&[3, 6, 1, 4]), 10);
        assert_eq!(KeepRule::Lowest(1).sum(&[3, 6, 1, 4]), 1);
        assert_eq!(KeepRule::All.sum(&[3, 6, 1, 4]), 14);
    }

    #[test]
    fn dice_generator_depends_on_node_plugin_hook_and_index() {
        let draw = |seeds: DiceSeeds, plugin: &str, hook: &str, n: u32| seeds.generator(plugin, hook, n).next_u64();
        let seeds = DiceSeeds { session: 1, node: 2 };
        let first = draw(seeds, "combat", "on_reply", 0);
        assert_eq!(first, draw(seeds, "combat", "on_reply", 0));
        for other in [
            draw(DiceSeeds { node: 3, ..seeds }, "combat", "on_reply", 0),
            draw(DiceSeeds { session: 2, ..seeds }, "combat", "on_reply", 0),
            draw(seeds, "combao", "n_reply", 0),
            draw(seeds, "combat", "on_input", 0),
            draw(seeds, "combat", "on_reply", 1),
        ] {
            assert_ne!(first, other);
        }
        // Recorded dice are facts: these numbers must never change.
        assert_eq!(DiceSpec::parse("3d6").unwrap().roll(&mut seeds.generator("combat", "on_reply", 0)).dice, [4, 2, 2]);
    }

    proptest! {
        #[test]
        fn dice_random_text_fails_or_rolls_within_bounds(text in "[ 0-9dkhl%+-]{0,24}|.{0,24}", seed: u64) {
            if let Ok(dice) = DiceSpec::parse(&text) {
                let fall = dice.roll(&mut SplitMix64::new(seed));
                prop_assert!(fall.dice.len() <= 100);
                prop_assert!(fall.dice.iter().all(|die| (1..=1_000).contains(die)));
                prop_assert!(fall.total.abs() <= 100 * 1_000 + 16 * 1_000_000);
                prop_assert_eq!(&DiceSpec::parse(&dice.to_string()).unwrap(), &dice);
            }
        }

        #[test]
        fn dice_all_faces_are_rolled(faces in 1_u32..=20, seed: u64) {
            let dice = DiceSpec::parse(&format!("100d{faces}")).unwrap();
            let fall = dice.roll(&mut SplitMix64::new(seed));
            prop_assert!(fall.dice.iter().all(|die| (1..=i64::from(faces)).contains(die)));
            prop_assert_eq!(fall.total, fall.dice.iter().sum::<i64>());
        }
    }
}
