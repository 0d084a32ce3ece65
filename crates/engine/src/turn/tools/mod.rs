//! Tools of plugins that a model can call while it writes a reply (`docs/modders.md`). What a tool does belongs to the
//! reply, as with `on_reply`: operations, rolls, notes, and a record of the run with arguments and answer.
//!
//! A model whose call is invalid gets a message that it can act on; no call ever fails a reply.
//!
//! `text_tools.rs` handles calls in the text of models without tool support. `lenient_json.rs` accepts common errors of
//! models.

pub(super) mod lenient_json;
pub(super) mod text_tools;

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use clotho_compat::prompt::TokenMeasure;
use clotho_core::coded_message::RenderedMessage;
use clotho_core::world::find_equivalent_name;
use clotho_plugin::{Permission, PluginTool, TOOL_PREFIX, ToolInvocation};
use clotho_provider::{ToolCall, ToolRound};

use crate::turn::problem::ToolRefusal;
use crate::turn::rules::RuleServices;
use crate::turn::rules::hooks::{ActivePlugin, HookContext, HookProposal, SERVER, sort_by_dependency};

/// The number of times a model is asked again with the results of its tools.
pub const MAX_ROUNDS: usize = 4;
/// The number of calls per reply.
const MAX_CALLS: usize = 16;
/// The longest tool name that model servers accept.
const MAX_NAME_CHARS: usize = 64;
/// The number of characters of invalid arguments that are recorded.
const MAX_RECORD_CHARS: usize = 2_000;

/// The tools of a reply.
#[derive(Debug, Clone, Default)]
pub struct ToolOffers {
    all: Vec<ToolOffer>,
    /// Whether the prompt text describes them and the model calls them in its text.
    pub are_in_text: bool,
}

#[derive(Debug, Clone)]
struct ToolOffer {
    plugin: ActivePlugin,
    tool: PluginTool,
    /// The name for the model: the tool's own, prefixed with the plugin if it is taken.
    name: String,
}

impl ToolOffers {
    /// Collects the tools of the plugins that have the permission.
    pub fn for_plugins(active_plugins: &[ActivePlugin]) -> Self {
        let mut offers = Self::default();
        for active in
            sort_by_dependency(active_plugins).into_iter().filter(|active| active.has_permission(&Permission::Tools))
        {
            for tool in active.plugin.manifest().tools.clone() {
                let plain = tool.name.clone();
                let name = match offers.find(&plain) {
                    None => plain,
                    Some(_) => format!("{}_{plain}", active.plugin.id()).chars().take(MAX_NAME_CHARS).collect(),
                };
                if offers.find(&name).is_none() {
                    offers.all.push(ToolOffer { plugin: active.clone(), tool, name });
                }
            }
        }
        offers
    }

    /// Returns whether there are no tools.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the tools in the form of a request.
    pub fn to_wire(&self) -> Vec<Value> {
        let describe = |ToolOffer { tool, name, .. }: &ToolOffer| {
            let function =
                json!({"name": name, "description": tool.description, "parameters": tool.parameters.source()});
            json!({"type": "function", "function": function})
        };
        self.all.iter().map(describe).collect()
    }

    /// Estimates the tokens of the tools in a request; servers format them differently. Returns 0 if they are in the
    /// prompt.
    pub fn tokens(&self, measure: &TokenMeasure) -> usize {
        if self.is_empty() || self.are_in_text { 0 } else { measure.message(&Value::from(self.to_wire()).to_string()) }
    }

    fn find(&self, name: &str) -> Option<&ToolOffer> {
        self.all.iter().find(|offer| offer.name == name)
    }

    /// Returns the tool that a model means; its name may be spelled differently.
    fn find_lenient(&self, name: &str) -> Option<&ToolOffer> {
        self.find(name).or_else(|| self.find(find_equivalent_name(name, self.names())?))
    }

    /// Returns the names of the tools.
    pub fn names(&self) -> Vec<&str> {
        self.all.iter().map(|offer| offer.name.as_str()).collect()
    }
}

/// Adds the repairs to the run's warnings, before those of the tool.
fn note_repairs(run: &mut Map<String, Value>, mended: &[(String, String)]) {
    let lines = repair_lines(mended).map(Value::from);
    if let Some(Value::Array(warnings)) = run.get_mut("warnings") {
        warnings.splice(0..0, lines);
    }
}

/// Runs the tool calls of one reply.
pub struct ToolRunner<'a> {
    rule_services: &'a RuleServices,
    offers: &'a ToolOffers,
    context: HookContext,
    proposal: &'a mut HookProposal,
    /// The number of calls of each tool.
    used: HashMap<String, u32>,
    calls: usize,
}

impl<'a> ToolRunner<'a> {
    /// Creates a runner; the effects of tools go to the proposal.
    pub fn new(
        rule_services: &'a RuleServices,
        offers: &'a ToolOffers,
        context: HookContext,
        proposal: &'a mut HookProposal,
    ) -> Self {
        Self { rule_services, offers, context, proposal, used: HashMap::new(), calls: 0 }
    }

    /// Returns the tools in the form of a request; `None` if they are in the prompt text.
    pub fn to_wire(&self) -> Option<Vec<Value>> {
        (!self.offers.are_in_text).then(|| self.offers.to_wire())
    }

    /// Runs a model's calls one after the other; each sees the effects of the earlier ones.
    pub async fn run_calls(&mut self, text: &str, calls: &[ToolCall]) -> ToolRound {
        let mut round = ToolRound { text: text.to_owned(), ..ToolRound::default() };
        for call in calls {
            let answer = match self.run_call(call).await {
                Ok(value) => value.to_string(),
                Err(refusal) => json!({"error": refusal.to_string()}).to_string(),
            };
            self.calls += 1;
            // Every call needs an id in the next request, even if the server sent none.
            let id = if call.id.is_empty() { format!("call_{}", self.calls) } else { call.id.clone() };
            round.calls.push(ToolCall { id, ..call.clone() });
            round.answers.push(answer);
        }
        round
    }

    async fn run_call(&mut self, call: &ToolCall) -> Result<Value, ToolRefusal> {
        let (offer, arguments, mended) = match self.match_call(call) {
            Ok(fitting) => fitting,
            Err((offer, refusal)) => {
                let by = offer.map_or(SERVER, |offer| offer.plugin.plugin.id());
                self.proposal.delta.runs.push(refused_call_record(by, call, &refusal));
                return Err(refusal);
            }
        };
        let before = self.used.entry(offer.name.clone()).or_default();
        let tool = ToolInvocation { name: offer.tool.name.clone(), arguments, earlier_calls: *before };
        *before += 1;
        let runs = self.proposal.delta.runs.len();
        let answer = self.rule_services.hooks.call_tool(&self.context, &offer.plugin, tool, self.proposal).await;
        if let Some(Value::Object(run)) = self.proposal.delta.runs.get_mut(runs) {
            note_repairs(run, &mended);
        }
        answer
    }

    /// Returns the tool of a call, its arguments and their repairs. Otherwise returns the tool, if known, and the
    /// refusal.
    fn match_call(&self, call: &ToolCall) -> Result<ToolCallMatch<'a>, (Option<&'a ToolOffer>, ToolRefusal)> {
        if self.calls >= MAX_CALLS {
            return Err((None, ToolRefusal::TooManyCalls { most: MAX_CALLS }));
        }
        let unknown = || ToolRefusal::UnknownTool { tool: call.name.clone(), tools: self.offers.names().join(", ") };
        let offer = self.offers.find_lenient(&call.name).ok_or_else(|| (None, unknown()))?;
        let mut arguments = match call.arguments.trim() {
            "" => json!({}),
            text => lenient_json::parse_lenient(text)
                .map_err(|error| (Some(offer), ToolRefusal::ArgumentsNotJson { error: error.to_string() }))?,
        };
        let named = Some((call.name.clone(), offer.name.clone())).filter(|(written, name)| written != name);
        let mended = repair_arguments(&offer.tool, &mut arguments).map_err(|refusal| (Some(offer), refusal))?;
        Ok((offer, arguments, named.into_iter().chain(mended).collect()))
    }
}

/// Repairs arguments to fit a tool's schema. Returns the names that were read as others.
///
/// # Errors
/// Returns [`ToolRefusal::InvalidArguments`] if they do not fit.
pub fn repair_arguments(tool: &PluginTool, arguments: &mut Value) -> Result<Vec<(String, String)>, ToolRefusal> {
    let mended = tool.parameters.normalize_names(arguments);
    let invalid = |error: String| ToolRefusal::InvalidArguments { error };
    tool.parameters.coerce(arguments).map_err(|error| invalid(error.to_string()))?;
    Ok(mended)
}

/// Formats the repairs as warnings for the author.
pub fn repair_lines(mended: &[(String, String)]) -> impl Iterator<Item = String> {
    mended.iter().map(|(written, meant)| format!("read \"{written}\" as \"{meant}\""))
}

/// A tool, its arguments, and the repairs of names.
type ToolCallMatch<'a> = (&'a ToolOffer, Value, Vec<(String, String)>);

/// Returns the record of a call that ran no script: what the model wanted, and the message that it got.
fn refused_call_record(by: &str, call: &ToolCall, refusal: &ToolRefusal) -> Value {
    let name: String = call.name.chars().take(MAX_NAME_CHARS).collect();
    let text: String = call.arguments.chars().take(MAX_RECORD_CHARS).collect();
    let arguments = serde_json::from_str(&text).unwrap_or_else(|_| Value::from(text));
    json!({
        "plugin": by, "hook": format!("{TOOL_PREFIX}{name}"), "arguments": arguments,
        "refused": refusal.to_string(), "refusal": RenderedMessage::new(refusal).to_json(),
        "ops": 0, "rolls": 0, "notes": 0,
    })
}
