#!/bin/sh
# make racecheck backend=gpu: NVIDIA's compute-sanitizer on each LAB, its four tools on small shapes, in one summary of the form
# that the CPU's racecheck prints. Exit status 1 where there are findings.
#   sanitizer.sh [-j FILE] LAB...     -j: also writes the findings as JSON, with machine, driver, date and command
#   sanitizer.sh -s                   only summarises the logs of the last run
# The tools' own output stays in build/logs/sanitizer/STAGE-VARIANT/TOOL.SHAPE.log.
set -u
logs=build/logs/sanitizer
# A length that a tile divides, one that none does (and no 16-row stripe), both head dimensions, causal and not.
SHAPES="1,1,128,64,0 1,2,100,128,1"
TOOLS="memcheck racecheck initcheck synccheck"
command="sanitizer.sh $*"
json=; only_summary=
while [ $# -gt 0 ]; do
  case $1 in
    -j) json=$2; shift 2 ;;
    -s) only_summary=1; shift ;;
    *) break ;;
  esac
done

if [ -z "$only_summary" ]; then
  tool=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null) ||
    { echo "racecheck: no compute-sanitizer on the PATH; backend=cpu has a checker of its own" >&2; exit 2; }
  [ $# -gt 0 ] || { echo "usage: sanitizer.sh [-j FILE] LAB..." >&2; exit 2; }
  # Older ones watch global memory only; where shared memory can be watched, it is.
  shared=; "$tool" --help 2>&1 | grep -q initcheck-address-space && shared="--initcheck-address-space shared"
  rm -rf $logs; mkdir -p $logs
  {
    echo "gpu $(nvidia-smi --query-gpu=name --format=csv,noheader | head -1)"
    echo "driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)"
    echo "cuda $(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')"
    echo "sanitizer $("$tool" --version | sed -n 's/^Version *//p')"
    echo "date $(date -u +%F)"
  } > $logs/machine
  for lab in "$@"; do
    variant=$(dirname "$lab"); stage=$(basename "$(dirname "$variant")"); variant=$(basename "$variant")
    mkdir -p "$logs/$stage-$variant"
    for t in $TOOLS; do
      options=; [ $t = initcheck ] && options=$shared
      for shape in $SHAPES; do
        echo "timeout 120 $tool --tool $t $options --print-limit 200 $lab once $(echo "$shape" | tr , ' ') > $logs/$stage-$variant/$t.$shape.log 2>&1"
      done
    done
  done > $logs/runs
  xargs -P "${JOBS:-$(nproc)}" -I LINE sh -c LINE < $logs/runs
fi

[ -n "$json" ] && awk '{ key = $1; $1 = ""; v[key] = substr($0, 2) } END {
  printf "{\n  \"schema\": \"tools-1\",\n  \"gpu\": \"%s\", \"driver\": \"%s\", \"cuda\": \"%s\", \"compute_sanitizer\": \"%s\", \"date\": \"%s\",\n", v["gpu"], v["driver"], v["cuda"], v["sanitizer"], v["date"]
  printf "  \"command\": \"make backend=gpu build-gpu; sh checks/races/sanitizer.sh -j FILE build/gpu/*/*/lab\",\n  \"rows\": [\n" }' $logs/machine > "$json"
findings=0; separator=
for dir in "$logs"/*/; do
  name=$(basename "$dir"); stage=${name%%-*}; variant=${name#*-}; bug=; case $variant in bug-*) bug=${variant#bug-} ;; esac
  awk -v stage="$stage" -v bug="$bug" -v json="$json" -v separator="$separator" -v tools="$TOOLS" '
    # "at void <unnamed>::attention<(int)64, (int)2>(...)+0x1b70 in kernel.cu:146" -> "stages/v2b_single_warp/kernel.cu:146"
    function place(text) {
      if (!match(text, / in [^ ]*:[0-9]+/)) return ""
      text = substr(text, RSTART + 4, RLENGTH - 4); sub(/.*\//, "", text)
      if (text ~ /^kernel\.cu:/) return "stages/" stage "/" text
      if (text ~ /\.patch:/) return "stages/" stage "/bugs/" text
      return (text ~ /\.cuh:/ ? "common/" : "CUDA header ") text
    }
    function kernel_of(text) {
      if (!match(text, /attention(<[^>]*>)?/)) return ""
      text = substr(text, RSTART, RLENGTH); gsub(/\(int\)| /, "", text)
      return text
    }
    function add_word(list, word) { return word == "" || index(", " list ",", ", " word ",") ? list : list (list == "" ? "" : ", ") word }
    function add(what, where, times,   key) {
      key = tool SUBSEP what SUBSEP where
      if (!(key in count)) order[++n] = key
      count[key] += times
      shapes[key] = add_word(shapes[key], shape)
      kernels[key] = add_word(kernels[key], kernel)
      kinds[tool] = add_word(kinds[tool], what)
      rest = where
      while (match(rest, /kernel\.cu:[0-9]+/)) { lines[tool] = add_word(lines[tool], substr(rest, RSTART + 10, RLENGTH - 10)); rest = substr(rest, RSTART + RLENGTH) }
    }
    function close_record() {  # an error that is no race: one record, one time
      if (what != "" && first == "") add(what, where, 1)
      what = first = where = kernel = ""
    }
    function side(text, at) {
      sub(/^.*between /, "", text); sub(/^ +and /, "", text); at = place(text); sub(/ access.*/, "", text)
      return tolower(text) " at " at
    }
    FNR == 1 { close_record(); split(FILENAME, path, "/"); split(path[length(path)], part, "."); tool = part[1]; shape = "(" part[2] ")"; runs++; hit = "" }
    /^========= / {
      text = $0; sub(/^========= ?/, "", text)
      if (text ~ /SUMMARY/) { close_record(); ended[FILENAME]; next }
      if (text ~ /^[A-Z]/ && text !~ /^COMPUTE-SANITIZER|^Target application/) {
        close_record()
        what = text; kernel = kernel_of(text)
        if (what ~ /Race reported between/) {
          first = side(text); what = what ~ /^Warning/ ? "race (warning)" : "race"
        } else if (what ~ /^Program hit/) {
          sub(/ due to .*API call to/, " at", what); sub(/\.$/, "", what)
          code = what; sub(/ at .*/, "", code)
          if (code == hit) what = ""  # the calls after the failed one only repeat it
          hit = code
        }
        next
      }
      if (what == "") next
      if (first != "") {
        if (text !~ /^ +and /) next
        second = side(text); if (kernel == "") kernel = kernel_of(text)
        times = match(text, /\[[0-9]+ hazards?\]/) ? substr(text, RSTART + 1) + 0 : 1
        add(what, first < second ? first " and " second : second " and " first, times)
      } else if (text ~ /^ +Access to .* is /) {
        text = substr(text, index(text, " is ") + 4); sub(/ *$/, "", text); what = what ": " text
      } else if (text ~ /^ +(at |Device Frame)/) {  # the innermost frame; of NVIDIA'"'"'s headers and our helpers, who called them
        if (kernel == "") kernel = kernel_of(text)
        if (place(text) != "" && where !~ /kernel\.cu/) where = "at " place(text)
      }
    }
    END {
      close_record()
      for (i = 1; i <= n; i++) {
        split(order[i], p, SUBSEP)
        printf "%s: %s%s, %d time%s\n%s    shapes %s\n", p[1], p[2], kernels[order[i]] == "" ? "" : ", kernel " kernels[order[i]], count[order[i]], count[order[i]] == 1 ? "" : "s", p[3] == "" ? "" : "    " p[3] "\n", shapes[order[i]]
      }
      for (f in ended) done_runs++
      if (done_runs < runs) printf "%d of %d runs ended without a summary: see the logs\n", runs - done_runs, runs
      printf "%s%s: %d finding%s in %d runs (%s)\n", stage, bug == "" ? "" : " with " bug, n, n == 1 ? "" : "s", runs, tools
      if (json != "") {
        k = split(tools, each, " ")
        for (i = 1; i <= k; i++) { t = each[i]
          printf "%s    {\"stage\": \"%s\", \"bug\": \"%s\", \"tool\": \"%s\", \"kinds\": \"%s\", \"lines\": \"%s\"}", (i == 1 ? separator : ",\n"), stage, bug, t, kinds[t], lines[t] >> json }
      }
      exit n > 0 || done_runs < runs
    }' "$dir"*.log || findings=1
  separator=',
'
done
[ -n "$json" ] && printf '\n  ]\n}\n' >> "$json"
exit $findings
