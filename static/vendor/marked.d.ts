export { Marked } from "marked";
export type { Token, Tokens, TokensList } from "marked";
