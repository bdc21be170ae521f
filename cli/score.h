/* What became of planted defects: counts, as text and as JSON. */
#ifndef TP_SCORE_H
#define TP_SCORE_H

#include "cli/mutations.h"

struct json_object;

typedef enum tp_fate {
    TP_FATE_NOTICED,
    TP_FATE_EQUAL,     /* proven equal for all sizes: to the reference over the reals, or to the kernel as it is */
    TP_FATE_NOT_APART, /* no case of verify and no wider run tells it from the kernel as it is */
    TP_FATE_OPEN,      /* verify leaves it unknown */
    TP_FATE_SURVIVES,  /* executed numbers differ, and nothing noticed */
    TP_FATES
} tp_fate;

typedef struct tp_defect {
    const tp_mutation *mutation;
    tp_fate fate;
    const char *by;    /* who notices: the code of a rule, E1, E2, TP703; NULL: nobody */
    const char *says;  /* what is unknown, the wider run that tells, or why it is equal; NULL: nothing */
    uint32_t runs;     /* wider ones that tell nothing apart, or up to the one that does */
    bool bounded;      /* their work was spent before there were as many as were asked for */
    bool loose;        /* allclose(rtol=1e-2, atol=1e-2) would notice, or a run traps */
    bool contradicted; /* proven equal, and an execution refutes it */
} tp_defect;

typedef struct tp_score {
    uint32_t specs;   /* whose defects were judged */
    uint32_t planted; /* valid specs, each with one defect */
    uint32_t invalid; /* that are no valid specs */
    uint32_t fates[TP_FATES], loose, contradicted;
} tp_score;

/* One more defect; the counts of another score. */
void tp_score_count(tp_score *s, const tp_defect *d);
void tp_score_add(tp_score *total, const tp_score *s);

/* A line to standard output. */
void tp_score_print_defect(const tp_defect *d);
/* The counts of a kernel, or with `specs` of all, as a line to standard output. */
void tp_score_print(const tp_score *s, uint32_t kinds);
void tp_score_print_total(const tp_score *s);

/* Objects that the caller owns; docs/EQUIVALENCE.md lists the keys. */
struct json_object *tp_score_json_defect(const tp_defect *d);
struct json_object *tp_score_json(const tp_score *s);

#endif
