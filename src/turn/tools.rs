//! Tools: what plugins let a model call while it writes a reply (`docs/modders.md`). What a tool does belongs to the reply
//! like what `on_reply` does: operations, dice, notes, and a record of the run with what was asked and what was answered.
//!
//! A model that wants something impossible is told so in words that it can act on; no call ever fails a reply.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::plugin::{Permission, Tool, ToolUse};
use crate::prompt::Measure;
use crate::provider::{Round, ToolCall};

use super::Parts;
use super::hooks::{Player, Proposal, Stage, in_order};

/// So often a model is asked again with what came of its tools.
pub const ROUNDS: usize = 4;
/// So many calls one reply may make.
const CALLS: usize = 16;
/// The longest name that model servers take.
const NAME: usize = 64;

/// The tools that a reply may use.
#[derive(Debug, Clone, Default)]
pub struct Offers(Vec<Offer>);

#[derive(Debug, Clone)]
struct Offer {
    player: Player,
    tool: Tool,
    /// What the model calls it: its name, with the plugin's before it where another plugin has one of that name.
    name: String,
}

impl Offers {
    /// The tools of those who play, as far as they were granted to offer any.
    pub fn of(players: &[Player]) -> Self {
        let mut offers = Self::default();
        let may = |player: &Player| player.in_force.grants.iter().any(|grant| grant.parse() == Ok(Permission::Tools));
        for player in in_order(players).into_iter().filter(may) {
            for tool in player.plugin.manifest().tools.clone() {
                let plain = tool.name.clone();
                let name = match offers.find(&plain) {
                    None => plain,
                    Some(_) => format!("{}_{plain}", player.plugin.id()).chars().take(NAME).collect(),
                };
                if offers.find(&name).is_none() {
                    offers.0.push(Offer { player: player.clone(), tool, name });
                }
            }
        }
        offers
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As model servers are told of them.
    pub fn wire(&self) -> Vec<Value> {
        let told = |Offer { tool, name, .. }: &Offer| {
            let function =
                json!({"name": name, "description": tool.description, "parameters": tool.parameters.source()});
            json!({"type": "function", "function": function})
        };
        self.0.iter().map(told).collect()
    }

    /// Tokens that telling of them takes, about: each server writes them its own way.
    pub fn tokens(&self, measure: &Measure) -> usize {
        if self.is_empty() { 0 } else { measure.message(&Value::from(self.wire()).to_string()) }
    }

    fn find(&self, name: &str) -> Option<&Offer> {
        self.0.iter().find(|offer| offer.name == name)
    }

    /// What the model calls them.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|offer| offer.name.as_str()).collect()
    }
}

/// The tools of one reply at work.
pub struct Toolbox<'a> {
    parts: &'a Parts,
    offers: &'a Offers,
    stage: Stage,
    proposal: &'a mut Proposal,
    /// How often each was used.
    used: HashMap<String, u32>,
    calls: usize,
}

impl<'a> Toolbox<'a> {
    /// Tools at a stage; what they do goes to the proposal.
    pub fn new(parts: &'a Parts, offers: &'a Offers, stage: Stage, proposal: &'a mut Proposal) -> Self {
        Self { parts, offers, stage, proposal, used: HashMap::new(), calls: 0 }
    }

    /// As model servers are told of them.
    pub fn wire(&self) -> Vec<Value> {
        self.offers.wire()
    }

    /// Answers what a model wants called, one after the other: each sees what those before it did.
    pub async fn answer(&mut self, said: &str, calls: &[ToolCall]) -> Round {
        let mut round = Round { said: said.to_owned(), ..Round::default() };
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
        if self.calls >= CALLS {
            return Err(format!("one reply may call {CALLS} tools; write it now with what you know"));
        }
        let missing = || format!("there is no tool \"{}\"; there are: {}", call.name, self.offers.names().join(", "));
        let Offer { player, tool, .. } = self.offers.find(&call.name).ok_or_else(missing)?;
        let mut arguments = match call.arguments.trim() {
            "" => json!({}),
            text => serde_json::from_str(text).map_err(|error| format!("the arguments are no JSON: {error}"))?,
        };
        tool.parameters.fit(&mut arguments).map_err(|why| format!("the arguments do not fit: {why}"))?;
        let before = self.used.entry(call.name.clone()).or_default();
        let tool = ToolUse { name: tool.name.clone(), arguments, before: *before };
        *before += 1;
        self.parts.hooks.tool(&self.stage, player, tool, self.proposal).await
    }
}
