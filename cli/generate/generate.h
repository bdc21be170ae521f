/* Texts that are made of the tables: of options, commands, rules, members of
 * specs. Copies of some stand in docs/; a test compares them. */
#ifndef TP_GENERATE_H
#define TP_GENERATE_H

#include <stdio.h>

#include "cli/cli.h"

/* All commands, in the order of their list. */
typedef struct tp_command_list {
    const tp_command *const *at;
    size_t n;
} tp_command_list;

void tp_print_man(tp_command_list commands, FILE *out); /* tileproof(1), in mdoc */
void tp_print_rules(FILE *out);                         /* docs/RULES.md */
void tp_print_schema(tp_arena *a, FILE *out);           /* JSON Schema 2020-12 of specs */
void tp_print_settings_schema(tp_arena *a, FILE *out);  /* of .tileproof.json */
/* False: no such shell. */
bool tp_print_completion(tp_str shell, tp_command_list commands, FILE *out);

#endif
