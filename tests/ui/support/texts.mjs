// Texts of replies: Markdown with every element, and hostile texts.

export const MARKDOWN = `# The harbour\r\n\r\nShe says, "Wait for the **tide**," and waits.\r\nSo do you.

* rope
* oil, *three* measures
  * and a can

1. First
2. Then

> Nobody came.
> Not that night.

| Tide | Depth |
|---|---:|
| low | 2 |
| high | 5 |

\`\`\`
let light = "low";

// two blank lines


end
\`\`\`

“要么跳，”她说，“要么走**岸边的小路**。”

---

「等潮水。」 <b>raw</b> text &amp; an [edge](https://example.org/a_(b)) \\*not emphasis\\*

<div style="background:#222; padding:4px">

<details open><summary>Within</summary>

One, <b>bold, <span style="color: #b00">and red</span></b>.

Two, <small>never closed.

</details>

</div>

<i>after</i>

- the last

end`;

export const ATTACKS = [
  '<img src=x onerror="window.hacked=1">',
  "<script>window.hacked=1</script>",
  "[a](javascript:window.hacked=1) [b](JaVaScRiPt&colon;window.hacked=1) [c](https://example.org/x)",
  "<svg onload=window.hacked=1><style><img src=x onerror=window.hacked=1></style></svg>",
  '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=window.hacked=1&gt;">',
  '<iframe srcdoc="<script>parent.hacked=1</script>"></iframe><object data=x></object><embed src=x>',
  "<form id=app action=https://evil.example><input name=body></form><a id=cookie href=/api/sessions>x</a>",
  "<base href=https://evil.example/><meta http-equiv=refresh content=0><link rel=stylesheet href=https://evil.example/x.css>",
  '<p style="position:fixed;inset:0" class=bar onclick=window.hacked=1>click</p><template><b onclick=window.hacked=1></b></template>',
  '![tracker](https://evil.example/pixel.png) "<b onmouseover=window.hacked=1>said</b>"',
];
