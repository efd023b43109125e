-- Tables: array and hash parts, the table library, sorting, metatables and metamethods, iteration, inheritance.
local t = { 10, 20, 30, nil, 50, x = 1, ["key with space"] = 2, [100] = 3, [-1] = 4, [1.5] = 5, [true] = 6 }
print(#{ 1, 2, 3 }, t.x, t["key with space"], t[100], t[-1], t[1.5], t[true], t[2.0], t.missing)
t[2 ^ 53] = "big"
print(t[2 ^ 53], t[9007199254740992], pcall(function() t[nil] = 1 end), pcall(function() t[0 / 0] = 1 end), t[nil])
local a = {}
for i = 1, 100 do a[i] = i * i end
for i = 1, 100, 2 do a[i] = nil end
for i = 1, 100, 2 do a[i] = i end
print(#a, a[1], a[2], a[99], a[100])
print(table.concat({ 1, 2, 3 }, "-"), table.concat({ "a", "b", "c" }, ", ", 2, 3), table.concat({}, "x"), pcall(table.concat, { 1, {}, 3 }))
local q = { "a", "b", "c" }
table.insert(q, "d")
table.insert(q, 1, "z")
print(table.concat(q), table.remove(q), table.remove(q, 1), table.concat(q), table.remove({}), pcall(table.insert, q, 10, "x"), pcall(table.insert, q))
print(table.concat(table.move({ 1, 2, 3, 4, 5 }, 2, 4, 1), ","), table.concat(table.move({ 1, 2, 3 }, 1, 3, 3), ","), #table.move({ 1, 2, 3 }, 1, 3, 1, {}))
print(table.pack(1, nil, 3).n, table.unpack({ 1, 2, 3 }, -1, 1))
-- sorting
local function lcg(seed) return function(n) seed = (seed * 1103515245 + 12345) & 0x7fffffff return seed % n end end
local rnd = lcg(42)
local v = {}
for i = 1, 500 do v[i] = rnd(1000) end
table.sort(v)
local ok = true
for i = 2, #v do ok = ok and v[i - 1] <= v[i] end
print(ok, v[1], v[250], v[500])
table.sort(v, function(x, y) return x > y end)
print(v[1], v[250], v[500])
local people = { { "Ann", 31 }, { "Bob", 25 }, { "Cid", 31 }, { "Dee", 19 } }
table.sort(people, function(x, y) if x[2] ~= y[2] then return x[2] < y[2] end return x[1] > y[1] end)
for _, p in ipairs(people) do io.write(p[1], " ", p[2], "; ") end
print(pcall(table.sort, { 3, 1, "x" }))
print(pcall(table.sort, { 1, 2, 3, 4, 5 }, function() return true end) ~= nil)
local names = { "delta", "Alpha", "charlie", "Bravo" }
table.sort(names)
print(table.concat(names, " "))
table.sort(names, function(x, y) return x:lower() < y:lower() end)
print(table.concat(names, " "))
-- iteration
local keys = {}
for k in pairs({ a = 1, b = 2, c = 3, 10, 20 }) do keys[#keys + 1] = tostring(k) end
table.sort(keys)
print(table.concat(keys, " "), next({}), next({ 5 }), type(next), rawlen({ 1, 2 }), rawlen("abc"), rawequal(t, t), rawget(t, "x"))
for i, x in ipairs({ 1, 2, nil, 4 }) do io.write(i, "=", x, " ") end
local grow = { n = 0 }
for i = 1, 2000 do grow["k" .. i] = i end
for i = 1, 2000, 3 do grow["k" .. i] = nil end
local count, total = 0, 0
for k, x in pairs(grow) do count = count + 1 total = total + x if k ~= "n" then grow[k] = nil end end
print(count, total, next(grow))
-- metatables
local Vec = {}
Vec.__index = Vec
local function vec(x, y) return setmetatable({ x = x, y = y }, Vec) end
function Vec.__add(p, r) return vec(p.x + r.x, p.y + r.y) end
function Vec.__sub(p, r) return vec(p.x - r.x, p.y - r.y) end
function Vec.__mul(p, r) if type(p) == "number" then return vec(p * r.x, p * r.y) elseif type(r) == "number" then return vec(p.x * r, p.y * r) end return p.x * r.x + p.y * r.y end
function Vec.__div(p, k) return vec(p.x / k, p.y / k) end
function Vec.__mod(p, k) return vec(p.x % k, p.y % k) end
function Vec.__pow(p, k) return vec(p.x ^ k, p.y ^ k) end
function Vec.__idiv(p, k) return vec(p.x // k, p.y // k) end
function Vec.__unm(p) return vec(-p.x, -p.y) end
function Vec.__band(p, k) return vec(p.x & k, p.y & k) end
function Vec.__bor(p, k) return vec(p.x | k, p.y | k) end
function Vec.__bxor(p, k) return vec(p.x ~ k, p.y ~ k) end
function Vec.__shl(p, k) return vec(p.x << k, p.y << k) end
function Vec.__shr(p, k) return vec(p.x >> k, p.y >> k) end
function Vec.__bnot(p) return vec(~p.x, ~p.y) end
function Vec.__concat(p, r) return tostring(p) .. "~" .. tostring(r) end
function Vec.__len(p) return math.floor((p.x ^ 2 + p.y ^ 2) ^ 0.5) end
function Vec.__eq(p, r) return p.x == r.x and p.y == r.y end
function Vec.__lt(p, r) return p.x < r.x or p.x == r.x and p.y < r.y end
function Vec.__le(p, r) return not (r < p) end
function Vec.__call(p, k) return p.x * k + p.y end
function Vec.__tostring(p) return "(" .. p.x .. "," .. p.y .. ")" end
Vec.__name = "Vec"
local p, r = vec(3, 4), vec(10, 20)
print(tostring(p + r), tostring(p - r), p * r, tostring(2 * p), tostring(p * 2), tostring(r / 4), tostring(r % 7), tostring(p ^ 2), tostring(r // 3), tostring(-p))
print(tostring(p & 1), tostring(p | 8), tostring(p ~ 1), tostring(p << 2), tostring(r >> 1), tostring(~p), p .. r, p .. "s", 1 .. p, #p)
print(p == vec(3, 4), p ~= r, p < r, p <= r, p > r, p >= r, p(10), rawequal(p, vec(3, 4)), pcall(function() return p + 1 end))
-- __index and __newindex chains
local log = {}
local proxy = setmetatable({}, {
  __index = function(_, k) log[#log + 1] = "get " .. tostring(k) return k .. "!" end,
  __newindex = function(tt, k, x) log[#log + 1] = "set " .. k rawset(tt, k, x) end,
})
print(proxy.a, proxy.b)
proxy.a = 5
proxy.a = 6
print(proxy.a, table.concat(log, ";"))
local Base = { kind = "base" }
Base.__index = Base
function Base.hello(self) return self.kind .. " " .. self.name end
local Derived = setmetatable({ kind = "derived" }, { __index = Base })
Derived.__index = Derived
local o = setmetatable({ name = "obj" }, Derived)
print(o:hello(), o.kind, rawget(o, "kind"), getmetatable(o) == Derived, getmetatable("").__index == string)
local locked = setmetatable({}, { __metatable = "locked" })
print(getmetatable(locked), pcall(setmetatable, locked, {}))
local ordered = setmetatable({}, { __pairs = function(tt) return function(_, k) k = (k or 0) + 1 if k <= 3 then return k, k * k end end, tt, nil end })
for k, x in pairs(ordered) do io.write(k, ":", x, " ") end
print()
local default = setmetatable({}, { __index = function(tt, k) local x = {} rawset(tt, k, x) return x end })
default.a.b = 1
default.a.c = 2
print(default.a.b + default.a.c, rawget(default, "z"))
-- weak tables and garbage collection
local weak = setmetatable({}, { __mode = "k" })
local values = setmetatable({}, { __mode = "v" })
do
  local key = {}
  weak[key] = "kept"
  weak[{}] = "dropped"
  values[1] = {}
  values[2] = key
  collectgarbage() collectgarbage()
  local n = 0
  for _ in pairs(weak) do n = n + 1 end
  print(n, weak[key], values[1], values[2] == key)
end
local finalised = 0
for _ = 1, 50 do setmetatable({}, { __gc = function() finalised = finalised + 1 end }) end
collectgarbage() collectgarbage()
print(finalised, collectgarbage("count") > 0, collectgarbage("step") ~= nil, collectgarbage("isrunning"), collectgarbage("incremental"), collectgarbage("generational"), collectgarbage("incremental"))
local churn = {}
for i = 1, 20000 do churn[i % 100 + 1] = { i, tostring(i), { i } } end
print(#churn, churn[1][1], churn[100][2])
-- matrices, permutations, queens, heap, linked lists
local function matmul(x, y)
  local z = {}
  for i = 1, #x do
    z[i] = {}
    for j = 1, #y[1] do
      local s = 0
      for k = 1, #y do s = s + x[i][k] * y[k][j] end
      z[i][j] = s
    end
  end
  return z
end
local m = matmul({ { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } })
print(m[1][1], m[1][2], m[2][1], m[2][2])
local function permute(x, n, f)
  n = n or #x
  if n <= 1 then f(x) else
    for i = 1, n do
      x[n], x[i] = x[i], x[n]
      permute(x, n - 1, f)
      x[n], x[i] = x[i], x[n]
    end
  end
end
local perms = {}
permute({ "a", "b", "c" }, nil, function(x) perms[#perms + 1] = table.concat(x) end)
print(table.concat(perms, " "))
local function queens(n)
  local cols, d1, d2, found = {}, {}, {}, 0
  local function place(row)
    if row > n then found = found + 1 return end
    for c = 1, n do
      if not cols[c] and not d1[row + c] and not d2[row - c] then
        cols[c], d1[row + c], d2[row - c] = true, true, true
        place(row + 1)
        cols[c], d1[row + c], d2[row - c] = nil, nil, nil
      end
    end
  end
  place(1)
  return found
end
print(queens(6), queens(7))
local heap = {}
local function push(x) heap[#heap + 1] = x local i = #heap while i > 1 and heap[i // 2] > heap[i] do heap[i], heap[i // 2] = heap[i // 2], heap[i] i = i // 2 end end
local function pop()
  local top = heap[1]
  heap[1] = heap[#heap]
  heap[#heap] = nil
  local i = 1
  while true do
    local c = i * 2
    if c > #heap then break end
    if c < #heap and heap[c + 1] < heap[c] then c = c + 1 end
    if heap[i] <= heap[c] then break end
    heap[i], heap[c] = heap[c], heap[i]
    i = c
  end
  return top
end
for i = 1, 60 do push(rnd(500)) end
local popped = {}
for i = 1, 60 do popped[i] = pop() end
print(table.concat(popped, " "))
