/**
 * Programs that code which is not compiled here enters: native objects, libraries that call back, names looked up at run
 * time, plugins, assembly. They run as clang's would, and check as they run that nobody enters a function that analysis
 * says is the program's own (`--guard-callees`, `--guard-entries`).
 */
import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { tscLto } from "../support/command.js";
import { removeWorkspaces, Workspace } from "./driver.js";

removeWorkspaces();

const guards = ["--guard-callees", "--guard-entries", "--check-attributes", "--check-ipra"].map(
  (option) => `-Wl,--tsc-lto=${option}`,
);

async function build(w: Workspace, ...args: string[]): Promise<void> {
  const { code, stderr } = await w.run(["-j1", ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
}
/** What the program printed, and how it ended. */
function start(w: Workspace, ...args: string[]): [status: number | string | null, out: string] {
  const { status, signal, stdout } = spawnSync(w.path("program"), args, {
    encoding: "utf8",
    cwd: w.directory,
  });
  return [signal ?? status, stdout];
}
const native = (w: Workspace, ...args: string[]): Buffer => execFileSync("cc", args, { cwd: w.directory });

interface Program {
  readonly title: string;
  /** C, compiled here. */
  readonly source: string;
  /** C or assembly, compiled by the system's compiler. */
  readonly native?: string;
  readonly plugin?: string;
  readonly options?: readonly string[];
  readonly prints: string;
}

const table = `
static int twice(int x) { return 2 * x; }
static int next(int x) { return x + 1; }
static int (*const own[])(int) = { twice, next };
`;

const programs: readonly Program[] = [
  {
    title: "main, by a native object, with variables that keep their values",
    source: `#include <stdio.h>
${table}
int hook(int);
int main(int argc, char **argv) {
  static int depth, total = 10;
  total++;
  if (++depth < 3) hook(depth);
  printf("%d %d %d\\n", depth, total, own[depth & 1](depth));
  depth--;
  return 0;
}`,
    native: "int main(int, char **); int hook(int d) { return main(d, 0); }",
    prints: "3 13 4\n2 13 4\n1 13 2\n",
  },
  {
    title: "main, by assembly of the module",
    source: `#include <stdio.h>
__asm__(".text\\n.globl again\\nagain: jmp main\\n");
int again(int, char **);
int main(int a, char **v) {
  static int calls;
  if (++calls < 3) again(a, v);
  printf("%d ", calls);
  return 0;
}`,
    options: ["-fPIE"],
    prints: "3 3 3 ",
  },
  {
    title: "main, by a name that is looked up",
    source: `#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int a, char **v) {
  static int calls;
  int (*self)(int, char **) = (int (*)(int, char **))dlsym(RTLD_DEFAULT, "main");
  if (++calls < 3) self(a, v);
  printf("%d ", calls);
  return 0;
}`,
    options: ["-rdynamic"],
    prints: "3 3 3 ",
  },
  {
    title: "callbacks of the C library: qsort, bsearch, atexit, signal, pthread_create",
    source: `#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
${table}
static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
static volatile sig_atomic_t caught;
static void handler(int n) { caught = own[n & 1](n); }
static void *worker(void *p) { *(int *)p = own[1](*(int *)p); return p; }
static void last(void) { printf("last %d\\n", own[0](4)); }
int main(int argc, char **argv) {
  int a[] = { 5, 3, argc, 9, 2 }, key = 9;
  pthread_t t[2];
  int v[2] = { 10, 20 };
  atexit(last);
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  qsort(a, 5, sizeof *a, compare);
  int *found = bsearch(&key, a, 5, sizeof *a, compare);
  for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, worker, &v[i]);
  for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
  printf("%d %d %d %d %d %d\\n", a[0], a[4], (int)(found - a), (int)caught, v[0], v[1]);
  return 0;
}`,
    options: ["-pthread"],
    prints: "1 9 4 20 11 21\nlast 8\n",
  },
  {
    title: "functions that switch stacks",
    source: `#include <stdio.h>
#include <ucontext.h>
${table}
static ucontext_t home, other;
static char stack[65536];
static int steps;
static void body(void) {
  for (int i = 0; i < 3; i++) {
    steps = own[i & 1](steps + i);
    swapcontext(&other, &home);
  }
}
int main(int argc, char **argv) {
  static int rounds;
  int returned = 0;
  getcontext(&other);
  if (++rounds > 2) return 1;
  other.uc_stack.ss_sp = stack;
  other.uc_stack.ss_size = sizeof stack;
  other.uc_link = &home;
  makecontext(&other, body, 0);
  for (int i = 0; i < 3; i++) {
    rounds = i;
    swapcontext(&home, &other);
    returned += steps * 10 + rounds;
  }
  volatile int again = 0;
  getcontext(&home);
  if (again++ == 0) setcontext(&home);
  printf("%d %d %d\\n", returned, (int)again, own[0](steps));
  return 0;
}`,
    prints: "103 2 16\n",
  },
  {
    title: "a table handed to a native object, and functions of the program by name",
    source: `#include <stdio.h>
${table}
int visible(int x) { return own[x & 1](x) + 100; }
static int given(int x) { return x * 7; }
struct calls { int (*f)(int); int n; };
int drive(const struct calls *, int);
int main(int argc, char **argv) {
  static const struct calls c[] = { { given, 2 }, { visible, 3 } };
  printf("%d\\n", drive(c, 2) + own[argc & 1](1));
  return 0;
}`,
    native: `struct calls { int (*f)(int); int n; };
int visible(int);
int drive(const struct calls *c, int n) { int s = visible(8); for (int i = 0; i < n; i++) s += c[i].f(c[i].n); return s; }`,
    prints: "236\n",
  },
  {
    title: "a plugin that calls back by name",
    source: `#include <dlfcn.h>
#include <stdio.h>
${table}
int offered(int x) { return own[x & 1](x) * 3; }
static int passed(int x) { return x + 1000; }
int main(int argc, char **argv) {
  void *h = dlopen("./plugin.so", RTLD_NOW);
  if (!h) { puts(dlerror()); return 1; }
  int (*run)(int (*)(int), int) = (int (*)(int (*)(int), int))dlsym(h, "run");
  printf("%d\\n", run(passed, 5));
  return 0;
}`,
    plugin: "int offered(int); int run(int (*f)(int), int x) { return f(x) + offered(x) + offered(x + 1); }",
    options: ["-rdynamic"],
    prints: "1059\n",
  },
  {
    title: "constructors, destructors and functions in sections of pointers",
    source: `#include <stdio.h>
${table}
static int state = 1;
__attribute__((constructor)) static void first(void) { state = own[0](state + 3); }
__attribute__((destructor)) static void end(void) { printf("end %d\\n", own[1](state)); }
static void early(void) { state += 5; }
__attribute__((used, section(".init_array"))) static void (*const entry)(void) = early;
int main(int argc, char **argv) { printf("%d\\n", state); return 0; }`,
    prints: "13\nend 14\n",
  },
];

describe("entered from outside:", () => {
  it.each(programs)("$title", async ({ source, native: other, plugin, options = [], prints }) => {
    const w = new Workspace({ "main.c": source, "native.c": other ?? "", "plugin.c": plugin ?? "" });
    const parts = ["main.c"];
    if (other !== undefined) {
      native(w, "-O2", "-c", "native.c");
      parts.push("native.o");
    }
    if (plugin !== undefined) native(w, "-O2", "-shared", "-fPIC", "plugin.c", "-o", "plugin.so");
    await build(w, "-Oz", ...options, ...guards, ...parts, "-ldl", "-o", "program");
    expect(start(w)).toEqual([0, prints]);
  });
});

describe("a function of the program's own", () => {
  const source = `#include <stdio.h>
${table}
int outside(int);
int main(int argc, char **argv) {
  printf("%d\\n", own[argc & 1](argc));
  fflush(stdout);
  if (argc > 1) printf("%d\\n", outside(argc));
  return 0;
}`;
  it("that code that it does not see enters is a fault", async () => {
    const w = new Workspace({ "main.c": source });
    await build(w, "-O2", "-c", "main.c");
    const args = ["-O2", "--guard-callees", "--guard-entries", w.path("main.o"), "-o", w.path("main.s")];
    expect((await tscLto(args, { cwd: w.directory })).code).toBe(0);
    // Only an entry in the text of the program itself knows the name.
    w.write("all.s", `${w.text("main.s")}\n\t.text\noutside:\tjmp\ttwice.sealed\n`);
    native(w, "all.s", "-o", "program");
    expect(start(w)).toEqual([0, "2\n"]);
    expect(start(w, "x")).toEqual(["SIGSEGV", "4\n"]);
  });
});
