/*
 * What a half message and its copy cost: the properties that decide, and a block without some of them.
 *
 * codec/native/halves.py does the same in Python; tests compare the two. Nothing here decides anything: anything
 * unusual (a key twice, a malformed entry, a property that needs a decision) is answered with None.
 */
#include "entries.h"

/* Whether it is a tuple of bytes; 0 with an exception set. */
static int takes_names(PyObject *names)
{
    int fits = PyTuple_Check(names);
    for (Py_ssize_t index = 0; fits && index < PyTuple_GET_SIZE(names); index++)
        fits = PyBytes_Check(PyTuple_GET_ITEM(names, index));
    if (!fits)
        PyErr_SetString(PyExc_TypeError, "a tuple of bytes is wanted");
    return fits;
}

PyDoc_STRVAR(property_values_doc,
    "property_values(properties, names)\n\n"
    "Of each name, which ends as it is stored, the value of the last property that has one; None without one.");

static PyObject *property_values(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyBytes_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "property_values takes bytes and a tuple of bytes");
        return NULL;
    }
    if (!takes_names(args[1]))
        return NULL;
    Py_ssize_t names = PyTuple_GET_SIZE(args[1]);
    const char *at = PyBytes_AS_STRING(args[0]), *end = at + PyBytes_GET_SIZE(args[0]);
    PyObject *values = PyTuple_New(names);
    if (values == NULL)
        return NULL;
    for (Py_ssize_t index = 0; index < names; index++)
        PyTuple_SET_ITEM(values, index, Py_NewRef(Py_None));
    while (at < end) {
        const char *stop = memchr(at, ENTRY_END, (size_t)(end - at));
        Py_ssize_t length = (stop == NULL ? end : stop) - at;
        for (Py_ssize_t index = 0; index < names; index++) {
            PyObject *name = PyTuple_GET_ITEM(args[1], index);
            Py_ssize_t size = PyBytes_GET_SIZE(name);
            if (length > size && memcmp(at, PyBytes_AS_STRING(name), (size_t)size) == 0) {
                PyObject *value = PyBytes_FromStringAndSize(at + size, length - size);
                if (value == NULL) {
                    Py_DECREF(values);
                    return NULL;
                }
                Py_DECREF(PyTuple_GET_ITEM(values, index));
                PyTuple_SET_ITEM(values, index, value);
            }
        }
        at += stop == NULL ? length : length + 1;
    }
    return values;
}

/* More entries than that are not ordinary. */
#define MOST_ENTRIES 64

/* The entries of a block, each key once and none among `deciding`; how many, or -1. */
static Py_ssize_t take_entries(const char *at, const char *end, PyObject *deciding, Entry *entries)
{
    Py_ssize_t count = 0;
    while (at < end) {
        Entry *entry = &entries[count];
        if (count == MOST_ENTRIES || (at = next_entry(at, end, entry)) == NULL || is_among(entry, deciding))
            return -1;
        for (Py_ssize_t before = 0; before < count; before++)
            if (has_key(&entries[before], entry->key, entry->key_size))
                return -1;
        count++;
    }
    return count;
}

/* The entries whose keys are not among `dropped`, each closed. */
static PyObject *kept_block(const Entry *entries, Py_ssize_t count, PyObject *dropped, Py_ssize_t size)
{
    /* As long as the whole with its last entry closed, at first. */
    PyObject *block = PyBytes_FromStringAndSize(NULL, size + 1);
    if (block == NULL)
        return NULL;
    unsigned char *begin = (unsigned char *)PyBytes_AS_STRING(block), *to = begin;
    for (Py_ssize_t index = 0; index < count; index++) {
        const Entry *entry = &entries[index];
        if (!is_among(entry, dropped))
            to = put8(put(to, entry->key, entry->key_size + 1 + entry->value_size), ENTRY_END);
    }
    _PyBytes_Resize(&block, to - begin);
    return block;
}

PyDoc_STRVAR(ordinary_properties_doc,
    "ordinary_properties(properties, dropped, deciding, wanted)\n\n"
    "The block without the entries of the dropped keys, each entry closed, and the values of the wanted keys. None: an\n"
    "entry is none, a key is there twice or among `deciding`, or the bytes are not UTF-8.");

static PyObject *ordinary_properties(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    Entry entries[MOST_ENTRIES];
    Py_ssize_t size;
    const char *data;
    if (count != 4 || !(PyUnicode_Check(args[0]) || PyBytes_Check(args[0]))) {
        PyErr_SetString(PyExc_TypeError, "ordinary_properties takes a str or bytes, and three tuples of bytes");
        return NULL;
    }
    if (!takes_names(args[1]) || !takes_names(args[2]) || !takes_names(args[3]))
        return NULL;
    if (PyUnicode_Check(args[0])) {
        data = PyUnicode_AsUTF8AndSize(args[0], &size);
    } else {
        data = PyBytes_AS_STRING(args[0]);
        size = PyBytes_GET_SIZE(args[0]);
        unsigned char all = 0;
        for (Py_ssize_t index = 0; index < size; index++)
            all |= (unsigned char)data[index];
        PyObject *text = all < 128 ? Py_NewRef(Py_None) : PyUnicode_DecodeUTF8(data, size, NULL);
        if (text == NULL)
            data = NULL;
        Py_XDECREF(text);
    }
    if (data == NULL) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    Py_ssize_t found = take_entries(data, data + size, args[2], entries);
    if (found < 0)
        Py_RETURN_NONE;
    Py_ssize_t names = PyTuple_GET_SIZE(args[3]);
    PyObject *block = kept_block(entries, found, args[1], size), *values = PyTuple_New(names);
    for (Py_ssize_t name = 0; block != NULL && values != NULL && name < names; name++) {
        PyObject *key = PyTuple_GET_ITEM(args[3], name), *value = Py_NewRef(Py_None);
        for (Py_ssize_t index = 0; index < found; index++)
            if (has_key(&entries[index], PyBytes_AS_STRING(key), PyBytes_GET_SIZE(key)))
                value = PyBytes_FromStringAndSize(entries[index].value, entries[index].value_size);
        if (value == NULL)
            Py_CLEAR(values);
        else
            PyTuple_SET_ITEM(values, name, value);
    }
    PyObject *result = block == NULL || values == NULL ? NULL : PyTuple_Pack(2, block, values);
    Py_XDECREF(block);
    Py_XDECREF(values);
    return result;
}

static PyMethodDef methods[] = {
    {"ordinary_properties", (PyCFunction)(void (*)(void))ordinary_properties, METH_FASTCALL, ordinary_properties_doc},
    {"property_values", (PyCFunction)(void (*)(void))property_values, METH_FASTCALL, property_values_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef halves = {
    PyModuleDef_HEAD_INIT, "trimq.codec.native._halves", "codec/native/halves.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__halves(void)
{
    return PyModule_Create(&halves);
}
