//! The power goes: a program is killed in the middle of a reply, and another one opens its folder.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::*;

/// Where the killed program finds its folder and its model server.
const FOLDER: &str = "CLOTHO_TEST_CRASH_FOLDER";
const MODEL: &str = "CLOTHO_TEST_CRASH_MODEL";
/// What it says when the middle of the reply is on disk.
const READY: &str = "half of the reply is on disk: ";

/// S0-55, S4-11, C23, `domain.md` 5.6: after a `kill -9` in the middle of a stream the node is `error: interrupted` with the
/// text that had been saved, the world is untouched, and a retry works.
#[tokio::test]
async fn killed_in_mid_stream() {
    let home = tempfile::tempdir().unwrap();
    let mock = MockModel::start().await;
    mock.script(Reply::ok(["The ogre ", "hits. [HP -10] And"]).then_stall());
    let model = mock.base_url();
    let folder = home.path().to_owned();
    let told = tokio::task::spawn_blocking(move || {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["turn::crash::the_one_that_is_killed", "--exact", "--ignored", "--nocapture"])
            .env(FOLDER, folder)
            .env(MODEL, model)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let told = lines.map_while(Result::ok).find_map(|line| Some(line.split_once(READY)?.1.to_owned()));
        child.kill().unwrap();
        child.wait().unwrap();
        told.expect("the program ended before it was killed")
    });
    let told: Vec<String> = told.await.unwrap().split(' ').map(str::to_owned).collect();
    let [session, reply] = told.as_slice() else { panic!("{told:?}") };
    let reply: NodeId = reply.parse().unwrap();
    mock.until_aborted(1).await;

    let app = hurt(TestApp::in_folder(home.path().to_owned()), HURT).mock(mock).start().await;
    let story = Story { app: &app, user: app.owner, id: session.parse().unwrap() };
    let node = story.node(reply).await;
    assert_eq!((node.status, &node.metadata["error"]["code"]), (Status::Error, &json!("interrupted")));
    assert_eq!((node.content.as_str(), node.name.as_deref()), ("The ogre hits. [HP -10] And", Some("Rin")));
    assert_eq!(node.metadata["model"], "mock/mock");
    let user = node.parent.unwrap();
    assert_eq!((story.head().await, story.node(user).await.content.as_str()), (user, "I swing."));
    assert_eq!(story.var(reply, "/hurt/hp").await, json!(100));
    assert!(story.delta(reply).await.is_empty());

    app.mock.script(Reply::ok(["The ogre hits. [HP -10]"]));
    let retried = story.another(reply).await;
    assert_eq!((retried.status, story.head().await), (Status::Complete, retried.id));
    assert_eq!(story.var(retried.id, "/hurt/hp").await, json!(90));
    clotho::tree::mirror::Mirror::replay(&story.log().await).unwrap();
}

/// The program that is killed. Run by the test above, in a process of its own.
#[tokio::test]
#[ignore = "it is meant to be killed"]
async fn the_one_that_is_killed() {
    #[expect(clippy::disallowed_methods, reason = "this is how the other process is told")]
    let (Ok(folder), Ok(model)) = (std::env::var(FOLDER), std::env::var(MODEL)) else { return };
    let app = hurt(TestApp::in_folder(folder.into()), HURT).set("providers.0.base_url", &model).start().await;
    let story = Story::begin(&app, &["hurt"]).await;
    let started = story.start("I swing.").await;
    story.reads(started.generations[0], "The ogre hits. [HP -10] And").await;
    // The program saves what arrived every second; the database says when it has.
    loop {
        let saved = app.store.write(|tx| tx.generating()).await.unwrap();
        if saved.iter().any(|one| one.content == "The ogre hits. [HP -10] And") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    #[expect(clippy::print_stdout, reason = "this is how the other process is told")]
    {
        println!("{READY}{} {}", story.id, started.generations[0]);
    }
    std::future::pending::<()>().await;
}
