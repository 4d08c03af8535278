/*
 * The hash slots of an index file that is being written: keys entered, and slots on their way out.
 *
 * store/native/slots.py does the same in Python; tests compare the two.
 */
#include "bytes.h"

#define ENTRY_SIZE 20
/* As in store/native/slots.py: slots before the first page of the file, and slots of a page. */
#define SHIFT 10
#define PAGE_SLOTS 1024

/* A key's entry, checked before anything is changed. */
typedef struct {
    uint32_t hash, seconds;
    uint64_t offset;
} Key;

/* Whole seconds from `begin` on, as an entry can hold them. */
static uint32_t seconds_from(long long begin, long long millis)
{
    if (millis <= begin)
        return 0;
    /* Both may be anything: their difference is counted without a sign. */
    uint64_t seconds = ((uint64_t)millis - (uint64_t)begin) / 1000;
    return seconds > INT32_MAX ? INT32_MAX : (uint32_t)seconds;
}

/* All keys, to be freed; NULL with an exception set. */
static Key *take_keys(PyObject *hashes, PyObject *offsets, PyObject *times, long long begin)
{
    Py_ssize_t count = PyList_GET_SIZE(hashes);
    Key *keys = PyMem_New(Key, count + 1);
    if (keys == NULL)
        return (Key *)PyErr_NoMemory();
    for (Py_ssize_t index = 0; index < count; index++) {
        long long hash = number_at(hashes, index);
        long long offset = PyErr_Occurred() ? 0 : number_at(offsets, index);
        long long time = PyErr_Occurred() ? 0 : number_at(times, index);
        if (!PyErr_Occurred() && (hash < 0 || hash > INT32_MAX))
            PyErr_SetString(PyExc_ValueError, "enter_keys: the hash of a key has 31 bits");
        if (PyErr_Occurred()) {
            PyMem_Free(keys);
            return NULL;
        }
        keys[index] = (Key){(uint32_t)hash, seconds_from(begin, time), (uint64_t)offset};
    }
    return keys;
}

/* Give all keys their entries and fill those; how many slots were free. */
static Py_ssize_t enter_all(
    int32_t *slots, uint32_t slot_count, unsigned char *changed, uint32_t number, const Key *keys, Py_ssize_t count,
    unsigned char *at)
{
    Py_ssize_t free_slots = 0;
    for (const Key *key = keys; key < keys + count; key++, number++) {
        uint32_t slot = key->hash % slot_count;
        int32_t previous = slots[slot];
        if (previous <= 0 || (uint32_t)previous >= number)
            previous = 0;
        slots[slot] = (int32_t)number;
        changed[(slot + SHIFT) / PAGE_SLOTS] = 1;
        free_slots += previous == 0;
        at = put32(put32(put64(put32(at, key->hash), key->offset), key->seconds), (uint32_t)previous);
    }
    return free_slots;
}

/* The same with a table whose buffers have been checked; NULL with an exception set, and nothing has changed. */
static PyObject *enter(const Py_buffer *slots, const Py_buffer *changed, uint32_t number, const Key *keys, Py_ssize_t count)
{
    PyObject *entries = PyBytes_FromStringAndSize(NULL, count * ENTRY_SIZE);
    if (entries == NULL)
        return NULL;
    Py_ssize_t free_slots = enter_all(slots->buf, (uint32_t)(slots->len / 4), changed->buf, number, keys, count,
        (unsigned char *)PyBytes_AS_STRING(entries));
    return Py_BuildValue("Nn", entries, free_slots);
}

PyDoc_STRVAR(enter_keys_doc,
    "enter_keys(slots, changed, number, hashes, offsets, timestamps, begin)\n\n"
    "Give the keys the entries from `number` on: the entries' bytes, and how many slots were free. `changed` has a\n"
    "mark for each page of slots. ValueError, TypeError, OverflowError: nothing was changed.");

static PyObject *enter_keys(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer slots, changed;
    PyObject *hashes, *offsets, *times, *result = NULL;
    long long number, begin;
    if (!PyArg_ParseTuple(args, "w*w*LO!O!O!L:enter_keys", &slots, &changed, &number, &PyList_Type, &hashes,
            &PyList_Type, &offsets, &PyList_Type, &times, &begin))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(hashes), slot_count = slots.len / 4;
    if (slot_count == 0 || slot_count > INT32_MAX || slots.len % 4 || (uintptr_t)slots.buf % 4
        || changed.len < (slot_count - 1 + SHIFT) / PAGE_SLOTS + 1 || PyList_GET_SIZE(offsets) != count
        || PyList_GET_SIZE(times) != count || number < 1 || number > INT32_MAX - count) {
        PyErr_SetString(PyExc_ValueError, "enter_keys: the tables do not fit each other");
    } else {
        Key *keys = take_keys(hashes, offsets, times, begin);
        if (keys != NULL)
            result = enter(&slots, &changed, (uint32_t)number, keys, count);
        PyMem_Free(keys);
    }
    PyBuffer_Release(&slots);
    PyBuffer_Release(&changed);
    return result;
}

/* Runs of slots on their way out; the numbers have been checked. */
static void copy_runs(const uint32_t *slots, const Py_ssize_t *runs, Py_ssize_t count, unsigned char *to)
{
    for (Py_ssize_t run = 0; run < count; run++) {
        for (Py_ssize_t slot = runs[2 * run]; slot < runs[2 * run + 1]; slot++)
            to = put32(to, slots[slot]);
    }
}

/* The bounds of all runs, to be freed; NULL with an exception set. They fit both ends. */
static Py_ssize_t *take_runs(PyObject *list, Py_ssize_t slots, Py_ssize_t room)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    Py_ssize_t *runs = PyMem_New(Py_ssize_t, 2 * count + 1);
    if (runs == NULL)
        return (Py_ssize_t *)PyErr_NoMemory();
    for (Py_ssize_t run = 0; run < count; run++) {
        Py_ssize_t first = -1, end = -1;
        PyObject *item = PyList_GET_ITEM(list, run);
        if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 2 || !PyLong_Check(PyTuple_GET_ITEM(item, 0))
            || !PyLong_Check(PyTuple_GET_ITEM(item, 1))) {
            PyErr_SetString(PyExc_TypeError, "copy_slots: a run is the first slot and the one behind");
        } else {
            first = PyLong_AsSsize_t(PyTuple_GET_ITEM(item, 0));
            end = PyErr_Occurred() ? -1 : PyLong_AsSsize_t(PyTuple_GET_ITEM(item, 1));
            if (!PyErr_Occurred() && (first < 0 || first > end || end > slots || end - first > room))
                PyErr_SetString(PyExc_ValueError, "copy_slots: a run lies outside");
        }
        if (PyErr_Occurred()) {
            PyMem_Free(runs);
            return NULL;
        }
        room -= end - first;
        runs[2 * run] = first;
        runs[2 * run + 1] = end;
    }
    return runs;
}

PyDoc_STRVAR(copy_slots_doc,
    "copy_slots(slots, runs, target)\n\n"
    "Runs of slots as a file has them, one after another. Other threads run meanwhile. ValueError: a run lies outside.");

static PyObject *copy_slots(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer slots, target;
    PyObject *list;
    if (!PyArg_ParseTuple(args, "w*O!w*:copy_slots", &slots, &PyList_Type, &list, &target))
        return NULL;
    Py_ssize_t *runs = take_runs(list, slots.len / 4, target.len / 4);
    if (runs != NULL) {
        Py_ssize_t count = PyList_GET_SIZE(list);
        Py_BEGIN_ALLOW_THREADS
        copy_runs(slots.buf, runs, count, target.buf);
        Py_END_ALLOW_THREADS
        PyMem_Free(runs);
    }
    PyBuffer_Release(&slots);
    PyBuffer_Release(&target);
    if (runs == NULL)
        return NULL;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(slots_outside_doc,
    "slots_outside(slots, limit)\n\nThe slots, in order, that point below 0, or to `limit` or behind it.");

static PyObject *slots_outside(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer slots;
    int limit;
    if (!PyArg_ParseTuple(args, "w*i:slots_outside", &slots, &limit))
        return NULL;
    PyObject *found = PyList_New(0);
    const int32_t *values = slots.buf;
    Py_ssize_t count = slots.len / 4;
    for (Py_ssize_t slot = 0; found != NULL && slot < count; slot++) {
        if (values[slot] >= 0 && values[slot] < limit)
            continue;
        PyObject *number = PyLong_FromSsize_t(slot);
        if (number == NULL || PyList_Append(found, number) < 0)
            Py_CLEAR(found);
        Py_XDECREF(number);
    }
    PyBuffer_Release(&slots);
    return found;
}

static PyMethodDef methods[] = {
    {"enter_keys", enter_keys, METH_VARARGS, enter_keys_doc},
    {"copy_slots", copy_slots, METH_VARARGS, copy_slots_doc},
    {"slots_outside", slots_outside, METH_VARARGS, slots_outside_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef slots_module = {
    PyModuleDef_HEAD_INIT, "trimq.store.native._slots", "store/native/slots.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__slots(void)
{
    return PyModule_Create(&slots_module);
}
