//! NovelAI: a saved story (`.story`) or scenario (`.scenario`). A story is a list of fragments, each with its origin.
//! The memory becomes the description of the character that stands for the story.

use serde_json::{Map, Value};

use super::keys::{drop_empty, list, name, names, object, text, timestamp};
use super::message_tree::build_line;
use super::{ForeignChat, ForeignMessage, ForeignProgram, ForeignRole};
use crate::interop::{FindingDetail, ImportFinding, lorebook};

/// Returns whether an object is a story or a scenario.
pub fn is_story(map: &Map<String, Value>) -> bool {
    let is_scenario = map.contains_key("scenarioVersion") && map.contains_key("prompt");
    is_scenario || map.contains_key("storyContainerVersion") || map.contains_key("storyContentVersion")
}

/// Reads a story or a scenario.
pub fn read(mut map: Map<String, Value>) -> ForeignChat {
    let mut about = object(&mut map, "metadata");
    // A scenario and a bare story have their content at the top.
    let is_packed = map.get("content").is_some_and(Value::is_object);
    let mut content = if is_packed { object(&mut map, "content") } else { std::mem::take(&mut map) };
    let mut findings = Vec::new();
    let messages = match text(&mut content, "prompt").filter(|_| content.contains_key("scenarioVersion")) {
        Some(prompt) => vec![message(ForeignRole::Assistant, &prompt)],
        None => story_messages(&mut content, &mut findings),
    };
    let lore = object(&mut content, "lorebook");
    let lorebook = lorebook::read_with_findings(&serde_json::to_vec(&lore).unwrap_or_default()).ok();
    let mut lorebook = lorebook.filter(|read| !lorebook::entries(&read.book).is_empty());
    findings.extend(lorebook.iter_mut().flat_map(|read| std::mem::take(&mut read.findings)));
    // Of the context, the first text is the memory.
    let mut context = list(&mut content, "context");
    let memory = (!context.is_empty()).then(|| context.remove(0));
    let memory = memory.as_ref().and_then(|memory| memory.get("text")?.as_str()).unwrap_or_default().to_owned();
    context.retain(|part| part.get("text").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty()));
    content.insert("context".to_owned(), context.into());
    let title = text(&mut about, "title").or_else(|| text(&mut content, "title"));
    let grown = build_line(messages.into_iter().map(|message| (vec![message], 0)));
    findings.extend(grown.findings);
    let tale = ForeignChat {
        program: ForeignProgram::NovelAi,
        id: name(&mut about, "id"),
        title,
        started_at: timestamp(&mut about, "createdAt"),
        assistant_name: None,
        card_fields: Some(("description".to_owned(), Value::from(memory.trim())))
            .filter(|_| !memory.trim().is_empty())
            .into_iter()
            .collect(),
        lorebook: lorebook.map(|read| read.book),
        messages: grown.messages,
        head: grown.head,
        rest: Map::new(),
        findings,
    };
    let tags = names(&mut about, "tags");
    about.shift_remove("lastUpdatedAt");
    let mut rest = map;
    rest.extend(content);
    for (key, value) in about.into_iter().chain([("tags".to_owned(), tags.into())]) {
        rest.entry(key).or_insert(value);
    }
    for key in ["storyContainerVersion", "storyContentVersion", "storyMetadataVersion", "scenarioVersion"] {
        rest.shift_remove(key);
    }
    drop_empty(&mut rest);
    rest.retain(|_, value| *value != Value::Bool(false));
    ForeignChat { rest, ..tale }
}

/// Returns the messages of a story: the prompt, and then the texts of model and user in turn.
fn story_messages(content: &mut Map<String, Value>, findings: &mut Vec<ImportFinding>) -> Vec<Option<ForeignMessage>> {
    let mut story = object(content, "story");
    let fragments = list(&mut story, "fragments");
    if fragments.is_empty() && content.shift_remove("document").is_some() {
        findings.push(ImportFinding::skipped(&FindingDetail::StoryDocument {}));
    }
    let mut turns: Vec<(String, ForeignRole, String)> = Vec::new();
    for fragment in &fragments {
        let origin = fragment.get("origin").and_then(Value::as_str).unwrap_or_default();
        let data = fragment.get("data").and_then(Value::as_str).unwrap_or_default();
        let role = if origin == "user" { ForeignRole::User } else { ForeignRole::Assistant };
        match turns.last_mut() {
            // An edit belongs to the text around it.
            Some((before, said_by, words)) if *before == origin || (*said_by == role && before != "prompt") => {
                words.push_str(data);
            }
            _ => turns.push((origin.to_owned(), role, data.to_owned())),
        }
    }
    let blank = |words: &str| words.trim().is_empty();
    turns.into_iter().filter(|(.., words)| !blank(words)).map(|(_, role, words)| message(role, &words)).collect()
}

fn message(role: ForeignRole, text: &str) -> Option<ForeignMessage> {
    let text = text.trim();
    // The mode for adventures marks what the player does.
    let text = if role == ForeignRole::User { text.strip_prefix('>').unwrap_or(text).trim() } else { text };
    (!text.is_empty()).then(|| ForeignMessage { role, text: text.to_owned(), ..ForeignMessage::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::read;
    use super::*;

    fn read_one(value: &Value) -> ForeignChat {
        let mut all = read(value.to_string().as_bytes()).unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn novelai_story_is_read_by_origin_of_its_fragments() {
        let lore = json!({"lorebookVersion": 5, "entries": [{"text": "Old.", "keys": ["ferry"], "enabled": true}]});
        let fragments = json!([
            {"data": "You stand at the river.", "origin": "prompt"}, {"data": " Anna waves", "origin": "ai"},
            {"data": ".", "origin": "edit"}, {"data": "\n> wave back\n", "origin": "user"}, {"data": "She smiles.", "origin": "ai"},
        ]);
        let chat = read_one(&json!({
            "storyContainerVersion": 1, "metadata": {"id": "x", "title": "River", "tags": ["a"], "createdAt": 1_640_000_000_000_u64},
            "content": {
                "storyContentVersion": 4, "story": {"fragments": fragments}, "lorebook": lore, "settings": {"model": "m"},
                "context": [{"text": "It is dusk."}, {"text": "[ calm ]"}],
            },
        }));
        let texts: Vec<(ForeignRole, &str)> = chat.messages.iter().map(|one| (one.role, one.text.as_str())).collect();
        let (user, narrator) = (ForeignRole::User, ForeignRole::Assistant);
        let expected = [
            (narrator, "You stand at the river."),
            (narrator, "Anna waves."),
            (user, "wave back"),
            (narrator, "She smiles."),
        ];
        assert_eq!(texts, expected);
        assert_eq!((chat.title.as_deref(), chat.id.as_deref(), chat.head), (Some("River"), Some("x"), Some(3)));
        assert_eq!(chat.card_fields["description"], "It is dusk.");
        assert_eq!(lorebook::entries(chat.lorebook.as_ref().unwrap()).len(), 1);
        let kept: Vec<&str> = chat.rest.keys().map(String::as_str).collect();
        assert_eq!(kept, ["settings", "context", "tags"]);
    }

    #[test]
    fn novelai_scenario_begins_with_its_prompt() {
        let chat = read_one(&json!({
            "scenarioVersion": 3, "title": "River", "prompt": "You stand at the river.\nAnna waves.", "tags": ["river"],
            "context": [{"text": "Memory."}], "placeholders": [{"key": "name"}], "author": "me",
        }));
        assert_eq!((chat.messages.len(), chat.messages[0].role), (1, ForeignRole::Assistant));
        assert_eq!((chat.title.as_deref(), &chat.card_fields["description"]), (Some("River"), &json!("Memory.")));
        assert!(chat.rest.contains_key("placeholders") && chat.lorebook.is_none());
    }

    #[test]
    fn novelai_story_of_unknown_format_is_reported() {
        let chat = read_one(
            &json!({"storyContainerVersion": 1, "metadata": {}, "content": {"document": "AAAA", "context": []}}),
        );
        assert_eq!((chat.messages.len(), chat.findings[0].code), (0, "story_document"));
    }
}
