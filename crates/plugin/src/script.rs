//! Script files, in the original text and compiled.

use std::collections::BTreeMap;
use std::sync::Arc;

use rhai::{AST, ASTNode, Engine, ParseError, ParseErrorType, Position, Stmt};

use super::interpolate::{self, RewrittenScript};

/// The script files of a plugin, by path.
pub(super) type ScriptFiles = BTreeMap<String, Arc<ScriptFile>>;

/// The compiled script files of a plugin, by path.
pub(super) type ScriptAsts = BTreeMap<String, AST>;

/// One script file: its original text and the text to compile.
#[derive(Debug)]
pub(super) struct ScriptFile {
    pub(super) text: String,
    pub(super) rewritten: RewrittenScript,
}

impl ScriptFile {
    pub(super) fn new(engine: &Engine, text: &str) -> Self {
        Self { text: text.to_owned(), rewritten: interpolate::rewrite(engine, text) }
    }
}

/// Compiles one file of a plugin.
pub(super) fn compile(engine: &Engine, path: &str, script: &ScriptFile) -> Result<AST, ParseError> {
    let mut ast = engine.compile(&script.rewritten.text)?;
    ast.set_source(path);
    let taken = ast.iter_functions().any(|function| function.name == interpolate::FUNCTION);
    if taken {
        return Err(ParseError(ParseErrorType::Reserved(interpolate::FUNCTION.to_owned()).into(), Position::NONE));
    }
    Ok(ast)
}

/// A hook or tool to run: its parameter names and statements.
pub(super) struct FunctionBody {
    pub(super) parameters: Vec<String>,
    pub(super) statements: Vec<Stmt>,
}

impl FunctionBody {
    /// Extracts the body of a function with these parameters.
    pub(super) fn from_ast(ast: &AST, function: &str, parameters: &[&str]) -> Self {
        let mut alone = ast.clone_functions_only();
        alone.retain_functions(|_, _, name, params| name == function && params == parameters.len());
        let mut statements = Vec::new();
        alone.walk(&mut |path: &[ASTNode<'_>]| {
            if let [ASTNode::Stmt(statement)] = path {
                statements.push((*statement).clone());
            }
            true
        });
        Self { parameters: parameters.iter().map(|name| (*name).to_owned()).collect(), statements }
    }
}
