"""writeups/results/steps.csv: what the first warp of each warpgroup does at which step, as `runner KERNEL trace` records it on the CPU."""

import csv
import io
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from results import RESULTS, rows

STEPS = {"v2c8": "1,1,256,64", "v2d": "1,1,256,64", "v3b": "1,1,256,128", "v3c": "1,1,256,128", "v3e": "1,1,512,128", "v3f": "1,1,512,128"}


def record(kernels):
    check = kernels[0] == "check"
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["stage", "warp", "what", "begin", "end"])
    for kernel in kernels[check:]:
        stage = Path(kernel).parts[-3].split("_")[0]
        with tempfile.NamedTemporaryFile() as file:
            subprocess.run([os.environ["RUNNER"], kernel, "trace", f"shape={STEPS[stage]}", f"json={file.name}"], check=True, stdout=subprocess.DEVNULL)
            events = json.load(open(file.name))["traceEvents"]
        for e in events:
            if e["ph"] == "X" and e["tid"] % 4 == 0:
                name = re.sub(r" s([QKV])$", r" \1", e["name"])  # sK where K is an array of its own, and no member
                table.writerow([stage, e["tid"], name, e["ts"], e["ts"] + e["dur"]])
    path = RESULTS / "steps.csv"
    if not check:
        path.write_text(text.getvalue())
        return 0
    same = path.read_text() == text.getvalue()
    print("" if same else "writeups/results/steps.csv is not what the kernels do now; make plots record=1", end="" if same else "\n")
    print(f"{int(same)} passed, {int(not same)} failed")
    return int(not same)


def products(stage, warp):
    """The products that a warp begins, in their order: QK0, QK1, PV0, ..."""
    names, last = [], ""
    for row in rows("steps.csv", stage=stage, warp=str(warp)):
        kind = {"wgmma K": "QK", "wgmma V": "PV"}.get(row["what"])
        if kind and not (kind == last):
            names.append(f"{kind}{sum(name.startswith(kind) for name in names)}")
        last = kind or ("" if row["what"] == "wait for products" else last)
    return names
