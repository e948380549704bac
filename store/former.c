/* Keeps the last three recordings that were replaced, under numbered names beside the new one. */
#include "store/former.h"

#include "store/header.h"
#include "store/schema.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEPT = 3, DROPPED = KEPT + 1 };

/* Of name 0, the recording's own, or of a former one. */
struct slot {
    struct store_file file;
    struct sprof_str path;
    char name[NAME_MAX + 1];
};

void store_remove_logs(const struct sprof_place *place, const char *name)
{
    static const char *const suffixes[] = {"-wal", "-shm", "-journal"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        struct sprof_str beside = {0};
        if (!sprof_str_appendf(&beside, "%s%s", name, suffixes[i]))
            unlinkat(place->directory_fd, beside.text, 0);
        sprof_str_release(&beside);
    }
}

/* == Names == */

static bool slot_name(const struct sprof_place *place, int number, char name[NAME_MAX + 1])
{
    const int length = number ? snprintf(name, NAME_MAX + 1, "%s.old.%d", place->name, number)
                              : snprintf(name, NAME_MAX + 1, "%s", place->name);
    return length <= NAME_MAX;
}

static int refuse(const char *path, const char *old, int errnum, struct sprof_error *error)
{
    return sprof_error_set(
        error, errnum == EACCES || errnum == EPERM ? SPROF_EPERMISSION : SPROF_EIO, errnum,
        "cannot rename %s to %s: %s; name another file with -o", path, old, strerror(errnum));
}

/* A link is no recording of its own. */
static int look(const struct sprof_place *place, struct slot *slot, const char *path,
                struct sprof_error *error)
{
    struct stat facts;
    slot->file = (struct store_file){.kind = STORE_FILE_ABSENT};
    if (fstatat(place->directory_fd, slot->name, &facts, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : refuse(path, slot->path.text, errno, error);
    const int status = S_ISREG(facts.st_mode) ? store_file_look(slot->path.text, &slot->file, error)
                                              : SPROF_EFORMAT;
    if (status != SPROF_EFORMAT)
        return status;
    return sprof_error_set(error, status, 0,
                           "former recordings of %s are kept as %s, but that is not a recording of "
                           "sprof; move it away, or name another file with -o",
                           path, slot->path.text);
}

static int slot_open(struct slot slots[DROPPED + 1], int number, const struct sprof_place *place,
                     struct sprof_error *error)
{
    struct slot *slot = &slots[number];
    const char *path = slots[0].path.text;
    if (sprof_str_appendf(&slot->path, "%s.old.%d", path, number))
        return sprof_error_memory(error);
    if (!slot_name(place, number, slot->name))
        return refuse(path, slot->path.text, ENAMETOOLONG, error);
    return look(place, slot, path, error);
}

/* *free: the first name after the recording's own that no recording has, or else that of the one to
 * be dropped. */
static int find_free(struct slot slots[DROPPED + 1], const struct sprof_place *place,
                     bool overwrite, int *free, struct sprof_error *error)
{
    int status = 0;
    for (*free = overwrite ? DROPPED : 1; !status; ++*free) {
        status = slot_open(slots, *free, place, error);
        if (slots[*free].file.kind != STORE_FILE_RECORDING || *free == DROPPED)
            break;
    }
    return status;
}

/* == Renaming == */

static void remove_slot(const struct sprof_place *place, const char *name)
{
    store_remove_logs(place, name);
    unlinkat(place->directory_fd, name, 0);
}

/* Returns 0 or an errno. A file that appeared just now is not replaced. */
static int rename_slot(const struct sprof_place *place, const char *from, const char *to)
{
    const int fd = place->directory_fd;
    if (!renameat2(fd, from, fd, to, RENAME_NOREPLACE))
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    return faccessat(fd, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? EEXIST
           : renameat(fd, from, fd, to)                      ? errno
                                                             : 0;
}

/* Makes it one file that can be renamed. Fails where another program writes it: such a program has
 * a log or a journal beside it (store_start_log), except recorders of version 1. */
static int fold(const struct slot *slot, struct sprof_error *error)
{
    struct store *store;
    const struct store_file *file = &slot->file;
    if (file->kind != STORE_FILE_RECORDING ||
        (!file->has_log && file->version == STORE_SCHEMA_VERSION))
        return 0;
    int status = file->has_log ? store_open_write(&store, slot->path.text, error)
                               : store_open_read(&store, slot->path.text, error);
    return status ? status : store_close(store, error);
}

static void shift_back(const struct sprof_place *place, int first, int last)
{
    char from[NAME_MAX + 1], to[NAME_MAX + 1];
    for (int i = first; i < last; i++)
        if (slot_name(place, i, to) && slot_name(place, i + 1, from))
            rename_slot(place, from, to);
}

/* Names are taken from the free one down, so that each is free when it is taken. */
static int shift(struct store_former *former, const struct sprof_place *place,
                 const struct slot slots[DROPPED + 1], int free, struct sprof_error *error)
{
    int from = former->overwrite ? 0 : free - 1, to = free, errnum = 0;
    remove_slot(place, slots[free].name);
    while (from >= 0 && !(errnum = rename_slot(place, slots[from].name, slots[to].name)))
        to = from--;
    if (!errnum) {
        former->slot = free;
        return 0;
    }
    if (!former->overwrite)
        shift_back(place, to, free);
    return refuse(slots[from].path.text, slots[to].path.text, errnum, error);
}

static int set_aside(struct store_former *former, const struct sprof_place *place,
                     struct slot slots[DROPPED + 1], struct sprof_error *error)
{
    int free = 0;
    int status = fold(&slots[0], error);
    if (!status)
        status = find_free(slots, place, former->overwrite, &free, error);
    for (int i = 1; !status && !former->overwrite && i < free; i++)
        status = fold(&slots[i], error);
    return status ? status : shift(former, place, slots, free, error);
}

int store_former_begin(struct store_former *former, const struct sprof_place *place,
                       const char *path, const struct store_file *file, struct sprof_error *error)
{
    struct slot slots[DROPPED + 1] = {{.file = *file}};
    former->slot = 0;
    const int status = slot_name(place, 0, slots[0].name) && !sprof_str_append(&slots[0].path, path)
                           ? set_aside(former, place, slots, error)
                           : sprof_error_memory(error);
    for (int i = 0; i <= DROPPED; i++)
        sprof_str_release(&slots[i].path);
    return status;
}

/* == Afterwards == */

void store_former_undo(struct store_former *former, const struct sprof_place *place)
{
    char dropped[NAME_MAX + 1];
    if (!former->overwrite)
        shift_back(place, 0, former->slot);
    else if (former->slot && slot_name(place, DROPPED, dropped))
        rename_slot(place, dropped, place->name);
    former->slot = 0;
}

void store_former_settle(struct store_former *former, const struct sprof_place *place)
{
    char dropped[NAME_MAX + 1];
    if (former->slot && slot_name(place, DROPPED, dropped))
        remove_slot(place, dropped);
    former->slot = 0;
}

void store_former_undo_at(struct store_former *former, const char *path)
{
    struct sprof_place place;
    if (sprof_place_find(&place, path))
        return;
    store_remove_logs(&place, place.name);
    unlinkat(place.directory_fd, place.name, 0);
    store_former_undo(former, &place);
    sprof_place_close(&place);
}

void store_former_settle_at(struct store_former *former, const char *path)
{
    struct sprof_place place;
    if (!former->slot || sprof_place_find(&place, path))
        return;
    store_former_settle(former, &place);
    sprof_place_close(&place);
}
