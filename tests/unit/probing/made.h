/* A program of hand-made functions: tests write its shared memory as its agent would. */
#ifndef TESTS_UNIT_PROBING_MADE_H
#define TESTS_UNIT_PROBING_MADE_H

#include "probing/probing.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* == Of a program as a test of any library has it == */

struct made_log {
    struct sprof_log log;
    struct sprof_str said; /* what was reported, a line each */
};

static inline void made_note(void *context, enum sprof_log_level level, const char *text)
{
    (void)level;
    sprof_str_appendf(context, "%s\n", text);
}

/* Makes a program without functions, with shared memory for so many, and one thread: the test. */
static inline void made_program_begin(struct probing_program *program, struct probing_group *group,
                                      const struct probing_way *way, struct made_log *log,
                                      uint32_t capacity)
{
    const uint64_t slab_bytes = probe_slab_bytes(capacity),
                   bytes = probe_shared_bytes(1, slab_bytes);
    log->log.message = made_note;
    log->log.context = &log->said;
    program->group = group;
    program->way = way;
    program->options.log = &log->log;
    program->options.no_cache = true;
    program->slab_count = 1;
    program->capacity = capacity;
    program->times.ns_per_tick = 1;
    program->process = INJECT_PROCESS_NONE;
    program->process.pid = getpid();
    program->process.memory_fd = memfd_create("made", MFD_CLOEXEC);
    CU_ASSERT_EQUAL_FATAL(ftruncate(program->process.memory_fd, (off_t)bytes), 0);
    program->process.shared =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, program->process.memory_fd, 0);
    CU_ASSERT_NOT_EQUAL_FATAL(program->process.shared, MAP_FAILED);
    program->process.shared_bytes = bytes;
    program->process.shared->slab_bytes = slab_bytes;
    program->process.shared->slab_count = 1;
    program->process.shared->slabs_used = 1;
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&group->programs, program), 0);
}

/* Adds a file with these functions, by start. They are borrowed, and have no probes yet. */
static inline void made_program_file(struct probing_program *program, const char *path,
                                     uint64_t bias, struct plan_function *functions, size_t count)
{
    const struct probing_file file = {.path = path,
                                      .bias = bias,
                                      .module = 1 + (uint32_t)program->files.count,
                                      .is_chosen = true,
                                      .first = program->probes.count,
                                      .plan = {.functions = functions, .function_count = count}};
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&program->files, file), 0);
}

/* Adds a probe of the last file. It is borrowed until another one is added. */
static inline struct probing_probe *made_program_probe(struct probing_program *program,
                                                       struct probing_probe probe)
{
    probe.file = (uint32_t)program->files.count - 1;
    probe.thunk = (uint32_t)program->probes.count;
    program->files.items[probe.file].count++;
    CU_ASSERT_EQUAL_FATAL(sprof_vec_push(&program->probes, probe), 0);
    return &program->probes.items[program->probes.count - 1];
}

/* Adds a file of so many functions, each of which has a probe. */
static inline void made_program_functions(struct probing_program *program,
                                          struct plan_function *functions, size_t count)
{
    for (size_t i = 0; i < count; i++)
        functions[i] = (struct plan_function){.name = "f", .start = 0x100 * (i + 1)};
    made_program_file(program, "/app/program", 0, functions, count);
    for (size_t i = 0; i < count; i++)
        made_program_probe(program, (struct probing_probe){.function = &functions[i],
                                                           .tier = PROBE_FULL,
                                                           .is_chosen = true});
}

static inline void made_program_end(struct probing_program *program, struct made_log *log)
{
    sprof_vec_release(&program->probes);
    sprof_vec_release(&program->files);
    sprof_vec_release(&program->ranges);
    sprof_vec_release(&program->group->programs);
    sprof_arena_release(&program->arena);
    munmap(program->process.shared, program->process.shared_bytes);
    close(program->process.memory_fd);
    sprof_str_release(&log->said);
}

/* Whether this was reported; forgets what was. */
static inline bool made_log_said(struct made_log *log, const char *part)
{
    const bool is = log->said.text && strstr(log->said.text, part);
    sprof_str_release(&log->said);
    return is;
}

#ifndef MADE_PROGRAM /* the type of a library above, which defines its own struct made */
#define MADE_PROGRAM(made) (&(made)->session)

/* Zero is a valid start. It is large, and must not move. */
struct made {
    struct probing_program session;
    struct probing_group trace;
    struct made_log log;
};

static inline void made_begin(struct made *made, const struct probing_way *way, uint32_t capacity)
{
    *made = (struct made){0};
    made_program_begin(&made->session, &made->trace, way, &made->log, capacity);
}

static inline void made_begin_with(struct made *made, const struct probing_way *way,
                                   struct plan_function *functions, size_t count)
{
    made_begin(made, way, (uint32_t)count);
    made_program_functions(&made->session, functions, count);
}

static inline void made_end(struct made *made)
{
    made_program_end(&made->session, &made->log);
}
#endif

#define made_file(made, path, bias, functions, count)                                              \
    made_program_file(MADE_PROGRAM(made), path, bias, functions, count)
#define made_probe(made, ...) made_program_probe(MADE_PROGRAM(made), __VA_ARGS__)
#define made_said(made, part) made_log_said(&(made)->log, part)

#define made_tier(made, number) atomic_load(&MADE_PROGRAM(made)->process.shared->tiers[number])

#endif
