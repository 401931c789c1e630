/* Calls tilewright_run on heap arrays of exactly the sizes given, in two ranges of blocks with a scratch each: the first
   from its front, the second from its back.
   argv: symbols, then per tensor its number of dimensions and its extents; tensors are dense. The last tensor is the output. */
#include <stdio.h>
#include <stdlib.h>

struct tw_context;
long tilewright_run_workspace_bytes(const long *sizes);
void tilewright_run(const struct tw_context *context, void *const *tensors, const long *sizes, char *workspace);

struct blocks {
  long (*next)(struct blocks *blocks);
  long first, left, step;
};

typedef void task_function(void *argument, struct blocks *blocks, char *scratch);

struct context {
  void *pool;
  void (*parallel_for)(void *pool, task_function *task, void *argument, long count, long scratch_bytes, long expected_ns);
  const char *const *constants;
  void (*chain_done)(void *pool, long chain);
};

static long next_block(struct blocks *blocks) {
  if (blocks->left-- <= 0)
    return -1;
  blocks->first += blocks->step;
  return blocks->first - blocks->step;
}

static void run_range(task_function *task, void *argument, struct blocks blocks, long scratch_bytes) {
  char *scratch = aligned_alloc(64, (scratch_bytes + 63) / 64 * 64);
  if (blocks.left > 0)
    task(argument, &blocks, scratch);
  free(scratch);
}

static void in_two_ranges(void *pool, task_function *task, void *argument, long count, long scratch_bytes, long expected_ns) {
  (void)pool, (void)expected_ns;
  run_range(task, argument, (struct blocks){next_block, 0, count / 2, 1}, scratch_bytes);
  run_range(task, argument, (struct blocks){next_block, count - 1, count - count / 2, -1}, scratch_bytes);
}

int main(int argc, char **argv) {
  int at = 1;
  long sizes[64], symbols = atol(argv[at++]), count = 0;
  void *tensors[8];
  for (long i = 0; i < symbols; i++)
    sizes[count++] = atol(argv[at++]);
  int tensor = 0;
  for (; at < argc; tensor++) {
    long dims = atol(argv[at++]), elements = 1;
    for (long d = dims - 1; d >= 0; d--) {
      sizes[count + d] = elements;
      elements *= atol(argv[at + d]);
    }
    at += dims, count += dims;
    float *data = tensors[tensor] = malloc(elements * sizeof(float));
    for (long i = 0; i < elements; i++)
      data[i] = (float)(i % 7 - 3) / 4;
  }
  struct context context = {0, in_two_ranges, 0, 0};
  long workspace_bytes = tilewright_run_workspace_bytes(sizes);
  char *workspace = aligned_alloc(64, (workspace_bytes + 127) / 64 * 64);
  tilewright_run((const struct tw_context *)&context, tensors, sizes, workspace);
  free(workspace);
  double sum = 0;
  long elements = sizes[count - 3] * atol(argv[argc - 3]);
  for (long i = 0; i < elements; i++)
    sum += ((float *)tensors[tensor - 1])[i];
  printf("%.9g\n", sum);
  while (tensor)
    free(tensors[--tensor]);
  return 0;
}
