//! A plugin that burns all that a call may have, in some sessions, beside players who have nothing to do with it.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::Size;
use super::growth::CONTEXT;
use super::mock::Mock;
use super::player::Player;
use super::program::{House, Program};
use super::search::{begin, turns};
use super::table::{head, median, micros, quantile, ratio, row};

const PLAYERS: usize = 8;
/// A plugin is switched off after five strikes: it is switched on anew before that.
const STRIKES: usize = 4;

/// Scripts that end by a limit: of steps, and of time, which is the dearer one.
const SCRIPTS: [(&str, &str); 2] = [
    ("loop", "fn on_reply(ctx) { loop {} }"),
    ("pattern", "fn on_reply(ctx) { loop { ctx.find_all(\"[ab ]*[ac ][ab ]{60}x\", \"ab ac ba bc \"); } }"),
];

pub fn figures(size: Size) {
    let each = Duration::from_secs(size.of(15, 2));
    super::run(async {
        let mock = Mock::prompt();
        let house = House::new(&mock, CONTEXT, "[plugins]\ndir = \"plugins\"");
        for (id, script) in SCRIPTS {
            let folder = house.path().join("plugins").join(id);
            fs::create_dir_all(&folder).unwrap();
            let manifest = format!(
                "id = \"{id}\"\ntitle = \"Burns\"\nversion = \"1.0.0\"\napi = \"1\"\n[state]\nroot = \"{id}\"\n"
            );
            fs::write(folder.join("plugin.toml"), manifest).unwrap();
            fs::write(folder.join("main.rhai"), script).unwrap();
        }
        let program = house.start().await;
        let columns =
            ["8 players beside", "turns", "p50", "p99", "p50 / alone", "turns beside them", "limits hit", "CPU"];
        head("Players beside a plugin that burns its limit", &columns);
        let alone = line("nobody", &program, each, 0, None, None).await;
        line("8 more without the plugin", &program, each, PLAYERS, None, Some(alone)).await;
        line("8 with an endless loop", &program, each, PLAYERS, Some("loop"), Some(alone)).await;
        line("8 with an endless pattern", &program, each, PLAYERS, Some("pattern"), Some(alone)).await;
    });
}

/// Plays for a while and prints a row; the median of the players.
async fn line(
    name: &str,
    program: &Program<'_>,
    each: Duration,
    others: usize,
    plugin: Option<&str>,
    alone: Option<Duration>,
) -> Duration {
    let (players, beside) = (begin(program, PLAYERS).await, begin(program, others).await);
    let before = program.usage();
    let (mut times, (count, hit)) = tokio::join!(turns(players, each), burn(beside, plugin, each));
    let cpu = program.usage().since(before).cpu.as_secs_f64() / each.as_secs_f64();
    let p50 = median(&mut times);
    row(&[
        name.to_owned(),
        times.len().to_string(),
        micros(p50),
        micros(quantile(&mut times, 99)),
        alone.map(|alone| ratio(p50, alone)).unwrap_or_default(),
        count.to_string(),
        hit.to_string(),
        format!("{cpu:.2} cores"),
    ]);
    p50
}

/// All play for so long, with the plugin if there is one; how many turns that were, and in how many the plugin hit a limit.
async fn burn(players: Vec<Player>, plugin: Option<&str>, each: Duration) -> (usize, usize) {
    let begun = std::time::Instant::now();
    let play = async |mut player: Player| {
        let (mut count, mut hit) = (0, 0);
        while begun.elapsed() < each {
            if let Some(id) = plugin.filter(|_| count % STRIKES == 0) {
                let line = format!("PUT /api/sessions/{}/plugins", player.session);
                player.wire.ask(&line, json!([{"id": id, "enabled": true}]).to_string().as_bytes()).await;
            }
            player.turn().await;
            count += 1;
            hit += usize::from(player.problems > 0);
        }
        (count, hit)
    };
    let all = futures_util::future::join_all(players.into_iter().map(play)).await;
    all.into_iter().fold((0, 0), |(count, hit), one| (count + one.0, hit + one.1))
}
