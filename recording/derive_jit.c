/* Opens what names code made at run time, and distinguishes pieces of it that stood at one address
 * one after the other: samples of an older one get frames and stack nodes of their own. */
#include "recording/derive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* == Whose code it is == */

static struct derive_process *process_of(const struct derive *derive, uint32_t id)
{
    const uint64_t *at = id ? sprof_map_get(&derive->process_index, id) : NULL;
    return at ? &derive->processes.items[*at] : NULL;
}

static int note_process(void *context, const struct store_process *process)
{
    struct derive *derive = context;
    const struct derive_process made = {.parent = process->parent_id,
                                        .pid = process->pid,
                                        .start_ns = process->start_ns,
                                        .is_heir = process->parent_id != 0};
    if (process_of(derive, process->id)) /* of a run that goes on */
        return 0;
    return sprof_map_put(&derive->process_index, process->id, derive->processes.count) ||
                   sprof_vec_push(&derive->processes, made)
               ? SPROF_ENOMEM
               : 0;
}

/* A program that a process executes is mapped by itself; after a fork it is its parent's. */
static int note_program(void *context, const struct store_mapping *mapping)
{
    struct derive *derive = context;
    const struct derive_module *module = recording_derive_module(derive, mapping->module_id);
    struct derive_process *process = process_of(derive, mapping->process_id);
    derive->read.program = mapping->id;
    if (process && module && module->row.main_executable)
        process->is_heir = false;
    return 0;
}

int recording_derive_load_owners(struct derive *derive, struct sprof_error *error)
{
    int result = 0;
    bool has_owners = false;
    for (size_t i = 0; i < derive->modules.count; i++)
        has_owners |= derive->modules.items[i].row.process_id != 0;
    for (size_t i = 0; has_owners && i < derive->runs.count && !result; i++) {
        const uint32_t run = derive->runs.items[i].id;
        result = store_each_process(derive->store, run, note_process, derive, error);
        if (!result)
            result = derive->live
                         ? store_each_mapping_from(derive->store, derive->read.program + 1,
                                                   UINT32_MAX, note_program, derive, error)
                         : store_each_mapping(derive->store, run, note_program, derive, error);
    }
    for (size_t i = 0; i < derive->modules.count; i++) {
        struct derive_module *module = &derive->modules.items[i];
        const struct derive_process *process = process_of(derive, module->row.process_id);
        module->pid = process ? process->pid : 0;
    }
    return result;
}

/* == The files that name it == */

/* The path of a process's jitdump, which it maps, so that profilers find it; NULL: none. */
static const char *jitdump_path(const struct derive *derive, int ns_pid)
{
    char name[64];
    snprintf(name, sizeof name, "jit-%d.dump", ns_pid);
    for (size_t i = 0; i < derive->modules.count; i++) {
        const struct store_module *row = &derive->modules.items[i].row;
        if (row->name && strcmp(row->name, name) == 0)
            return row->path;
    }
    return NULL;
}

/* The files that were held while the process lived come first; a path may be another's by now. */
static int open_own(const struct derive *derive, int pid, struct symbolize_jit **jit,
                    struct sprof_error *why)
{
    const struct recording_jit_owner owner =
        recording_jit_owners_get(derive->source->jit_owners, pid);
    const char *dump = jitdump_path(derive, owner.ns_pid);
    char map[64];
    snprintf(map, sizeof map, "/tmp/perf-%d.map", (int)owner.ns_pid);
    if (owner.dump >= 0 && !symbolize_jit_open_found(jit, owner.dump, dump ? dump : "jitdump",
                                                     owner.uid, owner.start_ns, why))
        return 0;
    if (dump && owner.dump < 0 && owner.ns_pid == pid && !symbolize_jit_open_file(jit, dump, why))
        return 0;
    if (owner.map >= 0) {
        const int code =
            symbolize_jit_open_found(jit, owner.map, map, owner.uid, owner.start_ns, why);
        if (!code)
            symbolize_jit_date(*jit, owner.growth, owner.growth_count,
                               derive->source->jit_owners->looked_ns, owner.clock_ns);
        return code;
    }
    return symbolize_jit_open(jit, pid, owner.ns_pid, owner.uid, owner.start_ns, why);
}

/* When a process was forked, by the clock of its jitdump; UINT64_MAX without times: then code that
 * was loaded later cannot be distinguished. */
static uint64_t fork_ns(const struct derive *derive, const struct derive_process *process)
{
    const struct recording_derive_source *source = derive->source;
    if (!source->start_ns)
        return UINT64_MAX;
    return source->start_ns + process->start_ns +
           (uint64_t)recording_jit_owners_get(source->jit_owners, process->pid).clock_ns;
}

int recording_derive_open_jit(const struct derive *derive, const struct derive_module *module,
                              struct symbolize_jit **jit, struct sprof_error *why)
{
    enum { FORKS_MAX = 16 };
    int result = open_own(derive, module->pid, jit, why);
    if (!result)
        *why = (struct sprof_error){0}; /* a file that was tried before set it */
    uint64_t until_ns = UINT64_MAX;
    const struct derive_process *process = process_of(derive, module->row.process_id);
    for (int i = 0; i < FORKS_MAX && process && process->is_heir; i++) {
        const struct derive_process *parent = process_of(derive, process->parent);
        const uint64_t forked_ns = fork_ns(derive, process);
        struct symbolize_jit *former = NULL;
        until_ns = forked_ns < until_ns ? forked_ns : until_ns;
        process = parent;
        if (!parent || open_own(derive, parent->pid, &former, NULL))
            continue;
        if (symbolize_jit_succeed(former, until_ns, *jit)) {
            symbolize_jit_free(former);
            break;
        }
        symbolize_jit_free(*jit);
        *jit = former;
        result = 0;
    }
    return result;
}

/* == Frames of several pieces of code == */

/* Code that was at a frame's address before the newest. */
struct older {
    uint32_t frame;    /* position among the split's frames */
    uint32_t number;   /* how many pieces came after it; 0: the newest has its name */
    uint64_t until_ns; /* when the next piece took its place, CLOCK_MONOTONIC */
};

struct jit_frame {
    uint64_t address;
    uint32_t id;
};

struct split {
    struct derive *derive;
    uint64_t start_ns;                  /* of the run at hand, CLOCK_MONOTONIC */
    int64_t clock_ns;                   /* the clock of the process at hand is ahead by so much */
    SPROF_VEC(struct jit_frame) frames; /* of the module at hand, by address */
    SPROF_VEC(struct older) older;      /* of all, those of one frame newest first */
    struct sprof_map first, final;      /* frame's id → its first and last among them + 1 */
    SPROF_VEC(uint32_t) next;           /* of each: the next of its frame + 1 */
    SPROF_VEC(bool) is_marked;          /* by node: it or a caller of it is of such a frame */
    SPROF_VEC(struct store_node) rows;  /* of the marked nodes */
    struct sprof_map row_index;         /* node's id → position in `rows` + 1 */
    struct sprof_map made;              /* variant of a node, or of a frame → its id */
    SPROF_VEC(struct store_sample_node) moved;
    struct store_batch batch;
    struct store_ids last;
};

static int by_address(const void *left, const void *right)
{
    const struct jit_frame *a = left, *b = right;
    return (a->address > b->address) - (a->address < b->address);
}

static int note_older(void *context, size_t address, uint32_t number, uint64_t until_ns)
{
    struct split *split = context;
    const uint32_t frame = split->frames.items[address].id;
    const struct older older = {frame, number, until_ns - (uint64_t)split->clock_ns};
    uint64_t *final = sprof_map_at(&split->final, frame);
    if (!final || sprof_vec_push(&split->older, older) || sprof_vec_push(&split->next, 0))
        return SPROF_ENOMEM;
    const uint64_t before = *final;
    *final = split->older.count;
    if (before)
        split->next.items[before - 1] = (uint32_t)split->older.count;
    return before ? 0 : sprof_map_put(&split->first, frame, split->older.count);
}

static int find_older(struct split *split, const struct derive_module *module)
{
    const struct derive *derive = split->derive;
    struct symbolize_jit *jit = NULL;
    struct sprof_error why = {0};
    int result = 0;
    split->frames.count = 0;
    split->clock_ns = recording_jit_owners_get(derive->source->jit_owners, module->pid).clock_ns;
    if (recording_derive_open_jit(derive, module, &jit, &why))
        return 0;
    for (size_t i = 0; i < derive->frames.count && !result; i++) {
        const struct derive_frame *frame = &derive->frames.items[i];
        const struct jit_frame one = {frame->offset, frame->id};
        if (frame->module == module->row.id && !frame->key)
            result = sprof_vec_push(&split->frames, one);
    }
    uint64_t *addresses = malloc((split->frames.count + 1) * sizeof *addresses);
    if (!addresses)
        result = SPROF_ENOMEM;
    if (split->frames.count)
        qsort(split->frames.items, split->frames.count, sizeof *split->frames.items, by_address);
    for (size_t i = 0; i < split->frames.count && !result; i++)
        addresses[i] = split->frames.items[i].address;
    if (!result)
        result = symbolize_jit_each_older(jit, addresses, split->frames.count, note_older, split);
    free(addresses);
    symbolize_jit_free(jit);
    return result;
}

/* How many pieces of code were loaded at the frame's address after the sample's. */
static uint32_t number_at(const struct split *split, uint32_t frame, uint64_t time_ns)
{
    const uint64_t *first = sprof_map_get(&split->first, frame);
    uint32_t number = 0;
    for (size_t at = first ? (size_t)*first : 0; at; at = split->next.items[at - 1]) {
        if (time_ns >= split->older.items[at - 1].until_ns)
            break;
        number = split->older.items[at - 1].number;
    }
    return number;
}

/* == Nodes == */

static int mark_nodes(struct split *split)
{
    const struct derive *derive = split->derive;
    for (size_t i = 0; i < derive->nodes.count; i++) {
        const struct derive_node *node = &derive->nodes.items[i];
        const bool marked = sprof_map_get(&split->first, node->frame) ||
                            (node->parent && split->is_marked.items[node->parent - 1]);
        if (sprof_vec_push(&split->is_marked, marked))
            return SPROF_ENOMEM;
    }
    return 0;
}

static int keep_marked(void *context, const struct store_node *row)
{
    struct split *split = context;
    const size_t at = recording_derive_find_node(split->derive, row->id);
    if (!at || !split->is_marked.items[at - 1])
        return 0;
    return sprof_vec_push(&split->rows, *row) ||
                   sprof_map_put(&split->row_index, row->id, split->rows.count)
               ? SPROF_ENOMEM
               : 0;
}

/* Returns 0 where memory ran out. */
static uint32_t variant_of_frame(struct split *split, uint32_t id, uint32_t number)
{
    const uint64_t key = sprof_hash_pair(sprof_hash_pair(1, id), number);
    const uint64_t *known = sprof_map_get(&split->made, key);
    if (known)
        return (uint32_t)*known;
    const uint64_t *at = sprof_map_get(&split->derive->frame_index, id);
    const struct derive_frame *frame = &split->derive->frames.items[*at];
    const struct store_frame row = {.id = ++split->last.frame,
                                    .module_id = frame->module,
                                    .key = sprof_hash_pair(key, split->start_ns) | 1,
                                    .file_offset = frame->offset};
    if (sprof_vec_push(&split->batch.frames, row) || sprof_map_put(&split->made, key, row.id) ||
        sprof_map_put(&split->derive->older, row.id, number))
        return 0;
    return row.id;
}

/* The node that a sample's stack passes instead of this one. Returns 0 where memory ran out. */
static uint32_t variant_of_node(struct split *split, uint32_t id, uint64_t time_ns)
{
    const uint64_t *at = sprof_map_get(&split->row_index, id);
    if (!at)
        return id;
    struct store_node row = split->rows.items[*at - 1];
    const uint32_t number = number_at(split, row.frame_id, time_ns);
    const uint32_t parent = row.parent_id ? variant_of_node(split, row.parent_id, time_ns) : 0;
    if (!number && parent == row.parent_id)
        return id;
    const uint64_t key = sprof_hash_pair(sprof_hash_pair(sprof_hash_pair(2, id), parent), number);
    const uint64_t *known = sprof_map_get(&split->made, key);
    if (known || (row.parent_id && !parent))
        return known ? (uint32_t)*known : 0;
    row.id = ++split->last.node;
    row.parent_id = parent;
    row.frame_id = number ? variant_of_frame(split, row.frame_id, number) : row.frame_id;
    if (!row.frame_id || sprof_vec_push(&split->batch.nodes, row) ||
        sprof_map_put(&split->made, key, row.id))
        return 0;
    return row.id;
}

static int move_sample(void *context, const struct store_sample *sample)
{
    struct split *split = context;
    const uint32_t node =
        variant_of_node(split, sample->node_id, split->start_ns + sample->time_ns);
    const struct store_sample_node moved = {sample->id, node};
    if (!node)
        return SPROF_ENOMEM;
    return node == sample->node_id ? 0 : sprof_vec_push(&split->moved, moved);
}

static int move_samples(struct split *split, struct sprof_error *error)
{
    struct derive *derive = split->derive;
    int result = mark_nodes(split);
    if (!result)
        result = store_last_ids(derive->store, &split->last, error);
    if (!result)
        result = store_each_node(derive->store, keep_marked, split, error);
    for (size_t i = 0; i < derive->runs.count && !result; i++)
        if (!derive->runs.items[i].complete)
            result = store_each_raw_sample(derive->store, derive->runs.items[i].id, move_sample,
                                           split, error);
    if (!result && split->moved.count)
        result = store_move_samples(derive->store, &split->batch, split->moved.items,
                                    split->moved.count, error);
    return result;
}

static void release(struct split *split)
{
    sprof_vec_release(&split->frames);
    sprof_vec_release(&split->older);
    sprof_map_release(&split->first);
    sprof_map_release(&split->final);
    sprof_vec_release(&split->next);
    sprof_vec_release(&split->is_marked);
    sprof_vec_release(&split->rows);
    sprof_map_release(&split->row_index);
    sprof_map_release(&split->made);
    sprof_vec_release(&split->moved);
    store_batch_release(&split->batch);
}

int recording_derive_split_jit(struct derive *derive, bool *changed, struct sprof_error *error)
{
    struct split split = {.derive = derive, .start_ns = derive->source->start_ns};
    int result = 0;
    *changed = false;
    if (!split.start_ns || derive->live || derive->import)
        return 0;
    for (size_t i = 0; i < derive->modules.count && !result; i++) {
        const struct derive_module *module = &derive->modules.items[i];
        if (module->row.kind == MODEL_KIND_JIT && module->pid > 0)
            result = find_older(&split, module);
    }
    if (!result && split.older.count)
        result = move_samples(&split, error);
    *changed = split.moved.count > 0;
    release(&split);
    return result == SPROF_ENOMEM ? sprof_error_memory(error) : result;
}
