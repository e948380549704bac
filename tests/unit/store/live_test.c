#include "tests/unit/store/recording.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* As a recorder knows them of itself: from its own /proc. */
static uint64_t start_of(pid_t pid)
{
    char path[64], text[1024] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_TRUE(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    const char *field = strrchr(text, ')');
    for (int number = 2; number < 22; number++)
        field = strchr(field + 1, ' ');
    return strtoull(field, NULL, 10);
}

static const char *boot_id(void)
{
    static char text[64];
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    CU_ASSERT_PTR_NOT_NULL(fgets(text, sizeof text, file));
    fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return text;
}

/* A recording of the given recorder, with its log not folded, as while it records. */
static void make_recording_of(const struct place *place, const struct store_run *run)
{
    struct store *store;
    fflush(NULL);
    const pid_t writer = fork();
    if (!writer)
        _exit(store_create(&store, place->path, NULL) || example_write_raw(store, run));
    int status;
    CU_ASSERT_EQUAL_FATAL(waitpid(writer, &status, 0), writer);
    CU_ASSERT_EQUAL(status, 0);
}

static void test_live_recorder_is_named(void)
{
    const struct place place = place_make();
    const pid_t recorder = fork();
    if (!recorder) {
        pause();
        _exit(0);
    }
    struct store_run run = example_run();
    run.recorder_pid = recorder;
    run.recorder_start = start_of(recorder);
    run.boot_id = boot_id();
    make_recording_of(&place, &run);

    struct store *store;
    struct sprof_error error = {0};
    char named[32];
    snprintf(named, sizeof named, "process %d is", recorder);
    CU_ASSERT_EQUAL(store_open_read(&store, place.path, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, named));
    CU_ASSERT_EQUAL(store_open_write(&store, place.path, &error), SPROF_ESTATE);
    CU_ASSERT_EQUAL(store_create(&store, place.path, &error), SPROF_ESTATE);
    CU_ASSERT_PTR_NULL(store);
    CU_ASSERT_TRUE(file_exists(place.path));

    kill(recorder, SIGKILL);
    siginfo_t facts;
    waitid(P_PID, (id_t)recorder, &facts, WEXITED | WNOWAIT); /* a zombie is dead, too */
    CU_ASSERT_EQUAL(store_open_read(&store, place.path, &error), 0);
    CU_ASSERT_EQUAL(store_live_recorder(store), 0);
    store_close(store, NULL);
    waitpid(recorder, NULL, 0);
    place_remove(&place);
}

static int opens(const struct store_run *run)
{
    const struct place place = place_make();
    struct store *store;
    make_recording_of(&place, run);
    const int status = store_open_read(&store, place.path, NULL);
    store_close(store, NULL);
    place_remove(&place);
    return status;
}

static void test_process_of_the_same_number_is_another(void)
{
    struct store_run run = example_run();
    run.recorder_pid = getpid();
    run.recorder_start = start_of(getpid());
    run.boot_id = boot_id();
    CU_ASSERT_EQUAL(opens(&run), SPROF_ESTATE);
    run.recorder_start++;
    CU_ASSERT_EQUAL(opens(&run), 0);
    run.recorder_start--;
    run.boot_id = "f0000000-0000-0000-0000-000000000000";
    CU_ASSERT_EQUAL(opens(&run), 0);
    run.boot_id = NULL;
    CU_ASSERT_EQUAL(opens(&run), 0);
    run.boot_id = boot_id();
    run.state = STORE_COMPLETE;
    CU_ASSERT_EQUAL(opens(&run), 0);
}

static void test_open_store_tells_its_recorder(void)
{
    const struct place place = place_make();
    struct store_run run = example_run();
    struct store *store;
    run.recorder_pid = getpid();
    run.recorder_start = start_of(getpid());
    run.boot_id = boot_id();
    CU_ASSERT_EQUAL_FATAL(store_create(&store, place.path, NULL), 0);
    CU_ASSERT_EQUAL(store_live_recorder(store), 0);
    CU_ASSERT_EQUAL(example_write_raw(store, &run), 0);
    CU_ASSERT_EQUAL(store_live_recorder(store), getpid());
    store_close(store, NULL);
    place_remove(&place);
}

void sprof_suite_store_live(void);
void sprof_suite_store_live(void)
{
    CU_pSuite suite = CU_add_suite("store/live", NULL, NULL);
    CU_add_test(suite, "a live recorder is named", test_live_recorder_is_named);
    CU_add_test(suite, "the same number, another process",
                test_process_of_the_same_number_is_another);
    CU_add_test(suite, "an open store tells its recorder", test_open_store_tells_its_recorder);
}
