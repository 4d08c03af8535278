/*
 * What a pull without a filter takes from a queue's entries.
 *
 * store/native/extents.py does the same in Python; tests compare the two. Unusual entries
 * (a filler, a record that is gone) are answered with None.
 */
#include "extents.h"
#include <stddef.h>
#include <structmember.h>

static PyMemberDef limits_members[] = {
    {"file_size", T_LONGLONG, offsetof(Limits, file_size), READONLY, NULL},
    {"memory", T_LONGLONG, offsetof(Limits, memory), READONLY, NULL},
    {"memory_bytes", T_LONGLONG, offsetof(Limits, memory_bytes), READONLY, NULL},
    {"memory_count", T_LONGLONG, offsetof(Limits, memory_count), READONLY, NULL},
    {"disk_bytes", T_LONGLONG, offsetof(Limits, disk_bytes), READONLY, NULL},
    {"disk_count", T_LONGLONG, offsetof(Limits, disk_count), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *limits_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
    static char *names[] = {
        "file_size", "memory", "memory_bytes", "memory_count", "disk_bytes", "disk_count", NULL};
    Limits *made = (Limits *)type->tp_alloc(type, 0);
    if (made != NULL
        && !PyArg_ParseTupleAndKeywords(args, words, "$LLLLLL:Limits", names, &made->file_size, &made->memory,
            &made->memory_bytes, &made->memory_count, &made->disk_bytes, &made->disk_count))
        Py_CLEAR(made);
    if (made != NULL && made->file_size <= 0) {
        PyErr_SetString(PyExc_ValueError, "Limits: a file of the log has bytes");
        Py_CLEAR(made);
    }
    return (PyObject *)made;
}

static PyTypeObject limits_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "trimq.store.native._extents.Limits",
    .tp_basicsize = sizeof(Limits),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_members = limits_members,
    .tp_new = limits_new,
    .tp_doc = "How much one pull may bring; see store/native/extents.py.",
};

/* Take whole entries; 0 when one is not ordinary. */
static int take_all(const Pull *p, const unsigned char *at, Py_ssize_t entries, Taken *taken)
{
    for (; taken->messages < entries; at += ENTRY_SIZE) {
        long long offset = get64(at), size = (int32_t)get32(at + 8);
        if (!is_ordinary(p, offset, size))
            return 0;
        if (is_full(p, offset, size, taken->messages, taken->bytes))
            break;
        take_record(taken, offset, size);
        taken->last = offset;
    }
    return taken->messages > 0;
}

PyDoc_STRVAR(take_entries_doc,
    "take_entries(entries, limits, low, written, max_messages, max_bytes)\n\n"
    "Packed extents, messages, bytes, last record and where the last extent ends; None: unusual.");

static PyObject *take_entries(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 6 || !PyBytes_Check(args[0]) || !Py_IS_TYPE(args[1], &limits_type)) {
        PyErr_SetString(PyExc_TypeError, "take_entries(bytes, Limits, int, int, int, int)");
        return NULL;
    }
    Pull pull = {.limits = (const Limits *)args[1]};
    if (!read_pull(&pull, args + 2))
        return NULL;
    Py_ssize_t entries = PyBytes_GET_SIZE(args[0]) / ENTRY_SIZE;
    PyObject *packed = PyBytes_FromStringAndSize(NULL, entries * (Py_ssize_t)sizeof(Extent));
    if (packed == NULL)
        return NULL;
    Taken taken = {.extents = (Extent *)PyBytes_AS_STRING(packed)};
    if (pull.low < 0 || pull.written < 0
        || !take_all(&pull, (const unsigned char *)PyBytes_AS_STRING(args[0]), entries, &taken)) {
        Py_DECREF(packed);
        Py_RETURN_NONE;
    }
    const Extent *last = taken.extents + taken.count - 1;
    long long end = last->offset + last->size;
    if (_PyBytes_Resize(&packed, taken.count * (Py_ssize_t)sizeof(Extent)) < 0)
        return NULL;
    return Py_BuildValue("NLLLL", packed, taken.messages, taken.bytes, taken.last, end);
}

static PyMethodDef methods[] = {
    {"take_entries", (PyCFunction)(void (*)(void))take_entries, METH_FASTCALL, take_entries_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef extents_module = {
    PyModuleDef_HEAD_INIT, "trimq.store.native._extents", "store/native/extents.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__extents(void)
{
    PyObject *module = PyType_Ready(&limits_type) < 0 ? NULL : PyModule_Create(&extents_module);
    if (module != NULL && PyModule_AddObjectRef(module, "Limits", (PyObject *)&limits_type) < 0)
        Py_CLEAR(module);
    return module;
}
