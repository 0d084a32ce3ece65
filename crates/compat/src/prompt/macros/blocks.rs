//! Pairs neighbouring opening and closing macros: `{{setvar::x}}…{{/setvar}}`.

use std::collections::HashMap;

use super::head::MacroHead;
use super::pieces::{MAX_NESTING, MacroBlock, MacroNode, MacroPiece};

/// Pairs opening and closing macros. Also returns whether some stayed unpaired because they would nest too deeply.
pub fn pair_blocks(
    pieces: Vec<MacroPiece>,
    takes_block: &dyn Fn(&MacroHead, usize) -> bool,
) -> (Vec<MacroPiece>, bool) {
    pair_blocks_to_depth(pieces, takes_block, MAX_NESTING)
}

/// Like [`pair_blocks`], with a nesting limit.
pub fn pair_blocks_to_depth(
    pieces: Vec<MacroPiece>,
    takes_block: &dyn Fn(&MacroHead, usize) -> bool,
    highest: usize,
) -> (Vec<MacroPiece>, bool) {
    let closes = |piece: &MacroPiece| matches!(piece, MacroPiece::Macro(one) if one.head.is_closing);
    if !pieces.iter().any(closes) {
        return (pieces, false);
    }
    let mut pairs = BlockMatcher { highest, ..BlockMatcher::default() };
    for piece in pieces {
        match piece {
            MacroPiece::Macro(one) if one.head.is_closing && one.count() == 0 => pairs.close(one),
            MacroPiece::Macro(one) if takes_block(&one.head, one.count()) => pairs.open(one),
            other => pairs.put(other),
        }
    }
    (pairs.done, pairs.too_deep)
}

/// A macro that may have a block.
struct BlockOpening {
    name: String,
    /// Index among the pieces.
    at: usize,
    /// Nesting depth of the pieces after it.
    height: usize,
}

#[derive(Default)]
struct BlockMatcher {
    highest: usize,
    done: Vec<MacroPiece>,
    open: Vec<BlockOpening>,
    /// Number of open macros by name, so that an unmatched closing macro needs no search.
    names: HashMap<String, usize>,
    too_deep: bool,
}

impl BlockMatcher {
    fn put(&mut self, piece: MacroPiece) {
        if let Some(open) = self.open.last_mut() {
            open.height = open.height.max(piece.nesting());
        }
        self.done.push(piece);
    }

    fn open(&mut self, one: Box<MacroNode>) {
        let name = one.head.name.to_ascii_lowercase();
        *self.names.entry(name.clone()).or_default() += 1;
        self.open.push(BlockOpening { name, at: self.done.len(), height: 0 });
        self.done.push(MacroPiece::Macro(one));
    }

    /// Gives the block to the nearest opening macro of that name; macros opened in between stay without a block.
    fn close(&mut self, closing: Box<MacroNode>) {
        let name = closing.head.name.to_ascii_lowercase();
        if self.names.get(&name).is_none_or(|open| *open == 0) {
            return self.put(MacroPiece::Macro(closing));
        }
        let mut height = 0;
        while let Some(open) = self.open.pop() {
            if let Some(count) = self.names.get_mut(&open.name) {
                *count -= 1;
            }
            height = height.max(open.height);
            if open.name == name {
                return self.wrap(open.at, height, closing);
            }
            height = height.max(self.done.get(open.at).map_or(0, MacroPiece::nesting));
        }
    }

    fn wrap(&mut self, at: usize, height: usize, closing: Box<MacroNode>) {
        let own = self.done.get(at).map_or(0, MacroPiece::nesting);
        let height = own.max(height + 1);
        if height > self.highest {
            self.too_deep = true;
            if let Some(outer) = self.open.last_mut() {
                outer.height = outer.height.max(height - 1).max(own);
            }
            return self.put(MacroPiece::Macro(closing));
        }
        let pieces = self.done.split_off(at + 1);
        if let Some(MacroPiece::Macro(mut one)) = self.done.pop() {
            one.block = Some(MacroBlock { pieces, close: closing.open.start..closing.close.end });
            one.nesting = height;
            self.put(MacroPiece::Macro(one));
        }
    }
}
