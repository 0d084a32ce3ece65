//! Generated messages with realistic word frequencies: the second word is half as common as the first, and so on.

use std::ops::Range;

use clotho_core::clock::{SplitMix64, Time};
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::tree::Role;
use clotho_search::{IndexChange, SearchDocument};
use uuid::Uuid;

/// Number of different words.
const WORDS: usize = 30_000;
/// Words of a message.
const LENGTH: usize = 60;
/// Messages of a session.
const SESSION: usize = 500;
/// Ranks of words, the most common first.
pub const COMMON: usize = 3;
pub const SOME: usize = 40;
pub const OTHER: usize = 55;
pub const RARE: usize = 12_000;

const SYLLABLES: [&str; 24] = [
    "ka", "lo", "mi", "ter", "van", "rus", "ol", "pen", "da", "shi", "gor", "el", "bri", "nu", "sat", "quo", "fer",
    "zi", "ham", "wex", "tor", "lun", "ap", "ive",
];

pub struct Corpus {
    pub message_count: usize,
    pub owner: UserId,
    words: Vec<String>,
}

impl Corpus {
    pub fn generate(messages: usize) -> Self {
        let mut words = Vec::with_capacity(WORDS);
        for n in 0..WORDS {
            let mut word = String::new();
            let mut rest = n + SYLLABLES.len();
            while rest > 0 {
                word += SYLLABLES[rest % SYLLABLES.len()];
                rest /= SYLLABLES.len();
            }
            words.push(word);
        }
        Self { message_count: messages, owner: UserId::new(Uuid::from_u128(1)), words }
    }

    pub fn word(&self, rank: usize) -> &str {
        &self.words[rank]
    }

    /// Returns the text of a message, the same each time.
    pub fn text(&self, message: usize) -> String {
        let mut random = SplitMix64::new(message as u64);
        let mut text = String::new();
        for _ in 0..LENGTH {
            // The rank follows a power law: half of all words are among the first hundred.
            let part = (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
            let rank = (WORDS as f64).powf(part) as usize - 1;
            text += &self.words[rank.min(WORDS - 1)];
            text.push(' ');
        }
        if message.is_multiple_of(4) {
            text += "守灯人点亮了灯塔。";
        }
        text
    }

    pub fn changes(&self, range: Range<usize>) -> Vec<IndexChange> {
        range.map(|message| IndexChange::Put(self.document(message))).collect()
    }

    fn document(&self, message: usize) -> SearchDocument {
        let id = |kind: u128, n: usize| Uuid::from_u128(kind << 64 | n as u128);
        SearchDocument {
            node: NodeId::new(id(2, message)),
            session: SessionId::new(id(3, message / SESSION)),
            owner: self.owner,
            character: None,
            role: if message.is_multiple_of(2) { Role::User } else { Role::Assistant },
            name: "Rin".into(),
            text: self.text(message),
            time: Time(i64::try_from(message).unwrap()),
            facts: Vec::new(),
        }
    }
}
