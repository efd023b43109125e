/* Runs pairs of functions on the same states and prints where they differ. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
  uint64_t reg[16];
  uint64_t flags, fn;
  uint64_t xmm[4];
  uint8_t memory[128];
};
struct pair {
  void *before, *after;
  uint8_t compared[16];
};
extern struct pair pairs[];
extern uint64_t pair_count;
__attribute__((aligned(16))) struct state st;
void run(void);

static uint64_t seed;
static uint64_t next(void) {
  uint64_t z = (seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static uint64_t value(void) {
  static const int64_t near[] = {0,   1,   -1,    2,     127,        128,         -128,       -129,
                                 255, 256, 32767, 32768, 2147483647, -2147483648, 4294967295, 1100};
  uint64_t r = next();
  switch (r & 3) {
  case 0: return next();
  case 1: return (uint64_t)near[r >> 2 & 15];
  case 2: return (uint32_t)near[r >> 2 & 15] | (r >> 8 & 1 ? next() << 32 : 0);
  default: return (uint64_t)near[r >> 2 & 15] + (r >> 8 & 3) - 1;
  }
}

int main(int argc, char **argv) {
  int states = argc > 1 ? atoi(argv[1]) : 200;
  for (uint64_t p = 0; p < pair_count; p++) {
    seed = p;
    for (int s = 0; s < states; s++) {
      struct state start, one;
      memset(&start, 0, sizeof start);
      for (int r = 0; r < 16; r++) start.reg[r] = value();
      start.reg[14] = next() & 7;
      start.reg[15] = (uint64_t)(uintptr_t)st.memory;
      start.flags = (next() & 0x8d5) | 0x202;
      for (int i = 0; i < 4; i++) start.xmm[i] = value();
      for (int i = 0; i < 128; i++) start.memory[i] = (uint8_t)next();
      for (int i = 0; i < 16; i++) memcpy(start.memory + 8 * (next() & 15), (uint64_t[]){value()}, 8);
      st = start, st.fn = (uint64_t)(uintptr_t)pairs[p].before, run(), one = st;
      st = start, st.fn = (uint64_t)(uintptr_t)pairs[p].after, run();
      int bad = -1;
      for (int r = 0; r < 16; r++)
        if (memcmp(&one.reg[r], &st.reg[r], pairs[p].compared[r])) bad = r;
      if (memcmp(one.xmm, st.xmm, sizeof st.xmm)) bad = 16;
      if (memcmp(one.memory, st.memory, sizeof st.memory)) bad = 17;
      if (bad < 0) continue;
      if (bad < 16)
        printf("%llu register %d: %llx became %llx\n", (unsigned long long)p, bad,
               (unsigned long long)one.reg[bad], (unsigned long long)st.reg[bad]);
      else printf("%llu %s differ\n", (unsigned long long)p, bad == 16 ? "vectors" : "bytes in memory");
      break;
    }
  }
  return 0;
}
