/* Counters as trees of sysfs describe them: of one kind of core, and of two. */
#include "sampler/perf/pmu.h"

#include <CUnit/CUnit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[64];

static void put(const char *path, const char *text)
{
    char whole[256];
    snprintf(whole, sizeof whole, "%s/%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
        *slash = '\0';
        mkdir(whole, 0700);
    }
    FILE *file = fopen(whole, "w");
    if (file) {
        fputs(text, file);
        fclose(file);
    }
}

static int make_trees(void)
{
    strcpy(root, "/tmp/sprof-pmu-XXXXXX");
    if (!mkdtemp(root))
        return 1;
    put("cpu_core/type", "4\n");
    put("cpu_core/format/event", "config:0-7\n");
    put("cpu_core/format/umask", "config:8-15,40-47\n");
    put("cpu_core/format/edge", "config:18\n");
    put("cpu_core/format/ldlat", "config1:0-15\n");
    put("cpu_core/format/frontend", "config2:0-23\n");
    put("cpu_core/format/broken", "config7:0-7\n");
    put("cpu_core/format/beyond", "config:0-64\n");
    put("cpu_core/events/mem-loads", "event=0xcd,umask=0x1,ldlat=3\n");
    put("cpu_core/events/mem-loads.unit", "x\n");
    put("cpu_core/events/itself", "itself\n");
    put("cpu_atom/type", "10\n");
    put("cpu_atom/format/event", "config:0-7\n");
    put("cpu_atom/events/cycles", "event=0x3c\n");
    put("nothing/type", "none\n");
    return 0;
}

static int remove_trees(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", root);
    return system(command) != 0;
}

static void test_which_there_are(void)
{
    uint32_t type = 0;
    CU_ASSERT_TRUE(perf_pmu_find(root, "cpu_core", &type));
    CU_ASSERT_EQUAL(type, 4);
    CU_ASSERT_TRUE(perf_pmu_find(root, "cpu_atom", &type));
    CU_ASSERT_EQUAL(type, 10);
    CU_ASSERT_FALSE(perf_pmu_find(root, "cpu", &type));
    CU_ASSERT_FALSE(perf_pmu_find(root, "nothing", &type));
    CU_ASSERT_FALSE(perf_pmu_find(root, "../cpu_core", &type));
    CU_ASSERT_FALSE(perf_pmu_find(root, "", &type));
}

static struct perf_pmu_event read_terms(const char *const *terms)
{
    struct perf_pmu_event event = {0};
    struct sprof_error error = {0};
    for (; *terms; terms++)
        CU_ASSERT_EQUAL(perf_pmu_term(root, "cpu_core", *terms, &event, &error), 0);
    CU_ASSERT_STRING_EQUAL(error.message, "");
    return event;
}

static void test_terms_go_where_formats_say(void)
{
    static const char *const raw[] = {"event=0xa8", "umask=0x0102", "edge", "ldlat=20", NULL};
    static const char *const named[] = {"mem-loads", "ldlat=30", NULL};
    static const char *const words[] = {"config=0x1a8", "config1=7", "frontend=0x400406", NULL};
    struct perf_pmu_event event = read_terms(raw);
    CU_ASSERT_EQUAL(event.config[0], 0xa8 | 0x02 << 8 | UINT64_C(1) << 40 | UINT64_C(1) << 18);
    CU_ASSERT_EQUAL(event.config[1], 20);
    event = read_terms(named);
    CU_ASSERT_EQUAL(event.config[0], 0x1cd);
    CU_ASSERT_EQUAL(event.config[1], 30); /* the later of two */
    event = read_terms(words);
    CU_ASSERT_EQUAL(event.config[0], 0x1a8);
    CU_ASSERT_EQUAL(event.config[1], 7);
    CU_ASSERT_EQUAL(event.config[2], 0x400406);
}

static void test_what_is_no_term_is_refused(void)
{
    static const struct {
        const char *term, *says;
    } cases[] = {
        {"event=0x100", "which has 8 bits"},
        {"edge=2", "which has 1 bit"},
        {"event=", "no value"},
        {"event=x", "no value"},
        {"event=-1", "no value"},
        {"event=0x1ffffffffffffffff", "no value"},
        {"umsk=1", "near it: umask"},
        {"mem-load", "near it: mem-loads"},
        {"broken=1", "no term `broken`"},
        {"beyond=1", "no term `beyond`"},
        {"../type=1", "no term"},
        {"zzzzzzzzzz", "it has "},
        {"itself", "no term `itself`"},
        {"=1", "no term"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct perf_pmu_event event = {0};
        struct sprof_error error = {0};
        CU_ASSERT_EQUAL(perf_pmu_term(root, "cpu_core", cases[i].term, &event, &error),
                        SPROF_EUSAGE);
        CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].says));
        if (!strstr(error.message, cases[i].says))
            fprintf(stderr, "%s: %s\n", cases[i].term, error.message);
    }
}

static int note(void *context, const char *name)
{
    struct sprof_str *names = context;
    return sprof_str_appendf(names, "%s ", name);
}

static void test_what_is_listed(void)
{
    struct sprof_str names = {0};
    CU_ASSERT_EQUAL(perf_pmu_each(root, note, &names), 0);
    CU_ASSERT_STRING_EQUAL(names.text, "cpu_atom/cycles/ cpu_core/itself/ cpu_core/mem-loads/ ");
    sprof_str_release(&names);
}

void sprof_suite_sampler_pmu(void);
void sprof_suite_sampler_pmu(void)
{
    CU_pSuite suite = CU_add_suite("sampler/pmu", make_trees, remove_trees);
    CU_add_test(suite, "which there are", test_which_there_are);
    CU_add_test(suite, "terms go where formats say", test_terms_go_where_formats_say);
    CU_add_test(suite, "what is no term is refused", test_what_is_no_term_is_refused);
    CU_add_test(suite, "what is listed", test_what_is_listed);
}
