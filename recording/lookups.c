/* Reads /proc of live processes in a thread of its own. */
#include "recording/lookups.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

/* == The thread's side == */

static int keep_mapping(void *context, const struct model_mmap *mapping)
{
    struct recording_lookup *lookup = context;
    struct model_mmap copy = *mapping;
    copy.file.path = sprof_arena_text(&lookup->arena, mapping->file.path);
    return copy.file.path ? sprof_vec_push(&lookup->mappings, copy) : SPROF_ENOMEM;
}

/* Out of memory, the answer is that nothing is known. */
static void answer(struct recording_lookups *lookups, struct recording_lookup *lookup)
{
    switch (lookup->question) {
    case RECORDING_COMMAND:
        lookup->command = sprof_command_of_process(&lookup->arena, lookup->pid);
        lookup->has_origin =
            !target_origin_read(&lookup->origin, lookup->pid, &lookups->user, &lookup->arena);
        break;
    case RECORDING_OWNER:
    case RECORDING_DUMP:
        lookup->owner = recording_jit_owner_read(lookup->pid);
        recording_jit_owner_find(&lookup->owner, lookup->pid, NULL);
        if (lookup->path)
            recording_jit_owner_find(&lookup->owner, lookup->pid, lookup->path);
        break;
    case RECORDING_MAP: break;
    case RECORDING_MAPPINGS: target_each_mapping(lookup->pid, keep_mapping, lookup); break;
    }
}

/* == Files that are not there yet == */

static const uint64_t first_pause_ns = 5000000, longest_pause_ns = 200000000;

/* Looks for a perf map that its process may write at any moment, and that may vanish with it; less
 * and less often. Returns whether that was the last time. */
static bool look_again(struct recording_lookup *lookup, uint64_t now_ns)
{
    struct sprof_proc_stat stat;
    if (!lookup->pause_ns) {
        lookup->owner = recording_jit_owner_read(lookup->pid);
        lookup->pause_ns = first_pause_ns;
        lookup->start_ticks =
            sprof_proc_stat_read(lookup->pid, &stat) ? stat.start_ticks : UINT64_MAX;
    }
    if (!sprof_proc_stat_read(lookup->pid, &stat) || stat.start_ticks != lookup->start_ticks)
        return true;
    recording_jit_owner_find(&lookup->owner, lookup->pid, NULL);
    lookup->due_ns = now_ns + lookup->pause_ns;
    if (lookup->pause_ns < longest_pause_ns)
        lookup->pause_ns *= 2;
    return lookup->owner.map >= 0;
}

static void give_answer(struct recording_lookups *lookups, struct recording_lookup *lookup)
{
    lookup->next = NULL;
    *lookups->answers_end = lookup;
    lookups->answers_end = &lookup->next;
    eventfd_write(lookups->answered_fd, 1);
}

/* Looks for what is due, and returns when something will be; 0: never. The mutex is held but while
 * the kernel answers. */
static uint64_t look_at_watched(struct recording_lookups *lookups)
{
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    uint64_t next_ns = 0;
    for (struct recording_lookup **at = &lookups->watched; *at;) {
        struct recording_lookup *lookup = *at;
        bool is_last = false;
        if (lookup->due_ns <= now_ns) {
            pthread_mutex_unlock(&lookups->mutex);
            is_last = look_again(lookup, now_ns);
            pthread_mutex_lock(&lookups->mutex);
        }
        if (is_last) {
            *at = lookup->next;
            give_answer(lookups, lookup);
            continue;
        }
        if (!next_ns || lookup->due_ns < next_ns)
            next_ns = lookup->due_ns;
        at = &lookup->next;
    }
    return next_ns;
}

static void wait_for_work(struct recording_lookups *lookups)
{
    const uint64_t next_ns = look_at_watched(lookups);
    const uint64_t now_ns = sprof_clock_monotonic_ns();
    const uint64_t wait_ns = next_ns > now_ns ? next_ns - now_ns : 0;
    struct timespec until;
    if (lookups->questions || lookups->stopping)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)((wait_ns + (uint64_t)until.tv_nsec) / 1000000000);
    until.tv_nsec = (long)((wait_ns + (uint64_t)until.tv_nsec) % 1000000000);
    if (next_ns)
        pthread_cond_clockwait(&lookups->wanted, &lookups->mutex, CLOCK_MONOTONIC, &until);
    else
        pthread_cond_wait(&lookups->wanted, &lookups->mutex);
}

static void *lookups_main(void *argument)
{
    struct recording_lookups *lookups = argument;
    pthread_mutex_lock(&lookups->mutex);
    while (!lookups->stopping) {
        struct recording_lookup *lookup = lookups->questions;
        if (!lookup) {
            wait_for_work(lookups);
            continue;
        }
        lookups->questions = lookup->next;
        if (!lookups->questions)
            lookups->questions_end = &lookups->questions;
        if (lookup->question == RECORDING_MAP) {
            lookup->next = lookups->watched;
            lookups->watched = lookup;
            continue;
        }
        pthread_mutex_unlock(&lookups->mutex);
        answer(lookups, lookup);
        pthread_mutex_lock(&lookups->mutex);
        give_answer(lookups, lookup);
    }
    pthread_mutex_unlock(&lookups->mutex);
    return NULL;
}

/* == The owner's side == */

void recording_lookups_init(struct recording_lookups *lookups, int answered_fd)
{
    *lookups = (struct recording_lookups){.answered_fd = answered_fd};
    lookups->questions_end = &lookups->questions;
    lookups->answers_end = &lookups->answers;
    pthread_mutex_init(&lookups->mutex, NULL);
    pthread_cond_init(&lookups->wanted, NULL);
}

static void free_all(struct recording_lookup *lookup)
{
    while (lookup) {
        struct recording_lookup *next = lookup->next;
        recording_lookup_free(lookup);
        lookup = next;
    }
}

void recording_lookups_release(struct recording_lookups *lookups)
{
    if (lookups->running) {
        pthread_mutex_lock(&lookups->mutex);
        lookups->stopping = true;
        pthread_cond_signal(&lookups->wanted);
        pthread_mutex_unlock(&lookups->mutex);
        pthread_join(lookups->thread, NULL);
    }
    if (!lookups->questions_end) /* never begun */
        return;
    free_all(lookups->questions);
    free_all(lookups->answers);
    free_all(lookups->watched);
    pthread_mutex_destroy(&lookups->mutex);
    pthread_cond_destroy(&lookups->wanted);
    sprof_map_release(&lookups->mappings_asked);
    sprof_map_release(&lookups->next_mappings);
    *lookups = (struct recording_lookups){0};
}

static uint64_t asked(const struct recording_lookups *lookups, uint32_t process)
{
    const uint64_t *count = sprof_map_get(&lookups->mappings_asked, process);
    return count ? *count : 0;
}

int recording_lookups_ask(struct recording_lookups *lookups, enum recording_question question,
                          const struct model_process *process, const char *path, uint64_t time_ns)
{
    if (!lookups->running && pthread_create(&lookups->thread, NULL, lookups_main, lookups))
        return SPROF_EIO;
    lookups->running = true;
    struct recording_lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup)
        return SPROF_ENOMEM;
    lookup->question = question;
    lookup->process = process->id;
    lookup->pid = process->pid;
    lookup->time_ns = time_ns;
    lookup->path = sprof_arena_text(&lookup->arena, path);
    lookup->owner.map = lookup->owner.dump = -1;
    if ((path && !lookup->path) ||
        (question == RECORDING_MAPPINGS &&
         sprof_map_put(&lookups->mappings_asked, process->id, asked(lookups, process->id) + 1))) {
        recording_lookup_free(lookup);
        return SPROF_ENOMEM;
    }
    ++*(question == RECORDING_MAP ? &lookups->watching : &lookups->waiting);
    pthread_mutex_lock(&lookups->mutex);
    *lookups->questions_end = lookup;
    lookups->questions_end = &lookup->next;
    pthread_cond_signal(&lookups->wanted);
    pthread_mutex_unlock(&lookups->mutex);
    return 0;
}

bool recording_lookups_wait_for(const struct recording_lookups *lookups, uint32_t process)
{
    return asked(lookups, process) > 0;
}

/* == Code in no known mapping == */

/* /proc of a process may be read again at once where it had something new, for more is likely
 * to come; else 4 ms after the last time, then later and later, up to 32: code that was not
 * executable a moment ago may be now. */
enum { AGAIN_NS = 2000000, AGAIN_DOUBLINGS = 4, DOUBLINGS_MASK = 15 };

int recording_lookups_note_mappings(struct recording_lookups *lookups,
                                    const struct recording_lookup *lookup, bool changed)
{
    uint64_t *due = sprof_map_at(&lookups->next_mappings, lookup->process);
    if (!due)
        return SPROF_ENOMEM;
    const uint64_t before = *due & DOUBLINGS_MASK;
    const uint64_t doublings = changed ? 0 : before < AGAIN_DOUBLINGS ? before + 1 : before;
    const uint64_t due_ns = lookup->time_ns + (changed ? 0 : (uint64_t)AGAIN_NS << doublings);
    *due = (due_ns & ~(uint64_t)DOUBLINGS_MASK) | doublings;
    return 0;
}

int recording_lookups_ask_mappings(struct recording_lookups *lookups,
                                   const struct model_process *process, uint64_t time_ns,
                                   bool *waits)
{
    const uint64_t *due = sprof_map_get(&lookups->next_mappings, process->id);
    *waits = recording_lookups_wait_for(lookups, process->id);
    if (*waits || (due && time_ns < *due) || process->end_ns)
        return 0;
    *waits = true;
    return recording_lookups_ask(lookups, RECORDING_MAPPINGS, process, NULL, time_ns) ? SPROF_ENOMEM
                                                                                      : 0;
}

/* == Answers == */

struct recording_lookup *recording_lookups_next(struct recording_lookups *lookups)
{
    if (!lookups->waiting && !lookups->watching)
        return NULL;
    pthread_mutex_lock(&lookups->mutex);
    struct recording_lookup *lookup = lookups->answers;
    if (lookup)
        lookups->answers = lookup->next;
    if (!lookups->answers)
        lookups->answers_end = &lookups->answers;
    pthread_mutex_unlock(&lookups->mutex);
    if (!lookup)
        return NULL;
    --*(lookup->question == RECORDING_MAP ? &lookups->watching : &lookups->waiting);
    if (lookup->question == RECORDING_MAPPINGS)
        --*sprof_map_get(&lookups->mappings_asked, lookup->process);
    return lookup;
}

void recording_lookup_free(struct recording_lookup *lookup)
{
    recording_jit_owner_close(&lookup->owner);
    sprof_vec_release(&lookup->mappings);
    sprof_arena_release(&lookup->arena);
    free(lookup);
}
