/*
 * Coroutine switch, AAPCS64. Saves what a callee must preserve: x19-x29, the link register and the low
 * halves of v8-v15; everything else is dead across the call.
 *
 *   frame at the saved sp:  +0 x19..x28  +80 x29 x30  +96 d8..d15   (160 bytes)
 */
#if defined(__aarch64__)

    .text

/* void co_switch(void **ret_sp, void *sp): saves the context in *ret_sp and continues the one at `sp`. */
    .globl co_switch
    .hidden co_switch
    .type co_switch, %function
    .p2align 4
co_switch:
    .cfi_startproc
    sub sp, sp, #160
    .cfi_adjust_cfa_offset 160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    .cfi_offset x29, -80
    .cfi_offset x30, -72
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    .cfi_restore x29
    .cfi_restore x30
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    .cfi_adjust_cfa_offset -160
    ret
    .cfi_endproc
    .size co_switch, . - co_switch

/* First code of a coroutine: calls x20(x19), which does not return. An undefined return address ends
 * every backtrace here. */
    .type co_boot, %function
    .p2align 4
co_boot:
    .cfi_startproc
    .cfi_undefined x30
    mov x29, xzr
    mov x0, x19
    blr x20
    brk #1
    .cfi_endproc
    .size co_boot, . - co_boot

/* void *co_frame(void *top, void (*entry)(struct co *), struct co *co): builds the frame that the
 * first switch loads and returns its sp; `top` is 16-byte aligned. */
    .globl co_frame
    .hidden co_frame
    .type co_frame, %function
    .p2align 4
co_frame:
    .cfi_startproc
    sub x0, x0, #160
    stp x2, x1, [x0, #0]
    stp xzr, xzr, [x0, #16]
    stp xzr, xzr, [x0, #32]
    stp xzr, xzr, [x0, #48]
    stp xzr, xzr, [x0, #64]
    adr x9, co_boot
    stp xzr, x9, [x0, #80]
    stp xzr, xzr, [x0, #96]
    stp xzr, xzr, [x0, #112]
    stp xzr, xzr, [x0, #128]
    stp xzr, xzr, [x0, #144]
    ret
    .cfi_endproc
    .size co_frame, . - co_frame

#endif
    .section .note.GNU-stack, "", %progbits
