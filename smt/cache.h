/* What was decided before, for provers to come.
 *
 * An entry is found by the SHA-256 of its obligation's canonical text and believed only
 * after a check: a proof when the obligation beside it is the one that is
 * asked for and certificate.c accepts it, a counterexample when it is one. A
 * file that someone else wrote can make us slower, and cannot make us say
 * "proven" of anything that is not.
 *
 * Beside them stand marks of the callers, which nobody can check: for what does
 * no harm when it is wrong; and notes of theirs, which they judge themselves.
 *
 * What a short proof decides is not remembered: it is found again in the time that its entry takes to be read. A file
 * past its limit loses its oldest entries.
 *
 * What a run finds is what was there when it began: the order of the threads
 * decides nothing.
 */
#ifndef TP_CACHE_H
#define TP_CACHE_H

#include "smt/prover.h"

typedef struct tp_cache tp_cache;

/* Entries of a file's text, which must live as long as the cache; anything
 * that is no such file is an empty cache. Of a text longer than most_bytes the
 * latter half of that is read. Lives in the arena; its memory is
 * released by tp_cache_free(). Safe to use from several threads. */
tp_cache *tp_cache_new(tp_arena *a, tp_str text, size_t most_bytes);
/* Does a file begin as ours do, of whatever version? */
bool tp_is_cache(tp_str text);
/* The file with what was learned since; empty when nothing was, and nothing is too much. */
tp_str tp_cache_text(tp_cache *c, tp_arena *a);
void tp_cache_free(tp_cache *c);
typedef struct tp_cache_counts {
    uint32_t entries, hits, learned, refused;
} tp_cache_counts;
tp_cache_counts tp_cache_count(const tp_cache *c);

/* `key`: hexadecimal digits. Was it marked before this run? */
bool tp_cache_marked(tp_cache *c, tp_str key);
void tp_cache_mark(tp_cache *c, tp_str key);

/* What a caller keeps under such a key, which the cache does not judge: a line of text; empty: there is nothing. The
 * caller says what became of it, for the counts. */
tp_str tp_cache_note(const tp_cache *c, tp_str key);
void tp_cache_count_note(tp_cache *c, bool used);
void tp_cache_add_note(tp_cache *c, tp_str key, tp_str text);

/* For tp_prove(). The digest of the canonical text; false: not for the cache. */
bool tp_cache_key(tp_prover *v, const tp_obligation *o, tp_buf *key);
bool tp_cache_find(tp_prover *v, const tp_obligation *o, tp_str key, tp_decision *d);
/* Is the decision one that a check can confirm later? */
bool tp_cache_learns(const tp_decision *d);
void tp_cache_learn(tp_prover *v, const tp_obligation *o, tp_str key, const tp_decision *d);

#endif
