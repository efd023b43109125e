/**
 * Operations of 16 bytes that not every x86-64 has: SSE3 to SSE4.2, AES, PCLMUL, SHA, GFNI, in the encodings without VEX. One row
 * an opcode; columns are explained in `row.ts`. Selection finds them by their names (`select/vector-extensions.ts`).
 * Source: Intel SDM volume 2.
 */
import { Format, X } from "../ops.js";
import { FlagEffect, Length, noSource, type Row, sse, Takes, Wide } from "../row.js";

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
/** Of the low lanes of the source. @param bytes that they have */
const extended = (bytes: number): Columns => ({ sizes: [16], sourceBytes: bytes });
const inserted = (bytes: number): Columns => ({ ...withImmediate, sizes: [16], sourceBytes: bytes });
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
  ssse3(X.Pabsb, Format.Mov, "pabsb"),
  ssse3(X.Pabsw, Format.Mov, "pabsw"),
  ssse3(X.Pabsd, Format.Mov, "pabsd"),
  ssse3(X.Palignr, Format.AluImm, "palignr", withImmediate),
  sse41(X.Packusdw, Format.Alu, "packusdw"),
  sse41(X.Pminsb, Format.Alu, "pminsb", { commutes: true }),
  sse41(X.Pminsd, Format.Alu, "pminsd", { commutes: true }),
  sse41(X.Pminuw, Format.Alu, "pminuw", { commutes: true }),
  sse41(X.Pminud, Format.Alu, "pminud", { commutes: true }),
  sse41(X.Pmaxsb, Format.Alu, "pmaxsb", { commutes: true }),
  sse41(X.Pmaxsd, Format.Alu, "pmaxsd", { commutes: true }),
  sse41(X.Pmaxuw, Format.Alu, "pmaxuw", { commutes: true }),
  sse41(X.Pmaxud, Format.Alu, "pmaxud", { commutes: true }),
  sse41(X.Pmulld, Format.Alu, "pmulld", { commutes: true }),
  sse41(X.Pmuldq, Format.Alu, "pmuldq", { commutes: true }),
  sse41(X.Pcmpeqq, Format.Alu, "pcmpeqq", { commutes: true }),
  sse42(X.Pcmpgtq, Format.Alu, "pcmpgtq"),
  sse41(X.Pmovsxbw, Format.Mov, "pmovsxbw", extended(8)),
  sse41(X.Pmovsxbd, Format.Mov, "pmovsxbd", extended(4)),
  sse41(X.Pmovsxbq, Format.Mov, "pmovsxbq", extended(2)),
  sse41(X.Pmovsxwd, Format.Mov, "pmovsxwd", extended(8)),
  sse41(X.Pmovsxwq, Format.Mov, "pmovsxwq", extended(4)),
  sse41(X.Pmovsxdq, Format.Mov, "pmovsxdq", extended(8)),
  sse41(X.Pmovzxbw, Format.Mov, "pmovzxbw", extended(8)),
  sse41(X.Pmovzxbd, Format.Mov, "pmovzxbd", extended(4)),
  sse41(X.Pmovzxbq, Format.Mov, "pmovzxbq", extended(2)),
  sse41(X.Pmovzxwd, Format.Mov, "pmovzxwd", extended(8)),
  sse41(X.Pmovzxwq, Format.Mov, "pmovzxwq", extended(4)),
  sse41(X.Pmovzxdq, Format.Mov, "pmovzxdq", extended(8)),
  sse41(X.Pinsrb, Format.AluImm, "pinsrb", { ...inserted(1), argument: 4 }),
  sse41(X.Pinsrd, Format.AluImm, "pinsrd", { ...inserted(4), argument: 4 }),
  sse41(X.Pinsrq, Format.AluImm, "pinsrq", { ...inserted(8), argument: 8, wide: Wide.Always }),
  sse41(X.Pextrb, Format.MovImm, "pextrb", { ...withImmediate, ...registersOnly, result: 4 }),
  sse41(X.Pextrd, Format.MovImm, "pextrd", { ...withImmediate, ...registersOnly, result: 4 }),
  sse41(X.Pextrq, Format.MovImm, "pextrq", {
    ...withImmediate,
    ...registersOnly,
    result: 8,
    wide: Wide.Always,
  }),
  sse41(X.Blendps, Format.AluImm, "blendps", withImmediate),
  sse41(X.Blendpd, Format.AluImm, "blendpd", withImmediate),
  sse41(X.Pblendw, Format.AluImm, "pblendw", withImmediate),
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
