/* A program that has the kernel print an address as its symbol. It is never attached to anything:
 * sprof runs it once for each address, by way of testing it, with the address as the first argument
 * of what would be a tracepoint. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* KSYM_SYMBOL_LEN of the kernel, the longest there can be, is below 700. */
char answer[1024];

/* Returns the length of the answer with its final zero. (bpftool needs the name of a tracepoint.)
 */
SEC("raw_tp/sys_enter")
int name_address(struct bpf_raw_tracepoint_args *ctx)
{
    static const char format[] = "%pS";
    __u64 address = ctx->args[0];
    return bpf_snprintf(answer, sizeof answer, format, &address, sizeof address);
}
