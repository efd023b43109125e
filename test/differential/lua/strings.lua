-- The string library: searching, patterns, substitution, packing, formatting, bytes, UTF-8.
local s = "The quick brown fox jumps over the lazy dog"
print(#s, s:upper(), s:lower(), s:reverse(), s:len(), s:rep(2, "|"):sub(1, 50))
print(s:sub(5, 9), s:sub(-3), s:sub(-8, -5), s:sub(0), s:sub(10, 5), s:sub(-100, 3), s:sub(math.mininteger, math.maxinteger) == s)
print(s:byte(1), s:byte(-1), s:byte(1, 5), s:byte(100), string.char(72, 101, 108, 108, 111), string.char())
print(s:find("quick"), s:find("o", 20), s:find("zzz"), s:find("", 10), s:find("", 100), s:find("%s(%w+)%s"), s:find(".", 1, true), ("a.b"):find(".", 1, true))
print(s:match("(%w+) (%w+)"), s:match("^The"), s:match("^quick"), s:match("()fox()"), s:match("%f[%w]%w+$"), s:match("l(.-)y"))
for w in s:gmatch("%a+") do io.write(w:sub(1, 1), #w, " ") end
print()
for k, v in ("a=1, b=22, c=333"):gmatch("(%w+)=(%w+)") do io.write(k, "->", v, ";") end
print()
print(s:gsub("o", "0"), s:gsub("o", "0", 2), s:gsub("%w+", "<%0>", 2), s:gsub("(%w+) (%w+)", "%2 %1", 1))
print(s:gsub("%w+", { The = "A", dog = "cat" }), s:gsub("%w+", function(w) if #w == 5 then return w:upper() end end))
print(("abc"):gsub("", "-"), ("hello"):gsub("l*", "x"), ("abc"):gsub("b*", "-"), pcall(string.gsub, "x", "x", "%2"))
print(("[[nested (brackets) (here)]]"):match("%b()"), ("f(a(b)c)d"):match("%b()"), ("x"):match("%b()"))
print(("  trim me  "):match("^%s*(.-)%s*$") .. "|", ("key = value"):match("^(%w+)%s*=%s*(%w+)$"))
print(("2024-02-29"):match("(%d+)-(%d+)-(%d+)"), ("%d"):gsub("%%d", "x"), ("a-b-c"):gsub("-", "+"), ("0x1F"):match("^0[xX](%x+)$"))
print(("aaa"):find("a-b"), ("aaab"):find("a-b"), ("aaa"):match("a-"), ("aaa"):match("^a-$"), ("a\0b"):find("\0"), #"a\0b", ("a\0b"):byte(2))
print(("THE (quick) fox"):find("%((%a+)%)"), ("hello world"):match("^(.-)%s"), ("x^y"):match("%^"), ("]"):match("[]]"), ("a-z"):match("[a%-z]+"), ("^"):match("[%^x]"))
print(pcall(string.find, "a", "[a"), pcall(string.find, "a", "%"), pcall(string.match, "a", "(a"), pcall(string.rep, "x", -1))
print(("%a %d %l %s %u %w %x %p %c"):gsub("%%(%a)", function(c) return "[" .. c .. "]" end))
for _, class in ipairs({ "%a", "%d", "%l", "%s", "%u", "%w", "%x", "%p", "%c", "%g", "[a-f]", "[^a-z]", "." }) do
  local n = 0
  for b = 0, 255 do if string.char(b):match(class) then n = n + 1 end end
  io.write(class, "=", n, " ")
end
print()
-- comparison, concatenation, coercion, escapes
print("a" < "b", "a" < "B", "" < "a", "abc" < "abd", "Z" < "a", "a" == "a", "10" < "9", "a\0b" < "a\0c")
print("tab\tquote\"backslash\\newline\\n bell" .. "\65\066\x43\u{44}\z
       continued", 'single', [[long
string]], [==[with ]] inside]==])
print(("%s|%10s|%-10s|%.3s|%q"):format("str", "right", "left", "truncate", 'quo"te\n\0end'))
print(("%5s %5s %%"):format(true, nil), pcall(string.format, "%y", 1), tostring(nil), tostring(true))
print(#("x"):rep(1000), ("ab"):rep(3, ","), ("x"):rep(0), ("x"):rep(1, "sep"))
-- pack and unpack
local function hex(v) return (v:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end
print(hex(string.pack("<i1i2i4i8", -1, -2, -3, -4)), hex(string.pack(">I2I3I4", 1, 2, 3)), hex(string.pack("<fdn", 1.5, -2.25, 0.1)))
print(hex(string.pack("zs1s2", "zero", "one", "two")), hex(string.pack("!4 i1 !4 i4", 1, 2)), hex(string.pack(">!8 b Xd d", 1, 2)))
print(string.unpack("<i1i2i4i8", string.pack("<i1i2i4i8", -1, -2, -3, -4)))
print(string.unpack(">fd", string.pack(">fd", 1.5, -2.25)))
print(string.unpack("zs1s2B", string.pack("zs1s2B", "zero", "one", "two", 200)))
print(string.packsize("<i4i8d"), string.packsize("!8i1i8"), pcall(string.pack, "i1", 200), pcall(string.pack, "i17", 1), pcall(string.unpack, "i4", "abc"))
print(string.unpack("<I3", "\1\2\3"), string.unpack("<i16", string.pack("<i16", -5)), string.unpack("c3", "abcdef"), string.unpack("<H", "\1\2", 1))
-- utf8
local u = "aé€😀z"
print(#u, utf8.len(u), utf8.codepoint(u, 1, -1))
for p, c in utf8.codes(u) do io.write(p, ":", c, " ") end
print(utf8.char(97, 233, 8364, 128512), utf8.offset(u, 3), utf8.offset(u, -1), utf8.len("\xff"), utf8.charpattern == "[\0-\x7F\xC2-\xFD][\x80-\xBF]*")
for ch in u:gmatch(utf8.charpattern) do io.write("<", ch, ">") end
print(pcall(utf8.codepoint, "\xff"), utf8.len("abc", 4), utf8.char(), utf8.len(u, 3), pcall(utf8.len, u, 10))
-- building long strings, word counts, run-length coding, rot13, base64, crc32
local parts = {}
for i = 1, 300 do parts[i] = i % 15 == 0 and "FizzBuzz" or i % 5 == 0 and "Buzz" or i % 3 == 0 and "Fizz" or tostring(i) end
local joined = table.concat(parts, ",")
print(#joined, joined:sub(1, 40), select(2, joined:gsub("Fizz", "")))
local function rle(t) return (t:gsub("((.)%2*)", "%1"):gsub("(.)(%1*)", function(c, r) return c .. (#r > 0 and #r + 1 or "") end)) end
print(rle("aaabccddddde"))
print((("Hello, World"):gsub("%a", function(c) local b = c:byte() local base = b >= 97 and 97 or 65 return string.char((b - base + 13) % 26 + base) end)))
local function base64(data)
  local alphabet, out = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", {}
  for i = 1, #data, 3 do
    local a, b, c = data:byte(i, i + 2)
    local v = a << 16 | (b or 0) << 8 | (c or 0)
    for k = 18, 0, -6 do out[#out + 1] = alphabet:sub((v >> k & 63) + 1, (v >> k & 63) + 1) end
    if not b then out[#out - 1] = "=" end
    if not c then out[#out] = "=" end
  end
  return table.concat(out)
end
print(base64("Man"), base64("Ma"), base64("M"), base64(s))
local function crc32(data)
  local c = 0xffffffff
  for i = 1, #data do
    c = c ~ data:byte(i)
    for _ = 1, 8 do c = c & 1 == 1 and (c >> 1) ~ 0xedb88320 or c >> 1 end
  end
  return c ~ 0xffffffff
end
print(("%08x %08x"):format(crc32("123456789"), crc32(s:rep(20))))
local words = {}
for w in (s .. " " .. s:upper() .. " the the fox"):lower():gmatch("%a+") do words[w] = (words[w] or 0) + 1 end
local list = {}
for w, k in pairs(words) do list[#list + 1] = w .. "=" .. k end
table.sort(list)
print(table.concat(list, " "))
