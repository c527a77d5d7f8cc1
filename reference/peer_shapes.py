"""The shapes that peers are timed on: checks/bench/bench_samples.cpp has the same lists."""

ACCEPTANCE = ["1,8,512,64", "1,8,512,64,causal", "2,8,2048,64", "2,8,2048,64,causal", "2,8,2048,128", "2,8,2048,128,causal"]
LONG = ["4,16,8192,64", "4,16,8192,64,causal", "4,16,8192,128", "4,16,8192,128,causal"]
SWEEP = [f"{heads // 8},8,{S},{D}{causal}" for D in (64, 128) for causal in ("", ",causal") for heads in (8, 16, 32, 64, 128)
         for S in (128 << i for i in range(8))]


def shapes_named(words):
    """The shapes that shape=WORDS means. Raises ValueError with the line to print."""
    lists = {"acceptance": ACCEPTANCE, "long": LONG, "all": ACCEPTANCE + LONG, "sweep": SWEEP}
    if words in lists:
        return lists[words]
    for word in words.split(";"):
        parts = word.split(",")
        good = len(parts) in (4, 5) and all(p.isdigit() and int(p) > 0 for p in parts[:4]) and parts[4:] in ([], ["causal"])
        if not good:
            raise ValueError(f"shape={word}: neither B,H,S,D[,causal] nor one of acceptance, long, all, sweep")
    return words.split(";")
