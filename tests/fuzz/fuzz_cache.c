/* A cache in which one entry is not what was put there: an entry whose checksum is wrong is as none
 * at all, and what has a right one, and is taken, can be used for all that it is read for. */
#include "arch/arch.h"
#include "cache/cache.h"
#include "plan/plan.h"
#include "recording/build.h"
#include "symbolize/symbolize.h"
#include "tests/fuzz/fuzz.h"
#include "trace/tracing.h"
#include "trace/uprobe/sites.h"
#include "unwind/table.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ENTRIES_MAX = 16, ADDRESSES_MAX = 256, CHANGE_BYTES = 5, BIAS = 0x10000000 };

struct entry {
    char name[64];
    enum cache_kind kind;
    struct sprof_digest key;
    uint8_t *bytes; /* of the whole file */
    size_t size, payload;
};

/* The cache as it is when the program's file was recorded, named and traced once. */
struct scene {
    struct cache *cache;
    char directory[64];
    struct entry entries[ENTRIES_MAX];
    size_t count;
    uint64_t addresses[ADDRESSES_MAX];
    size_t address_count;
    struct sprof_digest built, planned, named; /* what comes out when all is as it should be */
};

static struct image *program(void)
{
    static struct image *image;
    const struct image_request request = {.file.path = SPROF_FUZZ_DWARF_PROGRAM};
    image_free(image);
    FUZZ_REQUIRE(image_open(&image, &request, NULL) == 0);
    return image;
}

/* == What entries are used for == */

static struct sprof_digest use_table(struct scene *scene)
{
    struct recording_built built;
    struct image *image = program();
    struct sprof_digest all = {0};
    if (!recording_find_built(&built, image, scene->cache))
        FUZZ_REQUIRE(recording_build(&built, image, scene->cache, NULL) == 0);
    FUZZ_REQUIRE(built.startup_count <= RECORDING_STARTUP_RANGES);
    sprof_digest_add(&all, built.startup, built.startup_count * sizeof *built.startup);
    for (size_t i = 0; i < scene->address_count; i++) {
        struct unwind_row row;
        struct unwind_range function = {0};
        if (unwind_table_row(built.table, scene->addresses[i], &row))
            sprof_digest_add(&all, row.rule, strlen(row.rule));
        unwind_table_function(built.table, scene->addresses[i], &function);
        sprof_digest_add(&all, &function, sizeof function);
        sprof_digest_add_number(&all, unwind_table_lookup(built.table, scene->addresses[i]));
    }
    unwind_table_free(built.table);
    return all;
}

static struct sprof_digest use_names(struct scene *scene)
{
    struct symbolize_result result;
    const struct symbolize_options options = {.no_debuginfod = true, .cache = scene->cache};
    struct sprof_digest all = {0};
    FUZZ_REQUIRE(symbolize_image(&result, program(), scene->addresses, scene->address_count, NULL,
                                 &options, NULL) == 0);
    for (size_t i = 0; i < result.frame_count; i++) {
        const struct symbolize_function *function = &result.functions[result.frames[i].function];
        sprof_digest_add(&all, function->name, strlen(function->name));
        sprof_digest_add_number(&all, result.frames[i].line);
    }
    symbolize_result_release(&result);
    return all;
}

static size_t read_program(void *context, uint64_t address, void *buffer, size_t size)
{
    uint64_t offset;
    return image_offset_of_vaddr(context, address - BIAS, &offset)
               ? image_read(context, offset, buffer, size)
               : 0;
}

/* Copies of what a probe would take the place of, as placing makes them. */
static void move(const struct plan_function *function)
{
    struct plan_copy copy;
    struct plan_far_copy far;
    const size_t own = (size_t)(function->end - function->site);
    if (function->mechanism != PLAN_PROLOGUE && function->mechanism != PLAN_LEAVE)
        return;
    plan_may_fault(function->original, function->displaced);
    plan_copy_make(&copy, function->original, function->displaced, own, BIAS + function->site,
                   BIAS + 0x100000);
    if (!plan_far_copy_make(&far, function->original, function->displaced, own,
                            BIAS + function->site, (uint64_t)BIAS << 16) &&
        far.rest)
        plan_copy_make(&copy, function->original + far.rest, function->displaced - far.rest,
                       own - far.rest, BIAS + function->site + far.rest, BIAS + 0x100000);
}

static void place_uprobes(struct plan *plan, struct image *image)
{
    static struct trace_session session; /* large */
    struct uprobe_sites sites = {0};
    const struct probing_file file = {.plan = *plan, .count = plan->function_count};
    session.probes.count = 0;
    for (size_t i = 0; i < plan->function_count; i++) {
        const struct probing_probe probe = {
            .function = &plan->functions[i],
            .tier = plan->functions[i].mechanism == PLAN_LEAVE ? PROBE_JUMP : PROBE_FULL,
            .is_chosen = true};
        FUZZ_REQUIRE(sprof_vec_push(&session.probes, probe) == 0);
    }
    FUZZ_REQUIRE(trace_uprobe_sites_find(&sites, &session, &file, image) == 0);
    sprof_vec_release(&sites.list);
    sprof_vec_release(&sites.refused);
}

static struct sprof_digest use_plan(struct scene *scene)
{
    struct plan plan;
    struct image *image = program();
    const struct image_request request = {.file.path = SPROF_FUZZ_DWARF_PROGRAM};
    struct sprof_digest all = {0};
    size_t callees = 0;
    FUZZ_REQUIRE(plan_open(&plan, &request, scene->cache, NULL) == 0);
    for (size_t i = 0; i < plan.function_count; i++) {
        const struct plan_function *function = &plan.functions[i];
        callees += function->callees;
        sprof_digest_add(&all, function->name, strlen(function->name));
        sprof_digest_add(&all, function->linkage_name, strlen(function->linkage_name));
        sprof_digest_add_number(&all, function->site);
        FUZZ_REQUIRE(plan_find(&plan, function->start) == function);
        for (uint32_t k = 0; k < function->callees; k++) {
            const struct plan_callee *callee = &plan.callees[function->first_callee + k];
            sprof_digest_add_number(&all, callee->address);
            if (callee->imported)
                sprof_digest_add(&all, callee->imported, strlen(callee->imported));
        }
        move(function);
    }
    FUZZ_REQUIRE(callees <= plan.callee_count);
    plan_share(&plan);
    place_uprobes(&plan, image);
    sprof_digest_add_number(&all, plan_compare(&plan, BIAS, read_program, image));
    plan_count(&plan);
    plan_release(&plan);
    return all;
}

/* == The scene == */

static enum cache_kind kind_of(const char *name)
{
    static const char *const names[CACHE_KINDS] = {"identity-", "table-", "startup-",
                                                   "symbols-",  "lines-", "plan-"};
    enum cache_kind kind = CACHE_IDENTITY;
    while (kind < CACHE_KINDS && strncmp(name, names[kind], strlen(names[kind])) != 0)
        kind++;
    return kind;
}

static void add_entry(struct scene *scene, const char *name)
{
    char path[512];
    struct entry *entry = &scene->entries[scene->count];
    const enum cache_kind kind = kind_of(name);
    if (kind == CACHE_KINDS)
        return;
    FUZZ_REQUIRE(scene->count < ENTRIES_MAX && strlen(name) < sizeof entry->name);
    strcpy(entry->name, name);
    entry->kind = kind;
    FUZZ_REQUIRE(sscanf(strchr(name, '-'), "-%16lx%16lx", &entry->key.high, &entry->key.low) == 2);
    snprintf(path, sizeof path, "%s/%s", scene->directory, name);
    FILE *file = fopen(path, "rb");
    FUZZ_REQUIRE(file && fseek(file, 0, SEEK_END) == 0);
    entry->size = (size_t)ftell(file);
    rewind(file);
    entry->bytes = malloc(entry->size);
    FUZZ_REQUIRE(entry->bytes && fread(entry->bytes, 1, entry->size, file) == entry->size);
    fclose(file);
    const struct sprof_bytes payload = cache_get(scene->cache, kind, entry->key);
    FUZZ_REQUIRE(payload.data);
    entry->payload = payload.size;
    free((void *)payload.data);
    scene->count++;
}

/* Of a file that has just been written no identity is kept: its times may not tell changes yet. */
static void wait_until_settled(void)
{
    static const struct timespec pause = {2, 200000000};
    nanosleep(&pause, NULL);
}

static void remove_scene(void);

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static void fill(struct scene *scene)
{
    struct dirent **found = NULL;
    struct image_extent text;
    bool has[CACHE_KINDS] = {false};
    strcpy(scene->directory, "/dev/shm/sprof-fuzz-XXXXXX"); /* does not wait for a disk */
    FUZZ_REQUIRE(mkdtemp(scene->directory));
    atexit(remove_scene);
    scene->cache = cache_open(scene->directory);
    FUZZ_REQUIRE(scene->cache && image_section_extent(program(), ".text", &text));
    const uint64_t step = text.size / ADDRESSES_MAX + 1;
    for (uint64_t at = 0; at < text.size; at += step)
        scene->addresses[scene->address_count++] = text.vaddr + at;
    wait_until_settled();
    scene->built = use_table(scene);
    scene->planned = use_plan(scene);
    scene->named = use_names(scene);
    const int count = scandir(scene->directory, &found, NULL, by_name);
    for (int i = 0; i < count; i++) {
        add_entry(scene, found[i]->d_name);
        free(found[i]);
    }
    free(found);
    for (size_t i = 0; i < scene->count; i++)
        has[scene->entries[i].kind] = true;
    for (size_t i = 0; i < CACHE_KINDS; i++)
        FUZZ_REQUIRE(has[i]);
}

static struct scene *the_scene(void)
{
    static struct scene scene;
    if (!scene.cache)
        fill(&scene);
    return &scene;
}

static void remove_scene(void)
{
    char command[sizeof the_scene()->directory + 16];
    snprintf(command, sizeof command, "rm -rf %.63s", the_scene()->directory);
    if (system(command))
        perror(command);
}

/* == Forging == */

static void write_file(const struct scene *scene, const struct entry *entry, const void *bytes,
                       size_t size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", scene->directory, entry->name);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    FUZZ_REQUIRE(file >= 0 && write(file, bytes, size) == (ssize_t)size);
    close(file);
}

/* Changes of three bytes of place and two of content each. */
static void change(uint8_t *bytes, size_t size, const uint8_t *data, size_t left)
{
    for (; left >= CHANGE_BYTES && size >= 2; data += CHANGE_BYTES, left -= CHANGE_BYTES) {
        const size_t place = (size_t)(data[0] | data[1] << 8 | data[2] << 16) % (size - 1);
        memcpy(bytes + place, data + 3, 2);
    }
}

static void use(struct scene *scene, enum cache_kind kind, bool is_sound)
{
    const bool all = kind == CACHE_IDENTITY;
    if (all || kind == CACHE_TABLE || kind == CACHE_STARTUP) {
        const struct sprof_digest built = use_table(scene);
        FUZZ_REQUIRE(!is_sound || sprof_digest_equal(built, scene->built));
    }
    if (all || kind == CACHE_PLAN) {
        const struct sprof_digest planned = use_plan(scene);
        FUZZ_REQUIRE(!is_sound || sprof_digest_equal(planned, scene->planned));
    }
    if (all || kind == CACHE_SYMBOLS || kind == CACHE_LINES) {
        const struct sprof_digest named = use_names(scene);
        FUZZ_REQUIRE(!is_sound || sprof_digest_equal(named, scene->named));
    }
}

/* Each kind is as likely, however many entries there are of it. */
static const struct entry *choose(const struct scene *scene, uint8_t number)
{
    const enum cache_kind kind = number % CACHE_KINDS;
    size_t skipped = number / CACHE_KINDS;
    for (size_t i = 0;; i = (i + 1) % scene->count)
        if (scene->entries[i].kind == kind && !skipped--)
            return &scene->entries[i];
}

enum { KEEPS_CHECKSUM = 1, CUTS = 2, EXTENDS = 4 };

/* The input: which entry, what is done to it, how much that is, changes. Where the checksum stays
 * what it was, the file's own header is changed, too. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scene *scene = the_scene();
    if (size < 4)
        return 0;
    const struct entry *entry = choose(scene, data[0]);
    const size_t amount = (size_t)(data[2] | data[3] << 8);
    const bool keeps = data[1] & KEEPS_CHECKSUM;
    const size_t sound = keeps ? entry->size : entry->payload;
    size_t length = sound;
    if (data[1] & CUTS)
        length -= amount % (sound + 1);
    else if (data[1] & EXTENDS)
        length += amount % 4096;
    uint8_t *bytes =
        aligned_alloc(CACHE_ALIGNMENT, (length / CACHE_ALIGNMENT + 1) * CACHE_ALIGNMENT);
    FUZZ_REQUIRE(bytes);
    memset(bytes, 0xff, length);
    memcpy(bytes, entry->bytes + (keeps ? 0 : entry->size - entry->payload),
           length < sound ? length : sound);
    change(bytes, length, data + 4, size - 4);
    const struct sprof_bytes forged = {bytes, length};
    if (!keeps && entry->kind == CACHE_TABLE && length >= 256)
        unwind_table_seal(forged);
    if (keeps)
        write_file(scene, entry, bytes, length);
    else
        cache_put(scene->cache, entry->kind, entry->key, &forged, 1);
    use(scene, entry->kind, keeps);
    free(bytes);
    /* What was put under a forged identity's keys stays, and is found by nobody. */
    for (size_t i = 0; i < scene->count; i++)
        if (&scene->entries[i] == entry || entry->kind == CACHE_IDENTITY)
            write_file(scene, &scene->entries[i], scene->entries[i].bytes, scene->entries[i].size);
    return 0;
}
