/* Shared by the files of reference/. */
#ifndef TP_REFERENCE_INTERNAL_H
#define TP_REFERENCE_INTERNAL_H

#include "reference/reference.h"

typedef struct array {
    uint32_t rank;
    int64_t dims[TP_MAX_RANK];
    size_t n;
    double *at;        /* NULL: not computed yet, or not looked at any more */
    tp_dtype dtype;    /* what the elements are; they lie as doubles */
    uint32_t pending;  /* 1 + its number among what is computed strip by strip; 0: it is not waiting */
    tp_planes meaning; /* of the domain */
    bool alike;        /* it has planes, and the first one has the very bits of the numbers */
    bool same;         /* with a domain: all elements are one number, and mean one */
    void *room[TP_MAX_PLANES];
} array;

/* Memory of a value that nobody looks at any more. */
typedef struct spare_room {
    void *at;
    size_t n;
} spare_room;

typedef struct evaluator {
    tp_arena *arena;
    tp_reference_request *r;
    const tp_kernel *k;
    const tp_program *p;
    const int64_t *env;
    tp_domain *domain; /* NULL: none */
    array *values;
    uint32_t *last;  /* per value: number of the last of the program's own steps that looks at it; none: UINT32_MAX */
    uint32_t *looks; /* per value: how many statements look at it */
    const tp_region **made; /* per value: where it is computed; NULL: given, or a variable */
    tp_vid *dying;          /* values by `last` */
    uint32_t ndying, ndead; /* so many of them have been given back */
    TP_VEC(spare_room) spare;
    struct chain *chain; /* of strips.c */
    int64_t work;        /* units so far */
    bool undecided;
    tp_str why;
} evaluator;

/* arrays.c */
_Noreturn void tp_give_up(evaluator *e, tp_str why);
size_t tp_ravel(const array *a, const int64_t *at);

/* eval.c */
/* One instruction: its numbers, and what they mean. */
void tp_reference_compute(evaluator *e, const tp_inst *i);
/* The numbers alone, where there is room for them. */
void tp_reference_data(evaluator *e, const tp_inst *i);
/* n elements of what is computed element by element (elementwise, select, convert); a step of 0: the operand is one
 * number. */
void tp_reference_row(evaluator *e, const tp_inst *i, size_t n, const double *const *at, const size_t *step,
                      double *out);
/* A result that is a view of the first argument: element (k0, k1, …) lies at start + sum of k from[k]. False: it is
 * none. */
bool tp_reference_view(evaluator *e, const tp_inst *i, size_t *start, ptrdiff_t *from);
/* Units: elements that are read and written, more of them under a domain; of a dot, by its own file. */
void tp_reference_pay(evaluator *e, const tp_inst *i);

/* strips.c: large arrays that follow from each other element by element, a strip of all of them at a time. How many
 * statements from number s on have been executed; 0: it is no such statement. */
uint32_t tp_reference_strips(evaluator *e, const tp_region *r, uint32_t s);

/* arrays.c: n words, not cleared; memory that was given back, where there is some. */
void *tp_take_room(evaluator *e, size_t n);
void tp_give_room(evaluator *e, void *at, size_t n);
/* Elements of `to`, as a has them: in order of the dimensions named. */
void tp_pack(const array *a, const void *from, const uint32_t *dims, uint32_t ndims, void *to);

/* lifetimes.c: which step of the program looks last at a value */
void tp_find_last_uses(evaluator *e);
/* Step number s is done, and so are those before it: give back what is not looked at after it. */
void tp_release_after(evaluator *e, uint32_t s);

/* fold.c */
void tp_reference_reduce(evaluator *e, const tp_inst *i);
/* Each element: the one before it on the axis, folded with its own operand. */
void tp_reference_scan(evaluator *e, const tp_inst *i);

/* dot.c: numbers and planes */
void tp_reference_dot(evaluator *e, const tp_inst *i);
void tp_strides(const array *a, size_t *stride);
/* Offsets of all positions along the named dimensions, in order; count + 1 words of tp_take_room(). */
size_t *tp_offsets(evaluator *e, const array *a, const uint32_t *dims, uint32_t ndims, size_t *count);

/* planes.c: what values mean (domains/); with a domain only */
void tp_reference_make_room(evaluator *e, array *a);
void tp_reference_planes(evaluator *e, const tp_inst *i);
tp_lanes tp_lanes_of_array(const array *a);
/* The same with room for planes; after the domain has been asked. */
tp_lanes tp_lanes_of_result(evaluator *e, array *out);
/* A domain whose first plane is a value over the reals computes with doubles, as a reference does: where the arguments'
 * planes and numbers are the same, what it finds is the result's numbers, too. */
bool tp_means_numbers(const evaluator *e, const array *a);
/* What is computed element by element, in that way; false: it is not done. */
bool tp_reference_by_domain(evaluator *e, const tp_inst *i);
void tp_note_reference(array *out, const tp_lanes *r, bool any);
void tp_reference_copy(evaluator *e, tp_vid to, tp_vid from);
/* The same of a part of a variable, which put(e, i, to, from) writes; what the starts are is decided. */
void tp_reference_put_planes(evaluator *e, const tp_inst *i,
                             void (*put)(evaluator *e, const tp_inst *i, void *to, const void *from));
/* The program decides by v. */
void tp_reference_decide(evaluator *e, tp_vid v);
tp_planes tp_reference_meaning(evaluator *e, array *v);

/* builtins.c: the kernel's builtin as a program. */
const tp_program *tp_builtin_program(evaluator *e);

#endif
