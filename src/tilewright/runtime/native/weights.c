/* Whether weights are what they were when they were packed: asked in every call, of every weight.

   Called by a function of Python that is made here, so that the GIL is held. Nothing is raised. */

typedef long ssize;

void *malloc(unsigned long bytes);
void free(void *memory);
void *memcpy(void *to, const void *from, unsigned long bytes);
int memcmp(const void *first, const void *second, unsigned long bytes);

enum { ONE_ARGUMENT = 8 }; /* METH_O */

struct py_method { /* PyMethodDef */
  const char *name;
  void *(*function)(void *self, void *argument);
  int flags;
  const char *text;
};

struct weight {
  long place;     /* in the list of arguments */
  void *identity; /* the object */
  long version;
  const char *elements;
  long size, step, count; /* so many pieces of `size` bytes are looked at, `step` bytes apart */
};

struct seal {
  void *(*elements)(void *object); /* where the elements of a weight are */
  void *version_name;              /* of the attribute that counts writes */
  long bytes;                      /* of the seal with what stands behind it */
  long count;
  struct weight weights[]; /* behind them, the pieces of all weights as they were */
};

static struct { /* functions of the stable ABI, in the order of `PYTHON_FUNCTIONS`, and two objects */
  void *(*list_item)(void *list, ssize index);
  void *(*attribute)(void *object, void *name);
  long (*number)(void *integer);
  void (*keep)(void *object);
  void (*release)(void *object);
  void (*clear_error)(void);
  void *(*new_capsule)(void *address, const char *name, void (*destroy)(void *capsule));
  void *(*address_in)(void *capsule, const char *name);
  void *(*new_function)(struct py_method *method, void *self, void *module);
  void *no, *yes;
} python;

__attribute__((visibility("default"))) void tw_weights_init(void *const *functions) {
  void **to = (void **)&python;
  for (unsigned long i = 0; i < sizeof python / sizeof *to; i++)
    to[i] = functions[i];
}

/* Whether the version is what it was; it is not where the object does not tell one. */
static int has_version(const struct seal *seal, const struct weight *weight) {
  void *version = python.attribute(weight->identity, seal->version_name);
  if (!version) {
    python.clear_error();
    return 0;
  }
  long number = python.number(version);
  python.release(version);
  return number == weight->version;
}

/* Whether a piece is what it was; most are a float32, for which a compiler calls nothing. */
static int is_same(const char *piece, const char *before, long size) {
  return size == sizeof(float) ? !memcmp(piece, before, sizeof(float)) : !memcmp(piece, before, size);
}

/* Whether the pieces that are looked at are what they were. */
static int has_pieces(const struct weight *weight, const char *pieces) {
  for (long i = 0; i < weight->count; i++)
    if (!is_same(weight->elements + i * weight->step, pieces + i * weight->size, weight->size))
      return 0;
  return 1;
}

static int holds(const struct seal *seal, void *arguments) {
  const struct weight *end = seal->weights + seal->count;
  const char *pieces = (const char *)end;
  for (const struct weight *weight = seal->weights; weight < end; weight++) {
    if (python.list_item(arguments, weight->place) != weight->identity || seal->elements(weight->identity) != weight->elements ||
        !has_version(seal, weight) || !has_pieces(weight, pieces))
      return 0;
    pieces += weight->count * weight->size;
  }
  return 1;
}

static void *py_holds(void *self, void *arguments) {
  void *answer = holds(python.address_in(self, 0), arguments) ? python.yes : python.no;
  python.keep(answer);
  return answer;
}

static struct py_method method = {"holds", py_holds, ONE_ARGUMENT, 0};

static void forget(void *capsule) {
  free(python.address_in(capsule, 0));
}

/* A function of Python that takes the list of arguments. It has a copy of the seal. */
__attribute__((visibility("default"))) void *tw_weights_function(const struct seal *seal) {
  void *own = malloc(seal->bytes), *self = own ? python.new_capsule(memcpy(own, seal, seal->bytes), 0, forget) : 0;
  void *function = self ? python.new_function(&method, self, 0) : 0;
  if (self)
    python.release(self);
  return function;
}
