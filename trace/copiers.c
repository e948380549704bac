/* Finds libraries that copy stacks: they put what they have copied back later, while other calls
 * have used the same places. Return addresses that were replaced would come back with it, when
 * nobody knows any more what they stand for. */
#include "image/image.h"
#include "trace/tracing.h"

#include <string.h>

static const struct {
    const char *file, *function, *what; /* how the file's name begins, and what it defines */
} copiers[] = {
    {"_greenlet.", "PyInit__greenlet", "Python's greenlets"},
    {"greenlet.", "PyInit_greenlet", "Python's greenlets"},
    {"continuation.so", "Init_continuation", "Ruby's continuations"},
    {"libguile-", "scm_c_with_continuation_barrier", "Guile's continuations"},
};

static const char *copier_of(const struct image_request *request)
{
    const char *slash = strrchr(request->file.path, '/');
    for (size_t i = 0; slash && i < sizeof copiers / sizeof *copiers; i++) {
        struct image_symbol symbol = {0};
        struct image *image;
        if (strncmp(slash + 1, copiers[i].file, strlen(copiers[i].file)) != 0 ||
            image_open(&image, request, NULL))
            continue;
        image_find_symbols(image, (const char *[]){copiers[i].function, NULL}, &symbol);
        image_free(image);
        if (symbol.vaddr)
            return copiers[i].what;
    }
    return NULL;
}

bool trace_copier_came(struct trace_session *session, const struct model_mmap *mapping)
{
    const struct image_request request = trace_request_of(session->pid, mapping);
    const char *copier =
        session->copier || session->uprobes || !mapping->file.path ? NULL : copier_of(&request);
    if (!copier)
        return false;
    session->copier = copier;
    for (size_t i = 0; i < session->probes.count; i++)
        if (session->probes.items[i].tier == PROBE_FULL)
            session->probes.items[i].tier = PROBE_COUNT;
    sprof_log_message(session->options.log, SPROF_LOG_WARNING,
                      "%s copy stacks: calls are counted from here on, and not timed", copier);
    return true;
}

static int take_mapping(void *context, const struct model_mmap *mapping)
{
    trace_copier_came(context, mapping);
    return 0;
}

int trace_copiers_find(struct trace_session *session)
{
    return target_each_mapping(session->pid, take_mapping, session);
}
