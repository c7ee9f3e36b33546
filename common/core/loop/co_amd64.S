/*
 * Coroutine switch, System V amd64. Saves what a callee must preserve: rbx, rbp, r12-r15, the SSE
 * control word and the x87 control word; everything else is dead across the call.
 *
 *   frame at the saved sp:  +0 mxcsr  +4 x87 cw  +8 r15  r14  r13  r12  rbx  rbp  +56 return address
 *
 * The return is a jump, not `ret`: the processor's return stack belongs to the other coroutine and
 * would mispredict. No shadow-stack note is emitted, so the linker never marks the program as CET-ready.
 */
#if defined(__x86_64__)

    .text

/* void co_switch(void **ret_sp, void *sp): saves the context in *ret_sp and continues the one at `sp`. */
    .globl co_switch
    .hidden co_switch
    .type co_switch, @function
    .p2align 4
co_switch:
    .cfi_startproc
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    pushq %r12
    .cfi_adjust_cfa_offset 8
    pushq %r13
    .cfi_adjust_cfa_offset 8
    pushq %r14
    .cfi_adjust_cfa_offset 8
    pushq %r15
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %r15
    .cfi_adjust_cfa_offset -8
    popq %r14
    .cfi_adjust_cfa_offset -8
    popq %r13
    .cfi_adjust_cfa_offset -8
    popq %r12
    .cfi_adjust_cfa_offset -8
    popq %rbx
    .cfi_adjust_cfa_offset -8
    popq %rbp
    .cfi_adjust_cfa_offset -8
    popq %rcx
    .cfi_adjust_cfa_offset -8
    .cfi_register %rip, %rcx
    jmp *%rcx
    .cfi_endproc
    .size co_switch, . - co_switch

/* First code of a coroutine: calls r13(r12), which does not return. An undefined return address
 * ends every backtrace here. */
    .type co_boot, @function
    .p2align 4
co_boot:
    .cfi_startproc
    .cfi_undefined %rip
    xorl %ebp, %ebp
    movq %r12, %rdi
    callq *%r13
    ud2
    .cfi_endproc
    .size co_boot, . - co_boot

/* void *co_frame(void *top, void (*entry)(struct co *), struct co *co): builds the frame that the
 * first switch loads and returns its sp; `top` is 16-byte aligned. */
    .globl co_frame
    .hidden co_frame
    .type co_frame, @function
    .p2align 4
co_frame:
    .cfi_startproc
    leaq -64(%rdi), %rax
    movl $0x1f80, (%rax)
    movl $0x037f, 4(%rax)
    movq $0, 8(%rax)
    movq $0, 16(%rax)
    movq %rsi, 24(%rax)
    movq %rdx, 32(%rax)
    movq $0, 40(%rax)
    movq $0, 48(%rax)
    leaq co_boot(%rip), %rcx
    movq %rcx, 56(%rax)
    ret
    .cfi_endproc
    .size co_frame, . - co_frame

#endif
    .section .note.GNU-stack, "", %progbits
