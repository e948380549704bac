/* Finds the mappings that stack pointers are in. */
#include "sampler/stack_mapping.h"

#include "base/base.h"
#include "sampler/bpf/sampling.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTIONS_MAX = 256, MAPS_BYTES_MAX = 16 << 20 };

/* The questions lie in a ring: those answered, then those that are not. */
struct stack_mapper {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    struct stack_mapping questions[QUESTIONS_MAX];
    size_t first, answered, count;
    bool ends;
};

bool sampler_stack_mapping_find(const char *maps, uint64_t stack_pointer, uint64_t *low,
                                uint64_t *end)
{
    static const char first_stack[] = "[stack]";
    for (const char *line = maps; line && *line;
         line += strcspn(line, "\n"), line += *line == '\n') {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, low, end) != 2 || stack_pointer < *low ||
            stack_pointer >= *end)
            continue;
        const size_t length = strcspn(line, "\n");
        if (length >= strlen(first_stack) &&
            !memcmp(line + length - strlen(first_stack), first_stack, strlen(first_stack)))
            *low = *end - SAMPLING_FIRST_STACK_SPAN;
        return true;
    }
    return false;
}

static void answer(struct stack_mapping *mapping)
{
    char path[64];
    struct sprof_str maps = {0};
    sprof_proc_shared_path(path, sizeof path, mapping->pid, "maps");
    if (sprof_proc_read(path, MAPS_BYTES_MAX, &maps) ||
        !sampler_stack_mapping_find(maps.text, mapping->stack_pointer, &mapping->low,
                                    &mapping->end))
        mapping->low = mapping->end = 0;
    sprof_str_release(&maps);
}

static struct stack_mapping *question(struct stack_mapper *mapper, size_t index)
{
    return &mapper->questions[(mapper->first + index) % QUESTIONS_MAX];
}

static void *answer_all(void *context)
{
    struct stack_mapper *mapper = context;
    pthread_mutex_lock(&mapper->lock);
    while (!mapper->ends) {
        if (mapper->answered == mapper->count) {
            pthread_cond_wait(&mapper->asked, &mapper->lock);
            continue;
        }
        struct stack_mapping *next = question(mapper, mapper->answered), mapping = *next;
        pthread_mutex_unlock(&mapper->lock);
        answer(&mapping);
        pthread_mutex_lock(&mapper->lock);
        *next = mapping; /* nothing else touches a question that is not answered */
        mapper->answered++;
    }
    pthread_mutex_unlock(&mapper->lock);
    return NULL;
}

struct stack_mapper *sampler_stack_mapper_new(void)
{
    struct stack_mapper *mapper = calloc(1, sizeof *mapper);
    if (!mapper)
        return NULL;
    pthread_mutex_init(&mapper->lock, NULL);
    pthread_cond_init(&mapper->asked, NULL);
    sigset_t all, before; /* signals are for the thread that draws conclusions from them */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int result = pthread_create(&mapper->thread, NULL, answer_all, mapper);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!result)
        return mapper;
    pthread_cond_destroy(&mapper->asked);
    pthread_mutex_destroy(&mapper->lock);
    free(mapper);
    return NULL;
}

void sampler_stack_mapper_free(struct stack_mapper *mapper)
{
    if (!mapper)
        return;
    pthread_mutex_lock(&mapper->lock);
    mapper->ends = true;
    pthread_cond_signal(&mapper->asked);
    pthread_mutex_unlock(&mapper->lock);
    pthread_join(mapper->thread, NULL);
    pthread_cond_destroy(&mapper->asked);
    pthread_mutex_destroy(&mapper->lock);
    free(mapper);
}

void sampler_stack_mapper_ask(struct stack_mapper *mapper, pid_t pid, pid_t tid,
                              uint64_t stack_pointer)
{
    pthread_mutex_lock(&mapper->lock);
    bool room = mapper->count < QUESTIONS_MAX;
    for (size_t i = 0; i < mapper->count && room; i++)
        room = question(mapper, i)->tid != tid;
    if (room) {
        *question(mapper, mapper->count++) =
            (struct stack_mapping){.pid = pid, .tid = tid, .stack_pointer = stack_pointer};
        pthread_cond_signal(&mapper->asked);
    }
    pthread_mutex_unlock(&mapper->lock);
}

bool sampler_stack_mapper_take(struct stack_mapper *mapper, struct stack_mapping *mapping)
{
    pthread_mutex_lock(&mapper->lock);
    const bool any = mapper->answered > 0;
    if (any) {
        *mapping = *question(mapper, 0);
        mapper->first = (mapper->first + 1) % QUESTIONS_MAX;
        mapper->answered--;
        mapper->count--;
    }
    pthread_mutex_unlock(&mapper->lock);
    return any;
}
