#include "tests/unit/recording/handmade.h"

#include "image/image.h"
#include "recording/recording.h"
#include "unwind/unwind.h"

#include <sqlite3.h>

static const char compile[] =
    "printf '#define OWN __attribute__((noinline, noclone))\\nvolatile int x;\\n"
    "OWN int A3(void) { return x; }\\n"
    "OWN int A2(void) { return A3(); }\\n"
    "static inline __attribute__((always_inline)) int within(int a) { return a / (x + 3); }\\n"
    "OWN int around(int a) { return within(a) * 7; }\\n"
    "OWN int A1(void) { return A2() + around(2); }\\n"
    "int main(void) { return A1(); }\\n' > program.c && cc -g -O1 -Wl,--build-id=none program.c -o "
    "program";

/* CUnit allows no assertions between tests: these answer for themselves. */
static struct fixture compiled;

int handmade_compile(void)
{
    char command[4096];
    strcpy(compiled.directory, "/tmp/sprof-handmade-XXXXXX");
    if (!mkdtemp(compiled.directory))
        return 1;
    snprintf(command, sizeof command, "cd %s && %s", compiled.directory, compile);
    return system(command);
}

int handmade_remove(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", compiled.directory);
    return system(command);
}

#define ADD(vec, ...) must(sprof_vec_push(vec, __VA_ARGS__) == 0)

uint64_t handmade_offset(const struct handmade *made, const char *function, uint64_t *size)
{
    const struct image_request request = {.file.path = made->program};
    const char *const names[] = {function, NULL};
    struct image_symbol symbol = {0};
    struct image *image;
    uint64_t offset = 0;
    must(image_open(&image, &request, NULL) == 0);
    image_find_symbols(image, names, &symbol);
    must(image_offset_of_vaddr(image, symbol.vaddr, &offset));
    image_free(image);
    if (size)
        *size = symbol.size;
    return offset;
}

void handmade_copy_program(const struct handmade *made, const char *name)
{
    char command[512];
    snprintf(command, sizeof command, "cp %s/program %s", compiled.directory, name);
    fixture_run(&made->fixture, command);
}

static void add_frames(struct handmade *made)
{
    static const char *const program[] = {[HAND_A1] = "A1", "A2", "A3", [HAND_START] = "_start"};
    for (uint32_t id = HAND_A1; id <= HAND_OUTSIDE; id++) {
        struct store_frame row = {.id = id, .module_id = HAND_PROGRAM};
        if (id == HAND_S1 || id == HAND_S2) {
            row.module_id = HAND_LIBRARY;
            row.file_offset = id * 0x100;
        } else if (id == HAND_OUTSIDE) {
            row.module_id = HAND_NONE;
            row.file_offset = 1;
        } else {
            row.file_offset = handmade_offset(made, program[id], NULL) + 1;
        }
        ADD(&made->batch.frames, row);
    }
}

void handmade_open(struct handmade *made)
{
    *made = (struct handmade){.run = example_run()};
    fixture_open(&made->fixture);
    strcpy(made->program, fixture_path(&compiled, "program"));
    snprintf(made->path, sizeof made->path, "%s/sprof.db", made->fixture.directory);
    made->run.state = STORE_RECORDED;
    made->run.module_rules = NULL;
    made->event = (struct store_event){
        .id = 1, .run_id = 1, .name = "cpu-clock", .is_clock = true, .period = WEIGHT_NS};
    ADD(&made->batch.processes, (struct store_process){.id = 1, .run_id = 1, .pid = 1 << 29});
    ADD(&made->batch.threads, (struct store_thread){.id = 1, .process_id = 1, .tid = 1 << 29});
    ADD(&made->batch.modules, (struct store_module){.id = HAND_PROGRAM,
                                                    .path = made->program,
                                                    .name = "program",
                                                    .kind = MODEL_KIND_APP,
                                                    .main_executable = true});
    ADD(&made->batch.modules, (struct store_module){.id = HAND_LIBRARY,
                                                    .path = "/usr/lib/libgone.so",
                                                    .name = "libgone.so",
                                                    .kind = MODEL_KIND_SYSTEM});
    ADD(&made->batch.modules,
        (struct store_module){.id = HAND_NONE, .path = "[none]", .name = "[none]"});
    add_frames(made);
}

uint32_t handmade_node(struct handmade *made, uint32_t parent, uint32_t frame, uint64_t samples)
{
    const uint32_t id = (uint32_t)made->batch.nodes.count + 1;
    const uint32_t depth = parent ? made->batch.nodes.items[parent - 1].depth + 1 : 1;
    ADD(&made->batch.nodes, (struct store_node){.id = id,
                                                .parent_id = parent,
                                                .frame_id = frame,
                                                .depth = depth,
                                                .found_by = MODEL_BY_CFI});
    for (uint64_t i = 0; i < samples; i++)
        ADD(&made->batch.samples, (struct store_sample){.run_id = 1,
                                                        .event_id = 1,
                                                        .thread_id = 1,
                                                        .node_id = id,
                                                        .weight = WEIGHT_NS,
                                                        .count = 1,
                                                        .end_reason = MODEL_END_ROOT,
                                                        .user_stack = true});
    return id;
}

void handmade_example(struct handmade *made, uint32_t root)
{
    const uint32_t a1 = handmade_node(made, root, HAND_A1, 1);
    const uint32_t a2 = handmade_node(made, a1, HAND_A2, 1);
    handmade_node(made, handmade_node(made, a2, HAND_S1, 0), HAND_S2, 2);
    const uint32_t a3 = handmade_node(made, a1, HAND_A3, 0);
    const uint32_t a3_a2 = handmade_node(made, a3, HAND_A2, 1);
    handmade_node(made, handmade_node(made, a3_a2, HAND_S1, 0), HAND_S2, 1);
}

static struct store_phase phase_of(const struct store_run *run)
{
    return (struct store_phase){.id = run->id,
                                .run_id = run->id,
                                .mode = run->mode,
                                .frame = run->frame,
                                .app_interior = run->app_interior};
}

void handmade_write(struct handmade *made)
{
    struct store *store;
    made->batch.run = &made->run;
    made->batch.events.count = made->batch.phases.count = 0;
    ADD(&made->batch.events, made->event);
    ADD(&made->batch.phases, phase_of(&made->run));
    must(store_create(&store, made->path, NULL) == 0);
    must(store_write(store, &made->batch, NULL) == 0);
    must(store_close(store, NULL) == 0);
}

static void shift(uint32_t *id, uint32_t by)
{
    *id += *id ? by : 0;
}

void handmade_append(struct handmade *made)
{
    enum { BY = 100 };
    struct store_batch *batch = &made->batch;
    struct store *store;
    made->run.id++;
    made->run.key++;
    made->run.state = STORE_RECORDED;
    made->event.id++;
    made->event.run_id++;
    batch->events.items[0] = made->event;
    batch->phases.items[0] = phase_of(&made->run);
    for (size_t i = 0; i < batch->processes.count; i++) {
        shift(&batch->processes.items[i].id, BY);
        batch->processes.items[i].run_id++;
    }
    for (size_t i = 0; i < batch->threads.count; i++) {
        shift(&batch->threads.items[i].id, BY);
        shift(&batch->threads.items[i].process_id, BY);
    }
    for (size_t i = 0; i < batch->modules.count; i++) {
        shift(&batch->modules.items[i].id, BY);
        shift(&batch->modules.items[i].process_id, BY);
    }
    for (size_t i = 0; i < batch->mappings.count; i++) {
        shift(&batch->mappings.items[i].id, BY);
        shift(&batch->mappings.items[i].process_id, BY);
        shift(&batch->mappings.items[i].module_id, BY);
    }
    for (size_t i = 0; i < batch->frames.count; i++) {
        shift(&batch->frames.items[i].id, BY);
        shift(&batch->frames.items[i].module_id, BY);
    }
    for (size_t i = 0; i < batch->nodes.count; i++) {
        shift(&batch->nodes.items[i].id, BY);
        shift(&batch->nodes.items[i].parent_id, BY);
        shift(&batch->nodes.items[i].frame_id, BY);
    }
    for (size_t i = 0; i < batch->samples.count; i++) {
        struct store_sample *sample = &batch->samples.items[i];
        sample->run_id++;
        sample->event_id++;
        shift(&sample->thread_id, BY);
        shift(&sample->node_id, BY);
    }
    must(store_open_write(&store, made->path, NULL) == 0);
    must(store_write(store, batch, NULL) == 0);
    must(store_close(store, NULL) == 0);
}

void handmade_execute(const struct handmade *made, const char *sql)
{
    sqlite3 *database;
    must(sqlite3_open(made->path, &database) == SQLITE_OK);
    must(sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(database);
}

const char *handmade_query(const struct handmade *made, const char *sql)
{
    struct store *store;
    must(store_open_read(&store, made->path, NULL) == 0);
    const char *text = query_text(store, sql);
    store_close(store, NULL);
    return text;
}

void handmade_close(struct handmade *made)
{
    store_batch_release(&made->batch);
    fixture_close(&made->fixture);
}

void handmade_make(struct handmade *made, const char *mode, enum store_state state)
{
    handmade_open(made);
    made->run.mode = mode;
    made->run.state = state;
}

int handmade_derive(const struct handmade *made, bool again, struct sprof_error *error)
{
    const struct recording_derive_options options = {.again = again};
    return recording_derive(made->path, &options, error);
}

void handmade_must_derive(const struct handmade *made)
{
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(handmade_derive(made, false, &error), 0);
    CU_ASSERT_STRING_EQUAL(error.message, "");
}
