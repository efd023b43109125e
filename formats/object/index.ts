/** The IR object format. */
export { bodyCodec, bodySymbols, decodeBody, EncodedBody, encodeBody } from "./body-codec.js";
export { formatVersion, isObject } from "./container.js";
export { type ModuleNumbers, type ModuleTables, moduleNumbers, moduleTables } from "./pool.js";
export { type ObjectContents, readObject, readObjectContents, readSummary } from "./reader.js";
export { producer, writeObject } from "./writer.js";
