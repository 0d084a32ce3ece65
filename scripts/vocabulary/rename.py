#!/usr/bin/env python3
"""Apply rename maps to the code through rust-analyzer.

    scripts/vocabulary/rename.py [--kinds type,mod] [--dry-run] MAP.tsv...

Run it from the top of a clean checkout, with `rust-analyzer` on the path. All renames are asked of one unchanged
snapshot, so that no answer invalidates the next; the edits are written at the end. Rows that fail are printed, and the
exit status is 1 then. Comments and names inside macros are not changed: the compiler and rustdoc find what is left.
"""

import argparse
import itertools
import json
import os
import re
import subprocess
import sys
import threading
from collections import defaultdict, namedtuple
from pathlib import Path
from urllib.parse import unquote, urlparse

Row = namedtuple("Row", "kind file line old new")
Position = namedtuple("Position", "file line column")

KEYWORDS = {
    "type": r"(?:struct|enum|trait|type|union)\s+",
    "fn": r"fn\s+",
    "test": r"fn\s+",
    "const": r"(?:const|static)\s+",
    "mod": r"mod\s+",
}
IN_FLIGHT = 4


def read_maps(paths, kinds):
    """The rows of some maps. A line that is no row is an error."""
    for path in paths:
        for number, line in enumerate(Path(path).read_text().splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            fields = line.split("\t")
            if len(fields) != 5:
                sys.exit(f"{path}:{number}: expected 5 fields, found {len(fields)}")
            row = Row(fields[0], fields[1], int(fields[2]), fields[3], fields[4])
            if not kinds or row.kind in kinds:
                yield row


def find_definition(row):
    """Where the old name is defined, or None."""
    if row.kind == "mod":
        candidates = [(file, None) for file in parents(Path(row.file))]
    else:
        candidates = [(Path(row.file), row.line - 1)]
    pattern = re.compile(KEYWORDS.get(row.kind, "") + rf"(?<!\w)({re.escape(row.old)})(?!\w)")
    for file, only in candidates:
        if not file.is_file():
            continue
        for number, text in enumerate(file.read_text().split("\n")):
            found = pattern.search(text) if only in (None, number) else None
            if found:
                return Position(file, number, len(text[: found.start(1)].encode()))
    return None


def parents(file):
    """The files that may declare the module of a file."""
    folder = file.parent.parent if file.name == "mod.rs" else file.parent
    return [folder / "mod.rs", folder.with_suffix(".rs"), folder / "lib.rs", folder / "main.rs"]


class Server:
    """A rust-analyzer process that has read the workspace."""

    def __init__(self, root):
        self.process = subprocess.Popen(
            ["rust-analyzer"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.sending = threading.Lock()
        self.changed = threading.Condition()
        self.answers, self.ids = {}, itertools.count(1)
        self.is_ready, self.has_ended = False, False
        threading.Thread(target=self._read, daemon=True).start()
        self.wait(self.request("initialize", initialization(root)))
        self._send({"method": "initialized", "params": {}})
        with self.changed:
            self.changed.wait_for(lambda: self.is_ready or self.has_ended)

    def request(self, method, params):
        """Sends a request and returns its number."""
        number = next(self.ids)
        self._send({"id": number, "method": method, "params": params})
        return number

    def wait(self, number):
        """The answer to a request. It is an error if the server has ended."""
        with self.changed:
            self.changed.wait_for(lambda: number in self.answers or self.has_ended)
            if number not in self.answers:
                sys.exit("rust-analyzer ended before it answered")
            return self.answers.pop(number)

    def _send(self, message):
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self.sending:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.process.stdin.flush()

    def _read(self):
        while message := read_message(self.process.stdout):
            if "method" in message and "id" in message:
                self._send({"id": message["id"], "result": None})
            with self.changed:
                if message.get("method") == "experimental/serverStatus":
                    self.is_ready = self.is_ready or message["params"]["quiescent"]
                elif "method" not in message:
                    self.answers[message["id"]] = message
                self.changed.notify_all()
        with self.changed:
            self.has_ended = True
            self.changed.notify_all()


def read_message(stream):
    """The next message of the server, or None at its end."""
    length = 0
    while (line := stream.readline()) != b"\r\n":
        if not line:
            return None
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(stream.read(length))


def initialization(root):
    """What the server is told at its start: no checks, no macros of other crates, columns in bytes."""
    return {
        "processId": os.getpid(),
        "rootUri": root.as_uri(),
        "capabilities": {
            "general": {"positionEncodings": ["utf-8"]},
            "workspace": {"workspaceEdit": {"documentChanges": True, "resourceOperations": ["rename"]}},
            "experimental": {"serverStatusNotification": True},
        },
        "initializationOptions": {
            "checkOnSave": False,
            "procMacro": {"enable": False},
            "cargo": {"buildScripts": {"enable": False}},
        },
    }


def ask(server, root, rows):
    """Yields each row with the answer to its rename, a few requests at a time."""
    pending = []
    for row in rows:
        place = find_definition(row)
        if place is None:
            yield row, {"error": {"message": "the old name is not defined there"}}
            continue
        params = {
            "textDocument": {"uri": (root / place.file).as_uri()},
            "position": {"line": place.line, "character": place.column},
            "newName": row.new,
        }
        pending.append((row, server.request("textDocument/rename", params)))
        if len(pending) >= IN_FLIGHT:
            first, number = pending.pop(0)
            yield first, server.wait(number)
    for row, number in pending:
        yield row, server.wait(number)


def path_of(uri):
    return Path(unquote(urlparse(uri).path))


def gather(answers):
    """The edits by file, the files to move, and the rows that failed with their reason."""
    edits, moves, failures = defaultdict(set), set(), []
    for row, answer in answers:
        if "error" in answer or not answer.get("result"):
            failures.append((row, answer.get("error", {}).get("message", "no answer")))
            continue
        for change in answer["result"]["documentChanges"]:
            if change.get("kind") == "rename":
                moves.add((path_of(change["oldUri"]), path_of(change["newUri"])))
                continue
            for edit in change["edits"]:
                start, end = edit["range"]["start"], edit["range"]["end"]
                span = (start["line"], start["character"], end["line"], end["character"])
                edits[path_of(change["textDocument"]["uri"])].add((*span, edit["newText"]))
    return edits, moves, failures


def replace(file, edits):
    """Writes the edits of one file. Two edits of one place are an error, before anything is written."""
    source = file.read_bytes()
    starts = [0, *itertools.accumulate(len(line) + 1 for line in source.split(b"\n"))]
    spans = sorted((starts[a] + b, starts[c] + d, text) for a, b, c, d, text in edits)
    out, last = [], 0
    for start, end, text in spans:
        if start < last:
            sys.exit(f"{file}: two renames change the same place, near byte {start}")
        out += [source[last:start], text.encode()]
        last = end
    file.write_bytes(b"".join([*out, source[last:]]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("maps", nargs="+", metavar="MAP.tsv")
    parser.add_argument("--kinds", default="", help="only these kinds of rows, with commas between them")
    parser.add_argument("--dry-run", action="store_true", help="ask for the edits and write nothing")
    arguments = parser.parse_args()
    root = Path.cwd()
    rows = list(read_maps(arguments.maps, set(filter(None, arguments.kinds.split(",")))))
    edits, moves, failures = gather(ask(Server(root), root, rows))
    if not arguments.dry_run:
        for file, changes in edits.items():
            replace(file, changes)
        for old, new in sorted(moves):
            new.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["git", "mv", old, new], check=True)
    for row, reason in failures:
        print(f"failed: {row.kind} {row.file}:{row.line} {row.old} -> {row.new}: {reason.splitlines()[0][:160]}")
    count = sum(map(len, edits.values()))
    print(f"{len(rows)} rows, {count} edits in {len(edits)} files, {len(moves)} files to move, {len(failures)} rows failed")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
