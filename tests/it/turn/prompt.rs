//! Long prompts, and how the texts of cards get into them.

use diesel::connection::SimpleConnection;

use super::*;

/// Returns a program with room for 500 tokens in a prompt and a model of unknown context length.
fn short_context_setup() -> Setup {
    let model = TestApp::setup().set("generation.model", "mock/other");
    model.set("generation.context_tokens", "600").set("generation.reply_tokens", "100")
}

/// Returns a text of about fifty tokens.
fn long_text(n: usize) -> String {
    format!("{n:03} {}", "abcdefg ".repeat(23))
}

/// `domain.md` 6.3: a full history is cut at whole messages, in steps. In between, each prompt starts with the previous
/// one, so that the provider can reuse what it has read.
#[tokio::test]
async fn prompt_full_history_is_trimmed_in_steps() {
    let app = short_context_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    for n in 0..30 {
        app.mock.queue_reply(Reply::ok([long_text(1_000 + n).as_str()]));
        story.run_turn(&long_text(n)).await;
    }
    let whole: Vec<String> = story.path(story.head().await).await.into_iter().map(|node| node.content).collect();
    let mut cuts = 0;
    let mut before: Vec<String> = Vec::new();
    for body in &app.mock.requests() {
        let texts: Vec<String> = request_messages(body).iter().map(|(_, text)| (*text).to_owned()).collect();
        assert_eq!(texts[0], "Be Rin.");
        assert!(texts[1..].iter().all(|text| whole.contains(text)), "only whole messages");
        let tokens: usize = texts.iter().map(|text| clotho_compat::prompt::estimate_message(text)).sum();
        assert!(tokens <= 500, "{tokens}");
        let grows = texts.starts_with(&before);
        cuts += usize::from(!grows);
        assert!(grows || tokens <= 375, "a cut goes down to three quarters: {tokens}");
        before = texts;
    }
    assert!((5..=20).contains(&cuts), "{cuts} cuts in thirty turns");
    let trace = story.trace(story.head().await).await;
    assert!(trace.is_exact);
    let path = story.path(story.head().await).await;
    let first = path.iter().position(|node| node.id == trace.history[0]).unwrap();
    assert_eq!(trace.head.to_json()["historyCut"], json!({"why": "budget", "through": path[first - 1].id.to_string()}));
    let early = story.trace(path[2].id).await;
    assert_eq!((early.history.len(), &early.head.to_json()["historyCut"]), (2, &json!(null)), "everything fitted");
}

/// S0-37, `domain.md` 6.2: without room, examples are dropped first and the trace says so. The prompt can still be
/// rebuilt.
#[tokio::test]
async fn prompt_over_budget_drops_examples_first() {
    let app = short_context_setup().start().await;
    let exchange = |n: usize| format!("<START>\n{{{{user}}}}: {}\n{{{{char}}}}: {}\n", long_text(n), long_text(n + 1));
    let examples = [exchange(1), exchange(3), exchange(5), exchange(7)].concat();
    let card = json!({
        "name": "Rin", "systemPrompt": "Be Rin.", "description": "Rin keeps a lamp.", "personality": "Rin keeps a lamp.",
        "exampleMessages": examples, "firstMessage": "Hello.",
    });
    let character = app.add_character(card).await;
    let story =
        TestSession::create_with_spec(&app, SessionSpec { character_ids: vec![character], ..SessionSpec::default() })
            .await;
    let reply = story.run_turn("Hi.").await.reply;
    let trace = story.trace(reply.id).await;
    let told: Vec<(&str, bool, Option<&str>)> = trace
        .blueprint
        .iter()
        .map(|block| {
            (block["slot"].as_str().unwrap(), block["kept"] == json!(true), block.get("why").and_then(Value::as_str))
        })
        .collect();
    let example = |kept: bool| ("dialogueExamples", kept, (!kept).then_some("budget"));
    let mut expected = vec![("main", true, None), ("charDescription", true, None)];
    expected.extend([true; 6].map(example));
    expected.push(("charPersonality", false, Some("duplicate")));
    expected.extend([false; 2].map(example));
    assert_eq!(told, expected, "{}", trace.head.to_json()["tokensEstimated"]);
    let body = &app.mock.requests()[0];
    assert!(trace.is_exact && !body.to_string().contains(long_text(7).trim()));
    assert!(body.to_string().contains(long_text(5).trim()));
    let rebuilt: Vec<(&str, &str)> = trace.messages.iter().map(|one| (one.role.as_str(), one.text.as_str())).collect();
    assert_eq!(rebuilt, request_messages(body));
}

/// A card that exceeds the context gives an error with a hint, without a model request. A longer context helps.
#[tokio::test]
async fn prompt_card_over_context_fails_with_hint() {
    let app = short_context_setup().start().await;
    let card = json!({"name": "Rin", "description": "lamp ".repeat(600), "firstMessage": "Hello."});
    let character = app.add_character(card).await;
    let story =
        TestSession::create_with_spec(&app, SessionSpec { character_ids: vec![character], ..SessionSpec::default() })
            .await;
    let turn = story.run_turn("Hi.").await;
    let error = &turn.reply.metadata.to_json()["error"].clone();
    assert_eq!((turn.reply.status, &error["code"]), (Status::Error, &json!("prompt_too_large")));
    assert!(error["message"].as_str().unwrap().contains("room for 497 in the prompt"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("generation.context_tokens"), "{error}");
    assert_eq!((app.mock.requests().len(), story.head().await), (0, turn.user_node));
    let trace = story.trace(turn.reply.id).await;
    assert!(!trace.blueprint.is_empty() && trace.messages.is_empty() && trace.is_exact);
    assert!(trace.blueprint.iter().all(|block| block["kept"] == json!(false) && block["why"] == "budget"));
    assert_eq!(trace.head.to_json()["error"]["code"], "prompt_too_large");

    let (user, id) = (story.user, story.id);
    let app = app.stop().await.set("generation.context_tokens", "2000").start().await;
    let story = TestSession { app: &app, user, id };
    assert_eq!(story.regenerate_and_wait(turn.reply.id).await.status, Status::Complete);
}

/// `reply_tokens` reserves room and is sent as `max_tokens`, unless the session sets its own value.
#[tokio::test]
async fn reply_tokens_setting_limits_max_tokens() {
    let app = short_context_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    let reply = story.run_turn("Hi.").await.reply;
    assert_eq!(
        (&app.mock.requests()[0]["max_tokens"], &reply.metadata.to_json()["params"]["max_tokens"]),
        (&json!(100), &json!(100))
    );
    for (params, expected) in [(json!({"max_tokens": 30}), json!(30)), (json!({"max_tokens": null}), Value::Null)] {
        story.set_setting("params", params).await;
        story.run_turn("Hi.").await;
        assert_eq!(app.mock.requests().last().unwrap()["max_tokens"], expected);
    }
}

/// If the provider reports no cost, it is computed exactly from the provider's prices and marked as computed.
#[tokio::test]
async fn reply_cost_is_computed_from_provider_prices() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let mut changes = tokio::time::interval(std::time::Duration::from_millis(5));
    with_timeout(async {
        while app.models.context_length("mock", "mock").is_none() {
            changes.tick().await;
        }
    })
    .await;
    let priced = json!({"prompt_tokens": 12_345, "completion_tokens": 7});
    app.mock.queue_reply(Reply::ok(["Yes."]).usage_with_finish(priced.clone()));
    let reply = story.run_turn("Hi.").await.reply;
    // 12345 tokens at 0.000001 and 7 at 0.000002.
    assert_eq!(
        (reply.metadata.to_json()["cost"].to_string(), &reply.metadata.to_json()["costFrom"]),
        ("0.012359".into(), &json!("prices"))
    );
    let head = story.trace(reply.id).await.head.to_json();
    assert_eq!((&head["cost"], &head["costFrom"]), (&reply.metadata.to_json()["cost"], &json!("prices")));

    let mut told = priced;
    told["cost"] = json!(0.5);
    app.mock.queue_reply(Reply::ok(["Yes."]).usage_with_finish(told));
    let reply = story.run_turn("Hi.").await.reply;
    assert_eq!(
        (&reply.metadata.to_json()["cost"], &reply.metadata.to_json()["costFrom"]),
        (&json!(0.5), &json!("provider"))
    );
    story.set_setting("model", json!("mock/other")).await;
    app.mock.queue_reply(Reply::ok(["Yes."]).usage(12, 7));
    let reply = story.run_turn("Hi.").await.reply;
    assert_eq!(
        (&reply.metadata.to_json()["cost"], &reply.metadata.to_json()["costFrom"]),
        (&json!(null), &json!(null)),
        "nobody knows"
    );
    app.mock.queue_reply(Reply::ok(["Yes."]));
    assert_eq!(story.run_turn("Hi.").await.reply.metadata.to_json().get("cost"), None, "nobody counted");
}

/// The newest message is always sent whole.
#[tokio::test]
async fn prompt_newest_message_is_never_trimmed() {
    let app = short_context_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    let huge = "words ".repeat(2_000);
    story.run_turn(&huge).await;
    assert_eq!(request_messages(&app.mock.requests()[0]), [("system", "Be Rin."), ("user", huge.as_str())]);
}

/// The context length that the provider reports for the model is the budget.
#[tokio::test]
async fn prompt_budget_uses_context_length_of_provider() {
    let mock = MockModel::start().await;
    mock.set_models_reply(Reply::json(
        200,
        &json!({"data": [{"id": "mock", "context_length": 400}, {"id": "told", "context_length": 90_000}]}),
    ));
    let app = TestApp::setup().mock(mock).start().await;
    let mut changes = tokio::time::interval(std::time::Duration::from_millis(5));
    with_timeout(async {
        while app.models.context_length("mock", "mock").is_none() || app.models.find("told").is_err() {
            changes.tick().await;
        }
    })
    .await;
    let story = TestSession::create(&app, &[]).await;
    for n in 0..6 {
        story.write_message(story.head().await, &long_text(n)).await;
    }
    story.regenerate_and_wait(story.head().await).await;
    let tokens: usize = request_messages(&app.mock.requests()[0])
        .iter()
        .map(|(_, text)| clotho_compat::prompt::estimate_message(text))
        .sum();
    assert!(tokens <= 200, "half of 400 is kept for the reply: {tokens}");
    story.set_setting("model", json!("second/told")).await;
    story.regenerate_and_wait(story.head().await).await;
    assert_eq!(request_messages(&app.mock.requests()[1]).len(), 3, "all six messages in one");
}

/// The models of a provider are read again when a reply is requested after an interval, because models change.
#[tokio::test]
async fn provider_model_list_is_refreshed_after_interval() {
    let clock = std::sync::Arc::new(clotho_core::clock::TestClock::new(clotho_core::clock::Time(1_700_000_000_000)));
    let app = TestApp::setup().clock(clock.clone()).start().await;
    let story = TestSession::create(&app, &[]).await;
    let mut changes = tokio::time::interval(std::time::Duration::from_millis(5));
    let mut until_told = async |length: usize| {
        with_timeout(async {
            while app.models.context_length("mock", "mock") != Some(length) {
                changes.tick().await;
            }
        })
        .await;
    };
    until_told(8192).await;
    app.mock.set_models_reply(Reply::json(200, &json!({"data": [{"id": "mock", "context_length": 400}]})));
    story.run_turn("Soon.").await;
    assert_eq!(app.models.context_length("mock", "mock"), Some(8192), "a moment ago it told");
    clock.advance(3_600_000);
    story.run_turn("An hour later.").await;
    until_told(400).await;
}

/// A deep session costs no more: distant nodes are not read. The test damages them to prove it.
#[tokio::test]
async fn prompt_of_deep_session_reads_only_needed_pages() {
    const DEPTH: usize = 10_000;
    let app = short_context_setup().start().await;
    let story = TestSession::create(&app, &[]).await;
    let (user, id, ids, now) = (story.user, story.id, std::sync::Arc::clone(&app.ids), app.clock.now());
    let mut parent = story.head().await;
    for _ in 0..DEPTH / 500 {
        let ids = std::sync::Arc::clone(&ids);
        parent = app.store.write(move |tx| append_many_messages(tx, user, id, parent, &ids, now)).await.unwrap();
    }
    let damaged = "UPDATE texts SET metadata = 'damaged' WHERE n BETWEEN 100 AND 9500";
    let mut conn = crate::support::open_second_connection(app.home().join("data/clotho.db"));
    conn.batch_execute(damaged).unwrap();
    let turn = story.run_turn_at(parent, "How deep?").await;
    assert_eq!((turn.reply.status, turn.reply.depth), (Status::Complete, 10_003));
    assert!(story.trace(turn.reply.id).await.history.len() > 20);
}

/// Writes five hundred messages in one transaction.
fn append_many_messages(
    tx: &mut clotho_store::Tx<'_>,
    user: clotho_core::ids::UserId,
    session: clotho_core::ids::SessionId,
    below: NodeId,
    ids: &clotho_core::clock::IdGenerator,
    now: clotho_core::clock::Time,
) -> Result<NodeId, clotho_store::WriteError> {
    use clotho_store::{Actor, MessageWrite, NodeDraft};
    let actor = Actor { user, at: now, expected_leaf: None };
    let mut parent = below;
    for _ in 0..500 {
        let mut draft =
            NodeDraft::new(NodeId::new(ids.next_id(now)), Role::User, clotho_core::tree::Kind::Message, 0, now);
        draft.content = "deeper".into();
        let id = draft.id;
        let act = clotho_core::oplog::OperationKind::Message;
        let (bridge, carry_from, replies) = (None, None, Vec::new());
        let draft = Some(draft);
        tx.add_message(
            &actor,
            &MessageWrite {
                session,
                parent,
                rules_change: bridge,
                draft,
                move_children_from: carry_from,
                replies,
                move_head: false,
                kind: act,
            },
        )?;
        parent = id;
    }
    Ok(parent)
}

/// S4-34, S4-12, S4-01: a disabled message is in no prompt, and is back when enabled.
#[tokio::test]
async fn prompt_leaves_out_disabled_messages() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let first = story.run_turn("One.").await;
    story.run_turn("Two.").await;
    story.set_enabled(first.reply.id, false).await;
    story.run_turn("Three.").await;
    let words = |body: &Value| request_messages(body).iter().map(|(_, text)| (*text).to_owned()).collect::<Vec<_>>();
    let off = words(&app.mock.requests()[2]);
    assert_eq!(off[2], "One.\n\nTwo.", "neighbours of one role are joined");
    story.set_enabled(first.reply.id, true).await;
    story.run_turn("Four.").await;
    let on = words(&app.mock.requests()[3]);
    assert_eq!(on[2..5], ["One.".to_owned(), first.reply.content.clone(), "Two.".to_owned()]);
    story.set_enabled(first.user_node, false).await;
    story.set_enabled(story.node(first.user_node).await.parent.unwrap(), false).await;
    let all_off = story.regenerate_and_wait(first.reply.id).await;
    assert_eq!(
        request_messages(&app.mock.requests()[4]),
        [("system", "Be Rin."), ("user", "[Go on]")],
        "a prompt is never empty"
    );
    assert!(
        story.trace(all_off.id).await.blueprint.iter().any(|block| block["slot"] == "filler"),
        "and the trace shows it"
    );
}

/// Returns the expected history of a prompt: enabled texts in order, neighbours of one role joined, and a user's text
/// last.
fn expected_messages(texts: &[(&'static str, String, bool)]) -> Vec<(String, String)> {
    let mut messages = vec![("system".to_owned(), "Be Rin.".to_owned())];
    for (role, text, _) in texts.iter().filter(|(.., is_enabled)| *is_enabled) {
        match messages.last_mut() {
            Some((last, so_far)) if last == role => *so_far += &format!("\n\n{text}"),
            _ => messages.push(((*role).to_owned(), text.clone())),
        }
    }
    if messages.last().is_none_or(|(role, _)| role != "user") {
        messages.push(("user".to_owned(), "[Go on]".to_owned()));
    }
    messages
}

/// S4-34, S4-35, S4-22, S4-12, S4-01: with any messages disabled, a prompt has exactly the enabled texts in order. No
/// neighbours have one role, nothing is empty, and a user's text is last. The trace says the same.
#[tokio::test]
async fn prompt_with_random_disabled_messages_is_valid() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let mut last = story.run_turn("Turn 0.").await;
    for n in 1..5 {
        app.mock.queue_reply(Reply::ok([format!("Reply {n}.")]));
        last = story.run_turn(&format!("Turn {n}.")).await;
    }
    let line = story.path(last.user_node).await;
    let mut flags = vec![true; line.len()];
    let mut seed = 7_u64;
    for _ in 0..40 {
        for (node, flag) in line.iter().zip(&mut flags) {
            // Knuth's MMIX generator gives the same flags in every run.
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let to = !(seed >> 33).is_multiple_of(3);
            if std::mem::replace(flag, to) != to {
                story.set_enabled(node.id, to).await;
            }
        }
        let reply = story.regenerate_and_wait(last.reply.id).await;
        let texts: Vec<_> =
            line.iter().zip(&flags).map(|(node, on)| (node.role.as_str(), node.content.clone(), *on)).collect();
        let body = app.mock.requests().pop().unwrap();
        let sent: Vec<(String, String)> =
            request_messages(&body).into_iter().map(|(role, text)| (role.to_owned(), text.to_owned())).collect();
        assert_eq!(sent, expected_messages(&texts), "{flags:?}");
        assert!(story.trace(reply.id).await.is_exact);
    }
}

/// The texts of cards are in their places with names filled in. The world is just before the last message.
#[tokio::test]
async fn prompt_places_card_texts_and_state() {
    let app = hurt_setup().start().await;
    let card = json!({
        "name": "Rin", "systemPrompt": "You are {{char}}.", "description": "{{char}} keeps a lamp.", "personality": "Calm.",
        "scenario": "<USER> arrives.", "exampleMessages": "<START>\n{{user}}: Hit!\n{{char}}: Ow. [HP -5]",
        "postHistoryInstructions": "Stay {{char}}.", "firstMessage": "Come in, {{user}}.", "alternateGreetings": ["Go away, {{user}}!", ""],
    });
    let (character, persona) =
        (app.add_character(card).await, app.add_persona(json!({"name": "Ann", "description": "A smith."})).await);
    let new = SessionSpec {
        character_ids: vec![character],
        persona_id: Some(persona),
        plugins: Some(vec![enabled_plugin("hurt")]),
        ..SessionSpec::default()
    };
    let story = TestSession::create_with_spec(&app, new).await;
    let greetings = story.children(story.session().await.root).await;
    assert_eq!(node_texts(&greetings), ["Come in, Ann.", "Go away, Ann!"], "S0-07");
    assert_eq!(story.head().await, greetings[0].id);
    let turn = story.run_turn("Hello.").await;
    assert_eq!(
        request_messages(&app.mock.requests()[0]),
        [
            ("system", "You are Rin.\n\nRin keeps a lamp.\n\nCalm.\n\nAnn arrives.\n\nA smith."),
            ("user", "Hit!"),
            ("assistant", "Ow. [HP -5]\n\nCome in, Ann."),
            ("system", "The state of the world now:\n- hurt/hp: 100 (hit points)"),
            ("user", "Hello."),
            ("system", "Stay Rin."),
        ]
    );
    assert_eq!(story.node(turn.user_node).await.name.as_deref(), Some("Ann"));
}

/// C18: with a card without a first message the story starts at the root, and no empty message is sent.
#[tokio::test]
async fn session_without_greeting_sends_no_empty_message() {
    let app = TestApp::start().await;
    let character =
        app.add_character(json!({"name": "Moss", "systemPrompt": "Be {{char}}.", "firstMessage": " "})).await;
    let new = SessionSpec { character_ids: vec![character], ..SessionSpec::default() };
    let story = TestSession::create_with_spec(&app, new).await;
    let session = story.session().await;
    assert_eq!((session.head, story.path(session.head).await.len()), (session.root, 0));
    let turn = story.run_turn("Hello?").await;
    assert_eq!(request_messages(&app.mock.requests()[0]), [("system", "Be Moss."), ("user", "Hello?")]);
    assert_eq!((turn.reply.turn, story.head().await), (1, turn.reply.id));
}
