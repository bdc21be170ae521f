/* A question to a solver as data: what to build and what to assert, in order. Whoever answers it needs neither the pool
 * nor the obligation, so that a small process can. */
#ifndef TP_QUESTION_H
#define TP_QUESTION_H

#include <stdint.h>

/* One instruction: its operation, how many operands follow, the operands. An operand is the number of an earlier
 * instruction, but where it says otherwise. */
typedef enum tp_question_op {
    TP_Q_NUMBER,   /* a value */
    TP_Q_CONSTANT, /* an integer: a letter that says of what kind, a number among its kind */
    TP_Q_FRESH,    /* an integer of its own; no operand */
    TP_Q_TRUE,     /* no operand */
    TP_Q_FALSE,    /* no operand */
    TP_Q_NOT,
    TP_Q_AND, /* any number */
    TP_Q_OR,  /* any number */
    TP_Q_IMPLIES,
    TP_Q_IFF,
    TP_Q_ITE,
    TP_Q_EQ,
    TP_Q_LE,
    TP_Q_LT,
    TP_Q_GE,
    TP_Q_GT,
    TP_Q_MINUS,
    TP_Q_ADD, /* any number */
    TP_Q_MUL, /* any number */
    TP_Q_ASSERT,
    TP_Q_WANTED /* its value is part of a model that is told */
} tp_question_op;

typedef struct tp_question {
    uint64_t rlimit;  /* Z3's own count of steps */
    double seconds;   /* of CPU */
    uint32_t mib;     /* that Z3 may take */
    uint32_t n;       /* instructions */
    uint32_t nwanted; /* values of a model */
    uint32_t nwords;
    const int64_t *words; /* the instructions */
} tp_question;

/* What a solver says of the negated obligation. */
typedef enum tp_answer { TP_UNSAT, TP_SAT, TP_UNDECIDED, TP_SOLVER_ERROR } tp_answer;

typedef struct tp_reply {
    int32_t answer;
    char reason[200]; /* UNDECIDED, SOLVER_ERROR: why */
    uint64_t work;    /* as Z3 counts it */
} tp_reply;

/* z3.c, the only file that knows Z3. A context, which lives as long as the process; NULL: Z3 had no memory for one. */
typedef struct tp_z3 tp_z3;
tp_z3 *tp_z3_open(void);
/* From here on Z3 ends what takes more with an answer. */
void tp_z3_limit(uint32_t mib);
/* SAT: the values that are wanted. */
tp_reply tp_z3_answer(tp_z3 *z, const tp_question *q, int64_t *model);

#endif
