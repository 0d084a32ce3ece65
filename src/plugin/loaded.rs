//! A plugin that is ready to run: everything that can be checked without running a hook has been.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rhai::{AST, Engine};

use super::call::{Call, Hook, TOOL};
use super::check;
use super::engine;
use super::error::{ErrorKind, ScriptError};
use super::explain::Explain;
use super::kit::Kit;
use super::limits::Limits;
use super::manifest::{self, Manifest, Tool};
use super::modules::Modules;
use super::patterns::patterns;
use super::place;
use super::regexes::Regexes;
use super::schedule;
use super::script::{self, Body, Files, Script, Scripts};
use super::source::{Origin, Source};
use super::suggest::did_you_mean;
use super::thread::on_script_thread;
use crate::world::Schema;

/// The script file where the manifest names none.
const ENTRY: &str = "main.rhai";

/// A plugin that is ready to run. Immutable: a reload makes another one, and calls under way finish on theirs.
pub struct Loaded {
    kit: Arc<Kit>,
    origin: Origin,
    code_hash: String,
    schema: Option<Arc<Schema>>,
    hooks: BTreeMap<Hook, Body>,
    /// What the tools of its manifest do, by their names.
    tools: BTreeMap<String, Body>,
    ast: AST,
    files: Files,
    modules: Modules,
    source: Source,
    warnings: OnceLock<Vec<ScriptError>>,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Loaded({} {} {})", self.id(), self.manifest().version, self.code_hash)
    }
}

impl Loaded {
    /// Bytes of the longest message that it is asked to narrate an answer to: half of a text, so that a script has as much
    /// again for what it makes of it.
    pub fn longest_message(&self) -> usize {
        self.kit.manifest.limits.string / 2
    }

    /// Bytes of the longest message that it reads whole before it is sent.
    pub fn longest_input(&self) -> usize {
        self.kit.manifest.limits.string
    }

    /// Reads, compiles and checks a plugin; `server` are the limits that its manifest may lower.
    ///
    /// # Errors
    /// The first thing that keeps it from running: the manifest, the schema, a script that does not parse, a hook with
    /// the wrong parameters, a file over its size.
    pub fn load(source: Source, server: &Limits) -> Result<Self, Box<ScriptError>> {
        let name = source.name.clone();
        // Parsing goes as deep as a script does, and a parser that fails on strange text must not take the server along.
        on_script_thread(|| Self::load_here(source, server)).unwrap_or_else(|error| {
            Err(Box::new(ScriptError::new(
                &name,
                "",
                ErrorKind::Host,
                format!("the plugin could not be read: {error}"),
            )))
        })
    }

    fn load_here(source: Source, server: &Limits) -> Result<Self, Box<ScriptError>> {
        let manifest = read_manifest(&source, server)?;
        let scripts = scripts(&source, &manifest)?;
        let schema = schema(&source, &manifest)?;
        rules_fit(&source, &manifest, schema.as_deref())?;
        let explain = Explain { manifest: &manifest, scripts: &scripts };
        let files = compile(&explain)?;
        let ast = files.get(&manifest.entry).cloned().ok_or_else(|| missing(&manifest))?;
        let modules = Modules::new(&files);
        let engine = loading_engine(&manifest.limits, &modules);
        let evaluated = modules.load_all(&engine, &manifest.entry);
        evaluated.map_err(|(path, error)| explain.load_error(&path, &error))?;
        check::imports_at_the_top(&ast, &explain)?;
        let hooks = hooks(&ast, &explain)?;
        let tools = tools(&ast, &explain)?;
        let constant = files.values().flat_map(patterns).map(|(pattern, _)| pattern);
        let regexes = Regexes::new(constant, &manifest.limits);
        let kit = Arc::new(Kit { manifest, scripts, regexes });
        let (code_hash, origin) = (code_hash(&source), source.origin);
        let warnings = OnceLock::new();
        Ok(Self { kit, origin, code_hash, schema, hooks, tools, ast, files, modules, source, warnings })
    }

    /// The id.
    pub fn id(&self) -> &str {
        &self.kit.manifest.id
    }

    /// The manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.kit.manifest
    }

    /// Where it was found.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// blake3 over all files, in lower-case hex: grants are given to exactly this code.
    pub fn code_hash(&self) -> &str {
        &self.code_hash
    }

    /// The schema of its root, if it has one.
    pub fn schema(&self) -> Option<&Arc<Schema>> {
        self.schema.as_ref()
    }

    /// Whether the script defines a hook. If not, calling it costs nothing.
    pub fn has(&self, hook: Hook) -> bool {
        self.hooks.contains_key(&hook)
    }

    /// The hooks that the script defines.
    pub fn hooks(&self) -> impl Iterator<Item = Hook> + '_ {
        self.hooks.keys().copied()
    }

    /// What does not keep it from running but is probably a mistake: calls of functions that nobody defines, patterns
    /// that do not compile. Looking for that takes longer than loading, so it is done when somebody first asks; by the way the
    /// patterns that stand in the script are compiled.
    pub fn warnings(&self) -> &[ScriptError] {
        self.warnings.get_or_init(|| {
            on_script_thread(|| self.look_through()).unwrap_or_else(|error| {
                let message = format!("the plugin could not be looked through: {error}");
                vec![ScriptError::new(self.id(), &self.manifest().version.to_string(), ErrorKind::Host, message)]
            })
        })
    }

    fn look_through(&self) -> Vec<ScriptError> {
        let (schema, source, manifest) = (self.schema.as_deref(), &self.source, self.manifest());
        let mut warnings = check::look(&self.kit, &self.explain(), &self.files, schema);
        warnings.extend(left_out(source, manifest));
        warnings.extend(odd_rules(source, manifest, schema));
        warnings.extend(odd_schema(source, manifest, schema));
        warnings
    }

    /// Its files.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether its scripts look for the commands that models write into replies.
    pub fn reads_commands(&self) -> bool {
        self.mentions(&["mvu_commands", "UpdateVariable", "JSONPatch"])
    }

    /// Whether its scripts look for what lorebooks and greetings say that values begin with.
    pub fn reads_starts(&self) -> bool {
        self.mentions(&["mvu_start", "mvu_begin"])
    }

    fn mentions(&self, words: &[&str]) -> bool {
        let scripts = self.source.files.keys().filter(|path| path.ends_with(".rhai"));
        let mut texts = scripts.filter_map(|path| self.source.text(path));
        texts.any(|text| words.iter().any(|word| text.contains(word)))
    }

    /// What a call runs, if the script defines it.
    pub(super) fn body(&self, call: &Call) -> Option<&Body> {
        match &call.tool {
            Some(tool) => self.tools.get(&tool.name),
            None => self.hooks.get(&call.hook),
        }
    }

    pub(super) fn ast(&self) -> &AST {
        &self.ast
    }

    pub(super) fn modules(&self) -> Modules {
        self.modules.clone()
    }

    pub(super) fn kit(&self) -> &Arc<Kit> {
        &self.kit
    }

    pub(super) fn explain(&self) -> Explain<'_> {
        Explain::of(&self.kit)
    }
}

fn read_manifest(source: &Source, server: &Limits) -> Result<Manifest, Box<ScriptError>> {
    let fault = |message: &str| {
        let error = ScriptError::new(&source.name, "", ErrorKind::Parse, message);
        Box::new(error.at(manifest::FILE, None, None, None))
    };
    let text = source.text(manifest::FILE).ok_or_else(|| fault("the file is missing or not UTF-8"))?;
    let manifest = Manifest::parse(text, &source.name, server)?;
    if manifest.id == source.name {
        Ok(manifest)
    } else {
        Err(fault(&format!("the id is \"{}\" but the folder is called \"{}\"", manifest.id, source.name)))
    }
}

/// The script files, within their sizes. Those under `tests/` are not scripts of the plugin.
fn scripts(source: &Source, manifest: &Manifest) -> Result<Scripts, Box<ScriptError>> {
    let limits = &manifest.limits;
    let fault = |path: &str, kind, message: String| {
        let error = ScriptError::new(&manifest.id, &manifest.version.to_string(), kind, message);
        Box::new(error.at(path, None, None, None))
    };
    let mut scripts = Scripts::new();
    let engine = engine::base(limits);
    let mut total = 0;
    for (path, bytes) in source.files.iter().filter(|(path, _)| path.ends_with(".rhai") && !path.starts_with("tests/"))
    {
        total += bytes.len();
        if bytes.len() > limits.file || total > limits.sources {
            let (file, all) = (limits.file >> 10, limits.sources >> 10);
            let message = format!("a script file may have {file} KiB, all of them together {all} KiB");
            return Err(fault(path, ErrorKind::Limit, message));
        }
        let text =
            source.text(path).ok_or_else(|| fault(path, ErrorKind::Parse, "the file is not UTF-8".to_owned()))?;
        scripts.insert(path.clone(), Arc::new(Script::new(&engine, text)));
    }
    // A plugin of rules alone needs no script.
    if scripts.is_empty() && !manifest.rules.is_empty() && manifest.entry == ENTRY {
        scripts.insert(ENTRY.to_owned(), Arc::new(Script::new(&engine, "")));
    }
    Ok(scripts)
}

/// The rules of the manifest wait for and change what the schema knows.
fn rules_fit(source: &Source, manifest: &Manifest, schema: Option<&Schema>) -> Result<(), Box<ScriptError>> {
    let (rules, root) = (&manifest.rules, &manifest.state.root);
    let wrong = schema.and_then(|schema| {
        schedule::unknown_place(rules, root, schema).or_else(|| schedule::two_values(rules, root, schema))
    });
    wrong.map_or(Ok(()), |(span, message)| Err(Box::new(in_manifest(source, manifest, span.start, message))))
}

/// Files that are not read because they are links: what they lead to may lie outside of the folder.
fn left_out(source: &Source, manifest: &Manifest) -> Vec<ScriptError> {
    let one = |path: &String| {
        let message = "a symbolic link is left out: put the file itself into the folder";
        let error = ScriptError::new(&manifest.id, &manifest.version.to_string(), ErrorKind::Parse, message);
        error.at(path, None, None, None)
    };
    source.links.iter().map(one).collect()
}

/// What of the rules can be seen to come to nothing.
fn odd_rules(source: &Source, manifest: &Manifest, schema: Option<&Schema>) -> Vec<ScriptError> {
    let slips = schema.map(|schema| schedule::slips(&manifest.rules, &manifest.state.root, schema));
    let one = |(span, message): (std::ops::Range<usize>, String)| in_manifest(source, manifest, span.start, message);
    slips.into_iter().flatten().map(one).collect()
}

fn in_manifest(source: &Source, manifest: &Manifest, offset: usize, message: String) -> ScriptError {
    let text = source.text(manifest::FILE).unwrap_or_default();
    let (line, column) = manifest::place(text, offset);
    let error = ScriptError::new(&manifest.id, &manifest.version.to_string(), ErrorKind::Schema, message);
    error.at(manifest::FILE, line, column, Some(text))
}

fn missing(manifest: &Manifest) -> Box<ScriptError> {
    let version = manifest.version.to_string();
    let error = ScriptError::new(&manifest.id, &version, ErrorKind::Parse, "the file is missing");
    Box::new(error.at(&manifest.entry, None, None, None))
}

fn schema(source: &Source, manifest: &Manifest) -> Result<Option<Arc<Schema>>, Box<ScriptError>> {
    let Some(path) = &manifest.state.schema else { return Ok(None) };
    let missing = || Box::new(in_schema(source, manifest, path, None, "the file is missing or not UTF-8".to_owned()));
    let text = source.text(path).ok_or_else(missing)?;
    let json = serde_json::from_str(text).map_err(|error| {
        let lines: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
        let offset = lines.saturating_add(error.column().saturating_sub(1));
        Box::new(in_schema(source, manifest, path, Some(offset), format!("not JSON: {error}")))
    })?;
    let schema = Schema::parse(json).map_err(|error| {
        Box::new(in_schema(source, manifest, path, place::offset_of(text, &error.path), error.to_string()))
    })?;
    Ok(Some(Arc::new(schema)))
}

/// What of the schema cannot be meant so, though it can be used.
fn odd_schema(source: &Source, manifest: &Manifest, schema: Option<&Schema>) -> Vec<ScriptError> {
    let (Some(schema), Some(path)) = (schema, &manifest.state.schema) else { return Vec::new() };
    let text = source.text(path).unwrap_or_default();
    let twice = place::twice(text).into_iter().map(|(key, at)| {
        let message = format!("\"{key}\" stands here for the second time: what was said of it before is lost");
        (Some(at), message)
    });
    let advice = schema.advice().into_iter().map(|odd| (place::offset_of(text, &odd.path), odd.to_string()));
    twice.chain(advice).map(|(at, message)| in_schema(source, manifest, path, at, message)).collect()
}

fn in_schema(source: &Source, manifest: &Manifest, path: &str, offset: Option<usize>, message: String) -> ScriptError {
    let text = source.text(path);
    let (line, column) = offset.zip(text).map_or((None, None), |(offset, text)| manifest::place(text, offset));
    let error = ScriptError::new(&manifest.id, &manifest.version.to_string(), ErrorKind::Schema, message);
    error.at(path, line, column, text)
}

/// Compiles every script file.
fn compile(explain: &Explain<'_>) -> Result<Files, Box<ScriptError>> {
    let engine = engine::base(&explain.manifest.limits);
    let one = |(path, script): (&String, &Arc<Script>)| {
        let ast = script::compile(&engine, path, script).map_err(|error| explain.parse_error(path, &error))?;
        Ok((path.clone(), ast))
    };
    explain.scripts.iter().map(one).collect()
}

/// The engine of the loader: as for a call, with the time that a whole load may take instead of a call's.
fn loading_engine(limits: &Limits, modules: &Modules) -> Engine {
    let mut engine = engine::base(limits);
    engine.set_module_resolver(modules.clone());
    let watch = super::limits::Watch::start(&Limits { deadline: limits.deadline * 20, ..limits.clone() });
    engine.on_progress(move |operations| watch.progress(operations).map(rhai::Dynamic::from));
    engine
}

/// What the tools of the manifest do: for each a function of two values, the context and the arguments.
fn tools(ast: &AST, explain: &Explain<'_>) -> Result<BTreeMap<String, Body>, Box<ScriptError>> {
    let mut found = BTreeMap::new();
    for function in ast.iter_functions() {
        let Some(name) = function.name.strip_prefix(TOOL) else { continue };
        if !explain.manifest.tools.iter().any(|tool| tool.name == name) {
            let known = explain.manifest.tools.iter().map(|tool| tool.name.as_str());
            let hint = did_you_mean(name, known);
            let message =
                format!("the manifest offers no tool \"{name}\"{hint}: write a [[tool]] with this name there");
            return Err(explain.at_function(&explain.manifest.entry, function.name, message));
        }
        let parameters @ [_, _] = function.params.as_slice() else {
            let (name, given) = (function.name, function.params.join(", "));
            let message =
                format!("a tool is called with two values: write \"fn {name}(ctx, args)\", not \"fn {name}({given})\"");
            return Err(explain.at_function(&explain.manifest.entry, name, message));
        };
        found.insert(name.to_owned(), Body::of(ast, function.name, parameters));
    }
    match explain.manifest.tools.iter().find(|tool| !found.contains_key(&tool.name)) {
        None => Ok(found),
        Some(Tool { name, .. }) => {
            let message =
                format!("the manifest offers the tool \"{name}\", but there is no \"fn {TOOL}{name}(ctx, args)\"");
            let (id, version) = (&explain.manifest.id, explain.manifest.version.to_string());
            let error = ScriptError::new(id, &version, ErrorKind::Parse, message);
            Err(Box::new(error.at(&explain.manifest.entry, None, None, None)))
        }
    }
}

/// The hooks that a script defines, each with exactly its parameters.
fn hooks(ast: &AST, explain: &Explain<'_>) -> Result<BTreeMap<Hook, Body>, Box<ScriptError>> {
    let mut found = BTreeMap::new();
    for function in ast.iter_functions() {
        let Some(hook) = Hook::from_name(function.name) else { continue };
        if function.params.len() != hook.parameters().len() {
            let (name, given, meant) = (function.name, function.params.join(", "), hook.parameters().join(", "));
            let values = if hook.parameters().len() == 1 { "one value" } else { "two values" };
            let message =
                format!("the hook is called with {values}: write \"fn {name}({meant})\", not \"fn {name}({given})\"");
            return Err(explain.at_function(&explain.manifest.entry, name, message));
        }
        found.insert(hook, Body::of(ast, function.name, &function.params));
    }
    Ok(found)
}

fn code_hash(source: &Source) -> String {
    let mut hasher = blake3::Hasher::new();
    for (path, bytes) in source.files.iter().filter(|(path, _)| acts(path)) {
        for part in [path.as_bytes(), bytes] {
            hasher.update(&u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes()).update(part);
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// Whether a file may change what the plugin does: not what people read, and not its tests.
fn acts(path: &str) -> bool {
    let is_text = Path::new(path).extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
    !is_text && !path.starts_with("tests/")
}
