//! The plugin editor: the reference of the script API, and test results.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::records::ScriptErrorSchema;
use super::script_errors::{script_error_json, warnings};
use clotho_plugin::testing::{CaseReport, PluginTestFailure, PluginTestReport};
use clotho_plugin::{Hook, LoadedPlugin, ScriptError, TOOL_PREFIX, reference};

/// The reference of the script API.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PluginReference)]
pub struct PluginReferenceResponse {
    /// Functions that a script may define.
    pub hooks: Vec<PluginReferenceHook>,
    /// Functions and properties that scripts can use, grouped by topic.
    pub functions: Vec<PluginReferenceFunction>,
    /// Names that the script language itself defines.
    pub language: Vec<String>,
}

/// A function that a script may define.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginReferenceHook {
    /// Name of the hook; for tools a prefix, followed by the tool's name.
    pub name: &'static str,
    /// Signature as written in a script.
    pub signature: String,
    /// When and why the hook is called.
    pub description: &'static str,
    /// Whether the hook may write to the state and roll dice.
    pub writes: bool,
}

/// A function or property that scripts can use.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginReferenceFunction {
    /// Name without arguments.
    pub name: String,
    /// Whether it belongs to `ctx`.
    pub is_of_ctx: bool,
    /// Whether it is a property, read without parentheses.
    pub is_property: bool,
    /// Signature with argument types.
    pub signature: String,
    /// Return type; empty for none.
    pub result: String,
    /// Topic of the function.
    pub group: &'static str,
    /// What the function does.
    pub description: String,
}

impl PluginReferenceResponse {
    /// Returns the complete reference.
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

/// The test results of a plugin.
#[derive(Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PluginTested)]
pub struct PluginTestResponse {
    /// The test cases, sorted by file name.
    pub cases: Vec<PluginTestCaseResponse>,
    /// Number of cases that were not run because the time limit was reached.
    pub left: usize,
    /// Probable mistakes in the plugin that do not prevent it from running.
    #[schema(value_type = Vec<ScriptErrorSchema>)]
    pub warnings: Vec<Value>,
    /// Why the code cannot be loaded; null otherwise.
    #[schema(required, value_type = Option<ScriptErrorSchema>)]
    pub error: Option<Value>,
}

/// The result of one test case.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginTestCaseResponse {
    /// File of the case in the plugin folder.
    pub file: String,
    /// Whether all expectations are met. A case without expectations does not pass.
    pub is_passed: bool,
    /// Whether the case has expectations.
    pub expects: bool,
    /// Unmet expectations and errors.
    pub failures: Vec<PluginTestFailureResponse>,
    /// Probable mistakes that do not fail the case.
    pub warnings: Vec<String>,
    /// Interpreter steps; null if the case could not run.
    #[schema(required)]
    pub steps: Option<u64>,
    /// Number of proposed operations; null if the case could not run.
    #[schema(required)]
    pub operations: Option<usize>,
}

/// One unmet expectation or error.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PluginTestFailureResponse {
    /// The compared key of `[expect]`; without a comparison, the whole message.
    pub what: String,
    /// Line of the expectation in the case file, from 1.
    #[schema(required)]
    pub line: Option<u32>,
    /// Expected value; null without a comparison.
    #[schema(required)]
    pub expected: Option<String>,
    /// Actual value; null without a comparison.
    #[schema(required)]
    pub found: Option<String>,
    /// Error of the script or the case, with its position; null otherwise.
    #[schema(required, value_type = Option<ScriptErrorSchema>)]
    pub error: Option<Value>,
}

impl PluginTestResponse {
    /// Describes the results of a test run.
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
        Self { cases, left: report.untested, warnings: warnings(loaded), error: None }
    }
}

impl From<&ScriptError> for PluginTestResponse {
    /// Describes code that cannot be loaded.
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
