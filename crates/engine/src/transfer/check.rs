//! Checks a whole session file before anything is written. The log comes before the nodes, so each node is compared
//! with what the log makes of it, and a fault is reported with its line.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use serde_json::Value;

use clotho_core::clock::Time;
use clotho_core::ids::{FragmentId, NodeId};
use clotho_core::oplog::{Effect, FragmentInfo, LabelTarget, Operation, OperationKind};
use clotho_core::tree::Status;
use clotho_core::tree::reference_tree::{ReferenceNode, ReferenceTree};
use clotho_store::archive::{
    ArchiveError, ArchiveLine, ArchiveReader, BlobKind, BlobLine, HistoryNode, NodeLine, OperationLine, SessionLine,
    SourceLine, TraceLine,
};
use clotho_store::{ActiveRules, NodeCounts};

use super::consent;
use super::line_validation::{self, LineValidity, parse_json};

/// The most bytes of rules and schemas in one file, which are kept in memory during the check.
const RULES_BYTES: usize = 16 << 20;

/// The highest number of a trace along its path, far more than a story has messages.
const NUMBERS: i64 = 1 << 31;

/// The most source files of one session, whose names are kept in memory.
const MOST_SOURCES: usize = 100_000;

/// What the check found out about a valid file.
#[derive(Debug, Clone)]
pub struct ImportCheck {
    pub session: SessionLine,
    /// Every node of the file, in the order of the file.
    pub nodes: Vec<NodeId>,
    /// Every fragment that the log names.
    pub fragments: HashSet<FragmentId>,
    /// The stash and labels at the end of the log.
    pub stash_and_labels: StashAndLabels,
    pub counts: NodeCounts,
    /// Whether a card or the preset of the file has regex scripts.
    pub has_scripts: bool,
}

/// The stash and the labels of a session.
#[derive(Debug, Clone, Default)]
pub struct StashAndLabels {
    /// The fragments, each with its top node.
    pub stash: Vec<(NodeId, FragmentInfo)>,
    /// The stashed nodes, each with its fragment.
    pub stashed_nodes: Vec<(NodeId, FragmentId)>,
    pub labels: Vec<(String, LabelTarget)>,
}

/// Checks that a file is one consistent session. `report_progress` is called after each line and can stop the check
/// with an error.
///
/// # Errors
/// Returns the first fault with its line, or the error of `report_progress`.
pub fn check<R: Read, E: From<ArchiveError>>(
    lines: &mut ArchiveReader<R>,
    mut report_progress: impl FnMut() -> Result<(), E>,
) -> Result<ImportCheck, E> {
    let Some(ArchiveLine::Session(session)) = lines.next_line()? else {
        return Err(lines.error("expected the session").into());
    };
    line_validation::check_session(&session).map_err(|message| lines.error(message))?;
    let mut check = ImportChecker::new(*session);
    while let Some(line) = lines.next_line()? {
        check.line(&line).map_err(|message| lines.error(message))?;
        report_progress()?;
    }
    check.finish().map_err(|message| lines.error(message).into())
}

/// The sections of a file, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ImportSection {
    Log,
    Nodes,
    Traces,
    Sources,
}

/// The state of a check.
struct ImportChecker {
    session: SessionLine,
    part: ImportSection,
    mirror: ReferenceTree,
    order: Vec<NodeId>,
    fragments: HashSet<FragmentId>,
    seen_nodes: HashSet<NodeId>,
    /// The replies that are still being generated.
    running_replies: HashSet<NodeId>,
    blobs: HashSet<(BlobKind, blake3::Hash)>,
    /// The texts of rules and schemas by hash.
    texts: HashMap<String, String>,
    text_bytes: usize,
    rules: HashSet<String>,
    /// The numbers of the traces so far, by node.
    traces: HashMap<NodeId, i64>,
    /// The names of the source files so far.
    sources: HashSet<String>,
    has_scripts: bool,
}

impl ImportChecker {
    fn new(session: SessionLine) -> Self {
        Self {
            has_scripts: consent::has_preset_scripts(&session),
            session,
            part: ImportSection::Log,
            mirror: ReferenceTree::default(),
            order: Vec::new(),
            fragments: HashSet::new(),
            seen_nodes: HashSet::new(),
            running_replies: HashSet::new(),
            blobs: HashSet::new(),
            texts: HashMap::new(),
            text_bytes: 0,
            rules: HashSet::new(),
            traces: HashMap::new(),
            sources: HashSet::new(),
        }
    }

    fn line(&mut self, line: &ArchiveLine) -> LineValidity {
        match line {
            ArchiveLine::Blob(blob) => self.blob(blob),
            ArchiveLine::Operation(operation) => {
                self.enter_section(ImportSection::Log)?;
                self.operation(operation)
            }
            ArchiveLine::Node(node) => {
                self.enter_section(ImportSection::Nodes)?;
                self.node(node)
            }
            ArchiveLine::Trace(trace) => {
                self.enter_section(ImportSection::Traces)?;
                self.trace(trace)
            }
            ArchiveLine::Source(source) => {
                self.enter_section(ImportSection::Sources)?;
                self.source(source)
            }
            ArchiveLine::Session(_) => Err("a file has only one session".into()),
            ArchiveLine::End(_) => Ok(()),
        }
    }

    fn enter_section(&mut self, part: ImportSection) -> LineValidity {
        if part < self.part {
            return Err("the order must be log, nodes, traces, sources".into());
        }
        if self.part == ImportSection::Log && part > ImportSection::Log {
            self.check_log_complete()?;
        }
        self.part = part;
        Ok(())
    }

    fn check_log_complete(&self) -> LineValidity {
        let (op, head) = (self.mirror.op(), self.mirror.head());
        let session = &self.session;
        if op != session.op || !(0..=op).contains(&session.head_op) {
            return Err(format!("the log has {op} operations, and the session names {}", session.op));
        }
        if head != Some(session.head) {
            return Err("the HEAD of the session differs from the one in its log".into());
        }
        Ok(())
    }

    fn blob(&mut self, blob: &BlobLine) -> LineValidity {
        let hash = blake3::hash(blob.text.as_bytes());
        if blob.hash != hash.to_hex().as_str() {
            return Err("the text does not match its hash".into());
        }
        if !self.blobs.insert((blob.kind, hash)) {
            return Err(format!("the blob {} appears twice", blob.hash));
        }
        match blob.kind {
            BlobKind::Rules | BlobKind::Schema => {
                self.text_bytes += blob.text.len();
                if self.text_bytes > RULES_BYTES {
                    return Err(format!("the rules and schemas have more than {RULES_BYTES} bytes"));
                }
                self.texts.insert(blob.hash.clone(), blob.text.clone());
                Ok(())
            }
            BlobKind::Card => {
                self.has_scripts |= consent::has_card_scripts(&blob.text);
                line_validation::check_card(&blob.text)
            }
            BlobKind::Block => Ok(()),
        }
    }

    fn source(&mut self, source: &SourceLine) -> LineValidity {
        line_validation::check_source(source)?;
        if source.node.is_some_and(|node| !self.seen_nodes.contains(&node)) {
            return Err("the leaf of the source must come before it".into());
        }
        match self.sources.insert(source.name.clone()) {
            true if self.sources.len() > MOST_SOURCES => Err(format!("it has more than {MOST_SOURCES} sources")),
            true => Ok(()),
            false => Err(format!("\"{}\" appears twice", source.name)),
        }
    }

    fn check_blob_exists(&self, kind: BlobKind, hex: &str) -> LineValidity {
        let hash = blake3::Hash::from_hex(hex).ok().filter(|hash| hash.to_hex().as_str() == hex);
        let is_there = hash.is_some_and(|hash| self.blobs.contains(&(kind, hash)));
        if is_there { Ok(()) } else { Err(format!("the blob {hex} must come before it")) }
    }

    fn operation(&mut self, line: &OperationLine) -> LineValidity {
        let act =
            OperationKind::parse(&line.act).ok_or_else(|| format!("\"{}\" is not a kind of operation", line.act))?;
        let values: Vec<Value> = parse_json(line.effects.get())?;
        let effects: Option<Vec<Effect>> = values.iter().map(Effect::from_json).collect();
        let effects = effects.ok_or("not every effect can be read")?;
        line_validation::check_operation(line, &effects)?;
        for effect in &effects {
            match effect {
                Effect::Setting { name, from, to } if name == "persona" => {
                    [from, to].into_iter().try_for_each(|persona| self.card_version(persona))?;
                }
                Effect::Setting { name, from, to } if name == "cards" => {
                    let cards = [from, to].into_iter().filter_map(Value::as_array).flatten();
                    cards.into_iter().try_for_each(|card| self.card_version(card))?;
                }
                Effect::Detached { fragment, .. } => _ = self.fragments.insert(fragment.fragment),
                _ => {}
            }
        }
        let (op, actor, at, step) = (line.op, line.actor, Time(line.at), line.step);
        self.mirror.apply(&Operation { op, kind: act, actor, at, step, effects })
    }

    /// Checks that the card of `[id, hash]` came before it. Null names none.
    fn card_version(&self, value: &Value) -> LineValidity {
        value.get(1).and_then(Value::as_str).map_or(Ok(()), |hash| self.check_blob_exists(BlobKind::Card, hash))
    }

    fn node(&mut self, line: &NodeLine) -> LineValidity {
        self.check_position(line)?;
        line_validation::check_node(line)?;
        if line.status == Status::Generating.as_str() {
            self.running_replies.insert(line.id);
            if line.id == self.session.head {
                return Err("HEAD cannot be a message that is still being generated".into());
            }
        }
        let place = self.mirror.nodes().get(&line.id).ok_or_else(|| format!("the log does not contain {}", line.id))?;
        let expected = ReferenceNode {
            parent: line.parent,
            remembered: line.remembered,
            is_hidden: line.is_hidden,
            is_unread: line.is_unread,
            fragment: line.fragment,
            is_disabled: line.is_disabled,
            is_muted: line.is_muted,
            rating: line.rating,
            revision: place.revision.map(|_| line.revision),
        };
        if expected != *place {
            return Err(format!("the arrangement of {} differs from the log", line.id));
        }
        if let Some(hash) = &line.rules {
            self.check_rules(hash)?;
        }
        self.order.push(line.id);
        Ok(())
    }

    /// Checks that there is one root, no node comes twice, parents come before their children, and nothing hangs
    /// below a running reply. So there can be no cycle.
    fn check_position(&mut self, line: &NodeLine) -> LineValidity {
        if !self.seen_nodes.insert(line.id) {
            return Err(format!("the node {} appears twice", line.id));
        }
        let is_first = self.seen_nodes.len() == 1;
        match line.parent {
            None if !is_first => Err(format!("{} would be a second root", line.id)),
            None if line.id != self.session.root => Err("the first node must be the root of the session".into()),
            Some(_) if is_first => Err("the first node must be the root, which has no parent".into()),
            Some(parent) if !self.seen_nodes.contains(&parent) || parent == line.id => {
                Err(format!("the parent {parent} must come before its child: it is missing, or the nodes have a cycle"))
            }
            Some(parent) if self.running_replies.contains(&parent) => {
                Err(format!("nodes cannot be below {parent}, which is still being generated"))
            }
            None | Some(_) => Ok(()),
        }
    }

    fn check_rules(&mut self, hash: &str) -> LineValidity {
        if self.rules.contains(hash) {
            return Ok(());
        }
        self.check_blob_exists(BlobKind::Rules, hash)?;
        let text = self.texts.get(hash).ok_or("the rules are missing")?;
        let schema = |hash: &str| {
            let text = self.texts.get(hash).ok_or_else(|| format!("the schema {hash} must come before its rules"));
            text.map(|text| text.as_bytes().to_vec())
        };
        ActiveRules::parse(text.as_bytes(), schema)?.ok_or("the rules cannot be read")?;
        self.rules.insert(hash.to_owned());
        Ok(())
    }

    fn trace(&mut self, line: &TraceLine) -> LineValidity {
        let history = &line.history;
        let nodes = history.add.iter().flatten().filter_map(HistoryNode::local).chain([line.node]);
        if let Some(unknown) = nodes.chain(history.base).find(|id| !self.seen_nodes.contains(id)) {
            return Err(format!("the trace names {unknown}, which is missing"));
        }
        if !line.head.is_object() {
            return Err("the head of a trace must be an object".into());
        }
        // A trace builds on one with a lower number, so reading it back ends.
        let fits = match history.base {
            Some(base) => {
                self.traces.get(&base).is_some_and(|number| (*number + 1..=NUMBERS).contains(&history.number))
            }
            None => (1..=NUMBERS).contains(&history.number),
        };
        if !fits {
            return Err("the trace continues one that does not come before it".into());
        }
        line.blocks.iter().try_for_each(|(_, hash)| self.check_blob_exists(BlobKind::Block, hash))?;
        match self.traces.insert(line.node, history.number) {
            None => Ok(()),
            Some(_) => Err(format!("the trace of {} appears twice", line.node)),
        }
    }

    fn finish(mut self) -> Result<ImportCheck, String> {
        self.enter_section(ImportSection::Sources)?;
        let cards = self.session.cards.iter().map(|(_, hash)| hash);
        let persona = self.session.persona.iter().map(|(_, hash)| hash);
        cards.chain(persona).try_for_each(|hash| self.check_blob_exists(BlobKind::Card, hash))?;
        if let Some(missing) = self.mirror.nodes().keys().find(|id| !self.seen_nodes.contains(*id)) {
            return Err(format!("the node {missing} is in the log, but missing in the file"));
        }
        if self.session.nodes != u64::try_from(self.order.len()).unwrap_or(u64::MAX) {
            return Err(format!(
                "the file has {} nodes, and the session names {}",
                self.order.len(),
                self.session.nodes
            ));
        }
        let (counts, beside) = (counts(&self.mirror), stash_and_labels(&self.mirror));
        Ok(ImportCheck {
            has_scripts: self.has_scripts,
            session: self.session,
            nodes: self.order,
            fragments: self.fragments,
            stash_and_labels: beside,
            counts,
        })
    }
}

/// Counts the visible nodes without the root, and the visible leaves.
fn counts(mirror: &ReferenceTree) -> NodeCounts {
    let shown = || mirror.nodes().iter().filter(|(_, place)| !place.is_hidden);
    let stands = |node: NodeId| mirror.nodes().get(&node).is_some_and(|place| !place.is_hidden);
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    NodeCounts {
        nodes: count(shown().filter(|(_, place)| place.parent.is_some()).count()),
        leaves: count(shown().filter(|(id, _)| !mirror.children(**id).any(stands)).count()),
    }
}

fn stash_and_labels(mirror: &ReferenceTree) -> StashAndLabels {
    let stashed = mirror.nodes().iter().filter_map(|(id, place)| Some((*id, place.fragment?)));
    StashAndLabels {
        stash: mirror.fragments().values().cloned().collect(),
        stashed_nodes: stashed.collect(),
        labels: mirror.labels().iter().map(|(name, mark)| (name.clone(), *mark)).collect(),
    }
}
