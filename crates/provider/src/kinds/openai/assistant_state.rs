//! What servers with OpenAI's protocol want back in the assistant's message with the results of tools.
//!
//! Reasoning models need their reasoning: DeepSeek and Moonshot as `reasoning_content`, OpenRouter as
//! `reasoning_details`, LiteLLM as `thinking_blocks`. Gemini needs the signatures of its calls, which its own server puts
//! into `extra_content` and others elsewhere.

use crate::{json::text, stream_state::MAX_STATE_BYTES};
use serde_json::{Map, Value, json};

/// Fields of a tool call, or of its function, that have signatures.
const CALL_FIELDS: [&str; 4] = ["extra_content", "provider_specific_fields", "thought_signature", "thoughtSignature"];

/// Fields of a message with a list of pieces of reasoning.
const LIST_FIELDS: [&str; 2] = ["reasoning_details", "thinking_blocks"];

/// Texts inside of these pieces, which are streamed bit by bit.
const PIECE_TEXTS: [&str; 3] = ["text", "summary", "thinking"];

/// Collects the fields of one assistant message from its deltas.
#[derive(Debug, Default)]
pub(super) struct AssistantState {
    message: Map<String, Value>,
    bytes: usize,
}

impl AssistantState {
    /// Reads one delta, or a whole message.
    pub(super) fn read(&mut self, message: &Value) {
        if let Some(words) = text(message, "reasoning_content").filter(|words| self.has_room(words.len())) {
            match self.message.get_mut("reasoning_content") {
                Some(Value::String(known)) => known.push_str(words),
                _ => _ = self.message.insert("reasoning_content".to_owned(), words.into()),
            }
        }
        for name in LIST_FIELDS {
            for piece in list_of(message, name).and_then(Value::as_array).into_iter().flatten() {
                if self.has_room(piece.to_string().len()) {
                    self.add_piece(name, piece);
                }
            }
        }
        let extra = message.get("extra_content").filter(|extra| !extra.is_null());
        if let Some(extra) = extra.filter(|extra| self.has_room(extra.to_string().len())) {
            self.message.insert("extra_content".to_owned(), extra.clone());
        }
    }

    /// Adds a piece to a list. A piece that continues the last one is joined with it.
    fn add_piece(&mut self, name: &str, piece: &Value) {
        let list = self.message.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        let Value::Array(list) = list else { return };
        match (list.last_mut(), piece) {
            (Some(Value::Object(last)), Value::Object(next)) if continues(last, next) => {
                for (field, value) in next {
                    match (last.get_mut(field), value) {
                        (Some(Value::String(known)), Value::String(more)) if PIECE_TEXTS.contains(&field.as_str()) => {
                            known.push_str(more);
                        }
                        (Some(_), Value::Null) => {}
                        (Some(_), Value::String(more)) if more.is_empty() => {}
                        _ => _ = last.insert(field.clone(), value.clone()),
                    }
                }
            }
            _ => list.push(piece.clone()),
        }
    }

    /// Returns the state with the fields of the calls, in their order. `None` = there is none.
    pub(super) fn finish(&mut self, calls: Vec<Map<String, Value>>) -> Option<Value> {
        let Self { message, bytes } = std::mem::take(self);
        let is_kept = bytes <= MAX_STATE_BYTES && !(message.is_empty() && calls.iter().all(Map::is_empty));
        is_kept.then(|| json!({"message": message, "calls": calls}))
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        self.bytes = self.bytes.saturating_add(bytes);
        self.bytes <= MAX_STATE_BYTES
    }
}

/// Returns a field of a message. LiteLLM puts those of vendors into a field of its own.
pub(super) fn list_of<'a>(message: &'a Value, name: &str) -> Option<&'a Value> {
    let own = || message.get("provider_specific_fields")?.get(name).filter(|list| list.is_array());
    message.get(name).filter(|list| list.is_array()).or_else(own)
}

/// Returns whether a piece of reasoning is more of the last one. Encrypted data and signed reasoning are complete.
fn continues(last: &Map<String, Value>, next: &Map<String, Value>) -> bool {
    let is_same = |field: &str| last.get(field) == next.get(field);
    let is_signed = last.get("signature").and_then(Value::as_str).is_some_and(|signature| !signature.is_empty());
    let has_text = |piece: &Map<String, Value>| PIECE_TEXTS.iter().any(|field| piece.contains_key(*field));
    let has_data = last.contains_key("data") || next.contains_key("data");
    is_same("type") && is_same("index") && !is_signed && !has_data && has_text(last)
}

/// Returns the fields of a tool call that must go back with it.
pub(super) fn call_fields(call: &Value, function: &Value) -> Map<String, Value> {
    let fields =
        |name: &&'static str| [function, call].map(|holder| Some(((*name).to_owned(), holder.get(*name)?.clone())));
    let own = CALL_FIELDS.iter().flat_map(fields).flatten();
    own.filter(|(_, value)| !value.is_null()).collect()
}

/// Returns the fields for the assistant's message, and for the call at a place.
pub(super) fn fields_of(state: Option<&Value>) -> (Map<String, Value>, Vec<Map<String, Value>>) {
    let fields = |value: &Value| value.as_object().cloned().unwrap_or_default();
    let message = state.and_then(|state| state.get("message")).map(fields).unwrap_or_default();
    let calls = state.and_then(|state| state.get("calls")?.as_array()).into_iter().flatten().map(fields).collect();
    (message, calls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assistant_state_deltas_are_joined() {
        let mut state = AssistantState::default();
        let text = |words: &str| json!({"type": "reasoning.text", "text": words, "index": 0, "format": "f"});
        for delta in [
            json!({"reasoning_content": "h", "reasoning_details": [text("h")]}),
            json!({"reasoning_content": "m", "reasoning_details": [text("m")]}),
            json!({"reasoning_details": [{"type": "reasoning.text", "signature": "s", "index": 0}]}),
            json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 0}]}),
            json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "y", "index": 0}], "content": "a"}),
        ] {
            state.read(&delta);
        }
        let expected = json!({"message": {"reasoning_content": "hm", "reasoning_details": [
            {"type": "reasoning.text", "text": "hm", "index": 0, "format": "f", "signature": "s"},
            {"type": "reasoning.encrypted", "data": "x", "index": 0},
            {"type": "reasoning.encrypted", "data": "y", "index": 0}]}, "calls": [{}]});
        assert_eq!(state.finish(vec![Map::new()]), Some(expected));
        assert_eq!(AssistantState::default().finish(vec![Map::new()]), None);
    }

    #[test]
    fn assistant_state_signatures_of_calls_are_kept() {
        let signed = json!({"id": "c", "extra_content": {"google": {"thought_signature": "s"}}, "index": 0,
            "function": {"name": "f", "thought_signature": null}});
        let fields = call_fields(&signed, &signed["function"]);
        assert_eq!(Value::from(fields.clone()), json!({"extra_content": {"google": {"thought_signature": "s"}}}));
        let state = AssistantState::default().finish(vec![fields.clone()]);
        assert_eq!(fields_of(state.as_ref()), (Map::new(), vec![fields]));
    }
}
