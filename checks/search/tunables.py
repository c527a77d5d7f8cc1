"""The places of a stage that the search may change: stages/STAGE/tunables.conf. A tunable is a place in kernel.cu with a few allowed
texts, an argument of its `launch<...>(args)`, or a patch that is there or not. writeups/extending.md has the format."""

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


class BadInput(Exception):
    pass


def sh(script):
    """What a script of sh prints."""
    done = subprocess.run(["sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise BadInput(done.stdout.strip())
    return done.stdout


@dataclass
class Tunable:
    name: str
    when: str  # the condition on D and causal under which it matters
    patch: bool  # stages/STAGE/tunables/NAME.patch: 0 without, 1 with
    values: list = field(default_factory=list)  # at least two texts of C++
    at: list = field(default_factory=list)  # pieces of kernel.cu that stand there once, the value in braces
    own: str = ""  # what kernel.cu says; "" of an argument of a launch


LAUNCH = re.compile(r"\blaunch<(\d[^>]*)>\(args\)")


def launches(source):
    """The span of each, and its arguments."""
    return [(m.span(), [x.strip() for x in m[1].split(",")]) for m in LAUNCH.finditer(source)]


class Tunables:
    """Raises BadInput, with file and line, where tunables.conf is malformed or disagrees with kernel.cu."""

    def __init__(self, stage, conf=None, kernel=None):
        self.stage, folder = stage, Path("stages", stage)
        self.path, self.kernel_path = folder / "tunables.conf", folder / "kernel.cu"
        if conf is None and not self.path.exists():
            raise BadInput(f"{stage} has no tunables: there is no {self.path} (writeups/extending.md says what is in one)")
        self.kernel = self.kernel_path.read_text() if kernel is None else kernel
        self.arguments, self.tunables, self.lets, self.musts = [], [], [], []
        self.read(self.path.read_text() if conf is None else conf)
        for t in self.tunables:
            for piece in t.at:
                begin, end = self.place(piece, self.kernel, t.name)
                own = self.kernel[begin:end]
                self.must(t.own in ("", own), f"{t.name} has two values in kernel.cu")
                t.own = own
        self.check()

    def must(self, holds, what):
        if not holds:
            raise BadInput(f"{self.path}: {what}")

    def read(self, conf):
        for number, line in enumerate(conf.splitlines(), 1):
            if not line or line[0] == "#":
                continue
            if m := re.fullmatch(r"(tunable|patch) (\w+)(?: when (.*?))?: .*", line):
                patch = m[1] == "patch"
                self.tunables.append(Tunable(m[2], m[3] or "1", patch, *([["0", "1"], [], "0"] if patch else [])))
            elif m := re.fullmatch(r"let (\w+): (.*)", line):
                self.lets.append((m[1], m[2]))
            elif m := re.fullmatch(r"must (.*?[^ ]): (.*)", line):
                self.musts.append((m[1], m[2]))
            elif line.startswith("table: "):
                self.arguments = line.split()[1:]
            elif line.startswith("  values: ") and self.tunables:
                self.tunables[-1].values = [value.strip() for value in line[10:].split(" | ")]
            elif line.startswith("  at: ") and self.tunables:
                self.tunables[-1].at.append(line[6:])
            else:
                raise BadInput(f"{self.path}:{number}: '{line}' means nothing; lines are table, tunable (with values and at), patch, let, must")

    def check(self):
        names = {"D", "causal", "S", "B", "H"}
        for t in self.tunables:
            of_launch = t.name in self.arguments
            self.must(t.name not in names, f"{t.name} is there twice")
            names.add(t.name)
            self.must(len(t.values) > 1, f"{t.name} has no two values")
            self.must(of_launch + t.patch + bool(t.at) == 1, f"{t.name} must have at:, or be an argument of the table")
            self.must(of_launch or t.own in t.values, f"{t.name}: '{t.own}', which kernel.cu says, is not among its values")
        self.must(self.arguments[:1] == ["D"] and names.issuperset(self.arguments), "table: D and then tunables")
        rows = launches(self.kernel)
        self.must(rows, "no `launch<64, ...>(args)` in kernel.cu")
        for _, row in rows:
            self.must(len(row) == len(self.arguments), f"table: has {len(self.arguments)} arguments, a launch of kernel.cu {len(row)}")
        # To sh a name that it does not know is 0.
        for expression in [e for _, e in self.lets] + [e for e, _ in self.musts] + [t.when for t in self.tunables]:
            for name in re.findall(r"[A-Za-z_]\w*", expression):
                self.must(name in names or name in dict(self.lets), f"{name} in '{expression}' is no name")

    def place(self, piece, source, who):
        """Where a source has the value that stands in braces in "constexpr int Q = {2};". The piece must be there once, and not in a
        comment, whose words change nothing."""
        before, brace, rest = piece.partition("{")
        value, closed, after = rest.partition("}")
        self.must(brace and closed, f"{who}: no value in braces in '{piece}'")
        piece = before + value + after
        self.must(source.count(piece) == 1, f"{who}: '{piece}' must be in kernel.cu once")
        at = source.index(piece)
        self.must("//" not in source[source.rfind("\n", 0, at) + 1 : at + len(piece)], f"{who}: '{piece}' is in a comment")
        return at + len(before), at + len(before) + len(value)

    def computed(self, setting, shape, script):
        """What a script of sh prints that knows the setting's numbers: sh's arithmetic is C's. A value that is no number, such as
        "1.0f / sum", is a dash, an error where an expression asks for it."""
        is_number = lambda value: re.fullmatch(r"-?\d+", value)
        lines = [f"{name}={value}" for name, value in shape.items()]
        lines += [f"{name}={value}" for name, value in setting.items() if is_number(value)]
        lines += [f"{name}=$( (echo $(({value}))) 2>/dev/null || echo -)" for name, value in setting.items() if not is_number(value)]
        lines += [f"{name}=$(({expression}))" for name, expression in self.lets if setting]
        try:
            return sh("\n".join([*lines, script]))
        except BadInput as e:
            raise BadInput(f"{self.path}: {e}") from None

    def for_shape(self, shape):
        """The tunables that matter for it. D, the first of a launch's arguments, is the shape's."""
        matters = self.computed({}, shape, "\n".join(f"echo $(({t.when}))" for t in self.tunables)).split()
        return [t for t, is_so in zip(self.tunables, matters) if is_so != "0"]

    def rows(self, shape):
        """Of each launch with the shape's D its arguments, with the kernel's own values elsewhere."""
        common = {t.name: t.own for t in self.tunables if t.own}
        return [common | dict(zip(self.arguments[1:], row[1:])) for _, row in launches(self.kernel) if row[0] == str(shape["D"])]

    def own(self, shape, plan):
        """The row that the stage takes for the shape, by the plan that the runner prints: "kernel attention<64,4>"."""
        rows, named = self.rows(shape), re.search(r"kernel \w+<(.*)>", plan)
        values = named[1].split(",")[1:] if named else []
        for row in rows:
            if len(rows) == 1 or [row[name] for name in self.arguments[1:]] == values:
                return row
        raise BadInput(f"{self.path}: no row of the table is what the stage's plan says")

    def objection(self, setting, shape):
        """Why the setting cannot be built or run; "" if it can."""
        failed = self.computed(setting, shape, "\n".join(f"[ $(({holds})) != 0 ] || {{ echo {i}; exit; }}" for i, (holds, _) in enumerate(self.musts)))
        return self.musts[int(failed)][1] if failed else ""

    def source(self, setting, shape):
        """The kernel with these values for a compiler: whatever launch of the shape's D it chooses has this row's arguments. Changes no
        number of lines, but for a patch, which has #line directives of its own."""
        text = f'#line 1 "{self.kernel_path}"\n{self.kernel}'
        for t in self.tunables:
            if t.patch and setting[t.name] == "1":
                text = sh(f"exec sh checks/scripts/patched.sh stages/{self.stage}/tunables/{t.name}.patch")
        edits = [(*self.place(piece, text, t.name), setting[t.name]) for t in self.tunables for piece in t.at]
        row = ", ".join([str(shape["D"]), *(setting[name] for name in self.arguments[1:])])
        for (begin, end), arguments in launches(text):  # those of the other D need not compile
            edits.append((begin, end, f"launch<{row}>(args)" if arguments[0] == str(shape["D"]) else "cudaErrorInvalidValue"))
        for begin, end, value in sorted(edits, reverse=True):
            text = text[:begin] + value + text[end:]
        return text
