/* Finds addresses in flattened functions, and stores these. */
#include "symbolize/function_index.h"

#include <stdlib.h>
#include <string.h>

enum {
    INDEX_VERSION = 7,    /* raised whenever something else is stored */
    RANGES_MAX = 1 << 16, /* of one piece: a look-up goes through them */
    WORK_MAX = 1 << 28,   /* calls and ranges to check: pieces may share them */
};

uint32_t symbolize_function_index_text(struct function_index *index, const char *text)
{
    uint32_t number = 0;
    if (sprof_intern_put(&index->texts, text, &number))
        index->failed = true;
    return number ? number + index->loaded_bytes : 0;
}

const char *symbolize_function_index_text_of(const struct function_index *index, uint32_t number)
{
    if (!number)
        return NULL;
    return number <= index->loaded_bytes
               ? index->loaded + number - 1
               : sprof_intern_text(&index->texts, number - index->loaded_bytes);
}

#define APPEND(vec, other)                                                                         \
    ((other)->count == 0 ? 0                                                                       \
                         : sprof_vec_reserve((vec), (vec)->count + (other)->count) ||              \
                               (memcpy((vec)->items + (vec)->count, (other)->items,                \
                                       (other)->count * sizeof *(vec)->items),                     \
                                (vec)->count += (other)->count, 0))

static int append_all(struct function_index *index, const struct function_index *other)
{
    return APPEND(&index->descriptions, &other->descriptions) ||
           APPEND(&index->pieces, &other->pieces) || APPEND(&index->calls, &other->calls) ||
           APPEND(&index->ranges, &other->ranges) || APPEND(&index->lines, &other->lines);
}

/* Where something begins that was appended, and what its texts have become. */
struct appended {
    size_t descriptions, pieces, calls, ranges, lines;
    const uint32_t *texts;
};

static void renumber_appended(struct function_index *index, const struct appended *from)
{
    for (size_t i = from->descriptions; i < index->descriptions.count; i++) {
        struct index_description *description = &index->descriptions.items[i];
        description->linkage_name = from->texts[description->linkage_name];
        description->name = from->texts[description->name];
        description->file = from->texts[description->file];
    }
    for (size_t i = from->pieces; i < index->pieces.count; i++) {
        struct index_piece *piece = &index->pieces.items[i];
        piece->description += piece->description ? (uint32_t)from->descriptions : 0;
        piece->first_call += (uint32_t)from->calls;
        piece->first_range += (uint32_t)from->ranges;
        piece->first_line += (uint32_t)from->lines;
    }
    for (size_t i = from->calls; i < index->calls.count; i++) {
        index->calls.items[i].description += (uint32_t)from->descriptions;
        index->calls.items[i].file = from->texts[index->calls.items[i].file];
    }
    for (size_t i = from->lines; i < index->lines.count; i++)
        index->lines.items[i].file = from->texts[index->lines.items[i].file];
}

uint32_t *symbolize_function_index_append(struct function_index *index,
                                          const struct function_index *other)
{
    uint32_t *texts = calloc(other->texts.count + 1, sizeof *texts);
    const struct appended from = {index->descriptions.count, index->pieces.count,
                                  index->calls.count,        index->ranges.count,
                                  index->lines.count,        texts};
    for (uint32_t i = 1; texts && i <= other->texts.count; i++)
        texts[i] = symbolize_function_index_text(index, sprof_intern_text(&other->texts, i));
    if (!texts || index->failed || append_all(index, other)) {
        index->failed = true;
        free(texts);
        return NULL;
    }
    renumber_appended(index, &from);
    return texts;
}

/* The position breaks ties, so that the one that came first is first. */
static int by_low(const void *left, const void *right)
{
    const struct index_piece *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return (a->first_range > b->first_range) - (a->first_range < b->first_range);
}

void symbolize_function_index_sort(struct function_index *index)
{
    struct index_piece *items = index->pieces.items;
    size_t kept = 0;
    if (items)
        qsort(items, index->pieces.count, sizeof *items, by_low);
    for (size_t i = 0; i < index->pieces.count; i++)
        if (!kept || items[i].low >= items[kept - 1].high)
            items[kept++] = items[i];
    index->pieces.count = kept;
}

const struct index_piece *symbolize_function_index_find(const struct function_index *index,
                                                        uint64_t vaddr)
{
    const struct index_piece *items = index->pieces.items;
    size_t low = 0, high = index->pieces.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (items[middle].high <= vaddr)
            low = middle + 1;
        else
            high = middle;
    }
    return low < index->pieces.count && vaddr >= items[low].low ? &items[low] : NULL;
}

/* Ranges stand in the order in which calls nest: the first that covers the address below the
 * innermost call so far goes on inwards. */
const struct index_call *symbolize_function_index_innermost(const struct function_index *index,
                                                            const struct index_piece *piece,
                                                            uint64_t vaddr)
{
    if (!piece->range_count)
        return NULL;
    const struct index_call *calls = index->calls.items + piece->first_call;
    const struct index_range *ranges = index->ranges.items + piece->first_range;
    uint32_t innermost = 0;
    for (uint32_t i = 0; i < piece->range_count; i++)
        if (vaddr - piece->low >= ranges[i].low && vaddr - piece->low < ranges[i].high &&
            calls[ranges[i].call - 1].parent == innermost)
            innermost = ranges[i].call;
    return innermost ? &calls[innermost - 1] : NULL;
}

const struct index_call *symbolize_function_index_outer(const struct function_index *index,
                                                        const struct index_piece *piece,
                                                        const struct index_call *inner)
{
    return inner->parent ? index->calls.items + piece->first_call + inner->parent - 1 : NULL;
}

const struct index_line *symbolize_function_index_line(const struct function_index *index,
                                                       const struct index_piece *piece,
                                                       uint64_t vaddr)
{
    size_t low = 0, high = piece->line_count;
    const struct index_line *lines =
        piece->line_count ? &index->lines.items[piece->first_line] : NULL;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (lines[middle].low <= vaddr - piece->low)
            low = middle + 1;
        else
            high = middle;
    }
    return low && (lines[low - 1].file || lines[low - 1].line) ? &lines[low - 1] : NULL;
}

/* Gives a vector memory of its own. */
#define OWN(index, vec)                                                                            \
    do {                                                                                           \
        const void *loaded = (vec)->items;                                                         \
        const size_t count = (vec)->count;                                                         \
        (vec)->items = NULL;                                                                       \
        (vec)->count = 0;                                                                          \
        if (count && !sprof_vec_reserve((vec), count + count / 8)) {                               \
            memcpy((vec)->items, loaded, count * sizeof *(vec)->items);                            \
            (vec)->count = count;                                                                  \
        } else if (count) {                                                                        \
            (index)->failed = true;                                                                \
        }                                                                                          \
    } while (0)

void symbolize_function_index_own(struct function_index *index)
{
    if (!index->borrowed)
        return;
    OWN(index, &index->descriptions);
    OWN(index, &index->pieces);
    OWN(index, &index->calls);
    OWN(index, &index->ranges);
    OWN(index, &index->lines);
    index->borrowed = false;
}

void symbolize_function_index_release(struct function_index *index)
{
    sprof_intern_release(&index->texts);
    if (!index->borrowed) {
        sprof_vec_release(&index->descriptions);
        sprof_vec_release(&index->pieces);
        sprof_vec_release(&index->calls);
        sprof_vec_release(&index->ranges);
        sprof_vec_release(&index->lines);
    }
    free(index->storage);
    *index = (struct function_index){0};
}

/* == Storing == */

/* What is stored: this, the arrays in this order, and the texts, each ended by a NUL; the number of
 * a text is where it begins, plus 1. */
struct header {
    uint64_t version, pieces, descriptions, calls, ranges, lines, text_bytes, whole;
};

/* Where the texts that were added begin in the stored ones; NULL where memory or numbers run out.
 */
static uint32_t *gather_texts(const struct function_index *index, struct sprof_str *texts)
{
    uint32_t *stored = calloc(index->texts.count + 1, sizeof *stored);
    if (index->loaded_bytes)
        sprof_str_append_bytes(texts, index->loaded, index->loaded_bytes);
    for (uint32_t i = 1; stored && i <= index->texts.count; i++) {
        const char *text = sprof_intern_text(&index->texts, i);
        stored[i] = (uint32_t)texts->length + 1;
        sprof_str_append_bytes(texts, text, strlen(text) + 1);
    }
    if (!texts->failed && texts->length < CACHE_ENTRY_BYTES_MAX)
        return stored;
    free(stored);
    return NULL;
}

static void renumber(const struct function_index *index, const uint32_t *stored, uint32_t *number)
{
    if (*number > index->loaded_bytes)
        *number = stored[*number - index->loaded_bytes];
}

void symbolize_function_index_store(struct function_index *index, struct cache *cache,
                                    struct sprof_digest key)
{
    struct sprof_str texts = {0};
    symbolize_function_index_own(index);
    uint32_t *stored = index->failed ? NULL : gather_texts(index, &texts);
    if (stored) {
        for (size_t i = 0; i < index->descriptions.count; i++) {
            renumber(index, stored, &index->descriptions.items[i].linkage_name);
            renumber(index, stored, &index->descriptions.items[i].name);
            renumber(index, stored, &index->descriptions.items[i].file);
        }
        for (size_t i = 0; i < index->calls.count; i++)
            renumber(index, stored, &index->calls.items[i].file);
        for (size_t i = 0; i < index->lines.count; i++)
            renumber(index, stored, &index->lines.items[i].file);
        free(index->storage);
        sprof_intern_release(&index->texts);
        index->storage = (uint8_t *)texts.text;
        index->loaded = texts.text;
        index->loaded_bytes = (uint32_t)texts.length;
        const struct header header = {
            .version = INDEX_VERSION,
            .pieces = index->pieces.count,
            .descriptions = index->descriptions.count,
            .calls = index->calls.count,
            .ranges = index->ranges.count,
            .lines = index->lines.count,
            .text_bytes = texts.length,
            .whole = index->whole,
        };
#define BYTES_OF(vec)                                                                              \
    {                                                                                              \
        (const uint8_t *)(vec).items, (vec).count * sizeof *(vec).items                            \
    }
        const struct sprof_bytes pieces[] = {
            {(const uint8_t *)&header, sizeof header},
            BYTES_OF(index->pieces),
            BYTES_OF(index->descriptions),
            BYTES_OF(index->calls),
            BYTES_OF(index->ranges),
            BYTES_OF(index->lines),
            {(const uint8_t *)texts.text, texts.length},
        };
#undef BYTES_OF
        cache_put(cache, CACHE_LINES, key, pieces, sizeof pieces / sizeof *pieces);
    } else {
        sprof_str_release(&texts);
    }
    free(stored);
}

/* == Checking == */

/* Whether `count` items from `first` on lie among `all`. */
static bool is_inside(uint32_t first, uint32_t count, size_t all)
{
    return first <= all && count <= all - first;
}

static bool calls_are_valid(const struct function_index *index, const struct index_piece *piece)
{
    const struct index_call *calls = index->calls.items + piece->first_call;
    const struct index_range *ranges = index->ranges.items + piece->first_range;
    for (uint32_t i = 0; i < piece->call_count; i++)
        if (calls[i].parent > i)
            return false;
    for (uint32_t i = 0; i < piece->range_count; i++)
        if (!ranges[i].call || ranges[i].call > piece->call_count)
            return false;
    return true;
}

static bool pieces_are_valid(const struct function_index *index)
{
    uint64_t end = 0, work = 0;
    for (size_t i = 0; i < index->pieces.count; i++) {
        const struct index_piece *piece = &index->pieces.items[i];
        work += (uint64_t)piece->call_count + piece->range_count;
        if (piece->low < end || piece->high <= piece->low ||
            piece->description > index->descriptions.count || piece->range_count > RANGES_MAX ||
            piece->call_count > RANGES_MAX || work > WORK_MAX ||
            !is_inside(piece->first_call, piece->call_count, index->calls.count) ||
            !is_inside(piece->first_range, piece->range_count, index->ranges.count) ||
            !is_inside(piece->first_line, piece->line_count, index->lines.count) ||
            !calls_are_valid(index, piece))
            return false;
        end = piece->high;
    }
    return true;
}

/* Texts begin behind a NUL: those that shared their ends could be far longer together than all. */
static bool is_text(const struct function_index *index, uint32_t number)
{
    return number <= 1 ? number <= index->loaded_bytes
                       : number <= index->loaded_bytes && !index->loaded[number - 2];
}

/* Every text is one of the texts, which end with a NUL. */
static bool texts_are_valid(const struct function_index *index)
{
    if (index->loaded_bytes && index->loaded[index->loaded_bytes - 1])
        return false;
    for (size_t i = 0; i < index->descriptions.count; i++) {
        const struct index_description *description = &index->descriptions.items[i];
        if (!is_text(index, description->linkage_name) || !is_text(index, description->name) ||
            !is_text(index, description->file))
            return false;
    }
    for (size_t i = 0; i < index->calls.count; i++)
        if (!index->calls.items[i].description ||
            index->calls.items[i].description > index->descriptions.count ||
            !is_text(index, index->calls.items[i].file))
            return false;
    for (size_t i = 0; i < index->lines.count; i++)
        if (!is_text(index, index->lines.items[i].file))
            return false;
    return true;
}

/* Takes `wanted` items of a vector from the reader, where they stay; false where there are fewer.
 */
#define TAKE_ITEMS(vec, wanted, reader)                                                            \
    ((wanted) <= sprof_reader_left(reader) / sizeof *(vec)->items &&                               \
     ((vec)->items = (void *)(uintptr_t)(reader)->next, (vec)->count = (size_t)(wanted),           \
      sprof_reader_take((reader), (size_t)(wanted) * sizeof *(vec)->items), true))

bool symbolize_function_index_take(struct function_index *index, struct sprof_bytes bytes)
{
    struct header header = {0};
    struct sprof_reader reader = sprof_reader_of(bytes);
    const uint8_t *head = bytes.data ? sprof_reader_take(&reader, sizeof header) : NULL;
    if (head)
        memcpy(&header, head, sizeof header);
    index->storage = (uint8_t *)bytes.data;
    index->borrowed = true;
    bool valid = header.version == INDEX_VERSION &&
                 TAKE_ITEMS(&index->pieces, header.pieces, &reader) &&
                 TAKE_ITEMS(&index->descriptions, header.descriptions, &reader) &&
                 TAKE_ITEMS(&index->calls, header.calls, &reader) &&
                 TAKE_ITEMS(&index->ranges, header.ranges, &reader) &&
                 TAKE_ITEMS(&index->lines, header.lines, &reader) &&
                 header.text_bytes == sprof_reader_left(&reader);
    if (valid) {
        index->loaded = (const char *)reader.next;
        index->loaded_bytes = (uint32_t)header.text_bytes;
        index->whole = header.whole != 0;
        valid = pieces_are_valid(index) && texts_are_valid(index);
    }
    if (!valid)
        symbolize_function_index_release(index);
    return valid;
}

bool symbolize_function_index_load(struct function_index *index, struct cache *cache,
                                   struct sprof_digest key)
{
    return symbolize_function_index_take(index, cache_get(cache, CACHE_LINES, key));
}
