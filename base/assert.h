/* Invariants, checked where TP_ASSERTS is defined (debug, asan, tsan, fuzzer):
 * what a header states and no input may break. A failure is a defect of this
 * program and aborts it; bad input never gets here. tests/unit/test_asserts.c
 * plants a violation of each kind.
 */
#ifndef TP_ASSERT_H
#define TP_ASSERT_H

#include <stdbool.h>

#ifdef TP_ASSERTS
/* Prints the place and aborts. */
_Noreturn void tp_assert_failed(const char *file, int line, const char *what);
#define tp_assert(condition) ((condition) ? (void)0 : tp_assert_failed(__FILE__, __LINE__, #condition))
#else
#define tp_assert(condition) ((void)(0 && (condition)))
#endif
/* Are they checked? For invariants that are dear to compute. */
static inline bool tp_asserts(void)
{
#ifdef TP_ASSERTS
    return true;
#else
    return false;
#endif
}

/* Under the address sanitizer: nobody may look at these bytes, as the room that a vector has beyond its length; and
 * again. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define TP_BOUNDS_CHECKED 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define TP_BOUNDS_CHECKED 1
#endif
#ifdef TP_BOUNDS_CHECKED
#include <sanitizer/asan_interface.h>
#define TP_FORBID(p, n) ASAN_POISON_MEMORY_REGION((p), (n))
#define TP_ALLOW(p, n) ASAN_UNPOISON_MEMORY_REGION((p), (n))
#else
#define TP_FORBID(p, n) ((void)0)
#define TP_ALLOW(p, n) ((void)0)
#endif

#endif
