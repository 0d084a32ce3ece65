//! "Did you mean": the known name nearest to a mistyped one.

use std::fmt;

use serde_json::Value;

/// What to write instead of an unknown name. A sentence has it in brackets, an argument has what to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameHint {
    /// Nothing similar is known.
    None,
    /// A known name that was probably meant.
    Known(String),
    /// The counterpart of a name of another language.
    Counterpart(String),
}

impl fmt::Display for NameHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Known(name) => write!(f, " (did you mean \"{name}\"?)"),
            Self::Counterpart(code) => write!(f, " (write {code} here)"),
        }
    }
}

impl From<NameHint> for Value {
    fn from(hint: NameHint) -> Self {
        match hint {
            NameHint::None => "".into(),
            NameHint::Known(text) | NameHint::Counterpart(text) => text.into(),
        }
    }
}

/// Returns the nearest known name as a hint.
pub(super) fn name_hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> NameHint {
    nearest(name, known).map_or(NameHint::None, |near| NameHint::Known(near.to_owned()))
}

/// Returns ` (did you mean "x"?)`, or nothing if no known name is near.
pub(super) fn did_you_mean<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    name_hint(name, known).to_string()
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
