//! Searches while others write, and writes while others search.

use std::time::{Duration, Instant};

use super::Size;
use super::chats::{import_chat, wait_until_indexed};
use super::growth::CONTEXT;
use super::mock::Mock;
use super::player::Player;
use super::program::{Program, ServerFolder};
use super::table::{format_micros, format_ratio, median, print_header, print_row, quantile};
use super::wire::Wire;

const WRITERS: usize = 16;
/// A rare word, a common one, two words, a phrase, and a prefix.
const QUERIES: [&str; 5] = ["mark42", "lantern", "harbour+evening", "%22the+fog%22", "whis*"];

/// Runs alone and together alternate, so that other load on the machine affects both.
const ROUNDS: u32 = 3;

pub fn measure(size: Size) {
    let (messages, each) = (size.pick(50_000, 1_000), Duration::from_secs(size.pick(15, 3)) / ROUNDS);
    super::block_on(async {
        let mock = Mock::start_immediate();
        let server_folder = ServerFolder::new(&mock, CONTEXT, "");
        let program = server_folder.start().await;
        import_chat(&program, 0, messages).await;
        wait_until_indexed(&program).await;
        let mut wire = Wire::open(program.address).await;
        let (mut alone, mut written, mut beside, mut among) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            alone.extend(run_searches(&mut wire, each).await);
            written.extend(play_for(create_players(&program, WRITERS).await, each).await);
            // New sessions, so that the prompts have the same length.
            let players = create_players(&program, WRITERS).await;
            let (turns, searches) = tokio::join!(play_for(players, each), run_searches(&mut wire, each));
            beside.extend(turns);
            among.extend(searches);
        }
        let late = wait_until_indexed(&program).await;
        let columns = ["", "alone", "p50", "p99", "both at once", "p50", "p99", "p50 / alone"];
        print_header(&format!("Searching {messages} messages beside {WRITERS} writers"), &columns);
        for (name, alone, among) in [("searches", &mut alone, &mut among), ("turns", &mut written, &mut beside)] {
            print_row(&[
                name.to_owned(),
                alone.len().to_string(),
                format_micros(median(alone)),
                format_micros(quantile(alone, 99)),
                among.len().to_string(),
                format_micros(median(among)),
                format_micros(quantile(among, 99)),
                format_ratio(median(among), median(alone)),
            ]);
        }
        println!("\nWhat was written last could be found {} later.", format_micros(late));
    });
}

/// Searches repeatedly for the time `each`.
async fn run_searches(wire: &mut Wire, each: Duration) -> Vec<Duration> {
    let (begun, mut times) = (Instant::now(), Vec::new());
    while begun.elapsed() < each {
        for query in QUERIES {
            let sent = Instant::now();
            let found = wire.get(&format!("/api/search?q={query}&limit=20")).await;
            times.push(sent.elapsed());
            let is_found = found["items"].as_array().is_some_and(|items| !items.is_empty());
            assert!(is_found, "nothing is found for {query}: {found}");
        }
    }
    times
}

/// Creates players, each with a new session.
pub async fn create_players(program: &Program<'_>, count: usize) -> Vec<Player> {
    let mut players = Vec::new();
    for _ in 0..count {
        players.push(Player::create(program.address, 4).await);
    }
    players
}

/// Lets all players play for the time `each`. Returns the durations of their turns.
pub async fn play_for(players: Vec<Player>, each: Duration) -> Vec<Duration> {
    let begun = Instant::now();
    let play = async |mut player: Player| {
        let mut times = Vec::new();
        while begun.elapsed() < each {
            times.push(player.run_turn().await.completion_time);
        }
        times
    };
    futures_util::future::join_all(players.into_iter().map(play)).await.concat()
}
