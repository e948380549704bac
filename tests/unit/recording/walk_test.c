/* Stacks of this very process. */
#include "recording/walk.h"

#include "tests/unit/recording/this_process.h"

#include <CUnit/CUnit.h>
#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 200, SLICE = 65528, NOW_NS = 2 * THIS_START_NS };

struct scene {
    struct model_process_table process_table;
    struct recording_images images;
    struct recording_walk walk;
    struct this_sample taken;
};

static void scene_open(struct scene *scene, const struct model_view *view, size_t budget_bytes)
{
    *scene = (struct scene){0};
    this_process_fill(&scene->process_table);
    CU_ASSERT_EQUAL_FATAL(recording_images_init(&scene->images, budget_bytes, NULL, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(
        recording_walk_init(&scene->walk, &scene->process_table, &scene->images, view), 0);
    scene->taken = this_process_sample(SLICE);
}

static void scene_close(struct scene *scene)
{
    free(scene->taken.memory);
    recording_walk_release(&scene->walk);
    recording_images_release(&scene->images);
    model_process_table_release(&scene->process_table);
}

/* Walks until every table that is needed is there; MODEL_END_PENDING when that does not happen. */
static struct recording_outcome walk_again(struct scene *scene, uint64_t past_ns)
{
    struct recording_outcome outcome = {.end = MODEL_END_PENDING};
    const struct model_process *process = this_process_of(&scene->process_table);
    for (int i = 0; i < ROUNDS && outcome.end == MODEL_END_PENDING; i++) {
        recording_images_wait(&scene->images);
        recording_images_collect(&scene->images);
        CU_ASSERT_EQUAL((past_ns ? recording_walk_past : recording_walk_sample)(
                            &scene->walk, process, &scene->taken.sample, past_ns, &outcome),
                        0);
    }
    return outcome;
}

static const struct model_node *node_of(const struct scene *scene, uint32_t id)
{
    return id ? &scene->walk.stacks.nodes.items[id - 1] : NULL;
}

static const struct model_frame *frame_of(const struct scene *scene, const struct model_node *node)
{
    return &scene->walk.stacks.frames.items[node->frame - 1];
}

static const char *module_name(const struct scene *scene, const struct model_node *node)
{
    return model_process_table_module_by_id(&scene->process_table, frame_of(scene, node)->module)
        ->name;
}

static const struct model_node *root_of(const struct scene *scene, const struct model_node *node)
{
    while (node->parent)
        node = node_of(scene, node->parent);
    return node;
}

static const struct model_view full = {.mode = MODEL_MODE_FULL}, app = {.mode = MODEL_MODE_APP},
                               app_pc = {.mode = MODEL_MODE_PC, .frame_app = true},
                               pc = {.mode = MODEL_MODE_PC};
enum { NO_LIMIT = 1 << 30 };

static void test_the_whole_stack(void)
{
    struct scene scene;
    scene_open(&scene, &full, NO_LIMIT);
    struct recording_outcome outcome;
    CU_ASSERT_EQUAL(recording_walk_sample(&scene.walk, this_process_of(&scene.process_table),
                                          &scene.taken.sample, 0, &outcome),
                    0);
    CU_ASSERT_EQUAL(outcome.end, MODEL_END_PENDING);
    CU_ASSERT_EQUAL(outcome.node, 0);
    CU_ASSERT_EQUAL(scene.walk.stacks.nodes.count, 0);
    outcome = walk_again(&scene, 0);
    CU_ASSERT_EQUAL(outcome.end, MODEL_END_ROOT);
    CU_ASSERT_TRUE(outcome.user_stack && !outcome.guessed && !outcome.unknown_code);
    const struct model_node *leaf = node_of(&scene, outcome.node);
    CU_ASSERT_PTR_NOT_NULL_FATAL(leaf);
    CU_ASSERT_TRUE(leaf->depth >= 6); /* _start, libc twice, main, CUnit, the test … */
    CU_ASSERT_STRING_EQUAL(module_name(&scene, leaf), "unit_recording");
    CU_ASSERT_STRING_EQUAL(module_name(&scene, root_of(&scene, leaf)), "unit_recording");
    scene_close(&scene);
}

static void test_equal_stacks_are_one_node(void)
{
    struct scene scene;
    scene_open(&scene, &full, NO_LIMIT);
    const struct recording_outcome first = walk_again(&scene, 0);
    const size_t nodes = scene.walk.stacks.nodes.count, frames = scene.walk.stacks.frames.count;
    const struct recording_outcome second = walk_again(&scene, 0);
    const struct recording_outcome past = walk_again(&scene, NOW_NS);
    CU_ASSERT_EQUAL(second.node, first.node);
    CU_ASSERT_EQUAL(past.node, first.node);
    CU_ASSERT_EQUAL(past.end, MODEL_END_ROOT);
    CU_ASSERT_EQUAL(scene.walk.stacks.nodes.count, nodes);
    CU_ASSERT_EQUAL(scene.walk.stacks.frames.count, frames);
    scene_close(&scene);
}

/* A stack that needs more tables than the budget holds: each is built, and the walk comes to an
 * end. */
static void test_a_budget_smaller_than_one_stack(void)
{
    struct scene scene;
    scene_open(&scene, &full, 1);
    const struct recording_outcome outcome = walk_again(&scene, NOW_NS);
    CU_ASSERT_EQUAL(outcome.end, MODEL_END_ROOT);
    scene_close(&scene);
}

/* A stack that was copied a little after its sample, of a process that is gone when it is walked:
 * its files show that the return addresses follow calls. */
static void test_the_process_is_gone(void)
{
    enum { KEPT = 64 };
    struct scene scene;
    scene_open(&scene, &full, NO_LIMIT);
    struct model_sample *sample = &scene.taken.sample;
    struct model_process *process = this_process_of(&scene.process_table);
    const struct recording_outcome whole = walk_again(&scene, NOW_NS);
    sample->tail = sample->stack + KEPT;
    sample->tail_address = sample->registers[ARCH_SP] + KEPT;
    sample->tail_size = sample->stack_size - KEPT;
    sample->stack_size = KEPT;
    process->pid = fork();
    if (!process->pid)
        _exit(0);
    CU_ASSERT_EQUAL_FATAL(waitpid(process->pid, NULL, 0), process->pid);
    const struct recording_outcome gone = walk_again(&scene, NOW_NS);
    process->pid = getpid();
    CU_ASSERT_EQUAL(gone.end, MODEL_END_ROOT);
    CU_ASSERT_TRUE(gone.stitched);
    CU_ASSERT_EQUAL(gone.node, whole.node);
    scene_close(&scene);
}

static void test_before_the_mappings_there_was_nothing(void)
{
    struct scene scene;
    scene_open(&scene, &full, NO_LIMIT);
    const struct recording_outcome outcome = walk_again(&scene, THIS_START_NS - 1);
    CU_ASSERT_TRUE(outcome.unknown_code);
    CU_ASSERT_STRING_EQUAL(module_name(&scene, node_of(&scene, outcome.node)),
                           MODEL_MODULE_UNKNOWN);
    scene_close(&scene);
}

static void test_application_part(void)
{
    struct scene scene, whole;
    scene_open(&scene, &app, NO_LIMIT);
    scene_open(&whole, &full, NO_LIMIT);
    const struct recording_outcome outcome = walk_again(&scene, 0);
    const struct recording_outcome all = walk_again(&whole, 0);
    const struct model_node *leaf = node_of(&scene, outcome.node);
    const struct model_node *root = root_of(&scene, leaf);
    CU_ASSERT_TRUE(leaf->depth < node_of(&whole, all.node)->depth);
    CU_ASSERT_STRING_EQUAL(module_name(&scene, root), "unit_recording"); /* main, not _start */
    CU_ASSERT_NOT_EQUAL(frame_of(&scene, root)->offset,
                        frame_of(&whole, root_of(&whole, node_of(&whole, all.node)))->offset);
    scene_close(&whole);
    scene_close(&scene);
}

static void test_application_frame(void)
{
    struct scene scene;
    scene_open(&scene, &app_pc, NO_LIMIT);
    const struct recording_outcome outcome = walk_again(&scene, 0);
    const struct model_node *leaf = node_of(&scene, outcome.node);
    CU_ASSERT_EQUAL(leaf->depth, 1);
    CU_ASSERT_STRING_EQUAL(module_name(&scene, leaf), "unit_recording");
    scene_close(&scene);
}

static void test_nothing_of_the_application(void)
{
    struct scene scene;
    scene_open(&scene, &app, NO_LIMIT);
    for (size_t i = 0; i < scene.process_table.modules.count; i++)
        if (scene.process_table.modules.items[i]->kind == MODEL_KIND_APP)
            scene.process_table.modules.items[i]->kind = MODEL_KIND_SYSTEM;
    const struct recording_outcome outcome = walk_again(&scene, 0);
    const struct model_node *node = node_of(&scene, outcome.node);
    CU_ASSERT_EQUAL(node->depth, 1);
    CU_ASSERT_STRING_EQUAL(module_name(&scene, node), MODEL_MODULE_NONE);
    CU_ASSERT_EQUAL(frame_of(&scene, node)->offset, MODEL_PSEUDO_OUTSIDE);
    scene_close(&scene);
}

static void test_program_counter(void)
{
    struct scene scene;
    scene_open(&scene, &pc, NO_LIMIT);
    scene.taken.sample.register_count = 0;
    const struct recording_outcome outcome = walk_again(&scene, 0);
    CU_ASSERT_EQUAL(outcome.end, MODEL_END_NO_STACK);
    CU_ASSERT_FALSE(outcome.user_stack);
    const struct model_node *node = node_of(&scene, outcome.node);
    const struct model_module *module = this_process_module(&scene.process_table, "unit_recording");
    const struct model_mapping *mapping = model_process_table_find(
        &scene.process_table, this_process_of(&scene.process_table), scene.taken.sample.ip, 0);
    CU_ASSERT_EQUAL(node->depth, 1);
    CU_ASSERT_EQUAL(frame_of(&scene, node)->module, module->id);
    CU_ASSERT_EQUAL(frame_of(&scene, node)->offset,
                    scene.taken.sample.ip - mapping->start + mapping->file_offset);
    CU_ASSERT_EQUAL(scene.images.builds, 0); /* no file was opened for it */
    scene_close(&scene);
}

/* == The kernel == */

#define KERNEL_TEXT UINT64_C(0xffffffff81000000)

static void map_kernel(struct scene *scene)
{
    const struct sprof_file_id identity = {.path = "[kernel]"};
    CU_ASSERT_EQUAL(model_process_table_map(&scene->process_table, -1, KERNEL_TEXT, 0x1000000, 0,
                                            &identity, THIS_START_NS),
                    0);
}

static void test_kernel_frames_are_innermost(void)
{
    static const uint64_t chain[] = {KERNEL_TEXT + 0x300, KERNEL_TEXT + 0x201, KERNEL_TEXT + 0x101};
    struct scene scene;
    scene_open(&scene, &full, NO_LIMIT);
    map_kernel(&scene);
    struct model_sample *sample = &scene.taken.sample;
    sample->in_kernel = true;
    sample->kernel_chain = chain;
    sample->kernel_chain_count = 3;
    const struct recording_outcome outcome = walk_again(&scene, NOW_NS);
    CU_ASSERT_EQUAL(outcome.end, MODEL_END_ROOT);
    const struct model_node *node = node_of(&scene, outcome.node);
    static const uint64_t offsets[] = {0x300, 0x200, 0x100}; /* callers: inside the call */
    for (int i = 0; i < 3; i++, node = node_of(&scene, node->parent)) {
        CU_ASSERT_STRING_EQUAL(module_name(&scene, node), "[kernel]");
        CU_ASSERT_EQUAL(frame_of(&scene, node)->offset, offsets[i]);
        CU_ASSERT_EQUAL(node->found_by, MODEL_BY_KERNEL);
    }
    CU_ASSERT_STRING_EQUAL(module_name(&scene, node), "unit_recording");
    scene_close(&scene);
}

static void test_kernel_thread(void)
{
    struct scene scene;
    scene_open(&scene, &full, NO_LIMIT);
    map_kernel(&scene);
    struct model_sample *sample = &scene.taken.sample;
    *sample = (struct model_sample){.ip = KERNEL_TEXT + 0x10, .in_kernel = true};
    const struct recording_outcome outcome = walk_again(&scene, 0);
    CU_ASSERT_EQUAL(outcome.end, MODEL_END_NO_STACK);
    CU_ASSERT_FALSE(outcome.user_stack);
    CU_ASSERT_EQUAL(node_of(&scene, outcome.node)->depth, 1);
    CU_ASSERT_STRING_EQUAL(module_name(&scene, node_of(&scene, outcome.node)), "[kernel]");
    scene_close(&scene);
}

/* == Spaces == */

static void test_regions_are_the_mappings(void)
{
    struct scene scene;
    scene_open(&scene, &full, NO_LIMIT);
    struct unwind_space space;
    const struct model_process *process = this_process_of(&scene.process_table);
    CU_ASSERT_EQUAL(recording_spaces_get(&scene.walk.spaces, process, &space), 0);
    CU_ASSERT_EQUAL(space.generation, process->space.generation);
    const struct model_module *libc = this_process_module(&scene.process_table, "libc.so");
    const struct model_mapping *mapping = this_process_mapping(&scene.process_table, libc);
    const struct unwind_region *region = space.find(space.context, mapping->start);
    CU_ASSERT_PTR_NOT_NULL_FATAL(region);
    CU_ASSERT_EQUAL(region->kind, UNWIND_REGION_PENDING);
    CU_ASSERT_TRUE(this_process_settle(&scene.images, ROUNDS));
    CU_ASSERT_PTR_EQUAL(space.find(space.context, mapping->end - 1), region);
    CU_ASSERT_EQUAL(region->kind, UNWIND_REGION_TABLE);
    CU_ASSERT_EQUAL(region->start, mapping->start);
    CU_ASSERT_EQUAL(region->end, mapping->end);
    static const char *const names[] = {"gnu_get_libc_version", NULL};
    struct image_symbol symbol = {0};
    const struct recording_image *image = region->owner;
    image_find_symbols(image->image, names, &symbol);
    CU_ASSERT_EQUAL(symbol.vaddr + region->bias, (uint64_t)(uintptr_t)&gnu_get_libc_version);
    CU_ASSERT_PTR_NULL(space.find(space.context, 1));
    CU_ASSERT_PTR_NULL(space.find(space.context, UINT64_MAX));
    scene_close(&scene);
}

static void test_a_new_mapping_makes_new_regions(void)
{
    const uint64_t address = UINT64_C(0x100000000000);
    const struct sprof_file_id anonymous = {.path = "//anon"};
    struct scene scene;
    scene_open(&scene, &full, NO_LIMIT);
    struct unwind_space before, after, past;
    const struct model_process *process = this_process_of(&scene.process_table);
    CU_ASSERT_EQUAL(recording_spaces_get(&scene.walk.spaces, process, &before), 0);
    CU_ASSERT_PTR_NULL(before.find(before.context, address));
    CU_ASSERT_EQUAL(model_process_table_map(&scene.process_table, getpid(), address, 0x1000, 0,
                                            &anonymous, NOW_NS),
                    0);
    CU_ASSERT_EQUAL(recording_spaces_get(&scene.walk.spaces, process, &after), 0);
    CU_ASSERT_NOT_EQUAL(after.generation, before.generation);
    const struct unwind_region *region = after.find(after.context, address + 0xfff);
    CU_ASSERT_PTR_NOT_NULL_FATAL(region);
    CU_ASSERT_EQUAL(region->kind, UNWIND_REGION_JIT);
    CU_ASSERT_PTR_NULL(after.find(after.context, address + 0x1000));
    recording_spaces_get_past(&scene.walk.spaces, process, NOW_NS - 1, &past);
    CU_ASSERT_PTR_NULL(past.find(past.context, address));
    CU_ASSERT_NOT_EQUAL(past.generation, after.generation);
    recording_spaces_get_past(&scene.walk.spaces, process, NOW_NS + 1, &past);
    CU_ASSERT_PTR_NOT_NULL(past.find(past.context, address));
    scene_close(&scene);
}

void sprof_suite_recording_walk(void);
void sprof_suite_recording_walk(void)
{
    CU_pSuite suite = CU_add_suite("recording/walk", NULL, NULL);
    CU_add_test(suite, "the whole stack", test_the_whole_stack);
    CU_add_test(suite, "equal stacks are one node", test_equal_stacks_are_one_node);
    CU_add_test(suite, "a budget smaller than one stack", test_a_budget_smaller_than_one_stack);
    CU_add_test(suite, "the process is gone", test_the_process_is_gone);
    CU_add_test(suite, "before the mappings there was nothing",
                test_before_the_mappings_there_was_nothing);
    CU_add_test(suite, "application part", test_application_part);
    CU_add_test(suite, "application frame", test_application_frame);
    CU_add_test(suite, "nothing of the application", test_nothing_of_the_application);
    CU_add_test(suite, "program counter", test_program_counter);
    CU_add_test(suite, "kernel frames are innermost", test_kernel_frames_are_innermost);
    CU_add_test(suite, "kernel thread", test_kernel_thread);
    CU_add_test(suite, "regions are the mappings", test_regions_are_the_mappings);
    CU_add_test(suite, "a new mapping makes new regions", test_a_new_mapping_makes_new_regions);
}
