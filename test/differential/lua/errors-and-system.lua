-- Errors, load, require, debug, io on temporary files, os.
print(pcall(error, "message"), pcall(error, "message", 0), pcall(error, { 1 }) == false, pcall(error), select("#", pcall(error, nil)))
print(pcall(function() error("with position") end))
print(pcall(function() error("level 2", 2) end))
print(pcall(function() local t = nil t.x = 1 end))
print(pcall(function() return #5 end))
print(pcall(function() return {} .. "x" end))
print(pcall(function() return {} < {} end))
print(pcall(function() return 1 < "2" end))
print(pcall(function() undefinedfunction() end))
print(pcall(function() local t = {} t.a.b.c = 1 end))
print(pcall(function() return ("x"):nomethod() end))
print(pcall(function() return math.floor("x") end))
print(pcall(string.rep), pcall(setmetatable, 1, {}), pcall(ipairs))
print(xpcall(function() error("deep", 0) end, function(m) return "handled " .. m end))
print(xpcall(function(a, b) return a + b end, print, 3, 4))
print(xpcall(function() error("x", 0) end, function(m) error("again") end) == false)
print(select(2, xpcall(function() local x = nil + 1 end, debug.traceback)):match("^[^\n]+"))
print(pcall(assert, false), pcall(assert, nil, "assertion text"), pcall(assert, false, { 5 }) == false, assert(1, 2, 3))
print(select(2, pcall(error, setmetatable({}, { __tostring = function() return "custom" end }))))
local function nested(n) local ok, e = pcall(function() if n == 0 then error("bottom", 0) end error(nested(n - 1), 0) end) return e .. n end
print(nested(5))
-- load
print(load("return 1 + 1")(), load("syntax error here"), load("return ...", "chunk", "t", {})(7))
local env = { print = print, x = 5 }
print(load("x = x * 2 return x", "c", "t", env)(), env.x, x)
local pieces, at = { "return ", "10 ", "* 4" }, 0
print(load(function() at = at + 1 return pieces[at] end)())
print(load("\27Lua", "b", "t"), pcall(load, 5))
local dumped = string.dump(function(a) return a * 3 end)
print(load(dumped, "d", "b")(14), load(dumped, "d", "t"))
print(load("goto nowhere"), load("break"), load("local x <const> = 1; x = 2"), load("for i = 1 do end"), load("x = = 1"), load("x = 'unfinished"), load("return '\\q'"), load("--[[ unfinished"))
print(load("local a <foo> = 1"), load("::a:: ::a::"), load("return 0x"), load("x = }"), load(("("):rep(300) .. ("x"):rep(3)) == nil)
local big = {}
for i = 1, 300 do big[i] = "local v" .. i .. " = " .. i end
print(load(table.concat(big, "\n")))
local long = { "return 0" }
for i = 1, 2000 do long[#long + 1] = " + " .. i end
print(load(table.concat(long))())
local tbl = { "return {" }
for i = 1, 1000 do tbl[#tbl + 1] = ("[%d] = 'value %d', k%d = %g,"):format(i, i, i, i / 3) end
tbl[#tbl + 1] = "}"
local loaded = load(table.concat(tbl, "\n"))()
print(#loaded, loaded[500], loaded.k9, loaded.k1000)
-- modules
package.preload["mymodule"] = function(name) return { name = name, f = function() return "from module" end } end
print(require("mymodule").f(), require("mymodule").name, require("mymodule") == package.loaded.mymodule, pcall(require, "no.such.module") == false)
-- debug
local function info() local i = debug.getinfo(1, "nSl") return i.name, i.what, i.currentline > 0 end
print(info())
local function locals() local first, second = 1, "two" local n, v = debug.getlocal(1, 2) return n, v end
print(locals())
local up = 5
local function upvalue() return up end
print(debug.getupvalue(upvalue, 1), debug.setupvalue(upvalue, 1, 6), up)
local lines = 0
debug.sethook(function() lines = lines + 1 end, "l")
local z = 1
z = z + 1
debug.sethook()
print(lines > 2, debug.gethook())
-- io
local name = os.tmpname()
local f = assert(io.open(name, "w"))
print(io.type(f), io.type(5), f:write("line one\n", 2, " ", 3.5, "\nthird line\n\nlast without newline") == f)
f:close()
print(io.type(f), pcall(f.write, f, "x"))
for l in io.lines(name) do io.write("[", l, "]") end
print()
for l in io.lines(name, "L") do io.write(#l, " ") end
for a, b in io.lines(name, 1, 2) do io.write(a, "-", b, " ") break end
print()
f = io.open(name)
print(f:read("l"), f:read("n"), f:read("n"), f:read("L"), f:read(5), f:read(0), f:seek("cur"), f:read("a"), f:read("a"), f:read("l"), f:read(0))
print(f:seek("set", 5), f:read(3), f:seek("end"), f:seek("set"), f:read("l", "l"))
f:close()
f = io.open(name, "a+")
f:write("\nappended")
f:seek("set")
print(#f:read("a"), f:setvbuf("full", 1024))
f:close()
f = io.open(name, "r+b")
f:seek("set", 5)
f:write("ONE")
f:flush()
f:seek("set", 0)
print(f:read())
f:close()
print(io.open("/nonexistent/file"), pcall(io.lines, "/nonexistent/file"), pcall(io.open, name, "zz"))
f = io.open(name, "w")
f:write("0x1F -12 +7 3.5e2 .5 1e+2 nan 99999999999999999999 0x.8p1 - 5")
f:close()
f = io.open(name)
print(f:read("n", "n", "n", "n", "n", "n"))
print(f:read("n"))
f:close()
local old = io.output()
io.output(name)
io.write("redirected ", 1, "\n")
io.close()
io.output(old)
io.input(name)
print(io.read("a"))
io.close(io.input())
io.input(io.stdin)
print(os.rename(name, name .. ".moved"), os.remove(name .. ".moved"), select(2, os.remove(name)) ~= nil)
local p = io.popen("echo from shell; exit 3")
print(p:read("a"), p:close())
print(os.execute("exit 5"))
print(os.execute() ~= nil, os.getenv("NO_SUCH_VARIABLE_HERE"), type(os.getenv("PATH")), type(os.clock()), type(os.time()))
print(os.time({ year = 2024, month = 2, day = 29, hour = 12 }), os.date("!%Y-%m-%d %H:%M:%S", 86400 * 365), os.date("!*t", 1e9).yday, os.date("!%c", 0), os.date("!%A %B %d %j %p", 1e9))
print(os.time({ year = 2023, month = 14, day = -3, hour = 0 }) == os.time({ year = 2024, month = 1, day = 28, hour = 0 }), os.difftime(10, 5), pcall(os.date, "%Ez", 0) ~= nil, pcall(os.time, { year = 2024 }))
io.stderr:write("")
print(_VERSION, type(_G), _G._G == _G, type(_ENV), #arg)
local _ENV = { print = print }
print(tostring)
