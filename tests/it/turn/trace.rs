//! Traces: the prompt rebuilt from a trace equals what was sent, whatever happened to the tree since.

use diesel::prelude::*;
use diesel::sql_types::BigInt;

use clotho_engine::turn::EditSpec;

use super::*;

/// Checks that the trace rebuilds the messages of a request byte for byte.
async fn assert_trace_matches(story: &TestSession<'_>, reply: NodeId, body: &Value) {
    let trace = story.trace(reply).await;
    assert!(trace.is_exact, "{:?}", trace.head);
    let rebuilt: Vec<(&str, &str)> = trace.messages.iter().map(|one| (one.role.as_str(), one.text.as_str())).collect();
    assert_eq!(rebuilt, request_messages(body));
}

/// C19, S0-37, S3-13: after edits, `carry` and disabling, all rebuilt prompts equal what was sent.
#[tokio::test]
async fn trace_rebuilds_prompt_byte_for_byte_after_edits() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let mut replies = Vec::new();
    let mut turns = Vec::new();
    for n in 0..6 {
        app.mock.queue_reply(Reply::ok([format!("<think>{n}</think>Answer {n}. [HP -{n}]")]));
        let turn = story.run_turn(&format!("Question {n}? 天{n}")).await;
        replies.push(turn.reply.id);
        turns.push(turn);
    }
    replies.push(story.regenerate_and_wait(replies[2]).await.id);
    replies.push(story.run_turn("On the branch.").await.reply.id);
    story.checkout(turns[5].reply.id).await;
    let bodies = app.mock.requests();
    for (reply, body) in replies.iter().zip(&bodies) {
        assert_trace_matches(&story, *reply, body).await;
    }
    story
        .edit(turns[1].user_node, EditSpec { move_children: true, ..edit_spec("Question 1, corrected") })
        .await
        .unwrap();
    story.edit(turns[3].reply.id, EditSpec { move_children: true, ..edit_spec("Answer 3, corrected") }).await.unwrap();
    story.set_enabled(turns[2].user_node, false).await;
    story.set_enabled(turns[4].reply.id, false).await;
    story.set_setting("title", json!("Another title")).await;
    let after = story.run_turn("After all that.").await.reply.id;
    replies.push(after);
    let bodies = app.mock.requests();
    let story = TestSession { app: &app, ..story };
    for (reply, body) in replies.iter().zip(&bodies) {
        assert_trace_matches(&story, *reply, body).await;
    }
    let last = request_messages(&bodies[8]).iter().map(|(_, text)| (*text).to_owned()).collect::<Vec<_>>().join("\n");
    assert!(
        last.contains("Question 1, corrected") && last.contains("Answer 3, corrected") && !last.contains("Answer 4")
    );
}

/// S0-37: the trace lists the parts of the prompt, and they add up to the whole.
#[tokio::test]
async fn trace_parts_add_up_to_whole_prompt() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let greeting = story.head().await;
    let turn = story.run_turn("Hi.").await;
    let trace = story.trace(turn.reply.id).await;
    let slots: Vec<&str> = trace.blueprint.iter().map(|block| block["slot"].as_str().unwrap()).collect();
    assert_eq!(slots, ["main", "world"]);
    assert!(trace.blueprint.iter().all(|block| block["kept"] == json!(true) && block["tokens"].is_u64()));
    assert_eq!(trace.history, [greeting, turn.user_node]);
    let parts: usize = trace.blueprint.iter().map(|block| block["text"].as_str().unwrap().len()).sum();
    let history: usize = story.path(turn.user_node).await.iter().map(|node| node.content.len()).sum();
    let body: usize = request_messages(&app.mock.requests()[0]).iter().map(|(_, text)| text.len()).sum();
    assert_eq!(parts + history, body);
}

#[derive(QueryableByName)]
struct ByteCountRow {
    #[diesel(sql_type = BigInt)]
    bytes: i64,
}

/// C19: traces grow only by what is new in each turn. Sixty more turns cost as much as the sixty before.
#[tokio::test]
async fn trace_size_grows_linearly_with_turns() {
    let app = TestApp::setup().set("generation.context_tokens", "100000").start().await;
    let story = TestSession::create(&app, &[]).await;
    let bytes = || {
        let mut conn = crate::support::open_second_connection(app.home().join("data/clotho.db"));
        let query = "SELECT COALESCE(SUM(LENGTH(body)), 0) AS bytes FROM traces";
        diesel::sql_query(query).get_result::<ByteCountRow>(&mut conn).unwrap().bytes
    };
    let mut grown = vec![0];
    for _ in 0..2 {
        for _ in 0..60 {
            story.run_turn("A question of some length, the same each time.").await;
        }
        grown.push(bytes());
    }
    let (first, second) = (grown[1], grown[2] - grown[1]);
    assert!(second < first * 13 / 10, "{first} bytes, then {second}");
    assert_trace_matches(&story, story.head().await, &app.mock.requests()[119]).await;
}
