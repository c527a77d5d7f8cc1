"""The figures of the pages: draws them, or says which are not what results and code give.

plots.py draw            SVGs into writeups/figures/
plots.py check           exit status 1 if a committed one differs
plots.py record KERNEL...   writeups/results/steps.csv, from the labs of the stages in STEPS; with `check` before KERNEL: compares
"""

import importlib
import sys
from pathlib import Path

sys.dont_write_bytecode = True
for module in sorted(Path(__file__).parent.glob("draw_*.py")):
    importlib.import_module(module.stem)
import recorded
from results import ROOT
from picture import FIGURES

FOLDER = ROOT / "writeups" / "figures"


def main(words):
    if words[:1] == ["record"] and len(words) > 1:
        return recorded.record(words[1:])
    if words not in (["draw"], ["check"]):
        print("usage: plots.py draw | check | record [check] KERNEL...", file=sys.stderr)
        return 2
    pictures = {f"{name}.svg": draw() for name, draw in FIGURES.items()}
    there = {path.name: path for path in FOLDER.iterdir()}
    stale = [name for name in sorted(there.keys() | pictures.keys()) if not (name in there and name in pictures and pictures[name].digest() in there[name].read_text()[:3000])]
    if words == ["draw"]:
        for name in there.keys() - pictures.keys():
            there[name].unlink()
        for name in stale:
            if name in pictures:
                pictures[name].save(FOLDER / name)
        print(f"{len(pictures)} figures in {FOLDER.relative_to(ROOT)}, {len(stale)} drawn anew")
        return 0
    for name in stale:
        print(f"stale: writeups/figures/{name}; make plots")
    print(f"{len(pictures.keys() - set(stale))} passed, {len(stale)} failed")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
