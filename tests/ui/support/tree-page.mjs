// Creates a session with a second branch, and uses the page with its tree.
import { waitUntil } from "./browser.mjs";
import { chatPath, clotho, seedBranch, readSession } from "./setup.mjs";

/** Adds a message through the API, without a reply of a model. */
export const addMessage = async (path, parentId, role, content) =>
  (await clotho.api("POST", `${chatPath(path)}/message`, { parentId, role, content })).node.id;

/** Creates user -> reply -> user -> reply with HEAD at its end, and a branch of two messages from the first reply. */
export async function seedFork() {
  const { path, ids } = await seedBranch();
  const side = [await addMessage(path, ids[1], "user", "To the hills.")];
  side.push(await addMessage(path, side[0], "assistant", "A path through thorns."));
  await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: ids[3], exact: true });
  return { path, ids, side };
}

export const treeElement = (page) => page.getByRole("tree", { name: "All messages of the story" });
export const cursorText = (page) =>
  treeElement(page).evaluate(
    (box) => document.getElementById(box.getAttribute("aria-activedescendant"))?.textContent ?? "",
  );
export const waitForCursor = (page, words) =>
  waitUntil(async () => (await cursorText(page)).includes(words), `the keyboard is at “${words}”`);
/** Opens the tree by its key, which works once its button is there. @param {import("playwright-core").Page} page */
export async function openTree(page) {
  await page.locator('[data-command="page.tree"]:visible').first().waitFor();
  await page.keyboard.press("Control+b");
  await treeElement(page).waitFor();
}

/**
 * Returns where a message is on the screen, or the badge at which its side branches are folded.
 * @param {import("playwright-core").Page} page @param {string} id
 */
export function positionOf(page, id, badge = false) {
  return page.locator("tree-canvas").evaluate(
    (canvas, [nid, isBadge]) => {
      const box = canvas.boxOf(canvas.scene.outline.at.get(nid), isBadge);
      const { left, top } = canvas.getBoundingClientRect();
      return box && { x: left + box.x + box.wide / 2, y: top + box.y + box.tall / 2 };
    },
    [id, badge],
  );
}

/** Waits until a message is drawn and no longer moves. Returns its position. */
export async function waitUntilStill(page, id, badge = false) {
  /** @type {{x: number, y: number} | null} */
  let place = null;
  const isStill = async () => {
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    const [was, now] = [place, await positionOf(page, id, badge)];
    place = now;
    return was !== null && now !== null && was.x === now.x && was.y === now.y;
  };
  await waitUntil(isStill, "it is drawn and stands still");
  return place;
}

/** Returns a function that sends real touch events. @param {import("playwright-core").Page} page */
export async function touchDispatcher(page) {
  const cdp = await page.context().newCDPSession(page);
  return (type, ...points) =>
    cdp.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(({ x, y }, id) => ({ x, y, id })) });
}

/** Returns the messages that have their own card, in the order of the tree. @param {import("playwright-core").Page} page */
export const drawnIds = (page) =>
  page.locator("tree-canvas").evaluate(({ scene: { cards, outline } }) => [...cards.node].map((n) => outline.ids[n]));

/** Builds a large tree quickly: a branch of `steps` messages, each with a copy of a side branch of `size` messages, which has a fork. */
export async function seedBushyTree(path, steps, size) {
  const start = (await readSession(path)).activeLeafId;
  const trunk = [start];
  for (let i = 0; i < steps; i += 1)
    trunk.push(await addMessage(path, trunk.at(-1), i % 2 ? "assistant" : "user", `Step ${i} of the line.`));
  const piece = [await addMessage(path, start, "user", "Another way.")];
  for (let i = 1; i < size; i += 1)
    piece.push(await addMessage(path, piece[i === size - 1 ? 0 : i - 1], i % 2 ? "assistant" : "user", `Aside ${i}.`));
  const operations = trunk.slice(1).map((targetId) => ({ op: "graft", nodeId: piece[0], targetId, mode: "copy" }));
  await clotho.api("PUT", `${chatPath(path)}/tree/edit`, { operations });
  await clotho.api("PUT", `${chatPath(path)}/active_leaf`, { nodeId: trunk.at(-1), exact: true });
  return { trunk, piece };
}
