/* What test_faults.c and the preloaded shim/faults.c share: a page of counters,
 * mapped from the file that FAULTS names. */
#ifndef TP_TEST_FAULTS_H
#define TP_TEST_FAULTS_H

#include <stdatomic.h>

/* X(kind, name): what can be made to fail */
#define FAULT_KINDS(X)                                                                                                 \
    X(MEMORY, "memory of the program")                                                                                 \
    X(JSON, "memory of json-c")                                                                                        \
    X(LIBC, "memory of the C library")                                                                                 \
    X(OTHER, "memory of another library")                                                                              \
    X(SOLVER, "memory of Z3")                                                                                          \
    X(OPEN, "open")                                                                                                    \
    X(READ, "read")                                                                                                    \
    X(WRITE, "write")                                                                                                  \
    X(RENAME, "rename")                                                                                                \
    X(FORK, "fork")                                                                                                    \
    X(PIPE, "pipe")                                                                                                    \
    X(THREAD, "thread")                                                                                                \
    X(MAP, "map of a file")                                                                                            \
    X(SYNC, "fsync")                                                                                                   \
    X(MODE, "fchmod")                                                                                                  \
    X(RANDOM, "getentropy")

#define FAULT_ENUM(kind, name) FAULT_##kind,
enum { FAULT_KINDS(FAULT_ENUM) NFAULTS };

typedef struct fault_page {
    atomic_long counts[NFAULTS];
    int kind;
    long at;     /* the at-th fails; 0: none */
    int lasting; /* and all after it */
    atomic_long fired;
    atomic_long took;   /* most bytes that a child took before it had no more */
    atomic_ulong where; /* the address that asked first, from the start of its object */
} fault_page;

#endif
