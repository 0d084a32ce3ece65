//! Slash commands that several plugins of a session define: the first in run order gets them.

use std::sync::Arc;

use crate::turn::problem::TurnProblem;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::tree::PluginSetting;
use clotho_plugin::{Catalogue, Hook, LoadedPlugin, load_order};

/// Returns a warning for each command that another plugin gets.
pub fn duplicate_command_warnings(plugins: &[PluginSetting], catalogue: &Catalogue) -> Vec<RenderedMessage> {
    let on = plugins.iter().filter(|plugin| plugin.enabled).filter_map(|plugin| catalogue.get(&plugin.id));
    let playing: Vec<Arc<LoadedPlugin>> = on.filter(|plugin| plugin.has_hook(Hook::OnInput)).cloned().collect();
    let playing = load_order(&playing);
    let mut problems = Vec::new();
    for (n, later) in playing.iter().enumerate() {
        let commands = later.manifest().commands.iter();
        for word in commands.flat_map(|command| std::iter::once(&command.name).chain(&command.aliases)) {
            let mut before = playing.iter().take(n);
            if let Some(first) = before.find(|first| first.manifest().command(word).is_some()) {
                problems.push(RenderedMessage::new(&TurnProblem::CommandTaken {
                    command: word.clone(),
                    first: first.id().to_owned(),
                    later: later.id().to_owned(),
                }));
            }
        }
    }
    problems
}
