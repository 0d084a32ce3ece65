//! The pieces of a text with macros: plain text, macros with what stands inside them, and blocks.

use std::ops::Range;

use super::head::{ArgumentStyle, MacroHead};

/// Largest nesting depth of macros, in arguments and blocks. Cards stay below five; code that walks the pieces recurses
/// once per level.
pub const MAX_NESTING: usize = 32;

/// A piece of a text.
#[derive(Debug)]
pub enum MacroPiece {
    /// A range of plain text.
    Text(Range<usize>),
    /// A `::` between two arguments.
    Separator(Range<usize>),
    Macro(Box<MacroNode>),
}

impl MacroPiece {
    /// Returns the nesting depth; 0 for plain text.
    pub fn nesting(&self) -> usize {
        match self {
            Self::Macro(one) => one.nesting,
            _ => 0,
        }
    }
}

/// A parsed macro.
#[derive(Debug)]
pub struct MacroNode {
    pub head: MacroHead,
    /// Range from the braces to the first argument.
    pub open: Range<usize>,
    /// Arguments and separators.
    pub body: Vec<MacroPiece>,
    /// Range of the closing braces.
    pub close: Range<usize>,
    /// Content up to the closing macro.
    pub block: Option<MacroBlock>,
    /// Nesting depth, including this macro.
    pub nesting: usize,
}

/// The content between an opening and a closing macro.
#[derive(Debug)]
pub struct MacroBlock {
    pub pieces: Vec<MacroPiece>,
    /// Range of the closing macro.
    pub close: Range<usize>,
}

impl MacroNode {
    /// Returns the arguments inside the braces.
    pub fn args(&self) -> Vec<&[MacroPiece]> {
        match self.head.style {
            ArgumentStyle::None => Vec::new(),
            ArgumentStyle::One => vec![self.body.as_slice()],
            ArgumentStyle::List => self.body.split(|piece| matches!(piece, MacroPiece::Separator(_))).collect(),
        }
    }

    /// Returns the number of arguments, including the block.
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
