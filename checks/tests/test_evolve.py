"""The search without compiler and clock: tunables, kept candidates, what is tried, the log, the output of programs."""

import contextlib
import io
import random
import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "checks/search")
import evolve
from evolve import Candidate
from tunables import Tunables

SHAPE = (2, 8, 512, 64, 0)
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


def refusal(work):
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        work()
    return said.getvalue()


def right(name, us, **more):
    return Candidate({}, id=name, parent="p", us=[us], **more)


class Evolve(unittest.TestCase):
    def test_values_go_where_the_braces_are(self):
        tunables = Tunables("v9z_test", CONF, KERNEL)
        own = tunables.own(SHAPE, "kernel attention<64,2,64>\n")
        self.assertEqual(own, {"GROUPS": "2", "N": "64", "Q": "2", "EARLY": "N / 2"})
        self.assertEqual(
            tunables.source({**own, "Q": "1", "EARLY": "N", "N": "96"}, SHAPE),
            """#line 1 "stages/v9z_test/kernel.cu"
constexpr int Q = 1;
constexpr int EARLY = D == 64 ? N : N;
if (args.shape.D == 64) return few ? launch<64, 2, 96>(args) : launch<64, 2, 96>(args);
return cudaErrorInvalidValue;
""",
        )
        self.assertIn("no row of the table", refusal(lambda: tunables.own(SHAPE, "kernel attention<64,3,64>\n")))

    def test_a_setting_that_cannot_be_built_is_known_beforehand(self):
        tunables = Tunables("v9z_test", CONF, KERNEL)
        rows = tunables.rows(SHAPE)
        self.assertEqual([tunables.objection(row, SHAPE) for row in rows], ["", ""])
        self.assertEqual([len(tunables.for_shape((2, 8, 512, D, 0))) for D in (64, 128)], [4, 3])
        large = {**rows[0], "GROUPS": "2"}
        self.assertEqual(tunables.objection(large, SHAPE), "too much memory")
        self.assertEqual(tunables.objection({**large, "Q": "1", "N": "96"}, SHAPE), "steps of 32")
        self.assertNotEqual(refusal(lambda: tunables.objection({**large, "Q": "1", "EARLY": "1.0f / f(N)"}, SHAPE)), "")  # no number

    def test_a_malformed_conf_is_one_line(self):
        for old, fresh, said in (
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
            printed = refusal(lambda: Tunables("v9z_test", CONF.replace(old, fresh, 1), "// kept of Q = 2;\n" + KERNEL))
            self.assertIn("stages/v9z_test/tunables.conf" + said, printed)
            self.assertEqual(printed.count("\n"), 1)

    def test_of_every_stage_its_own_values_are_allowed_and_each_other_changes_what_is_compiled(self):
        stages = [path.parent.name for path in Path("stages").glob("*/tunables.conf")]
        self.assertGreaterEqual(len(stages), 7)
        for stage in stages:
            tunables = Tunables(stage)
            for D, causal in ((64, 0), (64, 1), (128, 0), (128, 1)):
                shape = (2, 8, 512, D, causal)
                for setting in tunables.rows(shape):
                    source = tunables.source(setting, shape)
                    self.assertEqual(tunables.objection(setting, shape), "", stage)
                    self.assertEqual(source.count("\n"), tunables.kernel.count("\n") + 1, stage)
                    for t in tunables.for_shape(shape):
                        for value in t.values:
                            if value != setting[t.name]:
                                self.assertNotEqual(tunables.source({**setting, t.name: value}, shape), source, f"{stage} {t.name}={value}")

    def test_three_are_kept_and_a_child_must_be_3_percent_faster_than_the_one_that_leaves(self):
        elite = []

        def judged(c):
            evolve.judge(elite, c)
            return c

        def ids():
            return "".join(c.id for c in elite)

        self.assertEqual([judged(right(*c)).verdict for c in (("a", 100), ("b", 90), ("c", 110))], ["elite"] * 3)
        self.assertEqual(ids(), "bac")
        self.assertEqual(judged(right("d", 107)).reason, "2.7 % faster than the third, c, and 3 % are asked for")
        self.assertEqual(judged(right("f", 200)).reason, "81.8 % slower than the third, c")
        self.assertEqual(judged(right("l", 90, again=99, beside=100)).reason, "measured again in turns with c: 1.0 % faster, not 3 %")
        self.assertEqual(judged(right("e", 106)).verdict, "elite")
        self.assertEqual(ids(), "bae")
        judged(right("w", 1, verdict="wrong"))
        self.assertEqual(judged(Candidate({})).verdict, "wrong")  # no time is known
        self.assertEqual(ids(), "bae")

    def test_a_child_changes_two_tunables_and_nothing_is_tried_twice(self):
        conf = "table: D T\ntunable T: t\n  values: 1 | 2\nmust A + E < 6: A and E are too much\n"
        for name in "AE":
            conf += f"tunable {name}: {name}\n  at: {name.lower()} = {{1}};\n  values: 1 | 2 | 3\n"
        tunables = Tunables("v9z_test", conf, "a = 1; e = 1;\nlaunch<64, 1>(args), launch<64, 2>(args)\n")
        elite = evolve.beginnings(tunables, SHAPE, tunables.rows(SHAPE)[1])
        self.assertEqual([c.setting["T"] for c in elite], ["2", "1"])

        def children(seed):
            draw, known = random.Random(seed), {c.id for c in elite}
            return list(iter(lambda: evolve.propose(tunables, SHAPE, elite, known, draw), None))

        tried = children(7)
        for c in tried:
            parent = next(p for p in elite if p.id == c.parent)
            self.assertEqual(sum(c.setting[name] != value for name, value in parent.setting.items()), 2)
        # Of each of two parents 4 with other A and E, 2 with another T and A, 2 with another T and E.
        self.assertEqual(len({c.id for c in tried}), 16)
        self.assertEqual([c.verdict for c in tried].count("too large"), 2)
        self.assertEqual(tried, children(7))
        self.assertNotEqual(tried, children(8))

    def test_a_row_has_the_columns_of_the_committed_log(self):
        a, b = right("a", 10.5), right("b", 9.25, registers=128, smem=1000, again=9.25)
        a.setting, b.setting, b.us, a.verdict = {"A": "1", "B": "f(x)"}, {"A": "1", "B": 'g(x, "y")'}, [9.5, 9.25, 9.0], "elite"
        elite = [a]
        evolve.judge(elite, b)
        expected = ["b", 0, "p", "elite", "9.25", "9.05", "9.45", "9.25", 128, 1000, "there were fewer than three", 'B=g(x, "y")']
        self.assertEqual(evolve.row(b, a.setting), expected)
        log = Path("writeups/results/evolve.csv").read_text().splitlines()
        self.assertEqual(next(line for line in log if not line.startswith("#")).split(","), evolve.COLUMNS)
        text = evolve.summary([a, b], elite, "us")
        self.assertTrue(text.startswith("2 candidates (2 elite)\n"))
        self.assertIn('  elite b      9.250 us, 0.881 of the start; B=g(x, "y")', text)

    def test_the_log_of_nvcc_and_what_the_validator_printed(self):
        ptxas = " bytes spill stores, 0 bytes spill loads\nptxas info    : Used 128 registers\n"

        def built(log, there=True):
            c = Candidate({})
            evolve.read_build_log(c, log, there)
            self.assertEqual(c.registers, 128 if there else "")
            return f"{c.verdict}: {c.reason}"

        self.assertEqual(built("0" + ptxas), ": ")
        self.assertEqual(built("40" + ptxas), "too large: spills 40 bytes; the lab allows none")
        self.assertEqual(built("0" + ptxas + "ptxas info: Potential Performance Loss: wgmma\n"), "broken: ptxas: ptxas info: Potential Performance Loss: wgmma")
        self.assertEqual(built("x.cu(3): error: no such N\n", False), "broken: does not compile: x.cu(3): error: no such N")

        def validated(printed, status):
            c = Candidate({})
            evolve.read_validation(c, "smem 1000\n" + printed, status)
            self.assertEqual((c.smem, c.us), (1000, [] if status else [4.5, 4.25, 4.75]))
            return f"{c.verdict}: {c.reason}"

        self.assertEqual(validated("kernel attention<64>\nus 4.5 4.25 4.75\n", 0), ": ")
        self.assertEqual(validated("refused memory: written 3 elements\n", 1), "wrong: memory: written 3 elements")
        self.assertEqual(validated("refused launch: cudaErrorInvalidValue\n", 1), "broken: launch: cudaErrorInvalidValue")
        self.assertEqual(validated("us 1 2\nlab: cudaMalloc: no\n", 1), "broken: ended with status 1: lab: cudaMalloc: no")
        self.assertEqual(validated("us 1\n", 124), "broken: did not end in time")


if __name__ == "__main__":
    unittest.main()
