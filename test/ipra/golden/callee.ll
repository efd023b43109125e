; The absolute value, in a file of its own.
define i32 @magnitude(i32 %n) noinline {
  %negative = icmp slt i32 %n, 0
  %negated = sub i32 0, %n
  %result = select i1 %negative, i32 %negated, i32 %n
  ret i32 %result
}
