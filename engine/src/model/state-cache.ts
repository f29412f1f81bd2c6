import { randomBytes } from 'node:crypto'
import { open, statfs, unlink } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import type { LlamaContextSequence, Token } from 'node-llama-cpp'
import type { Log } from '../base/log.ts'
import { writeMebibytes } from '../base/mebibytes.ts'

/** A folder in memory (tmpfs) */
const folder = '/dev/shm'
/** Evaluating fewer tokens again is cheaper than copying a state. */
const minTokens = 64

/** Keeps the states of sequences in host memory, so that a conversation can go on in any sequence. */
export interface StateCache {
  /** Saves a state before a prompt that shares `shared` tokens replaces it. Loads one that shares more. */
  exchange: (sequence: LlamaContextSequence, prompt: readonly Token[], shared: number) => Promise<void>
}

/** A saved state, in a file without a name that disappears with the process. */
interface State {
  tokens: readonly Token[]
  file: FileHandle
  bytes: number
}

/** A cache of at most `maxBytes`, or of the free shared memory. Null if the machine has no room. */
export async function createStateCache(maxBytes: number, log: Log): Promise<StateCache | null> {
  const { bavail, bsize } = await statfs(folder).catch(() => ({ bavail: 0, bsize: 0 }))
  const limit = Math.min(maxBytes, bavail * bsize)
  log(`cache of sequence states: ${writeMebibytes(limit)} of ${writeMebibytes(maxBytes)} in shared memory`)
  if (limit === 0) return null

  const states = new SavedStates(limit, log)
  let last: Promise<unknown> = Promise.resolve()
  /** One operation at a time, because no other may drop a state that is being loaded. */
  const inTurn = (operation: () => Promise<void>): Promise<void> => {
    const done = last.then(operation)
    last = done.catch(() => {})
    return done
  }
  return {
    exchange: (sequence, prompt, shared) =>
      inTurn(async () => {
        const best = states.findBest(sequence, prompt, shared)
        // Used now, so that the other state does not push it out.
        if (best !== null) states.use(best)
        await states.save(sequence, shared)
        if (best === null || !states.has(best)) return
        await sequence.loadStateFromFile(pathOf(best.file), { acceptRisk: true })
      }),
  }
}

/** The saved states of all sequences, in at most `limit` bytes. */
class SavedStates {
  readonly #limit: number
  readonly #log: Log
  /** The least recently used first */
  #states: State[] = []
  #bytesPerToken = 0

  constructor(limit: number, log: Log) {
    this.#limit = limit
    this.#log = log
  }

  has(state: State): boolean {
    return this.#states.includes(state)
  }

  use(state: State): void {
    this.#states = [...this.#states.filter((other) => other !== state), state]
  }

  /** The state that shares most with the prompt, if evaluating the rest again costs more than loading it. */
  findBest(sequence: LlamaContextSequence, prompt: readonly Token[], shared: number): State | null {
    let best: State | null = null
    let most = shared + minTokens - 1
    for (const state of this.#states) {
      const common = countShared(state.tokens, prompt)
      // Some models can continue a state, but not go back to an earlier token of it.
      if (common <= most || (sequence.needsCheckpoints && common < state.tokens.length)) continue
      best = state
      most = common
    }
    return best
  }

  /** Saves the state of a sequence that will keep only `shared` tokens, if it is worth it. */
  async save(sequence: LlamaContextSequence, shared: number): Promise<void> {
    const tokens = sequence.contextTokens
    const lost = tokens.length - shared
    if (lost < minTokens || lost < shared || tokens.length * this.#bytesPerToken > this.#limit) return
    if (this.#states.some((state) => countShared(state.tokens, tokens) === tokens.length)) return
    await this.#drop(
      this.#states.filter((state) => countShared(state.tokens, tokens) === state.tokens.length),
    )
    await this.#makeRoom(tokens.length * this.#bytesPerToken)
    const file = await openUnnamed()
    try {
      const { fileSize: bytes } = await sequence.saveStateToFile(pathOf(file))
      this.#bytesPerToken = bytes / tokens.length
      this.#states.push({ tokens, file, bytes })
    } catch (error) {
      await file.close()
      this.#log(`warning: the state of a sequence could not be saved: ${String(error)}`)
    }
    await this.#makeRoom(0)
  }

  async #makeRoom(bytes: number): Promise<void> {
    let used = this.#states.reduce((sum, state) => sum + state.bytes, bytes)
    while (used > this.#limit && this.#states.length > 0) {
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
