#include "tests/unit/unwind/scene.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>

struct scene *scene_new(void)
{
    struct scene *scene = calloc(1, sizeof *scene);
    CU_ASSERT_PTR_NOT_NULL_FATAL(scene);
    cfi_bytes_cie(&scene->cfi, "zR");
    scene->live_words = SCENE_WORDS;
    scene->walker = unwind_walker_new(0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(scene->walker);
    memset(scene->code, 0x90, sizeof scene->code);
    return scene;
}

static const struct unwind_region *find_region(void *context, uint64_t address)
{
    const struct scene *scene = context;
    for (size_t i = 0; i < SCENE_REGIONS; i++)
        if (address >= scene->regions[i].start && address < scene->regions[i].end)
            return &scene->regions[i];
    return NULL;
}

void scene_ready(struct scene *scene)
{
    scene->text = (struct unwind_range){SCENE_CODE, SCENE_CODE + SCENE_CODE_BYTES};
    scene->source.eh_frame = (struct sprof_bytes){scene->cfi.data, scene->cfi.size};
    scene->source.eh_frame_vaddr = 0x40000;
    scene->source.text = &scene->text;
    scene->source.text_count = 1;
    CU_ASSERT_EQUAL_FATAL(unwind_table_build(&scene->table, &scene->source, NULL), 0);
    const uint64_t size = SCENE_CODE_BYTES;
    scene->regions[0] = (struct unwind_region){.start = SCENE_TEXT,
                                               .end = SCENE_TEXT + size,
                                               .bias = SCENE_BIAS,
                                               .kind = UNWIND_REGION_TABLE,
                                               .table = scene->table};
    scene->regions[1] = (struct unwind_region){
        .start = SCENE_JIT, .end = SCENE_JIT + size, .kind = UNWIND_REGION_JIT};
    scene->regions[2] = (struct unwind_region){
        .start = SCENE_BARE, .end = SCENE_BARE + size, .kind = UNWIND_REGION_BARE};
    scene->regions[3] = (struct unwind_region){
        .start = SCENE_PENDING, .end = SCENE_PENDING + size, .kind = UNWIND_REGION_PENDING};
    scene->space = (struct unwind_space){.find = find_region, .context = scene, .generation = 7};
    scene->memory = (struct unwind_memory){.slice = (const uint8_t *)scene->stack,
                                           .slice_address = SCENE_STACK,
                                           .slice_size = sizeof scene->stack};
    scene->registers.value[ARCH_SP] = SCENE_STACK;
}

static bool copy(uint64_t from, const void *bytes, size_t bytes_size, uint64_t address,
                 void *buffer, size_t size)
{
    if (address < from || address - from > bytes_size || size > bytes_size - (address - from))
        return false;
    memcpy(buffer, (const uint8_t *)bytes + (address - from), size);
    return true;
}

static int read_scene(void *context, uint64_t address, void *buffer, size_t size)
{
    struct scene *scene = context;
    scene->reads++;
    const bool done =
        copy(SCENE_STACK, scene->stack, scene->live_words * 8, address, buffer, size) ||
        copy(SCENE_ALTERNATE, scene->alternate, sizeof scene->alternate, address, buffer, size) ||
        copy(SCENE_TEXT, scene->code, sizeof scene->code, address, buffer, size);
    return done ? 0 : SPROF_EIO;
}

void scene_live(struct scene *scene, size_t slice_words)
{
    scene->memory.read = read_scene;
    scene->memory.context = scene;
    scene->memory.slice_size = slice_words * 8;
}

void scene_call_before(struct scene *scene, uint64_t offset)
{
    scene->code[offset - 5] = 0xe8;
}

void scene_distance(struct scene *scene, uint64_t next, uint64_t target)
{
    const int32_t distance = (int32_t)(target - next);
    memcpy(&scene->code[next - sizeof distance], &distance, sizeof distance);
}

void scene_call(struct scene *scene, uint64_t return_offset, uint64_t target)
{
    scene_call_before(scene, return_offset);
    scene_distance(scene, return_offset, target);
}

struct unwind_stack scene_walk(struct scene *scene, uint64_t rip)
{
    scene->registers.value[ARCH_PC] = rip;
    return unwind_walk(scene->walker, &scene->space, &scene->memory, &scene->registers);
}

void scene_expect(struct unwind_stack stack, enum model_end end, const struct scene_frame *frames,
                  size_t count)
{
    CU_ASSERT_EQUAL(stack.end, end);
    CU_ASSERT_EQUAL(stack.count, count);
    if (stack.end != end || stack.count != count)
        printf("\n    %zu frames, end %s", stack.count, model_end_text(stack.end));
    for (size_t i = 0; i < count && i < stack.count; i++) {
        CU_ASSERT_EQUAL(stack.frames[i].address, frames[i].address);
        CU_ASSERT_EQUAL(stack.frames[i].found_by, frames[i].found_by);
        CU_ASSERT_EQUAL(stack.frames[i].is_return, frames[i].is_return);
        if (stack.frames[i].address != frames[i].address)
            printf("\n    frame %zu: %#llx", i, (unsigned long long)stack.frames[i].address);
    }
    CU_ASSERT_EQUAL(stack.stopped_at, stack.frames[stack.count - 1].address);
}

void scene_free(struct scene *scene)
{
    unwind_walker_free(scene->walker);
    unwind_table_free(scene->table);
    free(scene);
}
