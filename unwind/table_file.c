/* Tables as bytes that can be stored, and back. What every look-up needs is read and checked at
 * once: the blocks and the rules. Pages, functions and kept sections, perhaps 20 MB, stay in the
 * file until a look-up comes to them; look-ups bear whatever they hold. */
#include "unwind/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the bytes begin with; the arrays follow in the order of `enum part`, each at a multiple of
 * ALIGNMENT. The first ones and the header are the head; the others are the body, of which every
 * piece has a checksum. Numbers are in the machine's own byte order. */
enum part { BLOCKS, RULES, CHECKSUMS, PAGES, FUNCTIONS, KEPT_EH_FRAME, KEPT_DEBUG_FRAME, PARTS };
struct header {
    uint64_t checksum; /* of the head, from behind this field on */
    uint64_t version, base, span;
    uint64_t count[PARTS];
    uint64_t kept_vaddr[UNWIND_KEPTS], text_vaddr, got_vaddr;
    uint64_t rows, complex_rows, bad_functions;
};

enum { ALIGNMENT = 64, FIRST_OF_BODY = PAGES };

static const size_t item_sizes[PARTS] = {
    [BLOCKS] = sizeof(struct unwind_block),
    [RULES] = sizeof(uint64_t),
    [CHECKSUMS] = sizeof(uint64_t),
    [PAGES] = sizeof(struct unwind_page),
    [FUNCTIONS] = sizeof(struct unwind_function),
    [KEPT_EH_FRAME] = 1,
    [KEPT_DEBUG_FRAME] = 1,
};

static size_t aligned(size_t size)
{
    return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

static size_t pieces_of(size_t body_bytes)
{
    return (body_bytes + UNWIND_STORED_PIECE - 1) / UNWIND_STORED_PIECE;
}

static size_t size_of_parts(const struct header *header, size_t first, size_t end)
{
    size_t size = 0;
    for (size_t i = first; i < end; i++)
        size += aligned((size_t)header->count[i] * item_sizes[i]);
    return size;
}

static size_t head_bytes(const struct header *header)
{
    return aligned(sizeof *header) + size_of_parts(header, 0, FIRST_OF_BODY);
}

static uint64_t head_checksum(const uint8_t *bytes, size_t size)
{
    return sprof_hash_bytes(bytes + sizeof(uint64_t), size - sizeof(uint64_t));
}

static uint64_t piece_checksum(const uint8_t *body, size_t body_bytes, size_t piece)
{
    const size_t start = piece * UNWIND_STORED_PIECE, left = body_bytes - start;
    return sprof_hash_bytes(body + start, left < UNWIND_STORED_PIECE ? left : UNWIND_STORED_PIECE);
}

/* Whether the counts add up to the size: then every array lies inside. */
static bool sizes_are_valid(const struct header *header, uint64_t size)
{
    for (size_t i = 0; i < PARTS; i++)
        if (header->count[i] > size / item_sizes[i])
            return false;
    const size_t body = size_of_parts(header, FIRST_OF_BODY, PARTS);
    return head_bytes(header) + (uint64_t)body == size && header->span &&
           header->span <= UINT32_MAX && header->count[CHECKSUMS] == pieces_of(body) &&
           header->count[BLOCKS] == unwind_table_blocks((uint32_t)header->span);
}

/* == Saving == */

void unwind_table_seal(struct sprof_bytes bytes)
{
    struct header *header = (struct header *)(uintptr_t)bytes.data;
    if (!sizes_are_valid(header, bytes.size))
        return;
    const size_t head = head_bytes(header);
    const uint8_t *body = bytes.data + head;
    uint64_t *checksums = (uint64_t *)(uintptr_t)(body - aligned((size_t)header->count[CHECKSUMS] *
                                                                 sizeof *checksums));
    for (size_t i = 0; i < header->count[CHECKSUMS]; i++)
        checksums[i] = piece_checksum(body, bytes.size - head, i);
    header->checksum = head_checksum(bytes.data, head);
}

/* Reads all of a stored table that is still in the file. */
static void read_all(const struct unwind_table *table);

int unwind_table_save(const struct unwind_table *table, struct sprof_bytes *bytes)
{
    const struct unwind_kept_section *eh_frame = &table->kept[UNWIND_KEPT_EH_FRAME],
                                     *debug_frame = &table->kept[UNWIND_KEPT_DEBUG_FRAME];
    const void *const items[PARTS] = {table->blocks,    table->rules.rules, NULL,
                                      table->pages,     table->functions,   eh_frame->data,
                                      debug_frame->data};
    struct header header = {
        .version = UNWIND_TABLE_VERSION,
        .base = table->base,
        .span = table->span,
        .count = {unwind_table_blocks(table->span), table->rules.count, 0, table->page_count,
                  table->function_count, eh_frame->size, debug_frame->size},
        .kept_vaddr = {0, eh_frame->vaddr, debug_frame->vaddr},
        .text_vaddr = eh_frame->size ? eh_frame->text_vaddr : debug_frame->text_vaddr,
        .got_vaddr = eh_frame->size ? eh_frame->got_vaddr : debug_frame->got_vaddr,
        .rows = table->facts.rows,
        .complex_rows = table->facts.complex_rows,
        .bad_functions = table->facts.bad_functions,
    };
    header.count[CHECKSUMS] = pieces_of(size_of_parts(&header, FIRST_OF_BODY, PARTS));
    const size_t size = head_bytes(&header) + size_of_parts(&header, FIRST_OF_BODY, PARTS);
    uint8_t *data = aligned_alloc(ALIGNMENT, size), *at = data;
    if (!data)
        return SPROF_ENOMEM;
    read_all(table);
    memset(at, 0, aligned(sizeof header));
    memcpy(at, &header, sizeof header);
    at += aligned(sizeof header);
    for (size_t i = 0; i < PARTS; i++) {
        const size_t part = (size_t)header.count[i] * item_sizes[i];
        if (part && items[i])
            memcpy(at, items[i], part);
        memset(at + part, 0, aligned(part) - part);
        at += aligned(part);
    }
    *bytes = (struct sprof_bytes){data, size};
    unwind_table_seal(*bytes);
    return 0;
}

/* == Reading == */

enum piece_state { IN_FILE, PRESENT };

struct unwind_stored {
    uint8_t *bytes; /* of the size of all; those of the body come when they are needed */
    size_t size;
    uint8_t *body;
    const uint64_t *checksums;
    int fd; /* -1: everything is present */
    uint64_t offset;
    pthread_mutex_t mutex;   /* of the readers */
    _Atomic uint8_t *states; /* of pieces: enum piece_state */
};

static void read_piece(struct unwind_stored *stored, size_t piece)
{
    uint8_t *start = stored->body + piece * UNWIND_STORED_PIECE;
    const size_t left = (size_t)(stored->bytes + stored->size - start);
    const size_t size = left < UNWIND_STORED_PIECE ? left : UNWIND_STORED_PIECE;
    if (sprof_file_read(stored->fd, stored->offset + (uint64_t)(start - stored->bytes), start,
                        size) != size ||
        sprof_hash_bytes(start, size) != stored->checksums[piece])
        memset(start, 0, size);
}

void unwind_stored_read(struct unwind_stored *stored, const void *data, size_t size)
{
    if (stored->fd < 0 || !size)
        return;
    const size_t first = (size_t)((const uint8_t *)data - stored->body);
    for (size_t i = first / UNWIND_STORED_PIECE; i <= (first + size - 1) / UNWIND_STORED_PIECE;
         i++) {
        if (atomic_load_explicit(&stored->states[i], memory_order_acquire) == PRESENT)
            continue;
        pthread_mutex_lock(&stored->mutex);
        if (atomic_load_explicit(&stored->states[i], memory_order_relaxed) == IN_FILE)
            read_piece(stored, i);
        atomic_store_explicit(&stored->states[i], PRESENT, memory_order_release);
        pthread_mutex_unlock(&stored->mutex);
    }
}

static void read_all(const struct unwind_table *table)
{
    if (table->stored)
        unwind_stored_read(
            table->stored, table->stored->body,
            (size_t)(table->stored->bytes + table->stored->size - table->stored->body));
}

void unwind_stored_free(struct unwind_stored *stored)
{
    if (!stored)
        return;
    if (stored->bytes)
        munmap(stored->bytes, stored->size);
    if (stored->fd >= 0)
        close(stored->fd);
    pthread_mutex_destroy(&stored->mutex);
    free((void *)stored->states);
    free(stored);
}

/* Address space for all of it, of which only what is read takes memory. */
static struct unwind_stored *stored_new(size_t size, int fd, uint64_t offset)
{
    struct unwind_stored *stored = calloc(1, sizeof *stored);
    if (!stored)
        return NULL;
    *stored = (struct unwind_stored){.size = size, .fd = fd, .offset = offset};
    pthread_mutex_init(&stored->mutex, NULL);
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    stored->bytes = bytes == MAP_FAILED ? NULL : bytes;
    stored->states = calloc(pieces_of(size) + 1, 1);
    if (stored->bytes && stored->states) {
        madvise(bytes, size, MADV_NOHUGEPAGE);
        return stored;
    }
    stored->fd = -1;
    unwind_stored_free(stored);
    return NULL;
}

/* == Checking == */

/* Blocks have their pages one after the other; neighbours where no row begins share one. */
static bool blocks_are_valid(const struct unwind_table *table)
{
    const size_t blocks = unwind_table_blocks(table->span);
    size_t pages = 0;
    for (size_t i = 0; i < blocks; i++) {
        const struct unwind_block *block = &table->blocks[i];
        const bool shares = i && block->is_plain && table->blocks[i - 1].is_plain;
        if (block->shift > UNWIND_BLOCK_SHIFT || block->shift < UNWIND_PAGE_SHIFT_MIN ||
            (block->is_plain && block->shift != UNWIND_BLOCK_SHIFT) ||
            block->first != (shares ? table->blocks[i - 1].first : pages))
            return false;
        pages += shares ? 0 : (size_t)1 << (UNWIND_BLOCK_SHIFT - block->shift);
        if (pages > table->page_count)
            return false;
    }
    return true;
}

static bool rules_are_valid(const struct unwind_table *table)
{
    for (size_t i = 0; i < table->rules.count; i++)
        if (!unwind_rule_is_valid(table->rules.rules[i]))
            return false;
    return table->rules.count != 0;
}

/* == Loading == */

static void point_into(struct unwind_table *table, const struct header *header,
                       struct unwind_stored *stored)
{
    uint8_t *items[PARTS], *at = stored->bytes + aligned(sizeof *header);
    for (size_t i = 0; i < PARTS; i++) {
        items[i] = at;
        at += aligned((size_t)header->count[i] * item_sizes[i]);
    }
    stored->body = items[FIRST_OF_BODY];
    stored->checksums = (const uint64_t *)items[CHECKSUMS];
    *table = (struct unwind_table){
        .base = header->base,
        .span = (uint32_t)header->span,
        .blocks = (struct unwind_block *)items[BLOCKS],
        .pages = (struct unwind_page *)items[PAGES],
        .page_count = (size_t)header->count[PAGES],
        .rules = {.rules = (uint64_t *)items[RULES], .count = (size_t)header->count[RULES]},
        .functions = (struct unwind_function *)items[FUNCTIONS],
        .function_count = (size_t)header->count[FUNCTIONS],
        .stored = stored,
        .facts = {.rows = (size_t)header->rows,
                  .rules = (size_t)header->count[RULES],
                  .complex_rows = (size_t)header->complex_rows,
                  .functions = (size_t)header->count[FUNCTIONS],
                  .bad_functions = (size_t)header->bad_functions,
                  .bytes = sizeof *table + stored->size},
    };
    for (size_t i = UNWIND_KEPT_EH_FRAME; i < UNWIND_KEPTS; i++)
        table->kept[i] = (struct unwind_kept_section){
            .data = items[KEPT_EH_FRAME + i - UNWIND_KEPT_EH_FRAME],
            .size = (size_t)header->count[KEPT_EH_FRAME + i - UNWIND_KEPT_EH_FRAME],
            .vaddr = header->kept_vaddr[i],
            .text_vaddr = header->text_vaddr,
            .got_vaddr = header->got_vaddr,
        };
}

/* The table whose head has been read to where it belongs; NULL, and nothing freed, where that is
 * not sound. */
static struct unwind_table *table_of(struct unwind_stored *stored, const struct header *header)
{
    struct unwind_table *table = malloc(sizeof *table);
    if (!table)
        return NULL;
    point_into(table, header, stored);
    if (head_checksum(stored->bytes, head_bytes(header)) == header->checksum &&
        rules_are_valid(table) && blocks_are_valid(table))
        return table;
    free(table);
    return NULL;
}

/* The same of one that has been read to its end. */
static struct unwind_table *table_of_all(struct unwind_stored *stored, const struct header *header)
{
    struct unwind_table *table = table_of(stored, header);
    const size_t body = stored->size - head_bytes(header);
    for (size_t i = 0; table && i < header->count[CHECKSUMS]; i++)
        if (stored->checksums[i] != piece_checksum(stored->body, body, i)) {
            free(table);
            table = NULL;
        }
    return table;
}

struct unwind_table *unwind_table_open(int fd, uint64_t offset)
{
    enum { AT_ONCE = 256 * 1024 }; /* small ones need no open file */
    struct header header;
    struct unwind_table *table = NULL;
    struct unwind_stored *stored = NULL;
    const off_t end = lseek(fd, 0, SEEK_END);
    const uint64_t size = end > 0 && (uint64_t)end > offset ? (uint64_t)end - offset : 0;
    if (size >= sizeof header &&
        sprof_file_read(fd, offset, &header, sizeof header) == sizeof header &&
        header.version == UNWIND_TABLE_VERSION && sizes_are_valid(&header, size))
        stored = stored_new((size_t)size, size <= AT_ONCE ? -1 : fd, offset);
    if (stored) {
        const size_t wanted = stored->fd < 0 ? stored->size : head_bytes(&header);
        if (sprof_file_read(fd, offset, stored->bytes, wanted) == wanted)
            table = stored->fd < 0 ? table_of_all(stored, &header) : table_of(stored, &header);
    }
    if (!stored || stored->fd < 0)
        close(fd);
    if (!table)
        unwind_stored_free(stored);
    return table;
}

struct unwind_table *unwind_table_load(struct sprof_bytes bytes)
{
    struct header header;
    struct unwind_stored *stored = NULL;
    if (bytes.size < sizeof header)
        return NULL;
    memcpy(&header, bytes.data, sizeof header);
    if (header.version == UNWIND_TABLE_VERSION && sizes_are_valid(&header, bytes.size))
        stored = stored_new(bytes.size, -1, 0);
    if (!stored)
        return NULL;
    memcpy(stored->bytes, bytes.data, bytes.size);
    struct unwind_table *table = table_of_all(stored, &header);
    if (!table)
        unwind_stored_free(stored);
    return table;
}
