//! Walks the pieces of a text and writes the values of the macros.

use super::head::{self, MacroHead, MacroKind};
use super::pieces::{MacroNode, MacroPiece};
use super::read::parse;
use super::source_text::SourceText;
use super::stored_text::to_stored_text;
use super::table::{self, MacroAction, MacroCall};
use super::{MACROS_PER_LOOK, MAX_MACROS, MAX_WORK, MacroEngine};

const TOO_DEEP: &str = "macros are nested too deep: the outer ones stay as text";
const TOO_MUCH: &str = "a text has too many macros, or they produce too much text: the later ones stay as text";
const TOO_LARGE: &str = "a variable was not written: its value is too large, or its path does not exist";

/// An evaluated argument, with the number of surrounding white-space bytes (before, after) that are only formatting.
struct MacroArg {
    full: String,
    blanks: (usize, usize),
}

impl MacroArg {
    fn trimmed(&self) -> &str {
        let (before, behind) = self.blanks;
        self.full.get(before..self.full.len().saturating_sub(behind)).unwrap_or_default()
    }
}

impl MacroEngine<'_> {
    /// Expands the macros of a text, as a part of the current one.
    pub(super) fn expand(&mut self, text: &str) -> String {
        if !text.contains(['{', '}', '<']) {
            return text.to_owned();
        }
        let read = parse(text, &takes_block);
        if read.too_deep {
            self.note_problem(TOO_DEEP);
        }
        let mut out = String::with_capacity(text.len());
        self.expand_pieces(&SourceText::new(text), &read.pieces, &mut out);
        finish(out)
    }

    fn expand_pieces(&mut self, text: &SourceText<'_>, pieces: &[MacroPiece], out: &mut String) {
        for piece in pieces {
            match piece {
                MacroPiece::Text(range) | MacroPiece::Separator(range) => {
                    out.push_str(text.get(range.clone()).unwrap_or_default())
                }
                MacroPiece::Macro(one) => self.expand_macro(text, one, out),
            }
        }
    }

    fn expand_macro(&mut self, text: &SourceText<'_>, one: &MacroNode, out: &mut String) {
        self.macros += 1;
        if !self.is_stopped && self.macros.is_multiple_of(MACROS_PER_LOOK) {
            self.is_stopped = self.stop.is_stopped();
        }
        if self.is_out_of_budget() {
            self.note_problem(TOO_MUCH);
            let end = one.block.as_ref().map_or(one.close.end, |block| block.close.end);
            return out.push_str(text.get(one.open.start..end).unwrap_or_default());
        }
        match one.head.kind {
            MacroKind::Variable { .. } if one.head.is_closing => self.keep_as_text(text, one, out),
            MacroKind::Variable { is_global, operator } => self.expand_variable(text, one, is_global, operator, out),
            MacroKind::Named => self.expand_named(text, one, out),
        }
        if self.local.has_rejected_write || self.global.has_rejected_write {
            (self.local.has_rejected_write, self.global.has_rejected_write) = (false, false);
            self.note_problem(TOO_LARGE);
        }
    }

    fn is_out_of_budget(&self) -> bool {
        self.is_stopped || self.macros > MAX_MACROS || self.work + self.local.work + self.global.work > MAX_WORK
    }

    fn expand_named(&mut self, text: &SourceText<'_>, one: &MacroNode, out: &mut String) {
        let row = table::find(&one.head.name).filter(|_| !one.head.is_closing);
        let Some(row) = row.filter(|row| row.accepts_args(one.count())) else {
            if !one.head.is_closing {
                self.note_unresolved(&one.head.name);
            }
            return self.keep_as_text(text, one, out);
        };
        match row.action {
            MacroAction::Nothing => {}
            MacroAction::Condition => self.expand_condition(text, one, out),
            MacroAction::Text(does) => {
                let given: Vec<MacroArg> = one.args().into_iter().map(|arg| self.arg(text, arg)).collect();
                let block = one.block.as_ref().map(|block| self.text_of(text, &block.pieces));
                let mut args: Vec<String> = given.iter().map(|arg| arg.trimmed().to_owned()).collect();
                args.extend(block.as_deref().map(|block| block_text(block, &one.head)));
                let is_whole = row.integer_args.iter().all(|at| args.get(*at).is_none_or(|arg| is_whole(arg)));
                let call = MacroCall { args, text, at: one.open.start };
                match Some(call).filter(|_| is_whole).and_then(|call| does(self, call)) {
                    Some(value) => self.write(&value, out),
                    None => {
                        self.note_unresolved(&one.head.name);
                        rebuild(text, one, &given, block.as_deref(), out);
                    }
                }
            }
        }
    }

    fn write(&mut self, value: &str, out: &mut String) {
        self.work += value.len();
        out.push_str(value);
    }

    /// Keeps a macro as text, but expands the macros inside it.
    fn keep_as_text(&mut self, text: &SourceText<'_>, one: &MacroNode, out: &mut String) {
        out.push_str(text.get(one.open.clone()).unwrap_or_default());
        self.expand_pieces(text, &one.body, out);
        out.push_str(text.get(one.close.clone()).unwrap_or_default());
        if let Some(block) = &one.block {
            self.expand_pieces(text, &block.pieces, out);
            out.push_str(text.get(block.close.clone()).unwrap_or_default());
        }
    }

    fn text_of(&mut self, text: &SourceText<'_>, pieces: &[MacroPiece]) -> String {
        let mut out = String::new();
        self.expand_pieces(text, pieces, &mut out);
        out
    }

    /// Evaluates an argument. White space at its ends is formatting if it is literal text.
    fn arg(&mut self, text: &SourceText<'_>, pieces: &[MacroPiece]) -> MacroArg {
        let of = |piece: &MacroPiece| match piece {
            MacroPiece::Text(range) | MacroPiece::Separator(range) => text.get(range.clone()),
            MacroPiece::Macro(_) => None,
        };
        let before = count_leading_blanks(pieces.iter().map(of), str::trim_start);
        let behind = count_leading_blanks(pieces.iter().rev().map(of), str::trim_end);
        let full = self.text_of(text, pieces);
        // An argument of white space only becomes empty.
        let behind = behind.min(full.len().saturating_sub(before));
        MacroArg { full, blanks: (before, behind) }
    }

    /// Expands `{{if …}}`; only the chosen branch is evaluated.
    fn expand_condition(&mut self, text: &SourceText<'_>, one: &MacroNode, out: &mut String) {
        let args = one.args();
        let is_true = args.first().is_some_and(|condition| self.is_true(text, condition));
        let both = one.block.as_ref().map(|block| block.pieces.as_slice()).or(args.get(1).copied()).unwrap_or_default();
        let (first, second) = match both.iter().position(is_else) {
            Some(at) => (both.get(..at), both.get(at + 1..)),
            None => (Some(both), None),
        };
        let chosen = if is_true { first } else { second };
        let value = match one.block {
            Some(_) => block_text(&self.text_of(text, chosen.unwrap_or_default()), &one.head),
            None => self.arg(text, chosen.unwrap_or_default()).trimmed().to_owned(),
        };
        out.push_str(&value);
    }

    /// Evaluates a condition: a variable (`.hp`), a macro without arguments (`persona`), or any text; `!` negates it.
    fn is_true(&mut self, text: &SourceText<'_>, pieces: &[MacroPiece]) -> bool {
        let is_plain = pieces.iter().all(|piece| !matches!(piece, MacroPiece::Macro(_)));
        let is_turned = |text: &str| text.trim_start().starts_with('!');
        let turns = pieces.first().is_some_and(|first| match first {
            MacroPiece::Text(range) => is_turned(text.get(range.clone()).unwrap_or_default()),
            _ => false,
        });
        let arg = self.arg(text, pieces);
        let said = arg.trimmed();
        let said = if turns { said.trim_start().strip_prefix('!').unwrap_or(said).trim_start() } else { said };
        let value = if is_plain { self.named_in_condition(said) } else { None };
        is_truthy(value.as_deref().unwrap_or(said)) != turns
    }

    fn named_in_condition(&mut self, said: &str) -> Option<String> {
        if let Some((is_global, name)) = head::bare_variable(said) {
            return Some(self.variables_mut(is_global).text(name));
        }
        match table::find(said).filter(|row| row.accepts_args(0))?.action {
            MacroAction::Text(does) => does(self, MacroCall { args: Vec::new(), text: &SourceText::new(said), at: 0 }),
            _ => None,
        }
    }

    /// Returns the session or global variables.
    pub(super) const fn variables_mut(&mut self, is_global: bool) -> &mut super::MacroVariables {
        if is_global { &mut self.global } else { &mut self.local }
    }

    /// Expands `{{.hp}}`, `{{.hp += 5}}`, `{{$gold ?? none}}`.
    fn expand_variable(
        &mut self,
        text: &SourceText<'_>,
        one: &MacroNode,
        is_global: bool,
        operator: Option<&str>,
        out: &mut String,
    ) {
        let name = one.head.name.as_str();
        let now = self.variables_mut(is_global).text(name);
        let has = self.variables_mut(is_global).has(name);
        self.work += now.len();
        // Plain reads, and operators that keep the current value.
        let keeps = match operator {
            Some("||" | "||=") => is_truthy(&now),
            Some("??" | "??=") => has,
            _ => false,
        };
        if keeps || operator.is_none() {
            return self.write(&now, out);
        }
        // Comparisons, then assignments.
        let value = self.arg(text, &one.body).trimmed().to_owned();
        let operator = operator.unwrap_or_default();
        if let Some(answer) = compare(operator, &now, &value) {
            return out.push_str(if answer { "true" } else { "false" });
        }
        let value = to_stored_text(&value);
        let own = self.variables_mut(is_global);
        match operator {
            "||=" | "??=" | "=" => own.set(name, value.clone().into()),
            "+=" => own.add(name, value.clone().into()),
            "-=" => own.subtract(name, &value),
            "++" => own.add(name, 1.into()),
            "--" => own.add(name, (-1).into()),
            _ => {}
        }
        match operator {
            "++" | "--" => {
                let now = self.variables_mut(is_global).text(name);
                self.write(&now, out);
            }
            "||" | "??" | "||=" | "??=" => self.write(&value, out),
            _ => {}
        }
    }
}

/// Returns whether a block may follow a macro.
fn takes_block(head: &MacroHead, args: usize) -> bool {
    head.kind == MacroKind::Named
        && !head.is_closing
        && table::find(&head.name).is_some_and(|row| row.may_have_block(args))
}

fn is_else(piece: &MacroPiece) -> bool {
    matches!(piece, MacroPiece::Macro(one) if one.count() == 0 && one.head.name.eq_ignore_ascii_case("else"))
}

/// Writes an evaluated macro as text.
fn rebuild(text: &SourceText<'_>, one: &MacroNode, given: &[MacroArg], block: Option<&str>, out: &mut String) {
    out.push_str(text.get(one.open.clone()).unwrap_or_default());
    for (at, arg) in given.iter().enumerate() {
        if at > 0 {
            out.push_str("::");
        }
        out.push_str(&arg.full);
    }
    out.push_str(text.get(one.close.clone()).unwrap_or_default());
    if let (Some(block_source), Some(block)) = (block, &one.block) {
        out.push_str(block_source);
        out.push_str(text.get(block.close.clone()).unwrap_or_default());
    }
}

/// Counts the bytes of white space at the start (or end, with `trim_end`) of plain texts.
fn count_leading_blanks<'t>(texts: impl Iterator<Item = Option<&'t str>>, trim: fn(&str) -> &str) -> usize {
    let mut bytes = 0;
    for text in texts {
        let Some(text) = text else { return bytes };
        let rest = trim(text);
        bytes += text.len() - rest.len();
        if !rest.is_empty() {
            return bytes;
        }
    }
    bytes
}

/// Returns the text of a block, dedented unless the macro keeps blanks.
fn block_text(block_source: &str, head: &MacroHead) -> String {
    if head.keeps_blanks { block_source.to_owned() } else { dedent(block_source) }
}

/// Removes the indentation of the first non-blank line from all lines, and trims the text.
fn dedent(text: &str) -> String {
    let of = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let first = text.lines().find(|line| !line.trim().is_empty()).map_or(0, of);
    let lines = text.split('\n').map(|line| line.get(of(line).min(first)..).unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// Returns whether a text counts as true. SillyTavern's false texts are empty, `off`, `false` and `0`; `no` is true.
pub fn is_truthy(text: &str) -> bool {
    let lower = text.trim().to_ascii_lowercase();
    !["", "false", "0", "off"].contains(&lower.as_str())
}

fn is_whole(arg: &str) -> bool {
    let digits = arg.strip_prefix('-').unwrap_or(arg);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the result of a comparison operator; `None` for other operators.
fn compare(operator: &str, now: &str, value: &str) -> Option<bool> {
    let numbers = || Some((super::js_number::read(now)?, super::js_number::read(value)?));
    Some(match operator {
        "==" => now == value,
        "!=" => now != value,
        ">" => numbers().is_some_and(|(now, value)| now > value),
        ">=" => numbers().is_some_and(|(now, value)| now >= value),
        "<" => numbers().is_some_and(|(now, value)| now < value),
        "<=" => numbers().is_some_and(|(now, value)| now <= value),
        _ => return None,
    })
}

/// What is left for the end: line breaks around `{{trim}}` go, and braces lose their backslashes.
fn finish(text: String) -> String {
    let text = to_stored_text(&text);
    if text.contains("\\{") || text.contains("\\}") {
        return text.replace("\\{", "{").replace("\\}", "}");
    }
    text
}
