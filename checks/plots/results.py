"""The committed results as the figures want them: rows of CSV as dicts."""

import csv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "writeups" / "results"


def rows(name, **wanted):
    with open(RESULTS / name, newline="") as file:
        found = csv.DictReader(line for line in file if not line.startswith("#"))
        return [row for row in found if all(row[key] == value for key, value in wanted.items())]

