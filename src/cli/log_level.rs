//! Log levels of parts of the program, as the setting `log.level` names them.

/// Where the modules of the time before the crates went: `clotho::provider` is the crate `clotho_provider` now.
const FORMER_MODULES: [(&str, &str); 20] = [
    ("ids", "clotho_core::ids"),
    ("clock", "clotho_core::clock"),
    ("world", "clotho_core::world"),
    ("tree", "clotho_core::tree"),
    ("oplog", "clotho_core::oplog"),
    ("config", "clotho_config"),
    ("interop", "clotho_compat::interop"),
    ("prompt", "clotho_compat::prompt"),
    ("provider", "clotho_provider"),
    ("plugin", "clotho_plugin"),
    ("store", "clotho_store"),
    ("archive", "clotho_store::archive"),
    ("search", "clotho_search"),
    ("turn", "clotho_engine::turn"),
    ("transfer", "clotho_engine::transfer"),
    ("live", "clotho_engine::live"),
    ("follow", "clotho_engine::log_follower"),
    ("embed", "clotho_engine::embedding"),
    ("wipe", "clotho_engine::secure_erase"),
    ("night", "clotho_engine::maintenance"),
];

/// Reads the targets of version 0.1.0 as those of today, so that the settings of a host keep their meaning.
pub(super) fn current_targets(level: &str) -> String {
    level.split(',').map(current_target).collect::<Vec<_>>().join(",")
}

fn current_target(directive: &str) -> String {
    let (target, rest) = directive.find(['=', '[']).map_or((directive, ""), |at| directive.split_at(at));
    let Some(path) = target.trim().strip_prefix("clotho::") else { return directive.to_owned() };
    let (module, inner) =
        path.split_once("::").map_or((path, String::new()), |(head, tail)| (head, format!("::{tail}")));
    match FORMER_MODULES.iter().find(|(former, _)| *former == module) {
        Some((_, now)) => format!("{now}{inner}{rest}"),
        None => directive.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_target_of_former_module_names_its_crate() {
        let check = |level: &str, expected: &str| assert_eq!(current_targets(level), expected);
        check("info", "info");
        check("info,clotho::provider=debug", "info,clotho_provider=debug");
        check("warn,clotho::turn::reply=trace", "warn,clotho_engine::turn::reply=trace");
        check("clotho::http=debug,clotho_store=info", "clotho::http=debug,clotho_store=info");
        check("clotho::night", "clotho_engine::maintenance");
    }
}
