/* The control socket: who finds it, who may use it, what is said. */
#include "control/control.h"
#include "tests/unit/image/fixture.h"
#include "tests/unit/skip.h"

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
    struct control_server control;
    struct sprof_error error;
    volatile bool served;
    char last[64]; /* request */
    size_t last_length;
};

static void scene_open(struct scene *scene)
{
    memset(scene, 0, sizeof *scene);
    fixture_open(&scene->fixture);
    snprintf(scene->output, sizeof scene->output, "%s", fixture_path(&scene->fixture, "x.db"));
    snprintf(scene->socket, sizeof scene->socket, "%s.ctl", scene->output);
    CU_ASSERT_EQUAL_FATAL(control_server_open(&scene->control, scene->output, &scene->error), 0);
}

static void scene_close(struct scene *scene)
{
    control_server_close(&scene->control);
    CU_ASSERT_FALSE(!access(scene->socket, F_OK));
    fixture_close(&scene->fixture);
}

static int handle(void *context, char *request, struct sprof_str *answer)
{
    struct scene *scene = context;
    snprintf(scene->last, sizeof scene->last, "%s", request);
    scene->last_length = strlen(request);
    scene->served = true;
    sprof_str_appendf(answer, "%s, indeed", request);
    return strcmp(request, "end") ? 0 : SPROF_EUNSUPPORTED;
}

static void *serve(void *context)
{
    struct scene *scene = context;
    for (int i = 0; i < 20000 && !scene->served; i++) {
        control_server_serve(&scene->control, handle, scene);
        usleep(500);
    }
    return NULL;
}

static int ask(struct scene *scene, const char *command, struct sprof_str *answer)
{
    pthread_t thread;
    scene->served = false;
    CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, serve, scene), 0);
    const int result = control_send(scene->output, CONTROL_NAMED, command, answer, &scene->error);
    if (result)
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

static int handle_later(void *context, char *request, struct sprof_str *answer)
{
    struct scene *scene = context;
    control_server_hold(&scene->control);
    return handle(context, request, answer);
}

/* Others are answered meanwhile. */
static void test_an_answer_is_held_back(void)
{
    struct scene scene;
    struct sprof_str answer = {0};
    char text[64] = "";
    scene_open(&scene);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CU_ASSERT_TRUE_FATAL(strlen(scene.socket) < sizeof address.sun_path);
    strcpy(address.sun_path, scene.socket);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (void *)&address, sizeof address), 0);
    CU_ASSERT_EQUAL(send(fd, "last", 4, MSG_NOSIGNAL), 4);
    control_server_serve(&scene.control, handle_later, &scene);
    CU_ASSERT_STRING_EQUAL(scene.last, "last");
    CU_ASSERT_EQUAL(ask(&scene, "status", &answer), 0);
    CU_ASSERT_STRING_EQUAL(scene.last, "status");
    CU_ASSERT_EQUAL(recv(fd, text, sizeof text - 1, 0), -1);
    control_server_close(&scene.control);
    CU_ASSERT_EQUAL(recv(fd, text, sizeof text - 1, 0), 13);
    CU_ASSERT_STRING_EQUAL(text, "0last, indeed");
    close(fd);
    sprof_str_release(&answer);
    fixture_close(&scene.fixture);
}

/* What is cut may mean something else: it is refused whole, whoever sends it. */
static void test_requests_are_whole_or_refused(void)
{
    struct scene scene;
    struct sprof_str answer = {0};
    char request[CONTROL_REQUEST_MAX + 1] = "", byte = 0;
    memset(request, 'x', sizeof request - 1);
    scene_open(&scene);
    CU_ASSERT_EQUAL(ask(&scene, request, &answer), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene.error.message, "characters"));
    CU_ASSERT_EQUAL(scene.last_length, 0);
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CU_ASSERT_TRUE_FATAL(strlen(scene.socket) < sizeof address.sun_path);
    strcpy(address.sun_path, scene.socket);
    CU_ASSERT_EQUAL_FATAL(connect(fd, (void *)&address, sizeof address), 0);
    CU_ASSERT_EQUAL(send(fd, request, sizeof request - 1, MSG_NOSIGNAL),
                    (ssize_t)sizeof request - 1);
    control_server_serve(&scene.control, handle, &scene);
    CU_ASSERT_EQUAL(recv(fd, &byte, 1, 0), 1);
    CU_ASSERT_EQUAL(byte, '2');
    CU_ASSERT_EQUAL(scene.last_length, 0);
    close(fd);
    request[sizeof request - 2] = '\0'; /* the longest */
    CU_ASSERT_EQUAL(ask(&scene, request, &answer), 0);
    CU_ASSERT_EQUAL(scene.last_length, sizeof request - 2);
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
        sprof_test_skip("needs root: only root becomes another user");
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
        if (setuid(65534) || connect(fd, (void *)&address, sizeof address))
            _exit(2);
        /* The server may have closed the connection before the request is sent. */
        const bool sent = send(fd, "end", 3, MSG_NOSIGNAL) == 3;
        _exit(sent && recv(fd, &byte, 1, 0) == 1);
    }
    close(fd);
    int status = -1;
    for (int i = 0; i < 20000 && waitpid(pid, &status, WNOHANG) != pid; i++) {
        control_server_serve(&scene.control, handle, &scene);
        usleep(500);
    }
    CU_ASSERT_EQUAL(status, 0); /* asked, and got no answer */
    CU_ASSERT_FALSE(scene.served);
    scene_close(&scene);
}

/* Those who say nothing keep nobody out for long. */
static void test_silent_ones_make_room(void)
{
    struct scene scene;
    struct sprof_str answer = {0};
    int silent[CONTROL_CLIENTS];
    scene_open(&scene);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    CU_ASSERT_TRUE_FATAL(strlen(scene.socket) < sizeof address.sun_path);
    strcpy(address.sun_path, scene.socket);
    for (size_t i = 0; i < CONTROL_CLIENTS; i++) {
        silent[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        CU_ASSERT_EQUAL_FATAL(connect(silent[i], (void *)&address, sizeof address), 0);
        control_server_serve(&scene.control, handle, &scene);
    }
    CU_ASSERT_EQUAL(ask(&scene, "status", &answer), SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene.error.message, "others have connected"));
    for (size_t i = 0; i < 2; i++)
        scene.control.clients[i].since_ns -= (1 + i) * UINT64_C(5000000000);
    CU_ASSERT_EQUAL(ask(&scene, "status", &answer), 0);
    char byte;
    CU_ASSERT_EQUAL(recv(silent[1], &byte, 1, 0), 0); /* who was silent longest, alone */
    CU_ASSERT_EQUAL(recv(silent[0], &byte, 1, MSG_DONTWAIT), -1);
    CU_ASSERT_EQUAL(send(silent[0], "late", 4, MSG_NOSIGNAL), 4);
    control_server_serve(&scene.control, handle, &scene);
    CU_ASSERT_EQUAL(recv(silent[0], &byte, 1, 0), 1);
    CU_ASSERT_EQUAL(byte, '0');
    for (size_t i = 0; i < CONTROL_CLIENTS; i++)
        close(silent[i]);
    sprof_str_release(&answer);
    scene_close(&scene);
}

static void test_what_a_killed_recorder_left(void)
{
    struct scene scene;
    scene_open(&scene);
    struct control_server second;
    CU_ASSERT_EQUAL(control_server_open(&second, scene.output, &scene.error), SPROF_ESTATE);
    close(scene.control.listener); /* as if killed: the socket stays */
    scene.control.listener = -1;
    CU_ASSERT_EQUAL(control_server_open(&second, scene.output, &scene.error), 0);
    control_server_close(&second);
    scene_close(&scene);
}

static void test_nothing_else_is_removed(void)
{
    struct scene scene;
    scene_open(&scene);
    control_server_close(&scene.control);
    fixture_write(&scene.fixture, "x.db.ctl", "mine", 4);
    CU_ASSERT_EQUAL(control_server_open(&scene.control, scene.output, &scene.error), SPROF_ESTATE);
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
    control_server_close(&scene.control);
    CU_ASSERT_EQUAL(control_send(scene.output, CONTROL_NAMED, "status", &answer, &scene.error),
                    SPROF_ESTATE);
    CU_ASSERT_PTR_NOT_NULL(strstr(scene.error.message, "not being recorded"));
    CU_ASSERT_EQUAL(control_send("/no/such/x.db", CONTROL_NAMED, "status", &answer, &scene.error),
                    SPROF_ENOTFOUND);
    char name[300] = "/tmp/";
    memset(name + 5, 'n', 200);
    CU_ASSERT_EQUAL(control_send(name, CONTROL_NAMED, "status", &answer, &scene.error),
                    SPROF_ELIMIT);
    fixture_close(&scene.fixture);
}

static int run_nothing(void *context, char *argument, struct sprof_str *answer,
                       struct sprof_error *error)
{
    (void)context;
    (void)error;
    return sprof_str_append(answer, argument);
}

static const struct control_command items[] = {
    {"start", "on", "[T]", run_nothing},
    {"stop", NULL, NULL, run_nothing},
    {"rate", NULL, "HZ", run_nothing},
};
static const struct control_commands commands = {"start, stop, rate HZ", items, 3};

static void test_times(void)
{
    uint64_t nanoseconds = 0;
    CU_ASSERT_TRUE(control_parse_time("1", &nanoseconds) && nanoseconds == 1);
    CU_ASSERT_TRUE(control_parse_time("999999999999999999", &nanoseconds));
    CU_ASSERT_EQUAL(nanoseconds, 999999999999999999);
    static const char *const bad[] = {"", "0", "-1", " 1", "1s", "0x1", "18446744073709551615"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CU_ASSERT_FALSE(control_parse_time(bad[i], &nanoseconds));
}

static void test_bad_commands(void)
{
    static const struct {
        const char *command, *word;
    } cases[] = {
        {"", "unknown"},  {"stp", "stop"}, {"rate", "HZ"},        {"stop now", "now"},
        {"start ", NULL}, {"rate ", "HZ"}, {"stop 1", "nothing"}, {"on 5s", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sprof_error error = {0};
        const int result = control_check(&commands, cases[i].command, &error);
        CU_ASSERT_EQUAL(result, cases[i].word ? SPROF_EUSAGE : 0);
        if (cases[i].word)
            CU_ASSERT_PTR_NOT_NULL(strstr(error.message, cases[i].word));
    }
    char longest[CONTROL_REQUEST_MAX + 1];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    CU_ASSERT_EQUAL(control_check(&commands, longest, NULL), SPROF_EUSAGE);
}

static void test_carrying_out(void)
{
    struct sprof_str answer = {0};
    char on[] = "on 5 s", bad[] = "rate";
    CU_ASSERT_EQUAL(control_carry_out(&commands, NULL, on, &answer), 0);
    CU_ASSERT_STRING_EQUAL(answer.text, "5 s");
    CU_ASSERT_EQUAL(control_carry_out(&commands, NULL, bad, &answer), SPROF_EUSAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(answer.text, "needs HZ"));
    sprof_str_release(&answer);
}

/* More than one request holds, less than what is cut. */
static int answer_much(void *context, char *request, struct sprof_str *answer)
{
    (void)context;
    (void)request;
    for (int i = 0; i < 10000; i++)
        sprof_str_append(answer, "0123456789");
    return 0;
}

static void *serve_much(void *context)
{
    struct scene *scene = context;
    while (!scene->served) {
        control_server_serve(&scene->control, answer_much, scene);
        usleep(1000);
    }
    return NULL;
}

static void test_long_answers(void)
{
    struct scene scene;
    struct sprof_str answer = {0};
    pthread_t thread;
    scene_open(&scene);
    pthread_create(&thread, NULL, serve_much, &scene);
    CU_ASSERT_EQUAL(control_send(scene.output, CONTROL_NAMED, "list", &answer, &scene.error), 0);
    CU_ASSERT_EQUAL(answer.length, 100000);
    scene.served = true;
    pthread_join(thread, NULL);
    sprof_str_release(&answer);
    scene_close(&scene);
}

void sprof_suite_control_server(void);
void sprof_suite_control_server(void)
{
    CU_pSuite suite = CU_add_suite("control/server", NULL, NULL);
    CU_add_test(suite, "a request is answered", test_a_request_is_answered);
    CU_add_test(suite, "an answer is held back", test_an_answer_is_held_back);
    CU_add_test(suite, "requests are whole or refused", test_requests_are_whole_or_refused);
    CU_add_test(suite, "only the owner sees it", test_only_the_owner_sees_it);
    CU_add_test(suite, "others are turned away", test_others_are_turned_away);
    CU_add_test(suite, "silent ones make room", test_silent_ones_make_room);
    CU_add_test(suite, "what a killed recorder left", test_what_a_killed_recorder_left);
    CU_add_test(suite, "nothing else is removed", test_nothing_else_is_removed);
    CU_add_test(suite, "nobody there", test_nobody_there);
    CU_add_test(suite, "times", test_times);
    CU_add_test(suite, "bad commands", test_bad_commands);
    CU_add_test(suite, "a command is found and done", test_carrying_out);
    CU_add_test(suite, "answers may be long", test_long_answers);
}
