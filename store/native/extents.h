/* Where records lie in the log, how much one pull may get of them, and whether it is full. */
#ifndef TRIMQ_EXTENTS_H
#define TRIMQ_EXTENTS_H

#include "bytes.h"

/* An entry of a plain queue: offset, size, tags code. */
#define ENTRY_SIZE 20

/* A record, or several that touch; those of a pull are packed one after another. */
typedef struct {
    int64_t offset, size;
} Extent;

/* How much one pull may return, and how long the log's files are; `Limits` of _extents.c. */
typedef struct {
    PyObject_HEAD
    long long file_size, memory, memory_bytes, memory_count, disk_bytes, disk_count;
} Limits;

/* A pull: what it may get, and where the commit log begins and ends. */
typedef struct {
    const Limits *limits;
    long long low, written, max_messages, max_bytes;
} Pull;

/* What a pull gets. */
typedef struct {
    Extent *extents;
    Py_ssize_t count;
    long long messages, bytes, last;
} Taken;

/* Read a pull's four numbers; 0 with an exception set. */
static inline int read_pull(Pull *pull, PyObject *const *args)
{
    long long *const numbers[] = {&pull->low, &pull->written, &pull->max_messages, &pull->max_bytes};
    for (int index = 0; index < 4; index++) {
        *numbers[index] = PyLong_AsLongLong(args[index]);
        if (*numbers[index] == -1 && PyErr_Occurred())
            return 0;
    }
    return 1;
}

/* Whether the log has that record, all of it in one file. */
static inline int is_ordinary(const Pull *p, long long offset, long long size)
{
    long long file_size = p->limits->file_size;
    return size > 0 && offset >= p->low && offset <= p->written - size && size <= file_size
        && offset % file_size <= file_size - size;
}

/* Whether a record must wait for the next pull (isTheBatchFull). */
static inline int is_full(const Pull *p, long long offset, long long size, long long count, long long bytes)
{
    if (bytes == 0)
        return 0;
    if (count + 1 > p->max_messages || bytes + size > p->max_bytes || bytes >= p->max_bytes)
        return 1;
    if (p->written - offset <= p->limits->memory)
        return bytes + size > p->limits->memory_bytes || count >= p->limits->memory_count;
    return bytes + size > p->limits->disk_bytes || count >= p->limits->disk_count;
}

/* Add a record to what is taken; there is room for one more extent. */
static inline void take_record(Taken *taken, long long offset, long long size)
{
    Extent *next = taken->extents + taken->count;
    if (taken->count > 0 && next[-1].offset + next[-1].size == offset) {
        next[-1].size += size;
    } else {
        *next = (Extent){offset, size};
        taken->count++;
    }
    taken->bytes += size;
    taken->messages++;
}

#endif
