//! The workshop: what scripts can call, and what the tests of a plugin said.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::script_errors::{script_error_json, warnings};
use clotho_plugin::testing::{CaseReport, PluginTestFailure, PluginTestReport};
use clotho_plugin::{Hook, LoadedPlugin, ScriptError, TOOL_PREFIX, reference};

/// What scripts of plugins can call.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PluginReference)]
pub struct PluginReferenceResponse {
    /// The functions that a script may define.
    pub hooks: Vec<PluginReferenceHook>,
    /// What scripts call, by what it is about.
    pub functions: Vec<PluginReferenceFunction>,
    /// The names of what comes from the language itself.
    pub language: Vec<String>,
}

/// A function that a script may define.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginReferenceHook {
    /// Its name; that of a tool goes on with the tool's.
    pub name: &'static str,
    /// How it is written.
    pub signature: String,
    /// When it runs, and what for.
    pub description: &'static str,
    /// Whether it may write and roll.
    pub writes: bool,
}

/// A function or property that a script calls.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginReferenceFunction {
    /// Its name.
    pub name: String,
    /// Whether it is written behind `ctx.`.
    pub is_of_ctx: bool,
    /// Whether it is read without brackets.
    pub is_property: bool,
    /// How it is written, with the types of what it takes.
    pub signature: String,
    /// The type of what it gives; empty for nothing.
    pub result: String,
    /// What it is about.
    pub group: &'static str,
    /// What it does.
    pub description: String,
}

impl PluginReferenceResponse {
    /// All that scripts can call.
    pub fn all() -> Self {
        let hook = |hook: Hook| {
            let name = if hook == Hook::Tool { TOOL_PREFIX } else { hook.name() };
            let signature = format!("{name}({})", hook.parameters().join(", "));
            PluginReferenceHook { name, signature, description: hook.description(), writes: hook.may_write() }
        };
        let function = |item: reference::ReferenceItem| {
            let reference::ReferenceItem { name, is_of_ctx, is_property, signature, result, group, doc } = item;
            PluginReferenceFunction { name, is_of_ctx, is_property, signature, result, group, description: doc }
        };
        Self {
            hooks: Hook::ALL.into_iter().chain([Hook::Tool]).map(hook).collect(),
            functions: reference::items().into_iter().map(function).collect(),
            language: reference::language(),
        }
    }
}

/// What the tests of a plugin said.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PluginTested)]
pub struct PluginTestResponse {
    /// The cases, by the names of their files.
    pub cases: Vec<PluginTestCaseResponse>,
    /// How many more there are that were not run: together they take too long.
    pub left: usize,
    /// What is probably a mistake in the plugin, though it runs.
    #[schema(value_type = Vec<Object>)]
    pub warnings: Vec<Value>,
    /// Why the code does not even load.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
}

/// What one case said.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginTestCaseResponse {
    /// Its file in the plugin's folder.
    pub file: String,
    /// Whether all is as it expects; one that expects nothing proves nothing and has not passed.
    pub is_passed: bool,
    /// Whether it says what is expected.
    pub expects: bool,
    /// What is not as expected.
    pub failures: Vec<PluginTestFailureResponse>,
    /// What is probably a mistake though nothing differs.
    pub warnings: Vec<String>,
    /// Steps of the interpreter; null if it could not be run.
    pub steps: Option<u64>,
    /// How many operations its hook proposed; null if it could not be run.
    pub operations: Option<usize>,
}

/// One thing that is not as expected.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginTestFailureResponse {
    /// What is compared, as `[expect]` names it; or, where nothing is compared, the whole of what is wrong.
    pub what: String,
    /// The line of the case, counted from 1, that says what is expected.
    pub line: Option<u32>,
    /// What was expected; null where nothing is compared.
    pub expected: Option<String>,
    /// What came; null where nothing is compared.
    pub found: Option<String>,
    /// What the script or the case stumbled over, with its place.
    #[schema(value_type = Option<Object>)]
    pub error: Option<Value>,
}

impl PluginTestResponse {
    /// What came of it.
    pub fn new(loaded: &LoadedPlugin, report: &PluginTestReport) -> Self {
        let case = |case: &CaseReport| {
            let text = loaded.source().text(&case.file).unwrap_or_default();
            let outcome = case.outcome.as_ref();
            PluginTestCaseResponse {
                file: case.file.clone(),
                is_passed: case.passed(),
                expects: case.expects,
                failures: case.failures.iter().map(|failure| PluginTestFailureResponse::new(failure, text)).collect(),
                warnings: case.warnings.clone(),
                steps: outcome.map(|outcome| outcome.usage.operations),
                operations: outcome.map(|outcome| outcome.operations.len()),
            }
        };
        let cases = report.cases.iter().map(case).collect();
        Self { cases, left: report.left, warnings: warnings(loaded), error: None }
    }
}

impl From<&ScriptError> for PluginTestResponse {
    /// The code does not even load.
    fn from(error: &ScriptError) -> Self {
        Self { error: script_error_json(error), ..Self::default() }
    }
}

impl PluginTestFailureResponse {
    fn new(failure: &PluginTestFailure, text: &str) -> Self {
        let (expected, found) = failure.sides.clone().unzip();
        let error = failure.error.as_deref();
        let what = error.map_or_else(|| failure.what.clone(), |error| error.message.clone());
        Self { what, line: failure.line(text), expected, found, error: error.and_then(script_error_json) }
    }
}
