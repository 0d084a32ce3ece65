// A story with another line, and its tree on screen.
import { waitUntil } from "./browser.mjs";
import { chatPath, clotho, seedBranch, readSession } from "./setup.mjs";

/** A message without a reply of a model. */
export const addMessage = async (path, parentId, role, content) =>
  (await clotho.api("POST", `${chatPath(path)}/message`, { parentId, role, content })).node.id;

/** You -> reply -> You -> reply, where HEAD is; from the first reply another line goes elsewhere, with two messages. */
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
/** Opens it by its key, which is there when its button is. @param {import("playwright-core").Page} page */
export async function openTree(page) {
  await page.locator('[data-command="page.tree"]:visible').first().waitFor();
  await page.keyboard.press("Control+b");
  await treeElement(page).waitFor();
}

/** Where a message is on the screen, or the badge that folds what leaves it. @param {import("playwright-core").Page} page @param {string} id */
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

/** Waits until a message is drawn and stands still, and says where: nobody hits what still moves. */
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

/** Fingers on the screen, as the browser tells of real ones. @param {import("playwright-core").Page} page */
export async function touchDispatcher(page) {
  const cdp = await page.context().newCDPSession(page);
  return (type, ...points) =>
    cdp.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(({ x, y }, id) => ({ x, y, id })) });
}

/** The messages that have a card of their own, the beginning first. @param {import("playwright-core").Page} page */
export const drawnIds = (page) =>
  page.locator("tree-canvas").evaluate(({ scene: { cards, outline } }) => [...cards.node].map((n) => outline.ids[n]));

/** Grows a tree quickly: a line of so many messages, and from each of them branches off a piece of so many others, with a fork in it. */
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
