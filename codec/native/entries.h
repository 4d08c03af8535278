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

/* The keys that came before, as many as a block of properties has in practice. */
#define MOST_KEYS 128
typedef struct {
    uint64_t marks;
    int count;
    Entry keys[MOST_KEYS];
} Keys;

/* Whether this key was there before, or there are too many to know. */
static inline int comes_again(Keys *keys, const Entry *entry)
{
    unsigned sum = (unsigned)entry->key_size * 7 + (unsigned char)entry->key[0] * 3
        + (unsigned char)entry->key[entry->key_size - 1] * 5;
    uint64_t mark = (uint64_t)1 << (sum & 63);
    if (keys->count == MOST_KEYS)
        return 1;
    if (keys->marks & mark)
        for (int index = 0; index < keys->count; index++)
            if (has_key(&keys->keys[index], entry->key, entry->key_size))
                return 1;
    keys->marks |= mark;
    keys->keys[keys->count++] = *entry;
    return 0;
}

/* The hash that Java gives an ASCII text; 0 in `plain` when it is not ASCII. */
static inline int32_t java_hash(const char *text, Py_ssize_t size, int *plain)
{
    uint32_t hash = 0;
    unsigned char all = 0;
    for (Py_ssize_t index = 0; index < size; index++) {
        unsigned char one = (unsigned char)text[index];
        all |= one;
        hash = hash * 31 + one;
    }
    *plain = all < 128;
    return (int32_t)hash;
}

/* The Java hash of the last TAGS that has a value, 0 without one; returns whether it is ASCII. */
static inline int tag_hash_of(const char *at, Py_ssize_t size, int32_t *hash)
{
    const char *end = at + size, *tag = NULL;
    Py_ssize_t tag_size = 0;
    while (at < end) {
        const char *stop = memchr(at, ENTRY_END, (size_t)(end - at));
        Py_ssize_t length = (stop == NULL ? end : stop) - at;
        if (length > 5 && memcmp(at, "TAGS\1", 5) == 0) {
            tag = at + 5;
            tag_size = length - 5;
        }
        at += stop == NULL ? length : length + 1;
    }
    int plain = 1;
    *hash = tag == NULL ? 0 : java_hash(tag, tag_size, &plain);
    return plain;
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
