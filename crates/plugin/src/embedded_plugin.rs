//! A plugin inside a character card: all its files, with schema and tests. It is only a proposal. Nothing of it runs
//! before the operator of the server has reviewed it and installed it in the plugin folder. From then on it is an
//! ordinary plugin.
//!
//! It is stored in `metadata.clotho.rules` of a card made here, and in `data.extensions.clotho.rules` of an exported
//! card. Imported cards keep the latter place. The format is `{"files": {path: text}}`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::folder::{self, PluginFileError};
use super::source::{PluginOrigin, PluginSource};

/// The key inside the `clotho` extension of a card.
const EXTENSION_KEY: &str = "rules";
/// The most bytes of files in a card. The limit is low because many programs read a whole card image.
const MAX_BYTES: usize = 1 << 20;

/// Why a plugin cannot be read from a card or put into one.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedPluginError {
    /// The value is not `{"files": {path: text}}`.
    #[error("the card does not contain a valid plugin: {0}")]
    Malformed(String),
    /// A file is not text.
    #[error("{0} is not a text file, and a card can only contain text files")]
    NotText(String),
    /// The files have more bytes than allowed.
    #[error("the files have {0} bytes, and a card can contain at most {MAX_BYTES}")]
    TooLarge(usize),
}

/// Reads the plugin of a card; `None` if it has none.
pub fn read(card: &Map<String, Value>) -> Option<Result<PluginSource, EmbeddedPluginError>> {
    let metadata = card.get("metadata")?;
    let came = metadata.get("extensions");
    let places = [Some(metadata), came].into_iter().flatten();
    let mut carried =
        places.filter_map(|place| place.get("clotho")?.get(EXTENSION_KEY)).filter(|carried| !carried.is_null());
    carried.next().map(parse_source)
}

fn parse_source(carried: &Value) -> Result<PluginSource, EmbeddedPluginError> {
    let malformed = |why: &str| EmbeddedPluginError::Malformed(why.to_owned());
    let files = carried.get("files").and_then(Value::as_object).ok_or_else(|| malformed("it has no files"))?;
    let mut texts = Vec::with_capacity(files.len());
    for (path, text) in files {
        let text = text.as_str().ok_or_else(|| EmbeddedPluginError::NotText(path.clone()))?;
        texts.push((path.clone(), text.to_owned()));
    }
    let bytes = texts.iter().map(|(_, text)| text.len()).sum();
    if bytes > MAX_BYTES {
        return Err(EmbeddedPluginError::TooLarge(bytes));
    }
    let empty = PluginSource::new("", PluginOrigin::Folder, Vec::<(String, Vec<u8>)>::new());
    let source = folder::with_texts(&empty, texts).map_err(|fault| malformed(&fault.to_string()))?;
    // The manifest's id is the name, because a card has no folder name.
    let manifest: Option<toml::Table> = source.text("plugin.toml").and_then(|text| text.parse().ok());
    let id = manifest.as_ref().and_then(|manifest| manifest.get("id")).and_then(toml::Value::as_str);
    let name = id.ok_or_else(|| malformed("its plugin.toml has no id"))?.to_owned();
    Ok(PluginSource { name, ..source })
}

/// Puts a plugin into a card and replaces the one in it.
///
/// # Errors
/// Returns an error if a file is not text or the files are too large.
pub fn embed(card: &mut Map<String, Value>, source: &PluginSource) -> Result<(), EmbeddedPluginError> {
    let mut files = Map::new();
    let mut bytes = 0;
    for path in source.files.keys() {
        let text = source.text(path).ok_or_else(|| EmbeddedPluginError::NotText(path.clone()))?;
        bytes += text.len();
        files.insert(path.clone(), text.into());
    }
    if bytes > MAX_BYTES {
        return Err(EmbeddedPluginError::TooLarge(bytes));
    }
    if let Some(own) = extension_map(card) {
        own.insert(EXTENSION_KEY.to_owned(), json!({"files": files}));
    }
    Ok(())
}

/// Removes the plugin from a card; returns whether there was one.
pub fn remove(card: &mut Map<String, Value>) -> bool {
    let came = card.get_mut("metadata").and_then(|metadata| metadata.get_mut("extensions")?.get_mut("clotho"));
    let had = came.and_then(|came| came.as_object_mut()?.shift_remove(EXTENSION_KEY)).is_some();
    extension_map(card).is_some_and(|own| own.shift_remove(EXTENSION_KEY).is_some()) || had
}

/// Returns the card's `clotho` map. Creates it if it is missing or not a map.
fn extension_map(card: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    object(object(card, "metadata")?, "clotho")
}

fn object<'a>(map: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    let value = map.entry(key).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut()
}

/// Installs a plugin in the plugin folder under its name. It replaces an existing one as a whole or not at all.
///
/// # Errors
/// Returns an error if the name is not a valid folder name or the disk fails. The existing plugin then stays.
pub fn install(folder: &Path, source: &PluginSource) -> Result<(), PluginFileError> {
    let name = &source.name;
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0']);
    if !is_plain {
        return Err(PluginFileError::InvalidPath(name.clone()));
    }
    // Names with a leading dot are never read as plugins.
    let (new, old, own) = (folder.join(format!(".{name}.new")), folder.join(format!(".{name}.old")), folder.join(name));
    // Undo an installation that a crash interrupted.
    if old.exists() && !own.exists() {
        std::fs::rename(&old, &own)?;
    }
    let written = write_files(&new, source).and_then(|()| {
        let had = own.exists();
        if had {
            std::fs::rename(&own, &old)?;
        }
        std::fs::rename(&new, &own).inspect_err(|_| {
            if had {
                // Restore the old plugin. If that fails too, the first error is still returned.
                let _ = std::fs::rename(&old, &own);
            }
        })
    });
    for rest in [&new, &old] {
        // Leftovers have a leading dot, so failing to delete them does no harm.
        let _ = std::fs::remove_dir_all(rest);
    }
    Ok(written?)
}

fn write_files(folder: &Path, source: &PluginSource) -> std::io::Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    for (path, bytes) in &source.files {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tide_plugin() -> PluginSource {
        let files = [
            ("plugin.toml", "id = \"tide\"\ntitle = \"Tide\"\nversion = \"1.0.0\"\napi = \"1\"\n"),
            ("main.rhai", "fn on_reply(ctx) {}"),
            ("tests/one.toml", "hook = \"on_reply\"\n"),
        ];
        PluginSource::new("tide", PluginOrigin::Folder, files.map(|(path, text)| (path, text.as_bytes().to_vec())))
    }

    #[test]
    fn embedded_plugin_roundtrip_returns_same_source() {
        let mut card = Map::from_iter([("metadata".to_owned(), json!({"clotho": {"model": "x"}, "odd": 1}))]);
        assert!(read(&card).is_none());
        embed(&mut card, &tide_plugin()).unwrap();
        let back = read(&card).unwrap().unwrap();
        assert_eq!((&back.name, &back.files), (&"tide".to_owned(), &tide_plugin().files));
        assert_eq!(card["metadata"]["clotho"]["model"], "x");
        assert!(remove(&mut card) && !remove(&mut card) && read(&card).is_none());
        let rules = json!({"files": {"plugin.toml": "id = \"sea\""}});
        card["metadata"]["extensions"] = json!({"clotho": {"rules": rules}, "odd": 2});
        assert_eq!(read(&card).unwrap().unwrap().name, "sea", "as it came in");
        embed(&mut card, &tide_plugin()).unwrap();
        assert_eq!(read(&card).unwrap().unwrap().name, "tide", "in its place");
        assert!(remove(&mut card) && read(&card).is_none());
        assert_eq!(card["metadata"]["extensions"], json!({"clotho": {}, "odd": 2}));
        card["metadata"].as_object_mut().unwrap().remove("extensions");
        assert_eq!(card["metadata"], json!({"clotho": {"model": "x"}, "odd": 1}));
    }

    /// Cards come from third parties: malformed content is an error, and no path leads out of the folder.
    #[test]
    fn embedded_plugin_malformed_card_returns_error() {
        let bad = |rules: Value| {
            let card = Map::from_iter([("metadata".to_owned(), json!({"clotho": {"rules": rules}}))]);
            read(&card).is_some_and(|read| read.is_err())
        };
        let manifest = "id = \"x\"";
        for rules in [
            json!(5),
            json!({}),
            json!({"files": []}),
            json!({"files": {"plugin.toml": 5}}),
            json!({"files": {"main.rhai": "fn on_reply(ctx) {}"}}),
            json!({"files": {"plugin.toml": manifest, "../evil": ""}}),
            json!({"files": {"plugin.toml": manifest, "/etc/evil": ""}}),
            json!({"files": {"plugin.toml": manifest, ".hidden": ""}}),
            json!({"files": {"plugin.toml": manifest, "big": "x".repeat(MAX_BYTES)}}),
        ] {
            assert!(bad(rules.clone()), "{rules}");
        }
        assert!(!bad(Value::Null) && !bad(json!({"files": {"plugin.toml": manifest}})));
    }

    #[test]
    fn embedded_plugin_install_replaces_existing_folder() {
        let temp = tempfile::tempdir().unwrap();
        let old = PluginSource::new(
            "tide",
            PluginOrigin::Folder,
            [("plugin.toml", &b"old"[..]), ("gone.rhai", b"")].map(|(p, b)| (p, b.to_vec())),
        );
        install(temp.path(), &old).unwrap();
        install(temp.path(), &tide_plugin()).unwrap();
        assert_eq!(PluginSource::read(&temp.path().join("tide")).unwrap().files, tide_plugin().files);
        let names: Vec<_> = std::fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["tide"], "nothing lies about");
        for name in ["", "..", ".x", "a/b", "a\\b"] {
            assert!(install(temp.path(), &PluginSource { name: name.to_owned(), ..tide_plugin() }).is_err(), "{name}");
        }
    }
}
