sort:
	.cfi_startproc
	movq	%rdi, %rcx
	movl	$1, %r10d
	jmp	.LBB1_1
.LBB1_3:
	leaq	-1(%r8), %r9
	movl	(%rcx,%r9,4), %edi
	movl	(%rcx,%r8,4), %esi
	call	*%rdx
	testl	%eax, %eax
	jle	.LBB1_6
	movl	%esi, (%rcx,%r9,4)
	movl	%edi, (%rcx,%r8,4)
	movq	%r9, %r8
	testq	%r9, %r9
	jne	.LBB1_3
.LBB1_6:
	incq	%r10
.LBB1_1:
	movq	%r10, %r8
	cmpq	%rbx, %r10
	jl	.LBB1_3
	xorl	%eax, %eax
	ret
