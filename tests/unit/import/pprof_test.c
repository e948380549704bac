#include "formats/formats.h"
#include "import/parts.h"
#include "tests/unit/import/importing.h"

#include <zlib.h>

typedef Perftools__Profiles__Profile profile_message;

/* A profile of two types, two threads, and a stack with an inlined function. */
struct written {
    Perftools__Profiles__ValueType types[2], *type_list[2];
    Perftools__Profiles__Function functions[3], *function_list[3];
    Perftools__Profiles__Line lines[3], *line_lists[2][2];
    Perftools__Profiles__Location locations[2], *location_list[2];
    Perftools__Profiles__Mapping mapping, *mapping_list[1];
    Perftools__Profiles__Label labels[2], *label_list[2];
    Perftools__Profiles__Sample samples[2], *sample_list[2];
    uint64_t stacks[2][2];
    int64_t values[2][2];
    profile_message profile;
    uint8_t *bytes;
    size_t size;
};

static char *texts[] = {(char *)"",       (char *)"samples",     (char *)"count",
                        (char *)"cpu",    (char *)"nanoseconds", (char *)"main",
                        (char *)"work",   (char *)"inner",       (char *)"/opt/prog",
                        (char *)"a.c",    (char *)"0a1b2c",      (char *)"tid",
                        (char *)"thread", (char *)"worker"};

#define LIST(all, items)                                                                           \
    for (size_t i = 0; i < sizeof(items) / sizeof *(items); i++)                                   \
    (all)[i] = &(items)[i]

static void written_init(struct written *written)
{
    *written = (struct written){.profile = PERFTOOLS__PROFILES__PROFILE__INIT,
                                .mapping = PERFTOOLS__PROFILES__MAPPING__INIT,
                                .stacks = {{2, 1}, {1, 0}},
                                .values = {{3, 3000000}, {1, 1000000}}};
    for (int i = 0; i < 2; i++) {
        perftools__profiles__value_type__init(&written->types[i]);
        written->types[i].type = 1 + 2 * i;
        written->types[i].unit = 2 + 2 * i;
        perftools__profiles__location__init(&written->locations[i]);
        written->locations[i].id = (uint64_t)i + 1;
        written->locations[i].mapping_id = 1;
        written->locations[i].address = 0x401000 + (uint64_t)i * 16;
        written->locations[i].line = written->line_lists[i];
        perftools__profiles__sample__init(&written->samples[i]);
        written->samples[i].n_location_id = 2 - (size_t)i;
        written->samples[i].location_id = written->stacks[i];
        written->samples[i].n_value = 2;
        written->samples[i].value = written->values[i];
        perftools__profiles__label__init(&written->labels[i]);
    }
    for (int i = 0; i < 3; i++) {
        perftools__profiles__function__init(&written->functions[i]);
        written->functions[i].id = (uint64_t)i + 1;
        written->functions[i].name = 5 + i;
        written->functions[i].filename = 9;
        perftools__profiles__line__init(&written->lines[i]);
        written->lines[i].function_id = (uint64_t)i + 1;
        written->lines[i].line = 10 + i;
    }
    written->line_lists[0][0] = &written->lines[0];
    written->locations[0].n_line = 1;
    written->line_lists[1][0] = &written->lines[2]; /* inner, inlined into work */
    written->line_lists[1][1] = &written->lines[1];
    written->locations[1].n_line = 2;
    written->mapping.id = 1;
    written->mapping.memory_start = 0x400000;
    written->mapping.memory_limit = 0x500000;
    written->mapping.filename = 8;
    written->mapping.build_id = 10;
    written->mapping_list[0] = &written->mapping;
    written->labels[0].key = 11;
    written->labels[0].num = 77;
    written->labels[1].key = 12;
    written->labels[1].str = 13;
    LIST(written->label_list, written->labels);
    written->samples[0].n_label = 2;
    written->samples[0].label = written->label_list;
    LIST(written->type_list, written->types);
    LIST(written->function_list, written->functions);
    LIST(written->location_list, written->locations);
    LIST(written->sample_list, written->samples);
    profile_message *profile = &written->profile;
    profile->n_sample_type = profile->n_location = profile->n_sample = 2;
    profile->n_function = 3;
    profile->n_mapping = 1;
    profile->sample_type = written->type_list;
    profile->location = written->location_list;
    profile->sample = written->sample_list;
    profile->function = written->function_list;
    profile->mapping = written->mapping_list;
    profile->n_string_table = sizeof texts / sizeof *texts;
    profile->string_table = texts;
    profile->time_nanos = INT64_C(1700000000000000000);
    profile->duration_nanos = 5000000000;
}

static void written_pack(struct written *written)
{
    written->size = perftools__profiles__profile__get_packed_size(&written->profile);
    written->bytes = malloc(written->size + 1);
    CU_ASSERT_PTR_NOT_NULL_FATAL(written->bytes);
    perftools__profiles__profile__pack(&written->profile, written->bytes);
}

static void expect(struct written *written, const char *sql, const char *expected)
{
    written_pack(written);
    importing_expect(NULL, written->bytes, written->size, sql, expected);
    free(written->bytes);
}

static void refused(struct written *written, const char *error)
{
    written_pack(written);
    importing_refused("pprof", written->bytes, written->size, "", error);
    free(written->bytes);
}

#define PATHS "SELECT path, exclusive_samples, inclusive_weight FROM v_call_tree ORDER BY path"

static void test_a_profile(void)
{
    struct written written;
    written_init(&written);
    expect(&written, PATHS, "main|1|4000000 main;work|0|3000000 main;work;inner|3|3000000");
    expect(&written, "SELECT name, is_clock, varying, period FROM event", "cpu|1|0|1000000");
    expect(&written, "SELECT tid, thread, samples FROM v_thread ORDER BY tid",
           "0|import|1 77|worker|3");
    expect(&written, "SELECT module, path, build_id FROM v_module", "prog|/opt/prog|0a1b2c");
    expect(&written, "SELECT line, function FROM v_line ORDER BY line", "10|main 11|work 12|inner");
    expect(&written, "SELECT file_offset FROM frame WHERE inline_depth = 0 ORDER BY 1",
           "4096 4112");
    expect(&written, "SELECT start_realtime_ns, duration_ns FROM run",
           "1700000000000000000|5000000000");
}

static void test_compressed(void)
{
    struct written written;
    uint8_t packed[4096];
    z_stream stream = {0};
    written_init(&written);
    written_pack(&written);
    stream.next_in = written.bytes;
    stream.avail_in = (uInt)written.size;
    stream.next_out = packed;
    stream.avail_out = sizeof packed;
    CU_ASSERT_EQUAL_FATAL(deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, 0), Z_OK);
    CU_ASSERT_EQUAL(deflate(&stream, Z_FINISH), Z_STREAM_END);
    const size_t size = sizeof packed - stream.avail_out;
    deflateEnd(&stream);
    importing_expect(NULL, packed, size, "SELECT count(*), sum(count) FROM sample", "2|4");
    for (size_t cut = 30; cut < size; cut += 7)
        importing_refused("pprof", packed, cut, "", "cannot be unpacked, it is damaged or was cut");
    for (size_t at = 12; at + 8 < size; at += 5) { /* its checksum tells every change */
        packed[at] ^= 0x55;
        importing_refused("pprof", packed, size, "", "");
        packed[at] ^= 0x55;
    }
    free(written.bytes);
}

static void test_other_types(void)
{
    struct written written;
    written_init(&written);
    written.types[1].unit = 2; /* two counts, of their own */
    expect(&written,
           "SELECT e.name, sum(count), sum(weight) FROM sample s, event e"
           " ON e.id = s.event_id GROUP BY e.id",
           "cpu|4000000|4000000 samples|4|4");
    written.profile.default_sample_type = 1;
    expect(&written, "SELECT name FROM event ORDER BY id", "samples cpu");
    written.types[0].unit = 9; /* two that are not counted */
    written.types[1].unit = 4;
    expect(&written,
           "SELECT e.name, sum(count), sum(weight) FROM sample s, event e"
           " ON e.id = s.event_id GROUP BY e.id",
           "samples|2|4 cpu|2|4000000");
}

/* Time without samples stays such. */
static void test_a_value_that_is_zero(void)
{
    struct written written;
    written_init(&written);
    written.values[1][0] = 0;
    expect(&written, "SELECT sum(count), sum(weight) FROM sample", "3|4000000");
    written.values[1][1] = 0;
    expect(&written, "SELECT count(*), sum(count), sum(weight) FROM sample", "1|3|3000000");
    written.values[0][0] = written.values[0][1] = 0;
    refused(&written, "holds no samples");
}

static void test_without_names(void)
{
    struct written written;
    written_init(&written);
    written.locations[1].n_line = 0;
    expect(&written, PATHS, "main|1|4000000 main;prog|3|3000000");
    written.locations[0].mapping_id = written.locations[1].mapping_id = 0;
    expect(&written, "SELECT module, path FROM v_module", "[application]|[application]");
    written.samples[1].n_location_id = 0;
    expect(&written, "SELECT exclusive_samples FROM v_function WHERE function = '[unknown]'", "1");
}

static void test_what_is_damaged(void)
{
    struct written written;
    written_init(&written);
    written.values[0][1] = -5;
    refused(&written, "difference of two profiles");
    written_init(&written);
    written.samples[0].n_value = 1;
    refused(&written, "one value of each type");
    written_init(&written);
    written.stacks[0][0] = 9;
    refused(&written, "a location that is missing");
    written_init(&written);
    written.lines[1].function_id = 9;
    refused(&written, "a function that is missing");
    written_init(&written);
    written.locations[1].mapping_id = 9;
    refused(&written, "a mapping that is missing");
    written_init(&written);
    written.locations[1].id = 1;
    refused(&written, "comes twice");
    written_init(&written);
    written.profile.n_sample_type = 0;
    refused(&written, "what its samples are of");
    written_init(&written);
    written.types[1].type = 1;
    written.types[0].unit = 4;
    refused(&written, "have one name");
    written_init(&written);
    written.values[0][1] = written.values[1][1] = INT64_MAX;
    refused(&written, "more than fits");
    importing_refused("pprof", "not at all", 10, "", "no pprof profile");
    importing_refused("pprof", "", 0, "", "what its samples are of");
    /* Texts that are not there are unknown. */
    written_init(&written);
    written.functions[1].name = 99;
    written.mapping.filename = -1;
    expect(&written, PATHS,
           "main|1|4000000 main;[application]|0|3000000"
           " main;[application];inner|3|3000000");
}

static void test_cut_anywhere(void)
{
    struct written written;
    written_init(&written);
    written_pack(&written);
    for (size_t size = 0; size < written.size; size++) {
        struct importing importing;
        importing_bytes(&importing, "pprof", written.bytes, size);
        CU_ASSERT_TRUE(importing.result == 0 || importing.result == SPROF_EFORMAT);
        CU_ASSERT_EQUAL(importing.result == 0, file_exists(importing.made.path));
        importing_close(&importing);
    }
    free(written.bytes);
}

static bool recognizes(const char *bytes, size_t size)
{
    const struct import_format *format =
        import_format_of((struct sprof_bytes){(const uint8_t *)bytes, size});
    return format && !strcmp(format->name, "pprof");
}

/* Profiles are recognized whatever field they begin with, also where the beginning has no NUL. */
static void test_beginnings(void)
{
    struct written written;
    written_init(&written);
    written_pack(&written);
    CU_ASSERT_TRUE(recognizes((const char *)written.bytes, written.size));
    for (size_t size = 4; size < written.size; size++)
        CU_ASSERT_TRUE(recognizes((const char *)written.bytes, size));
    free(written.bytes);
    CU_ASSERT_TRUE(
        recognizes("\x12\x03\x0a\x01\x01\x1a\x7f\x01", 8));         /* samples, and a cut mapping */
    CU_ASSERT_TRUE(recognizes("H\x01\x0a\x04\x08\x01\x10\x02", 8)); /* its time, as of Go */
    CU_ASSERT_FALSE(recognizes("\x12\x03\x0a\x01\x01!!!", 8));
    CU_ASSERT_FALSE(recognizes("\nmain;work 3\n", 13));
    CU_ASSERT_FALSE(recognizes("java;main 3\n", 12));
    CU_ASSERT_FALSE(recognizes("Hxmain;work 3\n", 14));
    CU_ASSERT_FALSE(recognizes("\n\n", 2));
}

void sprof_suite_import_pprof(void);
void sprof_suite_import_pprof(void)
{
    CU_pSuite suite = CU_add_suite("import/pprof", NULL, NULL);
    CU_add_test(suite, "a profile", test_a_profile);
    CU_add_test(suite, "compressed", test_compressed);
    CU_add_test(suite, "other types of samples", test_other_types);
    CU_add_test(suite, "a value that is zero", test_a_value_that_is_zero);
    CU_add_test(suite, "without names", test_without_names);
    CU_add_test(suite, "what is damaged", test_what_is_damaged);
    CU_add_test(suite, "cut anywhere", test_cut_anywhere);
    CU_add_test(suite, "beginnings", test_beginnings);
}
