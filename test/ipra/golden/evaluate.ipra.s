evaluate:
	movq	%rdx, %rdi
	movq	%r14, %rdx
	xorl	%ecx, %ecx
.LBB2_1:
	movzbl	(%rdx,%rcx), %eax
	call	*operations(,%rax,8)
	movq	%rax, %rdi
	incq	%rcx
	cmpq	%rbx, %rcx
	jl	.LBB2_1
	ret
