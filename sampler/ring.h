/* One ring the kernel writes and we read (perf_event_open(2), "MMAP layout"). Bytes in it come from
 * the kernel but are checked like any other input. */
#ifndef SPROF_SAMPLER_RING_H
#define SPROF_SAMPLER_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest record: its size is a 16-bit number. */
enum { RING_RECORD_MAX = 65536 };

struct ring {
    int fd;     /* the event that owns the ring; closed by ring_close */
    void *base; /* control page, then the data */
    uint8_t *data;
    size_t size;        /* of the data: a power of two */
    uint64_t head;      /* up to where the kernel had written when we last looked */
    uint64_t tail;      /* up to where we have read */
    uint64_t published; /* the tail the kernel knows */
    uint64_t scanned;   /* up to where deep stacks were looked for */
};

/* Maps `size` bytes of data (a power of two, whole pages) of the event `fd`, whose owner the ring
 * becomes. Returns 0 or a negative errno; then the descriptor stays the caller's. */
int ring_open(struct ring *ring, int fd, size_t size);
void ring_close(struct ring *ring);

/* Looks how far the kernel has written. Returns whether that is further than the last time. */
bool ring_refresh(struct ring *ring);

/* Gives what was read back to the kernel: once after many records. */
void ring_publish(struct ring *ring);

/* Records begin anywhere: the kernel cuts a sample's slice of the stack where addresses of user
 * mode end, so that a stack pointer near that end gives the record its own alignment, and with it
 * all that follow. 32-bit programs often do, others when they misalign their stacks. */

/* Reads the header of the record at `offset` (between tail and head). False at the head, and where
 * the bytes cannot be a record. */
bool ring_header(const struct ring *ring, uint64_t offset, struct perf_event_header *header);

/* Eight bytes at an offset. */
uint64_t ring_word(const struct ring *ring, uint64_t offset);

/* The record at an offset whose header was checked, aligned to eight: in place, or copied into
 * `buffer` (of at least RING_RECORD_MAX bytes, aligned); then *copied is set. */
const struct perf_event_header *ring_record(const struct ring *ring, uint64_t offset, void *buffer,
                                            bool *copied);

#endif
