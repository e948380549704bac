/* Tells the sampler where a thread's calls in flight are found. */
#include "agent/probe/inside.h"
#include "agent/probe/offsets.h"

struct thread;
extern _Thread_local __attribute__((tls_model("initial-exec"))) struct thread probe_thread;
extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden"))); /* of the agent's file */

void probe_publish(void)
{
    struct probe_window *window = (struct probe_window *)(uintptr_t)PROBE_RECORDS;
    uint64_t thread_pointer;
    __asm__("movq %%fs:0, %0" : "=r"(thread_pointer));
    window->innermost = (uint64_t)(uintptr_t)&probe_thread + THREAD_INNERMOST - thread_pointer;
    window->code = (uint64_t)(uintptr_t)__ehdr_start;
    window->code_end = (uint64_t)(uintptr_t)probe_copies + (PROBE_THUNKS + 1) * PROBE_COPY_BYTES;
    window->magic = PROBE_WINDOW_MAGIC;
}

bool probe_is_published(const struct probe_window *window)
{
    return window->magic == PROBE_WINDOW_MAGIC && window->code == (uint64_t)(uintptr_t)__ehdr_start;
}
