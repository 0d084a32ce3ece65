//! Where in a text of JSON a place stands, so that an error in a schema names its line.

use crate::world::Pointer;

/// The line, counted from 1, of the key that a pointer leads to; of the last one on the way that is there.
pub(super) fn line_of(text: &str, place: &Pointer) -> Option<u32> {
    let mut scan = Scan { rest: text, found: None };
    scan.go(place.keys());
    let rest = scan.found?;
    let before = text.len().checked_sub(rest).and_then(|at| text.get(..at))?;
    u32::try_from(before.matches('\n').count()).ok()?.checked_add(1)
}

/// A look through JSON that is known to be well formed.
struct Scan<'t> {
    rest: &'t str,
    /// How much of the text there still was where the last key began that fits.
    found: Option<usize>,
}

impl<'t> Scan<'t> {
    fn next(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ',' | ':'));
        self.rest.chars().next()
    }

    fn drop_first(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }

    /// Goes in as far as the keys lead.
    fn go(&mut self, keys: &[String]) {
        let Some((key, rest)) = keys.split_first() else { return };
        match self.next() {
            Some('{') => {
                self.drop_first();
                while let Some('"') = self.next() {
                    let here = self.rest.len();
                    let text = self.text();
                    if serde_json::from_str::<String>(text).is_ok_and(|own| own == *key) {
                        self.found = Some(here);
                        return self.go(rest);
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
                        return self.go(rest);
                    }
                    left = left.saturating_sub(1);
                    self.skip();
                }
            }
            _ => {}
        }
    }

    /// A text with its quotes.
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

    /// Over one value.
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
    fn places_have_lines() {
        let text = "{\n \"a\": {\"b\": [1, \"}\\\"\",\n {\"c\": 2}]},\n \"d\": null,\n \"e/f\": {\n  \"g\": true}}";
        let check =
            |place: &str, line: Option<u32>| assert_eq!(line_of(text, &place.parse().unwrap()), line, "{place}");
        check("/a", Some(2));
        check("/a/b", Some(2));
        check("/a/b/2/c", Some(3));
        check("/d", Some(4));
        check("/e~1f/g", Some(6));
        check("/e~1f/gone/x", Some(5));
        check("/gone", None);
        check("", None);
    }
}
