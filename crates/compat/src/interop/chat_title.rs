//! Names of chats that a program made: `Anna - 2024-5-1@10h20m30s`, a date, a number, an id. Nobody would call a story so.

use clotho_core::letters::fold_base_letters;

/// The least number of digits of a name that is only a number or a date.
const LEAST_DIGITS: usize = 6;
/// The same behind the name of a character.
const LEAST_DIGITS_BESIDE_NAME: usize = 4;
/// The least length of a run of hexadecimal digits that is an id.
const LEAST_ID: usize = 8;
/// Words that programs put beside a date.
const WORDS: [&str; 10] =
    ["bookmark", "branch", "chat", "checkpoint", "conversation", "copy", "export", "group", "history", "imported"];

/// Returns what stands before the technical part of a name that a program made; `Some("")` if all of it is technical,
/// and `None` for a name that a person chose. `names`: the characters of the chat.
pub fn technical_prefix<'a>(title: &'a str, names: &[&str]) -> Option<&'a str> {
    let title = title.trim();
    if is_technical(title, LEAST_DIGITS) {
        return Some("");
    }
    let mut starts = title.match_indices([' ', '-', '_']).filter_map(|(at, _)| title.split_at_checked(at));
    starts.find_map(|(name, rest)| {
        let name = name.trim_matches([' ', '-', '_']);
        let form = fold_base_letters(name);
        let is_character = names.iter().any(|known| fold_base_letters(known.trim()) == form);
        let is_dated = rest.contains('@') && is_technical(rest, LEAST_DIGITS);
        let is_made = is_dated || is_character && is_technical(rest, LEAST_DIGITS_BESIDE_NAME);
        (!name.is_empty() && is_made).then_some(name)
    })
}

/// Returns whether a text has only numbers, dates, ids and words that programs use, and enough digits to be no title.
fn is_technical(text: &str, least_digits: usize) -> bool {
    let mut digits = 0;
    let mut has_id = false;
    for part in text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        let lower = part.to_lowercase();
        let own = part.bytes().filter(u8::is_ascii_digit).count();
        let is_id = part.len() >= LEAST_ID && own > 0 && part.bytes().all(|c| c.is_ascii_hexdigit());
        if !(WORDS.contains(&lower.as_str()) || is_id || is_number_with_units(&lower) || is_short_hex(part, own)) {
            return false;
        }
        has_id |= is_id;
        digits += own;
    }
    has_id || digits >= least_digits
}

/// Returns whether a word is a number, a time such as `10h20m30s512ms` or `20240501t102030z`, or a bare unit.
fn is_number_with_units(word: &str) -> bool {
    let is_unit = |unit: &str| matches!(unit, "" | "h" | "m" | "s" | "ms" | "t" | "z" | "am" | "pm" | "utc");
    word.split(|c: char| c.is_ascii_digit()).all(is_unit)
}

/// Returns whether a word is one of the short parts of an id, such as `4f3a` in a UUID.
fn is_short_hex(part: &str, digits: usize) -> bool {
    part.len() == 4 && digits > 0 && part.bytes().all(|c| c.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_program_is_technical() {
        for (title, prefix) in [
            ("Anna - 2024-5-1@10h20m", "Anna"),
            ("Anna - 2024-05-01@10h20m30s512ms", "Anna"),
            ("Anna - 2024-5-1 @10h 20m 30s 512ms", "Anna"),
            ("anna - 2024-5-1 @10h 20m 30s 512ms imported", "anna"),
            ("Anna_1714550400000", "Anna"),
            ("Mary-Ann the 2nd - 2024-5-1@10h20m30s", "Mary-Ann the 2nd"),
            ("My Summer - 2024-5-1@10h20m30s", "My Summer"),
            ("2024-05-01@10h20m30s", ""),
            ("2024-05-01T10:20:30Z", ""),
            ("1714550400", ""),
            ("chat-export-1714550400123", ""),
            ("0b5e5a1c-4f3a-4d2b-9c1e-7a6b5c4d3e2f", ""),
            ("6630f1c2a9b8d7e6f5a4b3c2", ""),
        ] {
            assert_eq!(technical_prefix(title, &["Anna"]), Some(prefix), "{title}");
        }
    }

    #[test]
    fn name_of_a_person_is_kept() {
        for title in [
            "The Ferry",
            "Anna",
            "Anna 2",
            "Anna - Chapter 3",
            "Chapter 12",
            "1984",
            "Room 237 at night",
            "Summer of 2024-05-01",
            "decade",
            "defaced",
            "龙与地下城",
            "",
            "Anna - the lake @ 10",
        ] {
            assert_eq!(technical_prefix(title, &["Anna"]), None, "{title}");
        }
    }
}
