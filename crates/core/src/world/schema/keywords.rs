//! The keywords a schema may use, and what to say about any other.

/// Every keyword that is understood.
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

/// What to say about a keyword that cannot be used.
pub(super) fn unknown_keyword_message(word: &str) -> String {
    let guess = suggestion(word, KNOWN);
    format!(
        "\"{word}\" is not a keyword that is known here{guess}{} Known are {}",
        sentence_end(&guess),
        KNOWN.join(", ")
    )
}

/// The word of some that was probably meant.
pub(super) fn closest_match<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let far = |known: &str| strsim::levenshtein(&known.to_lowercase(), &word.to_lowercase());
    let distances = known.into_iter().map(|known| (far(known), known));
    distances.filter(|(distance, known)| *distance <= 2.min(known.len() / 2)).min().map(|(_, known)| known)
}

/// `; did you mean "x"?`, or nothing where no word is near.
pub(super) fn suggestion<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    closest_match(word, known).map(|guess| format!("; did you mean \"{guess}\"?")).unwrap_or_default()
}

/// The end of a sentence that no guess has ended.
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
