total:
	.cfi_startproc
	testq	%rdi, %rdi
	je	.LBB1_1
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset %rbp, -24
	pushq	%r12
	.cfi_def_cfa_offset 32
	.cfi_offset %r12, -32
	movq	%rdi, %rbx
	movq	%rsi, %r12
	movq	(%rbx), %rdi
	call	outside
	movq	%rax, %rbp
	movq	8(%rbx), %rdi
	call	outside
	addq	%rax, %rbp
	imulq	%r12, %rbp
	movq	%rbp, %rax
	popq	%r12
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%rbx
	.cfi_def_cfa_offset 8
	ret
.LBB1_1:
	.cfi_restore %r12
	.cfi_restore %rbp
	.cfi_restore %rbx
	xorl	%eax, %eax
	ret
