//! Messages for people that programs can translate: a stable code, typed arguments, and one English sentence.
//!
//! [`coded_messages!`](crate::coded_messages) gives an enum its codes. To add a message: a variant with its sentence
//! and its code, and a text for it in both languages of the page. A test compares the codes with these texts.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The arguments of a message by name: texts and numbers, never lists or maps.
pub type MessageArgs = Map<String, Value>;

/// The code of a message and the names of its arguments.
pub type MessageSignature = (&'static str, &'static [&'static str]);

/// A message for people with what a program needs to say it in another language. Its `Display` is the English sentence.
pub trait CodedMessage: fmt::Display {
    /// Returns the stable code.
    fn code(&self) -> &'static str;

    /// Returns the arguments of the code.
    fn args(&self) -> MessageArgs;
}

/// A message as it is stored and sent: code and arguments, and the English sentence made from them. Without a code, only
/// the sentence is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenderedMessage {
    /// The stable code; empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The arguments of the code.
    #[serde(default, skip_serializing_if = "MessageArgs::is_empty")]
    pub args: MessageArgs,
    /// One English sentence.
    pub message: String,
}

impl RenderedMessage {
    /// Renders a message.
    pub fn new(message: &impl CodedMessage) -> Self {
        Self { code: message.code().to_owned(), args: message.args(), message: message.to_string() }
    }

    /// Returns the message of one of several models: its name comes first, and is the argument `model`.
    #[must_use]
    pub fn of_model(mut self, model: &str) -> Self {
        self.message = format!("{model}: {}", self.message);
        self.args.insert("model".to_owned(), model.into());
        self
    }

    /// Returns the JSON form: `{code?, args?, message}`.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A sentence that has no code.
impl From<String> for RenderedMessage {
    fn from(message: String) -> Self {
        Self { message, ..Self::default() }
    }
}

impl fmt::Display for RenderedMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Adds a stable code to each variant of an enum of messages. The sentences are those of `thiserror`.
///
/// The enum gets `CODES`, which has each code with the names of its arguments, and implements [`CodedMessage`]. Every
/// field must be `Clone` and convertible into a JSON text or number.
#[macro_export]
macro_rules! coded_messages {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$about:meta])* $variant:ident { $($field:ident: $type:ty),* $(,)? } = $code:literal,)*
    }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, ::thiserror::Error)]
        $vis enum $name {
            $($(#[$about])* $variant { $($field: $type),* },)*
        }

        impl $name {
            /// Every code, with the names of its arguments.
            pub const CODES: &'static [$crate::coded_message::MessageSignature] =
                &[$(($code, &[$(stringify!($field)),*])),*];
        }

        impl $crate::coded_message::CodedMessage for $name {
            fn code(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => $code,)*
                }
            }

            fn args(&self) -> $crate::coded_message::MessageArgs {
                match self {
                    $(Self::$variant { $($field),* } => $crate::coded_message::MessageArgs::from_iter([
                        $((stringify!($field).to_owned(), ::serde_json::Value::from($field.clone())),)*
                    ]),)*
                }
            }
        }
    };
}

/// Reads arguments from stored JSON. What was stored before messages had arguments has none.
pub fn args_from_json(value: Option<&Value>) -> MessageArgs {
    value.and_then(Value::as_object).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::CodedMessage;

    coded_messages! {
        /// A message of this test.
        enum Sample {
            /// One with arguments.
            #[error("{name} has {count}")]
            Counted { name: String, count: usize } = "counted",
            /// One without.
            #[error("nothing is there")]
            Nothing {} = "nothing",
        }
    }

    #[test]
    fn coded_message_has_code_args_and_sentence() {
        let counted = Sample::Counted { name: "a".into(), count: 2 };
        assert_eq!((counted.code(), counted.to_string().as_str()), ("counted", "a has 2"));
        assert_eq!(serde_json::Value::from(counted.args()), json!({"name": "a", "count": 2}));
        assert!(Sample::Nothing {}.args().is_empty());
        assert_eq!(Sample::CODES, &[("counted", &["name", "count"][..]), ("nothing", &[])]);
    }
}
