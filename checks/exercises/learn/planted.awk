# A kernel with a patch, as patched.sh prints it, without the comments of added lines that the removed lines do not have: they would tell.
# Files: the patch, then that. patch: its name; all=1: with all comments.
FNR == NR { if (/^-/ && !/^--- /) kept[comment(substr($0, 2))]; next }
/^#line / { added = index($0, "\"" patch "\"") > 0; next }
all || !added || $0 == "" || (comment($0) in kept) { print; next }
{ code = strip($0); sub(/[ \t]+$/, "", code); if (code != "") print code }
