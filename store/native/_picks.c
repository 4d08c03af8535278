/*
 * What a pull with a filter takes of a queue's entries: records looked at where they lie, in mapped pages.
 *
 * store/native/picks.py does the same in Python, of bytes in memory; tests compare the two. A record that is unusual
 * in any way (not in the log, damaged) ends it: the caller looks at that one itself.
 */
#include "pages.h"
#include "verdicts.h"

/* Records this far ahead are fetched into the processor's cache: each lies in pages of its own. */
#define AHEAD 8
/* The number of a record's body's bytes ends its head, which is longer by 12 for each host with IPv6. */
#define SHORTEST_HEAD 88
#define MORE_V6 12
#define MAGIC_V2_END 0xAB
#define SHORTEST_RECORD (SHORTEST_HEAD + 4)
/* After so many bytes of properties a call ends, as if the next record were beyond the piece. */
#define MOST_SPENT 65536

/* Why it ended: all entries were looked at; the pull is full; what follows is beyond the piece; unusual; put off. */
enum { ALL, FULL, BEYOND, UNUSUAL, PUT_OFF, ASKS };

static const Guard *guard;
static PyTypeObject *limits_type;

static PyObject *verdicts_new(PyTypeObject *type, PyObject *args, PyObject *words)
{
    static char *words_known[] = {"names", NULL};
    PyObject *names;
    if (!PyArg_ParseTupleAndKeywords(args, words, "O!:Verdicts", words_known, &PyTuple_Type, &names))
        return NULL;
    int fit = PyTuple_GET_SIZE(names) <= MOST_NAMES;
    Py_ssize_t shortest = PY_SSIZE_T_MAX;
    for (Py_ssize_t index = 0; fit && index < PyTuple_GET_SIZE(names); index++) {
        PyObject *name = PyTuple_GET_ITEM(names, index);
        fit = PyBytes_Check(name) && PyBytes_GET_SIZE(name) > 0;
        if (fit && PyBytes_GET_SIZE(name) < shortest)
            shortest = PyBytes_GET_SIZE(name);
    }
    if (!fit)
        return PyErr_Format(PyExc_ValueError, "Verdicts: up to %d names, none of them empty", MOST_NAMES);
    Verdicts *made = (Verdicts *)type->tp_alloc(type, 0);
    if (made != NULL) {
        made->names = Py_NewRef(names);
        made->shortest = shortest;
    }
    return (PyObject *)made;
}

static void verdicts_dealloc(PyObject *self)
{
    PyMem_Free(((Verdicts *)self)->places);
    Py_DECREF(((Verdicts *)self)->names);
    Py_TYPE(self)->tp_free(self);
}

PyDoc_STRVAR(find_doc,
    "find(properties)\n\n"
    "What was said about a message with such properties: 0 unwanted, 1 wanted, -1 nothing that is still known.");

static PyObject *verdicts_find(PyObject *self, PyObject *properties)
{
    if (!PyBytes_Check(properties))
        return PyErr_Format(PyExc_TypeError, "find takes bytes");
    Key key;
    make_key(&key, (Verdicts *)self, (const unsigned char *)PyBytes_AS_STRING(properties),
        PyBytes_GET_SIZE(properties));
    return PyLong_FromLong(known_verdict((Verdicts *)self, &key));
}

PyDoc_STRVAR(close_doc, "close()\n\nForget everything, for good.");

static PyObject *verdicts_close(PyObject *self, PyObject *Py_UNUSED(none))
{
    Verdicts *verdicts = (Verdicts *)self;
    PyMem_Free(verdicts->places);
    verdicts->places = NULL;
    verdicts->is_closed = 1;
    Py_RETURN_NONE;
}

static PyMethodDef verdicts_methods[] = {
    {"find", verdicts_find, METH_O, find_doc},
    {"close", verdicts_close, METH_NOARGS, close_doc},
    {NULL, NULL, 0, NULL},
};

static PyTypeObject verdicts_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "trimq.store.native._picks.Verdicts",
    .tp_basicsize = sizeof(Verdicts),
    .tp_dealloc = verdicts_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = verdicts_methods,
    .tp_new = verdicts_new,
    .tp_doc = "What a filter has said about values of properties; see store/native/picks.py.",
};

/* Some entries, the piece of the log with their records, and how far it has come. */
typedef struct {
    Pull pull;
    const unsigned char *entries, *bytes;
    Py_ssize_t count, at;
    long long base, size, spent;
    const Verdicts *verdicts;
    Taken taken;
    /* What the filter says of the record at `at`, if it has been asked; what it is to be asked about. */
    int answer;
    const unsigned char *block;
    Py_ssize_t block_size;
    Key key;
    char *copy;
} Walk;

/* Find the properties of a record; 0 when it is no whole record. */
static int find_block(Walk *w, const unsigned char *record, long long size)
{
    if (size < SHORTEST_RECORD)
        return 0;
    unsigned hosts = record[39] >> 4 & 3;
    long long at = SHORTEST_HEAD + MORE_V6 * (long long)((hosts & 1) + (hosts >> 1));
    if (at > size)
        return 0;
    at += get32(record + at - 4);
    if (at > size - 4)
        return 0;
    long long topic = record[at++];
    if (record[7] == MAGIC_V2_END)
        topic = topic << 8 | record[at++];
    at += topic + 2;
    if (at > size)
        return 0;
    w->block_size = (Py_ssize_t)get16(record + at - 2);
    w->block = record + at;
    return w->block_size <= size - at;
}

/* Ask for the lines of a later record: its head, and its end, where the properties are. */
static inline void fetch(const Walk *w, Py_ssize_t index)
{
    if (index >= w->count)
        return;
    const unsigned char *entry = w->entries + index * ENTRY_SIZE;
    long long start = get64(entry) - w->base, size = (int32_t)get32(entry + 8);
    if (start < 0 || size < SHORTEST_RECORD || start > w->size - size)
        return;
    const unsigned char *record = w->bytes + start;
    __builtin_prefetch(record);
    __builtin_prefetch(record + SHORTEST_HEAD - 1);
    __builtin_prefetch(record + size - 1);
    __builtin_prefetch(record + size - 64);
}

/* Look at entries until there is a reason to end. Only reads, but for the walk itself. */
static int look_on(void *what)
{
    Walk *w = what;
    for (; w->at < w->count; w->at++) {
        const unsigned char *entry = w->entries + w->at * ENTRY_SIZE;
        long long offset = get64(entry), size = (int32_t)get32(entry + 8);
        fetch(w, w->at + AHEAD);
        if (!is_ordinary(&w->pull, offset, size))
            return UNUSUAL;
        if (is_full(&w->pull, offset, size, w->taken.messages, w->taken.bytes))
            return FULL;
        long long start = offset - w->base;
        if (start < 0 || start > w->size - size || w->spent > MOST_SPENT)
            return BEYOND;
        int verdict = w->answer;
        w->answer = UNKNOWN;
        if (verdict == UNKNOWN) {
            if (!find_block(w, w->bytes + start, size))
                return UNUSUAL;
            w->spent += w->block_size;
            w->key.size = -1;
            if (w->verdicts != NULL) {
                make_key(&w->key, w->verdicts, w->block, w->block_size);
                verdict = known_verdict(w->verdicts, &w->key);
            }
            if (verdict == UNKNOWN)
                return ASKS;
        }
        if (verdict == WANTED)
            take_record(&w->taken, offset, size);
        w->taken.last = offset;
    }
    return ALL;
}

/* The same, with 0 for a page that the disk cannot deliver. */
static int look(void *what)
{
    return 1 + look_on(what);
}

static int copy_block(void *what)
{
    const Walk *w = what;
    memcpy(w->copy, w->block, (size_t)w->block_size);
    return 1;
}

/* Ask about the record at hand: its verdict, LATER, or -1 with an exception set, or without: it cannot be read. */
static int ask_about(Walk *w, PyObject *ask)
{
    PyObject *block = PyBytes_FromStringAndSize(NULL, w->block_size);
    if (block == NULL)
        return -1;
    w->copy = PyBytes_AS_STRING(block);
    PyObject *said = carefully(guard, copy_block, w) ? PyObject_CallOneArg(ask, block) : NULL;
    Py_DECREF(block);
    if (said == NULL)
        return -1;
    long verdict = PyLong_AsLong(said);
    Py_DECREF(said);
    if (!PyErr_Occurred() && (verdict < UNWANTED || verdict > LATER))
        PyErr_Format(PyExc_ValueError, "pick_entries: %ld is no verdict", verdict);
    return PyErr_Occurred() ? -1 : (int)verdict;
}

/* Look at all entries; the reason why that ended, or -1 as `ask_about`. */
static int walk(Walk *w, Verdicts *verdicts, PyObject *ask)
{
    for (;;) {
        int reason = carefully(guard, look, w) - 1;
        if (reason != ASKS)
            return reason;
        int verdict = ask_about(w, ask);
        if (verdict < 0 || verdict == LATER)
            return verdict < 0 ? -1 : PUT_OFF;
        if (verdicts != NULL)
            keep_verdict(verdicts, &w->key, verdict);
        w->answer = verdict;
    }
}

/* Room for what was found before, and for each entry an extent; NULL with an exception set. */
static PyObject *begin_taken(Taken *taken, PyObject *before, Py_ssize_t entries)
{
    Py_ssize_t size = PyBytes_GET_SIZE(before), one = (Py_ssize_t)sizeof(Extent);
    PyObject *packed = PyBytes_FromStringAndSize(NULL, size + entries * one);
    if (packed == NULL)
        return NULL;
    put((unsigned char *)PyBytes_AS_STRING(packed), PyBytes_AS_STRING(before), size);
    taken->extents = (Extent *)PyBytes_AS_STRING(packed);
    taken->count = size / one;
    for (Py_ssize_t index = 0; index < taken->count; index++) {
        const Extent *extent = taken->extents + index;
        if (extent->size < 0 || extent->offset < 0 || extent->offset > LLONG_MAX / 2
            || extent->size > LLONG_MAX / 4 - taken->bytes) {
            Py_DECREF(packed);
            return PyErr_Format(PyExc_ValueError, "pick_entries: what was found before is not in a log");
        }
        taken->bytes += extent->size;
    }
    return packed;
}

static PyObject *finish(PyObject *packed, const Walk *w, int reason)
{
    const Taken *taken = &w->taken;
    long long end = 0;
    if (taken->count > 0)
        end = taken->extents[taken->count - 1].offset + taken->extents[taken->count - 1].size;
    if (_PyBytes_Resize(&packed, taken->count * (Py_ssize_t)sizeof(Extent)) < 0)
        return NULL;
    return Py_BuildValue("NnLLLLiL", packed, w->at, taken->messages, taken->bytes, taken->last, end, reason,
        w->spent);
}

PyDoc_STRVAR(pick_entries_doc,
    "pick_entries(entries, limits, (low, written), (max_messages, max_bytes), (whole, base), (packed, messages),\n"
    "verdicts, ask)\n\n"
    "What a filter wants of these entries, see store/native/picks.py; None: a page cannot be read, or nobody guards.");

static PyObject *pick_entries(PyObject *Py_UNUSED(module), PyObject *args)
{
    Walk w = {.answer = UNKNOWN, .taken.last = -1};
    PyObject *entries, *limits, *where, *before, *verdicts, *ask;
    if (!PyArg_ParseTuple(args, "SO!(LL)(LL)(OL)(SL)OO:pick_entries", &entries, limits_type, &limits, &w.pull.low,
            &w.pull.written, &w.pull.max_messages, &w.pull.max_bytes, &where, &w.base, &before, &w.taken.messages,
            &verdicts, &ask))
        return NULL;
    if (verdicts != Py_None && !Py_IS_TYPE(verdicts, &verdicts_type))
        return PyErr_Format(PyExc_TypeError, "pick_entries: Verdicts or None is wanted, not %R", Py_TYPE(verdicts));
    Py_buffer whole;
    if (PyObject_GetBuffer(where, &whole, PyBUF_SIMPLE) < 0)
        return NULL;
    w.pull.limits = (const Limits *)limits;
    w.entries = (const unsigned char *)PyBytes_AS_STRING(entries);
    w.count = PyBytes_GET_SIZE(entries) / ENTRY_SIZE;
    w.bytes = whole.buf;
    w.size = whole.len;
    PyObject *packed = begin_taken(&w.taken, before, w.count);
    int reason = -1;
    if (packed != NULL && guard->set && w.pull.low >= 0 && w.pull.written >= 0 && w.base >= 0
        && w.taken.messages >= 0 && w.taken.messages < LLONG_MAX / 2) {
        Verdicts *table = verdicts == Py_None ? NULL : (Verdicts *)verdicts;
        w.verdicts = table;
        reason = walk(&w, table, ask);
    }
    PyBuffer_Release(&whole);
    if (reason >= 0)
        return finish(packed, &w, reason);
    Py_XDECREF(packed);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"pick_entries", pick_entries, METH_VARARGS, pick_entries_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef picks = {
    PyModuleDef_HEAD_INIT, "trimq.store.native._picks", "store/native/picks.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

/* Something of a module beside this one; NULL with an exception set. */
static PyObject *taken_from(const char *module, const char *name)
{
    PyObject *imported = PyImport_ImportModule(module);
    PyObject *found = imported == NULL ? NULL : PyObject_GetAttrString(imported, name);
    Py_XDECREF(imported);
    return found;
}

PyMODINIT_FUNC PyInit__picks(void)
{
    PyObject *limits = taken_from("trimq.store.native._extents", "Limits");
    if (limits == NULL)
        return NULL;
    if (!PyType_Check(limits) || ((PyTypeObject *)limits)->tp_basicsize != sizeof(Limits)) {
        Py_DECREF(limits);
        return PyErr_Format(PyExc_ImportError, "trimq.store.native._extents was built from other sources");
    }
    /* Both are kept as long as the process lives. */
    limits_type = (PyTypeObject *)limits;
    PyObject *given = taken_from("trimq.store.native._pages", "_guard");
    guard = given == NULL ? NULL : PyCapsule_GetPointer(given, GUARD);
    if (guard == NULL || PyType_Ready(&verdicts_type) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&picks);
    if (module != NULL && PyModule_AddObjectRef(module, "Verdicts", (PyObject *)&verdicts_type) < 0)
        Py_CLEAR(module);
    return module;
}
