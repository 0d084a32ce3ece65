//! Rules that a character's card carries: the files of one plugin, with its schema and tests, so that one picture brings all that a
//! story plays by. They are a proposal. Nothing of it runs, here or anywhere, until whoever runs the server has looked at it and
//! takes it into the folder of plugins, where it is a plugin as any other.
//!
//! They stand in `metadata.clotho.rules` of a card that was made here, and in `data.extensions.clotho.rules` of those that travel,
//! which a card that came in keeps as it came: `{"files": {path: text}}`.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::folder::{self, PluginFileError};
use super::source::{PluginOrigin, PluginSource};

/// The key beside what else a card says to this program.
const EXTENSION_KEY: &str = "rules";
/// So many bytes of files travel in a card: pictures are looked at by many programs, and most read them whole.
const MAX_BYTES: usize = 1 << 20;

/// Why a card cannot carry a plugin, or what it carries is none.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedPluginError {
    /// What stands there is not `{"files": {path: text}}`.
    #[error("what the card carries is no plugin: {0}")]
    Malformed(String),
    /// A file is no text.
    #[error("{0} is no text, and only texts travel in a card")]
    NotText(String),
    /// It is more than a card may carry.
    #[error("the files have {0} bytes, and a card carries {MAX_BYTES} at most")]
    TooLarge(usize),
}

/// The plugin that a card carries; `None` if it carries none.
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
    let source = folder::changed(&empty, texts).map_err(|fault| malformed(&fault.to_string()))?;
    // It is called what its manifest says: a card has no folder.
    let manifest: Option<toml::Table> = source.text("plugin.toml").and_then(|text| text.parse().ok());
    let id = manifest.as_ref().and_then(|manifest| manifest.get("id")).and_then(toml::Value::as_str);
    let name = id.ok_or_else(|| malformed("its plugin.toml names no id"))?.to_owned();
    Ok(PluginSource { name, ..source })
}

/// Lets a card carry a plugin, in the place of what it carried.
///
/// # Errors
/// A file is no text, or they are too many bytes.
pub fn put(card: &mut Map<String, Value>, source: &PluginSource) -> Result<(), EmbeddedPluginError> {
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

/// Takes what a card carries out of it; whether there was something.
pub fn remove(card: &mut Map<String, Value>) -> bool {
    let came = card.get_mut("metadata").and_then(|metadata| metadata.get_mut("extensions")?.get_mut("clotho"));
    let had = came.and_then(|came| came.as_object_mut()?.shift_remove(EXTENSION_KEY)).is_some();
    extension_map(card).is_some_and(|own| own.shift_remove(EXTENSION_KEY).is_some()) || had
}

/// What a card says to this program; made if it says nothing, and in the place of what is no map.
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

/// Puts a plugin into a folder of plugins under its name, in the place of what lies there, as a whole or not at all.
///
/// # Errors
/// Its name can be none of a folder, or the disk fails; then what was there is there.
pub fn install(folder: &Path, source: &PluginSource) -> Result<(), PluginFileError> {
    let name = &source.name;
    let is_plain = !name.is_empty() && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0']);
    if !is_plain {
        return Err(PluginFileError::InvalidPath(name.clone()));
    }
    // Names with a dot in front are nobody's plugin.
    let (new, old, own) = (folder.join(format!(".{name}.new")), folder.join(format!(".{name}.old")), folder.join(name));
    // What a crash left half way is as it was before.
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
                // The one before goes on; that the disk fails is told anyway.
                let _ = std::fs::rename(&old, &own);
            }
        })
    });
    for rest in [&new, &old] {
        // What is left over lies beside the plugins, where nobody reads it.
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

    fn tide() -> PluginSource {
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
        put(&mut card, &tide()).unwrap();
        let back = read(&card).unwrap().unwrap();
        assert_eq!((&back.name, &back.files), (&"tide".to_owned(), &tide().files));
        assert_eq!(card["metadata"]["clotho"]["model"], "x");
        assert!(remove(&mut card) && !remove(&mut card) && read(&card).is_none());
        let rules = json!({"files": {"plugin.toml": "id = \"sea\""}});
        card["metadata"]["extensions"] = json!({"clotho": {"rules": rules}, "odd": 2});
        assert_eq!(read(&card).unwrap().unwrap().name, "sea", "as it came in");
        put(&mut card, &tide()).unwrap();
        assert_eq!(read(&card).unwrap().unwrap().name, "tide", "in its place");
        assert!(remove(&mut card) && read(&card).is_none());
        assert_eq!(card["metadata"]["extensions"], json!({"clotho": {}, "odd": 2}));
        card["metadata"].as_object_mut().unwrap().remove("extensions");
        assert_eq!(card["metadata"], json!({"clotho": {"model": "x"}, "odd": 1}));
    }

    /// A card comes from strangers: whatever stands there is read or refused, and no path leads out of a folder.
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
        install(temp.path(), &tide()).unwrap();
        assert_eq!(PluginSource::read(&temp.path().join("tide")).unwrap().files, tide().files);
        let names: Vec<_> = std::fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["tide"], "nothing lies about");
        for name in ["", "..", ".x", "a/b", "a\\b"] {
            assert!(install(temp.path(), &PluginSource { name: name.to_owned(), ..tide() }).is_err(), "{name}");
        }
    }
}
