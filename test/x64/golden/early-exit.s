total:
	.cfi_startproc
	testq	%rdi, %rdi
	jne	.LBB1_2
	xorl	%eax, %eax
	ret
.LBB1_2:
	pushq	%r12
	.cfi_remember_state
	.cfi_def_cfa_offset 16
	.cfi_offset %r12, -16
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset %rbp, -24
	pushq	%rbx
	.cfi_def_cfa_offset 32
	.cfi_offset %rbx, -32
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
	popq	%rbx
	.cfi_def_cfa_offset 24
	popq	%rbp
	.cfi_def_cfa_offset 16
	popq	%r12
	.cfi_restore_state
	ret
