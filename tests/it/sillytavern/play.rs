//! An imported story goes on, over HTTP.

use jiff::tz::TimeZone;
use serde_json::json;

use super::*;
use crate::http::play::Play;
use crate::support::app::TestApp;
use crate::support::data_root::{DataRoot, greeting, header, said, swipes, with_state};
use crate::support::mock_model::Reply;
use crate::support::server::TestServer;

/// S4-53, S1-01: an imported story opens, is played on, one of its replies is written anew, and its world goes back.
#[tokio::test]
async fn an_imported_story_is_played_on() {
    let root = DataRoot::new();
    root.card("Ivo");
    let oil = |n: i64| json!({"oil": n});
    let rows = [
        header(json!({})),
        with_state(greeting(), &[oil(10)]),
        with_state(said("I light the lamp.", 1), &[oil(10)]),
        with_state(swipes(&["It is dark.", "It burns."], 1, 2), &[oil(9), oil(8)]),
    ];
    root.chat("Ivo", "Night", &rows);
    let app = TestServer::with(TestApp::with()).await;
    let inside = app.inside().shared();
    let wish = Wish { owner: inside.owner, at: inside.clock.now(), zone: TimeZone::UTC, is_dry: false };
    import(&inside.store, &inside.ids, root.path(), wish, |_| true).await.unwrap();
    drop(inside);
    let list = app.get("/api/sessions").await;
    let session = list["items"].as_array().unwrap().iter().find(|one| one["title"] == "Night").unwrap().clone();
    let play = Play { app, sid: session["id"].as_str().unwrap().to_owned() };
    let shown = play.get("projection").await;
    let texts: Vec<&str> =
        shown["items"].as_array().unwrap().iter().map(|node| node["content"].as_str().unwrap()).collect();
    assert_eq!(texts, ["Good evening.", "I light the lamp.", "It burns."]);
    let last = shown["items"][2].clone();
    assert_eq!((&last["siblings"]["index"], &last["siblings"]["count"]), (&json!(1), &json!(2)));
    assert_eq!(last["name"], "Ivo");
    let burning = last["id"].as_str().unwrap().to_owned();

    play.app.mock().script(Reply::ok(["It goes on."]));
    let turn = play.say("I wait.").await;
    assert_eq!(play.get(&format!("node/{}", turn.reply)).await["content"], "It goes on.");
    let sent = play.app.mock().requests().pop().unwrap().to_string();
    assert!(sent.contains("It burns.") && sent.contains("Keeps the lamps.") && !sent.contains("It is dark."), "{sent}");
    play.app.mock().script(Reply::ok(["It flickers."]));
    let other = play.another(&burning).await;
    assert_eq!(play.get(&format!("node/{other}")).await["content"], "It flickers.");
    let siblings = play.get(&format!("node/{other}?expand=world")).await;
    assert_eq!(siblings["world"]["vars"]["stat_data"]["oil"], 10, "before it was answered: {siblings}");

    let dark = last["siblings"]["ids"][0].as_str().unwrap();
    for (node, expected) in [(burning.as_str(), 8), (dark, 9), (turn.reply.as_str(), 8)] {
        play.checkout(node, true).await;
        let world = play.get(&format!("node/{node}/world")).await;
        assert_eq!(world["world"]["vars"]["stat_data"]["oil"], expected, "{world}");
    }
    let greeting = shown["items"][0]["id"].as_str().unwrap().to_owned();
    play.checkout(&greeting, true).await;
    assert_eq!(play.get(&format!("node/{greeting}/world")).await["world"]["vars"]["stat_data"]["oil"], 10);
    crate::http::search_until(&play.app, "flickers", 1).await;
    crate::http::search_until(&play.app, "burns", 1).await;
}
