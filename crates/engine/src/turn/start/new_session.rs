//! Creates a session: its cards in their current version, its root with the first rules in force, and its greetings.

use std::sync::Arc;

use serde_json::{Map, Value};

use clotho_compat::prompt::{PromptCast, tags};
use clotho_core::clock::Time;
use clotho_core::ids::{CharacterId, LorebookId, NodeId, SessionId, UserId};
use clotho_core::tree::edit::TreeError;
use clotho_core::tree::{
    AllowedScripts, CardRef, Kind, PersonaRef, PluginSetting, RecallSettings, RequestedSettings, Role, ScriptConsent,
    Session, SummarySettings,
};
use clotho_core::world::World;
use clotho_plugin::{Catalogue, DiceSeeds, Hook, HookNodeInfo, InitVarText};
use clotho_store::{ActiveRules, BindingTarget, CharacterCard, IdempotencyClaim, NodeDraft, PersonaCard, card_scripts};

use super::initial_values::{self, InitialValueScope};
use crate::turn::models::ReplyWriter;
use crate::turn::prompts::PromptServices;
use crate::turn::prompts::macro_context::GreetingMoment;
use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::{HookContext, HookProposal};
use crate::turn::services::TurnServices;
use crate::turn::storage::TreeStorage;
use crate::turn::{PluginChoice, SessionSpec, TurnError, cast, prompts::macro_context, rules::rules_in_force};

/// The plugin that keeps values in the MVU format.
const MVU_PLUGIN: &str = "mvu";

/// Creates a session.
pub async fn begin_session(
    parts: &Arc<TurnServices>,
    caller: UserId,
    new: SessionSpec,
) -> Result<SessionId, TurnError> {
    let mode = view_mode(&new)?;
    // Read the cards and resolve model and plugins.
    let SessionCards { characters, script_consents, persona, globals, initial_values: starts } =
        read_cards(&parts.storage, &parts.prompts, caller, &new).await?;
    let first = characters.first().ok_or_else(|| TurnError::Invalid {
        field: "characterIds",
        message: "a session needs at least one character".into(),
    })?;
    let now = parts.storage.clock.now();
    if let Some(model) = &new.model {
        let found = parts.prompts.models.find(model);
        found.map_err(|error| TurnError::Invalid { field: "model", message: error.to_string() })?;
    }
    let suggested = CardSuggestions::from_card(&first.card, &starts, &parts.rules, &parts.prompts);
    let model = new.model.clone().or(suggested.model);
    let narrator = &model.clone().unwrap_or_else(|| parts.prompts.models.default_name());
    let plugins = plugin_settings(&parts.rules, new.plugins.clone().unwrap_or(suggested.plugins), narrator)?;
    // Build the session.
    let empty = Map::new();
    let own = persona.as_ref().map_or(&empty, |persona| &persona.card);
    let cast = cast::cast_of_cards(&first.card, own);
    let connection = new.profile.as_ref().map(|profile| profile.settings.clone()).unwrap_or_default();
    let mut session = Session {
        id: SessionId::new(parts.storage.ids.next_id(now)),
        owner: caller,
        title: new.title.clone().unwrap_or_else(|| cast.character.clone()),
        cards: Vec::new(),
        persona: None,
        root: NodeId::new(parts.storage.ids.next_id(now)),
        head: NodeId::new(parts.storage.ids.next_id(now)),
        op: 0,
        head_op: 0,
        mode,
        model,
        params: new.params.clone(),
        preset: connection.preset,
        scripts: AllowedScripts::default(),
        summaries: SummarySettings { model: connection.summaries_model, ..SummarySettings::default() },
        values_model: connection.values_model,
        profile: new.profile.as_ref().map(|profile| profile.id),
        recall: RecallSettings::default(),
        note: None,
        plugins,
        requested: RequestedSettings::default(),
        folder: None,
        tags: Vec::new(),
        is_pinned: false,
        seed: parts.storage.ids.next_seed(),
        edits: 0,
        created: now,
        updated: now,
    };
    session.apply_script_consents(&script_consents);
    // Run `init` at the root, then the greetings.
    let moment = GreetingMoment::new(&parts.prompts.config.generation, session.seed, now, new.time_zone.as_deref());
    let starts = starts.into_iter().map(|start| {
        let text = macro_context::fill_first_text(&cast, &start.text, &globals, &moment);
        InitVarText { text, ..start }
    });
    let starts: Arc<[InitVarText]> = starts.collect();
    let (mut root, mut context) =
        root_draft(&parts.storage, &parts.rules, &session, &cast, Arc::clone(&starts), now).await;
    let mut greetings = greetings(&parts.storage, &characters, own, &globals, &context, &moment);
    if greetings.is_empty() {
        root.delta.problems.extend(initial_values::unreadable_values(&context.plugins, &starts, ""));
    }
    for greeting in &mut greetings {
        run_greeting_hooks(&parts.rules, &mut context, greeting).await;
        // The root is never shown, so report unreadable initial values at the greetings.
        greeting.delta.problems.extend(initial_values::unreadable_values(&context.plugins, &starts, &greeting.content));
    }
    let links = SessionLinks { characters, persona, lorebooks: new.lorebook_ids };
    write_session(&parts.storage, session, links, root, greetings, now).await
}

/// Returns how the page shows a new session.
fn view_mode(new: &SessionSpec) -> Result<String, TurnError> {
    let mode = new.mode.clone().unwrap_or_else(|| "tree".into());
    if matches!(mode.as_str(), "tree" | "linear") {
        return Ok(mode);
    }
    let message = format!("expected \"tree\" or \"linear\", not \"{mode}\"");
    Err(TurnError::Invalid { field: "mode", message })
}

/// The cards and values from which a session is created.
struct SessionCards {
    characters: Vec<CharacterCard>,
    /// Whether the regex scripts of each card may run.
    script_consents: Vec<ScriptConsent>,
    persona: Option<PersonaCard>,
    /// The caller's global variables.
    globals: Map<String, Value>,
    /// The initial values in the lorebooks.
    initial_values: Vec<InitVarText>,
}

async fn read_cards(
    storage: &TreeStorage,
    prompt_services: &PromptServices,
    caller: UserId,
    new: &SessionSpec,
) -> Result<SessionCards, TurnError> {
    let (ids, persona, lorebooks) = (new.character_ids.clone(), new.persona_id, new.lorebook_ids.clone());
    let inside = Arc::clone(&prompt_services.lorebook_cache);
    storage
        .store
        .read(move |reader| {
            let mut characters = Vec::new();
            for id in ids {
                characters.push(reader.character(caller, id)?.ok_or(TreeError::NotFound("the character"))?);
            }
            let mut script_consents = Vec::new();
            for character in &characters {
                script_consents.push(reader.script_consent(caller, card_scripts(&character.card))?);
            }
            let persona = match persona {
                Some(id) => Some(reader.persona(caller, id)?.ok_or(TreeError::NotFound("the persona"))?),
                None => None,
            };
            for book in &lorebooks {
                reader.lorebook_version(caller, *book)?.ok_or(TreeError::NotFound("the lorebook"))?;
            }
            let own: Vec<_> = characters.iter().map(|character| (character.id, &character.card)).collect();
            let persona_id = persona.as_ref().map(|persona| persona.id);
            let whose = InitialValueScope {
                owner: caller,
                characters: &own,
                persona: persona_id,
                session: None,
                lorebooks: &lorebooks,
            };
            let starts = initial_values::read_initial_values(reader, &whose, &inside)?;
            Ok(SessionCards {
                characters,
                script_consents,
                persona,
                globals: macro_context::globals(reader, caller)?,
                initial_values: starts,
            })
        })
        .await
}

/// The suggestions of a card for its sessions: `metadata.clotho = {model, plugins: [{id, config}]}`. What this server
/// does not have is ignored. Only installed plugins are enabled; code inside a card never runs. A stranger's card must
/// not cost money or grant anything: it can choose a narrator, but no model of a provider, and its plugins get no
/// permissions unless the request names them. A card without suggestions that has MVU values suggests the MVU plugin.
struct CardSuggestions {
    model: Option<String>,
    plugins: Vec<PluginChoice>,
}

impl CardSuggestions {
    fn from_card(
        card: &Map<String, Value>,
        starts: &[InitVarText],
        rule_services: &RuleServices,
        prompt_services: &PromptServices,
    ) -> Self {
        let clotho = card.get("metadata").and_then(|metadata| metadata.get("clotho"));
        let model = clotho.and_then(|c| c.get("model")).and_then(Value::as_str);
        let is_narrator = |model: &&str| matches!(prompt_services.models.find(model), Ok(ReplyWriter::Narrator(_)));
        let model = model.filter(is_narrator).map(str::to_owned);
        let plugins = clotho.and_then(|c| c.get("plugins")).and_then(Value::as_array);
        let catalogue = rule_services.catalogue.current();
        if plugins.is_none() && model.is_none() && !starts.is_empty() && catalogue.get(MVU_PLUGIN).is_some() {
            return Self { model, plugins: vec![PluginChoice::enable(MVU_PLUGIN, Map::new())] };
        }
        let plugins = plugins.into_iter().flatten().filter_map(|plugin| {
            let loaded = catalogue.get(plugin.get("id")?.as_str()?)?;
            let config = plugin.get("config").and_then(Value::as_object).cloned().unwrap_or_default();
            let config = loaded.manifest().check_settings(&config).map(|_| config).unwrap_or_default();
            let is_narrator = model.as_deref().and_then(|model| model.strip_prefix("plugin:")) == Some(loaded.id());
            // An import suggests the MVU plugin by itself. It only shows its values.
            let grants = if is_narrator || loaded.id() == MVU_PLUGIN { None } else { Some(Vec::new()) };
            Some(PluginChoice { grants, ..PluginChoice::enable(loaded.id(), config) })
        });
        let plugins = plugins.collect();
        Self { model, plugins }
    }
}

/// Checks plugin choices: each plugin can run, its settings and grants are valid, and none conflict. A narrator plugin
/// is always enabled in its own session.
pub fn plugin_settings(
    rule_services: &RuleServices,
    mut plugins: Vec<PluginChoice>,
    model: &str,
) -> Result<Vec<PluginSetting>, TurnError> {
    let catalogue = rule_services.catalogue.current();
    let narrator = model.strip_prefix("plugin:").filter(|id| catalogue.get(id).is_some());
    if let Some(id) = narrator.filter(|id| !plugins.iter().any(|plugin| plugin.id == *id)) {
        plugins.insert(0, PluginChoice::enable(id, Map::new()));
    }
    for (i, plugin) in plugins.iter().enumerate() {
        if plugins.iter().take(i).any(|other| other.id == plugin.id) {
            return Err(invalid(format!("\"{}\" appears twice", plugin.id)));
        }
    }
    let plugins =
        plugins.into_iter().map(|plugin| plugin_setting(&catalogue, plugin)).collect::<Result<Vec<_>, _>>()?;
    check_plugins_compatible(&catalogue, &plugins)?;
    Ok(plugins)
}

fn invalid(message: String) -> TurnError {
    TurnError::Invalid { field: "plugins", message }
}

/// Converts a choice to a setting, if the plugin can run and accepts its settings and grants.
fn plugin_setting(catalogue: &Catalogue, choice: PluginChoice) -> Result<PluginSetting, TurnError> {
    let PluginChoice { id, enabled, config, grants, refused } = choice;
    let absent = || match catalogue.error_summary(&id) {
        Some(broken) => invalid(format!("the plugin \"{id}\" {broken}")),
        None => invalid(format!("no plugin \"{id}\" is installed")),
    };
    let manifest = catalogue.get(&id).ok_or_else(absent)?.manifest();
    manifest.check_settings(&config).map_err(|error| invalid(format!("{id}: {error}")))?;
    let asked_for: Vec<String> = manifest.permissions.iter().map(ToString::to_string).collect();
    if let Some(grant) = grants.iter().flatten().find(|grant| !asked_for.contains(grant)) {
        return Err(invalid(format!("{id}: it does not request the permission \"{grant}\"")));
    }
    let (grants, refused) = (grants.unwrap_or_else(|| asked_for.clone()), refused.unwrap_or_default());
    if let Some(name) = refused.iter().find(|name| !asked_for.contains(name) || grants.contains(name)) {
        let why = if grants.contains(name) { "it is granted" } else { "it is not requested" };
        return Err(invalid(format!("{id}: \"{name}\" cannot be refused: {why}")));
    }
    Ok(PluginSetting { id, enabled, config, grants, refused })
}

/// Checks that the enabled plugins are compatible.
fn check_plugins_compatible(catalogue: &Catalogue, plugins: &[PluginSetting]) -> Result<(), TurnError> {
    let on = || plugins.iter().filter(|plugin| plugin.enabled).filter_map(|plugin| catalogue.get(&plugin.id));
    for manifest in on().map(|loaded| loaded.manifest()) {
        for (id, requirement) in &manifest.requires {
            let other = on().find(|other| other.id() == id);
            if !other.is_some_and(|other| requirement.allows(&other.manifest().version)) {
                return Err(invalid(format!("{} needs the plugin \"{id}\" {requirement}", manifest.id)));
            }
        }
        if let Some(id) = manifest.conflicts.iter().find(|id| on().any(|other| other.id() == id.as_str())) {
            return Err(invalid(format!("{} conflicts with the plugin \"{id}\"", manifest.id)));
        }
    }
    rules_in_force::check_roots(plugins, catalogue).map_err(invalid)
}

/// Builds the root: it records the first rules in force and what their `init` does.
async fn root_draft(
    storage: &TreeStorage,
    rule_services: &RuleServices,
    session: &Session,
    cast: &PromptCast,
    starts: Arc<[InitVarText]>,
    now: Time,
) -> (NodeDraft, HookContext) {
    let mut root = NodeDraft::new(session.root, Role::System, Kind::Root, storage.ids.next_seed(), now);
    let mut wanted =
        rules_in_force::wanted_rules(&session.plugins, &ActiveRules::default(), &rule_services.catalogue.current());
    let first = wanted.as_mut().map(|wanted| wanted.init_in(&World::default())).unwrap_or_default();
    let (active_plugins, rules) = match &wanted {
        Some(wanted) => (wanted.to_init.clone(), Arc::new(wanted.rules.rules.clone())),
        None => Default::default(),
    };
    // Build the context; without rules there is nothing to run.
    let mut context = HookContext {
        session: session.id,
        plugins: active_plugins,
        rules,
        world: Arc::default(),
        text: Arc::from(""),
        role: Role::System.as_str(),
        user: cast.user.clone(),
        character: cast.character.clone(),
        node: HookNodeInfo { id: root.id.to_string(), depth: 0, turn: 0, time: Some(now) },
        recent: Arc::from([]),
        seeds: DiceSeeds { session: session.seed, node: root.dice_seed },
        recorded: Arc::from([]),
        answer: None,
        initial_values: starts,
        replies: 0,
        is_command_only: false,
    };
    let Some(wanted) = wanted else { return (root, context) };
    // Run `init` on top of the schema defaults.
    let mut so_far = HookProposal::default();
    so_far.apply_first(first, &context.rules);
    let proposal = rule_services.hooks.run(Hook::Init, &context, so_far).await;
    root.delta = proposal.delta;
    root.delta.problems.extend(wanted.problems);
    root.rules = Some(wanted.rules);
    (context.world, context.initial_values) = (proposal.world, Arc::from([]));
    (root, context)
}

/// Runs plugins on a greeting. All greetings start from the root's world, with what their own macros wrote.
async fn run_greeting_hooks(rule_services: &RuleServices, context: &mut HookContext, greeting: &mut NodeDraft) {
    let heard =
        tags::text_for_rules(greeting.role, &greeting.content, greeting.reasoning.is_some(), &rule_services.hide_tags);
    (context.text, context.role) = (Arc::from(heard), greeting.role.as_str());
    context.character = greeting.name.clone().unwrap_or_default();
    context.node = HookNodeInfo { id: greeting.id.to_string(), depth: 1, turn: 0, time: Some(greeting.created) };
    context.seeds.node = greeting.dice_seed;
    let mut so_far = HookProposal::starting_at(Arc::clone(&context.world));
    so_far.apply_first(std::mem::take(&mut greeting.delta.operations), &context.rules);
    greeting.delta = rule_services.hooks.run(Hook::OnGreeting, context, so_far).await.delta;
}

/// Returns the greetings of all characters: the first message, then the alternate ones, with macros filled in. Random
/// macros are drawn once. What macros write to variables is in the delta of the greeting.
fn greetings(
    storage: &TreeStorage,
    characters: &[CharacterCard],
    persona: &Map<String, Value>,
    globals: &Map<String, Value>,
    root: &HookContext,
    moment: &GreetingMoment,
) -> Vec<NodeDraft> {
    let now = moment.now;
    let mut drafts = Vec::new();
    for character in characters {
        let cast = cast::cast_of_cards(&character.card, persona);
        for text in cast.greetings.iter().filter(|text| !text.trim().is_empty()) {
            let id = NodeId::new(storage.ids.next_id(now));
            let mut draft = NodeDraft::new(id, Role::Assistant, Kind::Greeting, storage.ids.next_seed(), now);
            draft.character = Some(character.id);
            draft.name = Some(cast.character.clone());
            draft.metadata.time_zone.clone_from(&moment.recorded_zone);
            let at = GreetingMoment { seed: draft.dice_seed, ..moment.clone() };
            let (filled, written) = macro_context::fill_greeting(&root.world, &root.rules, &cast, text, globals, &at);
            draft.content = filled;
            draft.delta.operations = written;
            drafts.push(draft);
        }
    }
    drafts
}

/// What a new session is linked to.
struct SessionLinks {
    characters: Vec<CharacterCard>,
    persona: Option<PersonaCard>,
    lorebooks: Vec<LorebookId>,
}

async fn write_session(
    storage: &TreeStorage,
    session: Session,
    links: SessionLinks,
    root: NodeDraft,
    greetings: Vec<NodeDraft>,
    now: Time,
) -> Result<SessionId, TurnError> {
    let id = session.id;
    let claim = IdempotencyClaim::current();
    storage
        .store
        .write(move |tx| {
            let mut session = session.clone();
            // Refuse a book that was deleted meanwhile before anything is written.
            links.lorebooks.iter().try_for_each(|book| tx.check_lorebook(session.owner, *book))?;
            for character in &links.characters {
                session.cards.push(CardRef { id: character.id, hash: tx.put_blob(&card_bytes(&character.card))? });
            }
            if let Some(persona) = &links.persona {
                session.persona = Some(PersonaRef { id: persona.id, hash: tx.put_blob(&card_bytes(&persona.card))? });
            }
            tx.begin_session(&session, &root, &greetings, now)?;
            for book in &links.lorebooks {
                tx.bind_lorebook(session.owner, *book, BindingTarget::Session(session.id))?;
            }
            tx.record_claim(claim.as_ref(), &session.id)
        })
        .await?;
    Ok(id)
}

fn card_bytes(card: &Map<String, Value>) -> Vec<u8> {
    Value::Object(card.clone()).to_string().into_bytes()
}

/// Returns whether a session has a character.
pub fn has_character(session: &Session, character: CharacterId) -> bool {
    session.cards.iter().any(|card| card.id == character)
}
