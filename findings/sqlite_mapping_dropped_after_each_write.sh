#!/usr/bin/env bash
# SQLite's memory mapping does not survive the writes of others.
#
# A reader with PRAGMA mmap_size reads the database through a mapping. One would expect that the mapping stays, and that
# in WAL mode a row that another connection writes to another table costs the reader nothing: none of its pages changed.
# But its next read drops the whole mapping, and every page that it reads is mapped again, with a page fault for each
# stretch. Without mmap_size the same reads cause no faults. A server that writes a little and reads much, such as one with
# a turn per second and many readers, is slower with a mapping than without.
#
# Seen with SQLite 3.50.4 (apsw 3.50.4.0), Python 3.11, Linux: 251 page faults for each scan of 12 MB after a write of one
# row elsewhere, none without the write, none without the mapping. Needs Python 3.9 or newer and pip.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet install --disable-pip-version-check apsw==3.50.4.0
"$folder/venv/bin/python" - "$folder/story.db" <<'PYTHON'
import resource
import sys

import apsw

path = sys.argv[1]


def run(connection, sql):
    return connection.execute(sql).fetchall()


writer = apsw.Connection(path)
run(writer, "PRAGMA journal_mode = WAL")
run(writer, "CREATE TABLE texts (n INTEGER PRIMARY KEY, content BLOB)")
run(writer, "CREATE TABLE marks (n INTEGER PRIMARY KEY, x)")
with writer:
    for n in range(4000):
        run(writer, f"INSERT INTO texts VALUES ({n}, randomblob(3000))")
run(writer, "PRAGMA wal_checkpoint(TRUNCATE)")


def faults_of_scan(mapped, others_write):
    """The median of page faults in five scans of a reader."""
    reader = apsw.Connection(path)
    run(reader, "PRAGMA cache_size = 10")
    run(reader, f"PRAGMA mmap_size = {1 << 28 if mapped else 0}")
    scan = "SELECT sum(length(content)) FROM texts"
    for _ in range(3):
        run(reader, scan)
    counts = []
    for _ in range(5):
        if others_write:
            run(writer, "INSERT INTO marks (x) VALUES (1)")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        run(reader, scan)
        counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    reader.close()
    return sorted(counts)[2]


print("SQLite", apsw.sqlite_lib_version())
seen = {}
for mapped in (False, True):
    for others_write in (False, True):
        seen[mapped, others_write] = faults_of_scan(mapped, others_write)
        how = "mapped" if mapped else "not mapped"
        print(f"{how}, others {'write' if others_write else 'rest'}: {seen[mapped, others_write]} page faults a scan")
quiet = max(seen[False, False], seen[False, True], seen[True, False])
if seen[True, True] < 100 or quiet > 20:
    sys.exit("changed: a write elsewhere no longer drops the reader's mapping")
print("as described")
PYTHON
