//! A data folder in SillyTavern's layout with texts of our own, made by hand or in any size from a seed.

use std::fs;
use std::path::{Path, PathBuf};

use clotho_core::clock::SplitMix64;
use serde_json::{Value, json};
use tempfile::TempDir;

/// A data folder that is removed when dropped.
pub struct DataRoot {
    folder: TempDir,
}

impl DataRoot {
    /// Creates a folder with the empty subfolders of SillyTavern.
    pub fn new() -> Self {
        let root = Self::without_subfolders();
        for folder in ["characters", "chats", "groups", "group chats"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        root
    }

    /// Creates a folder without the subfolders that identify SillyTavern data.
    pub fn without_subfolders() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a card.
    pub fn write_card(&self, name: &str) -> &Self {
        let card = json!({
            "spec": "chara_card_v2", "spec_version": "2.0",
            "data": {"name": name, "description": "Keeps the lamps.", "first_mes": "Good evening."},
        });
        self.write_file(&format!("characters/{name}.json"), &card.to_string());
        self
    }

    /// Writes a chat and returns the path of its file.
    pub fn write_chat(&self, card: &str, name: &str, rows: &[Value]) -> PathBuf {
        self.write_file(&format!("chats/{card}/{name}.jsonl"), &chat_file_text(rows))
    }

    /// Writes a lorebook with an entry for each pair of key and text.
    pub fn write_lorebook(&self, name: &str, entries: &[(&str, &str)]) -> &Self {
        let entry = |(uid, (key, content)): (usize, &(&str, &str))| {
            (uid.to_string(), json!({"uid": uid, "key": [key], "content": content, "own": {"n": 1.50}}))
        };
        let entries: serde_json::Map<String, Value> = entries.iter().enumerate().map(entry).collect();
        self.write_file(&format!("worlds/{name}.json"), &json!({ "entries": entries }).to_string());
        self
    }

    /// Writes a text file.
    pub fn write_file(&self, name: &str, text: &str) -> PathBuf {
        self.write_bytes(name, text.as_bytes())
    }

    /// Writes a file of bytes.
    pub fn write_bytes(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Adds a lorebook with a persona that uses it, a tag, a preset, a group and a regex script for each card of
    /// [`Self::generate`].
    pub fn with_library_data(self, cards: usize) -> Self {
        let (mut personas, mut about, mut tags, mut scripts) = (json!({}), json!({}), json!([]), json!([]));
        let mut given = json!({});
        for card in 0..cards {
            let (name, file) = (format!("Keeper {card}"), format!("user {card}.png"));
            self.write_lorebook(
                &format!("Atlas {card}"),
                &[("lamp", "It burns low."), ("stair", &format!("It has {card} steps."))],
            );
            personas[&file] = json!(format!("Wren {card}"));
            about[&file] = json!({"description": "Walks at night.", "lorebook": format!("Atlas {card}")});
            tags.as_array_mut().unwrap().push(json!({"id": card.to_string(), "name": format!("tag {card}")}));
            given[format!("{name}.json")] = json!([card.to_string()]);
            scripts.as_array_mut().unwrap().push(json!({"scriptName": format!("script {card}"), "findRegex": "/x/"}));
            self.write_file(
                &format!("OpenAI Settings/Preset {card}.json"),
                &json!({"temperature": card, "prompts": []}).to_string(),
            );
            let group = json!({"name": format!("Group {card}"), "members": [format!("{name}.json")], "chats": []});
            self.write_file(&format!("groups/{card}.json"), &group.to_string());
        }
        let settings = json!({
            "power_user": {"personas": personas, "persona_descriptions": about}, "tags": tags, "tag_map": given,
            "extension_settings": {"regex": scripts},
        });
        self.write_file("settings.json", &settings.to_string());
        self
    }

    /// Creates a folder of `cards` cards with `chats` chats of `messages` messages each. Every third chat branches off
    /// the chat before it, and every second chat has variables. The same seed makes the same bytes.
    pub fn generate(seed: u64, cards: usize, chats: usize, messages: usize) -> Self {
        let (root, mut random) = (Self::new(), SplitMix64::new(seed));
        for card in 0..cards {
            let name = format!("Keeper {card}");
            root.write_card(&name);
            let mut before: Vec<Value> = Vec::new();
            for chat in 0..chats {
                let is_branch = chat % 3 == 2;
                let from = format!("Night {}", chat.saturating_sub(1));
                let mut rows = match is_branch {
                    true => {
                        let kept =
                            3 + usize::try_from(random.next_below(u64::try_from(before.len() - 3).unwrap())).unwrap();
                        let mut rows = before[..kept].to_vec();
                        rows[0] = header_row(json!({"main_chat": from}));
                        rows
                    }
                    false => vec![header_row(json!({"note_prompt": "Keep it dark."})), greeting_row()],
                };
                for n in rows.len()..=messages {
                    rows.push(random_row(&mut random, n, chat % 2 == 0));
                }
                root.write_chat(&name, &format!("Night {chat}"), &rows);
                before = rows;
            }
        }
        root
    }
}

/// Returns rows as the text of a chat file.
pub fn chat_file_text(rows: &[Value]) -> String {
    rows.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}

/// Returns the header row of a chat.
pub fn header_row(metadata: Value) -> Value {
    json!({"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"})
}

/// Returns the first message of the character.
pub fn greeting_row() -> Value {
    reply_row("Good evening.", 0)
}

/// Returns a message of the user, `minute` minutes after the first.
pub fn user_row(text: &str, minute: usize) -> Value {
    json!({"name": "Wren", "is_user": true, "is_system": false, "send_date": send_date(minute), "mes": text, "extra": {}})
}

/// Returns a reply.
pub fn reply_row(text: &str, minute: usize) -> Value {
    let extra = json!({"api": "openai", "model": "small"});
    json!({"name": "Ivo", "is_user": false, "is_system": false, "send_date": send_date(minute), "mes": text, "extra": extra})
}

/// Returns a reply with swipes, of which `chosen` is the current one.
pub fn swipes_row(texts: &[&str], chosen: usize, minute: usize) -> Value {
    let mut row = reply_row(texts[chosen], minute);
    row["swipes"] = json!(texts);
    row["swipe_id"] = json!(chosen);
    let info = |(n, _): (usize, _)| json!({"send_date": send_date(minute), "extra": {"model": format!("model {n}")}});
    row["swipe_info"] = texts.iter().enumerate().map(info).collect();
    row
}

/// Adds the variables of each swipe to a message.
pub fn with_variables(mut row: Value, states: &[Value]) -> Value {
    row["variables"] = states.iter().map(|state| json!({"stat_data": state, "schema": {"type": "object"}})).collect();
    row
}

fn send_date(minute: usize) -> String {
    clotho_core::clock::Time(1_740_000_000_000 + i64::try_from(minute).unwrap() * 60_000).to_string()
}

fn random_row(random: &mut SplitMix64, n: usize, has_state: bool) -> Value {
    const WORDS: [&str; 12] = [
        "the lamp",
        "a stair",
        "rain",
        "she waits",
        "the key",
        "nobody",
        "listen",
        "a boat",
        "salt",
        "north",
        "turn",
        "low",
    ];
    let mut sentence = || {
        let count = 3 + random.next_below(30);
        (0..count).map(|_| WORDS[usize::try_from(random.next_below(12)).unwrap()]).collect::<Vec<_>>().join(" ")
    };
    let row = if n.is_multiple_of(2) {
        user_row(&sentence(), n)
    } else if n.is_multiple_of(5) {
        let texts = [sentence(), sentence(), sentence()];
        swipes_row(&texts.each_ref().map(String::as_str), n % 3, n)
    } else {
        reply_row(&sentence(), n)
    };
    if !has_state {
        return row;
    }
    let states: Vec<Value> =
        (0..3).map(|k| json!({"oil": 100 + k - i64::try_from(n).unwrap(), "seen": vec!["x"; n % 4]})).collect();
    let many = row["swipes"].as_array().map_or(1, Vec::len);
    with_variables(row, &states[..many])
}
