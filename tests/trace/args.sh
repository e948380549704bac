#!/bin/bash
# sprof trace --args: arguments and results of kept calls, by debug information.
#   args.sh values | readers | words | quick | bad | stacks | conditions | thrown | panics | raised | errors | refused
set -u
. "$(dirname "$0")/lib.sh"

write_program() {
    cat >values.cc <<'EOF'
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
enum Kind { CIRCLE, SQUARE = 200 };
enum class Level : signed char { low = -1, high = 1 };
struct Point { int x, y; };
struct Request { const char *path; std::string host; double weight; Kind kind; Request *next; };
struct Shape { virtual ~Shape() {} int id; NI int area(int scale); };
NI int Shape::area(int scale) { BODY; return id * scale; }
struct Circle : Shape { double radius; };
struct Big { long a, b, c; };
NI int integers(int a, unsigned b, long c, unsigned char d, bool e, char f) { BODY; return a + (int)b + (int)c + d + e + f; }
NI double floats(float a, int b, double c) { BODY; return (double)a + b + c; }
NI Kind enums(Kind k, Level l) { BODY; return l == Level::low ? k : CIRCLE; }
NI const char *texts(const char *a, char *b, const void *p) { BODY; return a ? a + 1 : b; }
NI size_t strings(const std::string &a, std::string_view b, std::string c) { BODY; return a.size() + b.size() + c.size(); }
NI std::string made(int n) { BODY; return std::string((size_t)n, 'm'); }
NI int counted(const char *buf, size_t len) { BODY; return buf[len - 1]; }
NI int weighed(const char *name, int weight) { BODY; return name[weight]; }
NI Point points(Point p, Point *q, Request *r, Request &s) { BODY; return {p.x + q->x, (int)(r->weight + s.weight)}; }
NI long many(Big big, int a, int b, int c, int d, int e, int f, int g) { BODY; return big.a + a + b + c + d + e + f + g; }
NI void bad(const char *wild, Request *nothing, char *own) { BODY; }
NI bool yes(long n) { BODY; return n > 3; }
static NI int hidden(int only) { BODY; return only + 1; }
int main()
{
    char local[16] = "on the stack";
    Request r = {"/index", "example.org", 2.5, SQUARE, nullptr}, s = {nullptr, std::string(40, 'h'), 1, (Kind)9, &r};
    Point p = {1, -2}, q = {3, 4};
    Circle circle;
    circle.id = 6;
    integers(-1, 4000000000u, 1234567890123, 200, true, 'x');
    floats(1.5f, 7, -0.25);
    enums(SQUARE, Level::low);
    texts("first \"text\"\n", local, local);
    texts(nullptr, local, nullptr);
    strings("a string that is rather long, so it is on the heap", std::string_view("a view of it", 6), "short");
    made(20);
    counted("counted bytes", 7);
    weighed("a name", 2);
    points(p, &q, &r, s);
    static_cast<Shape &>(circle).area(7);
    many({1, 2, 3}, 1, 2, 3, 4, 5, 6, 7);
    bad((const char *)0x1234, (Request *)0x7ffffffff000, local);
    yes(4);
    printf("%d\n", hidden(41));
    return 3;
}
EOF
}

# shown FILE: a line a call: its values as people read them, with addresses as 0x…
shown() {
    "$SPROF" script "$1" --format csv >script.csv || fail "no script"
    python3 - <<'EOF'
import csv, re
for row in csv.DictReader(open("script.csv")):
    name = row["function"].split("(")[0].split("[")[0].strip().split("::")[-1]
    if name != "basic_string":
        print(re.sub(r"0x[0-9a-f]+", "0x…", name + row["arguments"] + (" = " + row["result"] if row["result"] else "")))
EOF
}

wanted() {
    cat <<'EOF'
main() = 3
integers(a = -1, b = 4000000000, c = 1234567890123, d = 200, e = true, f = 'x') = 1617309195
floats(a = 1.5, b = 7, c = -0.25) = 8.25
enums(k = SQUARE, l = low) = SQUARE
texts(a = "first \"text\"\n", b = "on the stack", p = 0x…) = "irst \"text\"\n"
texts(a = null, b = "on the stack", p = null) = "on the stack"
strings(a = "a string that is rather long, so it is on the heap", b = "a view", c = "short") = 61
made(n = 20) = "mmmmmmmmmmmmmmmmmmmm"
counted(buf = "counted", len = 7) = 100
weighed(name = "a name", weight = 2) = 110
points(p = {x = 1, y = -2}, q = 0x… {x = 3, y = 4}, r = 0x… {path = "/index", host = "example.org", weight = 2.5, kind = SQUARE, next = null}, s = {path = null, host = "hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh", weight = 1, kind = 9, next = 0x…}) = {x = 4, y = 3}
area(this = 0x… (Circle) {id = 6}, scale = 7) = 42
many(big = –, a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = –) = 29
bad(wild = 0x… unreadable, nothing = 0x… unreadable, own = "on the stack")
yes(n = 4) = true
hidden(only = 41) = 42
EOF
}

values() {
    local wanted=": ^(main|integers|floats|enums|texts|strings|made|counted|weighed|points|Shape::area|many|bad|yes|hidden)"
    for level in -O2 -O0; do
        g++ -std=c++17 $level -g values.cc -o values || fail "it does not compile"
        traced values$level --keep "every 1 $wanted" --args -- ./values
        shown values$level.db >out
        wanted | diff - out >differs || fail "other values with $level: $(cat differs)"
    done
    # Some functions alone; others have rows and no values.
    traced some --keep 'every 1' --args='^yes|^made' -- ./values
    [ "$("$SPROF" sql some.db --format csv "SELECT DISTINCT function FROM v_call_value ORDER BY 1" | tail -n +2 | tr -d '\r' |
        paste -sd' ')" = "made[abi:cxx11](int) yes(long)" ] || fail "values of other functions"
}

readers() {
    g++ -std=c++17 -O2 -g values.cc -o values || fail "it does not compile"
    traced values --keep 'every 1 : ^(yes|counted|main)' --args -- ./values
    "$SPROF" report --kept values.db >out || fail "no report"
    grep -q ' counted(buf = "counted", len = 7) = 100 ' out || fail "the tree"
    "$SPROF" report --kept values.db --format json >report.json
    for format in chrome firefox otlp-traces; do
        "$SPROF" export -f $format -o $format.json values.db 2>err || fail "no export for $format"
    done
    python3 - <<'EOF' || fail "a reader has other values"
import json
wanted = ('(buf = "counted", len = 7)', "100")
(row,) = [row for row in json.load(open("report.json"))["rows"] if row["function"].startswith("counted")]
assert (row["arguments"], row["result"]) == wanted, row
(args,) = [event["args"] for event in json.load(open("chrome.json"))["traceEvents"] if event["name"].startswith("counted")]
assert (args["arguments"], args["result"]) == wanted, args
profile = json.load(open("firefox.json"))
datas = [data for thread in profile["threads"] for data in thread["markers"]["data"]]
assert wanted in [(data.get("arguments"), data.get("result")) for data in datas], datas
spans = json.load(open("otlp-traces.json"))["resourceSpans"][0]["scopeSpans"][0]["spans"]
(span,) = [span for span in spans if span["name"].startswith("counted")]
found = {one["key"]: one["value"].get("stringValue") for one in span["attributes"]}
assert (found["sprof.argument.buf"], found["sprof.argument.len"], found["sprof.result"]) == ('"counted"', "7", "100"), found
EOF
    "$SPROF" merge values.db values.db -o merged.db >out 2>&1 || fail "no merge"
    [ "$("$SPROF" sql merged.db --format csv "SELECT count(*) FROM v_call_value WHERE function LIKE 'counted%'" | tail -n 1 | tr -d '\r')" = 3 ] ||
        fail "values are lost or doubled where recordings are merged"
}

# Without debug information there are six words.
words() {
    g++ -std=c++17 -O2 values.cc -o values || fail "it does not compile"
    traced words --keep 'every 1 : ^(counted|yes|integers)' --args -- ./values
    shown words.db >out
    grep -q '^yes(arg1 = 0x…, arg2 = .*, arg6 = 0x…)$' out || fail "other words: $(cat out)"
    "$SPROF" sql words.db --format csv "SELECT value FROM v_call_value WHERE function LIKE 'integers%' AND name IN ('arg1', 'arg4')" |
        tail -n +2 | tr -d '\r' | paste -sd' ' >out
    grep -Eq '^0x(ffffffff)?ffffffff 0xc8$' out || fail "other words in registers: $(cat out)"
}

# Where a call's words are all there is to it, and one rule is all that holds, rows are written in another way: with the same values.
quick() {
    cat >quick.c <<'EOF'
#include <errno.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI long six(long a, int b, unsigned c, short d, char e, unsigned char f) { BODY; return a + b + (long)c + d + e + f; }
NI double wide(double x, int n, float y) { BODY; return x * n + (double)y; }
NI int fails(int n) { if (n % 3 == 0) errno = ENOENT; BODY; return n % 3 ? n : -1; }
NI long below(long a, long b) { BODY; return a * b; }
/* A caller with an empty frame. */
long hop(long a, long b);
__asm__(".text\n.globl hop\n.type hop, @function\nhop: call below\n ret\n nop\n nop\n nop\n.size hop, .-hop");
NI void all(int n) { six(n, -n, 3000000000u, -300, 'x', 200); wide(n, 3, 0.25f); fails(n); below(n, 7); hop(n, 9); BODY; }
int main(void)
{
    for (int i = 0; i < 300; i++) all(i);
    return 0;
}
EOF
    gcc -O1 -g quick.c -o quick || fail "it does not compile"
    traced quick --keep 'over 0ns : ^(six|wide|fails|below|hop|all)' --args -- ./quick
    traced usual --keep 'every 1 : ^(six|wide|fails|below|hop|all)' --args -- ./quick
    shown quick.db >quick.out
    shown usual.db | cmp - quick.out || fail "other values than those of the usual way"
    "$SPROF" script quick.db | sed -n 's/^.*s  *\(six\|wide\|fails\|below\)/\1/p' | sed 's/  · .*//' | tail -n 5 >out
    cat >wanted.txt <<'EOF'
six(a = 299, b = -299, c = 3000000000, d = -300, e = 'x', f = 200) = 3000000020
wide(x = 299, n = 3, y = 0.25) = 897.25
fails(n = 299) = 299
below(a = 299, b = 7) = 2093
below(a = 299, b = 9) = 2691
EOF
    diff wanted.txt out >differs || fail "other values: $(cat differs)"
    [ "$("$SPROF" sql quick.db --format csv "SELECT count(*) FROM v_call_value WHERE name = 'errno'" | tail -n 1 | tr -d '\r')" = 100 ] || fail "errno"
    # By the value of a result, and under a rule of a function that has no other.
    traced some --keep 'returns = -1 : ^fails' --keep 'a = 298 : ^below' --args='^(fails|below)' -- ./quick
    [ "$("$SPROF" sql some.db --format csv "SELECT sum(fired) || ' ' || (SELECT count(*) FROM call_value) FROM keep_rule" | tail -n 1 | tr -d '\r')" = \
        "102 $((100 * 3 + 2 * 3))" ] || fail "rows of rules about values"
}

# Addresses lead nowhere, structures into themselves, texts have no end, and a filter ends the program for system calls that it
# does not expect.
bad() {
    cat >bad.cc <<'EOF'
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct Ring { Ring *next; const char *name; std::string *text; int n; };
NI void edge(const char *end, char *gone, std::string *broken, Ring *ring) { BODY; }
NI void later(const char *heap) { BODY; }
int main()
{
    char *pages = (char *)mmap(nullptr, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 'e', 3 * 4096);
    mprotect(pages + 4096, 4096, PROT_NONE);
    Ring ring = {&ring, pages + 4093, (std::string *)8, 5};
    unsigned long words[4] = {1, ~0ul, 2, 3};
    edge(pages + 4093, pages + 4097, (std::string *)words, &ring);
    edge(pages + 8192, nullptr, (std::string *)~7ul, (Ring *)-64l);
    char *text = strdup("on the heap");
    later(text);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 9;
    later(text);
    puts("still there");
    return 4;
}
EOF
    g++ -O1 -g bad.cc -o bad || fail "it does not compile"
    traced bad --keep 'every 1 : ^(edge|later)' --args -- ./bad
    shown bad.db >out
    cat >wanted.txt <<'EOF'
edge(end = "eee", gone = 0x… unreadable, broken = 0x… unreadable, ring = 0x… {next = 0x…, name = "eee", text = 0x…, n = 5})
EOF
    sed -i '/^main/d' out
    head -1 out | diff wanted.txt - >differs || fail "other values: $(cat differs)"
    sed -n 2p out | grep -q '^edge(end = "e*…", gone = null, broken = 0x… unreadable, ring = 0x… unreadable)$' || fail "a text without an end: $(cat out)"
    sed -n '3,$p' out | paste -sd' ' >later
    [ "$(cat later)" = 'later(heap = "on the heap") later(heap = 0x… not read)' ] || fail "under a filter: $(cat later)"
}

# On coroutines' stacks, which do not end where the thread's does, with texts near the ends of what is mapped above them; and deep on a large one.
stacks() {
    cat >stacks.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
enum { STACK = 1 << 18, PAGE = 4096, DEPTH = 10 << 20 };
static ucontext_t outside, inside;
static char *end;
NI int shown(const char *text, const char *gone) { BODY; return text[0] + !gone; }
NI int deep(const char *a, const char *b, const char *c, const char *d, const char *e) { BODY; return a[0] + b[0] + c[0] + d[0] + e[0]; }
static void run(void) { printf("%d\n", shown(end - 8, end + 8)); }
static void *swap(void *pages)
{
    end = (char *)pages + STACK + PAGE;
    memcpy(end - 8, "8 bytes", 8);
    if (mprotect(end, PAGE, PROT_NONE) || getcontext(&inside)) return pages;
    inside.uc_stack.ss_sp = pages;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = &outside;
    makecontext(&inside, run, 0);
    return swapcontext(&outside, &inside) ? pages : NULL;
}
static void *dive(void *unused)
{
    volatile char room[DEPTH];
    char text[] = "below";
    room[0] = 0;
    for (int i = 0; i < 6000; i++) deep(text, text, text, text, text); /* more than the kernel may read in a second */
    return unused;
}
static void *map(size_t bytes) { return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
int main(void)
{
    pthread_attr_t small, large;
    pthread_t thread;
    char *pages = map(2 * STACK + 2 * PAGE);
    if (swap(map(STACK + 2 * PAGE))) return 1;
    /* right below a thread's stack, nearer than most stacks end */
    if (pthread_attr_init(&small) || pthread_attr_setstack(&small, pages + STACK + 2 * PAGE, STACK)) return 2;
    if (pthread_create(&thread, &small, swap, pages) || pthread_join(thread, NULL)) return 3;
    /* deeper than most stacks */
    if (pthread_attr_init(&large) || pthread_attr_setstacksize(&large, 8 * DEPTH)) return 4;
    return pthread_create(&thread, &large, dive, NULL) || pthread_join(thread, NULL);
}
EOF
    gcc -O1 -g stacks.c -o stacks -pthread || fail "it does not compile"
    traced stacks --keep 'every 1 : ^(shown|deep)' --args='shown|deep' -- ./stacks
    shown stacks.db >out
    [ "$(grep '^shown' out | uniq -c | sed 's/^ *//')" = '2 shown(text = "8 bytes", gone = 0x… unreadable) = 56' ] || fail "other values: $(grep '^shown' out)"
    # where the machine is busy, some calls have no room for values
    [ "$(grep '^deep.' out | uniq)" = 'deep(a = "below", b = "below", c = "below", d = "below", e = "below") = 490' ] || fail "other values: $(grep '^deep' out | sort | uniq -c)"
    bare_clone
}

# A thread whose own thread-local storage ends with its mapping: nothing behind that is read.
bare_clone() {
    cat >bare.c <<'EOF'
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
enum { STACK = 1 << 18, PAGE = 4096, BEHIND = 0x300 };
NI int shown(const char *text) { BODY; return text[0]; }
static int run(void *unused)
{
    char text[] = "below";
    shown(text);
    return unused != 0;
}
int main(void)
{
    const char *own = __builtin_thread_pointer();
    size_t at = 0x100; /* glibc's id of the thread */
    while (*(const int *)(own + at) != (int)getpid()) at += 4;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *block = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *storage = block + 2 * PAGE - BEHIND;
    if (mprotect(block + 2 * PAGE, PAGE, PROT_NONE)) return 1;
    volatile int *tid = (volatile int *)(storage + at);
    if (at + 4 > BEHIND) return 0;
    *(char **)storage = *(char **)(storage + 16) = storage;
    if (clone(run, stack + STACK - 8, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
        CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID, NULL, tid, storage, tid) < 0) return 2;
    while (*tid) usleep(1000);
    return 0;
}
EOF
    gcc -O1 -g -fno-stack-protector bare.c -o bare || fail "it does not compile"
    traced bare --keep 'every 1 : ^shown' --args=shown -- ./bare
    [ "$("$SPROF" sql bare.db --format csv "SELECT calls FROM v_call_stats WHERE function = 'shown'" | tail -n 1 | tr -d "\r")" = 1 ] || fail "the call is not there"
}

# Rules about values keep what these say, whether the values are shown or not.
conditions() {
    g++ -std=c++17 -O2 -g values.cc -o values || fail "it does not compile"
    local rules=('returns < 0 : ^yes' 'returns true : ^(yes|main)' 'returns 7.5..9 : ^floats' 'b = 4000000000 and returns > 3' 'c < -0.2' 'c > -0.25'
        'arg2 != 0 : ^texts' 'k = 200' 'nothing = 0x7ffffffff000 and wild != null' 'returns 20..29 : ^many' 'returns null : ^(texts|yes)' 'a = null : ^texts'
        'e = true' 'a != 1.5 : ^floats' 'only >= 1' 'returns != 100 and every 1 : ^counted') options=() shown
    for rule in "${rules[@]}"; do options+=(--keep "$rule"); done
    traced conditions "${options[@]}" -- ./values
    "$SPROF" sql conditions.db --format csv "SELECT number || ' ' || fired FROM keep_rule ORDER BY number" | tail -n +2 | tr -d '\r' |
        paste -sd, >out
    [ "$(cat out)" = "1 0,2 2,3 1,4 1,5 1,6 2,7 2,8 1,9 1,10 1,11 0,12 1,13 2,14 0,15 0,16 0" ] || fail "other calls: $(cat out)"
    [ "$("$SPROF" sql conditions.db --format csv 'SELECT count(*) FROM call_value' | tail -n 1 | tr -d '\r')" = 0 ] || fail "values are shown"
    traced both --keep 'b = 4000000000' --args=yes -- ./values
    [ "$("$SPROF" sql both.db --format csv 'SELECT fired FROM keep_rule' | tail -n 1 | tr -d '\r')" = 1 ] || fail "a rule beside --args"
    "$SPROF" trace --keep 'nonsense = 3' -o none.db -- ./values >out 2>err
    grep -q "nonsense = 3' keeps no call: by debug information no function has" err || fail "a value that no function has"
    strip -g values -o bare
    "$SPROF" trace --keep 'returns < 0' --keep 'arg1 = 3' -o none.db --overwrite -- ./bare >out 2>err
    [ "$(grep -c "'returns < 0' keeps no call: no function has debug information, and rules without it can test only arg1 to arg6" err)" = 1 ] || fail "why there are no results: $(cat err)"
    grep -q "arg1 = 3'" err && fail "words need no debug information: $(cat err)"
    # What was meant is named, too, also where other processes have ended since, or go on.
    mistyped() {
        "$SPROF" trace --keep 'weigth = 3 : ^weighed' -o mistyped.db "$@" >out 2>err
        [ "$(grep -c "weigth = 3 : .*by debug information no function has" err)" = 1 ] || fail "a mistyped value is not told once: $*"
        grep -q 'near it: weight' err || fail "the value that was meant is not named: $*"
    }
    mistyped -- ./values
    mistyped --children -- ./values
    mistyped --children -- sh -c './values; :'
}

# left NAME: what left the calls of NAME. Other columns follow where the machine is busy.
left() {
    sed -n "s/^.* $1 → exception //p" out | sed 's/  · .*//'
}

# Type and text of what leaves a call, by itself and below others, thrown again, and of a class that says nothing.
thrown() {
    cat >thrown.cc <<'EOF'
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
struct Tag { virtual ~Tag() {} int n = 4; };
struct Bad : Tag, std::out_of_range { using std::out_of_range::out_of_range; };
struct Silent {};
NI void fails(int n)
{
    BODY;
    switch (n) {
    case 0: throw std::runtime_error("first");
    case 1: throw Bad("bad field 7");
    case 2: throw Silent();
    case 3: throw "a text";
    case 4: throw std::system_error(std::make_error_code(std::errc::no_such_file_or_directory), "file");
    case 5: throw std::bad_alloc();
    default: std::rethrow_exception(std::make_exception_ptr(std::logic_error("again")));
    }
}
NI void middle(int n) { std::string text(40, 'x'); BODY; fails(n); BODY; }
struct Guard { int n; NI ~Guard(); };
Guard::~Guard() { try { BODY; if (n == 3) throw 5; } catch (int) { BODY; } }
NI void guarded(int n) { Guard guard{n}, second{n + 1}; BODY; fails(n); BODY; }
int main()
{
    for (int i = 0; i < 7; i++)
        try { middle(i); } catch (...) { BODY; }
    for (int i = 0; i < 7; i++)
        try { guarded(i); } catch (...) { BODY; }
}
EOF
    g++ -O1 -g thrown.cc -o thrown || fail "it does not compile"
    traced thrown --keep 'throws' -- ./thrown
    "$SPROF" script thrown.db >out || fail "no script"
    cat >wanted.txt <<'EOF'
std::runtime_error "first"
Bad "bad field 7"
Silent
char const* "a text"
std::system_error "file: No such file or directory"
std::bad_alloc
std::logic_error "again"
EOF
    # Where a destructor has a probe, calls below its frame end before the exception goes on.
    for name in middle guarded; do
        left $name >got
        diff wanted.txt got >differs || fail "other exceptions of $name: $(cat differs)"
    done
    left fails >got
    cat wanted.txt wanted.txt | diff - got >differs || fail "other exceptions of fails: $(cat differs)"
    "$SPROF" report --kept thrown.db --format json >report.json || fail "no report"
    grep -q '"exception": *"Bad \\"bad field 7\\""' report.json || fail "a report without them"
    caught_unseen
}

# Where a library has a runtime of its own, without symbols, calls end later, and a call that is left after that is not thrown.
caught_unseen() {
    cat >shelter.cc <<'EOF'
#include <exception>
static std::exception_ptr held; // its text is there after the catch
extern "C" void shelter(void (*fails)(), void (*then)())
{
    try { fails(); } catch (...) { held = std::current_exception(); if (then) then(); }
}
EOF
    cat >unseen.cc <<'EOF'
#include <stdexcept>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
extern "C" void shelter(void (*fails)(), void (*then)());
static void *place[5];
NI void sinks() { BODY; throw std::runtime_error("unseen"); }
NI void hops() { BODY; __builtin_longjmp(place, 1); }
NI void lands() { if (!__builtin_setjmp(place)) hops(); BODY; }
NI void outer() { shelter(sinks, nullptr); BODY; }
int main()
{
    outer(); // the call of sinks ends as outer does
    lands();
    shelter(sinks, lands); // … or as lands begins
    lands();
}
EOF
    g++ -O1 -g -shared -fPIC -s -static-libstdc++ -Wl,--exclude-libs,ALL shelter.cc -o libshelter.so && g++ -O1 -g unseen.cc -L. -lshelter -Wl,-rpath,. -o unseen || fail "it does not compile"
    traced unseen --function '^(outer|sinks|lands|hops)' --keep throws --keep 'every 1 : ^hops' -- ./unseen
    "$SPROF" script unseen.db >out || fail "no script"
    [ "$(left sinks | paste -sd,)" = 'std::runtime_error "unseen",std::runtime_error "unseen"' ] || fail "other exceptions of sinks: $(cat out)"
    [ "$(grep -c ' hops → left' out)" = 3 ] || fail "other ends of hops: $(cat out)"
}

# Panics that are caught, with texts in program and library, and payloads that are none, as large as texts or not.
panics() {
    local compiler=/usr/bin/rustc flags name
    [ -x "$compiler" ] || compiler=$(command -v rustc) || skip "rustc is missing: apt-get install rustc"
    cat >panics.rs <<'EOF'
use std::panic::{catch_unwind, panic_any, resume_unwind, set_hook};
use std::sync::atomic::{AtomicU32, Ordering};
static DROPPED: AtomicU32 = AtomicU32::new(0);
static BYTES: [u8; 4] = [0xff, 0xfe, 0x80, 1];
struct Guard;
impl Drop for Guard {
    #[inline(always)]
    fn drop(&mut self) { DROPPED.fetch_add(1, Ordering::Relaxed); }
}
macro_rules! body { () => { unsafe { std::arch::asm!("nop; nop; nop; nop; nop") } } }
#[inline(never)] #[no_mangle]
fn fails(n: u32) -> u32 {
    body!();
    match n {
        0 => panic!("first"),
        1 => panic!("bad field {}: \u{e9}", n + 6),
        2 => panic_any(7u32),
        3 => panic_any((1u64, 2u64)),
        4 => panic_any((&BYTES, 4u64)),
        5 => resume_unwind(Box::new(String::from("resumed"))),
        6 => panic_any("by name"),
        7 => panic!("{}", "long ".repeat(100)),
        8 => panic_any(&[100u32, 200][..]),
        9 => panic_any(vec![100u64, 5]),
        10 => panic_any((0xdead_beef_0000u64, 4u64)),
        _ => None::<u32>.unwrap(),
    }
}
#[inline(never)] #[no_mangle]
fn middle(n: u32) -> u32 { let guard = Guard; let made = fails(n); body!(); drop(guard); made + 1 }
#[inline(never)] #[no_mangle]
fn bare(n: u32) -> u32 { let made = fails(n); body!(); made + 1 }
fn main() {
    set_hook(Box::new(|_| {}));
    for n in 0..12 {
        let _ = catch_unwind(|| middle(n));
        let _ = catch_unwind(|| bare(n));
    }
    std::process::exit(DROPPED.load(Ordering::Relaxed) as i32);
}
EOF
    cat >wanted.txt <<EOF
Rust panic "first"
Rust panic "bad field 7: é"
Rust panic
Rust panic
Rust panic
Rust panic "resumed"
Rust panic "by name"
Rust panic "$(printf 'long %.0s' $(seq 51))l"
Rust panic
Rust panic
Rust panic
Rust panic "called \`Option::unwrap()\` on a \`None\` value"
EOF
    LD_LIBRARY_PATH=$("$compiler" --print target-libdir)
    export LD_LIBRARY_PATH
    for flags in -O "-O -C prefer-dynamic" "-C opt-level=0" "-C opt-level=0 -C symbol-mangling-version=v0"; do
        # shellcheck disable=SC2086
        "$compiler" -g $flags panics.rs -o panics >build.log 2>&1 || fail "it does not compile: $(cat build.log)"
        traced panics --function '^(fails|middle|bare)$' --keep 'throws "^Rust panic$"' -- ./panics
        "$SPROF" script panics.db >out || fail "no script"
        for name in middle bare; do
            left $name >got
            diff wanted.txt got >differs || fail "$flags: other panics of $name: $(cat differs)"
        done
        left fails | uniq >got
        diff <(uniq wanted.txt) got >differs || fail "$flags: other panics of fails: $(cat differs)"
        [ "$(left fails | wc -l)" = 24 ] || fail "$flags: calls of fails are missing: $(cat out)"
    done
}

# Ada's, named by the program and by the language, with the texts of both.
raised() {
    local flags name
    command -v gnatmake >found || skip "no gnatmake"
    cat >raises.adb <<'EOF'
with Ada.Exceptions; use Ada.Exceptions;
procedure Raises is
   Bad : exception;
   Total : Integer := 0;
   procedure Fails (N : Integer) is
   begin
      case N is
         when 0 => raise Bad with "bad field 7";
         when 1 => Raise_Exception (Program_Error'Identity, (1 .. 300 => 'x'));
         when 2 => Total := Integer'Value ("z");
         when others => raise Bad;
      end case;
   end Fails;
   pragma No_Inline (Fails);
   procedure Middle (N : Integer) is
   begin
      Fails (N);
      Total := Total + 1;
   end Middle;
   pragma No_Inline (Middle);
begin
   for I in 0 .. 3 loop
      begin
         Middle (I);
      exception
         when others => Total := 0;
      end;
   end loop;
end Raises;
EOF
    cat >wanted.txt <<EOF
Ada RAISES.BAD "bad field 7"
Ada PROGRAM_ERROR "$(printf 'x%.0s' $(seq 200))"
Ada CONSTRAINT_ERROR "bad input for 'Value: \\"z\\""
Ada RAISES.BAD "raises.adb:11"
EOF
    for flags in -shared -static; do
        gnatmake -q -f -O1 -g raises.adb -bargs $flags >build.log 2>&1 || fail "it does not compile: $(cat build.log)"
        traced raises --keep 'throws ^Ada' -- ./raises
        "$SPROF" script raises.db >out || fail "no script"
        for name in fails middle; do
            left "raises.$name" >got
            diff wanted.txt got >differs || fail "$flags: other exceptions of $name: $(cat differs)"
        done
    done
}

# errno where a call fails by its result, or by an exception, or a rule is about it.
errors() {
    cat >errors.c <<'EOF'
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#define NI __attribute__((noinline))
#define BODY __asm__ volatile("nop; nop; nop; nop; nop" ::: "memory")
NI int opened(const char *path) { int fd = open(path, O_RDONLY); BODY; return fd; }
NI char *found(const char *name) { errno = name ? 4000 : 0; char *none = NULL; BODY; return none; }
NI long fine(long n) { BODY; return n; }
NI unsigned odd(unsigned n) { errno = ERANGE; BODY; return n; }
int main(void)
{
    opened("/nowhere/at/all");
    fine(3);
    fine(-3);
    found("x");
    found(NULL);
    odd(5);
    return 0;
}
EOF
    gcc -O1 -g errors.c -o errors || fail "it does not compile"
    traced errors --keep 'every 1 : ^(opened|fine|found)' --keep 'errno = ERANGE : ^odd' --args -- ./errors
    "$SPROF" script errors.db >out || fail "no script"
    sed -n 's/^.*s  *\(opened\|fine\|found\|odd\)/\1/p' out | sed 's/  · .*//' >got
    cat >wanted.txt <<'EOF'
opened(path = "/nowhere/at/all") = -1 [errno = ENOENT]
fine(n = 3) = 3
fine(n = -3) = -3 [errno = ENOENT]
found(name = "x") = null [errno = 4000]
found(name = null) = null
odd(n = 5) = 5 [errno = ERANGE]
EOF
    diff wanted.txt got >differs || fail "other errors: $(cat differs)"
    "$SPROF" report --kept --columns 120 errors.db >out && grep -q 'found(name = "x") = null \[errno = 4000\]' out || fail "the tree: $(cat out)"
    [ "$("$SPROF" sql errors.db --format csv "SELECT name || ' ' || value FROM v_call_value WHERE position = 65534 AND function = 'opened'" |
        tail -n 1 | tr -d '\r')" = "errno ENOENT" ] || fail "the row"
    for format in chrome firefox otlp-traces; do
        "$SPROF" export -f $format -o $format.json errors.db 2>err || fail "no export for $format"
        grep -q ENOENT $format.json || fail "no errno in $format"
    done
}

refused() {
    g++ -std=c++17 -O2 -g values.cc -o values || fail "it does not compile"
    "$SPROF" trace --args -- ./values >out 2>err && fail "--args goes without --keep"
    grep -q -- '--args needs --keep' err || fail "why not"
    "$SPROF" trace --keep throws --args='((' -- ./values >out 2>err && fail "half an expression"
    grep -q 'missing closing parenthesis' err || fail "what is wrong with it"
    "$SPROF" trace --keep throws --args=nowhere -o none.db -- ./values >out 2>err
    grep -q -- "nowhere' finds none of the functions" err || fail "an expression without functions"
}

case "$1" in
values | readers | words | quick | bad | stacks | conditions | thrown | panics | raised | errors | refused) write_program && "$1" ;;
*) fail "no such case" ;;
esac
