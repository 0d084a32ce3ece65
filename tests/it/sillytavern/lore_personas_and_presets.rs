//! Everything in a folder besides chats: lorebooks, personas with pictures, tags, favourites, presets, and what is
//! skipped.

use std::fs;

use clotho_compat::interop::picture;
use clotho_compat::prompt::lore;
use clotho_core::tree::ScriptConsent;
use clotho_store::{CardFile, CharacterCard, Lorebook, PersonaCard};
use serde_json::json;

use super::*;
use crate::support::data_root::{DataRoot, greeting_row, header_row, user_row};
use crate::transfer::row_counts;

fn lorebooks(store: &TestStore) -> Vec<Lorebook> {
    let owner = store.owner;
    store.read(move |reader| reader.lorebooks(owner, 0, 100))
}

fn personas(store: &TestStore) -> Vec<PersonaCard> {
    let owner = store.owner;
    store.read(move |reader| reader.personas(owner, 0, 100))
}

fn find_character(store: &TestStore, name: &str) -> CharacterCard {
    let owner = store.owner;
    let all = store.read(move |reader| reader.characters(owner, 0, 100));
    all.into_iter().find(|character| character.card["name"] == name).unwrap()
}

fn finding_codes(arrived: &ForeignImportResult, name: &str) -> Vec<&'static str> {
    let of_name = arrived.report.items.iter().filter(|item| item.name == name);
    of_name.flat_map(|item| &item.findings).map(|finding| finding.code).collect()
}

/// Lorebooks of a folder are imported completely, once. One that grew there is updated, one that was edited
/// here stays, and one that was deleted here is not imported again.
#[test]
fn lorebooks_import_once_and_update_when_grown() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_lorebook("Harbour", &[("tide", "It turns at six.")]).write_lorebook("Atlas", &[("north", "Ice.")]);
    root.write_bytes("worlds/native.json", &fs::read(chat_fixture_path("../books/native.json")).unwrap());
    root.write_file("worlds/bad.json", "{");
    root.write_file(
        "settings.json",
        &json!({"world_info_settings": {"world_info": {"globalSelect": ["Atlas"]}}}).to_string(),
    );
    let arrived = import_folder(&store, root.path());
    assert_eq!((arrived.totals.lorebooks, lorebooks(&store).len()), (3, 3), "{}", arrived.report);
    assert_eq!(
        (finding_codes(&arrived, "Atlas"), finding_codes(&arrived, "bad")),
        (vec!["lore", "lore_silent", "lore_for_all"], vec!["no_lorebook"])
    );
    let (before, native) =
        (lorebooks(&store), lorebooks(&store).into_iter().find(|book| book.card["name"] == "Native").unwrap());
    let recorded: Value =
        serde_json::from_slice(&fs::read(chat_fixture_path("../books/native.expect.json")).unwrap()).unwrap();
    assert_eq!(native.card["entries"], recorded["stored"]["entries"], "as it was recorded");
    let known = row_counts(&store);
    assert_eq!((import_folder(&store, root.path()).totals.lorebooks, row_counts(&store)), (0, known));

    let mut edited = before.iter().find(|book| book.card["name"] == "Atlas").unwrap().clone();
    edited.card.insert("mine".into(), json!(1));
    let (owner, at, kept) = (store.owner, store.now(), edited.clone());
    store.write(move |tx| tx.update_lorebook(owner, &kept)).unwrap();
    let gone = native.id;
    store.write(move |tx| tx.trash_lorebook(owner, gone, at)).unwrap();
    root.write_lorebook("Harbour", &[("tide", "It turns at six."), ("quay", "Wet.")])
        .write_lorebook("Atlas", &[("north", "Snow.")]);
    let arrived = import_folder(&store, root.path());
    assert_eq!(arrived.totals.lorebooks, 1, "{}", arrived.report);
    assert_eq!(
        (finding_codes(&arrived, "Atlas"), finding_codes(&arrived, "native")),
        (vec!["edited_here"], vec!["deleted_here"])
    );
    let after = lorebooks(&store);
    let harbour = after.iter().find(|book| book.card["name"] == "Harbour").unwrap();
    assert_eq!((after.len(), harbour.card["entries"]["1"]["own"].to_string()), (2, r#"{"n":1.5}"#.into()));
    assert_eq!(harbour.id, before.iter().find(|book| book.card["name"] == "Harbour").unwrap().id);
    assert_eq!(after.iter().find(|book| book.id == edited.id).unwrap().card, edited.card);
    store.assert_healthy();
}

/// formats 2b: the lore scan settings are imported, used, and exported unchanged. A setting that was changed
/// here is not overwritten.
#[test]
fn lore_scan_settings_import_and_keep_local_changes() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    let owner = store.owner;
    let rules = json!({
        "world_info_settings": {"world_info": {"globalSelect": []}, "world_info_depth": 7, "world_info_budget": 40,
            "world_info_character_strategy": 2, "world_info_recursive": false, "world_info_overflow_alert": true},
        "extension_settings": {"vectors": {"enabled_world_info": true, "max_entries": 8, "query": 3,
            "score_threshold": 0.4, "enabled_for_all": false}},
    });
    root.write_card("Ivo Hale").write_file("settings.json", &rules.to_string());
    let arrived = import_folder(&store, root.path());
    assert_eq!(finding_codes(&arrived, "settings.json"), ["lore_settings"], "{}", arrived.report);
    let read =
        |store: &TestStore| lore::WorldInfoSettings::from_stored(store.read(move |reader| reader.lore_settings(owner)));
    let kept = read(&store);
    assert_eq!(
        (kept.depth, kept.budget, kept.strategy, kept.recursive),
        (7, 40.0, lore::InsertionStrategy::GlobalFirst, false)
    );
    assert_eq!((kept.similar.entries, kept.similar.messages, kept.similar.threshold), (8, 3, 40));
    assert!(finding_codes(&import_folder(&store, root.path()), "settings.json").is_empty(), "nothing new");

    let (folder, _) = super::folder_export::export_folder(&store);
    let out = fs::read(folder.path().join("settings.json")).unwrap();
    let out: Value = serde_json::from_slice(&out).unwrap();
    assert_eq!(out["world_info_settings"]["world_info_depth"], 7);
    assert_eq!(out["extension_settings"]["vectors"], rules["extension_settings"]["vectors"]);
    let next = TestStore::new();
    import_folder(&next, folder.path());
    let owner = next.owner;
    assert_eq!(lore::WorldInfoSettings::from_stored(next.read(move |reader| reader.lore_settings(owner))), kept);

    root.write_file("settings.json", &rules.to_string().replace("\"world_info_depth\":7", "\"world_info_depth\":3"));
    assert_eq!(finding_codes(&import_folder(&store, root.path()), "settings.json"), ["lore_settings_own"]);
    assert_eq!(read(&store), kept);

    // Folders without these settings, and with invalid ones.
    let (other, odd) = (TestStore::new(), DataRoot::new());
    odd.write_card("Ivo Hale");
    odd.write_file("settings.json", &json!({"world_info_settings": {"world_info": {"globalSelect": []}}}).to_string());
    assert!(finding_codes(&import_folder(&other, odd.path()), "settings.json").is_empty());
    odd.write_file(
        "settings.json",
        &json!({"world_info_settings": {"world_info_depth": 1e300, "world_info_budget": []}}).to_string(),
    );
    import_folder(&other, odd.path());
    let owner = other.owner;
    let kept = lore::WorldInfoSettings::from_stored(other.read(move |reader| reader.lore_settings(owner)));
    assert_eq!((kept.out_of_bounds(), kept.depth, kept.budget), (None, 1_000, 25.0));
}

/// A card gets the lorebook that it names there. The copy inside the card is no second book, unless its content
/// differs.
#[test]
fn card_import_links_named_lorebook() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_lorebook("Harbour", &[("tide", "It turns at six.")]);
    let card = |name: &str, world: &str, inside: &[(&str, &str)]| {
        let entries: Vec<Value> = inside
            .iter()
            .map(|(key, content)| json!({"keys": [key], "content": content, "enabled": true, "extensions": {}}))
            .collect();
        let mut data = json!({"name": name, "extensions": {"world": world}});
        if !inside.is_empty() {
            data["character_book"] = json!({"name": "inside", "entries": entries});
        }
        root.write_file(
            &format!("characters/{name}.json"),
            &json!({"spec": "chara_card_v2", "data": data}).to_string(),
        );
    };
    card("Ann", "Harbour", &[("tide", "It turns at six.")]);
    card("Bo", "Harbour", &[("tide", "It never turns.")]);
    card("Cid", "Nowhere", &[("sea", "Salt.")]);
    let arrived = import_folder(&store, root.path());
    let all = lorebooks(&store);
    let book = |name: &str| all.iter().find(|book| book.card["name"] == name).unwrap().id.to_string();
    assert_eq!(all.len(), 3, "{}", arrived.report);
    assert_eq!(find_character(&store, "Ann").card["lorebookId"], book("Harbour"));
    assert_eq!(find_character(&store, "Bo").card["lorebookId"], book("Harbour"));
    assert_ne!(find_character(&store, "Cid").card["lorebookId"], book("Harbour"));
    assert_eq!(finding_codes(&arrived, "Ann"), ["book_copied"]);
    assert_eq!(
        (finding_codes(&arrived, "Bo"), finding_codes(&arrived, "Cid")),
        (vec!["lorebook"], vec!["lorebook_missing"])
    );
    // A card whose other fields changed brings no second copy of its book.
    let text = fs::read_to_string(root.path().join("characters/Cid.json")).unwrap();
    root.write_file("characters/Cid.json", &text.replace("\"Cid\"", "\"Cyd\""));
    assert_eq!(import_folder(&store, root.path()).totals.characters, 1);
    assert_eq!((lorebooks(&store).len(), find_character(&store, "Cyd").card["lorebookId"].is_string()), (3, true));
    assert_eq!(import_folder(&store, root.path()).totals.characters, 0);
    store.assert_healthy();
}

/// S4-53: settings of a card and of all chats are imported: additional lorebooks, a note, global variables.
/// Each is imported once, and again if it changed there.
#[test]
fn card_settings_import_lorebooks_note_and_variables() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo")
        .write_card("Una")
        .write_lorebook("Harbour", &[("tide", "It turns.")])
        .write_lorebook("Atlas", &[("north", "Ice.")]);
    let settings = |prompt: &str| {
        let lore = json!([{"name": "Ivo", "extraBooks": ["Harbour", "Nowhere", "Atlas"]}, {"name": "Una"}, 7]);
        let note =
            json!([{"name": "Ivo", "prompt": prompt, "useChara": true, "position": 1}, {"name": "Una", "prompt": " "}]);
        let extension = json!({"note": {"chara": note}, "variables": {"global": {"gold": "7", "seen": [1.50]}}});
        let all = json!({"world_info_settings": {"world_info": {"charLore": lore}}, "extension_settings": extension});
        root.write_file("settings.json", &all.to_string());
    };
    settings("Keep it dark.");
    let arrived = import_folder(&store, root.path());
    let (ivo, una) = (find_character(&store, "Ivo").card, find_character(&store, "Una").card);
    let book = |name: &str| lorebooks(&store).iter().find(|book| book.card["name"] == name).unwrap().id.to_string();
    assert_eq!(ivo["extraLorebookIds"], json!([book("Harbour"), book("Atlas")]), "{}", arrived.report);
    let kept = &ivo["metadata"]["sillytavern"];
    assert_eq!((&kept["extraBooks"][1], &kept["note"]["prompt"]), (&json!("Nowhere"), &json!("Keep it dark.")));
    assert!(!una.contains_key("extraLorebookIds") && una["metadata"].get("sillytavern").is_none(), "{una:?}");
    let told = ["extra_lorebook", "lorebook_missing", "extra_lorebook", "character_note"];
    assert_eq!(
        (finding_codes(&arrived, "Ivo"), finding_codes(&arrived, "Global variables")),
        (told.to_vec(), vec!["own_variables"])
    );
    let owner = store.owner;
    let heads = store.read(move |reader| reader.presets(owner, None, 0, 100));
    let (kind, id) = (heads[0].kind.clone(), heads[0].id);
    let kept = store.read(move |reader| reader.preset(owner, id)).unwrap();
    assert_eq!((kind.as_str(), &kept.card["body"]), ("variables", &json!({"gold": "7", "seen": [1.50]})));
    let known = row_counts(&store);
    let again = import_folder(&store, root.path());
    assert_eq!((again.totals.characters, again.totals.known, row_counts(&store)), (0, 5, known), "{}", again.report);
    settings("Keep it light.");
    assert_eq!(import_folder(&store, root.path()).totals.characters, 1);
    assert_eq!(find_character(&store, "Ivo").card["metadata"]["sillytavern"]["note"]["prompt"], "Keep it light.");
    store.assert_healthy();
}

/// S4-53: personas are imported with their pictures. They play the chats that name them, are bound to a card, or to
/// nothing. A persona that names a lorebook reports what happened to it.
#[test]
fn personas_import_with_pictures_and_bindings() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo").write_card("Una").write_lorebook("Harbour", &[("tide", "It turns.")]);
    root.write_bytes("User Avatars/wren.png", &picture::png_or_placeholder(None));
    root.write_file("User Avatars/moth.png", "not a PNG");
    let settings = json!({"power_user": {
        "personas": {"wren.png": "Wren", "moth.png": "Moth"},
        "persona_descriptions": {
            "wren.png": {"description": "A clockmaker.", "position": 4, "depth": 2, "lorebook": "Harbour"},
            "moth.png": {"description": "Nobody.", "connections": [{"type": "character", "id": "Una.png"}]},
        },
        "default_persona": "wren.png",
    }});
    root.write_file("settings.json", &settings.to_string());
    root.write_chat("Ivo", "greeting", &[header_row(json!({"world_info": "Harbour"})), greeting_row()]);
    root.write_chat("Una", "bound", &[greeting_row()]);
    root.write_chat("Una", "named", &[greeting_row(), user_row("Hm.", 1)]);
    let arrived = import_folder(&store, root.path());
    let all = personas(&store);
    let [wren, moth] = &all[..] else { panic!("{}", arrived.report) };
    assert_eq!(finding_codes(&arrived, "Wren"), ["persona_position", "persona_lorebook", "persona_default"]);
    assert_eq!(finding_codes(&arrived, "Moth"), ["persona_bound", "picture"]);
    assert!(arrived.report.to_string().contains("\"Harbour\" of it is in the library"));
    assert_eq!(finding_codes(&arrived, "greeting"), ["messages", "chat_lorebook"]);
    assert!(wren.card["avatar"].as_str().unwrap().starts_with(&format!("/api/personas/{}/avatar?v=", wren.id)));
    let (owner, id) = (store.owner, wren.id.uuid());
    let files = store.read(move |reader| reader.card_files(owner, id));
    assert_eq!(
        files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(),
        [CardFile::PICTURE, CardFile::THUMBNAIL]
    );
    assert!(!moth.card.contains_key("avatar"));
    let played: Vec<_> = sessions(&store).iter().map(|held| held.session.persona.as_ref().unwrap().id).collect();
    assert_eq!(played, [moth.id, wren.id, wren.id]);
    let choices = store.read(move |reader| reader.persona_choices(owner));
    assert_eq!(choices.default, Some(wren.id), "the default persona is that of new sessions");
    let locked: Vec<_> = choices.locks.iter().map(|(_, persona)| *persona).collect();
    assert_eq!(locked, [moth.id], "a card keeps its persona for new sessions");
    let known = row_counts(&store);
    assert_eq!((import_folder(&store, root.path()).totals.personas, row_counts(&store)), (0, known));
    store.assert_healthy();
}

/// A default persona and locks that the owner chose here are exported and imported again. A second import of a folder
/// leaves them alone.
#[test]
fn persona_choices_survive_import_again_and_export() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo").write_card("Una");
    let settings = json!({"power_user": {
        "personas": {"wren.png": "Wren", "moth.png": "Moth"},
        "persona_descriptions": {"moth.png": {"connections": [{"type": "character", "id": "Una.png"}]}},
        "default_persona": "wren.png",
    }});
    root.write_file("settings.json", &settings.to_string());
    import_folder(&store, root.path());
    let all = personas(&store);
    let named = |name: &str| all.iter().find(|persona| persona.card["name"] == name).unwrap().id;
    let (wren, moth, ivo, owner) = (named("Wren"), named("Moth"), find_character(&store, "Ivo").id, store.owner);
    let una = find_character(&store, "Una").id;
    store.write(move |tx| tx.choose_persona(owner, None, Some(moth))).unwrap();
    store.write(move |tx| tx.choose_persona(owner, Some(ivo), Some(wren))).unwrap();
    import_folder(&store, root.path());
    let choices = store.read(move |reader| reader.persona_choices(owner));
    assert_eq!(
        (choices.default, choices.persona_for(ivo), choices.persona_for(una)),
        (Some(moth), Some(wren), Some(moth))
    );
    let (folder, _) = super::folder_export::export_folder(&store);
    let out: Value = serde_json::from_slice(&fs::read(folder.path().join("settings.json")).unwrap()).unwrap();
    assert_eq!(out["power_user"]["default_persona"], "moth.png");
    let bound = json!([{"type": "character", "id": "Ivo.png"}]);
    assert_eq!(out["power_user"]["persona_descriptions"]["wren.png"]["connections"], bound);
}

/// S4-53: tags that a user gave to cards belong to that user here too, and favourites stay favourites.
#[test]
fn tags_and_favourites_are_imported() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    let data = json!({"name": "Ivo", "tags": ["Lamp", "night"], "extensions": {"fav": true}});
    root.write_file("characters/Ivo.json", &json!({"spec": "chara_card_v2", "data": data}).to_string());
    let settings = |tags: &[&str]| {
        let all = json!([{"id": "1", "name": "lamp", "color": "red"}, {"id": "2", "name": "Quiet"}, {"id": "3", "name": "Late"}]);
        root.write_file("settings.json", &json!({"tags": all, "tag_map": {"Ivo.json": tags}}).to_string());
    };
    settings(&["1", "2", "missing"]);
    let arrived = import_folder(&store, root.path());
    let ivo = find_character(&store, "Ivo");
    assert_eq!((&ivo.card["tags"], &ivo.card["isFavourite"]), (&json!(["Lamp", "night", "Quiet"]), &json!(true)));
    assert_eq!(finding_codes(&arrived, "Ivo"), ["favourite"]);
    assert_eq!(import_folder(&store, root.path()).totals.characters, 0);
    settings(&["1", "2", "3"]);
    assert_eq!(import_folder(&store, root.path()).totals.characters, 1);
    assert_eq!(find_character(&store, "Ivo").card["tags"], json!(["Lamp", "night", "Quiet", "Late"]));
}

/// Presets, regular expressions and groups are imported completely and once. What has no effect here is
/// reported, and what is skipped is counted.
#[test]
fn presets_regex_and_groups_import_unchanged_once() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    root.write_card("Ivo");
    // Presets, a group, regular expressions, and files to skip.
    let body = json!({
        "temperature": 0.70, "prompts": [{"identifier": "main", "content": "Be brief."}], "proxy_password": "x",
        "extensions": {"regex_scripts": [{"scriptName": "a"}]}, "unknown": {"deep": [1.50, null, "\u{0}"]},
    });
    root.write_file("OpenAI Settings/Plain.json", &format!("\u{feff}{body:#}"));
    root.write_file("instruct/Old.json", &json!({"input_sequence": "###"}).to_string());
    root.write_file("QuickReplies/Mine.json", &json!({"version": 2, "qrList": []}).to_string());
    root.write_file("themes/bad.json", "[1]");
    root.write_file(
        "groups/1.json",
        &json!({"name": "Ferry", "members": ["Ivo.json"], "chats": [], "activation_strategy": 1}).to_string(),
    );
    let scripts = json!([{"id": "r1", "scriptName": "Hush", "findRegex": "/x/g"}, {"scriptName": "Hush"}, {"scriptName": "Hush"}]);
    root.write_file("settings.json", &json!({"extension_settings": {"regex": scripts}}).to_string());
    root.write_file("backgrounds/a.png", "a");
    root.write_file("backgrounds/b.png", "b");
    root.write_file("secrets.json", "{}");
    root.write_file("characters/Ivo/joy.png", "a");
    // The first import stores everything unchanged and counts skipped files.
    let arrived = import_folder(&store, root.path());
    let owner = store.owner;
    let heads = store.read(move |reader| reader.presets(owner, None, 0, 100));
    let told: Vec<(&str, &str)> = heads.iter().map(|head| (head.kind.as_str(), head.name.as_str())).collect();
    let regex = ("regex", "Hush");
    assert_eq!(
        told,
        [("openai", "Plain"), ("group", "Ferry"), ("instruct", "Old"), ("quickReplies", "Mine"), regex, regex, regex],
        "{}",
        arrived.report
    );
    assert_eq!((arrived.totals.presets, arrived.totals.skipped), (7, 1));
    let plain = heads[0].id;
    let kept = store.read(move |reader| reader.preset(owner, plain)).unwrap();
    assert_eq!(kept.card["body"].to_string(), body.to_string(), "to the letter");
    assert_eq!(finding_codes(&arrived, "Plain"), ["preset", "regex_scripts", "secret"]);
    for (name, count) in [("backgrounds", 2), ("secrets.json", 1), ("characters", 1)] {
        let item = arrived.report.items.iter().find(|item| item.name == name).unwrap();
        assert_eq!((item.findings[0].code, item.findings[0].count), ("left_aside", count));
    }
    // A second import adds nothing.
    let known = row_counts(&store);
    assert_eq!((import_folder(&store, root.path()).totals.presets, row_counts(&store)), (0, known));
    // A preset in the trash stays there, and a changed one is updated.
    let at = store.now();
    store.write(move |tx| tx.trash_preset(owner, plain, at)).unwrap();
    root.write_file("instruct/Old.json", &json!({"input_sequence": ">>>"}).to_string());
    let arrived = import_folder(&store, root.path());
    assert_eq!((arrived.totals.presets, finding_codes(&arrived, "Plain")), (1, vec!["deleted_here"]));
    store.assert_healthy();
}

/// Domain 4: a full folder import that is stopped at any moment and restarted gives the same result as one run.
#[test]
fn full_folder_import_resumes_after_any_stop() {
    let root = DataRoot::generate(9, 3, 2, 6).with_library_data(3);
    let named = |store: &TestStore| {
        let owner = store.owner;
        let presets = store.read(move |reader| reader.presets(owner, None, 0, 100));
        let cards = store.read(move |reader| reader.characters(owner, 0, 100));
        let mut all: Vec<String> = presets.iter().map(|preset| format!("{} {}", preset.kind, preset.name)).collect();
        all.extend(cards.iter().map(|card| format!("{} {}", card.card["name"], card.card["tags"])));
        all.extend(lorebooks(store).iter().map(|book| book.card.get("entries").unwrap().to_string()));
        all.extend(personas(store).iter().map(|persona| persona.card["name"].to_string()));
        all
    };
    let (whole, store, mut looks) = (TestStore::new(), TestStore::new(), 0);
    let arrived = import_folder_until(&whole, root.path(), |_| {
        looks += 1;
        true
    });
    let totals = arrived.unwrap().totals;
    assert_eq!((totals.characters, totals.lorebooks, totals.personas, totals.presets), (3, 3, 3, 9));
    for stop in 1..looks {
        let mut left = stop;
        let stopped = import_folder_until(&store, root.path(), |_| {
            left -= 1;
            left > 0
        });
        assert!(matches!(stopped, Err(ImportError::Stopped)), "{stop}");
    }
    import_folder(&store, root.path());
    assert_eq!((named(&store), dump_sessions(&store)), (named(&whole), dump_sessions(&whole)));
    store.assert_healthy();
}

/// The global scripts of a folder wait for an answer, each alone, unless the folder is trusted.
#[test]
fn global_scripts_of_untrusted_folder_wait() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    let consents = |second: &str, is_trusted: bool| {
        let scripts = json!([{"scriptName": "Hush", "findRegex": "/x/g"}, {"scriptName": "Loud", "findRegex": second}]);
        root.write_file("settings.json", &json!({"extension_settings": {"regex": scripts}}).to_string());
        let options = ImportOptions { is_trusted, ..import_options(&store) };
        let source = ImportSource::Path(root.path().to_owned());
        store.block_on(import(store.store(), &store.ids, source, options, |_| true)).unwrap();
        let owner = store.owner;
        store.read(move |reader| {
            let all = reader.preset_bodies(owner, "regex")?.all;
            reader.global_script_consents(owner, &all)
        })
    };
    assert_eq!(consents("/y/g", false), [ScriptConsent::Asked, ScriptConsent::Asked]);
    let hush = json!([{"scriptName": "Hush", "findRegex": "/x/g"}]);
    let owner = store.owner;
    store.write(move |tx| tx.answer_for_scripts(owner, Some(&hush), true)).unwrap();
    // Only what changed is asked about again.
    assert_eq!(consents("/z/g", false), [ScriptConsent::Allowed, ScriptConsent::Asked]);
    assert_eq!(consents("/w/g", true), [ScriptConsent::Allowed, ScriptConsent::Allowed]);
    store.assert_healthy();
}

/// Connection profiles are imported once, with their names and presets and without models and keys. A deleted one stays
/// deleted, and a name that is taken here is left alone.
#[test]
fn connection_profiles_import_names_and_presets_once() {
    let (store, root) = (TestStore::new(), DataRoot::new());
    let owner = store.owner;
    let profiles = json!([
        {"id": "a", "mode": "cc", "name": "Calm", "api": "openai", "model": "gpt", "preset": "Slow", "secret-id": "s"},
        {"id": "b", "mode": "tc", "name": "Local", "api": "koboldcpp", "preset": "Slow"},
        {"id": "c", "name": "Calm"},
        {"id": "d", "name": " "},
        "odd",
    ]);
    let settings = json!({"extension_settings": {"connectionManager": {"profiles": profiles}}});
    root.write_card("Ivo Hale").write_file("settings.json", &settings.to_string());
    root.write_file("OpenAI Settings/Slow.json", &json!({"temperature": 1, "prompts": []}).to_string());
    let arrived = import_folder(&store, root.path());
    let reported = arrived.report.items.iter().filter(|item| item.kind == "profile");
    let reported: Vec<_> = reported.map(|item| (item.name.as_str(), item.findings[0].code)).collect();
    let code = "connection_profile_model";
    assert_eq!(reported, [("Calm", code), ("Local", code)], "{}", arrived.report);
    let read = |store: &TestStore| store.read(move |reader| reader.connection_profiles(owner, 0, 9));
    let kept = read(&store);
    assert_eq!(kept.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>(), ["Calm", "Local"]);
    assert!(kept[0].settings.preset.is_some() && kept[1].settings.preset.is_none(), "{kept:?}");
    assert!(kept.iter().all(|profile| profile.settings.model.is_none()), "{kept:?}");
    let gone = kept[1].id;
    store.write(move |tx| tx.delete_connection_profile(owner, gone)).unwrap();
    import_folder(&store, root.path());
    assert_eq!(read(&store), kept[..1]);
}
