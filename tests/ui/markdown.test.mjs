// Tests in Chromium of the page's Markdown: texts that grow, and texts that are too complex to format.
import assert from "node:assert/strict";
import { describe } from "node:test";
import { openPage, test } from "./support/browser.mjs";
import { startClotho } from "./support/server.mjs";
import { POLICY_ERROR, browser, extraServers } from "./support/setup.mjs";
import { MARKDOWN } from "./support/texts.mjs";
import { pageOfModules } from "./support/typescript.mjs";

describe("Markdown", () => {
  /** Opens a page whose modules can be imported one by one; they are bundled in the program. */
  async function openModules() {
    const opened = await openPage(browser, { expected: POLICY_ERROR });
    const server = await startClotho(`[server]\nstatic_dir = ${JSON.stringify(pageOfModules())}\n`);
    extraServers.push(server);
    await opened.page.goto(server.base);
    return opened;
  }

  test("a text that is too complex to format is shown as it is, and what is beside it is formatted", async () => {
    const { page, close } = await openModules();
    const shown = await page.evaluate(async () => {
      const main = /** @type {HTMLScriptElement} */ (document.querySelector("script[type=module]")).src;
      const { LiveMarkdown, renderMarkdown, renderTyped } = await import(new URL("lib/markdown.js", main).href);
      const htmlOf = (/** @type {DocumentFragment} */ part) => {
        const host = document.createElement("div");
        host.append(part);
        return host.innerHTML;
      };
      const live = document.createElement("div");
      new LiveMarkdown(live).show(`${"> ".repeat(60)}word`);
      const long = `*thought* ${"word ".repeat(2_000)}\nline`;
      return {
        nested: htmlOf(renderMarkdown(`${"> ".repeat(60)}word\n<b>next</b>`)),
        live: live.textContent,
        long: htmlOf(renderMarkdown(`*short*\n\n${long}`)),
        typed: htmlOf(renderTyped(long)),
        line: htmlOf(renderMarkdown(`${"-".repeat(200)}`)),
      };
    });
    assert.match(shown.nested, /^<p>(?:&gt; ){60}word<br>&lt;b&gt;next&lt;\/b&gt;<\/p><p><small>[^<]+<\/small><\/p>$/);
    assert.match(shown.live ?? "", /^(?:> ){60}word/);
    assert.match(shown.long, /^<p><em>short<\/em><\/p>\s*<p>\*thought\* (?:word )+<br>line<\/p>/);
    assert.match(shown.typed, /^<p>\*thought\* (?:word )+<br>line<\/p>/);
    assert.match(shown.line, /^<hr>/);
    await close();
  });

  test("a text rendered piece by piece equals the same text rendered at once", async () => {
    const { page, close } = await openModules();
    const different = await page.evaluate(async (text) => {
      const main = /** @type {HTMLScriptElement} */ (document.querySelector("script[type=module]")).src;
      const { LiveMarkdown, renderMarkdown } = await import(new URL("lib/markdown.js", main).href);
      const [live, whole] = [document.createElement("div"), document.createElement("div")];
      for (const size of [1, 4, 37]) {
        live.replaceChildren();
        const writer = new LiveMarkdown(live);
        for (let end = size; end < text.length + size; end += size) writer.show(text.slice(0, end));
        whole.replaceChildren(renderMarkdown(text));
        if (live.innerHTML.replace(/\s+/g, " ") !== whole.innerHTML.replace(/\s+/g, " "))
          return [size, live.innerHTML, whole.innerHTML];
      }
      return null;
    }, MARKDOWN);
    assert.equal(different, null);
    await close();
  });
});
