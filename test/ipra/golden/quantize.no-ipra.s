quantize:
	pushq	%rbx
	pushq	%rbp
	pushq	%rax
	movl	%esi, %ebx
	movl	%edi, %ebp
	call	magnitude
	movl	%eax, %edx
	xorl	%eax, %eax
	jmp	.LBB1_1
.LBB1_3:
	movq	%rcx, %rax
.LBB1_1:
	movl	%ebx, %ecx
	imull	steps(,%rax,4), %ecx
	cmpl	%ecx, %edx
	jle	.LBB1_4
	leaq	1(%rax), %rcx
	cmpq	$8, %rcx
	jne	.LBB1_3
.LBB1_4:
	movq	%rax, %rcx
	negl	%ecx
	testl	%ebp, %ebp
	cmovnsl	%eax, %ecx
	movl	%ecx, %eax
	popq	%rcx
	popq	%rbp
	popq	%rbx
	ret
