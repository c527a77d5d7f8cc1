"""What the CPU execution counts (counted-1) beside what Nsight Compute counted on a GPU (profile-1)."""
from .heads import Unusable
from .results import ladder, row_of, short

SHAPE, LARGE = "1,8,512,64", 0.05
# Column: the kinds whose MEMBER the CPU adds up, and the metric or the SASS instruction that is the same on a GPU.
COLUMNS = {
    "load wavefronts": ("wavefronts", ["shared load", "ldmatrix", "wmma load"], "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"),
    "store wavefronts": ("wavefronts", ["shared store", "stmatrix"], "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"),
    "ldmatrix": ("instructions", ["ldmatrix", "wmma load"], "LDSM"),
    "cp.async": ("instructions", ["cp.async"], "LDGSTS"),
    "TMA loads": ("instructions", ["TMA load"], "UTMALDG"),
    "load sectors": ("sectors", ["global load", "cp.async"], "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"),
    "store sectors": ("sectors", ["global store"], "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"),
    "mma": ("instructions", ["mma"], "HMMA"),
    "wgmma": ("instructions", ["wgmma"], "HGMMA"),
    "exponentials": ("instructions", ["exponential", "reciprocal"], "MUFU"),
    "shuffles": ("instructions", ["shuffle"], "SHFL"),
    "barriers": ("instructions", ["barrier", "named barrier"], "BAR"),
    "remote stores": ("instructions", ["remote store"], "STAS"),
}

# Why the two may differ by more than LARGE.
WHY = {
    "a": "The source moves two halves or one float at a time. nvcc joins neighbours into accesses of 8 and 16 bytes, which take fewer cycles, and keeps in registers what the source reads again.",
    "b": "Explained in part. The GPU's number differs between runs (v2c6 432,154 and 434,011, v2c7 427,487 and 431,537, v3d 4,452, 4,422, 4,222 and 4,212). Likely it depends also on when other accesses use the banks. The CPU's count depends on addresses alone. But the two counts differ by more than the runs do.",
    "c": "`__pipeline_memcpy_async` with a number of zeros to fill in is two instructions with opposite predicates, one for none and one for 16. Both count as executed, and the one that is held back as two sectors. From v2d on whole tiles have a loop of their own.",
    "d": "A division is a MUFU.RCP and some arithmetic; `/` in the source is not counted.",
    "e": "A barrier behind `if` is an instruction with a predicate: executed, by this counter, also where it is held back, once per warp here.",
    "f": "Two loads of 8 bytes side by side, which nvcc makes one of 16: half as many instructions, and no conflict. The floor leaves these conflicts out, so it is about 1 % too high.",
    "g": "Not explained. Both count 128 instructions, each by one lane; ncu has 402 wavefronts and 100 bank conflicts.",
}
EXPLAINED = [
    ("load wavefronts", "a", "v1 v2b v2c3 v2c5 v3k"),
    ("load wavefronts", "f", "v4a v4b v4c"),
    ("store wavefronts", "a", "v2c3"),
    ("store wavefronts", "b", "v2c6 v2c7 v3e v3f"),
    ("store wavefronts", "g", "v3k"),
    ("cp.async", "c", "v2b v2c3 v2c5 v2c6 v2c7 v2c8 v2c9"),
    ("load sectors", "c", "v2b v2c3 v2c5 v2c6 v2c7 v2c8 v2c9"),
    ("exponentials", "d", "v1 v2b v2c3 v2c5 v2c6 v2c7"),
    ("barriers", "e", "v3e v3f"),
]
LETTER = {(stage, column): letter for column, letter, stages in EXPLAINED for stage in stages.split()}


def cell(stage, column, totals, profile):
    """"=" where both count the same, else the difference and the letter of its reason; "" where neither counts any."""
    member, kinds, name = COLUMNS[column]
    if name.endswith(".sum") and name not in profile["metrics"]:
        return "?"
    ours = sum(totals[kind][member] for kind in kinds if kind in totals)
    theirs = (profile["metrics"] if name.endswith(".sum") else profile["opcodes"]).get(name, 0)  # an opcode that is not there was not executed
    off = 0 if ours == theirs else ours / theirs - 1 if theirs else float("inf")
    letter = LETTER.get((stage, column), "")
    if (abs(off) > LARGE) != bool(letter):
        raise Unusable(f"{stage}, {column}: {ours:,.0f} counted, {theirs:,.0f} measured, and {'a reason for a difference that is not there' if letter else 'no reason is given'}: counted.py")
    if ours == theirs:
        return "=" if ours else ""
    return (f"{100 * off:+.1f} %" if theirs else f"{ours:,.0f} : 0") + f" {letter}" * bool(letter)


def table_counted(r):
    lines = [row_of(["", *COLUMNS]), "|---|" + "--:|" * len(COLUMNS)]
    refused = []
    for stage in ladder():
        if profile := r.profile(stage, SHAPE):
            totals, cells = r.counted["stages"][stage][SHAPE]["totals"], [short(stage)]
            for column in COLUMNS:
                try:
                    cells.append(cell(short(stage), column, totals, profile))
                except Unusable as why:
                    refused.append(str(why))
            lines.append(row_of(cells))
    if refused:
        raise Unusable("; ".join(refused))
    return lines + [""] + [f"- **{letter}** {why}" for letter, why in WHY.items()]
