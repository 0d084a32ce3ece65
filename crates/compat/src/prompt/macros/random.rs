//! Dice rolls and random choices.

use super::MAX_DICE;

/// A dice formula: `2d6+3`, `d20`, `d%`, or a number for one die with so many sides.
#[derive(Debug, PartialEq, Eq)]
struct DiceFormula {
    count: u64,
    sides: u64,
    more: i64,
}

/// Rolls dice and returns the sum as text; empty if the formula is invalid. `None` = too many dice.
pub fn roll(written: &str, draw: &mut dyn FnMut() -> f64) -> Option<String> {
    let Some(dice) = read(written.trim()) else { return Some(String::new()) };
    if dice.count > MAX_DICE {
        return None;
    }
    let mut total = i128::from(dice.more);
    for _ in 0..dice.count {
        total += i128::from(random_below(dice.sides, draw())) + 1;
    }
    Some(total.to_string())
}

fn read(written: &str) -> Option<DiceFormula> {
    let number = |digits: &str| {
        let is_number = !digits.starts_with('0') && digits.chars().all(|c| c.is_ascii_digit());
        is_number.then(|| digits.parse::<u32>().ok().map(u64::from)).flatten()
    };
    let Some((count, rest)) = written.split_once(['d', 'D']) else {
        return Some(DiceFormula { count: 1, sides: number(written)?, more: 0 });
    };
    let count = if count.is_empty() { 1 } else { number(count)? };
    let (sides, more) = match rest.find(['+', '-']) {
        Some(at) => {
            let (sides, more) = rest.split_at(at);
            let digits = more.get(1..).filter(|digits| digits.chars().all(|c| c.is_ascii_digit()))?;
            let value = i64::from(digits.parse::<u32>().ok()?);
            (sides, if more.starts_with('-') { -value } else { value })
        }
        None => (rest, 0),
    };
    let sides = if sides == "%" { 100 } else { number(sides)? };
    Some(DiceFormula { count, sides, more })
}

/// Chooses by a random number.
pub fn choose(choices: &[String], draw: f64) -> &str {
    let count = u64::try_from(choices.len()).unwrap_or(u64::MAX);
    let at = usize::try_from(random_below(count, draw)).unwrap_or(0);
    choices.get(at).map_or("", String::as_str)
}

/// Hashes a text for [`pick`] (FNV-1a).
pub fn hash_text(seed: u64, text: &str) -> u64 {
    hash_bytes(seed ^ 0x9e37_79b9_7f4a_7c15, text.bytes())
}

fn hash_bytes(start: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Chooses by position in the text; the choice stays the same as long as the text does.
/// `hash`: that of the text; `at`: the position in bytes.
pub fn pick(choices: &[String], hash: u64, at: usize) -> &str {
    let hash = hash_bytes(hash, at.to_le_bytes().into_iter());
    let mixed = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let top = u32::try_from((mixed ^ (mixed >> 32)) & 0xffff_ffff).unwrap_or(0);
    choose(choices, f64::from(top) / 4_294_967_296.0)
}

/// Returns an integer in `0..count` from a draw in `0.0..1.0`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to the range of the type")]
fn random_below(count: u64, draw: f64) -> u64 {
    let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    // A draw of exactly 1 is invalid, but must still give a valid index.
    (count * draw).clamp(0.0, (count - 1.0).max(0.0)) as u64
}

/// Splits choices: several arguments, or one argument separated by `::` or commas (`\,` is a literal comma).
pub fn split_choices(mut args: Vec<String>) -> Vec<String> {
    if args.len() != 1 {
        return args;
    }
    let Some(one) = args.pop() else { return args };
    if one.contains("::") {
        return one.split("::").map(|choice| choice.trim().to_owned()).collect();
    }
    let mut found = vec![String::new()];
    let mut letters = one.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '\\' if letters.next_if_eq(&',').is_some() => push(&mut found, ','),
            ',' => found.push(String::new()),
            c => push(&mut found, c),
        }
    }
    found.iter().map(|choice| choice.trim().to_owned()).collect()
}

fn push(found: &mut [String], c: char) {
    if let Some(last) = found.last_mut() {
        last.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macro_roll_dice_formulas_are_rolled() {
        for (written, draw, expected) in [
            ("1d6", 0.999, Some("6")),
            ("1d6", 0.0, Some("1")),
            ("d20", 0.5, Some("11")),
            ("20", 0.5, Some("11")),
            ("2D10-3", 0.0, Some("-1")),
            ("d%", 0.5, Some("51")),
            ("0d6", 0.5, Some("")),
            ("1d0", 0.5, Some("")),
            ("1d6+2d4", 0.5, Some("")),
            ("1d6 + 1", 0.5, Some("")),
            ("", 0.5, Some("")),
            ("-1d6", 0.5, Some("")),
            ("1d99999999999", 0.5, Some("")),
            ("999999d6", 0.5, None),
        ] {
            assert_eq!(roll(written, &mut || draw).as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn macro_random_and_pick_choose_option() {
        let told = |text: &str| split_choices(vec![text.to_owned()]).join("|");
        assert_eq!(told("a, b ,c"), "a|b|c");
        assert_eq!(told("x\\,y"), "x,y");
        assert_eq!(told("a::b,c"), "a|b,c");
        assert_eq!(split_choices(vec!["p,q".into(), "r".into()]), ["p,q", "r"]);
        let three = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        assert_eq!(
            [choose(&three, 0.0), choose(&three, 0.5), choose(&three, 1.0), choose(&[], 0.5)],
            ["a", "b", "c", ""]
        );
        let hash = hash_text(7, "text");
        // Prompts are made again: the choices must not change.
        assert_eq!([0, 4, 8, 12].map(|at| pick(&three, hash, at)), ["b", "c", "a", "a"]);
        let seen: std::collections::BTreeSet<&str> = (0..50).map(|at| pick(&three, hash, at)).collect();
        assert_eq!(seen.len(), 3, "every choice is taken somewhere");
    }
}
