// The page of a story: the chat and the world beside it. Loaded apart from the first page.
import { h, html } from "../../vendor/preact.js";
import { Chat } from "./chat.js";
import { World } from "./world.js";

export const Story = () => html`${h(Chat, {})}${h(World, {})}`;
