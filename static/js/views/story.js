// The page of a story: the chat and the world beside it. Loaded apart from the first page.
import { h, html } from "../../vendor/preact.js";
import { loading } from "../model/story.js";
import { Chat } from "./chat.js";
import { World } from "./world.js";

/** A story that cannot be read has no world either. */
export const Story = () => (loading.value.state === "failed" ? h(Chat, {}) : html`${h(Chat, {})}${h(World, {})}`);
