/* One ring that we read and another writes: the kernel (perf_event_open(2), "MMAP layout"),
 * or an agent in the target. Records in it have perf's format. Bytes are checked like any other
 * input. */
#ifndef SPROF_SAMPLER_RING_H
#define SPROF_SAMPLER_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest record: its size is a 16-bit number. */
enum { SAMPLER_RING_RECORD_MAX = 65536 };

struct sampler_ring {
    const uint8_t *data;
    size_t size;             /* of the data: a power of two */
    const uint64_t *written; /* shared: up to where the writer has written, ever growing */
    uint64_t *read;          /* shared: up to where we have given room back */
    uint64_t head;           /* up to where the writer had written when we last looked */
    uint64_t tail;           /* up to where we have read */
    uint64_t published;      /* the tail that was given to the writer */
    uint64_t scanned;        /* up to where deep stacks were looked for */
    uint64_t last_ns;        /* time of the record that was read last */
    bool untrusted; /* the writer may change what it has written: records are always copied */
    int fd;         /* the event that owns the ring, closed with it; -1: none */
    void *mapping;  /* unmapped with the ring; NULL: the memory is another's */
    size_t mapping_size;
};

/* A ring in memory that stays the caller's. */
struct sampler_ring sampler_ring_of(const uint8_t *data, size_t size, const uint64_t *written,
                                    uint64_t *read);

/* Maps `size` bytes of data (a power of two, whole pages) of the perf event `fd`, whose owner the
 * ring becomes. Returns 0 or a negative errno; then the descriptor stays the caller's. */
int sampler_ring_open(struct sampler_ring *ring, int fd, size_t size);
void sampler_ring_close(struct sampler_ring *ring);

/* Looks how far has been written. Returns whether that is further than the last time. */
bool sampler_ring_refresh(struct sampler_ring *ring);

/* Gives what was read back to the writer: once after many records. */
void sampler_ring_publish(struct sampler_ring *ring);

/* Records begin anywhere: the kernel cuts a sample's slice of the stack where addresses of user
 * mode end, so that a stack pointer near that end gives the record its own alignment, and with it
 * all that follow. 32-bit programs often do, others when they misalign their stacks. */

/* Reads the header of the record at `offset` (between tail and head). False at the head, and where
 * the bytes cannot be a record. */
bool sampler_ring_header(const struct sampler_ring *ring, uint64_t offset,
                         struct perf_event_header *header);

/* Eight bytes at an offset. */
uint64_t sampler_ring_word(const struct sampler_ring *ring, uint64_t offset);

/* The record at an offset whose header was read by sampler_ring_header, aligned to eight: in place,
 * or copied into `buffer` (of at least SAMPLER_RING_RECORD_MAX bytes, aligned); then *copied is
 * set. */
const struct perf_event_header *sampler_ring_record(const struct sampler_ring *ring,
                                                    uint64_t offset,
                                                    const struct perf_event_header *header,
                                                    void *buffer, bool *copied);

#endif
