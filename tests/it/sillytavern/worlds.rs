//! Variables of chats become worlds.

use std::fs;

use clotho_core::tree::Kind;
use serde_json::json;

use super::*;
use crate::support::data_root::{DataRoot, greeting_row, header_row, reply_row, swipes_row, user_row, with_variables};
use crate::transfer::row_counts;

/// Domain 3.1: the variables of each alternative are the world at its node. The chat's variables are there from the
/// root on.
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
    // The variables of the first chat stand above everything; those of another one begin with its own messages.
    assert_eq!((&world("Hm.")["mood"], &world("y")["mood"]), (&json!("calm"), &json!("calm")));
    // A bookmark in the middle of the branch has its variables on a node beside that branch.
    let own = held.clone();
    let label = store.read(move |reader| reader.labels(&own)).into_iter().find(|label| label.name == "mark").unwrap();
    assert_eq!(store.stored_node(sid, label.node).node.kind, Kind::Change);
    let vars = store.world(sid, label.node).vars;
    assert_eq!((&vars["mood"], &vars["stat"], &vars["stat_data"]), (&json!("new"), &json!([1]), &oil(10)));
    assert_eq!(import_folder(&store, root.path()).totals.messages, 0);
    store.assert_healthy();
}

/// Domain 3.2: the variables of a chat stand above its first message, so every version of every message has them, also
/// one that is added here. The first message keeps only its own state.
#[test]
fn chat_variables_stand_above_first_message() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let rows = [
        header_row(json!({"variables": {"hp": "7", "n": 1.0}})),
        with_variables(swipes_row(&["x", "y"], 1, 0), &[json!({"a": 1}), json!({"a": 2})]),
    ];
    root.write_chat("Ivo", "Night", &rows);
    import_folder(&store, root.path());
    let held = only_session(&store);
    let (sid, top) = (held.session.id, held.session.root);
    assert_eq!(Value::from(store.world(sid, top).vars), json!({"hp": "7", "n": 1.0}));
    let vars = |text: &str| Value::from(store.world(sid, node_by_text(&store, &held, text).id).vars);
    assert_eq!(vars("x"), json!({"hp": "7", "n": 1.0, "stat_data": {"a": 1}}));
    assert_eq!(vars("y"), json!({"hp": "7", "n": 1.0, "stat_data": {"a": 2}}));
    assert_eq!(child_texts(&store, &held, top), ["x", "y"]);
    let draft = store.draft(clotho_core::tree::Role::Assistant, Kind::Greeting, "z");
    let other = store.append(sid, top, draft);
    assert_eq!(Value::from(store.world(sid, other).vars), json!({"hp": "7", "n": 1.0}));
    let before = row_counts(&store);
    import_folder(&store, root.path());
    assert_eq!(row_counts(&store), before);
    store.assert_healthy();
}

/// S4-53: of a longer chat, only changed variables are set, from its first new message on. Without new messages they
/// are set below the last one. Nothing is set twice, and an export brings the same variables elsewhere.
#[test]
fn grown_chat_sets_only_changed_variables() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    let write = |variables: Value, more: &[Value]| {
        let mut rows = vec![header_row(json!({ "variables": variables })), greeting_row(), user_row("Hm.", 1)];
        rows.extend_from_slice(more);
        root.write_chat("Ivo", "Night", &rows);
        import_folder(&store, root.path())
    };
    write(json!({"hp": "7", "gone": true, "same": [1]}), &[]);
    let (held, more) = (only_session(&store), [reply_row("Aye.", 2), user_row("On.", 3)]);
    let sid = held.session.id;
    let vars = |text: &str| Value::from(store.world(sid, node_by_text(&store, &held, text).id).vars);
    let operations = |text: &str| {
        let placed = store.stored_node(sid, node_by_text(&store, &held, text).id);
        store.read(move |reader| reader.delta(&placed)).operations.len()
    };
    assert_eq!(write(json!({"hp": "5", "same": [1]}), &more).totals.messages, 2);
    assert_eq!(vars("Hm."), json!({"hp": "7", "gone": true, "same": [1]}));
    assert_eq!((vars("Aye."), operations("Aye."), operations("On.")), (json!({"hp": "5", "same": [1]}), 2, 0));
    assert_eq!(vars("On."), json!({"hp": "5", "same": [1]}));
    // Only the variables change: a node below the last message sets them, and HEAD follows.
    write(json!({"hp": "3", "same": [1]}), &more);
    let head = store.head(sid);
    assert_eq!(store.stored_node(sid, head).node.kind, Kind::Change);
    assert_eq!(Value::from(store.world(sid, head).vars), json!({"hp": "3", "same": [1]}));
    assert_eq!(vars("On."), json!({"hp": "5", "same": [1]}));
    let before = row_counts(&store);
    write(json!({"hp": "3", "same": [1]}), &more);
    assert_eq!(row_counts(&store), before);
    // Elsewhere.
    let (folder, _) = super::folder_export::export_folder(&store);
    let other = TestStore::new();
    import_folder(&other, folder.path());
    let there = only_session(&other).session;
    assert_eq!(Value::from(other.world(there.id, there.head).vars), json!({"hp": "3", "same": [1]}));
    store.assert_healthy();
    other.assert_healthy();
}
