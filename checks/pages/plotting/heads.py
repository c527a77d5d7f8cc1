"""Which bugs have an error map, how it is asked for and what its caption says: the `map:` line in the head of the bug's patch.

    map: [shape=1,1,128,64] [rows=48..63] [inputs=probe] [fragments=other] [predicted=1] [sample=13] [beside=BUG] caption

The words before the caption go to `lab error-map`, all but beside=BUG, which puts that bug's map next to this one's.
"""
import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[3]


class Unusable(Exception):
    """A results file or a document that cannot be worked with: one line, exit status 2."""


def name_of(path):
    return path.relative_to(ROOT).as_posix()


class MapHead(NamedTuple):
    stage: str
    arguments: tuple
    beside: str
    caption: str


def parse(stage, line):
    words = line.split()
    options = []
    while words and re.fullmatch(r"[a-z]+=\S+", words[0]):
        options.append(words.pop(0))
    beside = [o.split("=", 1)[1] for o in options if o.startswith("beside=")]
    return MapHead(stage, tuple(o for o in options if not o.startswith("beside=")), beside[0] if beside else "", " ".join(words))


def map_heads():
    """BUG -> MapHead, in the order of the stages."""
    heads = {}
    for path in sorted((ROOT / "stages").glob("*/bugs/*.patch")):
        head = path.read_text().split("\n--- ", 1)[0]
        if found := re.search(r"^map: *(.*)$", head, re.M):
            heads[path.stem] = parse(path.parts[-3], found[1])
            if not heads[path.stem].caption:
                raise Unusable(f"{name_of(path)}: its map: line has no caption")
    for bug, head in heads.items():
        if head.beside and head.beside not in heads:
            raise Unusable(f"the map: line of {bug} has beside={head.beside}, which has no map")
    return heads
