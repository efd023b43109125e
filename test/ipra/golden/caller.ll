; Finds the step of a signal's size, and gives it the signal's sign: both parameters are needed after the call.
@steps = internal constant [8 x i32] [i32 2, i32 5, i32 11, i32 23, i32 47, i32 95, i32 191, i32 383]

declare i32 @magnitude(i32)

define i32 @quantize(i32 %signal, i32 %scale) noinline {
entry:
  %size = call i32 @magnitude(i32 %signal)
  br label %loop

loop:
  %i = phi i64 [ 0, %entry ], [ %next, %more ]
  %slot = getelementptr inbounds [8 x i32], ptr @steps, i64 0, i64 %i
  %step = load i32, ptr %slot
  %limit = mul i32 %step, %scale
  %found = icmp sle i32 %size, %limit
  br i1 %found, label %done, label %more

more:
  %next = add i64 %i, 1
  %last = icmp eq i64 %next, 8
  br i1 %last, label %done, label %loop

done:
  %index = trunc i64 %i to i32
  %negative = icmp slt i32 %signal, 0
  %opposite = sub i32 0, %index
  %result = select i1 %negative, i32 %opposite, i32 %index
  ret i32 %result
}

define i32 @main(i32 %count, ptr %words) {
  %a = call i32 @quantize(i32 %count, i32 3)
  %b = call i32 @quantize(i32 %a, i32 %count)
  %c = add i32 %a, %b
  ret i32 %c
}
