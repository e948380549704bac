/* Copies the rows of one recording to another, under the ids that they have there. */
#include "store/merge_input.h"

#include "store/places.h"

#include <string.h>
#include <unistd.h>

/* Rows of a run keep their order and get ids after the last ones; what runs share is found by its
 * content or added. */
struct copying {
    struct merge_output *output;
    struct store *input;
    struct sprof_error *error;
    struct store_ids base; /* added to ids of events, phases, processes, threads, mappings */
    struct sprof_map runs; /* run → its number in the output, where it is copied */
    struct sprof_map processes, threads; /* … of those runs → 1 */
    struct sprof_map modules; /* module → id; 0: it belongs to a run that is left out */
    struct sprof_map functions, frames, nodes, paths; /* likewise */
    struct sprof_map node_paths;                      /* node → path, both as in the input */
    SPROF_VEC(struct store_frame) inlined;            /* in order of id, texts in the arena */
    struct sprof_map inlined_index;                   /* id → position */
    struct sprof_arena arena;
    uint64_t salt; /* keeps stacks of runs that are not derived yet apart from others */
    uint64_t boot; /* of the only run; 0: there are several */
    bool all;      /* no run is left out */
};

void merge_output_release(struct merge_output *output)
{
    sprof_map_release(&output->run_keys);
    sprof_map_release(&output->modules);
    sprof_map_release(&output->canonical);
    sprof_map_release(&output->module_owner);
    sprof_map_release(&output->functions);
    sprof_map_release(&output->frames);
    sprof_map_release(&output->nodes);
    sprof_map_release(&output->paths);
}

static int no_memory(const struct copying *copying)
{
    return sprof_error_memory(copying->error);
}

static int damaged(const struct copying *copying)
{
    return sprof_error_set(copying->error, SPROF_EFORMAT, 0,
                           "%s: the recording is damaged: it refers to rows that are missing; copy "
                           "it again from where it came, or leave it out with --skip-damaged",
                           copying->input->path);
}

int merge_check_stopped(const struct merge_output *output, struct sprof_error *error)
{
    return output->stopped && output->stopped()
               ? sprof_error_set(error, SPROF_ESTATE, 0, "the merge was stopped")
               : 0;
}

static int put(struct copying *copying, enum store_table_id table, const void *row)
{
    enum { ROWS_BETWEEN_LOOKS = 4096 };
    struct merge_output *output = copying->output;
    const int stopped =
        ++output->rows % ROWS_BETWEEN_LOOKS ? 0 : merge_check_stopped(output, copying->error);
    return stopped ? stopped : store_put(copying->output->store, table, row, 1, copying->error);
}

static int has(const struct sprof_map *map, uint32_t id)
{
    return sprof_map_get(map, id) != NULL;
}

/* Looks an id up in a map; false where a row of the file is missing. Id 0 is 0. */
static bool translate(const struct sprof_map *map, uint32_t *id)
{
    const uint64_t *found = *id ? sprof_map_get(map, *id) : NULL;
    if (*id && !found)
        return false;
    *id = found ? (uint32_t)*found : 0;
    return true;
}

static uint64_t hash_text(const char *text)
{
    return text ? sprof_hash_text(text) : 1;
}

/* The id that `content` has in the output, or the next one: then it is added to *added. */
static int find_or_add(struct copying *copying, struct sprof_map *known, uint64_t content,
                       uint32_t *last, uint32_t *id, bool *added)
{
    const uint64_t *found = sprof_map_get(known, content);
    *added = !found;
    *id = found ? (uint32_t)*found : *last + 1;
    if (found)
        return 0;
    if (*last == UINT32_MAX)
        return sprof_error_set(copying->error, SPROF_ELIMIT, 0,
                               "%s: the merged recording would hold more rows than ids",
                               copying->input->path);
    if (sprof_map_put(known, content, *id))
        return no_memory(copying);
    *last = *id;
    return 0;
}

/* == Rows of runs == */

static int copy_run(void *context, const struct store_run *run)
{
    struct copying *copying = context;
    struct merge_output *output = copying->output;
    if (has(&copying->runs, run->id) || sprof_map_get(&output->run_keys, run->key)) {
        output->repeated++;
        copying->all = false;
        return 0;
    }
    struct store_run row = *run;
    row.id = ++output->last.run;
    output->runs++;
    if (run->state != STORE_COMPLETE)
        copying->salt = row.id;
    copying->boot = copying->runs.count ? 0 : hash_text(run->boot_id);
    if (sprof_map_put(&output->run_keys, run->key, 1) ||
        sprof_map_put(&copying->runs, run->id, row.id))
        return no_memory(copying);
    return put(copying, STORE_RUN, &row);
}

static void note_id(uint32_t *last, uint32_t id)
{
    if (id > *last)
        *last = id;
}

/* A row that has `run_id` and nothing else to translate but an id of its own. */
#define COPY_OF_RUN(name, row_type, table, ...)                                                    \
    static int copy_##name(void *context, const struct row_type *from)                             \
    {                                                                                              \
        struct copying *copying = context;                                                         \
        struct row_type row = *from;                                                               \
        if (!has(&copying->runs, row.run_id))                                                      \
            return 0;                                                                              \
        translate(&copying->runs, &row.run_id);                                                    \
        __VA_ARGS__                                                                                \
        return put(copying, table, &row);                                                          \
    }
#define SHIFT(kind)                                                                                \
    row.id += copying->base.kind;                                                                  \
    note_id(&copying->output->last.kind, row.id);
#define SHIFT_EVENT row.event_id += copying->base.event;
#define SHIFT_THREAD                                                                               \
    if (!has(&copying->threads, row.thread_id))                                                    \
        return damaged(copying);                                                                   \
    row.thread_id += copying->base.thread;
#define TRANSLATE(map, field)                                                                      \
    if (!translate(&copying->map, &row.field) || !row.field)                                       \
        return damaged(copying);

COPY_OF_RUN(event, store_event, STORE_EVENT, SHIFT(event))
COPY_OF_RUN(phase, store_phase, STORE_PHASE, SHIFT(phase))
COPY_OF_RUN(process, store_process, STORE_PROCESS,
            if (sprof_map_put(&copying->processes, row.id,
                              row.id + copying->base.process)) return no_memory(copying);
            SHIFT(process) row.parent_id += row.parent_id ? copying->base.process : 0;)
COPY_OF_RUN(ledger, store_ledger, STORE_LEDGER, SHIFT_EVENT)
COPY_OF_RUN(counter, store_counter, STORE_COUNTER)
COPY_OF_RUN(failed, store_failed, STORE_FAILED, row.id = 0; SHIFT_THREAD)
COPY_OF_RUN(sample, store_sample, STORE_SAMPLE, row.id += copying->base.sample;
            SHIFT_EVENT SHIFT_THREAD TRANSLATE(nodes,
                                               node_id) if (row.id > copying->output->last.sample)
                copying->output->last.sample = row.id;)
COPY_OF_RUN(
    sample_summary, store_sample_summary, STORE_SAMPLE_SUMMARY, if (row.first_sample) {
        row.first_sample += copying->base.sample;
        row.last_sample += copying->base.sample;
    })
COPY_OF_RUN(event_cost, store_event_cost, STORE_EVENT_COST, SHIFT_EVENT)
COPY_OF_RUN(thread_cost, store_thread_cost, STORE_THREAD_COST, SHIFT_EVENT SHIFT_THREAD)
COPY_OF_RUN(path_cost, store_cost, STORE_PATH_COST, SHIFT_EVENT TRANSLATE(paths, id))
COPY_OF_RUN(function_cost, store_cost, STORE_FUNCTION_COST, SHIFT_EVENT TRANSLATE(functions, id))
COPY_OF_RUN(module_cost, store_cost, STORE_MODULE_COST,
            SHIFT_EVENT TRANSLATE(modules, id) translate(&copying->output->module_owner, &row.id);)
COPY_OF_RUN(line_cost, store_cost, STORE_LINE_COST, SHIFT_EVENT TRANSLATE(frames, id))
COPY_OF_RUN(edge_cost, store_edge_cost, STORE_EDGE_COST,
            SHIFT_EVENT TRANSLATE(functions, edge.caller) TRANSLATE(functions, edge.callee))
COPY_OF_RUN(thread_node_cost, store_thread_node_cost, STORE_THREAD_NODE_COST,
            SHIFT_EVENT SHIFT_THREAD TRANSLATE(nodes, node_id))
COPY_OF_RUN(slot_cost, store_slot_cost, STORE_SLOT_COST,
            SHIFT_EVENT SHIFT_THREAD TRANSLATE(nodes, node_id))
COPY_OF_RUN(place_cost, store_place_cost, STORE_PLACE_COST, SHIFT_EVENT SHIFT_THREAD)

/* Packs the entries of a block anew, under the ids that they have in the output. */
static int repack(struct copying *copying, const struct store_place_block *block,
                  struct store_place_packer *packer)
{
    struct store_place_unpacker unpacker;
    struct store_place_entry row;
    int status = 0;
    store_place_unpack_begin(&unpacker, block->bytes, block->entries);
    while (!(status = store_place_unpack(&unpacker, &row))) {
        SHIFT_THREAD
        TRANSLATE(nodes, node_id)
        if (store_place_pack(packer, &row))
            return no_memory(copying);
    }
    return status < 0 ? damaged(copying) : 0;
}

static int copy_place_block(void *context, const struct store_place_block *from)
{
    struct copying *copying = context;
    struct store_place_block row = *from;
    struct store_place_packer packer = {0};
    if (!has(&copying->runs, row.run_id))
        return 0;
    translate(&copying->runs, &row.run_id);
    SHIFT_EVENT
    int status = repack(copying, from, &packer);
    row.bytes = (struct sprof_bytes){packer.bytes.items, packer.bytes.count};
    if (!status)
        status = put(copying, STORE_PLACE_BLOCK, &row);
    store_place_packer_release(&packer);
    return status;
}

COPY_OF_RUN(call_cost, store_call_cost, STORE_CALL_COST,
            SHIFT_EVENT SHIFT_THREAD TRANSLATE(nodes, node_id))
COPY_OF_RUN(call_latency, store_call_latency, STORE_CALL_LATENCY,
            SHIFT_EVENT TRANSLATE(functions, function_id))

#define SHIFT_THREAD_IF_ANY                                                                        \
    if (row.thread_id) {                                                                           \
        SHIFT_THREAD                                                                               \
    }
COPY_OF_RUN(entry_coverage, store_entry_coverage, STORE_ENTRY_COVERAGE,
            TRANSLATE(nodes, node_id) SHIFT_THREAD_IF_ANY)
COPY_OF_RUN(phase_option, store_phase_option, STORE_PHASE_OPTION,
            row.phase_id += copying->base.phase;)
COPY_OF_RUN(selection, store_selection, STORE_SELECTION)
COPY_OF_RUN(probe_event, store_probe_event, STORE_PROBE_EVENT,
            if (row.node_id){TRANSLATE(nodes, node_id)})
COPY_OF_RUN(probe, store_probe, STORE_PROBE, TRANSLATE(nodes, node_id))
COPY_OF_RUN(call_untimed, store_call_untimed, STORE_CALL_UNTIMED,
            SHIFT_THREAD TRANSLATE(nodes, node_id))
COPY_OF_RUN(call_tail_cut, store_call_tail_cut, STORE_CALL_TAIL_CUT,
            SHIFT_THREAD TRANSLATE(nodes, node_id))
COPY_OF_RUN(call_outside, store_call_outside, STORE_CALL_OUTSIDE,
            SHIFT_THREAD TRANSLATE(nodes, node_id))
COPY_OF_RUN(outside_cost, store_outside_cost, STORE_OUTSIDE_COST, TRANSLATE(nodes, node_id))
COPY_OF_RUN(call_stack, store_call_stack, STORE_CALL_STACK, TRANSLATE(nodes, node_id))
COPY_OF_RUN(call_heap, store_call_heap, STORE_CALL_HEAP, TRANSLATE(nodes, node_id))
COPY_OF_RUN(call_block, store_call_block, STORE_CALL_BLOCK, row.id = 0; SHIFT_THREAD)
COPY_OF_RUN(call_function, store_call_function, STORE_CALL_FUNCTION, TRANSLATE(nodes, node_id))
COPY_OF_RUN(probe_ledger, store_probe_ledger, STORE_PROBE_LEDGER, TRANSLATE(nodes, node_id))
COPY_OF_RUN(keep_rule, store_keep_rule, STORE_KEEP_RULE)
COPY_OF_RUN(keep_span, store_keep_span, STORE_KEEP_SPAN)
COPY_OF_RUN(request_part, store_request_part, STORE_REQUEST_PART, SHIFT_THREAD)
COPY_OF_RUN(kept_call, store_kept_call, STORE_KEPT_CALL, SHIFT_THREAD TRANSLATE(nodes, node_id))
COPY_OF_RUN(call_value, store_call_value, STORE_CALL_VALUE)
COPY_OF_RUN(warning, store_warning, STORE_WARNING, SHIFT_THREAD TRANSLATE(nodes, node_id))
COPY_OF_RUN(wake, store_wake, STORE_WAKE, row.id = 0;
            if (row.waker_thread_id &&
                !has(&copying->threads, row.waker_thread_id)) return damaged(copying);
            row.waker_thread_id += row.waker_thread_id ? copying->base.thread : 0; SHIFT_THREAD)
COPY_OF_RUN(lock_name, store_lock_name, STORE_LOCK_NAME,
            if (!has(&copying->processes, row.process_id)) return damaged(copying);
            row.process_id += copying->base.process;)
COPY_OF_RUN(event_field, store_event_field, STORE_EVENT_FIELD, SHIFT_EVENT)
COPY_OF_RUN(sample_fields, store_sample_fields, STORE_SAMPLE_FIELDS, row.id = 0;
            SHIFT_EVENT SHIFT_THREAD)
/* What another user's file says of its users is not believed in one of the caller's own. */
COPY_OF_RUN(sampled_user, store_sampled_user, STORE_SAMPLED_USER,
            if (store_owner(copying->input) != geteuid()) return 0;)
COPY_OF_RUN(coverage, store_coverage, STORE_COVERAGE,
            TRANSLATE(functions, function_id) SHIFT_THREAD_IF_ANY)

static int copy_process_origin(void *context, const struct store_process_origin *from)
{
    struct copying *copying = context;
    struct store_process_origin row = *from;
    if (!has(&copying->processes, row.process_id))
        return copying->all ? damaged(copying) : 0;
    row.process_id += copying->base.process;
    return put(copying, STORE_PROCESS_ORIGIN, &row);
}

static int copy_thread(void *context, const struct store_thread *from)
{
    struct copying *copying = context;
    struct store_thread row = *from;
    if (!has(&copying->processes, row.process_id))
        return copying->all ? damaged(copying) : 0;
    if (sprof_map_put(&copying->threads, row.id, 1))
        return no_memory(copying);
    row.process_id += copying->base.process;
    SHIFT(thread)
    return put(copying, STORE_THREAD, &row);
}

/* == What runs share == */

/* Modules are one where all of their row is the same; those of one process, and the kernel, whose
 * addresses differ at each boot, only where they cannot differ. */
static uint64_t module_content(const struct copying *copying, const struct store_module *row)
{
    const bool shared =
        row->key && !row->process_id && (row->kind != MODEL_KIND_KERNEL || copying->boot);
    if (!shared)
        return sprof_hash_pair(0, copying->output->last.module + 1);
    uint64_t content = sprof_hash_pair(sprof_hash_pair(1, row->key), row->kind);
    content = sprof_hash_pair(content, sprof_hash_text(row->path));
    content = sprof_hash_pair(content, sprof_hash_text(row->name));
    content = sprof_hash_pair(content, hash_text(row->problem));
    content = sprof_hash_pair(content, sprof_hash_bytes(row->build_id.data, row->build_id.size));
    content = sprof_hash_pair(content, row->main_executable);
    return row->kind == MODEL_KIND_KERNEL ? sprof_hash_pair(content, copying->boot) : content;
}

static int copy_module(void *context, const struct store_module *from)
{
    struct copying *copying = context;
    struct merge_output *output = copying->output;
    struct store_module row = *from;
    bool added;
    if (row.process_id && !translate(&copying->processes, &row.process_id)) {
        if (copying->all)
            return damaged(copying);
        return sprof_map_put(&copying->modules, from->id, 0) ? no_memory(copying) : 0;
    }
    const int status = find_or_add(copying, &output->modules, module_content(copying, from),
                                   &output->last.module, &row.id, &added);
    if (status)
        return status;
    if (sprof_map_put(&copying->modules, from->id, row.id))
        return no_memory(copying);
    if (!added)
        return 0;
    const uint64_t *first = row.key ? sprof_map_get(&output->canonical, row.key) : NULL;
    if (sprof_map_put(&output->module_owner, row.id, first ? *first : row.id) ||
        (row.key && !first && sprof_map_put(&output->canonical, row.key, row.id)))
        return no_memory(copying);
    return put(copying, STORE_MODULE, &row);
}

static int copy_mapping(void *context, const struct store_mapping *from)
{
    struct copying *copying = context;
    struct store_mapping row = *from;
    if (row.process_id && !has(&copying->processes, row.process_id))
        return copying->all ? damaged(copying) : 0;
    if (!translate(&copying->modules, &row.module_id))
        return damaged(copying);
    row.process_id += row.process_id ? copying->base.process : 0;
    SHIFT(mapping)
    return row.module_id ? put(copying, STORE_MAPPING, &row) : 0;
}

static int copy_function(void *context, const struct store_function *from)
{
    struct copying *copying = context;
    struct merge_output *output = copying->output;
    struct store_function row = *from;
    bool added;
    if (!translate(&copying->modules, &row.module_id))
        return damaged(copying);
    if (!row.module_id)
        return sprof_map_put(&copying->functions, from->id, 0) ? no_memory(copying) : 0;
    translate(&output->module_owner, &row.module_id);
    uint64_t content =
        sprof_hash_pair(row.module_id, hash_text(row.linkage_name ? row.linkage_name : row.name));
    content = row.file
                  ? sprof_hash_pair(sprof_hash_pair(content, sprof_hash_text(row.file)), row.line)
                  : sprof_hash_pair(content, row.start);
    const int status =
        find_or_add(copying, &output->functions, content, &output->last.function, &row.id, &added);
    if (status)
        return status;
    if (sprof_map_put(&copying->functions, from->id, row.id))
        return no_memory(copying);
    return added ? put(copying, STORE_FUNCTION, &row) : 0;
}

/* Inlined levels come after the frames whose chains they are in: they are kept until then. */
static int load_inlined(void *context, const struct store_frame *from)
{
    struct copying *copying = context;
    struct store_frame row = *from;
    if (!row.inline_depth)
        return 0;
    row.file = sprof_arena_text(&copying->arena, from->file);
    if (sprof_map_put(&copying->inlined_index, row.id, copying->inlined.count) ||
        sprof_vec_push(&copying->inlined, row))
        return no_memory(copying);
    return 0;
}

static const struct store_frame *outer_of(const struct copying *copying,
                                          const struct store_frame *frame)
{
    const uint64_t *at = frame->inline_parent_id
                             ? sprof_map_get(&copying->inlined_index, frame->inline_parent_id)
                             : NULL;
    const struct store_frame *outer = at ? &copying->inlined.items[*at] : NULL;
    return outer && outer->inline_depth > frame->inline_depth ? outer : NULL;
}

static int put_chain(struct copying *copying, const struct store_frame *innermost, uint32_t id,
                     uint32_t module)
{
    struct merge_output *output = copying->output;
    for (const struct store_frame *level = innermost; level;) {
        const struct store_frame *outer = outer_of(copying, level);
        struct store_frame row = *level;
        row.id = id;
        row.module_id = module;
        translate(&copying->functions, &row.function_id);
        row.inline_parent_id = outer ? output->last.frame + 1 : 0;
        if (level != innermost && sprof_map_put(&copying->frames, level->id, id))
            return no_memory(copying);
        const int status = put(copying, STORE_FRAME, &row);
        if (status)
            return status;
        id = row.inline_parent_id;
        output->last.frame += outer != NULL;
        level = outer;
    }
    return 0;
}

static int copy_frame(void *context, const struct store_frame *from)
{
    struct copying *copying = context;
    struct merge_output *output = copying->output;
    uint32_t module = from->module_id, id;
    bool added;
    if (from->inline_depth)
        return 0;
    if (!translate(&copying->modules, &module))
        return damaged(copying);
    if (!module)
        return sprof_map_put(&copying->frames, from->id, 0) ? no_memory(copying) : 0;
    uint64_t content = sprof_hash_pair(module, from->file_offset);
    for (const struct store_frame *level = from; level; level = outer_of(copying, level)) {
        uint32_t function = level->function_id;
        if (!translate(&copying->functions, &function))
            return damaged(copying);
        content = sprof_hash_pair(sprof_hash_pair(content, function), level->line);
        content = sprof_hash_pair(content, hash_text(level->file));
    }
    const int status =
        find_or_add(copying, &output->frames, content, &output->last.frame, &id, &added);
    if (status)
        return status;
    if (sprof_map_put(&copying->frames, from->id, id))
        return no_memory(copying);
    if (added)
        return put_chain(copying, from, id, module);
    /* The levels of a frame that is there already follow it, in order. */
    for (const struct store_frame *level = outer_of(copying, from); level;
         level = outer_of(copying, level))
        if (sprof_map_put(&copying->frames, level->id, ++id))
            return no_memory(copying);
    return 0;
}

static int copy_path(void *context, const struct model_path *from)
{
    struct copying *copying = context;
    struct merge_output *output = copying->output;
    struct model_path row = *from;
    bool added;
    if (!translate(&copying->paths, &row.parent) || !translate(&copying->functions, &row.function))
        return damaged(copying);
    if (!row.function || (from->parent && !row.parent))
        return sprof_map_put(&copying->paths, from->id, 0) ? no_memory(copying) : 0;
    const uint64_t content = (uint64_t)row.parent << 32 | row.function;
    const int status =
        find_or_add(copying, &output->paths, content, &output->last.path, &row.id, &added);
    if (status)
        return status;
    if (sprof_map_put(&copying->paths, from->id, row.id))
        return no_memory(copying);
    return added ? put(copying, STORE_PATH, &row) : 0;
}

static int load_node_path(void *context, const struct store_node_path *row)
{
    struct copying *copying = context;
    return sprof_map_put(&copying->node_paths, row->node_id, row->path_id) ? no_memory(copying) : 0;
}

static int copy_node(void *context, const struct store_node *from)
{
    struct copying *copying = context;
    struct merge_output *output = copying->output;
    struct store_node row = *from;
    const uint64_t *stored_path = sprof_map_get(&copying->node_paths, from->id);
    struct store_node_path path = {.path_id = stored_path ? (uint32_t)*stored_path : 0};
    bool added;
    if (!translate(&copying->nodes, &row.parent_id) ||
        !translate(&copying->frames, &row.frame_id) || !translate(&copying->paths, &path.path_id))
        return damaged(copying);
    if (!row.frame_id || (from->parent_id && !row.parent_id))
        return sprof_map_put(&copying->nodes, from->id, 0) ? no_memory(copying) : 0;
    uint64_t content = sprof_hash_pair(sprof_hash_pair(copying->salt, row.parent_id), row.frame_id);
    content = sprof_hash_pair(sprof_hash_pair(content, path.path_id), row.found_by);
    const int status =
        find_or_add(copying, &output->nodes, content, &output->last.node, &row.id, &added);
    if (status)
        return status;
    if (sprof_map_put(&copying->nodes, from->id, row.id))
        return no_memory(copying);
    path.node_id = row.id;
    if (!added)
        return 0;
    const int result = put(copying, STORE_NODE, &row);
    return result || !path.path_id ? result : put(copying, STORE_NODE_PATH, &path);
}

/* == All == */

static int copy_runs(struct copying *copying)
{
    struct store *input = copying->input;
    struct sprof_error *error = copying->error;
    int status = store_each_run(input, copy_run, copying, error);
    if (status || !copying->runs.count)
        return status;
#define STORE_X(id, name, row, rows)                                                               \
    if (!status)                                                                                   \
        status = store_each_##name(input, 0, copy_##name, copying, error);
#define STORE_SHARED(name)                                                                         \
    if (!status)                                                                                   \
        status = store_each_##name(input, copy_##name, copying, error);
    /* What modules and threads refer to comes first, what refers to modules later. */
    if (!status)
        status = store_each_process(input, 0, copy_process, copying, error);
    STORE_SHARED(module)
    STORE_SHARED(function)
    if (!status)
        status = store_each_frame(input, load_inlined, copying, error);
    STORE_SHARED(frame)
    STORE_SHARED(path)
    if (!status)
        status = store_each_node_path(input, load_node_path, copying, error);
    STORE_SHARED(node)
    STORE_BATCH_BEHIND_PROCESS(STORE_X)
    if (!status)
        status = store_each_raw_sample(input, 0, copy_sample, copying, error);
    STORE_DERIVED_OF_RUN(STORE_X)
#undef STORE_X
#undef STORE_SHARED
    return status;
}

int merge_input(struct merge_output *output, struct store *input, struct sprof_error *error)
{
    struct copying copying = {
        .output = output, .input = input, .error = error, .base = output->last, .all = true};
    const int status = copy_runs(&copying);
    sprof_map_release(&copying.runs);
    sprof_map_release(&copying.processes);
    sprof_map_release(&copying.threads);
    sprof_map_release(&copying.modules);
    sprof_map_release(&copying.functions);
    sprof_map_release(&copying.frames);
    sprof_map_release(&copying.nodes);
    sprof_map_release(&copying.node_paths);
    sprof_map_release(&copying.paths);
    sprof_map_release(&copying.inlined_index);
    sprof_vec_release(&copying.inlined);
    sprof_arena_release(&copying.arena);
    return status;
}
