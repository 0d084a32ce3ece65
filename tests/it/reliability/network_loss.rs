//! A network that drops all packets of established connections: neither side hears anything, not even that the other
//! is gone. Each test runs again inside its own network namespace, where packets to the model server's address can be
//! dropped. Where the system does not allow namespaces, the tests print that and check nothing.

use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};

use super::kill_recovery::ServerProcess;
use super::resource_leaks::ChatClient;
use crate::support::mock_model::{MockModel, Reply};
use crate::support::test_store::doctor_findings;

/// Set for a test that runs inside its own network namespace.
const INSIDE: &str = "CLOTHO_TEST_INSIDE";
/// The address of the model server there.
const MODEL: Ipv4Addr = Ipv4Addr::new(10, 9, 9, 9);

/// Runs a system command without output. Returns `false` if it is missing or fails.
fn run_command(command: &str) -> bool {
    let mut words = command.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns whether this process runs inside the namespace. If not, runs the test again inside one, where it must
/// succeed.
#[expect(clippy::print_stdout, reason = "nothing is left out in silence")]
fn is_inside_or_rerun(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        assert!(run_command("ip link set lo up") && run_command(&format!("ip address add {MODEL}/32 dev lo")));
        return true;
    }
    let own = ["--net", "--map-root-user"];
    let tried = Command::new("unshare").args(own).args(["ip", "link", "set", "lo", "up"]).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        println!("no network can be made here: nothing was tried");
        return false;
    }
    let mut again = Command::new("unshare");
    again.args(own).arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]).env(INSIDE, "yes");
    let output = again.output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && told.contains("1 passed"), "{told}{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// Starts or stops dropping packets to and from the model server.
fn set_packet_loss(is_lost: bool) {
    let route = if is_lost { format!("blackhole {MODEL}/32") } else { format!("local {MODEL}/32 dev lo") };
    assert!(run_command(&format!("ip route replace {route} table local")));
}

/// Returns a player whose model server answers over a connection that stays open. `limits`: seconds until the first
/// piece, and seconds of silence.
fn start_chat_client(home: &Path, mock: MockModel, limits: [u64; 2]) -> ChatClient {
    let mock = Arc::new(mock);
    let mut command = Command::new(env!("CARGO_BIN_EXE_clotho"));
    command.current_dir(home);
    ServerProcess::configure_command(&mut command, &mock.base_url());
    for (name, seconds) in ["FIRST_TOKEN", "IDLE"].into_iter().zip(limits) {
        command.env(format!("CLOTHO_GENERATION__{name}_TIMEOUT_S"), seconds.to_string());
    }
    let player = ChatClient::with_new_session(ServerProcess::spawn(&mut command), mock);
    assert_reply_arrives(&player);
    player
}

fn assert_reply_arrives(player: &ChatClient) {
    let node = player.wait_for_reply(&player.start_reply(Reply::ok(["Over ", "the hills."])));
    assert_eq!((&node["status"], &node["content"]), (&json!("complete"), &json!("Over the hills.")), "{node}");
}

/// Returns the error code and the text of a failed reply.
fn reply_error(node: &Value) -> (&Value, &Value) {
    assert_eq!(node["status"], "error", "{node}");
    let error = &node["metadata"]["error"];
    assert!(error["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{node}");
    (&error["code"], &node["content"])
}

/// S0-22: a request and a reply that the network loses end within the silence limits, with an error and the text that
/// had arrived. Once the network is back the next reply arrives. Lost requests leave no resources behind, and the
/// doctor finds nothing.
#[tokio::test(flavor = "multi_thread")]
async fn network_loss_times_out_request_and_recovers() {
    if !is_inside_or_rerun("reliability::network_loss::network_loss_times_out_request_and_recovers") {
        return;
    }
    let mock = MockModel::start_at(MODEL).await;
    let work = move || {
        let home = tempfile::tempdir().unwrap();
        let player = start_chat_client(home.path(), mock, [2, 2]);
        let before = player.program.resources();
        for _ in 0..3 {
            let connections = player.mock.connection_count();
            set_packet_loss(true);
            let request = player.wait_for_reply(&player.start_reply(Reply::ok(["Never heard."])));
            assert_eq!(reply_error(&request), (&json!("provider_timeout"), &json!("")));
            assert_eq!(player.mock.connection_count(), connections, "it was sent over the connection that stood");
            set_packet_loss(false);
            assert_reply_arrives(&player);

            let reply = player.start_reply(Reply::ok(["PARTIAL ", "text"]).then_stall());
            player.wait_until(&reply, |node| node["content"] == "PARTIAL text");
            set_packet_loss(true);
            let reply = player.wait_for_reply(&reply);
            assert_eq!(reply_error(&reply), (&json!("provider_timeout"), &json!("PARTIAL text")));
            set_packet_loss(false);
            assert_reply_arrives(&player);
        }
        player.program.assert_resources_released(&before);
        let database = home.path().join("data/clotho.db");
        drop(player);
        assert!(doctor_findings(&database, true).is_empty());
    };
    tokio::task::spawn_blocking(work).await.unwrap();
}

/// A connection without acknowledgements for half a minute counts as lost, however long a model may be silent.
#[tokio::test(flavor = "multi_thread")]
async fn network_loss_ends_reply_despite_long_model_timeout() {
    if !is_inside_or_rerun("reliability::network_loss::network_loss_ends_reply_despite_long_model_timeout") {
        return;
    }
    let mock = MockModel::start_at(MODEL).await;
    let work = move || {
        let home = tempfile::tempdir().unwrap();
        let player = start_chat_client(home.path(), mock, [3600, 3600]);
        set_packet_loss(true);
        let request = player.wait_for_reply(&player.start_reply(Reply::ok(["Never heard."])));
        assert_eq!(reply_error(&request), (&json!("provider_unreachable"), &json!("")));
        set_packet_loss(false);
        assert_reply_arrives(&player);
    };
    tokio::task::spawn_blocking(work).await.unwrap();
}
