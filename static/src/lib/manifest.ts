// Reads the declarative rules of a manifest, enough to list them. The server reports what is wrong with them. Pure.

interface ManifestRule {
  name: string;
  when: string;
}

/** The keys that say when and how often a rule fires. */
const KEYS = ["when", "on", "every", "of", "if", "once", "cooldown"];

/** @param text of `plugin.toml` */
export function rulesOf(text: string): ManifestRule[] {
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
