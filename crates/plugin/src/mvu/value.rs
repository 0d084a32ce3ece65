//! Parses values as models write them: JSON with quotes of any kind, bare keys, trailing commas, comments, a plus sign,
//! sums of numbers. Anything else is a string.

use std::iter::Peekable;
use std::str::CharIndices;

use serde_json::{Map, Number, Value};

use super::arithmetic::calculate;

/// The deepest nesting.
const MAX_DEPTH: usize = 32;

/// Parses a value; a text that does not parse is a string.
pub(super) fn read(text: &str) -> Value {
    let trimmed = text.trim();
    let mut reader = RelaxedJsonReader::new(trimmed);
    let whole = reader.value(MAX_DEPTH).filter(|_| reader.at_end());
    whole.unwrap_or_else(|| Value::String(trimmed.replace('\0', "")))
}

/// Parses an object at the start of a text; returns it and the rest.
pub(super) fn read_object(text: &str) -> Option<(Map<String, Value>, &str)> {
    let mut reader = RelaxedJsonReader::new(text);
    match reader.value(MAX_DEPTH)? {
        Value::Object(map) => {
            let rest = reader.rest();
            Some((map, rest))
        }
        _ => None,
    }
}

/// Parses an object like [`read_object`], of initial values. Infinite numbers become [`unstorable_number`].
pub(super) fn read_initial_object(text: &str) -> Option<Map<String, Value>> {
    let mut reader = RelaxedJsonReader { reads_infinity: true, ..RelaxedJsonReader::new(text) };
    if let Value::Object(map) = reader.value(MAX_DEPTH)? { Some(map) } else { None }
}

/// Returns a number that is too large to be stored. It stands for infinity and NaN, which JSON does not have, until it
/// is left out.
pub(super) fn unstorable_number() -> Value {
    "1e999".parse::<Number>().map_or(Value::Null, Value::Number)
}

/// Returns the number of a value that must be one, also in quotes.
pub(super) fn number(value: &Value) -> Option<Value> {
    match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => {
            let text = text.trim();
            relaxed_number(text).or_else(|| calculate(text)).map(Value::Number)
        }
        _ => None,
    }
}

/// Returns the closing quote for an opening one.
pub(super) const fn closing_quote(opening: char) -> Option<char> {
    match opening {
        '"' | '\'' | '`' => Some(opening),
        '“' => Some('”'),
        '‘' => Some('’'),
        '「' => Some('」'),
        _ => None,
    }
}

/// Returns the text before a comment at the end of a line. A comment begins after white space, so that addresses and
/// colours are none.
fn without_comment(text: &str) -> &str {
    let is_comment = |(at, sign): &(usize, &str)| {
        let before = text.get(..*at).unwrap_or_default();
        let after = text.get(at + sign.len()..).unwrap_or_default();
        (before.is_empty() || before.ends_with(char::is_whitespace)) && (*sign != "#" || after.starts_with(' '))
    };
    let first = ["//", "/*", "#"].iter().filter_map(|sign| text.match_indices(sign).find(is_comment)).map(|(at, _)| at);
    text.get(..first.min().unwrap_or(text.len())).unwrap_or_default().trim_end()
}

/// Parses a number in relaxed notation: `+3`, `.5`, `5.`.
pub(super) fn relaxed_number(text: &str) -> Option<Number> {
    let (minus, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if text.len() > 64 || !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let lead = if digits.starts_with('.') { "0" } else { "" };
    let tail = if digits.ends_with('.') { "0" } else { "" };
    serde_json::from_str(&format!("{minus}{lead}{digits}{tail}")).ok()
}

struct RelaxedJsonReader<'t> {
    text: &'t str,
    chars: Peekable<CharIndices<'t>>,
    /// Whether `Infinity` and `NaN` are numbers. Otherwise they are no values.
    reads_infinity: bool,
}

impl<'t> RelaxedJsonReader<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, chars: text.char_indices().peekable(), reads_infinity: false }
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, c)| *c)
    }

    fn here(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |(at, _)| *at)
    }

    fn rest(&mut self) -> &'t str {
        let at = self.here();
        self.text.get(at..).unwrap_or_default()
    }

    fn at_end(&mut self) -> bool {
        self.skip_space();
        self.chars.peek().is_none()
    }

    fn take(&mut self, wanted: char) -> bool {
        self.chars.next_if(|(_, c)| *c == wanted).is_some()
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) {
        loop {
            while self.chars.next_if(|(_, c)| c.is_whitespace()).is_some() {}
            let rest = self.rest();
            let skip = if rest.starts_with("//") || rest.starts_with("# ") {
                rest.find('\n').unwrap_or(rest.len())
            } else if rest.starts_with("/*") {
                rest.find("*/").map_or(rest.len(), |end| end + 2)
            } else {
                return;
            };
            let until = self.here() + skip;
            while self.chars.next_if(|(at, _)| *at < until).is_some() {}
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        self.skip_space();
        match self.peek()? {
            '{' => self.map(depth),
            '[' => self.list(depth),
            quote if closing_quote(quote).is_some() => self.quoted().map(Value::String),
            _ => self.literal(),
        }
    }

    fn map(&mut self, depth: usize) -> Option<Value> {
        self.chars.next();
        let mut map = Map::new();
        loop {
            self.skip_space();
            if self.take('}') {
                return Some(Value::Object(map));
            }
            let key = match self.peek()? {
                quote if closing_quote(quote).is_some() => self.quoted()?,
                _ => self.bare_word(|c| c == ':' || c == '{' || c == '}' || c == ','),
            };
            self.skip_space();
            if key.is_empty() || !self.take(':') {
                return None;
            }
            let value = self.value(depth)?;
            map.insert(key, value);
            self.skip_space();
            if !self.take(',') && self.peek()? != '}' {
                return None;
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.chars.next();
        let mut list = Vec::new();
        loop {
            self.skip_space();
            if self.take(']') {
                return Some(Value::Array(list));
            }
            list.push(self.value(depth)?);
            self.skip_space();
            if !self.take(',') && self.peek()? != ']' {
                return None;
            }
        }
    }

    fn quoted(&mut self) -> Option<String> {
        let quote = closing_quote(self.chars.next()?.1)?;
        let mut out = String::new();
        loop {
            match self.chars.next()?.1 {
                c if c == quote => return Some(out),
                '\\' => match self.chars.next()?.1 {
                    'n' => out.push('\n'),
                    't' => out.push('\t'),
                    'r' => out.push('\r'),
                    'b' => out.push('\u{8}'),
                    'f' => out.push('\u{c}'),
                    'u' => out.push(self.unicode()?),
                    other => out.push(other),
                },
                '\0' => {}
                c => out.push(c),
            }
        }
    }

    /// Parses four hexadecimal digits, or a surrogate pair of two such escapes.
    fn unicode(&mut self) -> Option<char> {
        let first = self.hex()?;
        if !(0xd800..0xdc00).contains(&first) {
            return char::from_u32(first).filter(|c| *c != '\0');
        }
        if !(self.take('\\') && self.take('u')) {
            return None;
        }
        let second = self.hex()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
        char::from_u32(0x1_0000 + ((first - 0xd800) << 10) + second)
    }

    fn hex(&mut self) -> Option<u32> {
        let mut value = 0;
        for _ in 0..4 {
            value = value * 16 + self.chars.next()?.1.to_digit(16)?;
        }
        Some(value)
    }

    fn bare_word(&mut self, end: impl Fn(char) -> bool) -> String {
        let mut out = String::new();
        while let Some((_, c)) = self.chars.next_if(|(_, c)| !end(*c) && *c != '\n') {
            out.push(c);
        }
        out.trim().to_owned()
    }

    /// Parses a number, a sum of numbers or one of the value keywords.
    fn literal(&mut self) -> Option<Value> {
        let word = self.bare_word(|c| matches!(c, ',' | '}' | ']'));
        match without_comment(&word) {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" | "undefined" => Some(Value::Null),
            "Infinity" | "+Infinity" | "-Infinity" | "NaN" if self.reads_infinity => Some(unstorable_number()),
            number => relaxed_number(number).or_else(|| calculate(number)).map(Value::Number),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn mvu_value_relaxed_json_is_parsed() {
        let check = |text: &str, value: Value| assert_eq!(read(text), value, "{text}");
        check("12", json!(12));
        check("+3", json!(3));
        check("-.5", json!(-0.5));
        check("'it\\'s \"so\"'", json!("it's \"so\""));
        check("`x`", json!("x"));
        check("{a: 1, 'b c': [true, undefined,], /* no */ d: {}}", json!({"a": 1, "b c": [true, null], "d": {}}));
        check("\"\\u732b\\ud83d\\ude00\"", json!("猫😀"));
        check("very tired", json!("very tired"));
        check("15-3", json!(12));
        check("{hp: 10*2, mp: (-3)}", json!({"hp": 20, "mp": -3}));
        check("'15-3'", json!("15-3"));
        check("“calm”", json!("calm"));
        check("{“a b”: ‘it's’}", json!({"a b": "it's"}));
        check("5 // how many", json!(5));
        check("5 # how many", json!(5));
        check("[1, // one\n 2, # two\n 3 /* three */]", json!([1, 2, 3]));
        check("#ff0000", json!("#ff0000"));
        check("http://a.example/b", json!("http://a.example/b"));
        check("{a: 1", json!("{a: 1"));
        check("", json!(""));
        check("123456789012345678901234567890", serde_json::from_str("123456789012345678901234567890").unwrap());
        assert_eq!(read(&"[".repeat(500)), json!("[".repeat(500)));
    }
}
