/**
 * The packages that only farms on Redis need. They are not installed with this one: most never use them, and whoever does has
 * both by `npm install bullmq ioredis`.
 */
import { InputError } from "../../../lto/ir/errors.js";

/** What is used of a connection. */
export type { Redis } from "ioredis";
export type BullMq = typeof import("bullmq");
export type IoRedis = Pick<typeof import("ioredis"), "Redis">;

const versions = { bullmq: 6, ioredis: 5 } as const;

/** @throws InputError that names what is missing */
export async function farmPackages(): Promise<{ readonly bull: BullMq; readonly io: IoRedis }> {
  const io = await loaded("ioredis", () => import("ioredis"));
  const bull = await loaded("bullmq", () => import("bullmq"));
  return { bull, io };
}

async function loaded<T>(name: keyof typeof versions, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (e) {
    const { code, message } = e as NodeJS.ErrnoException;
    const isMissing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
    if (!isMissing || !message.includes(name)) throw e;
    const words = Object.entries(versions).map(([one, version]) => `${one}@${version}`);
    throw new InputError(
      `a farm on Redis needs the package ${name}, which is not installed beside tsc-lto: npm install ${words.join(" ")}`,
    );
  }
}
