/* Borrows a thread by ptrace(2): it calls functions as if a signal had come. If sprof dies, a call
 * returns to rt_sigreturn(2), whose frame restores the thread. */
#include "inject/borrowed.h"
#include "inject/inside.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    STACK_ROOM = 96 << 10, /* for the loader, frames and signals */
    SYSCALL_STOP = SIGTRAP | 0x80,
    CHANGES_USER = 33, /* glibc's signal for setuid(2) */
    CALL_MS = 10000,   /* another thread may hold the loader's lock */
    ABANDON_MS = 500,  /* to stop a thread whose call did not return */
    PATIENCE_MS = 5000,
    BETWEEN_MS = 2,
    REASON_BYTES = 80,
};

static void pause_ms(long milliseconds)
{
    const struct timespec time = {.tv_nsec = milliseconds * 1000000};
    nanosleep(&time, NULL);
}

/* == The frame == */

static bool write_at(const struct inject_borrowed *borrowed, uint64_t address, const void *from,
                     size_t size)
{
    return pwrite(borrowed->memory_fd, from, size, (off_t)address) == (ssize_t)size;
}

static bool write_vectors(const struct inject_borrowed *borrowed, uint64_t at)
{
    uint8_t frame[ARCH_VECTORS_BYTES];
    const size_t size = arch_vectors_frame(&borrowed->vectors, frame);
    return size && write_at(borrowed, at, frame, size);
}

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

/* If the thread returns by this frame, a wait with a timeout begins anew. */
static bool write_frame(const struct inject_borrowed *borrowed, uint64_t vectors)
{
    const struct inject_stopped *thread = &borrowed->thread;
    uint8_t frame[ARCH_FRAME_BYTES];
    arch_frame_write(&thread->registers, vectors, thread->restarts, borrowed->signal_mask, frame);
    return write_return(borrowed) && write_at(borrowed, borrowed->frame, frame, sizeof frame);
}

/* Writes a frame below the used stack. False: that is impossible. */
static bool save(struct inject_borrowed *borrowed)
{
    if (!arch_vectors_read(borrowed->thread.tid, &borrowed->vectors) ||
        ptrace(PTRACE_GETSIGMASK, borrowed->thread.tid, (void *)8, &borrowed->signal_mask))
        return false;
    const uint64_t room =
        (arch_remote_sp(&borrowed->thread.registers) - ARCH_RED_ZONE_BYTES - INJECT_BORROWED_ROOM) &
        ~UINT64_C(63);
    const uint64_t vectors = (room - borrowed->vectors.size - 64) & ~UINT64_C(63);
    borrowed->room = room;
    borrowed->frame = (vectors - ARCH_FRAME_ROOM) & ~UINT64_C(63);
    borrowed->return_at = borrowed->frame - sizeof(uint64_t);
    if (!borrowed->ways->signal_return) { /* aligned as at a function's entry */
        borrowed->frame -= sizeof(uint64_t);
        borrowed->return_at = borrowed->frame - INJECT_ENTRY_CODE_WORDS * sizeof(uint64_t);
    }
    return write_vectors(borrowed, vectors) && write_frame(borrowed, vectors);
}

/* == Choosing == */

/* Accepts only the stack that the thread was created with. */
static bool has_room(const struct inject_borrowed *borrowed)
{
    const uint64_t sp = arch_remote_sp(&borrowed->thread.registers),
                   block = arch_remote_thread_pointer(&borrowed->thread.registers);
    char path[64], line[512];
    bool has = false;
    sprof_proc_shared_path(path, sizeof path, borrowed->pid, "maps");
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx", &start, &end) != 2 || sp < start || sp >= end)
            continue;
        const bool is_main = strstr(line, "[stack]");
        has = is_main || (sp - start > STACK_ROOM && block >= start && block <= end);
    }
    if (maps)
        fclose(maps);
    return has;
}

/* 0: it waits in a call that can be repeated; 1: in another one; 2: it runs. */
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

/* NULL: the thread is borrowed. */
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
    else if (!arch_remote_is_wide(&borrowed->thread.registers))
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
        borrowed->thread.tid = 0;
    }
    return unfit;
}

/* True after an execve. */
static bool has_other_memory(const struct inject_borrowed *borrowed)
{
    char any;
    return pread(borrowed->memory_fd, &any, 1, 0) == 0;
}

/* `entrance` NULL: accepts any position. */
static int take_any(struct inject_borrowed *borrowed, const struct inject_entrance *entrance,
                    char reason[REASON_BYTES], struct sprof_error *error)
{
    struct sprof_id_list threads = {0};
    int result =
        sprof_proc_threads(borrowed->pid, &threads) || !threads.count
            ? sprof_error_set(error, SPROF_ENOTFOUND, 0, "process %d has ended", (int)borrowed->pid)
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

static struct arch_remote entry_of(const struct inject_borrowed *borrowed, uint64_t function)
{
    struct arch_remote registers = borrowed->thread.registers;
    arch_remote_enter(&registers, function, borrowed->return_at);
    return registers;
}

static bool has_returned(const struct inject_borrowed *borrowed)
{
    struct arch_remote registers;
    return arch_remote_read(borrowed->thread.tid, &registers) &&
           arch_remote_is_entering(&registers, SYS_rt_sigreturn) &&
           arch_remote_sp(&registers) == borrowed->frame;
}

/* Restores all but the signal mask. */
static void restore(struct inject_borrowed *borrowed)
{
    struct arch_remote registers = borrowed->thread.registers;
    arch_remote_leave_call(&registers);
    arch_vectors_write(borrowed->thread.tid, &borrowed->vectors);
    arch_remote_write(borrowed->thread.tid, &registers);
}

/* The thread returns by itself. If it does not stop now, the kernel releases it: inject_apart. */
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

/* True: it has run nothing, as in a frozen cgroup. */
static bool has_not_begun(const struct inject_borrowed *borrowed, const struct arch_remote *entry)
{
    struct arch_remote registers;
    int status;
    ptrace(PTRACE_INTERRUPT, borrowed->thread.tid, NULL, NULL);
    return inject_stop_wait(borrowed->pid, borrowed->thread.tid, ABANDON_MS, &status) ==
               INJECT_WAITED_STOPPED &&
           status >> 8 && arch_remote_read(borrowed->thread.tid, &registers) &&
           arch_remote_pc(&registers) == arch_remote_pc(entry) &&
           arch_remote_sp(&registers) == arch_remote_sp(entry);
}

static int give_up(struct inject_borrowed *borrowed, const struct arch_remote *entry,
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
                           "process %d: its loader does not return from loading the agent; a "
                           "thread may hold the loader's lock\ntry again later, or trace it from "
                           "its start: sprof trace -- COMMAND",
                           (int)borrowed->pid);
}

static int run(struct inject_borrowed *borrowed, const struct arch_remote *entry,
               struct sprof_error *error)
{
    const pid_t tid = borrowed->thread.tid;
    int number = 0;
    for (;;) {
        struct arch_remote registers;
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
        if (status == SYSCALL_STOP && arch_remote_read(tid, &registers))
            borrowed->result = arch_remote_result(&registers);
        if (status == SYSCALL_STOP || status >> 8)
            continue;
        if (status == SIGSTOP || status == CHANGES_USER) {
            number = status;
            continue;
        }
        /* a fault, as other signals are blocked: the program must not get it */
        return sprof_error_set(error, SPROF_ESTATE, 0, "process %d: a call in it failed by %s",
                               (int)borrowed->pid, strsignal(status));
    }
}

/* The registers come first: a thread that returns by itself takes its frame's mask. */
static int go(struct inject_borrowed *borrowed, const struct arch_remote *registers,
              uint64_t blocked, struct sprof_error *error)
{
    arch_remote_write(borrowed->thread.tid, registers);
    ptrace(PTRACE_SETSIGMASK, borrowed->thread.tid, (void *)8, &blocked);
    ptrace(PTRACE_SETOPTIONS, borrowed->thread.tid, NULL, (void *)PTRACE_O_TRACESYSGOOD);
    return run(borrowed, registers, error);
}

static int call(struct inject_borrowed *borrowed, uint64_t function, uint64_t first,
                uint64_t second, struct sprof_error *error)
{
    /* a thread that waits until all take this signal holds a lock that the loader needs */
    const bool is_loader = function == borrowed->load || function == borrowed->unload;
    const uint64_t blocked = ~((uint64_t)is_loader << (CHANGES_USER - 1));
    struct arch_remote registers = entry_of(borrowed, function);
    arch_remote_set_arguments(&registers, first, second);
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
    struct arch_remote registers = entry_of(borrowed, ways->system_call);
    if (ways->entry.at) {
        uint64_t words[INJECT_ENTRY_CODE_WORDS];
        inject_entry_code_call(words, (uint64_t)number, arguments, ways->entry.at);
        /* the last word begins the return */
        const uint64_t at = borrowed->return_at - (INJECT_ENTRY_CODE_WORDS - 1) * sizeof *words;
        arch_remote_enter(&registers, ways->entry.at, at);
        if (!write_at(borrowed, at, words, sizeof words))
            return sprof_error_set(error, SPROF_EPERMISSION, errno,
                                   "the memory of process %d may not be written: %s",
                                   (int)borrowed->pid, strerror(errno));
    } else {
        arch_remote_set_call(&registers, number, arguments);
    }
    const int failed = go(borrowed, &registers, UINT64_MAX, error);
    *result = borrowed->result;
    return failed;
}

/* Lets the kernel decide on an interrupted call, and runs no instruction. Returns the next signal,
 * 0, or -1: the thread does not stop. */
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

/* A new signal must end an interrupted call. Repeated, it would wait for another. */
static int resume_call(struct inject_borrowed *borrowed)
{
    struct arch_remote registers;
    const int number = borrowed->is_entering ? go_behind_call(borrowed) : 0;
    if (number >= 0 && arch_remote_read(borrowed->thread.tid, &registers) &&
        arch_remote_pc(&registers) == arch_remote_pc(&borrowed->thread.registers) &&
        arch_remote_call_number(&registers) < 0)
        arch_remote_write(borrowed->thread.tid, &borrowed->own);
    return number;
}

/* The mask comes first: until the registers are restored, the thread takes its frame's mask. */
void inject_borrowed_release(struct inject_borrowed *borrowed)
{
    const uint64_t nothing = 0;
    int number = 0;
    if (!borrowed->thread.tid)
        return;
    ptrace(PTRACE_SETSIGMASK, borrowed->thread.tid, (void *)8, &borrowed->signal_mask);
    restore(borrowed);
    /* no thread returns by this frame any more: inject_recovery_wait */
    write_at(borrowed, borrowed->frame, &nothing, sizeof nothing);
    if (borrowed->thread.changed)
        number = resume_call(borrowed);
    if (number >= 0)
        ptrace(PTRACE_DETACH, borrowed->thread.tid, NULL, (void *)(intptr_t)number);
    borrowed->thread.tid = 0;
}
