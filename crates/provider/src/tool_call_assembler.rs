//! Assembles tool calls from the pieces in which servers stream them.
//!
//! By the book, each piece has the number of its call, and the first one its id and name. Servers also omit numbers or
//! give one number to all calls, repeat ids and names in each piece or make up an id for each, cut names, and send
//! arguments as a JSON value instead of a text, or as a JSON text inside of a JSON text.

use super::{ToolCall, json};
use serde_json::{Map, Value};

/// Maximum number of tool calls kept per reply.
const MAX_CALLS: usize = 64;

/// Maximum bytes of a tool call's arguments. The rest is dropped, which makes them invalid JSON.
const MAX_ARGUMENTS: usize = 256 * 1024;

/// A piece of a tool call. Empty texts are absent.
#[derive(Debug, Default)]
pub(super) struct ToolCallPiece<'a> {
    /// The call's number.
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    /// A part of the arguments as text, or all of them as a JSON value.
    pub(super) arguments: Option<&'a Value>,
    /// Other fields that belong to the call and must go back with it.
    pub(super) extra: Map<String, Value>,
}

/// A tool call of which more pieces may come.
#[derive(Debug, Default)]
struct OpenToolCall {
    index: Option<u64>,
    call: ToolCall,
    extra: Map<String, Value>,
}

/// Assembles tool calls from their pieces.
#[derive(Debug, Default)]
pub(super) struct ToolCallAssembler(Vec<OpenToolCall>);

impl ToolCallAssembler {
    /// Adds a piece to its call, or begins a call with it.
    pub(super) fn push_piece(&mut self, piece: ToolCallPiece<'_>) {
        let at = match self.position_of(&piece) {
            Some(at) => at,
            None if self.0.len() < MAX_CALLS => {
                self.0.push(OpenToolCall { index: piece.index, ..OpenToolCall::default() });
                self.0.len().saturating_sub(1)
            }
            None => return,
        };
        if let Some(open) = self.0.get_mut(at) {
            open.append(piece);
        }
    }

    /// Returns the place of the call to which a piece belongs. `None` = it begins a call.
    fn position_of(&self, piece: &ToolCallPiece<'_>) -> Option<usize> {
        let last = |is_same: &dyn Fn(&OpenToolCall) -> bool| self.0.iter().rposition(is_same);
        match (piece.id, piece.index) {
            (Some(id), index) => {
                let is_same_call = |open: &OpenToolCall| {
                    let is_same_index = index.is_none() || open.index.is_none() || open.index == index;
                    open.call.id == id && (is_same_index || piece.name.is_none() || open.has_begun_arguments())
                };
                // Without a name it is a server that makes up an id for each piece.
                let is_continued = |open: &OpenToolCall| {
                    let is_unnamed = open.call.id.is_empty() || piece.name.is_none();
                    open.index == index && is_unnamed && open.is_continued_by(piece)
                };
                last(&is_same_call).or_else(|| {
                    last(&|open| open.index == index).filter(|at| self.0.get(*at).is_some_and(is_continued))
                })
            }
            (None, Some(index)) => {
                let at = last(&|open| open.index == Some(index))?;
                self.0.get(at).filter(|open| open.is_continued_by(piece)).map(|_| at)
            }
            (None, None) => {
                let (at, open) = self.0.iter().enumerate().next_back()?;
                // Two calls without arguments cannot be told from a name in two pieces, and are the more common case.
                let is_other = piece.name.is_some_and(|name| open.call.arguments.is_empty() && open.call.name != name);
                (open.is_continued_by(piece) && !is_other).then_some(at)
            }
        }
    }

    /// Returns all calls in order, each with its other fields. Calls without a name are dropped.
    pub(super) fn finish(&mut self) -> Vec<(ToolCall, Map<String, Value>)> {
        let calls = std::mem::take(&mut self.0).into_iter();
        calls.filter(|open| !open.call.name.is_empty()).map(OpenToolCall::finish).collect()
    }
}

impl OpenToolCall {
    /// Returns whether the arguments have begun and are incomplete.
    fn has_begun_arguments(&self) -> bool {
        !self.call.arguments.trim().is_empty() && !self.has_all_arguments()
    }

    fn has_all_arguments(&self) -> bool {
        let is_object = self.call.arguments.trim_end().ends_with('}') && json::parse(&self.call.arguments).is_ok();
        is_object || inner_object(&self.call.arguments).is_some()
    }

    fn finish(mut self) -> (ToolCall, Map<String, Value>) {
        if let Some(inner) = inner_object(&self.call.arguments) {
            self.call.arguments = inner;
        }
        (self.call, self.extra)
    }

    /// Returns whether a piece with the same number or place can belong to this call. A name after complete arguments
    /// begins another call, unless it only repeats this one.
    fn is_continued_by(&self, piece: &ToolCallPiece<'_>) -> bool {
        let Some(name) = piece.name.filter(|_| !self.call.name.is_empty()) else { return true };
        let has_arguments = piece.arguments.is_some_and(|arguments| !arguments_text(arguments).is_empty());
        !self.has_all_arguments() || (!has_arguments && name == self.call.name)
    }

    fn append(&mut self, piece: ToolCallPiece<'_>) {
        if let Some(id) = piece.id.filter(|_| self.call.id.is_empty()) {
            id.clone_into(&mut self.call.id);
        }
        if let Some(name) = piece.name {
            self.append_name(name);
        }
        if let Some(arguments) = piece.arguments {
            self.append_arguments(&arguments_text(arguments), !arguments.is_string());
        }
        self.extra.extend(piece.extra);
    }

    /// Some servers repeat the name, some repeat it with more of it, and some cut it.
    fn append_name(&mut self, name: &str) {
        if name.starts_with(&self.call.name) {
            name.clone_into(&mut self.call.name);
        } else if self.call.arguments.is_empty() {
            self.call.name.push_str(name);
        }
    }

    /// Whole arguments replace what came before: an empty object at the start, or the same arguments.
    fn append_arguments(&mut self, text: &str, is_whole: bool) {
        let is_again = text.trim_start().starts_with('{') && self.has_all_arguments();
        if is_whole || is_again {
            self.call.arguments.clear();
        }
        let room = MAX_ARGUMENTS.saturating_sub(self.call.arguments.len());
        self.call.arguments.push_str(text.get(..text.floor_char_boundary(room)).unwrap_or_default());
    }
}

/// Returns the arguments of a tool call as text: a text as it is, nothing for null, and any other value as JSON.
pub(super) fn arguments_text(arguments: &Value) -> String {
    match arguments {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

/// Returns the object in arguments that were encoded twice; `None` if they were not.
fn inner_object(arguments: &str) -> Option<String> {
    let arguments = arguments.trim();
    if !arguments.starts_with('"') || !arguments.ends_with('"') {
        return None;
    }
    match json::parse(arguments).ok()? {
        Value::String(inner) => json::parse(&inner).ok().filter(Value::is_object).map(|_| inner),
        _ => None,
    }
}

/// Returns the number of a call. Some servers write it as a text.
pub(super) fn index_of(value: &Value) -> Option<u64> {
    json::count(value).or_else(|| value.as_str()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Assembles pieces of `[index, id, name, arguments]`. Returns `id name arguments` of each call.
    fn assemble(pieces: Value) -> Vec<String> {
        let mut calls = ToolCallAssembler::default();
        for piece in pieces.as_array().unwrap() {
            let word = |at: usize| piece[at].as_str().filter(|word| !word.is_empty());
            let (index, arguments) = (index_of(&piece[0]), Some(&piece[3]));
            calls.push_piece(ToolCallPiece { index, id: word(1), name: word(2), arguments, ..Default::default() });
        }
        let shown = |(call, _): (ToolCall, _)| format!("{} {} {}", call.id, call.name, call.arguments);
        calls.finish().into_iter().map(shown).collect()
    }

    const ONE: &str = r#"{"a":1}"#;
    const TWO: &str = r#"{"a":2}"#;

    #[test]
    fn tool_call_assembler_different_calls_stay_apart() {
        let both = vec![format!("c1 f {ONE}"), format!("c2 f {TWO}")];
        assert_eq!(assemble(json!([[0, "c1", "f", ONE], [0, "c2", "f", TWO]])), both);
        assert_eq!(assemble(json!([[null, "c1", "f", ONE], [null, "c2", "f", TWO]])), both);
        assert_eq!(assemble(json!([["0", "c1", "f", ONE], ["1", "c2", "f", TWO]])), both);
        assert_eq!(
            assemble(json!([[0, "c1", "f", ""], [0, null, null, ONE], [0, "c2", "f", ""], [0, "", "", TWO]])),
            both
        );
        assert_eq!(
            assemble(json!([[0, "c1", "f", ""], [1, "c2", "f", ""], [0, null, null, ONE], [1, "", "", TWO]])),
            both
        );
        let unnamed = vec![format!(" f {ONE}"), format!(" f {TWO}")];
        assert_eq!(assemble(json!([[0, null, "f", ONE], [0, null, "f", TWO]])), unnamed);
        assert_eq!(assemble(json!([[null, null, "f", ONE], [null, null, "f", TWO]])), unnamed);
        assert_eq!(
            assemble(json!([[0, "c", "f", ONE], [1, "c", "f", TWO]])),
            [format!("c f {ONE}"), format!("c f {TWO}")]
        );
        assert_eq!(assemble(json!([[null, null, "f", ""], [null, null, "g", ""]])), [" f ", " g "]);
    }

    #[test]
    fn tool_call_assembler_pieces_of_one_call_are_joined() {
        let one = [format!("c1 toss {ONE}")];
        let (head, tail) = ONE.split_at(3);
        for pieces in [
            json!([[0, "c1", "toss", ""], [0, "", "", head], [0, null, null, tail]]),
            json!([[0, "c1", "toss", head], [0, "c1", "toss", tail], [0, "c1", "toss", ""]]),
            json!([[0, "c1", "toss", head], [0, "c1", null, tail]]),
            json!([[0, "c1", "toss", head], [0, "c7", null, tail]]),
            json!([[null, "c1", "toss", head], [null, null, null, tail]]),
            json!([[null, "c1", "toss", head], [null, "c1", null, tail]]),
            json!([["0", "c1", "toss", head], [0, null, null, tail]]),
            json!([[0, null, "toss", head], [0, "c1", null, tail]]),
            json!([[0, "c1", "to", ""], [0, null, "ss", ""], [0, null, null, ONE]]),
            json!([[0, "c1", "to", ""], [0, "c1", "toss", ""], [0, null, null, ONE]]),
            json!([[0, "c1", "toss", "{}"], [0, null, null, head], [0, null, null, tail]]),
            json!([[0, "c1", "toss", null], [0, "c1", null, {"a": 1}]]),
            json!([[0, "c1", "toss", {}], [0, "c1", "toss", {"a": 1}], [0, "c1", "toss", {"a": 1}]]),
            json!([[0, "c1", "toss", ONE], [0, "c1", "toss", ONE]]),
            json!([[0, "c1", "toss", head], [1, "c1", null, tail]]),
        ] {
            assert_eq!(assemble(pieces.clone()), one, "{pieces}");
        }
        assert_eq!(assemble(json!([[0, "c", null, ONE]])), [""; 0]);
    }

    #[test]
    fn tool_call_assembler_arguments_encoded_twice_are_read() {
        let twice = Value::from(ONE).to_string();
        let (head, tail) = twice.split_at(4);
        let one = [format!("c1 f {ONE}")];
        assert_eq!(assemble(json!([[0, "c1", "f", twice]])), one);
        assert_eq!(assemble(json!([[0, "c1", "f", head], [0, null, null, tail]])), one);
        let other = Value::from(TWO).to_string();
        let both = [format!(" f {ONE}"), format!(" f {TWO}")];
        assert_eq!(assemble(json!([[0, null, "f", twice], [0, null, "f", other]])), both);
        assert_eq!(assemble(json!([[0, "c1", "f", "\"word\""]])), ["c1 f \"word\""]);
        assert_eq!(assemble(json!([[0, "c1", "f", head]])), [format!("c1 f {head}")]);
    }

    #[test]
    fn tool_call_assembler_many_calls_stays_within_limits() {
        let mut calls = ToolCallAssembler::default();
        let piece = |index, name| ToolCallPiece { index: Some(index), name, ..ToolCallPiece::default() };
        (0..1000).for_each(|index| calls.push_piece(piece(index, Some("f"))));
        for text in ["夜".repeat(MAX_ARGUMENTS), "more".into()] {
            calls.push_piece(ToolCallPiece { arguments: Some(&Value::from(text)), ..piece(0, None) });
        }
        let taken = calls.finish();
        assert_eq!(taken.len(), MAX_CALLS);
        let first = &taken[0].0;
        assert!(first.arguments.len() <= MAX_ARGUMENTS && first.arguments.starts_with('夜'));
        assert_eq!(calls.finish(), []);
    }
}
