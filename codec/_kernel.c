/*
 * What a batch or a pull costs per message, in C: records, message ids, index keys, queue entries.
 *
 * Every function has a twin in Python, which tests hold against it: store/batch_records.py, codec/message_id.py,
 * store/index_keys.py, store/index_file.py, store/reading.py and store/loading.py. Nothing here decides anything: what is out of the ordinary (a damaged batch, a limit that
 * is passed, text that is not ASCII) is answered with None or -1, and the twin does it. docs/speed.md says why this
 * is not Python.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

/* Size, two unused ints, flag and body length of a batch's item; then come body, properties length, properties. */
#define ITEM_HEAD 20
#define ITEM_LEAST 22
/* Lengths and numbers of a record, its hosts aside: codec/record.py. */
#define RECORD_FIXED 75
#define MAGIC_V1 0xDAA320A7u
#define LONGEST_V1_TOPIC 127
#define BORN_HOST_V6 0x10
#define STORE_HOST_V6 0x20
/* From so many bytes on, properties may look like a torn record: the twin looks at them. */
#define SECTOR 512
#define INDEX_ENTRY 20
#define QUEUE_ENTRY 20

static PyObject *crc32_of; /* zlib.crc32 */

static uint32_t get32(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static unsigned char *put8(unsigned char *at, unsigned value)
{
    *at = (unsigned char)value;
    return at + 1;
}

static unsigned char *put16(unsigned char *at, unsigned value)
{
    return put8(put8(at, value >> 8), value);
}

static unsigned char *put32(unsigned char *at, uint32_t value)
{
    return put16(put16(at, value >> 16), value & 0xFFFF);
}

static unsigned char *put64(unsigned char *at, uint64_t value)
{
    return put32(put32(at, (uint32_t)(value >> 32)), (uint32_t)value);
}

static unsigned char *put(unsigned char *at, const void *data, Py_ssize_t size)
{
    memcpy(at, data, (size_t)size);
    return at + size;
}

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

/* The item at `at`; where it ends, or NULL when it is none. */
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
    item->properties_size = item->properties[-2] << 8 | item->properties[-1];
    if (item->properties_size > 32767 || item->properties_size > end - item->properties)
        return NULL;
    return item->properties + item->properties_size;
}

/* What the records of a batch have in common. */
typedef struct {
    const char *topic, *born_host, *store_host;
    Py_ssize_t topic_size, born_host_size, store_host_size;
    int queue_id, sys_flag, reconsume_times;
    long long born_timestamp, store_timestamp;
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
        unsigned char *behind = put_record(at, c, &item, queue_offset + index, position);
        if (behind == NULL)
            return -1;
        PyObject *size = PyLong_FromSsize_t(behind - at);
        PyObject *block = PyBytes_FromStringAndSize((const char *)item.properties, item.properties_size);
        if (size != NULL)
            PyList_SET_ITEM(sizes, index, size);
        if (block != NULL)
            PyList_SET_ITEM(properties, index, block);
        if (size == NULL || block == NULL)
            return -1;
        position += behind - at;
        at = behind;
    }
    return 0;
}

PyDoc_STRVAR(encode_batch_doc,
    "encode_batch(data, topic, queue_id, queue_offset, position, sys_flag, born_timestamp, born_host,\n"
    "    store_timestamp, store_host, reconsume_times, longest_body)\n\n"
    "The records of a batch's items one behind the other, their sizes, their properties; None: ask the twin.");

static PyObject *encode_batch(PyObject *module, PyObject *args)
{
    Common c;
    const char *data;
    Py_ssize_t size, count;
    unsigned long long queue_offset, position;
    if (!PyArg_ParseTuple(args, "y#y#iKKiLy#Ly#in:encode_batch", &data, &size, &c.topic, &c.topic_size, &c.queue_id,
            &queue_offset, &position, &c.sys_flag, &c.born_timestamp, &c.born_host, &c.born_host_size,
            &c.store_timestamp, &c.store_host, &c.store_host_size, &c.reconsume_times, &c.longest_body))
        return NULL;
    const unsigned char *start = (const unsigned char *)data;
    int ordinary = c.topic_size <= LONGEST_V1_TOPIC && c.born_host_size == (c.sys_flag & BORN_HOST_V6 ? 20 : 8)
        && c.store_host_size == (c.sys_flag & STORE_HOST_V6 ? 20 : 8);
    Py_ssize_t total = ordinary ? measure(&c, start, size, &count) : -1;
    if (total <= 0)
        Py_RETURN_NONE;
    PyObject *records = PyBytes_FromStringAndSize(NULL, total);
    PyObject *sizes = PyList_New(count);
    PyObject *properties = PyList_New(count);
    PyObject *result = NULL;
    if (records != NULL && sizes != NULL && properties != NULL
        && put_records(&c, start, start + size, queue_offset, position, records, sizes, properties) == 0)
        result = PyTuple_Pack(3, records, sizes, properties);
    Py_XDECREF(records);
    Py_XDECREF(sizes);
    Py_XDECREF(properties);
    return result;
}

PyDoc_STRVAR(message_ids_doc,
    "message_ids(start, position, sizes)\n\n"
    "The ids of records that lie one behind the other, joined by commas: start and 16 digits each.");

static PyObject *message_ids(PyObject *module, PyObject *args)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *start;
    Py_ssize_t start_size;
    unsigned long long position;
    PyObject *sizes;
    if (!PyArg_ParseTuple(args, "s#KO!:message_ids", &start, &start_size, &position, &PyList_Type, &sizes))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(sizes);
    Py_ssize_t length = count > 0 ? count * (start_size + 17) - 1 : 0;
    PyObject *text = PyUnicode_New(length, 127);
    if (text == NULL)
        return NULL;
    unsigned char *at = PyUnicode_1BYTE_DATA(text);
    for (Py_ssize_t index = 0; index < count; index++) {
        if (index > 0)
            at = put8(at, ',');
        at = put(at, start, start_size);
        for (int shift = 60; shift >= 0; shift -= 4)
            at = put8(at, (unsigned char)digits[position >> shift & 15]);
        Py_ssize_t size = PyLong_AsSsize_t(PyList_GET_ITEM(sizes, index));
        if (size == -1 && PyErr_Occurred()) {
            Py_DECREF(text);
            return NULL;
        }
        position += (unsigned long long)size;
    }
    return text;
}

/* A value among the properties. */
typedef struct {
    const unsigned char *data;
    Py_ssize_t size;
} Text;

/* Java's hash of these bytes, going on from the hash of what stands before them; -1 when one is not ASCII. */
static int64_t hash_on(uint32_t hash, const unsigned char *data, Py_ssize_t size)
{
    unsigned char all = 0;
    for (Py_ssize_t index = 0; index < size; index++) {
        hash = 31 * hash + data[index];
        all |= data[index];
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
        if (stop > at && append_hash(hashes, (uint32_t)hash_on(start, at, stop - at)) < 0)
            return -1;
        at = stop + 1;
    }
    return 0;
}

PyDoc_STRVAR(append_hashes_doc,
    "append_hashes(properties, start, tag_start, hashes)\n\n"
    "Append the hashes of a message's keys: unique key, words of KEYS, tag. How many; -1: ask the twin.");

static PyObject *append_hashes(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 4 || !PyBytes_Check(args[0]) || !PyList_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError, "append_hashes(bytes, int, int, list)");
        return NULL;
    }
    const unsigned char *at = (const unsigned char *)PyBytes_AS_STRING(args[0]);
    const unsigned char *end = at + PyBytes_GET_SIZE(args[0]);
    uint32_t start = (uint32_t)PyLong_AsUnsignedLongMask(args[1]);
    uint32_t tag_start = (uint32_t)PyLong_AsUnsignedLongMask(args[2]);
    if (PyErr_Occurred())
        return NULL;
    Text unique = {NULL, 0}, words = {NULL, 0}, tags = {NULL, 0};
    while (at < end) {
        const unsigned char *stop = memchr(at, 2, (size_t)(end - at));
        if (stop == NULL)
            stop = end;
        take_value(at, stop, "UNIQ_KEY\1", 9, &unique);
        take_value(at, stop, "KEYS\1", 5, &words);
        take_value(at, stop, "TAGS\1", 5, &tags);
        at = stop + 1;
    }
    int64_t unique_hash = hash_on(start, unique.data, unique.size);
    int64_t tag_hash = hash_on(tag_start, tags.data, tags.size);
    if (unique_hash < 0 || tag_hash < 0 || hash_on(0, words.data, words.size) < 0)
        return PyLong_FromLong(-1);
    PyObject *hashes = args[3];
    Py_ssize_t before = PyList_GET_SIZE(hashes);
    if ((unique.size > 0 && append_hash(hashes, (uint32_t)unique_hash) < 0) || append_words(hashes, start, words) < 0
        || (tags.size > 0 && append_hash(hashes, (uint32_t)tag_hash) < 0))
        return NULL;
    return PyLong_FromSsize_t(PyList_GET_SIZE(hashes) - before);
}

/* Buffers of the slots and of the marks for their pages; see store/index_slots.py. */
typedef struct {
    Py_buffer slots, changed;
    unsigned int slot_count, shift, page_slots;
    unsigned int number;
} Table;

/* Give a key the next entry; the one its slot had before, 0 when there was none. */
static uint32_t enter_key(Table *table, uint32_t hash)
{
    uint32_t slot = hash % table->slot_count;
    int32_t *value = (int32_t *)table->slots.buf + slot;
    int32_t previous = *value;
    if (previous <= 0 || (uint32_t)previous >= table->number)
        previous = 0;
    *value = (int32_t)table->number++;
    ((unsigned char *)table->changed.buf)[(slot + table->shift) / table->page_slots] = 1;
    return (uint32_t)previous;
}

/* The item of a list as a number; an exception may be set then. */
static long long number_at(PyObject *list, Py_ssize_t index)
{
    return PyLong_AsLongLong(PyList_GET_ITEM(list, index));
}

/* Whole seconds from `begin` on, as an entry can hold them. */
static uint32_t seconds_from(long long begin, long long millis)
{
    long long seconds = millis > begin ? (millis - begin) / 1000 : 0;
    return (uint32_t)(seconds > INT32_MAX ? INT32_MAX : seconds);
}

/* Fill the entries; how many keys hit a free slot, or -1 with an exception set. */
static Py_ssize_t enter_all(
    Table *table, PyObject *hashes, PyObject *offsets, PyObject *times, long long begin, unsigned char *at)
{
    Py_ssize_t free_slots = 0;
    for (Py_ssize_t index = 0; index < PyList_GET_SIZE(hashes); index++) {
        uint32_t hash = (uint32_t)number_at(hashes, index);
        uint64_t offset = (uint64_t)number_at(offsets, index);
        uint32_t seconds = seconds_from(begin, number_at(times, index));
        if (PyErr_Occurred())
            return -1;
        uint32_t previous = enter_key(table, hash);
        free_slots += previous == 0;
        at = put32(put32(put64(put32(at, hash), offset), seconds), previous);
    }
    return free_slots;
}

PyDoc_STRVAR(enter_keys_doc,
    "enter_keys(slots, changed, slot_count, shift, page_slots, number, hashes, offsets, timestamps, begin)\n\n"
    "Give the keys the entries from `number` on: the entries' bytes, and how many slots were free.");

static PyObject *enter_keys(PyObject *module, PyObject *args)
{
    Table table;
    PyObject *hashes, *offsets, *times, *result = NULL;
    long long begin;
    if (!PyArg_ParseTuple(args, "w*w*IIIIO!O!O!L:enter_keys", &table.slots, &table.changed, &table.slot_count,
            &table.shift, &table.page_slots, &table.number, &PyList_Type, &hashes, &PyList_Type, &offsets, &PyList_Type,
            &times, &begin))
        return NULL;
    Py_ssize_t count = PyList_GET_SIZE(hashes);
    Py_ssize_t pages = table.page_slots ? ((Py_ssize_t)table.slot_count - 1 + table.shift) / table.page_slots + 1 : 0;
    if (table.slot_count == 0 || pages == 0 || table.slots.len < 4 * (Py_ssize_t)table.slot_count
        || table.changed.len < pages || PyList_GET_SIZE(offsets) != count || PyList_GET_SIZE(times) != count) {
        PyErr_SetString(PyExc_ValueError, "enter_keys: the tables do not fit each other");
    } else {
        PyObject *entries = PyBytes_FromStringAndSize(NULL, count * INDEX_ENTRY);
        Py_ssize_t free_slots = -1;
        if (entries != NULL)
            free_slots = enter_all(&table, hashes, offsets, times, begin, (unsigned char *)PyBytes_AS_STRING(entries));
        if (free_slots >= 0)
            result = Py_BuildValue("On", entries, free_slots);
        Py_XDECREF(entries);
    }
    PyBuffer_Release(&table.slots);
    PyBuffer_Release(&table.changed);
    return result;
}

/* Runs of slots on their way out; the numbers have been looked at. */
static void copy_runs(const uint32_t *slots, const Py_ssize_t *runs, Py_ssize_t count, unsigned char *to)
{
    for (Py_ssize_t run = 0; run < count; run++) {
        for (Py_ssize_t slot = runs[2 * run]; slot < runs[2 * run + 1]; slot++, to += 4)
            put32(to, slots[slot]);
    }
}

/* The bounds of all runs, to be freed; NULL with an exception set. They fit both ends. */
static Py_ssize_t *take_runs(PyObject *list, Py_ssize_t slots, Py_ssize_t room)
{
    Py_ssize_t count = PyList_GET_SIZE(list);
    Py_ssize_t *runs = PyMem_New(Py_ssize_t, 2 * count + 1);
    if (runs == NULL)
        return (Py_ssize_t *)PyErr_NoMemory();
    for (Py_ssize_t run = 0; run < count; run++) {
        Py_ssize_t first, end;
        PyObject *item = PyList_GET_ITEM(list, run);
        if (!PyTuple_Check(item) || !PyArg_ParseTuple(item, "nn", &first, &end) || first < 0 || first > end || end > slots
            || end - first > room) {
            PyMem_Free(runs);
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "copy_slots: a run lies outside");
            return NULL;
        }
        room -= end - first;
        runs[2 * run] = first;
        runs[2 * run + 1] = end;
    }
    return runs;
}

PyDoc_STRVAR(copy_slots_doc,
    "copy_slots(slots, runs, target)\n\n"
    "Runs of slots as a file has them, one behind the other. Other threads run meanwhile.");

static PyObject *copy_slots(PyObject *module, PyObject *args)
{
    Py_buffer slots, target;
    PyObject *list;
    if (!PyArg_ParseTuple(args, "w*O!w*:copy_slots", &slots, &PyList_Type, &list, &target))
        return NULL;
    Py_ssize_t *runs = take_runs(list, slots.len / 4, target.len / 4);
    if (runs != NULL) {
        Py_ssize_t count = PyList_GET_SIZE(list);
        Py_BEGIN_ALLOW_THREADS
        copy_runs(slots.buf, runs, count, target.buf);
        Py_END_ALLOW_THREADS
        PyMem_Free(runs);
    }
    PyBuffer_Release(&slots);
    PyBuffer_Release(&target);
    if (runs == NULL)
        return NULL;
    Py_RETURN_NONE;
}

/* What a pull may get, and where the commit log begins and ends: store/reading.py. */
typedef struct {
    long long low, written, file_size, memory, max_messages, max_bytes;
    long long memory_bytes, memory_count, disk_bytes, disk_count;
} Bounds;

/* Whether a record must wait for the next pull (isTheBatchFull). */
static int is_full(const Bounds *b, long long offset, long long size, long long count, long long bytes)
{
    if (bytes == 0)
        return 0;
    if (count + 1 > b->max_messages || bytes + size > b->max_bytes || bytes >= b->max_bytes)
        return 1;
    if (b->written - offset <= b->memory)
        return bytes + size > b->memory_bytes || count >= b->memory_count;
    return bytes + size > b->disk_bytes || count >= b->disk_count;
}

/* Where a record, or several that touch, lie in the log; a pull's are packed one behind the other. */
typedef struct {
    int64_t offset, size;
} Extent;

/* What a pull gets. */
typedef struct {
    Extent *extents;
    Py_ssize_t count;
    long long messages, bytes, last;
} Taken;

/* Take whole entries; 0 when one is not ordinary. */
static int take_all(const Bounds *b, const unsigned char *at, Py_ssize_t entries, Taken *taken)
{
    Extent *extent = taken->extents;
    for (; taken->messages < entries; taken->messages++, at += QUEUE_ENTRY) {
        long long offset = (long long)((uint64_t)get32(at) << 32 | get32(at + 4));
        long long size = (int32_t)get32(at + 8);
        if (size <= 0 || offset < b->low || offset > b->written - size || offset % b->file_size + size > b->file_size)
            return 0;
        if (is_full(b, offset, size, taken->messages, taken->bytes))
            break;
        if (taken->count > 0 && extent->offset + extent->size == offset) {
            extent->size += size;
        } else {
            extent = taken->extents + taken->count++;
            extent->offset = offset;
            extent->size = size;
        }
        taken->bytes += size;
        taken->last = offset;
    }
    return taken->messages > 0;
}

PyDoc_STRVAR(take_entries_doc,
    "take_entries(entries, low, written, file_size, memory, max_messages, max_bytes, memory_bytes, memory_count,\n"
    "    disk_bytes, disk_count)\n\n"
    "What a pull without a filter gets of a queue's entries: packed extents, messages, bytes, last record and where\n"
    "the last extent ends; None: ask the twin.");

static PyObject *take_entries(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    long long values[10];
    if (nargs != 11 || !PyBytes_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "take_entries(bytes, and ten numbers)");
        return NULL;
    }
    for (int index = 0; index < 10; index++)
        values[index] = PyLong_AsLongLong(args[index + 1]);
    if (PyErr_Occurred())
        return NULL;
    Bounds bounds = {values[0], values[1], values[2], values[3], values[4], values[5], values[6], values[7], values[8],
        values[9]};
    Py_ssize_t entries = PyBytes_GET_SIZE(args[0]) / QUEUE_ENTRY;
    PyObject *packed = PyBytes_FromStringAndSize(NULL, entries * (Py_ssize_t)sizeof(Extent));
    if (packed == NULL)
        return NULL;
    Taken taken = {(Extent *)PyBytes_AS_STRING(packed), 0, 0, 0, 0};
    if (bounds.file_size <= 0 || bounds.low < 0
        || !take_all(&bounds, (const unsigned char *)PyBytes_AS_STRING(args[0]), entries, &taken)) {
        Py_DECREF(packed);
        Py_RETURN_NONE;
    }
    const Extent *last = taken.extents + taken.count - 1;
    long long end = last->offset + last->size;
    if (_PyBytes_Resize(&packed, taken.count * (Py_ssize_t)sizeof(Extent)) < 0)
        return NULL;
    return Py_BuildValue("NLLLL", packed, taken.messages, taken.bytes, taken.last, end);
}

/*
 * Reading a mapped page that the disk cannot give back raises SIGBUS, which ends the process. While `careful` is set
 * in a thread, it ends the copy instead; anywhere else it does what it did before.
 */
static _Thread_local sigjmp_buf *careful;
static struct sigaction before;

static void on_bus_error(int number)
{
    if (careful != NULL)
        siglongjmp(*careful, 1);
    /* The instruction is tried again when this returns. */
    sigaction(number, &before, NULL);
}

static int watch_bus_errors(void)
{
    struct sigaction action = {.sa_handler = on_bus_error, .sa_flags = SA_NODEFER | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, &before);
}

/* Copy packed extents of a file that begins at `base`; 0 unless they all lie inside and take `size` bytes. */
static int copy_extents(
    char *to, long long size, const Extent *extent, const Extent *end, const Py_buffer *whole, long long base)
{
    sigjmp_buf out;
    volatile int copied = 0;
    careful = &out;
    if (sigsetjmp(out, 0) == 0) {
        for (; extent < end; extent++) {
            long long start = extent->offset - base;
            if (start < 0 || extent->size < 0 || start > whole->len || extent->size > whole->len - start
                || extent->size > size)
                break;
            memcpy(to, (const char *)whole->buf + start, (size_t)extent->size);
            to += extent->size;
            size -= extent->size;
        }
        copied = extent == end && size == 0;
    }
    careful = NULL;
    return copied;
}

PyDoc_STRVAR(join_doc,
    "join(packed, whole, base, size)\n\n"
    "The bytes of packed extents, `size` in all, one behind the other, of `whole`, which begins at `base`; None: they\n"
    "lie outside, are not of that size, or the disk does not give them.");

static PyObject *join(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 4 || !PyBytes_Check(args[0]) || !PyMemoryView_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "join(bytes, memoryview, int, int)");
        return NULL;
    }
    long long base = PyLong_AsLongLong(args[2]);
    Py_ssize_t size = PyLong_AsSsize_t(args[3]);
    if (PyErr_Occurred())
        return NULL;
    PyObject *joined = PyBytes_FromStringAndSize(NULL, size < 0 ? 0 : size);
    if (joined == NULL)
        return NULL;
    const Extent *first = (const Extent *)PyBytes_AS_STRING(args[0]);
    const Extent *end = first + PyBytes_GET_SIZE(args[0]) / (Py_ssize_t)sizeof(Extent);
    if (copy_extents(PyBytes_AS_STRING(joined), size, first, end, PyMemoryView_GET_BUFFER(args[1]), base))
        return joined;
    Py_DECREF(joined);
    Py_RETURN_NONE;
}

/* Some bytes of a file that is mapped, to be sent: what a memoryview is, at a fifth of its price. */
typedef struct {
    PyObject_HEAD
    PyObject *whole;
    char *data;
    Py_ssize_t size;
} View;

static void view_dealloc(PyObject *self)
{
    Py_DECREF(((View *)self)->whole);
    PyObject_Free(self);
}

static int view_buffer(PyObject *self, Py_buffer *buffer, int flags)
{
    return PyBuffer_FillInfo(buffer, self, ((View *)self)->data, ((View *)self)->size, 1, flags);
}

static Py_ssize_t view_length(PyObject *self)
{
    return ((View *)self)->size;
}

static PyBufferProcs view_as_buffer = {view_buffer, NULL};
static PySequenceMethods view_as_sequence = {.sq_length = view_length};
static PyTypeObject view_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "codec._kernel.View",
    .tp_basicsize = sizeof(View),
    .tp_dealloc = view_dealloc,
    .tp_as_sequence = &view_as_sequence,
    .tp_as_buffer = &view_as_buffer,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "Some bytes of a mapped file, read-only.",
};

/* Append the bytes of an extent, whose offset counts from `base`; -1 with an exception set. */
static int append_view(PyObject *views, PyObject *whole, long long base, PyObject *extent)
{
    const Py_buffer *buffer = PyMemoryView_GET_BUFFER(whole);
    if (!PyTuple_Check(extent) || PyTuple_GET_SIZE(extent) != 2) {
        PyErr_SetString(PyExc_TypeError, "an extent is an offset and a size");
        return -1;
    }
    long long start = PyLong_AsLongLong(PyTuple_GET_ITEM(extent, 0)) - base;
    long long size = PyLong_AsLongLong(PyTuple_GET_ITEM(extent, 1));
    if (PyErr_Occurred())
        return -1;
    if (start < 0 || size < 0 || start > buffer->len || size > buffer->len - start) {
        PyErr_SetString(PyExc_ValueError, "append_views: an extent lies outside");
        return -1;
    }
    View *view = PyObject_New(View, &view_type);
    if (view == NULL)
        return -1;
    view->whole = Py_NewRef(whole);
    view->data = (char *)buffer->buf + start;
    view->size = (Py_ssize_t)size;
    int done = PyList_Append(views, (PyObject *)view);
    Py_DECREF(view);
    return done;
}

PyDoc_STRVAR(append_views_doc,
    "append_views(views, whole, base, extents, first, behind)\n\n"
    "Append what `whole`, which begins at `base`, has of the extents from `first` up to `behind`.");

static PyObject *append_views(PyObject *module, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 6 || !PyList_Check(args[0]) || !PyMemoryView_Check(args[1]) || !PyList_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError, "append_views(list, memoryview, int, list, int, int)");
        return NULL;
    }
    long long base = PyLong_AsLongLong(args[2]);
    Py_ssize_t first = PyLong_AsSsize_t(args[4]), behind = PyLong_AsSsize_t(args[5]);
    if (PyErr_Occurred())
        return NULL;
    if (first < 0 || behind > PyList_GET_SIZE(args[3])) {
        PyErr_SetString(PyExc_IndexError, "append_views: there are fewer extents");
        return NULL;
    }
    for (Py_ssize_t index = first; index < behind; index++)
        if (append_view(args[0], args[1], base, PyList_GET_ITEM(args[3], index)) < 0)
            return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"encode_batch", encode_batch, METH_VARARGS, encode_batch_doc},
    {"message_ids", message_ids, METH_VARARGS, message_ids_doc},
    {"append_hashes", (PyCFunction)(void (*)(void))append_hashes, METH_FASTCALL, append_hashes_doc},
    {"take_entries", (PyCFunction)(void (*)(void))take_entries, METH_FASTCALL, take_entries_doc},
    {"join", (PyCFunction)(void (*)(void))join, METH_FASTCALL, join_doc},
    {"append_views", (PyCFunction)(void (*)(void))append_views, METH_FASTCALL, append_views_doc},
    {"enter_keys", enter_keys, METH_VARARGS, enter_keys_doc},
    {"copy_slots", copy_slots, METH_VARARGS, copy_slots_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef kernel = {
    PyModuleDef_HEAD_INIT, "codec._kernel", "What a batch or a pull costs per message, in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__kernel(void)
{
    PyObject *zlib = PyImport_ImportModule("zlib");
    if (zlib == NULL)
        return NULL;
    crc32_of = PyObject_GetAttrString(zlib, "crc32");
    Py_DECREF(zlib);
    return crc32_of == NULL || watch_bus_errors() < 0 || PyType_Ready(&view_type) < 0 ? NULL : PyModule_Create(&kernel);
}
