export { Marked } from "marked";
export type { Token, TokenizerAndRendererExtension, Tokens, TokensList } from "marked";
