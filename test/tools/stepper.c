/* Single steps: a library to preload (LD_PRELOAD) into an executable. It runs the program's main instruction by
 * instruction, and before each instruction of the executable has the platform's unwinder walk the stack, which must
 * agree with what calls and returns were seen to do.
 *
 * Method: a trap after each instruction (the processor's trap flag). Each call that is seen pushes a frame: its CFA, its
 * return address, and the registers that callees preserve, as they were at the call. A frame whose CFA the stack
 * pointer has reached is gone. While other libraries run nothing traps; the executable's code is not executable then,
 * so that the fault tells of returns, callbacks, landing pads and longjmp alike.
 *
 * Checked at each instruction: every frame is found, by its CFA, with its return address; where a function of the
 * executable was called from outside, all preserved registers have the caller's values. STEPS_STRICT=1 checks registers
 * of all frames: for code where each function keeps to the platform's convention.
 *
 * STEPS_REPORT names the file that is written at the end: "steps N frames N registers N misses N", then a line for each
 * of the first misses: its offset in the executable, and what was wrong. STEPS_LIMIT: the program runs on by itself after
 * so many instructions of its own. Breaks with threads, and with programs that handle SIGSEGV or SIGTRAP.
 * Code that moves the stack pointer unknown to the compiler is a miss, whoever compiles it: inline assembly, and the
 * last instruction of __builtin_longjmp.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { PRESERVED = 6, MAX_FRAMES = 200000, MAX_TOLD = 20, TRAP_FLAG = 0x100 };

/* DWARF's numbers of rbx, rbp, r12 to r15, and where the kernel keeps them. */
static const int dwarf[PRESERVED] = {3, 6, 12, 13, 14, 15};
static const int saved[PRESERVED] = {REG_RBX, REG_RBP, REG_R12, REG_R13, REG_R14, REG_R15};
static const char *const names[PRESERVED] = {"rbx", "rbp", "r12", "r13", "r14", "r15"};

struct frame {
  uintptr_t cfa, returns;
  uintptr_t preserved[PRESERVED];
};
static struct frame frames[MAX_FRAMES];
static long depth;

static uintptr_t base, text, text_end;
static int active, strict;
static uintptr_t previous; /* Where the last step began; 0: outside of the executable. */
static long limit, steps, seen_frames, seen_registers, misses, told;
static char report[4096];
static char lines[MAX_TOLD][160];

static int in_text(uintptr_t at) { return at >= text && at < text_end; }

static void set_executable(int executable) {
  uintptr_t page = 4095, from = text & ~page;
  if (mprotect((void *)from, (text_end - from + page) & ~page, executable ? PROT_READ | PROT_EXEC : PROT_READ)) abort();
}

static void miss(uintptr_t at, long frame, const char *what, uintptr_t want, uintptr_t found) {
  if (told < MAX_TOLD)
    snprintf(lines[told++], sizeof *lines, "%lx frame %ld: %s is %lx instead of %lx", at - base, frame, what, found, want);
  misses++;
}

/* One walk: frames still to be found are those below `next`. */
struct walk {
  uintptr_t at;
  long next;
  int reached, failed;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *raw) {
  struct walk *walk = raw;
  int before = 0;
  uintptr_t ip = _Unwind_GetIPInfo(context, &before);
  if (!walk->reached) {
    /* This handler's own frames, up to the instruction that was trapped at. */
    walk->reached = before && ip == walk->at;
    return _URC_NO_REASON;
  }
  struct frame *frame = &frames[walk->next];
  long number = depth - 1 - walk->next;
  uintptr_t cfa = _Unwind_GetCFA(context);
  if (cfa != frame->cfa) {
    /* Libraries have frames between a call of them and their calls back. */
    int outside = walk->next + 1 < depth && !in_text(frames[walk->next + 1].returns);
    if (outside && cfa < frame->cfa) return _URC_NO_REASON;
    miss(walk->at, number, "CFA", frame->cfa, cfa);
    walk->failed = 1;
    return _URC_END_OF_STACK;
  }
  if (ip != frame->returns) {
    miss(walk->at, number, "the return address", frame->returns, ip);
    walk->failed = 1;
    return _URC_END_OF_STACK;
  }
  seen_frames++;
  if (strict || !in_text(frame->returns)) {
    seen_registers += PRESERVED;
    for (int i = 0; i < PRESERVED; i++) {
      uintptr_t value = _Unwind_GetGR(context, dwarf[i]);
      if (value == frame->preserved[i]) continue;
      miss(walk->at, number, names[i], frame->preserved[i], value);
      walk->failed = 1;
      return _URC_END_OF_STACK;
    }
  }
  return --walk->next < 0 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static sigjmp_buf after_fault;
static volatile int walking;

static void check(uintptr_t at) {
  static struct walk walk;
  walk = (struct walk){at, depth - 1, 0, 0};
  walking = 1;
  if (sigsetjmp(after_fault, 0) == 0) {
    _Unwind_Backtrace(visit, &walk);
  } else {
    /* The unwinder followed what is no address. */
    miss(at, depth - 1 - walk.next, "the CFA of a frame before which the unwinder fails", frames[walk.next].cfa, 0);
    walk.failed = 1;
  }
  walking = 0;
  if (walk.next >= 0 && !walk.failed) miss(at, depth - 1 - walk.next, "the CFA of a frame that is not found", frames[walk.next].cfa, 0);
}

static void push(const greg_t *registers) {
  if (depth == MAX_FRAMES) abort();
  struct frame *frame = &frames[depth++];
  frame->cfa = (uintptr_t)registers[REG_RSP] + 8;
  frame->returns = *(uintptr_t *)registers[REG_RSP];
  for (int i = 0; i < PRESERVED; i++) frame->preserved[i] = (uintptr_t)registers[saved[i]];
}

/* Whether the instruction is a call, direct or through a register or memory. */
static int is_call(const uint8_t *code) {
  while (*code == 0x3e || *code == 0xf2 || *code == 0x66 || *code == 0x67 || *code == 0x2e || (*code & 0xf0) == 0x40) code++;
  return *code == 0xe8 || (*code == 0xff && (code[1] >> 3 & 7) == 2);
}

/* Before the instruction at rip; returns whether it is to be stepped over. */
static int step(greg_t *registers) {
  uintptr_t at = (uintptr_t)registers[REG_RIP], stack = (uintptr_t)registers[REG_RSP];
  long before = depth;
  while (depth > 0 && frames[depth - 1].cfa <= stack) depth--;
  if (previous != 0) {
    if (is_call((const uint8_t *)previous)) push(registers);
  } else if (depth == before && (depth == 0 || frames[depth - 1].cfa != stack + 8)) {
    /* A library calls: where it returns, frames go; where it ends in a jump, the frame of its own call is there. */
    push(registers);
  }
  /* What a library called ends in a jump to a library: nobody sees its end. */
  if (previous != 0 && !in_text(at) && depth > 0 && frames[depth - 1].cfa == stack + 8 && !in_text(frames[depth - 1].returns)) depth--;
  if (!in_text(at) || depth == 0) {
    previous = 0;
    return 0;
  }
  previous = at;
  check(at);
  return 1;
}

static void on_signal(int signal, siginfo_t *info, void *raw) {
  greg_t *registers = ((ucontext_t *)raw)->uc_mcontext.gregs;
  uintptr_t at = (uintptr_t)registers[REG_RIP];
  if (signal == SIGSEGV && walking) siglongjmp(after_fault, 1);
  if (!active || (signal == SIGSEGV && !(in_text(at) && (uintptr_t)info->si_addr == at && previous == 0))) {
    registers[REG_EFL] &= ~TRAP_FLAG;
    if (signal == SIGSEGV) sigaction(SIGSEGV, &(struct sigaction){.sa_handler = SIG_DFL}, 0);
    return;
  }
  if (signal == SIGSEGV) set_executable(1);
  if (step(registers)) {
    registers[REG_EFL] |= TRAP_FLAG;
    if (++steps < limit) return;
    active = 0;
  } else {
    set_executable(0);
  }
  registers[REG_EFL] &= ~TRAP_FLAG;
}

static void stop(void) {
  if (!active) return;
  active = 0;
  set_executable(1);
}

/* Calls f(count, arguments, environment) with a value of its own in each preserved register. */
int step_into(int (*f)(int, char **, char **), int count, char **arguments, char **environment);
__asm__(
    ".text\n.globl step_into\n.hidden step_into\n.type step_into, @function\nstep_into:\n.cfi_startproc\n"
    "push %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
    "push %rbp\n.cfi_def_cfa_offset 24\n.cfi_offset %rbp, -24\n"
    "push %r12\n.cfi_def_cfa_offset 32\n.cfi_offset %r12, -32\n"
    "push %r13\n.cfi_def_cfa_offset 40\n.cfi_offset %r13, -40\n"
    "push %r14\n.cfi_def_cfa_offset 48\n.cfi_offset %r14, -48\n"
    "push %r15\n.cfi_def_cfa_offset 56\n.cfi_offset %r15, -56\n"
    "sub $8, %rsp\n.cfi_def_cfa_offset 64\n"
    "movabs $0x1b1b1b1b1b1b1b1b, %rbx\nmovabs $0x2b2b2b2b2b2b2b2b, %rbp\nmovabs $0x3c3c3c3c3c3c3c3c, %r12\n"
    "movabs $0x4d4d4d4d4d4d4d4d, %r13\nmovabs $0x5e5e5e5e5e5e5e5e, %r14\nmovabs $0x6f6f6f6f6f6f6f6f, %r15\n"
    "mov %rdi, %rax\nmov %esi, %edi\nmov %rdx, %rsi\nmov %rcx, %rdx\ncall *%rax\n"
    "add $8, %rsp\n.cfi_def_cfa_offset 56\n"
    "pop %r15\n.cfi_def_cfa_offset 48\npop %r14\n.cfi_def_cfa_offset 40\npop %r13\n.cfi_def_cfa_offset 32\n"
    "pop %r12\n.cfi_def_cfa_offset 24\npop %rbp\n.cfi_def_cfa_offset 16\npop %rbx\n.cfi_def_cfa_offset 8\n"
    "ret\n.cfi_endproc\n.size step_into, . - step_into\n");

static int (*program)(int, char **, char **);

static _Unwind_Reason_Code ignore(struct _Unwind_Context *context, void *unused) {
  (void)context;
  (void)unused;
  return _URC_NO_REASON;
}

static int find_text(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size;
  (void)unused;
  base = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
    text = base + segment->p_vaddr;
    text_end = text + segment->p_memsz;
  }
  return 1; /* The executable comes first. */
}

static int stepped_main(int count, char **arguments, char **environment) {
  static char stack[1 << 16];
  stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
  const char *most = getenv("STEPS_LIMIT"), *all = getenv("STEPS_STRICT"), *file = getenv("STEPS_REPORT");
  limit = most ? atol(most) : 1000000;
  strict = all && *all == '1';
  snprintf(report, sizeof report, "%s", file ? file : "/dev/stderr");
  /* What the program starts is not stepped. */
  unsetenv("LD_PRELOAD");
  unsetenv("STEPS_REPORT");
  dl_iterate_phdr(find_text, 0);
  _Unwind_Backtrace(ignore, 0); /* The first walk prepares the unwinder. */
  sigaltstack(&other, 0);
  sigaction(SIGTRAP, &action, 0);
  sigaction(SIGSEGV, &action, 0);
  active = 1;
  set_executable(0);
  int status = step_into(program, count, arguments, environment);
  stop();
  return status;
}

/* What the C start-up code calls. */
int __libc_start_main(int (*main)(int, char **, char **), int count, char **arguments, void (*init)(void),
                      void (*fini)(void), void (*rtld_fini)(void), void *stack_end) {
  __typeof__(&__libc_start_main) start = (__typeof__(start))dlsym(RTLD_NEXT, "__libc_start_main");
  program = main;
  return start(stepped_main, count, arguments, init, fini, rtld_fini, stack_end);
}

__attribute__((destructor)) static void tell(void) {
  if (*report == 0) return;
  int file = open(report, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0) return;
  dprintf(file, "steps %ld frames %ld registers %ld misses %ld\n", steps, seen_frames, seen_registers, misses);
  for (long i = 0; i < told; i++) dprintf(file, "%s\n", lines[i]);
  close(file);
}

/* Handlers at exit and what the linker adds for them are not the program's: parts of it say nothing to unwinders. */
void exit(int status) {
  stop();
  ((void (*)(int))dlsym(RTLD_NEXT, "exit"))(status);
  __builtin_unreachable();
}

void _exit(int status) {
  stop();
  tell();
  ((void (*)(int))dlsym(RTLD_NEXT, "_exit"))(status);
  __builtin_unreachable();
}
