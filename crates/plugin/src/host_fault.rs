//! How our side of a call fails: an opaque value that a script may catch and print but not make, so that "the script
//! threw" and "the host refused" stay two things. A test looks that no binding throws by another way.

use rhai::{Dynamic, EvalAltResult, Position};

use super::convert::ScriptValueError;
use super::error::ScriptErrorKind;
use super::limits::{ScriptLimit, ScriptStop};

/// What a binding throws.
pub(super) type RhaiThrow = Box<EvalAltResult>;

/// A refusal of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostFault {
    pub(super) kind: ScriptErrorKind,
    pub(super) limit: Option<ScriptLimit>,
    pub(super) message: String,
}

/// Throws a refusal of a kind.
pub(super) fn throw(kind: ScriptErrorKind, message: impl Into<String>) -> RhaiThrow {
    raise(HostFault { kind, limit: None, message: message.into() })
}

/// Throws because a limit was reached.
pub(super) fn throw_limit(limit: ScriptLimit, message: impl Into<String>) -> RhaiThrow {
    raise(HostFault { kind: ScriptErrorKind::Limit, limit: Some(limit), message: message.into() })
}

/// Ends the script: it cannot catch this.
pub(super) fn throw_stop(stop: ScriptStop) -> RhaiThrow {
    EvalAltResult::ErrorTerminated(Dynamic::from(stop), Position::NONE).into()
}

fn raise(fault: HostFault) -> RhaiThrow {
    EvalAltResult::ErrorRuntime(Dynamic::from(fault), Position::NONE).into()
}

impl From<ScriptValueError> for HostFault {
    fn from(error: ScriptValueError) -> Self {
        let limit = match error {
            ScriptValueError::TooDeep(_) | ScriptValueError::TooLong(_) => Some(ScriptLimit::Result),
            ScriptValueError::NotFinite(_) | ScriptValueError::Nul | ScriptValueError::Unsupported(_) => None,
        };
        let kind = if limit.is_some() { ScriptErrorKind::Limit } else { ScriptErrorKind::Runtime };
        Self { kind, limit, message: error.to_string() }
    }
}

impl HostFault {
    /// Throws it with the name of the function that refuses.
    pub(super) fn throw_in(self, function: &str) -> RhaiThrow {
        raise(Self { message: format!("{function}: {}", self.message), ..self })
    }
}
