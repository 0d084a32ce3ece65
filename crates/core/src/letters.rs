//! Letters of all scripts: which ones are the same when texts are compared.
//!
//! Search and lorebook keys compare texts. Search ignores case, accents and marks ([`push_base_letters`]). Keys ignore
//! case and ways to write the same letter, and respect accents ([`fold_text`]).

use std::iter::once;

use icu_normalizer::properties::{CanonicalCombiningClassMapBorrowed, CanonicalCompositionBorrowed};
use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

const DOT_ABOVE: char = '\u{307}';
/// Combining class of a virama, which changes how consonants are read. It is no accent.
const VIRAMA: u8 = 9;

/// Returns whether a character only marks the letter before it: an accent, a vowel point, a nukta.
pub fn is_mark(c: char) -> bool {
    c > '\u{2ff}' && !matches!(CanonicalCombiningClassMapBorrowed::new().get_u8(c), 0 | VIRAMA)
}

/// Returns the one letter for a letter and the character after it, `か` and U+3099 for example; `None` if there is none.
pub fn compose_letters(first: char, second: char) -> Option<char> {
    CanonicalCompositionBorrowed::new().compose(first, second)
}

/// Returns the usual form of a character: full width as narrow, half-width kana as wide, and the digits of any script as
/// those of ASCII. Itself if it has none.
pub fn usual_form(c: char) -> char {
    if let Some(digit) = ascii_digit(c) {
        return digit;
    }
    let may_have_one = matches!(c, '\u{2e80}'..='\u{2fdf}' | '\u{f900}'..='\u{faff}' | '\u{fe30}'..='\u{ffef}'
        | '\u{2f800}'..='\u{2fa1f}');
    if !may_have_one {
        return c;
    }
    let mut forms = ComposingNormalizerBorrowed::new_nfkc().normalize_iter(once(c));
    match (forms.next(), forms.next()) {
        (Some(usual), None) => usual,
        _ => c,
    }
}

/// The zeros of all scripts with decimal digits, in order. Their other digits follow them (Unicode 16, category Nd).
const ZEROS: [char; 65] = [
    '\u{660}',
    '\u{6f0}',
    '\u{7c0}',
    '\u{966}',
    '\u{9e6}',
    '\u{a66}',
    '\u{ae6}',
    '\u{b66}',
    '\u{be6}',
    '\u{c66}',
    '\u{ce6}',
    '\u{d66}',
    '\u{de6}',
    '\u{e50}',
    '\u{ed0}',
    '\u{f20}',
    '\u{1040}',
    '\u{1090}',
    '\u{17e0}',
    '\u{1810}',
    '\u{1946}',
    '\u{19d0}',
    '\u{1a80}',
    '\u{1a90}',
    '\u{1b50}',
    '\u{1bb0}',
    '\u{1c40}',
    '\u{1c50}',
    '\u{a620}',
    '\u{a8d0}',
    '\u{a900}',
    '\u{a9d0}',
    '\u{a9f0}',
    '\u{aa50}',
    '\u{abf0}',
    '\u{ff10}',
    '\u{104a0}',
    '\u{10d30}',
    '\u{11066}',
    '\u{110f0}',
    '\u{11136}',
    '\u{111d0}',
    '\u{112f0}',
    '\u{11450}',
    '\u{114d0}',
    '\u{11650}',
    '\u{116c0}',
    '\u{11730}',
    '\u{118e0}',
    '\u{11950}',
    '\u{11c50}',
    '\u{11d50}',
    '\u{11da0}',
    '\u{16a60}',
    '\u{16ac0}',
    '\u{16b50}',
    '\u{1d7ce}',
    '\u{1d7d8}',
    '\u{1d7e2}',
    '\u{1d7ec}',
    '\u{1d7f6}',
    '\u{1e140}',
    '\u{1e2f0}',
    '\u{1e950}',
    '\u{1fbf0}',
];

/// Returns the ASCII digit for a decimal digit of another script; `None` for all other characters.
fn ascii_digit(c: char) -> Option<char> {
    // Most characters of a text, and none of these is a digit of another script.
    if c < '\u{660}' || ('\u{2000}'..'\u{a620}').contains(&c) || ('\u{ac00}'..'\u{ff10}').contains(&c) {
        return None;
    }
    let before = ZEROS.partition_point(|zero| *zero <= c).checked_sub(1)?;
    let value = u32::from(c) - u32::from(*ZEROS.get(before)?);
    char::from_digit(value, 10)
}

/// Calls `push` with the letters and digits of a character, in lower case and without marks.
pub fn push_base_letters(c: char, mut push: impl FnMut(char)) {
    if c.is_ascii() {
        return push(c.to_ascii_lowercase());
    }
    if let Some(digit) = ascii_digit(c) {
        return push(digit);
    }
    let parts = || DecomposingNormalizerBorrowed::new_nfkd().normalize_iter(once(c)).filter(|part| !is_mark(*part));
    // `½` is no 12 and `㈠` no bracket.
    let is_letters = parts().all(char::is_alphanumeric);
    let mut push_lower =
        |part: char| part.to_lowercase().filter(|part| !is_mark(*part)).for_each(|c| push(base_form(c)));
    if is_letters { parts().for_each(&mut push_lower) } else { push_lower(c) }
}

/// Returns a text in which case, accents, width, and forms of apostrophes, quotation marks and dashes do not count.
///
/// Titles and tags are compared, searched and sorted by it.
pub fn fold_base_letters(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    fold_text(text).chars().filter(|c| !is_mark(*c)).for_each(|c| push_base_letters(c, |c| folded.push(c)));
    folded
}

/// Returns the letter that a variant of it stands for, where Unicode knows no decomposition.
const fn base_form(c: char) -> char {
    match c {
        'ς' => 'σ',
        // Alef wasla.
        '\u{671}' => '\u{627}',
        c => c,
    }
}

/// Returns whether words of the script of this character have no blanks between them, or endings without one.
///
/// These are Chinese, Japanese, Korean, Thai, Lao, Khmer, Burmese and Tibetan.
pub const fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{109f}'
        | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{2fdf}'
        | '\u{3005}'..='\u{3007}'
        | '\u{3021}'..='\u{3029}'
        | '\u{3041}'..='\u{3096}'
        | '\u{309d}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{318e}'
        | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9d}'
        | '\u{20000}'..='\u{3ffff}')
}

/// Returns a text in which case, width, ligatures, scripts of digits, and forms of apostrophes, quotation marks and
/// dashes do not count.
///
/// Accents count, however they are encoded. Characters without a shape, such as soft hyphens, are left out.
pub fn fold_text(text: &str) -> String {
    if text.is_ascii() {
        return text.chars().map(fold_ascii).collect();
    }
    let mut folded = String::with_capacity(text.len());
    text.chars().for_each(|c| push_folded(c, &mut folded));
    if folded.contains(DOT_ABOVE) {
        // What is left of a decomposed `İ`.
        folded = folded.replace("i\u{307}", "i");
    }
    let normal = ComposingNormalizerBorrowed::new_nfkc();
    if normal.is_normalized(&folded) {
        return folded;
    }
    let mut whole = String::with_capacity(folded.len());
    normal.normalize(&folded).chars().for_each(|c| push_folded(c, &mut whole));
    whole
}

/// Returns a text in which the encoding of accents and the forms of apostrophes and quotation marks do not count.
///
/// Case and width count.
pub fn fold_quotes(text: &str) -> String {
    let plain: String = text.chars().map(|c| usual_quote(c).unwrap_or(c)).collect();
    ComposingNormalizerBorrowed::new_nfc().normalize(&plain).into_owned()
}

/// Returns whether a character is an apostrophe or a quotation mark in any form, also one that Unicode counts as a letter,
/// such as the okina of Hawaiian.
pub const fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '"') || usual_quote(c).is_some()
}

/// Returns the ASCII form of an apostrophe or quotation mark; `None` for other characters.
const fn usual_quote(c: char) -> Option<char> {
    match c {
        '`'
        | '´'
        | '‘'
        | '’'
        | '‚'
        | '‛'
        | '′'
        | '‵'
        | '‹'
        | '›'
        | '＇'
        | '｀'
        | '\u{2b9}'
        | '\u{2bb}'..='\u{2bf}'
        | '\u{2c8}'
        | '\u{2ca}'
        | '\u{2cb}'
        | '\u{55a}'
        | '\u{5f3}'
        | '\u{7f4}'
        | '\u{7f5}'
        | '\u{a78b}'
        | '\u{a78c}' => Some('\''),
        '“' | '”' | '„' | '‟' | '″' | '‶' | '«' | '»' | '＂' | '〝' | '〞' | '〟' | '\u{2ba}' | '\u{2ee}'
        | '\u{5f4}' => Some('"'),
        _ => None,
    }
}

const fn fold_ascii(c: char) -> char {
    if c == '`' { '\'' } else { c.to_ascii_lowercase() }
}

fn push_folded(c: char, folded: &mut String) {
    if c.is_ascii() {
        return folded.push(fold_ascii(c));
    }
    if let Some(quote) = usual_quote(c) {
        return folded.push(quote);
    }
    if let Some(digit) = ascii_digit(c) {
        return folded.push(digit);
    }
    match c {
        '\u{ad}'
        | '\u{34f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2060}'..='\u{2064}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' => {}
        '\u{2010}'..='\u{2015}' | '\u{2043}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{ff0d}' | '\u{5be}' => {
            folded.push('-');
        }
        // Turkish pairs them with `i` and `I`; other languages pair those with each other.
        'İ' | 'ı' => folded.push('i'),
        'ς' => folded.push('σ'),
        'ß' | 'ẞ' => folded.push_str("ss"),
        'æ' | 'Æ' => folded.push_str("ae"),
        'œ' | 'Œ' => folded.push_str("oe"),
        c => folded.extend(c.to_lowercase()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> String {
        let mut found = String::new();
        text.chars().filter(|c| !is_mark(*c)).for_each(|c| push_base_letters(c, |c| found.push(c)));
        found
    }

    #[test]
    fn letters_of_any_script_lose_marks() {
        let pairs = [
            ("ёж", "еж"),
            ("Ελλάς", "ελλασ"),
            ("İstanbul", "istanbul"),
            ("i\u{307}stanbul", "istanbul"),
            ("ệ", "e"),
            ("ＡＢＣ", "abc"),
            ("ﬁ", "fi"),
            ("שָׁלוֹם", "שלום"),
            ("مُحَمَّد", "محمد"),
            ("ٱلله", "الله"),
            ("ﷲ", "الله"),
            ("𝓐", "a"),
            ("½", "½"),
            ("٢٠٢٦ ۲۰۲۶ २०२६ ２０２６ ๒๐๒๖ 𝟚", "2026 2026 2026 2026 2026 2"),
            ("नमस्ते", "नमस्ते"),
        ];
        for (text, expected) in pairs {
            assert_eq!(base(text), expected, "{text}");
        }
    }

    #[test]
    fn titles_with_case_and_accents_fold_equally() {
        let pairs =
            [("Élise’s Straße", "elise's STRASSE"), ("Ёж — İzmir", "еж — izmir"), ("ΕΛΛΆΣ", "ελλας"), ("龙！", "龙!")];
        for (one, other) in pairs {
            assert_eq!(fold_base_letters(one), fold_base_letters(other), "{one} {other}");
        }
    }

    #[test]
    fn letters_in_several_forms_fold_equally() {
        let pairs = [
            ("Smith’s", "smith's"),
            ("smithʼs `x´", "SMITH'S 'x'"),
            ("“Ship” «Ship» „Ship“", "\"ship\" \"ship\" \"ship\""),
            ("twenty–one—two‑three−four", "twenty-one-two-three-four"),
            ("cafe\u{301}", "CAFÉ"),
            ("ＡＢＣ　ｱﾞ", "abc ア\u{3099}"),
            ("Straße ﬁn GROẞ", "STRASSE fin gross"),
            ("cœur Æsir", "COEUR aesir"),
            ("Ελλάς", "ΕΛΛΆΣ"),
            ("İstanbul IŞIK", "istanbul ışık"),
            ("I\u{307}stanbul", "İSTANBUL"),
            ("J\u{30c}", "ǰ"),
            ("a\u{a0}b soft\u{ad}hyphen", "a b softhyphen"),
            ("ガ", "ｶﾞ"),
            ("\u{1112}\u{1161}\u{11ab}", "한"),
            ("Hawaiʻi Muʿāwiya nʼgo", "hawai'i mu'āwiya n’go"),
            ("room ١٢ room १२ room １２", "room 12 room 12 room 12"),
        ];
        for (one, other) in pairs {
            assert_eq!(fold_text(one), fold_text(other), "{one} {other}");
        }
        for (one, other) in [("cafe", "café"), ("еж", "ёж"), ("나", "난")] {
            assert!(!fold_text(other).contains(&fold_text(one)), "{one} {other}");
        }
    }

    /// The digits are those that the standard library knows as numbers, ten in a row.
    #[test]
    fn letters_digits_of_any_script_are_ascii_digits() {
        assert!(ZEROS.is_sorted());
        for zero in ZEROS {
            for value in 0..10 {
                let c = char::from_u32(u32::from(zero) + value).unwrap();
                assert_eq!(ascii_digit(c), char::from_digit(value, 10), "{c}");
                assert!(c.is_numeric(), "{c}");
            }
        }
        for other in ['a', '5', '²', '½', '六', '〇', 'Ⅳ', '\u{65f}', '\u{66a}', 'か', '한', 'ａ'] {
            assert_eq!(ascii_digit(other), None, "{other}");
        }
    }

    #[test]
    fn letters_with_case_fold_quotes_and_encoding_alone() {
        assert_eq!(fold_quotes("Smith’s “Cafe\u{301}”"), "Smith's \"Café\"");
        for (one, other) in [("ABC", "abc"), ("ＡＢＣ", "ABC"), ("ß", "ss"), ("ﬁ", "fi")] {
            assert_ne!(fold_quotes(one), fold_quotes(other), "{one} {other}");
        }
    }
}
