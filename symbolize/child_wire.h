/* symbolize, inside: what a process that reads foreign files and the one that started it send each
 * other, over a socket of their own.
 *
 * The starter sends requests, one at a time. The child answers each with CHILD_ANSWER; before, it
 * may send questions, which the starter answers at once (CHILD_REPLY), and notices. The child is
 * not trusted: the starter checks lengths before it takes memory, and the child's answers before it
 * uses them. */
#ifndef SPROF_SYMBOLIZE_CHILD_WIRE_H
#define SPROF_SYMBOLIZE_CHILD_WIRE_H

#include "base/base.h"

#include <stdbool.h>
#include <sys/types.h>

enum child_kind {
    /* Requests. */
    CHILD_OPEN = 1,   /* struct child_open, path, root, debug directory; with the file */
    CHILD_PREPARABLE, /* answered by `number`, in bytes */
    CHILD_PREPARE,    /* addresses */
    CHILD_ASK,        /* addresses; answered by struct child_answer and what it counts */
    CHILD_CLOSE,
    CHILD_ANSWER,
    /* Questions of the child. */
    CHILD_FILE,   /* a path; answered by a file, or minus an errno */
    CHILD_ENTRY,  /* of the cache: struct child_entry; answered by a file, or a negative number */
    CHILD_BOUNDS, /* of all wanted addresses: answered by struct child_bounds of each */
    CHILD_REPLY,
    /* Notices of the child. */
    CHILD_PUT, /* into the cache: struct child_entry, content */
    CHILD_LOG, /* `number` is the level; a text */
};

struct child_header {
    uint32_t kind, unused;
    int64_t number;
    uint64_t size; /* of what follows */
};

struct child_open {
    uint64_t cpu_s, memory_bytes;                     /* what the child may use */
    uint32_t path_bytes, root_bytes, directory_bytes; /* 0: none */
    uint32_t threads;
    uint8_t symbols_only, has_cache, unused[6];
    struct sprof_digest salt; /* of the cache */
};

struct child_entry {
    struct sprof_digest key;
    uint64_t kind;
};

struct child_bounds {
    uint64_t start, end; /* both 0: unknown */
};

/* Behind it: functions, frames, `first`, texts. Texts are offsets + 1; 0: none. */
struct child_answer {
    uint64_t functions, frames, addresses, text_bytes;
    uint32_t problem; /* a text */
    uint32_t unused;
};

struct child_function {
    uint64_t start, size;
    uint32_t name, linkage_name, inlined_name, file, line, named;
};

struct child_frame {
    uint32_t function, file, line;
};

/* The child finds the socket here. */
enum { CHILD_SOCKET = 3, CHILD_PATH_MAX = 8192, CHILD_TEXT_MAX = 4096 };

/* Sends a message whose payload is the pieces one after the other, and a descriptor unless that is
 * -1. False: the other end is gone. */
bool symbolize_child_send(int socket, enum child_kind kind, int64_t number,
                          const struct sprof_bytes *pieces, size_t count, int fd);

/* Waits for a message's header. *fd is the descriptor that came with it, or -1; the caller's to
 * close. */
bool symbolize_child_receive(int socket, struct child_header *header, int *fd);

/* Takes the next `size` bytes of the message. */
bool symbolize_child_take(int socket, void *buffer, size_t size);

#endif
