//! "Did you mean": the known name nearest to a mistyped one.

/// Returns ` (did you mean "x"?)`, or nothing if no known name is near.
pub(super) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    match nearest(name, known) {
        Some(near) => format!(" (did you mean \"{near}\"?)"),
        None => String::new(),
    }
}

/// The most characters of a name that are compared.
const MAX_CHARS: usize = 40;

/// Returns the nearest known name within an edit distance of a third of the letters (1 to 3); of equally near names the
/// first. Two swapped neighbours count as one edit.
pub(super) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lowered = lower_case(name);
    let allowed = (lowered.chars().count() / 3).clamp(1, 3);
    let others = known.into_iter().filter(|candidate| *candidate != name);
    let distances = others.map(|candidate| (strsim::osa_distance(&lowered, &lower_case(candidate)), candidate));
    let near = distances.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance);
    near.map(|(_, candidate)| candidate)
}

fn lower_case(name: &str) -> String {
    name.chars().flat_map(char::to_lowercase).take(MAX_CHARS).collect()
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
