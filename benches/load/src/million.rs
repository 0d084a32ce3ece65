//! The start of a server, with an empty database and with one of a million messages.
//!
//! The files stay in the system's page cache between two starts, as after an update: only root can clear it. The
//! figures do not include the disk reads of the first start after a boot.

use std::time::Duration;

use super::Size;
use super::chats::{indexed, take_in};
use super::mock::Mock;
use super::process::megabytes;
use super::program::House;
use super::table::{head, median, micros, quantile, ratio, row};

/// Number of sessions.
const SESSIONS: usize = 10;

/// The starts with one database.
#[derive(Default)]
struct Starts {
    answer: Vec<Duration>,
    ready: Vec<Duration>,
    page: Vec<Duration>,
    memory: u64,
}

pub fn figures(size: Size) {
    let messages = size.of(100_000, 300);
    super::run(async {
        // An empty database and a full one.
        let mock = Mock::prompt();
        let (empty, full) = (House::new(&mock, "", ""), House::new(&mock, "", ""));
        let few = fill(&empty, 1, 2).await;
        let begun = std::time::Instant::now();
        let many = fill(&full, SESSIONS, messages).await;
        let filling = begun.elapsed().as_secs_f64();
        // Start the program on both, in alternating rounds.
        let (mut one, mut million) = (Starts::default(), Starts::default());
        for _ in 0..size.of(11, 3) {
            start(&empty, &few, &mut one).await;
            start(&full, &many, &mut million).await;
        }
        // Print both rows.
        let columns = [
            "messages",
            "database",
            "first answer: p50",
            "longest",
            "ready",
            "newest page of 50",
            "memory then",
            "limit",
        ];
        head("From the start of the program on, files in the system's memory", &columns);
        let rows = [(2, &empty, &mut one), (SESSIONS * messages, &full, &mut million)];
        for (messages, house, starts) in rows {
            row(&[
                messages.to_string(),
                format!("{:.0} MB", house.database() as f64 / 1e6),
                micros(median(&mut starts.answer)),
                micros(quantile(&mut starts.answer, 100)),
                micros(median(&mut starts.ready)),
                micros(median(&mut starts.page)),
                megabytes(starts.memory),
                "first answer <= 300 ms; 40 MB".to_owned(),
            ]);
        }
        // Print the ratios.
        let times = |name: &str, pick: fn(&mut Starts) -> &mut Vec<Duration>, one: &mut Starts, many: &mut Starts| {
            format!("{name} {}", ratio(median(pick(many)), median(pick(one))))
        };
        let answer = times("first answer", |starts| &mut starts.answer, &mut one, &mut million);
        let page = times("newest page", |starts| &mut starts.page, &mut one, &mut million);
        println!("\nMany beside few: {answer}, {page}. Taking them in, with the index, took {filling:.0} s.");
    });
}

/// Imports sessions. Returns the id of one of them.
async fn fill(house: &House, sessions: usize, messages: usize) -> String {
    let program = house.start().await;
    let mut last = String::new();
    for number in 0..sessions {
        last = take_in(&program, number, messages).await;
    }
    indexed(&program).await;
    program.stop().await;
    last
}

async fn start(house: &House, session: &str, starts: &mut Starts) {
    let program = house.spawn();
    starts.answer.push(program.answers("/healthz").await);
    starts.page.push(program.answers(&format!("/api/chat/{session}/projection?limit=50")).await);
    starts.ready.push(program.answers("/readyz").await);
    starts.memory = program.memory().resident;
    program.stop().await;
}
