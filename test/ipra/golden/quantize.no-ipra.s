quantize:
	pushq	%rbp
	pushq	%rbx
	pushq	%rax
	movl	%esi, %ebx
	movl	%edi, %ebp
	call	magnitude
	movl	%eax, %edx
	xorl	%ecx, %ecx
	jmp	.LBB1_1
.LBB1_3:
	movq	%rax, %rcx
.LBB1_1:
	movl	%ebx, %eax
	imull	steps(,%rcx,4), %eax
	cmpl	%eax, %edx
	jle	.LBB1_4
	leaq	1(%rcx), %rax
	cmpq	$8, %rax
	jne	.LBB1_3
.LBB1_4:
	movq	%rcx, %rax
	negl	%eax
	testl	%ebp, %ebp
	cmovnsl	%ecx, %eax
	popq	%rcx
	popq	%rbx
	popq	%rbp
	ret
