//! Finds the position of a JSON pointer in a JSON text, so that schema errors have line and column. Also finds
//! duplicate keys.

use std::collections::HashSet;

use clotho_core::world::Pointer;

/// Returns the byte offset of the key to which a pointer leads, or of its nearest existing ancestor.
pub(super) fn offset_of(text: &str, place: &Pointer) -> Option<usize> {
    let mut scan = JsonScan { rest: text, found: None };
    scan.descend(place.keys());
    text.len().checked_sub(scan.found?)
}

/// Returns the duplicate keys of every map, each with the offset of its repetition. The first value of such a key would
/// be lost.
pub(super) fn duplicate_keys(text: &str) -> Vec<(String, usize)> {
    let mut scan = JsonScan { rest: text, found: None };
    // The keys so far of each open map; `None` for a list.
    let mut open: Vec<Option<HashSet<String>>> = Vec::new();
    let mut found = Vec::new();
    while let Some(first) = scan.next() {
        match first {
            '{' | '[' => open.push((first == '{').then(HashSet::new)),
            '}' | ']' => _ = open.pop(),
            '"' => {
                let at = text.len().saturating_sub(scan.rest.len());
                let key = serde_json::from_str::<String>(scan.text()).unwrap_or_default();
                let is_key = scan.rest.trim_start().starts_with(':');
                if let Some(Some(known)) = open.last_mut().filter(|_| is_key)
                    && !known.insert(key.clone())
                {
                    found.push((key, at));
                }
                continue;
            }
            _ => {}
        }
        scan.drop_first();
    }
    found
}

/// A scanner for JSON that is known to be well formed.
struct JsonScan<'t> {
    rest: &'t str,
    /// Length of the remaining text at the last matching key.
    found: Option<usize>,
}

impl<'t> JsonScan<'t> {
    fn next(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':'));
        self.rest.chars().next()
    }

    fn drop_first(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }

    /// Descends as far as the keys exist.
    fn descend(&mut self, keys: &[String]) {
        let Some((key, rest)) = keys.split_first() else { return };
        match self.next() {
            Some('{') => {
                self.drop_first();
                while let Some('"') = self.next() {
                    let here = self.rest.len();
                    let text = self.text();
                    if serde_json::from_str::<String>(text).is_ok_and(|own| own == *key) {
                        self.found = Some(here);
                        return self.descend(rest);
                    }
                    self.skip();
                }
            }
            Some('[') => {
                self.drop_first();
                let mut left: usize = key.parse().unwrap_or(usize::MAX);
                while self.next().is_some_and(|c| c != ']') {
                    if left == 0 {
                        self.found = Some(self.rest.len());
                        return self.descend(rest);
                    }
                    left = left.saturating_sub(1);
                    self.skip();
                }
            }
            _ => {}
        }
    }

    /// Consumes a string; returns it with its quotes.
    fn text(&mut self) -> &'t str {
        let mut is_escaped = false;
        let end = self.rest.char_indices().skip(1).find_map(|(at, c)| {
            let ends = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            ends.then(|| at.saturating_add(1))
        });
        let (text, rest) = self.rest.split_at_checked(end.unwrap_or(self.rest.len())).unwrap_or((self.rest, ""));
        self.rest = rest;
        text
    }

    /// Skips one value.
    fn skip(&mut self) {
        let mut depth = 0_usize;
        loop {
            match self.next() {
                None => return,
                Some('"') => _ = self.text(),
                Some('{' | '[') => {
                    depth = depth.saturating_add(1);
                    self.drop_first();
                }
                Some('}' | ']') => {
                    depth = depth.saturating_sub(1);
                    self.drop_first();
                }
                Some(_) => {
                    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']');
                    let end = self.rest.find(ends).unwrap_or(self.rest.len());
                    self.rest = self.rest.get(end..).unwrap_or_default();
                }
            }
            if depth == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_position_pointer_returns_offset() {
        let text = "{\n \"a\": {\"b\": [1, \"}\\\"\",\n {\"c\": 2}]},\n \"d\": null,\n \"e/f\": {\n  \"g\": true}}";
        let check = |place: &str, key: Option<&str>| {
            let found = offset_of(text, &place.parse().unwrap());
            assert_eq!(found, key.map(|key| text.find(key).unwrap()), "{place}");
        };
        check("/a", Some("\"a\""));
        check("/a/b", Some("\"b\""));
        check("/a/b/2/c", Some("\"c\""));
        check("/d", Some("\"d\""));
        check("/e~1f/g", Some("\"g\""));
        check("/e~1f/gone/x", Some("\"e/f\""));
        check("/gone", None);
        check("", None);
    }

    #[test]
    fn json_position_duplicate_keys_are_found() {
        let text = r#"{"a": {"b": 1, "c": ["b", "b"], "\u0062": 2}, "b": {"a": "a"}, "a": "{\"b\": 1, \"b\": 2}"}"#;
        let again = [("b", text.find(r#""\u0062""#).unwrap()), ("a", text.rfind(r#""a": "{"#).unwrap())];
        assert_eq!(duplicate_keys(text), again.map(|(key, at)| (key.to_owned(), at)));
        assert!(duplicate_keys(r#"[{"a": 1}, {"a": 2}]"#).is_empty());
    }
}
