/* What the files of sweep/ share. */
#ifndef TP_SWEEP_INTERNAL_H
#define TP_SWEEP_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/budget.h"
#include "sweep/sweep.h"

typedef struct sweep_run {
    tp_sweep *s;
    const tp_sweep_options *o;
    tp_check_settings hardware, others; /* lint's, with a part of the rules each */
    tp_check_settings box;              /* others, by proofs of our own only */
    tp_sweep_opinion *others_say;       /* per cell with the first target */
    atomic_uint next;                   /* cell */
    atomic_bool failed;                 /* memory ran out */
    atomic_uint boxes, alone;
    atomic_bool internal_error;
    struct sweep_queue *queue;
} sweep_run;

typedef struct sweep_worker {
    sweep_run *run;
    uint32_t index;
    tp_arena *arena; /* what outlives a piece of work */
    tp_arena *piece; /* one piece of work, on account of: */
    tp_budget budget;
    tp_solver *solver;
    pthread_t thread;
} sweep_worker;

/* What the report says, with texts in `keep`. */
tp_sweep_opinion sweep_opinion_of(tp_arena *keep, const tp_spec_report *r);
/* Check a text under the settings, in w->piece. */
void sweep_check(sweep_worker *w, tp_job *j, tp_str text, const tp_check_settings *s);
/* The cell's own spec, on its target, loaded in w->piece. */
void sweep_load_cell(sweep_worker *w, uint32_t cell, tp_job *j);
/* Check it. */
void sweep_check_cell(sweep_worker *w, uint32_t cell, const tp_check_settings *settings, tp_job *j);
/* A piece of work, fn(ctx), in memory of its own (w->piece), with what `s` allows a spec. TP_E_BUDGET: that was not
 * enough; TP_E_MEMORY: the system has no more. */
tp_status sweep_piece(sweep_worker *w, const tp_check_settings *s, void (*fn)(void *), void *ctx);
void sweep_add_rule(tp_sweep_opinion *o, const char *code);
/* Unknown, for want of budget (TP905). */
tp_sweep_opinion sweep_undecided(void);

/* boxes.c: the cells that hardware allows for some target, a list for each dtype combination. */
typedef struct sweep_queue sweep_queue;
/* Queue all of them. Each worker judges what is queued, and queues the parts of a box whose cells differ, until nothing
 * is left. Free the queue. */
void sweep_boxes_begin(sweep_run *run);
void sweep_boxes_work(sweep_worker *w);
void sweep_boxes_end(sweep_run *run);

/* table.c */
void sweep_write_table(const tp_sweep *s, FILE *out);
tp_str sweep_model_text(tp_arena *a, const tp_sweep *s); /* "M = 4096, N = 4096" */
tp_str sweep_lists_text(tp_arena *a, const tp_sweep *s); /* "bm, bn" */
/* page.c */
void sweep_write_page(const tp_sweep *s, FILE *out);
/* formats.c: the sizes of the model, as members of an object */
void sweep_json_model(tp_buf *b, const tp_sweep *s);

#endif
