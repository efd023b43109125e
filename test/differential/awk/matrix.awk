# Numeric work: matrix product, primes, Collatz, string building, associative joins, recursion.
function mul(a, b, c, n,   i, j, k, s) { for (i = 1; i <= n; i++) for (j = 1; j <= n; j++) { s = 0; for (k = 1; k <= n; k++) s += a[i, k] * b[k, j]; c[i, j] = s } }
function gcd(a, b) { return b ? gcd(b, a % b) : a }
function hanoi(n, a, b, c) { if (n > 0) { hanoi(n - 1, a, c, b); moves++; hanoi(n - 1, c, b, a) } }
{ col[$2] = col[$2] (col[$2] ? "," : "") $1 }
END {
  n = 6
  for (i = 1; i <= n; i++) for (j = 1; j <= n; j++) { a[i, j] = i + j / 10; b[i, j] = (i == j) * 2 + 1 }
  mul(a, b, c, n)
  for (i = 1; i <= n; i++) { row = ""; for (j = 1; j <= n; j++) row = row sprintf("%7.2f", c[i, j]); print row }
  for (i = 2; i <= 300; i++) if (!composite[i]) { p = p " " i; for (j = i * i; j <= 300; j += i) composite[j] = 1 }
  print p
  for (i = 1; i < 3000; i++) { m = i; s = 0; while (m != 1) { m = m % 2 ? 3 * m + 1 : m / 2; s++ } if (s > best) { best = s; at = i } }
  print best, at, gcd(1071, 462); hanoi(10, "a", "b", "c"); print moves
  for (k = 0; k < 13; k++) print k, length(col[k]), substr(col[k], 1, 30)
  CONVFMT = "%.3g"; x = 3.14159 ""; print x; OFMT = "%.2f"; print 2.71828, 17, 1e300 * 10
  srand(1); r1 = rand(); srand(1); r2 = rand(); print r1 == r2, r1 >= 0 && r1 < 1
  FS = ":"; $0 = "a:b:c"; print $2, NF; NF = 5; $5 = "e"; print; $1 = $1; print
}
