/* Numbers as Java writes them, highest byte first. */
#ifndef TRIMQ_BYTES_H
#define TRIMQ_BYTES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t get16(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static inline uint32_t get32(const unsigned char *at)
{
    return get16(at) << 16 | get16(at + 2);
}

static inline int64_t get64(const unsigned char *at)
{
    return (int64_t)((uint64_t)get32(at) << 32 | get32(at + 4));
}

static inline unsigned char *put8(unsigned char *at, unsigned value)
{
    *at = (unsigned char)value;
    return at + 1;
}

static inline unsigned char *put16(unsigned char *at, unsigned value)
{
    return put8(put8(at, value >> 8), value);
}

static inline unsigned char *put32(unsigned char *at, uint32_t value)
{
    return put16(put16(at, value >> 16), value & 0xFFFF);
}

static inline unsigned char *put64(unsigned char *at, uint64_t value)
{
    return put32(put32(at, (uint32_t)(value >> 32)), (uint32_t)value);
}

static inline unsigned char *put(unsigned char *at, const void *data, Py_ssize_t size)
{
    if (size > 0)
        memcpy(at, data, (size_t)size);
    return at + size;
}

/* Where the next piece begins, behind the separator at `stop`; `end` when that was the last one. */
static inline const unsigned char *behind(const unsigned char *stop, const unsigned char *end)
{
    return stop < end ? stop + 1 : end;
}

/* A whole number of a list; -1 with an exception set. Nothing of Python's runs that could change the list. */
static inline long long number_at(PyObject *list, Py_ssize_t index)
{
    PyObject *item = PyList_GET_ITEM(list, index);
    if (!PyLong_Check(item)) {
        PyErr_Format(PyExc_TypeError, "a list of whole numbers is wanted, not one with %R", Py_TYPE(item));
        return -1;
    }
    return PyLong_AsLongLong(item);
}

#endif
