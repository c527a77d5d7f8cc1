"""The search without compiler and clock (make evolve check=1 runs it): tunables, kept candidates, what is tried, the log."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "checks/search")
from evolve import COLUMNS, Candidate, Elite, beginnings, propose, read_build_log, read_validation, row, summary
from tunables import BadInput, Tunables

SHAPE = {"B": 2, "H": 8, "S": 512, "D": 64, "causal": 0}
KERNEL = """constexpr int Q = 2;
constexpr int EARLY = D == 64 ? N / 2 : N;
if (args.shape.D == 64) return few ? launch<64, 1, 128>(args) : launch<64, 2, 64>(args);
return launch<128, 1, 96>(args);
"""
CONF = """# a comment
table: D GROUPS N
tunable GROUPS: groups that multiply
  values: 1 | 2 | 3
tunable N: keys
  values: 64 | 96 | 128
tunable Q: queries' slots
  at: constexpr int Q = {2};
  values: 1 | 2
tunable EARLY when D == 64: keys before the wait
  at: EARLY = D == 64 ? {N / 2} : N;
  values: 0 | N / 2 | N
let smem: GROUPS * 100 + N * Q
must smem <= 400: too much memory
must EARLY % 32 == 0: steps of 32
"""


def right(id, us, parent="p"):
    return Candidate(id, {}, parent=parent, us=[us])


class TunablesTest(unittest.TestCase):
    def setUp(self):
        self.tunables = Tunables("v9z_test", CONF, KERNEL)

    def test_values_go_where_the_braces_are(self):
        setting = self.tunables.own(SHAPE, "kernel attention<64,2,64>\n")
        self.assertEqual(setting, {"GROUPS": "2", "N": "64", "Q": "2", "EARLY": "N / 2"})
        setting |= {"Q": "1", "EARLY": "N", "N": "96"}
        self.assertEqual(
            self.tunables.source(setting, SHAPE),
            """#line 1 "stages/v9z_test/kernel.cu"
constexpr int Q = 1;
constexpr int EARLY = D == 64 ? N : N;
if (args.shape.D == 64) return few ? launch<64, 2, 96>(args) : launch<64, 2, 96>(args);
return cudaErrorInvalidValue;
""",
        )
        self.assertRaises(BadInput, self.tunables.own, SHAPE, "kernel attention<64,3,64>\n")

    def test_what_cannot_be_built_is_known_before(self):
        self.assertEqual([self.tunables.objection(setting, SHAPE) for setting in self.tunables.rows(SHAPE)], ["", ""])
        self.assertEqual([len(self.tunables.for_shape(SHAPE | {"D": D})) for D in (64, 128)], [4, 3])
        setting = self.tunables.rows(SHAPE)[0] | {"GROUPS": "2"}
        self.assertEqual(self.tunables.objection(setting, SHAPE), "too much memory")
        self.assertEqual(self.tunables.objection(setting | {"Q": "1", "N": "96"}, SHAPE), "steps of 32")
        self.assertRaises(BadInput, self.tunables.objection, setting | {"Q": "1", "EARLY": "1.0f / f(N)"}, SHAPE)  # no number

    def test_a_malformed_conf_is_one_line(self):
        for old, new, said in (
            ("Q = {2}", "Q = {3}", ": Q: 'constexpr int Q = 3;' must be in kernel.cu once"),
            ("1 | 2\ntunable EARLY", "1 | 3\ntunable EARLY", ": Q: '2', which kernel.cu says, is not among its values"),
            ("int Q = {2}", "int Q = 2", ": Q: no value in braces in 'constexpr int Q = 2;'"),
            ("at: constexpr int Q = {2};", "at: constexpr {int}", ": Q: 'constexpr int' must be in kernel.cu once"),
            ("constexpr int Q = {2};", "kept of Q = {2};", ": Q: 'kept of Q = 2;' is in a comment"),
            ("tunable Q:", "tunable N:", ": N is there twice"),
            ("must EARLY", "needs EARLY", ":15: 'needs EARLY % 32 == 0: steps of 32' means nothing; lines are"),
            ("  values: 1 | 2 | 3\n", "", ": GROUPS has no two values"),
            ("table: D GROUPS N", "table: D GROUPS", ": N must have at:, or be an argument of the table"),
            ("  at: constexpr int Q = {2};\n", "", ": Q must have at:, or be an argument of the table"),
            ("GROUPS * 100", "GROUP * 100", ": GROUP in 'GROUP * 100 + N * Q' is no name"),
        ):
            with self.assertRaises(BadInput, msg=said) as caught:
                Tunables("v9z_test", CONF.replace(old, new), "// kept of Q = 2;\n" + KERNEL)
            self.assertTrue(str(caught.exception).startswith("stages/v9z_test/tunables.conf" + said), caught.exception)

    def test_every_stage(self):
        """The kernel's own values are allowed, and each other value changes what is compiled."""
        stages = [path.parent.name for path in Path("stages").glob("*/tunables.conf")]
        self.assertGreaterEqual(len(stages), 11)
        for stage in stages:
            tunables = Tunables(stage)
            for shape in (SHAPE | {"D": D, "causal": causal} for D in (64, 128) for causal in (0, 1)):
                for setting in tunables.rows(shape):
                    source = tunables.source(setting, shape)
                    self.assertEqual(tunables.objection(setting, shape), "", stage)
                    self.assertEqual(source.count("\n"), tunables.kernel.count("\n") + 1)
                    for t in tunables.for_shape(shape):
                        for value in t.values:
                            if value != setting[t.name]:
                                self.assertNotEqual(tunables.source(setting | {t.name: value}, shape), source, (stage, t.name, value))


class EliteTest(unittest.TestCase):
    def judged(self, elite, c):
        elite.judge(c)
        return c

    def test_three_are_kept_and_a_child_must_be_3_percent_faster(self):
        elite = Elite()
        for id, us in (("a", 100), ("b", 90), ("c", 110)):
            self.assertEqual(self.judged(elite, right(id, us)).verdict, "elite")
        self.assertEqual([c.id for c in elite.members], ["b", "a", "c"])
        self.assertEqual(self.judged(elite, right("d", 107)).reason, "2.7 % faster than the third, c, and 3 % are asked for")
        self.assertEqual(self.judged(elite, right("f", 200)).reason, "81.8 % slower than the third, c")
        lucky = right("l", 90)
        lucky.again, lucky.beside = 99, 100
        self.assertEqual(self.judged(elite, lucky).reason, "measured again in turns with c: 1.0 % faster, not 3 %")
        self.assertEqual(self.judged(elite, right("e", 106)).verdict, "elite")
        self.assertEqual([c.id for c in elite.members], ["b", "a", "e"])
        wrong = right("w", 1)
        wrong.verdict = "wrong"
        self.judged(elite, wrong)
        self.assertEqual(self.judged(elite, Candidate("n", {})).verdict, "wrong")  # no time is known
        self.assertEqual([c.id for c in elite.members], ["b", "a", "e"])

    def test_a_child_changes_two_tunables_and_nothing_is_tried_twice(self):
        three = "".join(f"tunable {x}: {x}\n  at: {x.lower()} = {{1}};\n  values: 1 | 2 | 3\n" for x in "AE")
        conf = f"table: D T\ntunable T: t\n  values: 1 | 2\n{three}must A + E < 6: A and E are too much\n"
        tunables = Tunables("v9z_test", conf, "a = 1; e = 1;\nlaunch<64, 1>(args), launch<64, 2>(args)\n")
        first = beginnings(tunables, SHAPE, tunables.rows(SHAPE)[1])
        self.assertEqual([c.setting["T"] for c in first], ["2", "1"])
        for c in first:
            c.us = [10.0]
        elite, known = Elite(first), {c.id for c in first}
        seen, refused = [], 0
        while c := propose(tunables, SHAPE, elite, known, 7, 1, len(seen)):
            parent = next(p for p in first if p.id == c.parent)
            self.assertEqual(sum(c.setting[name] != value for name, value in parent.setting.items()), 2)
            refused += c.verdict == "too large"
            seen.append(c.id)
        self.assertEqual(len(set(seen)), len(seen))
        # Of each of two parents 4 with other A and E, 2 with another T and A, 2 with another T and E.
        self.assertEqual((len(seen), refused), (16, 2))
        ids = lambda seed: [propose(tunables, SHAPE, elite, set(), seed, 3, place).id for place in range(5)]
        self.assertEqual(ids(1), ids(1))
        self.assertNotEqual(ids(1), ids(2))

    def test_a_row_has_the_columns_of_the_committed_log(self):
        a, b = right("a", 10.5, ""), right("b", 9.25)
        a.setting, b.setting = {"A": "1", "B": "f(x)"}, {"A": "1", "B": "g(x)"}
        b.us, b.registers, b.smem, b.again = [9.5, 9.25, 9.0], 128, 1000, 9.25
        elite = Elite([a])
        elite.judge(b)
        cells = ["b", 0, "p", "elite", "9.25", "9.05", "9.45", "9.25", 128, 1000, "there were fewer than three", "B=g(x)"]
        self.assertEqual(row(b, a.setting), cells)
        header = next(line for line in Path("writeups/results/evolve.csv").read_text().splitlines() if line[0] != "#")
        self.assertEqual(header, COLUMNS)
        a.verdict = "elite"
        text = summary([a, b], elite, "us")
        self.assertTrue(text.startswith("2 candidates (2 elite)\n"), text)
        self.assertIn("  elite b      9.250 us, 0.881 of the start; B=g(x)\n", text)


class LogsTest(unittest.TestCase):
    def test_nvcc(self):
        ptxas = "    0 bytes stack frame, {} bytes spill stores, 0 bytes spill loads\nptxas info    : Used 128 registers, used 1 barriers\n"
        for log, built, verdict, reason in (
            (ptxas.format(0), True, "", ""),
            (ptxas.format(40), True, "too large", "spills 40 bytes; the lab allows none"),
            (ptxas.format(0) + "ptxas info: Potential Performance Loss: wgmma\n", True, "broken", "ptxas: ptxas info: Potential Performance Loss: wgmma"),
            ("x.cu(3): error: no such N\n", False, "broken", "does not compile: x.cu(3): error: no such N"),
        ):
            c = Candidate("c", {})
            read_build_log(c, log, built)
            self.assertEqual((c.verdict, c.reason, c.registers), (verdict, reason, 128 if built else None))

    def test_the_validator(self):
        for printed, status, verdict, reason, us in (
            ("smem 1000\nkernel attention<64>\nus 4.5 4.25 4.75\n", 0, "", "", [4.5, 4.25, 4.75]),
            ("smem 1000\nrefused memory: written 3 elements\n", 1, "wrong", "memory: written 3 elements", []),
            ("smem 1000\nrefused launch: cudaErrorInvalidValue\n", 1, "broken", "launch: cudaErrorInvalidValue", []),
            ("smem 1000\nus 1 2\nlab: cudaMalloc: no\n", 1, "broken", "ended with status 1: lab: cudaMalloc: no", []),
            ("smem 1000\nus 1\n", 124, "broken", "did not end in time", []),
        ):
            c = Candidate("c", {})
            read_validation(c, printed, status)
            self.assertEqual((c.verdict, c.reason, c.us, c.smem), (verdict, reason, us, 1000))


if __name__ == "__main__":
    unittest.main()
