/* What a process has mapped as code, here of the test itself, which loads and unloads a library. */
#include "probing/probing.h"
#include "tests/unit/probing/made.h"

#include <dlfcn.h>
#include <link.h>

static const struct probing_way in_memory = {.has_agent = true};
static const char library[] = "libresolv.so.2";

static const struct probing_mapped *find(const struct probing_mapped_files *files, const char *part)
{
    for (size_t i = 0; i < files->now.count; i++)
        if (strstr(files->now.items[i].file.path, part))
            return &files->now.items[i];
    return NULL;
}

static void test_library(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    struct probing_mapped_files files = {.program = &made.session};
    made.session.process.hello.debug = (uintptr_t)&_r_debug;
    CU_ASSERT_EQUAL_FATAL(probing_mapped_files_read(&files), 0);
    probing_mapped_files_keep(&files);
    CU_ASSERT_PTR_NULL(find(&files, library));
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle) {
        struct link_map *map = NULL;
        CU_ASSERT_EQUAL_FATAL(dlinfo(handle, RTLD_DI_LINKMAP, &map), 0);
        CU_ASSERT_EQUAL(probing_mapped_files_read(&files), 0);
        CU_ASSERT_EQUAL(probing_mapped_files_read_linked(&files), 0);
        const struct probing_mapped *mapped = find(&files, "libresolv");
        CU_ASSERT_PTR_NOT_NULL_FATAL(mapped);
        CU_ASSERT_FALSE(probing_mapped_files_had(&files, mapped));
        CU_ASSERT_FALSE(probing_mapped_files_has_other(&files, (size_t)(mapped - files.now.items)));
        CU_ASSERT_TRUE(probing_mapped_files_is_linked(&files, map->l_addr));
        CU_ASSERT_FALSE(probing_mapped_files_is_linked(&files, map->l_addr + 1));
        const struct model_mmap model = probing_mapped_as_model(mapped);
        const struct probing_file file = {.identity = plan_identity(&model.file)},
                                  other = {.identity = file.identity + 1};
        CU_ASSERT_TRUE(probing_mapped_is_of(mapped, &file));
        CU_ASSERT_FALSE(probing_mapped_is_of(mapped, &other));
        probing_mapped_files_keep(&files);
        CU_ASSERT_TRUE(probing_mapped_files_had(&files, find(&files, "libresolv")));
        dlclose(handle);
    }
    probing_mapped_files_release(&files);
    made_end(&made);
}

/* A mapping that the loader is still making counts as new the next time, too. */
static void test_early(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    struct probing_mapped_files files = {.program = &made.session};
    CU_ASSERT_EQUAL_FATAL(probing_mapped_files_read(&files), 0);
    CU_ASSERT_FATAL(files.now.count > 1);
    files.now.items[0].is_early = true;
    probing_mapped_files_keep(&files);
    CU_ASSERT_FALSE(probing_mapped_files_had(&files, &files.now.items[0]));
    CU_ASSERT_TRUE(probing_mapped_files_had(&files, &files.now.items[1]));
    probing_mapped_files_release(&files);
    made_end(&made);
}

/* Paths are kept once, whatever is read again. */
static void test_paths(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    struct probing_mapped_files files = {.program = &made.session};
    CU_ASSERT_EQUAL_FATAL(probing_mapped_files_read(&files), 0);
    const size_t paths = files.paths.count;
    const char *first = files.now.items[0].file.path;
    CU_ASSERT_EQUAL(probing_mapped_files_read(&files), 0);
    CU_ASSERT_EQUAL(files.paths.count, paths);
    CU_ASSERT_PTR_EQUAL(files.now.items[0].file.path, first);
    probing_mapped_files_release(&files);
    made_end(&made);
}

/* A process whose loader is not known has no list. */
static void test_no_list(void)
{
    struct made made;
    made_begin(&made, &in_memory, 1);
    struct probing_mapped_files files = {.program = &made.session};
    CU_ASSERT_EQUAL(probing_mapped_files_read_linked(&files), 0);
    CU_ASSERT_EQUAL(files.linked.count, 0);
    probing_mapped_files_release(&files);
    made_end(&made);
}

void sprof_suite_probing_mapped_files(void);

void sprof_suite_probing_mapped_files(void)
{
    CU_pSuite suite = CU_add_suite("probing/mapped_files", NULL, NULL);
    CU_add_test(suite, "a library comes", test_library);
    CU_add_test(suite, "a mapping that is being made", test_early);
    CU_add_test(suite, "paths", test_paths);
    CU_add_test(suite, "no list of the loader", test_no_list);
}
