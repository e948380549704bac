/* Finds data of threads. The program may write there, so numbers are checked. */
#include "inject/thread_data.h"

#include "target/target.h"

#include <stdbool.h>
#include <unistd.h>

enum { SLOTS_MOST = 1 << 20, SLOT_BYTES_MOST = 4096 };

struct found {
    uint64_t at;
    struct probe_table_owner owner;
};

static bool is_sound(const struct probe_table *table)
{
    return table->mask < SLOTS_MOST && table->slot_bytes <= SLOT_BYTES_MOST &&
           table->owner < table->slot_bytes;
}

/* The thread's slot, or the first free one. */
static bool find_slot(const struct probe_table *table, pid_t pid, uint64_t pointer,
                      struct found *found)
{
    for (uint32_t look = 0; look < PROBE_TABLE_LOOKS; look++) {
        const uint64_t place = probe_table_place(pointer, look, table->mask);
        found->at = table->address + place * table->slot_bytes;
        if (target_read_memory(pid, found->at + table->owner, &found->owner, sizeof found->owner) !=
            sizeof found->owner)
            return false;
        if (found->owner.pointer == pointer || !found->owner.pointer)
            return true;
    }
    return false;
}

uint64_t inject_thread_data(const struct probe_hello *hello, pid_t pid, uint64_t pointer,
                            uint32_t tid)
{
    struct found found;
    if (!hello->table.address)
        return pointer + (uint64_t)hello->thread;
    return pointer && is_sound(&hello->table) && find_slot(&hello->table, pid, pointer, &found) &&
                   found.owner.pointer == pointer && (!tid || found.owner.tid == tid)
               ? found.at + (uint64_t)hello->thread
               : 0;
}

static bool write_all(int memory_fd, const void *from, size_t size, uint64_t to)
{
    return pwrite(memory_fd, from, size, (off_t)to) == (ssize_t)size;
}

uint64_t inject_thread_give_data(const struct probe_hello *hello, pid_t pid, int memory_fd,
                                 uint64_t pointer)
{
    static const uint8_t nothing[1024];
    const struct probe_table *table = &hello->table;
    struct probe_table_owner owner = {.pointer = pointer};
    struct found found;
    if (!table->address)
        return inject_thread_data(hello, pid, pointer, 0);
    if (!pointer || !is_sound(table) || hello->thread_bytes > sizeof nothing ||
        target_read_memory(pid, pointer + table->tid, &owner.tid, sizeof owner.tid) !=
            sizeof owner.tid ||
        !owner.tid || !find_slot(table, pid, pointer, &found))
        return 0;
    const uint64_t data = found.at + (uint64_t)hello->thread;
    if (found.owner.pointer == pointer && found.owner.tid == owner.tid)
        return data;
    return write_all(memory_fd, nothing, hello->thread_bytes, data) &&
                   write_all(memory_fd, &owner, sizeof owner, found.at + table->owner)
               ? data
               : 0;
}
