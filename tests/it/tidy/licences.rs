//! Licences and banned crates, as in `deny.toml`. `cargo deny check` reads the same file where it is installed; these
//! tests need only cargo.

use std::process::Command;

use serde_json::Value;

use super::source_files::repository_root;
use super::{expect_none, expect_one};

/// One package that is linked in or used to build.
struct Package {
    name: String,
    version: String,
    licence: String,
    /// Empty for crates of this repository.
    source: String,
}

/// The rules of `deny.toml`.
struct Policy {
    allowed_licences: Vec<String>,
    banned_crates: Vec<String>,
}

/// Returns whether allowed licences are enough for an SPDX expression. `/` is the old form of OR. `+` after a licence
/// includes later versions; the named version is used.
fn is_expression_met(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let met = evaluate_or(&words, &mut at, allowed);
    met && at == words.len()
}

fn evaluate_or(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut met = evaluate_and(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        met |= evaluate_and(words, at, allowed);
    }
    met
}

fn evaluate_and(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let mut met = evaluate_term(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        met &= evaluate_term(words, at, allowed);
    }
    met
}

fn evaluate_term(words: &[&str], at: &mut usize, allowed: &[String]) -> bool {
    let Some(word) = words.get(*at) else { return false };
    *at += 1;
    if *word == "(" {
        let met = evaluate_or(words, at, allowed);
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return met && closed;
    }
    let mut licence = word.trim_end_matches('+').to_owned();
    if words.get(*at) == Some(&"WITH") {
        licence += &format!(" WITH {}", words.get(*at + 1).copied().unwrap_or_default());
        *at += 2;
    }
    allowed.contains(&licence)
}

fn policy_violations(packages: &[Package], policy: &Policy) -> Vec<String> {
    let mut complaints = Vec::new();
    for Package { name, version, licence, source } in packages {
        if !is_expression_met(licence, &policy.allowed_licences) {
            complaints.push(format!("{name} {version} comes under {licence:?}, which deny.toml does not allow"));
        }
        if policy.banned_crates.contains(name) {
            complaints.push(format!("{name} {version} is banned by deny.toml"));
        }
        if !source.is_empty() && !source.starts_with("registry+") {
            complaints.push(format!("{name} {version} comes from {source}: deny.toml takes a registry only"));
        }
    }
    complaints
}

fn policy() -> Policy {
    let file: toml::Value =
        toml::from_str(&std::fs::read_to_string(repository_root().join("deny.toml")).unwrap()).unwrap();
    let texts = |list: &toml::Value| list.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect();
    let banned = file["bans"]["deny"].as_array().unwrap().iter();
    Policy {
        allowed_licences: texts(&file["licenses"]["allow"]),
        banned_crates: banned.map(|ban| ban["crate"].as_str().unwrap().to_owned()).collect(),
    }
}

/// Returns every package of this machine's build, except the crates of the workspace.
fn packages() -> Vec<Package> {
    let host = run_command("rustc", &["-vV"]);
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let metadata =
        run_command(env!("CARGO"), &["metadata", "--format-version", "1", "--locked", "--filter-platform", host]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let text = |package: &Value, key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let package = |package: &Value| Package {
        name: text(package, "name"),
        version: text(package, "version"),
        licence: text(package, "license"),
        source: text(package, "source"),
    };
    let all = metadata["packages"].as_array().unwrap().iter().map(package);
    all.filter(|package| !package.name.starts_with(env!("CARGO_PKG_NAME"))).collect()
}

fn run_command(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).current_dir(repository_root()).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn licence_expressions_are_evaluated() {
    let allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-3-Clause", "MPL-2.0"].map(str::to_owned);
    let check = |expression: &str, expected: bool| {
        assert_eq!(is_expression_met(expression, &allowed), expected, "{expression}")
    };
    check("MIT", true);
    check("GPL-3.0", false);
    check("GPL-3.0 OR MIT", true);
    check("GPL-3.0/MIT", true);
    check("GPL-3.0 AND MIT", false);
    check("(GPL-3.0 OR MIT) AND BSD-3-Clause", true);
    check("MIT AND (GPL-3.0 OR LGPL-3.0)", false);
    check("Apache-2.0 WITH LLVM-exception", true);
    check("MIT WITH LLVM-exception", false);
    check("MPL-2.0+", true);
    check("", false);
    check("MIT MIT", false);
}

#[test]
fn licence_check_finds_planted_packages() {
    let policy = Policy { allowed_licences: vec!["MIT".into()], banned_crates: vec!["left-pad".into()] };
    let package = |name: &str, licence: &str| Package {
        name: name.into(),
        version: "1.0.0".into(),
        licence: licence.into(),
        source: "registry+https://example.org".into(),
    };
    let from_git = Package { source: "git+https://example.org/a".into(), ..package("a", "MIT") };
    expect_one(&policy_violations(&[from_git], &policy), "comes from git+");
    expect_one(&policy_violations(&[package("a", "AGPL-3.0")], &policy), "a 1.0.0 comes under \"AGPL-3.0\"");
    expect_one(&policy_violations(&[package("left-pad", "MIT")], &policy), "is banned");
    expect_none(&policy_violations(&[package("a", "MIT")], &policy));
}

#[test]
fn licences_of_all_dependencies_are_allowed() {
    let packages = packages();
    assert!(packages.len() > 100, "cargo named only {} packages", packages.len());
    expect_none(&policy_violations(&packages, &policy()));
}
