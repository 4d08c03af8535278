/*
 * Bytes of mapped files: copied where that is safe, or as views that are sent and not read.
 *
 * store/native/pages.py does the same in Python, but for the copy, which is safe only here; tests hold the two
 * against each other.
 */
#include "pages.h"

/*
 * Reading a mapped page that the disk cannot deliver raises SIGBUS, which ends the process. While `careful` is set
 * in a thread, it ends the copy instead; anywhere else the handler that was there before gets its turn.
 */
static _Thread_local sigjmp_buf *careful;

static sigjmp_buf **careful_here(void)
{
    return &careful;
}

static struct sigaction before;
static volatile sig_atomic_t passed_on;
/* What store/native/_picks.c is given. */
static Guard shared = {careful_here, 0};

static void on_bus_error(int number)
{
    if (careful != NULL)
        siglongjmp(*careful, 1);
    if (passed_on) {
        /* The one before gave it back to us: nobody has an answer to it. */
        struct sigaction none = {.sa_handler = SIG_DFL};
        sigemptyset(&none.sa_mask);
        sigaction(number, &none, NULL);
        return;
    }
    /* The instruction is tried again when this returns. */
    passed_on = 1;
    sigaction(number, &before, NULL);
}

static int is_ours(const struct sigaction *action)
{
    return !(action->sa_flags & SA_SIGINFO) && action->sa_handler == on_bus_error;
}

PyDoc_STRVAR(guard_doc,
    "guard()\n\n"
    "See to it that a page which cannot be read ends a copy and not the process: 0 when that is so already, 1 when it\n"
    "was never so, 2 when somebody has taken SIGBUS since; who had it before goes on to get what is not ours.");

static PyObject *guard(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    struct sigaction action = {.sa_handler = on_bus_error, .sa_flags = SA_NODEFER | SA_ONSTACK}, now;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGBUS, NULL, &now) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    if (is_ours(&now))
        return PyLong_FromLong(0);
    /* What we pass on to must be there before we can be asked. */
    before = now;
    passed_on = 0;
    if (sigaction(SIGBUS, &action, NULL) < 0)
        return PyErr_SetFromErrno(PyExc_OSError);
    int again = shared.set;
    shared.set = 1;
    return PyLong_FromLong(again ? 2 : 1);
}

/* Packed extents of a file that begins at `base`, and where their bytes go. */
typedef struct {
    const Extent *first, *end;
    const Py_buffer *whole;
    long long base, size;
    char *to;
} Copy;

/* Copy them; 0 unless they all lie inside and take `size` bytes. */
static int copy_all(void *what)
{
    const Copy *copy = what;
    char *to = copy->to;
    long long size = copy->size, length = copy->whole->len;
    for (const Extent *extent = copy->first; extent < copy->end; extent++) {
        long long start = extent->offset - copy->base;
        if (extent->offset < copy->base || extent->size < 0 || start > length || extent->size > length - start
            || extent->size > size)
            return 0;
        memcpy(to, (const char *)copy->whole->buf + start, (size_t)extent->size);
        to += extent->size;
        size -= extent->size;
    }
    return size == 0;
}

PyDoc_STRVAR(join_doc,
    "join(packed, whole, base, size)\n\n"
    "The bytes of packed extents, `size` in all, one after another, from `whole`, which begins at `base`; None: they\n"
    "lie outside, are not of that size, the disk does not give them, or there is no guard. BufferError, ValueError:\n"
    "`whole` is not contiguous, or released.");

static PyObject *join(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 4 || !PyBytes_Check(args[0]) || !PyMemoryView_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "join(bytes, memoryview, int, int)");
        return NULL;
    }
    long long base = PyLong_AsLongLong(args[2]);
    Py_ssize_t size = PyErr_Occurred() ? -1 : PyLong_AsSsize_t(args[3]);
    Py_buffer whole;
    if (PyErr_Occurred() || PyObject_GetBuffer(args[1], &whole, PyBUF_SIMPLE) < 0)
        return NULL;
    PyObject *joined = NULL;
    int copied = 0;
    if (shared.set && base >= 0 && size >= 0) {
        joined = PyBytes_FromStringAndSize(NULL, size);
        const Extent *first = (const Extent *)PyBytes_AS_STRING(args[0]);
        const Extent *end = first + PyBytes_GET_SIZE(args[0]) / (Py_ssize_t)sizeof(Extent);
        if (joined != NULL) {
            Copy copy = {first, end, &whole, base, size, PyBytes_AS_STRING(joined)};
            copied = carefully(&shared, copy_all, &copy);
        }
    }
    PyBuffer_Release(&whole);
    if (copied || PyErr_Occurred())
        return joined;
    Py_XDECREF(joined);
    Py_RETURN_NONE;
}

/* A buffer that stays where it is while somebody has a view of it. */
typedef struct {
    PyObject_HEAD
    Py_buffer buffer;
} Held;

static void held_dealloc(PyObject *self)
{
    PyBuffer_Release(&((Held *)self)->buffer);
    PyObject_Free(self);
}

static PyTypeObject held_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "trimq.store.native._pages.Held",
    .tp_basicsize = sizeof(Held),
    .tp_dealloc = held_dealloc,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "A buffer that stays where it is.",
};

/* NULL with an exception set: it is released, or not contiguous. */
static Held *hold(PyObject *whole)
{
    Held *held = PyObject_New(Held, &held_type);
    if (held == NULL)
        return NULL;
    if (PyObject_GetBuffer(whole, &held->buffer, PyBUF_SIMPLE) < 0) {
        PyObject_Free(held);
        return NULL;
    }
    return held;
}

/* Some bytes of a file that is mapped, to be sent: what a memoryview is, at a fifth of its price. */
typedef struct {
    PyObject_HEAD
    Held *held;
    char *data;
    Py_ssize_t size;
} View;

static void view_dealloc(PyObject *self)
{
    Py_DECREF(((View *)self)->held);
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
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "trimq.store.native._pages.View",
    .tp_basicsize = sizeof(View),
    .tp_dealloc = view_dealloc,
    .tp_as_sequence = &view_as_sequence,
    .tp_as_buffer = &view_as_buffer,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_doc = "Some bytes of a mapped file, read-only.",
};

/* Append the bytes of an extent, whose offset counts from `base`; -1 with an exception set. */
static int append_view(PyObject *views, Held *held, long long base, PyObject *extent)
{
    if (!PyTuple_Check(extent) || PyTuple_GET_SIZE(extent) != 2 || !PyLong_Check(PyTuple_GET_ITEM(extent, 0))
        || !PyLong_Check(PyTuple_GET_ITEM(extent, 1))) {
        PyErr_SetString(PyExc_TypeError, "an extent is an offset and a size");
        return -1;
    }
    long long offset = PyLong_AsLongLong(PyTuple_GET_ITEM(extent, 0));
    long long size = PyErr_Occurred() ? -1 : PyLong_AsLongLong(PyTuple_GET_ITEM(extent, 1));
    if (PyErr_Occurred())
        return -1;
    Py_ssize_t length = held->buffer.len;
    if (offset < base || size < 0 || offset - base > length || size > length - (offset - base)) {
        PyErr_SetString(PyExc_ValueError, "append_views: an extent lies outside");
        return -1;
    }
    View *view = PyObject_New(View, &view_type);
    if (view == NULL)
        return -1;
    view->held = (Held *)Py_NewRef(held);
    view->data = (char *)held->buffer.buf + (offset - base);
    view->size = (Py_ssize_t)size;
    int done = PyList_Append(views, (PyObject *)view);
    Py_DECREF(view);
    return done;
}

PyDoc_STRVAR(append_views_doc,
    "append_views(views, whole, base, extents, first, stop)\n\n"
    "Append what `whole`, which begins at `base`, has of the extents from `first` up to `stop`. While there is a view,\n"
    "`whole` cannot be released. IndexError, ValueError: there are no such extents; BufferError, ValueError: `whole` is\n"
    "not contiguous, or released.");

static PyObject *append_views(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs != 6 || !PyList_Check(args[0]) || !PyMemoryView_Check(args[1]) || !PyList_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError, "append_views(list, memoryview, int, list, int, int)");
        return NULL;
    }
    long long base = PyLong_AsLongLong(args[2]);
    Py_ssize_t first = PyErr_Occurred() ? -1 : PyLong_AsSsize_t(args[4]);
    Py_ssize_t stop = PyErr_Occurred() ? -1 : PyLong_AsSsize_t(args[5]);
    if (PyErr_Occurred())
        return NULL;
    if (first < 0 || stop > PyList_GET_SIZE(args[3]) || base < 0) {
        PyErr_SetString(PyExc_IndexError, "append_views: there are fewer extents");
        return NULL;
    }
    Held *held = hold(args[1]);
    if (held == NULL)
        return NULL;
    int done = 0;
    for (Py_ssize_t index = first; index < stop && done == 0; index++)
        done = append_view(args[0], held, base, PyList_GET_ITEM(args[3], index));
    Py_DECREF(held);
    if (done < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"guard", guard, METH_NOARGS, guard_doc},
    {"join", (PyCFunction)(void (*)(void))join, METH_FASTCALL, join_doc},
    {"append_views", (PyCFunction)(void (*)(void))append_views, METH_FASTCALL, append_views_doc},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef pages = {
    PyModuleDef_HEAD_INIT, "trimq.store.native._pages", "store/native/pages.py in C.", -1, methods,
    NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__pages(void)
{
    if (PyType_Ready(&view_type) < 0 || PyType_Ready(&held_type) < 0)
        return NULL;
    PyObject *module = PyModule_Create(&pages), *guard_given = PyCapsule_New(&shared, GUARD, NULL);
    if (module != NULL && (guard_given == NULL || PyModule_AddObjectRef(module, "_guard", guard_given) < 0))
        Py_CLEAR(module);
    Py_XDECREF(guard_given);
    return module;
}
