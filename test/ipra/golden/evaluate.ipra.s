evaluate:
	movq	%rdx, %rax
	xorl	%ecx, %ecx
.LBB2_1:
	movzbl	(%r14,%rcx), %edx
	movq	%rax, %rdi
	call	*operations(,%rdx,8)
	incq	%rcx
	cmpq	%rbx, %rcx
	jl	.LBB2_1
	ret
