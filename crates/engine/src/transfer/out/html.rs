//! Writes a branch as one self-contained HTML page: no script, no external resources, dark if the reader's system is.
//!
//! Texts are rendered as Markdown. HTML in them is shown as text, an image by its alt text, and a link only if it
//! leads to the web or to mail. The content security policy in the head enforces the same.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

use super::readable_message::{ReadableHeader, ReadableMessage};
use clotho_core::tree::Role;

/// What follows the messages.
pub const END: &str = "</main>\n</body>\n</html>\n";
/// The style sheet.
const STYLE: &str = "\
:root{color-scheme:light dark}\
body{margin:0 auto;max-width:42rem;padding:2rem 1rem 6rem;font:1.05rem/1.6 Georgia,'Noto Serif','Noto Serif CJK SC',serif}\
header{text-align:center;margin-bottom:3rem}\
h1{line-height:1.2;margin:0 0 1rem}\
ul.cast{list-style:none;display:flex;flex-wrap:wrap;gap:1rem 1.5rem;justify-content:center;margin:0 0 1rem;padding:0}\
ul.cast img{display:block;width:4rem;height:4rem;object-fit:cover;border-radius:50%;margin:0 auto .3rem}\
time,h2{opacity:.75;font-size:.9rem}\
h2{margin:0 0 .2rem;font-family:system-ui,sans-serif}\
article{margin:0 0 1.6rem;overflow-wrap:anywhere}\
article.user{border-inline-start:.2rem solid;padding-inline-start:1rem}\
article.system{opacity:.8;font-style:italic}\
p{margin:.5em 0}\
pre{overflow-x:auto;padding:.7rem;border:1px solid;border-radius:.3rem}\
blockquote{margin-inline:1rem;padding-inline-start:1rem;border-inline-start:.15rem solid}\
table{border-collapse:collapse}td,th{border:1px solid;padding:.2rem .5rem}\
@media print{article{break-inside:avoid}}";

/// Returns everything before the messages.
pub fn header(title: &ReadableHeader) -> String {
    let name = escape(&title.name);
    let cast: String = title
        .cast
        .iter()
        .map(|(name, picture)| {
            let picture = picture.as_ref().map(|file| {
                format!("<img alt=\"\" src=\"data:{};base64,{}\">", escape(&file.kind), STANDARD.encode(&file.bytes))
            });
            format!("<li>{}<bdi>{}</bdi></li>", picture.unwrap_or_default(), escape(name))
        })
        .collect();
    let days: Vec<String> = title.days.iter().map(|day| format!("<time datetime=\"{day}\">{day}</time>")).collect();
    format!(
        "<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{name}</title>\n\
         <style>{STYLE}</style>\n</head>\n<body>\n<header>\n<h1 dir=\"auto\">{name}</h1>\n\
         <ul class=\"cast\">{cast}</ul>\n{}\n</header>\n<main>\n",
        days.join(" – "),
    )
}

/// Returns a message with the name of its speaker.
pub fn message(passage: &ReadableMessage<'_>) -> String {
    let class = match passage.role {
        Role::User => "user",
        Role::Assistant => "character",
        Role::System => "system",
    };
    let name = match passage.name.as_str() {
        "" => String::new(),
        name => format!("<h2 dir=\"auto\">{}</h2>\n", escape(name)),
    };
    format!("<article class=\"{class}\" dir=\"auto\">\n{name}{}</article>\n", text(passage.text))
}

/// Renders a text as harmless HTML.
fn text(text: &str) -> String {
    let parser = Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TABLES);
    let mut links = Vec::new();
    let mut out = String::with_capacity(text.len() + text.len() / 4);
    html::push_html(&mut out, parser.filter_map(|event| safe_event(event, &mut links)));
    out
}

/// Returns the safe form of an event. `links` holds for each open link whether it is shown.
fn safe_event<'a>(event: Event<'a>, links: &mut Vec<bool>) -> Option<Event<'a>> {
    Some(match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        // Keep the line breaks of role-play texts.
        Event::SoftBreak => Event::HardBreak,
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => return None,
        Event::Start(Tag::Link { ref dest_url, .. }) => {
            let is_shown = is_safe_link(dest_url);
            links.push(is_shown);
            return is_shown.then_some(event);
        }
        Event::End(TagEnd::Link) => return links.pop().unwrap_or(false).then_some(event),
        Event::Start(Tag::CodeBlock(_)) => {
            Event::Start(Tag::CodeBlock(pulldown_cmark::CodeBlockKind::Fenced(CowStr::Borrowed(""))))
        }
        other => other,
    })
}

fn is_safe_link(address: &str) -> bool {
    let start: String = address.chars().take(8).collect::<String>().to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|scheme| start.starts_with(scheme))
}

/// Escapes a text for elements and quoted attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_export_markup_is_escaped() {
        let check = |given: &str, expected: &str| assert_eq!(text(given), expected, "{given:?}");
        check("*waves*\nand **stays**", "<p><em>waves</em><br />\nand <strong>stays</strong></p>\n");
        check("<script>x</script>", "<p>&lt;script&gt;x&lt;/script&gt;</p>\n");
        check("a <b onclick=x>b</b>", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>\n");
        check("![see](https://a.example/x.png)", "<p>see</p>\n");
        check("[in](javascript:x) [out](https://a.example)", "<p>in <a href=\"https://a.example\">out</a></p>\n");
        check("[a](data:text/html,x)[b](JAVASCRIPT:x)[c](//a.example)", "<p>abc</p>\n");
        check("```js\"><i>\n<x>\n```", "<pre><code>&lt;x&gt;\n</code></pre>\n");
        check("\"Hm\" &amp; <!-- no -->", "<p>\"Hm\" &amp; &lt;!-- no --&gt;</p>\n");
    }

    proptest::proptest! {
        /// No text adds markup that could do something.
        #[test]
        fn html_export_any_text_adds_no_markup(given in r#"[a-c<>"'&!/ =:()\[\]`~*_\n-]{0,80}"#) {
            let shown = text(&given);
            let marks = regex::Regex::new(r"<(/?)([a-z0-9]+)([^>]*)>").unwrap();
            for mark in marks.captures_iter(&shown) {
                let tags = ["p", "em", "strong", "del", "br", "code", "pre", "a", "ul", "ol", "li", "blockquote", "hr", "table",
                    "thead", "tbody", "tr", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6"];
                proptest::prop_assert!(tags.contains(&&mark[2]), "{}", shown);
                let rest = &mark[3];
                proptest::prop_assert!(["", " /"].contains(&rest) || mark[2] == *"a" || rest.starts_with(" style=\"text-align"), "{}", shown);
            }
        }
    }
}
