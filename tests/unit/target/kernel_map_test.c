#include "target/snapshot.h"

#include <CUnit/CUnit.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The address of a function every kernel has, 0 where addresses are hidden. */
static uint64_t schedule_address(void)
{
    FILE *symbols = fopen("/proc/kallsyms", "r");
    uint64_t address = 0, found = 0;
    char name[256];
    while (symbols && !found &&
           fscanf(symbols, "%" SCNx64 " %*c %255s%*[^\n]", &address, name) == 2)
        found = strcmp(name, "schedule") ? 0 : address;
    if (symbols)
        fclose(symbols);
    return found;
}

static void test_kernel_text_holds_its_functions(void)
{
    const uint64_t address = schedule_address();
    struct target_snapshot snapshot = {0};
    CU_ASSERT_EQUAL(target_snapshot_kernel(&snapshot, 7), 0);
    unsigned kernels = 0;
    for (const struct model_record *record; (record = target_snapshot_next(&snapshot));) {
        CU_ASSERT_EQUAL(record->pid, -1);
        if (strcmp(record->mapping.file.path, "[kernel]"))
            continue;
        kernels++;
        CU_ASSERT_TRUE(address - record->mapping.address < record->mapping.size);
    }
    CU_ASSERT_EQUAL(kernels, address != 0);
    if (!address)
        printf(" (addresses are hidden here)");
    target_snapshot_release(&snapshot);
}

void sprof_suite_target_kernel_map(void);
void sprof_suite_target_kernel_map(void)
{
    CU_pSuite suite = CU_add_suite("target/kernel_map", NULL, NULL);
    CU_add_test(suite, "the kernel's text holds its functions",
                test_kernel_text_holds_its_functions);
}
