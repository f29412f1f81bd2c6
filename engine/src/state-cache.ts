import { randomBytes } from 'node:crypto'
import { open, statfs, unlink, type FileHandle } from 'node:fs/promises'
import type { LlamaContextSequence, Token } from 'node-llama-cpp'
import type { Log } from './log.ts'

/** A folder in memory (tmpfs) */
const FOLDER = '/dev/shm'
/** Evaluating fewer tokens again is cheaper than copying a state. */
const MIN_TOKENS = 64

/** Keeps the states of sequences in host memory, so that a conversation can go on in any sequence. */
export interface StateCache {
  /**
   * Saves the state of a sequence before a prompt that shares `shared` tokens with it replaces most of it, and loads the saved state
   * that shares more with the prompt, if there is one.
   */
  exchange: (sequence: LlamaContextSequence, prompt: readonly Token[], shared: number) => Promise<void>
}

/** A saved state, in a file without a name that disappears with the process. */
interface State {
  tokens: readonly Token[]
  file: FileHandle
  bytes: number
}

/** A cache of at most `maxBytes`, or of what the machine's shared memory has room for. Null if there is no room at all. */
export async function createStateCache(maxBytes: number, log: Log): Promise<StateCache | null> {
  const { bavail, bsize } = await statfs(FOLDER).catch(() => ({ bavail: 0, bsize: 0 }))
  const limit = Math.min(maxBytes, bavail * bsize)
  log(`cache of sequence states: ${limit} of ${maxBytes} bytes, in ${FOLDER}`)
  if (limit === 0) return null

  /** The least recently used first */
  let states: State[] = []
  let bytesPerToken = 0
  let last: Promise<unknown> = Promise.resolve()
  /** One operation at a time, because no other may drop a state that is being loaded. */
  const inTurn = (operation: () => Promise<void>): Promise<void> => {
    const done = last.then(operation)
    last = done.catch(() => {})
    return done
  }
  const drop = async (dropped: readonly State[]): Promise<void> => {
    states = states.filter((state) => !dropped.includes(state))
    for (const { file } of dropped) await file.close()
  }
  const makeRoom = async (bytes: number): Promise<void> => {
    let used = states.reduce((sum, state) => sum + state.bytes, bytes)
    while (used > limit && states.length > 0) {
      used -= states[0]!.bytes
      await drop([states[0]!])
    }
  }

  const save = async (sequence: LlamaContextSequence, shared: number): Promise<void> => {
    const tokens = sequence.contextTokens
    const lost = tokens.length - shared
    if (lost < MIN_TOKENS || lost < shared || tokens.length * bytesPerToken > limit) return
    if (states.some((state) => countShared(state.tokens, tokens) === tokens.length)) return
    await drop(states.filter((state) => countShared(state.tokens, tokens) === state.tokens.length))
    await makeRoom(tokens.length * bytesPerToken)
    const file = await openUnnamed()
    try {
      const { fileSize: bytes } = await sequence.saveStateToFile(pathOf(file))
      bytesPerToken = bytes / tokens.length
      states.push({ tokens, file, bytes })
    } catch (error) {
      await file.close()
      log(`warning: the state of a sequence could not be saved: ${String(error)}`)
    }
    await makeRoom(0)
  }
  const findBest = (
    sequence: LlamaContextSequence,
    prompt: readonly Token[],
    shared: number,
  ): State | null => {
    let best: State | null = null
    let most = shared + MIN_TOKENS - 1
    for (const state of states) {
      const common = countShared(state.tokens, prompt)
      // Some models can continue a state, but not go back to an earlier token of it.
      if (common <= most || (sequence.needsCheckpoints && common < state.tokens.length)) continue
      best = state
      most = common
    }
    return best
  }

  return {
    exchange: (sequence, prompt, shared) =>
      inTurn(async () => {
        const best = findBest(sequence, prompt, shared)
        // Used now, so that the other state does not push it out.
        if (best !== null) states = [...states.filter((state) => state !== best), best]
        await save(sequence, shared)
        if (best === null || !states.includes(best)) return
        await sequence.loadStateFromFile(pathOf(best.file), { acceptRisk: true })
      }),
  }
}

/** Opens a file that has no name, so that nobody else can open it and the kernel frees it with the process. */
async function openUnnamed(): Promise<FileHandle> {
  const path = `${FOLDER}/berth-engine-${randomBytes(16).toString('hex')}`
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
