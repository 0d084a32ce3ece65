//! The compiled regular expressions of one plugin. Compiling costs a thousand times as much as matching, so patterns
//! are cached. Literals of the script are compiled once per plugin, at first use or during its checks, and never at a
//! call's expense. Other patterns of a call are counted even if they are cached from earlier calls: the effect of a
//! call must not depend on what ran before it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use regex::{Regex, RegexBuilder};

use super::limits::ScriptLimits;

/// Why a pattern cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RegexCompileError {
    pub(super) message: String,
    /// The pattern is valid, but too large when compiled.
    pub(super) too_big: bool,
}

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct CompiledRegex {
    pub(super) regex: Regex,
    /// Cached result of [`CompiledRegex::max_text`] for long texts.
    max_text: OnceLock<usize>,
}

/// A shared pattern. Cloning a `Regex` creates new match buffers, which takes a hundred times as long as a match.
pub(super) type RegexResult = Result<Arc<CompiledRegex>, RegexCompileError>;

/// The largest product of pattern bytes and text bytes: about a tenth of a second at worst.
const MAX_WORK: usize = 1 << 32;

/// The least size that a pattern counts for.
const MIN_SIZE: usize = 1 << 11;

impl CompiledRegex {
    /// Returns the most bytes of text that the pattern may search, for a text of `text` bytes. Match time is bounded by
    /// states times characters, and the pattern's size stands for its states. The size is measured for long texts only;
    /// a short text may be searched with any pattern.
    pub(super) fn max_text(&self, text: usize, limits: &ScriptLimits) -> usize {
        let always = MAX_WORK / limits.regex.max(MIN_SIZE);
        if text <= always {
            return always;
        }
        *self.max_text.get_or_init(|| (MAX_WORK / memory_size(self.regex.as_str(), limits)).min(limits.text))
    }
}

/// The pattern cache of one plugin.
#[derive(Debug, Default)]
pub(super) struct RegexCache {
    constant: HashMap<String, ConstantRegex>,
    dynamic: Mutex<HashMap<String, RegexResult>>,
}

/// A pattern literal of the script.
#[derive(Debug, Default)]
pub(super) struct ConstantRegex(OnceLock<RegexResult>);

impl ConstantRegex {
    /// Returns the compiled pattern, if it is compiled already.
    pub(super) fn get(&self) -> Option<&RegexResult> {
        self.0.get()
    }

    /// Returns the compiled pattern; compiles it at first use.
    pub(super) fn get_or_compile(&self, pattern: &str, limits: &ScriptLimits) -> &RegexResult {
        self.0.get_or_init(|| compile(pattern, limits))
    }
}

impl RegexCache {
    /// Creates the cache with a plugin's pattern literals, up to its capacity; none is compiled yet.
    pub(super) fn new(constant: impl IntoIterator<Item = String>, limits: &ScriptLimits) -> Self {
        let mut regexes = Self::default();
        for pattern in constant {
            if regexes.constant.len() < limits.regex_cache {
                regexes.constant.entry(pattern).or_default();
            }
        }
        regexes
    }

    /// Returns the entry of a pattern literal.
    pub(super) fn constant(&self, pattern: &str) -> Option<&ConstantRegex> {
        self.constant.get(pattern)
    }

    /// Compiles a pattern that is not a literal. It is cached while there is room, so a script cannot evict other
    /// patterns.
    pub(super) fn dynamic(&self, pattern: &str, limits: &ScriptLimits) -> RegexResult {
        if let Some(cached) = self.lock().get(pattern) {
            return cached.clone();
        }
        let compiled = compile(pattern, limits);
        let mut cache = self.lock();
        if cache.len() + self.constant.len() < limits.regex_cache {
            cache.insert(pattern.to_owned(), compiled.clone());
        }
        compiled
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, RegexResult>> {
        self.dynamic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn compile(pattern: &str, limits: &ScriptLimits) -> RegexResult {
    match build(pattern, limits.regex, limits) {
        Ok(regex) => Ok(Arc::new(CompiledRegex { regex, max_text: OnceLock::new() })),
        Err(regex::Error::CompiledTooBig(most)) => {
            let message = format!("the pattern needs more than {} KiB", most >> 10);
            Err(RegexCompileError { message, too_big: true })
        }
        Err(other) => Err(RegexCompileError { message: one_line(&other.to_string()), too_big: false }),
    }
}

fn build(pattern: &str, room: usize, limits: &ScriptLimits) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).size_limit(room).dfa_size_limit(limits.regex * 2).build()
}

/// Returns the memory that a pattern needs, up to a factor of two. The library only tells whether it fits, so it is
/// compiled with growing limits.
fn memory_size(pattern: &str, limits: &ScriptLimits) -> usize {
    let mut room = MIN_SIZE;
    while room < limits.regex && build(pattern, room, limits).is_err() {
        room *= 2;
    }
    room
}

/// Shortens a regex error to its last line; the lines before only draw the place.
fn one_line(message: &str) -> String {
    let last = message.lines().last().unwrap_or_default();
    format!("the pattern is wrong: {}", last.trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regex_cache_stays_bounded() {
        let limits = ScriptLimits { regex_cache: 2, ..ScriptLimits::default() };
        let all = RegexCache::new(["c+".to_owned()], &limits);
        let is_kept = |pattern: &str| {
            let (one, two) = (all.dynamic(pattern, &limits).unwrap(), all.dynamic(pattern, &limits).unwrap());
            Arc::ptr_eq(&one, &two)
        };
        assert!(is_kept("a+"));
        assert!(!is_kept("b+"), "no room");
        let constant = all.constant("c+").unwrap();
        assert!(constant.get().is_none());
        let first = Arc::as_ptr(constant.get_or_compile("c+", &limits).as_ref().unwrap());
        assert_eq!(first, Arc::as_ptr(constant.get().unwrap().as_ref().unwrap()));
        assert_eq!(all.dynamic("(", &limits).unwrap_err().message, "the pattern is wrong: unclosed group");
        assert!(all.dynamic("\\w{9999}{99}", &limits).unwrap_err().too_big);
    }

    #[test]
    fn regex_cache_heavy_pattern_limits_text_length() {
        let limits = ScriptLimits::default();
        let most = |pattern: &str, text: usize| compile(pattern, &limits).unwrap().max_text(text, &limits);
        assert_eq!(most("\\w{5}", 100), most("a", 100));
        assert_eq!(most("a", 64 << 10), limits.text);
        assert!(most("\\w{5}", 64 << 10) < 64 << 10);
    }
}
