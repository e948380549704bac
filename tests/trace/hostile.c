/* Writes whatever comes into the memory that it shares with who traces it, and computes nothing by
 * it: its calls are over by then. hostile SEED MILLISECONDS [spares]: waits for a file "go", and
 * ends with 3 when there is one "end" hostile pid NUMBER: the same, and says that another process
 * has called its functions hostile by: is another process hostile fresh -: what places of figures
 * follow from is written over, and then other threads begin and call hostile back -: counts of
 * calls that are not in the log go up and back */
#include "agent/probe.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NI __attribute__((noinline))
enum { MAPPINGS = 16, SLABS = 4, THREADS = 3 };

NI int leaf(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}
NI int again(int n)
{
    const int below = n ? again(n - 1) : 0;
    __asm__ volatile("");
    return below + leaf(n);
}
NI int work(int n)
{
    char *block = malloc(16);
    const int sum = again(n % 8) + leaf(n);
    free(block);
    return sum;
}
static volatile int is_over;
static _Atomic int done;
/* In flight when the other things happen. */
NI void stays(void)
{
    done++;
    while (!is_over)
        usleep(1000);
    __asm__ volatile("");
}

static void *run(void *which)
{
    for (int i = 0; i < 3000; i++)
        work(i);
    if (which)
        stays();
    else
        done++;
    return NULL;
}

static uint64_t state;
static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static struct {
    uint8_t *at;
    uint64_t offset, bytes;
} mappings[MAPPINGS];
static int mapping_count;

static void find_mappings(void)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long start, end, offset;
    while (mapping_count < MAPPINGS && fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:sprof-probe") &&
            sscanf(line, "%lx-%lx rw-s %lx", &start, &end, &offset) == 3) {
            mappings[mapping_count].at = (uint8_t *)start;
            mappings[mapping_count].offset = offset;
            mappings[mapping_count++].bytes = end - start;
        }
    fclose(maps);
}

static uint64_t *word_at(uint64_t offset)
{
    for (int i = 0; i < mapping_count; i++)
        if (offset >= mappings[i].offset && offset + 8 <= mappings[i].offset + mappings[i].bytes)
            return (uint64_t *)(mappings[i].at + (offset - mappings[i].offset));
    return NULL;
}

static uint64_t slab_bytes, slab_count;
static int spares_notes; /* by which probes are taken out should sprof be killed */

static uint64_t place(void)
{
#define PART(field, most) (offsetof(struct probe_shared, field) + next() % (most))
    const uint64_t rings = PROBE_SHARED_BYTES + slab_count * slab_bytes;
    const uint32_t slab = (uint32_t)(next() % SLABS);
    uint64_t part = next() % 16;
    if (spares_notes && (part == 6 || part == 11))
        part = 7;
    switch (part) {
    case 0: return next() % offsetof(struct probe_shared, guard);
    case 1: return PART(slabs, 16 * sizeof(struct probe_slab));
    case 2: return PART(slabs, sizeof(struct probe_slab) * PROBE_SLABS);
    case 3: return PART(tiers, 64);
    case 4: return PART(hits, 16 * sizeof(struct probe_hit));
    case 5: return PART(loading, sizeof(struct probe_loading));
    case 6: return PART(owner, sizeof(struct probe_owner));
    case 7:
        return PART(warnings,
                    offsetof(struct probe_warnings, items) + 8 * sizeof(struct probe_warning));
    case 8: return PART(heap, sizeof(struct probe_heap));
    case 9: return PART(beyond, 512);
    case 10: return PART(sharing.threads, 8);
    case 11: return PART(sites.count, 512);
    case 12: return PROBE_SHARED_BYTES + slab * slab_bytes + next() % 2048;
    case 13: return PROBE_SHARED_BYTES + slab * slab_bytes + next() % slab_bytes;
    case 14: return rings + probe_ring_offset(slab) + next() % 80;
    default: return rings + probe_ring_offset(slab) + next() % (PROBE_RING_HEADER + 4096);
    }
}

static pid_t own, starter; /* the latter is sprof, where that has launched it */
static uint64_t value(uint64_t before)
{
    switch (next() % 10) {
    case 0: return 0;
    case 1: return UINT64_MAX;
    case 2: return next() % 70000;
    case 3: return (uint64_t)own | (uint64_t)own << 32;
    case 4: return (uint64_t)starter | (uint64_t)starter << 32;
    case 5: return probe_ticks();
    case 6: return before + next() % 16;
    case 7: return before ^ UINT64_C(1) << next() % 64;
    case 8: return UINT64_C(0x8000000080000000) + next() % 3;
    default: return next();
    }
}

NI int never(int n)
{
    __asm__ volatile("" : "+r"(n));
    return n + 3;
}
static void name_another(uint32_t pid)
{
    struct probe_hit *hits = (void *)word_at(offsetof(struct probe_shared, hits));
    struct probe_slab *slabs = (void *)word_at(offsetof(struct probe_shared, slabs));
    for (int i = 0; i < 64; i++)
        if (!hits[i].first) {
            hits[i].pid = hits[i].tid = pid;
            hits[i].first = probe_ticks();
        }
    slabs[5].pid = slabs[5].tid = pid;
    slabs[5].state = PROBE_SLAB_TAKEN;
    *(uint32_t *)word_at(offsetof(struct probe_shared, slabs_used)) = 6;
}

static void scribble(int milliseconds)
{
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (int i = 0; i < 200; i++) {
            uint64_t *at = word_at(place());
            if (at)
                *at = value(*at);
        }
        usleep(500);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
             milliseconds);
    _exit(0);
}

static void *call(void *unused)
{
    for (int i = 0; i < 100; i++)
        work(i);
    return unused;
}

/* Each trace that the agent has begun has a generation; a thread without figures has 0. */
static void begin_others(void)
{
    pthread_t thread;
    const uint64_t functions = *word_at(offsetof(struct probe_shared, slab_count)) >> 32;
    for (uint64_t i = 0; i < SLABS; i++)
        *word_at(PROBE_SHARED_BYTES + i * slab_bytes + functions * sizeof(struct probe_stat) +
                 offsetof(struct probe_stat, pending)) = UINT64_C(0x7fff12345678);
    *word_at(offsetof(struct probe_shared, slab_bytes)) = UINT64_C(0x7fff12345678);
    *word_at(offsetof(struct probe_shared, slab_count)) = UINT64_MAX;
    *word_at(offsetof(struct probe_shared, untracked)) = UINT64_C(0x7fff12345678abcd);
    *word_at(offsetof(struct probe_shared, cost.whole)) = UINT64_MAX;
    for (int i = 0; i < 2 * THREADS; i++) {
        ((struct probe_shared *)mappings[0].at)->generation = i % 2;
        pthread_create(&thread, NULL, call, NULL);
        pthread_join(thread, NULL);
    }
    work(3);
}

static void take_back(void)
{
    for (int i = 0; i < 4; i++) {
        for (uint64_t at = 0; at < SLABS * 4; at++) {
            struct probe_stat *stat = (void *)word_at(PROBE_SHARED_BYTES + at / 4 * slab_bytes +
                                                      at % 4 * sizeof(struct probe_stat));
            if (!stat->calls)
                continue;
            stat->calls++;
            stat->ended++;
            stat->unlogged = i % 2 ? 5 : 1000000;
        }
        usleep(i < 3 ? 1100000 : 200000); /* what is missing in the log is noted by second */
    }
}

int main(int count, char **words)
{
    int status;
    pthread_t threads[THREADS];
    if (count < 3) {
        printf("begun\n");
        fflush(stdout);
        while (access("end", F_OK)) {
            work(3);
            never(3);
            usleep(1000);
        }
        return 3;
    }
    spares_notes = count > 3;
    state = (uint64_t)atoi(words[1]) * 2654435761u + 1;
    printf("begun\n");
    fflush(stdout);
    while (access("go", F_OK)) {
        work(3);
        usleep(1000);
    }
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, i ? (void *)i : NULL);
    while (done < THREADS)
        usleep(1000);
    find_mappings();
    slab_bytes = *word_at(offsetof(struct probe_shared, slab_bytes));
    slab_count = (uint32_t)*word_at(offsetof(struct probe_shared, slab_count));
    if (strchr("pfb", *words[1])) {
        if (*words[1] == 'p')
            name_another((uint32_t)atoi(words[2]));
        else if (*words[1] == 'b')
            take_back();
        else
            begin_others();
        write(1, "written\n", 8);
        while (access("end", F_OK))
            usleep(1000);
        _exit(3);
    }
    /* Another process, whose mapping stays when probes are taken out of this one. */
    own = getpid();
    starter = getppid();
    write(1, "found\n", 6);
    const pid_t child = fork();
    if (!child)
        scribble(atoi(words[2]));
    while (waitpid(child, &status, 0) != child)
        ;
    write(1, "written\n", 8);
    while (access("end", F_OK))
        usleep(1000);
    _exit(3);
}
