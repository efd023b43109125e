sort:
	.cfi_startproc
	pushq	%rbx
	movq	%rdx, %rbp
	movq	%rbx, %r9
	movq	%rdi, %rcx
	movl	$1, %r8d
	jmp	.LBB1_1
.LBB1_5:
	movq	%rbx, %rdx
.LBB1_3:
	leaq	-1(%rdx), %rbx
	movl	(%rcx,%rbx,4), %edi
	movl	(%rcx,%rdx,4), %esi
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	call	*%rbp
	testl	%eax, %eax
	jle	.LBB1_6
	movl	%esi, (%rcx,%rbx,4)
	movl	%edi, (%rcx,%rdx,4)
	testq	%rbx, %rbx
	jne	.LBB1_5
.LBB1_6:
	incq	%r8
.LBB1_1:
	cmpq	%r9, %r8
	jge	.LBB1_7
	movq	%r8, %rdx
	jmp	.LBB1_3
.LBB1_7:
	xorl	%eax, %eax
	popq	%rbx
	ret
