//! Checks and parses the return value of a hook. An invalid value is a script error: the call's operations are dropped,
//! the reply text stays.

use rhai::{Dynamic, Map};

use super::call::{Hook, HookAnswer, HookCall, PluginQuickReply};
use super::convert::{ByteBudget, from_script, kind_of, take_text};
use super::error::ScriptErrorKind;
use super::host_fault::HostFault;
use super::limits::ScriptLimits;
use super::permission::Permission;
use super::suggest::did_you_mean;

/// The most quick replies of one plugin at one leaf.
const MAX_QUICK_REPLIES: usize = 12;
/// The most characters of a quick reply's label.
const MAX_LABEL_CHARS: usize = 80;

/// Parses the return value of a hook.
pub(super) fn read_answer(call: &HookCall, value: &Dynamic, limits: &ScriptLimits) -> Result<HookAnswer, HostFault> {
    let mut reader = AnswerReader { hook: call.hook, bytes: ByteBudget::new(limits.result) };
    match call.hook {
        Hook::Init | Hook::Migrate | Hook::Plan | Hook::OnReply | Hook::OnEdit | Hook::OnAnswer | Hook::OnGreeting => {
            Ok(HookAnswer::Nothing)
        }
        Hook::OnInput => reader.input(value).and_then(|answer| check_grants(call, answer)),
        Hook::Narrate => reader.narration(value).map(HookAnswer::Narration),
        Hook::QuickReplies => reader.replies(value).map(HookAnswer::QuickReplies),
        Hook::OnDisplay => reader.display(value).and_then(|answer| check_grants(call, answer)),
        Hook::Tool => Ok(HookAnswer::Value(from_script(value, limits.depth, &mut reader.bytes)?)),
    }
}

struct AnswerReader {
    hook: Hook,
    bytes: ByteBudget,
}

impl AnswerReader {
    fn unexpected(&self, expected: &str, given: &Dynamic) -> HostFault {
        let message = format!("{} must return {expected}, not {}", self.hook.name(), kind_of(given));
        HostFault { kind: ScriptErrorKind::Runtime, limit: None, message }
    }

    fn text(&mut self, value: &Dynamic, expected: &str) -> Result<String, HostFault> {
        match value.as_immutable_string_ref() {
            Ok(text) => Ok(take_text(&text, &mut self.bytes)?),
            Err(_) => Err(self.unexpected(expected, value)),
        }
    }

    fn input(&mut self, value: &Dynamic) -> Result<HookAnswer, HostFault> {
        const EXPECTED: &str = "nothing, a string, or #{text, reply, stop}";
        if value.is_unit() {
            return Ok(HookAnswer::Nothing);
        }
        let Ok(map) = value.as_map_ref() else {
            return Ok(HookAnswer::Input { text: Some(self.text(value, EXPECTED)?), reply: None, stop: false });
        };
        self.check_keys(&map, &["text", "reply", "stop"])?;
        let mut part = |key: &str| match map.get(key) {
            None => Ok(None),
            Some(unit) if unit.is_unit() => Ok(None),
            Some(text) => self.text(text, &format!("a string as \"{key}\"")).map(Some),
        };
        let (text, reply) = (part("text")?, part("reply")?);
        let stop = match map.get("stop") {
            None => false,
            Some(stop) => stop.as_bool().map_err(|_| self.unexpected("true or false as \"stop\"", stop))?,
        };
        Ok(HookAnswer::Input { text, reply, stop })
    }

    fn narration(&mut self, value: &Dynamic) -> Result<Vec<String>, HostFault> {
        const EXPECTED: &str = "a string or a list of strings";
        match value.as_array_ref() {
            Ok(parts) => parts.iter().map(|part| self.text(part, EXPECTED)).collect(),
            Err(_) => self.text(value, EXPECTED).map(|text| vec![text]),
        }
    }

    /// Parses the result of `on_display`. `()` leaves the text unchanged.
    fn display(&mut self, value: &Dynamic) -> Result<HookAnswer, HostFault> {
        if value.is_unit() {
            return Ok(HookAnswer::Nothing);
        }
        self.text(value, "a string, or nothing").map(HookAnswer::Display)
    }

    fn replies(&mut self, value: &Dynamic) -> Result<Vec<PluginQuickReply>, HostFault> {
        const EXPECTED: &str = "a list of #{label, send}";
        if value.is_unit() {
            return Ok(Vec::new());
        }
        let Ok(list) = value.as_array_ref() else { return Err(self.unexpected(EXPECTED, value)) };
        let mut replies = Vec::new();
        for item in list.iter() {
            let Ok(map) = item.as_map_ref() else { return Err(self.unexpected(EXPECTED, item)) };
            self.check_keys(&map, &["label", "send", "if"])?;
            let hidden = map.get("if").is_some_and(|shown| shown.is_unit() || shown.as_bool() == Ok(false));
            let label = self.text(map.get("label").unwrap_or(&Dynamic::UNIT), "a string as \"label\"")?;
            let send = match map.get("send") {
                None => label.clone(),
                Some(send) => self.text(send, "a string as \"send\"")?,
            };
            if !hidden && replies.len() < MAX_QUICK_REPLIES {
                replies.push(PluginQuickReply { label: label.chars().take(MAX_LABEL_CHARS).collect(), send });
            }
        }
        Ok(replies)
    }

    fn check_keys(&self, map: &Map, names: &[&str]) -> Result<(), HostFault> {
        match map.keys().find(|key| !names.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let hint = did_you_mean(key, names.iter().copied());
                let (name, all) = (self.hook.name(), names.join(", "));
                let message = format!("{name} returned a map with \"{key}\"{hint}; allowed are {all}");
                Err(HostFault { kind: ScriptErrorKind::Runtime, limit: None, message })
            }
        }
    }
}

/// Checks that the session granted what the answer does: changing a text, or answering in the model's place.
fn check_grants(call: &HookCall, answer: HookAnswer) -> Result<HookAnswer, HostFault> {
    let changes = |text: &str| *text != *call.text;
    let needs = match &answer {
        HookAnswer::Input { text, reply, stop } => vec![
            (text.as_deref().is_some_and(changes), Permission::InputRewrite, "changing the user's message"),
            (reply.is_some() || *stop, Permission::InputStop, "answering or stopping"),
        ],
        HookAnswer::Display(text) => {
            vec![(changes(text), Permission::DisplayRewrite, "changing how a message is shown")]
        }
        _ => Vec::new(),
    };
    for (used, permission, what) in needs {
        if used && !call.grants.contains(&permission) {
            let message = format!("{}: {what} needs the permission \"{permission}\"", call.hook.name());
            return Err(HostFault { kind: ScriptErrorKind::Permission, limit: None, message });
        }
    }
    Ok(answer)
}
