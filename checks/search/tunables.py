"""The places of a stage that the search may change: stages/STAGE/tunables.conf (writeups/extending.md has its format)."""

import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path


def refuse(line):
    print(line, file=sys.stderr)
    sys.exit(2)


@dataclass
class Tunable:
    name: str
    when: str  # the condition on D and causal under which it matters
    values: list = field(default_factory=list)  # texts of C++
    at: str = ""  # a piece of kernel.cu, the value in braces; "" of an argument of a launch
    own: str = ""  # what kernel.cu says there


def split(text, separator):
    return [part.strip() for part in text.split(separator)]


def launches(source):
    """(where, its arguments) of each `launch<64, 2>(args)`."""
    return [(call.span(), split(call[1], ",")) for call in re.finditer(r"\blaunch<(\d[^>]*)>\(args\)", source)]


class Tunables:
    def __init__(self, stage, conf=None, kernel=None):
        self.stage, self.path, self.kernel_path = stage, f"stages/{stage}/tunables.conf", f"stages/{stage}/kernel.cu"
        if conf is None and not Path(self.path).exists():
            refuse(f"{stage} has no tunables: there is no {self.path} (writeups/extending.md says what is in one)")
        self.kernel = Path(self.kernel_path).read_text() if kernel is None else kernel
        self.table, self.all, self.lets, self.musts = [], [], [], []
        self.read(Path(self.path).read_text() if conf is None else conf)
        for t in self.all:
            if t.at:
                begin, end = self.place(t, self.kernel)
                t.own = self.kernel[begin:end]
        self.check()

    def must(self, holds, what):
        if not holds:
            refuse(f"{self.path}: {what}")

    def read(self, conf):
        for number, line in enumerate(conf.splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            if m := re.fullmatch(r"tunable (\w+)(?: when (.*?))?: .*", line):
                self.all.append(Tunable(m[1], m[2] or "1"))
            elif m := re.fullmatch(r"let (\w+): (.*)", line):
                self.lets.append((m[1], m[2]))
            elif m := re.fullmatch(r"must (.*?[^ ]): (.*)", line):
                self.musts.append((m[1], m[2]))
            elif m := re.fullmatch(r"table: (.*)", line):
                self.table = m[1].split()
            elif self.all and (m := re.fullmatch(r"  values: (.*)", line)):
                self.all[-1].values = split(m[1], " | ")
            elif self.all and (m := re.fullmatch(r"  at: (.*)", line)):
                self.all[-1].at = m[1]
            else:
                refuse(f"{self.path}:{number}: '{line}' means nothing; lines are table, tunable (with values and at), let, must")

    def check(self):
        names = {"D", "causal", "S", "B", "H"}
        for t in self.all:
            self.must(t.name not in names, f"{t.name} is there twice")
            names.add(t.name)
            self.must(len(t.values) > 1, f"{t.name} has no two values")
            self.must((t.name in self.table) != bool(t.at), f"{t.name} must have at:, or be an argument of the table")
            self.must(t.name in self.table or t.own in t.values, f"{t.name}: '{t.own}', which kernel.cu says, is not among its values")
        self.must(self.table[:1] == ["D"] and names.issuperset(self.table), "table: D and then tunables")
        calls = launches(self.kernel)
        fit = calls and all(len(arguments) == len(self.table) for _, arguments in calls)
        self.must(fit, f"table: {len(self.table)} arguments, not those of each `launch<64, ...>(args)`")
        names.update(name for name, _ in self.lets)
        for expression in [text for _, text in self.lets] + [text for text, _ in self.musts] + [t.when for t in self.all]:
            for name in re.findall(r"[A-Za-z_]\w*", expression):  # to sh an unknown name is 0
                self.must(name in names, f"{name} in '{expression}' is no name")

    def place(self, t, source):
        """Where a source has the value that stands in braces in "constexpr int Q = {2};". The piece must be there once, and in code."""
        m = re.fullmatch(r"(.*?)\{(.*?)\}(.*)", t.at)
        self.must(m, f"{t.name}: no value in braces in '{t.at}'")
        text = m[1] + m[2] + m[3]
        at = source.find(text)
        self.must(source.count(text) == 1, f"{t.name}: '{text}' must be in kernel.cu once")
        self.must("//" not in source[source.rfind("\n", 0, at) + 1 : at + len(text)], f"{t.name}: '{text}' is in a comment")
        return at + len(m[1]), at + len(m[1] + m[2])

    def computed(self, setting, shape, script):
        """What a script of sh prints that knows the setting's numbers: sh's arithmetic is C's. A value that is no number, such as
        "1.0f / sum", is a dash, an error where an expression asks for it."""
        numbers, others = [f"{name}={value}" for name, value in zip(("B", "H", "S", "D", "causal"), shape)], []
        for name, value in setting.items():
            if re.fullmatch(r"-?\d+", value):
                numbers.append(f"{name}={value}")
            else:
                others.append(f"{name}=$( (echo $(({value}))) 2>/dev/null || echo -)")
        if setting:
            others += [f"{name}=$(({expression}))" for name, expression in self.lets]
        ran = subprocess.run(["sh"], input="\n".join(["exec 2>&1", *numbers, *others, *script]), capture_output=True, text=True)
        self.must(ran.returncode == 0, ran.stdout.strip())
        return ran.stdout.split()

    def for_shape(self, shape):
        """The tunables that matter for the shape: (B, H, S, D, causal). D, the first of a launch's arguments, is the shape's."""
        matters = self.computed({}, shape, [f"echo $(({t.when}))" for t in self.all])
        return [t for t, yes in zip(self.all, matters) if yes != "0"]

    def rows(self, shape):
        """Of each launch with the shape's D its arguments, with the kernel's own values elsewhere."""
        own = {t.name: t.own for t in self.all if t.own}
        return [{**own, **dict(zip(self.table[1:], row[1:]))} for _, row in launches(self.kernel) if row[0] == str(shape[3])]

    def own(self, shape, plan):
        """The row that the stage takes for the shape, by the plan that the runner prints: "kernel attention<64,4>"."""
        rows, named = self.rows(shape), re.search(r"kernel \w+<(.*)>", plan)
        for row in rows:
            if len(rows) == 1 or (named and [str(shape[3]), *(row[name] for name in self.table[1:])] == split(named[1], ",")):
                return row
        refuse(f"{self.path}: no row of the table is what the stage's plan says")

    def objection(self, setting, shape):
        """Why the setting cannot be built or run; "" if it can."""
        script = [f"[ $(({condition})) != 0 ] || {{ echo {i}; exit; }}" for i, (condition, _) in enumerate(self.musts)]
        failed = self.computed(setting, shape, script)
        return self.musts[int(failed[0])][1] if failed else ""

    def source(self, setting, shape):
        """The kernel with these values for a compiler: whatever launch of the shape's D it chooses has this row's arguments. Changes no
        number of lines."""
        text = f'#line 1 "{self.kernel_path}"\n{self.kernel}'
        edits = [(self.place(t, text), setting[t.name]) for t in self.all if t.at]
        row = ", ".join([str(shape[3]), *(setting[name] for name in self.table[1:])])
        for where, arguments in launches(text):  # those of the other D need not compile
            edits.append((where, f"launch<{row}>(args)" if arguments[0] == str(shape[3]) else "cudaErrorInvalidValue"))
        for (begin, end), value in sorted(edits, reverse=True):
            text = text[:begin] + value + text[end:]
        return text
