/**
 * What a worker thread loads. CommonJS, which waits for the module itself: a thread that is ended while Node requires an ES
 * module takes the process with it ("IsGraphAsync must be used on an instantiated module", Node 20).
 */
const run = import("./worker.js").then((module) => module.default);

export = { __esModule: true, default: run };
