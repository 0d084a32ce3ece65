//! Which rules a turn runs under: those in force on the path, and those the session wants now. Where they differ, a change
//! node comes first that records the new ones with what their `init` does (`docs/domain.md` 3.2), so that nothing ever rewrites
//! the past.

use std::sync::Arc;

use crate::plugin::{Catalogue, Loaded};
use crate::store::{PluginInForce, RulesInForce};
use crate::tree::{PluginSetting, Trouble};

use super::hooks::Player;

/// The rules that a session wants, and the plugins among them that begin.
pub struct Wanted {
    /// The rules.
    pub rules: Arc<RulesInForce>,
    /// The plugins that were not in force before: their `init` runs.
    pub beginning: Vec<Player>,
    /// What cannot play, and why.
    pub problems: Vec<Trouble>,
}

/// What a session's settings mean after the rules in force; `None` when nothing changes.
pub fn wanted(settings: &[PluginSetting], before: &RulesInForce, catalogue: &Catalogue) -> Option<Wanted> {
    let mut problems = Vec::new();
    let mut plugins = Vec::new();
    for setting in settings.iter().filter(|setting| setting.enabled) {
        let known = before.plugins.iter().find(|plugin| plugin.id == setting.id);
        match (catalogue.get(&setting.id), known) {
            (Some(loaded), _) => match in_force(loaded, setting) {
                Ok(plugin) => plugins.push(plugin),
                Err(message) => problems.push(trouble("plugin_settings", message, &setting.id)),
            },
            // A plugin that is gone for now stays in force: its values keep their schema.
            (None, Some(known)) => plugins.push(known.clone()),
            (None, None) => problems.push(trouble("plugin_missing", "it is not installed".into(), &setting.id)),
        }
    }
    let rules = match RulesInForce::new(plugins) {
        Ok(rules) => rules,
        Err(message) => {
            problems.push(Trouble { code: "plugin_conflict".into(), message, plugin: None });
            return (!before.plugins.is_empty()).then(|| Wanted {
                rules: Arc::default(),
                beginning: Vec::new(),
                problems,
            });
        }
    };
    if rules.is_same(before) {
        return None;
    }
    let is_new = |plugin: &&PluginInForce| !before.plugins.iter().any(|old| old.id == plugin.id);
    let new: Vec<PluginInForce> = rules.plugins.iter().filter(is_new).cloned().collect();
    let beginning = players(&new, catalogue);
    Some(Wanted { rules: Arc::new(rules), beginning, problems })
}

/// Whether the roots of plugins that are switched on leave each other alone.
///
/// # Errors
/// Says which two do not.
pub fn together(settings: &[PluginSetting], catalogue: &Catalogue) -> Result<(), String> {
    let on = settings.iter().filter(|setting| setting.enabled);
    let loaded = on.filter_map(|setting| catalogue.get(&setting.id).map(|loaded| (loaded, setting)));
    let plugins = loaded.map(|(loaded, setting)| in_force(loaded, setting)).collect::<Result<Vec<_>, _>>()?;
    RulesInForce::new(plugins).map(drop)
}

/// The plugins in force that are loaded.
pub fn players(in_force: &[PluginInForce], catalogue: &Catalogue) -> Vec<Player> {
    let player = |plugin: &PluginInForce| {
        catalogue.get(&plugin.id).map(|loaded| Player { plugin: Arc::clone(loaded), in_force: plugin.clone() })
    };
    in_force.iter().filter_map(player).collect()
}

/// The plugins in force that are not loaded, as problems.
pub fn missing(in_force: &[PluginInForce], catalogue: &Catalogue) -> Vec<Trouble> {
    let gone = in_force.iter().filter(|plugin| catalogue.get(&plugin.id).is_none());
    gone.map(|plugin| trouble("plugin_missing", "it is in force here but not installed now".into(), &plugin.id))
        .collect()
}

fn in_force(loaded: &Arc<Loaded>, setting: &PluginSetting) -> Result<PluginInForce, String> {
    let manifest = loaded.manifest();
    let config = manifest.settings(&setting.config).map_err(|error| error.to_string())?;
    Ok(PluginInForce {
        id: loaded.id().to_owned(),
        version: manifest.version.to_string(),
        code_hash: loaded.code_hash().to_owned(),
        config,
        grants: setting.grants.clone(),
        root: loaded.schema().map(|_| manifest.state.root.clone()),
        schema: loaded.schema().map(|schema| schema.source().clone()),
    })
}

fn trouble(code: &str, message: String, plugin: &str) -> Trouble {
    Trouble { code: code.to_owned(), message: format!("{plugin}: {message}"), plugin: Some(plugin.to_owned()) }
}
