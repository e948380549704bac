/* Describes in the window where the sampler finds open calls. */
#include "agent/probe/table.h"

extern const uint8_t __ehdr_start[] __attribute__((visibility("hidden")));

void probe_publish(void)
{
    struct probe_window *window = (struct probe_window *)(uintptr_t)PROBE_RECORDS;
    window->innermost = (uint64_t)probe_thread_at() + offsetof(struct thread, innermost);
    window->code = (uint64_t)(uintptr_t)__ehdr_start;
    window->code_end = (uint64_t)(uintptr_t)probe_copies + (PROBE_THUNKS + 1) * ARCH_COPY_BYTES;
    window->table = probe_describe_table();
    window->magic = PROBE_WINDOW_MAGIC;
}

bool probe_is_published(const struct probe_window *window)
{
    return window->magic == PROBE_WINDOW_MAGIC && window->code == (uint64_t)(uintptr_t)__ehdr_start;
}
