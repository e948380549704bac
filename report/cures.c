/* Finds what gives names to code that has none: packages of symbols, options of interpreters. */
#include "report/cures.h"

#include "report/distribution.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* == Interpreters == */

/* How each names the functions that it runs or compiles, by the beginning of its module's name.
 * `cure` is for versions from `major`.`minor` on, 0: all; `unsure` where a module's name has no
 * version; `old` for older ones. */
static const struct interpreter {
    const char *begin, *name, *cure;
    unsigned major, minor;
    const char *unsure, *old;
} interpreters[] = {
#define SINCE(major, minor, cure)                                                                  \
    cure, major, minor, cure " (from " #major "." #minor " on)",                                   \
        "nothing helps in this version: it takes " #major "." #minor " or later, and then " cure
#define ALWAYS(cure) cure, 0, 0, NULL, NULL
#define PYTHON SINCE(3, 12, "run `python3 -X perf …`, or set PYTHONPERFSUPPORT=1")
#define RUBY SINCE(3, 3, "run `ruby --yjit --yjit-perf …`")
    {"python", "Python", PYTHON},
    {"libpython", "Python", PYTHON},
    {"node", "JavaScript",
     ALWAYS("run `node --perf-basic-prof --interpreted-frames-native-stack …`")},
    {"libnode", "JavaScript",
     ALWAYS("run `node --perf-basic-prof --interpreted-frames-native-stack …`")},
    {"libjvm", "Java",
     ALWAYS("run `jcmd PID Compiler.perfmap` before the end, or java with -XX:+DumpPerfMapAtExit")},
    {"java", "Java",
     ALWAYS("run `jcmd PID Compiler.perfmap` before the end, or java with -XX:+DumpPerfMapAtExit")},
    {"ruby", "Ruby", RUBY},
    {"libruby", "Ruby", RUBY},
    {"php", "PHP", ALWAYS("run `php -d opcache.jit_debug=0x10 …`")},
    {"libphp", "PHP", ALWAYS("run `php -d opcache.jit_debug=0x10 …`")},
    {"beam.smp", "Erlang", ALWAYS("set ERL_FLAGS='+JPperf map'")},
    {"mono", "C#", ALWAYS("run `mono --jitmap …`")},
    {"libcoreclr", "C#", ALWAYS("set DOTNET_PerfMapEnabled=1")},
    {"luajit", "Lua",
     ALWAYS("run `luajit -joff …` for its interpreter; compiled traces have no names")},
    {"libluajit", "Lua",
     ALWAYS("run `luajit -joff …` for its interpreter; compiled traces have no names")},
};

static const struct interpreter *interpreter_of(const char *module)
{
    for (size_t i = 0; module && i < sizeof interpreters / sizeof *interpreters; i++)
        if (!strncmp(module, interpreters[i].begin, strlen(interpreters[i].begin)))
            return &interpreters[i];
    return NULL;
}

/* "3.11" of "python3.11" and "libruby-3.1.so.3.1"; false where there is none. */
static bool read_version(const char *module, unsigned *major, unsigned *minor)
{
    const char *at = module + strcspn(module, "0123456789");
    return sscanf(at, "%2u.%2u", major, minor) == 2;
}

/* `module`: a name that begins as the interpreter's. */
static const char *cure_in_version(const struct interpreter *interpreter, const char *module)
{
    unsigned major, minor;
    if (!interpreter->major)
        return interpreter->cure;
    if (!read_version(module, &major, &minor))
        return interpreter->unsure;
    return major > interpreter->major ||
                   (major == interpreter->major && minor >= interpreter->minor)
               ? interpreter->cure
               : interpreter->old;
}

const char *report_cure_of_interpreter(const char *module, const char **language)
{
    const struct interpreter *interpreter = interpreter_of(module);
    *language = interpreter ? interpreter->name : NULL;
    return interpreter ? cure_in_version(interpreter, module) : NULL;
}

bool report_cure_is_interpreter(const char *module)
{
    return interpreter_of(module) != NULL;
}

/* == Packages == */

/* Reads a regular file of at most `most` bytes as text of one more byte. */
static bool read_into(const char *directory, const char *name, char *text, size_t most)
{
    char path[1024];
    struct stat status;
    const int length = snprintf(path, sizeof path, "%s/%s", directory, name);
    if (length < 0 || (size_t)length >= sizeof path)
        return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool readable = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
                          status.st_size >= 0 && (size_t)status.st_size <= most;
    if (readable)
        text[sprof_file_read(fd, 0, text, (size_t)status.st_size)] = '\0';
    if (fd >= 0)
        close(fd);
    return readable;
}

/* Whether a list of dpkg has the path, which may lie below /usr in one place and not in the other:
 * the directories are one. */
static bool lists(const char *text, const char *path)
{
    const size_t length = strlen(path);
    for (const char *at = strstr(text, path); at; at = strstr(at + 1, path)) {
        const size_t before = (size_t)(at - text);
        const bool begins =
            !before || at[-1] == '\n' ||
            (before >= 4 && !strncmp(at - 4, "/usr", 4) && (before == 4 || at[-5] == '\n'));
        if (begins && (at[length] == '\n' || !at[length]))
            return true;
    }
    return false;
}

/* The package whose list in a directory of dpkg has a path; "": none. False: lists cannot be read.
 */
static bool search_lists(const char *directory, const char *path, char package[static 128])
{
    enum { MOST_IN_LIST = 8 << 20 };
    bool found = false;
    char *text = malloc(MOST_IN_LIST + 1); /* one for all lists: there are thousands */
    DIR *entries = text ? opendir(directory) : NULL;
    const char *below_usr = !strncmp(path, "/usr/", 5) ? path + 4 : path;
    for (const struct dirent *entry; entries && !found && (entry = readdir(entries));) {
        const char *end = strstr(entry->d_name, ".list");
        const size_t length = strcspn(entry->d_name, ":");
        const size_t own =
            end && length > (size_t)(end - entry->d_name) ? (size_t)(end - entry->d_name) : length;
        if (!end || end[5] || own >= 128)
            continue;
        found = read_into(directory, entry->d_name, text, MOST_IN_LIST) && lists(text, below_usr);
        if (found)
            snprintf(package, 128, "%.*s", (int)own, entry->d_name);
    }
    free(text);
    if (!entries)
        return false;
    closedir(entries);
    return true;
}

/* What was found of a path, as long as dpkg changes no list: a search takes tens of milliseconds,
 * and a page needs it for each of its recordings. */
struct packaged {
    struct stat lists;
    char path[256], package[128]; /* package "": none has it */
};

static bool is_same_directory(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* The package that a file came with, by dpkg's lists. */
static bool find_package(const char *root, const char *path, char package[static 128])
{
    static _Thread_local struct packaged known[8];
    static _Thread_local unsigned next;
    char directory[1024];
    struct packaged found = {.package = ""};
    if (snprintf(directory, sizeof directory, "%s/var/lib/dpkg/info", root) >=
            (int)sizeof directory ||
        stat(directory, &found.lists))
        return false;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].path, path) && is_same_directory(&known[i].lists, &found.lists)) {
            memcpy(package, known[i].package, sizeof known[i].package);
            return *package;
        }
    if (search_lists(directory, path, found.package) &&
        snprintf(found.path, sizeof found.path, "%s", path) < (int)sizeof found.path)
        known[next++ % (sizeof known / sizeof *known)] = found;
    memcpy(package, found.package, sizeof found.package);
    return *package;
}

/* Whether apt reads an archive of symbols. */
static bool has_symbol_archive(const char *root)
{
    char directory[1024];
    bool found = false;
    snprintf(directory, sizeof directory, "%s/var/lib/apt/lists", root);
    DIR *entries = opendir(directory);
    for (const struct dirent *entry; entries && !found && (entry = readdir(entries));)
        found = strstr(entry->d_name, "debian-debug") || strstr(entry->d_name, "ddebs");
    if (entries)
        closedir(entries);
    return found;
}

/* The address of Debian's archive in one file of apt's sources, up to and without its last word
 * "debian". */
static bool find_mirror(const char *sources, char mirror[static 256])
{
    static const char archive[] = "/debian";
    for (const char *at = sources; at && (at = strstr(at, "http")); at++) {
        const size_t length = strcspn(at, " \t\r\n");
        const size_t bare = length - (length && at[length - 1] == '/');
        if (bare <= sizeof archive || bare >= 256 ||
            strncmp(at + bare + 1 - sizeof archive, archive, sizeof archive - 1) != 0)
            continue;
        snprintf(mirror, 256, "%.*s", (int)(bare + 1 - sizeof archive), at);
        return true;
    }
    return false;
}

/* The mirror that this machine's apt reads. */
static bool find_own_mirror(const char *root, char mirror[static 256])
{
    enum { MOST_SOURCES = 1 << 20 };
    char directory[1024];
    char *text = malloc(MOST_SOURCES + 1);
    snprintf(directory, sizeof directory, "%s/etc/apt", root);
    bool found = text && read_into(directory, "sources.list", text, MOST_SOURCES) &&
                 find_mirror(text, mirror);
    snprintf(directory, sizeof directory, "%s/etc/apt/sources.list.d", root);
    DIR *entries = found || !text ? NULL : opendir(directory);
    for (const struct dirent *entry; entries && !found && (entry = readdir(entries));) {
        const char *dot = strrchr(entry->d_name, '.');
        if (!dot || (strcmp(dot, ".list") != 0 && strcmp(dot, ".sources") != 0))
            continue;
        found =
            read_into(directory, entry->d_name, text, MOST_SOURCES) && find_mirror(text, mirror);
    }
    if (entries)
        closedir(entries);
    free(text);
    return found;
}

/* The line that apt needs first, where it has no archive of symbols; "" where it has, or where the
 * system's is not known. */
static int append_archive(struct sprof_str *text, const char *root,
                          const struct report_distribution *distribution)
{
    char mirror[256] = "";
    if (!*distribution->codename || has_symbol_archive(root))
        return 0;
    if (distribution->family == REPORT_DISTRIBUTION_UBUNTU)
        return sprof_str_appendf(text,
                                 ", with `deb http://ddebs.ubuntu.com %s main universe` in "
                                 "/etc/apt/sources.list.d/ddebs.list, after `apt install "
                                 "ubuntu-dbgsym-keyring` and `apt update`",
                                 distribution->codename);
    if (distribution->family != REPORT_DISTRIBUTION_DEBIAN)
        return 0;
    if (!find_own_mirror(root, mirror))
        return sprof_str_appendf(text,
                                 ", from Debian's archive debian-debug, suite %s-debug, which apt "
                                 "does not read yet",
                                 distribution->codename);
    return sprof_str_appendf(text,
                             ", with `deb %s/debian-debug %s-debug main` in "
                             "/etc/apt/sources.list.d/debug.list, after `apt update`",
                             mirror, distribution->codename);
}

/* == One sentence == */

static int append_package(struct sprof_str *text, const char *root, const char *package,
                          const struct report_distribution *distribution)
{
    /* The C library's are an ordinary package, in the archive that every apt reads. */
    if (!strcmp(package, "libc6"))
        return sprof_str_append(text, ": apt install libc6-dbg");
    const int result = sprof_str_appendf(text, ": apt install %s-dbgsym", package);
    return result ? result : append_archive(text, root, distribution);
}

/* Debug files by build id: debuginfod has them where the distribution made the file. */
static int append_build_id(struct sprof_str *text, const char *build_id,
                           const struct report_distribution *distribution)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    if (urls && *urls)
        return sprof_str_appendf(text,
                                 ", and DEBUGINFOD_URLS none for its build id %.40s: `sprof "
                                 "symbolize` asks again",
                                 build_id);
    return sprof_str_appendf(text,
                             ": `DEBUGINFOD_URLS=%s sprof symbolize` may find them by build id "
                             "%.40s",
                             distribution->servers, build_id);
}

/* Packages of Fedora's kind name the file of each build id that they have. */
static int append_rpm(struct sprof_str *text, const char *build_id)
{
    return sprof_str_appendf(text,
                             ": dnf --enablerepo='*debug*' install "
                             "/usr/lib/debug/.build-id/%.2s/%.60s.debug",
                             build_id, build_id + 2);
}

/* Whether a file is where a distribution puts its own, and where others do not. */
static bool is_where_packages_are(const char *path)
{
    static const char *const begins[] = {"/usr/bin/", "/usr/sbin/", "/usr/lib",
                                         "/bin/",     "/sbin/",     "/lib"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (!strncmp(path, begins[i], strlen(begins[i])))
            return true;
    return false;
}

/* Whether the thousands of dpkg's lists are worth reading for a path. */
static bool may_be_packaged(const char *path)
{
    return is_where_packages_are(path) || !strncmp(path, "/opt/", 5) ||
           (!strncmp(path, "/usr/", 5) && strncmp(path, "/usr/local/", 11) != 0);
}

static int append_of_file(struct sprof_str *text, const char *root,
                          const struct report_unnamed *module)
{
    char package[128];
    struct report_distribution distribution;
    report_distribution_read(&distribution, root);
    const int result = sprof_str_appendf(text, "%.100s has no %s", module->name,
                                         module->lacks ? module->lacks : "symbols");
    const bool has_packages =
        module->build_id && strlen(module->build_id) > 2 && is_where_packages_are(module->path);
    if (result)
        return result;
    if (may_be_packaged(module->path) && find_package(root, module->path, package))
        return append_package(text, root, package, &distribution);
    if (distribution.family == REPORT_DISTRIBUTION_FEDORA && has_packages)
        return append_rpm(text, module->build_id);
    if (module->build_id && (module->kind != MODEL_KIND_APP ||
                             (distribution.family == REPORT_DISTRIBUTION_ARCH && has_packages)))
        return append_build_id(text, module->build_id, &distribution);
    return sprof_str_append(text, ": build it with -g, and do not strip it");
}

int report_cure_append(struct sprof_str *text, const char *root,
                       const struct report_unnamed *module)
{
    const struct interpreter *interpreter = interpreter_of(module->interpreter);
    const struct interpreter *own = interpreter_of(module->name);
    const bool is_file = module->path[0] == '/' && module->path[1] != '/' && module->name[0] != '[';
    if (!is_file && interpreter && module->cure_said)
        return 0;
    if (!is_file && interpreter)
        return sprof_str_appendf(text, "code that %s compiles has no names: %s", interpreter->name,
                                 cure_in_version(interpreter, module->interpreter));
    if (!is_file)
        return sprof_str_appendf(text,
                                 "code made at run time (%.60s) has no names: it has where the "
                                 "runtime writes a perf map, /tmp/perf-PID.map",
                                 module->name);
    const int result = append_of_file(text, root, module);
    return result || !own || module->cure_said
               ? result
               : sprof_str_appendf(text, "; for the names of %s functions %s", own->name,
                                   cure_in_version(own, module->name));
}
