//! Generated lorebooks: books of ten thousand entries, each entry with two keys and some hundred bytes of text. Also
//! messages that mention a few of them.

use clotho_compat::prompt::lore::{LoreHost, ScanBook, ScanMessage};
use serde_json::{Map, Value, json};

/// Entries of one book.
const ENTRIES: usize = 10_000;
const WORDS: [&str; 12] =
    ["lantern", "harbour", "willow", "granite", "keeper", "tide", "candle", "moss", "gate", "wall", "raven", "bell"];

/// Books as JSON.
pub struct Lore(Vec<String>);

impl Lore {
    /// Generates this many bytes of books.
    pub fn generate(bytes: usize) -> Self {
        let (mut books, mut left, mut number) = (Vec::new(), bytes, 0_usize);
        while left > 0 {
            let mut entries = Map::new();
            while entries.len() < ENTRIES && left > 0 {
                let entry = entry_json(number);
                left = left.saturating_sub(entry.to_string().len());
                entries.insert(number.to_string(), entry);
                number += 1;
            }
            books.push(json!({"entries": entries}).to_string());
        }
        Self(books)
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(String::len).sum()
    }

    /// Adds up every byte once.
    pub fn sum_bytes(&self) -> u64 {
        self.0.iter().flat_map(|book| book.bytes()).map(u64::from).sum()
    }

    pub fn parse(&self) -> Vec<Value> {
        self.0.iter().map(|book| serde_json::from_str(book).unwrap()).collect()
    }

    pub fn scan_books(&self) -> Vec<ScanBook> {
        let parsed = self.parse().into_iter().enumerate();
        parsed.map(|(at, book)| ScanBook::read(at.to_string(), "Book", book.as_object().unwrap())).collect()
    }
}

fn entry_json(number: usize) -> Value {
    let word = |at: usize| WORDS[(number / 7 + at * 5) % WORDS.len()];
    let text: Vec<String> = (0..40).map(|at| format!("{} {}", word(at), word(at + 3))).collect();
    json!({"uid": number, "comment": format!("Place {number}"), "key": [format!("place{number}"), format!("{}{number}", word(1))],
        "content": text.join(" "), "order": number % 100, "position": 0, "useProbability": true, "probability": 100})
}

/// Returns messages, the newest first.
pub fn scan_messages(messages: usize) -> Vec<ScanMessage> {
    let text = |n: usize| {
        let words: Vec<&str> = (0..60).map(|at| WORDS[(n * 7 + at * 3) % WORDS.len()]).collect();
        format!("We went to place{} and on to place{}. {}", n * 13, n * 29 + 1, words.join(" "))
    };
    (0..messages).map(|n| ScanMessage { name: "Rin".to_owned(), text: text(n) }).collect()
}

/// A [`LoreHost`] without the rest of a prompt.
pub struct BenchLoreHost;

impl LoreHost for BenchLoreHost {
    fn fill(&mut self, text: &str) -> String {
        text.to_owned()
    }

    fn apply_scripts(&mut self, text: String, _: Option<i64>) -> String {
        text
    }

    fn variable(&mut self, _: &[String]) -> Option<Value> {
        None
    }

    fn count_tokens(&mut self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn random(&mut self) -> f64 {
        0.5
    }
}
