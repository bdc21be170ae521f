/* The only file that knows Z3. Measured hazards of 4.8.12 shape it: the
 * `timeout` parameter can deadlock and is never set (rlimit is); an error
 * without a handler ends the process; Z3_mk_solver is ten times slower per
 * check than Z3_mk_simple_solver. A hard query can ignore rlimit: solver.c asks in a process with limits. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <z3.h>

#include "smt/question.h"

struct tp_z3 {
    Z3_context ctx;
    Z3_sort integer;
};

static void on_error(Z3_context c, Z3_error_code e)
{
    (void)c, (void)e; /* the code is checked after each query */
}

tp_z3 *tp_z3_open(void)
{
    Z3_config cfg = Z3_mk_config();
    tp_z3 *z = calloc(1, sizeof *z);
    if (cfg && z)
        z->ctx = Z3_mk_context(cfg);
    if (cfg)
        Z3_del_config(cfg);
    if (!z || !z->ctx) {
        free(z);
        return NULL;
    }
    Z3_set_error_handler(z->ctx, on_error);
    z->integer = Z3_mk_int_sort(z->ctx);
    return z;
}

void tp_z3_limit(uint32_t mib)
{
    char text[24];
    snprintf(text, sizeof text, "%u", mib);
    Z3_global_param_set("memory_max_size", text);
}

static Z3_ast constant(const tp_z3 *z, char kind, int64_t id)
{
    char name[32];
    snprintf(name, sizeof name, "%c%lld", kind, (long long)id);
    return Z3_mk_const(z->ctx, Z3_mk_string_symbol(z->ctx, name), z->integer);
}

/* The operands of the instructions so far, and what they made. */
typedef struct build {
    const tp_z3 *z;
    Z3_solver solver;
    Z3_ast *made, *wanted;
    uint32_t nwanted;
} build;

/* `x`: the operands, where they are instructions. NULL: it makes nothing. */
static Z3_ast make(build *b, tp_question_op op, const int64_t *words, uint32_t n, const Z3_ast *x)
{
    Z3_context c = b->z->ctx;
    switch (op) {
    case TP_Q_NUMBER: return Z3_mk_int64(c, words[0], b->z->integer);
    case TP_Q_CONSTANT: return constant(b->z, (char)words[0], words[1]);
    case TP_Q_FRESH: return Z3_mk_fresh_const(c, "large", b->z->integer);
    case TP_Q_TRUE: return Z3_mk_true(c);
    case TP_Q_FALSE: return Z3_mk_false(c);
    case TP_Q_NOT: return Z3_mk_not(c, x[0]);
    case TP_Q_AND: return Z3_mk_and(c, n, x);
    case TP_Q_OR: return Z3_mk_or(c, n, x);
    case TP_Q_IMPLIES: return Z3_mk_implies(c, x[0], x[1]);
    case TP_Q_IFF: return Z3_mk_iff(c, x[0], x[1]);
    case TP_Q_ITE: return Z3_mk_ite(c, x[0], x[1], x[2]);
    case TP_Q_EQ: return Z3_mk_eq(c, x[0], x[1]);
    case TP_Q_LE: return Z3_mk_le(c, x[0], x[1]);
    case TP_Q_LT: return Z3_mk_lt(c, x[0], x[1]);
    case TP_Q_GE: return Z3_mk_ge(c, x[0], x[1]);
    case TP_Q_GT: return Z3_mk_gt(c, x[0], x[1]);
    case TP_Q_MINUS: return Z3_mk_unary_minus(c, x[0]);
    case TP_Q_ADD: return Z3_mk_add(c, n, x);
    case TP_Q_MUL: return Z3_mk_mul(c, n, x);
    case TP_Q_ASSERT: Z3_solver_assert(c, b->solver, x[0]); return NULL;
    case TP_Q_WANTED: b->wanted[b->nwanted++] = x[0]; return NULL;
    }
    return NULL;
}

/* False: no memory, or Z3 said no. */
static bool build_all(build *b, const tp_question *q)
{
    uint32_t at = 0;
    b->made = calloc(q->n + 1, sizeof(Z3_ast));
    b->wanted = calloc(q->nwanted + 1, sizeof(Z3_ast));
    Z3_ast *x = calloc(q->nwords + 1, sizeof(Z3_ast));
    for (uint32_t i = 0; i < q->n && b->made && b->wanted && x; i++) {
        tp_question_op op = (tp_question_op)q->words[at];
        uint32_t n = (uint32_t)q->words[at + 1];
        const int64_t *words = q->words + at + 2;
        bool refers = op != TP_Q_NUMBER && op != TP_Q_CONSTANT;
        for (uint32_t k = 0; refers && k < n; k++) {
            x[k] = b->made[words[k]];
            if (!x[k])
                return false;
        }
        b->made[i] = make(b, op, words, n, x);
        at += 2 + n;
    }
    return b->made && b->wanted && x && Z3_get_error_code(b->z->ctx) == Z3_OK;
}

static bool read_model(build *b, int64_t *values)
{
    Z3_context c = b->z->ctx;
    Z3_model m = Z3_solver_get_model(c, b->solver);
    for (uint32_t i = 0; m && i < b->nwanted; i++) {
        Z3_ast value = NULL;
        if (!Z3_model_eval(c, m, b->wanted[i], true, &value) || !Z3_get_numeral_int64(c, value, &values[i]))
            return false;
    }
    return m != NULL;
}

/* Steps of Z3's own count that the query took. */
static uint64_t steps_of(Z3_context c, Z3_solver solver)
{
    Z3_stats s = Z3_solver_get_statistics(c, solver);
    uint64_t steps = 0;
    Z3_stats_inc_ref(c, s);
    for (unsigned i = 0; i < Z3_stats_size(c, s); i++)
        if (Z3_stats_is_uint(c, s, i) && strcmp(Z3_stats_get_key(c, s, i), "rlimit count") == 0)
            steps = Z3_stats_get_uint_value(c, s, i);
    Z3_stats_dec_ref(c, s);
    return steps;
}

tp_reply tp_z3_answer(tp_z3 *z, const tp_question *q, int64_t *model)
{
    Z3_context c = z->ctx;
    build b = {.z = z, .solver = Z3_mk_simple_solver(c)};
    tp_reply r = {.answer = TP_SOLVER_ERROR, .reason = "Z3 could not build the formula"};
    Z3_solver_inc_ref(c, b.solver);
    Z3_params params = Z3_mk_params(c);
    Z3_params_inc_ref(c, params);
    Z3_params_set_uint(c, params, Z3_mk_string_symbol(c, "rlimit"), (unsigned)q->rlimit);
    Z3_solver_set_params(c, b.solver, params);
    Z3_params_dec_ref(c, params);
    if (build_all(&b, q)) {
        Z3_lbool said = Z3_solver_check(c, b.solver);
        r.reason[0] = '\0';
        r.work = steps_of(c, b.solver);
        r.answer = said == Z3_L_FALSE ? TP_UNSAT : said == Z3_L_TRUE ? TP_SAT : TP_UNDECIDED;
        if (r.answer == TP_UNDECIDED)
            snprintf(r.reason, sizeof r.reason, "Z3: %s (rlimit %llu)", Z3_solver_get_reason_unknown(c, b.solver),
                     (unsigned long long)q->rlimit);
        if (r.answer == TP_SAT && !read_model(&b, model))
            r.answer = TP_UNDECIDED;
    }
    if (Z3_get_error_code(c) != Z3_OK) { /* an unsat next to an error proves nothing */
        r.answer = TP_SOLVER_ERROR;
        snprintf(r.reason, sizeof r.reason, "Z3 error: %s", Z3_get_error_msg(c, Z3_get_error_code(c)));
    }
    return r; /* whoever asks another question asks it in a process of its own: nothing is released */
}
