/*
 * What a batch send costs per message: the records of its items, and their ids.
 *
 * codec/native/batches.py does the same in Python; tests compare the two. Nothing here decides
 * anything: anything unusual (a damaged batch, a limit exceeded) is answered with None.
 */
#include "bytes.h"

/* Size, two unused ints, flag and body length of a batch's item; then come body, properties length, properties. */
#define ITEM_HEAD 20
#define ITEM_LEAST 22
/* Lengths and numbers of a record, its hosts aside: codec/records/record.py. */
#define RECORD_FIXED 75
#define MAGIC_V1 0xDAA320A7u
#define LONGEST_V1_TOPIC 127
#define BORN_HOST_V6 0x10
#define STORE_HOST_V6 0x20
/* From this many zero bytes on, properties may look like a torn record. */
#define SECTOR 512

static PyObject *crc32_of; /* zlib.crc32 */

/* What a batch send has, by the names of its attributes; in the order of NAMES. */
enum { BODY, TOPIC, BORN_HOST, STORE_HOST, QUEUE_ID, SYS_FLAG, BORN_TIMESTAMP, RECONSUME_TIMES, ATTRIBUTES };
static const char *const NAMES[ATTRIBUTES] = {
    "body", "topic", "born_host", "store_host", "queue_id", "sys_flag", "born_timestamp", "reconsume_times"};
static PyObject *names[ATTRIBUTES];

/* CRC-32 of these bytes without its top bit; -1 with an exception set. */
static int64_t crc_of(const unsigned char *data, Py_ssize_t size)
{
    PyObject *view = PyMemoryView_FromMemory((char *)data, size, PyBUF_READ);
    if (view == NULL)
        return -1;
    PyObject *result = PyObject_CallOneArg(crc32_of, view);
    Py_DECREF(view);
    if (result == NULL)
        return -1;
    unsigned long value = PyLong_AsUnsignedLongMask(result);
    Py_DECREF(result);
    return (int64_t)(value & 0x7FFFFFFF);
}

/* One message of a batch's body. */
typedef struct {
    uint32_t flag;
    const unsigned char *body, *properties;
    Py_ssize_t body_size, properties_size;
} Item;

/* The item at `at`; where it ends, or NULL when it is not one. */
static const unsigned char *next_item(const unsigned char *at, const unsigned char *end, Item *item)
{
    Py_ssize_t left = end - at;
    if (left < ITEM_LEAST)
        return NULL;
    uint32_t body_size = get32(at + 16);
    if (body_size > (uint64_t)(left - ITEM_LEAST))
        return NULL;
    item->flag = get32(at + 12);
    item->body = at + ITEM_HEAD;
    item->body_size = body_size;
    item->properties = item->body + body_size + 2;
    item->properties_size = (Py_ssize_t)get16(item->properties - 2);
    if (item->properties_size > 32767 || item->properties_size > end - item->properties)
        return NULL;
    return item->properties + item->properties_size;
}

/* What the records of a batch share. */
typedef struct {
    const char *topic, *born_host, *store_host;
    Py_ssize_t topic_size, born_host_size, store_host_size;
    long long queue_id, sys_flag, reconsume_times, born_timestamp, store_timestamp;
    Py_ssize_t longest_body;
} Common;

/* Bytes of the records of all items; -1 when one is not ordinary. Counts the items. */
static Py_ssize_t measure(const Common *c, const unsigned char *data, Py_ssize_t size, Py_ssize_t *count)
{
    const unsigned char *end = data + size;
    Py_ssize_t total = 0;
    *count = 0;
    while (data < end) {
        Item item;
        data = next_item(data, end, &item);
        if (data == NULL || item.body_size > c->longest_body || item.properties_size >= SECTOR)
            return -1;
        if (item.properties_size > 0 && item.properties[item.properties_size - 1] == 0)
            return -1;
        total += RECORD_FIXED + c->born_host_size + c->store_host_size + c->topic_size;
        total += item.body_size + item.properties_size;
        *count += 1;
    }
    return total;
}

/* Write one record; where it ends, or NULL with an exception set. */
static unsigned char *put_record(
    unsigned char *at, const Common *c, const Item *item, uint64_t queue_offset, uint64_t position)
{
    int64_t crc = crc_of(item->body, item->body_size);
    if (crc < 0)
        return NULL;
    Py_ssize_t size = RECORD_FIXED + c->born_host_size + c->store_host_size + c->topic_size;
    at = put32(at, (uint32_t)(size + item->body_size + item->properties_size));
    at = put32(at, MAGIC_V1);
    at = put32(at, (uint32_t)crc);
    at = put32(at, (uint32_t)c->queue_id);
    at = put32(at, item->flag);
    at = put64(at, queue_offset);
    at = put64(at, position);
    at = put32(at, (uint32_t)c->sys_flag);
    at = put64(at, (uint64_t)c->born_timestamp);
    at = put(at, c->born_host, c->born_host_size);
    at = put64(at, (uint64_t)c->store_timestamp);
    at = put(at, c->store_host, c->store_host_size);
    at = put32(at, (uint32_t)c->reconsume_times);
    /* The offset of a prepared message: batches have none. */
    at = put64(at, 0);
    at = put32(at, (uint32_t)item->body_size);
    at = put(at, item->body, item->body_size);
    at = put8(at, (unsigned)c->topic_size);
    at = put(at, c->topic, c->topic_size);
    at = put16(at, (unsigned)item->properties_size);
    return put(at, item->properties, item->properties_size);
}

/* Fill the records and the two lists, which have the right lengths; -1 with an exception set. */
static int put_records(
    const Common *c, const unsigned char *data, const unsigned char *end, uint64_t queue_offset, uint64_t position,
    PyObject *records, PyObject *sizes, PyObject *properties)
{
    unsigned char *at = (unsigned char *)PyBytes_AS_STRING(records);
    for (Py_ssize_t index = 0; data < end; index++) {
        Item item;
        data = next_item(data, end, &item);
        if (data == NULL) {
            /* It was there when the batch was measured. */
            PyErr_SetString(PyExc_SystemError, "the batch has changed");
            return -1;
        }
        unsigned char *stop = put_record(at, c, &item, queue_offset + (uint64_t)index, position);
        if (stop == NULL)
            return -1;
        PyObject *size = PyLong_FromSsize_t(stop - at);
        PyObject *block = PyBytes_FromStringAndSize((const char *)item.properties, item.properties_size);
        if (size != NULL)
            PyList_SET_ITEM(sizes, index, size);
        if (block != NULL)
            PyList_SET_ITEM(properties, index, block);
        if (size == NULL || block == NULL)
            return -1;
        position += (uint64_t)(stop - at);
        at = stop;
    }
    return 0;
}

/* A number of so many bits; 0 when it is none, or with an exception set. */
static int take_number(PyObject *value, int bits, long long *number)
{
    int overflow = 0;
    if (!PyLong_Check(value)) {
        PyErr_Format(PyExc_TypeError, "encode_batch: a whole number is wanted, not %R", Py_TYPE(value));
        return 0;
    }
    *number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return !overflow && (bits == 64 || (INT32_MIN <= *number && *number <= INT32_MAX));
}

/* Look at what the records have in common; 0 when that is not ordinary, or with an exception set. */
static int take_common(PyObject *const *values, PyObject *const *args, Common *c)
{
    for (int name = BODY; name <= STORE_HOST; name++) {
        if (name == TOPIC ? !PyUnicode_Check(values[name]) : !PyBytes_Check(values[name])) {
            PyErr_Format(PyExc_TypeError, "encode_batch: %s is %R", NAMES[name], Py_TYPE(values[name]));
            return 0;
        }
    }
    c->topic = PyUnicode_AsUTF8AndSize(values[TOPIC], &c->topic_size);
    c->born_host = PyBytes_AS_STRING(values[BORN_HOST]);
    c->born_host_size = PyBytes_GET_SIZE(values[BORN_HOST]);
    c->store_host = PyBytes_AS_STRING(values[STORE_HOST]);
    c->store_host_size = PyBytes_GET_SIZE(values[STORE_HOST]);
    c->longest_body = PyLong_AsSsize_t(args[4]);
    if (c->topic == NULL || PyErr_Occurred())
        return 0;
    return take_number(values[QUEUE_ID], 32, &c->queue_id) && take_number(values[SYS_FLAG], 32, &c->sys_flag)
        && take_number(values[RECONSUME_TIMES], 32, &c->reconsume_times)
        && take_number(values[BORN_TIMESTAMP], 64, &c->born_timestamp)
        && take_number(args[3], 64, &c->store_timestamp) && c->topic_size <= LONGEST_V1_TOPIC
        && c->born_host_size == (c->sys_flag & BORN_HOST_V6 ? 20 : 8)
        && c->store_host_size == (c->sys_flag & STORE_HOST_V6 ? 20 : 8);
}

/* The records, sizes and properties of a send whose attributes these are; None when it is not ordinary. */
static PyObject *encode(PyObject *const *values, PyObject *const *args)
{
    Common c;
    long long queue_offset, position;
    Py_ssize_t count = 0, total = -1;
    if (take_common(values, args, &c) && take_number(args[1], 64, &queue_offset)
        && take_number(args[2], 64, &position)) {
        const unsigned char *data = (const unsigned char *)PyBytes_AS_STRING(values[BODY]);
        total = measure(&c, data, PyBytes_GET_SIZE(values[BODY]), &count);
    }
    if (PyErr_Occurred())
        return NULL;
    /* No number of a record may be past the largest. */
    if (total <= 0 || position > INT64_MAX - total || queue_offset > INT64_MAX - count)
        Py_RETURN_NONE;
    const unsigned char *start = (const unsigned char *)PyBytes_AS_STRING(values[BODY]);
    const unsigned char *end = start + PyBytes_GET_SIZE(values[BODY]);
    PyObject *records = PyBytes_FromStringAndSize(NULL, total);
    PyObject *sizes = PyList_New(count);
    PyObject *properties = PyList_New(count);
    PyObject *result = NULL;
    if (records != NULL && sizes != NULL && properties != NULL
        && put_records(&c, start, end, (uint64_t)queue_offset, (uint64_t)position, records, sizes, properties) == 0)
        result = PyTuple_Pack(3, records, sizes, properties);
    Py_XDECREF(records);
    Py_XDECREF(sizes);
    Py_XDECREF(properties);
    return result;
}

PyDoc_STRVAR(encode_batch_doc,
    "encode_batch(send, queue_offset, position, store_timestamp, longest_body)\n\n"
    "The records of a batch's items one after another, their sizes, their properties; None: unusual.");

static PyObject *encode_batch(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *values[ATTRIBUTES] = {0}, *result = NULL;
    if (nargs != 5) {
        PyErr_SetString(PyExc_TypeError, "encode_batch(send, int, int, int, int)");
        return NULL;
    }
    int name = 0;
    while (name < ATTRIBUTES && (values[name] = PyObject_GetAttr(args[0], names[name])) != NULL)
        name++;
    if (name == ATTRIBUTES)
        result = encode(values, args);
    for (name = 0; name < ATTRIBUTES; name++)
        Py_XDECREF(values[name]);
    return result;
}

PyDoc_STRVAR(message_ids_doc,
    "message_ids(start, position, sizes)\n\n"
    "The ids of consecutive records, joined by commas: start and 16 digits each. ValueError: the\n"
    "start is no ASCII text, or no record lies there.");

static PyObject *message_ids(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const char digits[] = "0123456789ABCDEF";
    long long position;
    PyObject *start, *sizes;
    if (!PyArg_ParseTuple(args, "ULO!:message_ids", &start, &position, &PyList_Type, &sizes))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(sizes), start_size = PyUnicode_GET_LENGTH(start);
    if (!PyUnicode_IS_ASCII(start) || position < 0) {
        PyErr_SetString(PyExc_ValueError, "an id begins with ASCII text, and its position is not negative");
        return NULL;
    }
    if (count > PY_SSIZE_T_MAX / (start_size + 17))
        return PyErr_NoMemory();
    PyObject *text = PyUnicode_New(count > 0 ? count * (start_size + 17) - 1 : 0, 127);
    if (text == NULL)
        return NULL;
    unsigned char *at = PyUnicode_1BYTE_DATA(text);
    for (Py_ssize_t index = 0; index < count; index++) {
        if (index > 0)
            at = put8(at, ',');
        at = put(at, PyUnicode_1BYTE_DATA(start), start_size);
        for (int shift = 60; shift >= 0; shift -= 4)
            at = put8(at, (unsigned char)digits[position >> shift & 15]);
        long long size = number_at(sizes, index);
        if (!PyErr_Occurred() && (size < 0 || position > INT64_MAX - size))
            PyErr_SetString(PyExc_ValueError, "no record has such a size at its position");
        if (PyErr_Occurred()) {
            Py_DECREF(text);
            return NULL;
        }
        position += size;
    }
    return text;
}

static PyMethodDef methods[] = {
    {"encode_batch", (PyCFunction)(void (*)(void))encode_batch, METH_FASTCALL, encode_batch_doc},
    {"message_ids", message_ids, METH_VARARGS, message_ids_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef batches = {
    PyModuleDef_HEAD_INIT, "trimq.codec.native._batches", "codec/native/batches.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__batches(void)
{
    PyObject *zlib = PyImport_ImportModule("zlib");
    if (zlib == NULL)
        return NULL;
    crc32_of = PyObject_GetAttrString(zlib, "crc32");
    Py_DECREF(zlib);
    for (int name = 0; name < ATTRIBUTES; name++)
        if ((names[name] = PyUnicode_InternFromString(NAMES[name])) == NULL)
            return NULL;
    return crc32_of == NULL ? NULL : PyModule_Create(&batches);
}
