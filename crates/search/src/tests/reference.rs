//! Random searches over random texts, compared with a small matcher that uses no index.

use super::*;

/// Words with their stems; Chinese ones have none.
const WORDS: [(&str, &str); 14] = [
    ("lantern", "lantern"),
    ("lanterns", "lantern"),
    ("lamp", "lamp"),
    ("lamps", "lamp"),
    ("runs", "run"),
    ("running", "run"),
    ("fog", "fog"),
    ("frog", "frog"),
    ("fgo", "fgo"),
    ("red", "red"),
    ("灯", ""),
    ("灯塔", ""),
    ("守灯人", ""),
    ("塔", ""),
];

/// A search by its meaning.
#[derive(Debug, Clone)]
enum ReferenceQuery {
    Word(usize),
    Phrase(Vec<usize>, bool),
    Begun(String),
    Near(usize),
    Role(Role),
    /// Less than, equal or greater than.
    Hp(std::cmp::Ordering, i64),
    Not(Box<ReferenceQuery>),
    All(Vec<ReferenceQuery>),
    Any(Vec<ReferenceQuery>),
}

#[derive(Debug, Clone)]
struct ReferenceText {
    words: Vec<usize>,
    role: Role,
    hp: Option<i64>,
}

fn word(n: usize) -> &'static str {
    WORDS[n].0
}

/// A word between spaces or a Chinese character, with whether it touches the one before.
fn text_units(words: &[usize]) -> Vec<(String, bool)> {
    let of = |n: &usize| match word(*n).is_ascii() {
        true => vec![(word(*n).to_owned(), false)],
        false => word(*n).chars().enumerate().map(|(at, c)| (c.to_string(), at > 0)).collect(),
    };
    words.iter().flat_map(of).collect()
}

/// Returns whether `wanted` occurs in `text`; the last part may be a prefix.
fn contains_units(text: &[(String, bool)], wanted: &[(String, bool)], is_begun: bool) -> bool {
    text.windows(wanted.len()).any(|window| {
        window.iter().zip(wanted).enumerate().all(|(at, (here, there))| {
            let may_go_on = is_begun && at + 1 == wanted.len();
            let is_word = if may_go_on { here.0.starts_with(&there.0) } else { here.0 == there.0 };
            is_word && (here.1 || !there.1)
        })
    })
}

fn is_near(a: &[u8], b: &[u8], slips: u8) -> bool {
    let same = match (a, b) {
        ([], []) => true,
        ([x, rest @ ..], [y, other @ ..]) if x == y => is_near(rest, other, slips),
        _ => false,
    };
    let cut = |text: &'_ [u8]| -> Vec<u8> { text.get(1..).unwrap_or_default().to_vec() };
    same || slips > 0
        && ((!a.is_empty() && is_near(&cut(a), b, slips - 1))
            || (!b.is_empty() && is_near(a, &cut(b), slips - 1))
            || (!a.is_empty() && !b.is_empty() && is_near(&cut(a), &cut(b), slips - 1))
            || (a.len() > 1 && b.len() > 1 && a[0] == b[1] && a[1] == b[0] && is_near(&a[2..], &b[2..], slips - 1)))
}

impl ReferenceQuery {
    fn matches(&self, text: &ReferenceText) -> bool {
        let units = || text_units(&text.words);
        match self {
            Self::Word(n) if word(*n).is_ascii() => text.words.iter().any(|here| WORDS[*here].1 == WORDS[*n].1),
            Self::Word(n) => contains_units(&units(), &self::text_units(&[*n]), false),
            Self::Phrase(words, is_begun) => contains_units(&units(), &self::text_units(words), *is_begun),
            Self::Begun(beginning) => text.words.iter().any(|here| word(*here).starts_with(beginning)),
            Self::Near(n) => {
                let slips = if word(*n).len() < 6 { 1 } else { 2 };
                let near = |here: &usize| is_near(word(*here).as_bytes(), word(*n).as_bytes(), slips);
                text.words.iter().filter(|here| word(**here).is_ascii()).any(near)
            }
            Self::Role(role) => text.role == *role,
            Self::Hp(order, than) => text.hp.is_some_and(|hp| hp.cmp(than) == *order),
            Self::Not(inner) => !inner.matches(text),
            Self::All(parts) => parts.iter().all(|part| part.matches(text)),
            Self::Any(parts) => parts.iter().any(|part| part.matches(text)),
        }
    }

    /// Formats the search as a person types it.
    fn query_text(&self) -> String {
        let list = |parts: &[Self], between: &str| {
            let parts: Vec<String> = parts.iter().map(Self::query_text).collect();
            format!("({})", parts.join(between))
        };
        match self {
            Self::Word(n) => word(*n).to_owned(),
            Self::Phrase(words, is_begun) => {
                let words: Vec<&str> = words.iter().map(|n| word(*n)).collect();
                format!("\"{}\"{}", words.join(" "), if *is_begun { "*" } else { "" })
            }
            Self::Begun(beginning) => format!("{beginning}*"),
            Self::Near(n) => format!("{}~", word(*n)),
            Self::Role(role) => format!("role:{}", role.as_str()),
            Self::Hp(order, than) => {
                let sign = ["<", "", ">"][usize::try_from(*order as i8 + 1).unwrap()];
                format!("hp:{sign}{than}")
            }
            Self::Not(inner) if matches!(**inner, Self::Not(_)) => format!("NOT ({})", inner.query_text()),
            Self::Not(inner) => format!("-{}", inner.query_text()),
            Self::All(parts) => list(parts, if parts.len() % 2 == 0 { " " } else { " AND " }),
            Self::Any(parts) => list(parts, " OR "),
        }
    }
}

fn any_texts() -> impl Strategy<Value = Vec<ReferenceText>> {
    let role = prop::sample::select(vec![Role::User, Role::Assistant]);
    let text = (prop::collection::vec(0..WORDS.len(), 1..6), role, prop::option::of(-3_i64..3));
    prop::collection::vec(text.prop_map(|(words, role, hp)| ReferenceText { words, role, hp }), 1..12)
}

fn any_query() -> impl Strategy<Value = ReferenceQuery> {
    use std::cmp::Ordering;
    let ascii = WORDS.iter().filter(|(word, _)| word.is_ascii()).count();
    let begun = (0..ascii, 2_usize..5).prop_map(|(n, length)| word(n).chars().take(length).collect());
    // The last word of a phrase may be a prefix if it has letters and a word before it.
    let phrase = (prop::collection::vec(0..WORDS.len(), 1..4), any::<bool>()).prop_map(move |(words, is_begun)| {
        let may = words.last().is_some_and(|last| *last < ascii);
        ReferenceQuery::Phrase(words, is_begun && may)
    });
    let order = prop::sample::select(vec![Ordering::Less, Ordering::Equal, Ordering::Greater]);
    let leaf = prop_oneof![
        4 => (0..WORDS.len()).prop_map(ReferenceQuery::Word),
        2 => phrase,
        1 => begun.prop_map(ReferenceQuery::Begun),
        1 => (0..ascii).prop_map(ReferenceQuery::Near),
        1 => prop::sample::select(vec![Role::User, Role::Assistant]).prop_map(ReferenceQuery::Role),
        1 => (order, -3_i64..3).prop_map(|(order, than)| ReferenceQuery::Hp(order, than)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            inner.prop_map(|inner| ReferenceQuery::Not(Box::new(inner))),
            some.clone().prop_map(ReferenceQuery::All),
            some.prop_map(ReferenceQuery::Any),
        ]
    })
}

fn index_texts(texts: &[ReferenceText]) -> TestIndex {
    let index = new_index(manual_commit_settings());
    let documents: Vec<SearchDocument> = (1..)
        .zip(texts)
        .map(|(n, text)| {
            let words: Vec<&str> = text.words.iter().map(|n| word(*n)).collect();
            let hp = text
                .hp
                .map(|hp| IndexedValue { keys: vec!["hp".into()], value: IndexedScalar::Number(hp.to_string()) });
            SearchDocument { role: text.role, facts: hp.into_iter().collect(), ..document(n, &words.join(" ")) }
        })
        .collect();
    put_documents(&index, &documents);
    index
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Exactly the matching texts are found, and all marks lie inside the text.
    #[test]
    fn search_results_match_reference(texts in any_texts(), all in prop::collection::vec(any_query(), 1..12)) {
        let index = index_texts(&texts);
        for asked in all {
            // A text that only excludes is no search; the star adds everything else.
            let typed = format!("* {}", asked.query_text());
            let mut query = parse(&typed);
            prop_assert!(query.notes().is_empty(), "{}", typed);
            index.resolve_names(user_id(1), &mut query).unwrap().ok();
            let request = SearchRequest::new(user_id(1), query);
            let mut got = search_nodes(&index, &request);
            got.sort_unstable();
            let meant: Vec<u128> = (1..).zip(&texts).filter(|(_, text)| asked.matches(text)).map(|(n, _)| n).collect();
            prop_assert_eq!(got, meant, "{}", typed);
            let found = index.find(&request);
            for hit in found.page(0, 3).unwrap().hits {
                let snippet = found.snippet(&hit);
                let length = snippet.text.encode_utf16().count();
                prop_assert!(snippet.marks.iter().all(|(start, end)| start < end && *end <= length));
            }
        }
    }
}
