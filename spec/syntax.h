/* The text of expressions and statements: a subset of Python's syntax.
 * One lexer and one Pratt parser serve index maps, facts, bodies and
 * references; what a node means is decided by who reads the tree.
 */
#ifndef TP_SYNTAX_H
#define TP_SYNTAX_H

#include "spec/json.h"
#include "spec/limits.h"

/* Operators: X(enum, text, left binding power, right binding power, class)
 * binary; a right power below the left one makes it right-associative. */
#define TP_OPERATORS(X)                                                                                                \
    X(IMPLIES, "implies", 11, 10)                                                                                      \
    X(OR, "or", 30, 31)                                                                                                \
    X(AND, "and", 40, 41)                                                                                              \
    X(IS, "is", 60, 61)                                                                                                \
    X(ISNOT, "is not", 60, 61)                                                                                         \
    X(EQ, "==", 60, 61)                                                                                                \
    X(NE, "!=", 60, 61)                                                                                                \
    X(LT, "<", 60, 61)                                                                                                 \
    X(LE, "<=", 60, 61)                                                                                                \
    X(GT, ">", 60, 61)                                                                                                 \
    X(GE, ">=", 60, 61)                                                                                                \
    X(BITOR, "|", 70, 71)                                                                                              \
    X(BITXOR, "^", 80, 81)                                                                                             \
    X(BITAND, "&", 90, 91)                                                                                             \
    X(SHL, "<<", 100, 101)                                                                                             \
    X(SHR, ">>", 100, 101)                                                                                             \
    X(ADD, "+", 110, 111)                                                                                              \
    X(SUB, "-", 110, 111)                                                                                              \
    X(MUL, "*", 120, 121)                                                                                              \
    X(MATMUL, "@", 120, 121)                                                                                           \
    X(TRUEDIV, "/", 120, 121)                                                                                          \
    X(FLOORDIV, "//", 120, 121)                                                                                        \
    X(MOD, "%", 120, 121)                                                                                              \
    X(POW, "**", 141, 140)
enum { TP_POWER_TERNARY = 20, TP_POWER_NOT = 50, TP_POWER_UNARY = 130, TP_POWER_POSTFIX = 150 };

typedef enum tp_operator {
#define X(id, text, left, right) TP_O_##id,
    TP_OPERATORS(X)
#undef X
        TP_O_NEG, /* unary - */
    TP_O_INVERT,  /* unary ~ */
    TP_O_NOT,
    TP_OPERATOR_COUNT
} tp_operator;

typedef struct tp_operator_row {
    const char *text;
    int left, right; /* binding powers */
} tp_operator_row;
extern const tp_operator_row TP_OPERATOR_ROWS[TP_OPERATOR_COUNT];
const char *tp_operator_text(tp_operator o);
bool tp_operator_compares(tp_operator o);

typedef enum tp_node_kind {
    TP_N_INT,
    TP_N_FLOAT,
    TP_N_STRING,        /* text without quotes in `text` */
    TP_N_NAME,          /* `text` */
    TP_N_UNARY,         /* op, kids[0] */
    TP_N_BINARY,        /* op, kids[0..1] */
    TP_N_TERNARY,       /* kids: condition, then, else */
    TP_N_CALL,          /* `text` is the function, kids are arguments */
    TP_N_METHOD,        /* kids[0].text(kids[1..]) */
    TP_N_ATTRIBUTE,     /* kids[0].text */
    TP_N_INDEX,         /* kids[0] [ kids[1..] ] */
    TP_N_SEQUENCE,      /* tuple or list */
    TP_N_KEYWORD,       /* text = kids[0], in calls */
    TP_N_ELLIPSIS,      /* ... */
    TP_N_COLON,         /* : */
    TP_N_SLICE,         /* kids[0] : kids[1] : kids[2] */
    TP_N_ABSENT,        /* a part of a slice that is not written */
    TP_N_LAMBDA,        /* parameters, as those of DEF, then the body */
    TP_N_APPLY,         /* kids[0] ( kids[1..] ), of a function that is no name */
    TP_N_COMPREHENSION, /* kids: element, target, what it runs over, conditions */
} tp_node_kind;

typedef struct tp_node tp_node;
struct tp_node { /* 48 bytes: a long body has a million of them, and most of its reading is touching fresh memory */
    tp_node_kind kind : 8;
    tp_operator op : 8;
    bool computed : 1;     /* STRING: its text is made when it is looked at, or has escapes; COMPREHENSION: so is it;
                            * SEQUENCE: it is a list */
    bool prefixed : 1;     /* CALL, NAME: it stands behind the name of its module; COMPREHENSION: of joined lists */
    bool of_pipeline : 1;  /* CALL: spec/pipeline.c made it. ds(start, size, block): what there is of a block;
                              scratch(shape, dtype, n): a window of so many buffers */
    uint32_t nkids;        /* 0 for numbers */
    const tp_json *source; /* the JSON string it stands in */
    uint32_t from, to;     /* bytes of the decoded string */
    tp_str text;
    union {
        int64_t integer;
        double real;
        tp_node **kids;
    };
};

typedef enum tp_stmt_kind {
    TP_S_ASSIGN, /* name = value (with an optional type note) */
    TP_S_STORE,  /* target[...] = value, or += and friends when `augmented` */
    TP_S_EXPR,   /* a call for its effect */
    TP_S_IF,
    TP_S_FOR,
    TP_S_WHILE,
    TP_S_DEF,    /* value: a call of names, and keywords for those with a default, which are the parameters */
    TP_S_RETURN, /* value: a SEQUENCE for several, NULL for none */
    TP_S_UNPACK, /* target, a SEQUENCE of names, or of such = value */
    TP_S_PASS,
    TP_S_BREAK,
    TP_S_CONTINUE,
    TP_S_PIPELINE, /* value: the call; body: the loop that it stands for */
    TP_S_WITH,     /* target: a SEQUENCE of names; value: a SEQUENCE of calls scratch(shape, dtype), one for each */
} tp_stmt_kind;

#define TP_ASSERTION "an assertion" /* the text of one that has none */
typedef struct tp_syntax tp_syntax; /* one statement */
typedef TP_VEC(tp_syntax *) tp_block;
struct tp_syntax {
    tp_stmt_kind kind;
    const tp_json *line; /* JSON string of its first line */
    uint32_t number;     /* from 1: line within the program; 0: a word of the spec stands for it (lower_written.c) */
    uint32_t last;       /* the last of its own lines, without those of its body */
    bool python;         /* it is written in a form that the printer does not have */
    tp_node *target;     /* ASSIGN: name; STORE: index; FOR: loop variable, a SEQUENCE for several */
    tp_node *note;       /* ASSIGN: type note or NULL */
    tp_node *word;       /* PASS, BREAK, CONTINUE: itself, for messages; NULL where nothing is written */
    bool augmented;
    bool asserted;  /* EXPR: a check that is written as an assertion */
    tp_operator op; /* of `augmented` */
    tp_node *value; /* ASSIGN, STORE, EXPR, RETURN, UNPACK; IF, WHILE: condition; FOR: range(...) or a SEQUENCE */
    tp_block body, orelse;
    const struct tp_pipeline *pipeline; /* PIPELINE: what it runs (spec/pipeline.h) */
};

/* One expression in a JSON string. Raises TP003. */
tp_node *tp_parse_expr(tp_ctx *c, const tp_json *string);
/* A number of JSON as the node of a literal; a negative one is a negation. */
tp_node *tp_number_node(tp_ctx *c, const tp_json *number);
/* "forall i < e, j < f: fact"; without "forall" n is 0. */
typedef struct tp_forall {
    uint32_t n;
    tp_node *names[TP_MAX_BOUND], *extents[TP_MAX_BOUND], *fact;
} tp_forall;
tp_forall tp_parse_forall(tp_ctx *c, const tp_json *string);
/* A program: an array of lines, indented as in Python. */
tp_block tp_parse_program(tp_ctx *c, const tp_json *lines);

/* The tokens of a string, in order: kind ("int", "float", "name", "string", "op") and text. Raises TP003. */
typedef void (*tp_token_visitor)(void *ctx, const char *kind, tp_str text);
void tp_each_token(tp_ctx *c, const tp_json *string, tp_token_visitor visit, void *ctx);

tp_loc tp_node_loc(const tp_ctx *c, const tp_node *n);
/* Is it made of positions: of an iota, or of one of these names (`which`: only those marked, NULL: any), subscripts
 * aside? Whether a `where` is made of its condition, too, is for the caller to say; else nothing with a `where` is. */
bool tp_node_is_position(const tp_node *n, const tp_str *names, const bool *which, uint32_t nnames, bool conditions);
/* How tightly a node binds; and how tightly the i-th operand of an operator, or kid of a node, has to: what binds less
 * stands in parentheses there. */
int tp_node_power(const tp_node *n);
int tp_operand_power(tp_operator o, uint32_t i);
int tp_kid_power(const tp_node *n, uint32_t i);
/* Canonical text. Parsing it again gives the same tree. */
void tp_print_node(tp_buf *b, const tp_node *n);
/* Canonical lines, `indent` levels of four spaces deep. */
void tp_print_stmt_head(tp_buf *b, const tp_syntax *s);

#endif
