/* Borrows a thread of a running process by ptrace(2): has it call functions as if a signal had
 * come, and lets it go on as before. If sprof ends at any moment, the thread comes back by itself:
 * a call returns to rt_sigreturn, over a frame that holds everything that the thread had. */
#include "trace/attach/hand.h"
#include "trace/attach/attach.h"

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

static bool write_at(const struct trace_hand *hand, uint64_t address, const void *from, size_t size)
{
    return pwrite(hand->memory_fd, from, size, (off_t)address) == (ssize_t)size;
}

/* Writes the vector registers, as a signal's frame holds them. */
static bool write_vectors(const struct trace_hand *hand, uint64_t at)
{
    uint8_t frame[TRACE_XSTATE_BYTES];
    uint64_t features;
    memcpy(frame, hand->xstate, hand->xstate_bytes);
    memcpy(&features, frame + SOFTWARE_BYTES, sizeof features);
    features &= ~(UINT64_C(1) << FEATURE_TILES);
    const uint32_t size = (uint32_t)frame_bytes(features);
    struct {
        uint32_t magic, extended_size;
        uint64_t features;
        uint32_t size, padding[7];
    } words = {MAGIC1, size + 4, features, size, {0}};
    const uint32_t end = MAGIC2;
    if (size + sizeof end > sizeof frame || size > hand->xstate_bytes)
        return false;
    memcpy(frame + SOFTWARE_BYTES, &words, sizeof words);
    memcpy(frame + size, &end, sizeof end);
    return write_at(hand, at, frame, size + sizeof end);
}

/* Writes the frame to which a function returns, as the kernel does for a signal's handler. */
static bool write_return(const struct trace_hand *hand)
{
    const struct trace_ways *ways = hand->ways;
    const uint64_t none[6] = {0};
    uint64_t words[1 + TRACE_ENTRY_CODE_WORDS] = {ways->signal_return};
    if (ways->signal_return)
        return write_at(hand, hand->return_at, words, sizeof *words);
    words[0] = ways->entry.at;
    trace_entry_code_call(words + 1, SYS_rt_sigreturn, none, 0);
    return write_at(hand, hand->return_at, words, sizeof words - sizeof *words);
}

static bool write_frame(const struct trace_hand *hand, uint64_t vectors)
{
    const struct user_regs_struct *r = &hand->thread.registers;
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
    if (hand->thread.restarts)
        registers[REG_RAX] = (long long)hand->thread.restarts;
    registers[REG_CSGSFS] = (long long)(r->cs | r->ss << 48);
    context.uc_mcontext.fpregs = (fpregset_t)(uintptr_t)vectors;
    memcpy(&context.uc_sigmask, &hand->signal_mask, sizeof hand->signal_mask);
    return write_return(hand) &&
           write_at(hand, hand->frame, &context, offsetof(ucontext_t, uc_sigmask) + 8);
}

/* Saves the thread's state, in a frame below the used part of its stack. False: it cannot be
 * borrowed. */
static bool save(struct trace_hand *hand)
{
    struct iovec vector = {hand->xstate, sizeof hand->xstate};
    uint64_t in_use;
    if (ptrace(PTRACE_GETREGSET, hand->thread.tid, (void *)NT_X86_XSTATE, &vector) ||
        vector.iov_len < 576 ||
        ptrace(PTRACE_GETSIGMASK, hand->thread.tid, (void *)8, &hand->signal_mask))
        return false;
    hand->xstate_bytes = vector.iov_len;
    memcpy(&in_use, hand->xstate + FEATURES_AT, sizeof in_use);
    if (in_use >> FEATURE_TILES & 1)
        return false;
    const uint64_t room = (hand->thread.registers.rsp - RED_ZONE - TRACE_HAND_ROOM) & ~UINT64_C(63);
    const uint64_t vectors = (room - hand->xstate_bytes - 64) & ~UINT64_C(63);
    hand->room = room;
    hand->frame = (vectors - sizeof(ucontext_t)) & ~UINT64_C(63);
    hand->return_at = hand->frame - sizeof(uint64_t);
    if (!hand->ways->signal_return) { /* aligned as at a function's entry */
        hand->frame -= sizeof(uint64_t);
        hand->return_at = hand->frame - TRACE_ENTRY_CODE_WORDS * sizeof(uint64_t);
    }
    return write_vectors(hand, vectors) && write_frame(hand, vectors);
}

/* == Choosing == */

/* Whether there is room below the stack pointer, on the stack that the thread was made with. */
static bool has_room(const struct trace_hand *hand)
{
    const struct user_regs_struct *r = &hand->thread.registers;
    char path[64], line[512];
    bool has = false;
    sprof_proc_shared_path(path, sizeof path, hand->pid, "maps");
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
static const char *try(struct trace_hand *hand, pid_t tid, const struct trace_entrance *entrance,
                       struct sprof_error *error)
{
    const char *unfit = NULL;
    if (trace_thread_would_wait(hand->pid, tid))
        return "waits in the kernel, as for a child of vfork, or is frozen (cgroup)";
    if (trace_stop_thread(&hand->thread, hand->pid, tid, error))
        return error->code == SPROF_EPERMISSION ? "cannot be stopped" : "does not stop";
    if (hand->thread.signal)
        unfit = "is about to take a signal";
    else if (trace_attach_seccomp_of(hand->pid, tid))
        unfit = "has come under seccomp";
    else if (hand->thread.registers.cs != 0x33)
        unfit = "runs 32-bit code";
    else if (!has_room(hand))
        unfit = "has a small stack, or is on another than its own";
    else if (entrance && entrance->code)
        unfit = trace_code_unfit(entrance->code, &hand->thread.registers);
    else if (entrance)
        unfit = trace_raw_unfit(entrance->raw, &hand->thread.registers);
    if (!unfit) {
        hand->own = hand->thread.registers;
        hand->is_entering = false;
        trace_stop_restart(&hand->thread);
        if (!save(hand))
            unfit = "has a state that cannot be saved";
    }
    if (unfit) {
        trace_stop_release(&hand->thread, hand->pid);
        hand->thread.tid = 0; /* it is another program's, and so is its stack */
    }
    return unfit;
}

/* Whether the open memory is that of an earlier program. */
static bool has_other_memory(const struct trace_hand *hand)
{
    char any;
    return pread(hand->memory_fd, &any, 1, 0) == 0;
}

/* `entrance` NULL: wherever it is. */
static int take_any(struct trace_hand *hand, const struct trace_entrance *entrance,
                    char reason[REASON_BYTES], struct sprof_error *error)
{
    struct sprof_id_list threads = {0};
    int result =
        sprof_proc_threads(hand->pid, &threads) || !threads.count
            ? sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d is gone", (int)hand->pid)
            : SPROF_ESTATE;
    for (int rank = 0; rank < 3 && result == SPROF_ESTATE; rank++)
        for (size_t i = 0; i < threads.count && result == SPROF_ESTATE; i++) {
            if (rank_of(hand->pid, threads.items[i]) != rank)
                continue;
            struct sprof_error refused = {0};
            const char *unfit = try(hand, threads.items[i], entrance, &refused);
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

int trace_hand_take(struct trace_hand *hand, pid_t pid, int memory_fd,
                    const struct trace_entrance *entrance, bool any_place,
                    struct sprof_error *error)
{
    char reason[REASON_BYTES] = "it has none";
    const uint64_t until_ns = sprof_clock_monotonic_ns() + PATIENCE_MS * UINT64_C(1000000);
    hand->pid = pid;
    hand->memory_fd = memory_fd;
    hand->load = entrance->code ? trace_code_dlopen(entrance->code) : 0;
    hand->unload = entrance->code ? trace_code_dlclose(entrance->code) : 0;
    hand->ways = entrance->code ? trace_code_ways(entrance->code) : trace_raw_ways(entrance->raw);
    if (hand->ways->entry.at && !trace_entry_code_write(&hand->ways->entry, memory_fd))
        return sprof_error_set(error, SPROF_EPERMISSION, errno,
                               "the memory of process %d may not be written: %s", (int)pid,
                               strerror(errno));
    for (;;) {
        const int result = take_any(hand, any_place ? NULL : entrance, reason, error);
        if (result != SPROF_ESTATE)
            return result;
        if (has_other_memory(hand))
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

static struct user_regs_struct entry_of(const struct trace_hand *hand, uint64_t function)
{
    struct user_regs_struct registers = hand->thread.registers;
    registers.rip = function;
    registers.rax = 0;
    registers.rsp = hand->return_at;
    registers.orig_rax = UINT64_MAX;
    registers.eflags &= ~(unsigned long long)(FLAG_TRAP | FLAG_DIRECTION);
    return registers;
}

/* Whether the thread is about to end the call by itself. */
static bool has_returned(const struct trace_hand *hand)
{
    struct user_regs_struct registers;
    return !ptrace(PTRACE_GETREGS, hand->thread.tid, NULL, &registers) &&
           registers.orig_rax == SYS_rt_sigreturn && registers.rsp == hand->frame &&
           (int64_t)registers.rax == -ENOSYS;
}

/* Restores everything but its signal mask. */
static void restore(struct trace_hand *hand)
{
    struct iovec vector = {hand->xstate, hand->xstate_bytes};
    struct user_regs_struct registers = hand->thread.registers;
    registers.orig_rax = UINT64_MAX;
    ptrace(PTRACE_SETREGSET, hand->thread.tid, (void *)NT_X86_XSTATE, &vector);
    ptrace(PTRACE_SETREGS, hand->thread.tid, NULL, &registers);
}

/* Lets it go within the call, from which it comes back by itself. Where it does not stand, the
 * kernel lets it go: see trace_apart. */
static void abandon(struct trace_hand *hand)
{
    int status;
    ptrace(PTRACE_INTERRUPT, hand->thread.tid, NULL, NULL);
    if (trace_stop_wait(hand->pid, hand->thread.tid, ABANDON_MS, &status) == TRACE_STOPPED)
        ptrace(PTRACE_DETACH, hand->thread.tid, NULL,
               (void *)(intptr_t)(status >> 8 || status == SYSCALL_STOP ? 0 : status));
    hand->thread.tid = 0;
}

/* After a call that does not return: whether the thread has not made its first instruction, as in a
 * frozen cgroup. Then it stands, and nothing has happened. */
static bool has_not_begun(const struct trace_hand *hand, const struct user_regs_struct *entry)
{
    struct user_regs_struct registers;
    int status;
    ptrace(PTRACE_INTERRUPT, hand->thread.tid, NULL, NULL);
    return trace_stop_wait(hand->pid, hand->thread.tid, ABANDON_MS, &status) == TRACE_STOPPED &&
           status >> 8 && !ptrace(PTRACE_GETREGS, hand->thread.tid, NULL, &registers) &&
           registers.rip == entry->rip && registers.rsp == entry->rsp;
}

static int give_up(struct trace_hand *hand, const struct user_regs_struct *entry,
                   struct sprof_error *error)
{
    if (has_not_begun(hand, entry)) {
        trace_hand_release(hand);
        return sprof_error_set(error, SPROF_ESTATE, 0,
                               "process %d does not run: it is frozen, or gets no processor\nthaw "
                               "its cgroup first, see /proc/%d/cgroup",
                               (int)hand->pid, (int)hand->pid);
    }
    abandon(hand);
    return sprof_error_set(error, SPROF_ESTATE, 0,
                           "process %d: a call of its loader does not return; a thread may hold "
                           "the loader's lock",
                           (int)hand->pid);
}

static int run(struct trace_hand *hand, const struct user_regs_struct *entry,
               struct sprof_error *error)
{
    const pid_t tid = hand->thread.tid;
    int number = 0;
    for (;;) {
        struct user_regs_struct registers;
        int status;
        ptrace(PTRACE_SYSCALL, tid, NULL, (void *)(intptr_t)number);
        const enum trace_waited waited = trace_stop_wait(hand->pid, tid, CALL_MS, &status);
        if (waited == TRACE_GONE) {
            hand->thread.tid = 0;
            return sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has ended meanwhile",
                                   (int)hand->pid);
        }
        if (waited == TRACE_TIMED_OUT)
            return give_up(hand, entry, error);
        number = 0;
        hand->is_entering = status == SYSCALL_STOP && has_returned(hand);
        if (hand->is_entering)
            return 0;
        if (status == SYSCALL_STOP && !ptrace(PTRACE_GETREGS, tid, NULL, &registers))
            hand->result = (int64_t)registers.rax;
        if (status == SYSCALL_STOP || status >> 8)
            continue;
        if (status == SIGSTOP || status == CHANGES_USER) {
            number = status;
            continue;
        }
        /* other signals are blocked, so this is a fault, which must not reach the program */
        return sprof_error_set(error, SPROF_ESTATE, 0, "process %d: a call in it failed by %s",
                               (int)hand->pid, strsignal(status));
    }
}

/* In this order: a thread that comes back by itself takes the mask from its frame. */
static int go(struct trace_hand *hand, const struct user_regs_struct *registers, uint64_t blocked,
              struct sprof_error *error)
{
    ptrace(PTRACE_SETREGS, hand->thread.tid, NULL, registers);
    ptrace(PTRACE_SETSIGMASK, hand->thread.tid, (void *)8, &blocked);
    ptrace(PTRACE_SETOPTIONS, hand->thread.tid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    return run(hand, registers, error);
}

static int call(struct trace_hand *hand, uint64_t function, uint64_t first, uint64_t second,
                struct sprof_error *error)
{
    /* a thread that waits for all others to take that signal holds a lock that the loader needs */
    const bool is_loader = function == hand->load || function == hand->unload;
    const uint64_t blocked = ~((uint64_t)is_loader << (CHANGES_USER - 1));
    struct user_regs_struct registers = entry_of(hand, function);
    registers.rdi = first;
    registers.rsi = second;
    return go(hand, &registers, blocked, error);
}

int trace_hand_call(struct trace_hand *hand, uint64_t function, void *data, size_t size,
                    uint64_t second, struct sprof_error *error)
{
    if (!write_at(hand, hand->room, data, size))
        return sprof_error_set(error, SPROF_EPERMISSION, errno,
                               "the memory of process %d may not be written: %s", (int)hand->pid,
                               strerror(errno));
    const int result = call(hand, function, hand->room, second, error);
    if (result == 0 && pread(hand->memory_fd, data, size, (off_t)hand->room) != (ssize_t)size)
        return sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has ended meanwhile",
                               (int)hand->pid);
    return result;
}

int trace_hand_call_plainly(struct trace_hand *hand, uint64_t function, uint64_t argument,
                            struct sprof_error *error)
{
    return call(hand, function, argument, 0, error);
}

int trace_hand_system_call(struct trace_hand *hand, long number, const uint64_t arguments[6],
                           int64_t *result, struct sprof_error *error)
{
    const struct trace_ways *ways = hand->ways;
    struct user_regs_struct registers = entry_of(hand, ways->system_call);
    if (ways->entry.at) {
        uint64_t words[TRACE_ENTRY_CODE_WORDS];
        trace_entry_code_call(words, (uint64_t)number, arguments, ways->entry.at);
        /* it goes on with the return behind that */
        registers.rip = ways->entry.at;
        registers.rsp = hand->return_at - (TRACE_ENTRY_CODE_WORDS - 1) * sizeof *words;
        if (!write_at(hand, registers.rsp, words, sizeof words))
            return sprof_error_set(error, SPROF_EPERMISSION, errno,
                                   "the memory of process %d may not be written: %s",
                                   (int)hand->pid, strerror(errno));
    } else {
        registers.rax = (unsigned long long)number;
        registers.rdi = arguments[0];
        registers.rsi = arguments[1];
        registers.rdx = arguments[2];
        registers.r10 = arguments[3];
        registers.r8 = arguments[4];
        registers.r9 = arguments[5];
    }
    const int failed = go(hand, &registers, UINT64_MAX, error);
    *result = hand->result;
    return failed;
}

/* Leads it to a stop where the kernel decides what becomes of a call that was cut short. It makes
 * no instruction meanwhile. Returns the signal that it is about to take, or -1: it does not stand.
 */
static int go_behind_call(struct trace_hand *hand)
{
    const pid_t tid = hand->thread.tid;
    int status = 0;
    ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
    ptrace(PTRACE_CONT, tid, NULL, NULL);
    const enum trace_waited waited = trace_stop_wait(hand->pid, tid, CALL_MS, &status);
    if (waited == TRACE_TIMED_OUT)
        abandon(hand);
    if (waited != TRACE_STOPPED)
        return -1;
    return status >> 8 || status == SIGTRAP ? 0 : status;
}

/* A signal that came meanwhile ends a call that was cut short. Made again behind the signal's
 * handler, as after a death of sprof, the call would wait for another signal. */
static int resume_call(struct trace_hand *hand)
{
    struct user_regs_struct registers;
    const int number = hand->is_entering ? go_behind_call(hand) : 0;
    if (number >= 0 && !ptrace(PTRACE_GETREGS, hand->thread.tid, NULL, &registers) &&
        registers.rip == hand->thread.registers.rip && (int64_t)registers.orig_rax < 0)
        ptrace(PTRACE_SETREGS, hand->thread.tid, NULL, &hand->own);
    return number;
}

/* In this order: until its registers are its own again, it would take its mask from the frame. */
void trace_hand_release(struct trace_hand *hand)
{
    const uint64_t nothing = 0;
    int number = 0;
    if (!hand->thread.tid)
        return;
    ptrace(PTRACE_SETSIGMASK, hand->thread.tid, (void *)8, &hand->signal_mask);
    restore(hand);
    write_at(hand, hand->frame, &nothing, sizeof nothing); /* no thread comes back by it */
    if (hand->thread.changed)
        number = resume_call(hand);
    if (number >= 0)
        ptrace(PTRACE_DETACH, hand->thread.tid, NULL, (void *)(intptr_t)number);
    hand->thread.tid = 0;
}

/* == Threads that a killed tracer had borrowed == */

bool trace_hand_is_frame(const uint64_t words[TRACE_HAND_FRAME_WORDS])
{
    return words[0] == CONTEXT_FLAGS && !words[1] && !words[2] && words[3] == STACK_UNCHANGED &&
           !words[4];
}
