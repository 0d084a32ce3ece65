//! User-visible texts in one or several languages.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// A text in one or several languages: `"Combat"` or `{ en = "Combat", zh = "战斗" }`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LocalizedText {
    /// The text without a language, or the first of the table.
    first: String,
    by_language: Vec<(String, String)>,
}

impl LocalizedText {
    /// Creates a text without a language.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { first: text.into(), by_language: Vec::new() }
    }

    /// Creates a text in several languages from pairs of tag and text.
    pub fn in_languages<'a>(texts: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        let by_language: Vec<_> = texts.into_iter().map(|(tag, text)| (tag.to_owned(), text)).collect();
        let first = by_language.first().map(|(_, text)| text.clone()).unwrap_or_default();
        Self { first, by_language }
    }

    /// Returns the text for `language` (a tag such as `zh-CN`): the exact tag, else the same primary language, else
    /// English, else the first.
    pub fn get(&self, language: &str) -> &str {
        match best_language(self.by_language.iter().map(|(tag, _)| tag.as_str()), language) {
            Some(at) => self.by_language.get(at).map_or(self.first.as_str(), |(_, text)| text),
            None => &self.first,
        }
    }

    /// Returns every language with its text, in file order; empty if there is only one text.
    pub fn all(&self) -> &[(String, String)] {
        &self.by_language
    }
}

/// Returns the position of the tag that fits a language best.
pub(super) fn best_language<'a>(tags: impl Iterator<Item = &'a str> + Clone, language: &str) -> Option<usize> {
    let primary = |tag: &str| tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    let exact = tags.clone().position(|tag| tag.eq_ignore_ascii_case(language));
    let near = || tags.clone().position(|tag| primary(tag) == primary(language));
    exact.or_else(near).or_else(|| tags.clone().position(|tag| primary(tag) == "en"))
}

impl<'de> Deserialize<'de> for LocalizedText {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(LocalizedTextVisitor)
    }
}

struct LocalizedTextVisitor;

impl<'de> Visitor<'de> for LocalizedTextVisitor {
    type Value = LocalizedText;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, or a table of strings by language")
    }

    fn visit_str<E>(self, text: &str) -> Result<LocalizedText, E> {
        Ok(LocalizedText::plain(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LocalizedText, A::Error> {
        let mut by_language = Vec::new();
        while let Some(entry) = map.next_entry::<String, String>()? {
            by_language.push(entry);
        }
        let first = by_language.first().map(|(_, text)| text.clone()).unwrap_or_default();
        Ok(LocalizedText { first, by_language })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localized_text_returns_nearest_language() {
        #[derive(serde::Deserialize)]
        struct Holder {
            w: LocalizedText,
        }
        let read = |text: &str| toml::from_str::<Holder>(text).unwrap().w;
        let both = read("w = { zh-TW = \"戰鬥\", zh = \"战斗\", en = \"Combat\" }");
        let check = |language: &str, text: &str| assert_eq!(both.get(language), text, "{language}");
        check("zh-TW", "戰鬥");
        check("zh-CN", "戰鬥");
        check("zh", "战斗");
        check("en-GB", "Combat");
        check("fr", "Combat");
        assert_eq!(read("w = \"x\"").get("zh"), "x");
        assert_eq!(read("w = { fr = \"Lutte\" }").get("zh"), "Lutte");
    }
}
