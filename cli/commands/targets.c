#include <stdio.h>

#include "cli/cli.h"

static int run(tp_cli *c)
{
    size_t n;
    const tp_target *t = tp_targets(&n);
    if (c->paths.len)
        return tp_usage_error("targets takes no arguments");
    printf("%-9s %-18s %5s %9s %10s %9s %9s %8s\n", "target", "aliases", "cores", "VMEM MiB", "limit MiB", "SMEM KiB",
           "HBM GB/s", "bf16 T/s");
    for (size_t i = 0; i < n; i++) {
        printf("%-9.*s %-18s %5d %9lld ", TP_FMT(t[i].name), tp_target_aliases(i), t[i].cores,
               (long long)(t[i].vmem_bytes >> 20));
        if (t[i].vmem_limit)
            printf("%10lld", (long long)(t[i].vmem_limit >> 20));
        else
            printf("%10s", "physical");
        printf(" %9lld %9.0f %8.1f\n", (long long)(t[i].smem_bytes >> 10), t[i].hbm_bandwidth / 1e9,
               t[i].bf16_flops / 1e12);
    }
    printf("none      hardware rules off\nper core; the default is %s. \"limit\" is the default scoped VMEM limit that "
           "the compiler grants a kernel.\n",
           TP_DEFAULT_TARGET);
    return TP_EXIT_OK;
}

const tp_command tp_command_targets = {"targets", 'T', "", "list the chips", run};
