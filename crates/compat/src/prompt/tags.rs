//! Texts that models write for machines (`<think>`, `<UpdateVariable>`…). They are hidden from readers and from later
//! prompts. [`clotho_core::thoughts`] finds thoughts. Those of new replies are in their reasoning, those of older
//! messages in their texts. `has_reasoning` tells both apart.

use std::borrow::Cow;

use clotho_core::thoughts::{ReplyParts, ThoughtMarks, is_thought_tag, mark_pair, split_reply};
use clotho_core::tree::Role;

/// Tag with which MVU cards mark their status panel. It is for display only.
const STATUS_PLACEHOLDER: &str = "StatusPlaceHolderImpl";

/// Tag for thoughts inside hidden blocks. It counts there even if the tag itself is not in the hidden list.
const INNER_THOUGHT_TAG: &str = "Analysis";

/// Removes thoughts, the blocks of these tags and status panel placeholders; `None` if the text has none of them.
pub fn hide_for_reader(text: &str, has_reasoning: bool, tags: &[String]) -> Option<String> {
    let hidden = hide_blocks(text, has_reasoning, tags);
    remove_status_placeholders(hidden.as_deref().unwrap_or(text)).or(hidden)
}

/// Removes status panel placeholders; `None` if there are none.
pub fn remove_status_placeholders(text: &str) -> Option<String> {
    let mut pieces = text.split('<');
    let mut out = pieces.next()?.to_owned();
    let mut found = false;
    for piece in pieces {
        let name = piece.strip_prefix('/').unwrap_or(piece);
        let is_it =
            name.get(..STATUS_PLACEHOLDER.len()).is_some_and(|name| name.eq_ignore_ascii_case(STATUS_PLACEHOLDER));
        match name.get(STATUS_PLACEHOLDER.len()..).and_then(|rest| rest.split_once('>')).filter(|_| is_it) {
            Some((inside, after)) if inside.trim_matches([' ', '/']).is_empty() => {
                found = true;
                out.push_str(after);
            }
            _ => {
                out.push('<');
                out.push_str(piece);
            }
        }
    }
    found.then(|| out.trim().to_owned())
}

/// Removes thoughts and the blocks of these tags, ignoring case; `None` if there are none. An unclosed block that is no
/// thought extends to the end.
pub fn hide_blocks(text: &str, has_reasoning: bool, tags: &[String]) -> Option<String> {
    let said = split_thoughts(text, has_reasoning, tags).map(|parts| parts.text);
    let rest = said.as_deref().unwrap_or(text);
    let hidden = remove_blocks(rest, |at| block_tags(tags).find_map(|tag| block(at, tag)));
    hidden.or(said).map(|rest| rest.trim().to_owned())
}

/// Returns a text without its thoughts. Hidden blocks for rules stay.
pub fn without_thoughts<'a>(text: &'a str, has_reasoning: bool, tags: &[String]) -> Cow<'a, str> {
    split_thoughts(text, has_reasoning, tags)
        .map_or(Cow::Borrowed(text), |parts| Cow::Owned(parts.text.trim().to_owned()))
}

/// Returns the thoughts in a text that has no reasoning beside it.
pub fn thoughts_in(text: &str, tags: &[String]) -> Option<String> {
    split_thoughts(text, false, tags).map(|parts| parts.thoughts).filter(|thoughts| !thoughts.is_empty())
}

/// Splits a text from its thoughts; `None` if it has none.
fn split_thoughts(text: &str, has_reasoning: bool, tags: &[String]) -> Option<ReplyParts> {
    let may_have_marks = text.contains(['<', '[', '◁']) || tags.iter().any(|tag| mark_pair(tag).is_some());
    may_have_marks.then(|| split_reply(text, has_reasoning, &ThoughtMarks::from_hidden_tags(tags))).flatten()
}

/// Returns the hidden tags that are none of thoughts.
fn block_tags(tags: &[String]) -> impl Iterator<Item = &String> {
    tags.iter().filter(|tag| !is_thought_tag(tag) && mark_pair(tag).is_none())
}

/// Removes the blocks that `found_at` finds at a `<`; `None` if there are none.
fn remove_blocks(text: &str, found_at: impl Fn(&str) -> Option<TagBlock>) -> Option<String> {
    replace_tags(text, |at| found_at(at).map(|block| (block.length, Some(String::new()))))
}

/// Replaces what `found_at` finds at each `<`; `None` if nothing was replaced.
///
/// `found_at` gets the text from the `<` on. It returns the length of the match and its replacement (`None` = keep it).
fn replace_tags(text: &str, found_at: impl Fn(&str) -> Option<(usize, Option<String>)>) -> Option<String> {
    // Most texts have no such tag: copy nothing before the first match.
    let mut changed: Option<String> = None;
    let (mut copied, mut at) = (0, 0);
    let from = |at: usize| text.get(at..).unwrap_or_default();
    while let Some(found) = from(at).find('<') {
        let start = at + found;
        let (whole, other) = found_at(from(start)).unwrap_or((1, None));
        at = start + whole;
        if let Some(other) = other {
            let out = changed.get_or_insert_default();
            out.push_str(text.get(copied..start).unwrap_or_default());
            out.push_str(&other);
            copied = at;
        }
    }
    let mut out = changed?;
    out.push_str(from(copied));
    Some(out)
}

/// Returns a reply as rules read it: without hidden thoughts.
///
/// Hidden blocks meant for rules stay, without the thoughts inside. An unclosed thought inside of an unclosed block
/// hides as much as it hides from readers.
pub fn text_for_rules<'a>(role: Role, text: &'a str, has_reasoning: bool, tags: &[String]) -> Cow<'a, str> {
    if role != Role::Assistant {
        return Cow::Borrowed(text);
    }
    let said = without_thoughts(text, has_reasoning, tags);
    let heard = replace_tags(&said, |at| {
        let block = block_tags(tags).find_map(|tag| block(at, tag))?;
        let whole = at.get(..block.length).unwrap_or_default();
        Some((block.length, block_without_thoughts(whole, tags, block.is_closed)))
    });
    heard.map_or(said, |heard| Cow::Owned(heard.trim().to_owned()))
}

/// Removes the thoughts inside a block. In a closed block an unclosed thought is a mistake of the model and hides
/// nothing.
fn block_without_thoughts(whole: &str, tags: &[String], is_closed: bool) -> Option<String> {
    let inner = [INNER_THOUGHT_TAG.to_owned()];
    let thoughts: Vec<&String> = tags.iter().filter(|tag| is_thought_tag(tag)).chain(&inner).collect();
    let thought = |at: &str| thoughts.iter().find_map(|tag| block(at, tag));
    remove_blocks(whole, |at| thought(at).filter(|block| block.is_closed || !is_closed))
}

/// Returns a message as models get it. Only assistant messages are changed; user text is sent as written.
pub fn text_for_model<'a>(role: Role, text: &'a str, has_reasoning: bool, tags: &[String]) -> Cow<'a, str> {
    let hidden = if role == Role::Assistant { hide_for_reader(text, has_reasoning, tags) } else { None };
    hidden.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// A block from its opening tag to the end of its closing tag.
struct TagBlock {
    /// Length in bytes.
    length: usize,
    is_closed: bool,
}

/// Returns the block of a tag that begins at the start of `at`.
fn block(at: &str, tag: &str) -> Option<TagBlock> {
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
    Some(TagBlock { length: end.map_or(at.len(), |(i, _)| i + closing.len()), is_closed: end.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S3-18: tags are stripped from the shown text; prose stays as it is.
    #[test]
    fn tags_hidden_blocks_are_removed_prose_stays() {
        let tags = ["think".to_owned(), "UpdateVariable".to_owned()];
        for (text, expected) in [
            ("plain <b>prose</b>", None),
            ("<think>hm</think>Hello", Some("Hello")),
            ("Hello <updatevariable a=1>\n_.add('hp', -1);\n</UpdateVariable> there", Some("Hello  there")),
            ("<think>never closed", Some("")),
            ("Hello <think>never closed", None),
            ("Hello <UpdateVariable>never closed", Some("Hello")),
            ("<thinker>stays</thinker>", None),
            ("天<updatevariable>x</UPDATEVARIABLE>地", Some("天地")),
            ("A plan.\n</think>\nHello", Some("Hello")),
            ("<UpdateVariable>a</UpdateVariable>\n</think>\nHello<UpdateVariable>b", Some("Hello")),
            ("She wrote `<think>x</think>` on it.", None),
        ] {
            assert_eq!(hide_for_reader(text, false, &tags).as_deref(), expected, "{text}");
            assert_eq!(text_for_model(Role::Assistant, text, false, &tags), expected.unwrap_or(text));
            assert_eq!(text_for_model(Role::User, text, false, &tags), text, "what people write goes as it stands");
            assert_eq!(hide_blocks(text, false, &tags), hide_for_reader(text, false, &tags));
        }
    }

    /// Plugins 3.1: rules do not read hidden thoughts; blocks meant for rules stay.
    #[test]
    fn tags_text_for_rules_omits_thoughts() {
        let tags = ["think".to_owned(), "UpdateVariable".to_owned()];
        for (text, expected) in [
            ("plain", "plain"),
            ("<Think>_.add('hp', -9);</think>She waits.", "She waits."),
            ("<think>x<UpdateVariable>a</UpdateVariable></think>b", "b"),
            ("a <UpdateVariable>b</UpdateVariable> c", "a <UpdateVariable>b</UpdateVariable> c"),
            (
                "a<UpdateVariable><Analysis>_.x</Analysis><think>y</think>b</UpdateVariable>c",
                "a<UpdateVariable>b</UpdateVariable>c",
            ),
            ("a<UpdateVariable><think>b</UpdateVariable>c", "a<UpdateVariable><think>b</UpdateVariable>c"),
            ("a<UpdateVariable>b<Analysis>c", "a<UpdateVariable>b"),
            ("<analysis>is shown here</analysis>", "<analysis>is shown here</analysis>"),
            ("_.add('hp', -9);</think>She waits.", "She waits."),
            ("<|channel|>analysis<|message|>_.x<|end|><|start|>assistant<|channel|>final<|message|>b", "b"),
            ("天<think>地", "天<think>地"),
        ] {
            assert_eq!(text_for_rules(Role::Assistant, text, false, &tags), expected, "{text}");
            assert_eq!(text_for_rules(Role::User, text, false, &tags), text);
        }
    }

    /// The text of a reply whose thoughts are stored beside it may speak of a closing mark.
    #[test]
    fn tags_text_beside_reasoning_keeps_lone_mark() {
        let tags = ["think".to_owned()];
        let text = "She says </think> to me.";
        assert_eq!(hide_for_reader(text, true, &tags), None);
        assert_eq!(text_for_model(Role::Assistant, text, true, &tags), text);
        assert_eq!(text_for_rules(Role::Assistant, text, true, &tags), text);
        assert_eq!(without_thoughts("<think>a</think>\nb<UpdateVariable>c", false, &tags), "b<UpdateVariable>c");
        assert_eq!(without_thoughts(text, false, &[]), text);
        assert_eq!(thoughts_in("<think>a</think>b", &tags).as_deref(), Some("a"));
        assert_eq!(thoughts_in("a <think> b", &tags), None);
    }

    /// Plugins 3.1: the status panel placeholder is for readers and never sent.
    #[test]
    fn tags_status_placeholder_is_not_sent() {
        let tags = ["think".to_owned()];
        for (text, expected) in [
            ("Hello.\n\n<StatusPlaceHolderImpl/>", "Hello."),
            ("<think>x</think>Hello.<statusplaceholderimpl /> a < b", "Hello. a < b"),
            ("<StatusPlaceHolderImpl></StatusPlaceHolderImpl>Hi", "Hi"),
            ("<StatusPlaceHolderImplX/> <StatusPlaceHolderImpl", "<StatusPlaceHolderImplX/> <StatusPlaceHolderImpl"),
        ] {
            assert_eq!(text_for_model(Role::Assistant, text, false, &tags), expected);
        }
        assert_eq!(hide_blocks("Hello.<StatusPlaceHolderImpl/>", false, &tags), None);
    }
}
