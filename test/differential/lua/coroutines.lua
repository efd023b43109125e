-- Coroutines: generators, passing values both ways, errors, wrapping, status, closing, scheduling.
local function generate(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i, i * i) end return "end" end) end
local g = generate(3)
print(g()) print(g()) print(g()) print(g()) print(pcall(g))
local co = coroutine.create(function(a, b)
  print("start", a, b)
  local c = coroutine.yield(a + b)
  print("got", c)
  local d, e = coroutine.yield(c * 2)
  print("got", d, e)
  return d + e, "done"
end)
print(coroutine.resume(co, 1, 2))
print(coroutine.status(co), coroutine.resume(co, 10))
print(coroutine.resume(co, 3, 4))
print(coroutine.status(co), coroutine.resume(co))
print(coroutine.isyieldable(), select(2, coroutine.running()), coroutine.status(coroutine.running()))
-- errors inside
local bad = coroutine.create(function() local x = nil return x.field end)
print(coroutine.resume(bad))
print(coroutine.status(bad))
print(select(2, pcall(coroutine.wrap(function() error({ code = 5 }) end))).code)
-- yields across pcall, metamethods, iterators and sort
local across = coroutine.wrap(function()
  local ok, v = pcall(function() local r = coroutine.yield("in pcall") error("after " .. r, 0) end)
  coroutine.yield(tostring(ok) .. " " .. v)
  local mt = setmetatable({}, { __add = function(_, k) return coroutine.yield("in add " .. k) end, __index = function(_, k) return coroutine.yield("in index " .. k) end })
  local s = mt + 5
  coroutine.yield("sum " .. s .. " " .. mt.name)
  for k in (function() return coroutine.yield("in iterator") end) do coroutine.yield("loop " .. k) end
  return "finished"
end)
print(across()) print(across("resume")) print(across()) print(across(42)) print(across("fld")) print(across()) print(across("x")) print(across()) print(across(nil))
-- producer, filter, consumer
local function producer() return coroutine.create(function() for _, l in ipairs({ "one", "two", "three" }) do coroutine.yield(l) end end) end
local function filter(p) return coroutine.create(function() local n = 1 while true do local _, x = coroutine.resume(p) if not x then return end coroutine.yield(("%d:%s"):format(n, x)) n = n + 1 end end) end
local f = filter(producer())
while true do
  local _, x = coroutine.resume(f)
  if not x then break end
  io.write(x, " ")
end
print()
-- recursive generators: permutations, tree walk, primes
local function permgen(a, n)
  n = n or #a
  if n <= 1 then coroutine.yield(a) else
    for i = 1, n do
      a[n], a[i] = a[i], a[n]
      permgen(a, n - 1)
      a[n], a[i] = a[i], a[n]
    end
  end
end
for p in coroutine.wrap(function() permgen({ 1, 2, 3 }) end) do io.write(table.concat(p), " ") end
print()
local function insert(t, v) if not t then return { v = v } end if v < t.v then t.l = insert(t.l, v) else t.r = insert(t.r, v) end return t end
local function walk(t) if t then walk(t.l) coroutine.yield(t.v) walk(t.r) end end
local root
for _, v in ipairs({ 50, 20, 70, 10, 30, 60, 80, 25 }) do root = insert(root, v) end
for v in coroutine.wrap(function() walk(root) end) do io.write(v, " ") end
print()
local function gen(n) return coroutine.wrap(function() for i = 2, n do coroutine.yield(i) end end) end
local function sieve(p, src) return coroutine.wrap(function() for n in src do if n % p ~= 0 then coroutine.yield(n) end end end) end
local src = gen(100)
while true do
  local n = src()
  if n == nil then break end
  io.write(n, " ")
  src = sieve(n, src)
end
print()
-- a scheduler
local tasks, log = {}, {}
for id = 1, 3 do
  tasks[#tasks + 1] = coroutine.create(function() for step = 1, id + 1 do log[#log + 1] = id .. "." .. step coroutine.yield() end end)
end
while #tasks > 0 do
  for i = #tasks, 1, -1 do
    coroutine.resume(tasks[i])
    if coroutine.status(tasks[i]) == "dead" then table.remove(tasks, i) end
  end
end
print(table.concat(log, " "))
-- many coroutines alive, deep nesting, closing
local many = {}
for i = 1, 1000 do many[i] = coroutine.wrap(function() local s = i while true do s = s + coroutine.yield(s) end end) many[i]() end
local total = 0
for i = 1, 1000 do total = total + many[i](i) end
print(total)
local function nest(n) if n == 0 then return "bottom" end return coroutine.wrap(function() return nest(n - 1) end)() end
print(nest(50))
local closed = {}
local c = coroutine.create(function() local x <close> = setmetatable({}, { __close = function() closed[#closed + 1] = "closed" end }) coroutine.yield(1) end)
coroutine.resume(c)
print(coroutine.close(c), coroutine.status(c), closed[1], coroutine.close(coroutine.create(print)))
print(pcall(coroutine.resume, 5), pcall(coroutine.create, 5))
print(coroutine.resume(coroutine.create(function(...) return select("#", ...), ... end), 1, nil, 3))
local selfish
selfish = coroutine.create(function() return coroutine.resume(selfish) end)
print(coroutine.resume(selfish))
