#include "sampler/bpf.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int bpf_call(enum bpf_cmd command, union bpf_attr *attr)
{
    const long result = syscall(SYS_bpf, command, attr, sizeof *attr);
    return result < 0 ? -errno : (int)result;
}

int bpf_load(enum bpf_prog_type type, const struct bpf_insn *instructions, size_t count)
{
    /* The helpers that read kernel memory are for programs under a licence GPL code may use. */
    static const char licence[] = "Dual MIT/GPL";
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr); /* all of it: the kernel refuses what it does not know */
    attr.prog_type = type;
    attr.insns = (uint64_t)(uintptr_t)instructions;
    attr.insn_cnt = (uint32_t)count;
    attr.license = (uint64_t)(uintptr_t)licence;
    return bpf_call(BPF_PROG_LOAD, &attr);
}

int bpf_open_map(enum bpf_map_type type, uint32_t key_bytes, uint32_t value_bytes, uint32_t entries,
                 uint32_t flags)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_type = type;
    attr.key_size = key_bytes;
    attr.value_size = value_bytes;
    attr.max_entries = entries;
    attr.map_flags = flags;
    return bpf_call(BPF_MAP_CREATE, &attr);
}

int bpf_put(int map_fd, const void *key, const void *value)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)map_fd;
    attr.key = (uint64_t)(uintptr_t)key;
    attr.value = (uint64_t)(uintptr_t)value;
    attr.flags = BPF_ANY;
    return bpf_call(BPF_MAP_UPDATE_ELEM, &attr);
}

int bpf_take(int map_fd, const void *key)
{
    union bpf_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.map_fd = (uint32_t)map_fd;
    attr.key = (uint64_t)(uintptr_t)key;
    return bpf_call(BPF_MAP_DELETE_ELEM, &attr);
}
