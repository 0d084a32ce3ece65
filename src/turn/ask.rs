//! What a model is asked: blocks from cards and world, as much of the history as fits, and the request that carries them.

use serde_json::{Map, Value};

use crate::prompt::{self, Block, Line, Sent};
use crate::provider::{self, Endpoint, Request, wire_body};
use crate::store::{Placed, Reader, Show, StoreError};
use crate::tree::Role;

use super::scene::Scene;
use super::trace::{self, Made};

/// History beyond the scene's page is read in pages of so many messages until the budget is full, so that a deep session
/// costs no more.
const PAGE: i64 = 64;
/// How many replies up the path an earlier prompt is looked for.
const LOOK_BACK: usize = 8;

/// What a prompt has to keep to.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// Tokens of the whole prompt.
    pub budget: usize,
    /// Tags whose blocks are left out of earlier replies.
    pub hide_tags: Vec<String>,
    /// The user's message where there is none.
    pub filler: String,
}

/// The prompt at a scene: the world just before the model speaks.
///
/// # Errors
/// The database fails.
pub fn prompt(reader: &mut Reader<'_>, scene: &mut Scene, bounds: Bounds) -> Result<Made, StoreError> {
    let status = prompt::status::block(&scene.world, &scene.rules.rules);
    let mut blocks = prompt::blueprint(&scene.cast, &status);
    let history = History::read(reader, scene, &blocks, &bounds)?;
    blocks.extend(prompt::filler(&history.lines, &bounds.filler));
    let messages = prompt::weave(&blocks, &history.lines);
    let Bounds { hide_tags, .. } = bounds;
    Ok(Made { blocks, history: history.rows, messages, tokens: history.tokens, dropped: history.is_cut, hide_tags })
}

/// The part of the history that goes, oldest first.
struct History {
    rows: Vec<i64>,
    lines: Vec<Line>,
    tokens: usize,
    is_cut: bool,
}

impl History {
    fn read(reader: &mut Reader<'_>, scene: &mut Scene, blocks: &[Block], bounds: &Bounds) -> Result<Self, StoreError> {
        let mut newest_first: Vec<(Placed, Line)> = Vec::new();
        let mut costs: Vec<usize> = Vec::new();
        let mut page = std::mem::take(&mut scene.page);
        let full = loop {
            let before = page.next;
            for placed in page.nodes.into_iter().rev().filter(|placed| placed.node.is_sent()) {
                let line = trace::line(&placed.node, &bounds.hide_tags);
                costs.push(prompt::tokens(&line.text));
                newest_first.push((placed, line));
            }
            let fit = prompt::fit(blocks, &costs, bounds.budget);
            if before.is_none() || fit.kept < costs.len() {
                break fit;
            }
            page = reader.page(&scene.held, scene.at.node.id, before, PAGE, Show::Enabled)?;
        };
        let is_cut = full.kept < costs.len();
        let fit = if is_cut {
            let began = began(reader, &newest_first)?;
            full.cut(blocks, &costs, began, bounds.budget)
        } else {
            full
        };
        newest_first.truncate(fit.kept);
        newest_first.reverse();
        let (placed, lines): (Vec<Placed>, Vec<Line>) = newest_first.into_iter().unzip();
        Ok(Self { rows: placed.iter().map(|placed| placed.n).collect(), lines, tokens: fit.tokens, is_cut })
    }
}

/// Where the last prompt on this path began, as a position in its newest lines.
fn began(reader: &mut Reader<'_>, newest_first: &[(Placed, Line)]) -> Result<Option<usize>, StoreError> {
    let replies = newest_first.iter().filter(|(placed, _)| placed.node.role == Role::Assistant).take(LOOK_BACK);
    for (placed, _) in replies {
        if let Some(first) = reader.trace(placed)?.and_then(|trace| trace.history.first().copied()) {
            return Ok(newest_first.iter().position(|(placed, _)| placed.n == first));
        }
    }
    Ok(None)
}

/// Tokens kept free for the reply: what the request allows it, else what the settings say; never more than half.
pub fn room_for_reply(params: &Map<String, Value>, reply_tokens: usize, context: usize) -> usize {
    let asked = ["max_tokens", "max_completion_tokens"].iter().find_map(|key| params.get(*key)?.as_u64());
    asked.and_then(|tokens| usize::try_from(tokens).ok()).unwrap_or(reply_tokens).min(context / 2)
}

/// The request to the provider. Each reply has a seed of its own, so that a reroll is another reply and can be repeated;
/// an endpoint whose `extra` says `seed = null` is not sent one.
pub fn request(
    params: &Map<String, Value>,
    dice_seed: u64,
    model: String,
    made: &Made,
    endpoint: &Endpoint,
) -> Request {
    let mut params = params.clone();
    if !params.contains_key("seed") && !endpoint.extra.contains_key("seed") {
        params.insert("seed".into(), (dice_seed >> 33).into());
    }
    let messages =
        made.messages.iter().map(|sent| provider::Message { role: role(sent), name: None, content: sent.text.clone() });
    Request { model, messages: messages.collect(), params }
}

/// The parameters as they are sent, those of the endpoint included.
pub fn sent_params(request: &Request, endpoint: &Endpoint) -> Map<String, Value> {
    let Value::Object(mut body) = wire_body(request, endpoint) else { return Map::new() };
    body.retain(|name, _| !matches!(name.as_str(), "model" | "messages" | "stream" | "stream_options"));
    body
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
    use serde_json::json;

    #[test]
    fn the_reply_has_its_room() {
        for (params, expected) in [
            (json!({}), 1_000),
            (json!({"max_tokens": 200}), 200),
            (json!({"max_completion_tokens": 3_000}), 3_000),
            (json!({"max_tokens": 1_000_000}), 4_000),
            (json!({"max_tokens": "many"}), 1_000),
        ] {
            assert_eq!(room_for_reply(params.as_object().unwrap(), 1_000, 8_000), expected, "{params}");
        }
    }
}
