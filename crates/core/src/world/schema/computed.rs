//! Expressions of computed values: arithmetic (`max_hp - hp`) or cases (`{"when": "affinity >= 20", "is":
//! "friend"}`). The only functions are `min` and `max`, so evaluation is deterministic and always terminates.

use serde_json::{Map, Number, Value};

use crate::world::condition::VariablePath;
use crate::world::{Condition, number};

/// The maximum length of an arithmetic expression, in bytes.
const MAX_EXPR_BYTES: usize = 1_000;
/// The maximum number of operands in one.
const MAX_OPERANDS: usize = 64;
/// The maximum nesting of parentheses.
const MAX_DEPTH: usize = 16;
/// The maximum number of cases.
const MAX_CASES: usize = 64;

/// The expression of a computed value.
#[derive(Debug, Clone)]
pub(in crate::world) enum ComputedExpr {
    /// The first case that holds; a case without a condition always holds.
    Cases(Vec<(Option<Condition>, Value)>),
    /// An arithmetic expression.
    Arithmetic(ArithmeticExpr),
}

/// An arithmetic expression of numbers and variables.
#[derive(Debug, Clone)]
pub(in crate::world) enum ArithmeticExpr {
    Number(Number),
    Variable(VariablePath),
    Negated(Box<ArithmeticExpr>),
    Binary(ArithmeticOperator, Box<(ArithmeticExpr, ArithmeticExpr)>),
    /// The maximum of several operands if the flag is true, else the minimum.
    MinMax(bool, Vec<ArithmeticExpr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::world) enum ArithmeticOperator {
    Plus,
    Minus,
    Multiply,
    Divide,
}

impl ComputedExpr {
    /// Parses the value of the keyword.
    pub fn read(source: &Value) -> Result<Self, String> {
        match source {
            Value::String(text) => ArithmeticExpr::read(text).map(Self::Arithmetic),
            Value::Array(cases) if (1..=MAX_CASES).contains(&cases.len()) => {
                cases.iter().map(parse_case).collect::<Result<_, _>>().map(Self::Cases)
            }
            _ => Err("expected a formula like \"max_hp - hp\", or a list of 1 to 64 cases like {\"when\": \"hp < \
             5\", \"is\": \"weak\"}"
                .to_owned()),
        }
    }

    /// Returns every variable in it.
    pub fn variables(&self) -> Vec<&VariablePath> {
        let mut found = Vec::new();
        match self {
            Self::Cases(cases) => {
                found.extend(cases.iter().filter_map(|(when, _)| when.as_ref()).flat_map(Condition::variables));
            }
            Self::Arithmetic(sum) => sum.collect_variables(&mut found),
        }
        found
    }

    /// Returns the literal results of its cases.
    pub fn literal_values(&self) -> impl Iterator<Item = &Value> {
        let cases = if let Self::Cases(cases) = self { cases.as_slice() } else { &[] };
        cases.iter().map(|(_, is)| is)
    }

    /// Evaluates it; `None` if no case holds or an operand is not a number.
    pub fn value(&self, look: &mut dyn FnMut(&VariablePath) -> Option<Value>) -> Option<Value> {
        match self {
            Self::Cases(cases) => {
                let mut holds = |when: &Condition| when.holds_with_scope(&mut *look);
                cases.iter().find(|(when, _)| when.as_ref().is_none_or(&mut holds)).map(|(_, is)| is.clone())
            }
            Self::Arithmetic(sum) => sum.value(look).map(Value::Number),
        }
    }
}

fn parse_case(source: &Value) -> Result<(Option<Condition>, Value), String> {
    let Value::Object(map) = source else { return Err("a case has the form {\"when\": …, \"is\": …}".to_owned()) };
    if let Some(other) = map.keys().find(|key| !matches!(key.as_str(), "when" | "is")) {
        return Err(format!("a case has \"when\" and \"is\", and no \"{other}\""));
    }
    let is = map.get("is").filter(|is| !is.is_array() && !is.is_object());
    let is = is.ok_or_else(|| "a case needs an \"is\": a string, a number, true, false or null".to_owned())?;
    Ok((parse_when(map)?, is.clone()))
}

fn parse_when(map: &Map<String, Value>) -> Result<Option<Condition>, String> {
    match map.get("when") {
        None => Ok(None),
        Some(Value::String(text)) => {
            Condition::parse(text).map(Some).map_err(|why| format!("\"when\": {}", why.to_string().replace('`', "\"")))
        }
        Some(_) => Err("\"when\" must be a condition like \"affinity >= 20\"".to_owned()),
    }
}

impl ArithmeticExpr {
    fn read(text: &str) -> Result<Self, String> {
        if text.len() > MAX_EXPR_BYTES {
            return Err(format!("a formula has at most {MAX_EXPR_BYTES} bytes"));
        }
        let mut reader = ArithmeticParser { rest: text, depth: 0, operands: 0 };
        let sum = reader.sum()?;
        if reader.peek().is_some() {
            Err(format!("the formula has a syntax error at: {}", reader.rest))
        } else {
            Ok(sum)
        }
    }

    fn collect_variables<'s>(&'s self, found: &mut Vec<&'s VariablePath>) {
        match self {
            Self::Number(_) => {}
            Self::Variable(variable) => found.push(variable),
            Self::Negated(inner) => inner.collect_variables(found),
            Self::Binary(_, sides) => {
                sides.0.collect_variables(found);
                sides.1.collect_variables(found);
            }
            Self::MinMax(_, list) => list.iter().for_each(|one| one.collect_variables(found)),
        }
    }

    fn value(&self, look: &mut dyn FnMut(&VariablePath) -> Option<Value>) -> Option<Number> {
        match self {
            Self::Number(number) => Some(number.clone()),
            Self::Variable(variable) => match look(variable)? {
                Value::Number(number) if number::is_within_reach(&number) => Some(number),
                _ => None,
            },
            Self::Negated(inner) => negated(&inner.value(look)?),
            Self::Binary(sign, sides) => {
                let (left, right) = (sides.0.value(look)?, sides.1.value(look)?);
                match sign {
                    ArithmeticOperator::Plus => number::add(&left, &right).ok(),
                    ArithmeticOperator::Minus => number::add(&left, &negated(&right)?).ok(),
                    ArithmeticOperator::Multiply => rounded(left.as_f64()? * right.as_f64()?),
                    ArithmeticOperator::Divide => rounded(left.as_f64()? / right.as_f64()?),
                }
            }
            Self::MinMax(is_most, list) => {
                let mut best: Option<Number> = None;
                for one in list {
                    let one = one.value(look)?;
                    let is_better = best.as_ref().is_none_or(|best| number::compare(&one, best).is_gt() == *is_most);
                    best = if is_better { Some(one) } else { best };
                }
                best
            }
        }
    }
}

fn negated(number: &Number) -> Option<Number> {
    let text = number.to_string();
    let other = text.strip_prefix('-').map_or_else(|| format!("-{text}"), str::to_owned);
    number::add(&Number::from(0), &other.parse().ok()?).ok()
}

/// Rounds to twelve significant digits, in plain notation; `None` if the value is not finite or out of reach.
fn rounded(value: f64) -> Option<Number> {
    let number: Number = if value.is_finite() { format!("{value:.11e}").parse().ok()? } else { return None };
    number::is_within_reach(&number).then(|| number::add(&Number::from(0), &number).ok())?
}

struct ArithmeticParser<'t> {
    rest: &'t str,
    depth: usize,
    operands: usize,
}

impl ArithmeticParser<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take_char(&mut self, sign: char) -> bool {
        self.peek();
        let after = self.rest.strip_prefix(sign);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn sum(&mut self) -> Result<ArithmeticExpr, String> {
        let mut left = self.product()?;
        loop {
            let sign = match self.peek() {
                Some('+') => ArithmeticOperator::Plus,
                Some('-') => ArithmeticOperator::Minus,
                _ => return Ok(left),
            };
            self.rest = self.rest.get(1..).unwrap_or_default();
            left = ArithmeticExpr::Binary(sign, Box::new((left, self.product()?)));
        }
    }

    fn product(&mut self) -> Result<ArithmeticExpr, String> {
        let mut left = self.operand()?;
        loop {
            let sign = match self.peek() {
                Some('*') => ArithmeticOperator::Multiply,
                Some('/') => ArithmeticOperator::Divide,
                _ => return Ok(left),
            };
            self.rest = self.rest.get(1..).unwrap_or_default();
            left = ArithmeticExpr::Binary(sign, Box::new((left, self.operand()?)));
        }
    }

    /// Parses a number, a variable, or a parenthesized expression. A slash can only begin a variable here.
    fn operand(&mut self) -> Result<ArithmeticExpr, String> {
        self.operands = self.operands.saturating_add(1);
        self.depth = self.depth.saturating_add(1);
        if self.operands > MAX_OPERANDS || self.depth > MAX_DEPTH {
            return Err(format!("a formula has at most {MAX_OPERANDS} operands, and brackets {MAX_DEPTH} deep"));
        }
        let operand = if self.take_char('-') {
            ArithmeticExpr::Negated(Box::new(self.operand()?))
        } else if self.take_char('(') {
            let inner = self.sum()?;
            self.close_parenthesis(inner)?
        } else {
            self.identifier_or_call()?
        };
        self.depth = self.depth.saturating_sub(1);
        Ok(operand)
    }

    fn close_parenthesis(&mut self, inner: ArithmeticExpr) -> Result<ArithmeticExpr, String> {
        if self.take_char(')') {
            Ok(inner)
        } else {
            Err(format!("a bracket in the formula is not closed at: {}", self.rest))
        }
    }

    fn identifier_or_call(&mut self) -> Result<ArithmeticExpr, String> {
        let ends = |c: char| c.is_whitespace() || "+-*/(),".contains(c);
        let from = usize::from(self.rest.starts_with('/'));
        let length = self.rest.get(from..).and_then(|rest| rest.find(ends)).map(|at| at.saturating_add(from));
        let (word, rest) = self.rest.split_at_checked(length.unwrap_or(self.rest.len())).unwrap_or_default();
        if word.len() == from {
            return Err(match rest {
                "" => "the formula ends where a number or a name is expected".to_owned(),
                rest => format!("expected a number or a name in the formula at: {rest}"),
            });
        }
        self.rest = rest;
        if matches!(word, "min" | "max") && self.take_char('(') {
            let mut list = vec![self.sum()?];
            while self.take_char(',') {
                list.push(self.sum()?);
            }
            return self.close_parenthesis(ArithmeticExpr::MinMax(word == "max", list));
        }
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = word.parse::<Number>().map_err(|_| format!("\"{word}\" in the formula is not a number"))?;
            return Ok(ArithmeticExpr::Number(number));
        }
        let variable =
            VariablePath::parse(word).ok_or_else(|| format!("\"{word}\" in the formula is not the name of a value"))?;
        Ok(ArithmeticExpr::Variable(variable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compute(source: Value) -> Option<Value> {
        let world = json!({"hp": 12, "max": 40, "rate": 0.1, "in": {"a": 3}, "word": "x", "big": 9007199254740993_i64});
        let computed = ComputedExpr::read(&source).unwrap();
        computed.value(&mut |variable| world.pointer(&format!("/{}", variable.keys.join("/"))).cloned())
    }

    #[test]
    fn computed_arithmetic_expression_returns_number() {
        for (sum, expected) in [
            ("max - hp", json!(28)),
            ("hp*100/max", json!(30)),
            ("1 + 2 * 3 - 4", json!(3)),
            ("(1 + 2) * -(3 - 4)", json!(3)),
            ("rate + 0.2", json!(0.3)),
            ("rate * 3", json!(0.3)),
            ("big + 1", json!(9007199254740994_i64)),
            ("/in.a / 2", json!(1.5)),
            ("min(hp, max, 7)", json!(7)),
            ("max(hp, in.a) + max", json!(52)),
            ("10 / 4", json!(2.5)),
        ] {
            let found = compute(json!(sum)).unwrap_or_default();
            assert!(number::values_equal(&found, &expected), "{sum}: {found}");
        }
        for sum in ["hp / 0", "gone + 1", "word + 1", "hp / (max - 40)"] {
            assert_eq!(compute(json!(sum)), None, "{sum}");
        }
    }

    #[test]
    fn computed_cases_first_match_wins() {
        let cases = |hp: &str| json!([{"when": format!("hp >= {hp}"), "is": "well"}, {"when": "hp > 1", "is": "weak"}]);
        assert_eq!(compute(cases("12")), Some(json!("well")));
        assert_eq!(compute(cases("13")), Some(json!("weak")));
        assert_eq!(compute(json!([{"when": "hp < 1", "is": "down"}])), None);
        assert_eq!(compute(json!([{"when": "hp < 1", "is": "down"}, {"is": null}])), Some(json!(null)));
    }

    #[test]
    fn computed_malformed_expression_returns_error() {
        let check = |source: Value, message: &str| {
            let why = ComputedExpr::read(&source).unwrap_err();
            assert!(why.contains(message), "{source}: {why}");
        };
        check(json!(3), "a formula like");
        check(json!([]), "1 to 64 cases");
        check(json!([3]), "a case has the form");
        check(json!([{"when": "a"}]), "needs an \"is\"");
        check(json!([{"is": [1]}]), "needs an \"is\"");
        check(json!([{"if": "a", "is": 1}]), "no \"if\"");
        check(json!([{"when": "a >", "is": 1}]), "has parts like");
        check(json!(""), "the formula ends");
        check(json!("1 +"), "the formula ends");
        check(json!("1 2"), "has a syntax error at: 2");
        check(json!("(1"), "not closed");
        check(json!("1 + * 2"), "expected a number or a name in the formula at: * 2");
        check(json!("a..b"), "not the name of a value");
        check(json!("1x"), "is not a number");
        check(json!("(".repeat(100)), "16 deep");
        check(json!(vec!["1"; 80].join("+")), "64 operands");
    }
}
