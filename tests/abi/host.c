/* SPDX-License-Identifier: MIT */

/* host KERNELS: a program in C drives a drive by the kernels of host.hip, with libxio_host.so. */

#include <xio/device/abi/xio_device.h>
#include <xio/host/c/xio_host.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 64
#define BLOCK 512

static int failures;

/* Says what was expected and is not. */
static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "FAILED: %s (%s)\n", what, xio_host_message());
  ++failures;
}

static void refused(int code, const char* words) {
  expect(code != XIO_HOST_OK && strstr(xio_host_message(), words) != NULL, words);
}

static char* read_file(const char* path, size_t* bytes) {
  FILE* const file = fopen(path, "rb");
  char* data = NULL;
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
  *bytes = (size_t)ftell(file) + 1;
  rewind(file);
  data = calloc(*bytes, 1);
  if (data != NULL && fread(data, 1, *bytes - 1, file) != *bytes - 1) data = NULL;
  fclose(file);
  return data;
}

/* Writes and reads by the CPU, on a drive whose kernels are a GPU's. */
static void by_cpu(xio_drive* drive, xio_buffer* data, xio_queue* of_gpu) {
  unsigned char* const bytes = xio_buffer_data(data);
  xio_queue* queue = NULL;
  xio_drive* slow = NULL;
  xio_buffer* other = NULL;
  unsigned i;
  expect(xio_queue_create_for_cpu(drive, 4, 0, &queue) == XIO_HOST_OK, "a queue of the CPU");
  for (i = 0; i < THREADS * BLOCK; ++i) bytes[i] = (unsigned char)(i * 11 + i / BLOCK);
  expect(xio_queue_write(queue, 1000, THREADS, data, 0, 10000) == XIO_HOST_OK, "blocks are written");
  expect(xio_queue_flush(queue, 10000) == XIO_HOST_OK, "and made durable");
  expect(xio_queue_read(queue, 1000, THREADS, data, THREADS * BLOCK, 10000) == XIO_HOST_OK, "blocks are read");
  expect(memcmp(bytes, bytes + THREADS * BLOCK, THREADS * BLOCK) == 0, "what the CPU reads is what it has written");
  memset(bytes, 0, 2 * THREADS * BLOCK);
  refused(xio_queue_read(queue, 0, 2 * THREADS, data, BLOCK, 10000), "do not fit into a buffer");
  refused(xio_queue_read(queue, 0, 1, data, (size_t)-1, 10000), "do not fit into a buffer");
  refused(xio_queue_read(of_gpu, 0, 1, data, 0, 10000), "for kernels of a GPU");
  expect(xio_queue_read(queue, 1ull << 40, 1, data, 0, 10000) == XIO_HOST_STATUS, "a block that is not there");
  expect(xio_host_status() == XIO_OUT_OF_RANGE, "its status");
  expect(strcmp(xio_status_name(xio_host_status()), "out_of_range") == 0, "the name of its status");
  xio_queue_close(queue);

  expect(xio_drive_open("emulated:size=8M,delay=500000", NULL, &slow) == XIO_HOST_OK, "a slow drive");
  expect(xio_buffer_create(slow, BLOCK, &other) == XIO_HOST_OK, "its buffer");
  expect(xio_queue_create(slow, 0, 0, &queue) == XIO_HOST_OK, "its queue, of the CPU");
  refused(xio_queue_read(queue, 0, 1, data, 0, 10000), "of another drive");
  expect(xio_queue_read(queue, 0, 1, other, 0, 20) == XIO_HOST_TIMED_OUT, "no answer in time");
  refused(xio_queue_read(queue, 0, 1, other, 0, 20), "has timed out");
  xio_buffer_close(other);
  xio_queue_close(queue);
  xio_drive_close(slow);

  expect(xio_drive_open("emulated:size=8M,fail=read-281", NULL, &slow) == XIO_HOST_OK, "a drive with a bad medium");
  expect(xio_buffer_create(slow, BLOCK, &other) == XIO_HOST_OK && xio_queue_create(slow, 0, 0, &queue) == XIO_HOST_OK,
         "its buffer and queue");
  expect(xio_queue_read(queue, 0, 1, other, 0, 10000) == XIO_HOST_STATUS, "what cannot be read");
  expect(strcmp(xio_status_text(xio_host_status()), "unrecovered read error (status 0x281, read_error)") == 0,
         "the words for its status");
  xio_buffer_close(other);
  xio_queue_close(queue);
  xio_drive_close(slow);
}

/* Two drives as one address space: what is written in stripes of 8 blocks is found on each. */
static void by_set(const xio_gpu* gpu) {
  xio_drive* drives[2] = {NULL, NULL};
  xio_drive* of_cpu = NULL;
  xio_drive_set* set = NULL;
  xio_buffer* data = NULL;
  xio_buffer* one = NULL;
  xio_queue* queue = NULL;
  const xio_drive* mixed[2];
  const char* const specs[3] = {"emulated:size=8M", "emulated:size=8M", "nonsense"};
  unsigned char* bytes;
  unsigned i;
  refused(xio_drives_open(specs + 1, 2, gpu, drives), "describes no NVMe controller");
  expect(drives[0] == NULL && drives[1] == NULL, "no drive is opened where one cannot be");
  refused(xio_drives_open(NULL, 2, gpu, drives), "null pointer");
  expect(xio_drives_open(specs, 2, gpu, drives) == XIO_HOST_OK, "the drives of a set");
  expect(xio_drive_open("emulated:size=8M", NULL, &of_cpu) == XIO_HOST_OK, "a drive of the CPU");
  mixed[0] = drives[0];
  mixed[1] = of_cpu;
  refused(xio_drive_set_create(mixed, 2, 0, 0, 0, &set), "were opened for one GPU");
  refused(xio_drive_set_create(NULL, 2, 0, 0, 0, &set), "null pointer");
  mixed[1] = drives[1];
  expect(xio_drive_set_create(mixed, 2, 16, 2, 0, &set) == XIO_HOST_OK, "a set");
  expect(xio_drive_set_buffer(set, 32 * BLOCK, &data) == XIO_HOST_OK, "its buffer");
  expect(xio_buffer_create(drives[1], 8 * BLOCK, &one) == XIO_HOST_OK, "a buffer of its second drive");
  expect(xio_queue_create_for_cpu(drives[1], 0, 0, &queue) == XIO_HOST_OK, "a queue of its second drive");
  if (failures != 0) return;
  bytes = xio_buffer_data(data);
  for (i = 0; i < 32 * BLOCK; ++i) bytes[i] = (unsigned char)(i * 13 + i / BLOCK);
  expect(xio_drive_set_blocks(set) == 2 * 8 * 1024 * 1024 / BLOCK && xio_drive_set_block_bytes(set) == BLOCK,
         "its size");
  expect(xio_drive_set_address(set) != 0 && xio_buffer_region(data) != 0, "what kernels take");
  expect(xio_drive_set_queue(set, 1, 1) > xio_drive_set_queue(set, 1, 0) &&
             xio_drive_set_queue(set, 1, 0) > xio_drive_set_queue(set, 0, 1),
         "the queues of each drive");
  expect(xio_drive_set_queue(set, 2, 0) == 0 && xio_drive_set_queue(set, 0, 2) == 0, "and no others");
  expect(xio_buffer_bus_of(data, 0) == xio_buffer_bus(data) && xio_buffer_bus_of(data, 1) != 0, "its buses");
  expect(xio_buffer_bus_of(data, 2) == 0 && xio_buffer_bus_of(one, 0) == 0, "and no others");
  expect(xio_drive_set_write(set, 0, 32, data, 0, 10000) == XIO_HOST_OK, "blocks of the set are written");
  expect(xio_drive_set_flush(set, 10000) == XIO_HOST_OK, "and made durable");
  expect(xio_queue_read(queue, 8, 8, one, 0, 10000) == XIO_HOST_OK, "a stripe is read");
  expect(memcmp(xio_buffer_data(one), bytes + 24 * BLOCK, 8 * BLOCK) == 0,
         "stripe 3 is the second of the second drive");
  expect(xio_drive_set_read(set, 24, 8, data, 0, 10000) == XIO_HOST_OK, "blocks of the set are read");
  expect(memcmp(bytes, bytes + 24 * BLOCK, 8 * BLOCK) == 0, "they are those that were written");
  xio_drive_set_close(set);
  xio_queue_close(queue);
  xio_drive_close(drives[0]);
  xio_drive_close(drives[1]);
  xio_drive_close(of_cpu);
  xio_buffer_close(one);
  bytes[0] = 1; /* of a buffer that is still there */
  xio_buffer_close(data);
}

int main(int argc, char** argv) {
  xio_gpu* gpu = NULL;
  xio_drive* drive = NULL;
  xio_queue* queue = NULL;
  xio_buffer* data = NULL;
  xio_buffer* results = NULL;
  xio_module* module = NULL;
  xio_work* work = NULL;
  xio_drive_info info = {0, 0, 0, 0};
  size_t bytes = 0;
  char* image;
  char* other;
  void* pages;
  unsigned i;
  if (argc != 2) return 2;

  expect(xio_host_version() == XIO_HOST_VERSION, "the library's version is the header's");
  refused(xio_gpu_open(7, &gpu), "no GPU 7");
  refused(xio_drive_open("nonsense", NULL, &drive), "describes no NVMe controller");
  refused(xio_drive_open(NULL, NULL, &drive), "null pointer");
  refused(xio_drive_open("emulated", NULL, NULL), "null pointer");
  refused(xio_queue_create(NULL, 0, 0, &queue), "null pointer");

  expect(xio_gpu_open(0, &gpu) == XIO_HOST_OK, "a GPU");
  if (gpu == NULL) return 1;
  expect(xio_drive_open("emulated:size=8M", gpu, &drive) == XIO_HOST_OK, "a drive");
  expect(xio_drive_describe(drive, 0, &info) == XIO_HOST_OK, "its namespace");
  expect(info.nsid == 1 && info.block_bytes == BLOCK && info.blocks == 8 * 1024 * 1024 / BLOCK, "its size");
  refused(xio_drive_describe(drive, 99, &info), "namespace 99");
  expect(xio_drive_may_write(drive, 0) == XIO_HOST_OK, "it may be written to");
  expect(xio_drive_alive(drive) == XIO_HOST_OK, "it is there");
  expect(xio_queue_create(drive, 32, 0, &queue) == XIO_HOST_OK, "a queue");
  refused(xio_queue_create(drive, 1u << 30, 0, &(xio_queue*){NULL}), "depth");
  pages = aligned_alloc(4096, 2 * THREADS * BLOCK);
  expect(xio_buffer_map(drive, pages, 2 * THREADS * BLOCK, &data) == XIO_HOST_OK, "memory of the program");
  refused(xio_buffer_map(drive, (char*)pages + 512, 4096, &(xio_buffer*){NULL}), "multiples of 4096");
  expect(xio_buffer_create(drive, THREADS * sizeof(xio_status), &results) == XIO_HOST_OK, "a buffer");
  if (failures != 0) return 1;
  expect(xio_buffer_data(data) == pages && xio_buffer_bytes(data) == 2 * THREADS * BLOCK, "it is as it was");
  expect(xio_buffer_bytes(results) == THREADS * sizeof(xio_status), "a buffer has the size asked for");

  by_cpu(drive, data, queue);
  by_set(gpu);

  image = read_file(argv[1], &bytes);
  if (image == NULL) return 2;
  expect(xio_module_load(gpu, image, bytes, &module) == XIO_HOST_OK, "a module");
  /* The same kernels with bitcode of another ABI. */
  other = malloc(bytes);
  memcpy(other, image, bytes);
  for (i = 0; i + 16 < bytes; ++i)
    if (memcmp(other + i, "xio_device_abi_", 15) == 0) other[i + 15] = '9';
  refused(xio_module_load(gpu, other, bytes, &(xio_module*){NULL}), "bitcode of xio's ABI 9");
  refused(xio_module_load(gpu, NULL, 0, &(xio_module*){NULL}), "null pointer");

  for (i = 0; i < THREADS * BLOCK; ++i) ((unsigned char*)xio_buffer_data(data))[i] = (unsigned char)(i * 7 + i / BLOCK);
  memset(xio_buffer_data(results), 0xff, THREADS * sizeof(xio_status));
  {
    xio_address handle = xio_queue_address(queue);
    xio_u64 bus = xio_buffer_bus(data);
    xio_u64 status = xio_buffer_address(results);
    void* arguments[3];
    arguments[0] = &handle;
    arguments[1] = &bus;
    arguments[2] = &status;
    /* What a kernel needs stays, in whatever order it is given back. */
    xio_drive_close(drive);
    refused(xio_kernel_launch(module, "nothing", 1, THREADS, 0, arguments, &work), "nothing");
    expect(xio_kernel_launch(module, "write_and_read", 1, THREADS, 0, arguments, &work) == XIO_HOST_OK, "a launch");
    expect(xio_work_wait(work, 60000) == XIO_HOST_OK, "its end");
  }
  for (i = 0; i < THREADS; ++i) expect(((xio_status*)xio_buffer_data(results))[i] == XIO_OK, "a thread's status");
  expect(memcmp(xio_buffer_data(data), (char*)xio_buffer_data(data) + THREADS * BLOCK, THREADS * BLOCK) == 0,
         "what is read is what was written");

  xio_work_close(work);
  xio_module_close(module);
  xio_gpu_close(gpu);
  xio_buffer_close(results);
  xio_buffer_close(data);
  xio_queue_close(queue);
  xio_buffer_close(NULL);
  free(pages);
  free(other);
  free(image);
  if (failures == 0) printf("ok: %u blocks\n", (unsigned)THREADS);
  return failures == 0 ? 0 : 1;
}
