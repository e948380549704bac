# The program that tests of the reading commands record, and what they ask of its recording. Sourced behind lib.sh.
command -v gcc >/dev/null || skip "no gcc"

# work() has nearly all of the time; mix() is inlined into it. It runs until it has used enough CPU time.
cat >subject.c <<'EOF'
#include <stdio.h>
#include <time.h>
static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
	x ^= x << 13;
	x ^= x >> 17;
	return x ^ x << 5;
}
__attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned sum = 1;
	for (unsigned i = 0; i < n; i++) {
		sum = mix(sum + i);
		if (sum & 1)
			sum += sum / (i | 1);
	}
	return sum;
}
int main(int argc, char **argv)
{
	unsigned sum = 0;
	while (clock() < CLOCKS_PER_SEC / 2)
		sum += work(100000 + argc + sum % 3);
	printf("%u %s\n", sum, argv[0]);
	return 0;
}
EOF
gcc -O2 -g subject.c -o subject || fail "gcc"

record_subject() {
    "$SPROF" record -o a.db -- ./subject >out 2>err || fail "record"
}

# The sum of a column of a CSV on standard input, of rows whose column KIND is WORD.
sum_of() { # COLUMN KIND
    python3 -c '
import csv, sys
print(sum(int(row[sys.argv[1]]) for row in csv.DictReader(sys.stdin) if row["kind"] == sys.argv[2]))' "$@"
}

value_of() { # FUNCTION COLUMN : of the table of functions
    "$SPROF" report a.db --inclusive --format csv | python3 -c '
import csv, sys
print(sum(int(row[sys.argv[2]]) for row in csv.DictReader(sys.stdin) if row["function"] == sys.argv[1]))' "$@"
}
