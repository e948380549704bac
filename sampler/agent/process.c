/* Reads the rings of one process with an agent. */
#include "sampler/agent/process.h"

#include "base/compat.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Where a record's time stands (linux/perf_event.h): of samples behind header, identifier, ip and
 * tid; of others in the trailer at its end. */
enum { SAMPLE_TIME = 32, TRAILER_BYTES = 32, TRAILER_TIME = 24 };

static int make_memory(void)
{
    const int fd = memfd_create("sprof-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return -1;
    /* Else the target could shorten it, and reading would end the recorder. */
    if (ftruncate(fd, (off_t)AGENT_SHARED_BYTES) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return fd;
    close(fd);
    return -1;
}

struct sigprof_process *sigprof_process_new(pid_t pid, const struct agent_hello *hello,
                                            unsigned ring_shift, int *memory_fd)
{
    struct sigprof_process *process = calloc(1, sizeof *process);
    *memory_fd = make_memory();
    void *shared = *memory_fd < 0 ? MAP_FAILED
                                  : mmap(NULL, AGENT_SHARED_BYTES, PROT_READ | PROT_WRITE,
                                         MAP_SHARED | MAP_NORESERVE, *memory_fd, 0);
    if (!process || shared == MAP_FAILED) {
        if (*memory_fd >= 0)
            close(*memory_fd);
        free(process);
        return NULL;
    }
    *process = (struct sigprof_process){
        .pid = pid,
        .inner_pid = (pid_t)hello->pid,
        .pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
        .shared = shared,
        .ring_shift = ring_shift,
        .begin_ns = hello->time_ns,
        .has_cpu = true,
    };
    return process;
}

void sigprof_process_free(struct sigprof_process *process)
{
    if (!process)
        return;
    munmap(process->shared, AGENT_SHARED_BYTES);
    if (process->pidfd >= 0)
        close(process->pidfd);
    sprof_map_release(&process->mappings);
    sprof_map_release(&process->tids);
    sprof_vec_release(&process->strangers);
    free(process->rings);
    free(process);
}

static int grow(struct sigprof_process *process, size_t count)
{
    struct sigprof_ring *rings = realloc(process->rings, count * sizeof *rings);
    if (!rings)
        return SPROF_ENOMEM;
    for (size_t i = process->ring_count; i < count; i++)
        rings[i] = (struct sigprof_ring){.last_ns = process->begin_ns};
    process->rings = rings;
    process->ring_count = count;
    return 0;
}

/* A head that is not within the ring cannot be true: what is in it is passed over, unless it is
 * being read. */
static void look(struct sigprof_process *process, size_t index)
{
    struct sigprof_ring *ring = &process->rings[index];
    const uint64_t head =
        atomic_load_explicit(&process->shared->heads[index], memory_order_acquire);
    const size_t bytes = agent_ring_bytes(index, process->ring_shift);
    if (head - ring->tail <= bytes &&
        (!ring->queued || head - ring->tail >= ring->head - ring->tail))
        ring->head = head;
    else if (!ring->queued)
        ring->head = ring->tail = head;
    const pid_t tid =
        (pid_t)atomic_load_explicit(&process->shared->slots[index].tid, memory_order_relaxed);
    ring->missing_ns = tid == ring->tid ? ring->missing_ns : 0;
    ring->tid = tid;
}

int sigprof_process_refresh(struct sigprof_process *process)
{
    const size_t said =
        atomic_load_explicit(&process->shared->control.slots_used, memory_order_acquire);
    const size_t used = said < AGENT_SLOTS ? said : AGENT_SLOTS;
    if (used > process->ring_count && grow(process, used))
        return SPROF_ENOMEM;
    for (size_t i = 0; i < process->ring_count; i++)
        look(process, i);
    return 0;
}

static void copy(const struct sigprof_process *process, size_t index, uint64_t at, void *buffer,
                 size_t size)
{
    const size_t bytes = agent_ring_bytes(index, process->ring_shift);
    const uint8_t *ring = (const uint8_t *)process->shared + agent_ring_offset(index);
    const size_t start = (size_t)at & (bytes - 1);
    const size_t first = size < bytes - start ? size : bytes - start;
    memcpy(buffer, ring + start, first);
    memcpy((uint8_t *)buffer + first, ring, size - first);
}

static bool read_header(const struct sigprof_process *process, size_t index,
                        struct perf_event_header *header)
{
    const struct sigprof_ring *ring = &process->rings[index];
    const uint64_t left = ring->head - ring->tail;
    if (left < sizeof *header)
        return false;
    copy(process, index, ring->tail, header, sizeof *header);
    return header->size >= sizeof *header + TRAILER_BYTES && header->size <= left;
}

uint64_t sigprof_process_time_ns(struct sigprof_process *process, size_t index)
{
    struct sigprof_ring *ring = &process->rings[index];
    struct perf_event_header header;
    uint64_t time_ns = 0;
    if (read_header(process, index, &header)) {
        const size_t at = header.type == PERF_RECORD_SAMPLE ? (size_t)SAMPLE_TIME
                                                            : (size_t)header.size - TRAILER_TIME;
        copy(process, index, ring->tail + at, &time_ns, sizeof time_ns);
    }
    if (time_ns > ring->last_ns)
        ring->last_ns = time_ns;
    return ring->last_ns;
}

const struct perf_event_header *sigprof_process_take(struct sigprof_process *process, size_t index,
                                                     void *buffer)
{
    struct sigprof_ring *ring = &process->rings[index];
    struct perf_event_header header;
    if (!read_header(process, index, &header)) {
        ring->tail = ring->head;
        return NULL;
    }
    copy(process, index, ring->tail, buffer, header.size);
    memcpy(buffer, &header, sizeof header); /* it was checked, and may be another one by now */
    ring->tail += header.size;
    return buffer;
}

void sigprof_process_publish(struct sigprof_process *process)
{
    for (size_t i = 0; i < process->ring_count; i++) {
        struct sigprof_ring *ring = &process->rings[i];
        if (ring->published != ring->tail)
            atomic_store_explicit(&process->shared->slots[i].tail, ring->tail,
                                  memory_order_release);
        ring->published = ring->tail;
    }
}

bool sigprof_process_drained(const struct sigprof_process *process)
{
    for (size_t i = 0; i < process->ring_count; i++)
        if (process->rings[i].queued)
            return false;
    return true;
}

/* The clock of a whole process (CPUCLOCK_SCHED, include/linux/posix-timers_types.h). */
uint64_t sigprof_process_clock_ns(pid_t pid)
{
    struct timespec time;
    if (clock_gettime((clockid_t)(~(unsigned)pid << 3 | 2), &time))
        return 0;
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t sigprof_process_helper_ns(const struct sigprof_process *process)
{
    const uint64_t said_ns =
        atomic_load_explicit(&process->shared->control.helper_ns, memory_order_relaxed);
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    return process->helper_ns + (said_ns < now_ns ? said_ns : 0); /* or it lies */
}

pid_t sigprof_process_tid(const struct sigprof_process *process, pid_t said)
{
    return said == process->inner_pid ? process->pid : said;
}

size_t sigprof_process_ring_bytes(const struct sigprof_process *process)
{
    size_t bytes = 0;
    for (size_t i = 0; i < process->ring_count; i++)
        bytes += agent_ring_bytes(i, process->ring_shift);
    return bytes;
}
