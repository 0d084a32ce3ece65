//! Finds the chat files that form one story, and the position of a message in it.
//!
//! SillyTavern copies the whole chat when it branches, so the files of one card share their beginnings. The position of
//! a message is a hash of everything said up to it, its [`PathHash`]. Files with equal hashes share that part of the
//! story. Only hashes are kept, not texts. Nothing recurses, because a chat can have any length.
//!
//! Files form one tree if they share the first message of the user, or if one names the other ([`group_trees`]). Files
//! that share only the greeting are separate stories. A known story id takes precedence over the texts.

use std::collections::HashMap;

use uuid::Uuid;

use super::chat::ChatFileMessage;

/// The position of a message: a hash of everything said up to and including it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PathHash([u8; 16]);

impl PathHash {
    /// The position before the first message.
    pub const ROOT: Self = Self([0; 16]);

    /// Returns the bytes as stored.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Returns the bytes in hexadecimal.
    pub fn hex(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }

    /// Returns the position of a text below this one. `place` counts from 0 among alternatives with the same text.
    pub fn child(self, is_user: bool, name: &str, text: &str, place: usize) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.0);
        hasher.update(&[u8::from(is_user)]);
        for part in [name, text] {
            hasher.update(&part.len().to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.update(&place.to_le_bytes());
        let mut short = [0; 16];
        hasher.finalize_xof().fill(&mut short);
        Self(short)
    }

    /// Returns the position of each alternative of a message.
    pub fn swipe_hashes(self, row: &ChatFileMessage) -> Vec<Self> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let each = row.swipes.iter().map(|alternative| {
            let place = places.entry(&alternative.text).or_default();
            let address = self.child(row.is_user, &row.name, &alternative.text, *place);
            *place += 1;
            address
        });
        each.collect()
    }
}

/// The facts about a chat file that decide its tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatOutline {
    /// The name by which other files refer to it.
    pub name: String,
    /// Position of the first message.
    pub first: Option<PathHash>,
    /// Position of the first message of the user.
    pub first_user: Option<PathHash>,
    /// The file that it branched from.
    pub parent: Option<String>,
    /// The files that branch from it or are bookmarked in it.
    pub links: Vec<String>,
    /// The story id, if known. Files with the same id form one tree; files with different ids never do.
    pub story_id: Option<Uuid>,
}

impl ChatOutline {
    /// Adds the message below `at`. Returns the positions of its alternatives.
    pub fn push_message(&mut self, at: PathHash, row: &ChatFileMessage) -> Vec<PathHash> {
        let addresses = at.swipe_hashes(row);
        let shown = addresses.get(row.selected).copied();
        self.first = self.first.or(shown);
        if row.is_user {
            self.first_user = self.first_user.or(shown);
        }
        for link in row.links() {
            // A chat can name the same file in each of a million messages.
            if !self.links.iter().any(|known| known == link) {
                self.links.push(link.to_owned());
            }
        }
        addresses
    }
}

/// Groups files into trees, by index. Files that did not branch from another come first in a tree. Trees are in the
/// order of their first files.
pub fn group_trees(outlines: &[ChatOutline]) -> Vec<Vec<usize>> {
    let mut joined = FileGroups::new(outlines);
    // Join files with the same story id.
    let mut stories = HashMap::new();
    for (n, outline) in outlines.iter().enumerate() {
        if let Some(story) = outline.story_id {
            joined.join(n, *stories.entry(story).or_insert(n));
        }
    }
    // Join by name before joining by text, because equal texts can be chance.
    let names: HashMap<&str, usize> = outlines.iter().enumerate().map(|(n, one)| (one.name.as_str(), n)).collect();
    for (n, outline) in outlines.iter().enumerate() {
        for other in outline.links.iter().chain(&outline.parent).filter_map(|link| names.get(link.as_str())) {
            joined.join(n, *other);
        }
    }
    let (known, unknown): (Vec<usize>, Vec<usize>) = (0..outlines.len()).partition(|n| joined.story(*n).is_some());
    // Join files with the same first user message; files with a story id come first.
    let mut stems = HashMap::new();
    for n in known.into_iter().chain(unknown) {
        if let Some(stem) = outlines.get(n).and_then(|outline| outline.first_user) {
            joined.join(n, *stems.entry(stem).or_insert(n));
        }
    }
    // Collect the groups in the order of their first files.
    let mut trees: Vec<Vec<usize>> = Vec::new();
    let mut places = HashMap::new();
    for n in 0..outlines.len() {
        let place = *places.entry(joined.find_root(n)).or_insert_with(|| {
            trees.push(Vec::new());
            trees.len() - 1
        });
        if let Some(tree) = trees.get_mut(place) {
            tree.push(n);
        }
    }
    // Put files that branch from another one last.
    let is_branch = |n: &usize| {
        let parent = outlines.get(*n).and_then(|outline| outline.parent.as_deref());
        parent.is_some_and(|parent| names.contains_key(parent))
    };
    trees.iter_mut().for_each(|tree| tree.sort_by_key(is_branch));
    trees
}

/// A union-find structure without recursion: the parent of each file, and the story id of each root.
struct FileGroups(Vec<(usize, Option<Uuid>)>);

impl FileGroups {
    fn new(outlines: &[ChatOutline]) -> Self {
        Self(outlines.iter().enumerate().map(|(n, outline)| (n, outline.story_id)).collect())
    }

    fn find_root(&mut self, mut n: usize) -> usize {
        while let Some(&(above, _)) = self.0.get(n).filter(|(above, _)| *above != n) {
            let higher = self.0.get(above).map_or(above, |(higher, _)| *higher);
            if let Some((place, _)) = self.0.get_mut(n) {
                *place = higher;
            }
            n = higher;
        }
        n
    }

    fn story(&mut self, n: usize) -> Option<Uuid> {
        let top = self.find_root(n);
        self.0.get(top).and_then(|(_, story)| *story)
    }

    /// Joins two groups, unless they belong to different stories.
    fn join(&mut self, one: usize, other: usize) {
        let (of_one, of_other) = (self.story(one), self.story(other));
        if of_one.is_some() && of_other.is_some() && of_one != of_other {
            return;
        }
        let (one, other) = (self.find_root(one), self.find_root(other));
        let (low, high) = (one.min(other), one.max(other));
        for (place, above) in [(high, low), (low, low)] {
            if let Some(place) = self.0.get_mut(place) {
                *place = (above, of_one.or(of_other));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use proptest::prelude::*;

    use super::*;
    use crate::interop::chat::ChatFileSwipe;

    /// A compact chat file: for each message whether the user speaks, its texts, and the selected one.
    type ChatFileSketch = Vec<(bool, Vec<u8>, usize)>;

    fn file_rows(file: &ChatFileSketch) -> Vec<ChatFileMessage> {
        let row = |(is_user, texts, chosen): &(bool, Vec<u8>, usize)| ChatFileMessage {
            name: if *is_user { "Wren" } else { "Rin" }.into(),
            is_user: *is_user,
            swipes: texts
                .iter()
                .map(|text| ChatFileSwipe { text: text.to_string(), ..ChatFileSwipe::default() })
                .collect(),
            selected: chosen % texts.len(),
            ..ChatFileMessage::default()
        };
        file.iter().map(row).collect()
    }

    /// A position in the reference model: every text on the path, with its rank among equal texts.
    type RankedPath = Vec<(bool, String, usize)>;

    /// Returns all positions of a file, found by comparing texts.
    fn message_paths(file: &ChatFileSketch) -> BTreeSet<RankedPath> {
        let (mut found, mut here) = (BTreeSet::new(), RankedPath::new());
        for row in file_rows(file) {
            let each = row.swipes.iter().enumerate().map(|(n, one)| {
                let before = row.swipes.iter().take(n).filter(|other| other.text == one.text).count();
                let mut way = here.clone();
                way.push((row.is_user, one.text.clone(), before));
                way
            });
            let each: Vec<RankedPath> = each.collect();
            found.extend(each.iter().cloned());
            here = each[row.selected].clone();
        }
        found
    }

    fn path_to_first_user(file: &ChatFileSketch) -> Option<RankedPath> {
        let mut here = RankedPath::new();
        for row in file_rows(file) {
            let shown = &row.swipes[row.selected];
            let before = row.swipes.iter().take(row.selected).filter(|other| other.text == shown.text).count();
            here.push((row.is_user, shown.text.clone(), before));
            if row.is_user {
                return Some(here);
            }
        }
        None
    }

    fn build_outline(
        name: usize,
        file: &ChatFileSketch,
        links: &[usize],
    ) -> (ChatOutline, BTreeSet<(PathHash, PathHash)>) {
        let mut outline = ChatOutline { name: name.to_string(), ..ChatOutline::default() };
        outline.links = links.iter().map(usize::to_string).collect();
        let (mut at, mut edges) = (PathHash::ROOT, BTreeSet::new());
        for row in file_rows(file) {
            let addresses = outline.push_message(at, &row);
            edges.extend(addresses.iter().map(|address| (at, *address)));
            at = addresses[row.selected];
        }
        (outline, edges)
    }

    fn any_files() -> impl Strategy<Value = Vec<(ChatFileSketch, Vec<usize>)>> {
        let row = (any::<bool>(), prop::collection::vec(0..3_u8, 1..4), 0..3_usize);
        let file = (prop::collection::vec(row, 0..6), prop::collection::vec(0..8_usize, 0..2));
        // Few distinct texts, so that files often share a beginning.
        prop::collection::vec(file, 1..8)
    }

    proptest! {
        /// Domain 2.1: the trees equal those of a slow comparison of whole texts, node for node.
        #[test]
        fn chat_tree_random_files_match_reference_model(files in any_files()) {
            let all: Vec<_> = files.iter().enumerate().map(|(n, (file, links))| build_outline(n, file, links)).collect();
            let outlines: Vec<ChatOutline> = all.iter().map(|(outline, _)| outline.clone()).collect();
            let found = group_trees(&outlines);
            // The model: join all files that have a reason to be joined, until nothing changes.
            let mut tree: Vec<usize> = (0..files.len()).collect();
            loop {
                let before = tree.clone();
                for (a, (one, links)) in files.iter().enumerate() {
                    for (b, (other, _)) in files.iter().enumerate() {
                        let is_shared = path_to_first_user(one).is_some() && path_to_first_user(one) == path_to_first_user(other);
                        if is_shared || links.contains(&b) {
                            let low = tree[a].min(tree[b]);
                            (tree[a], tree[b]) = (low, low);
                        }
                    }
                }
                if tree == before { break }
            }
            let mut model: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
            for (n, top) in tree.iter().enumerate() { model.entry(*top).or_default().insert(n); }
            let found_sets: BTreeSet<BTreeSet<usize>> = found.iter().map(|tree| tree.iter().copied().collect()).collect();
            prop_assert_eq!(&found_sets, &model.into_values().collect::<BTreeSet<_>>());
            for tree in found {
                let edges: BTreeSet<_> = tree.iter().flat_map(|n| all[*n].1.clone()).collect();
                let ways: BTreeSet<RankedPath> = tree.iter().flat_map(|n| message_paths(&files[*n].0)).collect();
                prop_assert_eq!(edges.len(), ways.len());
                let children: BTreeSet<PathHash> = edges.iter().map(|(_, child)| *child).collect();
                prop_assert_eq!(children.len(), edges.len(), "each place has one parent");
            }
        }
    }

    #[test]
    fn chat_tree_cyclic_or_dangling_links_are_ignored() {
        let outline = |name: &str, parent: Option<&str>, links: &[&str]| ChatOutline {
            name: name.into(),
            parent: parent.map(str::to_owned),
            links: links.iter().map(|link| (*link).to_owned()).collect(),
            ..ChatOutline::default()
        };
        let all = [
            outline("a", Some("b"), &["b", "a", "nowhere"]),
            outline("b", Some("a"), &["a", "a"]),
            outline("c", None, &[]),
            outline("d", Some("nowhere"), &["e"]),
            outline("e", None, &[]),
        ];
        assert_eq!(group_trees(&all), [vec![0, 1], vec![2], vec![3, 4]]);
        let line: Vec<ChatOutline> =
            (0..100_000).map(|n: usize| outline(&n.to_string(), Some(&(n + 1).to_string()), &[])).collect();
        assert_eq!(group_trees(&line).len(), 1);
    }
    /// S4-53: files with one story id form one tree, and files with different ids never do. A file without an id joins
    /// the tree it names, or else one with the same beginning.
    #[test]
    fn chat_tree_known_story_id_decides_grouping() {
        let (a, b) = (Some(Uuid::from_u128(1)), Some(Uuid::from_u128(2)));
        let stem = |n: u8| Some(PathHash([n; 16]));
        let outline = |name: &str, story: Option<Uuid>, stem: Option<PathHash>, links: &[&str]| ChatOutline {
            name: name.into(),
            story_id: story,
            first_user: stem,
            links: links.iter().map(|link| (*link).to_owned()).collect(),
            ..ChatOutline::default()
        };
        let all = [
            outline("new", None, stem(1), &[]),
            outline("a", a, stem(1), &["b"]),
            outline("b", b, stem(1), &[]),
            outline("a 2", a, stem(2), &[]),
            outline("of b", None, stem(1), &["b"]),
            outline("of both", None, stem(2), &["a", "b"]),
            outline("apart", None, stem(3), &[]),
        ];
        assert_eq!(group_trees(&all), [vec![0, 1, 3, 5], vec![2, 4], vec![6]]);
    }
}
