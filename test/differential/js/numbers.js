// Arithmetic, conversions, formatting of numbers; bit operations; Math.
function show() { print(Array.prototype.join.call(arguments, " ")); }
var list = [0, -0, 1, -1, 0.1, 1 / 3, 1e21, 1e-7, 123456789012345680000, 5e-324, 1.7976931348623157e308, NaN, Infinity, -Infinity, 4294967295, 2147483648, -2147483649, 0.000001, 255.5];
for (var i = 0; i < list.length; i++) {
  var x = list[i];
  show(x, 1 / x, x | 0, x >>> 0, x >> 3, x << 5, ~x, -x, x % 7, x % -2.5, isNaN(x));
  if (isFinite(x)) show(x.toFixed(3), x.toExponential(5), x.toPrecision(4), x.toString(2).length);
  show(Math.floor(x), Math.ceil(x), Math.round(x), Math.abs(x), Math.min(x, 3), Math.max(x, -3, 2));
}
for (var radix = 2; radix <= 36; radix += 7) show(radix, (255).toString(radix), (-1e9).toString(radix), parseInt("zz10", radix), parseInt("101", radix));
show(parseFloat("3.25abc"), parseFloat(".5e3"), parseInt("0x1F"), Number(""), Number(" 12 "), Number("1e3"), Number("x"));
var sum = 0;
for (var k = 1; k < 20000; k++) sum += Math.sin(k) * Math.sqrt(k) + Math.atan2(k, 3) - Math.exp(-k) + Math.log(k) * Math.pow(k, 0.25);
show(sum.toPrecision(12));
var h = 0;
for (k = 0; k < 30000; k++) h = ((h << 5) - h + k * 31) | 0;
show(h, h >>> 1, h ^ 0x55555555);
show(0.1 + 0.2, 9007199254740993, 1 - 0.9, 100 * 1.1, 5 / 2 | 0, -5 % 3, 2 * "3", "5" - 2, "5" + 2, +true, [] + {}, [] == 0);
