/* Loads and attaches the BPF program calls.bpf.c and reads its figures, with the bpf system call
 * alone. */
#include "uprobe/kernel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static const struct uprobe_kernel NONE = {
    .maps = {-1, -1, -1, -1}, .program = -1, .exec_program = -1, .exec_link = -1};

#ifdef SPROF_BPF

#include "uprobe/calls_program.h"

#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum {
    STATS = 1 << 16, /* pairs of thread and function */
    READ_AT_ONCE = 1 << 10,
    LONG_LOAD_IMMEDIATE = 0x18, /* two instructions long */
    ATTACH_UPROBES = 48,        /* BPF_TRACE_UPROBE_MULTI, since Linux 6.6 */
};

/* Part of union bpf_attr: link_create.uprobe_multi. */
struct link_attributes {
    uint32_t program, target, attach_type, flags;
    uint64_t path, offsets, reference_counters, cookies;
    uint32_t count, uprobe_flags;
    uint32_t pid;
    uint32_t padding;
};

static int bpf(int command, void *attributes, size_t size)
{
    const long result = syscall(SYS_bpf, command, attributes, size);
    return result < 0 ? -errno : (int)result;
}

static uint64_t pointer(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

/* == Loading == */

static int explain(int errnum, const char *what, struct sprof_error *error)
{
    if (sprof_kernel_is_before(6, 10))
        return sprof_error_set(error, SPROF_EUNSUPPORTED, errnum,
                               "cannot %s: %s\nthe uprobe back end needs Linux 6.10 or later, and "
                               "this kernel is older; `--backend inject` works on it",
                               what, strerror(errnum));
    if (errnum == EPERM || errnum == EACCES)
        return sprof_error_set(error, SPROF_EPERMISSION, errnum,
                               "uprobes are not permitted to you: run sprof as root, or give it "
                               "CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN");
    if (errnum == ENOMEM || errnum == E2BIG || errnum == EMFILE || errnum == ENFILE)
        return sprof_error_set(error, SPROF_ELIMIT, errnum,
                               "cannot %s: %s\nsee `ulimit -l` and `ulimit -n`", what,
                               strerror(errnum));
    return sprof_error_set(error, SPROF_EUNSUPPORTED, errnum,
                           "cannot %s: %s\nthe uprobe back end needs a kernel with "
                           "CONFIG_UPROBE_EVENTS and CONFIG_BPF_EVENTS",
                           what, strerror(errnum));
}

static int make_map(uint32_t type, uint32_t key_size, uint32_t value_size, uint32_t entries,
                    uint32_t flags)
{
    union bpf_attr attributes = {0};
    attributes.map_type = type;
    attributes.key_size = key_size;
    attributes.value_size = value_size;
    attributes.max_entries = entries;
    attributes.map_flags = flags;
    return bpf(BPF_MAP_CREATE, &attributes, sizeof attributes);
}

/* Allocates all entries now, so that none is lost later. */
static int make_maps(struct uprobe_kernel *kernel)
{
    int *maps = kernel->maps;
    maps[UPROBE_MAP_CONTROL] = make_map(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t),
                                        sizeof(struct uprobe_control), 1, BPF_F_MMAPABLE);
    maps[UPROBE_MAP_THREADS] = make_map(BPF_MAP_TYPE_HASH, sizeof(uint32_t),
                                        sizeof(struct uprobe_thread), UPROBE_THREADS, 0);
    maps[UPROBE_MAP_STATS] = make_map(BPF_MAP_TYPE_HASH, sizeof(struct uprobe_key),
                                      sizeof(struct uprobe_stat), STATS, 0);
    maps[UPROBE_MAP_EMPTY] =
        make_map(BPF_MAP_TYPE_ARRAY, sizeof(uint32_t), sizeof(struct uprobe_thread), 1, 0);
    for (size_t i = 0; i < UPROBE_MAPS; i++)
        if (maps[i] < 0)
            return maps[i];
    return 0;
}

static void name_maps(const struct uprobe_kernel *kernel, struct bpf_insn *code, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        if (code[i].code != LONG_LOAD_IMMEDIATE)
            continue;
        if ((uint32_t)code[i + 1].imm == UPROBE_MAP_MARK && (uint32_t)code[i].imm < UPROBE_MAPS) {
            code[i].src_reg = BPF_PSEUDO_MAP_FD;
            code[i].imm = kernel->maps[code[i].imm];
            code[i + 1].imm = 0;
        }
        i++;
    }
}

static int load(const struct uprobe_kernel *kernel, uint32_t type, uint32_t attach_type,
                const unsigned char *bytes, size_t size)
{
    struct bpf_insn *code = malloc(size);
    union bpf_attr attributes = {0};
    if (!code)
        return -ENOMEM;
    memcpy(code, bytes, size);
    name_maps(kernel, code, size / sizeof *code);
    attributes.prog_type = type;
    attributes.expected_attach_type = attach_type;
    attributes.insns = pointer(code);
    attributes.insn_cnt = (uint32_t)(size / sizeof *code);
    attributes.license = pointer("Dual MIT/GPL");
    memcpy(attributes.prog_name, "sprof_calls", sizeof "sprof_calls");
    const int fd = bpf(BPF_PROG_LOAD, &attributes, sizeof attributes);
    free(code);
    return fd;
}

static int make_maps_and_load(struct uprobe_kernel *kernel, struct sprof_error *error)
{
    const int result = make_maps(kernel);
    if (result)
        return explain(-result, "make the maps of uprobes", error);
    kernel->program =
        load(kernel, BPF_PROG_TYPE_KPROBE, ATTACH_UPROBES, at_probe_bytes, sizeof at_probe_bytes);
    kernel->exec_program =
        load(kernel, BPF_PROG_TYPE_RAW_TRACEPOINT, 0, at_exec_bytes, sizeof at_exec_bytes);
    const int failed = kernel->program < 0 ? kernel->program : kernel->exec_program;
    return failed < 0 ? explain(-failed, "load the program for uprobes", error) : 0;
}

int uprobe_kernel_open(struct uprobe_kernel *kernel, struct sprof_error *error)
{
    *kernel = NONE;
    const struct rlimit limit = sprof_kernel_lift_bpf_limit();
    const int result = make_maps_and_load(kernel, error);
    sprof_kernel_restore_bpf_limit(&limit);
    if (result)
        return result;
    void *mapped = mmap(NULL, sizeof *kernel->control, PROT_READ | PROT_WRITE, MAP_SHARED,
                        kernel->maps[UPROBE_MAP_CONTROL], 0);
    if (mapped == MAP_FAILED)
        return explain(errno, "map the memory of uprobes", error);
    kernel->control = mapped;
    return 0;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void uprobe_kernel_close(struct uprobe_kernel *kernel)
{
    uprobe_kernel_detach(kernel);
    close_fd(&kernel->exec_link);
    close_fd(&kernel->program);
    close_fd(&kernel->exec_program);
    if (kernel->control)
        munmap(kernel->control, sizeof *kernel->control);
    for (size_t i = 0; i < UPROBE_MAPS; i++)
        close_fd(&kernel->maps[i]);
    sprof_vec_release(&kernel->links);
    *kernel = NONE;
}

/* == Attaching == */

int uprobe_kernel_stop_at_exec(struct uprobe_kernel *kernel, pid_t pid, struct sprof_error *error)
{
    union bpf_attr attributes = {0};
    attributes.raw_tracepoint.name = pointer("sched_process_exec");
    attributes.raw_tracepoint.prog_fd = (uint32_t)kernel->exec_program;
    kernel->exec_link = bpf(BPF_RAW_TRACEPOINT_OPEN, &attributes, sizeof attributes);
    if (kernel->exec_link < 0)
        return explain(-kernel->exec_link, "see the command's execve", error);
    __atomic_store_n(&kernel->control->stop_at_exec, (uint32_t)pid, __ATOMIC_SEQ_CST);
    return 0;
}

static int link_sites(const struct uprobe_kernel *kernel, const char *path,
                      const struct uprobe_site *sites, size_t count, pid_t pid)
{
    uint64_t *offsets = calloc(count, sizeof *offsets), *cookies = calloc(count, sizeof *cookies);
    int fd = -ENOMEM;
    for (size_t i = 0; offsets && cookies && i < count; i++) {
        offsets[i] = sites[i].offset;
        cookies[i] = sites[i].cookie;
    }
    const struct link_attributes attributes = {.program = (uint32_t)kernel->program,
                                               .attach_type = ATTACH_UPROBES,
                                               .path = pointer(path),
                                               .offsets = pointer(offsets),
                                               .cookies = pointer(cookies),
                                               .count = (uint32_t)count,
                                               .pid = (uint32_t)pid};
    if (offsets && cookies)
        fd = bpf(BPF_LINK_CREATE, (void *)&attributes, sizeof attributes);
    free(offsets);
    free(cookies);
    return fd;
}

/* The kernel takes all sites or none, so halves are tried. */
int uprobe_kernel_attach(struct uprobe_kernel *kernel, const char *path,
                         const struct uprobe_site *sites, size_t count, pid_t pid,
                         void (*refused)(void *context, const struct uprobe_site *site),
                         void *context, struct sprof_error *error)
{
    if (!count)
        return 0;
    const int fd = link_sites(kernel, path, sites, count, pid);
    if (fd >= 0) {
        if (!sprof_vec_push(&kernel->links, fd))
            return 0;
        close(fd);
        return sprof_error_memory(error);
    }
    if (fd == -ESRCH)
        return sprof_error_set(error, SPROF_ENOTFOUND, ESRCH, "process %d has ended", (int)pid);
    if (fd == -EPERM || fd == -EACCES || fd == -ENOMEM || fd == -EMFILE || fd == -ENOENT)
        return explain(-fd, "place uprobes", error);
    if (count == 1) {
        refused(context, sites);
        return 0;
    }
    const size_t half = count / 2;
    const int result =
        uprobe_kernel_attach(kernel, path, sites, half, pid, refused, context, error);
    return result ? result
                  : uprobe_kernel_attach(kernel, path, sites + half, count - half, pid, refused,
                                         context, error);
}

void uprobe_kernel_detach(struct uprobe_kernel *kernel)
{
    for (size_t i = 0; i < kernel->links.count; i++)
        close(kernel->links.items[i]);
    kernel->links.count = 0;
}

/* == Reading == */

int uprobe_kernel_read(const struct uprobe_kernel *kernel, struct uprobe_figures *figures)
{
    uint32_t position = 0;
    bool is_first = true;
    int result = 0;
    figures->keys.count = figures->stats.count = 0;
    while (!result) {
        if (sprof_vec_reserve(&figures->keys, figures->keys.count + READ_AT_ONCE) ||
            sprof_vec_reserve(&figures->stats, figures->stats.count + READ_AT_ONCE))
            return SPROF_ENOMEM;
        union bpf_attr attributes = {0};
        attributes.batch.map_fd = (uint32_t)kernel->maps[UPROBE_MAP_STATS];
        attributes.batch.in_batch = is_first ? 0 : pointer(&position);
        attributes.batch.out_batch = pointer(&position);
        attributes.batch.keys = pointer(figures->keys.items + figures->keys.count);
        attributes.batch.values = pointer(figures->stats.items + figures->stats.count);
        attributes.batch.count = READ_AT_ONCE;
        result = bpf(BPF_MAP_LOOKUP_BATCH, &attributes, sizeof attributes);
        if (result && result != -ENOENT)
            break;
        figures->keys.count += attributes.batch.count;
        figures->stats.count += attributes.batch.count;
        is_first = false;
    }
    return 0;
}

static void forget(const struct uprobe_kernel *kernel, enum uprobe_map map, const void *key)
{
    union bpf_attr attributes = {0};
    attributes.map_fd = (uint32_t)kernel->maps[map];
    attributes.key = pointer(key);
    bpf(BPF_MAP_DELETE_ELEM, &attributes, sizeof attributes);
}

void uprobe_kernel_forget(const struct uprobe_kernel *kernel, const struct uprobe_key *key)
{
    forget(kernel, UPROBE_MAP_STATS, key);
}

void uprobe_kernel_forget_thread(const struct uprobe_kernel *kernel, uint32_t tid)
{
    forget(kernel, UPROBE_MAP_THREADS, &tid);
}

#else

int uprobe_kernel_open(struct uprobe_kernel *kernel, struct sprof_error *error)
{
    *kernel = NONE;
    return sprof_error_set(error, SPROF_EUNSUPPORTED, ENOSYS,
                           "this sprof was built without BPF, which the uprobe back end needs: "
                           "build it with clang, bpftool and libbpf-dev");
}

void uprobe_kernel_close(struct uprobe_kernel *kernel)
{
    *kernel = NONE;
}

int uprobe_kernel_stop_at_exec(struct uprobe_kernel *kernel, pid_t pid, struct sprof_error *error)
{
    (void)pid;
    return uprobe_kernel_open(kernel, error);
}

int uprobe_kernel_attach(struct uprobe_kernel *kernel, const char *path,
                         const struct uprobe_site *sites, size_t count, pid_t pid,
                         void (*refused)(void *context, const struct uprobe_site *site),
                         void *context, struct sprof_error *error)
{
    (void)path, (void)sites, (void)count, (void)pid, (void)refused, (void)context;
    return uprobe_kernel_open(kernel, error);
}

void uprobe_kernel_detach(struct uprobe_kernel *kernel)
{
    (void)kernel;
}

int uprobe_kernel_read(const struct uprobe_kernel *kernel, struct uprobe_figures *figures)
{
    (void)kernel;
    figures->keys.count = figures->stats.count = 0;
    return 0;
}

void uprobe_kernel_forget(const struct uprobe_kernel *kernel, const struct uprobe_key *key)
{
    (void)kernel, (void)key;
}

void uprobe_kernel_forget_thread(const struct uprobe_kernel *kernel, uint32_t tid)
{
    (void)kernel, (void)tid;
}

#endif

void uprobe_figures_release(struct uprobe_figures *figures)
{
    sprof_vec_release(&figures->keys);
    sprof_vec_release(&figures->stats);
}
