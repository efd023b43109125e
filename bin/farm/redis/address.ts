/**
 * Where a farm's Redis is, and how to get in. Addresses stand on command lines, which others on the machine can read; so
 * what is secret is not in them: it comes from variables of the environment, or from files that those name.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { InputError } from "../../../lto/ir/errors.js";
import { reasonOf } from "../../host/system-errors.js";

type Environment = Readonly<Record<string, string | undefined>>;

/** What ioredis takes of a connection. */
export interface RedisAddress {
  readonly host?: string;
  readonly port?: number;
  /** Of a Unix socket. */
  readonly path?: string;
  readonly db: number;
  readonly username?: string;
  readonly password?: string;
  readonly tls?: { readonly ca?: string; readonly cert?: string; readonly key?: string };
}

const usualPort = 6379;
const spellings = "redis://HOST:PORT/DB, rediss:// for TLS, unix:///PATH?db=DB";

/** @param cwd where names of files start from @throws InputError */
export function redisAddress(given: string, env: Environment, cwd: string): RedisAddress {
  const malformed = (): InputError => new InputError(`${given} is no address of a Redis: ${spellings}`);
  let url: URL;
  try {
    url = new URL(given);
  } catch {
    throw malformed();
  }
  if (url.password !== "")
    throw new InputError(
      "the password of a Redis does not belong in its address, which others can read: it goes into TSC_LTO_REDIS_PASSWORD, or a file that TSC_LTO_REDIS_PASSWORD_FILE names",
    );
  const isLocal = url.protocol === "unix:";
  const isSecure = url.protocol === "rediss:";
  if (!isLocal && !isSecure && url.protocol !== "redis:") throw malformed();
  const told = isLocal ? (url.searchParams.get("db") ?? "") : url.pathname.replace(/^\//, "");
  if (!/^\d*$/.test(told) || (isLocal ? url.pathname === "" : url.hostname === "")) throw malformed();
  const username = url.username === "" ? env["TSC_LTO_REDIS_USER"] : decodeURIComponent(url.username);
  const password = passwordIn(env, cwd);
  return {
    ...(isLocal
      ? { path: decodeURIComponent(url.pathname) }
      : {
          host: url.hostname.replace(/^\[|\]$/g, ""),
          port: url.port === "" ? usualPort : Number(url.port),
        }),
    db: Number(told),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(isSecure ? { tls: certificates(env, cwd) } : {}),
  };
}

function passwordIn(env: Environment, cwd: string): string | undefined {
  const given = env["TSC_LTO_REDIS_PASSWORD"];
  if (given !== undefined && given !== "") return given;
  const file = env["TSC_LTO_REDIS_PASSWORD_FILE"];
  if (file === undefined || file === "") return undefined;
  return contentsOf(file, cwd, "TSC_LTO_REDIS_PASSWORD_FILE").replace(/\r?\n$/, "");
}

/** Files in PEM, as redis-cli's --cacert, --cert and --key. */
function certificates(env: Environment, cwd: string): NonNullable<RedisAddress["tls"]> {
  const read = (name: string): string | undefined => {
    const file = env[name];
    return file === undefined || file === "" ? undefined : contentsOf(file, cwd, name);
  };
  const ca = read("TSC_LTO_REDIS_CACERT");
  const cert = read("TSC_LTO_REDIS_CERT");
  const key = read("TSC_LTO_REDIS_KEY");
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
  };
}

function contentsOf(file: string, cwd: string, name: string): string {
  try {
    return readFileSync(resolve(cwd, file), "utf8");
  } catch (e) {
    throw new InputError(`cannot read ${file} of ${name}: ${reasonOf(e)}`);
  }
}
