//! Change nodes: manual changes of the world, and changes of rules.
//!
//! The rules in force belong to the path (`docs/domain.md` 3.2). If a session wants other rules than a node has, a
//! change node comes between that node and the next message. Messages below the same node share it, so they stay
//! siblings.

use std::sync::Arc;

use clotho_core::clock::Time;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::ids::{NodeId, SessionId, UserId};
use clotho_core::oplog::OperationKind;
use clotho_core::tree::edit::{self, TreeError};
use clotho_core::tree::{Kind, PluginSetting, Role};
use clotho_core::world::{ProblemKind, StateOperation, WorldSection, fold};
use clotho_plugin::{Hook, InitVarText};
use clotho_store::{ActiveRules, Actor, ExpectedVersion, IdempotencyClaim, NodeDraft, RulesStart, StoreReader, Tx};

use super::initial_values::{self, InitialValueScope};
use crate::turn::prompts::PromptServices;
use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::{ActivePlugin, HookProposal};
use crate::turn::rules::rules_in_force::{self, WantedRules};
use crate::turn::services::TurnServices;
use crate::turn::snapshot::{self, SnapshotQuery, TurnSnapshot};
use crate::turn::storage::TreeStorage;
use crate::turn::{PluginChoice, TurnError, TurnReceipt, cast, prompts::macro_context, rules::commands};

/// Writes a manual change of the world.
pub async fn change_world(
    storage: &TreeStorage,
    rule_services: &RuleServices,
    caller: UserId,
    session: SessionId,
    node: NodeId,
    operations: Vec<StateOperation>,
    expected_leaf: Option<ExpectedVersion>,
) -> Result<TurnReceipt, TurnError> {
    check_manual_operations(&operations)?;
    let query = SnapshotQuery::at_node(rule_services, caller, session, node);
    let snapshot = storage.store.read(move |reader| snapshot::read(reader, &query)).await?;
    edit::check_parent(&snapshot.at.node)?;
    let now = storage.clock.now();
    let mut draft =
        NodeDraft::new(NodeId::new(storage.ids.next_id(now)), Role::System, Kind::Change, storage.ids.next_seed(), now);
    draft.author = Some(caller);
    draft.delta.operations = operations;
    let mut world = (*snapshot.world).clone();
    let problems = fold(&mut world, &draft.delta.operations, &snapshot.rules.rules);
    if let Some(refused) = problems.iter().find(|problem| problem.kind() == ProblemKind::Refused) {
        return Err(TurnError::Invalid { field: "operations", message: refused.to_string() });
    }
    draft.delta.record_problems(&problems);
    let actor = Actor { user: caller, at: now, expected_leaf };
    let id = draft.id;
    let claim = IdempotencyClaim::current();
    let write = move |tx: &mut Tx<'_>| {
        let op = tx.append_change(&actor, session, node, &draft, OperationKind::Change)?.op;
        let receipt = TurnReceipt { node: Some(id), generations: Vec::new(), op };
        tx.record_claim(claim.as_ref(), &receipt)?;
        Ok(receipt)
    };
    Ok(storage.store.write(write).await?)
}

/// Checks the operations: only variables can be changed manually (`docs/domain.md` 3.3).
fn check_manual_operations(operations: &[StateOperation]) -> Result<(), TurnError> {
    let invalid = |message: &str| Err(TurnError::Invalid { field: "operations", message: message.to_owned() });
    if operations.is_empty() {
        return invalid("expected at least one operation");
    }
    if operations.iter().any(|operation| operation.section != WorldSection::Vars) {
        return invalid("only vars can be changed by hand");
    }
    Ok(())
}

/// Sets the plugins of a session; they apply from HEAD on. While HEAD's reply is being generated, they apply from the
/// next message on, because HEAD must not move.
pub async fn set_plugins(
    parts: &Arc<TurnServices>,
    caller: UserId,
    session: SessionId,
    plugins: Vec<PluginChoice>,
) -> Result<PluginsUpdate, TurnError> {
    let stored = parts.storage.store.read(move |reader| reader.session(caller, session)).await?;
    let stored = stored.ok_or(TreeError::NotFound("the session"))?;
    let model = &stored.session.model.clone().unwrap_or_else(|| parts.prompts.models.default_name());
    let unsaid: Vec<String> =
        plugins.iter().filter(|choice| choice.refused.is_none()).map(|choice| choice.id.clone()).collect();
    let mut plugins = super::new_session::plugin_settings(&parts.rules, plugins, model)?;
    keep_refused_permissions(&mut plugins, &unsaid, &stored.session.plugins);
    parts.rules.hooks.reset_violations(session);
    let now = parts.storage.clock.now();
    let query = SnapshotQuery::at_node(&parts.rules, caller, session, stored.session.head);
    let read = move |reader: &mut StoreReader<'_>| {
        let snapshot = snapshot::read(reader, &query)?;
        let is_answered = reader.has_pending_reply(&snapshot.at)?;
        Ok::<_, TurnError>((snapshot, is_answered))
    };
    let (mut snapshot, is_answered) = parts.storage.store.read(read).await?;
    snapshot.stored.session.plugins.clone_from(&plugins);
    let crossing =
        if is_answered { RulesChange::None } else { find_rules_change(parts, caller, &snapshot, now).await? };
    let warnings = commands::duplicate_command_warnings(&plugins, &parts.rules.catalogue.current());
    let actor = Actor { user: caller, at: now, expected_leaf: None };
    let head = snapshot.at.node.id;
    let write = move |tx: &mut Tx<'_>| {
        let beginning = match &crossing {
            RulesChange::New(draft) => RulesStart::NewNode(draft),
            RulesChange::Existing(bridge) => RulesStart::ExistingNode(bridge.at.node.id),
            RulesChange::None => RulesStart::NextMessage,
        };
        tx.set_plugins(&actor, session, &plugins, head, beginning)
    };
    Ok(PluginsUpdate { op: parts.storage.store.write(write).await?, warnings })
}

/// Restores the refused permissions of choices that do not list any.
fn keep_refused_permissions(plugins: &mut [PluginSetting], unsaid: &[String], before: &[PluginSetting]) {
    for plugin in plugins.iter_mut().filter(|plugin| unsaid.contains(&plugin.id)) {
        let refused = before.iter().find(|old| old.id == plugin.id).map(|old| old.refused.clone());
        plugin.refused = refused.unwrap_or_default();
        plugin.refused.retain(|name| !plugin.grants.contains(name));
    }
}

/// The result of setting the plugins of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginsUpdate {
    /// The id of the operation-log entry.
    pub op: i64,
    /// Settings that work but are probably a mistake.
    pub warnings: Vec<RenderedMessage>,
}

/// The rules change between a node and what is written below it.
pub enum RulesChange {
    /// The rules in force are those that the session wants.
    None,
    /// An existing change node, with its snapshot.
    Existing(Box<TurnSnapshot>),
    /// A change node to write.
    New(Box<NodeDraft>),
}

/// Returns the rules change that the session needs below a snapshot.
pub async fn find_rules_change(
    parts: &Arc<TurnServices>,
    caller: UserId,
    snapshot: &TurnSnapshot,
    now: Time,
) -> Result<RulesChange, TurnError> {
    let Some(wanted) = rules_in_force::wanted_rules(&snapshot.session().plugins, &snapshot.rules, &snapshot.catalogue)
    else {
        return Ok(RulesChange::None);
    };
    let (stored, at, rules) = (snapshot.stored.clone(), snapshot.at.clone(), Arc::clone(&wanted.rules));
    let query = SnapshotQuery {
        user_persona: Some(snapshot.user_persona.clone()),
        ..SnapshotQuery::at_node(&parts.rules, caller, stored.session.id, at.node.id)
    };
    let there = parts
        .storage
        .store
        .read(move |reader| match reader.find_rules_change(&stored, &at, &rules)? {
            Some(bridge) => snapshot::read(reader, &SnapshotQuery { node: bridge.node.id, ..query }).map(Some),
            None => Ok::<_, TurnError>(None),
        })
        .await?;
    match there {
        Some(there) => Ok(RulesChange::Existing(Box::new(there))),
        None => Ok(RulesChange::New(Box::new(rules_change_draft(parts, snapshot, wanted, None, now).await))),
    }
}

/// Returns the rules change below an edited message that is not written yet. The message is a sibling of the old
/// version, so the new rules start between it and its reply. Updates the snapshot to the new rules, for the hooks on
/// the message.
pub async fn rules_change_below(
    parts: &Arc<TurnServices>,
    snapshot: &mut TurnSnapshot,
    message: &NodeDraft,
    now: Time,
) -> Option<NodeDraft> {
    let wanted = rules_in_force::wanted_rules(&snapshot.session().plugins, &snapshot.rules, &snapshot.catalogue)?;
    let record = rules_change_draft(parts, snapshot, wanted, Some(message), now).await;
    apply_rules_change(snapshot, &record);
    Some(record)
}

/// Updates a snapshot to the rules of a change node.
fn apply_rules_change(snapshot: &mut TurnSnapshot, record: &NodeDraft) {
    snapshot.rules = record.rules.clone().unwrap_or_default();
    fold(Arc::make_mut(&mut snapshot.world), &record.delta.operations, &snapshot.rules.rules);
}

/// Builds the change node for rules that start at a snapshot, or below the message that comes next.
async fn rules_change_draft(
    parts: &Arc<TurnServices>,
    snapshot: &TurnSnapshot,
    mut wanted: WantedRules,
    below: Option<&NodeDraft>,
    now: Time,
) -> NodeDraft {
    let id = NodeId::new(parts.storage.ids.next_id(now));
    let mut draft = NodeDraft::new(id, Role::System, Kind::Change, parts.storage.ids.next_seed(), now);
    let in_force = ActiveRules { plugins: Vec::new(), rules: wanted.rules.rules.clone() };
    let mut context =
        snapshot.hook_context(&in_force, snapshot.next_node_facts(id, now, below.is_some()), draft.dice_seed);
    if let Some(message) = below {
        (context.text, context.role) = (Arc::from(message.content.as_str()), message.role.as_str());
        context.node.depth += 1;
    }
    let mut so_far = HookProposal::starting_at(Arc::clone(&context.world));
    so_far.apply_first(wanted.init_in(&context.world), &context.rules);
    parts.rules.hooks.reset_changed_plugins(context.session, &snapshot.rules.plugins, &wanted.rules.plugins);
    context.plugins = std::mem::take(&mut wanted.to_init);
    context.initial_values = initial_values(&parts.storage, &parts.prompts, snapshot, &context.plugins, now).await;
    let unread = initial_values::unreadable_values(&context.plugins, &context.initial_values, "");
    let begun = parts.rules.hooks.run(Hook::Init, &context, so_far).await;
    context.plugins.clone_from(&wanted.to_migrate);
    draft.delta = parts.rules.hooks.run(Hook::Migrate, &context, begun).await.delta;
    let (rules, problems) = wanted.after_migration(&draft.delta);
    draft.delta.problems.extend(unread);
    draft.delta.problems.extend(problems);
    draft.rules = Some(rules);
    draft
}

/// Reads the initial values in the lorebooks of the session, if a new plugin has `init`.
async fn initial_values(
    storage: &TreeStorage,
    prompt_services: &PromptServices,
    snapshot: &TurnSnapshot,
    beginning: &[ActivePlugin],
    now: Time,
) -> Arc<[InitVarText]> {
    if !beginning.iter().any(|active| active.plugin.has_hook(Hook::Init)) {
        return Arc::from([]);
    }
    let (session, persona, inside) =
        (snapshot.session().clone(), snapshot.user_persona.persona, Arc::clone(&prompt_services.lorebook_cache));
    let found = storage.store.read(move |reader| {
        let mut cards = Vec::new();
        for card in &session.cards {
            let now = reader.character(session.owner, card.id)?.map(|character| character.card);
            cards
                .push((card.id, now.map_or_else(|| reader.blob(&card.hash).map(|kept| cast::card_object(&kept)), Ok)?));
        }
        let cards: Vec<_> = cards.iter().map(|(id, card)| (*id, card)).collect();
        let persona = persona.or(session.persona.as_ref().map(|persona| persona.id));
        let whose = InitialValueScope {
            owner: session.owner,
            characters: &cards,
            persona,
            session: Some(session.id),
            lorebooks: &[],
        };
        Ok::<_, TurnError>((
            initial_values::read_initial_values(reader, &whose, &inside)?,
            macro_context::globals(reader, session.owner)?,
        ))
    });
    // If they cannot be read, go on without them.
    let (starts, globals) = found.await.unwrap_or_else(|error| {
        tracing::error!(session = %snapshot.session().id, "the initial variables cannot be read: {error}");
        Default::default()
    });
    let zone = macro_context::zone_at(snapshot, &prompt_services.config.generation.time_zone);
    let at = macro_context::GreetingMoment { seed: snapshot.session().seed, now, zone, recorded_zone: None };
    let filled = starts.into_iter().map(|start| InitVarText {
        text: macro_context::fill_first_text(&snapshot.cast, &start.text, &globals, &at),
        ..start
    });
    filled.collect()
}

/// Returns the change node to write below a snapshot, if any, and the snapshot after it.
pub async fn resolve_rules_change(
    parts: &Arc<TurnServices>,
    caller: UserId,
    mut snapshot: TurnSnapshot,
    now: Time,
) -> Result<(Option<NodeDraft>, TurnSnapshot), TurnError> {
    match find_rules_change(parts, caller, &snapshot, now).await? {
        RulesChange::None => Ok((None, snapshot)),
        RulesChange::Existing(there) => Ok((None, *there)),
        RulesChange::New(draft) => {
            apply_rules_change(&mut snapshot, &draft);
            // The next message is below the change node, so it is one level deeper.
            snapshot.pending_changes = 1;
            Ok((Some(*draft), snapshot))
        }
    }
}
