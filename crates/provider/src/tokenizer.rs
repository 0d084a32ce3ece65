//! Counts the tokens of a text exactly, instead of estimating.
//!
//! OpenAI's two vocabularies are built in. For other models the host configures a `tokenizer.json`. Counts are cached
//! by the hash of the text, so that a long history is not tokenized again each turn.

use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use clotho_core::stop_check::StopCheck;

use super::normalizer_growth;

/// Maximum size of a tokenizer file in bytes. Those with the largest vocabularies have half of it.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Self-test: a tokenizer that cannot encode this is rejected when it is loaded.
const SELF_TEST_TEXT: &str = "lantern";

/// Texts above this are counted in pieces: some hundredths of a second each.
const MAX_PIECE_BYTES: usize = 128 << 10;
/// Maximum number of cached counts. Above it, the older half is dropped.
const MAX_CACHE_ENTRIES: usize = 8_192;

/// Vocabulary of OpenAI's newer models.
const O200K: &str = "o200k_base";
/// Vocabulary of OpenAI's older models.
const CL100K: &str = "cl100k_base";

/// Prefixes of model names for each vocabulary. The name ends there or continues with `-`, `.`, `:` or `@`.
const O200K_MODELS: [&str; 9] = ["gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "o1", "o3", "o4", "chatgpt-4o", "gpt-oss"];
const CL100K_MODELS: [&str; 4] = ["gpt-4", "gpt-3.5", "gpt-35", "chatgpt-3.5"];

/// A tokenizer. Cheap to clone; clones share the cache.
#[derive(Clone)]
pub struct Tokenizer(Arc<TokenizerInner>);

/// Counts the tokens of a text; `None` if that fails.
type TokenCountFn = dyn Fn(&str) -> Option<usize> + Send + Sync;

struct TokenizerInner {
    name: String,
    count: Box<TokenCountFn>,
    cache: Mutex<TokenCountCache>,
}

/// A file that cannot be used as a tokenizer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file:?} cannot be used as a tokenizer: {why}")]
pub struct TokenizerError {
    /// The file as configured.
    pub file: String,
    pub why: String,
}

impl Tokenizer {
    /// Returns the tokenizer of an OpenAI model. The name may have a vendor prefix.
    pub fn for_model(model: &str) -> Option<Self> {
        let bare = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
        let is = |begin: &&str| {
            bare.strip_prefix(*begin).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', ':', '@']))
        };
        if O200K_MODELS.iter().any(&is) {
            return Self::builtin(O200K);
        }
        CL100K_MODELS.iter().any(is).then(|| Self::builtin(CL100K)).flatten()
    }

    /// Returns a built-in tokenizer.
    pub fn builtin(name: &str) -> Option<Self> {
        static NEW: LazyLock<Tokenizer> = LazyLock::new(|| {
            Tokenizer::new(format!("tiktoken {O200K}"), |text| {
                count_without_special_tokens(tiktoken_rs::o200k_base_singleton(), text)
            })
        });
        static OLD: LazyLock<Tokenizer> = LazyLock::new(|| {
            Tokenizer::new(format!("tiktoken {CL100K}"), |text| {
                count_without_special_tokens(tiktoken_rs::cl100k_base_singleton(), text)
            })
        });
        match name {
            O200K => Some(NEW.clone()),
            CL100K => Some(OLD.clone()),
            _ => None,
        }
    }

    /// Creates a tokenizer from a setting: a built-in name, or the path of a `tokenizer.json`, which is read.
    ///
    /// # Errors
    /// Returns an error if the file is missing, too large, invalid, or fails the self-test.
    pub fn from_setting(setting: &str) -> Result<Self, TokenizerError> {
        if let Some(named) = Self::builtin(setting) {
            return Ok(named);
        }
        let path = Path::new(setting);
        let name = path.file_name().map_or(setting.into(), |name| name.to_string_lossy());
        let read = read_file(path).and_then(|bytes| Self::from_bytes(&format!("file {name}"), &bytes));
        read.map_err(|why| TokenizerError { file: setting.to_owned(), why })
    }

    /// Creates a tokenizer from the content of a `tokenizer.json`.
    ///
    /// # Errors
    /// Returns a sentence if the content is invalid or fails the self-test.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, String> {
        let inner = parse_file(bytes)?;
        Ok(Self::new(name.to_owned(), move |text: &str| Some(inner.encode_fast(text, false).ok()?.len())))
    }

    fn new(name: String, count: impl Fn(&str) -> Option<usize> + Send + Sync + 'static) -> Self {
        Self(Arc::new(TokenizerInner { name, count: Box::new(count), cache: Mutex::default() }))
    }

    /// Returns the displayed name: `tiktoken o200k_base`, `file tokenizer.json`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the number of tokens of a text, or `None` if the tokenizer fails on it.
    pub fn count(&self, text: &str) -> Option<usize> {
        self.count_until(text, &StopCheck::NEVER)
    }

    /// As [`Tokenizer::count`]; `None` also if `stop` is set meanwhile. A long text is counted in pieces.
    pub fn count_until(&self, text: &str, stop: &StopCheck) -> Option<usize> {
        if text.is_empty() {
            return Some(0);
        }
        let hash = *blake3::hash(text.as_bytes()).as_bytes();
        let cached = || self.0.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = cached().get(&hash) {
            return Some(count);
        }
        let (mut count, mut rest) = (0_usize, text);
        while !rest.is_empty() {
            if stop.is_stopped() {
                return None;
            }
            let (piece, behind) = rest.split_at(piece_end(rest));
            // A panic in an untrusted tokenizer must not end a reply.
            let own = catch_unwind(AssertUnwindSafe(|| (self.0.count)(piece))).ok().flatten()?;
            (count, rest) = (count.saturating_add(own), behind);
        }
        cached().put(hash, count);
        Some(count)
    }
}

/// Returns where the first piece of a text ends. A text of usual length is one piece. Others end where vocabularies
/// separate tokens too: before a space and a letter, or between a line break and a letter.
fn piece_end(text: &str) -> usize {
    if text.len() <= MAX_PIECE_BYTES {
        return text.len();
    }
    let separates = |at: &usize| {
        let (before, behind) = (text.get(..*at), text.get(*at..));
        let (Some(before), Some(mut behind)) = (before.map(str::chars), behind.map(str::chars)) else { return false };
        let first = behind.next();
        match before.last() {
            Some('\n') => first.is_some_and(char::is_alphabetic),
            Some(last) => !last.is_whitespace() && first == Some(' ') && behind.next().is_some_and(char::is_alphabetic),
            None => false,
        }
    };
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let found = (MAX_PIECE_BYTES / 2..=MAX_PIECE_BYTES).rev().find(separates);
    found.or_else(|| (1..=MAX_PIECE_BYTES).rev().find(is_boundary)).unwrap_or(text.len())
}

impl fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Counts special tokens in a text as ordinary text, so that a text cannot pass for another speaker.
fn count_without_special_tokens(vocabulary: &tiktoken_rs::CoreBPE, text: &str) -> Option<usize> {
    Some(vocabulary.encode_ordinary(text).len())
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let about = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is not a file".to_owned());
    }
    if about.len() > MAX_FILE_BYTES {
        return Err(format!("it has {} MB, the limit is {}", about.len() >> 20, MAX_FILE_BYTES >> 20));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}

fn parse_file(bytes: &[u8]) -> Result<tokenizers::Tokenizer, String> {
    normalizer_growth::check(bytes)?;
    let read = catch_unwind(AssertUnwindSafe(|| tokenizers::Tokenizer::from_bytes(bytes)));
    let mut tokenizer = read.map_err(|_| "reading it failed".to_owned())?.map_err(|error| error.to_string())?;
    // A file's batch settings would truncate or pad the text.
    tokenizer.with_padding(None);
    tokenizer.with_truncation(None).map_err(|error| error.to_string())?;
    let tried = catch_unwind(AssertUnwindSafe(|| tokenizer.encode_fast(SELF_TEST_TEXT, false)));
    let tried = tried.map_err(|_| format!("it failed for the word \"{SELF_TEST_TEXT}\""))?;
    let tried = tried.map_err(|error| format!("it cannot split the word \"{SELF_TEST_TEXT}\" into tokens: {error}"))?;
    if tried.is_empty() {
        return Err(format!("it splits the word \"{SELF_TEST_TEXT}\" into no tokens"));
    }
    Ok(tokenizer)
}

/// A cache of counts by the hash of the text. Recently used ones stay.
#[derive(Default)]
struct TokenCountCache {
    recent: HashMap<[u8; 32], usize>,
    old: HashMap<[u8; 32], usize>,
}

impl TokenCountCache {
    fn get(&mut self, hash: &[u8; 32]) -> Option<usize> {
        if let Some(count) = self.recent.get(hash) {
            return Some(*count);
        }
        let count = self.old.remove(hash)?;
        self.put(*hash, count);
        Some(count)
    }

    fn put(&mut self, hash: [u8; 32], count: usize) {
        if self.recent.len() >= MAX_CACHE_ENTRIES / 2 {
            self.old = std::mem::take(&mut self.recent);
        }
        self.recent.insert(hash, count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_tokens(name: &str, text: &str) -> usize {
        Tokenizer::builtin(name).unwrap().count(text).unwrap()
    }

    /// A long text has as many tokens as its pieces, and is left alone as soon as nobody wants the number.
    #[test]
    fn tokenizer_counts_long_texts_in_pieces_and_stops_between() {
        let tokenizer = Tokenizer::builtin(O200K).unwrap();
        let whole = |text: &str| count_without_special_tokens(tiktoken_rs::o200k_base_singleton(), text).unwrap();
        for line in ["The lantern glows, and nobody sees it.\n", "word ", "x = [1, 2];\n\n", "灯笼亮着。谁也没看见\n"]
        {
            let text = line.repeat(3 * MAX_PIECE_BYTES / line.len());
            assert_eq!(tokenizer.count(&text), Some(whole(&text)), "{line}");
        }
        let text = "A lamp. ".repeat(MAX_PIECE_BYTES);
        let stop = StopCheck::after_looks(3);
        assert_eq!((tokenizer.count_until(&text, &stop), stop.looks()), (None, 4));
        assert!(tokenizer.count(&text).is_some_and(|count| count > 2 * MAX_PIECE_BYTES), "nothing false was cached");
    }

    #[test]
    fn tokenizer_pieces_end_at_characters() {
        for text in ["灯".repeat(MAX_PIECE_BYTES), "a".repeat(MAX_PIECE_BYTES * 2 + 1), " ".repeat(MAX_PIECE_BYTES + 5)]
        {
            let (mut rest, mut pieces) = (text.as_str(), 0);
            while !rest.is_empty() {
                (rest, pieces) = (rest.get(piece_end(rest)..).unwrap(), pieces + 1);
            }
            assert!((2..=7).contains(&pieces), "{pieces}");
        }
        assert_eq!(piece_end("short"), 5);
    }

    /// The numbers in OpenAI's cookbook, "How to count tokens with tiktoken".
    #[test]
    fn tokenizer_counts_match_published_values() {
        for (text, older, newer) in [
            ("tiktoken is great!", 6, 6),
            ("antidisestablishmentarianism", 6, 6),
            ("2 + 2 = 4", 7, 7),
            ("お誕生日おめでとう", 9, 8),
            ("", 0, 0),
        ] {
            assert_eq!((count_tokens(CL100K, text), count_tokens(O200K, text)), (older, newer), "{text}");
        }
    }

    /// From the same source: a whole request has 129 tokens in older models and 124 in newer ones. Each message has
    /// three besides its role and text, a name one more, and the request three.
    #[test]
    fn tokenizer_request_count_matches_published_value() {
        const SAID: [(&str, &str, &str); 6] = [
            (
                "system",
                "",
                "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
            ),
            ("system", "example_user", "New synergies will help drive top-line growth."),
            ("system", "example_assistant", "Things working well together will increase revenue."),
            (
                "system",
                "example_user",
                "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
            ),
            ("system", "example_assistant", "Let's talk later when we're less busy about how to do better."),
            ("user", "", "This late pivot means we don't have time to boil the ocean for the client deliverable."),
        ];
        for (name, expected) in [(CL100K, 129), (O200K, 124)] {
            let one = |(role, who, text): &(&str, &str, &str)| {
                let named = if who.is_empty() { 0 } else { 1 + count_tokens(name, who) };
                3 + count_tokens(name, role) + count_tokens(name, text) + named
            };
            assert_eq!(SAID.iter().map(one).sum::<usize>() + 3, expected, "{name}");
        }
    }

    #[test]
    fn tokenizer_model_name_selects_encoding() {
        let of = |model: &str| Tokenizer::for_model(model).map(|found| found.name().to_owned());
        for model in
            ["gpt-4o", "gpt-4o-mini-2024-07-18", "openai/gpt-4.1", "o3", "o1-mini", "gpt-5-mini", "openai/gpt-5:x"]
        {
            assert_eq!(of(model).as_deref(), Some("tiktoken o200k_base"), "{model}");
        }
        for model in ["gpt-4", "gpt-4-turbo", "gpt-3.5-turbo-0125", "GPT-4-0613"] {
            assert_eq!(of(model).as_deref(), Some("tiktoken cl100k_base"), "{model}");
        }
        for model in ["", "mock", "gpt-4all", "o10", "olmo", "claude-sonnet-4-5", "gpt-2", "llama-3"] {
            assert_eq!(of(model), None, "{model}");
        }
    }

    /// No text crashes the program or takes forever, and markers count as ordinary text.
    #[test]
    fn tokenizer_hostile_text_is_counted() {
        for text in ["<|endoftext|>".to_owned(), "a".repeat(50_000), " ".repeat(50_000), "\u{0}夜🌙\u{301}".repeat(500)]
        {
            assert!(count_tokens(O200K, &text) > 1);
        }
    }

    const WORDS: &str = r###"{"version": "1.0", "truncation": {"direction": "Right", "max_length": 2, "strategy": "LongestFirst",
        "stride": 0}, "padding": null, "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "the": 1, "lamp": 2}, "unk_token": "[UNK]"}}"###;

    const PIECES: &str = r###"{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": null,
        "post_processor": null, "decoder": null, "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false,
        "vocab": [["<unk>", 0.0], ["the", -1.5], ["lamp", -2.25], [" ", -3.125]]}}"###;

    #[test]
    fn tokenizer_json_file_is_loaded() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            Tokenizer::from_setting(path.to_str().unwrap())
        };
        let words = file("words.json", WORDS.as_bytes()).unwrap();
        assert_eq!((words.name(), words.count("the lamp, the lamp")), ("file words.json", Some(5)));
        assert_eq!(file("pieces.json", PIECES.as_bytes()).unwrap().count("the lamp"), Some(3));
        for bad in [&b""[..], b"{}", b"[1, 2", b"\xff\xfe", br#"{"version": "1.0", "model": {"type": "BPE"}}"#] {
            assert!(file("bad.json", bad).is_err());
        }
        // The file is valid, but contains neither the word nor an unknown token.
        let lost = file("lost.json", WORDS.replace("\"[UNK]\": 0, ", "").as_bytes()).unwrap_err();
        assert!(lost.why.contains("cannot split the word") && lost.why.contains("[UNK]"), "{lost}");
        let silent = br#"{"version": "1.0", "model": {"type": "BPE", "vocab": {}, "merges": []}}"#;
        assert!(file("silent.json", silent).is_err());
        let large = folder.path().join("large.json");
        std::fs::File::create(&large).unwrap().set_len(500 << 20).unwrap();
        let said = |path: &Path| Tokenizer::from_setting(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(said(&large).contains("500 MB, the limit is 64"), "{}", said(&large));
        assert!(said(folder.path()).contains("not a file"));
        assert!(said(Path::new("no/such/tokenizer.json")).contains("no/such"));
    }

    /// A small or deep file of a stranger ends with an error, whatever it asks for.
    #[test]
    fn tokenizer_hostile_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd.json");
        let nested = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
        let with = |key: &str, value: &str| WORDS.replace(&format!("\"{key}\": null"), &format!("\"{key}\": {value}"));
        let sequence = nested(r#"{"type": "Sequence", "normalizers": ["#, "]}");
        for text in [
            nested("[", "]"),
            nested("{\"a\":", "}"),
            "[".repeat(1_000_000),
            with("normalizer", &nested("[", "]")),
            with("normalizer", &sequence),
            with("post_processor", &nested("[", "]")),
            with("decoder", &nested("{\"type\":", "}")),
            with("normalizer", r#"{"type": "Replace", "pattern": {"Regex": "(a+)+("}, "content": "x"}"#),
            with("normalizer", r#"{"type": "Precompiled", "precompiled_charsmap": "////////"}"#),
            WORDS.replace(r#"{"[UNK]": 0, "the": 1, "lamp": 2}"#, "5"),
            WORDS.replace("WordLevel", "Nothing"),
        ] {
            std::fs::write(&path, &text).unwrap();
            let told = Tokenizer::from_setting(path.to_str().unwrap());
            assert!(told.is_err(), "{}", text.get(..80).unwrap_or(&text));
        }
    }

    #[test]
    fn tokenizer_cache_stays_bounded() {
        let mut cached = TokenCountCache::default();
        for n in 0..100_000_u32 {
            cached.put(*blake3::hash(&n.to_le_bytes()).as_bytes(), 1);
            assert_eq!(cached.get(blake3::hash(&0_u32.to_le_bytes()).as_bytes()), Some(1), "what is asked for stays");
        }
        assert!(cached.recent.len() + cached.old.len() <= MAX_CACHE_ENTRIES);
    }
}
