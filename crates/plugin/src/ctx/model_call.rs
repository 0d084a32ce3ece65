//! `ctx.ask`: a hook requests a model call. The host makes it after the message is written and passes the answer to
//! `on_answer`.

use rhai::{Array, Dynamic, Map};
use serde_json::Value;

use super::{Ctx, CtxSurface, RunningCall};
use crate::call::Hook;
use crate::convert::{kind_of, take_text};
use crate::error::ScriptErrorKind;
use crate::host_fault::{HostFault, RhaiThrow, throw, throw_limit};
use crate::limits::ScriptLimit;
use crate::model_call::{DEFAULT_MAX_TOKENS, MAX_TOKENS, ModelCallMessage, PluginModelCall};
use crate::permission::Permission;
use crate::suggest::did_you_mean;

/// The most messages of one call.
const MESSAGES: usize = 64;
/// The most characters of a call's name.
const NAME: usize = 64;

pub(super) fn register(surface: &mut CtxSurface<'_>) {
    surface.begin_group("Asking a model");
    surface.function(
        "ask",
        &["ctx: Ctx", "name: string", "what: #{messages, max_tokens, model}", "()"],
        "Asks a model after this turn is written; on_answer gets the answer. Only in on_input, on_reply and on_edit.",
        |ctx: &mut Ctx, name: &str, what: Map| ctx.0.add_model_call(name, &what),
    );
    surface.property(
        "answer",
        "Map",
        "In on_answer: the answer as #{name, text, error, turn}. error is () on success, and turn is the turn of the \
         asking message. Elsewhere ().",
        |ctx: &mut Ctx| -> Dynamic { ctx.0.answer() },
    );
}

impl RunningCall {
    fn answer(&self) -> Dynamic {
        let Some(answered) = &self.call.answer else { return Dynamic::UNIT };
        let error = answered.error.clone().map_or(Dynamic::UNIT, Dynamic::from);
        let turn = i64::try_from(answered.turn).unwrap_or(i64::MAX).into();
        let (name, text) = (answered.name.clone().into(), answered.text.clone().into());
        let pairs = [("name", name), ("text", text), ("error", error), ("turn", turn)];
        pairs.into_iter().map(|(key, value)| (key.into(), value)).collect::<Map>().into()
    }

    fn add_model_call(&self, name: &str, what: &Map) -> Result<(), RhaiThrow> {
        if !matches!(self.call.hook, Hook::OnInput | Hook::OnReply | Hook::OnEdit) {
            let message = "ask: only on_input, on_reply and on_edit may ask a model";
            return Err(throw(ScriptErrorKind::Runtime, message));
        }
        self.require("ask", &Permission::ModelCall)?;
        let is_named = !name.is_empty() && name.chars().count() <= NAME;
        let name =
            take_text(name, &mut self.effects().bytes).map_err(|error| HostFault::from(error).throw_in("ask"))?;
        if !is_named {
            return Err(throw(ScriptErrorKind::Runtime, format!("ask: the name of a call has 1 to {NAME} characters")));
        }
        let of = format!("ask(\"{name}\")");
        let mut ask = PluginModelCall { name, messages: Vec::new(), max_tokens: DEFAULT_MAX_TOKENS, model: None };
        for (key, value) in what {
            match key.as_str() {
                "messages" => ask.messages = self.lines(&of, value)?,
                "max_tokens" => ask.max_tokens = tokens(&of, value)?,
                "model" if value.is_unit() => {}
                "model" => ask.model = Some(self.text_of(&of, "model", value)?),
                _ => return Err(unknown(&of, key, &["messages", "max_tokens", "model"])),
            }
        }
        if ask.messages.iter().all(|line| line.text.trim().is_empty()) {
            return Err(throw(ScriptErrorKind::Runtime, format!("{of}: \"messages\" has no text for a model")));
        }
        let mut done = self.effects();
        let most = self.limits().asks;
        if done.model_calls.len() >= most {
            return Err(throw_limit(ScriptLimit::Chatter, format!("{of}: one hook call may ask at most {most} times")));
        }
        done.model_calls.push(ask);
        Ok(())
    }

    /// Parses the messages: a list of `#{role, text}` as `ctx.recent` gives them, or one text.
    fn lines(&self, of: &str, value: &Dynamic) -> Result<Vec<ModelCallMessage>, RhaiThrow> {
        if value.is_string() {
            return Ok(vec![ModelCallMessage { role: "user".to_owned(), text: self.text_of(of, "messages", value)? }]);
        }
        let expected =
            || format!("{of}: \"messages\" must be a string or a list of #{{role, text}}, not {}", kind_of(value));
        let list = value.clone().try_cast::<Array>().ok_or_else(|| throw(ScriptErrorKind::Runtime, expected()))?;
        if list.len() > MESSAGES {
            return Err(throw(
                ScriptErrorKind::Runtime,
                format!("{of}: at most {MESSAGES} messages, not {}", list.len()),
            ));
        }
        list.iter().map(|one| self.message(of, one)).collect()
    }

    fn message(&self, of: &str, value: &Dynamic) -> Result<ModelCallMessage, RhaiThrow> {
        let wrong = |message: String| throw(ScriptErrorKind::Runtime, format!("{of}: {message}"));
        let Some(map) = value.clone().try_cast::<Map>() else {
            return Err(wrong(format!("a message must be #{{role, text}}, not {}", kind_of(value))));
        };
        let (mut role, mut name, mut text) = ("user".to_owned(), None, None);
        for (key, value) in &map {
            match key.as_str() {
                "role" => role = self.text_of(of, "role", value)?,
                "text" | "content" => text = Some(self.text_of(of, key, value)?),
                // As in `ctx.recent`: the speaker's name is put in front of the text.
                "name" => name = Some(self.text_of(of, "name", value)?).filter(|name| !name.is_empty()),
                _ => return Err(unknown(of, key, &["role", "name", "text"])),
            }
        }
        if !matches!(role.as_str(), "user" | "assistant" | "system") {
            return Err(wrong(format!("a role must be user, assistant or system, not {}", Value::from(role))));
        }
        let text = text.ok_or_else(|| wrong("a message needs a \"text\"".to_owned()))?;
        Ok(ModelCallMessage { role, text: name.map_or(text.clone(), |name| format!("{name}: {text}")) })
    }

    fn text_of(&self, of: &str, key: &str, value: &Dynamic) -> Result<String, RhaiThrow> {
        let Ok(text) = value.as_immutable_string_ref() else {
            let message = format!("{of}: \"{key}\" must be a string, not {}", kind_of(value));
            return Err(throw(ScriptErrorKind::Runtime, message));
        };
        take_text(&text, &mut self.effects().bytes).map_err(|error| HostFault::from(error).throw_in(of))
    }
}

fn tokens(of: &str, value: &Dynamic) -> Result<u32, RhaiThrow> {
    let tokens = value.as_int().ok().and_then(|number| u32::try_from(number).ok());
    tokens.filter(|tokens| (1..=MAX_TOKENS).contains(tokens)).ok_or_else(|| {
        throw(ScriptErrorKind::Runtime, format!("{of}: \"max_tokens\" must be a whole number from 1 to {MAX_TOKENS}"))
    })
}

fn unknown(of: &str, key: &str, known: &[&'static str]) -> RhaiThrow {
    let (hint, all) = (did_you_mean(key, known.iter().copied()), known.join(", "));
    throw(ScriptErrorKind::Runtime, format!("{of}: there is no \"{key}\"{hint}; allowed are {all}"))
}
