/** Buffers that answers are held in; see `createHeldBuffers`. */
export interface HeldBuffers {
  take(): Buffer
  /** Gives one back that nobody reads any more */
  give(buffer: Buffer): void
}

/** Bytes of an answer that is sent when it is whole: until then a broken one can still become a 502. */
export const heldBytes = 256 * 1024
const mostKept = 64

/** Keeps some for the next answers: fresh memory costs more than all that is done with it. */
export function createHeldBuffers(): HeldBuffers {
  const free: Buffer[] = []
  return {
    take: () => free.pop() ?? Buffer.allocUnsafeSlow(heldBytes),
    give(buffer) {
      if (free.length < mostKept) free.push(buffer)
    },
  }
}
