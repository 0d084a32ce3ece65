//! Folded blocks in texts of Open WebUI: `<details type="reasoning">` around thoughts, and `<details
//! type="tool_calls">` around calls. They are taken out of the text, wherever they stand.

use serde_json::{Map, Value};

use super::keys::join_paragraphs;

/// Start and end of a block.
const TAGS: (&str, &str) = ("<details", "</details>");
/// The types of blocks that contain what a model did, and no text of its reply.
const TOOL_TYPES: [&str; 2] = ["tool_calls", "code_interpreter"];
/// Attributes of a tool call that are kept.
const TOOL_ATTRIBUTES: [&str; 4] = ["id", "name", "arguments", "result"];

/// A text without its folded blocks.
#[derive(Debug, Default, PartialEq)]
pub struct UnfoldedText {
    pub text: String,
    /// The thoughts, in order.
    pub thoughts: Vec<String>,
    /// The tool calls, with the attributes of their blocks.
    pub tool_calls: Vec<Value>,
}

/// Takes the blocks out of a text. A text without blocks is unchanged.
pub fn unfold(words: &str) -> UnfoldedText {
    let mut found = UnfoldedText::default();
    let (mut parts, mut rest, mut is_changed) = (vec![String::new()], words, false);
    while let Some(start) = rest.find(TAGS.0) {
        let (before, block) = rest.split_at(start);
        push_text(&mut parts, before);
        match DetailsBlock::read(block) {
            Some(read) => {
                rest = read.after;
                is_changed = true;
                if read.is_reasoning() {
                    found.thoughts.push(plain_thought(read.body));
                } else {
                    found.tool_calls.push(read.tool_call());
                }
                parts.push(String::new());
            }
            None => {
                let (tag, after) = block.split_at(TAGS.0.len());
                push_text(&mut parts, tag);
                rest = after;
            }
        }
    }
    push_text(&mut parts, rest);
    found.text = match is_changed {
        true => join_paragraphs(parts.into_iter().map(|part| part.trim().to_owned())),
        false => words.to_owned(),
    };
    found
}

fn push_text(parts: &mut [String], text: &str) {
    parts.last_mut().into_iter().for_each(|part| part.push_str(text));
}

/// A block of a known type.
struct DetailsBlock<'a> {
    attributes: Map<String, Value>,
    body: &'a str,
    after: &'a str,
}

impl<'a> DetailsBlock<'a> {
    /// Reads the block at the start of a text. `None` if it has another type. A block without an end takes all of the
    /// text, because the reply broke off in it.
    fn read(text: &'a str) -> Option<Self> {
        let inside = text.strip_prefix(TAGS.0)?.strip_prefix(|c: char| c.is_whitespace())?;
        let (attributes, inside) = read_attributes(inside)?;
        let kind = attributes.get("type").and_then(Value::as_str).unwrap_or_default();
        if kind != "reasoning" && !TOOL_TYPES.contains(&kind) {
            return None;
        }
        // Blocks may stand inside each other.
        let (mut depth, mut at) = (1_usize, 0);
        loop {
            let here = inside.get(at..).unwrap_or_default();
            let Some(end) = here.find(TAGS.1) else {
                return Some(Self { attributes, body: inside, after: "" });
            };
            match here.find(TAGS.0).filter(|start| *start < end) {
                Some(start) => {
                    depth += 1;
                    at += start + TAGS.0.len();
                }
                None if depth > 1 => {
                    depth -= 1;
                    at += end + TAGS.1.len();
                }
                None => {
                    let body = inside.get(..at + end).unwrap_or_default();
                    let after = inside.get(at + end + TAGS.1.len()..).unwrap_or_default();
                    return Some(Self { attributes, body, after });
                }
            }
        }
    }

    fn is_reasoning(&self) -> bool {
        self.attributes.get("type").is_some_and(|kind| kind == "reasoning")
    }

    fn tool_call(&self) -> Value {
        let mut call = self.attributes.clone();
        call.retain(|name, value| TOOL_ATTRIBUTES.contains(&name.as_str()) && value.as_str() != Some(""));
        if call.is_empty() {
            call.insert("text".to_owned(), unescape_html(without_summary(self.body).trim()).into());
        }
        call.into()
    }
}

/// Reads the attributes of a tag up to its end. Returns them with what follows the tag.
fn read_attributes(text: &str) -> Option<(Map<String, Value>, &str)> {
    let (mut attributes, mut rest) = (Map::new(), text.trim_start());
    while let Some(end) = rest.find(['=', '>']) {
        let (name, after) = rest.split_at(end);
        if let Some(after) = after.strip_prefix('>') {
            return Some((attributes, after));
        }
        let (value, after) = after.strip_prefix("=\"")?.split_once('"')?;
        let name = name.rsplit(char::is_whitespace).next().unwrap_or_default();
        attributes.insert(name.to_owned(), unescape_html(value).into());
        rest = after.trim_start();
    }
    None
}

fn without_summary(body: &str) -> &str {
    let body = body.trim_start();
    body.strip_prefix("<summary>").and_then(|body| body.split_once("</summary>")).map_or(body, |two| two.1)
}

/// Returns a thought without its summary and without the marks of a quotation.
fn plain_thought(body: &str) -> String {
    let thought = unescape_html(without_summary(body).trim());
    let is_quoted = thought.lines().all(|line| line.trim().is_empty() || line.starts_with('>'));
    if !is_quoted {
        return thought;
    }
    let plain = |line: &str| line.strip_prefix("> ").or(line.strip_prefix('>')).unwrap_or(line).to_owned();
    thought.lines().map(plain).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Replaces HTML entities.
pub fn unescape_html(text: &str) -> String {
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    marks.iter().fold(text.to_owned(), |text, (mark, plain)| text.replace(mark, plain))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn details_blocks_leave_the_text_alone() {
        let text = "<details type=\"reasoning\" done=\"true\" duration=\"3\">\n<summary>Thought</summary>\n&gt; He asks.\n&gt; &gt; quoted\n</details>\n\
            <details type=\"tool_calls\" done=\"true\" id=\"c1\" name=\"look\" arguments=\"&quot;{}&quot;\" result=\"a &gt; b\" files=\"\">\n<summary>Done</summary>\n</details>\n\
            Let me see.\n<details type=\"reasoning\">\n> Here.\n</details>\nOn the shelf.";
        let found = unfold(text);
        assert_eq!(found.text, "Let me see.\n\nOn the shelf.");
        assert_eq!(found.thoughts, ["He asks.\n> quoted", "Here."]);
        assert_eq!(found.tool_calls, [json!({"id": "c1", "name": "look", "arguments": "\"{}\"", "result": "a > b"})]);
    }

    #[test]
    fn details_blocks_of_other_types_stay_in_the_text() {
        for text in [
            "  A text.\n\n\nAnother. ",
            "<details>\n<summary>Spoiler</summary>x</details>",
            "<details type=\"spoiler\">x</details>",
            "<details type=\"reasoning\"",
            "<detailsx type=\"reasoning\">x</details>",
        ] {
            assert_eq!(unfold(text), UnfoldedText { text: text.to_owned(), ..UnfoldedText::default() });
        }
    }

    #[test]
    fn details_blocks_nested_or_unfinished_are_taken_out() {
        let nested = "<details type=\"reasoning\">a <details type=\"x\">b</details> c</details>Text.";
        assert_eq!(unfold(nested).thoughts, ["a <details type=\"x\">b</details> c"]);
        assert_eq!(unfold(nested).text, "Text.");
        let cut = unfold("Text.<details type=\"reasoning\" done=\"false\">\n<summary>Thinking…</summary>\n> Hm");
        assert_eq!((cut.text.as_str(), cut.thoughts), ("Text.", vec!["Hm".to_owned()]));
        let plain = unfold("<details type=\"reasoning\">\na > b\n> c\n</details>x");
        assert_eq!(plain.thoughts, ["a > b\n> c"], "not every line is quoted");
    }
}
