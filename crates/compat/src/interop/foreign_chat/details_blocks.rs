//! Folded blocks in texts of Open WebUI: `<details type="reasoning">` around thoughts, and `<details
//! type="tool_calls">` around calls. They are taken out of the text, wherever they stand, except in a code fence.

use serde_json::{Map, Value};

use super::keys::join_paragraphs;

/// Start and end of a block.
const TAGS: (&str, &str) = ("<details", "</details>");
/// The types of blocks that contain what a model did, and no text of its reply.
const TOOL_TYPES: [&str; 5] = ["tool_calls", "tool_call", "mcp_call", "web_search", "code_interpreter"];
/// Start and end of the title of a block.
const SUMMARY_TAGS: (&str, &str) = ("<summary", "</summary>");
/// Maximum length of an HTML entity in bytes, after its `&`.
const MAX_ENTITY_BYTES: usize = 10;
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
    let mut fence = None;
    while let Some(start) = find_tag(rest, TAGS.0) {
        let (before, block) = rest.split_at(start);
        push_text(&mut parts, before);
        fence = fence_after(fence, before);
        let read = if fence.is_none() { DetailsBlock::read(block) } else { None };
        match read {
            Some(read) => {
                rest = read.after;
                is_changed = true;
                if read.is_reasoning {
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

/// Returns what follows a tag at the start of a text, in any case of letters.
fn strip_tag<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (start, rest) = text.split_at_checked(tag.len())?;
    start.eq_ignore_ascii_case(tag).then_some(rest)
}

/// Returns the byte offset of the first such tag, in any case of letters.
fn find_tag(text: &str, tag: &str) -> Option<usize> {
    let is_tag = |at: &usize| text.get(*at..).is_some_and(|rest| strip_tag(rest, tag).is_some());
    text.match_indices('<').map(|(at, _)| at).find(is_tag)
}

/// Returns the mark and length of the code fence that is open after a text, if any. `open` is that before it.
fn fence_after(mut open: Option<(char, usize)>, text: &str) -> Option<(char, usize)> {
    for line in text.lines() {
        let inner = line.trim_start_matches(' ');
        let Some(mark @ ('`' | '~')) = inner.chars().next() else { continue };
        let after = inner.trim_start_matches(mark);
        let length = inner.len() - after.len();
        if length < 3 || line.len() - inner.len() > 3 {
            continue;
        }
        open = match open {
            None if mark == '`' && after.contains('`') => None,
            None => Some((mark, length)),
            Some((begun, least)) if begun == mark && length >= least && after.trim().is_empty() => None,
            Some(_) => open,
        };
    }
    open
}

/// A block of a known type.
struct DetailsBlock<'a> {
    is_reasoning: bool,
    attributes: Map<String, Value>,
    body: &'a str,
    after: &'a str,
}

impl<'a> DetailsBlock<'a> {
    /// Reads the block at the start of a text. `None` if it has another type. A block without an end takes all of the
    /// text, because the reply broke off in it.
    fn read(text: &'a str) -> Option<Self> {
        let inside = strip_tag(text, TAGS.0)?.strip_prefix(char::is_whitespace)?;
        let (attributes, inside) = read_attributes(inside)?;
        let kind = attributes.get("type").and_then(Value::as_str).unwrap_or_default().to_ascii_lowercase();
        let is_reasoning = kind == "reasoning";
        if !is_reasoning && !TOOL_TYPES.contains(&kind.as_str()) {
            return None;
        }
        // Blocks may stand inside each other.
        let mut depth = 1_usize;
        for (at, _) in inside.match_indices('<') {
            let (body, here) = inside.split_at(at);
            if strip_tag(here, TAGS.0).is_some() {
                depth += 1;
            } else if let Some(after) = strip_tag(here, TAGS.1) {
                depth -= 1;
                if depth == 0 {
                    return Some(Self { is_reasoning, attributes, body, after });
                }
            }
        }
        Some(Self { is_reasoning, attributes, body: inside, after: "" })
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

/// Reads the attributes of a tag up to its end: quoted, bare, or without a value. Returns them, with names in lower
/// case, and what follows the tag.
fn read_attributes(text: &str) -> Option<(Map<String, Value>, &str)> {
    let (mut attributes, mut rest) = (Map::new(), text.trim_start());
    loop {
        if let Some(after) = rest.strip_prefix('>') {
            return Some((attributes, after));
        }
        // A `<` outside of quotes is no part of a tag.
        let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '=' | '>' | '<'))?;
        let (name, after) = rest.split_at(end);
        if after.starts_with('<') {
            return None;
        }
        rest = after.trim_start();
        let Some(value) = rest.strip_prefix('=') else { continue };
        let value = value.trim_start();
        let (value, after) = match value.chars().next()? {
            quote @ ('"' | '\'') => value.strip_prefix(quote)?.split_once(quote)?,
            _ => value.split_at(value.find(|c: char| c.is_whitespace() || matches!(c, '>' | '<'))?),
        };
        attributes.insert(name.to_ascii_lowercase(), unescape_html(value).into());
        rest = after.trim_start();
    }
}

fn without_summary(body: &str) -> &str {
    let body = body.trim_start();
    let after_summary = || {
        let tag = strip_tag(body, SUMMARY_TAGS.0)?;
        let (_, title) = tag.split_once('>').filter(|_| tag.starts_with(|c: char| c == '>' || c.is_whitespace()))?;
        strip_tag(title.get(find_tag(title, SUMMARY_TAGS.1)?..)?, SUMMARY_TAGS.1)
    };
    after_summary().unwrap_or(body)
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

/// Replaces HTML entities: the usual names, and numbers.
pub fn unescape_html(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let (character, after) = read_entity(after).unwrap_or(('&', after));
        plain.push(character);
        rest = after;
    }
    plain.push_str(rest);
    plain
}

/// Reads an entity after its `&`. Returns its character and what follows. `None` if it is unknown.
fn read_entity(text: &str) -> Option<(char, &str)> {
    let end = text.bytes().take(MAX_ENTITY_BYTES).position(|byte| byte == b';')?;
    let (name, after) = (text.get(..end)?, text.get(end + 1..)?);
    let character = match name {
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "amp" => '&',
        "nbsp" => '\u{a0}',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?).filter(|character| *character != '\0')?
        }
    };
    Some((character, after))
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

    #[test]
    fn details_blocks_in_any_spelling_are_taken_out() {
        for block in [
            "<details type='reasoning'>Hm</details>",
            "<details open type=reasoning done = true>Hm</details>",
            "<DETAILS\n  Type = \"reasoning\">\n<SUMMARY class='a'>Thought</Summary>\nHm\n</Details>",
            "<details type=\"reasoning\">\n<summary data-x=\"1\">Thought</summary>\n&gt; Hm\n</details>",
        ] {
            let found = unfold(&format!("One.\n{block}\nTwo."));
            assert_eq!((found.text.as_str(), found.thoughts), ("One.\n\nTwo.", vec!["Hm".to_owned()]), "{block}");
        }
        for kind in TOOL_TYPES {
            let found = unfold(&format!("<details type='{kind}' name=look>\n</details>Text."));
            assert_eq!((found.text.as_str(), found.tool_calls), ("Text.", vec![json!({"name": "look"})]), "{kind}");
        }
    }

    #[test]
    fn details_blocks_in_a_code_fence_stay() {
        let block = "<details type=\"reasoning\">Hm</details>";
        for text in [
            format!("So:\n```html\n{block}\n```\nDone."),
            format!("~~~~\n~~~\n{block}\n~~~~\nDone."),
            format!("```\n{block}"),
        ] {
            assert_eq!(unfold(&text), UnfoldedText { text: text.clone(), ..UnfoldedText::default() });
        }
        let after = unfold(&format!("```\na\n```\n{block}\nDone."));
        assert_eq!((after.text.as_str(), after.thoughts.len()), ("```\na\n```\n\nDone.", 1));
    }

    #[test]
    fn unescape_html_replaces_names_and_numbers() {
        for (text, plain) in [
            ("&lt;&gt;&quot;&apos;&amp;", "<>\"'&"),
            ("a&nbsp;b", "a\u{a0}b"),
            ("&#39;&#x27;&#X2019;&#128512;", "''\u{2019}\u{1f600}"),
            ("&amp;lt; stays", "&lt; stays"),
            ("a & b; &none; &#0; &#xFFFFFFFF; &#; &", "a & b; &none; &#0; &#xFFFFFFFF; &#; &"),
            ("&\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9};", "&\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9};"),
        ] {
            assert_eq!(unescape_html(text), plain);
        }
    }
}
