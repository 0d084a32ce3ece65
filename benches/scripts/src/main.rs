//! Costs of a rule, compared with the same rule in other languages: `cargo run --release --locked --manifest-path
//! benches/scripts/Cargo.toml [-- NAME…]`.
//!
//! - `hook`: a rule of about thirty lines in Rhai, in Lua 5.4 and on QuickJS, each with its limits, over the same
//!   fold, dice and patterns, with few and with many values
//! - `parallel`: the hooks of 64 sessions at once, on one thread and on one thread per core
//! - `load`: compiling each bundled plugin and turning it on
//! - `hostile`: every malicious script, with the limits of a server
//!
//! This is a separate package, because only this comparison needs to compile two more interpreters.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a bench that cannot go on stops, and its numbers are for reading"
)]

mod host;
mod js;
mod lua;
#[macro_use]
#[path = "../../../tests/it/plugins/hostile_rows.rs"]
mod rows;
#[path = "../../foundation/table.rs"]
#[allow(dead_code, reason = "the other benches need more of it")]
mod table;

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use clotho_core::world::{SchemaSet, StateOperation, World};
use clotho_plugin::{
    DiceSeeds, Hook, HookCall, HookOutcome, LoadedPlugin, Permission, PluginOrigin, PluginSource, STACK_BYTES,
    ScriptHost, ScriptLimits, ScriptPool, run,
};
use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use host::Host;
use rows::nest_in_blocks;
use table::{format_micros, format_ratio, measure_time, median, print_header, print_row};

/// The most that a hook may take, whatever the size of the world.
const HOOK: Duration = Duration::from_micros(50);
/// The most that compiling a plugin and turning it on may take.
const LOAD: Duration = Duration::from_millis(5);
/// The most that a malicious script may take from a turn.
const HOSTILE: Duration = Duration::from_millis(100);
const SESSIONS: usize = 64;

const TEXT: &str = "The ogre roars. Alice takes 38 damage and picks up a rusty key. Bob takes 4 damage. The ogre swings once \
    more, and Alice takes 25 damage; she recovers 3 hp with her last bandage, while the rain goes on and on over the hills.";

/// The figures by name.
const FIGURES: [(&str, fn()); 4] = [
    ("hook", measure_hook),
    ("parallel", measure_parallel_hooks),
    ("load", measure_load),
    ("hostile", measure_hostile_scripts),
];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    for (name, figure) in FIGURES {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            thread::scope(|scope| {
                thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, figure).unwrap().join().unwrap()
            });
        }
    }
}

/// Returns a world with this many values below the plugin's root.
fn world_with_values(values: usize) -> Arc<World> {
    let things: Map<String, Value> = (0..values).map(|n| (format!("thing number {n}"), json!(n))).collect();
    let rule = json!({"hp": 60, "armour": {"mail": 2, "shield": 1}, "pack": {}, "things": things});
    Arc::new(World { vars: Map::from_iter([("rule".to_owned(), rule)]), ..World::default() })
}

/// Returns a call on a world that it may change, as a turn does. `before` is the parent message's world.
fn hook_call(world: Arc<World>, before: &Arc<World>) -> HookCall {
    let text = Arc::from(TEXT);
    let seeds = DiceSeeds { session: 1, node: 2 };
    let grants = Arc::from([Permission::Notes]);
    HookCall { text, seeds, grants, before: Arc::clone(before), ..HookCall::new(Hook::OnReply, world, Arc::default()) }
}

fn load_rule() -> Arc<LoadedPlugin> {
    let files =
        [("plugin.toml", include_str!("../rule/plugin.toml")), ("main.rhai", include_str!("../rule/main.rhai"))];
    let source =
        PluginSource::new("rule", PluginOrigin::Folder, files.map(|(path, text)| (path, text.as_bytes().to_vec())));
    Arc::new(LoadedPlugin::load(source, &ScriptLimits::default()).unwrap())
}

/// Calls in one measured time.
const BATCH: u32 = 100;
const ROUNDS: usize = 41;

fn measure_hook() {
    let columns = ["values", "in", "state of the interpreter", "a call", "limit", "beside Rhai"];
    print_header("A rule of thirty lines, with its limits", &columns);
    for values in [50, 5_000] {
        let (world, rules, text) = (world_with_values(values), Arc::new(SchemaSet::default()), Arc::from(TEXT));
        let (rhai, lua, js) = (load_rule(), lua::Script::new(), js::Script::new());
        let host = |own: Arc<World>| Host::new(own, &rules, &text);
        let ours = |own: Arc<World>| run::run(&rhai, hook_call(own, &world));
        let copy = || Arc::new(World::clone(&world));
        let expected = expect_operations(ours(copy()));
        assert_eq!(lua.call(host(copy())).take_operations(), expected);
        assert_eq!(js.call(host(copy())).take_operations(), expected);
        let mut ways: [(&str, &str, RuleFunction<'_>, Vec<Duration>); 6] = [
            ("Rhai", "of this call", &|own| ours(own).world.unwrap(), Vec::new()),
            ("Lua 5.4", "of this call", &|own| lua::Script::new().call(host(own)).world, Vec::new()),
            ("QuickJS", "of this call", &|own| js::Script::new().call(host(own)).world, Vec::new()),
            ("Lua 5.4", "kept for all", &|own| lua.call(host(own)).world, Vec::new()),
            ("QuickJS", "kept for all", &|own| js.call(host(own)).world, Vec::new()),
            ("(nothing)", "the world given back", &|own| own, Vec::new()),
        ];
        let mut copied = Vec::new();
        for _ in 0..ROUNDS {
            for (_, _, once, times) in &mut ways {
                // A message copies its world once, whatever runs on it. That is the last row, and not measured here.
                let mut worlds = Vec::new();
                copied.push(measure_time(|| worlds.extend((0..BATCH).map(|_| copy()))) / BATCH);
                times.push(measure_time(|| worlds.iter_mut().for_each(|own| *own = once(std::mem::take(own)))) / BATCH);
            }
        }
        let ours = median(&mut ways[0].3);
        for (name, state, _, times) in &mut ways {
            let time = median(times);
            let limit = if *name == "Rhai" { format_micros(HOOK) } else { String::new() };
            print_row(&[
                values.to_string(),
                (*name).to_owned(),
                (*state).to_owned(),
                format_micros(time),
                limit,
                format_ratio(time, ours),
            ]);
        }
        let time = median(&mut copied);
        let what = ["the world copied", "once a message", &format_micros(time), "", &format_ratio(time, ours)];
        print_row(&[values.to_string()].into_iter().chain(what.map(str::to_owned)).collect::<Vec<_>>());
    }
}

/// Runs the rule on its own world and returns that world.
type RuleFunction<'a> = &'a dyn Fn(Arc<World>) -> Arc<World>;

fn expect_operations(outcome: HookOutcome) -> Vec<StateOperation> {
    assert_eq!(outcome.error, None);
    assert!(!outcome.rolls.is_empty(), "the whole rule ran");
    outcome.operations
}

/// Turns of each session.
const TURNS: usize = 100;

fn measure_parallel_hooks() {
    let cores = thread::available_parallelism().unwrap().get();
    let columns = ["threads", "calls/s", "beside one thread", "limit", "slowest session / quickest"];
    print_header("The hooks of 64 sessions at once", &columns);
    let (plugin, world) = (load_rule(), world_with_values(50));
    let mut alone = None;
    for threads in [1, cores] {
        let mut times: Vec<(Duration, f64)> = (0..5).map(|_| run_sessions(&plugin, &world, threads)).collect();
        times.sort_by_key(|(time, _)| *time);
        let (time, spread) = times[times.len() / 2];
        let base = *alone.get_or_insert(time);
        let limit = if threads == 1 {
            String::new()
        } else {
            format!(">= {:.1}", 0.8 * f64::from(u32::try_from(cores).unwrap()))
        };
        let rate = f64::from(u32::try_from(SESSIONS * TURNS).unwrap()) / time.as_secs_f64();
        print_row(&[
            threads.to_string(),
            format!("{rate:.0}"),
            format_ratio(base, time),
            limit,
            format!("{spread:.2}"),
        ]);
    }
}

/// Returns the time for all sessions, and how much longer the last one took than the first, as a factor.
fn run_sessions(plugin: &Arc<LoadedPlugin>, world: &Arc<World>, threads: usize) -> (Duration, f64) {
    let pool = ScriptPool::new(threads).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let start = std::time::Instant::now();
    let session = |_| async {
        for _ in 0..TURNS {
            let outcome = pool.call(Arc::clone(plugin), hook_call(Arc::new(World::clone(world)), world)).await;
            assert_eq!(outcome.error, None);
        }
        start.elapsed()
    };
    let ends = runtime.block_on(join_all((0..SESSIONS).map(session)));
    let (first, last) = (ends.iter().min().unwrap(), ends.iter().max().unwrap());
    (*last, last.as_secs_f64() / first.as_secs_f64())
}

fn measure_load() {
    print_header(
        "A bundled plugin compiled and switched on",
        &["plugin", "lines", "compiled", "`init`", "both", "limit", "looked through after"],
    );
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(bundled_plugins_dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    for folder in folders.iter().filter(|folder| folder.join("plugin.toml").is_file()) {
        let source = PluginSource::read(folder).unwrap();
        let (mut compiled, mut begun, mut looked) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut loaded = None;
            compiled.push(measure_time(|| {
                loaded = Some(Arc::new(LoadedPlugin::load(source.clone(), &ScriptLimits::default()).unwrap()))
            }));
            let plugin = loaded.unwrap();
            let config = plugin.manifest().check_settings(&Map::new()).unwrap();
            let world = Arc::new(World::default());
            let call = HookCall { config: Arc::new(config), ..HookCall::new(Hook::Init, world, Arc::default()) };
            begun.push(measure_time(|| assert_eq!(run::run(&plugin, call).error, None)));
            looked.push(measure_time(|| assert!(plugin.warnings().is_empty())));
        }
        let (compiled, begun, looked) = (median(&mut compiled), median(&mut begun), median(&mut looked));
        let lines: usize = source
            .files
            .keys()
            .filter(|path| path.ends_with(".rhai"))
            .filter_map(|path| source.text(path))
            .map(|text| text.lines().count())
            .sum();
        print_row(&[
            source.name.clone(),
            lines.to_string(),
            format_micros(compiled),
            format_micros(begun),
            format_micros(compiled + begun),
            format_micros(LOAD),
            format_micros(looked),
        ]);
    }
}

fn bundled_plugins_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins")
}

macro_rules! scripts {
    ($($(#[$doc:meta])* $name:ident: $body:expr => $end:pat,)*) => {
        vec![$((stringify!($name), format!("fn on_reply(ctx) {{ {} }}", $body)),)*]
    };
}

fn measure_hostile_scripts() {
    let text: Arc<str> = "ab ".repeat((256 << 10) / 3).into();
    let mut times: Vec<(Duration, &str)> =
        every_kind!(scripts).into_iter().map(|(name, script)| (slowest_run(&script, &text), name)).collect();
    times.sort();
    let within = times.iter().filter(|(time, _)| *time < HOSTILE).count();
    let title =
        format!("{} kinds of script that mean harm, {within} of them below {} ms", times.len(), HOSTILE.as_millis());
    print_header(&title, &["script", "the slowest of five", "of the limit"]);
    for (time, name) in times.iter().rev().take(10) {
        print_row(&[(*name).to_owned(), format_micros(*time), format_ratio(*time, HOSTILE)]);
    }
    print_row(&[
        "the one in the middle".to_owned(),
        format_micros(times[times.len() / 2].0),
        format_ratio(times[times.len() / 2].0, HOSTILE),
    ]);
}

fn slowest_run(script: &str, text: &Arc<str>) -> Duration {
    let files = [("plugin.toml", include_str!("../rule/plugin.toml")), ("main.rhai", script)];
    let source =
        PluginSource::new("rule", PluginOrigin::Folder, files.map(|(path, text)| (path, text.as_bytes().to_vec())));
    let plugin = Arc::new(LoadedPlugin::load(source, &ScriptLimits::default()).unwrap());
    let world = Arc::new(World::default());
    let given = || HookCall { text: Arc::clone(text), ..hook_call(Arc::default(), &world) };
    (0..5).map(|_| measure_time(|| drop(black_box(run::run(&plugin, given()))))).max().unwrap()
}
