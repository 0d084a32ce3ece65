//! Sessions: one story each. Plain data.

use serde_json::{Map, Value};

use crate::clock::Time;
use crate::ids::{CharacterId, ConnectionProfileId, NodeId, PersonaId, PresetId, SessionId, UserId};

use super::allowed_scripts::AllowedScripts;
use super::authors_note::AuthorsNote;
use super::recall_settings::RecallSettings;
use super::requested_settings::RequestedSettings;
use super::script_consent::ScriptConsent;
use super::summary_settings::SummarySettings;

/// One story: a tree, a HEAD and its settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub id: SessionId,
    pub owner: UserId,
    pub title: String,
    /// The characters in speaking order, each in the version that prompts use.
    pub cards: Vec<CardRef>,
    /// The persona that the owner plays.
    pub persona: Option<PersonaRef>,
    pub root: NodeId,
    /// The node at which the session stands.
    pub head: NodeId,
    /// The number of the newest operation.
    pub op: i64,
    /// The number of the operation that last moved HEAD.
    pub head_op: i64,
    /// `tree` or `linear`.
    pub mode: String,
    /// `None`: the server's default model.
    pub model: Option<String>,
    pub params: Map<String, Value>,
    /// The preset that builds the prompts, in its current version. `None` or a deleted preset: the server's defaults.
    pub preset: Option<PresetId>,
    pub scripts: AllowedScripts,
    /// Whether and how text that no longer fits the prompt is recalled.
    pub recall: RecallSettings,
    pub note: Option<AuthorsNote>,
    /// Whether and how text that no longer fits the prompt is summarized.
    pub summaries: SummarySettings,
    /// The model that writes value changes after each reply; `None`: the model of the reply does.
    pub values_model: Option<String>,
    /// The connection profile that was chosen last; it may be gone. The settings are those of the session.
    pub profile: Option<ConnectionProfileId>,
    /// The wanted plugins. Those that were active at a node are recorded on its path (`domain.md` 3.2).
    pub plugins: Vec<PluginSetting>,
    /// What an imported file wants and the owner has not accepted.
    pub requested: RequestedSettings,
    /// The folder in the list of sessions; `None`: no folder.
    pub folder: Option<String>,
    /// The tags in the list of sessions, in alphabetical order.
    pub tags: Vec<String>,
    /// Whether the session stands above the others in lists.
    pub is_pinned: bool,
    /// The seed of all dice of the session.
    pub seed: u64,
    /// The number of arrangement edits that may have invalidated keyframes.
    pub edits: i64,
    pub created: Time,
    pub updated: Time,
}

impl Session {
    /// Moves the settings that need the owner's consent into `requested`, and sets the defaults. Plugins stay, without
    /// permissions. Folder, tags and pin are dropped: they arrange a list of another owner. `has_scripts`: whether the cards or the preset have regex scripts.
    pub fn withhold_settings(&mut self, has_scripts: bool) {
        let grants = self.plugins.iter_mut().map(|plugin| {
            plugin.refused.clear();
            (plugin.id.clone(), std::mem::take(&mut plugin.grants))
        });
        let grants = grants.filter(|(_, grants)| !grants.is_empty()).collect();
        let wants_scripts = has_scripts && (self.scripts.card || self.scripts.preset);
        let scripts =
            wants_scripts.then(|| std::mem::replace(&mut self.scripts, AllowedScripts { card: false, preset: false }));
        let summaries = std::mem::take(&mut self.summaries);
        self.profile = None;
        self.folder = None;
        self.tags.clear();
        self.is_pinned = false;
        self.requested = RequestedSettings {
            model: self.model.take(),
            values_model: self.values_model.take(),
            params: std::mem::take(&mut self.params),
            preset: self.preset.take(),
            scripts,
            is_recall_on: std::mem::take(&mut self.recall).is_on,
            summaries: summaries.is_on.then_some(summaries),
            grants,
        };
    }

    /// Turns the scripts of the cards off if the owner has not allowed those of a card; in a group, of any card. If one of
    /// them waits for an answer, they wait in the requested settings too.
    pub fn apply_script_consents(&mut self, consents: &[ScriptConsent]) {
        if !self.scripts.card || consents.iter().all(|consent| *consent == ScriptConsent::Allowed) {
            return;
        }
        let wanted = self.scripts;
        self.scripts.card = AllowedScripts::of_cards(consents);
        if consents.contains(&ScriptConsent::Asked) && self.requested.scripts.is_none() {
            self.requested.scripts = Some(wanted);
        }
    }
}

/// A character in one version: that of the session's start, until the owner chooses another one. Later edits of the
/// card do not change the session (`domain.md` 2.17).
#[derive(Debug, Clone, PartialEq)]
pub struct CardRef {
    pub id: CharacterId,
    /// The content hash of the card, in hexadecimal.
    pub hash: String,
}

/// A persona in the version of the session's start.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonaRef {
    pub id: PersonaId,
    /// The content hash of the card, in hexadecimal.
    pub hash: String,
}

/// The setting of one plugin in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct PluginSetting {
    /// The plugin's id.
    pub id: String,
    pub enabled: bool,
    /// The plugin's settings, as given.
    pub config: Map<String, Value>,
    /// Granted permissions, as manifest words; empty grants none.
    pub grants: Vec<String>,
    /// Permissions that the user denied; the user is not asked for them again.
    pub refused: Vec<String>,
}
