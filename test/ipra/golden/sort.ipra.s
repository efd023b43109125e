sort:
	.cfi_startproc
	movq	%rdi, %r8
	movl	$1, %r9d
	jmp	.LBB1_1
.LBB1_3:
	movl	-4(%r8,%rcx,4), %edi
	movl	(%r8,%rcx,4), %esi
	call	*%rdx
	testl	%eax, %eax
	jle	.LBB1_6
	movl	%esi, -4(%r8,%rcx,4)
	movl	%edi, (%r8,%rcx,4)
	decq	%rcx
	jne	.LBB1_3
.LBB1_6:
	incq	%r9
.LBB1_1:
	movq	%r9, %rcx
	cmpq	%rbx, %r9
	jl	.LBB1_3
	xorl	%eax, %eax
	ret
