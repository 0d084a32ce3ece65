export { Lexer, Marked } from "marked";
export type { MarkedOptions, Token, TokenizerAndRendererExtension, Tokens, TokensList } from "marked";
