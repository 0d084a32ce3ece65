//! The pieces of a text with macros: plain text, macros with what stands inside them, and blocks.

use std::ops::Range;

use super::head::{ArgumentStyle, MacroHead};

/// How deep macros may stand in each other, blocks counted like arguments. Cards stay below five; whoever walks the pieces
/// calls itself once for each, on a thread's ordinary stack.
pub const MAX_NESTING: usize = 32;

/// A piece of a text.
#[derive(Debug)]
pub enum MacroPiece {
    /// Plain text: where it stands.
    Text(Range<usize>),
    /// What stands between two arguments: `::`.
    Separator(Range<usize>),
    /// A macro.
    Macro(Box<MacroNode>),
}

impl MacroPiece {
    /// How deep macros stand in each other here: none in plain text.
    pub fn nesting(&self) -> usize {
        match self {
            Self::Macro(one) => one.nesting,
            _ => 0,
        }
    }
}

/// A macro as it stands in a text.
#[derive(Debug)]
pub struct MacroNode {
    /// Its name, flags and manner of taking arguments.
    pub head: MacroHead,
    /// From the braces to where its arguments begin.
    pub open: Range<usize>,
    /// Its arguments, with what stands between them.
    pub body: Vec<MacroPiece>,
    /// The braces at its end.
    pub close: Range<usize>,
    /// What stands between it and its closing macro.
    pub block: Option<MacroBlock>,
    /// How deep macros stand in each other here, itself counted.
    pub nesting: usize,
}

/// What stands between an opening and a closing macro.
#[derive(Debug)]
pub struct MacroBlock {
    /// The pieces.
    pub pieces: Vec<MacroPiece>,
    /// The closing macro.
    pub close: Range<usize>,
}

impl MacroNode {
    /// Its arguments, those inside the braces.
    pub fn args(&self) -> Vec<&[MacroPiece]> {
        match self.head.style {
            ArgumentStyle::None => Vec::new(),
            ArgumentStyle::One => vec![self.body.as_slice()],
            ArgumentStyle::List => self.body.split(|piece| matches!(piece, MacroPiece::Separator(_))).collect(),
        }
    }

    /// How many arguments it has, its block counted.
    pub fn count(&self) -> usize {
        let inside = match self.head.style {
            ArgumentStyle::None => 0,
            ArgumentStyle::One => 1,
            ArgumentStyle::List => {
                1 + self.body.iter().filter(|piece| matches!(piece, MacroPiece::Separator(_))).count()
            }
        };
        inside + usize::from(self.block.is_some())
    }
}
