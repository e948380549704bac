/* Code for system calls over the entry point of a process, and the file's bytes again. */
#include "inject/entry_code.h"

#include <CUnit/CUnit.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void read_entry(int memory, const struct inject_entry_code *entry,
                       uint8_t bytes[ARCH_CALLS_CODE_BYTES])
{
    CU_ASSERT_EQUAL(pread(memory, bytes, ARCH_CALLS_CODE_BYTES, (off_t)entry->at),
                    ARCH_CALLS_CODE_BYTES);
}

/* This program has passed its entry point, and so has its child. */
static void test_written_found_and_restored(void)
{
    struct inject_entry_code entry = {0}, again = {0};
    struct sprof_error error = {0};
    uint8_t bytes[ARCH_CALLS_CODE_BYTES];
    char path[64];
    const pid_t child = fork();
    if (!child)
        for (;;)
            pause();
    CU_ASSERT_TRUE_FATAL(child > 0);
    snprintf(path, sizeof path, "/proc/%d/mem", (int)child);
    const int memory = open(path, O_RDWR | O_CLOEXEC);
    CU_ASSERT_TRUE(memory >= 0);
    CU_ASSERT_EQUAL(inject_entry_code_find(&entry, child, &error), 0);
    read_entry(memory, &entry, bytes);
    CU_ASSERT_EQUAL(memcmp(bytes, entry.original, sizeof bytes), 0);
    CU_ASSERT_TRUE(inject_entry_code_write(&entry, memory));
    read_entry(memory, &entry, bytes);
    CU_ASSERT_EQUAL(memcmp(bytes + 10, "\x0f\x05\xc3", 3), 0); /* syscall; ret */
    /* What a killed tracer has left is found, with the bytes of the file. */
    CU_ASSERT_EQUAL(inject_entry_code_find(&again, child, &error), 0);
    CU_ASSERT_EQUAL(again.at, entry.at);
    CU_ASSERT_EQUAL(memcmp(again.original, entry.original, sizeof again.original), 0);
    CU_ASSERT_TRUE(inject_entry_code_restore(&again, memory));
    read_entry(memory, &entry, bytes);
    CU_ASSERT_EQUAL(memcmp(bytes, entry.original, sizeof bytes), 0);
    /* Other code there is left alone. */
    CU_ASSERT_EQUAL(pwrite(memory, "\x90", 1, (off_t)entry.at + 3), 1);
    CU_ASSERT_EQUAL(inject_entry_code_find(&again, child, &error), SPROF_EUNSUPPORTED);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "--backend uprobe"));
    close(memory);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    CU_ASSERT_FALSE(inject_entry_code_write(&entry, -1));
    CU_ASSERT_EQUAL(inject_entry_code_find(&again, child, &error), SPROF_EUNSUPPORTED);
}

static void test_words_of_a_call(void)
{
    static const uint64_t arguments[6] = {1, 2, 3, 4, 5, 6};
    uint64_t words[INJECT_ENTRY_CODE_WORDS];
    inject_entry_code_call(words, 9, arguments, 0x1234);
    CU_ASSERT_EQUAL(words[0], 9);
    CU_ASSERT_EQUAL(memcmp(words + 1, arguments, sizeof arguments), 0);
    CU_ASSERT_EQUAL(words[7], 0x1234);
}

void sprof_suite_inject_entry_code(void);
void sprof_suite_inject_entry_code(void)
{
    CU_pSuite suite = CU_add_suite("inject/entry_code", NULL, NULL);
    CU_add_test(suite, "written, found and restored", test_written_found_and_restored);
    CU_add_test(suite, "words of a call", test_words_of_a_call);
}
