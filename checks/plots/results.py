"""The committed results as the figures want them: rows of CSV as dicts."""

import csv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "writeups" / "results"
SMALL = "1,8,512,64,0"


def rows(name, **wanted):
    with open(RESULTS / name, newline="") as file:
        found = csv.DictReader(line for line in file if not line.startswith("#"))
        return [row for row in found if all(row[key] == value for key, value in wanted.items())]


def shape(row):
    return ",".join(row[key] for key in ("B", "H", "S", "D", "causal"))


def times(run, of_shape):
    """Program -> microseconds."""
    return {
        row["program"].split("_", 1)[0] if row["program"][0] in "vb" else row["program"]: float(row["us"])
        for row in rows("bench.csv", run=run, status="ok")
        if shape(row) == of_shape
    }
