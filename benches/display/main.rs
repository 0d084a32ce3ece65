//! Costs of regex scripts that change what is shown, if the server ran them: `cargo bench -p clotho-compat --bench
//! display [-- NAME… CHARACTERS]`.
//!
//! Today the page runs them (`static/src/lib/scripts.ts`). Twenty scripts as presets and cards have them
//! (`scripts.json`) run on replies of 2 000 and 8 000 characters (`texts.json`):
//!
//! - `stored`: once on a whole reply, and the slowest scripts alone.
//! - `stream`: on a reply that arrives word by word, for 1, 8 and 32 replies at once, at most so often a second. The
//!   other side is what the server does today for each word: here, that it makes the frame and sends it over a socket;
//!   and the work of the whole program, as it was measured from outside.
//! - `chat`: on all messages of a chat that is opened. The other side is writing the same page as JSON.
//! - `slow`: a single script that stays just below its limit of steps.
//!
//! All times are CPU time of the measured thread. `page.mjs` runs the same scripts on the same texts as the page does.
//! A number replaces both lengths, to check quickly that everything runs.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a bench that cannot go on stops, and its numbers are for reading"
)]

mod socket;
#[path = "../foundation/table.rs"]
#[allow(dead_code, reason = "the other benches need more of it")]
mod table;
mod texts;

use std::hint::black_box;
use std::thread;
use std::time::Duration;

use clotho_compat::prompt::scripts::placement;
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use socket::Watcher;
use table::{format_micros, format_ratio, median, print_header, print_row};
use texts::{DisplayScripts, Texts, all_scripts};

const ROUNDS: usize = 31;
/// Rounds of whole chats and of few streams. Many streams are one round.
const LONG_ROUNDS: usize = 3;
/// Words a second of a stream.
const RATE: usize = 50;
/// The largest number of streams at once.
const MANY: usize = 32;
/// How often the scripts run at most, in times a second, besides once for each word. 33 is how often the page draws a
/// text that arrives.
const RUNS: [usize; 4] = [33, 10, 4, 1];
const CHATS: [usize; 2] = [60, 500];
/// The CPU time of the whole program for a word without scripts, by streams at once, as measured from outside. It is
/// smaller with more streams, because then the threads are awake already.
const PROGRAM: [(usize, Duration); 3] =
    [(1, Duration::from_micros(298)), (8, Duration::from_micros(183)), (MANY, Duration::from_micros(106))];
/// How often scripts may cost what the stream costs without them.
const LIMIT: &str = "<= 3";

/// A figure; the argument is the lengths of replies in characters.
type Figure = fn(&[usize]);

const FIGURES: [(&str, Figure); 4] =
    [("stored", measure_stored), ("stream", measure_streams), ("chat", measure_chat), ("slow", measure_slow_script)];

fn main() {
    let said: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let (sizes, wanted): (Vec<String>, Vec<String>) = said.into_iter().partition(|word| word.parse::<usize>().is_ok());
    let mut sizes: Vec<usize> = sizes.iter().map(|size| size.parse().unwrap()).collect();
    if sizes.is_empty() {
        sizes = vec![2_000, 8_000];
    }
    for (name, figure) in FIGURES {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            figure(&sizes);
        }
    }
}

/// Returns the CPU time of this thread.
fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap(), u32::try_from(time.tv_nsec).unwrap())
}

fn measure_cpu_time(work: impl FnOnce()) -> Duration {
    let before = thread_cpu_time();
    work();
    thread_cpu_time() - before
}

fn format_millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

fn measure_stored(sizes: &[usize]) {
    print_header("A whole reply, once", &["characters", "shown", "scripts", "as JSON", "scripts / JSON"]);
    for size in sizes {
        let text = Texts::read().reply(*size);
        let mut scripts = DisplayScripts::new(all_scripts(), &text);
        let (mut runs, mut written, mut shown) = (Vec::new(), Vec::new(), 0);
        for _ in 0..ROUNDS {
            scripts.refresh_set();
            runs.push(measure_cpu_time(|| {
                shown = black_box(scripts.render(&text, placement::REPLY, 0)).encode_utf16().count()
            }));
            written.push(measure_cpu_time(|| _ = black_box(json!({"content": text}).to_string())));
        }
        let (runs, written) = (median(&mut runs), median(&mut written));
        let units = text.encode_utf16().count().to_string();
        print_row(&[
            units,
            shown.to_string(),
            format_micros(runs),
            format_micros(written),
            format_ratio(runs, written),
        ]);
    }
    measure_each_script(*sizes.last().unwrap());
}

/// Measures each script alone.
fn measure_each_script(size: usize) {
    print_header(&format!("The slowest scripts alone, on {size} characters"), &["script", "CPU"]);
    let text = Texts::read().reply(size);
    let mut times: Vec<(Duration, String)> = Vec::new();
    for script in all_scripts() {
        let name = script["scriptName"].as_str().unwrap().to_owned();
        let mut one = DisplayScripts::new(vec![script], &text);
        let mut runs: Vec<Duration> =
            (0..ROUNDS).map(|_| measure_cpu_time(|| _ = black_box(one.render(&text, placement::REPLY, 0)))).collect();
        times.push((median(&mut runs), name));
    }
    times.sort_unstable();
    for (time, name) in times.into_iter().rev().take(6) {
        print_row(&[name, format_micros(time)]);
    }
}

/// The cost of one stream.
#[derive(Default, Clone, Copy)]
struct StreamCost {
    script_time: Duration,
    frame_time: Duration,
    word_count: usize,
    run_count: usize,
    /// Bytes of the words alone.
    word_bytes: usize,
    /// Bytes of the shown text behind the part that stayed the same, at each run.
    changed_bytes: usize,
}

impl StreamCost {
    fn add(self, other: Self) -> Self {
        Self {
            script_time: self.script_time + other.script_time,
            frame_time: self.frame_time + other.frame_time,
            word_count: self.word_count + other.word_count,
            run_count: self.run_count + other.run_count,
            word_bytes: self.word_bytes + other.word_bytes,
            changed_bytes: self.changed_bytes + other.changed_bytes,
        }
    }
}

fn measure_streams(sizes: &[usize]) {
    let title = format!("Replies of {RATE} words a second");
    let columns = [
        "characters",
        "at once",
        "runs a second, each",
        "scripts, a run",
        "frame, a word",
        "scripts / frames",
        "scripts / whole program",
        "limit",
        "scripts, in cores",
        "frames, in cores",
        "bytes changed / bytes arrived",
    ];
    print_header(&title, &columns);
    // One row for each length, number of streams and number of runs.
    for size in sizes {
        let text = Texts::read().reply(*size);
        let all_at_once = PROGRAM.map(|(count, word)| (count, word, RATE)).into_iter();
        let (_, many_word) = PROGRAM[PROGRAM.len() - 1];
        for (count, word, runs) in all_at_once.chain(RUNS.map(|runs| (MANY, many_word, runs))) {
            let rounds = if count < MANY { LONG_ROUNDS } else { 1 };
            let mut rounds: Vec<StreamCost> = (0..rounds).map(|_| run_streams(&text, count, runs)).collect();
            rounds.sort_by_key(|cost| cost.script_time);
            let cost = rounds[rounds.len() / 2];
            // The whole CPU time beside the time that the stream takes, in cores.
            let seconds = cost.word_count as f64 / count as f64 / RATE as f64;
            let per = |time: Duration, n: usize| format_micros(time / u32::try_from(n).unwrap());
            print_row(&[
                size.to_string(),
                count.to_string(),
                runs.to_string(),
                per(cost.script_time, cost.run_count),
                per(cost.frame_time, cost.word_count),
                format_ratio(cost.script_time, cost.frame_time),
                format!("**{}**", format_ratio(cost.script_time, word * u32::try_from(cost.word_count).unwrap())),
                LIMIT.to_owned(),
                format!("{:.3}", cost.script_time.as_secs_f64() / seconds),
                format!("{:.3}", cost.frame_time.as_secs_f64() / seconds),
                format!("{:.1}", cost.changed_bytes as f64 / cost.word_bytes as f64),
            ]);
        }
    }
}

/// Plays replies at once, on as many threads as the machine has cores. The time between words is left out.
fn run_streams(text: &str, count: usize, runs: usize) -> StreamCost {
    let cores = thread::available_parallelism().unwrap().get().min(count);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..cores)
            .map(|first| {
                scope.spawn(move || {
                    let own = (first..count).step_by(cores);
                    own.map(|_| run_stream(text, runs)).fold(StreamCost::default(), StreamCost::add)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).fold(StreamCost::default(), StreamCost::add)
    })
}

fn run_stream(text: &str, runs: usize) -> StreamCost {
    let mut watcher = Watcher::new();
    let mut scripts = DisplayScripts::new(all_scripts(), text);
    let (mut cost, mut so_far, mut shown) = (StreamCost::default(), String::new(), String::new());
    // Grows with each word; the scripts run when it is enough.
    let mut credit = RATE;
    for word in text.split_inclusive(' ') {
        let offset = so_far.encode_utf16().count();
        so_far.push_str(word);
        cost.frame_time += measure_cpu_time(|| watcher.send(word, offset));
        cost.word_count += 1;
        cost.word_bytes += word.len();
        let is_due = credit >= RATE;
        credit = credit % RATE + runs;
        if !is_due && so_far.len() < text.len() {
            continue;
        }
        scripts.refresh_set();
        let mut now = String::new();
        cost.script_time += measure_cpu_time(|| now = scripts.render(&so_far, placement::REPLY, 0));
        cost.run_count += 1;
        cost.changed_bytes += now.len() - common_prefix_len(&shown, &now);
        shown = now;
    }
    assert!(!shown.contains("<status>"), "the scripts ran");
    cost
}

/// Returns the length of the common start of two texts, in bytes.
fn common_prefix_len(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count()
}

fn measure_chat(sizes: &[usize]) {
    let title = "A chat that is opened, every second message a reply";
    print_header(title, &["messages", "characters of a reply", "scripts", "the page as JSON", "scripts / JSON"]);
    let texts = Texts::read();
    for size in sizes {
        let reply = texts.reply(*size);
        let mut scripts = DisplayScripts::new(all_scripts(), &reply);
        for count in CHATS {
            let messages: Vec<(i64, &str)> = (0..count)
                .map(|n| {
                    if n % 2 == 0 {
                        (placement::USER, texts.message.as_str())
                    } else {
                        (placement::REPLY, reply.as_str())
                    }
                })
                .collect();
            let (mut runs, mut written) = (Vec::new(), Vec::new());
            for _ in 0..LONG_ROUNDS {
                let mut all = Duration::ZERO;
                for (depth, (kind, text)) in messages.iter().rev().enumerate() {
                    scripts.refresh_set();
                    let depth = i64::try_from(depth).unwrap();
                    all += measure_cpu_time(|| _ = black_box(scripts.render(text, *kind, depth)));
                }
                runs.push(all);
                let page = || {
                    json!(
                        messages.iter().map(|(kind, text)| json!({"role": kind, "content": text})).collect::<Vec<_>>()
                    )
                };
                written.push(measure_cpu_time(|| _ = black_box(page().to_string())));
            }
            let (runs, written) = (median(&mut runs), median(&mut written));
            let cells = [format_millis(runs), format_millis(written), format_ratio(runs, written)];
            print_row(&[vec![count.to_string(), size.to_string()], cells.to_vec()].concat());
        }
    }
}

/// Measures a script that looks twelve characters ahead from each place, for a character that is in no text.
fn measure_slow_script(sizes: &[usize]) {
    print_header("A script just below its limit of steps", &["characters", "CPU"]);
    let script =
        json!({"scriptName": "Slow", "findRegex": r"/[^\x01]{0,12}(?=\x01)/g", "placement": [2], "markdownOnly": true});
    for size in sizes {
        let text = Texts::read().reply(*size);
        let mut scripts = DisplayScripts::new(vec![script.clone()], &text);
        let mut runs = Vec::new();
        for _ in 0..ROUNDS {
            scripts.refresh_set();
            runs.push(measure_cpu_time(|| _ = black_box(scripts.render(&text, placement::REPLY, 0))));
        }
        print_row(&[size.to_string(), format_micros(median(&mut runs))]);
    }
}
