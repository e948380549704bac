/* Finds libraries that copy stacks. A copy that is put back contains return addresses of thunks,
 * whose records then belong to other calls. It also finds an unwinder that stops at thunks. */
#include "image/image.h"
#include "probing/probes.h"
#include "probing/program.h"

#include <link.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *file, *function, *what; /* start of the file's name; a function in it */
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

bool probing_stack_copier_came(struct probing_program *program, const struct model_mmap *mapping)
{
    const struct image_request request = plan_request_of(program->process.pid, mapping);
    const char *copier = program->untimed.copier || !program->way->has_agent || !mapping->file.path
                             ? NULL
                             : copier_of(&request);
    if (!copier)
        return false;
    program->untimed.copier = copier;
    for (size_t i = 0; i < program->probes.count; i++)
        if (program->probes.items[i].tier == PROBE_FULL)
            program->probes.items[i].tier = PROBE_COUNT;
    sprof_log_message(program->options.log, SPROF_LOG_WARNING,
                      "%s copy stacks: calls are counted from here on, and not timed", copier);
    return true;
}

enum { LINKED_MOST = 65536, NAME_BYTES = 256 };

static bool read_there(const struct probing_program *program, const void *at, void *to, size_t size)
{
    return pread(program->process.code_fd, to, size, (off_t)(uintptr_t)at) == (ssize_t)size;
}

/* Drops directories; empty: none. The text may end at the end of its mapping. */
static void read_name(const struct probing_program *program, const char *at, char name[NAME_BYTES])
{
    size_t length = 0;
    while (length < NAME_BYTES - 1 && read_there(program, at, &name[length], 1) && name[length]) {
        if (name[length++] == '/')
            length = 0;
        at++;
    }
    name[length] = '\0';
}

/* The first unwinder in the loader's list handles exceptions. */
static bool unwinds_by_libunwind(const struct probing_program *program)
{
    static const char known[] = "libunwind.so.8";
    struct r_debug debug;
    struct link_map map;
    if (!read_there(program, (const void *)(uintptr_t)program->process.hello.debug, &debug,
                    sizeof debug))
        return false;
    const struct link_map *at = debug.r_map;
    for (size_t i = 0; i < LINKED_MOST && at && read_there(program, at, &map, sizeof map); i++) {
        char name[NAME_BYTES];
        read_name(program, map.l_name, name);
        if (!strncmp(name, known, sizeof known - 1))
            return true;
        if (!strncmp(name, "libgcc_s.so", 11) || !strncmp(name, "libunwind.so.1", 14))
            return false;
        at = map.l_next;
    }
    return false;
}

static int take_mapping(void *context, const struct model_mmap *mapping)
{
    probing_stack_copier_came(context, mapping);
    return 0;
}

int probing_stack_copiers_find(struct probing_program *program)
{
    const int result = target_each_mapping(program->process.pid, take_mapping, program);
    if (!result && program->way->only_embedded && !program->untimed.copier &&
        unwinds_by_libunwind(program)) {
        program->untimed.copier = "libunwind";
        sprof_log_message(program->options.log, SPROF_LOG_WARNING,
                          "the process throws exceptions by nongnu libunwind (libunwind.so.8 is "
                          "linked before libgcc_s), which does not come through probes in files: "
                          "calls are counted, and not timed; `sprof trace -- COMMAND` times them");
    }
    return result;
}
