/* What a filter has said about values of properties: `Verdicts`, a table that never grows. */
#ifndef TRIMQ_VERDICTS_H
#define TRIMQ_VERDICTS_H

#include "bytes.h"

#define ENTRY_END 2
#define MOST_NAMES 8
/* A place has 64 bytes; longer values are not kept. */
#define LONGEST_KEY 62
/* Values have their places in one set of eight, whose last one gives way. */
#define SETS 64
#define WAYS 8

enum { UNKNOWN = -1, UNWANTED = 0, WANTED = 1, LATER = 2 };

/* `kept`: 0 free, otherwise the verdict and 1. */
typedef struct {
    unsigned char kept, size, key[LONGEST_KEY];
} Place;

/* `names`: of the properties, as they are stored, with their ends; how long the shortest is; `places`: NULL before there is any. */
typedef struct {
    PyObject_HEAD
    PyObject *names;
    Py_ssize_t shortest;
    Place *places;
    int is_closed;
} Verdicts;

/* The values of all properties in a row, each behind a separator that no value has; `size` -1: too long to keep. */
typedef struct {
    int size;
    unsigned char bytes[LONGEST_KEY];
} Key;

typedef struct {
    const unsigned char *at;
    Py_ssize_t size;
} Value;

/* Of a block of properties; an entry without a value counts as none, of two with a name the later counts. */
static inline void make_key(Key *key, const Verdicts *verdicts, const unsigned char *at, Py_ssize_t size)
{
    Value found[MOST_NAMES];
    PyObject *names = verdicts->names;
    Py_ssize_t count = PyTuple_GET_SIZE(names), shortest = verdicts->shortest;
    memset(found, 0, sizeof found);
    for (const unsigned char *end = at + size; at < end;) {
        const unsigned char *stop = memchr(at, ENTRY_END, (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        for (Py_ssize_t index = 0; index < count && stop - at > shortest; index++) {
            PyObject *name = PyTuple_GET_ITEM(names, index);
            Py_ssize_t length = PyBytes_GET_SIZE(name);
            const char *text = PyBytes_AS_STRING(name);
            if (stop - at > length && *at == (unsigned char)*text && memcmp(at, text, (size_t)length) == 0)
                found[index] = (Value){at + length, stop - at - length};
        }
        at = behind(stop, end);
    }
    key->size = 0;
    for (Py_ssize_t index = 0; index < count; index++) {
        if (found[index].size > LONGEST_KEY - 1 - key->size) {
            key->size = -1;
            return;
        }
        unsigned char *to = put8(key->bytes + key->size, ENTRY_END);
        put(to, found[index].at, found[index].size);
        key->size += 1 + (int)found[index].size;
    }
}

static inline uint64_t hash_of(const Key *key)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (int index = 0; index < key->size; index++)
        hash = (hash ^ key->bytes[index]) * 0x100000001B3u;
    return hash ^ hash >> 29;
}

/* What was said about these values. */
static inline int known_verdict(const Verdicts *verdicts, const Key *key)
{
    if (key->size < 0 || verdicts->places == NULL)
        return UNKNOWN;
    const Place *place = verdicts->places + hash_of(key) % SETS * WAYS;
    for (int way = 0; way < WAYS && place->kept; way++, place++)
        if (place->size == key->size && memcmp(place->key, key->bytes, (size_t)key->size) == 0)
            return place->kept - 1;
    return UNKNOWN;
}

/* Keep what has just been said; without memory for it that is not kept. */
static inline void keep_verdict(Verdicts *verdicts, const Key *key, int verdict)
{
    if (key->size < 0 || verdicts->is_closed || known_verdict(verdicts, key) != UNKNOWN)
        return;
    if (verdicts->places == NULL && (verdicts->places = PyMem_Calloc(SETS * WAYS, sizeof(Place))) == NULL)
        return;
    Place *first = verdicts->places + hash_of(key) % SETS * WAYS;
    memmove(first + 1, first, (WAYS - 1) * sizeof(Place));
    first->kept = (unsigned char)(verdict + 1);
    first->size = (unsigned char)key->size;
    memcpy(first->key, key->bytes, (size_t)key->size);
}

#endif
