//! The speaker recorded on each node (`domain.md` 2.4), and the greetings of a session.

use clotho_core::tree::Kind;
use clotho_engine::turn::EditSpec;

use super::*;

/// Returns whether a node has an author, a persona and a character, and its name.
fn speaker_fields(node: &Node) -> (bool, bool, bool, Option<&str>) {
    (node.author.is_some(), node.persona.is_some(), node.character.is_some(), node.name.as_deref())
}

/// Every way to create a node records who spoke: the user who wrote or asked, the persona and the character.
#[tokio::test]
async fn speaker_is_recorded_on_every_node() {
    // A session with two characters and a persona; its root and greeting.
    let app = hurt_setup().start().await;
    let (first, second) = (app.add_character(rin_card()).await, app.add_character(json!({"name": "Moss"})).await);
    let ann = app.add_persona(json!({"name": "Ann"})).await;
    let new = SessionSpec {
        character_ids: vec![first, second],
        persona_id: Some(ann),
        plugins: Some(vec![enabled_plugin("hurt")]),
        ..SessionSpec::default()
    };
    let story = TestSession::create_with_spec(&app, new).await;
    let greeting = story.node(story.head().await).await;
    assert_eq!((speaker_fields(&greeting), greeting.character), ((false, false, true, Some("Rin")), Some(first)));
    assert_eq!(speaker_fields(&story.node(story.session().await.root).await), (false, false, false, None));

    // A turn.
    let turn = story.run_turn("Hi.").await;
    let user = story.node(turn.user_node).await;
    assert_eq!(
        (speaker_fields(&user), user.persona, user.author),
        ((true, true, false, Some("Ann")), Some(ann), Some(story.user))
    );
    assert_eq!((speaker_fields(&turn.reply), turn.reply.character), ((true, false, true, Some("Rin")), Some(first)));

    // A reply of the other character.
    let other = GenerationSpec { character: Some(second), ..GenerationSpec::default() };
    let started = story.regenerate(turn.reply.id, other).await.unwrap();
    let moss = story.wait_for_reply(started.generations[0]).await;
    assert_eq!((speaker_fields(&moss), moss.character), ((true, false, true, Some("Moss")), Some(second)));

    // Edits keep the speaker.
    let edited = story.edit(moss.id, edit_spec("As I said.")).await.unwrap().node.unwrap();
    let edited = story.node(edited).await;
    assert_eq!((speaker_fields(&edited), edited.character), (speaker_fields(&moss), Some(second)));
    let edited = story
        .edit(turn.user_node, EditSpec { generate: Some(None), ..edit_spec("Hello.") })
        .await
        .unwrap()
        .node
        .unwrap();
    let edited = story.node(edited).await;
    assert_eq!((speaker_fields(&edited), edited.persona), (speaker_fields(&user), Some(ann)));

    // A given name, a manual reply and a narration.
    let alias = MessageSpec { name: Some("A voice".into()), ..message_spec(moss.id, "Who is there?") };
    let asked = story.node(story.send(alias).await.unwrap().node.unwrap()).await;
    assert_eq!((speaker_fields(&asked), asked.persona), ((true, true, false, Some("A voice")), Some(ann)));
    let by_hand = MessageSpec { role: Role::Assistant, generate: None, ..message_spec(user.id, "Written.") };
    let by_hand = story.node(story.send(by_hand).await.unwrap().node.unwrap()).await;
    assert_eq!((speaker_fields(&by_hand), by_hand.character), ((true, false, true, Some("Rin")), Some(first)));
    let aside = MessageSpec { role: Role::System, generate: None, ..message_spec(by_hand.id, "Night falls.") };
    let aside = story.node(story.send(aside).await.unwrap().node.unwrap()).await;
    assert_eq!(speaker_fields(&aside), (true, false, false, None));

    // A change node has no speaker.
    story.set_plugins(&[]).await.unwrap();
    let rules = story.node(story.head().await).await;
    assert_eq!((rules.kind, speaker_fields(&rules)), (Kind::Change, (false, false, false, None)));
}

/// All greetings of all characters are siblings below the root, in order, with names filled in. A story can start from
/// each.
#[tokio::test]
async fn greetings_of_all_characters_are_root_siblings() {
    let app = TestApp::start().await;
    let card = json!({"name": "Rin", "firstMessage": "Come in, {{user}}.", "alternateGreetings": ["{{char}} is out.", " ", "Who?"]});
    let (rin, moss) = (
        app.add_character(card).await,
        app.add_character(json!({"name": "Moss", "firstMessage": "I am {{char}}."})).await,
    );
    let ann = app.add_persona(json!({"name": "Ann"})).await;
    let new = SessionSpec { character_ids: vec![rin, moss], persona_id: Some(ann), ..SessionSpec::default() };
    let story = TestSession::create_with_spec(&app, new).await;
    let root = story.session().await.root;
    let greetings = story.children(root).await;
    assert_eq!(node_texts(&greetings), ["Come in, Ann.", "Rin is out.", "Who?", "I am Moss."]);
    assert!(greetings.iter().all(|node| node.kind == Kind::Greeting && node.status == Status::Complete));
    assert_eq!(
        greetings.iter().map(|node| node.character).collect::<Vec<_>>(),
        [Some(rin), Some(rin), Some(rin), Some(moss)]
    );
    assert_eq!(story.head().await, greetings[0].id);
    for greeting in &greetings {
        let turn = story.run_turn_at(greeting.id, "Hi.").await;
        assert_eq!(node_texts(&story.path(turn.reply.id).await)[..2], [greeting.content.as_str(), "Hi."]);
        let body = app.mock.requests().pop().unwrap().to_string();
        for other in &greetings {
            assert_eq!(body.contains(&other.content), other.id == greeting.id, "{body}");
        }
    }
    story.checkout(greetings[2].id).await;
    assert_eq!(node_texts(&story.path(story.head().await).await), ["Who?"]);
}
