/* Names addresses of one file, once for each state of the cache, and prints the CPU time of each,
 * of all threads, and how long it took:
 *     bench_symbolize FILE CACHE-DIRECTORY < ADDRESSES     (vaddrs in hexadecimal, one a line) */
#include "symbolize/symbolize.h"

#include <stdio.h>
#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void run(const char *what, const char *path, const uint64_t *addresses, size_t count,
                struct cache *cache)
{
    struct image *image;
    struct symbolize_result result;
    struct sprof_error error = {0};
    const struct image_request request = {.file.path = path};
    const struct symbolize_options options = {.no_debuginfod = true, .cache = cache};
    const uint64_t begin_cpu = sprof_clock_own_cpu_ns(), begin = sprof_clock_monotonic_ns();
    if (image_open(&image, &request, &error) ||
        symbolize_image(&result, image, addresses, count, NULL, &options, &error)) {
        fprintf(stderr, "bench_symbolize: %s\n", error.message);
        exit(1);
    }
    const double cpu = (double)(sprof_clock_own_cpu_ns() - begin_cpu) / 1e9;
    const double seconds = (double)(sprof_clock_monotonic_ns() - begin) / 1e9;
    printf("  %7zu addresses  %8zu frames  %7zu functions  %.3f s CPU  %.3f s %s\n", count,
           result.frame_count, result.function_count, cpu, seconds, what);
    symbolize_result_release(&result);
    image_free(image);
}

int main(int argc, char **argv)
{
    SPROF_VEC(uint64_t) addresses = {0};
    char line[64];
    if (argc != 3) {
        fprintf(stderr, "usage: %s FILE CACHE-DIRECTORY < ADDRESSES\n", argv[0]);
        return 2;
    }
    while (fgets(line, sizeof line, stdin))
        if (sprof_vec_push(&addresses, strtoull(line, NULL, 16)))
            return 1;
    if (addresses.count)
        qsort(addresses.items, addresses.count, sizeof *addresses.items, compare);
    size_t count = 0;
    for (size_t i = 0; i < addresses.count; i++)
        if (!count || addresses.items[count - 1] != addresses.items[i])
            addresses.items[count++] = addresses.items[i];
    struct cache *cache = cache_open(argv[2]);
    run("without a cache", argv[1], addresses.items, count, NULL);
    run("with an empty cache", argv[1], addresses.items, count, cache);
    run("the second time", argv[1], addresses.items, count, cache);
    cache_free(cache, 0);
    sprof_vec_release(&addresses);
    return 0;
}
