//! JavaScript's results, case by case.

use super::*;

/// Returns the first match with its groups; `None` = the group took no part.
fn first_match(pattern: &str, text: &str) -> Option<Vec<Option<String>>> {
    let pattern = JsRegex::read(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}"));
    let text = Utf16Text::new(text);
    let found = pattern.find(&text, 0, &mut StepBudget::for_text(text.len())).unwrap()?;
    Some((0..=pattern.group_count()).map(|n| found.group(n).map(|range| text.slice(range).into_owned())).collect())
}

fn all_matches(pattern: &str, text: &str) -> Vec<String> {
    let pattern = JsRegex::read(pattern).unwrap();
    let text = Utf16Text::new(text);
    let all = pattern.matches(&text, &mut StepBudget::for_text(text.len())).unwrap();
    all.iter().map(|found| text.slice(found.range()).into_owned()).collect()
}

#[test]
fn js_regex_cases_match_javascript() {
    for (pattern, text, expected) in [
        ("lamp", "The lamp", Some(vec![Some("lamp")])),
        ("/LAMP/i", "The lamp", Some(vec![Some("lamp")])),
        ("/a.b/", "a\nb", None),
        ("/a.b/s", "a\nb", Some(vec![Some("a\nb")])),
        ("/^b$/m", "a\nb\nc", Some(vec![Some("b")])),
        ("/^b$/", "a\nb\nc", None),
        ("/b$/", "a\nb\n", None),
        (r"/\d+/", "٣ 40", Some(vec![Some("40")])),
        (r"/\w+/", "雪落", None),
        (r"/\bfoo\b/", "雪foo落", Some(vec![Some("foo")])),
        (r"/\s/", "a\u{FEFF}b", Some(vec![Some("\u{FEFF}")])),
        (r"/[^]+/", "a\nb", Some(vec![Some("a\nb")])),
        (r"/[]/", "a", None),
        (r"/a\/b/", "a/b", Some(vec![Some("a/b")])),
        (r"/\x01A/", "\u{1}A", Some(vec![Some("\u{1}A")])),
        (r"/\u706f/", "灯", Some(vec![Some("灯")])),
        (r"/\u{1F9A6}/u", "🦦", Some(vec![Some("🦦")])),
        (r"/\cA/", "\u{1}", Some(vec![Some("\u{1}")])),
        (r"/\c1/", r"\c1", Some(vec![Some(r"\c1")])),
        (r"/[\c_]/", "\u{1F}", Some(vec![Some("\u{1F}")])),
        (r"/\101\8/", "A8", Some(vec![Some("A8")])),
        (r"/a{,2}/", "a{,2}", Some(vec![Some("a{,2}")])),
        (r"/x{/", "x{", Some(vec![Some("x{")])),
        (r"/]/", "]", Some(vec![Some("]")])),
        (r"/(?<a>\w)(?<b>\w)\k<a>/", "abxyx", Some(vec![Some("xyx"), Some("x"), Some("y")])),
        (r"/\k<a>/", "k<a>", Some(vec![Some("k<a>")])),
        (r"/(a)?b/", "b", Some(vec![Some("b"), None])),
        (r"/(?:(a)|b)*/", "ab", Some(vec![Some("ab"), None])),
        (r"/(z)((a+)?(b+)?(c))*/", "zaacbbbcac", {
            Some(vec![Some("zaacbbbcac"), Some("z"), Some("ac"), Some("a"), None, Some("c")])
        }),
        (r"/(a*)*/", "b", Some(vec![Some(""), None])),
        (r"/(?=(a+))a*b\1/", "baaabac", Some(vec![Some("aba"), Some("a")])),
        (r"/(.*?)a(?!(a+)b\2c)\2(.*)/", "baaabaac", Some(vec![Some("baaabaac"), Some("ba"), None, Some("abaac")])),
        (r"/(?<=\$)\d+(?!\.)/", "5 $42", Some(vec![Some("42")])),
        (r"/(?<=(\d+)(\d+))$/", "1053", Some(vec![Some(""), Some("1"), Some("053")])),
        (r"/(?<!a)b/", "ab b", Some(vec![Some("b")])),
        (r"/(?<=\1(a))b/", "aab", Some(vec![Some("b"), Some("a")])),
        (r"/a{2,3}?/", "aaaa", Some(vec![Some("aa")])),
        (r"/(?:ab){2}/", "ababab", Some(vec![Some("abab")])),
        (r"/(?:|a)+/", "a", Some(vec![Some("a")])),
        (r"/\1(a)/", "aa", Some(vec![Some("a"), Some("a")])),
        (r"/(?i:A)b/", "ab", Some(vec![Some("ab")])),
        (r"/(?i:A)b/", "aB", None),
        (r"/(?<x>a)|(?<x>b)/", "b", Some(vec![Some("b"), None, Some("b")])),
        (r"/ß/i", "ẞ", None),
        (r"/ſ/i", "s", None),
        (r"/ſ/iu", "s", Some(vec![Some("s")])),
        (r"/[^x]/i", "X", None),
        (r"/(а)\1/i", "аА", Some(vec![Some("аА"), Some("а")])),
        (r"/[\w-.]+/", "a-.b", Some(vec![Some("a-.b")])),
        (r"/\0/", "\0", Some(vec![Some("\0")])),
        (r"/a|ab/", "abc", Some(vec![Some("a")])),
        (r"/((a)|(ab))((c)|(bc))/", "abc", {
            Some(vec![Some("abc"), Some("a"), Some("a"), None, Some("bc"), None, Some("bc")])
        }),
        (r"/\p{Script=Han}+/u", "the 灯塔", Some(vec![Some("灯塔")])),
        (r"/\P{L}+/u", "灯 塔", Some(vec![Some(" ")])),
        (r"/^.$/u", "🦦", Some(vec![Some("🦦")])),
        (r"/^.$/", "🦦", None),
        (r"/^🦦?$/", "🦦", Some(vec![Some("🦦")])),
        (r"/^[🦦]$/u", "🦦", Some(vec![Some("🦦")])),
        (r"/(?<=🦦)x/u", "🦦x", Some(vec![Some("x")])),
        (r"/a*?$/", "aab", Some(vec![Some("")])),
        (r"/(?=a)*b/", "b", Some(vec![Some("b")])),
    ] {
        let expected = expected.map(|all| all.into_iter().map(|one| one.map(str::to_owned)).collect::<Vec<_>>());
        assert_eq!(first_match(pattern, text), expected, "{pattern} on {text:?}");
    }
}

#[test]
fn js_regex_global_search_finds_each_match_once() {
    assert_eq!(all_matches("/x*/g", "ab"), ["", "", ""]);
    assert_eq!(all_matches("/lamp/gi", "Lamp lamp LAMP"), ["Lamp", "lamp", "LAMP"]);
    assert_eq!(all_matches("/lamp/", "lamp lamp"), ["lamp"]);
    assert_eq!(all_matches("/./g", "🦦").len(), 2, "two units");
    assert_eq!(all_matches("/./gu", "🦦"), ["🦦"]);
    assert_eq!(all_matches("/(?=🦦)|/gu", "🦦").len(), 2);
    assert_eq!(all_matches("/$/gm", "a\r\nb").len(), 3);
    assert_eq!(all_matches("/^a/g", "aaa"), ["a"]);
    assert_eq!(all_matches("/a/gy", "aaba"), ["a", "a"]);
}

#[test]
fn js_regex_invalid_pattern_returns_error() {
    for pattern in [
        "/(lamp/",
        "/lamp)/",
        "/[a/",
        "/*/",
        "/a**/",
        "/a{2,1}/",
        "/(?<n>a)(?<n>b)/",
        "/[b-a]/",
        "/\\/",
        "/(?<1>a)/",
        "/(?<a>.)\\k<b>/",
        "/\\k/u",
        "/\\p{Nothing}/u",
        "/{1}/",
        "/a/v",
        "/a/gg",
        "/a/x",
        "/]/u",
        "/\\-/u",
        "/(?<=a)*/",
        "/a{1/u",
        "/\\u{110000}/u",
        "/(?q)/",
        "/(?:",
        "/\\2(a)/u",
        "/(?-:a)/",
    ] {
        assert!(JsRegex::read(pattern).is_err(), "{pattern}");
    }
    assert_eq!(JsRegex::new("a", "gx").unwrap_err().to_string(), "the flag `x` is unknown or appears twice");
    assert_eq!(JsRegex::new("\\", "").unwrap_err().to_string(), "a `\\` at the end, at character 1");
}

#[test]
fn js_regex_literal_is_split() {
    assert_eq!(split_literal("/a/b/gi"), Some(("a/b", "gi")));
    assert_eq!([split_literal("//"), split_literal("a/b/"), split_literal("/a"), split_literal("")], [None; 4]);
    assert!(has_bare_slash("a/b") && !has_bare_slash(r"a\/b") && has_bare_slash(r"a\\/b"));
    let pattern = JsRegex::read("/(?<who>[A-Z]\\w+): (?<what>.+)/g").unwrap();
    assert_eq!(pattern.group_names().collect::<Vec<_>>(), ["who", "what"]);
    let text = Utf16Text::new("he: Rin: hi");
    let found = pattern.find(&text, 0, &mut StepBudget::for_text(text.len())).unwrap().unwrap();
    assert_eq!(text.slice(pattern.named_group("who", &found).unwrap()), "Rin");
    assert_eq!(pattern.named_group("why", &found), None);
}

/// Exponential patterns stop at the limit; those that the linear engine can decide get an answer.
#[test]
fn js_regex_backtracking_stops_at_step_limit() {
    let text = format!("{}b", "a".repeat(100_000));
    for pattern in [r"/(a+)+$/", r"/(a|a)+$/", r"/(?:a|aa)+$/", r"/a*a*a*a*a*c/", r"/[\s\S]*c/", r"/(?:a?){50}c/"] {
        assert_eq!(JsRegex::read(pattern).unwrap().is_match(&text), Ok(false), "{pattern}: a linear engine knows");
    }
    for pattern in [r"/^(a+)+\1$/", r"/(?=(a+)+$)a/", r"/(?<=x(?:a|a)*)!/", r"/(?:a|a)*(?!b)$/m", r"/^(?:(?=a)a*)*$/"] {
        let text = text.replace('b', "!c");
        assert_eq!(JsRegex::read(pattern).unwrap().is_match(&text), Err(StepLimitError), "{pattern}");
    }
    let mut few = StepBudget::new(10);
    assert_eq!(
        JsRegex::read("/a+/").unwrap().is_match_in(&Utf16Text::new("aaaaaaaaaaaaaaaa"), &mut few),
        Err(StepLimitError)
    );
    assert_eq!(few.remaining(), 0);
}

/// Any pattern is parsed or refused quickly and without deep recursion.
#[test]
fn js_regex_hostile_pattern_terminates() {
    let deep = |open: &str, n: usize, close: &str| format!("{}a{}", open.repeat(n), close.repeat(n));
    for (body, expected) in [
        (deep("(", 200_000, ")"), Some(RegexSyntaxError::TooLarge)),
        (deep("(?:", 5_000, ")"), Some(RegexSyntaxError::TooLarge)),
        (deep("(?:", 90, ")*"), None),
        (deep("(?=", 90, ")"), None),
        (deep("(?:", 30, "){99999}"), None),
        ("a".repeat(1_000_000), Some(RegexSyntaxError::TooLarge)),
        ("a|".repeat(8_000), None),
        ("[^x]{0,99999999999999999999}".repeat(500), None),
        ("(a)?".repeat(900), None),
        ("(a)".repeat(2_000), Some(RegexSyntaxError::TooLarge)),
        ("\u{1}\0\u{FFFF}\u{10FFFF}".to_owned(), None),
    ] {
        for flags in ["", "iu"] {
            let read = JsRegex::new(&body, flags);
            assert_eq!(read.as_ref().err(), expected.as_ref(), "{}", body.chars().take(40).collect::<String>());
            if let Ok(pattern) = read {
                _ = pattern.is_match(&"a\0🦦\u{1}".repeat(2_000));
            }
        }
    }
}

proptest::proptest! {
    /// Any search ends, and matches lie inside the text.
    #[test]
    fn js_regex_random_pattern_terminates(body in "[ab()|*+?{}\\[\\]^$.\\\\1-3,:=!<>k-]{0,24}", flags in "[imsu]?", text in "[ab🦦\\n]{0,40}") {
        if let Ok(pattern) = JsRegex::new(&body, &flags) {
            let text = Utf16Text::new(&text);
            if let Ok(matches) = pattern.matches(&text, &mut StepBudget::for_text(text.len())) {
                for one in matches {
                    let range = one.range();
                    proptest::prop_assert!(range.start <= range.end && range.end <= text.len());
                    text.slice(range);
                }
            }
        }
    }

    /// Both engines find a match at the same position, if both support the pattern.
    #[test]
    fn js_regex_linear_and_backtracking_agree(body in "([ab.]|\\[\\^a\\]|\\((a|b|a\\|b|a\\*)\\)|b\\?|a\\+|\\|){1,8}", text in "[abc]{0,20}") {
        if let Ok(pattern) = JsRegex::new(&body, "") {
            let text = Utf16Text::new(&text);
            let one = pattern.find(&text, 0, &mut StepBudget::for_text(text.len())).unwrap().map(|found| found.range().start);
            let other = pattern.linear.find_from(&text, 0, &mut StepBudget::new(1_000)).unwrap();
            proptest::prop_assert_eq!(other, one.map_or(linear::LinearSearch::None, linear::LinearSearch::At), "{}", body);
        }
    }
}
