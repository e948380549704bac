/* Borrows a thread of a running process by ptrace(2): has it call functions as if a signal had
 * come, and lets it go on as before. If sprof ends at any moment, the thread comes back by itself:
 * a call returns to rt_sigreturn, over a frame that holds everything that the thread had. */
#include "inject/borrowed.h"
#include "inject/inside.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    RED_ZONE = 128,
    STACK_ROOM = 96 << 10, /* for the loader, frames and signals */
    SYSCALL_STOP = SIGTRAP | 0x80,
    CHANGES_USER = 33, /* the signal by which glibc has all threads call setuid(2) and the like */
    CALL_MS = 10000,   /* for a call to return: another thread may hold the loader's lock */
    ABANDON_MS = 500,  /* for the thread to stop once more then */
    PATIENCE_MS = 5000,
    BETWEEN_MS = 2,
    REASON_BYTES = 80,
    MAGIC1 = 0x46505853, /* of an extended frame, <asm/sigcontext.h> */
    MAGIC2 = 0x46505845,
    SOFTWARE_BYTES = 464, /* offset of the kernel's own words in the legacy area */
    FEATURES_AT = 512,    /* offset of the features in use */
    FEATURE_TILES = 18,   /* too large for usual frames */
    FLAG_TRAP = 0x100,
    FLAG_DIRECTION = 0x400,
    STACK_UNCHANGED = 0x7fffffff, /* as ss_flags: the alternate stack stays */
    CONTEXT_FLAGS = 1 | 2 | 4,    /* an extended frame follows, and ss is valid */
};

static void pause_ms(long milliseconds)
{
    const struct timespec time = {.tv_nsec = milliseconds * 1000000};
    nanosleep(&time, NULL);
}

/* == The frame == */

/* How much of the vector state a usual signal frame holds. */
static size_t frame_bytes(uint64_t features)
{
    size_t bytes = 576;
    for (unsigned i = 2; i < FEATURE_TILES; i++) {
        uint32_t size = 0xd, at = 0, c = i, d; /* CPUID leaf 13: the layout of states */
        if (!(features >> i & 1))
            continue;
        __asm__ volatile("cpuid" : "+a"(size), "=b"(at), "+c"(c), "=d"(d));
        if (size && at + size > bytes)
            bytes = at + size;
    }
    return bytes;
}

static bool write_at(const struct inject_borrowed *borrowed, uint64_t address, const void *from,
                     size_t size)
{
    return pwrite(borrowed->memory_fd, from, size, (off_t)address) == (ssize_t)size;
}

/* Writes the vector registers, as a signal's frame holds them. */
static bool write_vectors(const struct inject_borrowed *borrowed, uint64_t at)
{
    uint8_t frame[INJECT_XSTATE_BYTES];
    uint64_t features;
    memcpy(frame, borrowed->xstate, borrowed->xstate_bytes);
    memcpy(&features, frame + SOFTWARE_BYTES, sizeof features);
    features &= ~(UINT64_C(1) << FEATURE_TILES);
    const uint32_t size = (uint32_t)frame_bytes(features);
    struct {
        uint32_t magic, extended_size;
        uint64_t features;
        uint32_t size, padding[7];
    } words = {MAGIC1, size + 4, features, size, {0}};
    const uint32_t end = MAGIC2;
    if (size + sizeof end > sizeof frame || size > borrowed->xstate_bytes)
        return false;
    memcpy(frame + SOFTWARE_BYTES, &words, sizeof words);
    memcpy(frame + size, &end, sizeof end);
    return write_at(borrowed, at, frame, size + sizeof end);
}

/* Writes the frame to which a function returns, as the kernel does for a signal's handler. */
static bool write_return(const struct inject_borrowed *borrowed)
{
    const struct inject_ways *ways = borrowed->ways;
    const uint64_t none[6] = {0};
    uint64_t words[1 + INJECT_ENTRY_CODE_WORDS] = {ways->signal_return};
    if (ways->signal_return)
        return write_at(borrowed, borrowed->return_at, words, sizeof *words);
    words[0] = ways->entry.at;
    inject_entry_code_call(words + 1, SYS_rt_sigreturn, none, 0);
    return write_at(borrowed, borrowed->return_at, words, sizeof words - sizeof *words);
}

static bool write_frame(const struct inject_borrowed *borrowed, uint64_t vectors)
{
    const struct user_regs_struct *r = &borrowed->thread.registers;
    ucontext_t context;
    memset(&context, 0, sizeof context);
    long long *registers = context.uc_mcontext.gregs;
    context.uc_flags = CONTEXT_FLAGS;
    context.uc_stack.ss_flags = STACK_UNCHANGED;
    const struct {
        int number;
        uint64_t value;
    } all[] = {{REG_R8, r->r8},   {REG_R9, r->r9},     {REG_R10, r->r10}, {REG_R11, r->r11},
               {REG_R12, r->r12}, {REG_R13, r->r13},   {REG_R14, r->r14}, {REG_R15, r->r15},
               {REG_RDI, r->rdi}, {REG_RSI, r->rsi},   {REG_RBP, r->rbp}, {REG_RBX, r->rbx},
               {REG_RDX, r->rdx}, {REG_RAX, r->rax},   {REG_RCX, r->rcx}, {REG_RSP, r->rsp},
               {REG_RIP, r->rip}, {REG_EFL, r->eflags}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        registers[all[i].number] = (long long)all[i].value;
    /* a wait with a limit begins anew */
    if (borrowed->thread.restarts)
        registers[REG_RAX] = (long long)borrowed->thread.restarts;
    registers[REG_CSGSFS] = (long long)(r->cs | r->ss << 48);
    context.uc_mcontext.fpregs = (fpregset_t)(uintptr_t)vectors;
    memcpy(&context.uc_sigmask, &borrowed->signal_mask, sizeof borrowed->signal_mask);
    return write_return(borrowed) &&
           write_at(borrowed, borrowed->frame, &context, offsetof(ucontext_t, uc_sigmask) + 8);
}

/* Saves the thread's state, in a frame below the used part of its stack. False: it cannot be
 * borrowed. */
static bool save(struct inject_borrowed *borrowed)
{
    struct iovec vector = {borrowed->xstate, sizeof borrowed->xstate};
    uint64_t in_use;
    if (ptrace(PTRACE_GETREGSET, borrowed->thread.tid, (void *)NT_X86_XSTATE, &vector) ||
        vector.iov_len < 576 ||
        ptrace(PTRACE_GETSIGMASK, borrowed->thread.tid, (void *)8, &borrowed->signal_mask))
        return false;
    borrowed->xstate_bytes = vector.iov_len;
    memcpy(&in_use, borrowed->xstate + FEATURES_AT, sizeof in_use);
    if (in_use >> FEATURE_TILES & 1)
        return false;
    const uint64_t room =
        (borrowed->thread.registers.rsp - RED_ZONE - INJECT_BORROWED_ROOM) & ~UINT64_C(63);
    const uint64_t vectors = (room - borrowed->xstate_bytes - 64) & ~UINT64_C(63);
    borrowed->room = room;
    borrowed->frame = (vectors - sizeof(ucontext_t)) & ~UINT64_C(63);
    borrowed->return_at = borrowed->frame - sizeof(uint64_t);
    if (!borrowed->ways->signal_return) { /* aligned as at a function's entry */
        borrowed->frame -= sizeof(uint64_t);
        borrowed->return_at = borrowed->frame - INJECT_ENTRY_CODE_WORDS * sizeof(uint64_t);
    }
    return write_vectors(borrowed, vectors) && write_frame(borrowed, vectors);
}

/* == Choosing == */

/* Whether there is room below the stack pointer, on the stack that the thread was made with. */
static bool has_room(const struct inject_borrowed *borrowed)
{
    const struct user_regs_struct *r = &borrowed->thread.registers;
    char path[64], line[512];
    bool has = false;
    sprof_proc_shared_path(path, sizeof path, borrowed->pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx", &start, &end) != 2 || r->rsp < start || r->rsp >= end)
            continue;
        const bool is_main = strstr(line, "[stack]");
        has = is_main || (r->rsp - start > STACK_ROOM && r->fs_base >= start && r->fs_base <= end);
    }
    if (maps)
        fclose(maps);
    return has;
}

/* Threads that wait in calls which can be made again come first, those that run last. */
static int rank_of(pid_t pid, pid_t tid)
{
    static const long best[] = {SYS_read,     SYS_accept,     SYS_accept4,     SYS_select,
                                SYS_pselect6, SYS_epoll_wait, SYS_epoll_pwait, SYS_recvfrom,
                                SYS_recvmsg,  SYS_wait4,      SYS_waitid,      SYS_rt_sigsuspend,
                                SYS_pause,    SYS_ppoll};
    char path[64], line[256];
    long number = -1;
    snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    const bool waits = file && fgets(line, sizeof line, file) && sscanf(line, "%ld", &number) == 1;
    if (file)
        fclose(file);
    for (size_t i = 0; waits && i < sizeof best / sizeof *best; i++)
        if (number == best[i])
            return 0;
    return waits ? 1 : 2;
}

/* NULL: the thread is borrowed, and stands. */
static const char *try(struct inject_borrowed *borrowed, pid_t tid,
                       const struct inject_entrance *entrance, struct sprof_error *error)
{
    const char *unfit = NULL;
    if (inject_thread_would_wait(borrowed->pid, tid))
        return "waits in the kernel, as for a child of vfork, or is frozen (cgroup)";
    if (inject_stop_thread(&borrowed->thread, borrowed->pid, tid, error))
        return error->code == SPROF_EPERMISSION ? "cannot be stopped" : "does not stop";
    if (borrowed->thread.signal)
        unfit = "is about to take a signal";
    else if (inject_seccomp_of(borrowed->pid, tid))
        unfit = "has come under seccomp";
    else if (borrowed->thread.registers.cs != 0x33)
        unfit = "runs 32-bit code";
    else if (!has_room(borrowed))
        unfit = "has a small stack, or is on another than its own";
    else if (entrance && entrance->code)
        unfit = inject_code_unfit(entrance->code, &borrowed->thread.registers);
    else if (entrance)
        unfit = inject_raw_unfit(entrance->raw, &borrowed->thread.registers);
    if (!unfit) {
        borrowed->own = borrowed->thread.registers;
        borrowed->is_entering = false;
        inject_stop_restart(&borrowed->thread);
        if (!save(borrowed))
            unfit = "has a state that cannot be saved";
    }
    if (unfit) {
        inject_stop_release(&borrowed->thread, borrowed->pid);
        borrowed->thread.tid = 0; /* it is another program's, and so is its stack */
    }
    return unfit;
}

/* Whether the open memory is that of an earlier program. */
static bool has_other_memory(const struct inject_borrowed *borrowed)
{
    char any;
    return pread(borrowed->memory_fd, &any, 1, 0) == 0;
}

/* `entrance` NULL: wherever it is. */
static int take_any(struct inject_borrowed *borrowed, const struct inject_entrance *entrance,
                    char reason[REASON_BYTES], struct sprof_error *error)
{
    struct sprof_id_list threads = {0};
    int result =
        sprof_proc_threads(borrowed->pid, &threads) || !threads.count
            ? sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d is gone", (int)borrowed->pid)
            : SPROF_ESTATE;
    for (int rank = 0; rank < 3 && result == SPROF_ESTATE; rank++)
        for (size_t i = 0; i < threads.count && result == SPROF_ESTATE; i++) {
            if (rank_of(borrowed->pid, threads.items[i]) != rank)
                continue;
            struct sprof_error refused = {0};
            const char *unfit = try(borrowed, threads.items[i], entrance, &refused);
            if (!unfit)
                result = 0;
            else
                snprintf(reason, REASON_BYTES, "thread %d %s", threads.items[i], unfit);
            if (refused.code == SPROF_EPERMISSION) {
                *error = refused;
                result = refused.code;
            }
        }
    sprof_vec_release(&threads);
    return result;
}

int inject_borrowed_take(struct inject_borrowed *borrowed, pid_t pid, int memory_fd,
                         const struct inject_entrance *entrance, bool any_place,
                         struct sprof_error *error)
{
    char reason[REASON_BYTES] = "it has none";
    const uint64_t until_ns = sprof_clock_monotonic_ns() + PATIENCE_MS * UINT64_C(1000000);
    borrowed->pid = pid;
    borrowed->memory_fd = memory_fd;
    borrowed->load = entrance->code ? inject_code_dlopen(entrance->code) : 0;
    borrowed->unload = entrance->code ? inject_code_dlclose(entrance->code) : 0;
    borrowed->ways =
        entrance->code ? inject_code_ways(entrance->code) : inject_raw_ways(entrance->raw);
    if (borrowed->ways->entry.at && !inject_entry_code_write(&borrowed->ways->entry, memory_fd))
        return sprof_error_set(error, SPROF_EPERMISSION, errno,
                               "the memory of process %d may not be written: %s", (int)pid,
                               strerror(errno));
    for (;;) {
        const int result = take_any(borrowed, any_place ? NULL : entrance, reason, error);
        if (result != SPROF_ESTATE)
            return result;
        if (has_other_memory(borrowed))
            return sprof_error_set(error, SPROF_ENOTFOUND, 0,
                                   "process %d has ended, or executed another program, meanwhile",
                                   (int)pid);
        if (sprof_clock_monotonic_ns() > until_ns)
            return sprof_error_set(error, SPROF_ESTATE, 0,
                                   "no thread of process %d could be borrowed in five seconds, "
                                   "to load the tracing agent: %s\ntry again, or trace it from "
                                   "its start: `sprof trace -- COMMAND`",
                                   (int)pid, reason);
        pause_ms(BETWEEN_MS);
    }
}

/* == Calling == */

static struct user_regs_struct entry_of(const struct inject_borrowed *borrowed, uint64_t function)
{
    struct user_regs_struct registers = borrowed->thread.registers;
    registers.rip = function;
    registers.rax = 0;
    registers.rsp = borrowed->return_at;
    registers.orig_rax = UINT64_MAX;
    registers.eflags &= ~(unsigned long long)(FLAG_TRAP | FLAG_DIRECTION);
    return registers;
}

/* Whether the thread is about to end the call by itself. */
static bool has_returned(const struct inject_borrowed *borrowed)
{
    struct user_regs_struct registers;
    return !ptrace(PTRACE_GETREGS, borrowed->thread.tid, NULL, &registers) &&
           registers.orig_rax == SYS_rt_sigreturn && registers.rsp == borrowed->frame &&
           (int64_t)registers.rax == -ENOSYS;
}

/* Restores everything but its signal mask. */
static void restore(struct inject_borrowed *borrowed)
{
    struct iovec vector = {borrowed->xstate, borrowed->xstate_bytes};
    struct user_regs_struct registers = borrowed->thread.registers;
    registers.orig_rax = UINT64_MAX;
    ptrace(PTRACE_SETREGSET, borrowed->thread.tid, (void *)NT_X86_XSTATE, &vector);
    ptrace(PTRACE_SETREGS, borrowed->thread.tid, NULL, &registers);
}

/* Lets it go within the call, from which it comes back by itself. Where it does not stand, the
 * kernel lets it go: see inject_apart. */
static void abandon(struct inject_borrowed *borrowed)
{
    int status;
    ptrace(PTRACE_INTERRUPT, borrowed->thread.tid, NULL, NULL);
    if (inject_stop_wait(borrowed->pid, borrowed->thread.tid, ABANDON_MS, &status) ==
        INJECT_WAITED_STOPPED)
        ptrace(PTRACE_DETACH, borrowed->thread.tid, NULL,
               (void *)(intptr_t)(status >> 8 || status == SYSCALL_STOP ? 0 : status));
    borrowed->thread.tid = 0;
}

/* After a call that does not return: whether the thread has not made its first instruction, as in a
 * frozen cgroup. Then it stands, and nothing has happened. */
static bool has_not_begun(const struct inject_borrowed *borrowed,
                          const struct user_regs_struct *entry)
{
    struct user_regs_struct registers;
    int status;
    ptrace(PTRACE_INTERRUPT, borrowed->thread.tid, NULL, NULL);
    return inject_stop_wait(borrowed->pid, borrowed->thread.tid, ABANDON_MS, &status) ==
               INJECT_WAITED_STOPPED &&
           status >> 8 && !ptrace(PTRACE_GETREGS, borrowed->thread.tid, NULL, &registers) &&
           registers.rip == entry->rip && registers.rsp == entry->rsp;
}

static int give_up(struct inject_borrowed *borrowed, const struct user_regs_struct *entry,
                   struct sprof_error *error)
{
    if (has_not_begun(borrowed, entry)) {
        inject_borrowed_release(borrowed);
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d does not run: it is frozen, or gets no processor\nthaw "
                               "its cgroup first, see /proc/%d/cgroup",
                               (int)borrowed->pid, (int)borrowed->pid);
    }
    abandon(borrowed);
    return sprof_error_set(error, SPROF_ESTATE, 0,
                           "process %d: a call of its loader does not return; a thread may hold "
                           "the loader's lock",
                           (int)borrowed->pid);
}

static int run(struct inject_borrowed *borrowed, const struct user_regs_struct *entry,
               struct sprof_error *error)
{
    const pid_t tid = borrowed->thread.tid;
    int number = 0;
    for (;;) {
        struct user_regs_struct registers;
        int status;
        ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(intptr_t)number);
        const enum inject_waited waited = inject_stop_wait(borrowed->pid, tid, CALL_MS, &status);
        if (waited == INJECT_WAITED_GONE) {
            borrowed->thread.tid = 0;
            return sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has ended meanwhile",
                                   (int)borrowed->pid);
        }
        if (waited == INJECT_WAITED_TIMED_OUT)
            return give_up(borrowed, entry, error);
        number = 0;
        borrowed->is_entering = status == SYSCALL_STOP && has_returned(borrowed);
        if (borrowed->is_entering)
            return 0;
        if (status == SYSCALL_STOP && !ptrace(PTRACE_GETREGS, tid, NULL, &registers))
            borrowed->result = (int64_t)registers.rax;
        if (status == SYSCALL_STOP || status >> 8)
            continue;
        if (status == SIGSTOP || status == CHANGES_USER) {
            number = status;
            continue;
        }
        /* other signals are blocked, so this is a fault, which must not reach the program */
        return sprof_error_set(error, SPROF_ESTATE, 0, "process %d: a call in it failed by %s",
                               (int)borrowed->pid, strsignal(status));
    }
}

/* In this order: a thread that comes back by itself takes the mask from its frame. */
static int go(struct inject_borrowed *borrowed, const struct user_regs_struct *registers,
              uint64_t blocked, struct sprof_error *error)
{
    ptrace(PTRACE_SETREGS, borrowed->thread.tid, NULL, registers);
    ptrace(PTRACE_SETSIGMASK, borrowed->thread.tid, (void *)8, &blocked);
    ptrace(PTRACE_SETOPTIONS, borrowed->thread.tid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    return run(borrowed, registers, error);
}

static int call(struct inject_borrowed *borrowed, uint64_t function, uint64_t first,
                uint64_t second, struct sprof_error *error)
{
    /* a thread that waits for all others to take that signal holds a lock that the loader needs */
    const bool is_loader = function == borrowed->load || function == borrowed->unload;
    const uint64_t blocked = ~((uint64_t)is_loader << (CHANGES_USER - 1));
    struct user_regs_struct registers = entry_of(borrowed, function);
    registers.rdi = first;
    registers.rsi = second;
    return go(borrowed, &registers, blocked, error);
}

int inject_borrowed_call(struct inject_borrowed *borrowed, uint64_t function, void *data,
                         size_t size, uint64_t second, struct sprof_error *error)
{
    if (!write_at(borrowed, borrowed->room, data, size))
        return sprof_error_set(error, SPROF_EPERMISSION, errno,
                               "the memory of process %d may not be written: %s",
                               (int)borrowed->pid, strerror(errno));
    const int result = call(borrowed, function, borrowed->room, second, error);
    if (result == 0 &&
        pread(borrowed->memory_fd, data, size, (off_t)borrowed->room) != (ssize_t)size)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has ended meanwhile",
                               (int)borrowed->pid);
    return result;
}

int inject_borrowed_call_plainly(struct inject_borrowed *borrowed, uint64_t function,
                                 uint64_t argument, struct sprof_error *error)
{
    return call(borrowed, function, argument, 0, error);
}

int inject_borrowed_system_call(struct inject_borrowed *borrowed, long number,
                                const uint64_t arguments[6], int64_t *result,
                                struct sprof_error *error)
{
    const struct inject_ways *ways = borrowed->ways;
    struct user_regs_struct registers = entry_of(borrowed, ways->system_call);
    if (ways->entry.at) {
        uint64_t words[INJECT_ENTRY_CODE_WORDS];
        inject_entry_code_call(words, (uint64_t)number, arguments, ways->entry.at);
        /* it goes on with the return behind that */
        registers.rip = ways->entry.at;
        registers.rsp = borrowed->return_at - (INJECT_ENTRY_CODE_WORDS - 1) * sizeof *words;
        if (!write_at(borrowed, registers.rsp, words, sizeof words))
            return sprof_error_set(error, SPROF_EPERMISSION, errno,
                                   "the memory of process %d may not be written: %s",
                                   (int)borrowed->pid, strerror(errno));
    } else {
        registers.rax = (unsigned long long)number;
        registers.rdi = arguments[0];
        registers.rsi = arguments[1];
        registers.rdx = arguments[2];
        registers.r10 = arguments[3];
        registers.r8 = arguments[4];
        registers.r9 = arguments[5];
    }
    const int failed = go(borrowed, &registers, UINT64_MAX, error);
    *result = borrowed->result;
    return failed;
}

/* Leads it to a stop where the kernel decides what becomes of a call that was cut short. It makes
 * no instruction meanwhile. Returns the signal that it is about to take, or -1: it does not stand.
 */
static int go_behind_call(struct inject_borrowed *borrowed)
{
    const pid_t tid = borrowed->thread.tid;
    int status = 0;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    ptrace(PTRACE_CONT, tid, NULL, NULL);
    const enum inject_waited waited = inject_stop_wait(borrowed->pid, tid, CALL_MS, &status);
    if (waited == INJECT_WAITED_TIMED_OUT)
        abandon(borrowed);
    if (waited != INJECT_WAITED_STOPPED)
        return -1;
    return status >> 8 || status == SIGTRAP ? 0 : status;
}

/* A signal that came meanwhile ends a call that was cut short. Made again behind the signal's
 * handler, as after a death of sprof, the call would wait for another signal. */
static int resume_call(struct inject_borrowed *borrowed)
{
    struct user_regs_struct registers;
    const int number = borrowed->is_entering ? go_behind_call(borrowed) : 0;
    if (number >= 0 && !ptrace(PTRACE_GETREGS, borrowed->thread.tid, NULL, &registers) &&
        registers.rip == borrowed->thread.registers.rip && (int64_t)registers.orig_rax < 0)
        ptrace(PTRACE_SETREGS, borrowed->thread.tid, NULL, &borrowed->own);
    return number;
}

/* In this order: until its registers are its own again, it would take its mask from the frame. */
void inject_borrowed_release(struct inject_borrowed *borrowed)
{
    const uint64_t nothing = 0;
    int number = 0;
    if (!borrowed->thread.tid)
        return;
    ptrace(PTRACE_SETSIGMASK, borrowed->thread.tid, (void *)8, &borrowed->signal_mask);
    restore(borrowed);
    write_at(borrowed, borrowed->frame, &nothing, sizeof nothing); /* no thread comes back by it */
    if (borrowed->thread.changed)
        number = resume_call(borrowed);
    if (number >= 0)
        ptrace(PTRACE_DETACH, borrowed->thread.tid, NULL, (void *)(intptr_t)number);
    borrowed->thread.tid = 0;
}

/* == Threads that a killed tracer had borrowed == */

bool inject_borrowed_is_frame(const uint64_t words[INJECT_BORROWED_FRAME_WORDS])
{
    return words[0] == CONTEXT_FLAGS && !words[1] && !words[2] && words[3] == STACK_UNCHANGED &&
           !words[4];
}
