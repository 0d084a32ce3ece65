// The rules without code of a manifest, as they are written there: enough to list them. What is wrong with them the
// server says. Pure.

interface WrittenRule {
  name: string;
  when: string;
}

/** When it fires, and how often. */
const KEYS = ["when", "on", "every", "of", "if", "once", "cooldown"];

/** @param text of `plugin.toml` */
export function rulesOf(text: string): WrittenRule[] {
  const blocks = text.split(/^[ \t]*\[\[rule\]\][^\n]*$/m).slice(1);
  return blocks.map((block) => {
    const own = block.split(/^[ \t]*\[/m)[0] ?? "";
    const fields = new Map(
      [...own.matchAll(/^[ \t]*(\w+)[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|'[^']*'|[^#\n]*)/gm)].map(
        ([, key = "", value = ""]) => [key, value.trim()],
      ),
    );
    const bare = (value: string | undefined) => (value ?? "").replace(/^["']|["']$/g, "");
    return {
      name: bare(fields.get("name")),
      when: KEYS.filter((key) => fields.has(key))
        .map((key) => `${key} ${bare(fields.get(key))}`)
        .join(", "),
    };
  });
}
