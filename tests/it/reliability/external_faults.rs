//! Faults from outside: another program locks the database, clients never finish a request, sockets send invalid
//! frames.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use clotho_core::clock::SplitMix64;
use diesel::connection::SimpleConnection;
use rustix::net::{getpeername, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::kill_recovery::{ServerProcess, send_request};
use crate::support::open_second_connection;
use crate::support::test_store::doctor_findings;

/// Returns a program without a model, and a session in it.
fn start_with_session() -> (TempDir, ServerProcess, Value) {
    let home = tempfile::tempdir().unwrap();
    let program = ServerProcess::start(home.path(), "http://127.0.0.1:9/v1");
    let post = |target: &str, body: Value| send_request(program.address, "POST", target, &body).unwrap().1;
    let character = post("/api/characters", json!({"name": "Rin", "firstMessage": "Hello."}))["id"].take();
    let session = post("/api/sessions", json!({"characterIds": [character]}));
    (home, program, session)
}

/// S0-22, `domain.md` 4: while another program locks the database, reads work and writes are refused with a hint.
/// Writes work again once it is free. Refused requests leave no resources behind.
#[test]
fn locked_database_refuses_writes_and_allows_reads() {
    let (home, program, session) = start_with_session();
    let chat = format!("/api/chat/{}", session["id"].as_str().unwrap());
    let message = json!({"parentId": session["activeLeafId"], "role": "user", "content": "To the north."});
    let write = || send_request(program.address, "POST", &format!("{chat}/message"), &message).unwrap();
    let line = || {
        send_request(program.address, "GET", &format!("{chat}/projection"), &Value::Null).unwrap().1["items"].clone()
    };
    let database = home.path().join("data/clotho.db");
    let mut other = open_second_connection(&database);
    other.batch_execute("BEGIN IMMEDIATE").unwrap();
    let before = program.resources();
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..64).map(|_| scope.spawn(write)).collect();
        for (status, told) in all.into_iter().map(|one| one.join().unwrap()) {
            assert_eq!((status, &told["error"]["code"]), (503, &json!("unavailable")), "{told}");
            assert!(told["error"]["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{told}");
        }
    });
    program.assert_resources_released(&before);
    assert_eq!(line().as_array().unwrap().len(), 1, "nothing is half done, and reading goes on");
    other.batch_execute("ROLLBACK").unwrap();
    assert_eq!(write().0, 201);
    assert_eq!(line().as_array().unwrap().len(), 2);
    drop(program);
    assert!(doctor_findings(&database, true).is_empty());
}

/// Clients that send a byte now and then and never end their request are closed, and delay nobody.
#[test]
fn slow_requests_are_closed_after_timeout() {
    let (_home, program, _) = start_with_session();
    let mut slow: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(program.address).unwrap()).collect();
    for stream in &mut slow {
        stream.write_all(b"GET /api/sess").unwrap();
    }
    assert_eq!(send_request(program.address, "GET", "/api/sessions", &Value::Null).unwrap().0, 200, "beside them");
    for mut stream in slow {
        stream.set_read_timeout(Some(Duration::from_secs(100))).unwrap();
        // Closed by the server, with or without a response.
        let mut heard = Vec::new();
        let end = stream.read_to_end(&mut heard).map_err(|error| error.kind());
        assert!(!matches!(end, Err(std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)), "it is still open");
    }
    assert_eq!(send_request(program.address, "GET", "/api/sessions", &Value::Null).unwrap().0, 200, "after them");
}

/// Clients that vanish silently, as behind a broken network: in the middle of a request body, between two requests, on
/// a socket. The server notices only their silence. It closes all of them and keeps none of their resources.
#[test]
fn silent_clients_are_closed_without_leaks() {
    const EACH: usize = 40;
    let (_home, program, session) = start_with_session();
    let chat = format!("/api/chat/{}", session["id"].as_str().unwrap());
    let begun = |head: &str| {
        let mut stream = TcpStream::connect(program.address).unwrap();
        stream.write_all(head.replace("HOST", &program.address.to_string()).as_bytes()).unwrap();
        stream
    };
    let body = "POST /api/characters HTTP/1.1\r\nHost: HOST\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{\"name\":";
    let before = program.resources();
    let silent: Vec<TcpStream> = (0..EACH)
        .flat_map(|_| {
            [
                begun(body),
                begun("GET /healthz HTTP/1.1\r\nHost: HOST\r\n\r\n"),
                open_raw_websocket(program.address, &chat),
            ]
        })
        .collect();
    assert!(program.resources().open_file_count > before.open_file_count + EACH, "they are there");
    // The system drops a response that nobody receives; each connection has that timeout set.
    assert_eq!(tcp_timeout(&program, &silent), Some(Duration::from_secs(300)));
    assert_eq!(send_request(program.address, "GET", "/api/sessions", &Value::Null).unwrap().0, 200, "beside them");
    program.assert_resources_released(&before);
    drop(silent);
    assert_eq!(send_request(program.address, "GET", "/api/sessions", &Value::Null).unwrap().0, 200, "after them");
}

/// Returns how long the program's end of one of these connections waits for unacknowledged data.
fn tcp_timeout(program: &ServerProcess, clients: &[TcpStream]) -> Option<Duration> {
    let own: Vec<SocketAddr> = clients.iter().map(|client| client.local_addr().unwrap()).collect();
    let process = pidfd_open(Pid::from_raw(program.id().try_into().unwrap()).unwrap(), PidfdFlags::empty()).unwrap();
    let files = fs::read_dir(format!("/proc/{}/fd", program.id())).unwrap();
    let numbers = files.map(|file| file.unwrap().file_name().to_str().unwrap().parse().unwrap());
    let mut ends = numbers.filter_map(|number| pidfd_getfd(&process, number, PidfdGetfdFlags::empty()).ok());
    let is_one = |end: &OwnedFd| {
        let peer = getpeername(end).ok().flatten().and_then(|peer| SocketAddr::try_from(peer).ok());
        peer.is_some_and(|peer| own.contains(&peer))
    };
    let end = ends.find(is_one)?;
    Some(Duration::from_millis(sockopt::tcp_user_timeout(end).unwrap().into()))
}

/// Number of invalid frames to send.
const FRAMES: usize = 10_000;

/// Opens a WebSocket of the session by hand.
fn open_raw_websocket(at: SocketAddr, chat: &str) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    let head = format!(
        "GET {chat}/ws HTTP/1.1\r\nHost: {at}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let (mut heard, mut byte) = (Vec::new(), [0]);
    while !heard.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        heard.extend(byte);
    }
    assert!(heard.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&heard));
    stream.set_nonblocking(true).unwrap();
    stream
}

/// Returns a frame with this first byte and body. `is_masked`: as clients have to send it.
fn websocket_frame(first: u8, body: &[u8], is_masked: bool) -> Vec<u8> {
    let (mask, flag) = ([1, 2, 3, 4], if is_masked { 0x80 } else { 0 });
    let mut frame = vec![first];
    match u8::try_from(body.len()).ok().filter(|length| *length < 126) {
        Some(length) => frame.push(flag | length),
        None => {
            frame.push(flag | 126);
            frame.extend(u16::try_from(body.len()).unwrap().to_be_bytes());
        }
    }
    if is_masked {
        frame.extend(mask);
    }
    frame.extend(body.iter().zip(mask.iter().cycle()).map(|(byte, key)| if is_masked { byte ^ key } else { *byte }));
    frame
}

/// Returns a frame that no browser sends.
fn invalid_frame(random: &mut SplitMix64) -> Vec<u8> {
    let mut some =
        |most: u64| -> Vec<u8> { (0..random.next_below(most)).map(|_| random.next_u64().to_le_bytes()[0]).collect() };
    let (noise, more) = (some(120), some(2_000));
    let pick =
        |list: &[u8], random: &mut SplitMix64| list[usize::try_from(random.next_below(list.len() as u64)).unwrap()];
    match random.next_below(8) {
        0 => websocket_frame(0x81, br#"{"type": "resume", "id": 7, "since": -1, "offset": 1e99}"#, true),
        1 => websocket_frame(0x81, "[".repeat(1_500).as_bytes(), true),
        2 => websocket_frame(0x81, b"\xc3\x28 is no text", true),
        3 => websocket_frame(0x81, b"a client has to mask", false),
        4 => websocket_frame(pick(&[0x00, 0x80, 0x83, 0x8b, 0xf1, 0x01], random), &noise, true),
        5 => websocket_frame(pick(&[0x88, 0x89, 0x8a], random), &more, true),
        6 => [&[0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4], noise.as_slice()].concat(),
        _ => more,
    }
}

/// A frame, or a message of several frames, that announces more than the allowed length closes its socket with 1009
/// before the rest arrives. Nothing of it is kept. Earlier messages were processed.
#[test]
fn oversized_websocket_frame_closes_with_1009() {
    let (_home, program, session) = start_with_session();
    let chat = format!("/api/chat/{}", session["id"].as_str().unwrap());
    let head = |length: u64| [[0x81, 0xff].as_slice(), &length.to_be_bytes(), &[1, 2, 3, 4]].concat();
    let parts = [websocket_frame(0x01, &[b'a'; 40_000], true), websocket_frame(0x00, &[b'a'; 40_000], true)].concat();
    for long in [head(1 << 40), head(1 << 31), head(65 << 10), parts] {
        let mut open = open_raw_websocket(program.address, &chat);
        open.set_nonblocking(false).unwrap();
        open.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        open.write_all(&[websocket_frame(0x81, br#"{"type": "ping"}"#, true), long].concat()).unwrap();
        let mut heard = Vec::new();
        // The connection may be reset if it is closed while data is unread.
        let _ = open.read_to_end(&mut heard);
        let has = |wanted: &[u8]| heard.windows(wanted.len()).any(|some| some == wanted);
        assert!(
            has(b"pong") && has(b"too_large") && has(&1009_u16.to_be_bytes()),
            "{}",
            String::from_utf8_lossy(&heard)
        );
    }
}

/// Ten thousand invalid frames close their own sockets and nothing else. The session is unchanged, a regular watcher
/// still receives events, and no file, thread or memory is leaked.
#[test]
fn invalid_websocket_frames_close_only_their_socket() {
    let (_home, program, session) = start_with_session();
    let chat = format!("/api/chat/{}", session["id"].as_str().unwrap());
    let line = || send_request(program.address, "GET", &format!("{chat}/projection"), &Value::Null).unwrap();
    let mut random = SplitMix64::new(28);
    let mut send = |frames: usize| {
        let mut open = open_raw_websocket(program.address, &chat);
        for _ in 0..frames {
            let mut heard = [0; 4096];
            let is_closed = matches!(open.read(&mut heard), Ok(0));
            if is_closed || open.write_all(&invalid_frame(&mut random)).is_err() {
                open = open_raw_websocket(program.address, &chat);
            }
        }
    };
    send(FRAMES / 10);
    let (told, watcher) = (line(), open_raw_websocket(program.address, &chat));
    let before = program.resources();
    send(FRAMES);
    program.assert_resources_released(&before);
    assert_eq!(line(), told);
    let message = json!({"parentId": session["activeLeafId"], "role": "user", "content": "To the north."});
    assert_eq!(send_request(program.address, "POST", &format!("{chat}/message"), &message).unwrap().0, 201);
    watcher.set_nonblocking(false).unwrap();
    watcher.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let (mut watcher, mut heard) = (watcher, Vec::<u8>::new());
    while !heard.windows(13).any(|some| some == b"To the north.") {
        let mut piece = [0; 4096];
        let read = watcher.read(&mut piece).unwrap();
        assert!(read > 0, "who watches in order was closed");
        heard.extend(&piece[..read]);
    }
}
