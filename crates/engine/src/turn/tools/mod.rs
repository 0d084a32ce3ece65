//! Tools: what plugins let a model call while it writes a reply (`docs/modders.md`). What a tool does belongs to the reply
//! like what `on_reply` does: operations, dice, notes, and a record of the run with what was asked and what was answered.
//!
//! A model that wants something impossible is told so in words that it can act on; no call ever fails a reply.
//!
//! `text_tools.rs` has them called in words by models that know no tools, `lenient_json.rs` forgives slips of models.

pub(super) mod lenient_json;
pub(super) mod text_tools;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use clotho_compat::prompt::TokenMeasure;
use clotho_core::world::find_equivalent_name;
use clotho_plugin::{Permission, PluginTool, TOOL_PREFIX, ToolInvocation};
use clotho_provider::{ToolCall, ToolRound};

use crate::turn::TurnServices;
use crate::turn::rules::hooks::{ActivePlugin, HookContext, HookProposal, SERVER, in_order};

/// So often a model is asked again with what came of its tools.
pub const MAX_ROUNDS: usize = 4;
/// So many calls one reply may make.
const MAX_CALLS: usize = 16;
/// The longest name that model servers take.
const MAX_NAME_CHARS: usize = 64;
/// So many characters of arguments that no tool takes are kept.
const MAX_RECORD_CHARS: usize = 2_000;

/// The tools that a reply may use.
#[derive(Debug, Clone, Default)]
pub struct ToolOffers {
    all: Vec<ToolOffer>,
    /// Whether they are told in the prompt, and called in words.
    pub are_in_text: bool,
}

#[derive(Debug, Clone)]
struct ToolOffer {
    plugin: ActivePlugin,
    tool: PluginTool,
    /// What the model calls it: its name, with the plugin's before it where another plugin has one of that name.
    name: String,
}

impl ToolOffers {
    /// The tools of those who play, as far as they were granted to offer any.
    pub fn for_plugins(players: &[ActivePlugin]) -> Self {
        let mut offers = Self::default();
        for player in in_order(players).into_iter().filter(|player| player.has_permission(&Permission::Tools)) {
            for tool in player.plugin.manifest().tools.clone() {
                let plain = tool.name.clone();
                let name = match offers.find(&plain) {
                    None => plain,
                    Some(_) => format!("{}_{plain}", player.plugin.id()).chars().take(MAX_NAME_CHARS).collect(),
                };
                if offers.find(&name).is_none() {
                    offers.all.push(ToolOffer { plugin: player.clone(), tool, name });
                }
            }
        }
        offers
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// As model servers are told of them.
    pub fn to_wire(&self) -> Vec<Value> {
        let told = |ToolOffer { tool, name, .. }: &ToolOffer| {
            let function =
                json!({"name": name, "description": tool.description, "parameters": tool.parameters.source()});
            json!({"type": "function", "function": function})
        };
        self.all.iter().map(told).collect()
    }

    /// Tokens that telling of them takes, about: each server writes them its own way. What stands in the prompt is counted there.
    pub fn tokens(&self, measure: &TokenMeasure) -> usize {
        if self.is_empty() || self.are_in_text { 0 } else { measure.message(&Value::from(self.to_wire()).to_string()) }
    }

    fn find(&self, name: &str) -> Option<&ToolOffer> {
        self.all.iter().find(|offer| offer.name == name)
    }

    /// The one that a model means, which may write its name in another way.
    fn find_lenient(&self, name: &str) -> Option<&ToolOffer> {
        self.find(name).or_else(|| self.find(find_equivalent_name(name, self.names())?))
    }

    /// What the model calls them.
    pub fn names(&self) -> Vec<&str> {
        self.all.iter().map(|offer| offer.name.as_str()).collect()
    }
}

/// Tells the author what was read as what, in front of what the tool itself warned of.
fn note_repairs(run: &mut Map<String, Value>, mended: &[(String, String)]) {
    let lines = repair_lines(mended).map(Value::from);
    if let Some(Value::Array(warnings)) = run.get_mut("warnings") {
        warnings.splice(0..0, lines);
    }
}

/// The tools of one reply at work.
pub struct ToolRunner<'a> {
    services: &'a TurnServices,
    offers: &'a ToolOffers,
    context: HookContext,
    proposal: &'a mut HookProposal,
    /// How often each was used.
    used: HashMap<String, u32>,
    calls: usize,
}

impl<'a> ToolRunner<'a> {
    /// Tools at a stage; what they do goes to the proposal.
    pub fn new(
        services: &'a TurnServices,
        offers: &'a ToolOffers,
        context: HookContext,
        proposal: &'a mut HookProposal,
    ) -> Self {
        Self { services, offers, context, proposal, used: HashMap::new(), calls: 0 }
    }

    /// As model servers are told of them; `None` = the prompt tells.
    pub fn to_wire(&self) -> Option<Vec<Value>> {
        (!self.offers.are_in_text).then(|| self.offers.to_wire())
    }

    /// Answers what a model wants called, one after the other: each sees what those before it did.
    pub async fn answer(&mut self, said: &str, calls: &[ToolCall]) -> ToolRound {
        let mut round = ToolRound { said: said.to_owned(), ..ToolRound::default() };
        for call in calls {
            let answer = match self.run_call(call).await {
                Ok(value) => value.to_string(),
                Err(why) => json!({"error": why}).to_string(),
            };
            self.calls += 1;
            // Servers that name no call still want one named in what they are sent.
            let id = if call.id.is_empty() { format!("call_{}", self.calls) } else { call.id.clone() };
            round.calls.push(ToolCall { id, ..call.clone() });
            round.answers.push(answer);
        }
        round
    }

    async fn run_call(&mut self, call: &ToolCall) -> Result<Value, String> {
        let (offer, arguments, mended) = match self.match_call(call) {
            Ok(fitting) => fitting,
            Err((offer, why)) => {
                let by = offer.map_or(SERVER, |offer| offer.plugin.plugin.id());
                self.proposal.delta.runs.push(refused_call_record(by, call, &why));
                return Err(why);
            }
        };
        let before = self.used.entry(offer.name.clone()).or_default();
        let tool = ToolInvocation { name: offer.tool.name.clone(), arguments, before: *before };
        *before += 1;
        let runs = self.proposal.delta.runs.len();
        let answer = self.services.hooks.call_tool(&self.context, &offer.plugin, tool, self.proposal).await;
        if let Some(Value::Object(run)) = self.proposal.delta.runs.get_mut(runs) {
            note_repairs(run, &mended);
        }
        answer
    }

    /// What a call is for, with its arguments as the tool's schema has them and what was read as what; or why that cannot be, in
    /// words for the model.
    fn match_call(&self, call: &ToolCall) -> Result<ToolCallMatch<'a>, (Option<&'a ToolOffer>, String)> {
        if self.calls >= MAX_CALLS {
            return Err((None, format!("one reply may call {MAX_CALLS} tools; write it now with what you know")));
        }
        let missing = || format!("there is no tool \"{}\"; there are: {}", call.name, self.offers.names().join(", "));
        let offer = self.offers.find_lenient(&call.name).ok_or_else(|| (None, missing()))?;
        let mut arguments = match call.arguments.trim() {
            "" => json!({}),
            text => lenient_json::read(text)
                .map_err(|error| (Some(offer), format!("the arguments are no JSON: {error}")))?,
        };
        let named = Some((call.name.clone(), offer.name.clone())).filter(|(said, name)| said != name);
        let mended = repair_arguments(&offer.tool, &mut arguments).map_err(|why| (Some(offer), why))?;
        Ok((offer, arguments, named.into_iter().chain(mended).collect()))
    }
}

/// Brings arguments into the shape that a tool's schema has, and says what was read as what.
///
/// # Errors
/// They do not fit, in words for the model.
pub fn repair_arguments(tool: &PluginTool, arguments: &mut Value) -> Result<Vec<(String, String)>, String> {
    let mended = tool.parameters.normalize_names(arguments);
    tool.parameters.coerce(arguments).map_err(|why| format!("the arguments do not fit: {why}"))?;
    Ok(mended)
}

/// What was read as what, for the author.
pub fn repair_lines(mended: &[(String, String)]) -> impl Iterator<Item = String> {
    mended.iter().map(|(said, meant)| format!("read \"{said}\" as \"{meant}\""))
}

/// A tool, what it is called with, and what was read as what.
type ToolCallMatch<'a> = (&'a ToolOffer, Value, Vec<(String, String)>);

/// The record of a call that came to no script: what the model wanted, and what it was told instead.
fn refused_call_record(by: &str, call: &ToolCall, why: &str) -> Value {
    let name: String = call.name.chars().take(MAX_NAME_CHARS).collect();
    let text: String = call.arguments.chars().take(MAX_RECORD_CHARS).collect();
    let arguments = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text));
    json!({
        "plugin": by, "hook": format!("{TOOL_PREFIX}{name}"), "arguments": arguments, "refused": why,
        "ops": 0, "rolls": 0, "notes": 0,
    })
}
