//! Matches presets to models: `*` in a name stands for any characters.

/// How closely a pattern matches a model. A full name beats any pattern; of two patterns, more literal characters win.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModelMatchRank {
    is_whole: bool,
    literal_chars: usize,
}

/// Returns the closest pattern that matches one of the names of a model, ignoring case.
pub fn best_match<'a>(patterns: &'a [String], names: &[String]) -> Option<(ModelMatchRank, &'a str)> {
    let names: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
    let close = |pattern: &'a String| {
        let lower = pattern.to_lowercase();
        let is_whole = !lower.contains('*');
        // All full names rank the same, whatever their length: an alias is as good as the model's name.
        let said = if is_whole { 0 } else { lower.chars().filter(|c| *c != '*').count() };
        let closeness = ModelMatchRank { is_whole, literal_chars: said };
        names.iter().any(|name| matches(&lower, name)).then_some((closeness, pattern.as_str()))
    };
    // On a tie the first pattern wins.
    patterns.iter().filter_map(close).fold(None, |best, one| match best {
        Some((closeness, _)) if closeness >= one.0 => best,
        _ => Some(one),
    })
}

/// Returns whether a pattern matches the whole name.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for piece in middle.split('*').filter(|piece| !piece.is_empty()) {
        match left.split_once(piece) {
            Some((_, after)) => left = after,
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_match_pattern_matches_whole_name() {
        for (pattern, name, expected) in [
            ("smart", "smart", true),
            ("smart", "smarter", false),
            ("gpt-*", "gpt-4o", true),
            ("gpt-*", "my-gpt-4o", false),
            ("*gpt*", "openai/gpt-4o", true),
            ("*/gpt-*-mini", "openai/gpt-4o-mini", true),
            ("*/gpt-*-mini", "openai/gpt-mini", false),
            ("a*a", "a", false),
            ("*", "anything", true),
            ("*梦*", "织梦机", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn model_match_closest_pattern_wins() {
        let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let names = list(&["smart", "openai/gpt-4o", "gpt-4o"]);
        let check = |patterns: &[&str], expected: Option<&str>| {
            assert_eq!(best_match(&list(patterns), &names).map(|(_, pattern)| pattern.to_owned()).as_deref(), expected);
        };
        check(&["*", "gpt-*", "GPT-4o"], Some("GPT-4o"));
        check(&["*", "gpt-*"], Some("gpt-*"));
        check(&["claude-*"], None);
        check(&["gpt-4*", "gpt*4*"], Some("gpt-4*"));
        let of = |patterns: &[&str]| best_match(&list(patterns), &names).map(|(closeness, _)| closeness).unwrap();
        assert!(of(&["smart"]) > of(&["openai/gpt-4*"]));
        assert_eq!(of(&["smart"]), of(&["openai/gpt-4o"]));
    }
}
