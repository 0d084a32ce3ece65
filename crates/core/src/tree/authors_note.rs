//! The author's note: a text placed in every prompt of a session. A setting, as plain data.

use serde_json::{Map, Value, json};

use super::Role;
use super::edit::TreeError;

/// The maximum length of a note, in bytes.
const MAX_BYTES: usize = 100_000;
/// The maximum depth, in messages after the note.
const MAX_DEPTH: u32 = 10_000;
/// The maximum interval, in user messages.
const MAX_INTERVAL: u32 = 10_000;

/// The place of a note in the prompt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NotePlacement {
    /// After the instructions.
    AfterMain,
    /// Before the instructions.
    BeforeMain,
    /// Between the last messages.
    #[default]
    InChat,
}

impl NotePlacement {
    /// Returns the word used on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AfterMain => "afterMain",
            Self::BeforeMain => "beforeMain",
            Self::InChat => "inChat",
        }
    }

    /// Parses the wire word; `None` if it is unknown.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::AfterMain, Self::BeforeMain, Self::InChat].into_iter().find(|place| place.as_str() == word)
    }

    /// Returns the number used in SillyTavern chats.
    fn sillytavern_code(self) -> u32 {
        PLACES.iter().find(|(_, place, _)| *place == self).map_or(1, |(code, ..)| *code)
    }
}

/// An author's note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorsNote {
    /// The text; macros are expanded.
    pub text: String,
    pub place: NotePlacement,
    /// Messages after the note, if `place` is `InChat`.
    pub depth: u32,
    pub role: Role,
    /// Sent with every nth user message; 0: never.
    pub every: u32,
    /// Whether lorebook keys are searched in it.
    pub is_for_lore: bool,
}

impl Default for AuthorsNote {
    /// The values for settings that a note does not give.
    fn default() -> Self {
        Self {
            text: String::new(),
            place: NotePlacement::InChat,
            depth: 4,
            role: Role::System,
            every: 1,
            is_for_lore: false,
        }
    }
}

impl AuthorsNote {
    /// Validates the note.
    ///
    /// # Errors
    /// Returns an error if the text is empty or too long, or if the depth or interval is too large.
    pub fn check(&self) -> Result<(), TreeError> {
        let message = match () {
            () if self.text.trim().is_empty() => "expected a text that is not blank, or null for no note".to_owned(),
            () if self.text.len() > MAX_BYTES => format!("a note has at most {MAX_BYTES} bytes"),
            () if self.depth > MAX_DEPTH => format!("the depth of a note is at most {MAX_DEPTH} messages"),
            () if self.every > MAX_INTERVAL => {
                format!("the interval of a note is at most {MAX_INTERVAL} messages; 0 means never")
            }
            () => return Ok(()),
        };
        Err(TreeError::Invalid { field: "authorsNote", message })
    }

    /// Returns whether the note goes into a prompt that contains `spoken` user messages.
    pub fn is_due(&self, spoken: u32) -> bool {
        self.every == 1 || (spoken > 0 && spoken.checked_rem(self.every) == Some(0))
    }

    /// Returns the form of the log, the database and files.
    pub fn to_json(&self) -> Value {
        json!({
            "text": self.text, "place": self.place.as_str(), "depth": self.depth, "role": self.role.as_str(),
            "every": self.every, "lore": self.is_for_lore,
        })
    }

    /// Parses that form; `None` if it is invalid.
    pub fn from_json(value: &Value) -> Option<Self> {
        let number = |key: &str| value.get(key)?.as_u64().and_then(|number| u32::try_from(number).ok());
        let word = |key: &str| value.get(key)?.as_str();
        let note = Self {
            text: word("text")?.to_owned(),
            place: NotePlacement::parse(word("place")?)?,
            depth: number("depth")?,
            role: Role::parse(word("role")?)?,
            every: number("every")?,
            is_for_lore: value.get("lore")?.as_bool()?,
        };
        note.check().is_ok().then_some(note)
    }

    /// Reads the note from the header of a SillyTavern chat; `None` if there is none.
    pub fn from_chat_metadata(metadata: &Map<String, Value>) -> Option<Self> {
        let own = Self::default();
        let said = |key: &str| metadata.get(key).and_then(parse_whole_number);
        let number = |key: &str, own: u32, most: u32| said(key).map_or(own, |number| number.min(most));
        let text = metadata.get("note_prompt").and_then(Value::as_str).filter(|text| !text.trim().is_empty())?;
        let note = Self {
            text: text.to_owned(),
            place: chosen(metadata.get("note_position"), &PLACES).unwrap_or(NotePlacement::InChat),
            depth: number("note_depth", own.depth, MAX_DEPTH),
            role: chosen(metadata.get("note_role"), &ROLES).unwrap_or(Role::System),
            every: number("note_interval", own.every, MAX_INTERVAL),
            is_for_lore: false,
        };
        note.check().is_ok().then_some(note)
    }

    /// Returns the same settings for the header of a SillyTavern chat.
    pub fn to_chat_metadata(&self) -> [(&'static str, Value); 5] {
        let role = ROLES.iter().find(|(_, role, _)| *role == self.role).map_or(0, |(code, ..)| *code);
        [
            ("note_prompt", self.text.as_str().into()),
            ("note_interval", self.every.into()),
            ("note_position", self.place.sillytavern_code().into()),
            ("note_depth", self.depth.into()),
            ("note_role", role.into()),
        ]
    }
}

/// Words for a choice, in lower case and without separators.
type Words = &'static [&'static str];

/// The roles of a note: their numbers in SillyTavern chats, and the words that other tools write there.
const ROLES: [(u32, Role, Words); 3] = [
    (0, Role::System, &["system"]),
    (1, Role::User, &["user", "human"]),
    (2, Role::Assistant, &["assistant", "ai", "bot", "model", "char", "character"]),
];

/// The places of a note: their numbers in SillyTavern chats, and words for them.
const PLACES: [(u32, NotePlacement, Words); 3] = [
    (0, NotePlacement::AfterMain, &["aftermain", "inprompt", "afterscenario", "after"]),
    (1, NotePlacement::InChat, &["inchat", "atdepth"]),
    (2, NotePlacement::BeforeMain, &["beforemain", "beforeprompt", "beforescenario", "before"]),
];

/// Returns the choice that a value names, as a number in any form or as a word.
fn chosen<T: Copy>(value: Option<&Value>, choices: &[(u32, T, Words)]) -> Option<T> {
    let value = value?;
    let code = parse_whole_number(value);
    let word = value.as_str().map(|text| text.to_lowercase().replace([' ', '_', '-'], "")).unwrap_or_default();
    let is_named = |choice: &&(u32, T, Words)| code == Some(choice.0) || choice.2.contains(&word.trim());
    choices.iter().find(is_named).map(|(_, choice, _)| *choice)
}

/// Parses a whole number, which other programs also write as a text (`"4"`) or with a fraction of zero (`4.0`).
fn parse_whole_number(value: &Value) -> Option<u32> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    let whole = text.split_once('.').filter(|(_, rest)| rest.bytes().all(|byte| byte == b'0'));
    let digits = whole.map_or(text.as_str(), |(digits, _)| digits);
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // More digits than a number holds are more than any bound.
    is_number.then(|| digits.parse().unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authors_note_json_round_trips() {
        let own = AuthorsNote::default();
        let note = AuthorsNote { text: "Keep it dark. 暗".into(), place: NotePlacement::BeforeMain, every: 3, ..own };
        assert_eq!(AuthorsNote::from_json(&note.to_json()), Some(note.clone()));
        let header = Map::from_iter(note.to_chat_metadata().map(|(key, value)| (key.to_owned(), value)));
        assert_eq!(AuthorsNote::from_chat_metadata(&header), Some(note.clone()));
        for (key, bad) in [
            ("text", json!(7)),
            ("text", json!("x".repeat(200_000))),
            ("place", json!("above")),
            ("depth", json!(-1)),
            ("depth", json!(1_000_000)),
            ("role", json!("narrator")),
            ("every", json!(1.5)),
            ("lore", Value::Null),
        ] {
            let mut kept = note.to_json();
            kept[key] = bad;
            assert_eq!(AuthorsNote::from_json(&kept), None, "{kept}");
        }
    }

    #[test]
    fn authors_note_partial_chat_header_uses_defaults() {
        let read = |header: Value| AuthorsNote::from_chat_metadata(header.as_object().unwrap());
        let note = read(json!({"note_prompt": "dark"})).unwrap();
        assert_eq!(note, AuthorsNote { text: "dark".into(), ..AuthorsNote::default() });
        let odd =
            json!({"note_prompt": "dark", "note_depth": "2", "note_position": 9, "note_interval": 1.5, "note_role": 1});
        let note = read(odd).unwrap();
        assert_eq!((note.depth, note.place, note.role), (2, NotePlacement::InChat, Role::User));
        assert_eq!(note.every, 1, "a number that is no whole one says nothing");
        assert_eq!(read(json!({"note_prompt": " ", "note_depth": 2})), None);
        assert_eq!(read(json!({"note_depth": 2})), None);
    }

    #[test]
    fn authors_note_chat_header_values_in_any_form_are_read() {
        let read = |key: &str, value: &Value| {
            let header = json!({"note_prompt": "dark", key: value});
            AuthorsNote::from_chat_metadata(header.as_object().unwrap()).unwrap()
        };
        for (value, role) in [
            (json!("system"), Role::System),
            (json!("User"), Role::User),
            (json!(" ASSISTANT "), Role::Assistant),
            (json!("2"), Role::Assistant),
            (json!(2.0), Role::Assistant),
            (json!("1.0"), Role::User),
            (json!("narrator"), Role::System),
            (json!(-1), Role::System),
            (json!([1]), Role::System),
        ] {
            assert_eq!(read("note_role", &value).role, role, "{value}");
        }
        for (value, number) in
            [(json!("7"), 7), (json!(7.0), 7), (json!(" +7 "), 7), (json!("7.00"), 7), (json!("99999999999"), 10_000)]
        {
            let (depth, every) = (read("note_depth", &value).depth, read("note_interval", &value).every);
            assert_eq!((depth, every), (number, number), "{value}");
        }
        for value in
            [json!("deep"), json!(""), json!("-3"), json!(-3), json!("1.5"), json!(true), json!({}), json!(".0")]
        {
            let (depth, every) = (read("note_depth", &value).depth, read("note_interval", &value).every);
            assert_eq!((depth, every), (4, 1), "{value}");
        }
        for (value, place) in [
            (json!("0"), NotePlacement::AfterMain),
            (json!("before_prompt"), NotePlacement::BeforeMain),
            (json!("In-chat"), NotePlacement::InChat),
            (json!("above"), NotePlacement::InChat),
        ] {
            assert_eq!(read("note_position", &value).place, place, "{value}");
        }
    }

    /// An interval of 1 is always due, n with every nth user message, 0 never.
    #[test]
    fn authors_note_is_due_follows_interval() {
        let due =
            |every: u32| (0..7).filter(move |spoken| AuthorsNote { every, ..AuthorsNote::default() }.is_due(*spoken));
        assert_eq!(due(1).count(), 7);
        assert_eq!(due(3).collect::<Vec<_>>(), [3, 6]);
        assert_eq!(due(0).count(), 0);
    }
}
