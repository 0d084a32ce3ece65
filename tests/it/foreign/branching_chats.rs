//! Programs whose chats are trees: every branch is imported, and HEAD is where the chat was left.

use clotho_core::clock::Time;
use clotho_core::tree::{Kind, Role};
use clotho_engine::transfer::sillytavern::ImportOptions;

use super::*;
use crate::http::api_session::ApiSession;
use crate::sillytavern::{child_texts, node_by_text, only_session, play, sessions};
use crate::support::app::TestApp;
use crate::support::mock_model::Reply;
use crate::support::server::TestServer;

/// S4-53: a ChatGPT conversation becomes one session with all branches. Models, times and unknown keys are kept.
#[test]
fn chatgpt_conversation_imports_all_branches() {
    let store = TestStore::new();
    let arrived = import_json(&store, &json!([chatgpt_conversation()]));
    assert_eq!(
        (arrived.totals.sessions, arrived.totals.messages, arrived.totals.skipped),
        (1, 5, 0),
        "{}",
        arrived.report
    );
    let held = only_session(&store);
    assert_eq!((held.session.title.as_str(), held.session.created), ("The lamp", Time(1_700_000_000_250)));
    assert_eq!(store.visible_texts(held.session.id), ["Where is the lamp?", "On the stairs.", "Thank you."]);
    assert_eq!(child_texts(&store, &held, held.session.root), ["Where is the lamp?", "Where is the oil?"]);
    let ask = node_by_text(&store, &held, "Where is the lamp?");
    assert_eq!(child_texts(&store, &held, ask.id), ["On the shelf.", "On the stairs."]);
    assert_eq!((ask.role, ask.author), (Role::User, Some(store.owner)));
    let answer = node_by_text(&store, &held, "On the shelf.");
    assert_eq!((answer.role, answer.kind, answer.created), (Role::Assistant, Kind::Message, Time(1_700_000_000_500)));
    assert_eq!(answer.character, Some(held.session.cards[0].id));
    let metadata = answer.metadata.to_json();
    assert_eq!((&metadata["model"], &metadata["chatgpt"]["metadata"]["own"]["a"]), (&json!("gpt-x"), &json!(1)));
    assert_eq!(metadata["provenance"]["id"], "one");
    let told = arrived.report.to_string();
    assert!(told.contains("5 messages in 3 branches; 5 are new") && told.contains("gizmo_id"), "{told}");
    store.assert_healthy();
}

/// S4-53: the same conversation adds nothing, a longer one adds its new messages, and each of several stays its own
/// session.
#[test]
fn chatgpt_repeated_import_adds_only_new_messages() {
    let store = TestStore::new();
    let mut other = chatgpt_conversation();
    other["conversation_id"] = json!("c-2");
    let both = json!([chatgpt_conversation(), other]);
    let folder = DataRoot::without_subfolders();
    let path = folder.write_file("conversations.json", &both.to_string());
    let dry = ImportOptions { is_dry: true, ..import_options(&store) };
    let told =
        store.block_on(import(store.store(), &store.ids, ImportSource::Path(path.clone()), dry, |_| true)).unwrap();
    assert_eq!(sessions(&store).len(), 0, "only looked at");
    assert_eq!(told.totals, import_path(&store, &path).totals);
    assert_eq!(sessions(&store).len(), 2);
    let again = import_json(&store, &json!([chatgpt_conversation()]));
    assert_eq!((again.totals.sessions, again.totals.messages, again.totals.unchanged), (0, 0, 1));
    let mut grown = chatgpt_conversation();
    let (id, node) = chatgpt_message("more", Some("thanks"), "assistant", "You are welcome.");
    grown["mapping"][id] = node;
    grown["current_node"] = json!("more");
    let arrived = import_json(&store, &grown);
    assert_eq!((arrived.totals.sessions, arrived.totals.messages), (0, 1), "{}", arrived.report);
    let shown: Vec<usize> = sessions(&store).iter().map(|held| store.visible_texts(held.session.id).len()).collect();
    assert_eq!(shown.iter().sum::<usize>(), 7, "{shown:?}");
    store.assert_healthy();
}

/// S4-53: an older export of a conversation adds nothing, and HEAD stays where the newer one left it.
#[test]
fn chatgpt_older_export_keeps_head() {
    let store = TestStore::new();
    let mut story = chatgpt_conversation();
    import_json(&store, &json!([story]));
    let head = only_session(&store).session.head;
    story["current_node"] = json!("one");
    story["mapping"].as_object_mut().unwrap().shift_remove("thanks");
    let again = import_json(&store, &json!([story]));
    assert_eq!((again.totals.sessions, again.totals.messages), (0, 0), "{}", again.report);
    assert_eq!(only_session(&store).session.head, head);
}

/// Thoughts of a model become its reasoning, tool output is disabled, and pictures leave a note.
#[test]
fn chatgpt_reasoning_tool_output_and_images_are_kept() {
    let store = TestStore::new();
    let mut story = chatgpt_conversation();
    let mapping = story["mapping"].as_object_mut().unwrap();
    let part = |id: &str, parent: &str, role: &str, content: Value| {
        let (id, mut node) = chatgpt_message(id, Some(parent), role, "");
        node["message"]["content"] = content;
        (id, node)
    };
    let thoughts =
        json!({"content_type": "thoughts", "thoughts": [{"summary": "Looking", "content": "It may be upstairs."}]});
    let recap = json!({"content_type": "reasoning_recap", "content": "Thought for 3 seconds"});
    let mut call =
        part("call", "recap", "assistant", json!({"content_type": "code", "language": "python", "text": "look()"}));
    call.1["message"]["recipient"] = json!("python");
    let picture = json!({"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-7", "width": 5});
    let last = json!({"content_type": "multimodal_text", "parts": [picture, "There it is."]});
    mapping.extend([
        part("think", "thanks", "assistant", thoughts),
        part("recap", "think", "assistant", recap),
        call,
        part("found", "call", "tool", json!({"content_type": "execution_output", "text": "stairs"})),
        part("last", "found", "assistant", last),
    ]);
    story["current_node"] = json!("last");
    let arrived = import_json(&store, &story);
    let held = only_session(&store);
    assert_eq!(store.visible_texts(held.session.id).last().unwrap(), "[image: file-service://file-7]\n\nThere it is.");
    let call = node_by_text(&store, &held, "```python\nlook()\n```");
    assert_eq!((call.is_enabled, call.reasoning.as_deref()), (false, Some("**Looking**\nIt may be upstairs.")));
    let found = node_by_text(&store, &held, "stairs");
    assert_eq!((found.is_enabled, found.role), (false, Role::System));
    let told = arrived.report.to_string();
    assert!(told.contains("2 messages are not part of the chat") && told.contains("1 image"), "{told}");
    store.assert_healthy();
}

/// S4-53, S1-01: an uploaded export archive opens as a session with its branches, and the session can be continued.
#[tokio::test]
async fn chatgpt_export_upload_can_be_continued() {
    let app = TestServer::start_with(TestApp::setup()).await;
    let conversations = json!([chatgpt_conversation()]).to_string();
    let archive = crate::sillytavern::hostile::zip_archive(&[
        ("conversations.json", conversations.as_bytes()),
        ("chat.html", b"<html></html>"),
        ("user.json", br#"{"id": "user-1"}"#),
    ]);
    let job = play::run_import_job(&app, "?name=export.zip", &archive).await;
    assert_eq!(job["state"], "done", "{job}");
    let report = &job["result"]["report"];
    assert_eq!((&report["totals"]["sessions"], &report["totals"]["skipped"]), (&json!(1), &json!(2)), "{report}");
    let item = report["report"]["items"].as_array().unwrap().iter().find(|item| item["kind"] == "session").unwrap();
    let play = ApiSession { server: app, sid: item["id"].as_str().unwrap().to_owned() };
    let shown = play.get("projection").await;
    let texts: Vec<&str> =
        shown["items"].as_array().unwrap().iter().map(|node| node["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Where is the lamp?", "On the stairs.", "Thank you."]);
    assert_eq!(shown["items"][1]["siblings"]["count"], 2);
    let shelf = shown["items"][1]["siblings"]["ids"][0].as_str().unwrap().to_owned();
    play.checkout(&shelf, true).await;
    play.server.mock().queue_reply(Reply::ok(["I see it."]));
    let turn = play.run_turn("Which shelf?").await;
    assert_eq!(play.get(&format!("node/{}", turn.reply)).await["content"], "I see it.");
    let sent = play.server.mock().requests().pop().unwrap().to_string();
    assert!(sent.contains("On the shelf.") && !sent.contains("On the stairs."), "{sent}");
    let again = play::run_import_job(&play.server, "?name=conversations.json", conversations.as_bytes()).await;
    assert_eq!(again["result"]["report"]["totals"]["messages"], 0, "{again}");
}

fn open_webui_chats() -> Value {
    let message = |id: &str, parent: Option<&str>, children: &[&str], role: &str, content: &str| {
        json!({"id": id, "parentId": parent, "childrenIds": children, "role": role, "content": content,
               "timestamp": 1_700_000_000, "model": (role == "assistant").then_some("llama"), "done": true, "extra": "x"})
    };
    let thought = "<details type=\"reasoning\" done=\"true\" duration=\"3\">\n<summary>Thought for 3 seconds</summary>\n> Is it &gt; me?\n> No.\n</details>\nIt is the wind.";
    json!([{
        "id": "w-1", "title": "Wind", "created_at": 1_700_000_000, "folder_id": "f",
        "chat": {"title": "Wind", "models": ["llama"], "messages": [], "params": {}, "history": {"currentId": "c", "messages": {
            "a": message("a", None, &["c", "b"], "user", "Who is there?"),
            "b": message("b", Some("a"), &[], "assistant", "Nobody."),
            "c": message("c", Some("a"), &[], "assistant", thought),
        }}},
    }])
}

/// S4-53: chats of Open WebUI keep their branches in order, and thoughts become reasoning. Old chats are lists.
#[test]
fn open_webui_chats_keep_branches_and_reasoning() {
    let store = TestStore::new();
    import_json(&store, &open_webui_chats());
    let held = only_session(&store);
    let ask = node_by_text(&store, &held, "Who is there?");
    assert_eq!(child_texts(&store, &held, ask.id), ["It is the wind.", "Nobody."]);
    let wind = node_by_text(&store, &held, "It is the wind.");
    assert_eq!(wind.reasoning.as_deref(), Some("Is it > me?\nNo."));
    assert_eq!(
        (&wind.metadata.to_json()["model"], &wind.metadata.to_json()["open-webui"]["extra"]),
        (&json!("llama"), &json!("x"))
    );
    assert_eq!(store.visible_texts(held.session.id), ["Who is there?", "It is the wind."]);
    let line = json!([{"id": "w-2", "title": "Old", "chat": {"messages": [
        {"role": "user", "content": "Hello?"}, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": "Bye."},
    ]}}]);
    import_json(&store, &line);
    let old = sessions(&store).into_iter().find(|held| held.session.title == "Old").unwrap();
    assert_eq!(store.visible_texts(old.session.id), ["Hello?", "Yes?", "Bye."]);
    assert_eq!(import_json(&store, &open_webui_chats()).totals.unchanged, 1);
    store.assert_healthy();
}

/// Open WebUI: tool calls and all thoughts leave the text, a reply that failed stays an error, and an export with one
/// chat per line is read.
#[test]
fn open_webui_lines_keep_errors_and_unfold_texts() {
    let (store, folder) = (TestStore::new(), DataRoot::without_subfolders());
    let folded = "<details type=\"reasoning\">\n<summary>T</summary>\n&gt; He asks.\n</details>\n<details type=\"tool_calls\" id=\"c\" name=\"look\">\n</details>\n<details type=\"reasoning\">\n&gt; The shelf.\n</details>\nOn the shelf.";
    let chat = |id: &str, reply: Value| {
        let mut reply = reply;
        reply["role"] = json!("assistant");
        reply["parentId"] = json!("a");
        json!({"id": id, "title": id, "chat": {"history": {"currentId": "b", "messages": {
            "a": {"role": "user", "content": format!("Where, {id}?"), "childrenIds": ["b"]}, "b": reply,
        }}}})
    };
    let lines = [
        chat("one", json!({"content": folded})),
        chat("two", json!({"content": "One two", "error": {"content": {"message": "It broke."}}})),
        chat("three", json!({"content": "", "error": {"content": "Slow down"}})),
    ];
    let text = lines.map(|line| line.to_string()).join("\n");
    let arrived = import_path(&store, &folder.write_file("all.jsonl", &text));
    let told = arrived.report.to_string();
    assert_eq!((arrived.totals.sessions, arrived.totals.messages), (3, 6), "{told}");
    assert!(told.contains("1 tool call is kept") && told.contains("1 reply failed and stays an error"), "{told}");
    let reply = |title: &str| {
        let held = sessions(&store).into_iter().find(|held| held.session.title == title).unwrap();
        let ask = node_by_text(&store, &held, &format!("Where, {title}?"));
        let held_ask = child_texts(&store, &held, ask.id);
        node_by_text(&store, &held, &held_ask[0])
    };
    let one = reply("one");
    assert_eq!((one.content.as_str(), one.reasoning.as_deref()), ("On the shelf.", Some("He asks.\n\nThe shelf.")));
    assert_eq!(one.metadata.to_json()["open-webui"]["tool_calls"][0]["name"], "look");
    let two = reply("two");
    assert_eq!((two.status, two.content.as_str()), (clotho_core::tree::Status::Error, "One two"));
    assert_eq!(two.metadata.to_json()["error"]["args"]["words"], "It broke.");
    store.assert_healthy();
}

fn librechat_message(id: &str, parent: Option<&str>, is_user: bool, text: &str) -> Value {
    let nobody = "00000000-0000-0000-0000-000000000000";
    json!({"messageId": id, "parentMessageId": parent.unwrap_or(nobody), "isCreatedByUser": is_user, "text": text,
           "sender": if is_user { "User" } else { "GPT" }, "model": "gpt-x", "createdAt": "2024-01-02T03:04:05.000Z",
           "endpoint": "openAI", "unfinished": false})
}

/// S4-53: a LibreChat conversation gives the same tree in both of its forms, however deeply messages are nested.
#[test]
fn librechat_flat_and_nested_forms_import_same_tree() {
    let flat = json!({"conversationId": "l-1", "title": "Tide", "endpoint": "openAI", "branches": true, "recursive": false,
        "options": {"modelLabel": "Keeper"}, "messages": [
            librechat_message("a", None, true, "Is it high?"), librechat_message("b", Some("a"), false, "It is."), librechat_message("c", Some("a"), false, "No."),
            librechat_message("d", Some("c"), true, "Good."),
    ]});
    let store = TestStore::new();
    import_json(&store, &flat);
    let held = only_session(&store);
    let ask = node_by_text(&store, &held, "Is it high?");
    assert_eq!(child_texts(&store, &held, ask.id), ["It is.", "No."]);
    assert_eq!(store.visible_texts(held.session.id), ["Is it high?", "No.", "Good."]);
    let mut nested = flat.clone();
    let with = |mut message: Value, children: Vec<Value>| {
        message["children"] = children.into();
        message
    };
    let said = nested["messages"].as_array().unwrap().clone();
    let below = vec![said[1].clone(), with(said[2].clone(), vec![said[3].clone()])];
    nested["messagesTree"] = json!([with(said[0].clone(), below)]);
    nested.as_object_mut().unwrap().remove("messages");
    assert_eq!(import_json(&store, &nested).totals.messages, 0);

    // As text: cloning a value of this depth overflows the stack of a test thread.
    let deep = (0..1_000).rev().fold(String::new(), |below, n: usize| {
        let parent = n.checked_sub(1).map(|before| format!("m{before}"));
        let message =
            librechat_message(&format!("m{n}"), parent.as_deref(), n.is_multiple_of(2), &format!("Line {n}."));
        with(message, Vec::new()).to_string().replace("\"children\":[]", &format!("\"children\":[{below}]"))
    });
    let text = json!({"conversationId": "l-2", "title": "Deep", "recursive": true, "messagesTree": []}).to_string();
    let text = text.replace("[]", &format!("[{deep}]"));
    let folder = DataRoot::without_subfolders();
    let arrived = import_path(&store, &folder.write_file("deep.json", &text));
    assert_eq!(arrived.totals.messages, 1_000, "{}", arrived.report);
    let deep = sessions(&store).into_iter().find(|held| held.session.title == "Deep").unwrap();
    assert_eq!(store.visible_texts(deep.session.id).len(), 1_000);
    store.assert_healthy();
}
