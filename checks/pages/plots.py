"""Figures and tables from what is committed under writeups/results/, so that they cannot say anything else.

    plots.py draw              figures (SVG) into writeups/figures/, tables between their markers on the pages
    plots.py check             exit status 1 if a figure or a table is not what the results give
    plots.py look DIR [NAME…]  PNGs into DIR, for looking at; changes nothing else
    plots.py data BUILD        results that the CPU gives (maps, traces, plans, layouts) from the binaries in BUILD
    plots.py data-check BUILD  exit status 1 if they are not what the binaries give

A figure's SVG carries the SHA-256 of the data it was drawn from and of the code that drew it; `check` compares that, and so needs no matplotlib and no GPU.
Of several benchmark runs the one with the latest date is shown. What cannot be used is one line and exit status 2.
The parts stand in checks/pages/plotting/.
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # a check leaves nothing in the tree
from plotting import data, figures, tables
from plotting.heads import Unusable, name_of
from plotting.results import Results


def draw():
    r = Results()
    count = figures.draw(r)
    changed = 0
    for path in tables.documents():
        text, filled = tables.with_tables(r, path)
        if text != filled:
            path.write_text(filled)
            changed += 1
    print(f"{count} figures in {name_of(figures.FIGURES)}; tables of {changed} document{'' if changed == 1 else 's'} changed")
    return 0


def check():
    r = Results()
    passed, stale = figures.stale(r)
    for path in tables.documents():
        text, filled = tables.with_tables(r, path)
        if text == filled:
            passed += 1
        else:
            stale.append(f"{name_of(path)}: its tables are not what the results give")
    for line in stale:
        print(f"stale: {line}; make plots")
    print(f"{passed} passed, {len(stale)} failed")
    return 1 if stale else 0


def look(folder, *names):
    print(f"{figures.draw(Results(), Path(folder), names)} PNGs in {folder}")
    return 0


WORDS = {"draw": (draw, 0, 0), "check": (check, 0, 0), "look": (look, 1, 99), "data": (data.write, 1, 1), "data-check": (data.compare, 1, 1)}


def main(words):
    action, least, most = WORDS.get(words[0] if words else "", (None, 0, 0))
    if not action or not least <= len(words) - 1 <= most:
        print("usage: plots.py draw | check | look DIR [NAME...] | data BUILD | data-check BUILD", file=sys.stderr)
        return 2
    try:
        return action(*words[1:])
    except Unusable as e:
        print(f"plots: {e}", file=sys.stderr)
        return 2
    except (KeyError, TypeError, ValueError, IndexError) as e:  # a file of the right schema that does not keep to it
        print(f"plots: a results file lacks or breaks {e}; writeups/results/README.md has the schema", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
