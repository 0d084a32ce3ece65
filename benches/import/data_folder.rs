//! A SillyTavern data folder of any size, generated from a seed.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use clotho_core::clock::SplitMix64;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Chats of each card; every third continues from within the one before.
const CHATS: usize = 9;
/// Bytes of each chat.
const CHAT: u64 = 1_300_000;
const WORDS: [&str; 16] = [
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
    "他点亮了灯",
    "\u{201c}Not yet,\u{201d}",
    "*smiles*",
    "the door is open",
];

/// The generated folder, deleted when dropped.
pub struct DataFolder {
    folder: TempDir,
    /// Total size of its chats.
    pub chat_bytes: u64,
}

impl DataFolder {
    pub fn generate_files(files: usize) -> Self {
        let mut data_folder = Self::empty();
        let mut random = SplitMix64::new(4);
        let mut before = Vec::new();
        for n in 0..files {
            let (card, chat) = (n / CHATS, n % CHATS);
            if chat == 0 {
                data_folder.write_card(card);
            }
            let mut rows: Vec<String> = Vec::new();
            if chat % 3 == 2 {
                rows.clone_from(&before);
                rows.truncate(before.len() / 2);
                rows[0] = header_row(json!({"main_chat": format!("Night {}", chat - 1)}));
            } else {
                rows.push(header_row(json!({"note_prompt": "Keep it dark."})));
            }
            let mut size: u64 = rows.iter().map(|row| row.len() as u64).sum();
            while size < CHAT {
                rows.push(random_row(&mut random, rows.len()).to_string());
                size += rows.last().unwrap().len() as u64;
            }
            let mut file = data_folder.create_chat_file(card, chat);
            for row in &rows {
                writeln!(file, "{row}").unwrap();
            }
            file.flush().unwrap();
            data_folder.chat_bytes += size;
            before = rows;
        }
        data_folder
    }

    pub fn generate_one_chat(bytes: u64) -> Self {
        let mut data_folder = Self::empty();
        data_folder.write_card(0);
        let mut file = data_folder.create_chat_file(0, 0);
        let mut random = SplitMix64::new(5);
        writeln!(file, "{}", header_row(json!({}))).unwrap();
        for n in 1.. {
            let row = random_row(&mut random, n).to_string();
            data_folder.chat_bytes += row.len() as u64;
            writeln!(file, "{row}").unwrap();
            if data_folder.chat_bytes > bytes {
                break;
            }
        }
        file.flush().unwrap();
        data_folder
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn chat_paths(&self) -> impl Iterator<Item = PathBuf> {
        let folders = fs::read_dir(self.path().join("chats")).unwrap().flatten();
        folders.flat_map(|folder| fs::read_dir(folder.path()).unwrap().flatten()).map(|file| file.path())
    }

    fn empty() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("characters")).unwrap();
        Self { folder, chat_bytes: 0 }
    }

    fn write_card(&self, card: usize) {
        let name = format!("Keeper {card}");
        let data = json!({"name": name, "description": "Keeps the lamps.", "first_mes": "Good evening."});
        let card = json!({"spec": "chara_card_v2", "spec_version": "2.0", "data": data});
        fs::write(self.path().join(format!("characters/{name}.json")), card.to_string()).unwrap();
        fs::create_dir_all(self.path().join(format!("chats/{name}"))).unwrap();
    }

    fn create_chat_file(&self, card: usize, chat: usize) -> BufWriter<File> {
        let path = self.path().join(format!("chats/Keeper {card}/Night {chat}.jsonl"));
        BufWriter::new(File::create(path).unwrap())
    }
}

fn header_row(metadata: Value) -> String {
    json!({"chat_metadata": metadata, "user_name": "unused", "character_name": "unused"}).to_string()
}

/// Returns message `n`. Every second message is the user's; every fifth reply has three alternatives, and each reply
/// carries variables.
fn random_row(random: &mut SplitMix64, n: usize) -> Value {
    let is_user = n.is_multiple_of(2);
    let date = clotho_core::clock::Time(1_740_000_000_000 + i64::try_from(n).unwrap() * 60_000).to_string();
    let mut text = || {
        let count = if is_user { 10 + random.next_below(40) } else { 60 + random.next_below(200) };
        (0..count).map(|_| WORDS[usize::try_from(random.next_below(16)).unwrap()]).collect::<Vec<_>>().join(" ")
    };
    let texts = if !is_user && n % 5 == 1 { vec![text(), text(), text()] } else { vec![text()] };
    let chosen = n % texts.len();
    let name = if is_user { "Wren" } else { "Ivo" };
    let mut row = json!({
        "name": name, "is_user": is_user, "is_system": false, "send_date": date, "mes": texts[chosen], "extra": {},
    });
    if !is_user {
        let extra = json!({"api": "openai", "model": "small", "token_count": texts[chosen].len() / 4});
        let state = json!({"stat_data": {"oil": 100 - n % 100, "place": WORDS[n % 12], "seen": n / 10}});
        row["swipes"] = json!(texts);
        row["swipe_id"] = json!(chosen);
        row["swipe_info"] = texts.iter().map(|_| json!({"send_date": date, "extra": extra})).collect();
        row["variables"] = texts.iter().map(|_| state.clone()).collect();
        row["extra"] = extra;
    }
    row
}
