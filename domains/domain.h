/* Scalar domains: what an element means, beside the number that was computed.
 *
 * The machine and the evaluator of references compute numbers; a domain rides
 * along in planes, 8 bytes per element and plane, and says for every operation
 * what its result means. A plane moves wherever its elements move. Domains:
 *
 *   rounding  the value over the reals as a double, with a bound on its error
 *   field     a residue modulo two primes; exp is a homomorphism between them
 *   ties      the same, and unknown where it rests on numbers that tie
 *   decisions the rounding domain, with a log of what floats decide
 *
 * An array without planes means exactly its data.
 */
#ifndef TP_DOMAIN_H
#define TP_DOMAIN_H

#include "base/arena.h"
#include "base/assert.h"
#include "spec/constants.h"
#include "spec/program.h"

enum { TP_MAX_PLANES = 2 };

/* Elements that domains look at together. */
enum { TP_STRIP = 256 };

/* Degrees of a rational function of the inputs, the largest of an array. */
typedef struct tp_degree {
    double numerator, denominator;
} tp_degree;

/* Planes of an array, 8 bytes per element each; the first is NULL when there are none. */
typedef struct tp_planes {
    void *plane[TP_MAX_PLANES];
    tp_degree degree;
} tp_planes;

/* An array as a domain sees it. */
typedef struct tp_lanes {
    tp_dtype dtype;  /* what the elements are */
    tp_dtype stored; /* how they lie in data: references hold everything as float64 */
    size_t n;
    const void *data;
    void *plane[TP_MAX_PLANES];
    tp_degree degree;
} tp_lanes;

/* Elements of a reduction: members of group o are base[o] + offset[t]. */
typedef struct tp_groups {
    size_t nout, nin;
    const size_t *base, *offset;
} tp_groups;

/* r[batch][m][n] = sum over k of a[batch][m][k] * b[batch][k][n]; the operands
 * and their planes packed in that order, the data as double. */
typedef struct tp_dot_shape {
    size_t batch, m, n, k;
} tp_dot_shape;

typedef struct tp_domain tp_domain;
struct tp_domain {
    const char *name;
    uint32_t nplanes;
    bool reals;   /* plane 0 holds values over the reals, as double; of dot by tp_multiply_f64() */
    bool float64; /* the kernel computes with it: constants are the doubles that are written */
    bool tells;   /* it keeps a log of all lanes, of those that are undefined, too */
    /* Plane elements of data that means itself. */
    void (*exact)(const tp_domain *d, const tp_lanes *x, void *const *plane);
    /* What a result means. `out` has data, and room in its planes. False: it
     * means exactly its data, the planes are not written. Scalars among the
     * arguments have n = 1. */
    bool (*elementwise)(tp_domain *d, tp_prim p, int64_t integer, tp_lanes *out, const tp_lanes *const *args,
                        uint32_t nargs);
    bool (*select)(tp_domain *d, tp_lanes *out, const tp_lanes *cond, const tp_lanes *a, const tp_lanes *b);
    bool (*cast)(tp_domain *d, tp_lanes *out, const tp_lanes *a);
    bool (*literal)(tp_domain *d, tp_lanes *out, double value);
    bool (*bitcast)(tp_domain *d, tp_lanes *out, const tp_lanes *a);
    bool (*reduce)(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, const tp_groups *g);
    /* Running sum, product, maximum or minimum (p: SUM, PROD, MAX, MIN) of n
     * elements from `start`, `step` apart. */
    bool (*scan)(tp_domain *d, tp_prim p, tp_lanes *out, const tp_lanes *a, size_t start, ptrdiff_t step, size_t n);
    bool (*dot)(tp_domain *d, tp_dot_shape s, tp_lanes *out, const tp_lanes *a, const tp_lanes *b);
    /* The body decides by data: an index, a bound, a branch. False: over the
     * reals it might decide otherwise. */
    bool (*certain)(const tp_domain *d, const tp_lanes *x);
};

/* The operations of a domain whose file names its functions as the members above. */
#define TP_DOMAIN_OPERATIONS                                                                                           \
    .exact = exact, .elementwise = elementwise, .select = select_arm, .cast = cast, .literal = literal,                \
    .bitcast = bitcast, .reduce = reduce, .scan = scan, .dot = dot, .certain = certain

/* Are the operands those of a product of this shape, the groups places of the array? For tp_assert(). */
bool tp_dot_holds(tp_dot_shape s, const tp_lanes *out, const tp_lanes *a, const tp_lanes *b);
bool tp_groups_hold(const tp_groups *g, const tp_lanes *out, const tp_lanes *a);
/* What an instruction means that computes element by element. */
bool tp_domain_compute(tp_domain *d, const tp_inst *i, tp_lanes *out, const tp_lanes *const *args);
/* How many of the leading arguments of an instruction that moves elements are
 * the arrays that it moves; the others say where to. */
uint32_t tp_moved_arguments(const tp_inst *i);

static inline double tp_lane(const tp_lanes *x, size_t i)
{
    return tp_get_f64(x->stored, x->data, x->n == 1 ? 0 : i);
}

/* How many of n elements the strip that begins at `from` has. */
static inline size_t tp_strip_at(size_t n, size_t from)
{
    tp_assert(from <= n);
    return n - from < TP_STRIP ? n - from : TP_STRIP;
}

/* Elements [from, from + n) of the data as double: room filled with them, or
 * where they lie as such; of a scalar n times the same. */
const double *tp_lanes_part(const tp_lanes *x, size_t from, size_t n, double *room);

static inline tp_degree tp_degree_larger(tp_degree a, tp_degree b)
{
    return (tp_degree){a.numerator > b.numerator ? a.numerator : b.numerator,
                       a.denominator > b.denominator ? a.denominator : b.denominator};
}

/* ---- rounding ---- */

/* Planes: the value over the reals, rounded to double (every cast between
 * float types is the identity, every constant its decimal value), and a bound
 * on its distance from the true value; a bound of infinity says that nothing
 * is known. For bools and integers a bound over 0 says that a decision before
 * them was too close to call. */
tp_domain *tp_rounding_new(tp_arena *a);

/* ---- decisions ---- */

/* Does the result of p, of floats, jump: a comparison, a sign, a floor, the place of a maximum? A cast to an
 * integer or bool does, too; by its dtypes, so not here. */
bool tp_decides(tp_prim p);
/* What floats decided, in the order of execution: the first `room` results,
 * each with a number that results of the same instruction share. */
typedef struct tp_decision_log {
    double *result;
    uint32_t *kind;
    size_t room, n;
    bool integers; /* what these decided, too */
} tp_decision_log;
/* The rounding domain; results of decisions over the reals are added to *log. */
tp_domain *tp_decisions_new(tp_arena *a, tp_decision_log *log);

/* ---- field ---- */

/* Planes: one 64-bit word, residue modulo q in the upper half and modulo p in
 * the lower one; TP_FIELD_UNKNOWN for what the domain does not model. */
#define TP_FIELD_UNKNOWN UINT64_MAX
enum { TP_FIELD_P = 1073742623, TP_FIELD_Q = 536871311 }; /* p = 2 q + 1, both prime */
enum { TP_FIELD_FAR = 1000 };

typedef struct tp_field_options {
    uint64_t seed;   /* of the base of exp and of tags; the same for kernel and reference */
    uint64_t oracle; /* of the maxima */
    bool ordered;    /* maxima by the order of the data, not by an oracle */
    bool polynomial; /* nothing takes exponents: residues modulo p only; exp is unknown then */
    double far;      /* exp of minus this and less counts as 0, for finite masks; 0: TP_FIELD_FAR */
} tp_field_options;
/* With the tables of `like`, a domain of that seed and with as much of exp, which stays as long; NULL: its own. */
tp_domain *tp_field_like(tp_arena *a, const tp_domain *like, tp_field_options o);
static inline tp_domain *tp_field_new(tp_arena *a, tp_field_options o)
{
    return tp_field_like(a, NULL, o);
}
/* What happened on the way. */
typedef struct tp_field_log {
    bool oracle;             /* a maximum was answered by the oracle */
    bool tags;               /* a function was taken as uninterpreted */
    bool tied;               /* a maximum followed the order of numbers, two of which tie */
    bool approximate;        /* a constant was cut to 24 bits */
    bool overflow;           /* a computed number is infinite, of operands that are not: what it decides is not so */
    const char *unsupported; /* first primitive that the domain does not model, or NULL */
} tp_field_log;
const tp_field_log *tp_field_log_of(const tp_domain *d);
/* Random residue of element i of an input array. */
uint64_t tp_field_word(const tp_domain *d, uint64_t stream, uint64_t i);
/* Those of elements first, first + step, …: n of them. */
void tp_field_words(const tp_domain *d, uint64_t stream, uint64_t first, uint64_t step, size_t n, uint64_t *words);
/* Those of all n elements. */
static inline void tp_field_fill(const tp_domain *d, uint64_t stream, size_t n, void *plane)
{
    tp_field_words(d, stream, 0, 1, n, plane);
}

/* ---- ties ---- */

/* The field domain, with TP_FIELD_UNKNOWN for what rests on a decision between
 * numbers that tie while their residues differ: there another order of the same
 * numbers has another residue. */
tp_domain *tp_ties_new(tp_arena *a, tp_domain *field);
/* Does p decide such a tie in lane i of its arguments (b may be NULL)? */
bool tp_decides_a_tie(tp_prim p, const tp_lanes *a, const tp_lanes *b, size_t i);
/* False: p never does. */
bool tp_may_tie(tp_prim p);

#endif
