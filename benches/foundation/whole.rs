//! Figures of the whole program: an HTTP request, a request to a model server, events on a WebSocket.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::mock_model::{Gate, MockModel, Reply};
use super::player::{Player, Program, TurnTimes, Wire};
use super::table::{
    format_kilobytes, format_micros, median, print_header, print_row, process_usage, quantile, server_cpu,
};

const ROUNDS: usize = 300;
/// Messages of about 50 tokens each.
const HISTORY: usize = 20;
/// Turns after which a new session begins, so that the prompt keeps its length.
const STORY: usize = 20;

/// Measures what the server adds to the time to the first token, alternating with direct requests to the model server.
/// Also measures how soon a message is accepted before the model has answered.
pub fn measure_first_token() {
    print_header(
        "Time to the first token of a reply (the model server answers at once, 1 000 tokens of prompt)",
        &["", "p50", "p99", "limit"],
    );
    let runtime = new_runtime();
    runtime.block_on(async {
        let mock = MockModel::start().await;
        let program = Program::start(&mock);
        let mut player = Player::create(program.address, HISTORY).await;
        player.run_turn().await;
        let prompt = mock.requests().pop().unwrap();
        let mut direct = Wire::open(model_address(&mock)).await;
        let (mut alone, mut through, mut accepted) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            if round % STORY == 0 {
                player = Player::create(program.address, HISTORY).await;
                player.run_turn().await;
            }
            alone.push(time_direct_request(&mut direct, &prompt).await);
            let moments = player.run_turn().await;
            through.push(moments.first_token_time);
            accepted.push(moments.accept_time);
        }
        let silent = measure_accept_times(&mock, &mut player).await;
        let line = |name: &str, times: &mut [Duration], limit: &str| {
            print_row(&[name.into(), format_micros(median(times)), format_micros(quantile(times, 99)), limit.into()]);
        };
        line("the model server asked directly", &mut alone, "");
        line("through Clotho, message to first piece", &mut through, "");
        let added = |percent| {
            let (all, own) = (quantile(&mut through.clone(), percent), quantile(&mut alone.clone(), percent));
            format_micros(all.saturating_sub(own))
        };
        print_row(&["**added**".into(), added(50), added(99), "p50 <= 2000 us".into()]);
        line("202 while the model streams", &mut accepted, "");
        line("202 while the model says nothing", &mut silent.clone(), "before the model's first byte");
    });
}

async fn time_direct_request(wire: &mut Wire, prompt: &Value) -> Duration {
    let sent = Instant::now();
    wire.send_post("/v1/chat/completions", prompt).await;
    wire.read_until(b"\"content\":\"").await;
    let first = sent.elapsed();
    wire.skip_chunks().await;
    first
}

/// Measures accepted messages. The model's answer waits behind a gate that opens only after the message is accepted.
async fn measure_accept_times(mock: &MockModel, player: &mut Player) -> Vec<Duration> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS / 3 {
        let gate = Gate::new();
        mock.queue_reply(Reply::ok(["At last."]).head_gate(&gate));
        let sent = player.send_message().await;
        assert_eq!(player.read_accepted_reply().await["status"], "generating");
        times.push(sent.elapsed());
        gate.open();
        player.wait_for_reply().await;
    }
    times
}

/// Measures complete turns of many concurrent players, and their cost for the server.
pub fn measure_turns() {
    print_header(
        "Whole turns over HTTP and WebSocket, short prompts, a model that answers at once in 8 pieces",
        &["players", "turns/s", "p50", "p99", "CPU a turn", "to disk a turn", "database a turn"],
    );
    let runtime = new_runtime();
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
                    own.push(Player::create(program.address, 4).await);
                }
                all.push(own);
            }
            // All players at once.
            let (before, (bytes, _), cpu) = (program.database_size(), process_usage(), server_cpu());
            let start = Instant::now();
            let tasks: Vec<_> = all.into_iter().map(|stories| tokio::spawn(play_sessions(stories))).collect();
            let mut times = Vec::new();
            for task in tasks {
                times.extend(task.await.unwrap().iter().map(|moments| moments.completion_time));
            }
            let (seconds, count) = (start.elapsed().as_secs_f64(), times.len());
            let spent = (server_cpu() - cpu) / u32::try_from(count).unwrap();
            let (written, _) = process_usage();
            let after = program.database_size();
            // Print the row.
            print_row(&[
                players.to_string(),
                format!("{:.0}", count as f64 / seconds),
                format_micros(median(&mut times)),
                format_micros(quantile(&mut times, 99)),
                format_micros(spent),
                format_kilobytes(written - bytes, count),
                format_kilobytes(after.saturating_sub(before), count),
            ]);
        });
    }
}

async fn play_sessions(stories: Vec<Player>) -> Vec<TurnTimes> {
    let mut all = Vec::new();
    for mut player in stories {
        for _ in 0..STORY {
            all.push(player.run_turn().await);
        }
    }
    all
}

fn model_address(mock: &MockModel) -> SocketAddr {
    mock.base_url().trim_start_matches("http://").trim_end_matches("/v1").parse().unwrap()
}

fn new_runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}
