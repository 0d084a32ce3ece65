#!/usr/bin/env python3
"""Measure the length of sentences in Markdown files.

    scripts/prose.py FILE...            sentences, median, p90 and longest, in words
    scripts/prose.py --long 25 FILE...  also list each sentence longer than 25 words

Code blocks, tables, headings and link targets do not count. A list item ends a sentence.
Inline code counts as one word. A Chinese sentence counts two characters as one word.
"""

import argparse
import re
import sys

FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
HEADING = re.compile(r"^\s*#")
TABLE = re.compile(r"^\s*\|")
CODE = re.compile(r"``[^`]*(?:`[^`]+)*``|`[^`]*`")
IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)|<img[^>]*>")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
TAG = re.compile(r"<[^>\s][^>]*>|\*\*|__|(?<!\w)[*_]|[*_](?!\w)")
END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[^a-z\s])|(?<=[。！？])[”’）」]*")
SHORT = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|no|approx)\.", re.IGNORECASE)
WIDE = re.compile(r"[\u3400-\u9fff]")


def paragraphs(text):
    """Runs of prose with the number of their first line."""
    run, first, fenced = [], 0, False
    for number, line in enumerate(text.splitlines(), 1):
        is_fence = FENCE.match(line)
        if is_fence:
            fenced = not fenced
        blank = is_fence or fenced or not line.strip() or HEADING.match(line) or TABLE.match(line)
        if run and (blank or ITEM.match(line)):
            yield first, " ".join(run)
            run = []
        if blank:
            continue
        if not run:
            first = number
        run.append(ITEM.sub("", line).strip().lstrip("> "))
    if run:
        yield first, " ".join(run)


def bare(text):
    """A paragraph without marks, targets and pictures."""
    text = IMAGE.sub(" ", text)
    text = LINK.sub(r"\1", text)
    text = CODE.sub("CODE", text)
    text = SHORT.sub(lambda found: found.group(1).replace(".", ""), text)
    return TAG.sub("", text)


def words(sentence):
    """How many words a sentence has."""
    wide = len(WIDE.findall(sentence))
    plain = WIDE.sub(" ", sentence).split()
    return len([word for word in plain if re.search(r"\w", word)]) + (wide + 1) // 2


def sentences(text):
    """Sentences as (line, words, text)."""
    for line, paragraph in paragraphs(text):
        for sentence in END.split(bare(paragraph)):
            count = words(sentence)
            if count:
                yield line, count, sentence.strip()


def percentile(counts, share):
    """The smallest count that this share of the sentences does not exceed."""
    return counts[max(0, -(-len(counts) * share // 100) - 1)]


def main():
    parser = argparse.ArgumentParser(description="Measure the length of sentences in Markdown files.")
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--long", type=int, metavar="N", help="list sentences longer than N words")
    options = parser.parse_args()
    print(f"{'sentences':>9} {'median':>6} {'p90':>4} {'max':>4}  file")
    for path in options.files:
        with open(path, encoding="utf-8") as file:
            found = list(sentences(file.read()))
        counts = sorted(count for _, count, _ in found)
        if not counts:
            print(f"{0:>9} {'-':>6} {'-':>4} {'-':>4}  {path}")
            continue
        row = (len(counts), percentile(counts, 50), percentile(counts, 90), counts[-1])
        print("{:>9} {:>6} {:>4} {:>4}  ".format(*row) + path)
        if options.long is not None:
            for line, count, sentence in found:
                if count > options.long:
                    print(f"    {path}:{line} ({count}) {sentence}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
