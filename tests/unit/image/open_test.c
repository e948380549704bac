#include "image/elf_file.h"
#include "tests/unit/image/fixture.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static const char sleeper[] = "#include <unistd.h>\n"
                              "int main(void) { write(1, \"\", 1); pause(); return VALUE; }\n";

struct running {
    struct fixture fixture;
    pid_t pid;
    uint8_t build_id[20];
    struct stat status;
    struct image_request request;
    char path[512];
};

static struct image *must_open(const struct image_request *request)
{
    struct image *image = NULL;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(image_open(&image, request, &error), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(image);
    return image;
}

/* Starts the program and waits until its main runs. */
static pid_t start(const char *path)
{
    int ready[2];
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    const pid_t pid = fork();
    CU_ASSERT_TRUE_FATAL(pid >= 0);
    if (!pid) {
        dup2(ready[1], 1);
        execl(path, path, NULL);
        _exit(127);
    }
    char byte;
    close(ready[1]);
    CU_ASSERT_EQUAL(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void running_open(struct running *running)
{
    *running = (struct running){0};
    fixture_open(&running->fixture);
    fixture_text(&running->fixture, "a.c", sleeper);
    fixture_run(&running->fixture, "cc -Wl,--build-id=sha1 -DVALUE=1 a.c -o a");
    strcpy(running->path, fixture_path(&running->fixture, "a"));
    running->request = (struct image_request){.file.path = running->path};
    struct image *image = must_open(&running->request);
    CU_ASSERT_EQUAL_FATAL(image_build_id(image).size, 20);
    memcpy(running->build_id, image_build_id(image).data, 20);
    image_free(image);
    CU_ASSERT_EQUAL(stat(running->path, &running->status), 0);
    running->pid = start(running->path);
}

static void running_close(struct running *running)
{
    if (running->pid) {
        kill(running->pid, SIGKILL);
        waitpid(running->pid, NULL, 0);
    }
    fixture_close(&running->fixture);
}

static void use_build_id(struct running *running)
{
    memcpy(running->request.file.build_id, running->build_id, 20);
    running->request.file.build_id_size = 20;
}

static bool is_original(const struct running *running, const struct image *image)
{
    const struct sprof_bytes id = image_build_id(image);
    return id.size == 20 && !memcmp(id.data, running->build_id, 20);
}

static void replace(struct running *running)
{
    fixture_run(&running->fixture, "cc -Wl,--build-id=sha1 -DVALUE=2 a.c -o b && mv b a");
}

static void test_replaced_while_it_runs(void)
{
    struct running running;
    running_open(&running);
    replace(&running);
    use_build_id(&running);
    running.request.pid = running.pid;
    struct image *image = must_open(&running.request);
    CU_ASSERT_TRUE(is_original(&running, image));
    CU_ASSERT_STRING_EQUAL(image_path(image), running.path);
    image_free(image);
    running_close(&running);
}

static void test_replaced_after_it_ended(void)
{
    struct running running;
    running_open(&running);
    replace(&running);
    use_build_id(&running);
    struct image *image = NULL;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(image_open(&image, &running.request, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "replaced"));
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "build id"));
    /* Told apart by its inode where no build id is known. */
    running.request.file.build_id_size = 0;
    running.request.file.device_major = major(running.status.st_dev);
    running.request.file.device_minor = minor(running.status.st_dev);
    running.request.file.inode = running.status.st_ino;
    CU_ASSERT_EQUAL(image_open(&image, &running.request, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "inode"));
    CU_ASSERT_PTR_NULL(image);
    running_close(&running);
}

static void test_deleted_while_it_runs(void)
{
    struct running running;
    running_open(&running);
    unlink(running.path);
    char path[600];
    snprintf(path, sizeof path, "%s (deleted)", running.path);
    running.request.file.path = path;
    running.request.pid = running.pid;
    struct image *image = must_open(&running.request);
    CU_ASSERT_TRUE(is_original(&running, image));
    CU_ASSERT_STRING_EQUAL(image_path(image), running.path);
    image_free(image);

    running.request.pid = 0;
    struct sprof_error error = {0};
    CU_ASSERT_EQUAL(image_open(&image, &running.request, &error), SPROF_ENOTFOUND);
    CU_ASSERT_PTR_NOT_NULL(strstr(error.message, "is gone"));
    running_close(&running);
}

/* A process with another root directory; 0: it may not have one. */
static pid_t start_below(const char *root)
{
    int ready[2];
    char byte;
    CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
    const pid_t pid = fork();
    CU_ASSERT_TRUE_FATAL(pid >= 0);
    if (!pid) {
        if (geteuid() && unshare(CLONE_NEWUSER))
            _exit(1);
        if (chroot(root) || write(ready[1], "", 1) != 1)
            _exit(1);
        pause();
        _exit(0);
    }
    close(ready[1]);
    const bool is_there = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    if (is_there)
        return pid;
    waitpid(pid, NULL, 0);
    return 0;
}

static void test_ended_in_the_root_of_an_ancestor(void)
{
    struct running running;
    char root[64];
    running_open(&running);
    const pid_t ancestor = start_below(running.fixture.directory);
    running.request.file.path = "/a";
    running.request.ancestor = ancestor;
    struct image *image = NULL;
    CU_ASSERT_EQUAL(image_open(&image, &running.request, NULL), SPROF_ENOTFOUND);
    use_build_id(&running);
    if (ancestor) {
        image = must_open(&running.request);
        CU_ASSERT_TRUE(is_original(&running, image));
        snprintf(root, sizeof root, "/proc/%d/root", ancestor);
        CU_ASSERT_STRING_EQUAL(image_root(image), root);
        image_free(image);
        kill(ancestor, SIGKILL);
        waitpid(ancestor, NULL, 0);
    }
    CU_ASSERT_EQUAL(image_open(&image, &running.request, NULL), SPROF_ENOTFOUND);
    running_close(&running);
}

/* The first mapping of a library, found through /proc/PID/map_files where that may be read. */
static void test_deleted_library_through_map_files(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_text(&fixture, "l.c", "int answer(void) { return 42; }\n");
    fixture_text(&fixture, "a.c",
                 "#include <unistd.h>\nint answer(void);\n"
                 "int main(void) { write(1, \"\", 1); pause(); return answer(); }\n");
    fixture_run(&fixture, "cc -shared -fPIC l.c -o libl.so && cc a.c -o a -L. -ll -Wl,-rpath,$PWD");
    const pid_t pid = start(fixture_path(&fixture, "a"));
    fixture_run(&fixture, "mv libl.so kept.so");
    fixture_run(&fixture, "cp kept.so libl.so && rm kept.so libl.so");
    char command[128];
    snprintf(command, sizeof command, "grep -m1 -E '(libl|kept).so' /proc/%d/maps", (int)pid);
    char *line = fixture_output(&fixture, command);
    char *dash = NULL;
    struct image_request request = {.pid = pid};
    request.map_start = strtoull(line, &dash, 16);
    request.map_end = strtoull(dash + 1, NULL, 16);
    request.file.path = strchr(line, '/');
    CU_ASSERT_PTR_NOT_NULL_FATAL(request.file.path);
    line[strcspn(line, "\n")] = '\0';
    struct image *image = NULL;
    const int code = image_open(&image, &request, NULL);
    if (geteuid() == 0) {
        CU_ASSERT_EQUAL(code, 0);
        static const char *const names[] = {"answer", NULL};
        struct image_symbol answer;
        CU_ASSERT_PTR_NOT_NULL_FATAL(image);
        image_find_symbols(image, names, &answer);
        CU_ASSERT_NOT_EQUAL(answer.vaddr, 0);
    } else {
        CU_ASSERT_TRUE(code == 0 || code == SPROF_ENOTFOUND);
    }
    image_free(image);
    free(line);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    fixture_close(&fixture);
}

/* Puts a pipe and a regular file into each other's place until it is to end. */
static void *swap(void *context)
{
    atomic_bool *ends = context;
    while (!*ends)
        renameat2(AT_FDCWD, "file", AT_FDCWD, "pipe", RENAME_EXCHANGE);
    return NULL;
}

/* Events of opens for reading, which O_PATH is not, are counted while names change. */
static void test_only_regular_files_are_opened(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_run(&fixture, "mkfifo pipe; echo >file");
    char before[PATH_MAX], event[4096];
    CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(before, sizeof before));
    CU_ASSERT_EQUAL_FATAL(chdir(fixture.directory), 0);
    const int opens = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    CU_ASSERT_TRUE_FATAL(inotify_add_watch(opens, "pipe", IN_OPEN) >= 0);
    atomic_bool ends = false;
    pthread_t swapper;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&swapper, NULL, swap, &ends), 0);
    for (int i = 0; i < 20000; i++) {
        struct sprof_error error;
        int fd;
        if (!image_open_file("file", &fd, &error))
            close(fd);
    }
    ends = true;
    pthread_join(swapper, NULL);
    CU_ASSERT_EQUAL(read(opens, event, sizeof event), -1);
    close(opens);
    CU_ASSERT_EQUAL(chdir(before), 0);
    fixture_close(&fixture);
}

static void test_a_pipe_does_not_hang(void)
{
    struct fixture fixture;
    fixture_open(&fixture);
    fixture_run(&fixture, "mkfifo pipe; mkdir directory");
    struct image *image = NULL;
    struct sprof_error error = {0};
    struct image_request request = {.file.path = fixture_path(&fixture, "pipe")};
    CU_ASSERT_EQUAL(image_open(&image, &request, &error), SPROF_EFORMAT);
    request.file.path = fixture_path(&fixture, "directory");
    CU_ASSERT_EQUAL(image_open(&image, &request, &error), SPROF_EFORMAT);
    request.file.path = fixture_path(&fixture, "missing");
    CU_ASSERT_EQUAL(image_open(&image, &request, &error), SPROF_ENOTFOUND);
    fixture_close(&fixture);
}

void sprof_suite_image_open(void);
void sprof_suite_image_open(void)
{
    CU_pSuite suite = CU_add_suite("image/open", NULL, NULL);
    CU_add_test(suite, "replaced while it runs", test_replaced_while_it_runs);
    CU_add_test(suite, "replaced after it ended", test_replaced_after_it_ended);
    CU_add_test(suite, "deleted while it runs", test_deleted_while_it_runs);
    CU_add_test(suite, "ended, in the root of an ancestor", test_ended_in_the_root_of_an_ancestor);
    CU_add_test(suite, "a deleted library", test_deleted_library_through_map_files);
    CU_add_test(suite, "a pipe does not hang", test_a_pipe_does_not_hang);
    CU_add_test(suite, "only regular files are opened", test_only_regular_files_are_opened);
}
