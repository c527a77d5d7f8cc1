# strip(line): a line without comments, as a compiler sees it; squeezed(text): without blanks. Lines are given one after the other.
function strip(line,   out, i, c, two, quote) {
  if (!in_block && line !~ /["'\/]/) return line
  for (i = 1; i <= length(line); i++) {
    c = substr(line, i, 1); two = substr(line, i, 2)
    if (in_block) { if (two == "*/") { in_block = 0; out = out " "; i++ } continue }
    if (quote) { out = out c; if (c == "\\") out = out substr(line, ++i, 1); else if (c == quote) quote = ""; continue }
    if (two == "//") return out
    if (two == "/*") { in_block = 1; i++; continue }
    if (c == "\"" || (c == "'" && out !~ /[A-Za-z0-9]$/)) quote = c
    out = out c
  }
  return out
}
function squeezed(text) { gsub(/[ \t\n]+/, "", text); return text }
function comment(line,   at) { at = strip(line) == line ? 0 : index(line, "//"); return at ? substr(line, at) : "" }
