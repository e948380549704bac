/* Writes perf-format records into a thread's ring. */
#include "agent/preload/preload.h"

#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

uint64_t agent_ring_free(const struct agent_thread *thread)
{
    const struct agent_slot *slot = &agent_process.shared->slots[thread - agent_threads];
    const uint64_t used = thread->head - atomic_load_explicit(&slot->tail, memory_order_acquire);
    return used <= thread->ring_bytes ? thread->ring_bytes - used : 0;
}

void agent_ring_put(struct agent_thread *thread, const void *bytes, size_t size)
{
    const size_t start = (size_t)thread->head & (thread->ring_bytes - 1);
    const size_t first = size < thread->ring_bytes - start ? size : thread->ring_bytes - start;
    memcpy(thread->ring + start, bytes, first);
    memcpy(thread->ring, (const uint8_t *)bytes + first, size - first);
    thread->head += size;
}

void agent_ring_publish(struct agent_thread *thread)
{
    atomic_store_explicit(&agent_process.shared->heads[thread - agent_threads], thread->head,
                          memory_order_release);
}

/* Ends all records but samples: PERF_SAMPLE_TID, TIME, CPU, IDENTIFIER. */
struct trailer {
    uint32_t pid, tid;
    uint64_t time_ns;
    uint32_t cpu, reserved;
    uint64_t event_id;
};

static void put_record(struct agent_thread *thread, uint32_t type, const void *body, size_t size)
{
    const struct perf_event_header header = {
        .type = type, .size = (uint16_t)(sizeof header + size + sizeof(struct trailer))};
    const struct trailer trailer = {
        .pid = (uint32_t)thread->pid,
        .tid = (uint32_t)thread->tid,
        .time_ns = agent_time_ns(),
        .cpu = (uint32_t)sched_getcpu(),
        .event_id = AGENT_EVENT_BARE,
    };
    if (agent_ring_free(thread) < header.size)
        return;
    agent_ring_put(thread, &header, sizeof header);
    agent_ring_put(thread, body, size);
    agent_ring_put(thread, &trailer, sizeof trailer);
    agent_ring_publish(thread);
}

struct task {
    uint32_t pid, parent_pid, tid, parent_tid;
    uint64_t time_ns;
};

static struct task task_of(const struct agent_thread *thread)
{
    return (struct task){.pid = (uint32_t)thread->pid,
                         .parent_pid = (uint32_t)thread->pid,
                         .tid = (uint32_t)thread->tid,
                         .parent_tid = (uint32_t)thread->pid,
                         .time_ns = agent_time_ns()};
}

void agent_record_fork(struct agent_thread *thread)
{
    const struct task task = task_of(thread);
    put_record(thread, PERF_RECORD_FORK, &task, sizeof task);
}

void agent_record_name(struct agent_thread *thread)
{
    struct {
        uint32_t pid, tid;
        char name[16];
    } comm = {.pid = (uint32_t)thread->pid, .tid = (uint32_t)thread->tid};
    prctl(PR_GET_NAME, comm.name);
    put_record(thread, PERF_RECORD_COMM, &comm, sizeof comm);
}

void agent_record_end(struct agent_thread *thread)
{
    const struct {
        uint32_t pid, tid;
        uint64_t cpu_ns;
    } used = {(uint32_t)thread->pid, (uint32_t)thread->tid,
              agent_clock_ns(CLOCK_THREAD_CPUTIME_ID)};
    const struct task task = task_of(thread);
    agent_record_name(thread);
    put_record(thread, PERF_RECORD_READ, &used, sizeof used);
    if (thread->tid != thread->pid) /* the process continues; sprof detects its end */
        put_record(thread, PERF_RECORD_EXIT, &task, sizeof task);
}
