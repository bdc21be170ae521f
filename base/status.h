/* Status: could a call do its work? (What a kernel is found guilty of is a
 * finding, never a status.) */
#ifndef TP_STATUS_H
#define TP_STATUS_H

typedef enum tp_status {
    TP_OK = 0,
    TP_E_USAGE,    /* wrong options or configuration */
    TP_E_INPUT,    /* a file is unreadable or not a valid spec */
    TP_E_TRAP,     /* the machine trapped: the kernel broke a rule while running */
    TP_E_LIMIT,    /* a stated limit (memory, steps) was reached */
    TP_E_BUDGET,   /* what the spec may cost is spent (base/budget.h) */
    TP_E_MEMORY,   /* allocation failed */
    TP_E_INTERNAL, /* tileproof contradicts itself */
} tp_status;

/* Exit codes of the command line: a promise, see docs/REPORTS.md. */
enum {
    TP_EXIT_OK = 0,
    TP_EXIT_VIOLATED = 1,
    TP_EXIT_USAGE = 2,
    TP_EXIT_INPUT = 3,
    TP_EXIT_UNKNOWN = 4,
    TP_EXIT_INTERNAL = 5,
    TP_EXIT_INTERRUPTED = 130, /* as shells have it: SIGINT, and what was done by then is reported */
};

/* The one of a run that came to both. */
static inline int tp_worse_exit(int a, int b)
{
    static const int WORST_FIRST[] = {TP_EXIT_INTERNAL, TP_EXIT_INTERRUPTED, TP_EXIT_USAGE,
                                      TP_EXIT_INPUT,    TP_EXIT_VIOLATED,    TP_EXIT_UNKNOWN};
    for (unsigned i = 0; i < sizeof WORST_FIRST / sizeof *WORST_FIRST; i++)
        if (a == WORST_FIRST[i] || b == WORST_FIRST[i])
            return WORST_FIRST[i];
    return TP_EXIT_OK;
}

#endif
