//! What each part of the search syntax finds, and in which order.

use super::*;

fn resolve_request(index: &Index, who: UserId, text: &str) -> Result<SearchRequest, QueryError> {
    let mut query = parse(text);
    index.resolve_names(who, &mut query).unwrap()?;
    Ok(SearchRequest::new(who, query))
}

fn find_resolved(index: &Index, text: &str) -> Vec<u128> {
    let mut nodes = search_nodes(index, &resolve_request(index, user_id(1), text).unwrap());
    nodes.sort_unstable();
    nodes
}

fn document_with_facts(n: u128, facts: &[(&str, IndexedScalar)]) -> SearchDocument {
    let fact =
        |(key, value): &(&str, IndexedScalar)| IndexedValue { keys: vec![(*key).to_owned()], value: value.clone() };
    SearchDocument { facts: facts.iter().map(fact).collect(), ..document(n, "fog") }
}

fn number(text: &str) -> IndexedScalar {
    IndexedScalar::Number(text.to_owned())
}

/// English words match in other forms, the exact word first; in quotation marks only the exact word.
#[test]
fn search_word_forms_are_found() {
    let index = index_with_texts(&["one lantern", "two lanterns", "running", "a run of runs", "the runner"]);
    assert_eq!(search_nodes(&index, &request("lanterns")), [2, 1]);
    assert_eq!(search_nodes(&index, &request("lantern")), [1, 2]);
    assert_eq!(find_nodes(&index, "\"lanterns\""), [2]);
    assert_eq!(find_nodes(&index, "runs"), [3, 4]);
    assert_eq!(find_nodes(&index, "runs -\"running\""), [4]);
}

/// Case and marks of any script do not count, in texts and in searches; the snippet marks the text as it is written.
#[test]
fn search_letters_of_any_script_are_found_without_marks() {
    let texts = [
        "кот и ёж",
        "Ελλάς θάλασσα",
        "İstanbul gece",
        "Đà Nẵng, Łódź",
        "שָׁלוֹם מُחَمَّد",
        "ＣＡＦＥ ガラス",
        "cafe\u{301} йод",
    ];
    let index = index_with_texts(&texts);
    for (text, node, marked) in [
        ("еж", 1, "ёж"),
        ("Е\u{308}Ж", 1, "ёж"),
        ("ελλας", 2, "Ελλάς"),
        ("ΕΛΛΑΣ", 2, "Ελλάς"),
        ("θαλασσα", 2, "θάλασσα"),
        ("istanbul", 3, "İstanbul"),
        ("ISTANBUL", 3, "İstanbul"),
        ("ıstanbul", 3, "İstanbul"),
        ("\"da nang\"", 4, "Đà Nẵng"),
        ("lodz", 4, "Łódź"),
        ("ист*", 0, ""),
        ("שלום", 5, "שָׁלוֹם"),
        ("\"ＬＯＤＺ\"", 4, "Łódź"),
        ("ｶﾞﾗｽ", 6, "ガラス"),
        ("йод", 7, "йод"),
        ("и\u{306}од", 7, "йод"),
        ("\"café\"", 7, "cafe\u{301}"),
    ] {
        let results = index.find(&request(text));
        let page = results.page(0, 10).unwrap();
        let found = page.hits.iter().find(|hit| hit.node == node_id(node));
        assert_eq!(found.is_some(), node > 0, "{text}");
        if let Some(hit) = found {
            let snippet = results.snippet(hit);
            let (start, end) = snippet.marks[0];
            let units: Vec<u16> = snippet.text.encode_utf16().collect();
            assert_eq!(String::from_utf16(&units[start..end]).unwrap(), marked, "{text}");
        }
    }
}

#[test]
fn search_prefix_fuzzy_and_joined_words_are_found() {
    let index = index_with_texts(&["red lamp", "red lantern, blue lamp", "a lantern", "fog 灯塔", "lamplight"]);
    for (text, expected) in [
        ("lam*", &[1, 2, 5][..]),
        ("\"red la\"*", &[1, 2]),
        ("\"red lan\"*", &[2]),
        ("lantren~", &[2, 3]),
        ("lanp~", &[1, 2]),
        ("lamp OR fog", &[1, 2, 4]),
        ("(lamp OR lantern) -blue", &[1, 3]),
        ("red (lamp OR fog) NOT blue", &[1]),
        ("* -(red OR fog)", &[3, 5]),
        ("fog OR -red", &[3, 4, 5]),
        ("* -red", &[3, 4, 5]),
        ("*", &[1, 2, 3, 4, 5]),
        ("灯塔 OR (red blue)", &[2, 4]),
        ("\"", &[]),
        ("AND AND", &[]),
    ] {
        assert_eq!(find_nodes(&index, text), expected, "{text}");
    }
    let hit = index.find(&request("lam*")).page(0, 1).unwrap();
    assert_eq!(hit.total, 3);
}

/// Stop words alone and a text of ten thousand characters are searched.
#[test]
fn search_unusual_queries_return_results() {
    let long = "the keeper walks along the shore and ".repeat(280);
    let index = index_with_texts(&["The fog of the sea and the tide", "sea", &long]);
    assert_eq!(find_nodes(&index, "the of and"), [1]);
    assert_eq!(find_nodes(&index, &long), [3]);
    let chinese = "守灯人点亮了灯塔".repeat(1_250);
    let index = index_with_texts(&[&chinese, "灯塔"]);
    assert_eq!(find_nodes(&index, &chinese), [1]);
}

#[test]
fn search_sort_orders_hits() {
    let index = index_with_texts(&["fog", "fog fog fog", "some fog far away"]);
    let sorted = |sort: SearchSort| search_nodes(&index, &SearchRequest { sort, ..request("fog") });
    assert_eq!(sorted(SearchSort::Newest), [3, 2, 1]);
    assert_eq!(sorted(SearchSort::Oldest), [1, 2, 3]);
    assert_eq!(sorted(SearchSort::Best)[0], 2);
    let found = index.find(&SearchRequest { sort: SearchSort::Oldest, ..request("fog") });
    let page = found.page(1, 1).unwrap();
    assert_eq!((page.total, page.hits[0].node, page.hits[0].score), (3, node_id(2), 0.0));
}

#[test]
fn search_time_session_and_character_filters() {
    let index = new_index(manual_commit_settings());
    let character = CharacterId::new(Uuid::from_u128(7));
    let day = 86_400_000;
    let at = |n: u128, time: i64| SearchDocument { time: Time(time), session: session_id(n), ..document(n, "fog") };
    put_documents(&index, &[at(1, 0), at(2, day), SearchDocument { character: Some(character), ..at(3, 2 * day) }]);
    assert_eq!(find_nodes(&index, "on:1970-01-02"), [2]);
    assert_eq!(find_nodes(&index, "after:1970-01-02 fog"), [2, 3]);
    assert_eq!(find_nodes(&index, "before:1970-01-02 OR on:1970-01-03"), [1, 3]);
    assert_eq!(find_nodes(&index, "* -after:1970-01-02"), [1]);
    let mut query = parse("session:tower OR character:keeper");
    query.resolve_sessions(&[(session_id(1), "The tower"), (session_id(2), "Fog")]);
    query.resolve_characters(&[(character, "Old Keeper")]);
    let mut both = search_nodes(&index, &SearchRequest::new(user_id(1), query));
    both.sort_unstable();
    assert_eq!(both, [1, 3]);
    assert_eq!(find_nodes(&index, "session:tower"), [] as [u128; 0], "nobody said which that is");
}

/// Values of the state: exact numbers of any size, ranges, flags, texts and existence.
#[test]
fn search_world_values_are_found() {
    let index = new_index(manual_commit_settings());
    let text = |text: &str| IndexedScalar::Text(text.to_owned());
    put_documents(
        &index,
        &[
            document_with_facts(
                1,
                &[("hp", number("12")), ("place", text("The Old Tower")), ("alive", IndexedScalar::Flag(true))],
            ),
            document_with_facts(2, &[("hp", number("20.0")), ("place", text("tower"))]),
            document_with_facts(
                3,
                &[("hp", number("-3.5")), ("alive", IndexedScalar::Flag(false)), ("combat.hp", number("7"))],
            ),
            document_with_facts(4, &[("gold", number("9007199254740993")), ("place", text("灯塔里"))]),
            document(5, "hp 12"),
        ],
    );
    for (asked, expected) in [
        ("hp:<20", &[1, 3][..]),
        ("hp:<=20", &[1, 2, 3]),
        ("hp:>12", &[2]),
        ("hp:>=12", &[1, 2]),
        ("hp:-4..12", &[1, 3]),
        ("hp:20", &[2]),
        ("hp:!=20", &[1, 3]),
        ("* -hp:20", &[1, 3, 4, 5]),
        ("hp:*", &[1, 2, 3]),
        ("HP:<0 fog", &[3]),
        ("combat.hp:7", &[3]),
        ("gold:>9007199254740992", &[4]),
        ("gold:>9007199254740993", &[]),
        ("place:tower", &[1, 2]),
        ("place:\"tower\"", &[2]),
        ("place:\"the old tower\"", &[1]),
        ("place:old*", &[1]),
        ("place:灯塔", &[4]),
        ("alive:true", &[1]),
        ("alive:FALSE OR hp:20", &[2, 3]),
        ("hp:<20 AND nothing", &[]),
    ] {
        assert_eq!(find_resolved(&index, asked), expected, "{asked}");
    }
    assert_eq!(
        resolve_request(&index, user_id(1), "mana:3").unwrap_err(),
        QueryError::UnknownField { at: 0, field: "mana".into() }
    );
    put_documents(&index, &[document(1, "fog")]);
    assert_eq!(find_resolved(&index, "hp:<20"), [3], "a document replaces the one before with all its values");
}

/// Security promise 2: values of other users are neither found nor listed.
#[test]
fn search_values_of_other_owner_are_unknown() {
    let index = new_index(manual_commit_settings());
    let foreign =
        SearchDocument { owner: user_id(2), ..document_with_facts(2, &[("secret", number("1")), ("hp", number("1"))]) };
    put_documents(&index, &[document_with_facts(1, &[("hp", number("12"))]), foreign]);
    assert_eq!(find_resolved(&index, "hp:*"), [1]);
    let refused = resolve_request(&index, user_id(1), "secret:1").unwrap_err();
    assert_eq!(refused, QueryError::UnknownField { at: 0, field: "secret".into() });
    assert_eq!(index.keys(user_id(1), 10).unwrap(), ["hp"]);
    assert_eq!(index.keys(user_id(2), 1).unwrap(), ["hp"]);
    assert_eq!(index.keys(user_id(3), 10).unwrap(), [] as [String; 0]);
    for all in ["*", "* -nothing", "fog OR -fog", "hp:* OR *"] {
        assert_eq!(find_resolved(&index, all), [1], "{all}");
    }
}

/// The owner filter is left out while all documents have one owner, and used as soon as they do not.
#[test]
fn search_owner_term_is_added_with_other_owners() {
    let index = index_with_texts(&["fog", "sea"]);
    assert_eq!(find_nodes(&index, "*"), [1, 2]);
    put_documents(&index, &[SearchDocument { owner: user_id(2), ..document(3, "fog") }]);
    assert_eq!(find_nodes(&index, "*"), [1, 2]);
    let from = index.cursor();
    index.send(from, vec![IndexChange::Remove(node_id(3))], from + 1).unwrap();
    index.flush().unwrap();
    assert_eq!(find_nodes(&index, "* OR fog"), [1, 2]);
    assert_eq!(search_nodes(&index, &SearchRequest::new(user_id(2), parse("*"))), [] as [u128; 0]);
}

/// Prefix and fuzzy matches are marked in the snippet.
#[test]
fn search_marks_show_matched_forms() {
    let index = index_with_texts(&["The red lanterns burn low"]);
    for (text, marks) in
        [("lant*", &[(8, 16)][..]), ("lanterms~", &[(8, 16)]), ("lantern burning", &[(8, 16), (17, 21)])]
    {
        let found = index.find(&request(text));
        let hit = found.page(0, 1).unwrap().hits.remove(0);
        assert_eq!(found.snippet(&hit).marks, marks, "{text}");
    }
}
