/* What the runtime needs of Python and of NumPy: declared here, found by ctypes in the process that is running. */
#ifndef TILEWRIGHT_PYTHON_H
#define TILEWRIGHT_PYTHON_H

typedef long ssize;

struct py_buffer { /* Py_buffer of the stable ABI (Python 3.11) */
  void *buf, *obj;
  ssize len, itemsize;
  int readonly, ndim;
  char *format;
  ssize *shape, *strides, *suboffsets;
  void *internal;
};

struct py_method { /* PyMethodDef */
  const char *name;
  void *(*function)(void *self, void *argument);
  int flags;
  const char *text;
};

struct tw_python { /* functions of the stable ABI, in the order of `PYTHON_FUNCTIONS`, and None */
  int (*get_buffer)(void *object, struct py_buffer *view, int flags);
  void (*release_buffer)(struct py_buffer *view);
  ssize (*tuple_size)(void *tuple);
  void *(*tuple_item)(void *tuple, ssize index);
  void *(*save_thread)(void);
  void (*restore_thread)(void *state);
  void (*clear_error)(void);
  void (*keep)(void *object);
  void (*release)(void *object);
  void *(*new_list)(ssize count);
  int (*set_item)(void *list, ssize index, void *item);
  void *(*new_bytes)(const char *content, ssize count);
  void *(*new_integer)(long value);
  void *(*new_capsule)(void *address, const char *name, void (*destroy)(void *capsule));
  void *(*address_in)(void *capsule, const char *name);
  void *(*new_function)(struct py_method *method, void *self, void *module);
  void *none;
};

struct py_array { /* how arrays of NumPy begin, in versions 1 and 2; `tw_arrays_init` is told whether they do */
  ssize references;
  void *type;
  char *data;
  int rank;
  ssize *shape, *strides;
  void *base, *dtype;
  int flags;
};

struct tw_numpy { /* of NumPy's C API; `array_type` is null where arrays begin otherwise, and then nothing here is used */
  void *array_type;
  void *(*new_array)(void *type, void *dtype, int rank, const ssize *shape, const ssize *strides, void *data, int flags,
                     void *like);
  int (*set_base)(void *array, void *base);
};

extern struct tw_python tw_python;
extern struct tw_numpy tw_numpy;

void *tw_array(void *dtype, long itemsize, long rank, const long *shape);
void *tw_signature(void *self, void *arrays);

/* Whether an object is an array, and of no subclass. */
static inline int tw_is_array(const void *object) {
  return tw_numpy.array_type && ((const struct py_array *)object)->type == tw_numpy.array_type;
}

/* A new reference. */
static inline void *tw_none(void) {
  tw_python.keep(tw_python.none);
  return tw_python.none;
}

#endif
