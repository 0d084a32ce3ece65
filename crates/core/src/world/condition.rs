//! Conditions on variables: `affinity >= 20 and not combat.over`. The language has no parentheses, so parsing needs
//! no recursion; `and` binds before `or`. Lorebook entries and manifest rules use them, and schemas use them for
//! computed values and for visibility.

use serde_json::Value;

use crate::coded_messages;

/// The maximum length of a condition, in bytes.
const MAX_CONDITION_BYTES: usize = 1_000;

coded_messages! {
    /// Why a text is not a condition.
    pub enum ConditionError {
        /// The text is too long. `limit`: in bytes.
        #[error("a condition has at most {limit} bytes")]
        TooLong { limit: usize } = "condition_too_long",
        /// A quotation mark has no partner. `rest`: the text from there.
        #[error("a string is not closed: {rest}")]
        OpenString { rest: String } = "condition_open_string",
        /// A character means nothing here. `rest`: the text from there.
        #[error("this part cannot be read: {rest}")]
        UnknownPart { rest: String } = "condition_unknown_part",
        /// It has parentheses.
        #[error("a condition has no brackets: `and` binds before `or`, and `not` comes before one part")]
        Brackets {} = "condition_brackets",
        /// A part is neither a name nor a comparison.
        #[error("a condition has parts like `affinity >= 20`, joined by `and` and `or`")]
        NoComparison {} = "condition_no_comparison",
        /// A part of a name is empty.
        #[error("`{name}` is not a valid variable name")]
        InvalidName { name: String } = "condition_invalid_name",
        /// Two operators follow each other.
        #[error("two operators follow each other")]
        TwoOperators {} = "condition_two_operators",
        /// The JSON value is not a string.
        #[error("a condition must be a string like `affinity >= 20`")]
        NotText {} = "condition_not_text",
    }
}

/// A condition: a disjunction of conjunctions of terms.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition(Vec<Vec<ConditionTerm>>);

/// The path of a variable, written as `affinity`, `combat.hp` or `/combat/hp`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VariablePath {
    /// Whether the name begins with a slash. It is then resolved from the root, if that makes a difference.
    pub is_from_top: bool,
    pub keys: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
struct ConditionTerm {
    negated: bool,
    variable: VariablePath,
    operand: Option<(ComparisonOperator, Value)>,
    /// Whether the operand was written without quotes.
    is_bare: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComparisonOperator {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// A comparison of a variable with an operand.
#[derive(Debug, Clone, Copy)]
pub struct Comparison<'c> {
    pub variable: &'c VariablePath,
    /// `==`, `!=`, `<`, `<=`, `>` or `>=`.
    pub sign: &'static str,
    pub operand: &'c Value,
    /// Whether the operand was written without quotes.
    pub is_bare: bool,
}

const OPERATORS: [(&str, ComparisonOperator); 7] = [
    ("==", ComparisonOperator::Equal),
    ("!=", ComparisonOperator::Unequal),
    ("<=", ComparisonOperator::AtMost),
    (">=", ComparisonOperator::AtLeast),
    ("=", ComparisonOperator::Equal),
    ("<", ComparisonOperator::Less),
    (">", ComparisonOperator::More),
];

impl Condition {
    /// Parses a condition.
    ///
    /// # Errors
    /// Returns an error if the text is too long or has a syntax error.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        if text.len() > MAX_CONDITION_BYTES {
            return Err(ConditionError::TooLong { limit: MAX_CONDITION_BYTES });
        }
        let words = tokenize(text)?;
        let mut any = Vec::new();
        for group in words.split(|word| token_is(word, "or")) {
            let parts = group.split(|word| token_is(word, "and")).map(parse_term);
            any.push(parts.collect::<Result<Vec<ConditionTerm>, ConditionError>>()?);
        }
        Ok(Self(any))
    }

    /// Evaluates the condition. A missing variable is unequal to everything, and neither less nor greater.
    pub fn holds(&self, mut variable: impl FnMut(&[String]) -> Option<Value>) -> bool {
        self.holds_with_scope(|named| variable(&named.keys))
    }

    /// As [`Self::holds`], for callers that distinguish names with a leading slash.
    pub fn holds_with_scope(&self, mut variable: impl FnMut(&VariablePath) -> Option<Value>) -> bool {
        self.0.iter().any(|all| all.iter().all(|part| part.holds(variable(&part.variable).as_ref())))
    }

    /// Returns every comparison in it.
    pub fn comparisons(&self) -> impl Iterator<Item = Comparison<'_>> {
        self.0.iter().flatten().filter_map(|part| {
            let (compare, than) = part.operand.as_ref()?;
            let (sign, _) = OPERATORS.iter().find(|(_, known)| known == compare)?;
            Some(Comparison { variable: &part.variable, sign, operand: than, is_bare: part.is_bare })
        })
    }

    /// Returns every variable it names.
    pub fn variables(&self) -> impl Iterator<Item = &VariablePath> {
        self.0.iter().flatten().map(|part| &part.variable)
    }
}

impl ConditionTerm {
    fn holds(&self, value: Option<&Value>) -> bool {
        let holds = match &self.operand {
            None => value.and_then(count).map_or_else(|| is_truthy(value), |held| held > 0),
            Some((compare, than)) => compare_values(value, *compare, than),
        };
        holds != self.negated
    }
}

fn compare_values(value: Option<&Value>, compare: ComparisonOperator, than: &Value) -> bool {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let order = value.and_then(|value| compare_order(value, than));
    match compare {
        ComparisonOperator::Equal => order == Some(Equal),
        ComparisonOperator::Unequal => order != Some(Equal),
        ComparisonOperator::Less => order == Some(Less),
        ComparisonOperator::AtMost => matches!(order, Some(Less | Equal)),
        ComparisonOperator::More => order == Some(Greater),
        ComparisonOperator::AtLeast => matches!(order, Some(Greater | Equal)),
    }
}

/// Returns the number of entries of a list or map; `None` for other values.
fn count(value: &Value) -> Option<u32> {
    let held = match value {
        Value::Array(list) => list.len(),
        Value::Object(map) => map.len(),
        _ => return None,
    };
    Some(u32::try_from(held).unwrap_or(u32::MAX))
}

/// Compares numbers by size, also in quotes. Lists and maps count as the number of their entries, and texts compare
/// by code point. Other values are equal or not comparable.
fn compare_order(value: &Value, than: &Value) -> Option<std::cmp::Ordering> {
    let own = |value: &Value| match value {
        Value::Bool(_) => None,
        other => count(other).map(f64::from).or_else(|| to_number(Some(other))),
    };
    match (own(value), own(than)) {
        (Some(value), Some(than)) => value.partial_cmp(&than),
        _ => match (value, than) {
            (Value::String(value), Value::String(than)) => Some(value.cmp(than)),
            _ => (value == than).then_some(std::cmp::Ordering::Equal),
        },
    }
}

#[derive(Debug, Clone, PartialEq)]
enum ConditionLexeme {
    Bare(String),
    Quoted(String),
    Sign(ComparisonOperator),
}

fn token_is(word: &ConditionLexeme, wanted: &str) -> bool {
    matches!(word, ConditionLexeme::Bare(word) if word.eq_ignore_ascii_case(wanted))
}

fn tokenize(text: &str) -> Result<Vec<ConditionLexeme>, ConditionError> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let sign = OPERATORS.iter().find_map(|(sign, compare)| Some((*compare, rest.strip_prefix(sign)?)));
        let after = if let Some((compare, after)) = sign {
            found.push(ConditionLexeme::Sign(compare));
            after
        } else if first == '"' || first == '\'' {
            let (inside, after) = rest
                .strip_prefix(first)
                .and_then(|rest| rest.split_once(first))
                .ok_or_else(|| ConditionError::OpenString { rest: rest.to_owned() })?;
            found.push(ConditionLexeme::Quoted(inside.to_owned()));
            after
        } else {
            let end = rest.find(|c: char| c.is_whitespace() || "=!<>\"'".contains(c)).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            if word.is_empty() {
                return Err(ConditionError::UnknownPart { rest: rest.to_owned() });
            }
            if has_stray_parentheses(word) {
                return Err(ConditionError::Brackets {});
            }
            found.push(ConditionLexeme::Bare(word.to_owned()));
            after
        };
        rest = after.trim_start();
    }
    Ok(found)
}

/// Returns whether a word has parentheses that are not part of a name, as those of `sword(2)` are.
fn has_stray_parentheses(word: &str) -> bool {
    let count = |brackets: [char; 2]| word.matches(brackets).count();
    word.starts_with(['(', '（']) || word.starts_with("not(") || count(['(', '（']) != count([')', '）'])
}

fn parse_term(words: &[ConditionLexeme]) -> Result<ConditionTerm, ConditionError> {
    let negated = words.first().is_some_and(|word| token_is(word, "not"));
    let words = if negated { words.get(1..).unwrap_or_default() } else { words };
    let (name, than) = match words {
        [ConditionLexeme::Bare(name)] => (name, None),
        [ConditionLexeme::Bare(name), ConditionLexeme::Sign(compare), than] => (name, Some((*compare, literal(than)?))),
        _ => return Err(ConditionError::NoComparison {}),
    };
    let variable = VariablePath::parse(name).ok_or_else(|| ConditionError::InvalidName { name: name.clone() })?;
    let is_bare = matches!(words, [_, _, ConditionLexeme::Bare(_)]);
    Ok(ConditionTerm { negated, variable, operand: than, is_bare })
}

impl VariablePath {
    /// Parses a name; `None` if one of its parts is empty.
    pub fn parse(name: &str) -> Option<Self> {
        let keys: Vec<String> = name.trim_matches('/').split(['.', '/']).map(str::to_owned).collect();
        let is_named = keys.iter().all(|key| !key.is_empty());
        is_named.then(|| Self { is_from_top: name.starts_with('/'), keys })
    }
}

/// Returns whether JavaScript would treat the value as true.
pub fn is_truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => false,
        Some(Value::Bool(truth)) => *truth,
        Some(Value::Number(number)) => number.as_f64().is_some_and(|number| number != 0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(_) | Value::Object(_)) => true,
    }
}

/// Converts a number, a number in quotes or a boolean to a finite number; `None` for anything else.
pub fn to_number(value: Option<&Value>) -> Option<f64> {
    let number = match value? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        Value::Bool(truth) => f64::from(u8::from(*truth)),
        _ => return None,
    };
    number.is_finite().then_some(number)
}

fn literal(word: &ConditionLexeme) -> Result<Value, ConditionError> {
    match word {
        ConditionLexeme::Quoted(text) => Ok(text.as_str().into()),
        ConditionLexeme::Bare(word) => Ok(serde_json::from_str(word).unwrap_or_else(|_| word.as_str().into())),
        ConditionLexeme::Sign(_) => Err(ConditionError::TwoOperators {}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    use crate::coded_message::CodedMessage;

    fn holds(text: &str) -> bool {
        let world = json!({"affinity": 20, "combat": {"over": false, "hp": "7"}, "place": "quay", "鍵": [1], "none": null, "pack": {"rope": 2, "oil": 1}, "spent": [], "bare": {}});
        Condition::parse(text).unwrap().holds(|path| world.pointer(&format!("/{}", path.join("/"))).cloned())
    }

    /// `domain.md` 7.1: conditions on variables.
    #[test]
    fn condition_evaluate_returns_truth() {
        for (text, expected) in [
            ("affinity >= 20", true),
            ("affinity>20", false),
            ("affinity <= 20 and combat.hp < 10", true),
            ("affinity < 20 and combat.hp < 10", false),
            ("affinity < 20 AND combat.hp < 10 or place == quay", true),
            ("place = \"quay\"", true),
            ("place != 'quay'", false),
            ("/combat/over", false),
            ("not combat.over", true),
            ("not place == ship", true),
            ("nobody >= 0", false),
            ("nobody != 3", true),
            ("not nobody", true),
            ("鍵", true),
            ("none == null", true),
            ("affinity == \"20\"", true),
            ("place > 3", false),
            ("pack", true),
            ("pack >= 2 and pack < 3", true),
            ("鍵 == 1", true),
            ("spent or bare", false),
            ("not bare and spent == 0", true),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }

    #[test]
    fn condition_malformed_text_returns_error() {
        let long = "a".repeat(MAX_CONDITION_BYTES + 1);
        for (text, code) in [
            ("", "condition_no_comparison"),
            ("a >=", "condition_no_comparison"),
            (">= 3", "condition_no_comparison"),
            ("a b", "condition_no_comparison"),
            ("a == \"x", "condition_open_string"),
            ("a and", "condition_no_comparison"),
            ("or a", "condition_no_comparison"),
            ("a !", "condition_unknown_part"),
            ("(a or b) and c", "condition_brackets"),
            ("a..b > 1", "condition_invalid_name"),
            (long.as_str(), "condition_too_long"),
            ("a == =", "condition_two_operators"),
        ] {
            assert_eq!(Condition::parse(text).map_err(|error| error.code()), Err(code), "{text}");
        }
    }
}
