"""The search without compiler and clock: tunables, kept candidates, what is tried, the log, the output of programs. make evolve check=1 runs it."""

import sys
import traceback
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "checks/search")
from evolve import COLUMNS, BadInput, Candidate, Tunables, beginnings, judge, propose, read_build_log, read_validation, row, shape_of, summary

SHAPE = shape_of("2,8,512,64")
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
must N % 64 == 0 or GROUPS < 3: steps of 64
"""


def refused(run):
    try:
        run()
    except BadInput as e:
        return str(e)
    raise AssertionError("accepted")


def measured(id, us, **more):
    return Candidate(id, parent="p", us=[us], **more)


def judged(elite, c):
    judge(elite, c)
    return c


def test_values_go_where_the_braces_are():
    tunables = Tunables("v9z", CONF, KERNEL)
    own = tunables.own(SHAPE, "kernel attention<64,2,64>\n")
    assert own == {"GROUPS": "2", "N": "64", "Q": "2", "EARLY": "N / 2"}
    assert tunables.source(own | {"Q": "1", "EARLY": "N", "N": "96"}, SHAPE) == """#line 1 "stages/v9z/kernel.cu"
constexpr int Q = 1;
constexpr int EARLY = D == 64 ? N : N;
if (args.shape.D == 64) return few ? launch<64, 2, 96>(args) : launch<64, 2, 96>(args);
return cudaErrorInvalidValue;
"""
    refused(lambda: tunables.own(SHAPE, "kernel attention<64,3,64>\n"))


def test_a_setting_that_cannot_be_built_is_known_beforehand():
    tunables = Tunables("v9z", CONF, KERNEL)
    rows = tunables.rows(SHAPE)
    assert [tunables.objection(setting, SHAPE) for setting in rows] == ["", ""]
    assert [len(tunables.for_shape(shape_of(word))) for word in ("2,8,512,64", "2,8,512,128,causal")] == [4, 3]
    assert tunables.objection(rows[0] | {"GROUPS": "2"}, SHAPE) == "too much memory"
    assert tunables.objection(rows[0] | {"GROUPS": "3", "Q": "1", "N": "96"}, SHAPE) == "steps of 64"
    assert "'EARLY' is not defined" in refused(lambda: Tunables("v9z", CONF + "must EARLY > 0: x\n", KERNEL).objection(rows[0], SHAPE))  # no number


def test_a_malformed_file_is_one_line():
    for old, new, said in [
        ("Q = {2}", "Q = {3}", ": Q: 'constexpr int Q = 3;' must be in kernel.cu once"),
        ("1 | 2\ntunable EARLY", "1 | 3\ntunable EARLY", ": Q: '2', which kernel.cu says, is not among its values"),
        ("int Q = {2}", "int Q = 2", ": Q: no value in braces in 'constexpr int Q = 2;'"),
        ("constexpr int Q = {2};", "kept of Q = {2};", ": Q: 'kept of Q = 2;' is in a comment"),
        ("tunable Q:", "tunable N:", ": N must have at:, or be an argument of the table"),
        ("must smem", "needs smem", ":14: 'needs smem <= 400: too much memory' means nothing; lines are"),
        ("  values: 1 | 2 | 3\n", "", ": GROUPS has no two values"),
        ("table: D GROUPS N", "table: D GROUPS", ": N must have at:, or be an argument of the table"),
        ("table: D GROUPS N", "table: N GROUPS", ": table: D and then tunables"),
    ]:
        assert CONF.replace(old, new) != CONF
        assert ("stages/v9z/tunables.conf" + said) in refused(lambda: Tunables("v9z", CONF.replace(old, new), "// kept of Q = 2;\n" + KERNEL)), said


def test_of_every_stage_the_own_values_are_allowed_and_each_other_value_changes_what_is_compiled():
    stages = [path.parent.name for path in Path("stages").glob("*/tunables.conf")]
    assert len(stages) >= 7
    for stage in stages:
        tunables = Tunables.of(stage)
        for word in ("2,8,512,64", "2,8,512,64,causal", "2,8,512,128", "2,8,512,128,causal"):
            shape = shape_of(word)
            for setting in tunables.rows(shape):
                source = tunables.source(setting, shape)
                assert tunables.objection(setting, shape) == "", stage
                assert source.count("\n") == tunables.kernel.count("\n") + 1
                for t in tunables.for_shape(shape):
                    for value in t.values:
                        assert value == setting[t.name] or tunables.source(setting | {t.name: value}, shape) != source, (stage, t.name, value)


def test_three_are_kept_and_a_child_must_be_3_percent_faster_than_the_one_that_leaves():
    elite = []
    ids = lambda: [c.id for c in elite]
    assert [judged(elite, measured(*c)).verdict for c in (("a", 100), ("b", 90), ("c", 110))] == ["elite"] * 3
    assert ids() == ["b", "a", "c"]
    assert judged(elite, measured("d", 107)).reason == "2.7 % faster than the third, c, and 3 % are asked for"
    assert judged(elite, measured("f", 200)).reason == "81.8 % slower than the third, c"
    assert judged(elite, measured("l", 90, again=99, beside=100)).reason == "measured again in turns with c: 1.0 % faster, not 3 %"
    assert judged(elite, measured("e", 106)).verdict == "elite"
    assert judged(elite, measured("w", 1, verdict="wrong")).verdict == "wrong"
    assert judged(elite, Candidate()).verdict == "wrong"  # no time is known
    assert ids() == ["b", "a", "e"]


def test_a_child_changes_two_tunables_and_nothing_is_tried_twice():
    conf = "table: D T\ntunable T: t\n  values: 1 | 2\n" + "".join(f"tunable {name}: x\n  at: {name} = {{1}};\n  values: 1 | 2 | 3\n" for name in "AE")
    tunables = Tunables("v9z", conf + "must A + E < 6: A and E are too much\n", "A = 1; E = 1;\nlaunch<64, 1>(args), launch<64, 2>(args)\n")
    elite = beginnings(tunables, SHAPE, tunables.rows(SHAPE)[1])
    assert [c.setting["T"] for c in elite] == ["2", "1"]
    known, children = {c.id for c in elite}, []
    while child := propose(tunables, SHAPE, elite, known, 7, 1, len(children)):
        parent = next(c for c in elite if c.id == child.parent)
        assert sum(child.setting[name] != value for name, value in parent.setting.items()) == 2
        children.append(child)
    # Of each of two parents 4 with other A and E, 2 with another T and A, 2 with another T and E.
    assert len({c.id for c in children}) == len(children) == 16
    assert sum(c.verdict == "too large" for c in children) == 2
    tried = lambda seed: [propose(tunables, SHAPE, elite, set(), seed, 3, place).id for place in range(5)]
    assert tried(1) == tried(1) != tried(2)


def test_a_row_has_the_columns_of_the_committed_log():
    a = Candidate("a", {"A": "1", "B": "f(x)"}, us=[10.5])
    b = Candidate("b", {"A": "1", "B": 'g(x, "y")'}, parent="p", us=[9.5, 9.25, 9.0], registers=128, smem=1000, again=9.25)
    judge([a], b)
    assert row(b, a.setting) == 'b,0,p,elite,9.25,9,9.5,9.25,128,1000,there were fewer than three,"B=g(x, ""y"")"'
    assert COLUMNS in Path("writeups/results/evolve.csv").read_text().splitlines()
    a.verdict = "elite"
    text = summary([a, b], [b, a], "us")
    assert text.startswith("2 candidates (2 elite)\n") and '  elite b      9.250 us, 0.881 of the start; B=g(x, "y")\n' in text


def test_nvccs_log_and_what_the_validator_printed():
    def built(log, there=True):
        c = Candidate()
        read_build_log(c, log, there)
        assert c.registers == (128 if there else None)
        return f"{c.verdict}: {c.reason}"

    ptxas = " bytes spill stores, 0 bytes spill loads\nptxas info    : Used 128 registers\n"
    assert built("0" + ptxas) == ": "
    assert built("40" + ptxas) == "too large: spills 40 bytes; the lab allows none"
    assert built("0" + ptxas + "ptxas info: Potential Performance Loss: wgmma\n") == "broken: ptxas: ptxas info: Potential Performance Loss: wgmma"
    assert built("x.cu(3): error: no such N\n", False) == "broken: does not compile: x.cu(3): error: no such N"

    def validated(printed, status):
        c = Candidate()
        read_validation(c, "smem 1000\n" + printed, status)
        assert c.smem == 1000 and c.us == ([] if status else [4.5, 4.25, 4.75])
        return f"{c.verdict}: {c.reason}"

    assert validated("kernel attention<64>\nus 4.5 4.25 4.75\n", 0) == ": "
    assert validated("refused memory: written 3 elements\n", 1) == "wrong: memory: written 3 elements"
    assert validated("refused launch: cudaErrorInvalidValue\n", 1) == "broken: launch: cudaErrorInvalidValue"
    assert validated("us 1 2\nlab: cudaMalloc: no\n", 1) == "broken: ended with status 1: lab: cudaMalloc: no"
    assert validated("us 1\n", 124) == "broken: did not end in time"


if __name__ == "__main__":
    failed = 0
    tests = [test for name, test in list(globals().items()) if name.startswith("test_")]
    for test in tests:
        try:
            test()
        except Exception:
            failed += 1
            print(f"{test.__name__}: {traceback.format_exc()}")
    print(f"{len(tests) - failed} passed, {failed} failed")
