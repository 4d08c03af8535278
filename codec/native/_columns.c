/*
 * Rows to columns: the buffers of Arrow's arrays.
 *
 * spark/records/columns.py does the same in Python; tests compare the two. Anything unusual
 * (a property that occurs twice, times beyond any calendar, more bytes than an array's offsets can express) is answered
 * with None. docs/decisions/0003 says why this is not Python.
 */
#include "rows.h"

/* More hosts than that in one buffer count as unusual. */
#define MOST_HOSTS 64
/* Nor are more properties than that in one message: a key twice would be searched for too long. */
#define MOST_ENTRIES 64

PyDoc_STRVAR(numbers_doc,
    "numbers(packed, field, size, factor, least, most)\n\n"
    "A field of all rows as numbers of so many bytes, times a factor; None: one is out of the bounds or does not fit.");

static PyObject *numbers(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *packed;
    Py_ssize_t length;
    int field, size;
    long long factor, least, most;
    if (!PyArg_ParseTuple(args, "y#iiLLL:numbers", &packed, &length, &field, &size, &factor, &least, &most))
        return NULL;
    if (field < 0 || field >= FIELDS || (size != 4 && size != 8) || factor < 1) {
        PyErr_SetString(PyExc_ValueError, "numbers: no such field or size");
        return NULL;
    }
    const Row *rows = (const Row *)packed;
    Py_ssize_t count = length / (Py_ssize_t)sizeof(Row);
    PyObject *made = PyBytes_FromStringAndSize(NULL, count * size);
    if (made == NULL)
        return NULL;
    int64_t largest = size == 4 ? INT32_MAX : INT64_MAX, smallest = -largest - 1;
    most = most < largest / factor ? most : largest / factor;
    least = least > smallest / factor ? least : smallest / factor;
    char *to = PyBytes_AS_STRING(made);
    for (Py_ssize_t index = 0; index < count; index++, to += size) {
        int64_t value = rows[index][field];
        if (value > most || value < least) {
            Py_DECREF(made);
            Py_RETURN_NONE;
        }
        value *= factor;
        int32_t narrow = (int32_t)value;
        memcpy(to, size == 4 ? (void *)&narrow : (void *)&value, (size_t)size);
    }
    return made;
}

/* Consecutive texts, and where each begins; the last offset is where the last one ends. */
typedef struct {
    PyObject *offsets, *data;
    int32_t *offset;
    char *at;
    int64_t size, count;
} Texts;

static void drop_texts(Texts *texts)
{
    Py_CLEAR(texts->offsets);
    Py_CLEAR(texts->data);
}

/* Room for so many texts and bytes; 0 with an exception set. */
static int begin_texts(Texts *texts, Py_ssize_t count, Py_ssize_t size)
{
    texts->offsets = PyBytes_FromStringAndSize(NULL, (count + 1) * (Py_ssize_t)sizeof(int32_t));
    texts->data = PyBytes_FromStringAndSize(NULL, size);
    if (texts->offsets == NULL || texts->data == NULL) {
        drop_texts(texts);
        return 0;
    }
    texts->offset = (int32_t *)PyBytes_AS_STRING(texts->offsets);
    texts->at = PyBytes_AS_STRING(texts->data);
    texts->size = texts->count = 0;
    texts->offset[0] = 0;
    return 1;
}

static void add_text(Texts *texts, const void *data, Py_ssize_t size)
{
    memcpy(texts->at + texts->size, data, (size_t)size);
    texts->size += size;
    texts->offset[++texts->count] = (int32_t)texts->size;
}

/* Give back what was not used; 0 with an exception set. */
static int end_texts(Texts *texts)
{
    return _PyBytes_Resize(&texts->offsets, (texts->count + 1) * (Py_ssize_t)sizeof(int32_t)) == 0
        && _PyBytes_Resize(&texts->data, texts->size) == 0;
}

static int is_ascii(const Texts *texts)
{
    const unsigned char *at = (const unsigned char *)PyBytes_AS_STRING(texts->data), *end = at + texts->size;
    uint64_t all = 0, word;
    for (; end - at >= 8; at += 8) {
        memcpy(&word, at, 8);
        all |= word;
    }
    for (; at < end; at++)
        all |= *at;
    return (all & 0x8080808080808080u) == 0;
}

PyDoc_STRVAR(cut_doc,
    "cut(packed, buffer, bodies)\n\n"
    "All bodies, or else topics: offsets, bytes, and whether those are ASCII (of bodies: False). None: they are too\n"
    "many bytes.");

static PyObject *cut(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *packed, *buffer;
    int bodies;
    Records records;
    if (!PyArg_ParseTuple(args, "SSp:cut", &packed, &buffer, &bodies) || !take_records(packed, buffer, &records))
        return NULL;
    int64_t total = 0;
    for (Py_ssize_t index = 0; index < records.count; index++) {
        const int64_t *row = records.rows[index];
        total += bodies ? row[BODY_LENGTH] : row[PROPERTIES_AT] - 2 - row[TOPIC_AT];
    }
    if (total > INT32_MAX)
        Py_RETURN_NONE;
    Texts texts;
    if (!begin_texts(&texts, records.count, (Py_ssize_t)total))
        return NULL;
    for (Py_ssize_t index = 0; index < records.count; index++) {
        const int64_t *row = records.rows[index];
        if (bodies)
            add_text(&texts, records.data + row[BODY_AT], (Py_ssize_t)row[BODY_LENGTH]);
        else
            add_text(&texts, records.data + row[TOPIC_AT], (Py_ssize_t)(row[PROPERTIES_AT] - 2 - row[TOPIC_AT]));
    }
    return Py_BuildValue("NNO", texts.offsets, texts.data, !bodies && is_ascii(&texts) ? Py_True : Py_False);
}

/* Bytes of all properties; more than an array's offsets can say: -1. */
static Py_ssize_t properties_size(const Records *records)
{
    int64_t total = 0;
    for (Py_ssize_t index = 0; index < records->count; index++)
        total += records->rows[index][STOP] - records->rows[index][PROPERTIES_AT];
    return total > INT32_MAX ? -1 : (Py_ssize_t)total;
}

static const unsigned char *entry_end(const unsigned char *at, const unsigned char *end)
{
    const unsigned char *stop = memchr(at, 2, (size_t)(end - at));
    return stop == NULL ? end : stop;
}

PyDoc_STRVAR(property_doc,
    "property(packed, buffer, key)\n\n"
    "One property of all messages: a bitmap of those that have it, how many have not, offsets, bytes, whether ASCII.\n"
    "None: they are too many bytes.");

static PyObject *property(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *packed, *buffer;
    const char *key;
    Py_ssize_t key_size, absent = 0;
    Records records;
    if (!PyArg_ParseTuple(args, "SSy#:property", &packed, &buffer, &key, &key_size)
        || !take_records(packed, buffer, &records))
        return NULL;
    Py_ssize_t room = properties_size(&records);
    if (room < 0)
        Py_RETURN_NONE;
    PyObject *bitmap = PyBytes_FromStringAndSize(NULL, (records.count + 7) / 8);
    Texts texts;
    if (bitmap == NULL || !begin_texts(&texts, records.count, room)) {
        Py_XDECREF(bitmap);
        return NULL;
    }
    unsigned char *bits = (unsigned char *)PyBytes_AS_STRING(bitmap);
    memset(bits, 0, (size_t)(records.count + 7) / 8);
    for (Py_ssize_t index = 0; index < records.count; index++) {
        const unsigned char *at = records.data + records.rows[index][PROPERTIES_AT];
        const unsigned char *end = records.data + records.rows[index][STOP], *value = NULL, *value_end = NULL;
        while (at < end) {
            const unsigned char *stop = entry_end(at, end);
            if (stop - at > key_size + 1 && at[key_size] == 1 && memcmp(at, key, (size_t)key_size) == 0) {
                value = at + key_size + 1;
                value_end = stop;
            }
            at = behind(stop, end);
        }
        if (value != NULL)
            bits[index / 8] |= (unsigned char)(1 << index % 8);
        else
            absent++;
        add_text(&texts, value == NULL ? end : value, value == NULL ? 0 : value_end - value);
    }
    if (!end_texts(&texts)) {
        Py_DECREF(bitmap);
        drop_texts(&texts);
        return NULL;
    }
    int ascii = is_ascii(&texts);
    return Py_BuildValue("NnNNO", bitmap, absent, texts.offsets, texts.data, ascii ? Py_True : Py_False);
}

/* Take a message's entries; 0 when one is not ordinary. */
static int take_entries(const unsigned char *at, const unsigned char *end, Texts *keys, Texts *values)
{
    int64_t first = keys->count;
    while (at < end) {
        const unsigned char *stop = entry_end(at, end);
        const unsigned char *colon = memchr(at, 1, (size_t)(stop - at));
        /* Without a name or a value it is none. */
        if (colon != NULL && colon > at && colon + 1 < stop) {
            if (keys->count - first == MOST_ENTRIES)
                return 0;
            Py_ssize_t size = colon - at;
            for (int64_t other = first; other < keys->count; other++) {
                int32_t start = keys->offset[other];
                if (keys->offset[other + 1] - start == size && memcmp(keys->at + start, at, (size_t)size) == 0)
                    return 0;
            }
            add_text(keys, at, size);
            add_text(values, colon + 1, stop - colon - 1);
        }
        at = behind(stop, end);
    }
    return 1;
}

PyDoc_STRVAR(properties_doc,
    "properties(packed, buffer)\n\n"
    "All properties: each message's first entry, and offsets and bytes of keys and of values, and whether all are\n"
    "ASCII. None: a message has a key twice, or very many, or they are too many bytes.");

static PyObject *properties(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *packed, *buffer, *result = NULL;
    Records records;
    if (!PyArg_ParseTuple(args, "SS:properties", &packed, &buffer) || !take_records(packed, buffer, &records))
        return NULL;
    Py_ssize_t room = properties_size(&records);
    if (room < 0)
        Py_RETURN_NONE;
    Texts keys = {0}, values = {0};
    /* An entry takes four bytes; the last one of a message may lack its end. */
    Py_ssize_t entries = room / 4 + records.count;
    PyObject *firsts = PyBytes_FromStringAndSize(NULL, (records.count + 1) * (Py_ssize_t)sizeof(int32_t));
    if (firsts == NULL || !begin_texts(&keys, entries, room) || !begin_texts(&values, entries, room))
        goto done;
    int32_t *first = (int32_t *)PyBytes_AS_STRING(firsts);
    first[0] = 0;
    for (Py_ssize_t index = 0; index < records.count; index++) {
        const int64_t *row = records.rows[index];
        if (!take_entries(records.data + row[PROPERTIES_AT], records.data + row[STOP], &keys, &values)) {
            result = Py_NewRef(Py_None);
            goto done;
        }
        first[index + 1] = (int32_t)keys.count;
    }
    if (end_texts(&keys) && end_texts(&values))
        result = Py_BuildValue("OOOOOO", firsts, keys.offsets, keys.data, values.offsets, values.data,
            is_ascii(&keys) && is_ascii(&values) ? Py_True : Py_False);
done:
    Py_XDECREF(firsts);
    drop_texts(&keys);
    drop_texts(&values);
    return result;
}

PyDoc_STRVAR(offset_ids_doc,
    "offset_ids(packed, buffer)\n\n"
    "Offsets and bytes of the ids that brokers give: codec.records.message_id.offset_message_id. None: too many bytes, or an\n"
    "offset is negative.");

static PyObject *offset_ids(PyObject *Py_UNUSED(module), PyObject *args)
{
    static const char digits[] = "0123456789ABCDEF";
    PyObject *packed, *buffer;
    Records records;
    if (!PyArg_ParseTuple(args, "SS:offset_ids", &packed, &buffer) || !take_records(packed, buffer, &records))
        return NULL;
    int64_t total = 0;
    int negative = 0;
    for (Py_ssize_t index = 0; index < records.count; index++) {
        total += 2 * host_size(records.rows[index], STORE_HOST_V6) + 16;
        negative |= records.rows[index][PHYSICAL_OFFSET] < 0;
    }
    Texts texts;
    if (total > INT32_MAX || negative)
        Py_RETURN_NONE;
    if (!begin_texts(&texts, records.count, (Py_ssize_t)total))
        return NULL;
    for (Py_ssize_t index = 0; index < records.count; index++) {
        const int64_t *row = records.rows[index];
        const unsigned char *host = records.data + row[STORE_HOST];
        char id[2 * LONGEST_HOST + 16], *at = id;
        for (int place = 0; place < host_size(row, STORE_HOST_V6); place++) {
            *at++ = digits[host[place] >> 4];
            *at++ = digits[host[place] & 15];
        }
        for (int shift = 60; shift >= 0; shift -= 4)
            *at++ = digits[(uint64_t)row[PHYSICAL_OFFSET] >> shift & 15];
        add_text(&texts, id, at - id);
    }
    return Py_BuildValue("NN", texts.offsets, texts.data);
}

/* The number of the host in the list, which gets those that are new; -1: too many, -2 with an exception set. */
static int number_of(PyObject *hosts, const char *host, Py_ssize_t size)
{
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(hosts); index++) {
        PyObject *known = PyList_GET_ITEM(hosts, index);
        if (PyBytes_GET_SIZE(known) == size && memcmp(PyBytes_AS_STRING(known), host, (size_t)size) == 0)
            return (int)index;
    }
    if (PyList_GET_SIZE(hosts) == MOST_HOSTS)
        return -1;
    PyObject *added = PyBytes_FromStringAndSize(host, size);
    int done = added == NULL ? -1 : PyList_Append(hosts, added);
    Py_XDECREF(added);
    return done < 0 ? -2 : (int)PyList_GET_SIZE(hosts) - 1;
}

PyDoc_STRVAR(hosts_doc,
    "hosts(packed, buffer, of_store)\n\n"
    "A number of four bytes for each row's host, and the hosts by number. None: they are too many.");

static PyObject *hosts(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *packed, *buffer;
    int of_store;
    Records records;
    if (!PyArg_ParseTuple(args, "SSp:hosts", &packed, &buffer, &of_store) || !take_records(packed, buffer, &records))
        return NULL;
    PyObject *made = PyBytes_FromStringAndSize(NULL, records.count * (Py_ssize_t)sizeof(int32_t));
    PyObject *list = PyList_New(0);
    int number = made == NULL || list == NULL ? -2 : 0;
    for (Py_ssize_t index = 0; index < records.count && number >= 0; index++) {
        const int64_t *row = records.rows[index];
        const char *host = (const char *)records.data + row[of_store ? STORE_HOST : BORN_HOST];
        number = number_of(list, host, host_size(row, of_store ? STORE_HOST_V6 : BORN_HOST_V6));
        ((int32_t *)PyBytes_AS_STRING(made))[index] = number;
    }
    if (number >= 0)
        return Py_BuildValue("NN", made, list);
    Py_XDECREF(made);
    Py_XDECREF(list);
    if (number == -2)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"numbers", numbers, METH_VARARGS, numbers_doc},
    {"cut", cut, METH_VARARGS, cut_doc},
    {"property", property, METH_VARARGS, property_doc},
    {"properties", properties, METH_VARARGS, properties_doc},
    {"offset_ids", offset_ids, METH_VARARGS, offset_ids_doc},
    {"hosts", hosts, METH_VARARGS, hosts_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef columns_module = {
    PyModuleDef_HEAD_INIT, "trimq.codec.native._columns", "Rows to columns, in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__columns(void)
{
    return PyModule_Create(&columns_module);
}
