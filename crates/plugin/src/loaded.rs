//! A plugin that is ready to run: everything that can be checked without running a hook is checked. `code.rs` has its
//! scripts.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::call::{Hook, HookCall};
use super::check;
use super::code::{self, PluginCode};
use super::error::{ScriptError, ScriptErrorKind};
use super::explain::ErrorExplainer;
use super::json_position;
use super::limits::ScriptLimits;
use super::manifest::{self, Manifest};
use super::manifest_rules;
use super::script::ScriptFiles;
use super::script_error_detail::ScriptErrorDetail;
use super::source::{PluginOrigin, PluginSource};
use super::thread::on_script_thread;
use clotho_core::world::Schema;

/// Empty scripts, for errors of a plugin that is not compiled yet.
static NO_SCRIPTS: ScriptFiles = ScriptFiles::new();

/// A plugin that is ready to run. It is immutable: a reload creates another one, and running calls finish on theirs.
pub struct LoadedPlugin {
    manifest: Arc<Manifest>,
    schema: Option<Arc<Schema>>,
    hooks: BTreeSet<Hook>,
    source: PluginSource,
    code_hash: OnceLock<String>,
    code: OnceLock<Result<PluginCode, Box<ScriptError>>>,
    warnings: OnceLock<Vec<ScriptError>>,
}

impl std::fmt::Debug for LoadedPlugin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Loaded({} {} {})", self.id(), self.manifest.version, self.code_hash())
    }
}

impl LoadedPlugin {
    /// Returns the bytes of the longest message that the plugin may be asked to narrate an answer to. It is half of a
    /// text's limit, so that a script has as much again for its result.
    pub fn longest_message(&self) -> usize {
        self.manifest.limits.string / 2
    }

    /// Returns the bytes of the longest input that the plugin reads whole before it is sent.
    pub fn longest_input(&self) -> usize {
        self.manifest.limits.string
    }

    /// Reads, compiles and checks a plugin. `server` holds the limits that its manifest may lower.
    ///
    /// # Errors
    /// Returns the first fault that prevents running: in the manifest or schema, a script that does not parse, a hook
    /// with wrong parameters, or a file that is too large.
    pub fn load(source: PluginSource, server: &ScriptLimits) -> Result<Self, Box<ScriptError>> {
        let name = source.name.clone();
        on_script_stack(&name, || {
            let read = Self::read(source, server)?;
            let code = PluginCode::compile(&read.source, &read.manifest)?;
            Ok(Self { hooks: code.hooks(), code: OnceLock::from(Ok(code)), ..read })
        })
    }

    /// Reads a bundled plugin. Its scripts are known to be valid. They are compiled at the first call, because they
    /// take more memory than a server without this plugin should spend.
    ///
    /// # Errors
    /// Returns the first fault in the manifest or the schema.
    pub fn load_lazily(source: PluginSource, server: &ScriptLimits) -> Result<Self, Box<ScriptError>> {
        let read = Self::read(source, server)?;
        let hooks = read.source.text(&read.manifest.entry).map(code::scan_hooks).unwrap_or_default();
        Ok(Self { hooks, warnings: OnceLock::from(Vec::new()), ..read })
    }

    /// Reads a plugin without compiling its scripts.
    fn read(source: PluginSource, server: &ScriptLimits) -> Result<Self, Box<ScriptError>> {
        let manifest = Arc::new(read_manifest(&source, server)?);
        let schema = schema(&source, &manifest)?;
        check_rules(&source, &manifest, schema.as_deref())?;
        Ok(Self {
            manifest,
            schema,
            hooks: BTreeSet::new(),
            source,
            code_hash: OnceLock::new(),
            code: OnceLock::new(),
            warnings: OnceLock::new(),
        })
    }

    /// Returns the plugin's id.
    pub fn id(&self) -> &str {
        &self.manifest.id
    }

    /// Returns the manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns where the plugin was found.
    pub fn origin(&self) -> PluginOrigin {
        self.source.origin
    }

    /// Returns the blake3 hash over all files that affect its behaviour, in lower-case hex. Grants are given to exactly
    /// this code.
    pub fn code_hash(&self) -> &str {
        self.code_hash.get_or_init(|| code_hash(&self.source))
    }

    /// Returns the schema of the plugin's root, if it has one.
    pub fn schema(&self) -> Option<&Arc<Schema>> {
        self.schema.as_ref()
    }

    /// Returns whether the script defines a hook. Calling a hook that it does not define costs nothing.
    pub fn has_hook(&self, hook: Hook) -> bool {
        self.hooks.contains(&hook)
    }

    /// Iterates over the hooks that the script defines.
    pub fn hooks(&self) -> impl Iterator<Item = Hook> + '_ {
        self.hooks.iter().copied()
    }

    /// Returns likely mistakes that do not prevent running, such as calls of unknown functions or invalid patterns. The
    /// check takes longer than loading, so it runs on first use. It also compiles the pattern literals of the scripts.
    pub fn warnings(&self) -> &[ScriptError] {
        self.warnings.get_or_init(|| {
            on_script_thread(|| self.find_warnings()).unwrap_or_else(|error| {
                let message = format!("the plugin folder could not be searched: {error}");
                vec![ScriptError::new(self.id(), &self.manifest().version.to_string(), ScriptErrorKind::Host, message)]
            })
        })
    }

    fn find_warnings(&self) -> Vec<ScriptError> {
        let (schema, source, manifest) = (self.schema.as_deref(), &self.source, self.manifest());
        let mut warnings = match self.code() {
            Ok(code) => check::check_scripts(&code.runtime, &self.explainer(), &code.files, schema),
            Err(error) => vec![*error],
        };
        warnings.extend(skipped_link_warnings(source, manifest));
        warnings.extend(rule_warnings(source, manifest, schema));
        warnings.extend(schema_warnings(source, manifest, schema));
        warnings
    }

    /// Returns the plugin's files.
    pub fn source(&self) -> &PluginSource {
        &self.source
    }

    /// Returns whether the scripts read the commands that models write into replies.
    pub fn reads_commands(&self) -> bool {
        self.mentions(&["mvu_commands", "UpdateVariable", "JSONPatch"])
    }

    /// Returns whether the scripts read initial values from lorebooks and greetings.
    pub fn reads_init_vars(&self) -> bool {
        self.mentions(&["mvu_start", "mvu_begin"])
    }

    fn mentions(&self, words: &[&str]) -> bool {
        let scripts = self.source.files.keys().filter(|path| path.ends_with(".rhai"));
        let mut texts = scripts.filter_map(|path| self.source.text(path));
        texts.any(|text| words.iter().any(|word| text.contains(word)))
    }

    /// Returns whether the plugin defines the function of a call.
    pub(super) fn defines_call(&self, call: &HookCall) -> bool {
        match &call.tool {
            Some(tool) => self.manifest.tools.iter().any(|known| known.name == tool.name),
            None => self.has_hook(call.hook),
        }
    }

    /// Returns the scripts, compiled on first use.
    ///
    /// # Errors
    /// Returns the compile error of a lazily loaded plugin. If no thread could be started, the error is not cached, and
    /// the next caller tries again.
    pub(super) fn code(&self) -> Result<&PluginCode, Box<ScriptError>> {
        let known = match self.code.get() {
            Some(known) => known,
            None => match on_script_stack(self.id(), || PluginCode::compile(&self.source, &self.manifest)) {
                Err(error) if error.kind == ScriptErrorKind::Host => return Err(error),
                compiled => self.code.get_or_init(|| compiled),
            },
        };
        known.as_ref().map_err(Clone::clone)
    }

    pub(super) fn explainer(&self) -> ErrorExplainer<'_> {
        let scripts = match self.code.get() {
            Some(Ok(code)) => &code.runtime.scripts,
            _ => &NO_SCRIPTS,
        };
        ErrorExplainer { manifest: &self.manifest, scripts }
    }
}

/// Runs `read` on a thread with a script-sized stack. Parsing recurses as deep as a script does, and a parser panic
/// must not end the server.
fn on_script_stack<T: Send>(
    name: &str,
    read: impl FnOnce() -> Result<T, Box<ScriptError>> + Send,
) -> Result<T, Box<ScriptError>> {
    on_script_thread(read).unwrap_or_else(|error| {
        let message = format!("the plugin could not be read: {error}");
        Err(Box::new(ScriptError::new(name, "", ScriptErrorKind::Host, message)))
    })
}

fn read_manifest(source: &PluginSource, server: &ScriptLimits) -> Result<Manifest, Box<ScriptError>> {
    let fault = |detail: ScriptErrorDetail| {
        let error = ScriptError::new(&source.name, "", ScriptErrorKind::Parse, detail);
        Box::new(error.with_location(manifest::MANIFEST_FILE, None, None, None))
    };
    let text = source.text(manifest::MANIFEST_FILE).ok_or_else(|| fault(ScriptErrorDetail::FileUnreadable {}))?;
    let manifest = Manifest::parse(text, &source.name, server)?;
    if manifest.id == source.name {
        Ok(manifest)
    } else {
        Err(fault(ScriptErrorDetail::OtherFolderName { id: manifest.id, folder: source.name.clone() }))
    }
}

/// Checks that the rules of the manifest refer only to declared values.
fn check_rules(source: &PluginSource, manifest: &Manifest, schema: Option<&Schema>) -> Result<(), Box<ScriptError>> {
    let (rules, root) = (&manifest.rules, &manifest.state.root);
    let wrong = schema.and_then(|schema| {
        manifest_rules::undeclared_path(rules, root, schema)
            .or_else(|| manifest_rules::ambiguous_comparison(rules, root, schema))
    });
    wrong.map_or(Ok(()), |(span, message)| Err(Box::new(error_in_manifest(source, manifest, span.start, message))))
}

/// Warns of symbolic links: they are not read, because their targets may lie outside the folder.
fn skipped_link_warnings(source: &PluginSource, manifest: &Manifest) -> Vec<ScriptError> {
    let one = |path: &String| {
        let (version, detail) = (manifest.version.to_string(), ScriptErrorDetail::LinkSkipped {});
        let error = ScriptError::new(&manifest.id, &version, ScriptErrorKind::Parse, detail);
        error.with_location(path, None, None, None)
    };
    source.links.iter().map(one).collect()
}

/// Warns of rules that can have no effect.
fn rule_warnings(source: &PluginSource, manifest: &Manifest, schema: Option<&Schema>) -> Vec<ScriptError> {
    let slips = schema.map(|schema| manifest_rules::rule_warnings(&manifest.rules, &manifest.state.root, schema));
    let one =
        |(span, message): (std::ops::Range<usize>, String)| error_in_manifest(source, manifest, span.start, message);
    slips.into_iter().flatten().map(one).collect()
}

fn error_in_manifest(source: &PluginSource, manifest: &Manifest, offset: usize, message: String) -> ScriptError {
    let text = source.text(manifest::MANIFEST_FILE).unwrap_or_default();
    let (line, column) = manifest::line_and_column(text, offset);
    let error = ScriptError::new(&manifest.id, &manifest.version.to_string(), ScriptErrorKind::Schema, message);
    error.with_location(manifest::MANIFEST_FILE, line, column, Some(text))
}

fn schema(source: &PluginSource, manifest: &Manifest) -> Result<Option<Arc<Schema>>, Box<ScriptError>> {
    let Some(path) = &manifest.state.schema else { return Ok(None) };
    let missing = || Box::new(error_in_schema(source, manifest, path, None, ScriptErrorDetail::FileUnreadable {}));
    let text = source.text(path).ok_or_else(missing)?;
    let json = serde_json::from_str(text).map_err(|error| {
        let lines: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let offset = lines.saturating_add(error.column().saturating_sub(1));
        let detail = ScriptErrorDetail::FileNotJson { error: error.to_string() };
        Box::new(error_in_schema(source, manifest, path, Some(offset), detail))
    })?;
    let schema = Schema::parse(json).map_err(|error| {
        Box::new(error_in_schema(
            source,
            manifest,
            path,
            json_position::offset_of(text, &error.path),
            error.to_string().into(),
        ))
    })?;
    Ok(Some(Arc::new(schema)))
}

/// Warns of usable but suspicious parts of the schema.
fn schema_warnings(source: &PluginSource, manifest: &Manifest, schema: Option<&Schema>) -> Vec<ScriptError> {
    let (Some(schema), Some(path)) = (schema, &manifest.state.schema) else { return Vec::new() };
    let text = source.text(path).unwrap_or_default();
    let twice = json_position::duplicate_keys(text)
        .into_iter()
        .map(|(key, at)| (Some(at), ScriptErrorDetail::KeyTwice { key }));
    let advice = schema
        .advice()
        .into_iter()
        .map(|odd| (json_position::offset_of(text, &odd.path), ScriptErrorDetail::from(odd.to_string())));
    twice.chain(advice).map(|(at, detail)| error_in_schema(source, manifest, path, at, detail)).collect()
}

fn error_in_schema(
    source: &PluginSource,
    manifest: &Manifest,
    path: &str,
    offset: Option<usize>,
    detail: ScriptErrorDetail,
) -> ScriptError {
    let text = source.text(path);
    let (line, column) =
        offset.zip(text).map_or((None, None), |(offset, text)| manifest::line_and_column(text, offset));
    let error = ScriptError::new(&manifest.id, &manifest.version.to_string(), ScriptErrorKind::Schema, detail);
    error.with_location(path, line, column, text)
}

fn code_hash(source: &PluginSource) -> String {
    let mut hasher = blake3::Hasher::new();
    for (path, bytes) in source.files.iter().filter(|(path, _)| affects_behavior(path)) {
        for part in [path.as_bytes(), bytes] {
            hasher.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes()).update(part);
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns whether a file can affect what the plugin does. Markdown files and tests cannot.
fn affects_behavior(path: &str) -> bool {
    let is_text = Path::new(path).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
    !is_text && !path.starts_with("tests/")
}
