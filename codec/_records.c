/*
 * Records to columns, in C: where everything lies in them, and the buffers of Arrow arrays made of it.
 *
 * Every function has a twin in Python, which tests hold against it: codec/record.py, codec/properties.py and
 * spark/decode.py. What is out of the ordinary (a property that is there twice, times beyond any calendar, more bytes
 * than an array's offsets can say) is answered with None, and the twin does it. docs/decisions/0003 says why this is
 * not Python.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <string.h>

/* What is in a row, all of them int64_t: as in codec/record.py, but places for the hosts. */
enum {
    SIZE,
    MAGIC,
    CRC,
    QUEUE_ID,
    FLAG,
    QUEUE_OFFSET,
    PHYSICAL_OFFSET,
    SYS_FLAG,
    BORN_TIMESTAMP,
    BORN_HOST,
    STORE_TIMESTAMP,
    STORE_HOST,
    RECONSUME_TIMES,
    PREPARED,
    BODY_LENGTH,
    BODY_AT,
    TOPIC_AT,
    PROPERTIES_AT,
    STOP,
    FIELDS
};
typedef int64_t Row[FIELDS];

static PyObject *crc32_of; /* zlib.crc32 */

#define FIXED_SIZE 91
#define MAGIC_V1 0xDAA320A7u
#define MAGIC_V2 0xDAA320ABu
#define BORN_HOST_V6 0x10
#define STORE_HOST_V6 0x20
#define LONGEST_HOST 20
/* More hosts than that in one buffer are nothing ordinary. */
#define MOST_HOSTS 64
/* More properties than that in one message are looked at by the twin: a key twice would be searched for too long. */
#define MOST_ENTRIES 64

static uint32_t get16(const unsigned char *at)
{
    return (uint32_t)at[0] << 8 | at[1];
}

static uint32_t get32(const unsigned char *at)
{
    return get16(at) << 16 | get16(at + 2);
}

static int64_t get64(const unsigned char *at)
{
    return (int64_t)((uint64_t)get32(at) << 32 | get32(at + 4));
}

static int host_size(const int64_t *row, int flag)
{
    return row[SYS_FLAG] & flag ? 20 : 8;
}

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
    "The packed rows of the records from `at` on, and where the last one ended: codec.record.outline_records.");

static PyObject *outline(PyObject *module, PyObject *args)
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

/* Rows and the buffer in which they say where everything lies. */
typedef struct {
    const unsigned char *data;
    Py_ssize_t length, count;
    const Row *rows;
} Records;

/* Whether a row's places lie in the buffer in their order. */
static int fits(const int64_t *row, int64_t length)
{
    return 0 <= row[BORN_HOST] && row[BORN_HOST] <= length - LONGEST_HOST && 0 <= row[STORE_HOST]
        && row[STORE_HOST] <= length - LONGEST_HOST && 0 <= row[BODY_AT] && 0 <= row[BODY_LENGTH]
        && row[BODY_LENGTH] <= length && row[BODY_AT] <= row[TOPIC_AT] - row[BODY_LENGTH]
        && row[TOPIC_AT] <= row[PROPERTIES_AT] - 2 && row[PROPERTIES_AT] <= row[STOP] && row[STOP] <= length;
}

/* The two first arguments, packed rows and their buffer; 0 with an exception set. */
static int take_records(PyObject *packed, PyObject *buffer, Records *records)
{
    if (!PyBytes_Check(packed) || !PyBytes_Check(buffer) || PyBytes_GET_SIZE(packed) % (Py_ssize_t)sizeof(Row)) {
        PyErr_SetString(PyExc_TypeError, "rows as outline makes them, and their buffer, are wanted");
        return 0;
    }
    records->data = (const unsigned char *)PyBytes_AS_STRING(buffer);
    records->length = PyBytes_GET_SIZE(buffer);
    records->rows = (const Row *)PyBytes_AS_STRING(packed);
    records->count = PyBytes_GET_SIZE(packed) / (Py_ssize_t)sizeof(Row);
    for (Py_ssize_t index = 0; index < records->count; index++) {
        if (!fits(records->rows[index], records->length)) {
            PyErr_SetString(PyExc_ValueError, "these rows are not those of the buffer");
            return 0;
        }
    }
    return 1;
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

static PyObject *select_rows(PyObject *module, PyObject *args)
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

static PyObject *sound(PyObject *module, PyObject *args)
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

static PyObject *flagged(PyObject *module, PyObject *args)
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

PyDoc_STRVAR(numbers_doc,
    "numbers(packed, field, size, factor, least, most)\n\n"
    "A field of all rows as numbers of so many bytes, times a factor; None: one is out of the bounds or does not fit.");

static PyObject *numbers(PyObject *module, PyObject *args)
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

/* Texts one behind the other, and where each begins; the last offset is where the last one ends. */
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

static PyObject *cut(PyObject *module, PyObject *args)
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

static PyObject *property(PyObject *module, PyObject *args)
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
        const unsigned char *end = records.data + records.rows[index][STOP], *value = NULL, *behind = NULL;
        while (at < end) {
            const unsigned char *stop = entry_end(at, end);
            if (stop - at > key_size + 1 && at[key_size] == 1 && memcmp(at, key, (size_t)key_size) == 0) {
                value = at + key_size + 1;
                behind = stop;
            }
            at = stop + 1;
        }
        if (value != NULL)
            bits[index / 8] |= (unsigned char)(1 << index % 8);
        else
            absent++;
        add_text(&texts, value == NULL ? end : value, value == NULL ? 0 : behind - value);
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
        at = stop + 1;
    }
    return 1;
}

PyDoc_STRVAR(properties_doc,
    "properties(packed, buffer)\n\n"
    "All properties: each message's first entry, and offsets and bytes of keys and of values, and whether all are\n"
    "ASCII. None: a message has a key twice, or very many, or they are too many bytes.");

static PyObject *properties(PyObject *module, PyObject *args)
{
    PyObject *packed, *buffer, *result = NULL;
    Records records;
    if (!PyArg_ParseTuple(args, "SS:properties", &packed, &buffer) || !take_records(packed, buffer, &records))
        return NULL;
    Py_ssize_t room = properties_size(&records);
    if (room < 0)
        Py_RETURN_NONE;
    Texts keys = {NULL}, values = {NULL};
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
    "Offsets and bytes of the ids that brokers give: codec.message_id.offset_message_id. None: too many bytes, or an\n"
    "offset is negative.");

static PyObject *offset_ids(PyObject *module, PyObject *args)
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

static PyObject *hosts(PyObject *module, PyObject *args)
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
    {"outline", outline, METH_VARARGS, outline_doc},
    {"select", select_rows, METH_VARARGS, select_doc},
    {"sound", sound, METH_VARARGS, sound_doc},
    {"flagged", flagged, METH_VARARGS, flagged_doc},
    {"numbers", numbers, METH_VARARGS, numbers_doc},
    {"cut", cut, METH_VARARGS, cut_doc},
    {"property", property, METH_VARARGS, property_doc},
    {"properties", properties, METH_VARARGS, properties_doc},
    {"offset_ids", offset_ids, METH_VARARGS, offset_ids_doc},
    {"hosts", hosts, METH_VARARGS, hosts_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef records_module = {
    PyModuleDef_HEAD_INIT, "codec._records", "Records to columns, in C.", -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__records(void)
{
    PyObject *zlib = PyImport_ImportModule("zlib");
    if (zlib == NULL)
        return NULL;
    crc32_of = PyObject_GetAttrString(zlib, "crc32");
    Py_DECREF(zlib);
    return crc32_of == NULL ? NULL : PyModule_Create(&records_module);
}
