# A micro kernel in assembly, as docs/how-to/add-a-micro-kernel.md describes: one element at a time, on every x86-64 CPU.
# NAME is replaced by the name under which the kernel is emitted.
    .text
    .globl NAME
    .type NAME, @function
NAME:                       # rdi k, rsi a, rdx a_row, rcx a_column, r8 b, r9 b_row
    push %rbx
    push %rbp
    push %r12
    push %r13
    shl $2, %rdx            # strides in bytes
    shl $2, %rcx
    shl $2, %r9
    mov 40(%rsp), %r10      # c
.Lrow:                      # m in 56(%rsp) counts down, n in 64(%rsp), accumulate in 72(%rsp)
    xor %r11d, %r11d        # j
.Lcolumn:
    mov %rsi, %rax
    lea (%r8,%r11,4), %rbx
    mov %rdi, %rbp
    xorps %xmm0, %xmm0
    test %rbp, %rbp
    jz .Ladd
.Lstep:
    movss (%rax), %xmm1
    mulss (%rbx), %xmm1
    addss %xmm1, %xmm0
    add %rcx, %rax
    add %r9, %rbx
    dec %rbp
    jnz .Lstep
.Ladd:
    cmpq $0, 72(%rsp)
    jz .Lstore
    addss (%r10,%r11,4), %xmm0
.Lstore:
    movss %xmm0, (%r10,%r11,4)
    inc %r11
    cmp 64(%rsp), %r11
    jl .Lcolumn
    add %rdx, %rsi
    mov 48(%rsp), %r12      # c_row
    lea (%r10,%r12,4), %r10
    decq 56(%rsp)
    jnz .Lrow
    pop %r13
    pop %r12
    pop %rbp
    pop %rbx
    ret
    .size NAME, . - NAME
    .section .note.GNU-stack,"",@progbits
