quantize:
	movl	%edi, %ebx
	call	magnitude
	movl	%eax, %ecx
	leal	(%rsi,%rsi), %eax
	cmpl	%eax, %ecx
	jg	.LBB0_2
	xorl	%ecx, %ecx
.LBB0_15:
	movl	%ecx, %eax
	negl	%eax
	testl	%ebx, %ebx
	cmovnsl	%ecx, %eax
	ret
.LBB0_2:
	leal	(%rsi,%rsi,4), %eax
	cmpl	%eax, %ecx
	jg	.LBB0_4
	movl	$1, %ecx
	movl	%ecx, %eax
	negl	%eax
	testl	%ebx, %ebx
	cmovnsl	%ecx, %eax
	ret
.LBB0_4:
	imull	$11, %esi, %eax
	cmpl	%eax, %ecx
	jg	.LBB0_6
	movl	$2, %ecx
	movl	%ecx, %eax
	negl	%eax
	testl	%ebx, %ebx
	cmovnsl	%ecx, %eax
	ret
.LBB0_6:
	imull	$23, %esi, %eax
	cmpl	%eax, %ecx
	jg	.LBB0_8
	movl	$3, %ecx
	jmp	.LBB0_15
.LBB0_8:
	imull	$47, %esi, %eax
	cmpl	%eax, %ecx
	jg	.LBB0_10
	movl	$4, %ecx
	jmp	.LBB0_15
.LBB0_10:
	imull	$95, %esi, %eax
	cmpl	%eax, %ecx
	jg	.LBB0_12
	movl	$5, %ecx
	jmp	.LBB0_15
.LBB0_12:
	imull	$191, %esi, %eax
	cmpl	%eax, %ecx
	jg	.LBB0_14
	movl	$6, %ecx
	jmp	.LBB0_15
.LBB0_14:
	movl	$7, %ecx
	jmp	.LBB0_15
