// Renders static/icons/*.png, the icons for the home screen of a phone, from static/icon.svg.
//   npm run icons
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { launch } from "./support/browser.mjs";

const STATIC = new URL("../../static/", import.meta.url);
/** A mask may cut off everything but the middle. There, the background fills the square and the sign is smaller. */
const SIZES = { 192: [192, 1, "8"], 512: [512, 1, "8"], "maskable-512": [512, 0.72, "0"] };

const svg = await readFile(new URL("icon.svg", STATIC), "utf8");
const ground = /fill="(#\w+)"/.exec(svg)?.[1] ?? "";
await mkdir(new URL("icons/", STATIC), { recursive: true });
const browser = await launch();
for (const [name, [size, part, corner]] of Object.entries(SIZES)) {
  const page = await browser.newPage({ viewport: { width: Number(size), height: Number(size) } });
  const side = Number(size) * Number(part);
  const drawn = svg.replace('rx="8"', `rx="${corner}"`).replace("<svg ", `<svg width="${side}" height="${side}" `);
  await page.setContent(
    `<body style="margin:0;display:grid;place-items:center;height:100vh;background:${part === 1 ? "transparent" : ground}">${drawn}</body>`,
  );
  await writeFile(fileURLToPath(new URL(`icons/${name}.png`, STATIC)), await page.screenshot({ omitBackground: true }));
  await page.close();
}
await browser.close();
