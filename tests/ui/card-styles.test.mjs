// Tests of inline styles from cards: shown as intended in light and dark mode, and never outside their message.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test, waitUntil } from "./support/browser.mjs";
import {
  POLICY_ERROR,
  browser,
  checkAccessibility,
  clotho,
  lastMessage,
  model,
  createSession,
  waitForReply,
  sendMessage,
} from "./support/setup.mjs";

const CARD = `<div style="background: linear-gradient(135deg, #1d2b4f, #3a2458); border: 1px solid #8fa6e8; border-radius: 12px; padding: 14px 18px; box-shadow: 0 4px 12px rgba(0,0,0,.3)">
<center style="color:#ffd98a; letter-spacing: 2px; text-transform: uppercase"><b>The harbour at dusk</b></center>
<hr>
<div style="display:flex; gap:12px; flex-wrap:wrap; justify-content:space-between"><span>Day 12</span><span>Fog</span><span style="color:#9fe3b4">Calm</span></div>

She says "Wait" and *waits*.

</div>

<details><summary>What she <i>thinks</i></summary>

He is late, <mark>again</mark>.

- one
- two

</details>

<div style="background:#fff4d6; padding:8px 12px; border-left:4px solid #b8860b">

A note with no colour of its own, "said" softly.

</div>

Plain words, <font color="yellow">a yellow word</font>, <span style="color:#222">a dark word</span>, <u>under</u>, <small>small</small>, H<sub>2</sub>O, x<sup>2</sup>, <ruby>灯<rp>(</rp><rt>dēng</rt><rp>)</rp></ruby>.

<table><caption>Stores</caption><thead><tr><th>Thing</th><th colspan="2">Number</th></tr></thead><tbody><tr><td>Oil</td><td>3</td><td>low</td></tr></tbody></table>

<p style="width:9999px;margin-left:-300px;font-size:900px;position:fixed;top:0">Loud</p>

The end.`;

/** Opens a session whose reply is the card's text, sent in pieces. */
async function openStyledReply(options, pieces = [CARD]) {
  const { page, close } = await openPage(browser, { expected: POLICY_ERROR, ...options });
  const path = await createSession();
  const held = model.queueHeldReply(pieces);
  await page.goto(clotho.base + path);
  await waitForReply(page);
  await sendMessage(page, "Go on.");
  return { page, close, held };
}

/** Returns the colours of an element as painted. */
const paintedColours = (page, text, name) =>
  lastMessage(page)
    .getByText(text, { exact: true })
    .evaluate((e, property) => getComputedStyle(e)[property], name);

/** Returns the contrast of a text with its background. */
const contrast = (page, text) =>
  lastMessage(page)
    .getByText(text, { exact: true })
    .evaluate((element) => {
      const bright = (colour) => {
        const [r, g, b] = colour
          .match(/[\d.]+/g)
          .map((n) => (n / 255 <= 0.04 ? n / 255 / 12.92 : ((n / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      let behind = element;
      while (/rgba\(0, 0, 0, 0\)|transparent/.test(getComputedStyle(behind).backgroundColor))
        behind = behind.parentElement;
      const [high, low] = [
        bright(getComputedStyle(element).color),
        bright(getComputedStyle(behind).backgroundColor),
      ].sort((a, b) => b - a);
      return (high + 0.05) / (low + 0.05);
    });

/** Returns what is outside of its message or makes the page wider. */
const overflowing = (page) =>
  page.evaluate(() => {
    const prose = document.querySelector(".message.last .prose");
    const at = prose.getBoundingClientRect();
    const out = [...prose.querySelectorAll("*")]
      .filter((e) => !e.closest("table, ul, rp"))
      .filter((e) => e.getBoundingClientRect().left < at.left - 1 || e.getBoundingClientRect().right > at.right + 1);
    return [
      ...out.map((e) => e.outerHTML.slice(0, 80)),
      ...(document.documentElement.scrollWidth > innerWidth ? ["the page is wider than the window"] : []),
    ];
  });

const LOOKS = {
  "by day": { colorScheme: "light" },
  "by night": { colorScheme: "dark" },
  "on a phone": { colorScheme: "light", viewport: { width: 390, height: 844 } },
};

describe("the styles of a card", () => {
  for (const [when, options] of Object.entries(LOOKS)) {
    test(`styles of a card are kept, readable and inside the message, ${when}`, async () => {
      const { page, close, held } = await openStyledReply(options);
      held.open();
      await lastMessage(page).getByText("The end.", { exact: true }).waitFor();
      await waitForReply(page);
      assert.equal(await paintedColours(page, "Calm", "color"), "rgb(159, 227, 180)");
      assert.equal(await paintedColours(page, "The harbour at dusk", "textTransform"), "uppercase");
      const box = lastMessage(page).locator(".prose > div").first();
      assert.match(
        await box.evaluate((e) => getComputedStyle(e).backgroundImage),
        /^linear-gradient\(135deg, rgb\(29, 43, 79\), rgb\(58, 36, 88\)\)$/,
      );
      assert.equal(await box.evaluate((e) => getComputedStyle(e).borderTopLeftRadius), "12px");
      // Text without its own colour gets our colour for that background.
      assert.equal(await box.evaluate((e) => getComputedStyle(e).color), "rgb(230, 225, 214)");
      assert.equal(await box.locator("q").evaluate((e) => getComputedStyle(e).color), "rgb(239, 211, 160)");
      for (const text of ["a yellow word", "a dark word", '"said"'])
        assert.ok((await contrast(page, text)) >= 4.5, `${text}: ${await contrast(page, text)}`);
      assert.equal(await paintedColours(page, "Loud", "position"), "static");
      assert.equal(await paintedColours(page, "Loud", "fontSize"), "40px");
      assert.deepEqual(await overflowing(page), []);
      await lastMessage(page).getByText("What she").click();
      await lastMessage(page).getByText("one", { exact: true }).waitFor();
      await checkAccessibility(page, `the look of a card ${when}`);
      if (process.env.SHOTS)
        await page.screenshot({ path: `${process.env.SHOTS}/look-${when.replaceAll(" ", "-")}.png` });
      if (process.env.SHOTS)
        await lastMessage(page)
          .locator(".prose")
          .screenshot({ path: `${process.env.SHOTS}/look-whole-${when.replaceAll(" ", "-")}.png` });
      await close();
    });
  }

  test("opened details stay open while the reply grows and after it is complete", async () => {
    const at = CARD.indexOf("- one");
    const { page, close, held } = await openStyledReply({}, [
      CARD.slice(0, at),
      CARD.slice(at, at + 6),
      CARD.slice(at + 6, at + 40),
      CARD.slice(at + 40),
    ]);
    held.next();
    await lastMessage(page).getByText("What she").click();
    await lastMessage(page).getByText("again").waitFor();
    for (const text of ["one", "two"]) {
      held.next();
      await lastMessage(page).getByText(text, { exact: true }).waitFor();
    }
    assert.equal(await lastMessage(page).locator("details li").count(), 2, "the list is in what unfolds");
    held.open();
    await lastMessage(page).getByText("The end.", { exact: true }).waitFor();
    await waitForReply(page);
    assert.ok(await lastMessage(page).getByText("two", { exact: true }).isVisible());
    await lastMessage(page).getByText("What she").click();
    await waitUntil(
      async () => !(await lastMessage(page).getByText("two", { exact: true }).isVisible()),
      "it is folded again",
    );
    await close();
  });

  test("an embedded picture is shown, and a remote picture is only named", async () => {
    const dot = "R0lGODlhAQABAIAAAP8AAP8AACH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==";
    const { page, close, held } = await openStyledReply({}, [
      `![A dot](data:image/gif;base64,${dot}) <img src="https://example.org/a.png" width=900> ![the quay](https://example.org/b.png) ![nothing](x.png)\n\nThe end.`,
    ]);
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    held.open();
    await lastMessage(page).getByText("The end.", { exact: true }).waitFor();
    await waitForReply(page);
    assert.equal(
      await lastMessage(page)
        .getByRole("img", { name: "A dot" })
        .evaluate(async (e) => (await e.decode(), e.naturalWidth)),
      1,
    );
    assert.equal(
      (await lastMessage(page).locator(".prose p").first().innerText()).trim(),
      "Image from example.org Image from example.org: the quay nothing",
    );
    assert.deepEqual(
      asked.filter((url) => url.includes("example.org")),
      [],
    );
    await checkAccessibility(page, "a message with pictures");
    if (process.env.SHOTS)
      await lastMessage(page)
        .locator(".prose")
        .screenshot({ path: `${process.env.SHOTS}/pictures.png` });
    await close();
  });
});
