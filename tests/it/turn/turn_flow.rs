//! The order of steps in a turn, and what is recorded.

use clotho_core::oplog::{Effect, OperationKind};
use clotho_core::tree::Kind;
use clotho_core::tree::reference_tree::ReferenceTree;

use super::*;
use crate::support::mock_model::ReasoningField;

/// S0-28, S4-32, S3-30: the send returns while the model still works. It has the user's node, a placeholder and HEAD on
/// the user's node; nothing of the reply is committed yet.
#[tokio::test]
async fn send_returns_placeholder_before_model_replies() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let greeting = story.head().await;
    let gate = Gate::new();
    app.mock.queue_reply(Reply::ok(["The ogre ", "hits. [HP -10]"]).head_gate(&gate).gate(&gate));
    let started = story.start_turn("I swing.").await;
    let (user, reply) = (story.node(started.node.unwrap()).await, story.node(started.generations[0]).await);
    assert_eq!((user.parent, user.content.as_str(), user.status), (Some(greeting), "I swing.", Status::Complete));
    assert_eq!((reply.parent, reply.content.as_str(), reply.status), (Some(user.id), "", Status::Generating));
    assert_eq!((reply.role, reply.name.as_deref(), user.name.as_deref()), (Role::Assistant, Some("Rin"), Some("You")));
    assert_eq!(story.head().await, user.id);
    assert!(story.log().await.len() == 2, "begin and message; the reply is no operation yet");

    app.mock.wait_for_requests(1).await;
    gate.release(2);
    story.wait_for_text(reply.id, "The ogre ").await;
    let half = story.node(reply.id).await;
    assert_eq!((half.status, half.content.as_str()), (Status::Generating, ""), "text in the air is no fact");
    assert!(story.delta(reply.id).await.is_empty());
    assert_eq!(story.find_trace(reply.id).await, None);
    assert_eq!(story.head().await, user.id);

    gate.open();
    let done = story.wait_for_reply(reply.id).await;
    assert_eq!((done.content.as_str(), done.status), ("The ogre hits. [HP -10]", Status::Complete));
    assert_eq!(story.head().await, reply.id);
}

/// S0-33, S3-21, S3-22, S0-36: the log has the user's node and placeholder, then HEAD. One operation then has the reply
/// with its text, delta and trace, and last HEAD.
#[tokio::test]
async fn turn_writes_message_and_reply_operations() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let greeting = story.head().await;
    app.mock.queue_reply(Reply::ok(["Ouch. [HP -10]"]).usage(20, 3));
    let turn = story.run_turn("I swing.").await;
    let log = story.log().await;
    let acts: Vec<OperationKind> = log.iter().map(|op| op.kind).collect();
    assert_eq!(acts, [OperationKind::Begin, OperationKind::Message, OperationKind::Reply]);
    let reply = turn.reply.id;
    assert_eq!(
        log[1].effects,
        [
            Effect::Added { node: turn.user_node, parent: Some(greeting) },
            Effect::Added { node: reply, parent: Some(turn.user_node) },
            Effect::Head { from: Some(greeting), to: turn.user_node },
            Effect::Remembered { node: greeting, from: None, to: Some(turn.user_node) },
        ]
    );
    assert_eq!(
        log[2].effects,
        [
            Effect::Completed { node: reply },
            Effect::Head { from: Some(turn.user_node), to: reply },
            Effect::Remembered { node: turn.user_node, from: None, to: Some(reply) },
        ]
    );
    assert_eq!((log[1].step, log[2].step, log[2].actor), (2, 2, None), "the reply belongs to the step that asked");
    assert_eq!(story.delta(reply).await.operations.len(), 3);
    assert!(story.trace(reply).await.is_exact);
}

/// S0-49, S2-17, S1-26: twenty turns are forty nodes and a greeting. The log alone rebuilds the tree, and each prompt
/// is the previous one plus what was said since.
#[tokio::test]
async fn twenty_turns_rebuild_from_log_and_extend_prompt() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let mut said = vec!["Be Rin.".to_owned(), "Hello, You.".to_owned()];
    for n in 0..20 {
        app.mock.queue_reply(Reply::ok([format!("Answer {n}.")]));
        let turn = story.run_turn(&format!("Question {n}?")).await;
        assert_eq!(turn.reply.turn, n + 1);
        said.push(format!("Question {n}?"));
        let body = &app.mock.requests()[usize::try_from(n).unwrap()];
        assert_eq!(request_messages(body).iter().map(|(_, text)| *text).collect::<Vec<_>>(), said);
        said.push(turn.reply.content);
    }
    let path = story.path(story.head().await).await;
    assert_eq!(path.len(), 41);
    assert!(path[0].kind == Kind::Greeting && path[1..].iter().all(|node| node.kind == Kind::Message));
    let roles: Vec<Role> = path.iter().map(|node| node.role).collect();
    assert!(roles[1..].chunks(2).all(|pair| pair == [Role::User, Role::Assistant]));
    let log = story.log().await;
    assert_eq!(log.len(), 41);
    let mirror = ReferenceTree::replay(&log).unwrap();
    assert_eq!(mirror.head(), Some(story.head().await));
    assert_eq!(mirror.path(story.head().await)[1..], path.iter().map(|node| node.id).collect::<Vec<_>>());
}

/// S0-16, S1-13, S2-03, S3-14: the node records what was sent: the session's parameters, overridden by the request's,
/// the endpoint's own, and the seed. It also records the timing.
#[tokio::test]
async fn sent_parameters_and_timing_are_recorded_on_reply() {
    let app = TestApp::start().await;
    let character = app.add_character(rin_card()).await;
    let params = json!({"temperature": 0.7, "top_p": 0.9, "stop": ["\n"]}).as_object().unwrap().clone();
    let new = SessionSpec { character_ids: vec![character], params, ..SessionSpec::default() };
    let story = TestSession::create_with_spec(&app, new).await;
    app.mock.queue_reply(Reply::ok(["Yes."]).usage(12, 2));
    let own = json!({"temperature": 0.2, "max_tokens": 50}).as_object().unwrap().clone();
    let generate = GenerationSpec { params: own, model: Some("second/mock".into()), ..GenerationSpec::default() };
    let new = MessageSpec { generate: Some(generate), ..message_spec(story.head().await, "Well?") };
    let started = story.send(new).await.unwrap();
    let reply = story.wait_for_reply(started.generations[0]).await;
    let mut body = app.mock.requests()[0].as_object().unwrap().clone();
    body.retain(|name, _| !matches!(name.as_str(), "model" | "messages" | "stream" | "stream_options"));
    let recorded = reply.metadata.to_json()["params"].as_object().unwrap().clone();
    assert_eq!(Value::Object(recorded.clone()), Value::Object(body.clone()));
    assert_eq!(
        (&recorded["temperature"], &recorded["top_p"], &recorded["stop"], &recorded["top_k"], &recorded["max_tokens"]),
        (&json!(0.2), &json!(0.9), &json!(["\n"]), &json!(7), &json!(50))
    );
    assert_eq!(reply.metadata.to_json()["seed"], body["seed"]);
    assert_eq!(reply.metadata.to_json()["model"], "second/mock");
    assert_eq!(reply.metadata.to_json()["reportedModel"], "mock");
    assert_eq!(reply.metadata.to_json()["finishReason"], "stop");
    assert_eq!(reply.metadata.to_json()["tokenCount"], json!({"prompt": 12, "completion": 2}));
    let millis = |key: &str| reply.metadata.to_json()[key].as_u64().unwrap();
    assert!(millis("firstTokenMs") > 0 && millis("latencyMs") > millis("firstTokenMs"));
    assert!(reply.created >= story.node(started.node.unwrap()).await.created);
    let head = story.trace(reply.id).await.head.to_json();
    assert_eq!((&head["params"], &head["model"]), (&reply.metadata.to_json()["params"], &json!("second/mock")));
}

/// S1-12: reasoning is separate from the text, is kept, and is in no later prompt.
#[tokio::test]
async fn reasoning_is_kept_but_not_sent_again() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    app.mock.queue_reply(
        Reply::ok(["<think>inside</think>", "Aloud."]).reasoning(ReasoningField::All, ["quietly ", "pondering"]),
    );
    let reply = story.run_turn("One?").await.reply;
    assert_eq!(reply.reasoning.as_deref(), Some("quietly pondering\n\ninside"), "whatever way it came");
    assert_eq!(reply.content, "Aloud.");
    story.run_turn("Two?").await;
    let second = app.mock.requests()[1].to_string();
    assert!(!second.contains("pondering") && !second.contains("inside"), "{second}");
    assert_eq!(request_messages(&app.mock.requests()[1])[3], ("assistant", "Aloud."));
}

/// S0-03, S2-01, S1-05: whatever the tree looks like, the model gets a plain list without ids, branches or texts of
/// siblings.
#[tokio::test]
async fn prompt_is_plain_list_without_tree_data() {
    let app = hurt_setup().start().await;
    let story = TestSession::create(&app, &["hurt"]).await;
    let greeting = story.head().await;
    let first = story.run_turn("Question one?").await;
    app.mock.queue_reply(Reply::ok(["SIBLING-A"]));
    let sibling = story.regenerate_and_wait(first.reply.id).await;
    app.mock.queue_reply(Reply::ok(["OTHER-BRANCH reply"]));
    let other = story.run_turn_at(greeting, "OTHER-BRANCH question?").await;
    story.checkout(first.reply.id).await;
    app.mock.queue_reply(Reply::ok(["Last."]));
    let last = story.run_turn("Question two?").await;
    let body = app.mock.requests().pop().unwrap();
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "messages", "stream", "stream_options", "seed", "max_tokens"]);
    for one in body["messages"].as_array().unwrap() {
        assert_eq!(one.as_object().unwrap().keys().collect::<Vec<_>>(), ["role", "content"]);
    }
    let text = body.to_string();
    for node in [
        greeting,
        first.user_node,
        first.reply.id,
        sibling.id,
        other.user_node,
        other.reply.id,
        last.user_node,
        last.reply.id,
    ] {
        assert!(!text.contains(&node.to_string()), "{node} in {text}");
    }
    for secret in ["SIBLING", "OTHER-BRANCH", &story.id.to_string(), &story.user.to_string()] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(text.contains("Question one?") && text.contains("Question two?"));
}

/// S2-16: two providers alternate on one branch, and each sees all of it.
#[tokio::test]
async fn two_providers_alternating_share_full_history() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    for (n, model) in ["mock/mock", "second/mock", "mock/other", "second/mock"].into_iter().enumerate() {
        story.set_setting("model", json!(model)).await;
        app.mock.queue_reply(Reply::ok([format!("From {model}.")]));
        let reply = story.run_turn(&format!("Turn {n}.")).await.reply;
        assert_eq!(reply.metadata.to_json()["model"], model);
    }
    let bodies = app.mock.requests();
    let models: Vec<&Value> = bodies.iter().map(|body| &body["model"]).collect();
    assert_eq!(models, ["mock", "mock", "other", "mock"]);
    assert_eq!(
        bodies.iter().map(|body| body["top_k"].clone()).collect::<Vec<_>>(),
        [json!(null), json!(7), json!(null), json!(7)]
    );
    let last: Vec<&str> = request_messages(&bodies[3]).iter().map(|(_, text)| *text).collect();
    assert_eq!(
        last[2..],
        ["Turn 0.", "From mock/mock.", "Turn 1.", "From second/mock.", "Turn 2.", "From mock/other.", "Turn 3."]
    );
}

/// S4-07: five replies in one session run in parallel, and each one is right.
#[tokio::test]
async fn five_parallel_replies_in_session_are_correct() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let greeting = story.head().await;
    let gate = Gate::new();
    app.mock.set_default_reply(Reply::ok(["Same ", "words."]).head_gate(&gate));
    let mut started = Vec::new();
    for n in 0..5 {
        started.push(story.send(message_spec(greeting, &format!("Branch {n}?"))).await.unwrap());
    }
    app.mock.wait_for_requests(5).await;
    assert_eq!(app.live.count(story.user), (5, 5));
    gate.open();
    for one in &started {
        assert_eq!(story.wait_for_reply(one.generations[0]).await.content, "Same words.");
    }
    let mut asked: Vec<String> =
        app.mock.requests().iter().map(|body| request_messages(body).last().unwrap().1.to_owned()).collect();
    asked.sort();
    assert_eq!(asked, ["Branch 0?", "Branch 1?", "Branch 2?", "Branch 3?", "Branch 4?"]);
    assert_eq!(story.children(greeting).await.len(), 5);
}

/// S1-10: narration is a turn without a user's text, and the model answers it.
#[tokio::test]
async fn narration_without_user_text_is_answered() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let new = MessageSpec { role: Role::System, ..message_spec(story.head().await, "Night falls.") };
    let started = story.send(new).await.unwrap();
    let reply = story.wait_for_reply(started.generations[0]).await;
    let narration = story.node(started.node.unwrap()).await;
    assert_eq!((narration.role, narration.name, reply.turn), (Role::System, None, 1));
    let body = &app.mock.requests()[0];
    assert_eq!(request_messages(body)[2..], [("system", "Night falls."), ("user", "[Go on]")]);
    let assistant = MessageSpec { role: Role::Assistant, ..message_spec(story.head().await, "By hand.") };
    assert!(matches!(story.send(assistant.clone()).await, Err(TurnError::Invalid { field: "generate", .. })));
    let written = story.send(MessageSpec { generate: None, ..assistant }).await.unwrap();
    let written = story.node(written.node.unwrap()).await;
    assert_eq!((written.role, written.name.as_deref()), (Role::Assistant, Some("Rin")));
}

/// `domain.md` 2.4: the speaker is on the node. The persona of the newest user message is the user, and an unknown
/// persona is not found.
#[tokio::test]
async fn newest_persona_on_path_is_the_user() {
    let app = TestApp::start().await;
    let story = TestSession::create(&app, &[]).await;
    let ann = app.add_persona(json!({"name": "Ann", "description": "{{user}} is a smith."})).await;
    let new = MessageSpec { persona: Some(ann), ..message_spec(story.head().await, "I am here.") };
    let started = story.send(new).await.unwrap();
    story.wait_for_reply(started.generations[0]).await;
    let user = story.node(started.node.unwrap()).await;
    assert_eq!((user.name.as_deref(), user.persona, user.author), (Some("Ann"), Some(ann), Some(story.user)));
    assert_eq!(request_messages(&app.mock.requests()[0])[0].1, "Be Rin.\n\nAnn is a smith.");
    story.run_turn("And I.").await;
    let body = app.mock.requests().pop().unwrap();
    let users: Vec<&str> =
        request_messages(&body).iter().filter(|(role, _)| *role == "user").map(|(_, text)| *text).collect();
    assert_eq!(users, ["Ann: I am here.", "You: And I."], "two people on the path are told apart");
    let stranger = clotho_core::ids::PersonaId::new(app.ids.next_id(app.clock.now()));
    let new = MessageSpec { persona: Some(stranger), ..message_spec(story.head().await, "Who?") };
    assert!(matches!(story.send(new).await, Err(TurnError::Refused(clotho_core::tree::edit::TreeError::NotFound(_)))));
}
