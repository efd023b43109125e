quantize:
	.cfi_startproc
	movl	%edi, %ebx
	call	magnitude
	movl	%eax, %ecx
	xorl	%eax, %eax
	jmp	.LBB1_1
.LBB1_3:
	movq	%rdx, %rax
.LBB1_1:
	movl	%esi, %edx
	imull	steps(,%rax,4), %edx
	cmpl	%edx, %ecx
	jle	.LBB1_4
	leaq	1(%rax), %rdx
	cmpq	$8, %rdx
	jne	.LBB1_3
.LBB1_4:
	movq	%rax, %rcx
	negl	%ecx
	testl	%ebx, %ebx
	cmovnsl	%eax, %ecx
	movl	%ecx, %eax
	ret
	.cfi_endproc
