/*
 * Records found and chosen: rows that say where everything lies in them.
 *
 * spark/records/scan_python.py does the same in Python; tests compare the two. docs/decisions/0003 says
 * why this is not Python.
 */
#include "rows.h"

#define FIXED_SIZE 91
#define MAGIC_V1 0xDAA320A7u
#define MAGIC_V2 0xDAA320ABu

static PyObject *crc32_of; /* zlib.crc32 */

/* Fill a row from the record at `at`; 0 when there is no whole one before `end`. */
static int read_row(const unsigned char *buffer, Py_ssize_t at, Py_ssize_t end, int64_t base, int64_t *row)
{
    if (end - at < FIXED_SIZE)
        return 0;
    const unsigned char *head = buffer + at;
    row[SIZE] = get32(head);
    row[MAGIC] = get32(head + 4);
    row[CRC] = get32(head + 8);
    row[QUEUE_ID] = (int32_t)get32(head + 12);
    row[FLAG] = (int32_t)get32(head + 16);
    row[QUEUE_OFFSET] = get64(head + 20);
    row[PHYSICAL_OFFSET] = get64(head + 28);
    row[SYS_FLAG] = (int32_t)get32(head + 36);
    row[BORN_TIMESTAMP] = get64(head + 40);
    row[BORN_HOST] = at + 48;
    row[STOP] = at + row[SIZE];
    Py_ssize_t place = at + 48 + host_size(row, BORN_HOST_V6);
    row[BODY_AT] = place + 8 + host_size(row, STORE_HOST_V6) + 16;
    if (row[BODY_AT] + 3 > end)
        return 0;
    row[STORE_TIMESTAMP] = get64(buffer + place);
    row[STORE_HOST] = place + 8;
    place += 8 + host_size(row, STORE_HOST_V6);
    row[RECONSUME_TIMES] = (int32_t)get32(buffer + place);
    row[PREPARED] = get64(buffer + place + 4);
    row[BODY_LENGTH] = get32(buffer + place + 12);
    int64_t topic_at = row[BODY_AT] + row[BODY_LENGTH] + 1, stop = row[STOP];
    if (stop > end || topic_at + 2 > stop || (base >= 0 && row[PHYSICAL_OFFSET] != base + at))
        return 0;
    int64_t topic_length = buffer[topic_at - 1];
    if (row[MAGIC] == MAGIC_V2)
        topic_length = topic_length << 8 | buffer[topic_at++];
    else if (row[MAGIC] != MAGIC_V1)
        return 0;
    row[TOPIC_AT] = topic_at;
    row[PROPERTIES_AT] = topic_at + topic_length + 2;
    return row[PROPERTIES_AT] <= stop && row[PROPERTIES_AT] + get16(buffer + row[PROPERTIES_AT] - 2) == stop;
}

PyDoc_STRVAR(outline_doc,
    "outline(buffer, at, end, base)\n\n"
    "The packed rows of the records from `at` on, and where the last one ended: codec.records.record.outline_records.");

static PyObject *outline(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer buffer;
    Py_ssize_t at, end, count = 0, room = 1024;
    long long base;
    if (!PyArg_ParseTuple(args, "y*nnL:outline", &buffer, &at, &end, &base))
        return NULL;
    PyObject *result = NULL;
    Row *rows = NULL;
    if (at < 0 || end > buffer.len) {
        PyErr_SetString(PyExc_ValueError, "outline: the bounds lie outside of the buffer");
        goto done;
    }
    rows = PyMem_Malloc((size_t)room * sizeof(Row));
    while (rows != NULL && read_row(buffer.buf, at, end, base, rows[count])) {
        at = (Py_ssize_t)rows[count][STOP];
        if (++count == room) {
            Row *more = PyMem_Realloc(rows, (size_t)(room *= 2) * sizeof(Row));
            if (more == NULL)
                PyMem_Free(rows);
            rows = more;
        }
    }
    if (rows == NULL)
        PyErr_NoMemory();
    else
        result = Py_BuildValue("y#n", (const char *)rows, count * (Py_ssize_t)sizeof(Row), at);
done:
    PyMem_Free(rows);
    PyBuffer_Release(&buffer);
    return result;
}

/* Whether the number or text is in the set, or there is no set; -1 with an exception set. Steals the reference. */
static int is_in(PyObject *set, PyObject *key)
{
    int found = key == NULL ? -1 : PySet_Contains(set, key);
    Py_XDECREF(key);
    return found;
}

static int is_wanted(
    const Records *records, const int64_t *row, PyObject *topics, PyObject *queue_ids)
{
    int found = 1;
    if (queue_ids != Py_None)
        found = is_in(queue_ids, PyLong_FromLongLong(row[QUEUE_ID]));
    if (found == 1 && topics != Py_None) {
        const char *topic = (const char *)records->data + row[TOPIC_AT];
        found = is_in(topics, PyBytes_FromStringAndSize(topic, row[PROPERTIES_AT] - 2 - row[TOPIC_AT]));
    }
    return found;
}

PyDoc_STRVAR(select_doc,
    "select(packed, buffer, start, end, topics, queue_ids)\n\n"
    "The rows stored from `start` on and before `end`, of these sets of topics (bytes) and queues; None: of any.");

static PyObject *select_rows(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *packed, *buffer, *topics, *queue_ids;
    long long start, end;
    Records records;
    if (!PyArg_ParseTuple(args, "SSLLOO:select", &packed, &buffer, &start, &end, &topics, &queue_ids)
        || !take_records(packed, buffer, &records))
        return NULL;
    if ((topics != Py_None && !PyAnySet_Check(topics)) || (queue_ids != Py_None && !PyAnySet_Check(queue_ids))) {
        PyErr_SetString(PyExc_TypeError, "select: topics and queue_ids are sets or None");
        return NULL;
    }
    PyObject *kept = PyBytes_FromStringAndSize(NULL, PyBytes_GET_SIZE(packed));
    if (kept == NULL)
        return NULL;
    Row *to = (Row *)PyBytes_AS_STRING(kept);
    Py_ssize_t count = 0;
    for (Py_ssize_t index = 0; index < records.count; index++) {
        const int64_t *row = records.rows[index];
        if (row[STORE_TIMESTAMP] < start || row[STORE_TIMESTAMP] >= end)
            continue;
        int found = is_wanted(&records, row, topics, queue_ids);
        if (found < 0) {
            Py_DECREF(kept);
            return NULL;
        }
        if (found)
            memcpy(to[count++], row, sizeof(Row));
    }
    return _PyBytes_Resize(&kept, count * (Py_ssize_t)sizeof(Row)) < 0 ? NULL : kept;
}

/* Whether the body is the one that the CRC is of: nothing is, where there is no body. -1 with an exception set. */
static int body_holds(const Records *records, const int64_t *row)
{
    if (row[BODY_LENGTH] == 0)
        return 1;
    char *body = (char *)records->data + row[BODY_AT];
    PyObject *view = PyMemoryView_FromMemory(body, (Py_ssize_t)row[BODY_LENGTH], PyBUF_READ);
    PyObject *crc = view == NULL ? NULL : PyObject_CallOneArg(crc32_of, view);
    Py_XDECREF(view);
    if (crc == NULL)
        return -1;
    unsigned long value = PyLong_AsUnsignedLongMask(crc);
    Py_DECREF(crc);
    return (int64_t)(value & 0x7FFFFFFF) == row[CRC];
}

/* Whether nothing of the record can be the zeros that a torn write leaves; -1 with an exception set. */
static int is_whole(const Records *records, const int64_t *row)
{
    const unsigned char *data = records->data;
    if (memchr(data + row[TOPIC_AT], 0, (size_t)(row[PROPERTIES_AT] - 2 - row[TOPIC_AT])) != NULL)
        return 0;
    if (row[PROPERTIES_AT] < row[STOP] && data[row[STOP] - 1] == 0)
        return 0;
    return body_holds(records, row);
}

PyDoc_STRVAR(sound_doc,
    "sound(packed, buffer, unsure)\n\n"
    "The rows without those stored at `unsure` or later that are there in part.");

static PyObject *sound(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *packed, *buffer;
    long long unsure;
    Records records;
    if (!PyArg_ParseTuple(args, "SSL:sound", &packed, &buffer, &unsure) || !take_records(packed, buffer, &records))
        return NULL;
    PyObject *kept = PyBytes_FromStringAndSize(NULL, PyBytes_GET_SIZE(packed));
    if (kept == NULL)
        return NULL;
    Row *to = (Row *)PyBytes_AS_STRING(kept);
    Py_ssize_t count = 0;
    for (Py_ssize_t index = 0; index < records.count; index++) {
        const int64_t *row = records.rows[index];
        int whole = row[STORE_TIMESTAMP] < unsure ? 1 : is_whole(&records, row);
        if (whole < 0) {
            Py_DECREF(kept);
            return NULL;
        }
        if (whole)
            memcpy(to[count++], row, sizeof(Row));
    }
    return _PyBytes_Resize(&kept, count * (Py_ssize_t)sizeof(Row)) < 0 ? NULL : kept;
}

PyDoc_STRVAR(flagged_doc, "flagged(packed, flags)\n\nWhether a row has all of these flags in its sysFlag.");

static PyObject *flagged(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *packed;
    Py_ssize_t size;
    int flags, found = 0;
    if (!PyArg_ParseTuple(args, "y#i:flagged", &packed, &size, &flags))
        return NULL;
    const Row *rows = (const Row *)packed;
    for (Py_ssize_t index = 0; index < size / (Py_ssize_t)sizeof(Row) && !found; index++)
        found = ((int)rows[index][SYS_FLAG] & flags) == flags;
    return PyBool_FromLong(found);
}

static PyMethodDef methods[] = {
    {"outline", outline, METH_VARARGS, outline_doc},
    {"select", select_rows, METH_VARARGS, select_doc},
    {"sound", sound, METH_VARARGS, sound_doc},
    {"flagged", flagged, METH_VARARGS, flagged_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef rows_module = {
    PyModuleDef_HEAD_INIT, "trimq.codec.native._rows", "Records found and chosen, in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__rows(void)
{
    PyObject *zlib = PyImport_ImportModule("zlib");
    if (zlib == NULL)
        return NULL;
    crc32_of = PyObject_GetAttrString(zlib, "crc32");
    Py_DECREF(zlib);
    return crc32_of == NULL ? NULL : PyModule_Create(&rows_module);
}
