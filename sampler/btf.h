/* The little we need of the kernel's own type information (Documentation/bpf/btf.rst). */
#ifndef SPROF_SAMPLER_BTF_H
#define SPROF_SAMPLER_BTF_H

#include "base/base.h"

/* The byte offset of a direct member of a struct. Returns 0, SPROF_ENOTFOUND, or SPROF_EFORMAT
 * where the bytes are not BTF of version 1. */
int btf_member_offset(struct sprof_bytes btf, const char *structure, const char *member,
                      uint32_t *offset);

/* The same in the running kernel: /sys/kernel/btf/vmlinux. */
int btf_kernel_member_offset(const char *structure, const char *member, uint32_t *offset);

#endif
