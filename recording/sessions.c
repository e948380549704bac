/* Closes sessions of the symbolizer beside other work. */
#include "recording/sessions.h"

#include <sys/stat.h>

static uint64_t ns_of(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * 1000000000 + (uint64_t)time->tv_nsec;
}

struct recording_file recording_file_of(const struct image *image)
{
    struct stat facts;
    if (image_fd(image) < 0 || fstat(image_fd(image), &facts))
        return (struct recording_file){0};
    return (struct recording_file){
        .device = facts.st_dev,
        .inode = facts.st_ino,
        .size = facts.st_size,
        .changed_ns = ns_of(&facts.st_mtim),
        .noted_ns = ns_of(&facts.st_ctim),
    };
}

bool recording_file_equal(const struct recording_file *left, const struct recording_file *right)
{
    return left->inode && left->device == right->device && left->inode == right->inode &&
           left->size == right->size && left->changed_ns == right->changed_ns &&
           left->noted_ns == right->noted_ns;
}

void recording_session_close(struct recording_session *open)
{
    symbolize_session_close(open->session);
    image_free(open->image);
    *open = (struct recording_session){0};
}

void recording_closing_add(struct recording_closing *closing, struct recording_session *open)
{
    const bool later = open->session && symbolize_session_has_news(open->session) &&
                       !sprof_vec_push(&closing->sessions, *open);
    if (!later)
        recording_session_close(open);
    *open = (struct recording_session){0};
}

static void *close_all(void *context)
{
    struct recording_closing *closing = context;
    for (size_t i = 0; i < closing->sessions.count; i++)
        recording_session_close(&closing->sessions.items[i]);
    return NULL;
}

void recording_closing_begin(struct recording_closing *closing)
{
    if (!closing->sessions.count)
        return;
    closing->running = !sprof_thread_create(&closing->thread, close_all, closing);
}

void recording_closing_end(struct recording_closing *closing)
{
    if (closing->running)
        pthread_join(closing->thread, NULL);
    else
        close_all(closing);
    sprof_vec_release(&closing->sessions);
    *closing = (struct recording_closing){0};
}
