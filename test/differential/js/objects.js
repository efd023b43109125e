// Objects, prototypes, closures, exceptions, property attributes, garbage.
function show() { print(Array.prototype.join.call(arguments, " ")); }
function Shape(name) { this.name = name; }
Shape.prototype.area = function () { return 0; };
Shape.prototype.toString = function () { return this.name + ":" + this.area(); };
function Square(n) { Shape.call(this, "square"); this.n = n; }
Square.prototype = Object.create(Shape.prototype);
Square.prototype.area = function () { return this.n * this.n; };
show(new Shape("s"), new Square(7), new Square(3) instanceof Shape);
function counter() { var n = 0; return { up: function () { return ++n; }, get value() { return n; }, set value(v) { n = v; } }; }
var a = counter(), b = counter();
a.up(); a.up(); b.up(); b.value = 40; b.up();
show(a.value, b.value);
function attempt(f) { try { return f(); } catch (e) { return e.name; } finally { attempt.count = (attempt.count || 0) + 1; } }
show(attempt(function () { return undefinedName; }), attempt(function () { null.x; }), attempt(function () { throw new RangeError("r"); }), attempt(function () { return eval("1 +* 2"); }), attempt.count);
function depth(n) { return n === 0 ? 0 : 1 + depth(n - 1); }
show(depth(150));
var o = { z: 1, a: 2 };
Object.defineProperty(o, "hidden", { value: 3, enumerable: false });
show(Object.keys(o), o.hidden, JSON.stringify(o), "hidden" in o, o.hasOwnProperty("q"));
Object.freeze(o); o.z = 9; show(o.z, Object.isFrozen(o));
label: for (var i = 0; i < 5; i++) { for (var j = 0; j < 5; j++) { if (j === 3) continue label; if (i === 3) break label; } }
show(i, j);
function kind(x) { switch (typeof x) { case "number": return "n" + x; case "string": return "s" + x.length; case "object": return x === null ? "null" : "o"; case "undefined": return "u"; default: return typeof x; } }
show(kind(1), kind("abc"), kind(null), kind({}), kind(undefined), kind(kind), kind(true));
var keep = [], total = 0;
for (i = 0; i < 30000; i++) { var node = { id: i, list: [i, i + 1], text: "n" + i, next: keep[i % 17] }; if (i % 13 === 0) keep[i % 17] = { id: node.id, text: node.text }; total += node.list[1] % 7; }
show(total, keep[3].text, keep.length);
show(JSON.stringify({ a: [1, null, true, { b: "q\"\n\u00e9" }], c: undefined, d: 1.5 }), JSON.stringify([1, [2, [3]]], null, 2), JSON.parse('{"x":[1,2,{"y":"\\u0041"}]}').x[2].y);
var f = function () { return this.v + Array.prototype.slice.call(arguments).join(""); };
show(f.call({ v: 1 }, 2, 3), f.apply({ v: 4 }, [5, 6]), f.bind({ v: 7 }, 8)(9));
show(new Date(0).toISOString(), Date.UTC(2004, 1, 29, 12, 30, 15, 250), new Date(1e12).toISOString(), new Date(2011, 12, 1).getMonth());
var with1 = { p: 5 }; with (with1) { p = p * 2; } show(with1.p, void 0, typeof undeclared, delete with1.p, with1.p);
