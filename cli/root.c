/* Unpacks archives for one command, and removes what it unpacked. */
#include "cli/root.h"

#include "archive/archive.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_directory(const char *path)
{
    struct stat facts;
    return !stat(path, &facts) && S_ISDIR(facts.st_mode);
}

/* What `tar` unpacked has the files one directory further down. */
static int use_directory(struct cli_root *root, const char *path, struct sprof_error *error)
{
    struct sprof_str files = {0};
    sprof_str_appendf(&files, "%s/files", path);
    if (!files.failed && !is_directory(files.text)) {
        sprof_str_clear(&files);
        sprof_str_append(&files, path);
    }
    root->path = realpath(files.text, NULL);
    sprof_str_release(&files);
    return root->path ? 0
                      : sprof_error_set(error, SPROF_ENOTFOUND, errno, "cannot read %s: %s", path,
                                        strerror(errno));
}

int cli_root_open(struct cli_root *root, const char *archive, struct sprof_error *error)
{
    *root = (struct cli_root){0};
    if (!archive)
        return 0;
    if (is_directory(archive))
        return use_directory(root, archive, error);
    const char *place = getenv("TMPDIR");
    struct sprof_str name = {0};
    sprof_str_appendf(&name, "%s/sprof-archive-XXXXXX", place && *place ? place : "/tmp");
    root->temporary = sprof_str_take(&name);
    if (!root->temporary)
        return sprof_error_memory(error);
    if (!mkdtemp(root->temporary)) {
        const int result = sprof_error_set(error, SPROF_EIO, errno, "cannot make %s: %s",
                                           root->temporary, strerror(errno));
        free(root->temporary);
        root->temporary = NULL;
        return result;
    }
    int result = archive_unpack(archive, root->temporary, error);
    if (!result)
        result = use_directory(root, root->temporary, error);
    if (result)
        cli_root_close(root);
    return result;
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *ftw)
{
    (void)facts, (void)type, (void)ftw;
    return remove(path);
}

void cli_root_close(struct cli_root *root)
{
    if (root->temporary)
        nftw(root->temporary, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(root->temporary);
    free(root->path);
    *root = (struct cli_root){0};
}
