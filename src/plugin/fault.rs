//! How our side of a call fails: an opaque value that a script may catch and print but not make, so that "the script
//! threw" and "the host refused" stay two things. A test looks that no binding throws by another way.

use rhai::{Dynamic, EvalAltResult, Position};

use super::convert::NotJson;
use super::error::ErrorKind;
use super::limits::{Limit, Stop};

/// What a binding throws.
pub(super) type Throw = Box<EvalAltResult>;

/// A refusal of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: ErrorKind,
    pub(super) limit: Option<Limit>,
    pub(super) message: String,
}

/// Throws a refusal of a kind.
pub(super) fn throw(kind: ErrorKind, message: impl Into<String>) -> Throw {
    raise(Fault { kind, limit: None, message: message.into() })
}

/// Throws because a limit was reached.
pub(super) fn over(limit: Limit, message: impl Into<String>) -> Throw {
    raise(Fault { kind: ErrorKind::Limit, limit: Some(limit), message: message.into() })
}

/// Ends the script: it cannot catch this.
pub(super) fn stop(stop: Stop) -> Throw {
    EvalAltResult::ErrorTerminated(Dynamic::from(stop), Position::NONE).into()
}

fn raise(fault: Fault) -> Throw {
    EvalAltResult::ErrorRuntime(Dynamic::from(fault), Position::NONE).into()
}

impl From<NotJson> for Fault {
    fn from(error: NotJson) -> Self {
        let limit = match error {
            NotJson::TooDeep(_) | NotJson::TooLong(_) => Some(Limit::Result),
            NotJson::NotFinite(_) | NotJson::Nul | NotJson::Foreign(_) => None,
        };
        let kind = if limit.is_some() { ErrorKind::Limit } else { ErrorKind::Runtime };
        Self { kind, limit, message: error.to_string() }
    }
}

impl Fault {
    /// Throws it with the name of the function that refuses.
    pub(super) fn throw_in(self, function: &str) -> Throw {
        raise(Self { message: format!("{function}: {}", self.message), ..self })
    }
}
