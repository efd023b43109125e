quantize:
	movl	%edi, %ebx
	call	magnitude
	movl	%eax, %edx
	xorl	%ecx, %ecx
	jmp	.LBB1_1
.LBB1_3:
	movq	%rax, %rcx
.LBB1_1:
	movl	%esi, %eax
	imull	steps(,%rcx,4), %eax
	cmpl	%eax, %edx
	jle	.LBB1_4
	leaq	1(%rcx), %rax
	cmpq	$8, %rax
	jne	.LBB1_3
.LBB1_4:
	movq	%rcx, %rax
	negl	%eax
	testl	%ebx, %ebx
	cmovnsl	%ecx, %eax
	ret
