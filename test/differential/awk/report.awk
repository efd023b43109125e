# Fields, arrays, functions, regular expressions, formatted output, string functions, control flow.
function factorial(n) { return n <= 1 ? 1 : n * factorial(n - 1) }
function reverse(s,   i, r) { for (i = length(s); i > 0; i--) r = r substr(s, i, 1); return r }
function sort(a, n,   i, j, t) { for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j-1] > a[j]; j--) { t = a[j]; a[j] = a[j-1]; a[j-1] = t } }
BEGIN { OFS = "-"; print "start", length("hello"), toupper("abc"), tolower("XyZ"); printf "%5.2f|%-6d|%06d|%x|%c|%s|%e\n", 3.14159, 42, 42, 255, 65, "str", 12345.678 }
$2 == 5 { fives++ }
$3 ~ /^word[13]$/ && $1 % 7 { odd[$3] += $1 }
/9 .* word4/ { matched = matched " " $1 }
NR >= 10 && NR <= 12 { $2 = "changed"; print; print NF }
NR == 50, NR == 53 { range = range NR "," }
{ sum[$3] += $2; count[$3]++; total += $1; words[NR % 5] = $3; line[NR] = $0 }
END {
  n = 0; for (w in sum) { n++; key[n] = w }
  sort(key, n); for (i = 1; i <= n; i++) printf "%s %d %.3f\n", key[i], sum[key[i]], sum[key[i]] / count[key[i]]
  print fives, total, matched, range
  n = 0; for (w in odd) { n++; key2[n] = w " " odd[w] } sort(key2, n); for (i = 1; i <= n; i++) print key2[i]
  print factorial(10), reverse("abcdef"), substr("hello", 2, 3), index("hello", "lo"), match("foobar", /o+/), RSTART, RLENGTH
  s = "the cat sat on the mat"; print gsub(/at/, "[&]", s), s; sub(/the/, "THE", s); print s
  print split("a:b:c:d", parts, ":"), parts[1], parts[4]; print split("  x  y ", parts), parts[1], parts[2]
  print 1e6, 1e-5, 0.1 + 0.2, 100000 * 100000, 2 ^ 10, 7 % 3, -7 % 3, int(-3.7), 1 / 3
  print sqrt(16), exp(0), log(1), sin(0), cos(0), atan2(0, -1)
  print "10" < "9", 10 < 9, "abc" < "abd", !0, !"", !"0", 1 == 1.0, "a" "b" == "ab"
  while (i-- > 0) if (i % 2) continue; else if (i < 2) break
  do { i++ } while (i < 10); print i
  delete sum["word1"]; print ("word1" in sum), ("word2" in sum)
  multi[1, 2] = 3; multi["x", "y"] = 4; for (k in multi) { split(k, p, SUBSEP); c += length(p[1]) } print c, ((1, 2) in multi)
  "echo from command" | getline got; close("echo from command"); print got
  while ((getline l < "data") > 0) lines++; close("data"); print lines
  print "b\na\nc" | "sort"; close("sort")
  x["a"]; print length(line[1]), line[300]; printf("%s %s %s\n", "p", "q", "r") > "/dev/stdout"
  for (i = 1; i <= 200; i++) big = big "x" i; print length(big), substr(big, 400, 20); gsub(/[0-9]+/, "", big); print length(big)
  print substr("hello", 0), substr("hello", -1, 3), substr("hello", 4, 100), substr("hello", 2.5, 1.5), toupper(substr("abc", 2))
  print match("aaa", /b/), RSTART, RLENGTH, match("x.y", /\./), "a.b" ~ "a.b", "a+b" ~ /a\+b/, "tab\there" ~ /\t/, "ab" ~ /^(a|b)*$/, "abc" ~ /^[^a]/
  exit 3
}
