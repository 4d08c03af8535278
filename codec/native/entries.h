/* The properties of a message: `key 0x01 value 0x02` repeated. */
#ifndef TRIMQ_ENTRIES_H
#define TRIMQ_ENTRIES_H

#include "bytes.h"

#define NAME_END 1
#define ENTRY_END 2

/* One `key 0x01 value 0x02`. */
typedef struct {
    const char *key, *value;
    Py_ssize_t key_size, value_size;
} Entry;

/* The entry at `at`; where the next one begins, or NULL when this is none: no key, no value, or more than one separator. */
static inline const char *next_entry(const char *at, const char *end, Entry *entry)
{
    const char *begin = at, *middle = NULL;
    for (; at < end && *at != ENTRY_END; at++)
        if (*at == NAME_END) {
            if (middle != NULL)
                return NULL;
            middle = at;
        }
    if (middle == NULL || middle == begin || middle + 1 == at)
        return NULL;
    entry->key = begin;
    entry->key_size = middle - begin;
    entry->value = middle + 1;
    entry->value_size = at - entry->value;
    return at == end ? end : at + 1;
}

static inline int has_key(const Entry *entry, const char *key, Py_ssize_t size)
{
    return entry->key_size == size && memcmp(entry->key, key, (size_t)size) == 0;
}

/* Whether the entry's key is one of these; `keys` are bytes. */
static inline int is_among(const Entry *entry, PyObject *keys)
{
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(keys); index++) {
        PyObject *key = PyTuple_GET_ITEM(keys, index);
        if (has_key(entry, PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key)))
            return 1;
    }
    return 0;
}

#endif
