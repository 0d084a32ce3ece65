//! Parsing of search texts, their errors and notes.

use proptest::prelude::*;

use super::*;
use clotho_core::clock::Time;

const TODAY: LocalNow = LocalNow { now: Time(1_000_000_000_000), utc_offset_minutes: 0 };

fn parse(text: &str) -> ParsedQuery {
    ParsedQuery::parse(text, TODAY).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn format_terms(words: &SearchTerms) -> String {
    let all: Vec<&str> = words.terms.iter().map(|term| term.text.as_str()).collect();
    let how = match &words.matching {
        TermMatch::Exact => String::new(),
        TermMatch::Forms(stem) => format!("≈{stem}"),
        TermMatch::Prefix => "…".to_owned(),
        TermMatch::Near(slips) => format!("~{slips}"),
    };
    all.join("+") + &how
}

fn format_expr(expr: &QueryExpr) -> String {
    let list = |parts: &[QueryExpr]| parts.iter().map(format_expr).collect::<Vec<_>>().join(" ");
    match expr {
        QueryExpr::Everything => "everything".to_owned(),
        QueryExpr::Nothing => "nothing".to_owned(),
        QueryExpr::All(parts) => format!("({})", list(parts)),
        QueryExpr::Any(parts) => format!("[{}]", list(parts)),
        QueryExpr::Not(inner) => format!("-{}", format_expr(inner)),
        QueryExpr::Tree(..) => "ask".to_owned(),
        QueryExpr::Condition(QueryCondition::Text(text)) => format_terms(text),
        QueryExpr::Condition(QueryCondition::Name(name)) => format!("name={}", format_terms(name)),
        QueryExpr::Condition(QueryCondition::Role(role)) => format!("role={}", role.as_str()),
        QueryExpr::Condition(QueryCondition::World(condition)) => format!("{}:{:?}", condition.key, condition.wanted),
        QueryExpr::Condition(what) => format!("{what:?}"),
    }
}

fn parse_and_format(text: &str) -> String {
    format_expr(&parse(text).expr)
}

fn check(text: &str, expected: &str) {
    assert_eq!(parse_and_format(text), expected, "{text}");
}

#[test]
fn query_words_and_phrases_are_parsed() {
    check("red lanterns", "(red≈red lanterns≈lantern)");
    check("\"Red Lantern\" -fog -\"old tower\"", "(red+lantern -fog≈fog -old+tower)");
    check("\"lanterns\"", "lanterns");
    check("“灯塔 里”　守灯人", "(灯塔+里 守灯+灯人)");
    check("12:30 note: 时间:夜 !? - \"\" fire", "(12+30 note≈note 时间+夜 fire≈fire)");
    check("fog \"red lan", "(fog≈fog red+lan)");
    check("fog -\"red lan", "(fog≈fog -red+lan)");
    check("fog \"", "fog≈fog");
    check("café don't", "(cafe≈cafe don+t)");
    check("٢٠ २० ２０ Hawaiʻi", "(20 20 20 hawai+i)");
}

#[test]
fn query_prefix_and_fuzzy_are_parsed() {
    check("lan*", "lan…");
    check("\"red lan\"*", "red+lan…");
    check("l* 灯* 灯塔里*", "(l 灯 灯塔+塔里)");
    check("lantrn~", "lantrn~2");
    check("lamp~ lamp~1 lamp~2 lamp~9 lamp~0", "(lamp~1 lamp~1 lamp~2 lamp~2 lamp~1)");
    check("hm~ hi~~ 灯塔~ \"red fog\"~2 x~y", "(hm hi 灯塔 red+fog x+y)");
    // Actions as role-players write them.
    check("*smiles* **bold** *waves", "(smiles≈smile bold≈bold waves≈wave)");
}

#[test]
fn query_operators_and_brackets_are_parsed() {
    check("a1 OR b2 c3", "[a1 (b2 c3)]");
    check("(a1 OR b2) c3", "([a1 b2] c3)");
    check("a1 AND b2 && c3", "(a1 b2 c3)");
    check("a1 || b2 | c3", "[a1 b2 c3]");
    check("NOT a1 -(b2 OR c3) NOT NOT d4", "(-a1 -[b2 c3] d4)");
    check("((a1))", "a1");
    check("(a1 (b2 (c3", "(a1 b2 c3)");
    check("a1) OR (b2", "[a1 b2]");
    check("（a1 OR b2） c3", "([a1 b2] c3)");
    check("f1(x2) (f1(x2))", "(f1+x2 f1+x2)");
    check("and or not", "(and≈and or not≈not)");
}

/// Any plain text is a valid search.
#[test]
fn query_incomplete_text_is_accepted() {
    for nothing in ["\"", "?!", "()", "( )", "“", "-", "--", ":)", ":-(", "()()", "~", "…", "\u{1}", "\0", "\"\" \"\""]
    {
        let query = parse(nothing);
        assert_eq!(
            (format_expr(&query.expr).as_str(), query.notes()),
            ("nothing", &[QueryNote::NoWord][..]),
            "{nothing}"
        );
    }
    check("*", "everything");
    check("AND AND", "(and≈and and≈and)");
    check("OR", "or");
    check("(NOT)", "not≈not");
    check("fog AND", "fog≈fog");
    check("OR fog OR", "fog≈fog");
    check("fog NOT", "fog≈fog");
    check("* -fog", "(everything -fog≈fog)");
    check("the of and", "(the≈the of and≈and)");
    check("red -- fog - sea --tide", "(red≈red fog≈fog sea≈sea tide≈tide)");
    check("http://a.b/c C:\\x so:) wait:... wait:..", "(http+a+b+c c+x so wait≈wait wait≈wait)");
    check("role: x", "(role≈role x)");
    check("name:\"\" fog", "fog≈fog");
}

#[test]
fn query_too_long_text_is_truncated() {
    let long = "word ".repeat(2_000);
    let query = parse(&long);
    assert_eq!(query.conditions().len(), scan::PARTS_MAX);
    assert!(matches!(query.notes(), [QueryNote::Cut { at: 160, .. }]), "{:?}", query.notes());
    let query = parse(&format!("{} 🔥", "x".repeat(10_000)));
    let [QueryCondition::Text(SearchTerms { terms, .. })] = query.conditions()[..] else { panic!() };
    assert_eq!(terms.len(), 15, "the sixteenth is cut, so it is not known");
    assert!(matches!(query.notes(), [QueryNote::Cut { at: 1_000, .. }]));
    assert_eq!(parse(&"灯".repeat(10_000)).conditions().len(), 1);
    let deep = "(".repeat(900) + "fog" + &")".repeat(50) + " sea";
    check(&deep, "(fog≈fog sea≈sea)");
    let pairs = "* (-".repeat(400) + "fog";
    assert!(parse_and_format(&pairs).contains("everything"));
}

#[test]
fn query_fields_are_parsed() {
    check("role:user name:Rin -name:\"Old Keeper\"", "(role=user name=rin≈rin -name=old+keeper)");
    check("role：Assistant", "role=assistant");
    assert!(parse("session:Tower fog").names_sessions() && !parse("session:Tower").names_characters());
    assert!(parse("fog OR -character:\"Old Keeper\"").names_characters());
    let query = parse("in:trunk -label:\"the keep\" fog in:stash");
    let asks: Vec<(bool, TreeLocation)> =
        query.tree_conditions().iter().map(|ask| (ask.negated, ask.location.clone())).collect();
    let spots = [
        (false, TreeLocation::In(TreeScope::Trunk)),
        (true, TreeLocation::Label("the keep".into())),
        (false, TreeLocation::In(TreeScope::Stash)),
    ];
    assert_eq!((asks.as_slice(), format_expr(&query.expr).as_str()), (&spots[..], "fog≈fog"));
    assert_eq!(parse_and_format("(in:off-trunk)"), "everything");
    let QueryExpr::Condition(QueryCondition::Time(span)) = parse("on:2001-09-09").expr else { panic!() };
    let QueryExpr::Condition(QueryCondition::Time(same)) = parse("on:٢٠٠١-٠٩-٠٩").expr else { panic!() };
    assert_eq!(same, span, "digits of any script");
    assert_eq!(span.until.unwrap() - span.from.unwrap(), 86_400_000);
}

#[test]
fn query_names_resolve_by_words() {
    let tower = SessionId::new(Uuid::from_u128(1));
    let fog = SessionId::new(Uuid::from_u128(2));
    let all = [(tower, "The old tower"), (fog, "Fog 雾")];
    let ids = |text: &str| {
        let mut query = parse(text);
        query.resolve_sessions(&all);
        let named: Vec<Vec<u128>> = query
            .conditions()
            .iter()
            .filter_map(|what| if let QueryCondition::Session(named) = what { Some(&named.ids) } else { None })
            .map(|ids| ids.iter().map(Uuid::as_u128).collect())
            .collect();
        (named, query.notes().len())
    };
    assert_eq!(ids("session:tower"), (vec![vec![1]], 0));
    assert_eq!(ids("session:雾 OR story:\"the old\""), (vec![vec![2], vec![1]], 0));
    assert_eq!(ids("session:nowhere fog"), (vec![vec![]], 1));
    assert_eq!(ids(&format!("session:{}", Uuid::from_u128(2))), (vec![vec![2]], 0));
}

#[test]
fn query_value_conditions_are_parsed() {
    let code = |text: &str| crate::decimal_code::encode(text).unwrap();
    let between = |from: Option<(&str, bool)>, until: Option<(&str, bool)>| {
        let end = |end: Option<(&str, bool)>| end.map(|(text, is_in)| (code(text), is_in));
        ValueMatch::Between(end(from), end(until))
    };
    let cases = [
        ("hp:<20", "hp", between(None, Some(("20", false)))),
        ("Combat.HP:>=-3.5", "combat.hp", between(Some(("-3.5", true)), None)),
        ("hp:5..10", "hp", between(Some(("5", true)), Some(("10", true)))),
        ("hp:..10", "hp", between(None, Some(("10", true)))),
        ("hp:5..", "hp", between(Some(("5", true)), None)),
        ("hp:20", "hp", ValueMatch::Equals("20".into(), false)),
        ("hp:=20", "hp", ValueMatch::Equals("20".into(), false)),
        ("hp:!=20", "hp", ValueMatch::NotEquals("20".into(), false)),
        ("place:\"Old tower\"", "place", ValueMatch::Equals("Old tower".into(), true)),
        ("place:tow*", "place", ValueMatch::Prefix("tow".into())),
        ("torch:*", "torch", ValueMatch::Any),
        ("血量:<20", "血量", between(None, Some(("20", false)))),
        ("血量：≤２０", "血量", between(None, Some(("20", true)))),
        ("hp:＞5", "hp", between(Some(("5", false)), None)),
    ];
    for (text, key, wanted) in cases {
        let QueryExpr::Condition(QueryCondition::World(condition)) = parse(text).expr else { panic!("{text}") };
        assert_eq!((condition.key.as_str(), &condition.wanted), (key, &wanted), "{text}");
    }
    let mut query = parse("hp:<20 AND dragon");
    assert_eq!(query.resolve_values(|key| key == "hp"), Ok(()));
    let settled = |text: &str| parse(text).resolve_values(|_| false);
    assert_eq!(settled("a hp:<20"), Err(QueryError::UnknownValue { at: 2, field: "hp".into() }));
    assert_eq!(settled("🔥 combat.hp:3"), Err(QueryError::UnknownField { at: 3, field: "combat.hp".into() }));
    // A non-ASCII word before a colon is text, unless it is the key of a value.
    check("他说:<好>", "他说+好");
    let mut query = parse("血量:<20");
    assert_eq!((query.resolve_values(|_| false), format_expr(&query.expr)), (Ok(()), "血量+20".to_owned()));
}

#[test]
fn query_error_returns_position() {
    let check = |text: &str, expected: QueryError| assert_eq!(ParsedQuery::parse(text, TODAY), Err(expected), "{text}");
    let empty = |at: usize, length: usize| QueryError::Empty { at, length };
    check("", empty(0, 0));
    check(" \u{3000}\n", empty(3, 0));
    check(" -灯🔥 ", empty(1, 4));
    check("-fog", empty(0, 4));
    check("-fog NOT (a1 OR b2)", empty(0, 19));
    check("a role:king", QueryError::UnknownRole { at: 7, role: "king".into() });
    check("🔥 in:heaven", QueryError::UnknownPlace { at: 6, place: "heaven".into() });
    check("after:soon", QueryError::NoTime { at: 6, time: "soon".into() });
    check("fog hp:<many", QueryError::NoNumber { at: 7, field: "hp".into(), number: "many".into() });
    check("fog OR in:trunk", QueryError::Misplaced { at: 7, field: "in" });
    check("-(fog label:x)", QueryError::Misplaced { at: 6, field: "label" });
    let error = ParsedQuery::parse("a role:king", TODAY).unwrap_err();
    assert_eq!((error.at(), error.length()), (7, 4));
}

proptest! {
    #[test]
    fn query_any_text_does_not_panic(text in "[ -~\"“”：（）灯🔥\u{301}]{0,60}|(AND |OR |NOT |\\(|\\)|-|hp:<|\"|[a-c]~? |in:trunk ){0,40}|.{0,80}") {
        match ParsedQuery::parse(&text, TODAY) {
            Ok(mut query) => _ = query.resolve_values(|key| key.len() % 2 == 0),
            Err(error) => prop_assert!(error.at() <= text.encode_utf16().count()),
        }
    }
}
