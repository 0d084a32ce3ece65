//! Matches names that differ only in case and separators, such as `Give-Gift` and `give_gift`. Models write such
//! variants.

/// Returns the only name that equals `said` apart from case, white space, `-` and `_`. `None` if there is no such
/// name or more than one.
pub fn find_equivalent_name<'n>(said: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let wanted = normalize_name(said);
    let mut alike = names.into_iter().filter(|name| normalize_name(name) == wanted);
    let first = alike.next().filter(|_| !wanted.is_empty())?;
    alike.next().is_none().then_some(first)
}

fn normalize_name(name: &str) -> String {
    let letters = name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_match_equivalent_spelling_is_found() {
        let names = ["give_gift", "take", "a_b", "a-b"];
        for (said, meant) in [
            ("Give-Gift", Some("give_gift")),
            ("giveGift", Some("give_gift")),
            ("TAKE", Some("take")),
            ("ab", None),
            ("_", None),
            ("steal", None),
        ] {
            assert_eq!(find_equivalent_name(said, names), meant, "{said}");
        }
    }
}
