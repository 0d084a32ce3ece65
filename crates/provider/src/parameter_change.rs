//! How a request differs from what was asked for, because its server refuses a parameter or does not
//! have it.

use serde_json::{Map, Value};

/// A parameter that a request does not send as it was set. To add a change, add a variant with its code and arguments,
/// and texts for the code in both languages of the page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterChange {
    /// It is not sent.
    #[error("`{parameter}` was left out: {words}")]
    LeftOut {
        /// Its name.
        parameter: String,
        /// What the server said, or a known rule.
        words: String,
    },
    /// It is not sent, because this kind of server has nothing like it.
    #[error("`{parameter}` was not sent: this server does not take it")]
    NotTaken {
        /// Its name.
        parameter: String,
    },
    /// It is sent under another name.
    #[error("`{parameter}` was sent as `{name}`: {words}")]
    Renamed {
        /// Its name.
        parameter: String,
        /// The name that the server wants.
        name: String,
        /// What the server said, or a known rule.
        words: String,
    },
    /// It is sent with a smaller number, or with so many items.
    #[error("`{parameter}` was lowered to {value}: {words}")]
    Lowered {
        /// Its name.
        parameter: String,
        /// The number that was sent.
        value: u64,
        /// What the server said.
        words: String,
    },
}

impl ParameterChange {
    /// Every code, with the names of its arguments.
    pub const CODES: &'static [(&'static str, &'static [&'static str])] = &[
        ("parameter_left_out", &["parameter", "words"]),
        ("parameter_not_taken", &["parameter"]),
        ("parameter_renamed", &["parameter", "name", "words"]),
        ("parameter_lowered", &["parameter", "value", "words"]),
    ];

    /// Returns the stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::LeftOut { .. } => "parameter_left_out",
            Self::NotTaken { .. } => "parameter_not_taken",
            Self::Renamed { .. } => "parameter_renamed",
            Self::Lowered { .. } => "parameter_lowered",
        }
    }

    /// Returns the arguments of the code by name.
    pub fn args(&self) -> Map<String, Value> {
        let pairs: Vec<(&str, Value)> = match self {
            Self::LeftOut { parameter, words } => {
                vec![("parameter", parameter.as_str().into()), ("words", words.as_str().into())]
            }
            Self::NotTaken { parameter } => vec![("parameter", parameter.as_str().into())],
            Self::Renamed { parameter, name, words } => vec![
                ("parameter", parameter.as_str().into()),
                ("name", name.as_str().into()),
                ("words", words.as_str().into()),
            ],
            Self::Lowered { parameter, value, words } => vec![
                ("parameter", parameter.as_str().into()),
                ("value", (*value).into()),
                ("words", words.as_str().into()),
            ],
        };
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameter_change_codes_have_their_arguments() {
        let text = || "x".to_owned();
        let all = [
            ParameterChange::LeftOut { parameter: text(), words: text() },
            ParameterChange::NotTaken { parameter: text() },
            ParameterChange::Renamed { parameter: text(), name: text(), words: text() },
            ParameterChange::Lowered { parameter: text(), value: 7, words: text() },
        ];
        for (change, (code, names)) in all.iter().zip(ParameterChange::CODES) {
            assert_eq!(change.code(), *code);
            assert_eq!(change.args().keys().collect::<Vec<_>>(), *names);
        }
        assert_eq!(all.len(), ParameterChange::CODES.len());
    }
}
