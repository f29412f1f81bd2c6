/** A write that a `WriteBatch` may defer. */
export interface BatchedWrite {
  flush(): void
}

/** Collects socket writes until the end of an event loop turn; see `createWriteBatch`. */
export interface WriteBatch {
  /** Flushes `write` at the end of this turn. */
  defer(write: BatchedWrite): void
  /** Flushes the first `write` of a turn if the previous batch had only one. Otherwise defers it. */
  flushOrDefer(write: BatchedWrite): void
}

/** Defers writes until everything that arrived is read: chunks share a write, and readers wake once. */
export function createWriteBatch(): WriteBatch {
  let writes: BatchedWrite[] = []
  /** Writes of this turn, including those flushed immediately */
  let count = 0
  let previousHadOne = false

  function flushAll(): void {
    const due = writes
    writes = []
    previousHadOne = count === 1
    count = 0
    for (const write of due) write.flush()
  }

  function countWrite(): void {
    count += 1
    if (count === 1) setImmediate(flushAll)
  }

  function defer(write: BatchedWrite): void {
    countWrite()
    writes.push(write)
  }

  return {
    defer,
    flushOrDefer(write) {
      if (!previousHadOne || count > 0) return defer(write)
      countWrite()
      write.flush()
    },
  }
}
