//! The rules of a turn: those in force on the path, and those that the session wants now. If they differ, a change node
//! comes first. It records the new rules and what their `init` does (`docs/domain.md` 3.2), so the past is never
//! rewritten.

use std::sync::Arc;

use crate::turn::problem::TurnProblem;
use clotho_core::tree::{Delta, NodeProblem, PluginSetting};
use clotho_core::world::{StateChange, StateOperation, World};
use clotho_plugin::{Catalogue, Hook, LoadedPlugin};
use clotho_store::{ActiveRules, PluginRecord};

use super::hooks::ActivePlugin;

/// The rules that a session wants, with the plugins to initialise and migrate.
pub struct WantedRules {
    pub rules: Arc<ActiveRules>,
    /// The plugins that were not in force before: `init` runs.
    pub to_init: Vec<ActivePlugin>,
    /// The plugins whose values have an older version: `migrate` runs.
    pub to_migrate: Vec<ActivePlugin>,
    /// Plugins that cannot be used, and why.
    pub problems: Vec<NodeProblem>,
}

/// Compares a session's settings with the rules in force; `None` if nothing changes.
pub fn wanted_rules(settings: &[PluginSetting], before: &ActiveRules, catalogue: &Catalogue) -> Option<WantedRules> {
    let mut problems = Vec::new();
    let mut plugins = Vec::new();
    for setting in settings.iter().filter(|setting| setting.enabled) {
        let existing = before.plugins.iter().find(|plugin| plugin.id == setting.id);
        match (catalogue.get(&setting.id), existing) {
            (Some(loaded), existing) => match plugin_in_force(loaded, setting) {
                Ok(plugin) => plugins.push(with_state_version(plugin, existing, &mut problems)),
                Err(message) => problems.push(
                    TurnProblem::PluginSettings { plugin: setting.id.clone(), error: message }.for_plugin(&setting.id),
                ),
            },
            // A plugin that is missing for now stays in force, so that its values keep their schema.
            (None, Some(existing)) => plugins.push(existing.clone()),
            (None, None) => problems.push(not_loaded(&setting.id, catalogue)),
        }
    }
    if plugins == before.plugins {
        return None;
    }
    let rules = compatible_rules(plugins, &mut problems);
    if rules.is_same(before) {
        return None;
    }
    let is_new = |plugin: &&PluginRecord| !before.plugins.iter().any(|old| old.id == plugin.id);
    let new: Vec<PluginRecord> = rules.plugins.iter().filter(is_new).cloned().collect();
    let beginning = active_plugins(&new, catalogue);
    let older = |active: ActivePlugin| {
        let old = before.plugins.iter().find(|old| old.id == active.in_force.id)?;
        (old.state_version < active.in_force.state_version)
            .then_some(ActivePlugin { from_version: old.state_version, ..active })
    };
    let migrating = active_plugins(&rules.plugins, catalogue).into_iter().filter_map(older).collect();
    Some(WantedRules { rules: Arc::new(rules), to_init: beginning, to_migrate: migrating, problems })
}

/// Sets the version of the stored values. Code that could not migrate them is not tried again. Values newer than the
/// code stay as they are.
fn with_state_version(
    plugin: PluginRecord,
    existing: Option<&PluginRecord>,
    problems: &mut Vec<NodeProblem>,
) -> PluginRecord {
    let Some(existing) = existing else { return plugin };
    let (now, there) = (plugin.state_version, existing.state_version);
    if there > now {
        let older = TurnProblem::PluginOlder { plugin: plugin.id.clone(), values: there, known: now };
        problems.push(older.for_plugin(&plugin.id));
    }
    let is_tried = existing.code_hash == plugin.code_hash;
    PluginRecord { state_version: if is_tried { there } else { now.max(there) }, ..plugin }
}

impl WantedRules {
    /// Keeps in `to_init` only plugins without values in this world; a plugin that is enabled again finds its old ones.
    /// Returns the schema defaults of those that have no `init`.
    pub fn init_in(&mut self, world: &World) -> Vec<StateOperation> {
        self.to_init.retain(|active| world.get(&active.plugin.manifest().state.root).is_none());
        let mut first = Vec::new();
        for ActivePlugin { plugin, .. } in self.to_init.iter().filter(|active| !active.plugin.has_hook(Hook::Init)) {
            let root = &plugin.manifest().state.root;
            let values = plugin.schema().map(|schema| schema.default_values()).unwrap_or_default();
            let begins = |(key, value)| {
                StateOperation::new(root.child(key), StateChange::Set(value), "the initial state", plugin.id())
            };
            first.extend(values.into_iter().map(begins));
        }
        first
    }

    /// Returns the rules after migration. A plugin whose `migrate` failed keeps its old version.
    pub fn after_migration(mut self, migrated: &Delta) -> (Arc<ActiveRules>, Vec<NodeProblem>) {
        let hook = Hook::Migrate;
        for active in self.to_migrate.iter().filter(|active| active.plugin.has_hook(hook)) {
            if migrated.hook_succeeded(active.plugin.id(), hook.name()) {
                continue;
            }
            let mut own = Arc::make_mut(&mut self.rules).plugins.iter_mut();
            let own = own.find(|plugin| plugin.id == active.in_force.id);
            own.into_iter().for_each(|own| own.state_version = active.from_version);
        }
        (self.rules, self.problems)
    }
}

/// Returns the rules of the plugins whose roots do not conflict; of two that do, the later one is left out.
fn compatible_rules(plugins: Vec<PluginRecord>, problems: &mut Vec<NodeProblem>) -> ActiveRules {
    let mut agreed = ActiveRules::default();
    for plugin in plugins {
        let id = plugin.id.clone();
        let mut together = agreed.plugins.clone();
        together.push(plugin);
        match ActiveRules::new(together) {
            Ok(rules) => agreed = rules,
            Err(message) => {
                problems.push(TurnProblem::PluginConflict { plugin: id.clone(), error: message }.for_plugin(&id))
            }
        }
    }
    agreed
}

/// Checks that the roots of enabled plugins do not conflict.
///
/// # Errors
/// Returns a message that names the two conflicting plugins.
pub fn check_roots(settings: &[PluginSetting], catalogue: &Catalogue) -> Result<(), String> {
    let on = settings.iter().filter(|setting| setting.enabled);
    let loaded = on.filter_map(|setting| catalogue.get(&setting.id).map(|loaded| (loaded, setting)));
    let plugins = loaded.map(|(loaded, setting)| plugin_in_force(loaded, setting)).collect::<Result<Vec<_>, _>>()?;
    ActiveRules::new(plugins).map(drop)
}

/// Returns the plugins in force that are loaded.
pub fn active_plugins(in_force: &[PluginRecord], catalogue: &Catalogue) -> Vec<ActivePlugin> {
    let active = |plugin: &PluginRecord| {
        catalogue.get(&plugin.id).map(|loaded| ActivePlugin {
            plugin: Arc::clone(loaded),
            in_force: plugin.clone(),
            from_version: plugin.state_version,
        })
    };
    in_force.iter().filter_map(active).collect()
}

/// Returns a problem for each plugin in force that is not loaded, or whose code differs from the recorded one.
pub fn changed_plugins(in_force: &[PluginRecord], catalogue: &Catalogue) -> Vec<NodeProblem> {
    let problem = |plugin: &PluginRecord| match catalogue.get(&plugin.id) {
        None => Some(not_loaded(&plugin.id, catalogue)),
        Some(loaded) if loaded.code_hash() != plugin.code_hash => {
            let (recorded, ran) = (plugin.version.clone(), loaded.manifest().version.to_string());
            Some(TurnProblem::PluginChanged { plugin: plugin.id.clone(), recorded, ran }.for_plugin(&plugin.id))
        }
        Some(_) => None,
    };
    in_force.iter().filter_map(problem).collect()
}

fn plugin_in_force(loaded: &Arc<LoadedPlugin>, setting: &PluginSetting) -> Result<PluginRecord, String> {
    let manifest = loaded.manifest();
    let config = manifest.check_settings(&setting.config).map_err(|error| error.to_string())?;
    Ok(PluginRecord {
        id: loaded.id().to_owned(),
        version: manifest.version.to_string(),
        code_hash: loaded.code_hash().to_owned(),
        config,
        grants: setting.grants.clone(),
        root: loaded.schema().map(|_| manifest.state.root.clone()),
        schema: loaded.schema().map(|schema| schema.source().clone()),
        state_version: manifest.state.version,
    })
}

fn not_loaded(id: &str, catalogue: &Catalogue) -> NodeProblem {
    let plugin = id.to_owned();
    let problem = match catalogue.load_error(id) {
        Some(error) => TurnProblem::PluginBroken { plugin, error },
        None => TurnProblem::PluginMissing { plugin },
    };
    problem.for_plugin(id)
}
