//! "Did you mean": the known name nearest to a mistyped one.

/// ` (did you mean "x"?)`, or nothing when no known name is near.
pub(super) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!(" (did you mean \"{near}\"?)"),
        None => String::new(),
    }
}

/// The known name that is at most a third of the letters away; of equally near ones the first.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = name.chars().flat_map(char::to_lowercase).take(40).collect();
    let allowed = (letters.len() / 3).clamp(1, 3);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let other: Vec<char> = candidate.chars().flat_map(char::to_lowercase).take(40).collect();
        let away = distance(&letters, &other);
        if candidate != name && away <= allowed && best.is_none_or(|(least, _)| away < least) {
            best = Some((away, candidate));
        }
    }
    best.map(|(_, near)| near)
}

/// How many letters must be put in, taken out, replaced or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], j: usize| row.get(j).copied().unwrap_or(usize::MAX / 2);
            let mut least = (at(&row, j) + usize::from(x != y)).min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                least = least.min(at(&before, j - 1) + 1);
            }
            next.push(least);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(a.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn did_you_mean_misspelled_name_returns_nearest() {
        let known = ["find_all", "find", "roll", "append", "clamp"];
        let check = |name: &str, near: Option<&str>| assert_eq!(nearest(name, known), near, "{name}");
        check("findall", Some("find_all"));
        check("rlol", Some("roll"));
        check("Roll", Some("roll"));
        check("apend", Some("append"));
        check("teleport", None);
        check("x", None);
        assert_eq!(did_you_mean("rol", known), " (did you mean \"roll\"?)");
    }
}
