/* The control socket: who finds it, who may use it, what is said. */
#include "record/control.h"
#include "record/record.h"
#include "tests/unit/image/fixture.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct scene {
    struct fixture fixture;
    char output[512], socket[520];
    struct record_control control;
    struct sprof_error error;
    bool served;
    char last[64]; /* request */
};

static void scene_open(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    fixture_open(&scene->fixture);
    snprintf(scene->output, sizeof scene->output, "%s", fixture_path(&scene->fixture, "x.db"));
    snprintf(scene->socket, sizeof scene->socket, "%s.ctl", scene->output);
    CU_ASSERT_EQUAL_FATAL(record_control_open(&scene->control, scene->output, &scene->error), 0);
}

static void scene_close(struct scene *scene)
{
    record_control_close(&scene->control);
    CU_ASSERT_FALSE(!access(scene->socket, F_OK));
    fixture_close(&scene->fixture);
}

static int handle(void *context, char *request, struct sprof_str *answer)
{
    struct scene *scene = context;
    snprintf(scene->last, sizeof scene->last, "%s", request);
    scene->served = true;
    sprof_str_appendf(answer, "%s, indeed", request);
    return strcmp(request, "end") ? 0 : SPROF_EUNSUPPORTED;
}

static void *serve(void *context)
{
    struct scene *scene = context;
    for (int i = 0; i < 20000 && !scene->served; i++) {
        record_control_serve(&scene->control, handle, scene);
        usleep(500);
    }
    return NULL;
}

static int ask(struct scene *scene, const char *command, struct sprof_str *answer)
{
    pthread_t thread;
    scene->served = false;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, serve, scene), 0);
    const int result = record_send_command(scene->output, command, answer, &scene->error);
    if (result == SPROF_EUSAGE)
        scene->served = true;
    pthread_join(thread, NULL);
    return result;
}

static void test_a_request_is_answered(void)
{
    struct scene scene;
    struct sprof_str answer = {0};
    scene_open(&scene);
    CU_ASSERT_EQUAL(ask(&scene, "mark second pass", &answer), 0);
    CU_ASSERT_STRING_EQUAL(scene.last, "mark second pass");
    CU_ASSERT_STRING_EQUAL(answer.text, "mark second pass, indeed");
    sprof_str_release(&answer);
    CU_ASSERT_EQUAL(ask(&scene, "end", &answer), SPROF_ESTATE);
    CU_ASSERT_STRING_EQUAL(scene.error.message, "end, indeed");
    sprof_str_release(&answer);
    scene_close(&scene);
}

static void test_only_the_owner_sees_it(void)
{
    struct scene scene;
    struct stat status;
    scene_open(&scene);
    CU_ASSERT_EQUAL(stat(scene.socket, &status), 0);
    CU_ASSERT_EQUAL(status.st_mode & 0777, 0600);
    scene_close(&scene);
}

/* Even where others get at the socket, nobody listens to them. */
static void test_others_are_turned_away(void)
{
    if (geteuid()) {
        printf(" skipped: not root");
        return;
    }
    struct scene scene;
    scene_open(&scene);
    chmod(scene.socket, 0666);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CU_ASSERT_TRUE_FATAL(strlen(scene.socket) < sizeof address.sun_path);
    strcpy(address.sun_path, scene.socket);
    *strrchr(scene.socket, '/') = '\0';
    chmod(scene.socket, 0755);
    strcpy(scene.socket, address.sun_path);
    const pid_t pid = fork();
    if (!pid) {
        char byte;
        const bool asked = !setuid(65534) && !connect(fd, (void *)&address, sizeof address) &&
                           send(fd, "end", 3, MSG_NOSIGNAL) == 3;
        _exit(asked ? recv(fd, &byte, 1, 0) == 1 : 2);
    }
    close(fd);
    int status = -1;
    for (int i = 0; i < 20000 && waitpid(pid, &status, WNOHANG) != pid; i++) {
        record_control_serve(&scene.control, handle, &scene);
        usleep(500);
    }
    CU_ASSERT_EQUAL(status, 0); /* asked, and got no answer */
    CU_ASSERT_FALSE(scene.served);
    scene_close(&scene);
}

static void test_what_a_killed_recorder_left(void)
{
    struct scene scene;
    scene_open(&scene);
    struct record_control second;
    CU_ASSERT_EQUAL(record_control_open(&second, scene.output, &scene.error), SPROF_ESTATE);
    close(scene.control.listener); /* as if killed: the socket stays */
    scene.control.listener = -1;
    CU_ASSERT_EQUAL(record_control_open(&second, scene.output, &scene.error), 0);
    record_control_close(&second);
    scene_close(&scene);
}

static void test_nothing_else_is_removed(void)
{
    struct scene scene;
    scene_open(&scene);
    record_control_close(&scene.control);
    fixture_write(&scene.fixture, "x.db.ctl", "mine", 4);
    CU_ASSERT_EQUAL(record_control_open(&scene.control, scene.output, &scene.error), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene.error.message, "x.db.ctl"));
    CU_ASSERT_TRUE(!access(scene.socket, F_OK));
    unlink(scene.socket);
    fixture_close(&scene.fixture);
}

static void test_nobody_there(void)
{
    struct scene scene;
    struct sprof_str answer = {0};
    scene_open(&scene);
    record_control_close(&scene.control);
    CU_ASSERT_EQUAL(record_send_command(scene.output, "status", &answer, &scene.error),
                    SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene.error.message, "not being recorded"));
    CU_ASSERT_EQUAL(record_send_command("/no/such/x.db", "status", &answer, &scene.error),
                    SPROF_ENOTFOUND);
    char name[300] = "/tmp/";
    memset(name + 5, 'n', 200);
    CU_ASSERT_EQUAL(record_send_command(name, "status", &answer, &scene.error), SPROF_ELIMIT);
    fixture_close(&scene.fixture);
}

static void test_bad_commands(void)
{
    static const struct {
        const char *command, *word;
    } cases[] = {
        {"", "unknown"},     {"stp", "stop"},  {"rate", "HZ"},          {"mark", "NAME"},
        {"stop now", "now"}, {"start ", NULL}, {"status 1", "nothing"}, {"rate ", "HZ"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sprof_error error = {0};
        const int result = record_check_command(cases[i].command, &error);
        CU_ASSERT_EQUAL(result, cases[i].word ? SPROF_EUSAGE : 0);
        if (cases[i].word)
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].word));
    }
    char longest[2048];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CU_ASSERT_EQUAL(record_check_command(longest, NULL), SPROF_EUSAGE);
}

void sprof_suite_record_control(void);
void sprof_suite_record_control(void)
{
    CU_pSuite suite = CU_add_suite("record/control", NULL, NULL);
    CU_add_test(suite, "a request is answered", test_a_request_is_answered);
    CU_add_test(suite, "only the owner sees it", test_only_the_owner_sees_it);
    CU_add_test(suite, "others are turned away", test_others_are_turned_away);
    CU_add_test(suite, "what a killed recorder left", test_what_a_killed_recorder_left);
    CU_add_test(suite, "nothing else is removed", test_nothing_else_is_removed);
    CU_add_test(suite, "nobody there", test_nobody_there);
    CU_add_test(suite, "bad commands", test_bad_commands);
}
