target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"

define i128 @add(i128 %a, i128 %b) {
  %r = add i128 %a, %b
  ret i128 %r
}

define i128 @multiply(i128 %a, i128 %b) {
  %r = mul i128 %a, %b
  ret i128 %r
}

define i128 @full_product(i64 %a, i64 %b) {
  %x = zext i64 %a to i128
  %y = zext i64 %b to i128
  %r = mul i128 %x, %y
  ret i128 %r
}

define i128 @shift(i128 %a, i128 %n) {
  %r = lshr i128 %a, %n
  ret i128 %r
}

define i128 @shift_constant(i128 %a) {
  %r = shl i128 %a, 68
  ret i128 %r
}

define i1 @less(i128 %a, i128 %b) {
  %r = icmp slt i128 %a, %b
  ret i1 %r
}

define i128 @divide(i128 %a, i128 %b) {
  %r = sdiv i128 %a, %b
  ret i128 %r
}

define void @store(i128 %a, ptr %p) {
  store i128 %a, ptr %p, align 16
  ret void
}

define i32 @switch(i128 %a) {
  switch i128 %a, label %other [
    i128 1, label %one
    i128 18446744073709551616, label %big
  ]
one:
  ret i32 1
big:
  ret i32 2
other:
  ret i32 3
}

; More than 128 bits: bit by bit.
define i192 @remainder(i192 %a, i192 %b) {
  %r = urem i192 %a, %b
  ret i192 %r
}
