//! A plugin that uses all that a call may use, in some sessions, beside players without that plugin.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::Size;
use super::growth::CONTEXT;
use super::mock::Mock;
use super::player::Player;
use super::program::{Program, ServerFolder};
use super::search::{create_players, play_for};
use super::table::{format_micros, format_ratio, median, print_header, print_row, quantile};

const PLAYERS: usize = 8;
/// A plugin is turned off after five limit violations, so it is turned on again before that.
const STRIKES: usize = 4;

/// Scripts that end by a limit: of steps, and of time, which costs more.
const SCRIPTS: [(&str, &str); 2] = [
    ("loop", "fn on_reply(ctx) { loop {} }"),
    ("pattern", "fn on_reply(ctx) { loop { ctx.find_all(\"[ab ]*[ac ][ab ]{60}x\", \"ab ac ba bc \"); } }"),
];

/// Rows alternate over several rounds, so that other load on the machine affects all of them.
const ROUNDS: u32 = 3;

/// A row: eight players beside others, and the results of all rounds.
#[derive(Default)]
struct Line {
    name: &'static str,
    other_count: usize,
    plugin: Option<&'static str>,
    times: Vec<Duration>,
    cpu_time: Duration,
    /// Turns of the others, and how many of these hit a limit.
    other_results: (usize, usize),
}

pub fn measure(size: Size) {
    let each = Duration::from_secs(size.pick(15, 3)) / ROUNDS;
    let line = |name, others, plugin| Line { name, other_count: others, plugin, ..Line::default() };
    let mut lines = [
        line("nobody", 0, None),
        line("8 more without the plugin", PLAYERS, None),
        line("8 with an endless loop", PLAYERS, Some("loop")),
        line("8 with an endless pattern", PLAYERS, Some("pattern")),
    ];
    super::block_on(async {
        let mock = Mock::start_immediate();
        let server_folder = ServerFolder::new(&mock, CONTEXT, "[plugins]\ndir = \"plugins\"");
        SCRIPTS.iter().for_each(|(id, script)| write_plugin(&server_folder, id, script));
        let program = server_folder.start().await;
        for _ in 0..ROUNDS {
            for line in &mut lines {
                play_round(line, &program, each).await;
            }
        }
        report(&mut lines, each * ROUNDS);
    });
}

/// Writes a plugin into the plugin folder.
fn write_plugin(server_folder: &ServerFolder, id: &str, script: &str) {
    let folder = server_folder.path().join("plugins").join(id);
    fs::create_dir_all(&folder).unwrap();
    let manifest =
        format!("id = \"{id}\"\ntitle = \"Burns\"\nversion = \"1.0.0\"\napi = \"1\"\n[state]\nroot = \"{id}\"\n");
    fs::write(folder.join("plugin.toml"), manifest).unwrap();
    fs::write(folder.join("main.rhai"), script).unwrap();
}

async fn play_round(line: &mut Line, program: &Program<'_>, each: Duration) {
    let (players, others) = (create_players(program, PLAYERS).await, create_players(program, line.other_count).await);
    let before = program.usage();
    let (times, (count, hit)) = tokio::join!(play_for(players, each), play_with_plugin(others, line.plugin, each));
    line.times.extend(times);
    line.cpu_time += program.usage().since(before).cpu_time;
    line.other_results = (line.other_results.0 + count, line.other_results.1 + hit);
}

fn report(lines: &mut [Line], time: Duration) {
    let columns = ["8 players beside", "turns", "p50", "p99", "p50 / alone", "turns beside them", "limits hit", "CPU"];
    print_header("Players beside a plugin that burns its limit", &columns);
    let mut alone = None;
    for line in lines {
        let p50 = median(&mut line.times);
        print_row(&[
            line.name.to_owned(),
            line.times.len().to_string(),
            format_micros(p50),
            format_micros(quantile(&mut line.times, 99)),
            format_ratio(p50, *alone.get_or_insert(p50)),
            line.other_results.0.to_string(),
            line.other_results.1.to_string(),
            format!("{:.2} cores", line.cpu_time.as_secs_f64() / time.as_secs_f64()),
        ]);
    }
}

/// Lets all players play for the time `each`, with the plugin if there is one. Returns the number of turns, and of
/// those with a limit violation.
async fn play_with_plugin(players: Vec<Player>, plugin: Option<&str>, each: Duration) -> (usize, usize) {
    let begun = std::time::Instant::now();
    let play = async |mut player: Player| {
        let (mut count, mut hit) = (0, 0);
        while begun.elapsed() < each {
            if let Some(id) = plugin.filter(|_| count % STRIKES == 0) {
                let line = format!("PUT /api/sessions/{}/plugins", player.session_id);
                player.wire.request(&line, json!([{"id": id, "enabled": true}]).to_string().as_bytes()).await;
            }
            player.run_turn().await;
            count += 1;
            hit += usize::from(player.problem_count > 0);
        }
        (count, hit)
    };
    let all = futures_util::future::join_all(players.into_iter().map(play)).await;
    all.into_iter().fold((0, 0), |(count, hit), one| (count + one.0, hit + one.1))
}
