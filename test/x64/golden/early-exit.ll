; The argument lives across two calls, but not where there is nothing to do.
declare i64 @outside(i64)

define i64 @total(ptr %p, i64 %scale) uwtable {
entry:
  %none = icmp eq ptr %p, null
  br i1 %none, label %nothing, label %something
nothing:
  ret i64 0
something:
  %first = load i64, ptr %p
  %a = call i64 @outside(i64 %first)
  %next = getelementptr i64, ptr %p, i64 1
  %second = load i64, ptr %next
  %b = call i64 @outside(i64 %second)
  %sum = add i64 %a, %b
  %scaled = mul i64 %sum, %scale
  ret i64 %scaled
}
