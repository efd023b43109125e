-- Integers and floats: arithmetic, division, shifts, comparison, conversion, formatting, the math library.
print(1 + 2, 1 + 2.0, 7 // 2, -7 // 2, 7 // -2, 7.5 // 2, -7.5 // 2, 7 % 3, -7 % 3, 7 % -3, -7.5 % 2, 5.5 % -2)
print(3 / 2, 4 / 2, 2 ^ 10, 2 ^ 0.5, 10 // 0.0, -10 // 0.0, 0.0 / 0.0 ~= 0.0 / 0.0, 5 % math.huge, -5 % math.huge)
print(math.maxinteger + 1 == math.mininteger, math.mininteger // -1, math.mininteger % -1, math.maxinteger * 2)
print(pcall(function() return 1 // 0 end))
print(pcall(function() return 1 % 0 end))
print(1 << 62, 1 << 63, 1 << 64, 1 >> 1, -1 >> 60, -1 << 4, 1 << -1, 0xff ~ 0x0f, ~0, 0xf0 & 0x3c, 0xf0 | 0x0f)
print(3.0 | 4, pcall(function() return 3.5 | 4 end))
print("10" + 5, "0x10" * 2, "3.5" + 1, 10 .. 20, "1e2" + 0)
print(pcall(function() return "abc" + 1 end))
print(1 == 1.0, 1 < 1.5, 2 ^ 53 == 2 ^ 53 + 1, math.maxinteger < math.huge, math.maxinteger + 0.0 == math.maxinteger, math.mininteger + 0.0 == math.mininteger)
print(9007199254740993 < 9007199254740992.0, 9007199254740993 == 9007199254740992.0, math.maxinteger <= 9223372036854775807.0, math.maxinteger < 9223372036854775808.0)
print(-0.0, 0.0 == -0.0, 1 / -0.0, 1e15, 1e16, 1e100, 123456789012345678, 0.1, 1 / 3, -1.5e-10, 2 ^ 63, 1e308 * 10, -1e308 * 10)
print(100, 100.0, 1e2, 0x7fffffffffffffff, 0xffffffffffffffff, 0x1p4, 0x.8, 0xA.8p1, 3e0, .5, 5.)
print(tostring(3) == "3", tostring(3.0), tostring(-0.0), 2 ^ 31, 2 ^ 31 | 0)
print(tonumber("  12  "), tonumber("12a"), tonumber("0x1F"), tonumber("1e1"), tonumber("z", 36), tonumber("777", 8), tonumber("8", 8), tonumber(""), tonumber("0x"), tonumber("1 2"))
print(tonumber("9223372036854775807"), tonumber("9223372036854775808"), tonumber("-9223372036854775808"), tonumber("0x1p-2"), tonumber("inf"), tonumber("nan"))
print(math.type(1), math.type(1.0), math.type("1"), math.tointeger(3.0), math.tointeger(3.5), math.tointeger("8"), math.tointeger(2 ^ 63))
print(math.floor(3.7), math.floor(-3.7), math.ceil(3.2), math.ceil(-3.2), math.floor(2 ^ 70), math.abs(math.mininteger), math.abs(-5), math.abs(-5.5))
print(math.max(1, 5, 3), math.min(2.5, 1), math.max(1.5), math.fmod(7, 3), math.fmod(-7, 3), math.fmod(7, -3), math.fmod(5.5, 2), math.modf(3.7), math.modf(-3.7), math.modf(math.huge))
print(pcall(math.fmod, 1, 0), pcall(math.max))
print(math.sqrt(2), math.sin(1), math.cos(1), math.tan(1), math.asin(1), math.acos(0), math.atan(1), math.atan(1, -1), math.exp(1), math.log(10), math.log(8, 2), math.log(1000, 10), math.log(27, 3))
print(math.pi, math.huge, -math.huge, math.maxinteger, math.mininteger, math.ult(1, -1), math.ult(-1, 1))
print(string.format("%d %5d %-5d| %05d %+d %x %X %#x %o %c %i", 42, 42, 42, 42, 42, 255, 255, 255, 8, 65, -7))
print(string.format("%f %.2f %10.3f %-10.1f| %e %.3E %g %G %g %a", 3.14159, 3.14159, 3.14159, 3.14159, 12345.678, 12345.678, 1e20, 1e-10, 100000, 1.0))
print(string.format("%5.1f|%+.0f|%#.0f|% d|%.10g|%.17g|%.14g", 2.25, 2.5, 3.0, 7, 0.1, 0.1, 0.1))
print(pcall(string.format, "%d", 3.5))
print(string.format("%d", 3.0), string.format("%s %s %s", 1, 1.0, "x"), string.format("%q", 1 / 3), string.format("%q", math.mininteger))
-- random numbers are reproducible for a given seed
math.randomseed(42)
local r1 = { math.random(1, 100), math.random(1, 100), math.random(1, 100) }
math.randomseed(42)
local r2 = { math.random(1, 100), math.random(1, 100), math.random(1, 100) }
print(r1[1] == r2[1] and r1[2] == r2[2] and r1[3] == r2[3], r1[1], r1[2], r1[3])
math.randomseed(7, 9)
print(math.random(0), math.random(5), math.random(), math.random(-3, 3), pcall(math.random, 2, 1))
for _ = 1, 1000 do
  local x, y = math.random(), math.random(10)
  assert(x >= 0 and x < 1 and y >= 1 and y <= 10)
end
-- algorithms: gcd, primes, powers modulo, digits of e and pi, big numbers in base 10^7
local function gcd(a, b) while b ~= 0 do a, b = b, a % b end return a end
print(gcd(1071, 462), gcd(2 ^ 40 | 0, 6 ^ 20 | 0))
local function powmod(b, e, m) local r = 1 b = b % m while e > 0 do if e & 1 == 1 then r = r * b % m end b = b * b % m e = e >> 1 end return r end
print(powmod(3, 1000003, 1000000007), powmod(2, 62, 97))
local primes, composite = {}, {}
for i = 2, 2000 do
  if not composite[i] then
    primes[#primes + 1] = i
    for j = i * i, 2000, i do composite[j] = true end
  end
end
print(#primes, primes[#primes])
local function bigfact(n)
  local digits = { 1 }
  for k = 2, n do
    local carry = 0
    for i = 1, #digits do
      local v = digits[i] * k + carry
      digits[i] = v % 10000000
      carry = v // 10000000
    end
    while carry > 0 do digits[#digits + 1] = carry % 10000000 carry = carry // 10000000 end
  end
  local s = { tostring(digits[#digits]) }
  for i = #digits - 1, 1, -1 do s[#s + 1] = string.format("%07d", digits[i]) end
  return table.concat(s)
end
print(bigfact(100))
local sum, x = 0.0, 1.0
for k = 1, 30 do sum = sum + x x = x / k end
print(string.format("%.15f", sum))
local inside = 0
local state = 12345
local function lcg() state = (state * 6364136223846793005 + 1442695040888963407) return (state >> 11) / 9007199254740992.0 end
for _ = 1, 20000 do local a, b = lcg(), lcg() if a * a + b * b < 1 then inside = inside + 1 end end
print(inside)
-- n-body in miniature: sensitive to every rounding
local px, py, vx, vy = 1.0, 0.0, 0.0, 1.0
for _ = 1, 5000 do
  local d = (px * px + py * py) ^ 1.5
  vx, vy = vx - px / d * 0.001, vy - py / d * 0.001
  px, py = px + vx * 0.001, py + vy * 0.001
end
print(string.format("%.17g %.17g %.17g %.17g", px, py, vx, vy))
local function mandel(w)
  local rows = {}
  for y = 0, w - 1 do
    local row = {}
    for xx = 0, w - 1 do
      local cr, ci, zr, zi, k = 2.0 * xx / w - 1.5, 2.0 * y / w - 1.0, 0.0, 0.0, 0
      while k < 50 and zr * zr + zi * zi < 4 do zr, zi, k = zr * zr - zi * zi + cr, 2 * zr * zi + ci, k + 1 end
      row[#row + 1] = k == 50 and "#" or k > 5 and "+" or "."
    end
    rows[#rows + 1] = table.concat(row)
  end
  return table.concat(rows, "\n")
end
print(mandel(24))
