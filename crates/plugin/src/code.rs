//! The compiled scripts of a plugin. Compiling 300 KB of script takes some 18 ms and ten times its size in memory.
//! Bundled plugins are therefore compiled at first use ([`super::LoadedPlugin::load_lazily`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rhai::{AST, Engine};

use super::call::{Hook, HookCall, TOOL_PREFIX};
use super::check;
use super::engine;
use super::error::{ScriptError, ScriptErrorKind};
use super::explain::ErrorExplainer;
use super::limits::ScriptLimits;
use super::manifest::{Manifest, PluginTool};
use super::modules::ModuleCache;
use super::patterns::literal_patterns;
use super::regexes::RegexCache;
use super::runtime::PluginRuntime;
use super::script::{self, FunctionBody, ScriptAsts, ScriptFile, ScriptFiles};
use super::script_error_detail::ScriptErrorDetail;
use super::source::PluginSource;
use super::suggest::name_hint;

/// The script file if the manifest names none.
const ENTRY: &str = "main.rhai";

/// The compiled scripts of one plugin.
pub(super) struct PluginCode {
    pub(super) runtime: Arc<PluginRuntime>,
    pub(super) ast: AST,
    pub(super) files: ScriptAsts,
    pub(super) modules: ModuleCache,
    hooks: BTreeMap<Hook, FunctionBody>,
    /// The functions of the manifest's tools, by tool name.
    tools: BTreeMap<String, FunctionBody>,
}

impl PluginCode {
    /// Compiles and checks the scripts of a plugin. Needs a thread with a script-sized stack, because parsing recurses
    /// as deep as a script does.
    ///
    /// # Errors
    /// Returns the first fault that prevents running: a file that is too large or does not parse, or a hook with wrong
    /// parameters.
    pub(super) fn compile(source: &PluginSource, manifest: &Arc<Manifest>) -> Result<Self, Box<ScriptError>> {
        let scripts = scripts(source, manifest)?;
        let explain = ErrorExplainer { manifest, scripts: &scripts };
        let files = compile(&explain)?;
        let ast = files.get(&manifest.entry).cloned().ok_or_else(|| missing_entry(manifest))?;
        let modules = ModuleCache::new(&files);
        let engine = loading_engine(&manifest.limits, &modules);
        let evaluated = modules.load_all(&engine, &manifest.entry);
        evaluated.map_err(|(path, error)| explain.load_error(&path, &error))?;
        check::check_entry_imports(&ast, &explain)?;
        let hooks = hooks(&ast, &explain)?;
        let tools = tools(&ast, &explain)?;
        let constant = files.values().flat_map(literal_patterns).map(|(pattern, _)| pattern);
        let regexes = RegexCache::new(constant, &manifest.limits);
        let kit = Arc::new(PluginRuntime { manifest: Arc::clone(manifest), scripts, regexes });
        Ok(Self { runtime: kit, ast, files, modules, hooks, tools })
    }

    /// Returns the hooks that the script defines.
    pub(super) fn hooks(&self) -> BTreeSet<Hook> {
        self.hooks.keys().copied().collect()
    }

    /// Returns the function that a call runs, if the script defines it.
    pub(super) fn body(&self, call: &HookCall) -> Option<&FunctionBody> {
        match &call.tool {
            Some(tool) => self.tools.get(&tool.name),
            None => self.hooks.get(&call.hook),
        }
    }
}

/// Finds the hooks of a script without parsing it: each must begin a line. All bundled scripts are written so.
pub(super) fn scan_hooks(script: &str) -> BTreeSet<Hook> {
    let names = script.lines().filter_map(|line| line.strip_prefix("fn ")?.split('(').next());
    names.filter_map(Hook::from_name).collect()
}

/// Reads the script files within their size limits. Files under `tests/` are not scripts of the plugin.
fn scripts(source: &PluginSource, manifest: &Manifest) -> Result<ScriptFiles, Box<ScriptError>> {
    let limits = &manifest.limits;
    let fault = |path: &str, kind, detail: ScriptErrorDetail| {
        let error = ScriptError::new(&manifest.id, &manifest.version.to_string(), kind, detail);
        Box::new(error.with_location(path, None, None, None))
    };
    let mut scripts = ScriptFiles::new();
    let engine = engine::base(limits);
    let mut total = 0;
    for (path, bytes) in source.files.iter().filter(|(path, _)| path.ends_with(".rhai") && !path.starts_with("tests/"))
    {
        total += bytes.len();
        if bytes.len() > limits.file || total > limits.sources {
            let (kib, total_kib) = (limits.file >> 10, limits.sources >> 10);
            return Err(fault(path, ScriptErrorKind::Limit, ScriptErrorDetail::FileTooLarge { kib, total_kib }));
        }
        let text =
            source.text(path).ok_or_else(|| fault(path, ScriptErrorKind::Parse, ScriptErrorDetail::FileNotUtf8 {}))?;
        scripts.insert(path.clone(), Arc::new(ScriptFile::new(&engine, text)));
    }
    // A plugin with only manifest rules needs no script.
    if scripts.is_empty() && !manifest.rules.is_empty() && manifest.entry == ENTRY {
        scripts.insert(ENTRY.to_owned(), Arc::new(ScriptFile::new(&engine, "")));
    }
    Ok(scripts)
}

fn missing_entry(manifest: &Manifest) -> Box<ScriptError> {
    let version = manifest.version.to_string();
    let error = ScriptError::new(&manifest.id, &version, ScriptErrorKind::Parse, ScriptErrorDetail::FileMissing {});
    Box::new(error.with_location(&manifest.entry, None, None, None))
}

/// Compiles every script file.
fn compile(explain: &ErrorExplainer<'_>) -> Result<ScriptAsts, Box<ScriptError>> {
    let engine = engine::base(&explain.manifest.limits);
    let one = |(path, script): (&String, &Arc<ScriptFile>)| {
        let ast = script::compile(&engine, path, script).map_err(|error| explain.parse_error(path, &error))?;
        Ok((path.clone(), ast))
    };
    explain.scripts.iter().map(one).collect()
}

/// Creates the engine of the loader. Its deadline is 20 times that of a call, because it covers a whole load.
fn loading_engine(limits: &ScriptLimits, modules: &ModuleCache) -> Engine {
    let mut engine = engine::base(limits);
    engine.set_module_resolver(modules.clone());
    let watch = super::limits::LimitMonitor::start(&ScriptLimits { deadline: limits.deadline * 20, ..limits.clone() });
    engine.on_progress(move |operations| watch.progress(operations).map(rhai::Dynamic::from));
    engine
}

/// Returns the functions of the manifest's tools. Each takes the context and the arguments.
fn tools(ast: &AST, explain: &ErrorExplainer<'_>) -> Result<BTreeMap<String, FunctionBody>, Box<ScriptError>> {
    let mut found = BTreeMap::new();
    for function in ast.iter_functions() {
        let Some(name) = function.name.strip_prefix(TOOL_PREFIX) else { continue };
        if !explain.manifest.tools.iter().any(|tool| tool.name == name) {
            let known = explain.manifest.tools.iter().map(|tool| tool.name.as_str());
            let detail = ScriptErrorDetail::ToolNotInManifest { name: name.to_owned(), hint: name_hint(name, known) };
            return Err(explain.error_in_function(&explain.manifest.entry, function.name, detail));
        }
        let parameters @ [_, _] = function.params.as_slice() else {
            let (name, given) = (function.name, function.params.join(", "));
            let detail = ScriptErrorDetail::ToolParameters { name: name.to_owned(), given };
            return Err(explain.error_in_function(&explain.manifest.entry, name, detail));
        };
        found.insert(name.to_owned(), FunctionBody::from_ast(ast, function.name, parameters));
    }
    match explain.manifest.tools.iter().find(|tool| !found.contains_key(&tool.name)) {
        None => Ok(found),
        Some(PluginTool { name, .. }) => {
            let function = format!("{TOOL_PREFIX}{name}");
            let detail = ScriptErrorDetail::ToolNotInScript { name: name.clone(), function };
            let (id, version) = (&explain.manifest.id, explain.manifest.version.to_string());
            let error = ScriptError::new(id, &version, ScriptErrorKind::Parse, detail);
            Err(Box::new(error.with_location(&explain.manifest.entry, None, None, None)))
        }
    }
}

/// Returns the hooks that a script defines, each with exactly its parameters.
fn hooks(ast: &AST, explain: &ErrorExplainer<'_>) -> Result<BTreeMap<Hook, FunctionBody>, Box<ScriptError>> {
    let mut found = BTreeMap::new();
    for function in ast.iter_functions() {
        let Some(hook) = Hook::from_name(function.name) else { continue };
        if function.params.len() != hook.parameters().len() {
            let detail = ScriptErrorDetail::HookParameters {
                name: function.name.to_owned(),
                count: hook.parameters().len(),
                expected: hook.parameters().join(", "),
                given: function.params.join(", "),
            };
            return Err(explain.error_in_function(&explain.manifest.entry, function.name, detail));
        }
        found.insert(hook, FunctionBody::from_ast(ast, function.name, &function.params));
    }
    Ok(found)
}
