//! What each part of the search syntax finds, and in which order.

use super::*;

fn settled(index: &Index, who: UserId, text: &str) -> Result<SearchRequest, QueryError> {
    let mut query = parse(text);
    index.resolve_names(who, &mut query).unwrap()?;
    Ok(SearchRequest::new(who, query))
}

fn held(index: &Index, text: &str) -> Vec<u128> {
    let mut nodes = nodes(index, &settled(index, user(1), text).unwrap());
    nodes.sort_unstable();
    nodes
}

fn with_facts(n: u128, facts: &[(&str, IndexedScalar)]) -> SearchDocument {
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
    let index = holding(&["one lantern", "two lanterns", "running", "a run of runs", "the runner"]);
    assert_eq!(nodes(&index, &request("lanterns")), [2, 1]);
    assert_eq!(nodes(&index, &request("lantern")), [1, 2]);
    assert_eq!(found(&index, "\"lanterns\""), [2]);
    assert_eq!(found(&index, "runs"), [3, 4]);
    assert_eq!(found(&index, "runs -\"running\""), [4]);
}

#[test]
fn search_prefix_fuzzy_and_joined_words_are_found() {
    let index = holding(&["red lamp", "red lantern, blue lamp", "a lantern", "fog 灯塔", "lamplight"]);
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
        assert_eq!(found(&index, text), expected, "{text}");
    }
    let hit = index.find(&request("lam*")).page(0, 1).unwrap();
    assert_eq!(hit.total, 3);
}

/// Stop words alone and a text of ten thousand characters are searched.
#[test]
fn search_unusual_queries_return_results() {
    let long = "the keeper walks along the shore and ".repeat(280);
    let index = holding(&["The fog of the sea and the tide", "sea", &long]);
    assert_eq!(found(&index, "the of and"), [1]);
    assert_eq!(found(&index, &long), [3]);
    let chinese = "守灯人点亮了灯塔".repeat(1_250);
    let index = holding(&[&chinese, "灯塔"]);
    assert_eq!(found(&index, &chinese), [1]);
}

#[test]
fn search_sort_orders_hits() {
    let index = holding(&["fog", "fog fog fog", "some fog far away"]);
    let sorted = |sort: SearchSort| nodes(&index, &SearchRequest { sort, ..request("fog") });
    assert_eq!(sorted(SearchSort::Newest), [3, 2, 1]);
    assert_eq!(sorted(SearchSort::Oldest), [1, 2, 3]);
    assert_eq!(sorted(SearchSort::Best)[0], 2);
    let found = index.find(&SearchRequest { sort: SearchSort::Oldest, ..request("fog") });
    let page = found.page(1, 1).unwrap();
    assert_eq!((page.total, page.hits[0].node, page.hits[0].score), (3, node(2), 0.0));
}

#[test]
fn search_time_session_and_character_filters() {
    let index = scratch(patient());
    let character = CharacterId::new(Uuid::from_u128(7));
    let day = 86_400_000;
    let at = |n: u128, time: i64| SearchDocument { time: Time(time), session: session(n), ..document(n, "fog") };
    put(&index, &[at(1, 0), at(2, day), SearchDocument { character: Some(character), ..at(3, 2 * day) }]);
    assert_eq!(found(&index, "on:1970-01-02"), [2]);
    assert_eq!(found(&index, "after:1970-01-02 fog"), [2, 3]);
    assert_eq!(found(&index, "before:1970-01-02 OR on:1970-01-03"), [1, 3]);
    assert_eq!(found(&index, "* -after:1970-01-02"), [1]);
    let mut query = parse("session:tower OR character:keeper");
    query.resolve_sessions(&[(session(1), "The tower"), (session(2), "Fog")]);
    query.resolve_characters(&[(character, "Old Keeper")]);
    let mut both = nodes(&index, &SearchRequest::new(user(1), query));
    both.sort_unstable();
    assert_eq!(both, [1, 3]);
    assert_eq!(found(&index, "session:tower"), [] as [u128; 0], "nobody said which that is");
}

/// Values of the state: exact numbers of any size, ranges, flags, texts and existence.
#[test]
fn search_world_values_are_found() {
    let index = scratch(patient());
    let text = |text: &str| IndexedScalar::Text(text.to_owned());
    put(
        &index,
        &[
            with_facts(
                1,
                &[("hp", number("12")), ("place", text("The Old Tower")), ("alive", IndexedScalar::Flag(true))],
            ),
            with_facts(2, &[("hp", number("20.0")), ("place", text("tower"))]),
            with_facts(3, &[("hp", number("-3.5")), ("alive", IndexedScalar::Flag(false)), ("combat.hp", number("7"))]),
            with_facts(4, &[("gold", number("9007199254740993")), ("place", text("灯塔里"))]),
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
        assert_eq!(held(&index, asked), expected, "{asked}");
    }
    assert_eq!(
        settled(&index, user(1), "mana:3").unwrap_err(),
        QueryError::UnknownField { at: 0, field: "mana".into() }
    );
    put(&index, &[document(1, "fog")]);
    assert_eq!(held(&index, "hp:<20"), [3], "a document replaces the one before with all its values");
}

/// Security promise 2: values of other users are neither found nor listed.
#[test]
fn search_values_of_other_owner_are_unknown() {
    let index = scratch(patient());
    let foreign = SearchDocument { owner: user(2), ..with_facts(2, &[("secret", number("1")), ("hp", number("1"))]) };
    put(&index, &[with_facts(1, &[("hp", number("12"))]), foreign]);
    assert_eq!(held(&index, "hp:*"), [1]);
    let refused = settled(&index, user(1), "secret:1").unwrap_err();
    assert_eq!(refused, QueryError::UnknownField { at: 0, field: "secret".into() });
    assert_eq!(index.keys(user(1), 10).unwrap(), ["hp"]);
    assert_eq!(index.keys(user(2), 1).unwrap(), ["hp"]);
    assert_eq!(index.keys(user(3), 10).unwrap(), [] as [String; 0]);
    for all in ["*", "* -nothing", "fog OR -fog", "hp:* OR *"] {
        assert_eq!(held(&index, all), [1], "{all}");
    }
}

/// The owner filter is left out while all documents have one owner, and used as soon as they do not.
#[test]
fn search_owner_term_is_added_with_other_owners() {
    let index = holding(&["fog", "sea"]);
    assert_eq!(found(&index, "*"), [1, 2]);
    put(&index, &[SearchDocument { owner: user(2), ..document(3, "fog") }]);
    assert_eq!(found(&index, "*"), [1, 2]);
    let from = index.cursor();
    index.send(from, vec![IndexChange::Remove(node(3))], from + 1).unwrap();
    index.flush().unwrap();
    assert_eq!(found(&index, "* OR fog"), [1, 2]);
    assert_eq!(nodes(&index, &SearchRequest::new(user(2), parse("*"))), [] as [u128; 0]);
}

/// Prefix and fuzzy matches are marked in the snippet.
#[test]
fn search_marks_show_matched_forms() {
    let index = holding(&["The red lanterns burn low"]);
    for (text, marks) in
        [("lant*", &[(8, 16)][..]), ("lanterms~", &[(8, 16)]), ("lantern burning", &[(8, 16), (17, 21)])]
    {
        let found = index.find(&request(text));
        let hit = found.page(0, 1).unwrap().hits.remove(0);
        assert_eq!(found.snippet(&hit).marks, marks, "{text}");
    }
}
