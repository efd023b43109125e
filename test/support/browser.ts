/** Chromium without a window, driven over a pipe by the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/). */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";

/** Debian's name first. Null: none is installed. */
export const chromium: string | null =
  ["chromium", "chromium-browser", "google-chrome"].find(
    (name) => spawnSync(name, ["--version"]).status === 0,
  ) ?? null;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

export class Browser {
  private readonly process: ChildProcess;
  private readonly folder = mkdtempSync(join(tmpdir(), "tsc-lto-browser-"));
  private readonly waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  private next = 1;
  private session = "";
  private received = "";
  /** What pages asked of the network, and their exceptions and errors. */
  readonly requests: string[] = [];
  readonly complaints: string[] = [];

  private constructor(program: string, width: number, height: number) {
    const words = [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--hide-scrollbars",
      "--remote-debugging-pipe",
      `--user-data-dir=${this.folder}`,
      `--window-size=${width},${height}`,
    ];
    this.process = spawn(program, words, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    const output = this.process.stdio[4] as Readable;
    output.setEncoding("utf8").on("data", (text: string) => this.receive(text));
  }

  static async start(program: string, width = 1280, height = 800): Promise<Browser> {
    const browser = new Browser(program, width, height);
    const { targetId } = (await browser.ask("Target.createTarget", { url: "about:blank" })) as {
      targetId: string;
    };
    const { sessionId } = (await browser.ask("Target.attachToTarget", { targetId, flatten: true })) as {
      sessionId: string;
    };
    browser.session = sessionId;
    for (const domain of ["Page", "Runtime", "Network", "Log"]) await browser.ask(`${domain}.enable`);
    const metrics = { width, height, deviceScaleFactor: 1, mobile: false };
    await browser.ask("Emulation.setDeviceMetricsOverride", metrics);
    return browser;
  }

  private receive(text: string): void {
    const messages = (this.received + text).split("\0");
    this.received = messages.pop()!;
    for (const one of messages) this.accept(JSON.parse(one) as Message);
  }

  private accept({ id, method, params = {}, result, error }: Message): void {
    if (id !== undefined) {
      const { resolve, reject } = this.waiting.get(id)!;
      this.waiting.delete(id);
      if (error === undefined) resolve(result);
      else reject(new Error(error.message));
    } else if (method === "Network.requestWillBeSent")
      this.requests.push((params["request"] as { url: string }).url);
    else if (method === "Runtime.exceptionThrown" || method === "Log.entryAdded")
      this.complaints.push(JSON.stringify(params));
  }

  ask(method: string, params: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    const id = this.next++;
    const session = this.session === "" ? {} : { sessionId: this.session };
    (this.process.stdio[3] as Writable).write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  /** The value of an expression in the page, once it is there. */
  async value<T>(expression: string): Promise<T> {
    const answer = (await this.ask("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    })) as { result: { value: T }; exceptionDetails?: unknown };
    if (answer.exceptionDetails !== undefined) throw new Error(JSON.stringify(answer.exceptionDetails));
    return answer.result.value;
  }

  /** Until an expression is true. @throws Error after ten seconds */
  async until(expression: string): Promise<void> {
    for (const end = Date.now() + 10_000; Date.now() < end; await new Promise((done) => setTimeout(done, 20)))
      if (await this.value<boolean>(`Boolean(${expression})`)) return;
    throw new Error(`the page never came to ${expression}`);
  }

  async open(url: string): Promise<void> {
    await this.ask("Page.navigate", { url: "about:blank" });
    await this.ask("Page.navigate", { url });
    await this.until("document.documentElement?.dataset.ready");
  }

  /** @param key as `KeyboardEvent.key` has it */
  async press(key: string): Promise<void> {
    const code = key === "Enter" ? { windowsVirtualKeyCode: 13, text: "\r" } : {};
    await this.ask("Input.dispatchKeyEvent", { type: "keyDown", key, code: key, ...code });
    await this.ask("Input.dispatchKeyEvent", { type: "keyUp", key, code: key });
  }

  type(text: string): Promise<unknown> {
    return this.ask("Input.insertText", { text });
  }

  async prefer(scheme: "light" | "dark"): Promise<void> {
    await this.ask("Emulation.setEmulatedMedia", {
      features: [{ name: "prefers-color-scheme", value: scheme }],
    });
  }

  async screenshot(format: "png" | "webp" = "png"): Promise<Buffer> {
    const quality = format === "webp" ? { quality: 82 } : {};
    const { data } = (await this.ask("Page.captureScreenshot", { format, ...quality })) as { data: string };
    return Buffer.from(data, "base64");
  }

  async close(): Promise<void> {
    const ended = new Promise((done) => this.process.once("exit", done));
    this.process.kill();
    await ended;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
