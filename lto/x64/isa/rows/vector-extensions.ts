/**
 * Operations of 16 bytes that not every x86-64 has: SSE3 to SSE4.2, AES, PCLMUL, SHA, GFNI, in the encodings without VEX. One row
 * an opcode; columns are explained in `row.ts`. Selection finds them by their names (`select/vector-extensions.ts`).
 * Source: Intel SDM volume 2.
 */
import { Format, X } from "../ops.js";
import { FlagEffect, Length, noSource, type Row, sse, Takes } from "../row.js";

type Columns = Parameters<typeof sse>[4];

/** With the feature. @param prefix there is a mandatory one */
const of =
  (feature: string, prefix: 0 | 1 = 1) =>
  (op: X, format: Format, name: string, columns: Columns = {}): Row =>
    sse(op, format, name, prefix, { feature, ...columns });

/** Of the maps 0F38 and 0F3A: a byte longer. */
const inMap =
  (feature: string, prefix: 0 | 1 = 1) =>
  (op: X, format: Format, name: string, columns: Columns = {}): Row => {
    const made = sse(op, format, name, prefix, { feature, ...columns });
    return { ...made, bytes: made.bytes + 1 };
  };

const withImmediate = { length: Length.PlainImmediate };
const registersOnly = { takes: Takes.Register, source: noSource };

const sse3 = of("sse3");
const ssse3 = inMap("ssse3");
const sse41 = inMap("sse4.1");
const sse42 = inMap("sse4.2");
const aes = inMap("aes");
const sha = inMap("sha", 0);
const gfni = inMap("gfni");
const string = { ...withImmediate, flags: FlagEffect.Other };

export const vectorExtensionRows: readonly Row[] = [
  sse3(X.Addsubps, Format.Alu, "addsubps"),
  sse3(X.Addsubpd, Format.Alu, "addsubpd"),
  sse3(X.Haddps, Format.Alu, "haddps"),
  sse3(X.Haddpd, Format.Alu, "haddpd"),
  sse3(X.Hsubps, Format.Alu, "hsubps"),
  sse3(X.Hsubpd, Format.Alu, "hsubpd"),
  sse3(X.Lddqu, Format.Mov, "lddqu", { takes: Takes.Memory, source: noSource }),
  ssse3(X.Pshufb, Format.Alu, "pshufb"),
  ssse3(X.Phaddw, Format.Alu, "phaddw"),
  ssse3(X.Phaddd, Format.Alu, "phaddd"),
  ssse3(X.Phaddsw, Format.Alu, "phaddsw"),
  ssse3(X.Phsubw, Format.Alu, "phsubw"),
  ssse3(X.Phsubd, Format.Alu, "phsubd"),
  ssse3(X.Phsubsw, Format.Alu, "phsubsw"),
  ssse3(X.Pmaddubsw, Format.Alu, "pmaddubsw"),
  ssse3(X.Pmulhrsw, Format.Alu, "pmulhrsw", { commutes: true }),
  ssse3(X.Psignb, Format.Alu, "psignb"),
  ssse3(X.Psignw, Format.Alu, "psignw"),
  ssse3(X.Psignd, Format.Alu, "psignd"),
  sse41(X.Packusdw, Format.Alu, "packusdw"),
  sse41(X.Dpps, Format.AluImm, "dpps", withImmediate),
  sse41(X.Dppd, Format.AluImm, "dppd", withImmediate),
  sse41(X.Mpsadbw, Format.AluImm, "mpsadbw", withImmediate),
  // Of memory it takes one lane, whatever the immediate says.
  sse41(X.Insertps, Format.AluImm, "insertps", { ...withImmediate, ...registersOnly, sourceBytes: 16 }),
  sse41(X.Phminposuw, Format.Mov, "phminposuw"),
  sse41(X.Roundps, Format.MovImm, "roundps", withImmediate),
  sse41(X.Roundpd, Format.MovImm, "roundpd", withImmediate),
  sse41(X.Roundss, Format.AluImm, "roundss", { ...withImmediate, ...registersOnly, sourceBytes: 4 }),
  sse41(X.Roundsd, Format.AluImm, "roundsd", { ...withImmediate, ...registersOnly, sourceBytes: 8 }),
  sse41(X.Ptest, Format.Compare, "ptest", { flags: FlagEffect.Other }),
  sse41(X.Blendvps, Format.ByXmm0, "blendvps"),
  sse41(X.Blendvpd, Format.ByXmm0, "blendvpd"),
  sse41(X.Pblendvb, Format.ByXmm0, "pblendvb"),
  sse42(X.Pcmpistri, Format.CompareImm, "pcmpistri", { ...string, result: 4 }),
  sse42(X.Pcmpistrm, Format.CompareImm, "pcmpistrm", string),
  sse42(X.Pcmpestri, Format.CompareImm, "pcmpestri", { ...string, result: 4 }),
  sse42(X.Pcmpestrm, Format.CompareImm, "pcmpestrm", string),
  aes(X.Aesenc, Format.Alu, "aesenc"),
  aes(X.Aesenclast, Format.Alu, "aesenclast"),
  aes(X.Aesdec, Format.Alu, "aesdec"),
  aes(X.Aesdeclast, Format.Alu, "aesdeclast"),
  aes(X.Aesimc, Format.Mov, "aesimc"),
  aes(X.Aeskeygenassist, Format.MovImm, "aeskeygenassist", withImmediate),
  inMap("pclmul")(X.Pclmulqdq, Format.AluImm, "pclmulqdq", withImmediate),
  sha(X.Sha1rnds4, Format.AluImm, "sha1rnds4", withImmediate),
  sha(X.Sha1nexte, Format.Alu, "sha1nexte"),
  sha(X.Sha1msg1, Format.Alu, "sha1msg1"),
  sha(X.Sha1msg2, Format.Alu, "sha1msg2"),
  sha(X.Sha256rnds2, Format.ByXmm0, "sha256rnds2"),
  sha(X.Sha256msg1, Format.Alu, "sha256msg1"),
  sha(X.Sha256msg2, Format.Alu, "sha256msg2"),
  gfni(X.Gf2p8mulb, Format.Alu, "gf2p8mulb"),
  gfni(X.Gf2p8affineqb, Format.AluImm, "gf2p8affineqb", withImmediate),
  gfni(X.Gf2p8affineinvqb, Format.AluImm, "gf2p8affineinvqb", withImmediate),
];
