-- Closures, upvalues, varargs, multiple results, recursion, tail calls, integer and generic loops.
local function counter(start)
  local n = start or 0
  return {
    next = function(step) n = n + (step or 1); return n end,
    reset = function(v) n = v end,
    get = function() return n end,
  }
end
local a, b = counter(), counter(100)
print(a.next(), a.next(), b.next(5), a.get(), b.get())
b.reset(-1)
print(b.next(), a.next(10))

-- each iteration has its own variable
local fs = {}
for i = 1, 5 do fs[#fs + 1] = function(d) i = i + (d or 0); return i end end
print(fs[1](10), fs[1](), fs[2](), fs[5]())
local gs = {}
for k, v in ipairs({ "x", "y", "z" }) do gs[k] = function() return k .. v end end
print(gs[1](), gs[2](), gs[3]())
local i = 1
while i <= 3 do
  local j = i
  fs[i] = function() j = j * 2; return j end
  i = i + 1
end
print(fs[1](), fs[2](), fs[3](), fs[1](), fs[3]())

-- shared upvalues between siblings
local function pair()
  local v = 0
  return function() v = v + 1 return v end, function() return v end
end
local inc, get = pair()
inc() inc()
print(get())

-- varargs
local function pack2(...) return select("#", ...), { ... } end
local n, t = pack2(1, nil, 3, nil)
print(n, t[1], t[2], t[3], #t >= 0)
local function sum(...)
  local s = 0
  for _, v in ipairs({ ... }) do s = s + v end
  return s, ...
end
print(sum(1, 2, 3))
print((sum(1, 2, 3)))
print(select(-1, "a", "b", "c"), select(2, "a", "b", "c"))
local function many(k) if k == 0 then return end return k, many(k - 1) end
print(many(10))
print(#{ many(200) })
print(table.unpack({ 1, 2, 3 }, 2))
print(table.unpack({ 1, 2, 3 }, 2, 5))
print(pcall(select, 0))

-- tail calls do not grow the stack
local function loop(k, acc) if k == 0 then return acc end return loop(k - 1, acc + k) end
print(loop(200000, 0))
local even, odd
function even(k) if k == 0 then return true end return odd(k - 1) end
function odd(k) if k == 0 then return false end return even(k - 1) end
print(even(100001), odd(100001))

-- non-tail recursion
local function fact(k) if k <= 1 then return 1 end return k * fact(k - 1) end
local function fib(k) return k < 2 and k or fib(k - 1) + fib(k - 2) end
local function ack(m, k)
  if m == 0 then return k + 1 elseif k == 0 then return ack(m - 1, 1) end
  return ack(m - 1, ack(m, k - 1))
end
print(fact(20), fact(25), fib(22), ack(2, 7))
print(pcall(function() local function f(x) return 1 + f(x + 1) end return f(1) end) == false)

-- composition, currying, memoisation
local function compose(...)
  local list = { ... }
  return function(x) for k = #list, 1, -1 do x = list[k](x) end return x end
end
print(compose(function(x) return x + 1 end, function(x) return x * 2 end, math.abs)(-7))
local function curry(f, k, ...)
  if k == 0 then return f(...) end
  local args = table.pack(...)
  return function(x)
    local all = { table.unpack(args, 1, args.n) }
    all[args.n + 1] = x
    return curry(f, k - 1, table.unpack(all, 1, args.n + 1))
  end
end
print(curry(function(x, y, z) return x .. "," .. y .. "," .. z end, 3)(1)(2)(3))
local function memo(f)
  local cache = {}
  return function(x) local r = cache[x] if r == nil then r = f(x) cache[x] = r end return r end
end
local mfib
mfib = memo(function(k) return k < 2 and k or mfib(k - 1) + mfib(k - 2) end)
print(mfib(80))

-- goto, nested breaks, numeric loops
for x = 1, 3 do
  for y = 1, 3 do
    if y == 2 then goto continue end
    io.write(x, ":", y, " ")
    ::continue::
  end
end
print()
do
  local k = 0
  ::top::
  k = k + 1
  if k < 5 then goto top end
  print("k", k)
end
for x = 10, 1, -3 do io.write(x, " ") end
for x = 1.0, 2.0, 0.25 do io.write(x, " ") end
for x = math.maxinteger - 1, math.maxinteger do io.write(x, " ") end
for x = 3, 1 do io.write("never") end
print(pcall(function() for x = 1, 10, 0 do end end))
repeat local z = 5 until z == 5

-- integer for loop with a closure that escapes through goto continue
local out = {}
for x = 1, 4 do
  local y = x * x
  out[x] = function() return y end
  if x % 2 == 0 then goto skip end
  y = -y
  ::skip::
end
print(out[1](), out[2](), out[3](), out[4]())

-- to-be-closed and constant variables
do
  local log = {}
  local function closer(name) return setmetatable({}, { __close = function(_, e) log[#log + 1] = name .. ":" .. tostring(e) end }) end
  do
    local x <close> = closer("x")
    local y <close> = closer("y")
    local z <const> = 5
    log[#log + 1] = "body" .. z
  end
  print(table.concat(log, " "))
  log = {}
  print(pcall(function() local x <close> = closer("e") error("oops", 0) end))
  print(table.concat(log, " "))
  local function f() local x <close> = closer("r") return "value" end
  print(f(), log[#log])
end

-- string-keyed dispatch and method calls
local Account = {}
Account.__index = Account
function Account.new(v) return setmetatable({ balance = v }, Account) end
function Account:deposit(v) self.balance = self.balance + v return self end
function Account:show() return ("%d"):format(self.balance) end
print(Account.new(10):deposit(5):deposit(-3):show())
