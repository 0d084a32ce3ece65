//! Tools: what plugins let a model call while it writes a reply (`docs/modders.md`). What a tool does belongs to the reply
//! like what `on_reply` does: operations, dice, notes, and a record of the run with what was asked and what was answered.
//!
//! A model that wants something impossible is told so in words that it can act on; no call ever fails a reply.
//!
//! `spoken.rs` has them called in words by models that know no tools, `slips.rs` forgives slips of models.

pub(super) mod slips;
pub(super) mod spoken;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::plugin::{Permission, PluginTool, TOOL, ToolInvocation};
use crate::prompt::TokenMeasure;
use crate::provider::{ToolCall, ToolRound};
use crate::world::alike;

use crate::turn::TurnServices;
use crate::turn::rules::hooks::{ActivePlugin, HookContext, HookProposal, SERVER, in_order};

/// So often a model is asked again with what came of its tools.
pub const ROUNDS: usize = 4;
/// So many calls one reply may make.
const CALLS: usize = 16;
/// The longest name that model servers take.
const NAME: usize = 64;
/// So many characters of arguments that no tool takes are kept.
const LONGEST_TOLD: usize = 2_000;

/// The tools that a reply may use.
#[derive(Debug, Clone, Default)]
pub struct ToolOffers {
    all: Vec<ToolOffer>,
    /// Whether they are told in the prompt, and called in words.
    pub are_spoken: bool,
}

#[derive(Debug, Clone)]
struct ToolOffer {
    player: ActivePlugin,
    tool: PluginTool,
    /// What the model calls it: its name, with the plugin's before it where another plugin has one of that name.
    name: String,
}

impl ToolOffers {
    /// The tools of those who play, as far as they were granted to offer any.
    pub fn of(players: &[ActivePlugin]) -> Self {
        let mut offers = Self::default();
        for player in in_order(players).into_iter().filter(|player| player.may(&Permission::Tools)) {
            for tool in player.plugin.manifest().tools.clone() {
                let plain = tool.name.clone();
                let name = match offers.find(&plain) {
                    None => plain,
                    Some(_) => format!("{}_{plain}", player.plugin.id()).chars().take(NAME).collect(),
                };
                if offers.find(&name).is_none() {
                    offers.all.push(ToolOffer { player: player.clone(), tool, name });
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
    pub fn wire(&self) -> Vec<Value> {
        let told = |ToolOffer { tool, name, .. }: &ToolOffer| {
            let function =
                json!({"name": name, "description": tool.description, "parameters": tool.parameters.source()});
            json!({"type": "function", "function": function})
        };
        self.all.iter().map(told).collect()
    }

    /// Tokens that telling of them takes, about: each server writes them its own way. What stands in the prompt is counted there.
    pub fn tokens(&self, measure: &TokenMeasure) -> usize {
        if self.is_empty() || self.are_spoken { 0 } else { measure.message(&Value::from(self.wire()).to_string()) }
    }

    fn find(&self, name: &str) -> Option<&ToolOffer> {
        self.all.iter().find(|offer| offer.name == name)
    }

    /// The one that a model means, which may write its name in another way.
    fn meant(&self, name: &str) -> Option<&ToolOffer> {
        self.find(name).or_else(|| self.find(alike(name, self.names())?))
    }

    /// What the model calls them.
    pub fn names(&self) -> Vec<&str> {
        self.all.iter().map(|offer| offer.name.as_str()).collect()
    }
}

/// Tells the author what was read as what, in front of what the tool itself warned of.
fn say_mended(run: &mut Map<String, Value>, mended: &[(String, String)]) {
    let lines = mended_lines(mended).map(Value::from);
    if let Some(Value::Array(warnings)) = run.get_mut("warnings") {
        warnings.splice(0..0, lines);
    }
}

/// The tools of one reply at work.
pub struct ToolRunner<'a> {
    parts: &'a TurnServices,
    offers: &'a ToolOffers,
    stage: HookContext,
    proposal: &'a mut HookProposal,
    /// How often each was used.
    used: HashMap<String, u32>,
    calls: usize,
}

impl<'a> ToolRunner<'a> {
    /// Tools at a stage; what they do goes to the proposal.
    pub fn new(
        parts: &'a TurnServices,
        offers: &'a ToolOffers,
        stage: HookContext,
        proposal: &'a mut HookProposal,
    ) -> Self {
        Self { parts, offers, stage, proposal, used: HashMap::new(), calls: 0 }
    }

    /// As model servers are told of them; `None` = the prompt tells.
    pub fn wire(&self) -> Option<Vec<Value>> {
        (!self.offers.are_spoken).then(|| self.offers.wire())
    }

    /// Answers what a model wants called, one after the other: each sees what those before it did.
    pub async fn answer(&mut self, said: &str, calls: &[ToolCall]) -> ToolRound {
        let mut round = ToolRound { said: said.to_owned(), ..ToolRound::default() };
        for call in calls {
            let answer = match self.one(call).await {
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

    async fn one(&mut self, call: &ToolCall) -> Result<Value, String> {
        let (offer, arguments, mended) = match self.fitting(call) {
            Ok(fitting) => fitting,
            Err((offer, why)) => {
                let by = offer.map_or(SERVER, |offer| offer.player.plugin.id());
                self.proposal.delta.runs.push(turned_down(by, call, &why));
                return Err(why);
            }
        };
        let before = self.used.entry(offer.name.clone()).or_default();
        let tool = ToolInvocation { name: offer.tool.name.clone(), arguments, before: *before };
        *before += 1;
        let runs = self.proposal.delta.runs.len();
        let answer = self.parts.hooks.tool(&self.stage, &offer.player, tool, self.proposal).await;
        if let Some(Value::Object(run)) = self.proposal.delta.runs.get_mut(runs) {
            say_mended(run, &mended);
        }
        answer
    }

    /// What a call is for, with its arguments as the tool's schema has them and what was read as what; or why that cannot be, in
    /// words for the model.
    fn fitting(&self, call: &ToolCall) -> Result<ToolCallMatch<'a>, (Option<&'a ToolOffer>, String)> {
        if self.calls >= CALLS {
            return Err((None, format!("one reply may call {CALLS} tools; write it now with what you know")));
        }
        let missing = || format!("there is no tool \"{}\"; there are: {}", call.name, self.offers.names().join(", "));
        let offer = self.offers.meant(&call.name).ok_or_else(|| (None, missing()))?;
        let mut arguments = match call.arguments.trim() {
            "" => json!({}),
            text => slips::read(text).map_err(|error| (Some(offer), format!("the arguments are no JSON: {error}")))?,
        };
        let named = Some((call.name.clone(), offer.name.clone())).filter(|(said, name)| said != name);
        let mended = fit(&offer.tool, &mut arguments).map_err(|why| (Some(offer), why))?;
        Ok((offer, arguments, named.into_iter().chain(mended).collect()))
    }
}

/// Brings arguments into the shape that a tool's schema has, and says what was read as what.
///
/// # Errors
/// They do not fit, in words for the model.
pub fn fit(tool: &PluginTool, arguments: &mut Value) -> Result<Vec<(String, String)>, String> {
    let mended = tool.parameters.mend(arguments);
    tool.parameters.fit(arguments).map_err(|why| format!("the arguments do not fit: {why}"))?;
    Ok(mended)
}

/// What was read as what, for the author.
pub fn mended_lines(mended: &[(String, String)]) -> impl Iterator<Item = String> {
    mended.iter().map(|(said, meant)| format!("read \"{said}\" as \"{meant}\""))
}

/// A tool, what it is called with, and what was read as what.
type ToolCallMatch<'a> = (&'a ToolOffer, Value, Vec<(String, String)>);

/// The record of a call that came to no script: what the model wanted, and what it was told instead.
fn turned_down(by: &str, call: &ToolCall, why: &str) -> Value {
    let name: String = call.name.chars().take(NAME).collect();
    let text: String = call.arguments.chars().take(LONGEST_TOLD).collect();
    let arguments = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text));
    json!({
        "plugin": by, "hook": format!("{TOOL}{name}"), "arguments": arguments, "refused": why,
        "ops": 0, "rolls": 0, "notes": 0,
    })
}
