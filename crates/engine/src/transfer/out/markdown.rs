//! Writes a branch as Markdown. All special characters are escaped, so any CommonMark renderer shows the text as
//! written, line by line.

use super::readable_message::{ReadableHeader, ReadableMessage};

/// The width of a leading tab.
const TAB: usize = 4;
/// The characters that have a meaning anywhere.
const MARKS: &str = r"\`*_[]{}<>&~|$^!";

/// Returns everything before the messages.
pub fn header(title: &ReadableHeader) -> String {
    let mut parts = Vec::new();
    if !title.name.is_empty() {
        parts.push(format!("# {}\n\n", line(&title.name)));
    }
    let cast: Vec<String> = title.cast.iter().map(|(name, _)| line(name)).collect();
    let about = [cast.join(", "), title.days.join(" – ")];
    let about: Vec<&str> = about.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    if !about.is_empty() {
        parts.push(format!("{}\n\n", about.join(" · ")));
    }
    parts.concat()
}

/// Returns a message with the name of its speaker.
pub fn message(passage: &ReadableMessage<'_>) -> String {
    let name = if passage.name.is_empty() { String::new() } else { format!("**{}**\n\n", line(&passage.name)) };
    format!("{name}{}\n\n", text(passage.text))
}

/// Escapes a text of several lines. Line breaks are kept, and blank lines separate paragraphs.
fn text(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for (at, one) in lines.iter().enumerate() {
        out.push_str(&line(one));
        let is_followed = lines.get(at + 1).is_some_and(|next| !next.trim().is_empty());
        match at + 1 == lines.len() {
            true => {}
            false if !one.trim().is_empty() && is_followed => out.push_str("\\\n"),
            false => out.push('\n'),
        }
    }
    out
}

/// Escapes one line. Some characters have a meaning only at its beginning.
fn line(text: &str) -> String {
    let rest = text.trim_start();
    let blanks = text.chars().take_while(|c| c.is_whitespace()).map(|c| if c == '\t' { TAB } else { 1 });
    let mut out = "&nbsp;".repeat(blanks.sum());
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    for (at, c) in rest.char_indices() {
        let is_first = at == 0 && "#+-=:".contains(c);
        let is_of_list = at == digits && digits > 0 && matches!(c, '.' | ')');
        if MARKS.contains(c) || is_first || is_of_list {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

    use clotho_compat::interop::text::trim_blank_lines;

    /// Returns the text that a reader sees, and whether it is only text in paragraphs.
    fn rendered_text(markdown: &str) -> (String, bool) {
        let (mut text, mut is_plain) = (String::new(), true);
        // Smart punctuation would change dashes and quotation marks.
        let options = Options::all() - Options::ENABLE_SMART_PUNCTUATION;
        for event in Parser::new_ext(markdown, options) {
            match event {
                Event::Text(part) => text.push_str(&part),
                Event::HardBreak => text.push('\n'),
                Event::Start(Tag::Paragraph) if !text.is_empty() => text.push_str("\n\n"),
                Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => {}
                _ => is_plain = false,
            }
        }
        (text, is_plain)
    }

    fn assert_renders_as_written(text: &str) {
        let lines: Vec<String> = trim_blank_lines(text)
            .lines()
            .map(|line| {
                let rest = line.trim_end().trim_start();
                let blanks = line.trim_end().chars().take_while(|c| c.is_whitespace());
                let blanks: usize = blanks.map(|c| if c == '\t' { 4 } else { 1 }).sum();
                "\u{a0}".repeat(blanks) + rest
            })
            .collect();
        let mut expected = String::new();
        for line in lines {
            expected.push_str(&line);
            expected.push('\n');
        }
        while expected.contains("\n\n\n") {
            expected = expected.replace("\n\n\n", "\n\n");
        }
        let written = super::text(trim_blank_lines(text));
        assert_eq!(
            rendered_text(&written),
            (expected.trim_end_matches('\n').to_owned(), true),
            "{text:?} as {written:?}"
        );
    }

    #[test]
    fn markdown_export_special_characters_are_escaped() {
        for text in [
            "*waves* and _whispers_ ~~no~~ `code`",
            "# Not a heading\n## Nor this\nA line\n===\nB\n---",
            "- one\n+ two\n1. three\n2) four\n12345678901. five",
            "<b>bold</b> <!-- --> &amp; <https://a.example>",
            "[link](https://a.example) ![picture](x) [^1] [x]: y",
            "> quote\n\n\n    code\n\ttab",
            "    first\n  - set in\n\t\tdeep",
            "| a | b |\n| - | - |\n```\nfence\n```",
            "a\\\nb\\*c",
            "$x$ $$y$$ :::note\n+++\n---\n***",
            "龙 says: *hm*…",
        ] {
            assert_renders_as_written(text);
        }
    }

    proptest! {
        /// S4-53: any text is rendered as written.
        #[test]
        fn markdown_export_any_text_renders_as_written(text in r"[a-c龙 \\`*_{}\[\]()#+.!<>&~|$=:;0-9\n\t-]{0,60}") {
            if !text.trim().is_empty() {
                assert_renders_as_written(&text);
            }
        }
    }
}
