/* Contents of prefetched tables: checking them, and finding some that fit. */
#ifndef TP_TABLE_H
#define TP_TABLE_H

#include "spec/kernel.h"

enum { TP_TABLE_MAX_ENTRIES = 1 << 22 };

/* An entry that must have this value. */
typedef struct tp_table_entry {
    uint32_t table;
    int64_t index[TP_TABLE_RANK], value;
} tp_table_entry;

/* May its contents be chosen? Those that the spec fixes and those that "prepare" computes may not: all that draws,
 * pins, repairs or fills entries asks this. */
static inline bool tp_table_is_open(const tp_table *t)
{
    return !t->contents && !t->prepared;
}

/* Zeroed contents for every table, bound in env, which has the sizes. False
 * with *why when a shape has no value or is too large. */
bool tp_tables_new(tp_arena *a, const tp_kernel *k, int64_t *env, tp_str *why);

/* Entries of all tables that env binds. */
int64_t tp_tables_entries(const tp_kernel *k, const int64_t *env);

/* Do the bound contents keep "values", "sorted", "extent" and the contracts, and are the prepared ones what "prepare"
 * computes from the others? False with *why, which names the entry. */
bool tp_tables_hold(tp_arena *a, const tp_kernel *k, int64_t *env, tp_str *why);

/* Do all pairs, of *n times *n, keep the contract x, which says that entries differ, or ascend? False: x says something
 * else, or does not hold, or cannot be told without looking at each pair. Sets the bound symbols. */
bool tp_pairs_hold(tp_arena *a, const tp_kernel *k, const tp_contract *x, int64_t *env, int64_t *n);

/* Are the contents of prepared tables what "prepare" computes from the others? True where some are not bound. */
bool tp_tables_are_prepared(tp_arena *a, const tp_kernel *k, int64_t *env);

/* An instance of a contract. */
typedef struct tp_contract_at {
    const tp_contract *contract; /* NULL: none */
    int64_t at[TP_TABLE_RANK];   /* values of its bound symbols */
} tp_contract_at;

/* Contents with these entries that keep every contract, bound in env. False
 * when none was found: a search, so there may be some all the same; *broken
 * (may be NULL) is then an instance that could not be kept. The same seed
 * gives the same contents: 0 the least that will do, others what is spread over
 * all that the entries may hold (the ends, ascending ones, by chance). */
bool tp_tables_find(tp_arena *a, const tp_kernel *k, int64_t *env, const tp_table_entry *fixed, uint32_t nfixed,
                    uint64_t seed, tp_contract_at *broken);

/* The same, looking at about *work instances of contracts, less what was looked
 * at when it returns; TP_TABLES_WORK is what tp_tables_find() looks at. */
enum { TP_TABLES_WORK = 10000000 };
bool tp_tables_search(tp_arena *a, const tp_kernel *k, int64_t *env, const tp_table_entry *fixed, uint32_t nfixed,
                      uint64_t seed, int64_t *work, tp_contract_at *broken);

/* The same by repairs that solve what a broken instance asks of one or two
 * entries: for contracts of several tables that tie each other, for which the
 * other search gets nowhere, and dearer. An odd seed begins with sorted tables
 * that are spread over their bounds. */
bool tp_tables_search_carefully(tp_arena *a, const tp_kernel *k, int64_t *env, const tp_table_entry *fixed,
                                uint32_t nfixed, uint64_t seed, int64_t *work);

/* The same table by table: entries that their contracts ask for, or regular ones (the least, the greatest, their
 * index, spread evenly or by chance, a multiple or a part of their index by a constant of the contracts); each contract
 * is looked at once all its tables have contents. Seed 0 takes these forms as they stand, others in another order. */
bool tp_tables_search_regular(tp_arena *a, const tp_kernel *k, int64_t *env, const tp_table_entry *fixed,
                              uint32_t nfixed, uint64_t seed, int64_t *work);

/* Do the contracts hold of what "prepare" makes of some contents of its inputs, drawn by the seed? False with *why; env
 * binds them then. */
bool tp_prepare_keeps(tp_arena *a, const tp_kernel *k, int64_t *env, uint64_t seed, tp_str *why);

/* What an entry may hold, before contracts: "values", else what the dtype holds. What is declared beyond the dtype is
 * one beyond it. */
void tp_table_bounds(const tp_kernel *k, const tp_table *t, const int64_t *env, int64_t *lo, int64_t *hi);

/* The bound contents as a JSON object of nested lists; empty when there are
 * many entries. */
tp_str tp_tables_text(tp_arena *a, const tp_kernel *k, const int64_t *env);

#endif
