//! Figures of the whole program: an HTTP request, a request to a model server, events on a WebSocket.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::mock_model::{Gate, MockModel, Reply};
use super::player::{Moments, Player, Program, Wire};
use super::table::{head, kilobytes, median, micros, quantile, row, server_cpu, used};

const ROUNDS: usize = 300;
/// Messages of about 50 tokens each.
const HISTORY: usize = 20;
/// Turns after which a new session begins, so that the prompt keeps its length.
const STORY: usize = 20;

/// Measures what the server adds to the time to the first token, alternating with direct requests to the model server.
/// Also measures how soon a message is accepted before the model has answered.
pub fn first_token() {
    head(
        "Time to the first token of a reply (the model server answers at once, 1 000 tokens of prompt)",
        &["", "p50", "p99", "limit"],
    );
    let runtime = runtime();
    runtime.block_on(async {
        let mock = MockModel::start().await;
        let program = Program::start(&mock);
        let mut player = Player::begin(program.at, HISTORY).await;
        player.turn().await;
        let prompt = mock.requests().pop().unwrap();
        let mut direct = Wire::open(address(&mock)).await;
        let (mut alone, mut through, mut accepted) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            if round % STORY == 0 {
                player = Player::begin(program.at, HISTORY).await;
                player.turn().await;
            }
            alone.push(ask_directly(&mut direct, &prompt).await);
            let moments = player.turn().await;
            through.push(moments.first);
            accepted.push(moments.accepted);
        }
        let silent = silent(&mock, &mut player).await;
        let line = |name: &str, times: &mut [Duration], limit: &str| {
            row(&[name.into(), micros(median(times)), micros(quantile(times, 99)), limit.into()]);
        };
        line("the model server asked directly", &mut alone, "");
        line("through Clotho, message to first piece", &mut through, "");
        let added = |percent| {
            let (all, own) = (quantile(&mut through.clone(), percent), quantile(&mut alone.clone(), percent));
            micros(all.saturating_sub(own))
        };
        row(&["**added**".into(), added(50), added(99), "p50 <= 2000 us".into()]);
        line("202 while the model streams", &mut accepted, "");
        line("202 while the model says nothing", &mut silent.clone(), "before the model's first byte");
    });
}

async fn ask_directly(wire: &mut Wire, prompt: &Value) -> Duration {
    let sent = Instant::now();
    wire.ask("/v1/chat/completions", prompt).await;
    wire.until(b"\"content\":\"").await;
    let first = sent.elapsed();
    wire.end_of_chunks().await;
    first
}

/// Measures accepted messages. The model's answer waits behind a gate that opens only after the message is accepted.
async fn silent(mock: &MockModel, player: &mut Player) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS / 3 {
        let gate = Gate::new();
        mock.script(Reply::ok(["At last."]).head_gated(&gate));
        let sent = player.send().await;
        assert_eq!(player.accepted().await["status"], "generating");
        times.push(sent.elapsed());
        gate.open();
        player.completed().await;
    }
    times
}

/// Measures complete turns of many concurrent players, and their cost for the server.
pub fn turns() {
    head(
        "Whole turns over HTTP and WebSocket, short prompts, a model that answers at once in 8 pieces",
        &["players", "turns/s", "p50", "p99", "CPU a turn", "to disk a turn", "database a turn"],
    );
    let runtime = runtime();
    for players in [1, 8, 16, 32] {
        runtime.block_on(async {
            // The program, and all sessions of each player before the measurement.
            let mock = MockModel::start().await;
            let program = Program::start(&mock);
            let stories = 1_600 / players / STORY;
            let mut all = Vec::new();
            for _ in 0..players {
                let mut own = Vec::new();
                for _ in 0..stories {
                    own.push(Player::begin(program.at, 4).await);
                }
                all.push(own);
            }
            // All players at once.
            let (before, (bytes, _), cpu) = (program.database(), used(), server_cpu());
            let start = Instant::now();
            let tasks: Vec<_> = all.into_iter().map(|stories| tokio::spawn(play(stories))).collect();
            let mut times = Vec::new();
            for task in tasks {
                times.extend(task.await.unwrap().iter().map(|moments| moments.completed));
            }
            let (seconds, count) = (start.elapsed().as_secs_f64(), times.len());
            let spent = (server_cpu() - cpu) / u32::try_from(count).unwrap();
            let (written, _) = used();
            let after = program.database();
            // Print the row.
            row(&[
                players.to_string(),
                format!("{:.0}", count as f64 / seconds),
                micros(median(&mut times)),
                micros(quantile(&mut times, 99)),
                micros(spent),
                kilobytes(written - bytes, count),
                kilobytes(after.saturating_sub(before), count),
            ]);
        });
    }
}

async fn play(stories: Vec<Player>) -> Vec<Moments> {
    let mut all = Vec::new();
    for mut player in stories {
        for _ in 0..STORY {
            all.push(player.turn().await);
        }
    }
    all
}

fn address(mock: &MockModel) -> SocketAddr {
    mock.base_url().trim_start_matches("http://").trim_end_matches("/v1").parse().unwrap()
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
