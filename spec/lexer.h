/* Tokens of the language, for spec/syntax.c and spec/statements.c. */
#ifndef TP_LEXER_H
#define TP_LEXER_H

#include "spec/syntax.h"

typedef enum tp_token_kind { T_END, T_INT, T_FLOAT, T_NAME, T_STRING, T_OP } tp_token_kind;

typedef struct tp_token {
    tp_token_kind kind;
    tp_str text;
    const tp_json *source; /* the line it stands in */
    uint32_t from, to;
} tp_token;

/* Lines of a program; columns[k] below 0: line k says nothing. */
typedef struct tp_lines {
    tp_json **at;
    const int *columns;
    uint32_t n, next; /* next: the first line that nobody has read */
} tp_lines;

typedef struct tp_parser {
    tp_ctx *c;
    const tp_json *source;
    tp_str text;
    tp_token now;
    uint32_t i;      /* byte after `now` */
    uint32_t open;   /* brackets that are open: the text goes on in the next line */
    tp_lines *lines; /* NULL: there is one line alone */
    int depth, nodes;
    bool python; /* what stands here is written in a form that the printer does not have */
} tp_parser;

tp_parser tp_parser_new(tp_ctx *c, const tp_json *string, tp_lines *lines);
/* The next token; raises TP003 where there is none. */
void tp_next(tp_parser *p);
/* TP003 from the beginning of token t to its end. */
_Noreturn void tp_fail_token(const tp_parser *p, tp_token t, const char *help, const char *message);
bool tp_at(const tp_parser *p, const char *text);
bool tp_accept(tp_parser *p, const char *text);
void tp_expect(tp_parser *p, const char *text);
/* TP003 unless nothing is left. */
void tp_expect_end(tp_parser *p);
bool tp_spells(tp_str text, const char *word);
bool tp_is_keyword(tp_str word);

/* syntax.c: an expression whose operators bind as tightly; an operand with what stands behind it. */
tp_node *tp_parse_power(tp_parser *p, int power);
tp_node *tp_parse_whole(tp_parser *p);
tp_node *tp_parse_operand(tp_parser *p);
/* What stands before and after commas outside of parentheses; one alone is itself. */
tp_node *tp_parse_tuple(tp_parser *p, tp_node *(*item)(tp_parser *p));
tp_node *tp_parse_targets(tp_parser *p);
/* a, b: jax.Array, c=1 behind `def` or `lambda`, up to the token `close`: names, and keywords for those with a
 * default. */
typedef TP_VEC(tp_node *) tp_node_vec;
void tp_parse_parameters(tp_parser *p, const char *close, tp_node_vec *into);
/* A node that begins with token `from`, and ends before what stands now. */
tp_node *tp_node_from(tp_parser *p, tp_node_kind kind, tp_token from);
void tp_node_kids(tp_parser *p, tp_node *n, uint32_t count, tp_node *const *kids);

#endif
