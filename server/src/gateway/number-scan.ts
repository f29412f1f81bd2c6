import { readFileSync } from 'node:fs'

/** The part of the global object that TypeScript describes only for browsers */
declare const WebAssembly: {
  Module: new (code: Uint8Array) => object
  Instance: new (module: object) => {
    exports: { memory: { buffer: ArrayBuffer }; scan: (at: number, end: number) => void }
  }
}

/** The bytes are scanned in parts of this size, which stay in the processor's cache. */
const partBytes = 16 * 1024
/** Where a part begins in the module's memory, after the two results */
const partStart = 16
/** The module reads so many bytes at once. */
const readBytes = 16
const space = 0x20

/**
 * Scans lists of JSON numbers at several gigabytes per second with WebAssembly's vector instructions, because
 * parsing a response's embeddings costs more than everything else that the gateway does with it.
 */
export class NumberScan {
  readonly #scan: (at: number, end: number) => void
  readonly #memory: Uint8Array
  readonly #results: Int32Array
  /** The commas that the last scan has passed */
  commas = 0

  constructor() {
    const code = readFileSync(new URL('number-scan.wasm', import.meta.url))
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code))
    const { buffer } = exports.memory
    this.#scan = exports.scan
    this.#memory = new Uint8Array(buffer)
    this.#results = new Int32Array(buffer, 0, 2)
  }

  /** Returns the offset of the first byte from `at` on that no list of numbers has, or of the end. */
  scan(bytes: Uint8Array, at: number): number {
    this.commas = 0
    let position = at
    while (position < bytes.length) {
      const part = bytes.subarray(position, position + partBytes)
      const end = partStart + part.length
      this.#memory.set(part, partStart)
      this.#memory.fill(space, end, end + readBytes)
      this.#scan(partStart, end)
      const stopped = Math.min(this.#results[0]!, end) - partStart
      this.commas += this.#results[1]!
      position += stopped
      if (stopped < part.length) break
    }
    return position
  }
}
