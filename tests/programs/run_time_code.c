/* Code made at run time, and its names: run_time_code HOW, in the directory at hand.
 * dump: three functions at one address, one after the other, for 4, 2 and 1 parts of the time,
 * named by a jitdump that is written when all is over, and printed with the times from when until
 * when each ran, and the CPU time; remap: the same, named by a perf map whose lines
 * are written when each is loaded, and that stays, its name printed last; map: one function, named
 * by a perf map that is written a moment later, and removed at the end; none: one without a name;
 * forked: two processes, after common_code parents_code and childs_code at the same address, named
 * by a jitdump each; nameless: two processes, of which the second runs code without a name; pushed:
 * pushing_code pushes the address that pushed_code is to return to, and jumps there; the map's name
 * is printed, and it stays. */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RECORD_BYTES = 56, HEADER_BYTES = 40 };

static uint64_t read_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t now_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

/* A loop of so many turns, with a frame pointer. */
static size_t make(uint8_t *code, uint64_t turns)
{
#if defined __x86_64__
    static const uint8_t before[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xb9};
    static const uint8_t after[] = {0x48, 0xff, 0xc9, 0x75, 0xfb, 0x5d, 0xc3};
    memcpy(code, before, sizeof before);
    memcpy(code + sizeof before, &turns, sizeof turns);
    memcpy(code + sizeof before + sizeof turns, after, sizeof after);
    return sizeof before + sizeof turns + sizeof after;
#else
    (void)code, (void)turns;
    return 0;
#endif
}

static void load(FILE *dump, const char *name, const uint8_t *code, size_t size)
{
    const uint64_t address = (uint64_t)(uintptr_t)code;
    const struct {
        uint32_t id, size;
        uint64_t time_ns;
        uint32_t pid, tid;
        uint64_t vma, address, code_size, index;
    } record = {0,
                (uint32_t)(RECORD_BYTES + strlen(name) + 1 + size),
                now_ns(),
                (uint32_t)getpid(),
                (uint32_t)getpid(),
                address,
                address,
                size,
                0};
    fwrite(&record, sizeof record, 1, dump);
    fwrite(name, strlen(name) + 1, 1, dump);
    fwrite(code, size, 1, dump);
}

static void run(uint8_t *code)
{
    void (*function)(void) = (void (*)(void))(uintptr_t)code;
    function();
}

/* The loop, to which other code behind it jumps as if it had called it. */
static size_t make_pushing(uint8_t *code, uint8_t *loop, uint64_t turns)
{
#if defined __x86_64__
    static const uint8_t before[] = {0x55, 0x48, 0x89, 0xe5};           /* frame */
    static const uint8_t push[] = {0x48, 0x8d, 0x05, 6, 0, 0, 0, 0x50}; /* rip + 6 */
    static const uint8_t after[] = {0xe9, 0, 0, 0, 0, 0x5d, 0xc3};
    uint8_t *at = code;
    memcpy(at, before, sizeof before), at += sizeof before;
    memcpy(at, push, sizeof push), at += sizeof push;
    memcpy(at, after, sizeof after);
    const int32_t distance = (int32_t)(loop - (at + 5));
    memcpy(at + 1, &distance, sizeof distance);
    make(loop, turns);
    return (size_t)(at + sizeof after - code);
#else
    (void)loop;
    return make(code, turns);
#endif
}

static FILE *open_map(char *name, size_t size)
{
    snprintf(name, size, "/tmp/perf-%d.map", (int)getpid());
    return fopen(name, "w");
}

static int run_pushing(uint8_t *code, uint64_t turns)
{
    enum { LOOP = 256 };
    char name[64];
    FILE *map = open_map(name, sizeof name);
    if (!map)
        return 1;
    const size_t size = make_pushing(code, code + LOOP, turns);
    fprintf(map, "%lx %zx pushing_code\n%lx 40 pushed_code\n", (unsigned long)(uintptr_t)code, size,
            (unsigned long)(uintptr_t)code + LOOP);
    fclose(map);
    run(code);
    return puts(name) < 0;
}

static FILE *open_dump(char *name, size_t size)
{
    snprintf(name, size, "jit-%d.dump", (int)getpid());
    FILE *dump = fopen(name, "w+");
    const struct {
        uint32_t magic, version, size, machine, pad, pid;
        uint64_t time_ns, flags;
    } header = {0x4a695444, 1, HEADER_BYTES, EM_X86_64, 0, (uint32_t)getpid(), now_ns(), 0};
    if (!dump)
        return NULL;
    fwrite(&header, sizeof header, 1, dump);
    fflush(dump);
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0);
    return dump;
}

static void load_and_run(FILE *dump, const char *name, uint8_t *code, uint64_t turns)
{
    load(dump, name, code, make(code, turns));
    fflush(dump);
    run(code);
}

/* Parent and child go on with other code at the same address; first the child runs what it has from
 * its parent. */
static int run_forked(FILE *dump, uint8_t *code, uint64_t turns)
{
    char name[64];
    load_and_run(dump, "common_code", code, turns);
    const pid_t child = fork();
    if (child) {
        load_and_run(dump, "parents_code", code, turns);
        return child < 0 || waitpid(child, NULL, 0) != child || fclose(dump);
    }
    run(code);
    if (!(dump = open_dump(name, sizeof name)))
        _exit(1);
    load_and_run(dump, "childs_code", code, turns);
    _exit(0);
}

/* The child runs code that no file names, and has what its parent's jitdump names. */
static int run_nameless(FILE *dump, uint8_t *code, uint64_t turns)
{
    load_and_run(dump, "common_code", code, turns);
    const pid_t child = fork();
    if (child)
        return child < 0 || waitpid(child, NULL, 0) != child || fclose(dump);
    make(code + 2048, turns);
    run(code + 2048);
    _exit(0);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"first_code", "second_code", "third_code"};
    const uint64_t unit = 150000000;
    const char *how = argc > 1 ? argv[1] : "none";
    char name[64] = "";
    const bool has_nameless = !strcmp(how, "nameless"),
               forks = has_nameless || !strcmp(how, "forked");
    FILE *dump = strcmp(how, "dump") && !forks ? NULL : open_dump(name, sizeof name), *map = NULL;
    uint8_t *code =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (forks)
        return !dump || (has_nameless ? run_nameless : run_forked)(dump, code, unit);
    if (!strcmp(how, "remap") && !(map = open_map(name, sizeof name)))
        return 1;
    for (int i = 0; i < 3 && (dump || map); i++) {
        const size_t size = make(code, unit * 4 >> i);
        if (map) {
            fprintf(map, "%lx %zx %s\n", (unsigned long)(uintptr_t)code, size, names[i]);
            fflush(map);
        } else {
            load(dump, names[i], code, size);
        }
        const uint64_t begun = now_ns(), before = read_ns(CLOCK_THREAD_CPUTIME_ID);
        run(code);
        const uint64_t spent = read_ns(CLOCK_THREAD_CPUTIME_ID) - before;
        printf("%s %llu %llu %llu\n", names[i], (unsigned long long)begun,
               (unsigned long long)now_ns(), (unsigned long long)spent);
    }
    if (dump || map)
        return fclose(dump ? dump : map) || (map && puts(name) < 0);
    if (!strcmp(how, "pushed"))
        return run_pushing(code, unit * 4);
    const size_t size = make(code, unit * 4);
    if (!strcmp(how, "map")) {
        usleep(50000);
        if (!(map = open_map(name, sizeof name)))
            return 1;
        fprintf(map, "%lx %zx mapped_code\n", (unsigned long)(uintptr_t)code, size);
        fclose(map);
    }
    run(code);
    return *name ? unlink(name) : 0;
}
