quantize:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	pushq	%rbx
	.cfi_def_cfa_offset 24
	.cfi_offset %rbx, -24
	pushq	%rax
	.cfi_def_cfa_offset 32
	movl	%esi, %ebp
	movl	%edi, %ebx
	call	magnitude
	movl	%eax, %ecx
	xorl	%eax, %eax
	jmp	.LBB1_1
.LBB1_3:
	movq	%rdx, %rax
.LBB1_1:
	movl	%ebp, %edx
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
	popq	%rcx
	.cfi_def_cfa_offset 24
	popq	%rbx
	.cfi_def_cfa_offset 16
	popq	%rbp
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
