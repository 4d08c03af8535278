/* Rows: where everything lies in records. Both codec/native/_rows.c, which makes them, and _columns.c have them. */
#ifndef TRIMQ_ROWS_H
#define TRIMQ_ROWS_H

#include "bytes.h"

/* What is in a row, all of them int64_t: as in codec.records.record.outline_records, but places for the hosts. */
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

#define BORN_HOST_V6 0x10
#define STORE_HOST_V6 0x20
#define LONGEST_HOST 20

static inline int host_size(const int64_t *row, int flag)
{
    return row[SYS_FLAG] & flag ? 20 : 8;
}

/* Rows and the buffer in which they say where everything lies. */
typedef struct {
    const unsigned char *data;
    Py_ssize_t length, count;
    const Row *rows;
} Records;

/* Whether a row's places lie in the buffer in their order. */
static inline int fits(const int64_t *row, int64_t length)
{
    return 0 <= row[BORN_HOST] && row[BORN_HOST] <= length - LONGEST_HOST && 0 <= row[STORE_HOST]
        && row[STORE_HOST] <= length - LONGEST_HOST && 0 <= row[BODY_AT] && 0 <= row[BODY_LENGTH]
        && row[BODY_LENGTH] <= length && row[BODY_AT] <= row[TOPIC_AT] - row[BODY_LENGTH]
        && row[TOPIC_AT] <= row[PROPERTIES_AT] - 2 && row[PROPERTIES_AT] <= row[STOP] && row[STOP] <= length;
}

/* The two first arguments, packed rows and their buffer; 0 with an exception set. */
static inline int take_records(PyObject *packed, PyObject *buffer, Records *records)
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

#endif
