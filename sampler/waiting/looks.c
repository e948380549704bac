/* Loads the BPF programs that look at waiting threads, and runs them over all threads. */
#include "sampler/waiting/looks.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef SPROF_BPF

#include "sampler/bpf/waiting.lskel.h"

enum {
    PROCESSES_BYTES = SAMPLER_ID_WORDS * sizeof(uint64_t),
    PIECE_WORDS = 8 << 10, /* the kernel hands over half of that at once at most: whole records */
};

static int load(struct waiting_looks *looks, pid_t only_tid)
{
    struct waiting_bpf *programs = waiting_bpf__open();
    if (!programs)
        return -ENOMEM;
    programs->rodata->only_tid = (uint32_t)only_tid;
    const int result = waiting_bpf__load(programs);
    if (result) {
        waiting_bpf__destroy(programs);
        return result < 0 ? result : -EINVAL;
    }
    looks->programs = programs;
    return 0;
}

int waiting_looks_open(struct waiting_looks *looks, pid_t only_tid)
{
    *looks = (struct waiting_looks){0};
    if (!sprof_proc_in_first_pid_namespace())
        return -ENOENT;
    const struct rlimit limit = sprof_kernel_lift_bpf_limit();
    int result = load(looks, only_tid);
    sprof_kernel_restore_bpf_limit(&limit);
    if (result)
        return result;
    void *mapped = mmap(NULL, PROCESSES_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
                        looks->programs->maps.ids.map_fd, 0);
    result = mapped == MAP_FAILED ? -errno : 0;
    looks->processes = result ? NULL : mapped;
    if (!result)
        result = waiting_bpf__attach(looks->programs);
    if (result)
        waiting_looks_close(looks);
    return result;
}

void waiting_looks_close(struct waiting_looks *looks)
{
    if (looks->processes)
        munmap(looks->processes, PROCESSES_BYTES);
    if (looks->programs)
        waiting_bpf__destroy(looks->programs);
    *looks = (struct waiting_looks){0};
}

void waiting_looks_add(const struct waiting_looks *looks, pid_t pid)
{
    __atomic_fetch_or(&looks->processes[(uint32_t)pid / 64 % SAMPLER_ID_WORDS],
                      UINT64_C(1) << pid % 64, __ATOMIC_SEQ_CST);
}

static int open_iterator(const struct waiting_looks *looks)
{
    union bpf_attr attr = {0};
    attr.iter_create.link_fd = (uint32_t)looks->programs->links.look_at_thread_fd;
    return (int)syscall(SYS_bpf, BPF_ITER_CREATE, &attr, sizeof attr);
}

int waiting_looks_look(const struct waiting_looks *looks, const struct waiting_look *look,
                       struct waiting_records *records, struct waiting_seen *seen)
{
    looks->programs->bss->look = *look;
    looks->programs->bss->seen = (struct waiting_seen){0};
    const int fd = open_iterator(looks);
    ssize_t size = fd < 0 ? -1 : 1;
    int result = 0;
    while (size > 0 && !result) {
        if (sprof_vec_reserve(&records->words, records->words.count + PIECE_WORDS)) {
            result = SPROF_ENOMEM;
            break;
        }
        size = read(fd, records->words.items + records->words.count,
                    PIECE_WORDS * sizeof *records->words.items);
        if (size > 0)
            records->words.count += (size_t)size / sizeof *records->words.items;
        else if (size < 0 && (errno == EAGAIN || errno == EINTR))
            size = 1;
    }
    if (fd >= 0)
        close(fd);
    *seen = looks->programs->bss->seen;
    return result ? result : size < 0 ? SPROF_EIO : 0;
}

#else /* a build without BPF */

int waiting_looks_open(struct waiting_looks *looks, pid_t only_tid)
{
    (void)only_tid;
    *looks = (struct waiting_looks){0};
    return -ENOSYS;
}

void waiting_looks_close(struct waiting_looks *looks)
{
    *looks = (struct waiting_looks){0};
}

void waiting_looks_add(const struct waiting_looks *looks, pid_t pid)
{
    (void)looks;
    (void)pid;
}

int waiting_looks_look(const struct waiting_looks *looks, const struct waiting_look *look,
                       struct waiting_records *records, struct waiting_seen *seen)
{
    (void)looks;
    (void)look;
    (void)records;
    (void)seen;
    return SPROF_EUNSUPPORTED;
}

#endif
