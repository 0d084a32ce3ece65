//! What the model is sent when there is much to send, and how the cards' texts come into it.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::*;

/// A program whose prompts have room for 500 tokens, with a model that does not tell its context.
fn narrow() -> Setup {
    let model = TestApp::with().set("generation.model", "mock/other");
    model.set("generation.context_tokens", "600").set("generation.reply_tokens", "100")
}

/// A text of about fifty tokens.
fn long(n: usize) -> String {
    format!("{n:03} {}", "abcdefg ".repeat(23))
}

/// `domain.md` 6.3: a full history is cut at whole messages, in steps: in between, each prompt begins with the one before
/// it, so that what the provider has read need not be read again.
#[tokio::test]
async fn a_full_history_is_cut_in_steps() {
    let app = narrow().start().await;
    let story = Story::begin(&app, &[]).await;
    for n in 0..30 {
        app.mock.script(Reply::ok([long(1_000 + n).as_str()]));
        story.say(&long(n)).await;
    }
    let whole: Vec<String> = story.path(story.head().await).await.into_iter().map(|node| node.content).collect();
    let mut cuts = 0;
    let mut before: Vec<String> = Vec::new();
    for body in &app.mock.requests() {
        let texts: Vec<String> = sent(body).iter().map(|(_, text)| (*text).to_owned()).collect();
        assert_eq!(texts[0], "Be Rin.");
        assert!(texts[1..].iter().all(|text| whole.contains(text)), "only whole messages");
        let tokens: usize = texts.iter().map(|text| clotho::prompt::tokens(text)).sum();
        assert!(tokens <= 500, "{tokens}");
        let grows = texts.starts_with(&before);
        cuts += usize::from(!grows);
        assert!(grows || tokens <= 375, "a cut goes down to three quarters: {tokens}");
        before = texts;
    }
    assert!((5..=20).contains(&cuts), "{cuts} cuts in thirty turns");
    let trace = story.trace(story.head().await).await;
    assert_eq!((&trace.head["historyCut"], trace.is_exact), (&json!(true), true));
}

/// The newest message always goes, whole.
#[tokio::test]
async fn the_newest_message_goes_whole() {
    let app = narrow().start().await;
    let story = Story::begin(&app, &[]).await;
    let huge = "words ".repeat(2_000);
    story.say(&huge).await;
    assert_eq!(sent(&app.mock.requests()[0]), [("system", "Be Rin."), ("user", huge.as_str())]);
}

/// The model's own context length, where its provider tells it, is the budget.
#[tokio::test]
async fn the_provider_knows_the_models_context() {
    let mock = MockModel::start().await;
    mock.models(Reply::json(
        200,
        &json!({"data": [{"id": "mock", "context_length": 400}, {"id": "told", "context_length": 90_000}]}),
    ));
    let app = TestApp::with().mock(mock).start().await;
    let mut changes = tokio::time::interval(std::time::Duration::from_millis(5));
    within(async {
        while app.models.context_length("mock", "mock").is_none() || app.models.find("told").is_err() {
            changes.tick().await;
        }
    })
    .await;
    let story = Story::begin(&app, &[]).await;
    for n in 0..6 {
        story.write(story.head().await, &long(n)).await;
    }
    story.another(story.head().await).await;
    let tokens: usize = sent(&app.mock.requests()[0]).iter().map(|(_, text)| clotho::prompt::tokens(text)).sum();
    assert!(tokens <= 200, "half of 400 is kept for the reply: {tokens}");
    story.set("model", json!("second/told")).await;
    story.another(story.head().await).await;
    assert_eq!(sent(&app.mock.requests()[1]).len(), 3, "all six messages in one");
}

/// A provider is asked again what it can, once in a while, when somebody asks it for a reply: models come and go.
#[tokio::test]
async fn a_provider_is_asked_again() {
    let clock = std::sync::Arc::new(clotho::clock::TestClock::new(clotho::clock::Time(1_700_000_000_000)));
    let app = TestApp::with().clock(clock.clone()).start().await;
    let story = Story::begin(&app, &[]).await;
    let mut changes = tokio::time::interval(std::time::Duration::from_millis(5));
    let mut until_told = async |length: usize| {
        within(async {
            while app.models.context_length("mock", "mock") != Some(length) {
                changes.tick().await;
            }
        })
        .await;
    };
    until_told(8192).await;
    app.mock.models(Reply::json(200, &json!({"data": [{"id": "mock", "context_length": 400}]})));
    story.say("Soon.").await;
    assert_eq!(app.models.context_length("mock", "mock"), Some(8192), "a moment ago it told");
    clock.advance(3_600_000);
    story.say("An hour later.").await;
    until_told(400).await;
}

/// A deep session costs no more: what lies far above is not even read. Proved by damaging it.
#[tokio::test]
async fn a_deep_session_reads_only_pages() {
    const DEPTH: usize = 10_000;
    let app = narrow().start().await;
    let story = Story::begin(&app, &[]).await;
    let (user, id, ids, now) = (story.user, story.id, std::sync::Arc::clone(&app.ids), app.clock.now());
    let mut parent = story.head().await;
    for _ in 0..DEPTH / 500 {
        let ids = std::sync::Arc::clone(&ids);
        parent = app.store.write(move |tx| deepen(tx, user, id, parent, &ids, now)).await.unwrap();
    }
    let damaged = "UPDATE texts SET metadata = 'damaged' WHERE n BETWEEN 100 AND 9500";
    let mut conn = SqliteConnection::establish(app.home().join("data/clotho.db").to_str().unwrap()).unwrap();
    conn.batch_execute("PRAGMA busy_timeout = 5000").unwrap();
    conn.batch_execute(damaged).unwrap();
    let turn = story.say_to(parent, "How deep?").await;
    assert_eq!((turn.reply.status, turn.reply.depth), (Status::Complete, 10_003));
    assert!(story.trace(turn.reply.id).await.history.len() > 20);
}

/// Five hundred messages in one write.
fn deepen(
    tx: &mut clotho::store::Tx<'_>,
    user: clotho::ids::UserId,
    session: clotho::ids::SessionId,
    below: NodeId,
    ids: &clotho::clock::Ids,
    now: clotho::clock::Time,
) -> Result<NodeId, clotho::store::WriteError> {
    use clotho::store::{Actor, Draft, Message};
    let actor = Actor { user, at: now, expected_leaf: None };
    let mut parent = below;
    for _ in 0..500 {
        let mut draft = Draft::new(NodeId::new(ids.next(now)), Role::User, clotho::tree::Kind::Message, 0, now);
        draft.content = "deeper".into();
        let id = draft.id;
        let act = clotho::oplog::Act::Message;
        let (bridge, carry_from, replies) = (None, None, Vec::new());
        let draft = Some(draft);
        tx.message(&actor, &Message { session, parent, bridge, draft, carry_from, replies, move_head: false, act })?;
        parent = id;
    }
    Ok(parent)
}

/// S4-34, S4-12, S4-01: a message that is switched off is in no prompt, and back when it is switched on.
#[tokio::test]
async fn what_is_switched_off_is_not_sent() {
    let app = TestApp::start().await;
    let story = Story::begin(&app, &[]).await;
    let first = story.say("One.").await;
    story.say("Two.").await;
    story.enable(first.reply.id, false).await;
    story.say("Three.").await;
    let words = |body: &Value| sent(body).iter().map(|(_, text)| (*text).to_owned()).collect::<Vec<_>>();
    let off = words(&app.mock.requests()[2]);
    assert_eq!(off[2], "One.\n\nTwo.", "neighbours of one role are joined");
    story.enable(first.reply.id, true).await;
    story.say("Four.").await;
    let on = words(&app.mock.requests()[3]);
    assert_eq!(on[2..5], ["One.".to_owned(), first.reply.content.clone(), "Two.".to_owned()]);
    story.enable(first.user, false).await;
    story.enable(story.node(first.user).await.parent.unwrap(), false).await;
    let all_off = story.another(first.reply.id).await;
    assert_eq!(sent(&app.mock.requests()[4]), [("system", "Be Rin."), ("user", "[Go on]")], "a prompt is never empty");
    assert!(
        story.trace(all_off.id).await.blueprint.iter().any(|block| block["slot"] == "filler"),
        "and the trace shows it"
    );
}

/// The cards' texts, each in its place, names filled in; the world just before the last message.
#[tokio::test]
async fn the_cards_come_into_the_prompt() {
    let app = with_hurt().start().await;
    let card = json!({
        "name": "Rin", "systemPrompt": "You are {{char}}.", "description": "{{char}} keeps a lamp.", "personality": "Calm.",
        "scenario": "<USER> arrives.", "exampleMessages": "<START>\n{{user}}: Hit!\n{{char}}: Ow. [HP -5]",
        "postHistoryInstructions": "Stay {{char}}.", "firstMessage": "Come in, {{user}}.", "alternateGreetings": ["Go away, {{user}}!", ""],
    });
    let (character, persona) =
        (app.character(card).await, app.persona(json!({"name": "Ann", "description": "A smith."})).await);
    let new = NewSession {
        character_ids: vec![character],
        persona_id: Some(persona),
        plugins: Some(vec![on("hurt")]),
        ..NewSession::default()
    };
    let story = Story::with(&app, new).await;
    let greetings = story.children(story.session().await.root).await;
    assert_eq!(texts(&greetings), ["Come in, Ann.", "Go away, Ann!"], "S0-07");
    assert_eq!(story.head().await, greetings[0].id);
    let turn = story.say("Hello.").await;
    assert_eq!(
        sent(&app.mock.requests()[0]),
        [
            ("system", "You are Rin.\n\nRin keeps a lamp.\n\nCalm.\n\nAnn arrives.\n\nA smith."),
            ("user", "Hit!"),
            ("assistant", "Ow. [HP -5]\n\nCome in, Ann."),
            ("system", "The state of the world now:\n- hurt/hp: 100 (hit points)"),
            ("user", "Hello."),
            ("system", "Stay Rin."),
        ]
    );
    assert_eq!(story.node(turn.user).await.name.as_deref(), Some("Ann"));
}

/// C18: a card without a first message: the story begins at the root, and no empty message is sent.
#[tokio::test]
async fn a_story_without_a_greeting() {
    let app = TestApp::start().await;
    let character = app.character(json!({"name": "Moss", "systemPrompt": "Be {{char}}.", "firstMessage": " "})).await;
    let new = NewSession { character_ids: vec![character], ..NewSession::default() };
    let story = Story::with(&app, new).await;
    let session = story.session().await;
    assert_eq!((session.head, story.path(session.head).await.len()), (session.root, 0));
    let turn = story.say("Hello?").await;
    assert_eq!(sent(&app.mock.requests()[0]), [("system", "Be Moss."), ("user", "Hello?")]);
    assert_eq!((turn.reply.turn, story.head().await), (1, turn.reply.id));
}
