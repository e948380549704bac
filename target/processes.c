/* Lists the processes of the machine. */
#include "target/target.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

static int compare_ids(const void *left, const void *right)
{
    return *(const int *)left - *(const int *)right;
}

int target_all_processes(struct sprof_id_list *list)
{
    const size_t before = list->count;
    DIR *directory = opendir("/proc");
    if (!directory)
        return -errno;
    int result = 0;
    for (struct dirent *entry; !result && (entry = readdir(directory));) {
        const int pid = atoi(entry->d_name);
        if (pid > 0 && sprof_vec_push(list, pid))
            result = -ENOMEM;
    }
    closedir(directory);
    if (list->count > before)
        qsort(list->items + before, list->count - before, sizeof *list->items, compare_ids);
    return result;
}
