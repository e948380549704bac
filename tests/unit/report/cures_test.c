/* What is said of modules without names, on machines of which only the package manager's files are
 * there. */
#include "report/cures.h"
#include "tests/unit/image/fixture.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static struct fixture fixture;

static void make(const char *name, const char *text)
{
    char path[512];
    const char *full = fixture_path(&fixture, name);
    snprintf(path, sizeof path, "%s", full);
    for (char *slash = path + strlen(fixture.directory) + 1; (slash = strchr(slash, '/'));
         slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    fixture_write(&fixture, name, text, strlen(text));
}

static void check(const struct report_unnamed *module, const char *expected)
{
    struct sprof_str text = {0};
    CU_ASSERT_EQUAL(report_cure_append(&text, fixture.directory, module), 0);
    const char *got = text.text ? text.text : "";
    if (strcmp(got, expected) != 0)
        printf("\n%s\n", got);
    CU_ASSERT_STRING_EQUAL(got, expected);
    sprof_str_release(&text);
}

static void test_packages(void)
{
    fixture_open(&fixture);
    make("etc/os-release", "NAME=x\nID=debian\nVERSION_CODENAME=bookworm\n");
    make("var/lib/dpkg/info/libtidy5:amd64.list",
         "/.\n/usr/lib\n/usr/lib/libtidy.so.5.6\n/usr/lib/libtidy.so\n");
    make("var/lib/dpkg/info/other.list",
         "/usr/lib/libtidy.so.5.6.1\n/opt/usr/lib/libtidy.so.5.6\n");
    make("var/lib/apt/lists/mirror_debian_main_Packages", "");
    const struct report_unnamed library = {
        .name = "libtidy.so.5.6", .path = "/usr/lib/libtidy.so.5.6", .kind = MODEL_KIND_SYSTEM};
    struct report_unnamed merged = library;
    merged.path = "/lib/libtidy.so.5.6";
    check(&library, "libtidy.so.5.6 has no symbols: apt install libtidy5-dbgsym, from Debian's "
                    "archive debian-debug, suite bookworm-debug, which apt does not read yet");
    make("etc/apt/sources.list.d/debian.sources",
         "Types: deb\nURIs: http://mirror.example/debian-security\n\n"
         "Types: deb\nURIs: http://mirror.example/debian/\nSuites: bookworm\n");
    check(&library, "libtidy.so.5.6 has no symbols: apt install libtidy5-dbgsym, with `deb "
                    "http://mirror.example/debian-debug bookworm-debug main` in "
                    "/etc/apt/sources.list.d/debug.list, after `apt update`");
    make("var/lib/apt/lists/mirror_debian-debug_main_Packages", "");
    check(&library, "libtidy.so.5.6 has no symbols: apt install libtidy5-dbgsym");
    check(&merged, "libtidy.so.5.6 has no symbols: apt install libtidy5-dbgsym");
    fixture_close(&fixture);
}

static void test_files_of_no_package(void)
{
    fixture_open(&fixture);
    const struct report_unnamed own = {
        .name = "shop", .path = "/home/u/shop", .kind = MODEL_KIND_APP, .build_id = "ab12"};
    check(&own, "shop has no symbols: build it with -g, and do not strip it");
    const struct report_unnamed library = {.name = "libx.so",
                                           .path = "/usr/lib/libx.so",
                                           .kind = MODEL_KIND_SYSTEM,
                                           .build_id = "ab12"};
    unsetenv("DEBUGINFOD_URLS");
    check(&library,
          "libx.so has no symbols: `DEBUGINFOD_URLS=https://debuginfod.elfutils.org sprof "
          "symbolize` may find them by build id ab12");
    setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
    check(&library,
          "libx.so has no symbols, and DEBUGINFOD_URLS none for its build id ab12: `sprof "
          "symbolize` asks again");
    unsetenv("DEBUGINFOD_URLS");
    fixture_close(&fixture);
}

/* What each distribution has for a file of its own without debug information. */
static void test_distributions(void)
{
    const struct report_unnamed library = {.name = "libx.so",
                                           .path = "/usr/lib64/libx.so",
                                           .kind = MODEL_KIND_SYSTEM,
                                           .build_id = "ab12cd",
                                           .lacks = "debug information"};
    struct report_unnamed program = library;
    program.name = "sort";
    program.path = "/usr/bin/sort";
    program.kind = MODEL_KIND_APP;
    unsetenv("DEBUGINFOD_URLS");
    fixture_open(&fixture);
    make("etc/os-release", "ID=rocky\nID_LIKE=\"rhel centos fedora\"\n");
    check(&library, "libx.so has no debug information: dnf --enablerepo='*debug*' install "
                    "/usr/lib/debug/.build-id/ab/12cd.debug");
    check(&program, "sort has no debug information: dnf --enablerepo='*debug*' install "
                    "/usr/lib/debug/.build-id/ab/12cd.debug");
    program.path = "/usr/local/bin/sort";
    check(&program, "sort has no debug information: build it with -g, and do not strip it");
    make("etc/os-release", "ID=arch\n");
    program.path = "/usr/bin/sort";
    check(&program,
          "sort has no debug information: `DEBUGINFOD_URLS=https://debuginfod.archlinux.org sprof "
          "symbolize` may find them by build id ab12cd");
    make("etc/os-release", "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\n");
    make("var/lib/dpkg/info/libx.list", "/usr/lib64/libx.so\n");
    make("var/lib/dpkg/info/libc6:amd64.list", "/lib64/libc.so.6\n"); /* before /usr had it all */
    check(&library, "libx.so has no debug information: apt install libx-dbgsym, with `deb "
                    "http://ddebs.ubuntu.com noble main universe` in "
                    "/etc/apt/sources.list.d/ddebs.list, after `apt install "
                    "ubuntu-dbgsym-keyring` and `apt update`");
    struct report_unnamed c_library = library;
    c_library.name = "libc.so.6";
    c_library.path = "/usr/lib64/libc.so.6";
    check(&c_library, "libc.so.6 has no debug information: apt install libc6-dbg");
    fixture_close(&fixture);
}

/* Packages put files elsewhere below /usr and into /opt, but nothing into /usr/local. */
static void test_places_of_packages(void)
{
    static const struct {
        const char *path, *cure;
    } cases[] = {
        {"/usr/games/chess", "apt install games-dbgsym"},
        {"/usr/libexec/chess", "apt install games-dbgsym"},
        {"/opt/chess/chess", "apt install games-dbgsym"},
        {"/usr/local/bin/chess", "build it with -g, and do not strip it"},
        {"/home/u/chess", "build it with -g, and do not strip it"},
    };
    fixture_open(&fixture);
    make("etc/os-release", "ID=debian\nVERSION_CODENAME=bookworm\n");
    make("var/lib/apt/lists/mirror_debian-debug_main_Packages", "");
    make("var/lib/dpkg/info/games.list", "/usr/games/chess\n/usr/libexec/chess\n/opt/chess/chess\n"
                                         "/usr/local/bin/chess\n/home/u/chess\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char expected[128];
        snprintf(expected, sizeof expected, "chess has no symbols: %s", cases[i].cure);
        check(&(struct report_unnamed){.name = "chess",
                                       .path = cases[i].path,
                                       .kind = MODEL_KIND_APP},
              expected);
    }
    fixture_close(&fixture);
}

static void test_interpreters(void)
{
    fixture_open(&fixture);
    struct report_unnamed code = {
        .name = "[jit]", .path = "//anon", .kind = MODEL_KIND_APP, .interpreter = "python3.11"};
#define PERF "run `python3 -X perf …`, or set PYTHONPERFSUPPORT=1"
    check(&code, "code that Python compiles has no names: nothing helps in this version: it takes "
                 "3.12 or later, and then " PERF);
    static const char *const modern[] = {"python3.12", "python3.13d", "libpython3.12.so.1.0",
                                         "python4.0"};
    for (size_t i = 0; i < sizeof modern / sizeof *modern; i++) {
        code.interpreter = modern[i];
        check(&code, "code that Python compiles has no names: " PERF);
    }
    code.interpreter = "python3";
    check(&code, "code that Python compiles has no names: " PERF " (from 3.12 on)");
    code.interpreter = "libruby-3.1.so.3.1.2";
    check(&code, "code that Ruby compiles has no names: nothing helps in this version: it takes "
                 "3.3 or later, and then run `ruby --yjit --yjit-perf …`");
    code.interpreter = "beam.smp";
    check(&code, "code that Erlang compiles has no names: set ERL_FLAGS='+JPperf map'");
    code.interpreter = NULL;
    check(&code,
          "code made at run time ([jit]) has no names: it has where the runtime writes a perf "
          "map, /tmp/perf-PID.map");
    const struct report_unnamed own = {.name = "ruby3.3",
                                       .path = "/opt/ruby3.3",
                                       .kind = MODEL_KIND_APP,
                                       .interpreter = "ruby3.3"};
    check(&own,
          "ruby3.3 has no symbols: build it with -g, and do not strip it; for the names of Ruby "
          "functions run `ruby --yjit --yjit-perf …`");
    /* Of an interpreter and the code that it compiles one message says it. */
    const struct report_unnamed again = {.name = "ruby3.3",
                                         .path = "/opt/ruby3.3",
                                         .kind = MODEL_KIND_APP,
                                         .interpreter = "ruby3.3",
                                         .cure_said = true};
    check(&again, "ruby3.3 has no symbols: build it with -g, and do not strip it");
    code.interpreter = "ruby3.3";
    code.cure_said = true;
    check(&code, "");
    CU_ASSERT_TRUE(report_cure_is_interpreter("libjvm.so"));
    CU_ASSERT_FALSE(report_cure_is_interpreter("libc.so.6"));
    fixture_close(&fixture);
}

void sprof_suite_report_cures(void);
void sprof_suite_report_cures(void)
{
    CU_pSuite suite = CU_add_suite("report/cures", NULL, NULL);
    CU_add_test(suite, "packages", test_packages);
    CU_add_test(suite, "files of no package", test_files_of_no_package);
    CU_add_test(suite, "distributions", test_distributions);
    CU_add_test(suite, "places of packages", test_places_of_packages);
    CU_add_test(suite, "interpreters", test_interpreters);
}
