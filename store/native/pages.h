/* Reading mapped pages without being ended by one that the disk cannot deliver. */
#ifndef TRIMQ_PAGES_H
#define TRIMQ_PAGES_H

#include "extents.h"
#include <setjmp.h>
#include <signal.h>

/* The capsule by which _pages.c, whose handler of SIGBUS it is, gives its guard to others. */
#define GUARD "trimq.store.native._pages._guard"

/* `careful`: where this thread goes on after a bus error. `set`: whether there is a handler. */
typedef struct {
    sigjmp_buf **(*careful)(void);
    volatile sig_atomic_t set;
} Guard;

/* What `work` returns; 0 when a page could not be read. It must not take anything that it has to give back. */
static inline int carefully(const Guard *guard, int (*work)(void *), void *what)
{
    sigjmp_buf out;
    volatile int result = 0;
    sigjmp_buf **careful = guard->careful();
    *careful = &out;
    if (sigsetjmp(out, 0) == 0)
        result = work(what);
    *careful = NULL;
    return result;
}

#endif
