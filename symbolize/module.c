/* Names the addresses of one module. */
#include "symbolize/module.h"

#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <elfutils/version.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <linux/major.h>

/* libdw reads every debug section as soon as it opens a file. Up to this size that is done by
 * reading, so that a file cut short meanwhile is only an error; larger ones would fill the memory
 * and are mapped. */
static const uint64_t max_read_bytes = UINT64_C(64) << 20;

/* A file of a few kilobytes can claim gigabytes. Nothing real comes near this. */
static const uint64_t max_unpacked_bytes = UINT64_C(4) << 30;

static struct module *module_of(void **userdata)
{
    return *userdata;
}

static int find_elf(Dwfl_Module *dwfl_module, void **userdata, const char *name, Dwarf_Addr base,
                    char **file_name, Elf **elf)
{
    (void)dwfl_module, (void)name, (void)base;
    struct image *image = module_of(userdata)->image;
    *file_name = strdup(image_path(image));
    if (image_fd(image) < 0) {
        const struct sprof_bytes bytes = image_memory(image);
        *elf = elf_memory((char *)bytes.data, bytes.size);
        return -1;
    }
    const int fd = fcntl(image_fd(image), F_DUPFD_CLOEXEC, 3);
    struct stat status;
    const bool small = fd >= 0 && !fstat(fd, &status) && (uint64_t)status.st_size <= max_read_bytes;
    *elf = fd < 0 ? NULL : elf_begin(fd, small ? ELF_C_READ : ELF_C_READ_MMAP_PRIVATE, NULL);
    if (!*elf && fd >= 0)
        close(fd);
    return *elf ? fd : -1;
}

/* How large the file's compressed sections claim to become. */
static uint64_t unpacked_bytes(Elf *elf)
{
    GElf_Shdr header;
    GElf_Chdr claim;
    uint64_t unpacked = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));)
        if (gelf_getshdr(section, &header) && header.sh_flags & SHF_COMPRESSED &&
            gelf_getchdr(section, &claim))
            unpacked += claim.ch_size < max_unpacked_bytes ? claim.ch_size : max_unpacked_bytes;
    return unpacked;
}

/* Where debuginfod's client keeps files (debuginfod_find_debuginfo(3)). False: nowhere. */
static bool find_kept(char *path, size_t size)
{
    const char *given = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    home = home ? home : "/";
    int length = snprintf(path, size, "%s/.debuginfod_client_cache", home);
    if (given && *given)
        length = snprintf(path, size, "%s", given);
    else if (length < (int)size && !access(path, F_OK))
        return true;
    else if (cache && *cache)
        length = snprintf(path, size, "%s/debuginfod_client", cache);
    else
        length = snprintf(path, size, "%s/.cache/debuginfod_client", home);
    return length < (int)size;
}

/* Under sudo HOME may be another user's, that could put files there, and links. */
static bool is_kept_safe(const struct symbolize_options *options)
{
    static atomic_flag is_said = ATOMIC_FLAG_INIT;
    char path[PATH_MAX];
    if (find_kept(path, sizeof path) && sprof_trusted_way(path))
        return true;
    if (!atomic_flag_test_and_set(&is_said))
        sprof_log_message(options->log, SPROF_LOG_WARNING,
                          "debuginfod is not asked: another user can write to %s, where its files "
                          "are kept; set DEBUGINFOD_CACHE_PATH to a directory of your own",
                          path);
    return false;
}

bool symbolize_module_may_use_debuginfod(const struct symbolize_options *options)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    return !options->no_debuginfod && urls && urls[0] && is_kept_safe(options);
}

struct image *symbolize_module_open_debug(struct image *image,
                                          const struct symbolize_options *options,
                                          struct sprof_error *why)
{
    const char *directory = options->debug_directory;
    struct image *debug = NULL;
    image_open_debug_below(&debug, image, directory ? directory : "/usr/lib/debug", why);
    return debug;
}

/* The file that dwz shares between debug files. */
static int find_alternate(struct module *module, struct image *file, char **name)
{
    struct image *alternate;
    struct sprof_error why = {0};
    if (image_open_alternate(&alternate, module->image, file, &why) || !alternate) {
        sprof_log_message(module->options->log, SPROF_LOG_WARNING,
                          "functions inlined in %s may lack their names: %s",
                          image_path(module->image), why.message);
        return -1;
    }
    const uint64_t unpacked = image_packing(alternate).unpacked;
    int fd = -1;
    if (unpacked > max_unpacked_bytes) {
        sprof_log_message(module->options->log, SPROF_LOG_WARNING,
                          "functions inlined in %s may lack their names: %s would unpack to more "
                          "than %llu GiB",
                          image_path(module->image), image_path(alternate),
                          (unsigned long long)(max_unpacked_bytes >> 30));
    } else {
        fd = fcntl(image_fd(alternate), F_DUPFD_CLOEXEC, 3);
        *name = strdup(image_path(alternate));
    }
    image_free(alternate);
    return fd;
}

/* == debuginfod == */

/* Of this process. A server that fails for a few files fails for hundreds, half a minute each. */
static atomic_uint failed_downloads;
enum { MAX_FAILED_DOWNLOADS = 3 };

/* Of this thread. */
static _Thread_local struct {
    uint64_t begun_s;
    bool given_up;
} download;

/* A server may redirect for ever, or send more than the disk holds. */
bool symbolize_module_download_ends(uint64_t took_s, long bytes)
{
    enum { BEGIN_S = 30, MOST_S = 600 };
    static const long most_bytes = 16L << 30;
    return took_s > MOST_S || bytes > most_bytes || (took_s > BEGIN_S && bytes <= 0);
}

#if _ELFUTILS_PREREQ(0, 188)

static uint64_t seconds(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec;
}

static int look_at_download(debuginfod_client *client, long bytes, long all)
{
    (void)client, (void)all;
    download.given_up = symbolize_module_download_ends(seconds() - download.begun_s, bytes);
    return download.given_up;
}

/* libdw loads the library itself, with its first client at the latest. */
static void watch_download(Dwfl *dwfl)
{
    debuginfod_client *client = dwfl_get_debuginfod_client(dwfl);
    void *library = client ? dlopen("libdebuginfod.so.1", RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void (*set)(debuginfod_client *, int (*)(debuginfod_client *, long, long)) = NULL;
    if (library)
        *(void **)&set = dlsym(library, "debuginfod_set_progressfn");
    if (set)
        set(client, look_at_download);
    if (library)
        dlclose(library);
    download.begun_s = seconds();
}

#else

/* An older libdw has a client of its own. */
static void watch_download(Dwfl *dwfl)
{
    (void)dwfl;
}

#endif

/* Of the file that libdw wants now. Its questions for the debug file have the image's own name;
 * others come from a debug file that refers to an alternate one (dwz), and is open by then. */
static struct sprof_bytes wanted_build(struct module *module, const char *file_name)
{
    const char *own_name = NULL, *alternate;
    const void *id = NULL;
    Dwarf_Addr bias;
    dwfl_module_info(module->dwfl_module, NULL, NULL, NULL, NULL, NULL, &own_name, NULL);
    if (file_name == own_name)
        return image_build_id(module->image);
    Dwarf *dwarf = dwfl_module_getdwarf(module->dwfl_module, &bias);
    const ssize_t size = dwarf ? dwelf_dwarf_gnu_debugaltlink(dwarf, &alternate, &id) : 0;
    return (struct sprof_bytes){id, size > 0 ? (size_t)size : 0};
}

/* A server may send a file of another build. */
static bool is_of_build(struct image *image, struct sprof_bytes wanted, int fd)
{
    struct image *debug = NULL;
    const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    if (copy < 0 || image_open_descriptor(&debug, copy, image_path(image), "", NULL))
        return false;
    const struct sprof_bytes is = image_build_id(debug);
    const bool same =
        !wanted.size || (wanted.size == is.size && !memcmp(wanted.data, is.data, is.size));
    image_free(debug);
    return same;
}

/* `fd` is what libdw returned: a negative errno of debuginfod, or -1 without one. */
static void note_failed_download(struct module *module, int fd)
{
    module->is_asked_in_vain = true;
    const bool is_missing = fd == -1 || fd == -ENOENT; /* that is what given up ones return, too */
    if (!download.given_up && is_missing)
        return;
    const bool is_last = atomic_fetch_add(&failed_downloads, 1) + 1 == MAX_FAILED_DOWNLOADS;
    sprof_log_message(module->options->log, SPROF_LOG_WARNING,
                      "names and lines of %s%s may be missing: debuginfod did not send its debug "
                      "file (%s); `sprof symbolize --again` tries again",
                      image_path(module->image), is_last ? " and of all files after it" : "",
                      download.given_up ? "it took too long, or was too large" : strerror(-fd));
}

static int ask_debuginfod(struct module *module, Dwfl_Module *dwfl_module, void **userdata,
                          const char *name, Dwarf_Addr base, const char *file_name,
                          const char *link, GElf_Word crc, char **debug_name)
{
    sprof_log_message(module->options->log, SPROF_LOG_DEBUG, "asking debuginfod for %s",
                      image_path(module->image));
    download.given_up = false;
    watch_download(module->dwfl);
    const int fd = dwfl_standard_find_debuginfo(dwfl_module, userdata, name, base, file_name, link,
                                                crc, debug_name);
    if (fd < 0)
        note_failed_download(module, fd);
    if (fd < 0 || is_of_build(module->image, wanted_build(module, file_name), fd))
        return fd;
    sprof_log_message(module->options->log, SPROF_LOG_WARNING,
                      "the debug file that debuginfod has for %s is of another build and is not "
                      "read",
                      image_path(module->image));
    close(fd);
    free(*debug_name);
    *debug_name = NULL;
    return -1;
}

/* The image library searches first: it never waits on a pipe, and it uses the container's root. */
static int find_debuginfo(Dwfl_Module *dwfl_module, void **userdata, const char *name,
                          Dwarf_Addr base, const char *file_name, const char *link, GElf_Word crc,
                          char **debug_name)
{
    struct module *module = module_of(userdata);
    struct image *debug = symbolize_module_open_debug(module->image, module->options, NULL);
    const bool of_debug = debug && file_name && !strcmp(file_name, image_path(debug));
    struct image *file = of_debug ? debug : module->image;
    const char *alternate = link ? image_alternate_name(file) : NULL;
    if (alternate && !strcmp(link, alternate)) {
        const int fd = find_alternate(module, file, debug_name);
        image_free(debug);
        return fd;
    }
    if (debug) {
        const int fd = fcntl(image_fd(debug), F_DUPFD_CLOEXEC, 3);
        *debug_name = strdup(image_path(debug));
        image_free(debug);
        return fd;
    }
    if (!symbolize_module_may_use_debuginfod(module->options) || module->is_asked_in_vain ||
        atomic_load(&failed_downloads) >= MAX_FAILED_DOWNLOADS)
        return -1;
    return ask_debuginfod(module, dwfl_module, userdata, name, base, file_name, link, crc,
                          debug_name);
}

static bool open_dwfl(struct module *module)
{
    const char *directory = module->options->debug_directory;
    if (directory) {
        module->debug_path = malloc(strlen(directory) + sizeof "+:.debug:");
        if (!module->debug_path)
            return false;
        strcat(strcpy(module->debug_path, "+:.debug:"), directory);
    }
    module->callbacks = (Dwfl_Callbacks){
        .find_elf = find_elf,
        .find_debuginfo = find_debuginfo,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = module->debug_path ? &module->debug_path : NULL,
    };
    module->dwfl = dwfl_begin(&module->callbacks);
    return module->dwfl != NULL;
}

/* Reported as spanning everything: which part it really covers is the image's own business. */
static bool report(struct module *module)
{
    void **userdata;
    dwfl_report_begin(module->dwfl);
    module->dwfl_module =
        dwfl_report_module(module->dwfl, image_path(module->image), 0, UINT64_MAX);
    dwfl_report_end(module->dwfl, NULL, NULL);
    if (!module->dwfl_module)
        return false;
    dwfl_module_info(module->dwfl_module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
    *userdata = module;
    return dwfl_module_getelf(module->dwfl_module, &module->bias) != NULL;
}

bool symbolize_module_open(struct module *module, struct image *image,
                           const struct symbolize_options *options)
{
    *module = (struct module){.image = image, .options = options};
    elf_version(EV_CURRENT);
    return open_dwfl(module) && report(module);
}

void symbolize_module_release(struct module *module)
{
    if (module->dwfl)
        dwfl_end(module->dwfl);
    free(module->debug_path);
    *module = (struct module){0};
}

/* == What libdw opens == */

/* Those devices that only give or take bytes: /dev/null, /dev/urandom. */
static bool is_harmless(const struct stat *status)
{
    return S_ISREG(status->st_mode) ||
           (S_ISCHR(status->st_mode) && major(status->st_rdev) == MEM_MAJOR);
}

static int open_harmless(const char *path)
{
    char link[64];
    struct stat status;
    const int place = openat(AT_FDCWD, path, O_PATH | O_CLOEXEC);
    if (place < 0)
        return -1;
    const bool is = !fstat(place, &status) && is_harmless(&status);
    snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    const int fd = is ? openat(AT_FDCWD, link, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
    const int errnum = is ? errno : EINVAL;
    close(place);
    errno = errnum;
    return fd;
}

/* sprof's own calls have more flags. */
int symbolize_module_library_open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const bool makes = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    const mode_t mode = makes ? (mode_t)va_arg(rest, int) : 0;
    va_end(rest);
    return (flags & ~O_LARGEFILE) == O_RDONLY ? open_harmless(path)
                                              : openat(AT_FDCWD, path, flags, mode);
}

Dwarf *symbolize_module_dwarf(struct module *module, const struct image *debug, uint64_t *delta)
{
    Dwarf_Addr bias = 0;
    const uint64_t separate = debug ? image_packing(debug).unpacked : 0;
    const uint64_t own = unpacked_bytes(dwfl_module_getelf(module->dwfl_module, &bias));
    if (separate > max_unpacked_bytes || own > max_unpacked_bytes - separate)
        return NULL;
    Dwarf *dwarf = dwfl_module_getdwarf(module->dwfl_module, &bias);
    if (!dwarf)
        return NULL;
    *delta = module->bias - bias;
    return dwarf;
}

/* libdw unpacks compressed sections when it opens a file. */
void symbolize_module_dwarf_sections(Dwarf *dwarf, struct dwarf_sections *sections)
{
    const struct {
        const char *name;
        struct sprof_bytes *bytes;
    } wanted[] = {
        {"debug_info", &sections->info},
        {"debug_abbrev", &sections->abbrev},
        {"debug_line", &sections->line},
        {"debug_str", &sections->str},
        {"debug_line_str", &sections->line_str},
        {"debug_ranges", &sections->ranges},
        {"debug_rnglists", &sections->rnglists},
        {"debug_addr", &sections->addr},
        {"debug_str_offsets", &sections->str_offsets},
    };
    Elf *elf = dwarf_getelf(dwarf);
    size_t names = 0;
    *sections = (struct dwarf_sections){0};
    if (elf_getshdrstrndx(elf, &names) != 0)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        const char *name =
            gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
        if (!name || name[0] != '.' || header.sh_flags & SHF_COMPRESSED)
            continue;
        name += name[1] == 'z' ? 2 : 1;
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            const Elf_Data *data = strcmp(name, wanted[i].name) ? NULL : elf_rawdata(section, NULL);
            if (data && data->d_buf && !wanted[i].bytes->data)
                *wanted[i].bytes = (struct sprof_bytes){data->d_buf, data->d_size};
        }
    }
}
