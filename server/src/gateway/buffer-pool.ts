/** Reusable buffers of one size; see `createBufferPool`. */
export interface BufferPool {
  /** Bytes in each buffer */
  readonly size: number
  take(): Buffer
  /** Returns a buffer that nothing reads anymore. */
  release(buffer: Buffer): void
}

const maxFree = 64

/** Keeps released buffers for reuse, because allocating fresh memory costs more than filling it. */
export function createBufferPool(size: number): BufferPool {
  const free: Buffer[] = []
  return {
    size,
    take: () => free.pop() ?? Buffer.allocUnsafeSlow(size),
    release(buffer) {
      if (free.length < maxFree) free.push(buffer)
    },
  }
}
