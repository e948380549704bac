/* Writes jumps of probes into a running process while its threads are stopped. */
#include "inject/inject.h"
#include "probing/probes.h"
#include "probing/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    PAGE = 4096,
    STOPS_MAX = 12, /* while threads stand in sites */
    SLOW_MS = 5000, /* until all threads have stopped */
    WAKE_MS = 600,  /* while a command waits */
    BETWEEN_MS = 5,
    LATE_MS = 250, /* after a failed stop */
    SCAN_WORDS = 4096,
    SCAN_BYTES = 1 << 20,
    STACKS = 4, /* nested signal stacks */
    RED_ZONE = 128,
    USER_CODE = 0x33, /* selector of 64-bit code */
};

#define HOOK UINT32_MAX /* instead of a probe's number: the loader's hook */

struct site {
    uint64_t address;
    uint32_t probe;
    bool is_busy; /* a thread stands within it */
};

struct code {
    struct inject_span span;
    uint64_t identity; /* of plan_identity */
    bool is_copy;      /* it has no file */
    const struct probing_file *copied;
    bool is_true; /* it equals `copied`; valid for this stop */
};

struct placing {
    struct probing_program *program;
    pid_t pid;
    bool is_ours; /* the process runs our program */
    struct inject_stop stop;
    int fd;                       /* /proc/PID/mem */
    bool begins;                  /* first placing of the trace */
    bool wakes;                   /* for resting probes */
    bool returns;                 /* for removed probes */
    bool has_other_code;          /* a site had unexpected bytes */
    SPROF_VEC(struct site) sites; /* still to be written, by address */
    SPROF_VEC(struct inject_span) writable;
    SPROF_VEC(struct code) code; /* by address */
};

static int compare_sites(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static bool is_missing(const struct placing *placing, size_t number)
{
    const struct probing_probe *probe = &placing->program->probes.items[number];
    if (placing->wakes)
        return probe->rests && probe->is_placed && probing_is_wanted(placing->program, number);
    if (placing->returns)
        return !probe->rests && probe->is_placed && probe->is_restored;
    return !probe->rests && (!probe->is_placed || probe->is_restored);
}

static int list_sites(struct placing *placing, size_t first, size_t count)
{
    struct probing_program *program = placing->program;
    const struct probing_hook *hook = &program->hook;
    const struct site hooked = {.address = hook->wanted, .probe = HOOK};
    if (hook->wanted && !hook->at && !placing->wakes && !placing->returns &&
        probing_is_in_one_page(hook->wanted) && sprof_vec_push(&placing->sites, hooked))
        return SPROF_ENOMEM;
    for (size_t i = first; i < first + count; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        const uint64_t address = program->files.items[probe->file].bias + probe->function->site;
        const struct site site = {.address = address, .probe = (uint32_t)i};
        if (!is_missing(placing, i) || !probing_can_place_live(program, probe))
            continue;
        if (sprof_vec_push(&placing->sites, site))
            return SPROF_ENOMEM;
        probing_note_site_of(program, i);
    }
    if (placing->sites.count)
        qsort(placing->sites.items, placing->sites.count, sizeof *placing->sites.items,
              compare_sites);
    return 0;
}

/* == Threads within a site == */

/* Marks the site with `ip` behind its first byte. */
static void mark(struct placing *placing, uint64_t ip)
{
    size_t low = 0, high = placing->sites.count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (placing->sites.items[middle].address < ip)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && ip - placing->sites.items[low - 1].address < PLAN_JUMP_BYTES)
        placing->sites.items[low - 1].is_busy = true;
}

/* Returns at most SCAN_BYTES on; 0: not mapped. */
static uint64_t end_of_stack(const struct placing *placing, uint64_t address)
{
    for (size_t i = 0; i < placing->writable.count; i++) {
        const struct inject_span *span = &placing->writable.items[i];
        if (inject_span_holds(span, address))
            return span->end - address < SCAN_BYTES ? span->end : address + SCAN_BYTES;
    }
    return 0;
}

/* Finds instruction pointers in signal frames, two words before a code selector. Also searches
 * other signal stacks. */
static void mark_interrupted(struct placing *placing, uint64_t stack_pointer, int stacks)
{
    uint64_t words[SCAN_WORDS], at = (stack_pointer - RED_ZONE) & ~UINT64_C(7), other = 0;
    const uint64_t begin = at, end = end_of_stack(placing, stack_pointer);
    while (at < end) {
        const size_t size = end - at < sizeof words ? (size_t)(end - at) : sizeof words;
        const ssize_t got = pread(placing->fd, words, size, (off_t)at);
        if (got < (ssize_t)(3 * sizeof *words))
            break;
        const size_t count = (size_t)got / sizeof *words;
        for (size_t i = 0; i + 2 < count; i++) {
            if ((words[i + 2] & 0xffff) == USER_CODE)
                mark(placing, words[i]);
            if (i && arch_frame_ends(words + i - 1) &&
                (words[i - 1] < begin || words[i - 1] >= end) &&
                end_of_stack(placing, words[i - 1]))
                other = words[i - 1];
        }
        if (count < SCAN_WORDS)
            break;
        at += (count - 3) * sizeof *words;
    }
    if (other && stacks > 1)
        mark_interrupted(placing, other, stacks - 1);
}

static int read_mappings(struct placing *placing)
{
    const struct probing_program *program = placing->program;
    char path[64], line[4608], rights[8];
    struct stat shared;
    int result = 0;
    placing->writable.count = placing->code.count = 0;
    placing->is_ours = false;
    sprof_proc_shared_path(path, sizeof path, placing->pid, "maps");
    FILE *maps = fstat(program->process.memory_fd, &shared) ? NULL : fopen(path, "re");
    while (maps && !result && fgets(line, sizeof line, maps)) {
        struct code code = {0};
        struct sprof_file_id file = {0};
        if (sscanf(line, "%lx-%lx %7s %*s %x:%x %lu", &code.span.start, &code.span.end, rights,
                   &file.device_major, &file.device_minor, &file.inode) != 6)
            continue;
        placing->is_ours |=
            code.span.start == program->process.shared_at && file.inode == shared.st_ino;
        if (rights[1] == 'w' && code.span.start != PROBE_RECORDS)
            result = sprof_vec_push(&placing->writable, code.span);
        code.identity = plan_identity(&file);
        code.is_copy = !file.inode;
        if (rights[2] == 'x' && !result)
            result = sprof_vec_push(&placing->code, code);
    }
    if (maps)
        fclose(maps);
    return result;
}

/* == Writing == */

static bool is_other_code(struct placing *placing, const struct site *site, const uint8_t *there)
{
    const struct probing_probe *probe =
        site->probe == HOOK ? NULL : &placing->program->probes.items[site->probe];
    placing->has_other_code |= probe && memcmp(there, probe->jump, PLAN_JUMP_BYTES) != 0;
    return false;
}

static bool put_jump(struct placing *placing, const struct site *site, uint8_t *there)
{
    struct probing_program *program = placing->program;
    struct probing_hook *hook = &program->hook;
    struct probing_probe *probe = site->probe == HOOK ? NULL : &program->probes.items[site->probe];
    if (memcmp(there, probe ? probe->function->original : hook->original, PLAN_JUMP_BYTES) != 0)
        return is_other_code(placing, site, there);
    memcpy(there, probe ? probe->jump : hook->jump, PLAN_JUMP_BYTES);
    if (!probe)
        hook->at = site->address;
    else {
        probe->is_placed = true;
        probe->rests = false;
        probe->is_restored &= placing->returns; /* until all processes have it */
    }
    return true;
}

/* Whether all placed probes are unchanged there. Programs copy code, as to huge pages. */
static bool is_copy_of(const struct placing *placing, const struct probing_file *file)
{
    const struct probing_program *program = placing->program;
    uint8_t there[PLAN_DISPLACED_MAX];
    for (size_t i = file->first; i < file->first + file->count; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        const struct plan_function *function = probe->function;
        const size_t size = probe->rests ? function->displaced : PLAN_JUMP_BYTES;
        if (probe->is_placed && !probe->is_restored &&
            (pread(placing->fd, there, size, (off_t)(file->bias + function->site)) !=
                 (ssize_t)size ||
             memcmp(there, probe->rests ? function->original : probe->jump, size) != 0))
            return false;
    }
    return true;
}

static bool is_true_copy(const struct placing *placing, struct code *code,
                         const struct probing_file *file)
{
    if (code->copied != file)
        code->is_true = is_copy_of(placing, file);
    code->copied = file;
    return code->is_true;
}

/* The file may have been unloaded. Resting probes may wake in a copy of its code. */
static bool is_code_of(const struct placing *placing, uint64_t address,
                       const struct probing_file *file)
{
    size_t low = 0, high = placing->code.count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (placing->code.items[middle].span.end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    struct code *code = low < placing->code.count ? &placing->code.items[low] : NULL;
    if (!code || !inject_span_holds(&code->span, address))
        return false;
    return code->is_copy ? placing->wakes && is_true_copy(placing, code, file)
                         : code->identity == file->identity;
}

static bool write_page(struct placing *placing, size_t first, size_t end)
{
    struct probing_program *program = placing->program;
    uint8_t page[PAGE];
    const struct site *any = &placing->sites.items[first];
    const uint64_t at = any->address / PAGE * PAGE;
    bool is_changed = false;
    if (any->probe != HOOK &&
        !is_code_of(placing, any->address,
                    &program->files.items[program->probes.items[any->probe].file])) {
        placing->has_other_code = true;
        return true;
    }
    if (pread(placing->fd, page, PAGE, (off_t)at) != PAGE)
        return true;
    for (size_t i = first; i < end; i++) {
        const struct site *site = &placing->sites.items[i];
        if (!site->is_busy)
            is_changed |= put_jump(placing, site, page + (site->address - at));
    }
    return !is_changed || pwrite(placing->fd, page, PAGE, (off_t)at) == PAGE;
}

/* Skips sites with threads. */
static bool write_sites(struct placing *placing)
{
    if (read_mappings(placing))
        return false;
    for (size_t i = 0; i < placing->sites.count; i++)
        placing->sites.items[i].is_busy = false;
    if (!placing->is_ours)
        return true;
    for (size_t i = 0; i < placing->stop.threads.count; i++) {
        mark(placing, arch_remote_pc(&placing->stop.threads.items[i].registers));
        mark_interrupted(placing, arch_remote_sp(&placing->stop.threads.items[i].registers),
                         STACKS);
    }
    for (size_t first = 0, end; first < placing->sites.count; first = end) {
        const uint64_t page = placing->sites.items[first].address / PAGE;
        for (end = first;
             end < placing->sites.count && placing->sites.items[end].address / PAGE == page;)
            end++;
        if (!write_page(placing, first, end))
            return false;
    }
    return true;
}

static void keep_busy(struct placing *placing)
{
    size_t kept = 0;
    for (size_t i = 0; i < placing->sites.count; i++)
        if (placing->sites.items[i].is_busy)
            placing->sites.items[kept++] = placing->sites.items[i];
    placing->sites.count = kept;
}

static void pause_ms(long milliseconds)
{
    const struct timespec time = {.tv_nsec = milliseconds * 1000000};
    nanosleep(&time, NULL);
}

/* Whether a thread may have entered strict seccomp before its probe existed. */
static bool may_be_unseen(const struct placing *placing)
{
    const struct probing_program *program = placing->program;
    bool is_any = false, are_there = true;
    for (size_t i = 0; i < program->probes.count; i++) {
        const struct probing_probe *probe = &program->probes.items[i];
        const bool sees = probe->tier == PROBE_CLOCK || probe->tier == PROBE_SYSCALL;
        is_any |= sees;
        are_there &= !sees || (probe->is_placed && !probe->rests);
    }
    return !is_any || !are_there;
}

static int compare_words(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Like probe_share_thread in the agent. */
static void mark_shared(const struct placing *placing, uint64_t pointer)
{
    const struct probe_hello *hello = &placing->program->process.hello;
    const uint64_t thread = inject_thread_give_data(hello, placing->pid, placing->fd, pointer);
    const off_t is_shared_at = (off_t)(thread + hello->is_shared),
                generation_at = (off_t)(thread + hello->generation);
    const uint32_t yes = 1, none = 0;
    uint32_t is_shared = 0;
    if (!thread ||
        pread(placing->fd, &is_shared, sizeof is_shared, is_shared_at) != sizeof is_shared ||
        is_shared || pwrite(placing->fd, &yes, sizeof yes, is_shared_at) != sizeof yes ||
        pwrite(placing->fd, &none, sizeof none, generation_at) != sizeof none)
        return;
    atomic_fetch_add(&placing->program->process.shared->sharing.threads, 1);
}

/* Io_uring threads share their owner's data, but run no program code. */
static bool is_kernels(const struct inject_stopped *thread)
{
    return !arch_remote_pc(&thread->registers) && !arch_remote_sp(&thread->registers);
}

/* Marks threads and processes that share data and began before the probes. Returns false if memory
 * is unreadable. */
static bool mark_all_shared(const struct placing *placing)
{
    const struct inject_stop *stop = &placing->stop;
    const size_t count = stop->threads.count;
    uint64_t *pointers = calloc(count + 1, sizeof *pointers);
    for (size_t i = 0; i < count && pointers; i++) {
        const struct inject_stopped *thread = &stop->threads.items[i];
        pointers[i] = is_kernels(thread) ? 0 : arch_remote_thread_pointer(&thread->registers);
        if (thread->pid != placing->pid)
            atomic_store(&placing->program->process.shared->sharing.has_processes, 1);
    }
    if (pointers)
        qsort(pointers, count, sizeof *pointers, compare_words);
    for (size_t i = 1; i < count && pointers; i++)
        if (pointers[i] && pointers[i] == pointers[i - 1])
            mark_shared(placing, pointers[i]);
    const bool is_done = pointers;
    free(pointers);
    return is_done;
}

struct writing {
    struct placing *placing;
    bool is_done;
    int errnum;
};

static void write_stopped(void *context)
{
    struct writing *writing = context;
    struct placing *placing = writing->placing;
    writing->is_done = (placing->begins || placing->wakes ? mark_all_shared(placing) : true) &&
                       write_sites(placing);
    writing->errnum = errno;
}

static int place_in_stops(struct placing *placing, struct sprof_error *error)
{
    struct probing_program *program = placing->program;
    placing->stop.has_sharers = placing->begins || placing->wakes;
    placing->stop.notes_sharers = &program->process.shared->sharing.has_processes;
    const uint64_t until_ns =
        sprof_clock_monotonic_ns() + (placing->wakes ? WAKE_MS : SLOW_MS) * UINT64_C(1000000);
    if (placing->sites.count && may_be_unseen(placing) && inject_is_strict(placing->pid))
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "a thread has come under strict seccomp, which would end it where a "
                               "probe reads the clock");
    for (int stops = 0; placing->sites.count && stops < STOPS_MAX;) {
        const uint64_t begin_ns = sprof_clock_monotonic_ns();
        struct writing writing = {.placing = placing};
        const int result =
            placing->wakes && inject_stop_would_wait(placing->pid)
                ? sprof_error_set(error, SPROF_ESTATE, 0,
                                  "a thread waits in the kernel, as for a child of vfork")
                : inject_stop_while(&placing->stop, placing->pid, write_stopped, &writing, error);
        if (result == SPROF_ESTATE && begin_ns < until_ns) {
            pause_ms(placing->wakes ? BETWEEN_MS : LATE_MS);
            continue;
        }
        if (result)
            return result;
        inject_stop_note(&placing->stop, &program->process.stopped_ns);
        if (placing->wakes)
            inject_stop_note(&placing->stop, &program->resting.stopped_ns);
        if (!writing.is_done)
            return sprof_error_set(error, SPROF_EPERMISSION, writing.errnum,
                                   "cannot write probes into process %d: %s", (int)placing->pid,
                                   strerror(writing.errnum));
        keep_busy(placing);
        stops++;
        if (placing->sites.count)
            pause_ms(BETWEEN_MS);
    }
    return 0;
}

/* Unwritten sites stay in the list. After an execve, the open memory is the old one. */
static int place_jumps(struct placing *placing, size_t first, size_t count,
                       struct sprof_error *error)
{
    const struct probing_program *program = placing->program;
    const bool is_open = program->process.code_fd > 0 && placing->pid == program->process.pid;
    int result = 0;
    if (!is_open)
        result = inject_memory_open(placing->pid, &placing->fd, error);
    else if ((placing->fd = fcntl(program->process.code_fd, F_DUPFD_CLOEXEC, 0)) < 0)
        result = sprof_error_set(error, SPROF_EIO, errno,
                                 "cannot copy the descriptor of the memory of process %d: %s",
                                 (int)placing->pid, strerror(errno));
    if (!result && list_sites(placing, first, count))
        result = sprof_error_memory(error);
    if (!result)
        result = place_in_stops(placing, error);
    if (placing->fd >= 0)
        close(placing->fd);
    return result;
}

static void release(struct placing *placing)
{
    sprof_vec_release(&placing->sites);
    sprof_vec_release(&placing->writable);
    sprof_vec_release(&placing->code);
}

static int place_first(struct probing_program *program, size_t first, size_t count, bool begins,
                       struct sprof_error *error)
{
    const bool is_quiet = probing_is_quiet(program);
    for (size_t i = first; i < first + count; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        probe->rests = probe->jump[0] && probing_rests_at_once(program, probe, is_quiet);
        probe->is_placed |= probe->rests;
        probing_check_spare(program, probe);
    }
    struct placing placing = {.program = program, .pid = program->process.pid, .begins = begins};
    const int result = place_jumps(&placing, first, count, error);
    release(&placing);
    for (size_t i = first; i < first + count; i++) {
        struct probing_probe *probe = &program->probes.items[i];
        program->counts.refused += probe->is_chosen && !probe->is_placed && probe->jump[0];
        probe->is_chosen &= probe->is_placed;
    }
    return result;
}

int probing_place_live(struct probing_program *program, struct sprof_error *error)
{
    const int result = inject_begin(&program->process, error);
    counters_read_clocks(&program->times.start.ns, &program->times.start.ticks);
    return result ? result : place_first(program, 0, program->probes.count, true, error);
}

int probing_place_again(struct probing_program *program, pid_t pid, struct sprof_error *error)
{
    struct placing placing = {.program = program, .pid = pid, .returns = true};
    int result = place_jumps(&placing, 0, program->probes.count, error);
    if (!result && placing.sites.count)
        result = sprof_error_set(error, SPROF_ESTATE, 0,
                                 "the probes of %zu function%s, which were removed at their first "
                                 "call, could not be put back, because threads stand where they "
                                 "would be\ntry again",
                                 placing.sites.count, sprof_plural(placing.sites.count));
    release(&placing);
    return result;
}

int probing_place_woken(struct probing_program *program, struct sprof_error *error)
{
    struct placing placing = {.program = program, .pid = program->process.pid, .wakes = true};
    int result = place_jumps(&placing, 0, program->probes.count, error);
    if (!result && placing.has_other_code && !placing.sites.count)
        result = sprof_error_set(error, SPROF_ESTATE, 0,
                                 "the program has put other code in the place of theirs");
    release(&placing);
    return result;
}

struct copying {
    struct probing_program *program;
    struct probing_file *file;
};

static int place_copies(struct inject_process *process, void *context, struct sprof_error *error)
{
    const struct copying *copying = context;
    const int result = inject_borrow(process, error);
    return result ? result : probing_place_copies(copying->program, copying->file, error);
}

int probing_place_live_file(struct probing_program *program, struct probing_file *file,
                            struct sprof_error *error)
{
    struct copying copying = {program, file};
    const int result = inject_borrow_and_act(&program->process, place_copies, &copying, error);
    return result ? result : place_first(program, file->first, file->count, false, error);
}
