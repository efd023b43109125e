/**
 * What becomes of metadata by name: attachments (all kinds of LLVM 22 that have numbers, and those that front ends name)
 * and named nodes. `read`: it becomes hints, attributes or fields of the module. `harmless`: code without it does what is
 * asked. `refused`: somebody relies on what it asks for, and nothing here does it; readers say so and stop. Names that are
 * in no row are harmless, as LLVM has it: metadata that is not understood may be dropped.
 * Sources: llvm/IR/FixedMetadataKinds.def and LLVM's Language Reference ("Metadata"); clang's CodeGen for the others.
 */
export type MetadataFate = "read" | "harmless" | "refused";

const rows = (...list: readonly (readonly [fate: MetadataFate, names: string])[]) =>
  new Map(list.flatMap(([fate, names]) => names.split(/\s+/).map((name) => [name, fate] as const)));

export const attachmentFates: ReadonlyMap<string, MetadataFate> = rows(
  [
    "read",
    `tbaa alias.scope noalias prof range nonnull noundef invariant.load invariant.group nontemporal unpredictable
    align dereferenceable dereferenceable_or_null llvm.loop callees fpmath type vcall_visibility kcfi_type func_sanitize`,
  ],
  // Debug information, diagnostics, and what only other systems' linkers or debuggers read.
  ["harmless", "dbg DIAssignID srcloc heapallocsite annotation llvm.preserve.access.index"],
  // Freedom that passes do not take, and marks for passes that are not there or have run before.
  [
    "harmless",
    `tbaa.struct llvm.mem.parallel_loop_access llvm.access.group irr_loop make.implicit callback nosanitize memprof
    callsite coro.outside.frame mmra noalias.addrspace callee_type nofree captures alloc_token stack-protector
    nofpclass inline_history guid amdgpu.no.fine.grained.memory amdgpu.no.remote.memory amdgpu.ignore.denormal.mode`,
  ],
  // Where a section goes, and when the linker may drop it: it stays, among others.
  ["harmless", "section_prefix associated exclude"],
  // The symbol is a number, not a place in the program; sections of addresses; relocations for their own sake.
  ["refused", "absolute_symbol pcsections implicit.ref elf_section_properties"],
);

export const namedNodeFates: ReadonlyMap<string, MetadataFate> = rows(
  ["read", "llvm.module.flags llvm.dependent-libraries"],
  [
    "harmless",
    `llvm.ident llvm.commandline llvm.linker.options llvm.embedded.objects llvm.errno.tbaa llvm.dbg.cu llvm.stats
    llvm.gcov llvm.asan.globals llvm.debugify llvm.mir.debugify llvm.offloading.symbols omp_offload.info
    opencl.ocl.version opencl.spir.version opencl.kernels opencl.enable.FP_CONTRACT nvvm.annotations nvvmir.version
    cfi.functions aliases symvers dx.valver amdgpu.printf llvm.printf.fmts`,
  ],
  ["refused", "llvm.pseudo_probe_desc"],
);

/** What is refused, in words; null for all else. */
export const refusedAttachment = (name: string): string | null =>
  attachmentFates.get(name) === "refused" ? `metadata !${name}` : null;
export const refusedNode = (name: string): string | null =>
  namedNodeFates.get(name) === "refused" ? `named metadata !${name}` : null;
