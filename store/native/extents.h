/* Where a record, or several that touch, lie in the log; those of a pull are packed one after another. */
#ifndef TRIMQ_EXTENTS_H
#define TRIMQ_EXTENTS_H

#include "bytes.h"

typedef struct {
    int64_t offset, size;
} Extent;

#endif
