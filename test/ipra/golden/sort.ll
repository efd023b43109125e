; A sort that calls the comparison it is passed, and a table of operations; both callers keep values across the calls.
@operations = internal constant [3 x ptr] [ptr @double, ptr @square, ptr @negate]

declare i32 @ascending(i32, i32)
declare i32 @descending(i32, i32)
declare i64 @double(i64)
declare i64 @square(i64)
declare i64 @negate(i64)

define i32 @sort(ptr %values, i64 %count, ptr %compare) noinline {
entry:
  br label %outer

outer:
  %i = phi i64 [ 1, %entry ], [ %next, %placed ]
  %end = icmp sge i64 %i, %count
  br i1 %end, label %done, label %inner

inner:
  %k = phi i64 [ %i, %outer ], [ %before, %swap ]
  %before = sub i64 %k, 1
  %p = getelementptr i32, ptr %values, i64 %before
  %q = getelementptr i32, ptr %values, i64 %k
  %a = load i32, ptr %p
  %b = load i32, ptr %q
  %order = call i32 %compare(i32 %a, i32 %b)
  %right = icmp sle i32 %order, 0
  br i1 %right, label %placed, label %swap

swap:
  store i32 %b, ptr %p
  store i32 %a, ptr %q
  %first = icmp eq i64 %before, 0
  br i1 %first, label %placed, label %inner

placed:
  %next = add i64 %i, 1
  br label %outer

done:
  ret i32 0
}

define i64 @evaluate(ptr %program, i64 %length, i64 %start) noinline {
entry:
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %x = phi i64 [ %start, %entry ], [ %y, %loop ]
  %p = getelementptr i8, ptr %program, i64 %i
  %op = load i8, ptr %p
  %index = zext i8 %op to i64
  %slot = getelementptr [3 x ptr], ptr @operations, i64 0, i64 %index
  %operation = load ptr, ptr %slot
  %y = call i64 %operation(i64 %x)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %length
  br i1 %more, label %loop, label %done

done:
  ret i64 %y
}

define i32 @main(i32 %count, ptr %words) {
  %a = alloca [4 x i32]
  %n = zext i32 %count to i64
  %x = call i32 @sort(ptr %a, i64 %n, ptr @ascending)
  %y = call i32 @sort(ptr %a, i64 %n, ptr @descending)
  %z = call i64 @evaluate(ptr %words, i64 %n, i64 3)
  %r = trunc i64 %z to i32
  ret i32 %r
}
