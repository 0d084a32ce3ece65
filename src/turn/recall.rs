//! What a prompt tells again of what it does not hold any more (`docs/memory.md`): messages on the way up from where
//! the history was cut, on this timeline and no other, and documents of the collections that the session looks through.
//!
//! Words are always looked at; vectors where a model of embeddings is set and has made some. The vector of what was
//! said last is made before the prompt is ([`Memories::ask`]), because that is read in one go; a model that does not
//! answer in time costs the vectors of one prompt and nothing else, and the trace says so.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::clock::Time;
use crate::config;
use crate::ids::{NodeId, SessionId, UserId};
use crate::prompt::lore;
use crate::prompt::preset::{Piece, Said};
use crate::prompt::recall::{self, Counted, Memory, Nearest, Query};
use crate::prompt::{Cast, Line, Measure, Sent, tags};
use crate::provider::Embedder;
use crate::search::Terms;
use crate::store::{Document, Placed, Reader, Show, Store, StoreError};
use crate::tree::{Node, Role};

use super::fill;
use super::scene::Scene;
use super::scripted::Scripted;

/// So many texts are looked at, the newest ones, and so many bytes of them.
const MOST: usize = 20_000;
const MOST_BYTES: usize = 32 << 20;
/// Texts that are read at once.
const PAGE: i64 = 256;
/// So many places of each ranking count.
const PLACES: usize = 64;
/// What was said before the last word weighs less.
const BEFORE: f32 = 0.3;
/// A last word that is shorter says too little for a vector: what was said before it is put in front.
const SHORT: usize = 24;
/// No text of fewer tokens than these is worth it.
const LEAST: usize = 16;
/// Vectors of questions that are kept in memory.
const KEPT: usize = 64;
/// A model that failed is left alone for so many milliseconds.
const REST_MS: u64 = 15_000;
/// What names the block in a trace.
pub const SLOT: &str = "memories";

/// Who asks for vectors of questions.
pub struct Memories {
    settings: config::Recall,
    embedder: Option<Embedder>,
    kept: Mutex<VecDeque<(blake3::Hash, Arc<[f32]>)>>,
    /// When the model failed last, and why.
    failed: Mutex<Option<(Time, String)>>,
}

/// What a prompt may recall by.
#[derive(Debug, Clone, Default)]
pub struct Cue {
    settings: config::Recall,
    /// The model and the vector of what was said last.
    vector: Option<(String, Arc<[f32]>)>,
    /// Why there is none.
    problem: Option<String>,
    /// What entries of lorebooks are found by.
    pub lore: Meaning,
}

/// What was said last, as a vector.
#[derive(Debug, Clone, Default)]
pub struct Meaning {
    /// The model and the vector.
    pub vector: Option<(String, Arc<[f32]>)>,
    /// Why there is none.
    pub problem: Option<String>,
}

impl Cue {
    /// Of a text so many characters have a vector.
    pub const fn chars(&self) -> usize {
        self.settings.chars
    }
}

/// What is recalled.
#[derive(Debug, Clone, Default)]
pub struct Recalled {
    text: String,
    /// Tokens that it takes.
    pub tokens: usize,
    /// What a trace tells of it; null where nothing is recalled in this session.
    pub told: Value,
}

/// A document that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundDocument {
    /// The document.
    pub document: Document,
    /// How good it is, by all that was looked at together; only good for comparing.
    pub score: f32,
    /// How near its vector is, from -1 to 1; `None` where it was not found by that.
    pub similarity: Option<f32>,
}

/// The documents that were found, the best first, and why vectors did not count.
#[derive(Debug, Clone, Default)]
pub struct FoundDocuments {
    /// The documents.
    pub items: Vec<FoundDocument>,
    /// Why vectors did not count, where they should have.
    pub problem: Option<String>,
}

impl Memories {
    pub fn new(settings: config::Recall, embedder: Option<Embedder>) -> Self {
        Self { settings, embedder, kept: Mutex::default(), failed: Mutex::default() }
    }

    /// What a prompt below a node may recall by; `content` is what is about to be said there.
    pub async fn ask(
        &self,
        store: &Store,
        now: Time,
        (caller, session, leaf): (UserId, SessionId, NodeId),
        content: Option<&str>,
    ) -> Cue {
        let Some(embedder) = &self.embedder else { return self.by_words() };
        let read = move |reader: &mut Reader<'_>| {
            let Some(held) = reader.session(caller, session)? else { return Ok(None) };
            let lore = lore_messages(reader, caller)?;
            let least = if held.session.recall.is_on { 2 } else { 0 };
            // What has no text, such as the place of a reply, says nothing.
            let most = least.max(lore.saturating_mul(2));
            let page = match most {
                0 => return Ok(None),
                most => reader.page(&held, leaf, None, i64::try_from(most).unwrap_or(i64::MAX), Show::Enabled)?,
            };
            let said = page.nodes.into_iter().map(|placed| (placed.node.is_sent(), placed.node.content));
            Ok(Some((least, lore, said.collect::<Vec<(bool, String)>>())))
        };
        match store.read::<_, StoreError, _>(read).await {
            Ok(Some((least, lore, mut said))) => {
                said.extend(content.map(|content| (true, content.to_owned())));
                let texts = said.iter().filter(|(is_sent, text)| *is_sent && !text.trim().is_empty());
                let texts: Vec<&str> = texts.rev().take(lore).map(|(_, text)| text.as_str()).collect();
                let lore = self.meaning(store, now, &texts.join("\n")).await;
                let last: Vec<String> =
                    said.into_iter().rev().take(least + usize::from(content.is_some())).map(|(_, text)| text).collect();
                let last: Vec<String> = last.into_iter().rev().collect();
                let cue = match least {
                    0 => self.by_words(),
                    _ => self.with_vector(store, now, embedder, question(&last)).await,
                };
                Cue { lore, ..cue }
            }
            // Nothing is recalled there, or the prompt will hear of what failed.
            Ok(None) | Err(_) => self.by_words(),
        }
    }

    /// What entries of lorebooks are found by in a text that nobody said anywhere.
    pub async fn ask_lore(&self, store: &Store, now: Time, caller: UserId, text: &str) -> Cue {
        let read = move |reader: &mut Reader<'_>| lore_messages(reader, caller);
        let is_asked = store.read::<_, StoreError, _>(read).await.is_ok_and(|messages| messages > 0);
        let lore = if is_asked { self.meaning(store, now, text).await } else { Meaning::default() };
        Cue { lore, ..self.by_words() }
    }

    /// The vector of what was said last, for entries of lorebooks.
    async fn meaning(&self, store: &Store, now: Time, said: &str) -> Meaning {
        let Some(embedder) = self.embedder.as_ref().filter(|_| !said.is_empty()) else { return Meaning::default() };
        let Cue { vector, problem, .. } = self.with_vector(store, now, embedder, said.to_owned()).await;
        Meaning { vector, problem }
    }

    fn by_words(&self) -> Cue {
        Cue { settings: self.settings.clone(), ..Cue::default() }
    }

    /// Waits for the vector of a question, and not for long.
    async fn with_vector(&self, store: &Store, now: Time, embedder: &Embedder, question: String) -> Cue {
        if question.trim().is_empty() {
            return self.by_words();
        }
        let model = embedder.name.clone();
        let found = self.vector(now, embedder, &question).await;
        let name = model.clone();
        let size = store.read::<_, StoreError, _>(move |reader| reader.embedded(&name)).await.ok().flatten();
        let size = size.map(|embedded| embedded.size).filter(|size| *size > 0);
        let fits = |vector: &Arc<[f32]>| size.is_none_or(|size| size == vector.len());
        let (vector, problem) = match found {
            Ok(vector) if fits(&vector) => (Some((model, vector)), None),
            Ok(_) => (None, Some(format!("the vectors of {model} are of another size than they were"))),
            Err(problem) => (None, Some(problem)),
        };
        Cue { vector, problem, ..self.by_words() }
    }

    async fn vector(&self, now: Time, embedder: &Embedder, question: &str) -> Result<Arc<[f32]>, String> {
        let hash = recall::hash(question, self.settings.chars);
        if let Some((_, vector)) = self.kept().iter().find(|(known, _)| *known == hash) {
            return Ok(Arc::clone(vector));
        }
        if let Some((_, why)) = self.failed().as_ref().filter(|(failed, _)| now.since(*failed) < REST_MS) {
            return Err(why.clone());
        }
        let texts = [recall::beginning(question, self.settings.chars).to_owned()];
        let wait = self.settings.wait;
        let made = match tokio::time::timeout(wait, embedder.embed(&texts)).await {
            Ok(Ok(mut vectors)) => vectors.pop().ok_or_else(|| "the model made no vector".to_owned()),
            Ok(Err(failure)) => Err(failure.to_string()),
            Err(_) => Err(format!("{} made no vector within {} ms", embedder.name, wait.as_millis())),
        };
        match made {
            Ok(vector) => {
                let vector: Arc<[f32]> = Arc::from(vector);
                let mut kept = self.kept();
                kept.push_back((hash, Arc::clone(&vector)));
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
                Ok(vector)
            }
            Err(why) => {
                *self.failed() = Some((now, why.clone()));
                Err(why)
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<(blake3::Hash, Arc<[f32]>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) -> MutexGuard<'_, Option<(Time, String)>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The hash by which the vector of a text is found.
    pub fn hash(&self, text: &str) -> blake3::Hash {
        recall::hash(text, self.settings.chars)
    }

    /// The best of the caller's documents in these collections for a question.
    pub async fn documents(
        &self,
        store: &Store,
        now: Time,
        caller: UserId,
        collections: Vec<String>,
        asked: String,
        most: usize,
    ) -> Result<FoundDocuments, StoreError> {
        let by = match &self.embedder {
            Some(embedder) => self.with_vector(store, now, embedder, asked.clone()).await,
            None => self.by_words(),
        };
        let look = move |reader: &mut Reader<'_>| {
            let mut pool = Pool::new([(asked.as_str(), 1.0)]);
            pool.documents(reader, caller, &collections)?;
            let problem = by.problem.clone();
            let mut items = Vec::new();
            for one in pool.ranked(reader, &by)?.into_iter().take(most) {
                let Some(n) = pool.texts.get(one.at).map(|text| text.n) else { continue };
                if let Some(document) = reader.document_in_row(caller, n)? {
                    items.push(FoundDocument { document, score: one.score, similarity: one.similarity });
                }
            }
            Ok(FoundDocuments { items, problem })
        };
        store.read(look).await
    }
}

/// How many messages entries of lorebooks have to fit; 0 where none may be found so.
fn lore_messages(reader: &mut Reader<'_>, owner: UserId) -> Result<usize, StoreError> {
    if !reader.has_lore_texts(owner)? {
        return Ok(0);
    }
    let similar = lore::Settings::from_kept(reader.lore_settings(owner)?).similar;
    Ok(if similar.entries > 0 { similar.messages } else { 0 })
}

/// What is asked with a vector: the last word, with what was said before it where it is short.
fn question(said: &[String]) -> String {
    let mut newest_first = said.iter().rev();
    let last = newest_first.next().map(String::as_str).unwrap_or_default();
    match newest_first.next().filter(|_| last.chars().count() < SHORT) {
        Some(before) => format!("{before}\n{last}"),
        None => last.to_owned(),
    }
}

/// Tokens of a prompt that are kept free for what is recalled.
pub fn room(scene: &Scene, cue: &Cue, prompt: usize) -> usize {
    if scene.session().recall.is_on { prompt.saturating_mul(cue.settings.share) / 100 } else { 0 }
}

/// Texts that may be recalled.
struct Pool {
    terms: Terms,
    query: Query,
    texts: Vec<Text>,
    counted: Vec<Counted>,
    hashes: Vec<blake3::Hash>,
    seen: HashSet<blake3::Hash>,
    bytes: usize,
}

/// Where one of them is.
#[derive(Clone, Copy)]
struct Text {
    is_document: bool,
    n: i64,
    /// Of a message: how many that are sent, or could be, stand behind it.
    depth: usize,
}

/// One that was found.
#[derive(Clone, Copy)]
struct Ranked {
    at: usize,
    score: f32,
    words: Option<f32>,
    similarity: Option<f32>,
}

impl Pool {
    /// An empty one; what is asked for, with how much each part of it weighs.
    fn new<'t>(asked: impl IntoIterator<Item = (&'t str, f32)>) -> Self {
        let (mut terms, mut query) = (Terms::default(), Query::default());
        for (text, weight) in asked {
            terms.each(text, |term| query.ask(term, weight));
        }
        let (texts, counted, hashes, seen) = (Vec::new(), Vec::new(), Vec::new(), HashSet::new());
        Self { terms, query, texts, counted, hashes, seen, bytes: 0 }
    }

    fn is_full(&self) -> bool {
        self.texts.len() >= MOST || self.bytes >= MOST_BYTES
    }

    fn take(&mut self, text: Text, hash: blake3::Hash, content: &str) {
        if self.is_full() || content.trim().is_empty() || !self.seen.insert(hash) {
            return;
        }
        let (mut counted, query) = (Counted::default(), &self.query);
        self.terms.each(content, |term| query.count(term, &mut counted));
        self.bytes += content.len();
        self.texts.push(text);
        self.counted.push(counted);
        self.hashes.push(hash);
    }

    /// What stands above and at a message, behind which so many others are, up to the root: its ancestors and nothing else.
    fn messages(
        &mut self,
        reader: &mut Reader<'_>,
        scene: &Scene,
        (from, mut depth): (&Placed, usize),
        hide_tags: &[String],
        chars: usize,
    ) -> Result<(), StoreError> {
        let mut page = reader.newest_page(&scene.held, from, PAGE, Show::Enabled)?;
        loop {
            for placed in page.nodes.iter().rev().filter(|placed| placed.node.is_sent()) {
                let sent = tags::sent(placed.node.role, &placed.node.content, hide_tags);
                self.take(Text { is_document: false, n: placed.n, depth }, recall::hash(&sent, chars), &sent);
                depth += 1;
            }
            let Some(before) = page.next.filter(|_| !self.is_full()) else { return Ok(()) };
            page = reader.page(&scene.held, from.node.id, Some(before), PAGE, Show::Enabled)?;
        }
    }

    /// The documents of some collections.
    fn documents(&mut self, reader: &mut Reader<'_>, owner: UserId, names: &[String]) -> Result<(), StoreError> {
        let mut before = i64::MAX;
        while !names.is_empty() && !self.is_full() {
            let leaves = reader.leaves(owner, names, before, PAGE)?;
            let Some(last) = leaves.last().map(|leaf| leaf.n) else { return Ok(()) };
            before = last;
            for leaf in leaves {
                self.take(Text { is_document: true, n: leaf.n, depth: 0 }, leaf.hash, &leaf.content);
            }
        }
        Ok(())
    }

    /// What is worth it, the best first.
    fn ranked(&self, reader: &mut Reader<'_>, cue: &Cue) -> Result<Vec<Ranked>, StoreError> {
        let words = self.query.ranked(&self.counted, PLACES);
        let near = match &cue.vector {
            Some((model, vector)) => {
                let least = f32::from(u16::try_from(cue.settings.similarity).unwrap_or(u16::MAX)) / 100.0;
                reader.vectors(model).nearest(vector, &self.hashes, least, PLACES)?
            }
            None => Vec::new(),
        };
        let of =
            |list: &[(usize, f32)], at: usize| list.iter().find(|(place, _)| *place == at).map(|(_, score)| *score);
        let fused = recall::fused(&[words.clone(), near.clone()]).into_iter();
        Ok(fused.map(|(at, score)| Ranked { at, score, words: of(&words, at), similarity: of(&near, at) }).collect())
    }

    /// How much of what is asked for a piece of a text has.
    fn weigh(&self, terms: &mut Terms, text: &str) -> f32 {
        let mut weight = 0.0;
        terms.each(text, |term| weight += self.query.weight(term));
        weight
    }
}

/// What is recalled at a scene where the history was cut: `lines` are all that were read of it, and those from `first`
/// on went.
///
/// # Errors
/// The database fails.
pub(super) fn recalled(
    reader: &mut Reader<'_>,
    scene: &Scene,
    cue: &Cue,
    (room, measure): (usize, &Measure),
    (placed, lines, first): (&[Placed], &[Line], usize),
    hide_tags: &[String],
    scripted: &mut Scripted<'_, '_>,
) -> Result<Recalled, StoreError> {
    if room == 0 {
        return Ok(Recalled::default());
    }
    let mut newest_first = lines.iter().rev().map(|line| line.text.as_str());
    let last = newest_first.next().map(|text| (text, 1.0));
    let before = newest_first.next().map(|text| (text, BEFORE));
    let mut pool = Pool::new(last.into_iter().chain(before));
    let chars = cue.settings.chars;
    pool.seen.extend(lines.iter().skip(first).map(|line| recall::hash(&line.text, chars)));
    if let Some(cut) = first.checked_sub(1).and_then(|at| placed.get(at)).filter(|cut| cut.n != 0) {
        pool.messages(reader, scene, (cut, lines.len().saturating_sub(first)), hide_tags, chars)?;
    }
    let session = scene.session();
    pool.documents(reader, session.owner, &session.recall.collections)?;
    chosen(reader, scene, cue, (room, measure), &pool, hide_tags, scripted)
}

/// The best of a pool that there is room for, the oldest first, documents before all.
fn chosen(
    reader: &mut Reader<'_>,
    scene: &Scene,
    cue: &Cue,
    (room, measure): (usize, &Measure),
    pool: &Pool,
    hide_tags: &[String],
    scripted: &mut Scripted<'_, '_>,
) -> Result<Recalled, StoreError> {
    let mut left = room.saturating_sub(recall::frame(measure));
    let (mut chosen, mut terms) = (Vec::new(), Terms::default());
    for one in pool.ranked(reader, cue)? {
        if chosen.len() >= cue.settings.texts || left < LEAST {
            break;
        }
        let Some(text) = pool.texts.get(one.at) else { continue };
        let Some(told) = told(reader, scene, *text, hide_tags)? else { continue };
        let frame = Memory { whose: told.whose.clone(), text: String::new() }.told();
        let most = (room / 2).min(left).saturating_sub(measure.message(&frame));
        if most < LEAST / 2 {
            continue;
        }
        let Told { name, whose, content, of } = told;
        let content = match of {
            Some((node, said)) => sent(reader, scene, scripted, (&node, said), text.depth)?,
            None => content,
        };
        if content.trim().is_empty() {
            continue;
        }
        let terms = std::cell::RefCell::new(&mut terms);
        let text = recall::excerpt(&content, most, measure, |piece| pool.weigh(&mut terms.borrow_mut(), piece));
        let memory = Memory { whose, text };
        let tokens = measure.message(&memory.told());
        if tokens <= left {
            left -= tokens;
            chosen.push((one, name, memory, tokens));
        }
    }
    // The pool has the newest message first, and documents after all messages.
    chosen.sort_by_key(|(one, ..)| std::cmp::Reverse(one.at));
    let tell = |(one, Name { kind, id }, _, tokens): &(Ranked, Name, Memory, usize)| json!({*kind: id, "score": one.score, "words": one.words, "similarity": one.similarity, "tokens": tokens});
    let by = if cue.vector.is_some() { json!(["words", "vectors"]) } else { json!(["words"]) };
    let texts: Vec<Value> = chosen.iter().map(tell).collect();
    let mut told = json!({"by": by, "looked": pool.texts.len(), "texts": texts});
    if let (Some(problem), Some(told)) = (&cue.problem, told.as_object_mut()) {
        told.insert("problem".into(), problem.as_str().into());
    }
    let text = recall::block(&chosen.into_iter().map(|(_, _, memory, _)| memory).collect::<Vec<_>>());
    let tokens = if text.is_empty() { 0 } else { measure.message(&text) };
    Ok(Recalled { text, tokens, told })
}

/// What names a text in a trace.
struct Name {
    kind: &'static str,
    id: String,
}

/// A text as it is told.
struct Told {
    name: Name,
    /// Who said it, or where it is written.
    whose: String,
    /// Of a document, what it says.
    content: String,
    /// Of a message, where it is and what scripts are given of it.
    of: Option<(Node, Said)>,
}

fn told(reader: &mut Reader<'_>, scene: &Scene, text: Text, hide_tags: &[String]) -> Result<Option<Told>, StoreError> {
    if text.is_document {
        let document = reader.document_in_row(scene.session().owner, text.n)?;
        return Ok(document.map(|one| Told {
            name: Name { kind: "documentId", id: one.id.to_string() },
            whose: one.collection,
            content: one.content,
            of: None,
        }));
    }
    let placed = reader.placed(&scene.held, &[text.n])?.pop();
    Ok(placed.map(|placed| {
        let line = super::trace::line(&placed.node, hide_tags);
        let name = Name { kind: "nodeId", id: placed.node.id.to_string() };
        let said = said(line, &scene.cast);
        Told { name, whose: said.name.clone(), content: String::new(), of: Some((placed.node, said)) }
    }))
}

fn said(line: Line, cast: &Cast) -> Said {
    let own = match line.role {
        Role::Assistant => cast.character.as_str(),
        Role::User => cast.user.as_str(),
        Role::System => "Narration",
    };
    let name = line.name.unwrap_or_else(|| own.to_owned());
    Said { role: line.role, is_other: line.role != Role::System && name != own, name, text: line.text }
}

/// A message as it is sent, were it still in the history: what scripts make of it, macros filled in.
fn sent(
    reader: &mut Reader<'_>,
    scene: &Scene,
    scripted: &mut Scripted<'_, '_>,
    (node, said): (&Node, Said),
    depth: usize,
) -> Result<String, StoreError> {
    let said = scripted.said(reader, &scene.held, node, said, depth)?;
    Ok(fill::recalled(scene, node, &said.text))
}

impl Recalled {
    /// Puts it into a prompt with so many lines of history: just before the last one, where it disturbs no beginning
    /// that the provider keeps.
    pub fn join(&self, pieces: &mut Vec<Piece>, lines: usize) {
        if self.text.is_empty() {
            return;
        }
        let at = lines.saturating_sub(1);
        let stands_after = |piece: &Piece| piece.at > at || (piece.at == at && piece.is_over);
        let place = pieces.iter().position(stands_after).unwrap_or(pieces.len());
        let sent = Sent { role: Role::System, name: None, text: self.text.clone() };
        pieces.insert(place, Piece { slot: SLOT.to_owned(), at, is_over: false, sent });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_word_is_asked_with_what_was_said_before() {
        let said = |texts: &[&str]| question(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(said(&["Where is the key?", "Tell me."]), "Where is the key?\nTell me.");
        assert_eq!(said(&["a", "I ask the smith about the silver key."]), "I ask the smith about the silver key.");
        assert_eq!((said(&["one"]), said(&[])), ("one".to_owned(), String::new()));
    }

    #[test]
    fn it_stands_before_the_last_line() {
        let piece = |at: usize, is_over: bool| {
            let sent = Sent { role: Role::System, name: None, text: "x".into() };
            Piece { slot: "p".into(), at, is_over, sent }
        };
        let recalled = Recalled { text: "long ago".into(), ..Recalled::default() };
        let check = |mut pieces: Vec<Piece>, lines: usize, expected: usize| {
            recalled.join(&mut pieces, lines);
            assert_eq!(pieces.iter().position(|piece| piece.slot == SLOT), Some(expected), "{pieces:?}");
        };
        check(vec![piece(0, false), piece(3, false), piece(4, false)], 4, 2);
        check(vec![piece(0, false), piece(3, true)], 4, 1);
        check(vec![piece(0, false), piece(1, false)], 0, 1);
        check(Vec::new(), 3, 0);
        let mut none = vec![piece(0, false)];
        Recalled::default().join(&mut none, 3);
        assert_eq!(none.len(), 1);
    }
}
