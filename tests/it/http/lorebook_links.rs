//! Links of lorebooks that are made one at a time: with a new session, and added or removed singly.

use super::api_session::ApiSession;
use super::lore_activation::{create_lorebook, entry, last_request_contains};
use super::*;

async fn create_play_and_books<const N: usize>(keys: [&str; N]) -> (ApiSession, [String; N]) {
    let play = ApiSession::start().await;
    let mut books = [const { String::new() }; N];
    for (book, key) in books.iter_mut().zip(keys) {
        *book = create_lorebook(&play, json!([entry(1, key, &format!("The {key} squeaks."), json!({}))])).await;
    }
    (play, books)
}

async fn holds(play: &ApiSession, book: &str) -> Value {
    play.server.get(&format!("/api/lorebooks/{book}/holds")).await
}

/// A new session is linked to the books that its request names, from its first turn on.
#[tokio::test]
async fn session_created_with_lorebooks_is_linked_to_them() {
    let (mut play, [gate, moss, other]) = create_play_and_books(["gate", "moss", "other"]).await;
    let character = play.session().await["characterIds"][0].clone();
    let new = json!({"characterIds": [character], "lorebookIds": [gate, moss]});
    play.sid = id_of(&play.server.post("/api/sessions", &new).await);
    for (book, sessions) in [(&gate, json!([play.sid])), (&moss, json!([play.sid])), (&other, json!([]))] {
        assert_eq!(holds(&play, book).await["sessionIds"], sessions);
    }
    play.run_turn("The gate, the moss and the other.").await;
    assert!(last_request_contains(&play, "The gate squeaks.") && last_request_contains(&play, "The moss squeaks."));
    assert!(!last_request_contains(&play, "The other squeaks."));
}

/// Initial values in a linked book start the story, as those in a book of the card do.
#[tokio::test]
async fn session_created_with_initial_values_in_lorebook_starts_with_them() {
    let play = ApiSession::start().await;
    let values = json!({"uid": 1, "key": [], "comment": "[initvar]", "content": "lamps: 3", "disable": true});
    let book = create_lorebook(&play, json!([values])).await;
    let character = play.session().await["characterIds"][0].clone();
    let new = play.server.post("/api/sessions", &json!({"characterIds": [character], "lorebookIds": [book]})).await;
    let path =
        format!("/api/chat/{}/node/{}/world", new["id"].as_str().unwrap(), new["activeLeafId"].as_str().unwrap());
    assert_eq!(play.server.get(&path).await["world"]["vars"]["stat_data"], json!({"lamps": 3}));
}

/// Domain 9: unknown books and those of other users are not found. Then there is no session either.
#[tokio::test]
async fn session_with_wrong_lorebooks_is_not_created() {
    let (play, [book]) = create_play_and_books(["gate"]).await;
    let stranger = play.server.create_other_user().await;
    let character = play.session().await["characterIds"][0].clone();
    let unknown = "018f3e2a-0000-7000-8000-0000000000aa";
    let create = |books: Value| {
        play.server.request("POST", "/api/sessions").json(&json!({"characterIds": [character], "lorebookIds": books}))
    };
    for foreign in [unknown.to_owned(), stranger.lorebook.to_string()] {
        let error = create(json!([book, foreign])).send().await.expect_error("not_found");
        assert!(error["message"].as_str().unwrap().contains("the lorebook"), "{error}");
    }
    for (books, field) in [
        (json!([book, book]), "lorebookIds[1]"),
        (json!(vec![book.clone(); 65]), "lorebookIds"),
        (json!(["x"]), "lorebookIds[0]"),
        (json!(null), "lorebookIds"),
    ] {
        let error = create(books).send().await.expect_error("invalid");
        assert_eq!(error["details"]["field"], field, "{error}");
    }
    assert_eq!(play.server.get("/api/sessions").await["items"].as_array().unwrap().len(), 1);
    assert_eq!(holds(&play, &book).await["sessionIds"], json!([]));
}

/// Each link is added and removed by itself, and repeating either changes nothing. The other links stay.
#[tokio::test]
async fn single_lorebook_links_are_added_and_removed_repeatedly() {
    let (play, [book]) = create_play_and_books(["gate"]).await;
    let character = play.session().await["characterIds"][0].as_str().unwrap().to_owned();
    let persona = id_of(&play.server.post("/api/personas", &json!({"name": "Ann"})).await);
    let paths = [
        "everything".to_owned(),
        format!("sessions/{}", play.sid),
        format!("personas/{persona}"),
        format!("characters/{character}"),
    ];
    let send = async |method: &str, link: &str| {
        play.server.request(method, &format!("/api/lorebooks/{book}/holds/{link}")).send().await.expect(204);
    };
    let expected = |count: usize| {
        let list = |at: usize, id: &str| if at < count { json!([id]) } else { json!([]) };
        json!({
            "everything": count > 0, "sessionIds": list(1, &play.sid), "personaIds": list(2, &persona),
            "characterIds": list(3, &character),
        })
    };
    for (n, link) in paths.iter().enumerate() {
        send("PUT", link).await;
        send("PUT", link).await;
        assert_eq!(holds(&play, &book).await, expected(n + 1));
    }
    for (n, link) in paths.iter().enumerate().rev() {
        send("DELETE", link).await;
        send("DELETE", link).await;
        assert_eq!(holds(&play, &book).await, expected(n));
    }
}

/// A link that a card makes is removed from the card.
#[tokio::test]
async fn lorebook_unlinked_from_character_leaves_its_card() {
    let (play, [book]) = create_play_and_books(["gate"]).await;
    let character = play.session().await["characterIds"][0].as_str().unwrap().to_owned();
    let card = format!("/api/characters/{character}");
    play.server.request("PATCH", &card).json(&json!({"lorebookId": book})).send().await.expect(200);
    let link = format!("/api/lorebooks/{book}/holds/characters/{character}");
    play.server.request("DELETE", &link).send().await.expect(204);
    assert_eq!(play.server.get(&card).await["lorebookId"], Value::Null);
    assert_eq!(holds(&play, &book).await["characterIds"], json!([]));
}

/// Domain 9: neither side of a link may belong to another user.
#[tokio::test]
async fn single_lorebook_link_with_foreign_ids_returns_not_found() {
    let (play, [book]) = create_play_and_books(["gate"]).await;
    let stranger = play.server.create_other_user().await;
    for (book, link) in [
        (book.clone(), format!("sessions/{}", stranger.session)),
        (book.clone(), format!("personas/{}", stranger.persona)),
        (book.clone(), format!("characters/{}", stranger.character)),
        (stranger.lorebook.to_string(), format!("sessions/{}", play.sid)),
        (stranger.lorebook.to_string(), "everything".to_owned()),
    ] {
        for method in ["PUT", "DELETE"] {
            let path = format!("/api/lorebooks/{book}/holds/{link}");
            play.server.request(method, &path).send().await.expect_error("not_found");
        }
    }
    let none = json!({"everything": false, "sessionIds": [], "personaIds": [], "characterIds": []});
    assert_eq!(holds(&play, &book).await, none);
}
