//! One session with many watchers: whether every event reaches each of them, and how far the last is behind the first.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Size;
use super::mock::{Mock, Plan, stream_text};
use super::player::{Player, Socket};
use super::program::ServerFolder;
use super::streams::{StreamRecord, stream_request_text};
use super::table::{format_micros, median, print_header, print_row, quantile};

const WATCHERS: usize = 50;
/// Words a second of each reply.
const PACE: u32 = 100;

/// What one watcher received: the time of each operation, and the contents of each stream.
#[derive(Default)]
struct WatcherRecord {
    operation_times: BTreeMap<(i64, String), Instant>,
    streams: Vec<StreamRecord>,
}

pub fn measure(size: Size) {
    let (turns, words) = (size.pick(40, 5), size.pick(100, 25));
    super::block_on(async {
        let mock = Mock::start(Plan { stream_count: turns, word_count: words, pause: Duration::from_secs(1) / PACE });
        mock.open_gate();
        let server_folder = ServerFolder::new(&mock, "", "");
        let program = server_folder.start().await;
        let mut player = Player::create(program.address, 4).await;
        let mut watchers = Vec::new();
        for _ in 0..WATCHERS {
            let socket = Socket::open(program.address, &player.session_id).await;
            watchers.push(tokio::spawn(watch(socket, mock.clone(), turns, words)));
        }
        for turn in 0..turns {
            player.send_message(&stream_request_text(turn)).await;
            player.wait_for_reply(|_| {}).await;
        }
        let mut all = Vec::new();
        for watcher in watchers {
            all.push(watcher.await.unwrap());
        }
        report(&all, turns, words);
    });
}

/// Watches until the last reply has ended.
async fn watch(mut socket: Socket, mock: Mock, turns: usize, words: usize) -> WatcherRecord {
    let mut seen = WatcherRecord::default();
    for turn in 0..turns {
        let mut heard = StreamRecord::default();
        loop {
            let frame = socket.next_frame().await;
            let now = Instant::now();
            let value: Value = serde_json::from_str(&frame).unwrap();
            if let Some(op) = value["op"].as_i64() {
                let about = format!("{} {}", value["type"], value["node"]["id"]);
                seen.operation_times.insert((op, about), now);
            }
            if heard.add_frame(&frame, &mock, turn, words) {
                break;
            }
        }
        seen.streams.push(heard);
    }
    seen
}

fn report(all: &[WatcherRecord], turns: usize, words: usize) {
    let columns =
        ["watchers", "turns", "operations", "heard by all", "texts whole", "last behind first: p50", "p99", "longest"];
    print_header(&format!("One session with {WATCHERS} watchers, replies of {PACE} words a second"), &columns);
    let mut events: BTreeMap<&(i64, String), Vec<Instant>> = BTreeMap::new();
    for (key, moment) in all.iter().flat_map(|seen| &seen.operation_times) {
        events.entry(key).or_default().push(*moment);
    }
    let by_all = events.values().filter(|moments| moments.len() == all.len()).count();
    let behind = |moments: &Vec<Instant>| *moments.iter().max().unwrap() - *moments.iter().min().unwrap();
    let mut behind: Vec<Duration> = events.values().map(behind).collect();
    let is_whole = |(turn, heard): &(usize, &StreamRecord)| {
        heard.text == stream_text(*turn, words) && heard.gap_count == 0 && heard.is_complete
    };
    let texts: usize = all.iter().map(|seen| seen.streams.iter().enumerate().filter(is_whole).count()).sum();
    print_row(&[
        all.len().to_string(),
        turns.to_string(),
        events.len().to_string(),
        by_all.to_string(),
        format!("{texts} of {}", all.len() * turns),
        format_micros(median(&mut behind)),
        format_micros(quantile(&mut behind, 99)),
        format_micros(quantile(&mut behind, 100)),
    ]);
    let mut delays: Vec<Duration> =
        all.iter().flat_map(|seen| &seen.streams).flat_map(|one| one.delays.clone()).collect();
    let pieces: usize = all.iter().flat_map(|seen| &seen.streams).map(|one| one.piece_count).sum();
    print_header(
        "Its words, from the model server to a watcher",
        &["words heard", "pieces", "delay p50", "p99", "longest"],
    );
    let times = [median(&mut delays), quantile(&mut delays, 99), quantile(&mut delays, 100)].map(format_micros);
    print_row(&[&[delays.len().to_string(), pieces.to_string()][..], &times].concat());
}
