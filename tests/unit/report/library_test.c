#include "report/library.h"

#include <CUnit/CUnit.h>

static void test_modules(void)
{
    CU_ASSERT_TRUE(report_module_is_standard("libc.so.6"));
    CU_ASSERT_TRUE(report_module_is_standard("libc-2.31.so"));
    CU_ASSERT_TRUE(report_module_is_standard("libstdc++.so.6.0.30"));
    CU_ASSERT_TRUE(report_module_is_standard("ld-linux-x86-64.so.2"));
    CU_ASSERT_TRUE(report_module_is_standard("libstd-0f1e2d3c4b5a6978.so"));
    CU_ASSERT_FALSE(report_module_is_standard("libcurl.so.4"));
    CU_ASSERT_FALSE(report_module_is_standard("ldap"));
    CU_ASSERT_FALSE(report_module_is_standard("app"));
}

static void test_names(void)
{
    CU_ASSERT_TRUE(report_name_is_standard("std::vector<int>::push_back(int&&)"));
    CU_ASSERT_TRUE(report_name_is_standard("void std::__sort<int*>(int*, int*)"));
    CU_ASSERT_TRUE(report_name_is_standard("bool __gnu_cxx::operator!=<int*>(int*, int*)"));
    CU_ASSERT_TRUE(report_name_is_standard("core::fmt::write"));
    CU_ASSERT_TRUE(report_name_is_standard("<hashbrown::raw::RawTable<(u32, u32)>>::find::<u8>"));
    CU_ASSERT_TRUE(report_name_is_standard("__rustc::__rust_dealloc"));
    CU_ASSERT_TRUE(report_name_is_standard("<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop"));
    CU_ASSERT_TRUE(report_name_is_standard("<&mut std::io::Write as core::fmt::Write>::write_str"));
    CU_ASSERT_TRUE(report_name_is_standard("runtime.mallocgc"));
    CU_ASSERT_TRUE(report_name_is_standard("memcpy@plt"));
    CU_ASSERT_TRUE(report_name_is_standard("__gthread_mutex_lock(pthread_mutex_t*)"));
    CU_ASSERT_TRUE(report_name_is_standard("<u64 as core::ops::arith::Rem>::rem"));
    CU_ASSERT_TRUE(report_name_is_standard("<&[T] as core::iter::IntoIterator>::into_iter"));
    CU_ASSERT_FALSE(report_name_is_standard("<u64 as shop::Price>::price"));
    CU_ASSERT_FALSE(report_name_is_standard("<shop::Bag as core::fmt::Display>::fmt"));
    CU_ASSERT_FALSE(report_name_is_standard("shop::price(std::vector<int> const&)"));
    CU_ASSERT_FALSE(report_name_is_standard("std::vector<int> shop::all<int>(int)"));
    CU_ASSERT_FALSE(report_name_is_standard("stdin_loop(int)"));
    CU_ASSERT_FALSE(report_name_is_standard("main.runtime.f"));
    CU_ASSERT_FALSE(report_name_is_standard(""));
}

void sprof_suite_report_library(void);
void sprof_suite_report_library(void)
{
    CU_pSuite suite = CU_add_suite("report/library", NULL, NULL);
    CU_add_test(suite, "modules", test_modules);
    CU_add_test(suite, "names", test_names);
}
