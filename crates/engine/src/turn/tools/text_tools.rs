//! Tool calls in text, for models without tool support: describes the tools, parses calls and formats their results.
//! Pure. A call is JSON between tags, as many open models have learned it; it is never shown.

use serde_json::{Value, json};

use clotho_provider::{RequestMessage, RequestRole, ToolCall, ToolRound};

use super::lenient_json;

const CALL_OPEN: &str = "<tool_call>";
const CALL_CLOSE: &str = "</tool_call>";
const RESPONSE_OPEN: &str = "<tool_response>";
const RESPONSE_CLOSE: &str = "</tool_response>";

/// Returns the prompt text for tools, each given as `{type, function: {name, description, parameters}}`.
pub fn tool_prompt(tools: &[Value]) -> String {
    let functions: Vec<String> =
        tools.iter().filter_map(|tool| tool.get("function")).map(|function| format!("- {function}")).collect();
    format!(
        "You can use tools while you write. These there are, each with a JSON Schema of its arguments:\n{}\nTo use one, write \
         {CALL_OPEN}{{\"name\": \"…\", \"arguments\": {{…}}}}{CALL_CLOSE} and stop: you are told what came of it and go on. Use one only where \
         something happens that it is for; else just write.",
        functions.join("\n")
    )
}

/// Returns the rounds of calls and results as messages.
pub fn messages(rounds: &[ToolRound], is_last: bool) -> Vec<RequestMessage> {
    let message = |role: RequestRole, content: String| RequestMessage { role, name: None, content };
    let messages = rounds.iter().enumerate().flat_map(|(at, round)| {
        let call = |call: &ToolCall| {
            let arguments: Value =
                serde_json::from_str(&call.arguments).unwrap_or_else(|_| call.arguments.clone().into());
            format!("{CALL_OPEN}{}{CALL_CLOSE}", json!({"name": call.name, "arguments": arguments}))
        };
        let parts = [round.text.trim().to_owned()].into_iter().chain(round.calls.iter().map(call));
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        let mut answers: Vec<String> =
            round.answers.iter().map(|answer| format!("{RESPONSE_OPEN}{answer}{RESPONSE_CLOSE}")).collect();
        if is_last && at + 1 == rounds.len() {
            answers.push("Write on now, without any tool.".to_owned());
        }
        [message(RequestRole::Assistant, parts.join("\n")), message(RequestRole::User, answers.join("\n"))]
    });
    messages.collect()
}

/// Removes tool calls from a text. Text after a call is not shown, because a model that does not stop invents the
/// result.
#[derive(Debug, Clone, Default)]
pub struct TextToolParser {
    pending: String,
    is_in_call: bool,
    has_called: bool,
}

impl TextToolParser {
    /// Takes a piece; returns the text to show and the completed calls.
    pub fn push(&mut self, text: &str) -> (String, Vec<ToolCall>) {
        self.pending.push_str(text);
        let (mut shown, mut calls) = (String::new(), Vec::new());
        loop {
            let tag = if self.is_in_call { CALL_CLOSE } else { CALL_OPEN };
            let Some((before, after)) = self.pending.split_once(tag) else { break };
            let (before, after) = (before.to_owned(), after.to_owned());
            if self.is_in_call {
                calls.push(parse_call(&before));
                self.has_called = true;
            } else {
                self.push_visible(&before, &mut shown);
            }
            (self.pending, self.is_in_call) = (after, !self.is_in_call);
        }
        if !self.is_in_call {
            let open = partial_tag_len(&self.pending);
            let rest = self.pending.split_off(self.pending.len() - open);
            let text = std::mem::replace(&mut self.pending, rest);
            self.push_visible(&text, &mut shown);
        }
        (shown, calls)
    }

    /// Ends the text; returns what was held back, or a call that was not closed.
    pub fn finish(&mut self) -> (String, Vec<ToolCall>) {
        let pending = std::mem::take(&mut self.pending);
        let mut shown = String::new();
        if std::mem::take(&mut self.is_in_call) {
            return (shown, vec![parse_call(&pending)]);
        }
        self.push_visible(&pending, &mut shown);
        (shown, Vec::new())
    }

    /// Resets the parser for the next request.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    fn push_visible(&self, text: &str, shown: &mut String) {
        if !self.has_called {
            shown.push_str(text);
        }
    }
}

/// Returns how many bytes at the end of a text may be the start of a call tag.
fn partial_tag_len(text: &str) -> usize {
    let longest = CALL_OPEN.len().saturating_sub(1).min(text.len());
    (1..=longest).rev().find(|bytes| CALL_OPEN.get(..*bytes).is_some_and(|part| text.ends_with(part))).unwrap_or(0)
}

/// Parses a call. An unreadable one gets an empty name, which the model is told.
fn parse_call(text: &str) -> ToolCall {
    let text = text.trim().trim_start_matches("```json").trim_matches('`').trim();
    let read: Value = lenient_json::parse_lenient(text).unwrap_or_default();
    let word = |key: &str| read.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments = match read.get("arguments").or(read.get("parameters")) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None if read.is_null() => text.to_owned(),
        None => String::new(),
    };
    ToolCall { id: String::new(), name: word("name"), arguments }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result does not depend on how the text is cut into pieces.
    #[test]
    fn text_tools_split_text_extracts_calls() {
        let check = |text: &str, shown: &str, names: &[&str]| {
            for size in [1, 3, 7, 1000] {
                let (mut spoken, mut seen, mut called) = (TextToolParser::default(), String::new(), Vec::new());
                let letters: Vec<char> = text.chars().collect();
                for piece in letters.chunks(size) {
                    let (text, calls) = spoken.push(&piece.iter().collect::<String>());
                    seen += &text;
                    called.extend(calls);
                }
                let (text, calls) = spoken.finish();
                seen += &text;
                called.extend(calls);
                let all: Vec<&str> = called.iter().map(|call| call.name.as_str()).collect();
                assert_eq!((seen.as_str(), all.as_slice()), (shown, names), "{text} in pieces of {size}");
            }
        };
        check("Plain <b>words</b> <tool", "Plain <b>words</b> <tool", &[]);
        let gift = "<tool_call>{\"name\": \"give\", \"arguments\": {\"item\": \"环\"}}</tool_call>";
        check(&format!("She looks.\n{gift}"), "She looks.\n", &["give"]);
        check(&format!("{gift}{gift} and she is glad"), "", &["give", "give"]);
        check("<tool_call>{\"name\": \"give\"}", "", &["give"]);
        check("<tool_call>nonsense</tool_call>", "", &[""]);
    }

    #[test]
    fn text_tools_trailing_comma_parses() {
        let call = parse_call("{\"name\": \"give\", \"arguments\": {\"item\": \"ring\",},}");
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("give", "{\"item\":\"ring\"}"));
    }

    #[test]
    fn text_tools_rounds_become_messages() {
        let call = parse_call("```json\n{\"name\": \"give\", \"arguments\": \"{\\\"item\\\": 1}\"}\n```");
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("give", "{\"item\": 1}"));
        let round =
            ToolRound { text: "Hm.".into(), calls: vec![call], answers: vec!["true".into()], ..ToolRound::default() };
        let told = messages(&[round], true);
        assert_eq!(told[0].content, "Hm.\n<tool_call>{\"name\":\"give\",\"arguments\":{\"item\":1}}</tool_call>");
        assert!(told[1].content.starts_with("<tool_response>true</tool_response>\nWrite on"), "{told:?}");
        let tool = json!({"type": "function", "function": {"name": "give"}});
        assert!(tool_prompt(&[tool]).contains("- {\"name\":\"give\"}\n"));
    }
}
