/* What a public handle is inside. */
#ifndef TP_LIB_HANDLE_H
#define TP_LIB_HANDLE_H

#include "base/pool.h"
#include "include/tileproof.h"
#include "spec/kernel.h"

struct tileproof_kernel {
    tp_arena *arena;
    tp_source source;
    tp_ctx ctx;
    tp_str target; /* asked for; empty: the spec's */
    tp_spec *spec;
    const char *name, *chip;
    tileproof_parameter *parameters;
    size_t nparameters;
    bool verified;
    tp_pool *pool; /* memory of runs, which stays for the next ones */
};

/* Findings to the sink, which may be NULL; strings live in a. */
typedef struct tp_listener {
    tileproof_sink sink;
    void *context;
} tp_listener;
void tp_tell_finding(tp_arena *a, const tp_listener *l, const tp_source *source, const tp_finding *f);
void tp_tell_error(tp_arena *a, const tp_listener *l, tp_str message);
/* What callers of the library are told: limits and budgets are one. */
tileproof_status tp_public_status(tp_status st);

#endif
