//! Players that play complete turns concurrently, beside a model server that answers at once.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::Size;
use super::mock::Mock;
use super::player::{Player, TurnTimes};
use super::process::format_megabytes;
use super::program::{Program, ServerFolder};
use super::table::{format_kilobytes, format_micros, median, print_header, print_row, quantile};
use super::wire::Wire;

/// Turns after which a new session begins, so that the prompt stays short.
const STORY: usize = 20;
/// Messages of a session before it is played.
const HISTORY: usize = 4;
/// Time between two direct requests to the model server.
const PAUSE: Duration = Duration::from_millis(20);

pub fn measure(size: Size) {
    let columns = [
        "writers",
        "turns",
        "turns/s",
        "p50",
        "p99",
        "longest",
        "limit",
        "CPU a turn",
        "of it system",
        "to disk a turn",
        "memory at most",
    ];
    print_header("Writers who play whole turns at once", &columns);
    let mut first = Vec::new();
    for writers in [1, 8, 32, 64] {
        super::block_on(async { first.push(measure_writers(writers, size).await) });
    }
    let columns = ["writers", "the model directly: p50", "p99", "through Clotho: p50", "p99", "added: p50", "p99"];
    print_header("Time to the first piece of a reply, from the message on", &columns);
    first.iter().for_each(|cells| print_row(cells));
}

/// Prints the row of this number of writers. Returns the cells of the other table.
async fn measure_writers(writers: usize, size: Size) -> Vec<String> {
    let mock = Mock::start_immediate();
    let server_folder = ServerFolder::new(&mock, "", "");
    let program = server_folder.start().await;
    let stories = size.pick(6_400 / writers / STORY, 1);
    let all = create_sessions(writers, stories, &program).await;
    program.reset_peak();
    let (before, start, is_over) = (program.usage(), Instant::now(), Cell::new(false));
    let (moments, mut alone) = tokio::join!(
        async {
            let moments = play_sessions(all).await;
            is_over.set(true);
            (moments, start.elapsed())
        },
        time_direct_requests(&mock, &is_over)
    );
    let ((moments, took), used) = (moments, program.usage().since(before));
    let count = moments.len();
    let mut turns: Vec<Duration> = moments.iter().map(|one| one.completion_time).collect();
    let limit = match writers {
        8 => "> 500 turns/s",
        32 => "p99 < 200 ms",
        _ => "",
    };
    print_row(&[
        writers.to_string(),
        count.to_string(),
        format!("{:.0}", count as f64 / took.as_secs_f64()),
        format_micros(median(&mut turns)),
        format_micros(quantile(&mut turns, 99)),
        format_micros(quantile(&mut turns, 100)),
        limit.to_owned(),
        format_micros(used.cpu_time / u32::try_from(count).unwrap()),
        format_micros(used.system_time / u32::try_from(count).unwrap()),
        format_kilobytes(used.written_bytes, count),
        format_megabytes(program.memory().peak_kb),
    ]);
    let mut through: Vec<Duration> = moments.iter().map(|one| one.first_token_time).collect();
    [vec![writers.to_string()], first_piece_cells(&mut alone, &mut through)].concat()
}

/// Returns quantiles of the first piece, requested directly and through the program, and their difference.
pub fn first_piece_cells(alone: &mut [Duration], through: &mut [Duration]) -> Vec<String> {
    let (mut cells, mut added) = (Vec::new(), Vec::new());
    for percent in [50, 99] {
        added.push(quantile(through, percent).saturating_sub(quantile(alone, percent)));
    }
    for times in [alone, through] {
        cells.extend([50, 99].map(|percent| format_micros(quantile(times, percent))));
    }
    cells.extend(added.into_iter().map(format_micros));
    cells
}

/// Creates sessions for each writer before the measurement.
async fn create_sessions(writers: usize, stories: usize, program: &Program<'_>) -> Vec<Vec<Player>> {
    let at = program.address;
    let begin = move || async move {
        let mut own = Vec::new();
        for _ in 0..stories {
            own.push(Player::create(at, HISTORY).await);
        }
        own
    };
    let tasks: Vec<_> = (0..writers).map(|_| tokio::spawn(begin())).collect();
    let mut all = Vec::new();
    for task in tasks {
        all.push(task.await.unwrap());
    }
    // The very first turn differs: it opens the connections to the model.
    all[0][0].run_turn().await;
    all
}

async fn play_sessions(all: Vec<Vec<Player>>) -> Vec<TurnTimes> {
    let play = |stories: Vec<Player>| async {
        let mut moments = Vec::new();
        for mut player in stories {
            moments.extend(player.run_turns(STORY).await);
        }
        moments
    };
    let tasks: Vec<_> = all.into_iter().map(|stories| tokio::spawn(play(stories))).collect();
    let mut moments = Vec::new();
    for task in tasks {
        moments.extend(task.await.unwrap());
    }
    moments
}

/// Measures the model server alone meanwhile, with the same prompt and without the program.
async fn time_direct_requests(mock: &Mock, is_over: &Cell<bool>) -> Vec<Duration> {
    let (mut wire, mut times) = (Wire::open(mock.address).await, Vec::new());
    let prompt = mock.newest_request();
    while !is_over.get() {
        times.push(time_direct_request(&mut wire, &prompt).await);
        tokio::time::sleep(PAUSE).await;
    }
    times
}

/// Returns the model server's time to its first piece.
pub async fn time_direct_request(wire: &mut Wire, prompt: &[u8]) -> Duration {
    let sent = Instant::now();
    wire.send("POST /v1/chat/completions", "application/json", prompt).await;
    wire.read_until(b"\"content\":\"").await;
    let first = sent.elapsed();
    wire.skip_chunks().await;
    first
}
