//! The supported keywords, and messages for unknown ones.

/// All supported keywords.
const KNOWN: [&str; 30] = [
    "type",
    "enum",
    "const",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minLength",
    "maxLength",
    "pattern",
    "properties",
    "additionalProperties",
    "required",
    "items",
    "minItems",
    "maxItems",
    "uniqueItems",
    "default",
    "readOnly",
    "title",
    "description",
    "$defs",
    "$ref",
    "$schema",
    "$comment",
    "x-ui",
    "x-visible",
    "x-search",
    "x-computed",
    "x-prototype",
];

/// Returns the message for an unknown keyword.
pub(super) fn unknown_keyword_message(word: &str) -> String {
    let guess = suggestion(word, KNOWN);
    format!(
        "\"{word}\" is not a supported keyword{guess}{} Supported keywords are {}",
        sentence_end(&guess),
        KNOWN.join(", ")
    )
}

/// Returns the known word closest to `word`, if one is close enough.
pub(super) fn closest_match<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let far = |known: &str| strsim::levenshtein(&known.to_lowercase(), &word.to_lowercase());
    let distances = known.into_iter().map(|known| (far(known), known));
    distances.filter(|(distance, known)| *distance <= 2.min(known.len() / 2)).min().map(|(_, known)| known)
}

/// Returns `; did you mean "x"?`, or nothing if no word is close.
pub(super) fn suggestion<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    closest_match(word, known).map(|guess| format!("; did you mean \"{guess}\"?")).unwrap_or_default()
}

/// Returns the period that is needed if there is no suggestion.
pub(super) fn sentence_end(guess: &str) -> &'static str {
    if guess.is_empty() { "." } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_misspelled_keyword_suggests_closest() {
        let check = |word: &str, guess: Option<&str>| assert_eq!(closest_match(word, KNOWN), guess, "{word}");
        check("minimun", Some("minimum"));
        check("Enum", Some("enum"));
        check("maxlength", Some("maxLength"));
        check("x-serch", Some("x-search"));
        check("oneOf", None);
        check("patternProperties", None);
        assert!(unknown_keyword_message("minimun").contains("did you mean \"minimum\"?"));
        assert!(unknown_keyword_message("oneOf").ends_with("x-search, x-computed, x-prototype"));
    }
}
