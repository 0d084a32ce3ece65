//! Tags that models write for machines (`<think>`, `<UpdateVariable>`…): hidden from readers and from later prompts,
//! never taken out of the node.

use std::borrow::Cow;

use crate::tree::Role;

/// The text without the blocks of these tags, whatever their case. A block that is not closed is hidden to the end; a
/// text without such tags is returned as `None`.
pub fn hide(text: &str, tags: &[String]) -> Option<String> {
    let mut found = false;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        let (before, at) = rest.split_at(start);
        out.push_str(before);
        match tags.iter().find_map(|tag| block(at, tag)) {
            Some(length) => {
                found = true;
                rest = at.get(length..).unwrap_or_default();
            }
            None => {
                out.push('<');
                rest = at.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    found.then(|| out.trim().to_owned())
}

/// What a model is sent of a message. Models write for machines; what people write is meant as it stands.
pub fn sent<'a>(role: Role, text: &'a str, tags: &[String]) -> Cow<'a, str> {
    let hidden = if role == Role::Assistant { hide(text, tags) } else { None };
    hidden.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The length of the block of a tag that begins here.
fn block(at: &str, tag: &str) -> Option<usize> {
    let inner = at.strip_prefix('<')?;
    let name = inner.get(..tag.len())?;
    let ends = inner.get(tag.len()..)?.starts_with(|c: char| c == '>' || c.is_whitespace());
    if !name.eq_ignore_ascii_case(tag) || !ends {
        return None;
    }
    let closing = format!("</{tag}>");
    let end = at
        .char_indices()
        .find(|(i, _)| at.get(*i..i + closing.len()).is_some_and(|candidate| candidate.eq_ignore_ascii_case(&closing)));
    Some(end.map_or(at.len(), |(i, _)| i + closing.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3-18: tags are stripped from the shown text; prose stays as it is.
    #[test]
    fn blocks_are_hidden_and_prose_stays() {
        let tags = ["think".to_owned(), "UpdateVariable".to_owned()];
        for (text, expected) in [
            ("plain <b>prose</b>", None),
            ("<think>hm</think>Hello", Some("Hello")),
            ("Hello <updatevariable a=1>\n_.add('hp', -1);\n</UpdateVariable> there", Some("Hello  there")),
            ("Hello <think>never closed", Some("Hello")),
            ("<thinker>stays</thinker>", None),
            ("天<think>x</THINK>地", Some("天地")),
        ] {
            assert_eq!(hide(text, &tags).as_deref(), expected, "{text}");
            assert_eq!(sent(Role::Assistant, text, &tags), expected.unwrap_or(text));
            assert_eq!(sent(Role::User, text, &tags), text, "what people write goes as it stands");
        }
    }
}
