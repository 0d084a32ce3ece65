//! The lore test: which entries would fire in a session, or in a text alone, and why the others would not.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use clotho_compat::prompt::TokenMeasure;
use clotho_compat::prompt::lore::{LoreTimers, LorebookScope, ScanMessage, ScanRequest};
use clotho_compat::prompt::macros::{MacroContext, MacroEngine};
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{LorebookId, NodeId, UserId};
use clotho_core::tree::Session;
use clotho_core::tree::edit::{self, TreeError};
use clotho_store::StoreReader;

use crate::turn::prompts::PromptServices;
use crate::turn::prompts::history;
use crate::turn::prompts::lore::{ActiveLorebooks, LoreScanContext, LoreScanReport, PromptScanHost, verdict_trace};
use crate::turn::prompts::macro_context::{self, PromptPurpose};
use crate::turn::prompts::note;
use crate::turn::prompts::preset_selection::select_preset;
use crate::turn::prompts::prompt_bounds::PromptBounds;
use crate::turn::prompts::recall::PromptRecallQuery;
use crate::turn::prompts::regex_scripts::PromptScripts;
use crate::turn::prompts::similar::SimilarEntries;
use crate::turn::requests::LoreTestSpec;
use crate::turn::services::TurnServices;
use crate::turn::snapshot::{self, SnapshotQuery};
use crate::turn::storage::TreeStorage;
use crate::turn::{GenerationSpec, TurnError, draft, preview, prompts::plan, prompts::prompt_bounds, start};

/// The maximum number of entries in each list.
const MAX_LISTED: usize = 1_000;

/// The result of a lore test.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoreTestOutcome {
    /// The books: `{id, name, scope}`.
    pub books: Vec<Value>,
    /// The entries that fire, in order: what they are, why, `tokens` and `text`.
    pub fired: Vec<Value>,
    /// The entries that were triggered but stopped.
    pub stopped: Vec<Value>,
    /// The first of the entries that were not triggered.
    pub silent: Vec<Value>,
    /// The number of all entries that were not triggered.
    pub silent_count: usize,
    /// The token budget of lore.
    pub budget: usize,
    /// Whether the budget was exceeded.
    pub overflowed: bool,
    /// The number of scan passes.
    pub passes: usize,
    /// How similar entries were found; `None` if similarity search is off.
    pub similar: Option<Value>,
    /// Warnings, such as entries that could not be read.
    pub problems: Vec<RenderedMessage>,
}

/// Runs a lore test.
pub async fn test_lore(
    parts: &Arc<TurnServices>,
    caller: UserId,
    asked: LoreTestSpec,
) -> Result<LoreTestOutcome, TurnError> {
    let now = parts.storage.clock.now();
    let new = NodeId::new(parts.storage.ids.next_id(now));
    let (rules, prompts) = (Arc::clone(&parts.rules), Arc::clone(&parts.prompts));
    let cue = recall_query(&parts.storage, &parts.prompts, caller, &asked).await?;
    parts
        .storage
        .store
        .read(move |reader| {
            let Some(session) = asked.session else { return test_text(&prompts, reader, caller, &asked, &cue) };
            let stored = reader.session(caller, session)?.ok_or(TreeError::NotFound("the session"))?;
            let bounds = PromptBounds { recall: cue, ..bounds(&prompts, &stored.session)? };
            let query = SnapshotQuery::at_node(&rules, caller, session, asked.node.unwrap_or(stored.session.head));
            let mut snapshot = snapshot::read_in(reader, stored, &query)?;
            // The text counts as the next message of the user.
            if let Some(text) = asked.text {
                edit::check_parent(&snapshot.at.node)?;
                preview::append_virtual_message(reader, &mut snapshot, new, text, now, &query.hide_tags)?;
            }
            // Collect the lorebooks and what plugins want of them.
            let mut books = ActiveLorebooks::read(reader, &snapshot, &bounds.lorebook_cache)?;
            add_books(reader, &mut books, &prompts, caller, &asked.books)?;
            let mut planned = plan::plan(&rules, reader, &snapshot)?;
            let wishes = books.plugin_requests(&mut planned);
            // Set up macros and scripts as for a reply.
            let purpose = &PromptPurpose::FIRST;
            let preset = select_preset(reader, snapshot.session(), &bounds.names)?.preset;
            let sizes = bounds.token_limits(&preset);
            let facts = macro_context::macro_facts(&snapshot, sizes, (&bounds.model, &bounds.time_zone), purpose);
            let mut draw = macro_context::seeded_random(&snapshot, purpose);
            let mut macros = MacroEngine::new(
                &facts,
                snapshot.world.vars.clone(),
                macro_context::globals_on_branch(macro_context::globals(reader, caller)?, &snapshot.world),
                &mut draw,
            );
            macros.stop_with(reader.stop_check());
            let mut scripted = PromptScripts::read(reader, &snapshot, &preset, &mut macros)?;
            // Gather the messages to scan.
            let least = books.scan_depth();
            let messages = history::messages_before(reader, &mut snapshot, &bounds, least, &mut scripted)?;
            let prompt = sizes.prompt();
            let open = note::scannable_texts(
                &note::merged_note(snapshot.session(), &snapshot.cast),
                &snapshot,
                scripted.macros,
            );
            let most = preset.extensions.shares.for_lore(prompt, 0);
            // Scan, and report the outcome.
            let (measure, cue) = (&bounds.measure, &bounds.recall);
            let heard = LoreScanContext {
                messages: &messages,
                extra_texts: &open,
                prompt_tokens: prompt,
                lore_limit: most,
                purpose,
                measure,
                recall_query: cue,
                requests: &wishes,
            };
            let looked = books.scan_snapshot(reader, &snapshot, &heard, &mut scripted)?;
            let mut tested = to_outcome(&books, looked, &bounds.measure);
            tested.problems.extend(planned.log_lines().into_iter().map(RenderedMessage::from));
            Ok(tested)
        })
        .await
}

/// Returns the query for entries that are found by similarity.
async fn recall_query(
    storage: &TreeStorage,
    prompt_services: &PromptServices,
    caller: UserId,
    asked: &LoreTestSpec,
) -> Result<PromptRecallQuery, TurnError> {
    let (now, text) = (storage.clock.now(), asked.text.as_deref());
    let Some(session) = asked.session else {
        return Ok(prompt_services
            .query_embedder
            .lore_query(&storage.store, now, caller, text.unwrap_or_default())
            .await);
    };
    let stored = storage.store.read(move |reader| Ok::<_, TurnError>(reader.session(caller, session)?)).await?;
    let stored = stored.ok_or(TreeError::NotFound("the session"))?;
    let leaf = asked.node.unwrap_or(stored.session.head);
    Ok(prompt_services.query_embedder.prompt_query(&storage.store, now, caller, session, leaf, text).await)
}

fn bounds(prompt_services: &PromptServices, session: &Session) -> Result<PromptBounds, TurnError> {
    let generate = GenerationSpec { n: 1, model: None, params: Map::new(), character: None };
    let choice = draft::select_model(prompt_services, session, &generate)?;
    Ok(prompt_bounds::prompt_bounds(prompt_services, &choice, &start::merged_params(session, &generate)))
}

/// Tests a text alone: without history, world or timers.
fn test_text(
    prompt_services: &PromptServices,
    reader: &mut StoreReader<'_>,
    caller: UserId,
    asked: &LoreTestSpec,
    cue: &PromptRecallQuery,
) -> Result<LoreTestOutcome, TurnError> {
    let mut books = ActiveLorebooks::default();
    add_books(reader, &mut books, prompt_services, caller, &asked.books)?;
    let facts = MacroContext::default();
    let (mut draw, mut luck) = (|| 0.0, || 0.0);
    let mut macros = MacroEngine::new(&facts, Map::new(), macro_context::globals(reader, caller)?, &mut draw);
    macros.stop_with(reader.stop_check());
    let generation = &prompt_services.config.generation;
    let prompt = generation.context_tokens.saturating_sub(generation.reply_tokens);
    let text = asked.text.clone().unwrap_or_default();
    let SimilarEntries { near, trace: similar } = books.similar_entries(reader, &[text.as_str()], cue)?;
    let scanned = ScanRequest {
        messages: vec![ScanMessage { name: String::new(), text }],
        similar: near,
        count: 1,
        trigger: PromptPurpose::FIRST.name().to_owned(),
        prompt: usize::try_from(prompt).unwrap_or(usize::MAX),
        stop: reader.stop_check(),
        ..ScanRequest::default()
    };
    // No model is called, so the default measure counts the tokens.
    let measure = TokenMeasure::default();
    let mut scripted = PromptScripts::empty(&mut macros);
    let outcome =
        books.scan(&scanned, &LoreTimers::default(), &mut PromptScanHost::new(&mut scripted, &mut luck, &measure));
    Ok(to_outcome(&books, LoreScanReport { outcome, similar }, &measure))
}

/// Adds the named books; each has to belong to the caller.
fn add_books(
    reader: &mut StoreReader<'_>,
    books: &mut ActiveLorebooks,
    prompt_services: &PromptServices,
    caller: UserId,
    named: &[LorebookId],
) -> Result<(), TurnError> {
    for id in named {
        let held = reader.lorebook_version(caller, *id)?.ok_or(TreeError::NotFound("the lorebook"))?;
        books.add_books(reader, caller, &prompt_services.lorebook_cache, [(LorebookScope::Global, held)])?;
    }
    Ok(())
}

fn to_outcome(
    books: &ActiveLorebooks,
    LoreScanReport { outcome, similar }: LoreScanReport,
    measure: &TokenMeasure,
) -> LoreTestOutcome {
    let verdicts = outcome.active.iter().map(|fired| &fired.verdict).chain(&outcome.stopped);
    let spoken: HashSet<(&str, &str)> = verdicts.map(|verdict| (verdict.book.as_str(), verdict.uid.as_str())).collect();
    let mut names: Vec<&str> = Vec::new();
    let mut silent = Vec::new();
    for (_, book) in books.books() {
        if names.contains(&book.id.as_str()) {
            continue;
        }
        names.push(&book.id);
        let others = book.entries.iter().filter(|entry| !spoken.contains(&(book.id.as_str(), entry.uid.as_str())));
        let left = MAX_LISTED.saturating_sub(silent.len());
        silent.extend(others.take(left).map(|entry| entry.silent_verdict(&book.id)));
    }
    let fired = outcome.active.iter().take(MAX_LISTED).map(|fired| {
        let mut report = crate::turn::prompts::lore::entry_trace(fired, measure);
        report.insert("text".to_owned(), fired.text.as_str().into());
        Value::Object(report)
    });
    LoreTestOutcome {
        books: books.list(),
        fired: fired.collect(),
        stopped: outcome.stopped.iter().take(MAX_LISTED).map(verdict_trace).collect(),
        silent: silent.iter().map(verdict_trace).collect(),
        silent_count: outcome.silent,
        budget: outcome.budget,
        overflowed: outcome.overflowed,
        passes: outcome.passes,
        similar,
        problems: outcome.notes.iter().map(RenderedMessage::new).collect(),
    }
}
