//! Thoughts that models write in the text of their replies: no reader, later prompt, search, file or rule takes them for
//! text.

use super::api_session::ApiSession;
use super::*;
use crate::support::mock_model::MockModel;

/// Replies as pieces, with their text and their thoughts.
const REPLIES: [(&[&str], &str, &str); 10] = [
    (
        &["Plan: the zanzibar. ", "I refuse.\n</thi", "nk>\n\n", "No, says Mira."],
        "No, says Mira.",
        "Plan: the zanzibar. I refuse.",
    ),
    (&["<think>zanzi", "bar</think>", "\n\nNo, says Mira."], "No, says Mira.", "zanzibar"),
    (
        &["<think>He wrote <think> here. I refuse.</think> zanzibar.</think>No, says Mira."],
        "No, says Mira.",
        "He wrote <think> here. I refuse.</think> zanzibar.",
    ),
    (&["<|channel>thought\nzanzibar\n<chan", "nel|>No, says Mira."], "No, says Mira.", "zanzibar"),
    (
        &[
            "<|channel|>analysis<|message|>zanzibar<|end|><|start|>assist",
            "ant<|channel|>final<|message|>No, says Mira.",
        ],
        "No, says Mira.",
        "zanzibar",
    ),
    (&["[THINK]zanzibar[/THINK]No, says Mira."], "No, says Mira.", "zanzibar"),
    (&["No, says\n\n<think>\nzanzibar\n</think>\n\nMira."], "No, says\n\nMira.", "zanzibar"),
    (&["<<zanzibar>>No, says Mira."], "No, says Mira.", "zanzibar"),
    (
        &["One zanzibar.\n</think>\n\nTwo.\n</thi", "nk>\n\nNo, says Mira.\n</think>\n"],
        "No, says Mira.",
        "One zanzibar.\n\nTwo.",
    ),
    (&["He wrote <think> zanzibar.\n</think>\n\nNo, says Mira."], "No, says Mira.", "He wrote <think> zanzibar."),
];

/// A thought in the text becomes the reasoning of the reply, however it is marked and cut into pieces. Search, files and
/// later prompts have the text only.
#[tokio::test]
async fn reply_thoughts_become_reasoning() {
    let tags = "[\"think\", \"UpdateVariable\", \"<<…>>\"]";
    let play = ApiSession::start_with(TestApp::setup().set("generation.hide_tags", tags), json!({})).await;
    for (pieces, text, thoughts) in REPLIES {
        play.server.mock().queue_reply(Reply::ok(pieces.iter().copied()));
        let said = play.run_turn("The key?").await;
        let node = play.get(&format!("node/{}", said.reply)).await;
        assert_eq!((&node["content"], &node["display"]), (&json!(text), &Value::Null), "{pieces:?}");
        assert_eq!(node["reasoning"], thoughts, "{pieces:?}");
    }
    play.run_turn("And last?").await;
    let sent = play.server.mock().requests().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("No, says Mira.") && !sent.contains("zanzibar") && !sent.contains("think>"), "{sent}");
    search_until(&play.server, "Mira", REPLIES.len()).await;
    assert_eq!(play.server.get("/api/search?q=zanzibar").await["items"], json!([]));
    let file = play.server.request("GET", &format!("/api/sessions/{}/export?format=markdown", play.sid));
    let file = file.send().await.text();
    assert!(file.contains("No, says Mira.") && !file.contains("zanzibar"), "{file}");
}

/// A mark that is only spoken of hides nothing.
#[tokio::test]
async fn reply_marks_spoken_of_stay_text() {
    let play = ApiSession::start().await;
    let texts = [
        "Mira scratches the word <think> into the wall with a nail. Then she opens the door and waves.",
        "The old terminal prints `<think>` and hangs. Mira pulls the plug. The room goes dark.",
        "```\n<think>\nformat\n</think>\n```\nThat is it.",
        "She wrote <think>no</think> on it, and \"</think>\" below.",
        "She says the tag </think>, which ends thoughts, is ugly.",
    ];
    for text in texts {
        play.server.mock().queue_reply(Reply::ok([text]));
        let said = play.run_turn("And?").await;
        let node = play.get(&format!("node/{}", said.reply)).await;
        assert_eq!(
            (&node["content"], &node["display"], &node["reasoning"]),
            (&json!(text), &Value::Null, &Value::Null)
        );
    }
    play.run_turn("And last?").await;
    let sent = play.server.mock().requests().pop().unwrap()["messages"].clone();
    for text in texts {
        assert!(sent.as_array().unwrap().iter().any(|message| message["content"] == text), "{text}");
    }
}

/// Text that turns out to be a thought is taken back: watchers get all of the new text, marked as whole.
#[tokio::test]
async fn reply_thought_is_taken_back_from_watchers() {
    let play = ApiSession::start().await;
    let gate = Gate::new();
    let pieces = ["A plan.", "\n</think>\n\nNo", ", says Mira."];
    play.server.mock().queue_reply(Reply::ok(pieces).gate(&gate));
    let mut tab = play.server.open_socket(&play.sid, None).await;
    let body = json!({"parentId": play.head().await, "content": "Hi.", "generate": true});
    let reply = id_of(&play.post("message", body).await["generations"][0]);
    gate.release(1);
    tab.read_until(|frame| frame["type"] == "node.content.updated" && frame["contentChunk"] == "A plan.").await;
    gate.release(1);
    let whole = |frame: &Value| frame["type"] == "node.content.updated" && frame["isWhole"] == true;
    let frame = tab.read_until(whole).await.pop().unwrap();
    assert_eq!((&frame["contentChunk"], &frame["offset"]), (&json!("No"), &json!(0)));
    assert_eq!((&frame["reasoningChunk"], &frame["reasoningOffset"]), (&json!("A plan."), &json!(0)));
    let shown = play.get(&format!("node/{reply}")).await;
    assert_eq!((&shown["content"], &shown["reasoning"]), (&json!("No"), &json!("A plan.")));
    // A client that asks from an offset of the old text gets all of the new one.
    tab.send(&json!({"type": "resume", "id": reply, "offset": 7, "reasoningOffset": 0})).await;
    let again = tab.read_until(whole).await.pop().unwrap();
    assert_eq!((&again["contentChunk"], &again["reasoningChunk"]), (&json!("No"), &json!("A plan.")));
    gate.open();
    let next = tab.read_until(|frame| frame["type"] == "node.content.updated").await.pop().unwrap();
    assert_eq!((&next["contentChunk"], &next["offset"]), (&json!(", says Mira."), &json!(2)));
    assert_eq!(play.wait_for_reply(&reply).await["content"], "No, says Mira.");
}

/// A thought that the chat template opens is a thought from its first word on, closed or not.
#[tokio::test]
async fn reply_thought_opened_by_template_is_thought() {
    let mock = MockModel::start().await;
    mock.set_chat_template(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}</s>{% endfor %}<|assistant|>\n<think>\n",
    );
    let mut setup = TestApp::setup();
    let own = [("id", "own"), ("kind", "llamacpp"), ("base_url", &mock.root_url()), ("models", "[\"mock\"]")];
    for (key, value) in own {
        setup = setup.set(&format!("providers.2.{key}"), value);
    }
    let play = ApiSession::start_with(setup.mock(mock), json!({"model": "own/mock"})).await;
    // The template is learned in the background during the first turns.
    wait_for_some("the server's template", async || {
        play.server.mock().queue_reply(Reply::ok(["Hm.</think>Well."]));
        let said = play.run_turn("Well?").await;
        let trace = play.get(&format!("node/{}/trace", said.reply)).await;
        (trace["template"]["name"] == "server").then_some(trace)
    })
    .await;
    let gate = Gate::new();
    let pieces = ["He wrote <think> on it. ", "I refuse.", "</think>\n\nNo."];
    play.server.mock().queue_reply(Reply::ok(pieces).gate(&gate));
    let mut tab = play.server.open_socket(&play.sid, None).await;
    let body = json!({"parentId": play.head().await, "content": "Hi.", "generate": true});
    let reply = id_of(&play.post("message", body).await["generations"][0]);
    gate.release(1);
    let frames = tab.read_until(|frame| frame["type"] == "node.content.updated").await;
    let first = frames.last().unwrap();
    assert_eq!((&first["contentChunk"], &first["reasoningChunk"]), (&json!(""), &json!("He wrote <think> on it.")));
    gate.open();
    let node = play.wait_for_reply(&reply).await;
    assert_eq!(node["reasoning"], "He wrote <think> on it. I refuse.");
    assert_eq!(node["content"], "No.");

    play.server.mock().queue_reply(Reply::ok(["Only a plan."]));
    let body = json!({"parentId": play.head().await, "content": "Hi.", "generate": true});
    let reply = id_of(&play.post("message", body).await["generations"][0]);
    let node = play.wait_for_reply(&reply).await;
    assert_eq!((&node["content"], &node["reasoning"]), (&json!(""), &json!("Only a plan.")));
    assert_eq!(node["metadata"]["error"]["code"], "empty_reply");
}

/// A message with a thought in its text, as older versions stored it, is shown and sent without it.
#[tokio::test]
async fn message_with_stored_thought_hides_it() {
    let play = ApiSession::start().await;
    let said = play.run_turn("Hi.").await;
    let edited = play
        .post(
            &format!("node/{}/edit", said.reply),
            json!({"content": "A zanzibar plan.\n</think>\n\nNo.\n\n<think>b</think>\nNever."}),
        )
        .await;
    let node = play.get(&format!("node/{}", id_of(&edited["node"]))).await;
    assert_eq!((&node["display"], &node["reasoning"]), (&json!("No.\n\nNever."), &json!("A zanzibar plan.\n\nb")));
    play.run_turn("And?").await;
    let sent = play.server.mock().requests().pop().unwrap()["messages"].to_string();
    assert!(sent.contains("Never.") && !sent.contains("zanzibar"), "{sent}");
    // A continued reply begins with its text, without the thoughts.
    play.server.mock().queue_reply(Reply::ok([" He goes."]));
    let longer = play.post(&format!("node/{}/continue", id_of(&edited["node"])), json!({})).await;
    let node = play.wait_for_reply(&id_of(&longer["generations"][0])).await;
    assert_eq!(node["content"], "No.\n\nNever. He goes.");
}
