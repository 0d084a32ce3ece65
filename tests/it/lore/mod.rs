//! Lorebooks: recorded scans (`golden`), intended differences and additions (`rules`), and malicious input
//! (`hostile`).

mod golden;
mod hostile;
mod rules;

use clotho_compat::prompt::lore::{
    LoreHost, LoreTimers, LorebookScope, ScanBook, ScanMessage, ScanOutcome, ScanRequest, ScopedBook,
    WorldInfoSettings, scan,
};
use serde_json::{Value, json};

/// A simple [`LoreHost`]: it replaces one macro, counts four letters as a token, and always draws the same number.
struct StubHost {
    world: Value,
    draw: f64,
}

impl Default for StubHost {
    fn default() -> Self {
        Self { world: json!({}), draw: 0.5 }
    }
}

impl LoreHost for StubHost {
    fn fill(&mut self, text: &str) -> String {
        text.replace("{{user}}", "Ann")
    }

    fn apply_scripts(&mut self, text: String, _: Option<i64>) -> String {
        text
    }

    fn variable(&mut self, path: &[String]) -> Option<Value> {
        self.world.pointer(&format!("/{}", path.join("/"))).cloned()
    }

    fn count_tokens(&mut self, text: &str) -> usize {
        text.len().div_ceil(4)
    }

    fn random(&mut self) -> f64 {
        self.draw
    }
}

/// Returns a book of these entries. Their `order` values keep the sequence.
fn book(entries: &[Value]) -> ScanBook {
    let numbered = entries.iter().enumerate().map(|(uid, entry)| {
        let mut own = json!({
            "uid": uid, "content": format!("text {uid}"), "order": entries.len() - uid, "position": 0, "selective": true,
        });
        own.as_object_mut().unwrap().extend(entry.as_object().unwrap().clone());
        (uid.to_string(), own)
    });
    let entries: serde_json::Map<String, Value> = numbered.collect();
    ScanBook::read("b", "Book", json!({"entries": entries}).as_object().unwrap())
}

/// Returns a request with these messages, the newest first.
fn scan_request(texts: &[&str]) -> ScanRequest {
    let messages = texts.iter().map(|text| ScanMessage { name: "Ann".into(), text: (*text).to_owned() }).collect();
    ScanRequest {
        messages,
        count: texts.len() as u64,
        trigger: "normal".into(),
        prompt: 4_000,
        ..ScanRequest::default()
    }
}

fn run_scan(book: &ScanBook, texts: &[&str], house: &mut StubHost) -> ScanOutcome {
    let bound = [ScopedBook { scope: LorebookScope::Global, book }];
    scan(&bound, &WorldInfoSettings::default(), &scan_request(texts), &LoreTimers::default(), house)
}

/// Returns the numbers of the active entries.
fn active_uids(outcome: &ScanOutcome) -> Vec<&str> {
    outcome.active.iter().map(|fired| fired.verdict.uid.as_str()).collect()
}
