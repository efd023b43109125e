evaluate:
	.cfi_startproc
	movq	%rdx, %rdi
	xorl	%ecx, %ecx
.LBB2_1:
	movzbl	(%rbx,%rcx), %eax
	call	*operations(,%rax,8)
	movq	%rax, %rdi
	incq	%rcx
	cmpq	%r14, %rcx
	jl	.LBB2_1
	ret
	.cfi_endproc
