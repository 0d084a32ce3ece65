//! Hostile texts: nothing panics or runs forever, and limits are reported.

use clotho_core::stop_check::StopCheck;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::{
    CardTexts, MACROS_PER_LOOK, MAX_MACROS, MAX_VALUE, MAX_WORK, MacroContext, MacroEngine, MacroReport,
};
use super::test_context;

fn fill(facts: &MacroContext, local: Map<String, Value>, text: &str) -> (String, MacroReport) {
    let mut draw = || 0.25;
    let mut macros = MacroEngine::new(facts, local, Map::new(), &mut draw);
    let filled = macros.fill(text);
    assert!(macros.local.map().values().all(|value| value.as_str().is_none_or(|text| text.len() <= MAX_VALUE)));
    (filled, macros.report)
}

/// Security 2.7: braces nested tens of thousands deep, in arguments and blocks; inner macros are still expanded.
#[test]
fn macros_unclosed_braces_terminate() {
    for (open, close) in [("{{a::", "}}"), ("{{if::1::", "}}"), ("{{if 1}}", "{{/if}}"), ("{{", "}}"), ("{{a ", "")] {
        let text = format!("{}{{{{user}}}}{}", open.repeat(40_000), close.repeat(40_000));
        let (filled, _) = fill(&test_context(), Map::new(), &text);
        assert!(filled.contains("Ann"), "{open}");
    }
    let strays = format!("{}{}", "{{trim}}".repeat(50_000), "{{/if}}".repeat(50_000));
    assert_eq!(fill(&test_context(), Map::new(), &strays).0.len(), "{{/if}}".len() * 50_000);
}

/// Security 2.7: texts that contain themselves, and texts that contain each other twice.
#[test]
fn macros_growing_text_stops_at_limit() {
    let twice = "{{description}}{{description}}{{personality}}{{personality}}";
    let card = CardTexts {
        description: format!("{}{}", "x".repeat(10_000), "{{personality}}".repeat(1_000)),
        personality: format!("{}{}", "{{scenario}}".repeat(1_000), "{{description}}"),
        scenario: "{{scenario}}{{personality}}".repeat(1_000),
        ..CardTexts::default()
    };
    let (filled, noted) = fill(&MacroContext { card, ..test_context() }, Map::new(), twice);
    assert!(filled.len() < 4 * MAX_WORK, "{}", filled.len());
    assert!(!noted.problems.is_empty());
    let doubling = "{{setvar::x::{{getvar::x}}{{getvar::x}}}}".repeat(60);
    let (_, noted) = fill(&test_context(), json!({"x": "xx"}).as_object().unwrap().clone(), &doubling);
    assert!(!noted.problems.is_empty());
    let told = "{{getvar::x}}".repeat(1_000);
    let (filled, noted) = fill(&test_context(), json!({"x": "x".repeat(1 << 20)}).as_object().unwrap().clone(), &told);
    assert!(filled.len() < 2 * MAX_WORK && noted.problems.len() == 1);
    let lists = "{{addvar::list::x}}".repeat(MAX_MACROS);
    let (_, noted) = fill(&test_context(), json!({"list": "[]"}).as_object().unwrap().clone(), &lists);
    assert_eq!(noted.problems.len(), 1);
}

/// Nobody waits for the text any more: the rest of it stays as it is, and so do all later ones.
#[test]
fn macros_stop_within_one_text() {
    let facts = test_context();
    let mut draw = || 0.25;
    let mut macros = MacroEngine::new(&facts, Map::new(), Map::new(), &mut draw);
    let stop = StopCheck::after_looks(3);
    macros.stop_with(stop.clone());
    let text = "{{addvar::count::1}}".repeat(10_000);
    let filled = macros.fill(&text);
    // One look at the beginning, and one in so many macros.
    assert_eq!(stop.looks(), 4);
    assert!(filled.len() > text.len() - 20 * 4 * MACROS_PER_LOOK, "{}", filled.len());
    assert_eq!((macros.fill("{{user}}").as_str(), stop.looks()), ("{{user}}", 4));
    // Nested ones, too.
    let mut draw = || 0.25;
    let mut macros = MacroEngine::new(&facts, Map::new(), Map::new(), &mut draw);
    let stop = StopCheck::after_looks(2);
    macros.stop_with(stop.clone());
    let _ = macros.fill(&format!("{{{{upper::{}}}}}", "{{if 1}}{{user}}{{/if}}".repeat(10_000)));
    assert_eq!(stop.looks(), 3);
}

/// Security 2.7: huge numbers, NUL, U+0001 and odd JSON.
#[test]
fn macros_odd_values_do_not_panic() {
    for text in [
        "{{newline::99999999999999999999}}",
        "{{space::2000000}}",
        "{{roll::999999999d999999999}}",
        "{{roll::1d99999999999999999999}}",
        "{{setvarkey::x::99999999999::1}}{{getvarkey::x::-1}}",
        "{{addvar::hp::1e999}}{{addvar::hp::-1e999}}{{.hp--}}{{.hp += 0x}}",
        "{{timeDiff::999999-12-31::-999999-01-01}}{{timeDiff::0000-00-00::9999-99-99}}",
        "{{datetimeformat::\u{0}\u{1}[}}{{time::UTC+99999999999}}{{time::UTC-2147483648}}",
        "{{setvar::\u{0}::\u{1}}}{{getvar::\u{0}}}{{reverse::\u{0}🏴‍☠️}}",
        "{{getvar::}}{{setvar::::}}{{random::}}{{pick::}}{{.a = }}{{if::::}}",
        "{{getvar::....}}{{setvar::a.b::1}}{{deletevar::.}}{{getvar::hp.0.0}}",
    ] {
        let (filled, _) =
            fill(&test_context(), json!({"hp": 12, "deep": {"a": [1]}}).as_object().unwrap().clone(), text);
        assert!(filled.len() <= 10_000 + text.len(), "{text}");
    }
    let late = MacroContext { time: super::super::MacroTime { ms: i64::MAX, ..Default::default() }, ..test_context() };
    assert_eq!(fill(&late, Map::new(), "[{{time}}{{date}}]").0, "[]");
}

/// Generates pieces of hostile texts.
fn any_piece() -> impl Strategy<Value = String> {
    let words = [
        "{{",
        "}}",
        "{",
        "}",
        "\\{",
        "\\",
        "::",
        ":",
        " ",
        "\n",
        "/",
        "#",
        "!",
        "?",
        ".",
        "$",
        "//",
        "if",
        "else",
        "user",
        "setvar",
        "getvar",
        "addvar",
        "setvarkey",
        "list",
        "hp",
        "=",
        "+=",
        "??",
        "++",
        "trim",
        "random",
        "pick",
        "roll",
        "2d6",
        "reverse",
        "description",
        "datetimeformat",
        "LLLL[",
        "timeDiff",
        "2025-01-01",
        "灯",
        "\u{0}",
        "\u{1}",
        "<USER>",
        "{{if .hp}}",
        "{{/if}}",
        "{{else}}",
        "{{setvar::x}}",
        "{{/setvar}}",
        "{{.hp",
        "1e999",
        "-1",
    ];
    prop_oneof![4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,4}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text is expanded, with the same result for the same draws.
    #[test]
    fn macros_random_text_does_not_panic(pieces in proptest::collection::vec(any_piece(), 0..40)) {
        let text = pieces.concat();
        let local = json!({"hp": 12, "list": "[1]", "x": {"y": [1]}});
        let once = fill(&test_context(), local.as_object().unwrap().clone(), &text);
        prop_assert_eq!(once, fill(&test_context(), local.as_object().unwrap().clone(), &text));
    }

    /// A text without braces is unchanged.
    #[test]
    fn macros_plain_text_is_unchanged(text in "[^{}<]*") {
        prop_assert_eq!(fill(&test_context(), Map::new(), &text).0, text);
    }

    /// Any date pattern works for any time.
    #[test]
    fn macros_random_date_pattern_does_not_panic(pattern in "[a-zA-Z\\[\\]\\\\ :]{0,40}", ms in any::<i64>()) {
        let at = MacroContext { time: super::super::MacroTime { ms, ..Default::default() }, ..test_context() };
        let (filled, _) = fill(&at, Map::new(), &format!("{{{{datetimeformat::{pattern}}}}}"));
        prop_assert!(filled.len() < 4_000);
    }
}
