/* Waits for threads that a killed tracer borrowed, which may load more of the agent. */
#include "inject/recovery_wait.h"
#include "inject/borrowed.h"

#include "target/target.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <time.h>

enum {
    PAGE = 4096,
    STACK_PAGES = 24, /* of a call, up to the frame */
    PATIENCE_MS = 5000,
    BETWEEN_MS = 5,
};

/* A borrowed thread blocks these; no program blocks 33, glibc's for setuid(2). */
#define BLOCKED (~(UINT64_C(1) << 8 | UINT64_C(1) << 18 | UINT64_C(1) << 32))

static bool blocks_all(const struct inject_stopped *thread)
{
    uint64_t mask;
    return !ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)sizeof mask, &mask) &&
           (mask & BLOCKED) == BLOCKED;
}

static void read_stack(const struct inject_stopped *thread, uint8_t bytes[STACK_PAGES * PAGE])
{
    uint64_t at = arch_remote_sp(&thread->registers) & ~UINT64_C(7);
    memset(bytes, 0, STACK_PAGES * PAGE);
    for (size_t i = 0, size; i < STACK_PAGES * PAGE; i += size, at += size) {
        const size_t left = STACK_PAGES * PAGE - i;
        size = PAGE - at % PAGE < left ? PAGE - at % PAGE : left;
        target_read_existing(thread->pid, at, bytes + i, size);
    }
}

static bool is_borrowed(const struct inject_stopped *thread, uint8_t bytes[STACK_PAGES * PAGE])
{
    enum { WORDS = STACK_PAGES * PAGE / sizeof(uint64_t) };
    read_stack(thread, bytes);
    for (size_t i = 0; i + ARCH_FRAME_MARK_WORDS <= WORDS; i++) {
        uint64_t words[ARCH_FRAME_MARK_WORDS];
        memcpy(words, bytes + i * sizeof *words, sizeof words);
        if (arch_frame_is_ours(words))
            return true;
    }
    return false;
}

struct finding {
    struct inject_stop stop;
    uint8_t *bytes;
    bool surely; /* without old frames in reused stack */
    bool is_any_borrowed;
};

static void find_borrowed(void *context)
{
    struct finding *finding = context;
    for (size_t i = 0; i < finding->stop.threads.count && !finding->is_any_borrowed; i++) {
        const struct inject_stopped *thread = &finding->stop.threads.items[i];
        finding->is_any_borrowed =
            (!finding->surely || blocks_all(thread)) && is_borrowed(thread, finding->bytes);
    }
}

/* 1: yes; 0: no; or a negative code. */
static int has_borrowed(pid_t pid, bool surely, uint8_t *bytes, struct sprof_error *error)
{
    struct finding finding = {.bytes = bytes, .surely = surely};
    const int result = inject_stop_while(&finding.stop, pid, find_borrowed, &finding, error);
    return result ? result : finding.is_any_borrowed;
}

int inject_recovery_wait(pid_t pid, struct sprof_error *error)
{
    const struct timespec pause = {.tv_nsec = BETWEEN_MS * 1000000};
    const uint64_t until_ns = sprof_clock_monotonic_ns() + PATIENCE_MS * UINT64_C(1000000);
    uint8_t *bytes = malloc(STACK_PAGES * PAGE);
    if (!bytes)
        return sprof_error_memory(error);
    int result;
    bool surely = false;
    while ((result = has_borrowed(pid, surely, bytes, error)) == 1 || result == SPROF_ESTATE) {
        if (surely)
            break;
        surely = sprof_clock_monotonic_ns() > until_ns;
        nanosleep(&pause, NULL);
    }
    free(bytes);
    return result == 1 ? sprof_error_set(error, SPROF_ESTATE, 0,
                                         "a thread of process %d that was borrowed by a trace that "
                                         "was killed has not come back yet",
                                         (int)pid)
                       : result;
}
