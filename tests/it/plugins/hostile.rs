//! Malicious scripts: each ends by the named limit, releases its memory, and the next call works.
//!
//! Each row is a separate test, so that the runner gives it its own process: an abort or a hang fails only that row.

use std::sync::mpsc::channel;
use std::time::Duration;

use clotho_plugin::{
    Hook, HookOutcome, LoadedPlugin, PluginOrigin, PluginSource, STACK_BYTES, ScriptErrorKind, ScriptLimit,
    ScriptLimits, heap, run,
};
use serde_json::json;

use super::{MANIFEST, hook_call, plugin, without_deadline};
use rows::nest_in_blocks;

#[macro_use]
#[path = "hostile_rows.rs"]
mod rows;

/// How a script ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptEnd {
    /// By a limit.
    By(ScriptLimit),
    /// By an ordinary error.
    Error,
    /// Normally: it was harmless under the limits.
    Well,
}

const TEXT: usize = 256 << 10;

/// After this time a script counts as hanging, on however slow a machine.
const GIVE_UP: Duration = Duration::from_secs(120);

/// Runs a script several times on one thread. Asserts that its memory is released and that the next call works.
fn run_repeatedly(script: &str, limits: &ScriptLimits) -> (ScriptEnd, HookOutcome) {
    let hostile = plugin_with_limits(script, limits);
    let friendly = plugin("fn on_reply(ctx) { ctx.add(\"hp\", 1); }");
    let (done, wait) = channel();
    let body = move || {
        let text = "ab ".repeat(TEXT / 3);
        let once = || run::run(&hostile, hook_call(Hook::OnReply, json!({}), &text));
        // The first runs allocate what is kept: compiled patterns, a thread's first allocations.
        (0..5).for_each(|_| drop(once()));
        // A pattern may still grow its cache; a leak would show in every run.
        let kept = || {
            let before = heap::live_bytes();
            drop(once());
            heap::live_bytes() - before
        };
        let kept = (0..3).map(|_| kept()).min().unwrap();
        let next = run::run(&friendly, hook_call(Hook::OnReply, json!({}), ""));
        done.send((once(), kept, next)).unwrap();
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(body).unwrap();
    let (outcome, kept, next) = wait.recv_timeout(GIVE_UP).expect("it ends");
    assert!(kept < 4 << 10, "{kept} bytes are still held");
    assert_eq!((next.error, next.operations.len()), (None, 1), "the next call works");
    let end = match &outcome.error {
        None => ScriptEnd::Well,
        Some(error) => match error.limit {
            Some(limit) => {
                assert_eq!(error.kind, ScriptErrorKind::Limit);
                ScriptEnd::By(limit)
            }
            None => {
                assert!(matches!(error.kind, ScriptErrorKind::Runtime | ScriptErrorKind::Parse), "{error}");
                ScriptEnd::Error
            }
        },
    };
    (end, outcome)
}

fn plugin_with_limits(script: &str, limits: &ScriptLimits) -> std::sync::Arc<LoadedPlugin> {
    let files = [("plugin.toml", MANIFEST), ("main.rhai", script)];
    let source =
        PluginSource::new("mine", PluginOrigin::Folder, files.map(|(path, text)| (path, text.as_bytes().to_vec())));
    std::sync::Arc::new(LoadedPlugin::load(source, limits).unwrap_or_else(|error| panic!("{error}")))
}

/// Memory in bytes that a call may reach before the next check: the budget plus one native call.
const MOST_HEAP: u64 = (16 << 20) + (12 << 20);

macro_rules! hostile {
    ($($(#[$doc:meta])* $name:ident: $body:expr => $end:pat,)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            let script = format!("fn on_reply(ctx) {{ {} }}", $body);
            // Only scripts that may end by the deadline get a short one; all others must end by the named limit.
            let is_timed = matches!(By(Deadline), $end);
            let deadline = if is_timed { Duration::from_millis(50) } else { without_deadline().deadline };
            let (end, outcome) = run_repeatedly(&script, &ScriptLimits { deadline, ..ScriptLimits::default() });
            assert!(matches!(end, $end), "{end:?}: {:?}", outcome.error.map(|error| error.message));
            let usage = outcome.usage;
            assert!(usage.heap_peak < MOST_HEAP, "{usage:?}");
            assert!(outcome.operations.is_empty() || end == ScriptEnd::Well);
        }
    )*};
}

use ScriptEnd::{By, Error, Well};
use ScriptLimit::{CallLevels, Chatter, Deadline, Heap, Modules, Operations, Regex, Result as Out, Size, Variables};

every_kind!(hostile);

#[test]
fn import_in_loop_hits_limit() {
    let files = [
        ("plugin.toml", MANIFEST),
        ("main.rhai", "fn on_reply(ctx) { loop { import \"lib\" as l; l::f(); } }"),
        ("lib.rhai", "fn f() { 1 }"),
    ];
    let source =
        PluginSource::new("mine", PluginOrigin::Folder, files.map(|(path, text)| (path, text.as_bytes().to_vec())));
    let loaded = std::sync::Arc::new(LoadedPlugin::load(source, &without_deadline()).unwrap());
    let outcome = std::thread::Builder::new()
        .stack_size(STACK_BYTES)
        .spawn(move || run::run(&loaded, hook_call(Hook::OnReply, json!({}), "")))
        .unwrap()
        .join()
        .unwrap();
    let limit = outcome.error.unwrap().limit;
    assert!(matches!(limit, Some(Modules | Operations)), "{limit:?}");
}

/// The regex engine is linear, but that means states times characters.
#[test]
fn heavy_regex_limits_text_length() {
    let mut random = clotho_core::clock::SplitMix64::new(3);
    let text: String =
        (0..TEXT).map(|_| ['a', 'b', 'c'].get(usize::try_from(random.next_below(3)).unwrap()).unwrap()).collect();
    let script = |pattern: &str| format!("fn on_reply(ctx) {{ ctx.find(\"{pattern}\") }}");
    let find = |pattern: &str, text: &str| {
        let loaded = plugin_with_limits(&script(pattern), &without_deadline());
        run::run(&loaded, hook_call(Hook::OnReply, json!({}), text)).error.map(|error| (error.limit, error.message))
    };
    assert_eq!(find("[0-9]+ hp", &text), None);
    assert_eq!(find("[abc]*a[abc]{900}[^a-z]", text.get(..16 << 10).unwrap()), None);
    let (limit, message) = find("[abc]*a[abc]{900}[^a-z]", &text).unwrap();
    assert_eq!(limit, Some(Regex));
    assert_eq!(
        message,
        "find: this pattern is too expensive for a text of more than 32 KiB; [a-z] is cheaper than \
        \\w"
    );
}

/// A constant pattern is compiled once for all calls. The first call that needs it pays neither memory nor time for
/// it.
#[test]
fn constant_regex_costs_no_call_memory_or_time() {
    let limits = ScriptLimits { heap: 600 << 10, ..without_deadline() };
    let run = |end: &str| {
        let finds = ["a", "b", "c", "d", "e", "f"].map(|c| format!("ctx.find(\"{c}\\\\w{{4}}\"{end});")).concat();
        let loaded = plugin_with_limits(&format!("fn on_reply(ctx) {{ {finds} }}"), &limits);
        run::run(&loaded, hook_call(Hook::OnReply, json!({}), ""))
    };
    let constant = run("");
    assert_eq!(constant.error, None);
    assert!(constant.usage.heap_peak < 600 << 10);
    assert_eq!(run(" + ctx.text").error.and_then(|error| error.limit), Some(Heap), "made up, they are the call's");
}

/// Nesting values in each other gives the deepest possible value. It must fit the stack even if all steps are used.
#[test]
fn deepest_value_nesting_fits_stack() {
    let scripts = [
        "let m = #{}; loop { let n = #{}; n[\"x\"] = take(m); m = take(n); }",
        "let h = #{ m: #{} }; loop { h[\"n\"] = #{}; h[\"n\"][\"x\"] = h.remove(\"m\"); h[\"m\"] = h.remove(\"n\"); }",
        "let h = [[]]; loop { let n = [0]; n[0] = h.pop(); h.push(n); }",
        "let h = [#{}]; loop { let n = #{}; n[\"x\"] = h.pop(); h.push(n); }",
    ];
    for script in scripts {
        let script = format!("fn on_reply(ctx) {{ {script} }}");
        let files = [("plugin.toml", MANIFEST), ("main.rhai", script.as_str())];
        let source =
            PluginSource::new("mine", PluginOrigin::Folder, files.map(|(path, text)| (path, text.as_bytes().to_vec())));
        let loaded = std::sync::Arc::new(LoadedPlugin::load(source, &without_deadline()).unwrap());
        let body = move || run::run(&loaded, hook_call(Hook::OnReply, json!({}), ""));
        let outcome = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(body).unwrap().join().unwrap();
        assert!(outcome.hit_limit());
    }
}
