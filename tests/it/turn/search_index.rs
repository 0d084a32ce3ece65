//! The search index follows the log.

use clotho_search::{LocalNow, ParsedQuery, SearchRequest};

use super::*;

/// Returns the texts of the hits, after everything committed is indexed.
async fn find_texts(app: &TestApp, text: &str) -> Vec<String> {
    let newest = app.store.read(|reader| reader.newest_cursor()).await.unwrap();
    let mut look = tokio::time::interval(std::time::Duration::from_millis(5));
    with_timeout(async {
        while app.search.progress().visible < newest {
            look.tick().await;
        }
    })
    .await;
    let query = ParsedQuery::parse(text, LocalNow { now: app.clock.now(), utc_offset_minutes: 0 }).unwrap();
    let found = app.search.find(&SearchRequest::new(app.owner, query));
    let mut texts: Vec<String> = found.page(0, 100).unwrap().hits.into_iter().map(|hit| hit.text).collect();
    texts.sort();
    texts
}

/// `domain.md` 8: every complete node of every branch is found, and no running reply.
#[tokio::test]
async fn search_index_has_complete_nodes_of_all_branches() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let greeting = story.head().await;
    app.mock.queue_reply(Reply::ok(["A brass lantern."]));
    let turn = story.run_turn("What lantern?").await;
    app.mock.queue_reply(Reply::ok(["A paper lantern 灯笼."]));
    story.regenerate_and_wait(turn.reply.id).await;
    story.write_message(greeting, "No lantern here.").await;
    let (reply, gate) = gated_reply(&["A lantern on its way"]);
    app.mock.queue_reply(reply);
    let started = story.start_turn("Another?").await;
    gate.release(1);
    story.wait_for_text(started.generations[0], "A lantern on its way").await;
    let all = ["A brass lantern.", "A paper lantern 灯笼.", "No lantern here.", "What lantern?"];
    assert_eq!(find_texts(&app, "lantern").await, all);
    assert_eq!(find_texts(&app, "灯笼").await, ["A paper lantern 灯笼."]);
    gate.open();
    story.wait_for_reply(started.generations[0]).await;
    assert_eq!(find_texts(&app, "lantern").await.len(), 5);
    story
        .edit(turn.user_node, clotho_engine::turn::EditSpec { generate: Some(None), ..edit_spec("Which lantern?") })
        .await
        .unwrap();
    assert_eq!(find_texts(&app, "which").await, ["Which lantern?"]);
}

/// The index resumes where it stopped, and is rebuilt when its folder is gone.
#[tokio::test]
async fn search_index_resumes_or_rebuilds_after_loss() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let (user, id) = (story.user, story.id);
    story.write_message(story.head().await, "Before the stop.").await;
    assert_eq!(find_texts(&app, "stop").await.len(), 1);
    let app = app.restart().await;
    let story = TestSession { app: &app, user, id };
    story.write_message(story.head().await, "After the stop.").await;
    assert_eq!(find_texts(&app, "stop").await, ["After the stop.", "Before the stop."]);
    let home = app.home();
    let setup = app.stop().await;
    std::fs::remove_dir_all(home.join("data/search")).unwrap();
    let app = setup.start().await;
    assert_eq!(find_texts(&app, "stop").await, ["After the stop.", "Before the stop."]);
}

/// A session in the trash is not found.
#[tokio::test]
async fn search_index_hides_trashed_sessions() {
    let app = TestApp::start().await;
    let (kept, gone) = (TestSession::create(&app, &[]).await, TestSession::create(&app, &[]).await);
    for story in [kept, gone] {
        story.write_message(story.head().await, "A lamp.").await;
    }
    assert_eq!(find_texts(&app, "lamp").await.len(), 2);
    let (user, id, now) = (gone.user, gone.id, app.clock.now());
    app.store.write(move |tx| tx.trash_session(user, id, now)).await.unwrap();
    assert_eq!(find_texts(&app, "lamp").await.len(), 1);
}

/// An unreadable row does not stop the index for good: it is retried, and indexing goes on when the row is repaired.
#[tokio::test]
async fn search_index_retries_unreadable_rows() {
    use diesel::connection::SimpleConnection;
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let (user, id) = (story.user, story.id);
    let home = app.home();
    let setup = app.stop().await;
    std::fs::remove_dir_all(home.join("data/search")).unwrap();
    let database = home.join("data/clotho.db");
    let run = |sql: &str| {
        let mut conn = crate::support::open_second_connection(&database);
        conn.batch_execute(sql).unwrap();
    };
    run(
        "CREATE TABLE whole AS SELECT n, effects FROM operations; UPDATE operations SET effects = 'damaged' WHERE op = 1",
    );
    let app = setup.start().await;
    let story = TestSession { app: &app, user, id };
    story.write_message(story.head().await, "Hello again.").await;
    assert_eq!(app.search.progress().fed, 0);
    run("UPDATE operations SET effects = (SELECT effects FROM whole WHERE whole.n = operations.n) WHERE op = 1");
    assert_eq!(find_texts(&app, "hello").await, ["Hello again.", "Hello, You."]);
}
