/* Questions about one image, one after the other, or one alone. */
#include "symbolize/session.h"

#include <stdlib.h>
#include <unistd.h>

static void add_unnamed(struct builder *builder, const char *module, uint64_t address,
                        const struct symbolize_bounds *bounds)
{
    symbolize_builder_open_chain(builder);
    symbolize_builder_add_frame(
        builder, symbolize_builder_add_unnamed(builder, module, address, bounds), NULL, 0);
}

int symbolize_session_open(struct symbolize_session **out, struct image *image,
                           const struct symbolize_options *options, struct sprof_error *error)
{
    struct symbolize_session *session = *out = calloc(1, sizeof *session);
    if (!session)
        return sprof_error_memory(error);
    session->image = session->plt.image = image;
    if (options)
        session->options = *options;
    struct image *debug = session->debug =
        symbolize_module_open_debug(image, &session->options, &session->other_debug);
    if (!session->options.is_child && symbolize_child_is_needed(image, debug))
        return symbolize_child_open(&session->child, image, &session->options, error);
    /* What debuginfod may send has no identity before it is there. */
    session->certain = debug || !symbolize_module_may_use_debuginfod(&session->options);
    session->keyed = session->certain && session->options.cache;
    session->has_dwarf = !session->options.symbols_only &&
                         (!session->certain || symbolize_session_file_has_dwarf(image) ||
                          (debug && symbolize_session_file_has_dwarf(debug)));
    return 0;
}

bool symbolize_session_has_news(const struct symbolize_session *session)
{
    if (session->child) /* a process that waits takes more than its end */
        return false;
    return symbolize_session_is_worth_storing(session) && !session->index.failed;
}

void symbolize_session_close(struct symbolize_session *session)
{
    if (!session)
        return;
    /* What was missing may be there the next time. */
    if (!session->child && symbolize_session_has_news(session) && !session->problem.text &&
        image_stayed_whole(session->image))
        symbolize_function_index_store(&session->index, session->options.cache,
                                       *symbolize_session_index_key(session, 1));
    symbolize_dwarf_names_release(&session->names);
    symbolize_cxx_names_release(&session->libdw_names);
    symbolize_libdw_nodes_release(&session->libdw_nodes);
    free(session->code);
    sprof_str_release(&session->problem);
    symbolize_function_index_release(&session->index);
    symbolize_symbol_table_release(&session->table);
    symbolize_module_release(&session->module);
    image_free(session->debug);
    symbolize_child_close(session->child);
    free(session);
}

static void begin_question(struct symbolize_session *session, const uint64_t *addresses,
                           size_t count, const struct symbolize_bounds *bounds)
{
    session->question = (struct question){.addresses = {addresses, count}, .bounds = bounds};
    session->asked = count;
    session->plt.steps = 0;
    symbolize_dwarf_refill_steps(&session->names.dwarf);
}

/* What is left of a question besides the answer. */
static void end_question(struct symbolize_session *session)
{
    struct question *question = &session->question;
    sprof_map_release(&question->inlined);
    sprof_map_release(&question->left_index);
    free((void *)question->left.items);
    free((void *)question->missing.items);
    symbolize_units_release(&question->flat);
    symbolize_symbols_release(&question->symbols);
    session->question = (struct question){0};
}

static void start_names_ahead(struct symbolize_session *session)
{
    enum { WORTH_A_THREAD = 64 }; /* addresses */
    struct question *question = &session->question;
    if (!question->builder.failed && question->read >= WORTH_A_THREAD)
        symbolize_names_ahead_start(&question->ahead, &question->addresses, &session->names,
                                    symbolize_session_threads(session) - 1);
}

static int ask_child(struct symbolize_session *session, struct symbolize_result *result,
                     const uint64_t *addresses, size_t count, const struct symbolize_bounds *bounds,
                     struct sprof_error *error)
{
    const int code = symbolize_child_ask(session->child, result, addresses, count, bounds);
    if (code == SPROF_ENOMEM)
        return sprof_error_memory(error);
    return code ? symbolize_without_image(result, image_path(session->image), addresses, count,
                                          bounds, error)
                : 0;
}

int symbolize_session_ask(struct symbolize_session *session, struct symbolize_result *result,
                          const uint64_t *addresses, size_t count,
                          const struct symbolize_bounds *bounds, struct sprof_error *error)
{
    if (session->child)
        return ask_child(session, result, addresses, count, bounds, error);
    begin_question(session, addresses, count, bounds);
    struct builder *builder = &session->question.builder;
    builder->failed = symbolize_session_read(session) != 0;
    start_names_ahead(session);
    for (size_t i = 0; i < count && !builder->failed; i++) {
        symbolize_names_ahead_reach(&session->question.ahead, i);
        if (session->readable)
            symbolize_session_add_chain(session, i);
        else
            add_unnamed(builder, image_path(session->image), addresses[i], bounds);
    }
    symbolize_names_ahead_stop(&session->question.ahead);
    symbolize_session_find_problem(session, &session->question.flat.missing);
    const int code = symbolize_builder_finish(builder, result, error);
    end_question(session);
    return code;
}

/* Of the image and its debug file. */
static uint64_t debug_bytes(const struct symbolize_session *session)
{
    static const uint64_t incredible = UINT64_C(1) << 40; /* what a forged header may claim */
    struct image *const files[] = {session->image, session->debug};
    uint64_t bytes = 0;
    for (size_t i = 0; i < 2 && files[i]; i++) {
        struct image_extent extent;
        for (const char *const *name = session_debug_sections; *name; name++)
            if (image_section_extent(files[i], *name, &extent))
                bytes += extent.size < incredible ? extent.size : incredible;
        const uint64_t unpacked = image_packing(files[i]).unpacked;
        bytes += unpacked < incredible ? unpacked : incredible;
    }
    return bytes;
}

uint64_t symbolize_session_bytes(const struct symbolize_session *session)
{
    const struct function_index *index = &session->index;
    if (session->child)
        return UINT64_MAX;
    return (session->dwarf ? debug_bytes(session) : 0) + session->table.text_bytes +
           session->table.count * sizeof *session->table.entries + index->loaded_bytes +
           index->pieces.count * sizeof *index->pieces.items +
           index->ranges.count * sizeof *index->ranges.items +
           index->lines.count * sizeof *index->lines.items;
}

uint64_t symbolize_session_preparable(struct symbolize_session *session)
{
    uint64_t offset;
    if (session->child)
        return symbolize_child_preparable(session->child);
    if (!session->certain || !session->has_dwarf)
        return 0;
    if (session->keyed) {
        const int kept = cache_open_entry(session->options.cache, CACHE_LINES,
                                          *symbolize_session_index_key(session, 1), &offset);
        if (kept >= 0) {
            close(kept);
            return 0;
        }
    }
    return debug_bytes(session);
}

/* Answers as symbolize_session_ask does and forgets the answer, but for what only libdw can read.
 */
void symbolize_session_prepare(struct symbolize_session *session, const uint64_t *addresses,
                               size_t count, const atomic_bool *stop)
{
    struct symbolize_result answer;
    if (session->child) {
        symbolize_child_prepare(session->child, addresses, count, stop);
        return;
    }
    begin_question(session, addresses, count, NULL);
    session->stop = stop;
    struct builder *builder = &session->question.builder;
    builder->failed = symbolize_session_read(session) != 0;
    for (size_t i = 0; i < count && !builder->failed && session->readable; i++) {
        if (atomic_load_explicit(stop, memory_order_relaxed))
            break;
        if (symbolize_function_index_find(&session->index, addresses[i]))
            symbolize_session_add_chain(session, i);
    }
    if (!symbolize_builder_finish(builder, &answer, NULL))
        symbolize_result_release(&answer);
    end_question(session);
    session->stop = NULL;
}

uint64_t symbolize_session_cpu_ns(const struct symbolize_session *session)
{
    return session->child ? symbolize_child_cpu_ns(session->child) : 0;
}

int symbolize_image(struct symbolize_result *result, struct image *image, const uint64_t *addresses,
                    size_t count, const struct symbolize_bounds *bounds,
                    const struct symbolize_options *options, struct sprof_error *error)
{
    struct symbolize_session *session;
    int code = symbolize_session_open(&session, image, options, error);
    if (!code)
        code = symbolize_session_ask(session, result, addresses, count, bounds, error);
    symbolize_session_close(session);
    return code;
}

int symbolize_without_image(struct symbolize_result *result, const char *module_name,
                            const uint64_t *addresses, size_t count,
                            const struct symbolize_bounds *bounds, struct sprof_error *error)
{
    struct builder builder = {0};
    for (size_t i = 0; i < count && !builder.failed; i++)
        add_unnamed(&builder, module_name, addresses[i], bounds);
    return symbolize_builder_finish(&builder, result, error);
}
