//! Power failures: a program is killed during a reply, and another one opens its folder.

use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;

use clotho_core::ids::SessionId;
use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::Delta;
use clotho_core::tree::edit::HeadRequest;
use clotho_core::world::StateOperation;
use clotho_store::{MessageWrite, NodeDraft, ReplyCompletion, Trace, Tx, WriteError};

use super::*;
use crate::support::wait::wait_until;

/// The environment variable with the folder of the killed program.
const FOLDER: &str = "CLOTHO_TEST_CRASH_FOLDER";
const MODEL: &str = "CLOTHO_TEST_CRASH_MODEL";
/// The environment variable with the step at which the program is killed.
const STEP: &str = "CLOTHO_TEST_CRASH_STEP";
/// The line prefix with which the program reports that it has reached the step.
const READY: &str = "the program is where it is to be killed: ";
/// The text of the model.
const SAID: &str = "The ogre hits. [HP -10]";

/// S0-55, S4-11, C23, `domain.md` 5.6: after a `kill -9` during a stream the node is `error: interrupted` with the
/// saved text. The world is unchanged, and a retry works.
#[tokio::test]
async fn kill_during_stream_keeps_partial_text_as_error() {
    let home = tempfile::tempdir().unwrap();
    let mock = MockModel::start().await;
    mock.queue_reply(Reply::ok(["The ogre ", "hits. [HP -10] And"]).then_stall());
    let mut program = CrashTarget::start(home.path(), &mock, "middle");
    let (session, reply) = program.wait_until_ready().await;
    program.kill();
    mock.wait_for_aborted_replies(1).await;

    let app = add_hurt_plugin(TestApp::setup_in(home.path().to_owned()), HURT).mock(mock).start().await;
    let story = TestSession { app: &app, user: app.owner, id: session };
    let node = story.node(reply).await;
    assert_eq!((node.status, &node.metadata.to_json()["error"]["code"]), (Status::Error, &json!("interrupted")));
    assert_eq!((node.content.as_str(), node.name.as_deref()), ("The ogre hits. [HP -10] And", Some("Rin")));
    assert_eq!(node.metadata.to_json()["model"], "mock/mock");
    let trace = story.trace(reply).await;
    assert!(
        trace.is_exact && trace.messages.iter().any(|sent| sent.text == "I swing."),
        "S3-03: it says what was sent"
    );
    assert!(
        node.metadata.to_json()["seed"].is_u64()
            && trace.head.to_json()["params"]["seed"] == node.metadata.to_json()["seed"],
        "S0-16"
    );
    let user = node.parent.unwrap();
    assert_eq!((story.head().await, story.node(user).await.content.as_str()), (user, "I swing."));
    assert_eq!(story.var(reply, "/hurt/hp").await, json!(100));
    assert!(story.delta(reply).await.is_empty());

    app.mock.queue_reply(Reply::ok(["The ogre hits. [HP -10]"]));
    let retried = story.regenerate_and_wait(reply).await;
    assert_eq!((retried.status, story.head().await), (Status::Complete, retried.id));
    assert_eq!(story.var(retried.id, "/hurt/hp").await, json!(90));
    clotho_core::tree::reference_tree::ReferenceTree::replay(&story.log().await).unwrap();
}

/// S3-21: a message killed inside its first commit was never sent. There is no node and no reply, HEAD and log are
/// unchanged, and it can be sent again.
#[tokio::test]
async fn kill_inside_first_commit_leaves_no_message() {
    let home = tempfile::tempdir().unwrap();
    let mock = MockModel::start().await;
    let mut program = CrashTarget::start(home.path(), &mock, "beginning");
    let (session, reply) = program.wait_until_ready().await;
    program.kill();

    let app = add_hurt_plugin(TestApp::setup_in(home.path().to_owned()), HURT).mock(mock).start().await;
    let story = TestSession { app: &app, user: app.owner, id: session };
    let (head, log) = (story.head().await, story.log().await);
    assert_eq!((story.node(head).await.kind, log.len()), (clotho_core::tree::Kind::Greeting, 1));
    assert!(story.children(head).await.is_empty() && !story.has_node(reply).await);
    let turn = story.run_turn("I swing.").await;
    assert_eq!((turn.reply.status, story.head().await), (Status::Complete, turn.reply.id));
    let log = story.log().await;
    assert_eq!(log.iter().map(|operation| operation.op).collect::<Vec<_>>(), [1, 2, 3]);
    clotho_core::tree::reference_tree::ReferenceTree::replay(&log).unwrap();
}

/// S3-21: a reply killed before its first chunk, after its last chunk or inside its last commit has no effects. Killed
/// after that commit, it has text, world, trace and HEAD.
#[tokio::test]
async fn kill_at_each_step_keeps_all_or_nothing() {
    for step in ["waiting", "asked", "written", "committing", "committed"] {
        // Run the program to the step and kill it.
        let home = tempfile::tempdir().unwrap();
        let mock = MockModel::start().await;
        let gate = Gate::new();
        mock.queue_reply(Reply::ok([SAID]).head_gate(&gate));
        let mut program = CrashTarget::start(home.path(), &mock, step);
        let (session, reply) = program.wait_until_ready().await;
        mock.wait_for_requests(1).await;
        if matches!(step, "written" | "committed") {
            gate.open();
            assert_eq!(program.wait_until_ready().await, (session, reply));
        }
        program.kill();

        // Open its folder with another program.
        let app = add_hurt_plugin(TestApp::setup_in(home.path().to_owned()), HURT).start().await;
        let story = TestSession { app: &app, user: app.owner, id: session };
        let node = story.node(reply).await;
        let user = node.parent.unwrap();
        let hp = story.var(reply, "/hurt/hp").await;
        if step == "committed" {
            assert_eq!((node.status, node.content.as_str(), story.head().await), (Status::Complete, SAID, reply));
            assert!(hp == json!(90) && story.trace(reply).await.is_exact);
        } else {
            assert_eq!((node.status, node.content.as_str(), story.head().await), (Status::Error, "", user), "{step}");
            assert_eq!((&node.metadata.to_json()["error"]["code"], hp), (&json!("interrupted"), json!(100)), "{step}");
            assert!(story.delta(reply).await.is_empty(), "{step}");
            // S3-03, S0-16: every reply can be explained, however early it died.
            let trace = story.trace(reply).await;
            assert_eq!(
                (&trace.head.to_json()["error"]["code"], &trace.head.to_json()["model"]),
                (&json!("interrupted"), &json!("mock/mock"))
            );
            assert!(trace.is_exact && trace.head.to_json()["params"].is_object(), "{step}: {trace:?}");
            let says = trace.messages.iter().any(|sent| sent.text == "I swing.");
            assert!(says || step != "asked", "what was sent had been saved");
        }
        // The log completes the reply exactly once.
        let completed = Effect::Completed { node: reply };
        let log = story.log().await;
        assert_eq!(log.iter().filter(|operation| operation.effects.contains(&completed)).count(), 1, "{step}");
        clotho_core::tree::reference_tree::ReferenceTree::replay(&log).unwrap();
    }
}

/// A program in its own process.
struct CrashTarget {
    child: Child,
    stdout_lines: Option<Lines<BufReader<ChildStdout>>>,
}

impl CrashTarget {
    fn start(folder: &Path, mock: &MockModel, step: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["turn::crash::kill_target_process_for_crash_tests", "--exact", "--ignored", "--nocapture"])
            .env(FOLDER, folder)
            .env(MODEL, mock.base_url())
            .env(STEP, step)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, stdout_lines: Some(lines) }
    }

    /// Waits until the program reports that it can be killed or may go on. Returns the session and the reply.
    async fn wait_until_ready(&mut self) -> (SessionId, NodeId) {
        let mut lines = self.stdout_lines.take().unwrap();
        let read = move || {
            let told = lines.by_ref().map_while(Result::ok).find_map(|line| Some(line.split_once(READY)?.1.to_owned()));
            (lines, told.expect("the program ended before it was killed"))
        };
        let (lines, told) = tokio::task::spawn_blocking(read).await.unwrap();
        self.stdout_lines = Some(lines);
        let (session, reply) = told.split_once(' ').unwrap();
        (session.parse().unwrap(), reply.parse().unwrap())
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Kills the process when a test fails.
impl Drop for CrashTarget {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The program that is killed. The tests above run it in its own process.
#[tokio::test]
#[ignore = "it is meant to be killed"]
async fn kill_target_process_for_crash_tests() {
    #[expect(clippy::disallowed_methods, reason = "this is how the other process is told")]
    let (Ok(folder), Ok(model), Ok(step)) = (std::env::var(FOLDER), std::env::var(MODEL), std::env::var(STEP)) else {
        return;
    };
    let app = add_hurt_plugin(TestApp::setup_in(folder.into()), HURT).set("providers.0.base_url", &model).start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    if step == "beginning" {
        write_without_commit(&story).await;
    }
    let started = story.start_turn("I swing.").await;
    let reply = started.generations[0];
    // Stop at the requested step and report it.
    match step.as_str() {
        "waiting" => print_ready(story.id, reply),
        "asked" => {
            let is_saved = async || story.find_trace(reply).await.is_some();
            wait_until("what the model was asked on the disk", is_saved).await;
            print_ready(story.id, reply);
        }
        "written" => {
            // Block the writer, so that commit 2 has to wait.
            block_writer(&story, |_| ()).await;
            print_ready(story.id, reply);
            story.wait_for_text(reply, SAID).await;
            print_ready(story.id, reply);
        }
        "committing" => {
            let (session, head_op) = (story.id, story.session().await.head_op);
            let at = app.clock.now();
            let blow = json!({"op": "add", "path": "/hurt/hp", "value": -10});
            let ending = ReplyCompletion {
                status: Status::Complete,
                content: SAID.into(),
                reasoning: None,
                name: None,
                metadata: Box::default(),
                delta: Delta { operations: vec![StateOperation::from_json(&blow).unwrap()], ..Delta::default() },
                trace: Some(Trace::default()),
                asked: Some(HeadRequest { move_head: true, head_op, at_context: true }),
            };
            block_writer(&story, move |tx| _ = tx.complete_reply(session, reply, started.op, at, &ending).unwrap())
                .await;
            print_ready(story.id, reply);
        }
        "committed" => {
            print_ready(story.id, reply);
            assert_eq!(story.wait_for_reply(reply).await.content, SAID);
            print_ready(story.id, reply);
        }
        _ => {
            story.wait_for_text(reply, "The ogre hits. [HP -10] And").await;
            // The program saves partial text every second; wait until the database has it.
            let is_saved = async || {
                let saved = app.store.write(|tx| tx.generating_replies()).await.unwrap();
                saved.iter().any(|one| one.content == "The ogre hits. [HP -10] And")
            };
            wait_until("what arrived on the disk", is_saved).await;
            print_ready(story.id, reply);
        }
    }
    std::future::pending::<()>().await;
}

/// Writes a message with its placeholder in a transaction that never commits.
async fn write_without_commit(story: &TestSession<'_>) -> ! {
    let (now, parent, session) = (story.app.clock.now(), story.head().await, story.id);
    let draft = |role| {
        let id = NodeId::new(story.app.ids.next_id(now));
        NodeDraft::new(id, role, clotho_core::tree::Kind::Message, 0, now)
    };
    let mut said = draft(Role::User);
    said.content = "I swing.".into();
    let mut reply = draft(Role::Assistant);
    reply.status = Status::Generating;
    let (actor, id) = (story.actor(), reply.id);
    let message = MessageWrite {
        session,
        parent,
        rules_change: None,
        draft: Some(said),
        move_children_from: None,
        replies: vec![reply],
        move_head: true,
        kind: OperationKind::Message,
    };
    block_writer(story, move |tx| _ = tx.add_message(&actor, &message).unwrap()).await;
    print_ready(session, id);
    std::future::pending().await
}

/// Runs a write in a transaction that never commits, and blocks the writer.
async fn block_writer(story: &TestSession<'_>, mut work: impl FnMut(&mut Tx<'_>) + Send + 'static) {
    let (tell, told) = tokio::sync::oneshot::channel();
    let mut tell = Some(tell);
    let store = Arc::clone(&story.app.store);
    tokio::spawn(async move {
        let write = move |tx: &mut Tx<'_>| {
            work(tx);
            tell.take().unwrap().send(()).unwrap();
            loop {
                std::thread::park();
            }
            #[expect(unreachable_code, reason = "this is what the closure would answer")]
            Ok::<(), WriteError>(())
        };
        store.write(write).await
    });
    told.await.unwrap();
}

#[expect(clippy::print_stdout, reason = "this is how the other process is told")]
fn print_ready(session: SessionId, reply: NodeId) {
    println!("{READY}{session} {reply}");
}
