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
    for bug, (stage, line) in UNTIL_PATCHES.items():
        heads.setdefault(bug, parse(stage, line))
    for bug, head in heads.items():
        if head.beside and head.beside not in heads:
            raise Unusable(f"the map: line of {bug} has beside={head.beside}, which has no map")
    return heads


# Goes when stages/*/bugs/*.patch have these lines.
UNTIL_PATCHES = {
    "head_dim_64": ("v1_scalar", "shape=1,1,128,128 predicted=1 sample=37 D = 128: columns 64..127 are never written, and the others come from scores over 64 of 128 columns."),
    "warp7_nan": ("v2b_single_warp", "shape=1,1,64,64 rows=48..63 beside=accum_tail NaN in the eight rows of warp 7, rows 56..63."),
    "accum_tail": ("v2b_single_warp", "shape=1,1,64,64 rows=48..63 beside=warp7_nan NaN from row 57 on: the clear of 64 · 64 floats ends with row 56, which is just saved."),
    "double_scale": ("v2c3_scalar_smem", "predicted=1 sample=29 Every row moves towards the mean of V: the scores are eight times too small."),
    "reduce_32x": ("v2c3_scalar_smem", "predicted=1 sample=29 Every element is 1/32 of what it should be."),
    "qk_not_transposed": ("v2c5_wmma_qk", "shape=1,1,64,64 inputs=probe Right only where K[r][n] = K[n][r], on diagonals of the whole tile."),
    "ldm": ("v2c5_wmma_qk", "shape=1,1,64,64 inputs=probe Right only on the diagonals of the 16 × 16 blocks, which is what is transposed."),
    "skip_tail": ("v2c5_wmma_qk", "shape=1,1,500,64 rows=436..499 S = 500: rows 496..499 are never written, the rest is right."),
    "fragment_layout": ("v2c6_wmma_pv", "shape=1,1,64,64 inputs=probe fragments=other predicted=1 With another legal layout weights change places inside every 16 × 16 block."),
}
