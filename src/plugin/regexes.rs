//! Compiled regular expressions of one plugin. Compiling is a thousand times dearer than matching, so patterns are kept,
//! and those that stand in the script as constants are compiled when the plugin is loaded.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use regex::{Regex, RegexBuilder};

use super::limits::Limits;

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadPattern {
    pub(super) message: String,
    /// It is correct, but compiled it would be larger than allowed.
    pub(super) too_big: bool,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) regex: Regex,
    /// The most bytes of text it may be run over: the engine's time is bounded by states times characters, and a
    /// pattern's size stands for its states.
    pub(super) text: usize,
}

type Compiled = Result<Pattern, BadPattern>;

/// Bytes of pattern times bytes of text: about a tenth of a second at the worst.
const WORK: usize = 1 << 32;

/// The least size a pattern counts for.
const LEAST: usize = 1 << 11;

/// The patterns of one plugin.
#[derive(Debug, Default)]
pub(super) struct Regexes {
    kept: Mutex<HashMap<String, Compiled>>,
}

/// A pattern that was looked up.
pub(super) enum Lookup<'a> {
    /// It was compiled before.
    Known(Compiled),
    /// It has to be compiled.
    New(Compile<'a>),
}

/// A pattern that has to be compiled.
pub(super) struct Compile<'a> {
    owner: &'a Regexes,
    pattern: &'a str,
}

impl Regexes {
    pub(super) fn get<'a>(&'a self, pattern: &'a str) -> Lookup<'a> {
        match self.kept().get(pattern) {
            Some(known) => Lookup::Known(known.clone()),
            None => Lookup::New(Compile { owner: self, pattern }),
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, HashMap<String, Compiled>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Compile<'_> {
    /// Compiles the pattern and keeps it while there is room: a script that makes patterns up cannot push the others out.
    pub(super) fn run(self, limits: &Limits) -> Compiled {
        let compiled = compile(self.pattern, limits);
        let mut kept = self.owner.kept();
        if kept.len() < limits.regex_cache {
            kept.insert(self.pattern.to_owned(), compiled.clone());
        }
        compiled
    }
}

/// Compiles with growing room, to learn how much the pattern needs.
fn compile(pattern: &str, limits: &Limits) -> Compiled {
    let mut room = LEAST.min(limits.regex);
    loop {
        match RegexBuilder::new(pattern).size_limit(room).dfa_size_limit(limits.regex * 2).build() {
            Ok(regex) => return Ok(Pattern { regex, text: (WORK / room).min(limits.text) }),
            Err(regex::Error::CompiledTooBig(_)) if room < limits.regex => room = (room * 2).min(limits.regex),
            Err(regex::Error::CompiledTooBig(most)) => {
                let message = format!("the pattern needs more than {} KiB", most >> 10);
                return Err(BadPattern { message, too_big: true });
            }
            Err(other) => return Err(BadPattern { message: one_line(&other.to_string()), too_big: false }),
        }
    }
}

/// The last line of the library's message says what is wrong; the ones before draw it.
fn one_line(message: &str) -> String {
    let last = message.lines().last().unwrap_or_default();
    format!("the pattern is wrong: {}", last.trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_kept_within_bounds() {
        let limits = Limits { regex_cache: 1, ..Limits::default() };
        let all = Regexes::default();
        let run = |pattern: &str| match all.get(pattern) {
            Lookup::Known(known) => (true, known),
            Lookup::New(compile) => (false, compile.run(&limits)),
        };
        assert!(!run("a+").0);
        assert!(run("a+").0);
        assert!(!run("b+").0);
        assert!(!run("b+").0, "no room");
        assert_eq!(run("(").1.unwrap_err().message, "the pattern is wrong: unclosed group");
        assert!(run("\\w{9999}{99}").1.unwrap_err().too_big);
    }
}
