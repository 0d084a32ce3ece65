//! What a model is asked: blocks from cards and world, as much of the history as fits, and the request that carries them.

use serde_json::{Map, Value};

use crate::ids::NodeId;
use crate::prompt::macros::{Macros, Sizes};
use crate::prompt::{self, Block, Line, Sent};
use crate::provider::{self, Endpoint, Request};
use crate::store::{Placed, Reader, Show, StoreError};
use crate::tree::Role;

use super::fill::{self, Lines, Purpose};
use super::ordered;
use super::room::{Bounds, MOST, PAGE, began};
use super::scene::Scene;
use super::trace::{Filled, Made};

/// The prompt at a scene: the world just before the model speaks. `last` is what stands behind everything else.
///
/// # Errors
/// The database fails.
pub fn prompt(
    reader: &mut Reader<'_>,
    scene: &mut Scene,
    bounds: Bounds,
    purpose: Purpose,
    last: Option<Block>,
) -> Result<Made, StoreError> {
    let sizes = Sizes { context: bounds.budget + bounds.reply, reply: bounds.reply };
    let facts = fill::facts(scene, sizes, &bounds.model, purpose);
    let mut draw = fill::chance(scene, purpose);
    let globals = fill::globals(reader, scene.session().owner)?;
    let mut macros = Macros::new(&facts, scene.world.vars.clone(), globals, &mut draw);
    if let Some(preset) = ordered::chosen(reader, scene)? {
        let mut made = ordered::prompt(reader, scene, bounds, last, preset, purpose, &mut macros)?;
        made.filled.operations.extend(fill::operations(&scene.world, &scene.rules.rules, &macros.local));
        made.filled.noted = macros.noted;
        return Ok(made);
    }
    let status = prompt::status::block(&scene.world, &scene.rules.rules);
    let mut blocks = prompt::blueprint(&scene.cast, &mut macros, &status);
    blocks.extend(last);
    let mut lines = Lines::new(&mut macros, &scene.cast, &bounds.hide_tags);
    let newest = scene.page.nodes.iter().rev().find(|placed| placed.node.is_sent());
    let newest = newest.map_or(0, |placed| prompt::tokens(&lines.look(placed).text));
    if let Err(too_large) = prompt::choose(&mut blocks, newest, bounds.budget) {
        return Ok(Made { blocks, too_large: Some(too_large), ..Made::default() });
    }
    let history = History::read(reader, scene, &blocks, bounds.budget, &mut lines)?;
    let differences = lines.differences(&history.rows);
    let operations = fill::operations(&scene.world, &scene.rules.rules, &macros.local);
    let filler = prompt::filler(&blocks, &history.lines, &bounds.filler);
    blocks.extend(filler);
    let messages = prompt::weave(&blocks, &history.lines);
    let filled = Filled { names: Some(scene.cast.names()), differences, noted: macros.noted, operations };
    let stable = prompt::stable(&blocks, &history.lines, &messages);
    let History { rows, tokens, cut, .. } = history;
    let Bounds { reply, context, hide_tags, .. } = bounds;
    Ok(Made {
        blocks,
        history: rows,
        messages,
        stable,
        tokens,
        cut,
        reply,
        context,
        hide_tags,
        filled,
        ..Made::default()
    })
}

/// The part of the history that goes, oldest first.
struct History {
    rows: Vec<i64>,
    lines: Vec<Line>,
    tokens: usize,
    /// The newest message that did not fit: neither did those before it.
    cut: Option<NodeId>,
}

impl History {
    fn read(
        reader: &mut Reader<'_>,
        scene: &mut Scene,
        blocks: &[Block],
        budget: usize,
        lines: &mut Lines<'_, '_>,
    ) -> Result<Self, StoreError> {
        let mut newest_first: Vec<(Placed, Line)> = Vec::new();
        let mut costs: Vec<usize> = Vec::new();
        let mut page = std::mem::take(&mut scene.page);
        let full = loop {
            let before = page.next;
            for placed in page.nodes.into_iter().rev().filter(|placed| placed.node.is_sent()) {
                let line = lines.read(&placed);
                costs.push(prompt::tokens(&line.text));
                newest_first.push((placed, line));
            }
            let fit = prompt::fit(blocks, &costs, budget);
            if before.is_none() || fit.kept < costs.len() {
                break fit;
            }
            page = reader.page(&scene.held, scene.at.node.id, before, PAGE, Show::Enabled)?;
        };
        let fit = if full.kept < costs.len() {
            let began = began(reader, &newest_first)?;
            full.cut(blocks, &costs, began, budget)
        } else {
            full
        };
        let cut = newest_first.get(fit.kept).map(|(placed, _)| placed.node.id);
        newest_first.truncate(fit.kept);
        newest_first.reverse();
        let (placed, lines): (Vec<Placed>, Vec<Line>) = newest_first.into_iter().unzip();
        Ok(Self { rows: placed.iter().map(|placed| placed.n).collect(), lines, tokens: fit.tokens, cut })
    }
}

/// The request to the provider. Each reply has a seed of its own, so that a reroll is another reply and can be repeated;
/// an endpoint whose `extra` says `seed = null` is not sent one. The reply may be as long as the room that is kept for it,
/// unless the request or the endpoint says something about that, be it `null`.
pub fn request(
    params: &Map<String, Value>,
    dice_seed: u64,
    model: String,
    made: &Made,
    endpoint: &Endpoint,
) -> Request {
    let mut params = said(&made.samplers, params);
    if !params.contains_key("seed") && !endpoint.extra.contains_key("seed") {
        params.insert("seed".into(), (dice_seed >> 33).into());
    }
    let is_said = |key: &&str| params.contains_key(*key) || endpoint.extra.contains_key(*key);
    if !MOST.iter().any(is_said) {
        params.insert("max_tokens".into(), made.reply.into());
    }
    let messages = made.messages.iter().map(|sent| provider::Message {
        role: role(sent),
        name: sent.name.clone(),
        content: sent.text.clone(),
    });
    let context = Some(made.context).filter(|context| *context > 0);
    Request { model, messages: messages.collect(), params, stable: made.stable, context }
}

/// What a preset says, with what was asked for over it.
fn said(samplers: &Map<String, Value>, params: &Map<String, Value>) -> Map<String, Value> {
    samplers.iter().chain(params).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn role(sent: &Sent) -> provider::Role {
    match sent.role {
        Role::System => provider::Role::System,
        Role::User => provider::Role::User,
        Role::Assistant => provider::Role::Assistant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::{Client, Kind};
    use serde_json::json;

    fn endpoint(extra: &Value) -> Endpoint {
        Endpoint { extra: extra.as_object().unwrap().clone(), ..Endpoint::new("test", "http://127.0.0.1") }
    }

    /// The room that is kept free is what the reply may take; whoever says something else is heard.
    #[test]
    fn the_reply_keeps_to_its_room() {
        let made = Made { reply: 1_000, ..Made::default() };
        for (params, extra, expected) in [
            (json!({}), json!({}), json!({"max_tokens": 1_000})),
            (json!({"max_tokens": 200}), json!({}), json!({"max_tokens": 200})),
            (json!({"max_completion_tokens": 200}), json!({}), json!({"max_completion_tokens": 200})),
            (json!({}), json!({"max_completion_tokens": 300}), json!({"max_completion_tokens": 300})),
            (json!({"max_tokens": null}), json!({}), json!({})),
        ] {
            let endpoint = endpoint(&extra);
            let request = request(params.as_object().unwrap(), 7, "m".into(), &made, &endpoint);
            let mut sent = Client::new(Kind::default(), endpoint).wire_params(&request);
            assert!(sent.shift_remove("seed").is_some());
            assert_eq!(Value::Object(sent), expected, "{params} {extra}");
        }
    }
}
