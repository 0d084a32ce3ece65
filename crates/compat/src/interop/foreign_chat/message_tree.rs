//! Builds a tree from messages that refer to each other by id. References can be circular or dangling, and ids can be
//! duplicated. No message is dropped for that: a message without a valid parent becomes a root, and a finding reports
//! it.

use std::collections::HashMap;

use super::ForeignMessage;
use crate::interop::{FindingDetail, ImportFinding};

/// A message and its references.
#[derive(Debug, Default)]
pub struct UnlinkedMessage {
    pub id: String,
    /// Id of the message it answers.
    pub parent: Option<String>,
    /// Ids of the messages that answer it, in order, if the format has them.
    pub children: Vec<String>,
    /// The content. A message without content is skipped; its children become children of its parent.
    pub message: Option<ForeignMessage>,
    /// Reasoning of a message without content. It moves to the messages that answer it.
    pub reasoning: Option<String>,
    /// Whether a missing text is reported.
    pub expects_text: bool,
}

/// The tree.
#[derive(Debug, Default)]
pub struct MessageTree {
    /// The messages; each comes after its parent.
    pub messages: Vec<ForeignMessage>,
    /// Index of the message at which the chat was left.
    pub head: Option<usize>,
    pub findings: Vec<ImportFinding>,
}

/// Builds a tree. `current` is the id at which the chat was left; without it, that is the newest leaf.
pub fn build_tree(mut loose: Vec<UnlinkedMessage>, current: Option<&str>) -> MessageTree {
    let mut trouble = LinkProblems::default();
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(loose.len());
    let mut ranks: HashMap<&str, usize> = HashMap::new();
    for (n, one) in loose.iter().enumerate() {
        if !one.id.is_empty() && *places.entry(&one.id).or_insert(n) != n {
            trouble.twice += 1;
        }
        for (rank, child) in one.children.iter().enumerate() {
            ranks.entry(child).or_insert(rank);
        }
    }
    // Some formats have references to children only.
    let mut above: HashMap<&str, usize> = HashMap::new();
    for (n, one) in loose.iter().enumerate() {
        one.children.iter().for_each(|child| _ = above.entry(child).or_insert(n));
    }
    // Link each message to its parent, or make it a root.
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); loose.len()];
    let mut tops = Vec::new();
    for (n, one) in loose.iter().enumerate() {
        let named = one.parent.as_deref().map(|parent| places.get(parent).copied());
        trouble.nowhere += usize::from(named == Some(None));
        let parent = named.flatten().or_else(|| above.get(one.id.as_str()).copied().filter(|_| one.parent.is_none()));
        match parent.filter(|parent| *parent != n).and_then(|parent| children.get_mut(parent)) {
            Some(siblings) => siblings.push(n),
            None => tops.push(n),
        }
    }
    // Order siblings as their parent lists them, then flatten the tree.
    let rank = |n: &usize| loose.get(*n).and_then(|one| ranks.get(one.id.as_str())).copied().unwrap_or(usize::MAX);
    children.iter_mut().for_each(|siblings| siblings.sort_by_key(rank));
    let current = current.and_then(|current| places.get(current).copied());
    let order = topological_order(&tops, &children, &mut trouble);
    let (mut messages, stands) = drop_empty_messages(&mut loose, &children, &order, &mut trouble);
    let head = current.and_then(|current| stands.get(current).copied().flatten()).or_else(|| newest_leaf(&messages));
    messages.shrink_to_fit();
    MessageTree { messages, head, findings: trouble.findings() }
}

/// Builds a linear chat. Each step has alternatives and the index of the chosen one, which the next step answers. A
/// missing message is reported.
pub fn build_line(steps: impl IntoIterator<Item = (Vec<Option<ForeignMessage>>, usize)>) -> MessageTree {
    let (mut message, mut head, mut trouble) = (Vec::new(), None, LinkProblems::default());
    for (alternatives, chosen) in steps {
        let above = head;
        for (n, one) in alternatives.into_iter().enumerate() {
            let Some(one) = one else {
                trouble.silent += 1;
                continue;
            };
            if n == chosen || head == above {
                head = Some(message.len());
            }
            message.push(ForeignMessage { parent: above, ..one });
        }
    }
    MessageTree { messages: message, head, findings: trouble.findings() }
}

/// Returns each message once with its parent, parents first. A cycle is cut at its first message in the file.
fn topological_order(
    tops: &[usize],
    children: &[Vec<usize>],
    trouble: &mut LinkProblems,
) -> Vec<(usize, Option<usize>)> {
    let mut order = Vec::with_capacity(children.len());
    let mut seen = vec![false; children.len()];
    let mut next: Vec<(usize, Option<usize>)> = tops.iter().rev().map(|top| (*top, None)).collect();
    let mut later = 0..children.len();
    loop {
        while let Some((n, above)) = next.pop() {
            let Some(seen) = seen.get_mut(n).filter(|seen| !**seen) else { continue };
            *seen = true;
            order.push((n, above));
            let below = children.get(n).into_iter().flatten();
            next.extend(below.rev().map(|child| (*child, Some(n))));
        }
        let Some(cut) = later.find(|n| seen.get(*n) == Some(&false)) else { return order };
        trouble.circles += 1;
        next.push((cut, None));
    }
}

/// Drops messages without content and moves their reasoning to the next message. Also returns, for each input message,
/// its index in the output, or that of its nearest ancestor with content.
fn drop_empty_messages(
    loose: &mut [UnlinkedMessage],
    children: &[Vec<usize>],
    order: &[(usize, Option<usize>)],
    trouble: &mut LinkProblems,
) -> (Vec<ForeignMessage>, Vec<Option<usize>>) {
    let mut messages: Vec<ForeignMessage> = Vec::with_capacity(order.len());
    let mut stands: Vec<Option<usize>> = vec![None; loose.len()];
    let mut thoughts: HashMap<usize, String> = HashMap::new();
    for (n, above) in order {
        let parent = above.and_then(|above| stands.get(above).copied().flatten());
        let before = above.and_then(|above| thoughts.get(&above).cloned());
        let Some(one) = loose.get_mut(*n) else { continue };
        let thought = super::keys::join_paragraphs(before.into_iter().chain(one.reasoning.take()));
        let is_end = children.get(*n).is_none_or(Vec::is_empty);
        let is_missed = one.expects_text && thought.is_empty();
        let own = one.message.take().or_else(|| (is_end && !thought.is_empty()).then(reasoning_only_message));
        let place = match own {
            Some(mut own) => {
                let whole = super::keys::join_paragraphs([thought].into_iter().chain(own.reasoning.take()));
                own.reasoning = Some(whole).filter(|whole| !whole.is_empty());
                own.parent = parent;
                messages.push(own);
                Some(messages.len() - 1)
            }
            None => {
                trouble.silent += usize::from(is_missed);
                if !thought.is_empty() {
                    thoughts.insert(*n, thought);
                }
                parent
            }
        };
        if let Some(stand) = stands.get_mut(*n) {
            *stand = place;
        }
    }
    (messages, stands)
}

/// Creates a message that contains only reasoning.
fn reasoning_only_message() -> ForeignMessage {
    ForeignMessage { role: super::ForeignRole::Assistant, ..ForeignMessage::default() }
}

/// Returns the newest message without replies.
fn newest_leaf(messages: &[ForeignMessage]) -> Option<usize> {
    let mut is_end = vec![true; messages.len()];
    for parent in messages.iter().filter_map(|one| one.parent) {
        is_end.get_mut(parent).into_iter().for_each(|is_end| *is_end = false);
    }
    let ends = messages.iter().enumerate().filter(|(n, _)| is_end.get(*n) == Some(&true));
    ends.max_by_key(|(n, one)| (one.date, *n)).map(|(n, _)| n)
}

/// Counts of invalid references and of missing texts.
#[derive(Default)]
struct LinkProblems {
    twice: usize,
    nowhere: usize,
    circles: usize,
    silent: usize,
}

impl LinkProblems {
    fn findings(self) -> Vec<ImportFinding> {
        let Self { twice, nowhere, circles, silent } = self;
        let all = [
            (twice > 0).then(|| ImportFinding::translated(&FindingDetail::SameIds { count: twice })),
            (nowhere > 0).then(|| ImportFinding::translated(&FindingDetail::MissingParents { count: nowhere })),
            (circles > 0).then(|| ImportFinding::translated(&FindingDetail::ReplyLoops { count: circles })),
            (silent > 0).then(|| ImportFinding::skipped(&FindingDetail::EmptyMessages { count: silent })),
        ];
        all.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unlinked_message(id: &str, parent: Option<&str>, text: Option<&str>) -> UnlinkedMessage {
        let message = text.map(|text| ForeignMessage { text: text.into(), ..ForeignMessage::default() });
        UnlinkedMessage { id: id.into(), parent: parent.map(str::to_owned), message, ..UnlinkedMessage::default() }
    }

    fn texts_with_parents(grown: &MessageTree) -> Vec<(String, Option<usize>)> {
        grown.messages.iter().map(|one| (one.text.clone(), one.parent)).collect()
    }

    #[test]
    fn message_tree_empty_messages_are_skipped() {
        let mut all = vec![
            unlinked_message("root", None, None),
            unlinked_message("a", Some("root"), Some("A")),
            unlinked_message("quiet", Some("a"), None),
            unlinked_message("b", Some("quiet"), Some("B")),
            unlinked_message("c", Some("quiet"), Some("C")),
            unlinked_message("end", Some("c"), None),
        ];
        all[2].reasoning = Some("Hm.".into());
        all[5].expects_text = true;
        all[2].children = vec!["c".into(), "b".into()];
        let grown = build_tree(all, Some("end"));
        assert_eq!(texts_with_parents(&grown), [("A".into(), None), ("C".into(), Some(0)), ("B".into(), Some(0))]);
        assert_eq!((grown.head, grown.messages[1].reasoning.as_deref()), (Some(1), Some("Hm.")));
        assert_eq!(grown.findings.len(), 1, "{:?}", grown.findings);
    }

    #[test]
    fn message_tree_reasoning_only_message_is_kept() {
        let mut all = vec![unlinked_message("a", None, Some("A")), unlinked_message("b", Some("a"), None)];
        all[1].reasoning = Some("Hm.".into());
        let grown = build_tree(all, None);
        assert_eq!((grown.messages.len(), grown.messages[1].reasoning.as_deref()), (2, Some("Hm.")));
    }

    #[test]
    fn message_tree_bad_links_are_reported() {
        let all = vec![
            unlinked_message("a", Some("b"), Some("A")),
            unlinked_message("b", Some("a"), Some("B")),
            unlinked_message("self", Some("self"), Some("S")),
            unlinked_message("stray", Some("nobody"), Some("X")),
            unlinked_message("stray", Some("stray"), Some("Y")),
        ];
        let grown = build_tree(all, Some("nobody"));
        let message = [("S", None), ("X", None), ("Y", Some(1)), ("A", None), ("B", Some(3))];
        assert_eq!(texts_with_parents(&grown), message.map(|(text, parent)| (text.to_owned(), parent)));
        let codes: Vec<&str> = grown.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["same_id", "parent_missing", "circle"]);
    }

    /// Nothing recurses, so a chat of any length works.
    #[test]
    fn message_tree_long_line_is_built() {
        let name = |n: usize| n.to_string();
        let all =
            (0..100_000).rev().map(|n| unlinked_message(&name(n), (n > 0).then(|| name(n - 1)).as_deref(), Some("x")));
        let grown = build_tree(all.collect(), None);
        assert_eq!((grown.messages.len(), grown.head), (100_000, Some(99_999)));
        assert!(grown.messages.iter().enumerate().all(|(n, one)| one.parent == n.checked_sub(1)));
    }

    proptest! {
        /// Whatever the references, each message occurs once and after its parent.
        #[test]
        fn message_tree_random_links_keep_each_message_once(links in prop::collection::vec((0..6_u8, prop::option::of(0..8_u8)), 0..12)) {
            let name = |n: u8| n.to_string();
            let all = links.iter().map(|(id, parent)| unlinked_message(&name(*id), parent.map(name).as_deref(), Some("x")));
            let grown = build_tree(all.collect(), None);
            prop_assert_eq!(grown.messages.len(), links.len());
            prop_assert!(grown.messages.iter().enumerate().all(|(n, one)| one.parent.is_none_or(|parent| parent < n)));
            prop_assert_eq!(grown.head.is_some(), !links.is_empty());
        }
    }
}
