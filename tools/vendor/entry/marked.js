export { Marked } from "marked";
