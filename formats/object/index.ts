/** The IR object format. */
export { bodyCodec, bodySymbols, decodeBody, encodeBody } from "./body-codec.js";
export { formatVersion, isObject } from "./container.js";
export { moduleNumbers, moduleTables } from "./pool.js";
export { readObject, readObjectContents, readSummary } from "./reader.js";
export { writeObject } from "./writer.js";
