/*
 * What a scan over the commit log needs of each record, several at a time.
 *
 * codec/native/record_scan.py does the same in Python; tests compare the two. What is no whole and undamaged record, does
 * not name its own offset or has a zero byte among its properties ends the walk: whether it counts, the caller decides.
 */
#include "entries.h"

/* As in codec/records/record.py. */
#define SHORTEST 91
#define HEAD 88
#define SYS_FLAG_AT 36
#define BORN_AT 48
#define HOST_V6_EXTRA 12
#define BORN_HOST_V6 0x10
#define STORE_HOST_V6 0x20
#define MAGIC_V1 0xDAA320A7u
#define MAGIC_V2 0xDAA320ABu
#define FIELDS 8

static PyObject *crc32_of; /* zlib.crc32 */

/* Where the parts of a record are. */
typedef struct {
    const unsigned char *begin, *body, *topic, *properties;
    Py_ssize_t size, body_size, topic_size, properties_size;
    uint32_t sys_flag;
    int64_t stored;
} Found;

/* Whether a whole record begins there whose lengths add up and that names this offset; its body is not looked at. */
static int find_record(const unsigned char *at, Py_ssize_t room, int64_t offset, Found *found)
{
    if (room < SHORTEST)
        return 0;
    uint32_t magic = get32(at + 4), flag = get32(at + SYS_FLAG_AT);
    int64_t size = get32(at), born = flag & BORN_HOST_V6 ? HOST_V6_EXTRA : 0;
    int64_t head = HEAD + born + (flag & STORE_HOST_V6 ? HOST_V6_EXTRA : 0);
    if ((magic != MAGIC_V1 && magic != MAGIC_V2) || room < head || size > room)
        return 0;
    int64_t body_size = get32(at + head - 4), topic_at = head + body_size + 1;
    if (topic_at + 2 > size || get64(at + 28) != offset)
        return 0;
    int64_t topic_size = at[topic_at - 1];
    if (magic == MAGIC_V2)
        topic_size = topic_size << 8 | at[topic_at++];
    int64_t properties_at = topic_at + topic_size + 2;
    if (properties_at > size || properties_at + (int64_t)get16(at + properties_at - 2) != size)
        return 0;
    found->begin = at;
    found->size = (Py_ssize_t)size;
    found->sys_flag = flag;
    found->stored = get64(at + BORN_AT + 8 + born);
    found->body = at + head;
    found->body_size = (Py_ssize_t)body_size;
    found->topic = at + topic_at;
    found->topic_size = (Py_ssize_t)topic_size;
    found->properties = at + properties_at;
    found->properties_size = (Py_ssize_t)(size - properties_at);
    return memchr(found->properties, 0, (size_t)found->properties_size) == NULL;
}

/* 1: the body is the one that the record was made with; 0: it is not; -1 with an exception set. */
static int is_intact(const Found *found)
{
    if (found->body_size == 0)
        return 1;
    PyObject *body = PyMemoryView_FromMemory((char *)found->body, found->body_size, PyBUF_READ);
    PyObject *crc = body == NULL ? NULL : PyObject_CallOneArg(crc32_of, body);
    Py_XDECREF(body);
    if (crc == NULL)
        return -1;
    uint32_t sum = (uint32_t)PyLong_AsUnsignedLongMask(crc) & 0x7FFFFFFF;
    Py_DECREF(crc);
    return sum == get32(found->begin + 8);
}

/* The bytes; the ones before them, if they are equal. A new reference. */
static PyObject *bytes_like(const unsigned char *data, Py_ssize_t size, PyObject *before)
{
    if (before != NULL && PyBytes_GET_SIZE(before) == size && memcmp(PyBytes_AS_STRING(before), data, (size_t)size) == 0)
        return Py_NewRef(before);
    return PyBytes_FromStringAndSize((const char *)data, size);
}

/* What is known of the record; NULL with an exception set. */
static PyObject *row_of(const Found *found, PyObject *before)
{
    int32_t hash;
    int plain = tag_hash_of((const char *)found->properties, found->properties_size, &hash);
    PyObject *row = PyTuple_New(FIELDS);
    if (row == NULL)
        return NULL;
    PyObject *topic = before == NULL ? NULL : PyTuple_GET_ITEM(before, 5);
    PyObject *properties = before == NULL ? NULL : PyTuple_GET_ITEM(before, 6);
    PyTuple_SET_ITEM(row, 0, PyLong_FromSsize_t(found->size));
    PyTuple_SET_ITEM(row, 1, PyLong_FromLong((int32_t)get32(found->begin + 12)));
    PyTuple_SET_ITEM(row, 2, PyLong_FromLongLong(get64(found->begin + 20)));
    PyTuple_SET_ITEM(row, 3, PyLong_FromLong((int32_t)found->sys_flag));
    PyTuple_SET_ITEM(row, 4, PyLong_FromLongLong(found->stored));
    PyTuple_SET_ITEM(row, 5, bytes_like(found->topic, found->topic_size, topic));
    PyTuple_SET_ITEM(row, 6, bytes_like(found->properties, found->properties_size, properties));
    PyTuple_SET_ITEM(row, 7, plain ? PyLong_FromLong(hash) : Py_NewRef(Py_None));
    for (int index = 0; index < FIELDS; index++)
        if (PyTuple_GET_ITEM(row, index) == NULL) {
            Py_DECREF(row);
            return NULL;
        }
    return row;
}

PyDoc_STRVAR(skim_records_doc,
    "skim_records(window, at, offset, most)\n\n"
    "Of up to so many records from that byte on, the first of which names the offset: size, queue id, queue offset,\n"
    "sysFlag, store timestamp, topic, properties and the hash of the tag, None if that is not ASCII. The walk ends\n"
    "before the first that is not whole and undamaged, is elsewhere, or has a zero byte among its properties.");

static PyObject *skim_records(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *window, *before = NULL;
    Py_ssize_t at, most;
    long long offset;
    if (!PyArg_ParseTuple(args, "O!nLn:skim_records", &PyBytes_Type, &window, &at, &offset, &most))
        return NULL;
    PyObject *rows = PyList_New(0);
    const unsigned char *data = (const unsigned char *)PyBytes_AS_STRING(window);
    /* Nothing is before the beginning. */
    Py_ssize_t end = at < 0 || offset < 0 ? at : PyBytes_GET_SIZE(window);
    while (rows != NULL && PyList_GET_SIZE(rows) < most && at < end) {
        Found found;
        if (!find_record(data + at, end - at, offset, &found))
            break;
        int intact = is_intact(&found);
        if (intact == 0)
            break;
        PyObject *row = intact < 0 ? NULL : row_of(&found, before);
        if (row == NULL || PyList_Append(rows, row) < 0)
            Py_CLEAR(rows);
        Py_XDECREF(row);
        /* The list has it. */
        before = row;
        at += found.size;
        offset += found.size;
    }
    return rows;
}

static PyMethodDef methods[] = {
    {"skim_records", skim_records, METH_VARARGS, skim_records_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef skims = {
    PyModuleDef_HEAD_INIT, "trimq.codec.native._record_scan", "codec/native/record_scan.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__record_scan(void)
{
    PyObject *zlib = PyImport_ImportModule("zlib");
    if (zlib == NULL)
        return NULL;
    crc32_of = PyObject_GetAttrString(zlib, "crc32");
    Py_DECREF(zlib);
    return crc32_of == NULL ? NULL : PyModule_Create(&skims);
}
