	.text
	.globl run
run:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	sub $264, %rsp
	movups st+144(%rip), %xmm0
	movups st+160(%rip), %xmm1
	pushq st+128(%rip)
	popfq
	mov st+0(%rip), %rax
	mov st+8(%rip), %rcx
	mov st+16(%rip), %rdx
	mov st+24(%rip), %rbx
	mov st+40(%rip), %rbp
	mov st+48(%rip), %rsi
	mov st+56(%rip), %rdi
	mov st+64(%rip), %r8
	mov st+72(%rip), %r9
	mov st+80(%rip), %r10
	mov st+88(%rip), %r11
	mov st+96(%rip), %r12
	mov st+104(%rip), %r13
	mov st+112(%rip), %r14
	mov st+120(%rip), %r15
	call *st+136(%rip)
	mov %rax, st+0(%rip)
	mov %rcx, st+8(%rip)
	mov %rdx, st+16(%rip)
	mov %rbx, st+24(%rip)
	mov %rbp, st+40(%rip)
	mov %rsi, st+48(%rip)
	mov %rdi, st+56(%rip)
	mov %r8, st+64(%rip)
	mov %r9, st+72(%rip)
	mov %r10, st+80(%rip)
	mov %r11, st+88(%rip)
	mov %r12, st+96(%rip)
	mov %r13, st+104(%rip)
	mov %r14, st+112(%rip)
	mov %r15, st+120(%rip)
	movups %xmm0, st+144(%rip)
	movups %xmm1, st+160(%rip)
	add $264, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret
	.section .note.GNU-stack,"",@progbits
