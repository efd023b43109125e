quantize:
	movl	%edi, %ebx
	call	magnitude
	movl	%eax, %edx
	xorl	%eax, %eax
	jmp	.LBB1_1
.LBB1_3:
	movq	%rcx, %rax
.LBB1_1:
	movl	%esi, %ecx
	imull	steps(,%rax,4), %ecx
	cmpl	%ecx, %edx
	jle	.LBB1_4
	leaq	1(%rax), %rcx
	cmpq	$8, %rcx
	jne	.LBB1_3
.LBB1_4:
	movq	%rax, %rcx
	negl	%ecx
	testl	%ebx, %ebx
	cmovnsl	%eax, %ecx
	movl	%ecx, %eax
	ret
