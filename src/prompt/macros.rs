//! Macros: names filled into the texts of cards. Unknown ones stay as text.

use super::Cast;

/// Fills in `{{user}}` and `{{char}}` (and the older `<USER>`, `<BOT>`), whatever their case.
pub fn fill(text: &str, cast: &Cast) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['{', '<']) {
        let (before, at) = rest.split_at(start);
        out.push_str(before);
        match expand(at, cast) {
            Some((value, length)) => {
                out.push_str(value);
                rest = at.get(length..).unwrap_or_default();
            }
            None => {
                let mut chars = at.chars();
                out.extend(chars.next());
                rest = chars.as_str();
            }
        }
    }
    out.push_str(rest);
    out
}

fn expand<'a>(at: &str, cast: &'a Cast) -> Option<(&'a str, usize)> {
    let begins = |word: &str| at.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word));
    let names =
        [("{{user}}", &cast.user), ("{{char}}", &cast.character), ("<user>", &cast.user), ("<bot>", &cast.character)];
    names.into_iter().find(|(word, _)| begins(word)).map(|(word, value)| (value.as_str(), word.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S0-07: a greeting's macros are filled.
    #[test]
    fn names_are_filled_in_and_the_rest_stays() {
        let cast = Cast { user: "Ann".into(), character: "林".into(), ..Cast::default() };
        for (text, expected) in [
            ("{{char}} greets {{User}}.", "林 greets Ann."),
            ("<BOT> and <USER> and <p>", "林 and Ann and <p>"),
            ("{{random::a::b}} {{{char}}} {", "{{random::a::b}} {林} {"),
            ("", ""),
            ("天{{user", "天{{user"),
        ] {
            assert_eq!(fill(text, &cast), expected);
        }
    }
}
