/*
 * The hashes by which the index finds messages: of their unique key, of the words of KEYS, and of their tag.
 *
 * codec/native/hashes.py does the same in Python; tests compare the two. Keys that are not ASCII
 * are left to the caller.
 */
#include "bytes.h"

/* A value among the properties. */
typedef struct {
    const unsigned char *data;
    Py_ssize_t size;
} Text;

/* Java's hash of these bytes, going on from the hash of what stands before them; -1 when one is not ASCII. */
static int64_t hash_on(uint32_t hash, Text text)
{
    unsigned char all = 0;
    for (Py_ssize_t index = 0; index < text.size; index++) {
        hash = 31 * hash + text.data[index];
        all |= text.data[index];
    }
    return all & 0x80 ? -1 : (int64_t)hash;
}

/* Append the hash as the index keeps it; -1 with an exception set. */
static int append_hash(PyObject *hashes, uint32_t hash)
{
    /* Math.abs, whose one negative result becomes 0. */
    PyObject *number = PyLong_FromUnsignedLong(hash < 0x80000000u ? hash : (0u - hash) & 0x7FFFFFFFu);
    int done = number == NULL ? -1 : PyList_Append(hashes, number);
    Py_XDECREF(number);
    return done;
}

/* If the entry is that of the key and has a value: remember it. The last one of a key counts. */
static void take_value(const unsigned char *entry, const unsigned char *end, const char *key, Py_ssize_t size, Text *found)
{
    if (end - entry > size && memcmp(entry, key, (size_t)size) == 0) {
        found->data = entry + size;
        found->size = end - entry - size;
    }
}

static int append_words(PyObject *hashes, uint32_t start, Text words)
{
    const unsigned char *at = words.data, *end = words.data + words.size;
    while (at < end) {
        const unsigned char *space = memchr(at, ' ', (size_t)(end - at));
        const unsigned char *stop = space == NULL ? end : space;
        Text word = {at, stop - at};
        if (word.size > 0 && append_hash(hashes, (uint32_t)hash_on(start, word)) < 0)
            return -1;
        at = behind(stop, end);
    }
    return 0;
}

/* Append the hashes of one message; -1 with an exception set, -2 when a key is not ASCII. */
static int append_hashes(PyObject *block, uint32_t start, uint32_t tag_start, PyObject *hashes)
{
    static const unsigned char nothing[1];
    const unsigned char *at = (const unsigned char *)PyBytes_AS_STRING(block), *end = at + PyBytes_GET_SIZE(block);
    Text unique = {nothing, 0}, words = {nothing, 0}, tags = {nothing, 0};
    while (at < end) {
        const unsigned char *stop = memchr(at, 2, (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        take_value(at, stop, "UNIQ_KEY\1", 9, &unique);
        take_value(at, stop, "KEYS\1", 5, &words);
        take_value(at, stop, "TAGS\1", 5, &tags);
        at = behind(stop, end);
    }
    int64_t unique_hash = hash_on(start, unique), tag_hash = hash_on(tag_start, tags);
    if (unique_hash < 0 || tag_hash < 0 || hash_on(0, words) < 0)
        return -2;
    if ((unique.size > 0 && append_hash(hashes, (uint32_t)unique_hash) < 0) || append_words(hashes, start, words) < 0
        || (tags.size > 0 && append_hash(hashes, (uint32_t)tag_hash) < 0))
        return -1;
    return 0;
}

/* Go through the messages; -1 with an exception set. */
static int hash_all(PyObject *blocks, PyObject *starts, PyObject *tag_starts, PyObject *hashes, PyObject *counts)
{
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(blocks); index++) {
        PyObject *block = PyList_GET_ITEM(blocks, index);
        if (!PyBytes_Check(block)) {
            PyErr_SetString(PyExc_TypeError, "key_hashes: properties are bytes");
            return -1;
        }
        long long start = number_at(starts, index), tag_start = number_at(tag_starts, index);
        if (PyErr_Occurred())
            return -1;
        Py_ssize_t before = PyList_GET_SIZE(hashes);
        int done = append_hashes(block, (uint32_t)start, (uint32_t)tag_start, hashes);
        if (done == -1)
            return -1;
        PyObject *count = PyLong_FromSsize_t(done == -2 ? -1 : PyList_GET_SIZE(hashes) - before);
        if (count == NULL)
            return -1;
        PyList_SET_ITEM(counts, index, count);
    }
    return 0;
}

PyDoc_STRVAR(key_hashes_doc,
    "key_hashes(properties, starts, tag_starts)\n\n"
    "The hashes of the messages' keys, all in one list, and how many each message has; -1: it has one that is not\n"
    "ASCII, and none of its hashes is there. A hash goes on from that of what stands before the message's keys, or tag.");

static PyObject *key_hashes(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *blocks, *starts, *tag_starts, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!O!:key_hashes", &PyList_Type, &blocks, &PyList_Type, &starts, &PyList_Type,
            &tag_starts))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(blocks);
    if (PyList_GET_SIZE(starts) != count || PyList_GET_SIZE(tag_starts) != count) {
        PyErr_SetString(PyExc_ValueError, "key_hashes: the lists are not of one length");
        return NULL;
    }
    PyObject *hashes = PyList_New(0), *counts = PyList_New(count);
    if (hashes != NULL && counts != NULL && hash_all(blocks, starts, tag_starts, hashes, counts) == 0)
        result = PyTuple_Pack(2, hashes, counts);
    Py_XDECREF(hashes);
    Py_XDECREF(counts);
    return result;
}

static PyMethodDef methods[] = {
    {"key_hashes", key_hashes, METH_VARARGS, key_hashes_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef hashes_module = {
    PyModuleDef_HEAD_INIT, "trimq.codec.native._hashes", "codec/native/hashes.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__hashes(void)
{
    return PyModule_Create(&hashes_module);
}
