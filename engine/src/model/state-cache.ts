import { randomBytes } from 'node:crypto'
import { statfsSync } from 'node:fs'
import { open, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { totalmem } from 'node:os'
import type { LlamaContextSequence, Token } from 'node-llama-cpp'
import type { Log } from '../base/log.ts'
import { writeMebibytes } from '../base/mebibytes.ts'

/** A folder in memory (tmpfs) */
const folder = '/dev/shm'
/** Evaluating fewer tokens again is cheaper than copying a state. */
const minTokens = 64
/** How often a cache checks whether it must give memory back */
const shrinkMs = 1_000

/** Keeps the states of sequences in host memory, so that a conversation can go on in any sequence. */
export interface StateCache {
  /**
   * Saves a state, whose salt is `kept`, before a prompt that shares `shared` tokens replaces it. Resolves to
   * true if it loaded one of the prompt's salt that shares more.
   */
  exchange: (
    sequence: LlamaContextSequence,
    current: { kept: string | null; shared: number },
    prompt: { tokens: readonly Token[]; salt: string | null },
  ) => Promise<boolean>
}

/** A saved state, in a file without a name that disappears with the process. */
interface State {
  tokens: readonly Token[]
  salt: string | null
  file: FileHandle
  bytes: number
}

/**
 * A cache of `plannedBytes`, or of the free shared memory if that is less. One that grows uses more while a
 * quarter of the machine's memory stays free. Null if the machine has no room.
 */
export async function createStateCache(
  plannedBytes: number,
  grows: boolean,
  log: Log,
): Promise<StateCache | null> {
  const memory = Math.min(totalmem(), process.constrainedMemory() || Infinity)
  const limitOf = (used: number): number => {
    const spare = grows ? process.availableMemory() - memory / 4 : 0
    return used + Math.min(readFreeSharedMemory(), Math.max(plannedBytes - used, spare))
  }
  const limit = Math.min(plannedBytes, readFreeSharedMemory())
  log(
    `cache of sequence states: ${writeMebibytes(limit)} of ${writeMebibytes(plannedBytes)} in shared memory`,
  )
  if (limit === 0) return null

  const states = new SavedStates(limitOf, log)
  let last: Promise<unknown> = Promise.resolve()
  /** One operation at a time, because no other may drop a state that is being loaded. */
  const inTurn = <Result>(operation: () => Promise<Result>): Promise<Result> => {
    const done = last.then(operation)
    last = done.catch(() => {})
    return done
  }
  // Another engine may need the memory while this one is idle.
  if (grows) setInterval(() => void inTurn(() => states.shrink(plannedBytes)), shrinkMs).unref()
  return {
    exchange: (sequence, { kept, shared }, prompt) =>
      inTurn(async () => {
        const best = states.findBest(sequence, prompt, shared)
        // Used now, so that the other state does not push it out.
        if (best !== null) states.use(best)
        await states.save(sequence, kept, shared)
        if (best === null || !states.has(best)) return false
        await sequence.loadStateFromFile(pathOf(best.file), { acceptRisk: true })
        return true
      }),
  }
}

/** The free shared memory in bytes */
function readFreeSharedMemory(): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return 0
  }
}

/** The saved states of all sequences, in at most the bytes that `limitOf` returns for those in use. */
class SavedStates {
  readonly #limitOf: (used: number) => number
  readonly #log: Log
  /** The least recently used first */
  #states: State[] = []
  #bytesPerToken = 0

  constructor(limitOf: (used: number) => number, log: Log) {
    this.#limitOf = limitOf
    this.#log = log
  }

  has(state: State): boolean {
    return this.#states.includes(state)
  }

  use(state: State): void {
    this.#states = [...this.#states.filter((other) => other !== state), state]
  }

  /** The state that shares most with the prompt, if evaluating the rest again costs more than loading it. */
  findBest(
    sequence: LlamaContextSequence,
    { tokens, salt }: { tokens: readonly Token[]; salt: string | null },
    shared: number,
  ): State | null {
    let best: State | null = null
    let most = shared + minTokens - 1
    for (const state of this.#states) {
      if (state.salt !== salt) continue
      const common = countShared(state.tokens, tokens)
      // Some models can continue a state, but not go back to an earlier token of it.
      if (common <= most || (sequence.needsCheckpoints && common < state.tokens.length)) continue
      best = state
      most = common
    }
    return best
  }

  /** Saves the state of a sequence that will keep only `shared` tokens, if it is worth it. */
  async save(sequence: LlamaContextSequence, salt: string | null, shared: number): Promise<void> {
    const tokens = sequence.contextTokens
    const lost = tokens.length - shared
    if (lost < minTokens || lost < shared || tokens.length * this.#bytesPerToken > this.#limit()) return
    const salted = this.#states.filter((state) => state.salt === salt)
    if (salted.some((state) => countShared(state.tokens, tokens) === tokens.length)) return
    await this.#drop(salted.filter((state) => countShared(state.tokens, tokens) === state.tokens.length))
    await this.#makeRoom(tokens.length * this.#bytesPerToken)
    const file = await openUnnamed()
    try {
      const { fileSize: bytes } = await sequence.saveStateToFile(pathOf(file))
      this.#bytesPerToken = bytes / tokens.length
      this.#states.push({ tokens, salt, file, bytes })
    } catch (error) {
      await file.close()
      this.#log(`warning: the state of a sequence could not be saved: ${String(error)}`)
    }
    await this.#makeRoom(0)
  }

  /** Drops states that have no room any more, if they use more than `least` bytes. */
  async shrink(least: number): Promise<void> {
    if (this.#used() > least) await this.#makeRoom(0)
  }

  #used(): number {
    return this.#states.reduce((sum, state) => sum + state.bytes, 0)
  }

  #limit(): number {
    return this.#limitOf(this.#used())
  }

  async #makeRoom(bytes: number): Promise<void> {
    const limit = this.#limit()
    let used = this.#used() + bytes
    while (used > limit && this.#states.length > 0) {
      used -= this.#states[0]!.bytes
      await this.#drop([this.#states[0]!])
    }
  }

  async #drop(dropped: readonly State[]): Promise<void> {
    this.#states = this.#states.filter((state) => !dropped.includes(state))
    for (const { file } of dropped) await file.close()
  }
}

/** Opens a file without a name: no other process can open it, and the kernel frees it with this process. */
async function openUnnamed(): Promise<FileHandle> {
  const path = `${folder}/berth-engine-${randomBytes(16).toString('hex')}`
  const file = await open(path, 'wx', 0o600)
  await unlink(path)
  return file
}

function pathOf(file: FileHandle): string {
  return `/proc/self/fd/${file.fd}`
}

function countShared(left: readonly Token[], right: readonly Token[]): number {
  const length = Math.min(left.length, right.length)
  for (let index = 0; index < length; index++) if (left[index] !== right[index]) return index
  return length
}
