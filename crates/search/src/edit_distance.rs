//! The edit distance of two words, for typing errors.

/// Returns whether the optimal string alignment distance is at most `most`: letters added, removed or replaced, or
/// neighbours swapped. No letter is edited twice.
pub(super) fn is_within_distance(one: &str, other: &str, most: u8) -> bool {
    let most = usize::from(most);
    one.chars().count().abs_diff(other.chars().count()) <= most && strsim::osa_distance(one, other) <= most
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
