//! Tests of the configuration: accepted and refused values, and the messages.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const SHIPPED: &str = include_str!("../../../config.toml");

fn load(text: &str, env: &[(&str, &str)]) -> Result<Config, String> {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::load(None, Some(text.to_owned()), env).map_err(|error| error.to_string())
}

fn load_error(text: &str, env: &[(&str, &str)]) -> String {
    load(text, env).expect_err("this must be refused")
}

/// Returns the shipped file with its provider example uncommented.
fn shipped_with_provider() -> String {
    let mut inside = false;
    let lines = SHIPPED.lines().map(|line| {
        inside = line == "# [[providers]]" || (inside && line.starts_with('#'));
        if inside { line.strip_prefix("# ").unwrap_or(line) } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn config_shipped_file_equals_defaults() {
    assert_eq!(load(SHIPPED, &[]).unwrap(), Config::default());
    assert_eq!(load("", &[]).unwrap(), Config::default());
    assert_eq!(Config::load(None, None, std::iter::empty()).unwrap(), Config::default());
}

#[test]
fn config_shipped_file_documents_every_key() {
    let text = shipped_with_provider();
    let tree: toml::Table = text.parse().unwrap();
    let mut reader = ConfigReader::default();
    let parsed = ConfigTree::from_toml("config.toml", &text, &mut reader.problems);
    let config = Config::from_tree(parsed, &mut reader, &[]);
    assert_eq!(reader.problems, []);
    assert_eq!(config.providers[0].base_url, "http://127.0.0.1:8080/v1");
    assert!(reader.requested_keys.len() > 40);
    for (section, key) in reader.requested_keys {
        let table = match section.trim_matches(['[', ']']) {
            "" => &tree,
            "providers" => tree["providers"][0].as_table().unwrap(),
            name => tree[name].as_table().unwrap(),
        };
        assert!(table.contains_key(key), "{section} {key} is missing in config.toml");
    }
}

#[test]
fn config_section_defaults_equal_empty_file() {
    let config = Config::default();
    assert_eq!((ServerConfig::default(), LimitsConfig::default()), (config.server, config.limits));
    assert_eq!(LimitsConfig::default().body_bytes, 16 << 20);
    assert_eq!(GenerationConfig::default().model, "plugin:lantern-keep");
    assert_eq!(SearchConfig::default().commit_interval, Duration::from_millis(500));
    assert_eq!(StorageConfig::default().database_path(), Path::new("./data/clotho.db"));
}

/// A misspelled key is refused with file, line, column, key and a suggestion.
#[test]
fn config_unknown_key_returns_error_with_suggestion() {
    assert_eq!(
        load_error("\n[server]\nlistne = 1\n", &[]),
        "config.toml:3:1: [server] listne: unknown key; did you mean \"listen\"? \
         Known: listen, mode, lan, allowed_hosts, trusted_peers, trusted_proxies, unpaired_connections, static_dir, \
         workers"
    );
    assert!(
        load_error("[serverr]\n", &[])
            .starts_with("config.toml:1:2: serverr: unknown section; did you mean \"server\"?")
    );
    let far = load_error("[log]\ncolour = 1\n", &[]);
    assert_eq!(far, "config.toml:2:1: [log] colour: unknown key; Known: format, level");
    assert!(
        load_error("", &[("CLOTHO_SERVER__LISTNE", "x")])
            .starts_with("environment CLOTHO_SERVER__LISTNE: [server] listne: unknown key; did you mean \"listen\"?")
    );
}

#[test]
fn config_wrong_value_returns_expected_type() {
    let cases = [
        (
            "[server]\nlisten = \"here\"",
            "config.toml:2:10: [server] listen: expected an address and a port such as \"127.0.0.1:7317\" or \"[::1]:7317\", got \"here\"",
        ),
        ("[server]\nlisten = 7317", "config.toml:2:10: [server] listen: expected a string, got an integer"),
        (
            "[server]\nmode = \"accounts\"",
            "config.toml:2:8: [server] mode: this version has no accounts yet: expected \"local\"",
        ),
        (
            "[server]\nallowed_hosts = [\"http://a/b\"]",
            "config.toml:2:18: [server] allowed_hosts: expected a host such as \"play.example.org\", \"play.example.org:8080\" or \
                \"https://play.example.org\", without path, got \"http://a/b\"",
        ),
        (
            "[pictures]\nallowed_hosts = [\"http://a\"]",
            "config.toml:2:18: [pictures] allowed_hosts: expected a host name such as \"play.example.org\", without scheme, port or path, got \"http://a\"",
        ),
        (
            "[storage]\nkeyframe_every = 0",
            "config.toml:2:18: [storage] keyframe_every: expected the number of nodes between two keyframes, a \
                whole number from 1 to 1000, got 0",
        ),
        (
            "[storage]\nkeyframe_every = 99999999999999999999",
            "config.toml:2:18: [storage] keyframe_every: expected the number of nodes between two keyframes, a \
                whole number from 1 to 1000, got a number with a fraction",
        ),
        (
            "[storage]\ndatabase_url = \"postgres://x\"",
            "config.toml:2:16: [storage] database_url: this version supports SQLite only: expected the path of a \
                file, or \"\"",
        ),
        (
            "[limits]\nbody_mb = \"1\"",
            "config.toml:2:11: [limits] body_mb: expected megabytes, a whole number from 1 to 1024, got \"1\"",
        ),
        (
            "[log]\nlevel = \"loud\"",
            "config.toml:2:9: [log] level: expected one of off, error, warn, info, debug or trace, or several parts such as \"info,clotho::provider=debug\", got \"loud\"",
        ),
        ("log = 3", "config.toml:1:7: [log]: expected a table, got an integer"),
        ("providers = 3", "config.toml:1:13: [[providers]]: expected an array of tables, got an integer"),
        (
            "[generation]\nhide_tags = [\"<think>\"]",
            "config.toml:2:14: [generation] hide_tags: expected a tag name such as \"think\", without brackets, got \
                \"<think>\"",
        ),
        (
            "[generation]\nhide_tags = \"think\"",
            "config.toml:2:13: [generation] hide_tags: expected a list of strings, [\"…\"], got a string",
        ),
        (
            "[generation]\nreply_tokens = 9000",
            "config.toml:2:1: [generation] reply_tokens: expected fewer tokens for the reply (9000) than for the context (8192)",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(load_error(text, &[]), expected);
    }
}

/// Mode `local` has no password, so only this machine may reach the server unless devices must be paired.
/// A host names the marks of a model's thoughts as a pair.
#[test]
fn config_pair_of_marks_is_accepted() {
    let tags =
        |list: &str| load(&format!("[generation]\nhide_tags = {list}"), &[]).map(|read| read.generation.hide_tags);
    let pairs = ["think", "<|plan|>…<|/plan|>", "Thought:...Answer:"];
    assert_eq!(tags("[\"think\", \"<|plan|>…<|/plan|>\", \"Thought:...Answer:\"]").unwrap(), pairs);
    for bad in ["[\"…\"]", "[\"<a>…\"]", "[\"...<a>\"]", "[\"*…*\"]", "[\"<a>\"]"] {
        tags(bad).unwrap_err();
    }
}

#[test]
fn config_lan_address_requires_lan_setting() {
    for listen in ["0.0.0.0:80", "192.168.1.2:7317", "[::]:7317"] {
        let said = load_error(&format!("[server]\nlisten = \"{listen}\""), &[]);
        assert!(said.contains("lan = true") && said.contains("paired"), "{said}");
        let lan_server = load(&format!("[server]\nlan = true\nlisten = \"{listen}\""), &[]).unwrap().server;
        assert!(!lan_server.listen.ip().is_loopback() && lan_server.lan);
    }
    for peers in ["[\"house\"]", "[\"10.0.0.0/33\"]", "[\"::1/129\"]", "[\"10.0.0.0/\"]", "[\"\"]"] {
        assert!(
            load_error(&format!("[server]\ntrusted_peers = {peers}"), &[]).contains("an address or a network"),
            "{peers}"
        );
    }
    let peers = load("[server]\ntrusted_peers = [\"10.1.0.0/16\", \"fd00::/8\", \"0.0.0.0/0\"]", &[]).unwrap().server;
    let holds = |n: usize, peer: &str| peers.trusted_peers[n].contains(peer.parse().unwrap());
    assert!(holds(0, "10.1.255.1") && !holds(0, "10.2.0.1") && !holds(0, "fd00::1") && holds(1, "fd12::1"));
    assert!(!holds(1, "fe00::1") && holds(2, "8.8.8.8") && !holds(2, "::1"));
    assert!(peers.trusted_proxies.is_empty());
    let proxies = load("[server]\ntrusted_proxies = [\"172.16.0.0/12\", \"::1\"]", &[]).unwrap().server.trusted_proxies;
    assert!(proxies[0].contains("172.17.0.1".parse().unwrap()) && proxies[1].contains("::1".parse().unwrap()));
    assert!(load_error("[server]\ntrusted_proxies = [\"proxy\"]", &[]).contains("an address or a network"));
    assert_eq!(peers.unpaired_connections, 32);
    assert_eq!(load("[server]\nunpaired_connections = 0", &[]).unwrap().server.unpaired_connections, 0);
    assert!(load_error("[server]\nunpaired_connections = -1", &[]).contains("the number of connections"));
    for listen in ["127.0.0.1:0", "127.8.9.1:80", "[::1]:80", "localhost:80"] {
        assert!(load(&format!("[server]\nlisten = \"{listen}\""), &[]).unwrap().server.listen.ip().is_loopback());
    }
}

#[test]
fn config_several_errors_are_reported_together() {
    let said =
        load_error("[server]\nport = 1\nlisten = 2\n[log]\nformat = \"xml\"\n", &[("CLOTHO_LOG__LEVEL", "loud")]);
    let places: Vec<&str> = said.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["config.toml:2:1", "config.toml:3:10", "config.toml:5:10", "environment CLOTHO_LOG__LEVEL"]);
}

#[test]
fn config_invalid_toml_returns_position() {
    let said = load_error("[server]\nlisten = \"x\nmode = ", &[]);
    assert!(said.starts_with("config.toml:2:12: config.toml has a syntax error: "), "{said}");
    let twice = load_error("[log]\nlevel = \"info\"\nlevel = \"warn\"", &[]);
    assert!(twice.starts_with("config.toml:3:1: "), "{twice}");
}

#[test]
fn config_environment_overrides_file() {
    let env = [
        ("CLOTHO_SERVER__LISTEN", "127.0.0.1:8080"),
        ("CLOTHO_SERVER__ALLOWED_HOSTS", "[\"Play.example.org\"]"),
        ("CLOTHO_LOG__LEVEL", "\"warn\""),
        ("CLOTHO_LIMITS__BODY_MB", "2"),
        ("CLOTHO_GENERATION__MODEL", "4"),
        ("CLOTHO_CONFIG", "elsewhere.toml"),
        ("CLOTHO_BIN", "/usr/bin/clotho"),
        ("HOME", "/root"),
    ];
    let config = load("[server]\nlisten = \"127.0.0.1:1\"\n", &env).unwrap();
    assert_eq!(config.server.listen.port(), 8080);
    assert_eq!(config.server.allowed_hosts, [AllowedHost::parse("play.example.org").unwrap()]);
    assert_eq!((config.log.level.as_str(), config.generation.model.as_str()), ("warn", "4"));
    assert_eq!(config.limits.body_bytes, 2 << 20);
    assert!(load_error("", &[("CLOTHO_PROVIDER", "[]")]).contains("did you mean \"providers\"?"));
}

#[test]
fn config_providers_merge_file_and_environment() {
    let text = "[[providers]]\nid = \"local\"\nbase_url = \"http://127.0.0.1:8080/v1/\"\nextra = {top_k = 40, stop = [\"x\"]}\n";
    let env = [
        ("CLOTHO_PROVIDERS__0__MODELS", "[\"small\"]"),
        ("CLOTHO_PROVIDERS__0__EXTRA__MIN_P", "0.5"),
        ("CLOTHO_PROVIDERS__1__ID", "far"),
        ("CLOTHO_PROVIDERS__1__BASE_URL", "https://example.org/api"),
        ("CLOTHO_PROVIDERS__1__API_KEY_ENV", "FAR_KEY"),
        ("FAR_KEY", " k-1\n"),
    ];
    let providers = load(text, &env).unwrap().providers;
    assert_eq!(providers[0].base_url, "http://127.0.0.1:8080/v1");
    assert_eq!(providers[0].models, ["small"]);
    assert_eq!(serde_json::json!(providers[0].extra), serde_json::json!({"top_k": 40, "stop": ["x"], "min_p": 0.5}));
    assert_eq!(providers[0].key().unwrap(), None);
    assert_eq!(providers[1].key().unwrap().unwrap().expose(), "k-1");

    let names: Vec<(String, String)> = (0..12)
        .flat_map(|n| {
            [
                (format!("CLOTHO_PROVIDERS__{n}__ID"), format!("p{n}")),
                (format!("CLOTHO_PROVIDERS__{n}__BASE_URL"), "http://a".into()),
            ]
        })
        .collect();
    let twelve: Vec<(&str, &str)> = names.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    assert_eq!(load("", &twelve).unwrap().providers[11].id, "p11");

    let whole = "[{id = \"a\", base_url = \"http://a/\"}]";
    let both = [("CLOTHO_PROVIDERS", whole), ("CLOTHO_PROVIDERS__0__ID", "b")];
    assert_eq!(load(text, &both).unwrap().providers[0].id, "b");
    let gap = load_error("", &[("CLOTHO_PROVIDERS__1__ID", "x")]);
    assert_eq!(
        gap,
        "environment CLOTHO_PROVIDERS__1__ID: \"1\": expected an index from 0 to 0, where the last one \
        adds an item"
    );
}

#[test]
fn config_invalid_provider_returns_error() {
    let check = |lines: &str, expected: &str| {
        let said = load_error(&format!("[[providers]]\n{lines}"), &[]);
        assert!(said.contains(expected), "{lines}: {said}");
    };
    let base = "base_url = \"http://a/v1\"\n";
    check(base, "config.toml:1:1: [[providers]]: id is missing");
    check("id = \"a\"\n", "base_url is missing");
    check(&format!("id = \"A b\"\n{base}"), "expected a short name");
    check(&format!("id = \"plugin\"\n{base}"), "other than \"plugin\"");
    check(&format!("id = \"a\"\n{base}concurrent = -1"), "expected replies at the same time");
    for prices in [
        "{m = 3}",
        "{m = {prompt = 1}}",
        "{m = {prompt = 1, completion = -1}}",
        "{m = {prompt = 1, completion = 1, x = 1}}",
    ] {
        check(&format!("id = \"a\"\n{base}prices = {prices}"), "prices: \"m\": expected prices per million tokens");
    }
    check(&format!("id = \"a\"\n{base}api_key = \"k\"\napi_key_file = \"f\""), "expected only one of");
    check(&format!("id = \"a\"\n{base}extra = {{x = nan}}"), "must be finite");
    check(&format!("id = \"a\"\n{base}[[providers]]\nid = \"a\"\n{base}"), "two providers have the name \"a\"");
    for url in ["ftp://a", "a", "http://", "http://u:secret@a", "http://a?key=secret", "http://a#x"] {
        check(&format!("id = \"a\"\nbase_url = \"{url}\""), "base_url: expected a URL such as");
    }
}

/// Prices are decimals per million tokens; any kind is accepted until the code that knows the kinds checks it.
#[test]
fn config_provider_prices_and_kind_are_read() {
    let text = "[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\n kind = \"claude\"\nconcurrent = 2\n\
                prices = {\"m-1.5\" = {prompt = 3, completion = 15.5, cached = 0.3}}\n";
    let config = load(text, &[]).unwrap();
    let provider = &config.providers[0];
    let prices = ModelPrices { prompt: 3.0, completion: 15.5, cached: Some(0.3), cache_write: None };
    assert_eq!((provider.concurrent, provider.prices.get("m-1.5")), (2, Some(&prices)));
    let refused = provider.refuse_kind("it is none".into()).unwrap().to_string();
    assert_eq!(refused, "config.toml:4:2: [[providers]] kind: it is none");
}

#[test]
fn config_provider_context_lengths_are_read() {
    let base = "[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\n";
    let lengths = |lines: &str| {
        let provider = load(&format!("{base}{lines}"), &[]).unwrap().providers.remove(0);
        ["m", "other"].map(|model| provider.context_length(model))
    };
    assert_eq!(lengths(""), [None, None]);
    assert_eq!(lengths("context_tokens = 4096\n"), [Some(4096), Some(4096)]);
    assert_eq!(lengths("contexts = {m = 131072}\n"), [Some(131_072), None]);
    assert_eq!(lengths("context_tokens = 4096\ncontexts = {m = 131072}\n"), [Some(131_072), Some(4096)]);
    for wrong in ["contexts = {m = 7}", "contexts = {m = \"long\"}", "context_tokens = -1"] {
        assert!(load_error(&format!("{base}{wrong}"), &[]).contains("expected tokens, a whole number"), "{wrong}");
    }
}

/// The address of an endpoint is mended by the kind of its server, whichever of the two keys comes first.
#[test]
fn config_provider_pasted_endpoint_becomes_base_url() {
    let text = "[[providers]]\nid = \"a\"\nbase_url = \" http://a/api/chat \"\nkind = \"ollama\"\n\
                [[providers]]\nid = \"b\"\nbase_url = \"http://b/v1/chat/completions\"\n";
    let providers = load(text, &[]).unwrap().providers;
    assert_eq!([&providers[0].base_url, &providers[1].base_url], ["http://a", "http://b/v1"]);
}

#[test]
fn api_key_surrounding_characters_are_trimmed() {
    for text in ["sk-1", " sk-1\n", "\u{feff}sk-1\r\n", "\u{200b}sk-1\u{a0}", "\tsk-1\0"] {
        assert_eq!(Secret::new(text).expose(), "sk-1", "{text:?}");
        assert_eq!(parse_api_key(text).unwrap().expose(), "sk-1", "{text:?}");
    }
    for text in ["", " \n", "two\nlines", "钥匙", "sk-\u{200b}1", "“sk-1”"] {
        assert!(parse_api_key(text).unwrap_err().starts_with("expected a key"), "{text:?}");
    }
}

#[test]
fn config_model_aliases_are_read() {
    let text = "[models]\nsmart = [\"a/x\", \"b/y\"]\nfast = \"a/z\"\n";
    let aliases = load(text, &[("CLOTHO_MODELS__FAST", "[\"b/z\"]")]).unwrap().aliases;
    let shown: Vec<_> = aliases.iter().map(|alias| (alias.name.as_str(), alias.models.join(" "))).collect();
    assert_eq!(shown, [("smart", "a/x b/y".to_owned()), ("fast", "b/z".to_owned())]);
    let refusals = aliases.iter().filter_map(|alias| alias.refuse("no".into()));
    let together = ConfigError::combine(refusals).unwrap().to_string();
    assert_eq!(together, "config.toml:2:1: [models] smart: no\nenvironment CLOTHO_MODELS__FAST: [models] fast: no");
    assert!(ConfigError::combine([]).is_none());
    for wrong in [
        "smart = 7",
        "smart = []",
        "smart = [7]",
        "Smart = \"a\"",
        "smart = \"\"",
        "\"a/b\" = \"c\"",
        "s = \"plugin:x\"",
    ] {
        assert!(load_error(&format!("[models]\n{wrong}\n"), &[]).starts_with("config.toml:2:"), "{wrong}");
    }
}

/// A missing API key does not prevent startup; it is reported when the key is needed.
#[test]
fn config_missing_api_key_fails_on_use() {
    let text = "[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\napi_key_env = \"NOT_THERE\"\n";
    for env in [&[][..], &[("NOT_THERE", " ")], &[("NOT_THERE", "two\nlines")]] {
        let error = load(text, env).unwrap().providers[0].key().unwrap_err().to_string();
        assert!(error.contains("variable \"NOT_THERE\" is missing"), "{error}");
    }
    assert!(load(text, &[("NOT_THERE", "key")]).unwrap().providers[0].key().is_ok());
}

/// A setting that is found wrong later is still reported with its location.
#[test]
fn config_later_refusal_names_origin() {
    let refused = |text: &str, env: &[(&str, &str)]| {
        load(text, env).unwrap().refuse_model("it is no model".into()).map(|error| error.to_string())
    };
    let file = refused("\n[generation]\n  model = \"a/b\"\n", &[]).unwrap();
    assert_eq!(file, "config.toml:3:3: [generation] model: it is no model");
    let variable = refused("[generation]\nmodel = \"a/b\"\n", &[("CLOTHO_GENERATION__MODEL", "c")]).unwrap();
    assert_eq!(variable, "environment CLOTHO_GENERATION__MODEL: [generation] model: it is no model");
    assert_eq!(refused("", &[]), None);
}

/// Security promise 6: keys never in logs.
#[test]
fn config_secret_is_redacted() {
    let text = "[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\napi_key = \"hush-hush\"\n";
    let config = load(text, &[]).unwrap();
    assert!(!format!("{config:?}").contains("hush"));
    assert_eq!(config.providers[0].key().unwrap().unwrap().expose(), "hush-hush");
    for bad in [
        "[[providers]]\nid = \"a\"\nbase_url = \"http://u:hush@a\"\napi_key = \"hush\\n\"\n",
        "[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\napi_key = [\"hush\"]\napi_kye = \"hush\"\n",
        "[[providers]]\nid = \"a\"\napi_key = \"hush\n",
    ] {
        let said = load_error(bad, &[]);
        assert!(!said.contains("hush"), "{said}");
    }
    assert!(!load_error("", &[("CLOTHO_PROVIDERS__0__API_KYE", "hush")]).contains("hush"));
}

#[test]
fn config_key_file_with_several_lines_returns_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("key");
    let text = format!("[[providers]]\nid = \"a\"\nbase_url = \"http://a\"\napi_key_file = {path:?}\n");
    let provider = load(&text, &[]).unwrap().providers.remove(0);
    assert!(matches!(provider.key(), Err(ApiKeyError::Unreadable { .. })));
    for (content, key) in [("k\n", Some("k")), ("", None), ("a\nb", None)] {
        std::fs::write(&path, content).unwrap();
        assert_eq!(provider.key().ok().flatten().map(|key| key.expose().to_owned()).as_deref(), key);
    }
}

#[test]
fn config_file_is_found_by_precedence() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("own.toml");
    let env = |path: &Path| [(OsString::from("CLOTHO_CONFIG"), path.as_os_str().to_owned())].into_iter();
    let missing = Config::find_and_load(None, env(&path)).unwrap_err().to_string();
    assert!(missing.contains("own.toml:1:1: cannot be read"), "{missing}");
    std::fs::write(&path, "[storage]\nreaders = 7\n").unwrap();
    assert_eq!(Config::find_and_load(None, env(&path)).unwrap().storage.readers, 7);
    assert_eq!(Config::find_and_load(Some(&path), std::iter::empty()).unwrap().storage.readers, 7);
    std::fs::write(&path, b"\xff\xfe").unwrap();
    assert!(Config::find_and_load(Some(&path), std::iter::empty()).unwrap_err().to_string().contains("not UTF-8"));
}

proptest! {
    /// Any file and environment give a configuration or error messages, never a panic.
    #[test]
    fn config_any_input_does_not_panic(text in any::<String>(), key in "[A-Z_0-9]{0,20}", value in any::<String>()) {
        let _answer = load(&text, &[(&format!("CLOTHO_{key}"), &value), ("CLOTHO_LOG__LEVEL", &value)]);
        let _answer = load("", &[(&format!("CLOTHO_PROVIDERS__{key}"), &value)]);
    }
}
