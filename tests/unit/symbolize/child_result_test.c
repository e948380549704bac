/* An answer goes through a socket unchanged; one that is no answer is refused. */
#include "symbolize/child_result.h"
#include "tests/unit/symbolize/naming.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static struct symbolize_function functions[] = {
    {.name = "one(int)", .linkage_name = "_Z3onei", .start = 16, .size = 4, .named = true},
    {.name = "two", .linkage_name = "two", .inlined_name = "two<>", .file = "a.c", .line = 7},
};
static struct symbolize_frame frames[] = {{1, "a.c", 9}, {0, NULL, 0}, {0, "b.c", 3}};
static uint32_t first[] = {0, 2, 3};
static const struct symbolize_result result = {
    .functions = functions,
    .function_count = 2,
    .frames = frames,
    .frame_count = 3,
    .first = first,
    .address_count = 2,
};

/* What is sent, as bytes without the header. */
static struct sprof_bytes sent_bytes(void)
{
    static uint8_t bytes[4096];
    struct child_header header;
    int ends[2], fd;
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_TRUE(symbolize_child_send_result(ends[0], &result, "a problem"));
    CU_ASSERT_TRUE(symbolize_child_receive(ends[1], &header, &fd));
    CU_ASSERT_EQUAL(header.kind, CHILD_ANSWER);
    CU_ASSERT_EQUAL(fd, -1);
    CU_ASSERT_TRUE_FATAL(header.size <= sizeof bytes);
    CU_ASSERT_TRUE(symbolize_child_take(ends[1], bytes, header.size));
    close(ends[0]);
    close(ends[1]);
    return (struct sprof_bytes){bytes, header.size};
}

static int take(const uint8_t *bytes, size_t size, uint64_t said, size_t count,
                struct symbolize_result *taken, const char **problem)
{
    int ends[2];
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_EQUAL(write(ends[0], bytes, size), (ssize_t)size);
    close(ends[0]);
    const int code = symbolize_child_take_result(ends[1], said, count, taken, problem);
    close(ends[1]);
    return code;
}

/* A file goes with the header, and the payload behind it. */
static void test_a_file_travels(void)
{
    static const uint8_t text[] = "payload";
    const struct sprof_bytes piece = {text, sizeof text};
    struct child_header header;
    struct stat sent, received;
    uint8_t bytes[sizeof text];
    int ends[2], pipes[2], fd = -1;
    CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    CU_ASSERT_EQUAL_FATAL(pipe(pipes), 0);
    CU_ASSERT_TRUE_FATAL(symbolize_child_send(ends[0], CHILD_REPLY, 42, &piece, 1, pipes[0]));
    CU_ASSERT_TRUE_FATAL(symbolize_child_receive(ends[1], &header, &fd));
    CU_ASSERT_EQUAL(header.kind, CHILD_REPLY);
    CU_ASSERT_EQUAL(header.number, 42);
    CU_ASSERT_TRUE_FATAL(fd >= 0);
    CU_ASSERT_NOT_EQUAL(fd, pipes[0]);
    CU_ASSERT_EQUAL(fstat(pipes[0], &sent), 0);
    CU_ASSERT_EQUAL(fstat(fd, &received), 0);
    CU_ASSERT_EQUAL(received.st_ino, sent.st_ino);
    CU_ASSERT_EQUAL_FATAL(header.size, sizeof bytes);
    CU_ASSERT_TRUE(symbolize_child_take(ends[1], bytes, sizeof bytes));
    CU_ASSERT_EQUAL(memcmp(bytes, text, sizeof bytes), 0);
    for (size_t i = 0; i < 2; i++) {
        close(ends[i]);
        close(pipes[i]);
    }
    close(fd);
}

static void test_round_trip(void)
{
    const struct sprof_bytes bytes = sent_bytes();
    const struct naming sent = {.result = result};
    struct naming taken = {0};
    const char *problem = NULL;
    CU_ASSERT_EQUAL_FATAL(take(bytes.data, bytes.size, bytes.size, 2, &taken.result, &problem), 0);
    CU_ASSERT_STRING_EQUAL(problem, "a problem");
    CU_ASSERT_EQUAL(taken.result.function_count, 2);
    CU_ASSERT_EQUAL(naming_differences(&taken, &sent), 0);
    CU_ASSERT_STRING_EQUAL(taken.result.functions[1].inlined_name, "two<>");
    symbolize_result_release(&taken.result);
}

/* All that an answer leads to can be read. */
static size_t read_all(const struct symbolize_result *taken)
{
    size_t length = 0;
    for (size_t i = 0; i < taken->function_count; i++) {
        const struct symbolize_function *function = &taken->functions[i];
        length += strlen(function->name) + strlen(function->linkage_name);
        length += function->file ? strlen(function->file) : 0;
        length += function->inlined_name ? strlen(function->inlined_name) : 0;
    }
    for (size_t i = 0; i < taken->address_count; i++)
        for (uint32_t k = taken->first[i]; k < taken->first[i + 1]; k++) {
            CU_ASSERT_TRUE_FATAL(k < taken->frame_count);
            CU_ASSERT_TRUE_FATAL(taken->frames[k].function < taken->function_count);
            length += taken->frames[k].file ? strlen(taken->frames[k].file) : 0;
        }
    return length;
}

/* Each byte, with several values: what is taken is sound, and most is refused. */
static void test_changed_bytes(void)
{
    static const uint8_t changes[] = {1, 0x7f, 0x80, 0xff};
    const struct sprof_bytes bytes = sent_bytes();
    uint8_t changed[4096];
    size_t refused = 0;
    for (size_t i = 0; i < bytes.size; i++)
        for (size_t k = 0; k < sizeof changes; k++) {
            struct symbolize_result taken;
            const char *problem = NULL;
            memcpy(changed, bytes.data, bytes.size);
            changed[i] ^= changes[k];
            if (take(changed, bytes.size, bytes.size, 2, &taken, &problem)) {
                refused++;
                CU_ASSERT_PTR_NULL(taken.functions);
                continue;
            }
            CU_ASSERT_TRUE(read_all(&taken) < 2 * bytes.size);
            CU_ASSERT_TRUE(!problem || strlen(problem) < bytes.size);
            symbolize_result_release(&taken);
        }
    CU_ASSERT_TRUE(refused > bytes.size);
}

static void test_wrong_sizes(void)
{
    const struct sprof_bytes bytes = sent_bytes();
    struct symbolize_result taken;
    const char *problem;
    for (size_t size = 0; size < bytes.size; size++)
        CU_ASSERT_EQUAL(take(bytes.data, size, bytes.size, 2, &taken, &problem), SPROF_EFORMAT);
    CU_ASSERT_EQUAL(take(bytes.data, bytes.size, bytes.size - 1, 2, &taken, &problem),
                    SPROF_EFORMAT);
    CU_ASSERT_EQUAL(take(bytes.data, bytes.size, 0, 2, &taken, &problem), SPROF_EFORMAT);
    CU_ASSERT_EQUAL(take(bytes.data, bytes.size, bytes.size, 1, &taken, &problem), SPROF_EFORMAT);
    CU_ASSERT_EQUAL(take(bytes.data, bytes.size, bytes.size, 3, &taken, &problem), SPROF_EFORMAT);
}

void sprof_suite_symbolize_child_result(void);
void sprof_suite_symbolize_child_result(void)
{
    CU_pSuite suite = CU_add_suite("symbolize/child_result", NULL, NULL);
    CU_add_test(suite, "a file travels", test_a_file_travels);
    CU_add_test(suite, "an answer arrives as it was", test_round_trip);
    CU_add_test(suite, "changed bytes", test_changed_bytes);
    CU_add_test(suite, "wrong sizes", test_wrong_sizes);
}
