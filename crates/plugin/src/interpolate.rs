//! Makes `` `${value}` `` safe.
//!
//! Rhai prints an interpolated value itself. If a print function fails because the value is too large or the deadline
//! has passed, Rhai falls back to unbounded printing. One step of a script could then create gigabytes of text. So
//! before compiling, each `${…}` is rewritten to a call, `${clotho_text({…})}`, whose failure is an ordinary error. The
//! insertions are recorded, so that errors still name columns of the original file.

use rhai::{Engine, Token};

/// The function that interpolation calls. A script may not define it.
pub(super) const FUNCTION: &str = "clotho_text";

/// A rewritten script and its insertions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RewrittenScript {
    pub(super) text: String,
    pub(super) shifts: ColumnShifts,
}

/// Insertions as (line, column in the original text, number of characters), in order; lines and columns count from 1.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ColumnShifts(Vec<(usize, usize, usize)>);

impl ColumnShifts {
    /// Maps a column of the compiled text to the original column.
    pub(super) fn original_column(&self, line: usize, column: usize) -> usize {
        let mut before = 0;
        for (_, at, width) in self.0.iter().filter(|(on, ..)| *on == line) {
            // A column inside an insertion maps to the place of the insertion.
            if column < at + before {
                break;
            }
            if column < at + before + width {
                return *at;
            }
            before += width;
        }
        column - before
    }
}

/// Rewrites each interpolation to a call. Tokens that cannot be lexed are left for the parser to report.
pub(super) fn rewrite(engine: &Engine, source: &str) -> RewrittenScript {
    // Most files have none; do not tokenize those a second time.
    if !source.contains("${") {
        return RewrittenScript { text: source.to_owned(), shifts: ColumnShifts::default() };
    }
    let places = insertions(engine, source);
    let mut text = String::with_capacity(source.len() + places.len() * 16);
    let mut shifts = Vec::new();
    let mut places = places.into_iter().peekable();
    for (number, line) in (1..).zip(source.split('\n')) {
        if number > 1 {
            text.push('\n');
        }
        let mut column = 1;
        let mut put = |text: &mut String, column: usize| {
            while let Some(place) = places.next_if(|place| (place.line, place.column) <= (number, column)) {
                text.push_str(&place.text);
                shifts.push((number, column, place.text.chars().count()));
            }
        };
        for c in line.chars() {
            put(&mut text, column);
            text.push(c);
            column += 1;
        }
        put(&mut text, column);
    }
    RewrittenScript { text, shifts: ColumnShifts(shifts) }
}

/// A text to insert before a column.
struct TextInsertion {
    line: usize,
    column: usize,
    text: String,
}

fn insertions(engine: &Engine, source: &str) -> Vec<TextInsertion> {
    let inputs = [source];
    let (tokens, control) = engine.lex(&inputs);
    let mut places = Vec::new();
    // Number of open braces in each enclosing interpolation.
    let mut open: Vec<usize> = Vec::new();
    let mut begins = false;
    for (token, position) in tokens {
        let at = position.line().zip(position.position());
        let mut place = |text: String, after: usize| {
            if let Some((line, column)) = at {
                places.push(TextInsertion { line, column: column + after, text });
            }
        };
        match token {
            Token::InterpolatedString(_) => begins = true,
            Token::LeftBrace if begins => {
                begins = false;
                open.push(0);
                place(format!("{FUNCTION}({{"), 1);
            }
            Token::LeftBrace | Token::MapStart => {
                if let Some(braces) = open.last_mut() {
                    *braces += 1;
                }
            }
            Token::RightBrace => match open.last_mut() {
                Some(0) => {
                    open.pop();
                    place("})".to_owned(), 0);
                    control.borrow_mut().is_within_text = true;
                }
                Some(braces) => *braces -= 1,
                None => {}
            },
            Token::LexError(_) | Token::EOF => break,
            _ => {}
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite_script(source: &str) -> RewrittenScript {
        rewrite(&Engine::new_raw(), source)
    }

    #[test]
    fn interpolate_every_expression_becomes_a_call() {
        let check = |source: &str, expected: &str| assert_eq!(rewrite_script(source).text, expected);
        check("let a = 1;\n", "let a = 1;\n");
        check("`a ${b} c`", "`a ${clotho_text({b})} c`");
        check("`${a}${b}`", "`${clotho_text({a})}${clotho_text({b})}`");
        check("`${#{x: `in ${y}`}}`;", "`${clotho_text({#{x: `in ${clotho_text({y})}`}})}`;");
        check("`${ if a { b } else { c } }`", "`${clotho_text({ if a { b } else { c } })}`");
        check("\"${a}\" // `${b}`\n/* `${c}` */ 'x'", "\"${a}\" // `${b}`\n/* `${c}` */ 'x'");
        check("`猫${\na\n}犬`\n`${z}`", "`猫${clotho_text({\na\n})}犬`\n`${clotho_text({z})}`");
        check("`${a", "`${clotho_text({a");
        check(
            "`${a}${}`\r\nlet b = `${a}`;",
            "`${clotho_text({a})}${clotho_text({})}`\r\nlet b = `${clotho_text({a})}`;",
        );
    }

    #[test]
    fn interpolate_columns_map_to_source() {
        let source = "let s = `猫${abc} and ${d}`; boom";
        let RewrittenScript { text, shifts } = rewrite_script(source);
        let column = |text: &str, word: &str| text.split(word).next().unwrap().chars().count() + 1;
        for word in ["let", "abc", " and ", "d}", "boom"] {
            assert_eq!(shifts.original_column(1, column(&text, word)), column(source, word), "{word}");
        }
        assert_eq!(shifts.original_column(2, 40), 40);
    }

    #[test]
    fn interpolate_rewritten_script_evaluates_the_same() {
        let mut engine = Engine::new();
        engine.register_fn(FUNCTION, |value: rhai::Dynamic| value.to_string());
        let source = "let a = 5; let m = #{n: [1, 2]}; `${a} ${ let b = a + 1; b * 2 } ${m.n[1]} ${`<${a}>`}`";
        let plain: String = engine.eval(source).unwrap();
        assert_eq!(engine.eval::<String>(&rewrite_script(source).text).unwrap(), plain);
        assert_eq!(plain, "5 12 2 <5>");
    }
}
