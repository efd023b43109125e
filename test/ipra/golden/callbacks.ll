define i32 @ascending(i32 %a, i32 %b) {
  %r = sub i32 %a, %b
  ret i32 %r
}
define i32 @descending(i32 %a, i32 %b) {
  %r = sub i32 %b, %a
  ret i32 %r
}
define i64 @double(i64 %x) {
  %r = shl i64 %x, 1
  ret i64 %r
}
define i64 @square(i64 %x) {
  %r = mul i64 %x, %x
  ret i64 %r
}
define i64 @negate(i64 %x) {
  %r = sub i64 0, %x
  ret i64 %r
}
