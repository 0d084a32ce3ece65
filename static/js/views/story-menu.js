// What the menu of the page offers while a story is open.
import { h, html } from "../../vendor/preact.js";
import { CommandButton } from "./parts.js";

const ITEMS = ["session.linear", "session.tree"];

export const StoryMenu = () => html`${ITEMS.map((id) => h(CommandButton, { key: id, id, wide: true }))}`;
