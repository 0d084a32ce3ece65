//! Size limits of one value: enough for any story, too little to exhaust a server.

use serde_json::Value;

use super::{Pointer, ProblemDetail, ValueProblem};
use crate::world::number;
use crate::world::pointer::MAX_DEPTH;

/// The maximum size of one operation's value as JSON, roughly counted, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Refuses a value that is too large or would make the world too deep. Also refuses numbers and keys that would not
/// round-trip through JSON.
pub(super) fn check(value: &Value, path: &Pointer) -> Result<(), ValueProblem> {
    let depth = depth_left(path)?;
    let mut bytes = MAX_BYTES;
    walk(value, depth, &mut bytes).map_err(|detail| ValueProblem::new(path, detail))
}

/// Refuses to move an existing value to a path at which it would be too deep.
pub(super) fn check_depth(value: &Value, path: &Pointer) -> Result<(), ValueProblem> {
    if is_at_most(value, depth_left(path)?) { Ok(()) } else { Err(ValueProblem::new(path, TOO_DEEP)) }
}

const TOO_DEEP: ProblemDetail = ProblemDetail::TooDeep { most: MAX_DEPTH };
const TOO_LARGE: ProblemDetail = ProblemDetail::ValueTooLarge { mib: MAX_BYTES >> 20 };

/// The JSON library marks numbers and raw texts with this prefix: a map with such a key is parsed as something else.
const JSON_MARKER_PREFIX: &str = "$serde_json::private::";
const RESERVED_KEY: ProblemDetail = ProblemDetail::ReservedKey { prefix: JSON_MARKER_PREFIX };

fn depth_left(path: &Pointer) -> Result<usize, ValueProblem> {
    if path.keys().iter().any(|key| key.starts_with(JSON_MARKER_PREFIX)) {
        return Err(ValueProblem::new(path, RESERVED_KEY));
    }
    MAX_DEPTH.checked_sub(path.keys().len()).ok_or_else(|| ValueProblem::new(path, TOO_DEEP))
}

fn walk(value: &Value, depth: usize, bytes: &mut usize) -> Result<(), ProblemDetail> {
    match value {
        Value::Null | Value::Bool(_) => spend_bytes(bytes, 5),
        Value::Number(number) => {
            spend_bytes(bytes, number.as_str().len())?;
            if number::is_within_reach(number) { Ok(()) } else { Err(ProblemDetail::NumberOutOfReach {}) }
        }
        Value::String(text) => spend_bytes(bytes, text.len()),
        Value::Array(list) => {
            let depth = depth.checked_sub(1).ok_or(TOO_DEEP)?;
            list.iter().try_for_each(|value| spend_bytes(bytes, 1).and_then(|()| walk(value, depth, bytes)))
        }
        Value::Object(map) => {
            let depth = depth.checked_sub(1).ok_or(TOO_DEEP)?;
            map.iter().try_for_each(|(key, value)| {
                spend_bytes(bytes, key.len().saturating_add(4))?;
                if key.starts_with(JSON_MARKER_PREFIX) {
                    return Err(RESERVED_KEY);
                }
                walk(value, depth, bytes)
            })
        }
    }
}

fn is_at_most(value: &Value, depth: usize) -> bool {
    let Some(left) = depth.checked_sub(1) else { return !(value.is_array() || value.is_object()) };
    match value {
        Value::Array(list) => list.iter().all(|value| is_at_most(value, left)),
        Value::Object(map) => map.values().all(|value| is_at_most(value, left)),
        _ => true,
    }
}

fn spend_bytes(bytes: &mut usize, cost: usize) -> Result<(), ProblemDetail> {
    *bytes = bytes.checked_sub(cost).ok_or(TOO_LARGE)?;
    Ok(())
}
