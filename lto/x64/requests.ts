/**
 * What x86-64 code generation does with each request of function attributes and module flags.
 *
 * `done` names the step that does it; `harmless` says why leaving it out changes nothing that a program or its user
 * relies on; `refused` says what is missing. Rules for names that are not here: codegen/requests.ts.
 */
import type { Answer, Fate, RequestTable } from "../codegen/requests.js";

type Unless = Answer["unless"];
type Row = readonly [names: string, fate: Fate, reason: string, unless?: Unless];

/** A row stands for all its names, which spaces separate; `~` in a name of several words is a space. */
function table(...rows: readonly Row[]): ReadonlyMap<string, Answer> {
  const answers = new Map<string, Answer>();
  for (const [names, fate, reason, unless] of rows)
    for (const name of names.split(" "))
      answers.set(name, { fate, reason, ...(unless === undefined ? {} : { unless }) });
  return answers;
}

/** With the spaces that names have. */
const spaced = (answers: ReadonlyMap<string, Answer>): ReadonlyMap<string, Answer> =>
  new Map([...answers].map(([name, answer]) => [name.replaceAll("~", " "), answer]));

const attributes = table(
  [
    "alwaysinline inlinehint noinline cold hot optforfuzzing jumptable builtin nobuiltin noduplicate convergent " +
      "norecurse nocallback nofree nosync willreturn mustprogress nounwind noreturn speculatable memory " +
      "allockind allocsize coro_only_destroy_when_complete coro_elide_safe nodivergencesource " +
      "nocreateundeforpoison nooutline nomerge returns_twice vscale_range disable_sanitizer_instrumentation " +
      "nosanitize_coverage nosanitize_bounds noprofile skipprofile optdebug captures",
    "harmless",
    "says what passes may assume or try",
  ],
  [
    "minsize optsize optnone naked uwtable null_pointer_is_valid strictfp noredzone",
    "done",
    "selection and frames",
  ],
  ["presplitcoroutine", "refused", "coroutines are not split"],
  [
    "sanitize_address sanitize_thread sanitize_memory sanitize_hwaddress sanitize_type sanitize_realtime " +
      "sanitize_realtime_blocking sanitize_numerical_stability sanitize_alloc_token",
    "harmless",
    "the checks are in the IR already",
  ],
  ["sanitize_memtag", "refused", "memory tagging is not there"],
  ["nonlazybind", "harmless", "asks how a symbol is bound, which the linker decides"],
  ["nocf_check", "done", "pass branch-marks, step harden"],
  ["denormal_fpenv", "harmless", "says what passes may assume"],
  ["ssp sspstrong sspreq", "done", "pass stack-protector"],
  ["safestack", "refused", "there is no second stack"],
  ["shadowcallstack", "refused", "no register is kept for it"],
  ["speculative_load_hardening", "refused", "loads are not hardened"],
  ["fn_ret_thunk_extern", "done", "step harden"],
  ["noimplicitfloat", "refused", "copies use vector registers"],
  ["alignstack", "refused", "the stack is aligned as the ABI says"],
  ["hybrid_patchable", "refused", "of another system"],
);

const strings = table(
  [
    "target-cpu tune-cpu min-legal-vector-width prefer-vector-width no-builtins reciprocal-estimates " +
      "unsafe-fp-math no-infs-fp-math no-nans-fp-math no-signed-zeros-fp-math approx-func-fp-math " +
      "less-precise-fpmad no-trapping-math stack-protector-buffer-size alloc-family " +
      "alloc-variant-zeroed use-sample-profile profile-sample-accurate indirect-tls-seg-refs " +
      "function-inline-cost warn-stack-size implicit-section-name thunk",
    "harmless",
    "tunes or informs",
  ],
  ["denormal-fp-math denormal-fp-math-f32", "harmless", "says what passes may assume: programs set the mode"],
  ["frame-pointer disable-tail-calls no-jump-tables", "done", "selection and frames"],
  ["no_caller_saved_registers no_callee_saved_registers", "refused", "no such sets of saved registers"],
  ["probe-stack", "refused", "only inline-asm: frames probe themselves", { "inline-asm": "done" }],
  ["stack-probe-size", "done", "frames"],
  ["no-stack-arg-probe", "harmless", "of another system"],
  ["stackrealign", "done", "frames"],
  ["no-realign-stack", "harmless", "slots have the alignment that they ask for"],
  ["use-soft-float", "refused", "floats are in vector registers", { false: "harmless" }],
  ["fentry-call", "done", "step harden"],
  ["mnop-mcount mrecord-mcount", "refused", "calls of profilers are plain"],
  [
    "instrument-function-entry instrument-function-exit instrument-function-entry-inlined instrument-function-exit-inlined",
    "done",
    "pass instrument-functions",
  ],
  ["patchable-function", "refused", "instructions at the entry may be short"],
  ["patchable-function-entry patchable-function-prefix", "done", "step harden, assembly"],
  ["split-stack", "refused", "stacks do not grow by segments"],
  ["no-split-stack", "harmless", "stacks do not grow by segments"],
  [
    "xray-instruction-threshold xray-skip-entry xray-skip-exit xray-log-args xray-ignore-loops",
    "refused",
    "no XRay sleds",
  ],
  ["function-instrument", "refused", "no XRay sleds", { "xray-never": "harmless" }],
  ["zero-call-used-regs", "done", "step harden"],
  ["kcfi-type", "done", "assembly; calls check it in selection"],
  ["func-sanitize", "done", "assembly"],
  ["branch-marks", "done", "step harden"],
  ["hwasan-abi", "harmless", "the checks are in the IR already"],
  [
    "sign-return-address sign-return-address-key branch-target-enforcement guarded-control-stack",
    "harmless",
    "of another machine",
  ],
);

const features = table(
  ["+harden-sls-ret +harden-sls-ijmp", "done", "step harden"],
  ["+retpoline-indirect-branches +retpoline-indirect-calls +retpoline-external-thunk", "done", "selection"],
  ["+lvi-cfi +lvi-load-hardening +seses", "refused", "no fences against load value injection"],
  ["+soft-float -sse -sse2", "refused", "floats are in vector registers"],
  ["+tagged-globals", "refused", "addresses have no tags"],
);

const flags = spaced(
  table(
    [
      "wchar_size short_enum min_enum_size PIC~Level PIE~Level uwtable frame-pointer Dwarf~Version " +
        "Debug~Info~Version CodeView debug-info-assignment-tracking ThinLTO UnifiedLTO EnableSplitLTOUnit " +
        "SemanticInterposition EnableValueProfiling RtLibUseGOT direct-access-external-data MaxTLSAlign " +
        "SkipRaxSetup NumRegisterParameters openmp openmp-device StrictVTablePointers Virtual~Function~Elim " +
        "LTOPostLink CFI~Canonical~Jump~Tables cfi-normalize-integers nosanitize_address nosanitize_memory " +
        "nosanitize_thread nosanitize_hwaddress PartialInlining ms-kernel",
      "harmless",
      "tunes, informs, or is said by the functions too",
    ],
    [
      "probe-stack stack-probe-size function_return_thunk_extern",
      "harmless",
      "of functions that passes make: each function says it too",
    ],
    [
      "Code~Model",
      "refused",
      "no such model of this machine",
      { 0: "harmless", 1: "harmless", 2: "done", 3: "done", 4: "done" },
    ],
    ["Large~Data~Threshold", "done", "selection, assembly"],
    ["cf-protection-branch cf-protection-return", "done", "pass branch-marks, step harden, assembly"],
    ["cf_branch_label_scheme", "harmless", "of another machine"],
    [
      "stack-protector-guard stack-protector-guard-reg stack-protector-guard-offset stack-protector-guard-symbol",
      "harmless",
      "says how the stack protector is done",
    ],
    ["kcfi", "harmless", "the calls and the functions say it"],
    ["kcfi-offset", "harmless", "of functions that passes make: no such is called through pointers"],
    ["kcfi-hash", "harmless", "the numbers are in the IR already"],
    ["kcfi-arity", "refused", "numbers before functions do not tell how many parameters they have"],
    [
      "override-stack-alignment",
      "refused",
      "the stack is aligned as the ABI says, or to more",
      { 16: "done", 32: "done", 64: "done", 128: "done", 256: "done" },
    ],
    ["indirect_branch_cs_prefix", "refused", "indirect branches have no prefix"],
    ["Cross-DSO~CFI", "refused", "no check between libraries"],
    ["cfguard ehcontguard import-call-optimization", "refused", "of another system"],
  ),
);

export const x64Requests: RequestTable = { attributes, strings, features, flags };
