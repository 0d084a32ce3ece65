//! A thousand replies that stream at once, each with a watcher, and a player beside a hundred streams.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::JoinHandle;

use super::Size;
use super::mock::{Mock, Plan, WORD, stream_text};
use super::player::{Player, Socket, create_session};
use super::process::{Usage, format_megabytes, read_usage};
use super::program::{Program, ServerFolder};
use super::table::{format_micros, median, print_header, print_row, quantile};
use super::wire::{Wire, with_timeout};
use super::writers::{first_piece_cells, time_direct_request};

/// 50 words a second.
const PAUSE: Duration = Duration::from_millis(20);
/// Connections that create the sessions and request the replies.
const HANDS: usize = 16;

/// The received data of one stream.
#[derive(Default)]
pub struct StreamRecord {
    /// The delay of each word.
    pub delays: Vec<Duration>,
    pub text: String,
    /// Number of pieces.
    pub piece_count: usize,
    /// Pieces that did not start at the end of the one before.
    pub gap_count: usize,
    /// Whether the stored reply is the whole text.
    pub is_complete: bool,
}

impl StreamRecord {
    /// Adds a piece with words of a stream of the mock.
    pub fn add_piece(&mut self, words: &str, mock: &Mock, stream: usize) {
        let from = self.text.len() / WORD;
        self.text.push_str(words);
        self.delays.extend((from..self.text.len() / WORD).map(|place| mock.time_since_sent(stream, place)));
        self.piece_count += 1;
    }

    /// Adds a frame of the session. Returns whether it was the end of the reply.
    pub fn add_frame(&mut self, frame: &str, mock: &Mock, stream: usize, words: usize) -> bool {
        if frame.contains("\"node.content.updated\"") {
            let frame: Value = serde_json::from_str(frame).unwrap();
            self.gap_count += usize::from(frame["offset"] != self.text.len());
            self.add_piece(frame["contentChunk"].as_str().unwrap(), mock, stream);
        }
        let is_end = frame.contains("\"node.completed\"");
        if is_end {
            let frame: Value = serde_json::from_str(frame).unwrap();
            self.is_complete = frame["node"]["content"] == stream_text(stream, words).as_str();
        }
        is_end
    }
}

pub fn measure(size: Size) {
    measure_stream_counts(size);
    measure_beside_streams(size);
}

/// Measures few and many streams, to show when the machine is saturated.
fn measure_stream_counts(size: Size) {
    let columns = [
        "50 words a second each",
        "words",
        "delivered",
        "texts whole",
        "words/s",
        "words a piece",
        "delay p50",
        "p99",
        "longest",
        "CPU",
        "CPU a word",
        "memory at most",
        "limit",
    ];
    print_header("Streams at once, each with a watcher", &columns);
    let mut remarks = Vec::new();
    for streams in size.pick(vec![1, 8, 32, 250, 1_000], vec![10, 50]) {
        let plan = || Plan { stream_count: streams, word_count: size.pick(1_000, 100), pause: PAUSE };
        super::block_on(measure_direct_reads(plan()));
        super::block_on(async { remarks.push(measure_proxied_reads(plan()).await) });
    }
    remarks.iter().for_each(|remark| println!("\n{remark}"));
}

/// Measures the model server and this driver alone.
async fn measure_direct_reads(plan: Plan) {
    let mock = Mock::start(plan);
    let (before, begun) = (read_usage(std::process::id()), Instant::now());
    let heard = read_directly(&mock, mock.plan().stream_count).await;
    let cores = busy_cores(read_usage(std::process::id()).since(before), begun.elapsed());
    report("read directly", &heard, &mock, cores, "", "");
}

async fn measure_proxied_reads(plan: Plan) -> String {
    let mock = Mock::start(plan);
    let server_folder = ServerFolder::new(&mock, "", "");
    let program = server_folder.start().await;
    let idle = format_megabytes(program.memory().resident_kb);
    let (sessions, watchers) = create_watched_sessions(&program, &mock).await;
    let streams = sessions.len();
    program.reset_peak();
    let asked = Instant::now();
    request_replies(&program, &sessions).await;
    mock.wait_for_streams(streams).await;
    let (asking, before, own) = (asked.elapsed().as_secs_f64(), program.usage(), read_usage(std::process::id()));
    mock.open_gate();
    let (begun, mut heard) = (Instant::now(), Vec::new());
    for watcher in watchers {
        heard.push(watcher.await.unwrap());
    }
    let took = begun.elapsed();
    let driver = busy_cores(read_usage(std::process::id()).since(own), took);
    let limit = if streams == 1_000 { "all, <= 400 MB" } else { "all" };
    let own = busy_cores(program.usage().since(before), took);
    report("through Clotho", &heard, &mock, own, &format_megabytes(program.memory().peak_kb), limit);
    format!(
        "{streams} streams: asking for all of them took {asking:.1} s; model server and watchers took {driver:.2} of a core; \
         the program held {idle} when it had started (limit 40 MB)."
    )
}

/// Returns the number of busy cores.
fn busy_cores(used: Usage, time: Duration) -> f64 {
    used.cpu_time.as_secs_f64() / time.as_secs_f64()
}

fn report(name: &str, heard: &[StreamRecord], mock: &Mock, cores: f64, memory: &str, limit: &str) {
    let plan = mock.plan();
    let expected = plan.stream_count * plan.word_count;
    let mut delays: Vec<Duration> = heard.iter().flat_map(|one| one.delays.iter().copied()).collect();
    let is_whole = |(stream, one): &(usize, &StreamRecord)| {
        one.text == stream_text(*stream, plan.word_count) && one.gap_count == 0 && one.is_complete
    };
    let pieces: usize = heard.iter().map(|one| one.piece_count).sum();
    let took = mock.stream_duration().as_secs_f64();
    print_row(&[
        format!("{} {name}", plan.stream_count),
        expected.to_string(),
        delays.len().to_string(),
        format!("{} of {}", heard.iter().enumerate().filter(is_whole).count(), plan.stream_count),
        format!("{:.0}", expected as f64 / took),
        format!("{:.1}", delays.len() as f64 / pieces as f64),
        format_micros(median(&mut delays)),
        format_micros(quantile(&mut delays, 99)),
        format_micros(quantile(&mut delays, 100)),
        format!("{cores:.3} cores"),
        format_micros(Duration::from_secs_f64(cores * took / expected as f64)),
        memory.to_owned(),
        limit.to_owned(),
    ]);
}

/// Returns the text of a message that asks for a stream.
pub fn stream_request_text(stream: usize) -> String {
    format!("Go on. [stream {stream}]")
}

/// Reads all streams directly from the model server.
async fn read_directly(mock: &Mock, streams: usize) -> Vec<StreamRecord> {
    let mut wires = Vec::new();
    for stream in 0..streams {
        let mut wire = Wire::open(mock.address).await;
        let body = serde_json::json!({"model": "mock", "stream": true, "messages": [{"role": "user", "content": stream_request_text(stream)}]});
        wire.send("POST /v1/chat/completions", "application/json", body.to_string().as_bytes()).await;
        wires.push(wire);
    }
    mock.wait_for_streams(streams).await;
    mock.open_gate();
    let read = wires.into_iter().enumerate().map(|(stream, wire)| read_stream(stream, wire, mock));
    with_timeout("the end of all streams", futures_util::future::join_all(read)).await
}

async fn read_stream(stream: usize, mut wire: Wire, mock: &Mock) -> StreamRecord {
    let (mark, mut heard) = ("\"content\":\"", StreamRecord::default());
    loop {
        let end = wire.read_until(b"\n\n\r\n").await;
        let event = wire.take_bytes(end);
        let event = String::from_utf8_lossy(&event);
        if event.contains("[DONE]") {
            heard.is_complete = true;
            return heard;
        }
        if let Some(at) = event.find(mark) {
            heard.add_piece(&event[at + mark.len()..at + mark.len() + WORD], mock, stream);
        }
    }
}

/// Creates sessions, each with a watcher before anything happens.
async fn create_watched_sessions(program: &Program<'_>, mock: &Mock) -> (Vec<String>, Vec<JoinHandle<StreamRecord>>) {
    let (plan, mut sessions, mut watchers) = (mock.plan(), Vec::new(), Vec::new());
    let mut wire = Wire::open(program.address).await;
    for stream in 0..plan.stream_count {
        let session = create_session(&mut wire).await;
        let mut socket = Socket::open(program.address, &session).await;
        let (mock, words) = (mock.clone(), plan.word_count);
        watchers.push(tokio::spawn(async move {
            let mut heard = StreamRecord::default();
            while !heard.add_frame(&socket.next_frame().await, &mock, stream, words) {}
            heard
        }));
        sessions.push(session);
    }
    (sessions, watchers)
}

/// Requests the replies of all sessions.
async fn request_replies(program: &Program<'_>, sessions: &[String]) {
    let at = program.address;
    let hands = (0..HANDS).map(|hand| {
        let own: Vec<(usize, String)> = sessions.iter().cloned().enumerate().skip(hand).step_by(HANDS).collect();
        tokio::spawn(async move {
            let mut wire = Wire::open(at).await;
            for (stream, session) in own {
                let leaf = wire.get(&format!("/api/sessions/{session}")).await["activeLeafId"].take();
                let body =
                    serde_json::json!({"parentId": leaf, "content": stream_request_text(stream), "generate": true});
                wire.post(&format!("/api/chat/{session}/message"), &body).await;
            }
        })
    });
    for hand in hands.collect::<Vec<_>>() {
        hand.await.unwrap();
    }
}

/// Measures the time to the first piece beside a hundred streams, alternating with direct requests to the model
/// server.
fn measure_beside_streams(size: Size) {
    let plan = Plan { stream_count: 100, word_count: size.pick(1_500, 150), pause: PAUSE };
    print_header(
        &format!("Time to the first piece of a reply beside {} streams", plan.stream_count),
        &["turns", "the model directly: p50", "p99", "through Clotho: p50", "p99", "added: p50", "p99"],
    );
    super::block_on(async {
        let mock = Mock::start(plan);
        let server_folder = ServerFolder::new(&mock, "", "");
        let program = server_folder.start().await;
        let mut player = Player::create(program.address, 4).await;
        player.run_turn().await;
        let (sessions, watchers) = create_watched_sessions(&program, &mock).await;
        request_replies(&program, &sessions).await;
        mock.wait_for_streams(sessions.len()).await;
        mock.open_gate();
        let (mut wire, prompt) = (Wire::open(mock.address).await, mock.newest_request());
        let (mut alone, mut through) = (Vec::new(), Vec::new());
        // Only while all of them stream.
        while mock.running_count() == sessions.len() {
            if through.len() % 20 == 19 {
                player = Player::create(program.address, 4).await;
                player.run_turn().await;
            }
            alone.push(time_direct_request(&mut wire, &prompt).await);
            through.push(player.run_turn().await.first_token_time);
        }
        let cells = [vec![through.len().to_string()], first_piece_cells(&mut alone, &mut through)].concat();
        print_row(&cells);
        print_row(&["limit", "", "", "", "", "<= 2000 us", "<= 10000 us"].map(str::to_owned));
        for watcher in watchers {
            assert!(watcher.await.unwrap().is_complete, "a text is not whole");
        }
    });
}
