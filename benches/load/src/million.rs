//! The start of a server, with an empty database and with one of a million messages.
//!
//! The files stay in the system's page cache between two starts, as after an update: only root can clear it. The
//! figures do not include the disk reads of the first start after a boot.

use std::time::Duration;

use super::Size;
use super::chats::{import_chat, wait_until_indexed};
use super::mock::Mock;
use super::process::format_megabytes;
use super::program::ServerFolder;
use super::table::{format_micros, format_ratio, median, print_header, print_row, quantile};

/// Number of sessions.
const SESSIONS: usize = 10;

/// The starts with one database.
#[derive(Default)]
struct StartTimes {
    answer_times: Vec<Duration>,
    ready_times: Vec<Duration>,
    page_times: Vec<Duration>,
    memory_kb: u64,
}

pub fn measure(size: Size) {
    let messages = size.pick(100_000, 300);
    super::block_on(async {
        // An empty database and a full one.
        let mock = Mock::start_immediate();
        let (empty, full) = (ServerFolder::new(&mock, "", ""), ServerFolder::new(&mock, "", ""));
        let few = fill_database(&empty, 1, 2).await;
        let begun = std::time::Instant::now();
        let many = fill_database(&full, SESSIONS, messages).await;
        let filling = begun.elapsed().as_secs_f64();
        // Start the program on both, in alternating rounds.
        let (mut one, mut million) = (StartTimes::default(), StartTimes::default());
        for _ in 0..size.pick(11, 3) {
            measure_start(&empty, &few, &mut one).await;
            measure_start(&full, &many, &mut million).await;
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
        print_header("From the start of the program on, files in the system's memory", &columns);
        let rows = [(2, &empty, &mut one), (SESSIONS * messages, &full, &mut million)];
        for (messages, server_folder, starts) in rows {
            print_row(&[
                messages.to_string(),
                format!("{:.0} MB", server_folder.database_size() as f64 / 1e6),
                format_micros(median(&mut starts.answer_times)),
                format_micros(quantile(&mut starts.answer_times, 100)),
                format_micros(median(&mut starts.ready_times)),
                format_micros(median(&mut starts.page_times)),
                format_megabytes(starts.memory_kb),
                "first answer <= 300 ms; 40 MB".to_owned(),
            ]);
        }
        // Print the ratios.
        let times = |name: &str,
                     pick: fn(&mut StartTimes) -> &mut Vec<Duration>,
                     one: &mut StartTimes,
                     many: &mut StartTimes| {
            format!("{name} {}", format_ratio(median(pick(many)), median(pick(one))))
        };
        let answer = times("first answer", |starts| &mut starts.answer_times, &mut one, &mut million);
        let page = times("newest page", |starts| &mut starts.page_times, &mut one, &mut million);
        println!("\nMany beside few: {answer}, {page}. Taking them in, with the index, took {filling:.0} s.");
    });
}

/// Imports sessions. Returns the id of one of them.
async fn fill_database(server_folder: &ServerFolder, sessions: usize, messages: usize) -> String {
    let program = server_folder.start().await;
    let mut last = String::new();
    for number in 0..sessions {
        last = import_chat(&program, number, messages).await;
    }
    wait_until_indexed(&program).await;
    program.stop().await;
    last
}

async fn measure_start(server_folder: &ServerFolder, session: &str, starts: &mut StartTimes) {
    let program = server_folder.spawn();
    starts.answer_times.push(program.wait_for_answer("/healthz").await);
    starts.page_times.push(program.wait_for_answer(&format!("/api/chat/{session}/projection?limit=50")).await);
    starts.ready_times.push(program.wait_for_answer("/readyz").await);
    starts.memory_kb = program.memory().resident_kb;
    program.stop().await;
}
