/* Reads 300 MiB of random bytes by io_uring, in a worker that the kernel makes in this process.
 * Prints how much CPU time the process used, nanoseconds; ends with 77 where there is no io_uring.
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { READS = 300, ENTRIES = 4 };

static uint8_t bytes[1 << 20];

static void *map(int fd, uint64_t offset, size_t size)
{
    void *mapped =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)offset);
    if (mapped == MAP_FAILED)
        exit(1);
    return mapped;
}

int main(void)
{
    struct io_uring_params params = {0};
    const int ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &params),
              file = open("/dev/urandom", O_RDONLY);
    if (ring < 0 || file < 0)
        return 77;
    uint8_t *sent = map(ring, IORING_OFF_SQ_RING, params.sq_off.array + ENTRIES * sizeof(uint32_t));
    uint8_t *answered = map(ring, IORING_OFF_CQ_RING,
                            params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe));
    struct io_uring_sqe *entries = map(ring, IORING_OFF_SQES, ENTRIES * sizeof *entries);
    uint32_t *tail = (uint32_t *)(sent + params.sq_off.tail),
             *order = (uint32_t *)(sent + params.sq_off.array),
             *head = (uint32_t *)(answered + params.cq_off.head);
    const struct io_uring_cqe *results = (void *)(answered + params.cq_off.cqes);
    for (uint32_t i = 0; i < READS; i++) {
        entries[i % ENTRIES] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
                                                     .flags = IOSQE_ASYNC,
                                                     .fd = file,
                                                     .addr = (uintptr_t)bytes,
                                                     .len = sizeof bytes};
        order[i % ENTRIES] = i % ENTRIES;
        __atomic_store_n(tail, i + 1, __ATOMIC_RELEASE);
        if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1 ||
            results[i % params.cq_entries].res != sizeof bytes)
            return 1;
        __atomic_store_n(head, i + 1, __ATOMIC_RELEASE);
    }
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    printf("%llu\n",
           (unsigned long long)used.tv_sec * 1000000000 + (unsigned long long)used.tv_nsec);
    return 0;
}
