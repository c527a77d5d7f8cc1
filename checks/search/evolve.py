"""The elite loop: a random search over a stage's tunables (writeups/extending.md). Candidates are built, validated (validator.hpp),
and timed on a GPU; without one a model stands for the time. The same measurements give the same children.

evolve.py BACKEND STAGE [shape=B,H,S,D[,causal]] [seed=N] [minutes=N] [generations=N] [candidates=N] [out=FILE]
"""

import csv
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.dont_write_bytecode = True
from tunables import BadInput, Tunables, sh

ELITE, MUST_GAIN = 3, 0.03  # how many are kept; of the time of the one that a child replaces
ATTEMPTS = 2000  # at a child that has not been tried
SECONDS = {"gpu": 60, "cpu": 600}  # of a validation
ALTERNATIONS = 2  # of a child and the one it would replace, before it does
COLUMNS = "stage,B,H,S,D,causal,fitness,id,generation,parent,verdict,us,p10,p90,confirmed_us,registers,smem,reason,settings"


@dataclass
class Candidate:
    id: str
    setting: dict
    source: str = ""  # what to compile
    parent: str = ""  # "" of those that the search starts with
    generation: int = 0
    verdict: str = ""  # elite: one of the three when it came; slower; wrong; too large; broken: does not build, run or end
    reason: str = ""
    registers: int | None = None
    smem: int | None = None  # bytes
    us: list = field(default_factory=list)  # a call, one figure a round; empty unless its outputs are right
    again: float | None = None  # measured in alternation with the one to be replaced,
    beside: float | None = None  # and that one's

    @property
    def time(self):
        return statistics.median(self.us)


class Elite:
    """The three fastest that are right, the fastest first."""

    def __init__(self, members=()):
        self.members = list(members)

    def would_replace(self, c):
        """The member that c would replace, if it is right; None where it would not enter, or there is room."""
        last = self.members[-1] if len(self.members) == ELITE else None
        return last if last and c.us and c.time <= last.time * (1 - MUST_GAIN) else None

    def judge(self, c):
        """Decides the candidate's verdict and reason, and takes it in where it belongs."""
        if c.verdict:
            return
        c.verdict = "slower" if c.us else "wrong"
        if not c.us:
            return
        if len(self.members) < ELITE:
            c.reason = "there were fewer than three" if c.parent else "where the search starts"
        else:
            third = self.members[-1]
            gain = 100 * (1 - c.time / third.time)
            if not self.would_replace(c):
                c.reason = f"{-gain:.1f} % slower than the third, {third.id}" if gain < 0 else f"{gain:.1f} % faster than the third, {third.id}, and 3 % are asked for"
                return
            if c.again and c.again > c.beside * (1 - MUST_GAIN):
                c.reason = f"measured again in turns with {third.id}: {100 * (1 - c.again / c.beside):.1f} % faster, not 3 %"
                return
            c.reason = f"{gain:.1f} % faster than {third.id}, whose place it takes"
            self.members.pop()
        c.verdict = "elite"
        self.members = sorted([*self.members, c], key=lambda member: member.time)


def fnv(text):
    """A hash of what is compiled: two settings that come to the same are one candidate."""
    bits = 0xCBF29CE484222325
    for byte in text.encode():
        bits = (bits ^ byte) * 0x100000001B3 % 2**64
    return f"{(bits ^ bits >> 32) % 2**32:08x}"


class Draw:
    """SplitMix64: the same numbers everywhere."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        x = (self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ x >> 27) * 0x94D049BB133111EB % 2**64
        return (x ^ x >> 31) % n


def candidate(tunables, shape, setting, **known):
    """Refused before anything is built where a `must` of the tunables fails."""
    source = tunables.source(setting, shape)
    reason = tunables.objection(setting, shape)
    return Candidate(fnv(f"{tunables.stage}\n{source}"), setting, source, verdict="too large" if reason else "", reason=reason, **known)


def beginnings(tunables, shape, own):
    """Where a search starts: the stage as it is, then its other tiles."""
    return [candidate(tunables, shape, setting) for setting in [own, *(row for row in tunables.rows(shape) if row != own)]]


def propose(tunables, shape, elite, known, seed, generation, place):
    """A child of one of the elite: two tunables have other values. Never one of `known` (ids); None when no new one was found."""
    some = tunables.for_shape(shape)
    if len(some) < 2:
        raise BadInput(f"{tunables.stage} has fewer than two tunables for this shape")
    draw = Draw((seed * 1000003 + generation) * 1000003 + place)
    for _ in range(ATTEMPTS if elite.members else 0):
        parent = elite.members[draw.below(len(elite.members))]
        first = draw.below(len(some))
        other = (first + 1 + draw.below(len(some) - 1)) % len(some)
        setting = dict(parent.setting)
        for which in (some[first], some[other]):
            others = [value for value in which.values if value != setting[which.name]]
            setting[which.name] = others[draw.below(len(others))]
        id = fnv(f"{tunables.stage}\n{tunables.source(setting, shape)}")
        if id not in known:
            known.add(id)
            return candidate(tunables, shape, setting, parent=parent.id, generation=generation)
    return None


def read_build_log(c, log, built):
    """What nvcc's log says of the candidate; a verdict where it says that this is none."""
    if not built:
        error = re.search(".*error.*", log)
        c.verdict, c.reason = "broken", "does not compile: " + (error[0] if error else "see its kernel.log")
        return
    c.registers = max(map(int, re.findall(r"Used (\d+) registers", log)), default=None)
    spills = sum(map(int, re.findall(r"(\d+) bytes spill", log)))
    lost = re.search(".*Potential Performance Loss.*", log)
    if lost:
        c.verdict, c.reason = "broken", "ptxas: " + lost[0]
    elif spills:
        c.verdict, c.reason = "too large", f"spills {spills} bytes; the lab allows none"


def read_validation(c, printed, status):
    """What `validate` printed and its exit status, 124 where it was stopped."""
    said = dict(line.partition(" ")[::2] for line in printed.splitlines())
    c.smem = int(said["smem"]) if "smem" in said else None
    if status == 0:
        c.us = [float(us) for us in said.get("us", "").split()]
        return
    c.reason = said.get("refused", "")
    c.verdict = "broken" if not c.reason or c.reason.startswith("launch: ") else "wrong"
    if not c.reason:
        c.reason = "did not end in time" if status == 124 else f"ended with status {status}: {(printed.splitlines() or [''])[-1]}"


def difference(start, setting):
    """The values in which two settings differ, as the second has them."""
    return " ".join(f"{name}={value}" for name, value in sorted(setting.items()) if start.get(name) != value) or "as it is"


def row(c, start):
    """A row of writeups/results/evolve.csv, but for the columns of its problem."""

    def at(part):  # between neighbours
        us, place = sorted(c.us), part * (len(c.us) - 1)
        low = int(place)
        return us[low] + (place - low) * (us[min(low + 1, len(us) - 1)] - us[low])

    times = [f"{at(part):.6g}" for part in (0.5, 0.1, 0.9)] if c.us else ["", "", ""]
    again = "" if c.again is None else f"{c.again:.10g}"
    changed = "" if c.setting == start else difference(start, c.setting)
    return [c.id, c.generation, c.parent, c.verdict, *times, again, c.registers, c.smem, c.reason, changed]


def summary(candidates, elite, unit):
    tally = [f"{n} {verdict}" for verdict in ("elite", "slower", "wrong", "too large", "broken") if (n := sum(c.verdict == verdict for c in candidates))]
    lines = [f"{len(candidates)} candidates ({', '.join(tally)})"]
    if candidates:
        start = candidates[0]
        first = start.time if start.us else float("inf")
        lines.append(f"  start {start.id}  {first:9.3f} {unit}")
        lines += [f"  elite {c.id}  {c.time:9.3f} {unit}, {c.time / first:.3f} of the start; {difference(start.setting, c.setting)}" for c in elite.members]
    return "\n".join(lines) + "\n"


class Search:
    def __init__(self, backend, stage, words):
        self.backend, self.stage, self.timed = backend, stage, backend == "gpu"
        self.tunables = Tunables(stage)
        self.word = words.get("shape", "2,8,2048,64" if self.timed else "1,2,384,64")
        found = re.fullmatch(r"([1-9]\d*),([1-9]\d*),([1-9]\d*),(64|128)(,causal)?", self.word)
        if not found:
            raise BadInput(f"shape={self.word}: names one shape, such as 1,1,512,64,causal")
        self.shape = dict(zip("BHSD", map(int, found.groups()[:4])), causal=int(bool(found[5])))
        self.cores = os.cpu_count() or 1
        self.seed, self.batch = whole(words, "seed", 1, 999999), whole(words, "candidates", max(4, self.cores), 1000)
        Path("build/evolve").mkdir(parents=True, exist_ok=True)
        self.path = words.get("out", f"build/evolve/{stage}-{self.word}-{backend}".replace(",", "-") + ".csv")
        self.fitness = "time" if self.timed else "model"
        self.candidates, self.elite, self.known, self.validations = [], Elite(), set(), 0
        plan = self.on(f"build/{backend}/{stage}/fixed/kernel.so", "plan", *(str(self.shape[x]) for x in "BHSD"), *(["causal"] if found[5] else []))
        self.start = self.tunables.own(self.shape, plan.stdout)

    def dir(self, c):
        return Path("build", self.backend, self.stage, f"evolve-{c.id}")

    def on(self, kernel, *command, log="/dev/null"):
        """The runner's command on a kernel; timeout(1) hands the signal of its parent's death on to all that it started."""
        with open(log, "w") as errors:
            words = ["setpriv", "--pdeathsig", "TERM", "timeout", "--kill-after=5", str(SECONDS[self.backend]), f"build/{self.backend}/runner", kernel, *command]
            return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True)

    def generation(self, number):
        """The first is the stage's tiles and children of the stage as it is; every other are the elite's."""
        children, parents = [], self.elite
        if number == 0:
            children = beginnings(self.tunables, self.shape, self.start)
            self.known |= {c.id for c in children}
            parents = Elite([replace(children[0], us=[1.0])] if not children[0].verdict else [])
        to_build, place = len(children), 0
        while to_build < self.batch and (child := propose(self.tunables, self.shape, parents, self.known, self.seed, number, place)):
            to_build, place = to_build + (not child.verdict), place + 1
            children.append(child)
        return children

    def build(self, children):
        """Compiles what is not there yet. Nothing is timed meanwhile."""
        ids = []
        for c in children:
            if c.verdict:
                continue
            ids.append(c.id)
            self.dir(c).mkdir(parents=True, exist_ok=True)
            source = self.dir(c) / "source.cu"
            if not source.exists() or source.read_text() != c.source:
                source.write_text(c.source)
        if ids:
            make = ["nice", os.environ["MAKE"], "-s", "-k", f"-j{self.cores}", f"backend={self.backend}", f"stage={self.stage}", f"only={' '.join(ids)}", "evolve-labs"]
            with open("build/evolve.log", "w") as log:
                subprocess.run(make, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def measure(self, c):
        if not c.verdict:
            log = self.dir(c) / "kernel.log"
            read_build_log(c, log.read_text() if log.exists() else "", (self.dir(c) / "kernel.so").exists())
        if not c.verdict:
            self.validate(c)
        last = self.elite.would_replace(c)
        if last and self.timed and not c.verdict:
            self.alternate(c, last)
        self.elite.judge(c)
        self.candidates.append(c)
        self.write()
        us = f"{c.time:9.3f} us{'' if self.timed else ' by the model'}" if c.us else ""
        print(f"{len(self.candidates):4} {c.id} {c.verdict:9} {us} {difference(self.start, c.setting)}: {c.reason}", flush=True)

    def validate(self, c):
        log = self.dir(c) / "validate.log"
        self.validations += 1
        said = self.on(self.dir(c) / "kernel.so", "validate", f"shape={self.word}", f"seed={self.validations}", log=log)
        read_validation(c, said.stdout + log.read_text(), said.returncode)
        if not c.verdict and not self.timed:
            # The least that `counters` allows, by what the CPU execution counted. Nothing is measured.
            counted = self.on(self.dir(c) / "kernel.so", "counters", "csv=1", f"shape={self.word}").stdout
            c.us = [max(float(line.rpartition(",")[2] or 0) for line in counted.splitlines())]

    def alternate(self, c, last):
        """One timing is none: both once more, alternating, each with new inputs."""
        times = {last.id: [], c.id: []}
        for id in [last.id, c.id] * ALTERNATIONS:
            again = Candidate(id, {})
            self.validate(again)
            if not again.us:
                if id == c.id:
                    c.verdict, c.reason = again.verdict, "when measured again: " + again.reason
                return
            times[id].append(again.time)
        c.beside, c.again = map(statistics.median, times.values())

    def write(self):
        machine = [line.split("\t") for line in sh("sh checks/scripts/measured_on.sh").splitlines()]
        with open(self.path + ".new", "w", newline="") as file:
            told = ", ".join(" ".join(line) for line in machine if len(line) > 1 and line[1])
            file.write(f"# {self.stage} {self.word}, seed {self.seed}, fitness {self.fitness}: {told}\n{COLUMNS}\n")
            rows = csv.writer(file, lineterminator="\n")
            rows.writerows([self.stage, *self.shape.values(), self.fitness, *row(c, self.start)] for c in self.candidates)
        os.replace(self.path + ".new", self.path)

    def loop(self, minutes, generations):
        """Until the time, the generations or the ideas are spent. False if the time was up before there was anything to measure."""
        end, ideas = time.monotonic() + 60 * minutes, True
        for number in range(generations):
            children = self.generation(number) if ideas and time.monotonic() < end else []
            ideas = bool(children) or time.monotonic() >= end
            self.build(children)
            for c in children:
                if time.monotonic() < end:
                    self.measure(c)
        if not ideas:
            print("no untried pair of tunables is left")
        print(f"{self.stage}, {self.word}: {summary(self.candidates, self.elite, 'us' if self.timed else 'us by the model, not measured')}{self.path}")
        if not self.candidates:
            print("the time was up before a candidate was built: minutes= allows more")
        return bool(self.candidates)


def whole(words, key, otherwise, most):
    text = words.get(key, str(otherwise))
    if not re.fullmatch(r"[1-9]\d*", text) or int(text) > most:
        raise BadInput(f"{key}={text}: must be a whole number from 1 to {most}")
    return int(text)


def main(backend, stage, *words):
    words = dict(word.split("=", 1) for word in words)
    minutes, generations = whole(words, "minutes", 10, 100000), whole(words, "generations", 1000 if backend == "gpu" else 3, 100000)
    return 0 if Search(backend, stage, words).loop(minutes, generations) else 1


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (BadInput, OSError) as e:
        print(f"evolve: {e}", file=sys.stderr)
        sys.exit(2)
