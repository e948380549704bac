/* Digests of what an image's headers and sections hold, found again without reading them. */
#include "image/elf_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static uint64_t time_ns(const struct timespec *time)
{
    return (uint64_t)time->tv_sec * UINT64_C(1000000000) + (uint64_t)time->tv_nsec;
}

/* The file's device, inode, size and times may stand for its content once they are older than
 * clocks of file systems are coarse: a later change gives other times. */
static bool stand_in(const struct image *image, const char *const *sections,
                     struct sprof_digest *stand_in)
{
    static const uint64_t settled_ns = UINT64_C(2000000000);
    struct stat status;
    struct timespec now;
    if (image->fd < 0 || fstat(image->fd, &status) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0)
        return false;
    const uint64_t modified = time_ns(&status.st_mtim), changed = time_ns(&status.st_ctim);
    if (modified + settled_ns > time_ns(&now) || changed + settled_ns > time_ns(&now))
        return false;
    const uint64_t facts[] = {status.st_dev, status.st_ino, (uint64_t)status.st_size, modified,
                              changed};
    *stand_in = (struct sprof_digest){0};
    sprof_digest_add(stand_in, facts, sizeof facts);
    for (size_t i = 0; sections[i]; i++)
        sprof_digest_add(stand_in, sections[i], strlen(sections[i]));
    return true;
}

/* A section without a header is found by its segment. */
static void add_section(struct image *image, const char *name, unsigned threads,
                        struct sprof_digest *digest)
{
    const struct image_section_header *header = image_section_header(image, name);
    sprof_digest_add(digest, name, strlen(name));
    if (header && header->type != SHT_NOBITS) {
        image_digest_add(image, header->offset, header->size, IMAGE_MAX_CONTENT, threads, digest);
    } else if (!header && image->has_eh_frame_hdr) {
        const struct sprof_bytes bytes = image_section(image, name, NULL);
        sprof_digest_add(digest, bytes.data, bytes.size);
    }
}

static bool get_known(struct cache *cache, struct sprof_digest key, struct sprof_digest *content)
{
    const struct sprof_bytes known = cache_get(cache, CACHE_IDENTITY, key);
    const bool found = known.size == sizeof *content;
    if (found)
        memcpy(content, known.data, sizeof *content);
    free((void *)known.data);
    return found;
}

void image_identify(struct image *image, struct cache *cache)
{
    static const char *const no_sections[] = {NULL};
    if (cache && !image->build_id_size && !image->has_digest) {
        image->digest = image_content(image, cache, no_sections, 1);
        image->has_digest = true;
    }
}

struct sprof_digest image_content(struct image *image, struct cache *cache,
                                  const char *const *sections, unsigned threads)
{
    struct sprof_digest before, after, content;
    const bool settled = stand_in(image, sections, &before);
    if (settled && get_known(cache, before, &content))
        return content;
    content = image_digest(image);
    for (size_t i = 0; sections[i]; i++)
        add_section(image, sections[i], threads, &content);
    if (settled && stand_in(image, sections, &after) && sprof_digest_equal(before, after)) {
        const struct sprof_bytes piece = {(const uint8_t *)&content, sizeof content};
        cache_put(cache, CACHE_IDENTITY, before, &piece, 1);
    }
    return content;
}
