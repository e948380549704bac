/* The calls of all blocks as a table `call`, for SQL: SQLite requests calls, which are unpacked
 * from call_block as needed, also in the order in which they began on each thread.
 *
 * Calls are packed in the order of their ends. In the order of their beginnings, a block is needed
 * from the moment when the first of its calls began: so many blocks are open at a time as calls are
 * in flight, and of these a few stay unpacked. */
#include "store/calls_table.h"

#include "store/calls.h"
#include "store/rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum column {
    ID,
    RUN,
    THREAD,
    NODE,
    START,
    DURATION,
    SELF,
    DEPTH,
    EXIT,
    WORD,
    RUNNING = WORD + STORE_CALL_WORDS,
    WAITING,
    READY
};
static const char declaration[] =
    "CREATE TABLE call (id INTEGER, run_id INTEGER, thread_id INTEGER, node_id INTEGER,"
    " start_ns INTEGER, duration_ns INTEGER, self_ns INTEGER, depth INTEGER, exit INTEGER,"
    " word1 INTEGER, word2 INTEGER, word3 INTEGER, word4 INTEGER, word5 INTEGER, word6 INTEGER,"
    " running_ns INTEGER, waiting_ns INTEGER, ready_ns INTEGER)";

/* How a cursor reads: flags of idxNum. Its arguments come in the order of the first three. */
enum { OF_RUN = 1, OF_THREAD = 2, OF_ID = 4, BY_START = 8 };
enum { UNPACKED_MOST = 64 };

struct calls_table {
    sqlite3_vtab base;
    sqlite3 *database;
};

struct placed_call {
    struct store_call call;
    uint32_t place; /* in its block */
};

/* A block that has calls left. */
struct block {
    uint64_t id, run, thread;
    uint32_t calls, next;
    uint64_t next_start;        /* of the call at `next`, also while … */
    struct placed_call *placed; /* … this is NULL: it is not unpacked now. Owned */
};

struct cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *blocks, *bytes, *functions;
    bool by_start, has_next;      /* has_next: `blocks` stands at one that is not open */
    uint64_t only_place;          /* + 1; 0: all */
    SPROF_VEC(struct block) open; /* a heap, by thread and next_start */
    size_t unpacked;
    uint64_t functions_run; /* whose numbers are in … */
    struct sprof_map nodes;
};

/* == Connections == */

static int connect_table(sqlite3 *database, void *unused, int count, const char *const *arguments,
                         sqlite3_vtab **vtab, char **message)
{
    (void)unused, (void)count, (void)arguments, (void)message;
    int code = sqlite3_declare_vtab(database, declaration);
    if (code == SQLITE_OK)
        code = sqlite3_vtab_config(database, SQLITE_VTAB_INNOCUOUS);
    struct calls_table *table = code == SQLITE_OK ? calloc(1, sizeof *table) : NULL;
    if (!table)
        return code == SQLITE_OK ? SQLITE_NOMEM : code;
    table->database = database;
    *vtab = &table->base;
    return SQLITE_OK;
}

static int disconnect(sqlite3_vtab *vtab)
{
    free(vtab);
    return SQLITE_OK;
}

/* == Plans == */

/* By thread, start and depth, or the beginning of that. */
static bool is_flow(const sqlite3_index_info *info)
{
    static const int flow[] = {THREAD, START, DEPTH};
    if (info->nOrderBy < 1 || info->nOrderBy > 3)
        return false;
    for (int i = 0; i < info->nOrderBy; i++)
        if (info->aOrderBy[i].desc || info->aOrderBy[i].iColumn != flow[i])
            return false;
    return true;
}

static int plan(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    static const struct {
        int column, flag;
    } wanted[] = {{RUN, OF_RUN}, {THREAD, OF_THREAD}, {ID, OF_ID}};
    int arguments = 0;
    (void)vtab;
    info->estimatedCost = 1e9;
    info->estimatedRows = 1000000; /* so joins have an index of the other side */
    for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
        for (int i = 0; i < info->nConstraint; i++) {
            const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
            if (!constraint->usable || constraint->op != SQLITE_INDEX_CONSTRAINT_EQ ||
                constraint->iColumn != wanted[k].column || info->idxNum & wanted[k].flag)
                continue;
            info->idxNum |= wanted[k].flag;
            info->aConstraintUsage[i].argvIndex = ++arguments;
            info->estimatedCost /= wanted[k].flag == OF_ID ? 1e6 : 10;
            info->estimatedRows = wanted[k].flag == OF_ID ? 1 : info->estimatedRows;
        }
    if (is_flow(info)) {
        info->idxNum |= BY_START;
        info->orderByConsumed = 1;
    }
    return SQLITE_OK;
}

/* == Blocks == */

static bool comes_before(const struct block *one, const struct block *other)
{
    if (one->thread != other->thread)
        return one->thread < other->thread;
    return one->next_start != other->next_start ? one->next_start < other->next_start
                                                : one->id < other->id;
}

static void swap(struct block *one, struct block *other)
{
    const struct block kept = *one;
    *one = *other;
    *other = kept;
}

static void sift_up(struct cursor *cursor)
{
    struct block *open = cursor->open.items;
    for (size_t at = cursor->open.count - 1; at && comes_before(&open[at], &open[(at - 1) / 2]);
         at = (at - 1) / 2)
        swap(&open[at], &open[(at - 1) / 2]);
}

static void sift_down(struct cursor *cursor)
{
    struct block *open = cursor->open.items;
    const size_t count = cursor->open.count;
    for (size_t at = 0, below; (below = 2 * at + 1) < count; at = below) {
        if (below + 1 < count && comes_before(&open[below + 1], &open[below]))
            below++;
        if (!comes_before(&open[below], &open[at]))
            return;
        swap(&open[below], &open[at]);
    }
}

static int by_start(const void *one, const void *other)
{
    const struct placed_call *a = one, *b = other;
    if (a->call.start_ns != b->call.start_ns)
        return a->call.start_ns < b->call.start_ns ? -1 : 1;
    if (a->call.depth != b->call.depth)
        return a->call.depth < b->call.depth ? -1 : 1;
    return a->place < b->place ? -1 : a->place > b->place;
}

static int unpack(struct cursor *cursor, struct block *block)
{
    struct store_call_unpacker unpacker;
    int code = sqlite3_bind_int64(cursor->bytes, 1, (sqlite3_int64)block->id), result = 0;
    block->placed = malloc(block->calls * sizeof *block->placed);
    if (!block->placed || code != SQLITE_OK)
        return SQLITE_NOMEM;
    cursor->unpacked++;
    code = sqlite3_step(cursor->bytes);
    if (code == SQLITE_ROW) {
        struct sprof_bytes bytes = {sqlite3_column_blob(cursor->bytes, 0), 0};
        if (bytes.data)
            bytes.size = (size_t)sqlite3_column_bytes(cursor->bytes, 0);
        store_call_unpack_begin(&unpacker, bytes, block->calls);
        for (uint32_t i = 0; i < block->calls && !result; i++) {
            block->placed[i].place = i;
            result = store_call_unpack(&unpacker, &block->placed[i].call);
        }
        if (!result && store_call_unpack(&unpacker, &(struct store_call){0}) != 1)
            result = SPROF_EFORMAT; /* there is more than it says */
    }
    sqlite3_reset(cursor->bytes);
    if (code != SQLITE_ROW || result)
        return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_CORRUPT : code;
    if (cursor->by_start)
        qsort(block->placed, block->calls, sizeof *block->placed, by_start);
    return SQLITE_OK;
}

static void pack_away(struct cursor *cursor, struct block *block)
{
    cursor->unpacked -= block->placed != NULL;
    free(block->placed);
    block->placed = NULL;
}

static int step_blocks(struct cursor *cursor)
{
    const int code = sqlite3_step(cursor->blocks);
    cursor->has_next = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Opens the block at which `blocks` stands. */
static int open_next(struct cursor *cursor)
{
    const struct block block = {
        .id = (uint64_t)sqlite3_column_int64(cursor->blocks, 0),
        .run = (uint64_t)sqlite3_column_int64(cursor->blocks, 1),
        .thread = (uint64_t)sqlite3_column_int64(cursor->blocks, 2),
        .calls = (uint32_t)sqlite3_column_int64(cursor->blocks, 3),
        .next_start = (uint64_t)sqlite3_column_int64(cursor->blocks, 4),
    };
    if (!block.calls || block.calls > STORE_BLOCK_CALLS)
        return SQLITE_CORRUPT;
    if (sprof_vec_push(&cursor->open, block))
        return SQLITE_NOMEM;
    sift_up(cursor);
    return step_blocks(cursor);
}

/* Whether a block that is not open may hold a call that comes before those that are. */
static bool wants_next(const struct cursor *cursor)
{
    if (!cursor->has_next || !cursor->open.count)
        return cursor->has_next;
    const struct block *first = cursor->open.items;
    const uint64_t thread = (uint64_t)sqlite3_column_int64(cursor->blocks, 2);
    return cursor->by_start && thread == first->thread &&
           (uint64_t)sqlite3_column_int64(cursor->blocks, 4) <= first->next_start;
}

/* Unpacks the first block. What it says of its first call's start is made true: *moved. */
static int unpack_first(struct cursor *cursor, bool *moved)
{
    for (size_t i = 0; cursor->unpacked >= UNPACKED_MOST && i < cursor->open.count; i++)
        pack_away(cursor, &cursor->open.items[i]);
    struct block *first = cursor->open.items;
    const int code = unpack(cursor, first);
    const uint64_t start = code == SQLITE_OK ? first->placed[first->next].call.start_ns : 0;
    if (code != SQLITE_OK || start < first->next_start)
        return code != SQLITE_OK ? code : SQLITE_CORRUPT;
    *moved = cursor->by_start && start != first->next_start;
    if (*moved) {
        first->next_start = start;
        sift_down(cursor);
    }
    return SQLITE_OK;
}

/* Makes the call that comes next the next one of the first block. */
static int settle(struct cursor *cursor)
{
    int code = SQLITE_OK;
    for (bool moved = true; code == SQLITE_OK && moved;) {
        moved = false;
        while (code == SQLITE_OK && wants_next(cursor))
            code = open_next(cursor);
        if (code == SQLITE_OK && cursor->open.count && !cursor->open.items->placed)
            code = unpack_first(cursor, &moved);
    }
    return code;
}

static int next(sqlite3_vtab_cursor *base)
{
    struct cursor *cursor = (struct cursor *)base;
    struct block *first = cursor->open.items;
    do {
        first->next++;
    } while (cursor->only_place && first->next < first->calls &&
             first->placed[first->next].place + 1 != cursor->only_place);
    if (first->next < first->calls) {
        first->next_start = cursor->by_start ? first->placed[first->next].call.start_ns : 0;
        if (cursor->by_start)
            sift_down(cursor);
    } else {
        pack_away(cursor, first);
        *first = cursor->open.items[--cursor->open.count];
        sift_down(cursor);
    }
    return settle(cursor);
}

/* == Cursors == */

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **base)
{
    struct cursor *cursor = calloc(1, sizeof *cursor);
    (void)vtab;
    *base = cursor ? &cursor->base : NULL;
    return cursor ? SQLITE_OK : SQLITE_NOMEM;
}

static void empty(struct cursor *cursor)
{
    for (size_t i = 0; i < cursor->open.count; i++)
        free(cursor->open.items[i].placed);
    sprof_vec_release(&cursor->open);
    sprof_map_release(&cursor->nodes);
    sqlite3_finalize(cursor->blocks);
    sqlite3_finalize(cursor->bytes);
    sqlite3_finalize(cursor->functions);
    cursor->blocks = cursor->bytes = cursor->functions = NULL;
    cursor->unpacked = 0;
    cursor->functions_run = cursor->only_place = 0;
    cursor->has_next = false;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    empty((struct cursor *)base);
    free(base);
    return SQLITE_OK;
}

static int prepare(struct cursor *cursor, int flags)
{
    sqlite3 *database = ((struct calls_table *)cursor->base.pVtab)->database;
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT id, run_id, thread_id, calls, %s FROM call_block WHERE 1%s%s%s ORDER BY %s",
             flags & BY_START ? "first_ns" : "0", flags & OF_RUN ? " AND run_id = ?1" : "",
             flags & OF_THREAD ? " AND thread_id = ?2" : "", flags & OF_ID ? " AND id = ?3" : "",
             flags & BY_START ? "thread_id, first_ns, id" : "id");
    int code = sqlite3_prepare_v2(database, sql, -1, &cursor->blocks, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(database, "SELECT bytes FROM call_block WHERE id = ?1", -1,
                                  &cursor->bytes, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(database,
                                  "SELECT number, node_id FROM call_function WHERE run_id = ?1", -1,
                                  &cursor->functions, NULL);
    return code;
}

static int filter(sqlite3_vtab_cursor *base, int flags, const char *text, int count,
                  sqlite3_value **values)
{
    struct cursor *cursor = (struct cursor *)base;
    int at = 0;
    (void)text, (void)count;
    empty(cursor);
    cursor->by_start = flags & BY_START;
    int code = prepare(cursor, flags);
    if (code == SQLITE_OK && flags & OF_RUN)
        code = sqlite3_bind_value(cursor->blocks, 1, values[at++]);
    if (code == SQLITE_OK && flags & OF_THREAD)
        code = sqlite3_bind_value(cursor->blocks, 2, values[at++]);
    if (code == SQLITE_OK && flags & OF_ID) {
        const uint64_t id = (uint64_t)sqlite3_value_int64(values[at]);
        cursor->only_place = id % STORE_BLOCK_CALLS + 1;
        code = sqlite3_bind_int64(cursor->blocks, 3, (sqlite3_int64)(id / STORE_BLOCK_CALLS));
    }
    if (code == SQLITE_OK)
        code = step_blocks(cursor);
    if (code == SQLITE_OK)
        code = settle(cursor);
    if (code == SQLITE_OK && cursor->only_place && cursor->open.count &&
        cursor->open.items->placed->place + 1 != cursor->only_place)
        code = next(base);
    return code;
}

static int is_at_end(sqlite3_vtab_cursor *base)
{
    return !((struct cursor *)base)->open.count;
}

/* == Values == */

/* Numbers of functions are those of a run. */
static int node_of(struct cursor *cursor, const struct block *block, uint32_t function,
                   uint64_t *node)
{
    int code = SQLITE_DONE;
    if (cursor->functions_run != block->run) {
        sprof_map_clear(&cursor->nodes);
        sqlite3_bind_int64(cursor->functions, 1, (sqlite3_int64)block->run);
        while ((code = sqlite3_step(cursor->functions)) == SQLITE_ROW)
            if (sprof_map_put(&cursor->nodes, (uint64_t)sqlite3_column_int64(cursor->functions, 0),
                              (uint64_t)sqlite3_column_int64(cursor->functions, 1)))
                break;
        sqlite3_reset(cursor->functions);
        cursor->functions_run = block->run;
    }
    const uint64_t *known = sprof_map_get(&cursor->nodes, function);
    *node = known ? *known : 0;
    return code == SQLITE_DONE ? SQLITE_OK : code == SQLITE_ROW ? SQLITE_NOMEM : code;
}

static void give(sqlite3_context *context, uint64_t number, bool or_null)
{
    if (number || !or_null)
        sqlite3_result_int64(context, (sqlite3_int64)number);
}

/* NULL where it is not known. */
static void give_state(sqlite3_context *context, const struct store_call *call, enum column column)
{
    const uint64_t off_ns = call->waiting_ns + call->ready_ns;
    if (call->has_states)
        give(context,
             column == WAITING            ? call->waiting_ns
             : column == READY            ? call->ready_ns
             : off_ns < call->duration_ns ? call->duration_ns - off_ns
                                          : 0,
             false);
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    struct cursor *cursor = (struct cursor *)base;
    const struct block *block = cursor->open.items;
    const struct placed_call *placed = &block->placed[block->next];
    const struct store_call *call = &placed->call;
    uint64_t node;
    int code = SQLITE_OK;
    switch ((enum column)column) {
    case ID: give(context, block->id * STORE_BLOCK_CALLS + placed->place, false); break;
    case RUN: give(context, block->run, false); break;
    case THREAD: give(context, block->thread, false); break;
    case NODE:
        code = node_of(cursor, block, call->function, &node);
        give(context, node, true);
        break;
    case START: give(context, call->start_ns, false); break;
    case DURATION: give(context, call->duration_ns, true); break;
    case SELF:
        if (call->duration_ns)
            give(context, call->self_ns, false);
        break;
    case DEPTH: give(context, call->depth, false); break;
    case EXIT: give(context, call->exit, false); break;
    case RUNNING:
    case WAITING:
    case READY: give_state(context, call, (enum column)column); break;
    default: give(context, call->words[(column - WORD) % STORE_CALL_WORDS], false);
    }
    return code;
}

static int give_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *rowid)
{
    const struct block *block = ((struct cursor *)base)->open.items;
    *rowid = (sqlite3_int64)(block->id * STORE_BLOCK_CALLS + block->placed[block->next].place);
    return SQLITE_OK;
}

int store_offer_calls(sqlite3 *database)
{
    static const sqlite3_module module = {
        .xConnect = connect_table, /* and no xCreate: it is there without being created */
        .xBestIndex = plan,
        .xDisconnect = disconnect,
        .xDestroy = disconnect,
        .xOpen = open_cursor,
        .xClose = close_cursor,
        .xFilter = filter,
        .xNext = next,
        .xEof = is_at_end,
        .xColumn = give_column,
        .xRowid = give_rowid,
    };
    return sqlite3_create_module_v2(database, "call", &module, NULL, NULL);
}
