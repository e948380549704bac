/* The little of BPF that sprof's programs need: instructions as macros, programs, maps
 * (Documentation/bpf/standardization/instruction-set.rst, bpf(2)). */
#ifndef SPROF_SAMPLER_BPF_H
#define SPROF_SAMPLER_BPF_H

#include <linux/bpf.h>
#include <stddef.h>
#include <stdint.h>

/* One instruction each. */
#define INSN(op, dst, src, offset, value)                                                          \
    ((struct bpf_insn){                                                                            \
        .code = (op), .dst_reg = (dst), .src_reg = (src), .off = (offset), .imm = (value)})
#define MOVE(dst, src) INSN(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)
#define MOVE_CONSTANT(dst, value) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value)
#define ADD_CONSTANT(dst, value) INSN(BPF_ALU64 | BPF_ADD | BPF_K, dst, 0, 0, value)
#define ADD(dst, src) INSN(BPF_ALU64 | BPF_ADD | BPF_X, dst, src, 0, 0)
#define OR_CONSTANT(dst, value) INSN(BPF_ALU64 | BPF_OR | BPF_K, dst, 0, 0, value)
#define SUBTRACT(dst, src) INSN(BPF_ALU64 | BPF_SUB | BPF_X, dst, src, 0, 0)
#define LOAD_32(dst, src, offset) INSN(BPF_LDX | BPF_MEM | BPF_W, dst, src, offset, 0)
#define LOAD_64(dst, src, offset) INSN(BPF_LDX | BPF_MEM | BPF_DW, dst, src, offset, 0)
#define STORE_32(dst, offset, src) INSN(BPF_STX | BPF_MEM | BPF_W, dst, src, offset, 0)
#define STORE_64(dst, offset, src) INSN(BPF_STX | BPF_MEM | BPF_DW, dst, src, offset, 0)
#define CALL(function) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, function)
#define JUMP(skip) INSN(BPF_JMP | BPF_JA, 0, 0, skip, 0)
#define JUMP_IF_ZERO(dst, skip) INSN(BPF_JMP | BPF_JEQ | BPF_K, dst, 0, skip, 0)
#define JUMP_IF_NOT_ZERO(dst, skip) INSN(BPF_JMP | BPF_JNE | BPF_K, dst, 0, skip, 0)
#define JUMP_IF_NOT_EQUAL(dst, value, skip) INSN(BPF_JMP | BPF_JNE | BPF_K, dst, 0, skip, value)
#define JUMP_IF_NOT_BELOW(dst, src, skip) INSN(BPF_JMP | BPF_JGE | BPF_X, dst, src, skip, 0)
#define JUMP_IF_ABOVE(dst, value, skip) INSN(BPF_JMP | BPF_JGT | BPF_K, dst, 0, skip, value)
#define JUMP_IF_AT_MOST(dst, value, skip) INSN(BPF_JMP | BPF_JLE | BPF_K, dst, 0, skip, value)
#define JUMP_IF_SIGNED_BELOW(dst, value, skip) INSN(BPF_JMP | BPF_JSLT | BPF_K, dst, 0, skip, value)
#define EXIT INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
/* Two instructions' room for one 64-bit constant: the map behind a descriptor. */
#define LOAD_MAP(dst, fd)                                                                          \
    INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, fd), INSN(0, 0, 0, 0, 0)

/* The system call. Returns its result or a negative errno. */
int bpf_call(enum bpf_cmd command, union bpf_attr *attr);

/* These return a descriptor or a negative errno. */
int bpf_load(enum bpf_prog_type type, const struct bpf_insn *instructions, size_t count);
int bpf_open_map(enum bpf_map_type type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries,
                 uint32_t flags);

/* These return 0 or a negative errno. */
int bpf_put(int map_fd, const void *key, const void *value);
int bpf_take(int map_fd, const void *key);

#endif
