// Strings, regular expressions, arrays and sorting.
function show() { print(Array.prototype.join.call(arguments, " ")); }
var s = "The quick brown fox jumps over the lazy dog";
show(s.length, s.indexOf("fox"), s.lastIndexOf("o"), s.slice(-8, -4), s.substring(10, 4), s.charAt(4), s.charCodeAt(4), s.toUpperCase(), s.split(" ").reverse().join("-"));
show(s.replace(/o/g, "0"), s.replace(/(\w+) (\w+)/, "$2 $1"), s.replace(/[aeiou]/g, function (m, at) { return at % 2 ? m.toUpperCase() : m; }));
show(/(\d+)-(?:x|y)(z?)/.exec("a12-y3"), /^a{2,4}?b*$/.test("aaabb"), "a1b22c333".match(/\d+/g), "x".match(/y/), "aBc".search(/[A-Z]/), "one, two ;three".split(/\s*[,;]\s*/));
show(/(a+)(b+)?\1/.exec("aabaa"), /(?=.*\d)[a-z]+/.exec("abc1"), /\bfoo\b/i.test("a FOO b"), /^[^\n]+$/m.exec("\nline\n"), /[\u00e0-\u00ff]/.test("\u00e9"));
var words = [], x = 12345;
for (var i = 0; i < 3000; i++) { x = (x * 1103515245 + 12345) % 2147483648; words.push("w" + (x % 977).toString(36)); }
var count = {};
words.forEach(function (w) { count[w] = (count[w] || 0) + 1; });
var names = Object.keys(count).sort();
show(names.length, names[0], names[500], names.map(function (n) { return count[n]; }).reduce(function (p, q) { return p * 31 + q & 0xffffff; }, 7));
var numbers = words.map(function (w) { return parseInt(w.slice(1), 36); });
numbers.sort(function (p, q) { return p - q; });
show(numbers.slice(0, 10), numbers[1500], numbers[2999], numbers.filter(function (n) { return n % 2; }).length, numbers.indexOf(numbers[77]) <= 77, numbers.some(isNaN), numbers.every(isFinite));
var a = [5, 3, 1]; a.push(9, 8); a.unshift(0); show(a.splice(1, 2, "x", "y", "z"), a, a.concat([1, [2]], 3), a.length = 2, a, [1, , 3].length, [[1, 2], [3]].toString());
var big = ""; for (i = 0; i < 2000; i++) big += String.fromCharCode(97 + i % 26); show(big.length, big.slice(1990), big.split("z").length);
show(escape ? encodeURIComponent("a b&\u00e9/") : "", decodeURIComponent("%E2%82%AC").charCodeAt(0), encodeURI("a b?c=d"), "\x41\u0042\103", "tab\there".length, "abc" < "abd", "b" > "B", "10" < "9", 10 < "9");
var board = []; for (i = 0; i < 8; i++) board.push(-1);
function queens(row) { if (row === 8) return 1; var n = 0; for (var c = 0; c < 8; c++) { var ok = true; for (var r = 0; r < row; r++) if (board[r] === c || Math.abs(board[r] - c) === row - r) { ok = false; break; } if (ok) { board[row] = c; n += queens(row + 1); } } return n; }
show(queens(0));
