/* Adds parts of a file to a digest, large ones by several threads: pieces are hashed in any order
 * and chained in that of the file. They are read, not mapped, like all of an image. */
#include "image/elf_file.h"

#include <stdatomic.h>
#include <stdlib.h>

static const uint64_t worth_threads = 4 << 20; /* bytes */

/* A part of the file; of one longer than allowed its head and its tail. */
struct part {
    const struct image *image;
    uint64_t offset, size, head, skipped;
    size_t head_pieces, count;
};

struct piece {
    size_t size, got;
    struct sprof_digest digest;
};

struct hashing {
    const struct part *part;
    struct piece *pieces;
    atomic_size_t next;
};

static size_t pieces_in(uint64_t bytes)
{
    return (size_t)((bytes + IMAGE_PIECE - 1) / IMAGE_PIECE);
}

/* Through a buffer of the stack's size: one of the heap's would cost more to get than to read. */
static struct piece hash_piece(const struct part *part, size_t number)
{
    uint8_t bytes[IMAGE_PIECE];
    const bool in_tail = number >= part->head_pieces;
    const uint64_t at =
        in_tail ? part->head + part->skipped + (uint64_t)(number - part->head_pieces) * IMAGE_PIECE
                : (uint64_t)number * IMAGE_PIECE;
    const uint64_t left = (in_tail ? part->size : part->head) - at;
    struct piece piece = {.size = left < IMAGE_PIECE ? (size_t)left : IMAGE_PIECE};
    piece.got = image_read(part->image, part->offset + at, bytes, piece.size);
    piece.digest = sprof_digest_of_piece(bytes, piece.got);
    return piece;
}

static void *hash_pieces(void *context)
{
    struct hashing *hashing = context;
    size_t number;
    while ((number = atomic_fetch_add(&hashing->next, 1)) < hashing->part->count)
        hashing->pieces[number] = hash_piece(hashing->part, number);
    return NULL;
}

/* False at the end of the file. */
static bool chain(struct sprof_digest *digest, const struct piece *piece)
{
    if (piece->got)
        sprof_digest_chain(digest, piece->digest, piece->got);
    return piece->got == piece->size;
}

void image_digest_add(const struct image *image, uint64_t offset, uint64_t size, uint64_t most,
                      unsigned threads, struct sprof_digest *digest)
{
    struct part part = {.image = image, .offset = offset, .size = size};
    part.head = size <= most ? size : most / 2;
    part.skipped = size <= most ? 0 : size - most;
    part.head_pieces = pieces_in(part.head);
    part.count = part.head_pieces + pieces_in(size - part.skipped - part.head);
    struct hashing hashing = {.part = &part};
    if (threads > 1 && size >= worth_threads)
        hashing.pieces = malloc(part.count * sizeof *hashing.pieces);
    if (hashing.pieces) {
        struct sprof_threads others;
        sprof_threads_start(&others, threads - 1, hash_pieces, &hashing);
        hash_pieces(&hashing);
        sprof_threads_join(&others);
    }
    sprof_digest_add_number(digest, size);
    for (size_t i = 0; i < part.count; i++) {
        const struct piece piece = hashing.pieces ? hashing.pieces[i] : hash_piece(&part, i);
        if (!chain(digest, &piece))
            break;
    }
    free(hashing.pieces);
}
