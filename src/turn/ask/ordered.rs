//! The prompt in the order of a preset, our own where nobody chose one: what [`crate::prompt::preset`] asks for is read here.

use crate::prompt::macros::Macros;
use crate::prompt::preset::{
    self, Assembled, Cut, Form, Given, Kind, Lore, Naming, Piece, Place, Placed as Text, Preset, Said, Shape, Unfit,
    Words,
};
use crate::prompt::{self, Cast, Line, Measure, Sent};
use crate::store::{Placed, Reader, Show, StoreError};
use crate::tree::Role;

use super::chosen::{By, Chosen, chosen};
use super::fill::{Purpose, Wanted};
use super::lore::{Heard, Lorebooks};
use super::note;
use super::plan::Planned;
use super::recall::{self, Recalled};
use super::room::{self, Bounds, PAGE};
use super::scripted::Scripted;
use super::summed::{self, Summed};
use super::trace::{self, Filled, Made, Order};
use crate::turn::scene::Scene;

/// The prompt at a scene, in the order of its preset.
///
/// # Errors
/// The database fails.
pub(in crate::turn) fn prompt(
    reader: &mut Reader<'_>,
    scene: &mut Scene,
    bounds: Bounds,
    (purpose, mut planned): (&Purpose, Planned),
    macros: &mut Macros<'_>,
) -> Result<Made, StoreError> {
    let Chosen { mut preset, by } = chosen(reader, scene.session(), &bounds.names)?;
    let (context, reply, tokens) = all_sizes(&preset, &bounds);
    let for_recall = recall::room(scene, &bounds.recall, tokens).min(preset.own.shares.for_recalled(tokens));
    let known = summed::Known::at(reader, scene, &bounds.measure)?;
    let for_summaries = known.as_ref().map_or(0, |known| known.room(bounds.summaries.share, tokens));
    let books = Lorebooks::at(reader, scene, &bounds.shelf)?;
    let wishes = books.wished(&mut planned);
    let mut scripted = Scripted::read(reader, scene, &preset, macros)?;
    let least = (context, books.looks_back());
    let Newest { kept: newest_first, said: mut history } = newest(reader, scene, &bounds, least, &mut scripted)?;
    history.reverse();
    let last = room::last(reader, newest_first.iter().map(|(placed, _)| placed))?;
    let place = |first: i64| newest_first.iter().rev().position(|(placed, _)| placed.n == first);
    let cut = Cut::Steps(last.as_ref().and_then(|last| place(last.first)));
    let (placed, lines): (Vec<Placed>, Vec<Line>) = newest_first.into_iter().rev().unzip();
    if preset.settings.naming == Naming::AsNeeded {
        preset.settings.naming = naming(&lines);
    }
    if let Wanted::More(text) = &purpose.wanted {
        let (name, text) = (scene.cast.character.clone(), text.clone());
        history.push(scripted.continued(Said { role: Role::Assistant, name, is_other: false, text }));
    }
    let own = note::of(scene.session(), &scene.cast);
    let open = note::open(&own, scene, scripted.macros);
    let most = preset.own.shares.for_lore(tokens, for_recall);
    let (measure, cue) = (&bounds.measure, &bounds.recall);
    let heard = Heard { said: &history, open: &open, prompt: tokens, most, purpose, measure, cue, wishes: &wishes };
    let called = books.call(reader, scene, &heard, &mut scripted)?;
    scripted.macros.outlets = Some(called.outlets);
    let status = prompt::status::block(&scene.world, &scene.rules.rules);
    let given = Given {
        kind: kind(purpose),
        world: &status,
        injected: &planned.inserts,
        cut,
        room: (context, reply),
        whole: tokens,
        history: &history,
        filler: &bounds.filler,
        lore: &called.lore,
        note: note::placed(&own, scene, &called.lore),
        has_prefill: bounds.takes_beginnings,
        aside: for_summaries + for_recall,
        ..given(&scene.cast)
    };
    let mut words = Texts { macros: &mut *scripted.macros, measure: &bounds.measure };
    let assembled = match preset::assemble(&preset, &given, &mut words) {
        Ok(assembled) => assembled,
        Err(Unfit { too_large, left }) => {
            let order = Some(Order { left, by, ..Order::default() });
            let made = Made { order, scripts: scripted.told(), lore: called.told, planned, ..Made::default() };
            return Ok(Made { too_large: Some(too_large), ..made });
        }
    };
    // What a server is told does not change with the preset: one that loads a model for it would load it anew.
    let Bounds { context, hide_tags, recall: cue, measure, .. } = bounds;
    let first = lines.len().saturating_sub(assembled.kept);
    let begin = placed.get(first).map(|placed| placed.n);
    let for_summaries = for_summaries.min(assembled.aside);
    let summed = match known {
        Some(known) => known.told(reader, scene, &measure, (for_summaries, tokens), (begin, last.as_ref()))?,
        None => Summed::default(),
    };
    let for_recall = for_recall.min(assembled.aside.saturating_sub(summed.tokens));
    let looked = (&*placed, &*lines, first);
    let recalled = recall::recalled(reader, scene, &cue, (for_recall, &measure), looked, &hide_tags, &mut scripted)?;
    let scripts = scripted.told();
    let mut made = made(&preset, by, assembled, (&lines, &placed), &scene.cast, (&summed, &recalled));
    made.filled.operations = called.operations.into_iter().chain(summed.operation).collect();
    (made.summed, made.recalled) = (summed.told, recalled.told);
    (made.samplers, made.planned) = (preset.samplers, planned);
    Ok(Made { reply, context, hide_tags, scripts, lore: called.told, values: called.values, measure, ..made })
}

const fn kind(purpose: &Purpose) -> Kind {
    match purpose.wanted {
        Wanted::Reply if purpose.number > 0 => Kind::Swipe,
        Wanted::More(_) => Kind::Continue,
        Wanted::UsersMessage => Kind::Impersonate,
        Wanted::Reply => Kind::Normal,
    }
}

/// What was assembled, with what a trace keeps of it.
fn made(
    preset: &Preset,
    by: By,
    assembled: Assembled,
    (lines, placed): (&[Line], &[Placed]),
    cast: &Cast,
    (summed, recalled): (&Summed, &Recalled),
) -> Made {
    let first = lines.len().saturating_sub(assembled.kept);
    let names = cast.names();
    let named = |line: &Line| Line { text: names.fill(&line.text), ..line.clone() };
    let went: Vec<Line> = lines.iter().skip(first).map(named).collect();
    let is_named = preset.settings.naming == Naming::Before;
    let shape = Shape { is_named, is_joined: preset.settings.form == Form::Turns };
    let mut pieces = preset::pieces(&assembled.begun(), &went, first, shape);
    summed.join(&mut pieces);
    recalled.join(&mut pieces, went.len());
    let messages = preset::woven(&pieces, &went, shape);
    Made {
        stable: stable(&pieces, &went, shape, &messages),
        messages,
        history: placed.iter().skip(first).map(|placed| placed.n).collect(),
        cut: first.checked_sub(1).and_then(|at| placed.get(at)).map(|placed| placed.node.id),
        tokens: assembled.tokens + summed.tokens + recalled.tokens,
        filled: Filled { names: Some(names), ..Filled::default() },
        order: Some(Order { pieces, shape, left: assembled.left, by }),
        ..Made::default()
    }
}

/// Names stand before texts as soon as two people or two characters are on the path (`domain.md` 2.4).
fn naming(lines: &[Line]) -> Naming {
    let has_several = [Role::User, Role::Assistant].into_iter().any(|role| {
        let said = lines.iter().filter(|line| line.role == role && !line.text.trim().is_empty());
        let mut names = said.filter_map(|line| line.name.as_deref());
        names.next().is_some_and(|first| names.any(|name| name != first))
    });
    if has_several { Naming::Before } else { Naming::Never }
}

/// What was said before a position, oldest first, as far as lore looks; and the tokens that a prompt there may take.
///
/// # Errors
/// The database fails.
pub(in crate::turn) fn said_before(
    reader: &mut Reader<'_>,
    scene: &mut Scene,
    bounds: &Bounds,
    least: usize,
    scripted: &mut Scripted<'_, '_>,
) -> Result<(usize, Vec<Said>), StoreError> {
    let Chosen { preset, .. } = chosen(reader, scene.session(), &bounds.names)?;
    let (context, reply) = sizes(&preset, bounds);
    let Newest { said, .. } = newest(reader, scene, bounds, (0, least), scripted)?;
    Ok((context.saturating_sub(reply), said.into_iter().rev().collect()))
}

/// How many of the first messages are expected to begin the next prompt too: up to the first part that stands between lines of
/// the history, for such parts move with it, or to its last line.
fn stable(pieces: &[Piece], lines: &[Line], shape: Shape, sent: &[Sent]) -> usize {
    let moving = pieces.iter().filter(|piece| piece.at > 0 && !piece.is_over).map(|piece| piece.at).min();
    let last = lines.len().saturating_sub(1);
    let edge = moving.unwrap_or(last).min(last);
    let stays = |piece: &&Piece| piece.at < edge || (piece.at == 0 && !piece.is_over);
    let before: Vec<Piece> = pieces.iter().filter(stays).cloned().collect();
    let stays = preset::woven(&before, lines.get(..edge).unwrap_or_default(), shape);
    stays.iter().zip(sent).take_while(|(stays, sent)| stays == sent).count()
}

/// The same, and the tokens of the prompt.
fn all_sizes(preset: &Preset, bounds: &Bounds) -> (usize, usize, usize) {
    let (context, reply) = sizes(preset, bounds);
    (context, reply, context.saturating_sub(reply))
}

/// Tokens of context and of the reply: no more than the preset wants, and no more than the model has.
fn sizes(preset: &Preset, bounds: &Bounds) -> (usize, usize) {
    let context = bounds.budget.saturating_add(bounds.reply);
    let context = preset.settings.context.map_or(context, |wanted| wanted.min(context));
    let reply = preset.settings.reply.filter(|_| !bounds.is_reply_said).unwrap_or(bounds.reply);
    (context, reply.min(context / 2))
}

/// Messages, the newest first.
#[derive(Default)]
struct Newest {
    /// As they are kept.
    kept: Vec<(Placed, Line)>,
    /// As scripts have them.
    said: Vec<Said>,
}

/// The newest messages, until there are more than fit, and as many as lore looks at.
fn newest(
    reader: &mut Reader<'_>,
    scene: &mut Scene,
    bounds: &Bounds,
    (context, least): (usize, usize),
    scripted: &mut Scripted<'_, '_>,
) -> Result<Newest, StoreError> {
    let mut newest = Newest::default();
    let mut tokens = 0_usize;
    let mut page = std::mem::take(&mut scene.page);
    loop {
        let before = page.next;
        for placed in page.nodes.into_iter().rev().filter(|placed| placed.node.is_sent()) {
            let line = trace::line(&placed.node, &bounds.hide_tags);
            let said = said(&line, &scene.cast);
            let said = scripted.said(reader, &scene.held, &placed.node, said, newest.said.len())?;
            tokens = tokens.saturating_add(bounds.measure.message(&said.text));
            newest.said.push(said);
            newest.kept.push((placed, line));
        }
        if before.is_none() || (tokens > context && newest.kept.len() >= least) {
            return Ok(newest);
        }
        page = reader.page(&scene.held, scene.at.node.id, before, PAGE, Show::Enabled)?;
    }
}

fn said(line: &Line, cast: &Cast) -> Said {
    let own = if line.role == Role::Assistant { &cast.character } else { &cast.user };
    let name = line.name.clone().unwrap_or_else(|| own.clone());
    Said { role: line.role, is_other: line.role != Role::System && name != *own, name, text: line.text.clone() }
}

/// What the card wants to stand between the last messages.
fn card_depth(cast: &Cast) -> Option<Text> {
    let (depth, role) = cast.depth_place.unwrap_or(prompt::DEPTH);
    let text = cast.depth_prompt.clone();
    (!text.trim().is_empty()).then_some(Text { text, place: Place::Depth(depth), role })
}

fn given(cast: &Cast) -> Given<'_> {
    const NONE: &Lore = &Lore::NONE;
    Given {
        kind: Kind::Normal,
        user: &cast.user,
        character: &cast.character,
        description: &cast.description,
        personality: &cast.personality,
        scenario: &cast.scenario,
        examples: &cast.examples,
        card_main: &cast.system,
        card_last: &cast.post_history,
        card_depth: card_depth(cast),
        persona: Text { text: cast.persona.clone(), place: Place::Prompt, role: Role::System },
        note: None,
        lore: NONE,
        history: &[],
        world: "",
        injected: &[],
        filler: "",
        cut: Cut::Exact,
        strips_examples: false,
        pins_examples: false,
        has_prefill: false,
        aside: 0,
        room: (0, 0),
        whole: 0,
    }
}

/// The words of a request, filled in by macros.
struct Texts<'m, 'a> {
    macros: &'m mut Macros<'a>,
    measure: &'m Measure,
}

impl Words for Texts<'_, '_> {
    fn fill(&mut self, text: &str) -> String {
        self.macros.fill(text)
    }

    fn fill_over(&mut self, text: &str, original: &str) -> String {
        // What nobody names does not run.
        let is_named = text.to_ascii_lowercase().contains("original");
        let original = if is_named { self.macros.fill(original) } else { String::new() };
        self.macros.fill_over(text, &original)
    }

    fn count(&self, text: &str) -> usize {
        self.measure.message(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(at: usize, is_over: bool, text: &str) -> Piece {
        let sent = Sent { role: Role::System, name: None, text: text.to_owned() };
        Piece { slot: String::new(), at, is_over, sent }
    }

    /// `domain.md` 6.3: what a provider is told to keep ends before the first part that moves with the history.
    #[test]
    fn what_stays_ends_before_what_moves() {
        let line = |text: &str| Line { role: Role::User, name: None, text: text.to_owned() };
        let lines = ["one", "two", "three", "four"].map(line);
        let check = |pieces: &[Piece], expected: usize| {
            let shape = Shape::default();
            let sent = preset::woven(pieces, &lines, shape);
            assert_eq!(stable(pieces, &lines, shape, &sent), expected, "{sent:?}");
        };
        check(&[piece(0, false, "card")], 4);
        check(&[piece(0, false, "card"), piece(4, false, "last word")], 4);
        check(&[piece(0, false, "card"), piece(2, false, "note"), piece(4, false, "last word")], 3);
        check(&[piece(0, false, "card"), piece(1, true, "TWO"), piece(4, false, "last word")], 4);
        check(&[], 3);
        assert_eq!(stable(&[piece(0, false, "card")], &[], Shape::default(), &[]), 0);
    }
}
