// The page of a story: the chat and the world beside it. Loaded apart from the first page.
import { h, html } from "../../vendor/preact.js";
import { addEnglish } from "../lib/i18n.js";
import files from "../lib/strings/en-cards.js";
import edits from "../lib/strings/en-edit.js";
import lore from "../lib/strings/en-lore.js";
import words from "../lib/strings/en-story.js";
import { loading } from "../model/story.js";
import { Chat } from "./chat.js";
import { StoryMenu, StoryTools } from "./story-menu.js";
import { World } from "./world.js";

addEnglish(words);
addEnglish(edits);
addEnglish(files);
addEnglish(lore);

/** A story that cannot be read has no world either. */
export const Story = () => (loading.value.state === "failed" ? h(Chat, {}) : html`${h(Chat, {})}${h(World, {})}`);

export { StoryMenu, StoryTools };
