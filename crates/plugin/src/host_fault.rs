//! Errors of the host during a call. A script may catch and print such an error but cannot create one. That keeps "the
//! script threw" and "the host refused" apart. A test checks that no binding throws in another way.

use rhai::{Dynamic, EvalAltResult, Position};

use super::convert::ScriptValueError;
use super::error::ScriptErrorKind;
use super::limits::{ScriptLimit, ScriptStop};

/// The error type of all bindings.
pub(super) type RhaiThrow = Box<EvalAltResult>;

/// An error that the host raises.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostFault {
    pub(super) kind: ScriptErrorKind,
    pub(super) limit: Option<ScriptLimit>,
    pub(super) message: String,
}

/// Creates an error of a kind.
pub(super) fn throw(kind: ScriptErrorKind, message: impl Into<String>) -> RhaiThrow {
    raise(HostFault { kind, limit: None, message: message.into() })
}

/// Creates an error for a reached limit.
pub(super) fn throw_limit(limit: ScriptLimit, message: impl Into<String>) -> RhaiThrow {
    raise(HostFault { kind: ScriptErrorKind::Limit, limit: Some(limit), message: message.into() })
}

/// Creates the error that ends the script; the script cannot catch it.
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
    /// Converts the fault to an error that starts with the name of the failing function.
    pub(super) fn throw_in(self, function: &str) -> RhaiThrow {
        raise(Self { message: format!("{function}: {}", self.message), ..self })
    }
}
