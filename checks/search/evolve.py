"""make stage=NAME evolve: a random search over a stage's tunables, which keeps the three fastest versions that are right.

    evolve.py BACKEND STAGE [shape=B,H,S,D[,causal]] [seed=N] [minutes=N] [out=FILE]

RUNNER and MAKE are in the environment. Candidates are built, checked by `runner KERNEL validate` (validator.hpp), and timed on a GPU;
without one the least time that `runner KERNEL counters` allows stands for the time. The same measurements give the same children.
"""

import csv
import hashlib
import os
import random
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True
from tunables import Tunables, refuse

ELITE, MUST_GAIN, ATTEMPTS = 3, 0.03, 2000  # MUST_GAIN: of the time of the one that a child replaces; ATTEMPTS: at one that has not been tried
SECONDS = {"gpu": 60, "cpu": 600}  # of a validation
ALTERNATIONS = 2  # of a child and the one that it would replace, before it does
COLUMNS = "stage B H S D causal fitness id generation parent verdict us p10 p90 confirmed_us registers smem reason settings".split()


@dataclass
class Candidate:
    setting: dict
    source: str = ""  # what is compiled
    id: str = ""  # a hash of it: two settings that come to the same are one candidate
    parent: str = ""  # "" of those that the search starts with
    generation: int = 0
    verdict: str = ""  # elite: one of the three when it came; slower; wrong; too large; broken: does not build, run or end
    reason: str = ""
    registers: object = ""
    smem: object = ""  # bytes
    us: list = field(default_factory=list)  # a call, one figure a round; empty unless its outputs are right
    again: object = ""  # measured in alternation with the one to be replaced
    beside: object = ""  # that one's

    def time(self):
        return statistics.median(self.us) if self.us else float("inf")


def candidate(tunables, shape, setting, **parent):
    source = tunables.source(setting, shape)
    reason = tunables.objection(setting, shape)
    name = hashlib.sha256((tunables.stage + "\n" + source).encode()).hexdigest()[:8]
    return Candidate(setting, source, name, verdict="too large" if reason else "", reason=reason, **parent)


def beginnings(tunables, shape, own):
    """Where a search starts: the stage as it is, then its other tiles."""
    return [candidate(tunables, shape, row) for row in [own] + [row for row in tunables.rows(shape) if row != own]]


def propose(tunables, shape, elite, known, draw):
    """A child of one of the elite: two tunables have other values. Never one of `known`; None when no new one was found."""
    some = tunables.for_shape(shape)
    for _ in range(ATTEMPTS if elite and len(some) > 1 else 0):
        parent = draw.choice(elite)
        setting = dict(parent.setting)
        for tunable in draw.sample(some, 2):
            setting[tunable.name] = draw.choice([value for value in tunable.values if value != setting[tunable.name]])
        child = candidate(tunables, shape, setting, parent=parent.id)
        if child.id not in known:
            known.add(child.id)
            return child
    return None


def would_replace(elite, c):
    """The one that c would replace, if it is right; None where it would not enter, or there is room."""
    return elite[-1] if len(elite) == ELITE and c.time() <= elite[-1].time() * (1 - MUST_GAIN) else None


def judge(elite, c):
    """Decides the candidate's verdict and reason, and takes it in where it belongs: the fastest first."""
    if c.verdict:
        return
    c.verdict = "slower" if c.us else "wrong"
    if not c.us:
        return
    if len(elite) < ELITE:
        c.reason = "there were fewer than three" if c.parent else "where the search starts"
    else:
        third = elite[-1]
        gain = 100 * (1 - c.time() / third.time())
        if not would_replace(elite, c):
            slower = f"{-gain:.1f} % slower than the third, {third.id}"
            c.reason = slower if gain < 0 else f"{gain:.1f} % faster than the third, {third.id}, and 3 % are asked for"
            return
        if c.again and c.again > c.beside * (1 - MUST_GAIN):
            c.reason = f"measured again in turns with {third.id}: {100 * (1 - c.again / c.beside):.1f} % faster, not 3 %"
            return
        c.reason = f"{gain:.1f} % faster than {third.id}, whose place it takes"
        elite.pop()
    c.verdict = "elite"
    elite.append(c)
    elite.sort(key=Candidate.time)


def read_build_log(c, log, built):
    """Takes registers and spills from nvcc's log, and a verdict where the candidate cannot run."""
    if not built:
        said = re.search(r".*error.*", log)
        c.verdict, c.reason = "broken", "does not compile: " + (said[0] if said else "see its kernel.log")
        return
    c.registers = max(map(int, re.findall(r"Used (\d+) registers", log)), default="")
    spills = sum(map(int, re.findall(r"(\d+) bytes spill", log)))
    if loss := re.search(r".*Potential Performance Loss.*", log):
        c.verdict, c.reason = "broken", "ptxas: " + loss[0]
    elif spills:
        c.verdict, c.reason = "too large", f"spills {spills} bytes; the lab allows none"


def read_validation(c, printed, status):
    """What `validate` printed and its exit status, 124 where it was stopped."""
    said = dict(line.split(" ", 1) for line in printed.splitlines() if " " in line)
    c.smem = int(said["smem"]) if "smem" in said else ""
    if status == 0:
        c.us = [float(us) for us in said.get("us", "").split()]
        return
    c.reason = said.get("refused", "")
    c.verdict = "wrong" if c.reason and not c.reason.startswith("launch: ") else "broken"
    last = printed.splitlines()[-1:] or [""]
    c.reason = c.reason or ("did not end in time" if status == 124 else f"ended with status {status}: {last[0]}")


def difference(start, setting):
    return " ".join(f"{name}={value}" for name, value in sorted(setting.items()) if start.get(name) != value) or "as it is"


def row(c, start):
    """A row of writeups/results/evolve.csv, but for the columns of its problem (stage to fitness)."""
    spread = [f"{x:.6g}" for x in percentiles(c.us)] if c.us else ["", "", ""]
    again = f"{c.again:.10g}" if c.again else ""
    return [c.id, c.generation, c.parent, c.verdict, *spread, again, c.registers, c.smem, c.reason, "" if c.setting == start else difference(start, c.setting)]


def percentiles(values):
    """The median, the 10th and the 90th."""
    deciles = statistics.quantiles(values, n=10, method="inclusive") if len(values) > 1 else values * 9
    return deciles[4], deciles[0], deciles[8]


def summary(candidates, elite, unit):
    verdicts = [c.verdict for c in candidates]
    tally = ", ".join(f"{verdicts.count(v)} {v}" for v in ("elite", "slower", "wrong", "too large", "broken") if v in verdicts)
    lines, start = [f"{len(candidates)} candidates ({tally})"], candidates[0]
    lines.append(f"  start {start.id}  {start.time():9.3f} {unit}")
    for c in elite:
        lines.append(f"  elite {c.id}  {c.time():9.3f} {unit}, {c.time() / start.time():.3f} of the start; {difference(start.setting, c.setting)}")
    return "\n".join(lines)


class Search:
    def __init__(self, backend, stage, words):
        self.backend, self.stage, self.timed = backend, stage, backend == "gpu"
        self.tunables = Tunables(stage)
        self.word = words.get("shape", "2,8,2048,64" if self.timed else "1,2,384,64")
        if not re.fullmatch(r"([1-9]\d{0,5},){3}(64|128)(,causal)?", self.word):
            refuse(f"shape={self.word}: names one shape, such as 1,1,512,64,causal")
        parts = self.word.split(",")
        self.shape = (*map(int, parts[:4]), int(parts[4:] == ["causal"]))
        self.seed = whole("seed", words.get("seed", "1"))
        self.path = Path(words.get("out", f"build/evolve/{stage}-{self.word.replace(',', '-')}-{backend}.csv"))
        Path("build/evolve").mkdir(parents=True, exist_ok=True)
        fitness = "time" if self.timed else "model"
        self.problem = [stage, *self.shape, fitness]
        measured_on = subprocess.getoutput("sh checks/scripts/measured_on.sh").splitlines()
        machine = ", ".join(line.replace("\t", " ") for line in measured_on if not line.endswith("\t"))
        self.head = f"# {stage} {self.word}, seed {self.seed}, fitness {fitness}: {machine}\n"
        plan, _ = self.on(Path(f"build/{backend}/{stage}/fixed"), "plan", f"shape={self.word}")
        self.start = self.tunables.own(self.shape, plan)
        self.candidates, self.elite, self.known, self.validations = [], [], set(), 0

    def loop(self, minutes):
        """Until the time or the ideas are spent. False if the time was up before there was anything to measure."""
        end, number = time.monotonic() + 60 * minutes, 0
        while time.monotonic() < end:
            children = self.generation(number)
            if not children:
                print("no untried pair of tunables is left")
                break
            self.build(children)
            for child in children:
                if time.monotonic() < end:
                    self.measure(child)
            number += 1
        if not self.candidates:
            print("the time was up before a candidate was built: minutes= allows more")
            return False
        print(f"{self.stage}, {self.word}: {summary(self.candidates, self.elite, 'us' if self.timed else 'us by the model, not measured')}\n{self.path}")
        return True

    def generation(self, number):
        """The first is the stage's tiles and children of the stage as it is; every other are the elite's."""
        children, parents = [], self.elite
        if number == 0:
            children = beginnings(self.tunables, self.shape, self.start)
            self.known.update(c.id for c in children)
            parents = [c for c in children[:1] if not c.verdict]
        draw, to_build = random.Random(f"{self.seed} {number}"), len(children)
        while to_build < max(4, os.cpu_count()):
            child = propose(self.tunables, self.shape, parents, self.known, draw)
            if not child:
                break
            child.generation = number
            to_build += not child.verdict
            children.append(child)
        return children

    def folder(self, c):
        return Path(f"build/{self.backend}/{self.stage}/evolve-{c.id}")

    def build(self, children):
        """Compiles what is not there yet. Nothing is timed meanwhile."""
        ids = [c.id for c in children if not c.verdict]
        for c in children:
            path = self.folder(c) / "source.cu"
            if c.id in ids and not (path.exists() and path.read_text() == c.source):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(c.source)
        if ids:
            words = ["-s", "-k", f"-j{os.cpu_count()}", f"backend={self.backend}", f"stage={self.stage}", "only=" + " ".join(ids), "evolve-labs"]
            with open("build/evolve.log", "w") as log:
                subprocess.run(["nice", os.environ["MAKE"], *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def on(self, folder, *words):
        """The runner's command on a kernel: what it printed, and its status. timeout(1) hands the signal of its parent's death on to all
        that it started."""
        guarded = ["setpriv", "--pdeathsig", "TERM", "timeout", "--kill-after=5", str(SECONDS[self.backend])]
        command = [*guarded, os.environ["RUNNER"], f"{folder}/kernel.so", *words]
        run = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        printed, errors = run.communicate()
        return printed + errors, run.returncode

    def measure(self, c):
        log = self.folder(c) / "kernel.log"
        if not c.verdict:
            read_build_log(c, log.read_text() if log.exists() else "", (self.folder(c) / "kernel.so").exists())
        if not c.verdict:
            self.validate(c)
        last = would_replace(self.elite, c)
        if last and self.timed and not c.verdict:
            self.alternate(c, last)
        judge(self.elite, c)
        self.candidates.append(c)
        with open(self.path, "w") as file:
            file.write(self.head)
            csv.writer(file, lineterminator="\n").writerows([COLUMNS] + [self.problem + row(c, self.start) for c in self.candidates])
        us = f"{c.time():9.3f} us{'' if self.timed else ' by the model'}" if c.us else ""
        print(f"{len(self.candidates):4} {c.id} {c.verdict:<9} {us} {difference(self.start, c.setting)}: {c.reason}", flush=True)

    def validate(self, c):
        self.validations += 1
        read_validation(c, *self.on(self.folder(c), "validate", f"shape={self.word}", f"seed={self.validations}"))
        if not c.verdict and not self.timed:
            # The least that `counters` allows, by what the CPU execution counted: the largest last field of its CSV. Nothing is measured.
            counted, _ = self.on(self.folder(c), "counters", "csv=1", f"shape={self.word}")
            c.us = [max(float(line.rsplit(",", 1)[1] or 0) for line in counted.splitlines())]

    def alternate(self, c, last):
        """One timing is none: both once more, alternating, each with new inputs."""
        times = {c.id: [], last.id: []}
        for who in (last, c) * ALTERNATIONS:
            again = Candidate(who.setting, id=who.id)
            self.validate(again)
            if not again.us:
                if who is c:
                    c.verdict, c.reason = again.verdict, "when measured again: " + again.reason
                return
            times[who.id].append(again.time())
        c.again, c.beside = statistics.median(times[c.id]), statistics.median(times[last.id])


def whole(name, text):
    if not re.fullmatch(r"[1-9]\d{0,5}", text):
        refuse(f"{name}={text}: must be a whole number from 1 to 999999")
    return int(text)


def main(words):
    backend, stage, *rest = words
    given = dict(word.split("=", 1) for word in rest)
    minutes = whole("minutes", given.get("minutes", "10"))
    try:
        return 0 if Search(backend, stage, given).loop(minutes) else 1
    except OSError as error:
        refuse(f"evolve: {error}")
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
