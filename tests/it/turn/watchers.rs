//! Watchers: every operation once and in order, and every text without gap or repetition, however slowly they read.

use std::collections::HashMap;

use clotho_core::oplog::{Effect, Operation};

use super::*;

/// A watcher of a session that works as a socket does: it takes operations by number and text by offset.
struct Viewer<'a> {
    story: TestSession<'a>,
    watcher: clotho_engine::live::SessionWatcher,
    operations: Vec<Operation>,
    texts: HashMap<NodeId, String>,
    piece_count: usize,
}

impl<'a> Viewer<'a> {
    /// Subscribes before reading the log.
    async fn new(story: TestSession<'a>) -> Self {
        let watcher = story.app.live.watch(story.id);
        let operations = story.log().await;
        Self { story, watcher, operations, texts: HashMap::new(), piece_count: 0 }
    }

    /// Takes everything new.
    async fn pull_updates(&mut self) {
        for running in self.watcher.running_replies() {
            let text = self.texts.entry(running.id).or_default();
            let new = running.with_partial_text(|written| written.content.get(text.len()..).unwrap().to_owned());
            self.piece_count += usize::from(!new.is_empty());
            text.push_str(&new);
        }
        let seen = self.operations.last().map_or(0, |operation| operation.op);
        match self.watcher.operations_since(seen) {
            Some(new) => self.operations.extend(new.iter().map(|operation| (**operation).clone())),
            None => self.operations.extend(self.story.log().await.into_iter().filter(|one| one.op > seen)),
        }
    }

    /// Takes everything new until a reply has ended.
    async fn wait_until_completed(&mut self, node: NodeId) {
        let completed = Effect::Completed { node };
        with_timeout(async {
            while !self.operations.iter().any(|one| one.effects.contains(&completed)) {
                self.watcher.changed().await;
                self.pull_updates().await;
            }
        })
        .await;
    }
}

/// S4-45, S4-46, S4-47: a fast watcher sees each piece, and a slow one gets larger pieces less often. Both see every
/// operation once, in order, and each text is a prefix of the committed one.
#[tokio::test]
async fn watchers_get_every_operation_once_at_any_speed() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let (mut quick, mut slow) = (Viewer::new(story).await, Viewer::new(story).await);
    let pieces = ["Once ", "upon ", "a 时", "间🌙", ", ", "there ", "was ", "a lamp."];
    let (reply, gate) = gated_reply(&pieces);
    app.mock.queue_reply(reply);
    let started = story.start_turn("Tell me.").await;
    let reply = started.generations[0];
    for n in 1..=pieces.len() {
        gate.release(1);
        let so_far = pieces[..n].concat();
        story.wait_for_text(reply, &so_far).await;
        quick.pull_updates().await;
        assert_eq!(quick.texts[&reply], so_far);
        if n % 3 == 0 {
            slow.pull_updates().await;
            assert_eq!(slow.texts[&reply], so_far);
        }
    }
    slow.pull_updates().await;
    gate.open();
    quick.wait_until_completed(reply).await;
    slow.wait_until_completed(reply).await;
    let done = story.node(reply).await;
    let log = story.log().await;
    assert_eq!((quick.piece_count, slow.piece_count), (8, 3));
    for viewer in [quick, slow] {
        assert_eq!(viewer.operations, log);
        assert_eq!(viewer.texts[&reply], done.content);
    }
    assert_eq!(app.live.watcher_counts(), (0, 0), "rooms go with their watchers");
}

/// After many operations at once, a watcher that looks only at the end reads what memory no longer has from the log.
#[tokio::test]
async fn watcher_lagging_catches_up_from_log() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let mut sleeper = Viewer::new(story).await;
    let mut awake = Viewer::new(story).await;
    let greeting = story.head().await;
    for n in 0..300 {
        story.set_enabled(greeting, n % 2 == 0).await;
        story.write_message(greeting, &format!("Note {n}.")).await;
    }
    let started = story.start_turn("Last.").await;
    story.wait_for_reply(started.generations[0]).await;
    awake.wait_until_completed(started.generations[0]).await;
    sleeper.wait_until_completed(started.generations[0]).await;
    let log = story.log().await;
    assert!(log.len() > 550, "{}", log.len());
    assert_eq!(sleeper.operations, log);
    assert_eq!(awake.operations, log);
}

/// S0-56: a watcher that joins in the middle of a reply starts with the text so far. Watchers of other sessions get
/// nothing.
#[tokio::test]
async fn watcher_joining_mid_reply_gets_text_so_far() {
    let app = TestApp::start().await;
    let (story, other) = (TestSession::create(&app, &[]).await, TestSession::create(&app, &[]).await);
    let mut elsewhere = Viewer::new(other).await;
    let (reply, gate) = gated_reply(&["First ", "second ", "third."]);
    app.mock.queue_reply(reply);
    let started = story.start_turn("Hi.").await;
    let reply = started.generations[0];
    gate.release(2);
    story.wait_for_text(reply, "First second ").await;
    let mut late = Viewer::new(story).await;
    late.pull_updates().await;
    assert_eq!(late.texts[&reply], "First second ");
    gate.open();
    late.wait_until_completed(reply).await;
    assert_eq!(late.operations, story.log().await);
    elsewhere.pull_updates().await;
    assert_eq!((elsewhere.operations, elsewhere.texts.len()), (other.log().await, 0));
    assert!(
        late.watcher.running_replies().is_empty() && story.wait_for_reply(reply).await.content == "First second third."
    );
}
