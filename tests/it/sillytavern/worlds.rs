//! Variables of chats become worlds.

use std::fs;

use clotho_core::tree::Kind;
use serde_json::json;

use super::*;
use crate::support::data_root::{DataRoot, greeting_row, header_row, reply_row, swipes_row, user_row, with_variables};

/// Domain 3.1: the variables of each alternative are the world at its node, and the chat's variables the world at its
/// end.
#[test]
fn swipe_variables_become_node_worlds() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo Hale");
    root.write_file("chats/Ivo Hale/mvu.jsonl", &fs::read_to_string(chat_fixture_path("mvu.jsonl")).unwrap());
    import_folder(&store, root.path());
    let held = only_session(&store);
    let sid = held.session.id;
    let at = |text: &str| stat_data(&store, sid, node_by_text(&store, &held, text).id);
    assert_eq!(at("Other start")["hero"]["mood"][0], "grim");
    assert_eq!(at("Go on")["hero"]["hp"][0], 11);
    assert_eq!(at("Three")["hero"], json!({"hp": [12, "health"], "mood": ["glad", "mood"]}));
    // The variables were removed, and the text contains no changes.
    assert_eq!(at("Two"), at("Go on"));
    let first = node_by_text(&store, &held, "Other start");
    assert!(first.metadata.to_json()["sillytavern"]["variables"].get("stat_data").is_none());
    assert!(first.metadata.to_json()["sillytavern"]["variables"]["schema"].is_object());
    assert_eq!(store.world(sid, held.session.head).vars["day"], 3);
    store.delete_keyframes();
    assert_eq!(at("Three")["hero"]["hp"][0], 12);
    store.assert_healthy();
}

/// Domain 3.1: messages whose variables were removed are replayed from the commands in their texts.
#[test]
fn missing_variable_states_are_replayed_from_text() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let mut rows = vec![with_variables(greeting_row(), &[json!({"oil": [10, "of the lamp"], "bag": []})])];
    for n in 0..30 {
        rows.push(user_row(&format!("Hour {n}."), n));
        rows.push(reply_row(&format!("It burns {n}. <UpdateVariable>_.add('oil', -1);//burnt</UpdateVariable>"), n));
    }
    rows.push(with_variables(user_row("Enough.", 31), &[json!({"oil": [-20, "of the lamp"], "bag": ["key"]})]));
    root.write_chat("Ivo", "a", &rows);
    import_folder(&store, root.path());
    let held = only_session(&store);
    let found = nodes_with_paths(&store, &held);
    let at = |n: usize| {
        found.iter().find(|(way, _)| way.len() == n).map(|(_, node)| stat_data(&store, held.session.id, node.id))
    };
    assert_eq!(at(3).unwrap()["oil"][0], 9);
    assert_eq!(at(61).unwrap()["oil"][0], -20);
    assert_eq!(at(62).unwrap(), json!({"oil": [-20, "of the lamp"], "bag": ["key"]}));
    store.assert_healthy();
}

/// Domain 3.1: branches have their own worlds, whichever file brought the shared messages, and in any order.
#[test]
fn branches_keep_separate_worlds() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let oil = |n: i64| json!({"oil": n});
    let shared = [
        header_row(json!({"variables": {"mood": "calm"}})),
        with_variables(greeting_row(), &[oil(10)]),
        with_variables(user_row("Hm.", 1), &[oil(10)]),
        with_variables(swipes_row(&["x", "y"], 0, 2), &[oil(9), oil(5)]),
    ];
    let mut left = shared.to_vec();
    left.push(with_variables(user_row("Left.", 3), &[oil(8)]));
    let mut right = shared.to_vec();
    right[0] = header_row(json!({"main_chat": "left", "variables": {"mood": "grim"}}));
    right[3] = with_variables(swipes_row(&["x", "y"], 1, 2), &[oil(9), oil(5)]);
    right.push(with_variables(user_row("Right.", 3), &[oil(4)]));
    let mut mark = shared[..3].to_vec();
    mark[0] = header_row(json!({"main_chat": "left", "variables": {"mood": "new", "stat": [1]}}));
    root.write_chat("Ivo", "left", &left);
    root.write_chat("Ivo", "right", &right);
    root.write_chat("Ivo", "mark", &mark);
    import_folder(&store, root.path());
    let held = only_session(&store);
    let sid = held.session.id;
    let world = |text: &str| store.world(sid, node_by_text(&store, &held, text).id).vars;
    assert_eq!((&world("Left.")["mood"], &world("Left.")["stat_data"]), (&json!("calm"), &oil(8)));
    assert_eq!((&world("Right.")["mood"], &world("Right.")["stat_data"]), (&json!("grim"), &oil(4)));
    assert_eq!(world("Hm.").get("mood"), None);
    // A bookmark in the middle of the branch has its variables on a node beside that branch.
    let own = held.clone();
    let label = store.read(move |reader| reader.labels(&own)).into_iter().find(|label| label.name == "mark").unwrap();
    assert_eq!(store.stored_node(sid, label.node).node.kind, Kind::Change);
    let vars = store.world(sid, label.node).vars;
    assert_eq!((&vars["mood"], &vars["stat"], &vars["stat_data"]), (&json!("new"), &json!([1]), &oil(10)));
    assert_eq!(import_folder(&store, root.path()).totals.messages, 0);
    store.assert_healthy();
}
