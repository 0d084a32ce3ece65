#!/usr/bin/env python3
"""Measure how readable the repository is: names, sizes, sentences, long lines, circles and commits.

    scripts/figures.py [FOLDER]        a table of one checkout
    scripts/figures.py OLD NEW         two checkouts side by side

Files of tests are left out. Counts are patterns over text: good for comparing, not to the last digit.
"""

import re
import statistics
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import prose

TYPE = re.compile(r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type|union) (\w+)", re.M)
FUNCTION = re.compile(r"^(\s*)(?:[\w()]+ |pub\([^)]*\) )*fn (\w+)")
COMMENT = re.compile(r"//[^\n]*")
IRREGULAR = "Said Held Told Made Kept Sent Found Known Gone Left Cut Put Brought Lost Seen Given".split()
NOUNS = "Embed Feed Seed Speed Token Screen".split()


def rust_files(top):
    """The product's Rust files with their text, inline tests cut off."""
    for folder in (top / "src", *sorted(top.glob("crates/*/src"))):
        for file in sorted(folder.rglob("*.rs")):
            if "tests" not in file.with_suffix("").parts:
                yield folder, file, file.read_text().split("#[cfg(test)]\nmod tests {")[0]


def words(name):
    """The words of a name in camel or snake case."""
    return [word for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name) if word]


def is_participle(name):
    last = words(name)[-1] if words(name) else name
    ending = len(last) > 3 and last.endswith(("ed", "en")) and last not in NOUNS
    return last in IRREGULAR or ending


def functions(text):
    """Names and lengths of the functions of a formatted file."""
    lines = text.split("\n")
    for at, line in enumerate(lines):
        found = FUNCTION.match(line)
        if not found or line.rstrip().endswith(("}", ";")):
            if found:
                yield found[2], 1
            continue
        ends = (n for n in range(at, len(lines)) if lines[n].rstrip() == found[1] + "}")
        yield found[2], next(ends, at) - at + 1


def module_of(folder, file):
    parts = list(file.relative_to(folder).with_suffix("").parts)
    return tuple(parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts)


def references(text, module):
    """Paths into the same crate, from its root."""
    text = COMMENT.sub("", text)
    for found in re.finditer(r"\b(crate::|(?:super::)+)(\w+(?:::\w+)*)?(?:::)?(\{[^;]*?\})?", text):
        steps = found[1].count("super")
        if steps > len(module):
            continue
        base = [] if not steps else list(module[: len(module) - steps])
        head = (found[2] or "").split("::") if found[2] else []
        if not found[3]:
            yield tuple(base + head)
        else:
            for name in re.findall(r"(?:^\{|,)\s*(\w+)", found[3]):
                yield tuple(base + head + [name])


def circles(files):
    """How many folders have files that know each other in both directions."""
    crates = defaultdict(list)
    for folder, file, text in files:
        crates[folder].append((module_of(folder, file), text))
    count = 0
    for modules in crates.values():
        folders = {module[:end] for module, _ in modules for end in range(len(module))}
        for place in folders:
            depth, graph = len(place), defaultdict(set)
            parts = {module[depth] for module, _ in modules if len(module) > depth and module[:depth] == place}
            for module, text in modules:
                if len(module) <= depth or module[:depth] != place:
                    continue
                for path in references(text, module):
                    if path[:depth] == place and len(path) > depth and path[depth] in parts - {module[depth]}:
                        graph[module[depth]].add(path[depth])
            count += has_circle(graph)
    return count


def has_circle(graph):
    state = {}

    def visit(node):
        state[node] = 1
        for other in graph.get(node, ()):
            if state.get(other) == 1 or (other not in state and visit(other)):
                return True
        state[node] = 2
        return False

    return any(node not in state and visit(node) for node in list(graph))


def share(part, whole):
    return f"{100 * part / max(whole, 1):.1f} %"


def spread(values):
    values = sorted(values) or [0]
    return f"{statistics.median(values):.0f} / {values[int(0.9 * (len(values) - 1))]} / {values[-1]}"


def code_figures(top):
    files = list(rust_files(top))
    types = [name for _, _, text in files for name in TYPE.findall(text)]
    fns = [found for _, _, text in files for found in functions(text)]
    shared = {name for name, count in Counter(types).items() if count > 1}
    yield "Rust files / lines", f"{len(files)} / {sum(text.count(chr(10)) for *_, text in files)}"
    yield "crates", str(len({folder for folder, *_ in files}))
    yield "lines of a file: median / p90 / max", spread([text.count("\n") for *_, text in files])
    yield "lines of a function: median / p90 / max", spread([length for _, length in fns])
    yield "types", str(len(types))
    yield "types of one word", share(sum(len(words(name)) == 1 for name in types), len(types))
    yield "types that share their name", share(sum(name in shared for name in types), len(types))
    yield "types named by a participle", share(sum(map(is_participle, types)), len(types))
    yield "functions of one word", share(sum(len(words(name)) == 1 for name, _ in fns), len(fns))
    yield "letters of a function's name: median / p90 / max", spread([len(name) for name, _ in fns])
    yield "folders with a circle of files", str(circles(files))


def page_figures(top):
    built = ("vendor", "built", "node_modules")
    lines = [
        len(line)
        for ending in ("js", "ts", "tsx")
        for file in (top / "static").rglob(f"*.{ending}")
        if not set(file.relative_to(top).parts) & set(built)
        for line in file.read_text().split("\n")
    ]
    for limit in (120, 140, 180):
        yield f"lines of the page above {limit} characters", str(sum(length > limit for length in lines))
    yield "longest line of the page", str(max(lines, default=0))


def prose_figures(top):
    for file in (*sorted(top.glob("*.md")), *sorted(top.glob("docs/**/*.md"))):
        lengths = [length for _, length, _ in prose.sentences(file.read_text())]
        if lengths:
            yield f"words of a sentence, {file.relative_to(top)}: median / p90 / max", spread(lengths)


def commit_figures(top):
    log = subprocess.run(
        ["git", "-C", top, "log", "--no-merges", "-n", "400", "--format=%s%x00%b%x01"], capture_output=True, text=True
    ).stdout
    commits = [entry.strip().split("\0") for entry in log.split("\1") if entry.strip()]
    if commits:
        yield "letters of a commit's subject: median / p90 / max", spread([len(subject) for subject, *_ in commits])
        yield "commits with a body (of the last 400)", str(sum(bool(body.strip()) for _, *rest in commits for body in rest))


def figures(top):
    return {name: value for part in (code_figures, page_figures, prose_figures, commit_figures) for name, value in part(top)}


def main():
    columns = [figures(Path(folder)) for folder in sys.argv[1:] or ["."]]
    names = list(dict.fromkeys(name for column in columns for name in column))
    print("| figure |" + "".join(f" {folder} |" for folder in sys.argv[1:] or ["."]))
    print("| --- |" + " --- |" * len(columns))
    for name in names:
        print(f"| {name} |" + "".join(f" {column.get(name, '-')} |" for column in columns))


if __name__ == "__main__":
    main()
