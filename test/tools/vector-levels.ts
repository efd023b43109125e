/**
 * Levels of vector instructions, and the C program that calls random functions of vector operations (vector-programs.ts) on several
 * kinds of data, and prints a number of what each stored.
 */

/** Bytes that a function reads, and that it writes. */
export const vectorBuffer = 4096;
const buffer = vectorBuffer;

/** Features that a function is compiled for, and what the machine has to have, by the names of /proc/cpuinfo. */
export interface Level {
  readonly name: string;
  readonly features: string;
  readonly needs: readonly string[];
  /** Conversions of half-precision numbers are instructions, so results agree. */
  readonly hasHalf: boolean;
}

const skylake = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd";
const needsSkylake = ["avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"];
export const vectorLevels: readonly Level[] = [
  { name: "SSE2", features: "+sse2", needs: [], hasHalf: false },
  { name: "SSSE3", features: "+ssse3", needs: ["ssse3"], hasHalf: false },
  { name: "SSE41", features: "+sse4.1", needs: ["sse4_1"], hasHalf: false },
  { name: "SSE42", features: "+sse4.2,+popcnt", needs: ["sse4_2"], hasHalf: false },
  { name: "AVX", features: "+avx", needs: ["avx"], hasHalf: true },
  { name: "AVX2", features: "+avx2,+fma,+f16c", needs: ["avx2", "fma", "f16c"], hasHalf: true },
  { name: "F", features: "+avx512f", needs: ["avx512f"], hasHalf: false },
  { name: "FVL", features: "+avx512f,+avx512vl", needs: ["avx512f", "avx512vl"], hasHalf: false },
  { name: "FBW", features: "+avx512f,+avx512bw", needs: ["avx512f", "avx512bw"], hasHalf: false },
  { name: "SKX", features: skylake, needs: needsSkylake, hasHalf: true },
  {
    name: "ICL",
    features: `${skylake},+avx512vbmi,+avx512vbmi2,+avx512bitalg,+avx512vpopcntdq,+avx512vnni,+avx512ifma`,
    needs: [...needsSkylake, "avx512vbmi", "avx512_vbmi2", "avx512_bitalg", "avx512_vpopcntdq"],
    hasHalf: true,
  },
];

/** The C program around them. @param hasWide the machine has AVX-512, and the program is compiled for it */
export function vectorMain(functions: number, hasWide: boolean): string {
  const names = Array.from({ length: functions }, (_, i) => `f${i}`);
  const general = ["rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11"];
  const xmm = Array.from({ length: 16 }, (_, i) => `xmm${i}`);
  const quoted = (list: readonly string[]): string => list.map((name) => `"${name}"`).join(", ");
  const fill = (asm: readonly string[]): string => asm.map((line) => `"${line}\\n\\t"`).join(" ");
  const vectors = hasWide
    ? [
        "vzeroall",
        "vpcmpeqd %%xmm0,%%xmm0,%%xmm0",
        "vpbroadcastd %%xmm0,%%zmm5",
        "vpbroadcastd %%xmm0,%%zmm11",
      ]
    : xmm.map((name) => `pcmpeqd %%${name},%%${name}`);
  const masks = hasWide ? ["vzeroupper", "kxnorw %%k1,%%k1,%%k1"] : [];
  return `#include <stdio.h>
#include <string.h>
${names.map((name) => `void ${name}(char *, char *);`).join("\n")}
static unsigned long state = 88172645463325252ull;
static unsigned long next(void) { state ^= state << 13; state ^= state >> 7; state ^= state << 17; return state; }
__attribute__((noinline)) void opaque(void) {
  __asm__ volatile(${fill([...vectors, ...masks])} ::: "memory", ${quoted(xmm)});
  __asm__ volatile(${fill(["movl $-1, %%eax", ...["ecx", "edx", "esi", "edi"].map((r) => `movl %%eax,%%${r}`)])} ::: ${quoted(general)});
}
static char in[${buffer}] __attribute__((aligned(64))), out[${buffer}] __attribute__((aligned(64)));
static void (*const all[])(char *, char *) = {${names.join(", ")}};
static const unsigned long special[] = {
  0, 1, -1ul, 1ul << 63, ~0ul >> 1, 0x3ff0000000000000, 0x7ff0000000000000, 0x3f8000003f800000, 0x7f8000007f800000,
  0x80000000, 0x3c003c003c003c00, 0x4330000000000000, 0x41dfffffffc00000, 0xbf000000bf800000, 0x4f0000004effffff,
  0x00ff00ff00ff00ff, 0x7fc000007fc00000, 0x7ff8000000000000, 0x8000000080000000};
static unsigned long word(int round) {
  unsigned long x = next();
  switch (round) {
    case 1: { float f[2] = {(int)(x % 2000 - 1000) / 4.0f, (int)(x / 7 % 20000) / 8.0f - 100}; memcpy(&x, f, 8); break; }
    case 2: { double d = (long)(x % 200000) / 8.0 - 9000; memcpy(&x, &d, 8); break; }
    case 3: return special[x % 19];
    case 4: return x & 0x0101010101010101ul;
    case 5: return (x & 0x0101010101010101ul) * 255;
    case 6: return x & 0x0f0f0f0f0f0f0f0ful;
  }
  return x;
}
int main(void) {
  for (int i = 0; i < ${functions}; i++)
    for (int round = 0; round < 9; round++) {
      for (int k = 0; k < ${buffer}; k += 8) { unsigned long x = word(round); memcpy(in + k, &x, 8); }
      memset(out, 0, sizeof out);
      all[i](in, out);
      unsigned long h = 1469598103934665603ul;
      for (int k = 0; k < ${buffer}; k++) h = (h ^ (unsigned char)out[k]) * 1099511628211ul;
      printf("%d %d %016lx\\n", i, round, h);
    }
  return 0;
}
`;
}
