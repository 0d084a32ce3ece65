//! Translates Rhai's errors for plugin authors: the place in the source file, the call stack and, if possible, what to
//! write instead.

use rhai::{Dynamic, EvalAltResult, LexError, ParseError, ParseErrorType, Position};

use super::call::HookCall;
use super::convert;
use super::error::{ScriptError, ScriptErrorKind, ScriptFrame};
use super::foreign_syntax;
use super::host_fault::HostFault;
use super::limits::{ScriptLimit, ScriptLimits, ScriptStop};
use super::manifest::Manifest;
use super::plain_messages;
use super::script::ScriptFiles;
use super::script_error_detail::ScriptErrorDetail;
use super::script_functions::script_functions;
use super::suggest::{NameHint, name_hint};

/// Explains errors of one plugin.
pub(super) struct ErrorExplainer<'a> {
    pub(super) manifest: &'a Manifest,
    pub(super) scripts: &'a ScriptFiles,
}

/// Kind and detail of the innermost error.
struct ErrorCause {
    kind: ScriptErrorKind,
    limit: Option<ScriptLimit>,
    detail: ScriptErrorDetail,
}

impl ErrorExplainer<'_> {
    /// Explains the error of a failed call.
    pub(super) fn call_error(&self, call: &HookCall, error: &EvalAltResult) -> ScriptError {
        let mut script_error = self.error(&self.manifest.entry, &call.function(), error);
        self.set_call_context(call, &mut script_error);
        script_error
    }

    /// Explains an invalid return value, or a failure of the host.
    pub(super) fn call_fault(&self, call: &HookCall, fault: &HostFault) -> ScriptError {
        let mut error = self.error_without_location(fault.kind, fault.message.clone());
        error.limit = fault.limit;
        error.file = Some(self.manifest.entry.clone());
        self.set_call_context(call, &mut error);
        error
    }

    fn set_call_context(&self, call: &HookCall, error: &mut ScriptError) {
        error.hook = Some(call.function().into_owned());
        if !call.node.id.is_empty() {
            error.node = Some(call.node.id.clone());
            error.turn = Some(call.node.turn);
        }
    }

    /// Explains why a file does not parse.
    pub(super) fn parse_error(&self, path: &str, error: &ParseError) -> Box<ScriptError> {
        let cause = parse_cause(error.err_type(), &self.manifest.limits);
        let mut script_error = self.located(cause, path, error.position());
        if let Some(hint) = self.foreign_syntax_hint(path, error) {
            script_error.message = format!("{}; {hint}", script_error.message);
            script_error.args.insert("instead".to_owned(), hint.into());
        }
        Box::new(script_error)
    }

    /// Returns what to write instead of another language's syntax.
    fn foreign_syntax_hint(&self, path: &str, error: &ParseError) -> Option<&'static str> {
        let line = || {
            let at = error.position().line()?.checked_sub(1)?;
            self.scripts.get(path)?.text.lines().nth(at)
        };
        match error.err_type() {
            ParseErrorType::BadInput(LexError::MalformedChar(_)) => Some(foreign_syntax::QUOTES_HINT),
            ParseErrorType::VariableUndefined(name) => foreign_syntax::hint_for_line(name),
            ParseErrorType::ExprTooDeep | ParseErrorType::TooManyFunctions | ParseErrorType::LiteralTooLarge(..) => {
                None
            }
            _ => foreign_syntax::hint_for_line(line()?),
        }
    }

    /// Explains why a module cannot be evaluated.
    pub(super) fn load_error(&self, path: &str, error: &EvalAltResult) -> Box<ScriptError> {
        Box::new(self.error(path, "", error))
    }

    /// Creates an error about a whole function.
    pub(super) fn error_in_function(&self, path: &str, name: &str, detail: ScriptErrorDetail) -> Box<ScriptError> {
        let text = self.scripts.get(path).map_or("", |script| script.text.as_str());
        let wanted = format!("fn {name}(");
        let line = text.lines().position(|line| line.contains(&wanted));
        let line = line.and_then(|at| u32::try_from(at + 1).ok());
        let error = self.error_without_location(ScriptErrorKind::Parse, detail);
        Box::new(error.with_location(path, line, None, Some(text)))
    }

    /// Creates an error at a position of a file.
    pub(super) fn error_at(
        &self,
        kind: ScriptErrorKind,
        path: &str,
        position: Position,
        detail: ScriptErrorDetail,
    ) -> ScriptError {
        self.located(ErrorCause { kind, limit: None, detail }, path, position)
    }

    fn error_without_location(&self, kind: ScriptErrorKind, detail: impl Into<ScriptErrorDetail>) -> ScriptError {
        ScriptError::new(&self.manifest.id, &self.manifest.version.to_string(), kind, detail)
    }

    fn located(&self, cause: ErrorCause, path: &str, position: Position) -> ScriptError {
        let mut error = self.error_without_location(cause.kind, cause.detail);
        error.limit = cause.limit;
        let source = self.scripts.get(path).map(|script| script.text.as_str());
        let (line, column) = self.source_position(path, position);
        error.with_location(path, line, column, source)
    }

    /// Returns line and column in the original text, before interpolation was rewritten.
    pub(super) fn source_position(&self, path: &str, position: Position) -> (Option<u32>, Option<u32>) {
        let (line, column) = (position.line(), position.position());
        let column = match (self.scripts.get(path), line, column) {
            (Some(script), Some(line), Some(column)) => Some(script.rewritten.shifts.original_column(line, column)),
            _ => column,
        };
        let number = |n: Option<usize>| n.and_then(|n| u32::try_from(n).ok());
        (number(line), number(column))
    }

    fn frame(&self, function: &str, file: &str, position: Position) -> ScriptFrame {
        let (line, column) = self.source_position(file, position);
        ScriptFrame { function: function.to_owned(), file: file.to_owned(), line, column }
    }

    /// Walks from the outermost error to its cause and records each call on the way.
    fn error(&self, entry: &str, outermost: &str, error: &EvalAltResult) -> ScriptError {
        let mut file = entry.to_owned();
        let mut function = outermost.to_owned();
        let mut stack = Vec::new();
        let mut inner = error;
        loop {
            match inner {
                EvalAltResult::ErrorInFunctionCall(name, source, cause, position) => {
                    if !function.is_empty() {
                        stack.push(self.frame(&function, &file, *position));
                    }
                    function.clone_from(name);
                    if !source.is_empty() {
                        file.clone_from(source);
                    }
                    inner = cause;
                }
                EvalAltResult::ErrorInModule(name, cause, _) => {
                    if !name.is_empty() {
                        file.clone_from(name);
                    }
                    inner = cause;
                }
                _ => break,
            }
        }
        let mut script_error = self.located(self.cause(inner), &file, inner.position());
        stack.reverse();
        script_error.stack = stack;
        script_error
    }

    fn cause(&self, error: &EvalAltResult) -> ErrorCause {
        let limits = &self.manifest.limits;
        let runtime = |detail: ScriptErrorDetail| ErrorCause { kind: ScriptErrorKind::Runtime, limit: None, detail };
        let over = |limit: ScriptLimit| ErrorCause {
            kind: ScriptErrorKind::Limit,
            limit: Some(limit),
            detail: limit_detail(limit, limits),
        };
        match error {
            EvalAltResult::ErrorParsing(what, _) => parse_cause(what, limits),
            EvalAltResult::ErrorTerminated(token, _) => match token.read_lock::<ScriptStop>().map(|stop| *stop) {
                Some(ScriptStop::Limit(limit)) => over(limit),
                Some(ScriptStop::Refused) => runtime(ScriptErrorDetail::Refused {}),
                None => runtime(ScriptErrorDetail::Stopped {}),
            },
            EvalAltResult::ErrorTooManyOperations(_) => over(ScriptLimit::Operations),
            EvalAltResult::ErrorStackOverflow(_) => over(ScriptLimit::CallLevels),
            EvalAltResult::ErrorTooManyVariables(_) => over(ScriptLimit::Variables),
            EvalAltResult::ErrorTooManyModules(_) => over(ScriptLimit::Modules),
            EvalAltResult::ErrorDataTooLarge(what, _) => ErrorCause {
                kind: ScriptErrorKind::Limit,
                limit: Some(ScriptLimit::Size),
                detail: ScriptErrorDetail::SizeLimitOf {
                    kib: limits.string >> 10,
                    list: limits.array,
                    map: limits.map,
                    what: what.to_lowercase(),
                },
            },
            EvalAltResult::ErrorRuntime(value, _) => thrown_cause(value),
            EvalAltResult::ErrorFunctionNotFound(signature, _) => runtime(self.unknown_function(signature)),
            EvalAltResult::ErrorPropertyNotFound(name, _) => {
                let hint = foreign_syntax::hint_for_name(name).unwrap_or(NameHint::None);
                runtime(ScriptErrorDetail::UnknownKey { name: name.clone(), hint })
            }
            EvalAltResult::ErrorIndexNotFound(..) => runtime(ScriptErrorDetail::UnknownIndex {}),
            EvalAltResult::ErrorDotExpr(text, _) => runtime(property_detail(text)),
            EvalAltResult::ErrorModuleNotFound(path, _) => runtime(self.missing_file(path)),
            EvalAltResult::ErrorMismatchDataType(..)
            | EvalAltResult::ErrorMismatchOutputType(..)
            | EvalAltResult::ErrorIndexingType(..) => {
                runtime(plain_messages::plain_types(&strip_position(error)).into())
            }
            other => runtime(strip_position(other).into()),
        }
    }

    /// Returns what is wrong with an `import` of a missing file.
    pub(super) fn missing_file(&self, path: &str) -> ScriptErrorDetail {
        let path = path.trim_end_matches(".rhai");
        let files = self.scripts.keys().map(|file| file.trim_end_matches(".rhai"));
        ScriptErrorDetail::ImportMissing { file: format!("{path}.rhai"), hint: name_hint(path, files) }
    }

    /// Returns what is wrong with a call of an unknown function, or with wrong arguments, with plain type names and the
    /// nearest known name.
    fn unknown_function(&self, signature: &str) -> ScriptErrorDetail {
        let name = signature.split([' ', '(']).next().unwrap_or(signature);
        let own: Vec<&str> = self.functions();
        let given = plain_messages::plain_types(signature.strip_prefix(name).unwrap_or_default().trim());
        let same: Vec<&str> = script_functions()
            .iter()
            .filter(|function| function.name == name && !function.signature.is_empty())
            .map(|function| function.signature.as_str())
            .collect();
        let called = name.to_owned();
        if !same.is_empty() {
            return ScriptErrorDetail::OtherSignature { name: called, given, signatures: same.join(", ") };
        }
        if script_functions().iter().any(|function| function.name == name) || own.contains(&name) {
            return ScriptErrorDetail::WrongArguments { name: called, given };
        }
        let names = script_functions().iter().map(|function| function.name.as_str()).chain(own);
        let hint = foreign_syntax::hint_for_name(name).unwrap_or_else(|| name_hint(name, names));
        ScriptErrorDetail::UnknownFunction { name: called, hint }
    }

    /// Finds the names of functions that the plugin's files define, by text.
    fn functions(&self) -> Vec<&str> {
        let lines = self.scripts.values().flat_map(|script| script.text.lines());
        let names = lines.filter_map(|line| {
            let rest = line.trim_start().trim_start_matches("private ").strip_prefix("fn ")?;
            rest.split('(').next().map(str::trim)
        });
        names.collect()
    }
}

/// Explains the value of a `throw`.
fn thrown_cause(value: &Dynamic) -> ErrorCause {
    if let Some(fault) = value.read_lock::<HostFault>() {
        return ErrorCause { kind: fault.kind, limit: fault.limit, detail: fault.message.clone().into() };
    }
    let short = |text: &str| text.chars().take(1_000).collect::<String>();
    let detail = match value.as_immutable_string_ref() {
        Ok(text) => ScriptErrorDetail::from(short(text.as_str())),
        Err(_) if value.is_unit() => ScriptErrorDetail::ThrewError {},
        Err(_) => {
            let json = convert::from_script(value, 8, &mut convert::ByteBudget::new(2_000));
            let value = json.map_or_else(|_| "a value".to_owned(), |json| short(&json.to_string()));
            ScriptErrorDetail::ThrewValue { value }
        }
    };
    ErrorCause { kind: ScriptErrorKind::Runtime, limit: None, detail }
}

/// Returns what is wrong with a property that is missing or cannot be set.
fn property_detail(text: &str) -> ScriptErrorDetail {
    let quoted =
        |before: &str| text.split_once(before).and_then(|(_, rest)| rest.split_once('\'')).map(|(name, _)| name);
    let properties = ["text", "role", "command", "args", "config", "user", "char", "node", "language"];
    match (quoted("Unknown property '"), quoted("No writable property '")) {
        (Some(name), _) => {
            let hint = foreign_syntax::hint_for_name(name).unwrap_or_else(|| name_hint(name, properties));
            ScriptErrorDetail::UnknownProperty { name: name.to_owned(), hint }
        }
        (None, Some(name)) => ScriptErrorDetail::ReadOnlyProperty { name: name.to_owned() },
        (None, None) => text.to_owned().into(),
    }
}

/// Returns Rhai's own message without the position at its end, which is shown in front already.
fn strip_position(error: &EvalAltResult) -> String {
    let text = error.to_string();
    let text = text.split(" (line ").next().unwrap_or_default();
    let text = text.split(" @ '").next().unwrap_or_default();
    text.chars().take(1_000).collect()
}

fn parse_cause(what: &ParseErrorType, limits: &ScriptLimits) -> ErrorCause {
    let parse = |detail: ScriptErrorDetail| ErrorCause { kind: ScriptErrorKind::Parse, limit: None, detail };
    let too_large =
        |detail: ScriptErrorDetail| ErrorCause { kind: ScriptErrorKind::Limit, limit: Some(ScriptLimit::Size), detail };
    match what {
        ParseErrorType::VariableUndefined(name) => parse(ScriptErrorDetail::UnknownVariable { name: name.clone() }),
        ParseErrorType::MissingToken(token, place) => {
            parse(ScriptErrorDetail::MissingToken { token: token.clone(), place: place.clone() })
        }
        ParseErrorType::BadInput(LexError::ImproperSymbol(word, _)) | ParseErrorType::Reserved(word)
            if word == "curry" || word == "eval" =>
        {
            parse(ScriptErrorDetail::DisabledWord { word: word.clone() })
        }
        ParseErrorType::Reserved(word) => parse(ScriptErrorDetail::ReservedWord { word: word.clone() }),
        ParseErrorType::ExprTooDeep => too_large(ScriptErrorDetail::ExpressionDepthLimit {
            most: limits.expr_depth,
            inside: limits.function_expr_depth,
        }),
        ParseErrorType::LiteralTooLarge(..) | ParseErrorType::TooManyFunctions => {
            too_large(lower_first(&what.to_string()).into())
        }
        other => parse(lower_first(&other.to_string()).into()),
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

fn limit_detail(limit: ScriptLimit, limits: &ScriptLimits) -> ScriptErrorDetail {
    match limit {
        ScriptLimit::Operations => ScriptErrorDetail::OperationLimit { most: limits.operations },
        ScriptLimit::Deadline => {
            let milliseconds = u64::try_from(limits.deadline.as_millis()).unwrap_or(u64::MAX);
            ScriptErrorDetail::TimeLimit { milliseconds }
        }
        ScriptLimit::Heap => ScriptErrorDetail::MemoryLimit { mib: limits.heap >> 20 },
        ScriptLimit::Size => {
            ScriptErrorDetail::SizeLimit { kib: limits.string >> 10, list: limits.array, map: limits.map }
        }
        ScriptLimit::CallLevels => ScriptErrorDetail::CallDepthLimit { most: limits.call_levels },
        ScriptLimit::Variables => ScriptErrorDetail::VariableLimit { most: limits.variables },
        ScriptLimit::Modules => ScriptErrorDetail::ImportLimit { most: limits.modules },
        ScriptLimit::Regex => ScriptErrorDetail::RegexLimit {},
        ScriptLimit::Result => ScriptErrorDetail::ResultLimit {},
        ScriptLimit::Chatter => ScriptErrorDetail::OutputLimit {},
    }
}
