/*
 * What a send costs for its one message: a look at its properties, its record, its id, its tag.
 *
 * codec/native/sends.py does the same in Python; tests compare the two. Nothing here decides anything:
 * anything unusual (a property that needs a decision, a malformed entry, a tag that is not ASCII) is
 * answered with None, and what does not fit a record is given to codec/records/record.py, which says so.
 */
#include "entries.h"

/* Lengths and numbers of a record, its hosts aside: codec/records/record.py. */
#define RECORD_FIXED 75
#define RECORD_FIELDS 14
#define MAGIC_V1 0xDAA320A7u
#define MAGIC_V2 0xDAA320ABu
#define LONGEST_V1_TOPIC 127
#define LONGEST_V2_TOPIC 65535
#define LONGEST_PROPERTIES 32767
#define BORN_HOST_V6 0x10
#define STORE_HOST_V6 0x20

static PyObject *crc32_of; /* zlib.crc32 */
static PyObject *plain_record; /* encode_record in Python */

/* --- properties */

PyDoc_STRVAR(sent_properties_doc,
    "sent_properties(text, added, deciding)\n\n"
    "The block as it is stored, with `added` at its end, the UNIQ_KEY and the hash of the tag. Without a\n"
    "UNIQ_KEY that is None and nothing is added. None: an entry is none, its key is there twice or among `deciding`,\n"
    "or there are very many.");

static PyObject *sent_properties(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !PyUnicode_Check(args[0]) || !PyBytes_Check(args[1]) || !PyTuple_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "sent_properties takes a str, bytes and a tuple of bytes");
        return NULL;
    }
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(args[2]); index++)
        if (!PyBytes_Check(PyTuple_GET_ITEM(args[2], index))) {
            PyErr_SetString(PyExc_TypeError, "sent_properties takes a str, bytes and a tuple of bytes");
            return NULL;
        }
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(args[0], &size);
    if (text == NULL) {
        /* Half a pair of surrogates: the twin says so. */
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    const char *end = text + size;
    Entry entry, unique = {NULL, NULL, 0, 0};
    int32_t tag = 0;
    Keys keys;
    keys.marks = 0;
    keys.count = 0;
    for (const char *at = text; at < end;) {
        at = next_entry(at, end, &entry);
        if (at == NULL || is_among(&entry, args[2]) || comes_again(&keys, &entry))
            Py_RETURN_NONE;
        if (has_key(&entry, "TAGS", 4)) {
            int plain;
            tag = java_hash(entry.value, entry.value_size, &plain);
            if (!plain)
                Py_RETURN_NONE;
        } else if (has_key(&entry, "UNIQ_KEY", 8)) {
            unique = entry;
        }
    }
    int open_end = size > 0 && end[-1] != ENTRY_END;
    Py_ssize_t added = unique.key == NULL ? 0 : PyBytes_GET_SIZE(args[1]);
    PyObject *block = PyBytes_FromStringAndSize(NULL, size + open_end + added);
    if (block == NULL)
        return NULL;
    unsigned char *to = put((unsigned char *)PyBytes_AS_STRING(block), text, size);
    if (open_end)
        *to++ = ENTRY_END;
    put(to, PyBytes_AS_STRING(args[1]), added);
    PyObject *found = unique.key == NULL ? Py_NewRef(Py_None) : PyUnicode_DecodeUTF8(unique.value, unique.value_size, NULL);
    PyObject *hash = PyLong_FromLong(tag), *result = PyTuple_New(3);
    if (found == NULL || hash == NULL || result == NULL) {
        Py_DECREF(block);
        Py_XDECREF(found);
        Py_XDECREF(hash);
        Py_XDECREF(result);
        return NULL;
    }
    PyTuple_SET_ITEM(result, 0, block);
    PyTuple_SET_ITEM(result, 1, found);
    PyTuple_SET_ITEM(result, 2, hash);
    return result;
}

PyDoc_STRVAR(tag_hash_doc,
    "tag_hash(properties)\n\n"
    "The Java hash of the last TAGS that has a value; 0: there is none; None: it is not ASCII.");

static PyObject *tag_hash(PyObject *Py_UNUSED(module), PyObject *properties)
{
    char *at;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(properties, &at, &size) < 0)
        return NULL;
    int32_t hash;
    if (!tag_hash_of(at, size, &hash))
        Py_RETURN_NONE;
    return PyLong_FromLong(hash);
}

/* --- records */

/* A number of so many bits with its sign; 0 in `fits` when it is none. */
static int64_t number_of(PyObject *value, int bits, int *fits)
{
    int overflow;
    if (!PyLong_Check(value)) {
        *fits = 0;
        return 0;
    }
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0 || (bits == 32 && (number < INT32_MIN || number > INT32_MAX)))
        *fits = 0;
    return number;
}

PyDoc_STRVAR(encode_record_doc,
    "encode_record(topic, queue_id, flag, queue_offset, physical_offset, sys_flag, born_timestamp, born_host,\n"
    "    store_timestamp, store_host, reconsume_times, prepared_transaction_offset, body, properties)\n\n"
    "The whole record. CodecError, struct.error: a value does not fit its field.");

static PyObject *encode_record(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != RECORD_FIELDS) {
        PyErr_SetString(PyExc_TypeError, "encode_record takes 14 arguments");
        return NULL;
    }
    PyObject *topic = args[0], *born_host = args[7], *store_host = args[9], *body = args[12], *properties = args[13];
    if (!PyBytes_Check(topic) || !PyBytes_Check(born_host) || !PyBytes_Check(store_host) || !PyBytes_Check(body)
        || !PyBytes_Check(properties))
        return PyObject_Vectorcall(plain_record, args, RECORD_FIELDS, NULL);
    int fits = 1;
    int64_t queue_id = number_of(args[1], 32, &fits), flag = number_of(args[2], 32, &fits);
    int64_t queue_offset = number_of(args[3], 64, &fits), position = number_of(args[4], 64, &fits);
    int64_t sys_flag = number_of(args[5], 32, &fits), born = number_of(args[6], 64, &fits);
    int64_t stored = number_of(args[8], 64, &fits), times = number_of(args[10], 32, &fits);
    int64_t prepared = number_of(args[11], 64, &fits);
    Py_ssize_t topic_size = PyBytes_GET_SIZE(topic), body_size = PyBytes_GET_SIZE(body);
    Py_ssize_t born_size = PyBytes_GET_SIZE(born_host), store_size = PyBytes_GET_SIZE(store_host);
    Py_ssize_t properties_size = PyBytes_GET_SIZE(properties);
    int long_topic = topic_size > LONGEST_V1_TOPIC;
    if (!fits || born_size != (sys_flag & BORN_HOST_V6 ? 20 : 8) || store_size != (sys_flag & STORE_HOST_V6 ? 20 : 8)
        || properties_size > LONGEST_PROPERTIES || topic_size > LONGEST_V2_TOPIC || body_size > INT32_MAX / 2)
        return PyObject_Vectorcall(plain_record, args, RECORD_FIELDS, NULL);
    PyObject *crc = PyObject_CallOneArg(crc32_of, body);
    if (crc == NULL)
        return NULL;
    uint32_t sum = (uint32_t)PyLong_AsUnsignedLongMask(crc) & 0x7FFFFFFF;
    Py_DECREF(crc);
    Py_ssize_t size = RECORD_FIXED + born_size + store_size + topic_size + long_topic + body_size + properties_size;
    PyObject *record = PyBytes_FromStringAndSize(NULL, size);
    if (record == NULL)
        return NULL;
    unsigned char *at = (unsigned char *)PyBytes_AS_STRING(record);
    at = put32(at, (uint32_t)size);
    at = put32(at, long_topic ? MAGIC_V2 : MAGIC_V1);
    at = put32(at, sum);
    at = put32(at, (uint32_t)queue_id);
    at = put32(at, (uint32_t)flag);
    at = put64(at, (uint64_t)queue_offset);
    at = put64(at, (uint64_t)position);
    at = put32(at, (uint32_t)sys_flag);
    at = put64(at, (uint64_t)born);
    at = put(at, PyBytes_AS_STRING(born_host), born_size);
    at = put64(at, (uint64_t)stored);
    at = put(at, PyBytes_AS_STRING(store_host), store_size);
    at = put32(at, (uint32_t)times);
    at = put64(at, (uint64_t)prepared);
    at = put32(at, (uint32_t)body_size);
    at = put(at, PyBytes_AS_STRING(body), body_size);
    if (long_topic)
        at = put16(at, (unsigned)topic_size);
    else
        *at++ = (unsigned char)topic_size;
    at = put(at, PyBytes_AS_STRING(topic), topic_size);
    at = put16(at, (unsigned)properties_size);
    put(at, PyBytes_AS_STRING(properties), properties_size);
    return record;
}

PyDoc_STRVAR(message_id_doc, "message_id(start, position)\n\nThe text and the position as 16 digits. ValueError: it is not ASCII, or no record lies there.");

static PyObject *message_id(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    static const char digits[] = "0123456789ABCDEF";
    if (count != 2 || !PyUnicode_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "message_id takes a str and an int");
        return NULL;
    }
    int fits = 1;
    int64_t position = number_of(args[1], 64, &fits);
    if (!fits || position < 0 || !PyUnicode_IS_ASCII(args[0])) {
        PyErr_SetString(PyExc_ValueError, "an id begins with ASCII text, and its position is not negative");
        return NULL;
    }
    Py_ssize_t size = PyUnicode_GET_LENGTH(args[0]);
    PyObject *text = PyUnicode_New(size + 16, 127);
    if (text == NULL)
        return NULL;
    unsigned char *at = put(PyUnicode_1BYTE_DATA(text), PyUnicode_1BYTE_DATA(args[0]), size);
    for (int shift = 60; shift >= 0; shift -= 4)
        *at++ = (unsigned char)digits[position >> shift & 15];
    return text;
}

PyDoc_STRVAR(property_text_doc,
    "property_text(properties, name)\n\n"
    "The text of the last property of that name, which ends as it is stored, that has a value; None without one.");

static PyObject *property_text(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyBytes_Check(args[0]) || !PyBytes_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "property_text takes two bytes");
        return NULL;
    }
    const char *at = PyBytes_AS_STRING(args[0]), *end = at + PyBytes_GET_SIZE(args[0]);
    const char *name = PyBytes_AS_STRING(args[1]), *found = NULL;
    Py_ssize_t name_size = PyBytes_GET_SIZE(args[1]), found_size = 0;
    while (at < end) {
        const char *stop = memchr(at, ENTRY_END, (size_t)(end - at));
        Py_ssize_t length = (stop == NULL ? end : stop) - at;
        if (length > name_size && memcmp(at, name, (size_t)name_size) == 0) {
            found = at + name_size;
            found_size = length - name_size;
        }
        at += stop == NULL ? length : length + 1;
    }
    if (found == NULL)
        Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(found, found_size, "replace");
}

static PyMethodDef methods[] = {
    {"encode_record", (PyCFunction)(void (*)(void))encode_record, METH_FASTCALL, encode_record_doc},
    {"message_id", (PyCFunction)(void (*)(void))message_id, METH_FASTCALL, message_id_doc},
    {"property_text", (PyCFunction)(void (*)(void))property_text, METH_FASTCALL, property_text_doc},
    {"sent_properties", (PyCFunction)(void (*)(void))sent_properties, METH_FASTCALL, sent_properties_doc},
    {"tag_hash", tag_hash, METH_O, tag_hash_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef sends = {
    PyModuleDef_HEAD_INIT, "trimq.codec.native._sends", "codec/native/sends.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__sends(void)
{
    PyObject *zlib = PyImport_ImportModule("zlib");
    if (zlib == NULL)
        return NULL;
    crc32_of = PyObject_GetAttrString(zlib, "crc32");
    Py_DECREF(zlib);
    PyObject *records = crc32_of == NULL ? NULL : PyImport_ImportModule("trimq.codec.records.record");
    if (records == NULL)
        return NULL;
    plain_record = PyObject_GetAttrString(records, "encode_record");
    Py_DECREF(records);
    return plain_record == NULL ? NULL : PyModule_Create(&sends);
}
