/* symbolize: addresses in, functions and lines and inline chains out.
 *
 * All addresses of one module come at once, sorted: each compile unit is walked at most once
 * and flattened into sorted arrays. Sources in order: DWARF and .symtab of the file and of its
 * debug file (build id, debug link, debuginfod when DEBUGINFOD_URLS is set), .dynsym,
 * .gnu_debugdata, the entries of the PLT as `function@plt`, then the bounds of the function's FDE
 * as `module+0xstart`; the running kernel or /proc/kallsyms for the kernel; perf maps and jitdump
 * for JIT code. */
#ifndef SPROF_SYMBOLIZE_SYMBOLIZE_H
#define SPROF_SYMBOLIZE_SYMBOLIZE_H

#include "base/base.h"
#include "cache/cache.h"
#include "image/image.h"
#include "symbolize/paths.h"
#include "symbolize/signature.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

/* A function, physical or inlined. A physical one takes the name of the ELF symbol that covers the
 * address, so that it is called the same with and without debug information (and a part that was
 * split off keeps its own, "f() [clone .cold]"); among aliases exported ones, then those with fewer
 * leading underscores, then the shorter. C++ names have parameters and no return type. */
struct symbolize_function {
    const char *name;         /* demangled; for an unnamed one "libx.so.1+0x1240" */
    const char *linkage_name; /* as in the object file; equals name where nothing was mangled */
    const char *inlined_name; /* what it is called where it is inlined, if that differs: a made name
                                 lacks what only a mangled one says; NULL: the same */
    uint64_t start, size; /* vaddr and bytes of the physical function; 0, 0 for an inlined one */
    const char *file;     /* where it is declared; NULL unknown */
    uint32_t line;        /* 0 unknown */
    bool named;           /* false for "module+0x…" */
};

/* One level of the inline chain of an address. */
struct symbolize_frame {
    uint32_t function; /* index into the result's functions */
    const char *file;  /* of the source line executing at this level; NULL unknown */
    uint32_t line;     /* 0 unknown */
};

/* frames[first[i] … first[i + 1]) is the chain of addresses[i], innermost first; the last is the
 * physical function. A chain has at least one frame unless nothing at all is known: then none. */
struct symbolize_result {
    struct symbolize_function *functions;
    size_t function_count;
    struct symbolize_frame *frames;
    size_t frame_count;
    uint32_t *first; /* address_count + 1 entries */
    size_t address_count;
    struct sprof_arena texts; /* owns every string above */
};
void symbolize_result_release(struct symbolize_result *result);

/* How to find the function that covers an address without a symbol (unwind tables have it): returns
 * true and its bounds. May be NULL. */
struct symbolize_bounds {
    bool (*find)(void *context, uint64_t vaddr, uint64_t *start, uint64_t *end);
    void *context;
};

struct symbolize_options {
    const char *debug_directory; /* NULL: /usr/lib/debug */
    bool no_debuginfod;
    bool symbols_only;   /* names by ELF symbols; no inlined calls, no lines */
    struct cache *cache; /* borrowed; NULL: none */
    unsigned threads;    /* that may read one image; 0: as many as shorten it, up to four */
    bool is_child;       /* this process has no rights, and reads foreign files itself */
    const struct sprof_log *log;
};

/* Names the addresses (vaddrs of `image`: lookup addresses, that is inside the call instruction for
 * return addresses; sorted, distinct). Lines and inlined calls are left out where they cost more
 * than they are worth: for at most 32 addresses that all have names, when a separate compressed
 * debug file would have to be unpacked. Damaged debug information costs names, never the call:
 * returns 0, or SPROF_ENOMEM. */
int symbolize_image(struct symbolize_result *result, struct image *image, const uint64_t *addresses,
                    size_t count, const struct symbolize_bounds *bounds,
                    const struct symbolize_options *options, struct sprof_error *error);

/* == Sessions: the same in several steps == */

/* An image whose symbols and debug information stay open from one question to the next. Used by one
 * thread at a time, which may have others help it until it has its answer. */
struct symbolize_session;

/* The image is borrowed until the session is closed, as is what the options point to. Returns 0 or
 * SPROF_ENOMEM. */
int symbolize_session_open(struct symbolize_session **session, struct image *image,
                           const struct symbolize_options *options, struct sprof_error *error);

/* As symbolize_image. */
int symbolize_session_ask(struct symbolize_session *session, struct symbolize_result *result,
                          const uint64_t *addresses, size_t count,
                          const struct symbolize_bounds *bounds, struct sprof_error *error);

/* The CPU time that a process of the session's own has used so far. */
uint64_t symbolize_session_cpu_ns(const struct symbolize_session *session);

/* What debug information there is to be read of an image before its addresses are needed, in
 * bytes. 0: there is none, what was read of it is in the cache already, or it would have to be
 * waited for (debuginfod). */
uint64_t symbolize_session_preparable(struct symbolize_session *session);

/* Reads what symbolize_session_ask will need for these addresses, so that it need not: the answer
 * is the same. Gives up between two compile units or addresses once `stop` is true; what was read
 * until then is kept. */
void symbolize_session_prepare(struct symbolize_session *session, const uint64_t *addresses,
                               size_t count, const atomic_bool *stop);

/* What is missing because debug information of the image could not be read so far, why, and what
 * helps, as a sentence without its end; NULL: nothing is known to be missing. Valid until the
 * session is closed. */
const char *symbolize_session_problem(const struct symbolize_session *session);

/* About how much memory it holds; UINT64_MAX: a process holds it. */
uint64_t symbolize_session_bytes(const struct symbolize_session *session);

/* Whether closing it takes time: there is something to be put into the cache. */
bool symbolize_session_has_news(const struct symbolize_session *session);

/* Puts what was read into the cache, where it is worth it, and frees. NULL is fine. */
void symbolize_session_close(struct symbolize_session *session);

/* Calls `found` with the start (vaddr) of each function that was declared inline and has a body of
 * its own all the same, as far as debug information says so: GCC's does, clang's does not. */
void symbolize_each_inline_wanted(struct image *image, const struct symbolize_options *options,
                                  void (*found)(void *context, uint64_t start), void *context);

/* Calls `found` with what made each unit of the file, as "GNU C17 12.2.0 -O2 …"; never where there
 * is no debug information. The text is borrowed for the call. */
void symbolize_each_producer(struct image *image, const struct symbolize_options *options,
                             void (*found)(void *context, const char *producer), void *context);

/* Calls `found` for each address (vaddr of `image`) that lies in a global or static object:
 * "shop::ledger.mutex", "locks[3]"; without debug information "shop::ledger+0x28". The text is
 * borrowed for the call. Returns 0 or SPROF_ENOMEM, or what `found` returned. */
int symbolize_objects(struct image *image, const struct symbolize_options *options,
                      const uint64_t *addresses, size_t count,
                      int (*found)(void *context, size_t index, const char *name), void *context);

/* A module whose file could not be opened: every address becomes one unnamed function a
 * `bounds` answer, or "module+0xaddress" alone. */
int symbolize_without_image(struct symbolize_result *result, const char *module_name,
                            const uint64_t *addresses, size_t count,
                            const struct symbolize_bounds *bounds, struct sprof_error *error);

/* == Files of others == */

/* A session whose image, or its debug file, another user than the caller and root can have written
 * (image_is_foreign) reads neither in this process: it starts a process without rights, which does.
 * Where that ends before its answer, the addresses have no names, and symbolize_session_problem
 * says so. debuginfod is not used.
 *
 * That process is the running program under the name SYMBOLIZE_CHILD_NAME. A program that calls
 * symbolize_child_main, and returns what that returns, when it is started by this name defines the
 * constant; without it all is read in this process. */
#define SYMBOLIZE_CHILD_NAME "sprof-reader"
extern const bool symbolize_child_is_here __attribute__((weak));
int symbolize_child_main(void);

/* == The kernel == */

/* Kernel text, named by the running kernel. Symbols of kernel modules carry the module's name. Not
 * safe for concurrent use. */
struct symbolize_kernel;

/* Where the rights (CAP_BPF and CAP_PERFMON) and the kernel (5.13) suffice, this only prepares
 * queries for one address at a time. Otherwise it reads all text symbols from /proc/kallsyms, which
 * the kernel takes 40 ms to write out: open it only where there are kernel addresses. A symbol
 * there ends where the next one begins, and covers at most 1 MiB. A path that is not NULL is read
 * in any case. SPROF_EPERMISSION where the kernel hides its addresses (kptr_restrict): the message
 * names the setting. */
int symbolize_kernel_open(struct symbolize_kernel **kernel, const char *kallsyms_path,
                          struct sprof_error *error);
void symbolize_kernel_free(struct symbolize_kernel *kernel);

/* `addresses` are kernel addresses, sorted. Function starts are kernel addresses. An address
 * outside every symbol has an empty chain. */
int symbolize_kernel(struct symbolize_result *result, const struct symbolize_kernel *kernel,
                     const uint64_t *addresses, size_t count, struct sprof_error *error);

/* == Code compiled at run time == */

/* A perf map: `START SIZE name` lines, hexadecimal; later lines win. Reads the map of `pid` in its
 * own mount and pid namespace (/proc/PID/root/tmp/perf-NSPID.map), or below /tmp when it has ended
 * and had the same number there. The file must be a regular file that belongs to the process's user
 * (or to root), and not be older than the process, which began at `start_ns` (CLOCK_REALTIME; 0:
 * unknown). At most 4 GiB. SPROF_ENOTFOUND where there is none. */
struct symbolize_jit;
int symbolize_jit_open(struct symbolize_jit **jit, pid_t pid, pid_t ns_pid, uid_t uid,
                       uint64_t start_ns, struct sprof_error *error);

/* A descriptor of a live process's perf map, or, where `dump` is not NULL, of the file of that path
 * as the process sees it: for symbolize_jit_open_found, when the process and its files may be gone.
 * -1 where there is none. The caller closes it. */
int symbolize_jit_find(pid_t pid, pid_t ns_pid, const char *dump);

/* Reads through such a descriptor, which stays the caller's, under the same conditions. Messages
 * call it `path`. */
int symbolize_jit_open_found(struct symbolize_jit **jit, int fd, const char *path, uid_t uid,
                             uint64_t start_ns, struct sprof_error *error);

/* A perf map or a jitdump file (detected by its first bytes) by path. */
int symbolize_jit_open_file(struct symbolize_jit **jit, const char *path,
                            struct sprof_error *error);
void symbolize_jit_free(struct symbolize_jit *jit);

/* A perf map became so long between two looks at it (CLOCK_MONOTONIC; from_ns 0: unknown). */
struct symbolize_jit_growth {
    uint64_t from_ns, until_ns, bytes;
};

/* Lines of a perf map have no times: gives them those at which the file grew by them, or that of
 * the last look at its length where they came later. The process's clock is ahead by clock_ns. Of a
 * jitdump nothing changes. */
void symbolize_jit_date(struct symbolize_jit *jit, const struct symbolize_jit_growth *growth,
                        size_t count, uint64_t looked_ns, int64_t clock_ns);

/* Makes of what a process had loaded what another has that it forked: without what it loaded itself
 * at `until_ns` (of its CLOCK_MONOTONIC) or later, and with what that one loaded (NULL: nothing).
 * Returns 0, or SPROF_ENOMEM, after which `jit` is only good to be freed. */
int symbolize_jit_succeed(struct symbolize_jit *jit, uint64_t until_ns,
                          const struct symbolize_jit *heirs);

/* Whether the file is longer than what is read of it. */
bool symbolize_jit_is_cut(const struct symbolize_jit *jit);

/* Malformed lines or records that were skipped. */
uint64_t symbolize_jit_bad_lines(const struct symbolize_jit *jit);

/* `addresses` are process addresses, sorted. Where nothing covers one, its chain is empty. The bits
 * from SYMBOLIZE_JIT_ADDRESS_BITS on count the pieces of code that were loaded there later:
 * 0 is the newest. */
enum { SYMBOLIZE_JIT_ADDRESS_BITS = 48 };
int symbolize_jit(struct symbolize_result *result, const struct symbolize_jit *jit,
                  const uint64_t *addresses, size_t count, struct sprof_error *error);

/* Of jitdumps, which have times, and dated perf maps: calls back for each piece of code that was at
 * one of the sorted addresses before the newest, the younger ones of an address first. `number`
 * counts those that came later; 0: the newest has the same name. `until_ns`, of the process's
 * CLOCK_MONOTONIC, is when the next one took its place. Returns 0, SPROF_ENOMEM, or what `older`
 * returned. */
typedef int symbolize_jit_older(void *context, size_t address, uint32_t number, uint64_t until_ns);
int symbolize_jit_each_older(const struct symbolize_jit *jit, const uint64_t *addresses,
                             size_t count, symbolize_jit_older *older, void *context);

/* == Names == */

/* Demangles C++, Rust (legacy and v0), D and Ada. Returns a malloc'd string, or NULL where `name`
 * is not mangled (or memory ran out). Names longer than 64 KiB are left alone. */
char *symbolize_demangle(const char *name);

#endif
