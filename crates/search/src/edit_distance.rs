//! How far two words are from each other, for what was typed with a slip of the finger.

/// Whether a word becomes another by at most `most` steps: a letter more, less or different, or two neighbours exchanged (none
/// of which is touched again).
pub(super) fn is_within_distance(one: &str, other: &str, most: u8) -> bool {
    let most = usize::from(most);
    if one.chars().count().abs_diff(other.chars().count()) > most {
        return false;
    }
    let one: Vec<char> = one.chars().collect();
    let other: Vec<char> = other.chars().collect();
    // Steps from each beginning of `other` to the beginning of `one` that was read so far, and the two rows before it.
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, a) in one.iter().enumerate() {
        let mut next = vec![row + 1];
        for (column, b) in other.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX - 1);
            let mut steps = at(&last, column) + usize::from(a != b);
            steps = steps.min(at(&last, column + 1) + 1).min(at(&next, column) + 1);
            let crossed = row > 0 && column > 0 && one.get(row - 1) == Some(b) && other.get(column - 1) == Some(a);
            if crossed {
                steps = steps.min(at(&before, column - 1) + 1);
            }
            next.push(steps);
        }
        if next.iter().all(|steps| *steps > most) {
            return false;
        }
        before = std::mem::replace(&mut last, next);
    }
    last.last().is_some_and(|steps| *steps <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_counts_steps() {
        let check = |one: &str, other: &str, steps: u8| {
            for (a, b) in [(one, other), (other, one)] {
                assert!(is_within_distance(a, b, steps), "{a} {b}");
                assert!(steps == 0 || !is_within_distance(a, b, steps - 1), "{a} {b}");
            }
        };
        check("lantern", "lantern", 0);
        check("lantern", "lanten", 1);
        check("lantern", "lantren", 1);
        check("lantern", "lamtern", 1);
        check("lantern", "lanter", 1);
        check("keeper", "kepeer", 1);
        check("маяк", "майк", 1);
        check("fog", "frogs", 2);
        check("ca", "abc", 3);
        assert!(!is_within_distance("a", "abcdef", 2));
    }
}
