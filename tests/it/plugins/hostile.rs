//! Scripts that mean harm: each ends by the limit that is named, gives back its memory, and the next call works.
//!
//! Each row is a test of its own, so that the runner gives it a process of its own: an abort or a hang is that row's.

use std::sync::mpsc::channel;
use std::time::Duration;

use clotho::plugin::{ErrorKind, Hook, Limit, Limits, Loaded, Origin, Outcome, STACK, Source, heap, run};
use serde_json::json;

use super::{MANIFEST, call, plugin, without_deadline};

/// What ended a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// A limit.
    By(Limit),
    /// An ordinary error.
    Error,
    /// Nothing: it was harmless under the limits.
    Well,
}

const TEXT: usize = 256 << 10;

/// A hang is a failure; on however slow a machine, this is one.
const GIVE_UP: Duration = Duration::from_secs(120);

/// Runs a script several times on one thread: how it ended, whether memory came back, and whether the next call works.
fn ended(script: &str, limits: &Limits) -> (End, Outcome) {
    let hostile = with_limits(script, limits);
    let friendly = plugin("fn on_reply(ctx) { ctx.add(\"hp\", 1); }");
    let (done, wait) = channel();
    let body = move || {
        let text = "ab ".repeat(TEXT / 3);
        let once = || run::run(&hostile, call(Hook::OnReply, json!({}), &text));
        // What is made once and kept (compiled patterns, a thread's first allocations) is made in the first runs.
        (0..5).for_each(|_| drop(once()));
        // A pattern may still grow what it keeps; a leak is there every time.
        let kept = || {
            let before = heap::live_bytes();
            drop(once());
            heap::live_bytes() - before
        };
        let kept = (0..3).map(|_| kept()).min().unwrap();
        let next = run::run(&friendly, call(Hook::OnReply, json!({}), ""));
        done.send((once(), kept, next)).unwrap();
    };
    std::thread::Builder::new().stack_size(STACK).spawn(body).unwrap();
    let (outcome, kept, next) = wait.recv_timeout(GIVE_UP).expect("it ends");
    assert!(kept < 4 << 10, "{kept} bytes are still held");
    assert_eq!((next.error, next.operations.len()), (None, 1), "the next call works");
    let end = match &outcome.error {
        None => End::Well,
        Some(error) => match error.limit {
            Some(limit) => {
                assert_eq!(error.kind, ErrorKind::Limit);
                End::By(limit)
            }
            None => {
                assert!(matches!(error.kind, ErrorKind::Runtime | ErrorKind::Parse), "{error}");
                End::Error
            }
        },
    };
    (end, outcome)
}

fn with_limits(script: &str, limits: &Limits) -> std::sync::Arc<Loaded> {
    let files = [("plugin.toml", MANIFEST), ("main.rhai", script)];
    let source = Source::new("mine", Origin::Folder, files.map(|(path, text)| (path, text.as_bytes().to_vec())));
    std::sync::Arc::new(Loaded::load(source, limits).unwrap_or_else(|error| panic!("{error}")))
}

/// Memory that a call may reach before the budget is looked at again: one native call's worth above it.
const MOST_HEAP: u64 = (16 << 20) + (12 << 20);

/// Blocks in blocks around a statement: each one is a frame of the interpreter.
fn nested(depth: usize, inner: &str) -> String {
    format!("{}{inner}{}", "if true { ".repeat(depth), " }".repeat(depth))
}

macro_rules! hostile {
    ($($(#[$doc:meta])* $name:ident: $body:expr => $end:pat,)*) => {$(
        $(#[$doc])*
        #[test]
        fn $name() {
            let script = format!("fn on_reply(ctx) {{ {} }}", $body);
            // Only what may end by its time is given little; everything else must end by what is named.
            let is_timed = matches!(By(Deadline), $end);
            let deadline = if is_timed { Duration::from_millis(50) } else { without_deadline().deadline };
            let (end, outcome) = ended(&script, &Limits { deadline, ..Limits::default() });
            assert!(matches!(end, $end), "{end:?}: {:?}", outcome.error.map(|error| error.message));
            let usage = outcome.usage;
            assert!(usage.heap_peak < MOST_HEAP, "{usage:?}");
            assert!(outcome.operations.is_empty() || end == End::Well);
        }
    )*};
}

use End::{By, Error, Well};
use Limit::{CallLevels, Chatter, Deadline, Heap, Modules, Operations, Regex, Result as Out, Size, Variables};

hostile! {
    endless_loop: "loop {}" => By(Operations),
    endless_for: "let y = 0; for x in 0..9223372036854775807 { y = x; }" => By(Operations),
    endless_recursion: "fn_a(ctx);} fn fn_a(ctx) { fn_a(ctx);" => By(CallLevels),
    mutual_recursion: "fn_a(1);} fn fn_a(n) { fn_b(n + 1); } fn fn_b(n) { fn_a(n + 1);" => By(CallLevels),
    deep_recursion: nested(8, "fn_a(ctx)") + "} fn fn_a(ctx) { " + &nested(8, "fn_a(ctx)") => By(CallLevels),
    recursion_through_natives: "fn_a([1]);} fn fn_a(a) { a.map(|x| a_b(x)); } fn a_b(x) { [x].filter(|y| { fn_a([y]); true });" => By(CallLevels),
    recursion_in_comparisons: "let a = [3, 2, 1]; a.sort(|x, y| fn_a(x, y));} fn fn_a(x, y) { let a = [x, y]; a.sort(|p, q| fn_a(p, q)); 1" => Well | By(CallLevels),
    deep_import: "fn_a(ctx);} fn fn_a(ctx) { import \"nothing\" as n; fn_a(ctx);" => Error,
    caught_heap: "let m = #{}; let i = 0; loop { try { let s = `${i}`; s.pad(60000, \"x\"); m[`k${i}`] = s; i += 1; } catch {} }" => By(Heap),
    caught_deadline: "loop { try { ctx.find_all(\"[ab ]*[ac ][ab ]{60}x\"); } catch {} }" => By(Deadline),
    caught_refusal: "loop { try { throw 1; } catch (e) { try { throw e; } catch {} } }" => By(Operations),
    caught_loop: "try { loop {} } catch {}" => By(Operations),
    loop_of_caught_loops: "loop { try { loop {} } catch (e) { print(e); } }" => By(Operations),
    caught_recursion: "loop { try { fn_a(ctx); } catch {} }} fn fn_a(ctx) { fn_a(ctx);" => By(CallLevels),
    growing_text: "let s = \"\"; loop { s += \"0123456789abcdef\"; }" => By(Size),
    doubling_text: "let s = \"x\"; loop { s += s; }" => By(Size),
    doubling_by_interpolation: "let s = \"x\"; loop { s = `${s}${s}`; }" => By(Size),
    padded_text: "let s = \"\"; s.pad(250000, \"x\");" => By(Size),
    padded_often: "loop { let s = \"\"; s.pad(60000, \"x\"); }" => By(Deadline) | By(Operations),
    replaced_text: "let s = \"\"; s.pad(60000, \"a\"); let t = s; s.replace(\"a\", t);" => By(Size),
    replaced_characters: "let s = \"\"; s.pad(60000, \"a\"); let t = s; s.replace('a', t);" => By(Size),
    growing_list: "let a = []; loop { a.push(1); }" => By(Size) | By(Deadline),
    padded_list: "let a = []; a.pad(1000000000, 1);" => By(Size),
    nested_list: "let a = []; loop { a = [a]; }" => By(Size) | By(Deadline),
    doubled_list: "let a = [1]; loop { a += a; }" => By(Size),
    split_text: "let s = \"\"; s.pad(60000, \"a\"); s.split(\"\")" => By(Size),
    split_often: "let s = \"\"; s.pad(60000, \"a \"); loop { s.split(\"b\"); s.to_upper(); }" => By(Deadline) | By(Operations),
    big_blob: "blob(4000000000)" => By(Size),
    growing_map: "let m = #{}; let i = 0; loop { m[`k${i}`] = i; i += 1; }" => By(Operations) | By(Deadline),
    map_of_maps: "let m = #{}; loop { m = #{ m: m }; }" => By(Size) | By(Deadline),
    indexed_maps: "let m = #{}; loop { let n = #{}; n[\"x\"] = m; m = n; }" => By(Operations) | By(Deadline) | By(Size),
    moved_maps: "let m = #{}; loop { let n = #{}; n[\"x\"] = take(m); m = take(n); }" => By(Operations) | By(Deadline) | By(Size) | Error,
    shuffled_maps: "let h = #{ m: #{} }; loop { h[\"n\"] = #{}; h[\"n\"][\"x\"] = h.remove(\"m\"); h[\"m\"] = h.remove(\"n\"); }"
        => By(Operations) | By(Deadline) | By(Size),
    shuffled_lists: "let h = [[]]; loop { let n = [0]; n[0] = h.pop(); h.push(n); }" => By(Size) | By(Deadline),
    held_texts: "let m = #{}; let i = 0; loop { let s = `${i}`; s.pad(60000, \"x\"); m[`k${i}`] = s; i += 1; }" => By(Heap),
    map_as_json: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } m.to_json()" => By(Size) | By(Out),
    map_as_text: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } m.to_string()" => By(Size),
    map_in_text: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } `${m}`" => By(Size),
    map_added_to_text: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } \"\" + m" => By(Size),
    map_printed: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } print(m)" => By(Size),
    map_debugged: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } debug(m)" => By(Size),
    map_compared: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } m == m" => By(Size),
    map_switched: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); loop { for i in 0..2500 { m[`k${i}`] = s; } switch m { 1 => 2, _ => 3 } }" => By(Operations) | By(Deadline),
    map_looked_for: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } let a = [1]; m in a" => Well | By(Size),
    list_around_a_map: "let a = [#{}]; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { a[0][`k${i}`] = s; } `${a}`" => By(Size),
    this_map_in_text: "let m = #{}; m.grow();} fn grow() { let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { this[`k${i}`] = s; } `${this}`" => By(Size),
    map_in_text_at_the_last_step: (0..60).map(|n| format!("let v{n} = {n};")).collect::<String>() + "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } loop { try { `${m}` } catch {} }" => By(Size),
    map_thrown: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } throw m;" => Error,
    map_of_values: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } m.values()" => By(Size),
    map_proposed: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } ctx.set(\"m\", m)" => By(Out) | By(Size),
    map_returned: "let m = #{}; let s = \"\"; s.pad(60000, \"x\"); for i in 0..2500 { m[`k${i}`] = s; } m" => By(Size) | Well,
    sleeping: "sleep(5);" => Error,
    sleeping_in_parts: "loop { try { sleep(0.5); } catch {} }" => By(Operations),
    asking_the_time: "timestamp();" => Error,
    called_eval: "Fn(\"eval\").call(\"loop {}\")" => Error,
    lying_sort: "let a = []; for i in 0..500 { a.push(i * 7919 % 503); } a.sort(|x, y| 1); a.sort(|x, y| if (x + y) % 3 == 0 { -1 } else { 1 });" => Well | Error,
    throwing_sort: "let a = [3, 1, 2]; a.sort(|x, y| throw \"no\");" => Well | Error,
    endless_sort: "let a = [3, 1, 2]; a.sort(|x, y| { loop {} });" => By(Operations),
    deep_json: "parse_json(\"[\".repeat_text(20000));} fn repeat_text(n) { let s = \"\"; s.pad(n, this); s" => Error,
    many_variables: (0..200).map(|n| format!("let v{n} = {n};")).collect::<String>() => By(Variables),
    overflow: "let n = 9223372036854775807; n + 1" => Error,
    division: "1 / 0" => Error,
    shifts: "1 << 100000000" => Error | Well,
    powers: "2 ** 100000" => Error,
    deep_throw: "let a = []; for i in 0..200 { a = [a]; } throw a;" => Error,
    stashed_ctx: "let m = #{}; for i in 0..2500 { m[`k${i}`] = ctx; } m" => Well,
    printing: "loop { print(\"spam spam spam spam\"); }" => By(Operations),
    debugging: "let s = \"\"; s.pad(60000, \"x\"); loop { debug(s); }" => By(Operations) | By(Deadline),
    many_operations: "loop { ctx.add(\"n\", 1); }" => By(Out),
    caught_operations: "loop { try { ctx.add(\"n\", 1); } catch {} }" => By(Operations) | By(Deadline),
    deep_operation: "let a = []; for i in 0..40 { a = [a]; } ctx.set(\"a\", a);" => By(Out),
    large_operations: "let s = \"\"; s.pad(30000, \"x\"); for i in 0..3 { ctx.set(`k${i}`, s); }" => By(Out),
    long_paths: "let s = \"\"; s.pad(60000, \"x\"); loop { ctx.set(s, 1); }" => By(Out),
    long_reasons: "let s = \"\"; s.pad(60000, \"x\"); for i in 0..200 { ctx.add(\"n\", 1, s); }" => Well,
    many_notes: "loop { ctx.note(\"n\"); }" => By(Chatter),
    many_warnings: "loop { ctx.warn(\"n\"); }" => By(Chatter),
    many_rolls: "loop { ctx.roll(\"100d1000\"); }" => By(Chatter),
    big_roll: "ctx.roll(\"999999d999999\")" => Error,
    big_regex: "ctx.find(\"\\\\w{500}{500}\")" => By(Regex),
    many_regexes: "let i = 0; loop { ctx.find(`a${i}`); i += 1; }" => By(Regex) | By(Deadline),
    caught_regexes: "let i = 0; loop { try { ctx.find(`a${i}`); } catch {} i += 1; }" => By(Operations) | By(Deadline),
    nested_regex: "ctx.find(\"(a+)+$\"); ctx.find_all(\"(a|a)*b\");" => Well,
    empty_regex: "loop { ctx.find_all(\"\"); }" => By(Deadline) | By(Operations),
    heavy_regex: "loop { ctx.find_all(\"[ab ]*[ac ][ab ]{60}x\"); }" => By(Deadline),
    heavier_regex: "loop { ctx.find(\"(?:[ab ]*[ac ][ab ]{200}){1}x|(\\\\w+\\\\W+){50}y\"); }" => By(Deadline) | By(Regex),
    mvu_over_and_over: "loop { ctx.mvu_commands(); }" => By(Deadline) | By(Operations),
    strip_over_and_over: "loop { ctx.block(\"x\"); }" => By(Deadline) | By(Operations),
    everything_recent: "loop { ctx.recent(50); }" => By(Operations) | By(Deadline),
    imports_in_a_loop: "loop { import \"nothing\" as n; print(n::f()); }" => Error,
    unknown_everything: "ctx.teleport(1); ctx.nothing" => Error,
    wrong_ctx: "ctx = 1; ctx.get(\"a\")" => Error,
}

#[test]
fn imports_are_counted() {
    let files = [
        ("plugin.toml", MANIFEST),
        ("main.rhai", "fn on_reply(ctx) { loop { import \"lib\" as l; l::f(); } }"),
        ("lib.rhai", "fn f() { 1 }"),
    ];
    let source = Source::new("mine", Origin::Folder, files.map(|(path, text)| (path, text.as_bytes().to_vec())));
    let loaded = std::sync::Arc::new(Loaded::load(source, &without_deadline()).unwrap());
    let outcome = std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(move || run::run(&loaded, call(Hook::OnReply, json!({}), "")))
        .unwrap()
        .join()
        .unwrap();
    let limit = outcome.error.unwrap().limit;
    assert!(matches!(limit, Some(Modules | Operations)), "{limit:?}");
}

/// The engine of regular expressions is linear, but "linear" is states times characters.
#[test]
fn a_heavy_pattern_gets_a_short_text() {
    let mut random = clotho::clock::SplitMix64::new(3);
    let text: String =
        (0..TEXT).map(|_| ['a', 'b', 'c'].get(usize::try_from(random.below(3)).unwrap()).unwrap()).collect();
    let script = |pattern: &str| format!("fn on_reply(ctx) {{ ctx.find(\"{pattern}\") }}");
    let find = |pattern: &str, text: &str| {
        let loaded = with_limits(&script(pattern), &without_deadline());
        run::run(&loaded, call(Hook::OnReply, json!({}), text)).error.map(|error| (error.limit, error.message))
    };
    assert_eq!(find("[0-9]+ hp", &text), None);
    assert_eq!(find("[abc]*a[abc]{900}[^a-z]", text.get(..16 << 10).unwrap()), None);
    let (limit, message) = find("[abc]*a[abc]{900}[^a-z]", &text).unwrap();
    assert_eq!(limit, Some(Regex));
    assert_eq!(message, "find: this pattern is too heavy for a text of more than 32 KiB; [a-z] is lighter than \\w");
}

/// Moving values into each other is the way to the deepest nesting: it must fit the stack also when all steps are used.
#[test]
fn the_deepest_nesting_fits_the_stack() {
    let scripts = [
        "let m = #{}; loop { let n = #{}; n[\"x\"] = take(m); m = take(n); }",
        "let h = #{ m: #{} }; loop { h[\"n\"] = #{}; h[\"n\"][\"x\"] = h.remove(\"m\"); h[\"m\"] = h.remove(\"n\"); }",
        "let h = [[]]; loop { let n = [0]; n[0] = h.pop(); h.push(n); }",
        "let h = [#{}]; loop { let n = #{}; n[\"x\"] = h.pop(); h.push(n); }",
    ];
    for script in scripts {
        let script = format!("fn on_reply(ctx) {{ {script} }}");
        let files = [("plugin.toml", MANIFEST), ("main.rhai", script.as_str())];
        let source = Source::new("mine", Origin::Folder, files.map(|(path, text)| (path, text.as_bytes().to_vec())));
        let loaded = std::sync::Arc::new(Loaded::load(source, &without_deadline()).unwrap());
        let body = move || run::run(&loaded, call(Hook::OnReply, json!({}), ""));
        let outcome = std::thread::Builder::new().stack_size(STACK).spawn(body).unwrap().join().unwrap();
        assert!(outcome.hit_limit());
    }
}
