"""make evolve: the elite loop, a random search over a stage's tunables (writeups/extending.md).

evolve.py BACKEND STAGE [shape=B,H,S,D[,causal]] [seed=N] [minutes=N] [out=FILE]

Candidates are built, validated (validator.hpp), and timed on a GPU; without one a model stands for the time. The three fastest that are
right are kept. The same seed and the same measurements give the same children."""

import csv
import io
import os
import random
import re
import statistics
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

ELITE, MUST_GAIN = 3, 0.03  # kept; a child must be faster than the one that it replaces by this part
ATTEMPTS = 2000  # at a child that has not been tried
ALTERNATIONS = 2  # of a child and the one it would replace, before it does
SECONDS = {"gpu": 60, "cpu": 600}  # of a validation
COLUMNS = "stage,B,H,S,D,causal,fitness,id,generation,parent,verdict,us,p10,p90,confirmed_us,registers,smem,reason,settings"
LAUNCH = re.compile(r"\blaunch<(\d[^>]*)>\(args\)")


class BadInput(Exception):
    pass


def shape_of(word):
    if not (m := re.fullmatch(r"([1-9]\d*),([1-9]\d*),([1-9]\d*),(64|128)(,causal)?", word)):
        raise BadInput(f"shape={word}: one shape, B,H,S,D[,causal] with D = 64 or 128")
    return dict(zip("BHSD", map(int, m.groups()[:4]))) | {"causal": int(bool(m[5]))}


@dataclass
class Tunable:
    name: str
    when: str  # the condition on the shape under which it matters
    values: list = field(default_factory=list)  # texts of C++
    at: list = field(default_factory=list)  # pieces of kernel.cu that stand there once, the value in braces
    own: str = ""  # what kernel.cu says; "" of an argument of a launch


class Tunables:
    """stages/STAGE/tunables.conf, held to kernel.cu. A setting is a dict of every tunable's value."""

    def __init__(self, stage, conf, kernel):
        self.stage, self.kernel, self.path = stage, kernel, f"stages/{stage}/tunables.conf"
        self.arguments, self.tunables, self.lets, self.musts = [], [], [], []
        for number, line in enumerate(conf.splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            if m := re.fullmatch(r"tunable (\w+)(?: when (.*?))?: .*", line):
                self.tunables.append(Tunable(m[1], m[2] or "1"))
            elif m := re.fullmatch(r"let (\w+): (.*)", line):
                self.lets.append(m.groups())
            elif m := re.fullmatch(r"must (.*?\S): (.*)", line):
                self.musts.append(m.groups())
            elif m := re.fullmatch(r"table: (.*)", line):
                self.arguments = m[1].split()
            elif self.tunables and (m := re.fullmatch(r"  values: (.*)", line)):
                self.tunables[-1].values = m[1].split(" | ")
            elif self.tunables and (m := re.fullmatch(r"  at: (.*)", line)):
                self.tunables[-1].at.append(m[1])
            else:
                raise BadInput(f"{self.path}:{number}: '{line}' means nothing; lines are table, tunable (with values and at), let, must")
        self.check()

    @classmethod
    def of(cls, stage):
        conf = Path(f"stages/{stage}/tunables.conf")
        if not conf.exists():
            raise BadInput(f"{stage} has no tunables: there is no {conf} (writeups/extending.md says what is in one)")
        return cls(stage, conf.read_text(), Path(f"stages/{stage}/kernel.cu").read_text())

    def must(self, holds, what):
        if not holds:
            raise BadInput(f"{self.path}: {what}")

    def check(self):
        for t in self.tunables:
            owns = {self.kernel[begin:end] for begin, end in (self.place(piece, t.name) for piece in t.at)}
            self.must(len(owns) < 2, f"{t.name} has two values in kernel.cu")
            t.own = "".join(owns)
            self.must(len(t.values) > 1, f"{t.name} has no two values")
            self.must((t.name in self.arguments) != bool(t.at), f"{t.name} must have at:, or be an argument of the table")
            self.must(not t.at or t.own in t.values, f"{t.name}: '{t.own}', which kernel.cu says, is not among its values")
        names = [t.name for t in self.tunables]
        self.must(len(set(names)) == len(names), "a tunable is there twice")
        self.must(self.arguments[:1] == ["D"] and set(self.arguments[1:]) <= set(names), "table: D and then tunables")
        counts = {call.count(",") + 1 for call in LAUNCH.findall(self.kernel)}
        self.must(counts == {len(self.arguments)}, f"table: kernel.cu has no `launch<64, ...>(args)`, or one without {len(self.arguments)} arguments")

    def place(self, piece, who):
        """Where kernel.cu has the value that stands in braces in "constexpr int Q = {2};". Once, and not in a comment."""
        m = re.fullmatch(r"([^{]*)\{(.*?)\}(.*)", piece)
        self.must(m, f"{who}: no value in braces in '{piece}'")
        text, at = "".join(m.groups()), self.kernel.find("".join(m.groups()))
        self.must(self.kernel.count(text) == 1, f"{who}: '{text}' must be in kernel.cu once")
        self.must("//" not in self.kernel[self.kernel.rfind("\n", 0, at) + 1 : at + len(text)], f"{who}: '{text}' is in a comment")
        return at + len(m[1]), at + len(m[1]) + len(m[2])

    def compute(self, expression, numbers):
        try:
            return int(eval(expression, {"__builtins__": {}, "min": min, "max": max}, numbers))
        except (ArithmeticError, NameError, TypeError) as e:
            raise BadInput(f"{self.path}: '{expression}': {e}") from e

    def for_shape(self, shape):
        return [t for t in self.tunables if self.compute(t.when, shape)]

    def rows(self, shape):
        """Of each launch with the shape's D its arguments, with the kernel's own values elsewhere."""
        own = {t.name: t.own for t in self.tunables if t.own}
        calls = [re.split(r", *", call) for call in LAUNCH.findall(self.kernel)]
        return [own | dict(zip(self.arguments[1:], call[1:])) for call in calls if call[0] == str(shape["D"])]

    def own(self, shape, plan):
        """The row that the stage takes for the shape, by the plan that the runner prints: "kernel attention<64,4>"."""
        rows, named = self.rows(shape), re.search(r"kernel \w+<(.*)>", plan)
        for row in rows:
            values = [str(shape["D"])] + [row[name] for name in self.arguments[1:]]
            if len(rows) == 1 or (named and values == named[1].split(",")):
                return row
        raise BadInput(f"{self.path}: no row of the table is what the stage's plan says")

    def objection(self, setting, shape):
        """Why the setting cannot be built or run; "" if it can."""
        numbers = shape | {name: int(value) for name, value in setting.items() if re.fullmatch(r"\d+", value)}
        for name, expression in self.lets:
            numbers[name] = self.compute(expression, numbers)
        return next((reason for condition, reason in self.musts if not self.compute(condition, numbers)), "")

    def source(self, setting, shape):
        """The kernel with these values. Whatever launch of the shape's D it chooses has this row's arguments; others need not compile."""
        edits = [(*self.place(piece, t.name), setting[t.name]) for t in self.tunables for piece in t.at]
        row = ", ".join([str(shape["D"])] + [setting[name] for name in self.arguments[1:]])
        for call in LAUNCH.finditer(self.kernel):
            of_shape = re.split(r", *", call[1])[0] == str(shape["D"])
            edits.append((*call.span(), f"launch<{row}>(args)" if of_shape else "cudaErrorInvalidValue"))
        text = self.kernel
        for begin, end, value in sorted(edits, reverse=True):
            text = text[:begin] + value + text[end:]
        return f'#line 1 "stages/{self.stage}/kernel.cu"\n{text}'


@dataclass
class Candidate:
    id: str = ""
    setting: dict = field(default_factory=dict)
    source: str = ""  # what to compile
    parent: str = ""  # "" of those that the search starts with
    generation: int = 0
    verdict: str = ""  # elite: one of the three when it came; slower; wrong; too large; broken: does not build, run or end
    reason: str = ""
    registers: int | None = None
    smem: int | None = None
    us: list = field(default_factory=list)  # a call, one figure a round; empty unless its outputs are right
    again: float | None = None  # measured in alternation with the one to be replaced
    beside: float | None = None  # that one's time then

    @property
    def time(self):
        return statistics.median(self.us) if self.us else inf


def candidate(tunables, shape, setting, **more):
    """Its id is a hash of what is compiled: two settings that come to the same are one candidate."""
    source = tunables.source(setting, shape)
    reason = tunables.objection(setting, shape)
    return Candidate(f"{zlib.crc32(source.encode()):08x}", setting, source, reason=reason, verdict="too large" if reason else "", **more)


def would_replace(elite, c):
    """The member that c would replace, if it is right; None where it would not enter, or there is room."""
    return elite[-1] if len(elite) == ELITE and c.time <= elite[-1].time * (1 - MUST_GAIN) else None


def judge(elite, c):
    """Decides the candidate's verdict and reason, and takes it in where it belongs."""
    if c.verdict:
        return
    c.verdict = "slower" if c.us else "wrong"
    if not c.us:
        return
    if len(elite) < ELITE:
        c.reason = "there were fewer than three" if c.parent else "where the search starts"
    else:
        third, gain = elite[-1], 100 * (1 - c.time / elite[-1].time)
        if not would_replace(elite, c):
            c.reason = f"{-gain:.1f} % slower than the third, {third.id}" if gain < 0 else f"{gain:.1f} % faster than the third, {third.id}, and 3 % are asked for"
            return
        if c.again and c.again > c.beside * (1 - MUST_GAIN):
            c.reason = f"measured again in turns with {third.id}: {100 * (1 - c.again / c.beside):.1f} % faster, not 3 %"
            return
        c.reason = f"{gain:.1f} % faster than {third.id}, whose place it takes"
        elite.pop()
    c.verdict = "elite"
    elite.append(c)
    elite.sort(key=lambda member: member.time)


def beginnings(tunables, shape, own):
    """The stage as it is, then its other tiles."""
    return [candidate(tunables, shape, setting) for setting in [own] + [row for row in tunables.rows(shape) if row != own]]


def propose(tunables, shape, parents, known, seed, generation, place):
    """A child of one of the parents: two tunables have other values. Never one of `known` (ids); None when no new one was found."""
    some = tunables.for_shape(shape)
    if len(some) < 2:
        raise BadInput(f"{tunables.stage} has fewer than two tunables for this shape")
    draw = random.Random(f"{seed} {generation} {place}")
    for _ in range(ATTEMPTS if parents else 0):
        parent = draw.choice(parents)
        changes = {t.name: draw.choice([value for value in t.values if value != parent.setting[t.name]]) for t in draw.sample(some, 2)}
        child = candidate(tunables, shape, parent.setting | changes, parent=parent.id, generation=generation)
        if child.id not in known:
            known.add(child.id)
            return child
    return None


def read_build_log(c, log, built):
    """Takes registers and spills from nvcc's log, and a verdict where the candidate cannot run."""
    if not built:
        said = re.search(r".*error.*", log)
        c.verdict, c.reason = "broken", "does not compile: " + (said[0] if said else "see its kernel.log")
        return
    c.registers = max(map(int, re.findall(r"Used (\d+) registers", log)), default=None)
    spills = sum(map(int, re.findall(r"(\d+) bytes spill", log)))
    if lost := re.search(r".*Potential Performance Loss.*", log):
        c.verdict, c.reason = "broken", "ptxas: " + lost[0]
    elif spills:
        c.verdict, c.reason = "too large", f"spills {spills} bytes; the lab allows none"


def read_validation(c, printed, status):
    """What `validate` printed and its exit status, 124 where it was stopped."""
    for key, rest in re.findall(r"^(smem|us|refused) (.*)", printed, re.M):
        if key == "smem":
            c.smem = int(rest)
        elif key == "refused":
            c.reason = rest
        elif status == 0:
            c.us = [float(x) for x in rest.split()]
    if status == 0:
        return
    c.verdict = "broken" if not c.reason or c.reason.startswith("launch: ") else "wrong"
    c.reason = c.reason or ("did not end in time" if status == 124 else f"ended with status {status}: {(printed.splitlines() or [''])[-1]}")


def difference(start, setting):
    """ "N=96 SLOTS=5": the values in which two settings differ, as the second has them."""
    return " ".join(f"{name}={value}" for name, value in sorted(setting.items()) if start.get(name) != value) or "as it is"


def row(c, start):
    """Of writeups/results/evolve.csv, but for the columns of its problem (stage to fitness)."""
    us = sorted(c.us)
    at = lambda part: f"{us[int(part * (len(us) - 1) + 0.5)]:.6g}"
    times = [f"{c.time:.6g}", at(0.1), at(0.9)] if us else ["", "", ""]
    text = io.StringIO()
    settings = "" if c.setting == start else difference(start, c.setting)
    confirmed = "" if c.again is None else f"{c.again:.10g}"
    csv.writer(text, lineterminator="").writerow([c.id, c.generation, c.parent, c.verdict, *times, confirmed, c.registers, c.smem, c.reason, settings])
    return text.getvalue()


def summary(candidates, elite, unit):
    verdicts = [c.verdict for c in candidates]
    tally = ", ".join(f"{verdicts.count(v)} {v}" for v in ("elite", "slower", "wrong", "too large", "broken") if v in verdicts)
    text = f"{len(candidates)} candidates ({tally})\n"
    if not candidates:
        return text
    start = candidates[0]
    text += f"  start {start.id}  {start.time:9.3f} {unit}\n"
    for c in elite:
        text += f"  elite {c.id}  {c.time:9.3f} {unit}, {c.time / start.time:.3f} of the start; {difference(start.setting, c.setting)}\n"
    return text


class Search:
    def __init__(self, backend, stage, words):
        self.backend, self.stage, self.tunables, self.timed = backend, stage, Tunables.of(stage), backend == "gpu"
        self.word = words.get("shape", "2,8,2048,64" if self.timed else "1,2,384,64")
        self.shape, self.seed = shape_of(self.word), whole(words, "seed", 1)
        self.cores = os.cpu_count() or 1
        self.batch = max(4, self.cores)  # candidates at a time
        Path("build/evolve").mkdir(parents=True, exist_ok=True)
        self.out = Path(words.get("out", f"build/evolve/{stage}-{self.word.replace(',', '-')}-{backend}.csv"))
        fitness = "time" if self.timed else "model"
        self.problem = ",".join([stage, *(str(self.shape[key]) for key in ("B", "H", "S", "D", "causal")), fitness])
        facts = [line.split("\t") for line in subprocess.run(["sh", "checks/scripts/measured_on.sh"], capture_output=True, text=True).stdout.splitlines()]
        machine = ", ".join(f"{key} {value}" for key, value in facts if value)
        self.log = f"# {stage} {self.word}, seed {self.seed}, fitness {fitness}: {machine}\n{COLUMNS}\n"
        self.start = self.tunables.own(self.shape, self.on(f"build/{backend}/{stage}/fixed", "plan", f"shape={self.word}")[0])
        self.candidates, self.elite, self.known, self.validations = [], [], set(), 0

    def dir(self, c):
        return Path(f"build/{self.backend}/{self.stage}/evolve-{c.id}")

    def on(self, folder, *command):
        """The runner's command on a kernel: what it prints, and its status. Its end comes with this program's at the latest."""
        words = ["setpriv", "--pdeathsig", "TERM", "timeout", "--kill-after=5", str(SECONDS[self.backend]), f"build/{self.backend}/runner", f"{folder}/kernel.so"]
        ran = subprocess.run([*words, *command], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return ran.stdout + ran.stderr, ran.returncode

    def generation(self, number):
        """The first is the stage's tiles and children of the stage as it is; every other are the elite's."""
        children, parents = [], self.elite
        if number == 0:
            children = beginnings(self.tunables, self.shape, self.start)
            self.known.update(c.id for c in children)
            parents = [c for c in children[:1] if not c.verdict]
        place = 0
        while sum(not c.verdict for c in children) < self.batch:
            child = propose(self.tunables, self.shape, parents, self.known, self.seed, number, place)
            if not child:
                break
            place += 1
            children.append(child)
        return children

    def build(self, children):
        """Compiles what is not there yet. Nothing is timed meanwhile."""
        wanted = [c for c in children if not c.verdict]
        for c in wanted:
            source = self.dir(c) / "source.cu"
            source.parent.mkdir(parents=True, exist_ok=True)
            if not source.exists() or source.read_text() != c.source:
                source.write_text(c.source)
        if wanted:
            only = "only=" + " ".join(c.id for c in wanted)
            command = ["nice", os.environ["MAKE"], "-s", "-k", f"-j{self.cores}", f"backend={self.backend}", f"stage={self.stage}", only, "evolve-labs"]
            with open("build/evolve.log", "w") as log:
                subprocess.run(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def validate(self, c):
        self.validations += 1
        read_validation(c, *self.on(self.dir(c), "validate", f"shape={self.word}", f"seed={self.validations}"))
        if c.verdict or self.timed:
            return
        # The least that `counters` allows, by what the CPU execution counted: the largest last field of its CSV. Nothing is measured.
        counted = self.on(self.dir(c), "counters", "csv=1", f"shape={self.word}")[0]
        c.us = [max(float(line.rsplit(",", 1)[1] or 0) for line in counted.splitlines())]

    def alternate(self, c, last):
        """One timing is none: both once more, alternating, each with new inputs."""
        times = {c.id: [], last.id: []}
        for id in [last.id, c.id] * ALTERNATIONS:
            again = Candidate(id)
            self.validate(again)
            if not again.us:
                if id == c.id:
                    c.verdict, c.reason = again.verdict, "when measured again: " + again.reason
                return
            times[id].append(again.time)
        c.again, c.beside = statistics.median(times[c.id]), statistics.median(times[last.id])

    def measure(self, c):
        log = self.dir(c) / "kernel.log"
        if not c.verdict:
            read_build_log(c, log.read_text() if log.exists() else "", (self.dir(c) / "kernel.so").exists())
        if not c.verdict:
            self.validate(c)
        last = would_replace(self.elite, c)
        if last and self.timed and not c.verdict:
            self.alternate(c, last)
        judge(self.elite, c)
        self.candidates.append(c)
        self.log += f"{self.problem},{row(c, self.start)}\n"
        self.out.write_text(self.log)
        time = f"{c.time:9.3f} us{'' if self.timed else ' by the model'}" if c.us else ""
        print(f"{len(self.candidates):4} {c.id} {c.verdict:9} {time} {difference(self.start, c.setting)}: {c.reason}", flush=True)

    def loop(self, minutes):
        """Until the time or the ideas are spent. False if the time was up before there was anything to measure."""
        end = time.monotonic() + 60 * minutes
        number = 0
        while time.monotonic() < end:
            children = self.generation(number)
            if not children:
                print("no untried pair of tunables is left")
                break
            self.build(children)
            for c in children:
                if time.monotonic() < end:
                    self.measure(c)
            number += 1
        print(f"{self.stage}, {self.word}: {summary(self.candidates, self.elite, 'us' if self.timed else 'us by the model, not measured')}{self.out}")
        if not self.candidates:
            print("the time was up before a candidate was built: minutes= allows more")
        return bool(self.candidates)


def whole(words, key, otherwise):
    value = words.get(key, str(otherwise))
    if not re.fullmatch(r"[1-9]\d{0,5}", value):
        raise BadInput(f"{key}={value}: must be a whole number from 1 to 999999")
    return int(value)


if __name__ == "__main__":
    try:
        words = dict(word.split("=", 1) for word in sys.argv[3:])
        sys.exit(not Search(sys.argv[1], sys.argv[2], words).loop(whole(words, "minutes", 10)))
    except (BadInput, OSError) as e:
        print(f"evolve: {e}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
