evaluate:
	movq	%rdx, %rdi
	xorl	%ecx, %ecx
.LBB2_1:
	movzbl	(%r14,%rcx), %eax
	call	*operations(,%rax,8)
	movq	%rax, %rdi
	incq	%rcx
	cmpq	%rbx, %rcx
	jl	.LBB2_1
	ret
