"""CUDA kernels for faults that a tile language hides or avoids; `<fault>_slow` has the fault, `<fault>_fast` has not."""

SOURCE = r"""
#define LANE (threadIdx.x & 31)
extern "C" {

// 32 lanes read one bank, or with one word of padding 32 banks.
#define COLUMN(NAME, PITCH) \
__global__ void NAME(const float* x, float* y) { \
  __shared__ float s[32 * PITCH + 32]; \
  for (int i = threadIdx.x; i < 32 * PITCH + 32; i += blockDim.x) s[i] = x[i & 1023]; \
  __syncthreads(); \
  float sum = 0.0f; \
  for (int repeat = 0; repeat < 64; ++repeat) \
    _Pragma("unroll 8") \
    for (int c = 0; c < 32; ++c) sum += *(volatile float*)&s[LANE * PITCH + c]; \
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum; \
}
COLUMN(bank_conflicts_slow, 32)
COLUMN(bank_conflicts_fast, 33)

// Every operand comes from shared memory, or every fourth.
#define SHARED(NAME, REUSE) \
__global__ void NAME(const float* x, float* y) { \
  __shared__ float s[4096]; \
  for (int i = threadIdx.x; i < 4096; i += blockDim.x) s[i] = x[i]; \
  __syncthreads(); \
  float sum = 0.0f, value = 0.0f; \
  for (int repeat = 0; repeat < 64; ++repeat) \
    _Pragma("unroll 16") \
    for (int i = 0; i < 64; ++i) { \
      if (i % REUSE == 0) value = *(volatile float*)&s[(i * 32 + LANE) & 4095]; \
      sum = sum * value + 0.5f; \
    } \
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum; \
}
SHARED(shared_bandwidth_slow, 1)
SHARED(shared_bandwidth_fast, 4)

// The same with a table that stays in L1.
#define CACHED(NAME, REUSE) \
__global__ void NAME(const float* x, float* y) { \
  float sum = 0.0f, value = 0.0f; \
  for (int repeat = 0; repeat < 64; ++repeat) \
    _Pragma("unroll 16") \
    for (int i = 0; i < 64; ++i) { \
      if (i % REUSE == 0) \
        asm volatile("ld.global.ca.f32 %0, [%1];" : "=f"(value) : "l"(x + i * 32 + LANE)); \
      sum = sum * value + 0.5f; \
    } \
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum; \
}
CACHED(l1_bandwidth_slow, 1)
CACHED(l1_bandwidth_fast, 4)

// A step of a running sum that all threads wait for, or only those of a warp.
#define STEPS(NAME, WAIT) \
__global__ void NAME(const float* x, float* y) { \
  __shared__ float s[2048]; \
  s[threadIdx.x] = x[threadIdx.x]; s[threadIdx.x + 1024] = 0.0f; \
  __syncthreads(); \
  for (int step = 0; step < 512; ++step) { \
    float next = s[(threadIdx.x & ~31) + ((threadIdx.x + 1) & 31)] * 0.5f; \
    WAIT; \
    s[threadIdx.x] = next; \
    WAIT; \
  } \
  y[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x]; \
}
STEPS(barriers_slow, __syncthreads())
STEPS(barriers_fast, __syncwarp())

// A chain of loads: the address of the next depends on the last, so only the loads of other warps overlap.
#define STREAM(NAME, TYPE, PART) \
__global__ void NAME(const TYPE* x, float* y, int n) { \
  extern __shared__ float unused[]; \
  int index = blockIdx.x * blockDim.x + threadIdx.x, stride = gridDim.x * blockDim.x; \
  float sum = 0.0f; \
  while (index < n) { \
    TYPE value = x[index]; \
    sum += PART; \
    index += stride + (sum == 12345.678f); \
  } \
  if (sum == 12345.678f) unused[threadIdx.x] = sum; \
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum; \
}
STREAM(bytes_in_flight_slow, float, value)
STREAM(bytes_in_flight_fast, float4, value.x + value.y + value.z + value.w)
STREAM(occupancy_shared_slow, float4, value.x + value.y + value.z + value.w)
STREAM(occupancy_shared_fast, float4, value.x + value.y + value.z + value.w)
// Held out: lanes four words apart, or five.
COLUMN(four_apart_slow, 4)
COLUMN(four_apart_fast, 5)

// Held out: the sum of a block by halves, with a barrier for each, or by shuffles in its warps.
__global__ void block_sum_slow(const float* x, float* y) {
  __shared__ float s[1024];
  float sum = 0.0f;
  for (int step = 0; step < 64; ++step) {
    s[threadIdx.x] = x[(step * 1024 + threadIdx.x) & 65535];
    for (int half = 512; half > 0; half >>= 1) {
      __syncthreads();
      if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    }
    __syncthreads();
    sum += s[0];
    __syncthreads();
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
__global__ void block_sum_fast(const float* x, float* y) {
  __shared__ float s[32];
  float sum = 0.0f;
  for (int step = 0; step < 64; ++step) {
    float part = x[(step * 1024 + threadIdx.x) & 65535];
    for (int half = 16; half > 0; half >>= 1) part += __shfl_xor_sync(~0u, part, half);
    if (LANE == 0) s[threadIdx.x >> 5] = part;
    __syncthreads();
    part = s[LANE];
    for (int half = 16; half > 0; half >>= 1) part += __shfl_xor_sync(~0u, part, half);
    sum += part;
    __syncthreads();
  }
  y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
STREAM(occupancy_blocks_slow, float, value)
STREAM(occupancy_blocks_fast, float, value)
}
"""
