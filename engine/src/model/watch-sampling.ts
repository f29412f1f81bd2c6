import type { LlamaContextSequence } from 'node-llama-cpp'

type MapLogits = (batchIndex: number, tokenIndex: number) => unknown

/** node-llama-cpp's internals. Its public interface doesn't tell decoding and sampling apart. */
interface Internals {
  _decodeTokens: (...args: [...before: unknown[], map: MapLogits, after: unknown]) => Promise<unknown>
}

/** Calls `onSlow` once the sampling of a token has taken `milliseconds`, if `isWatched` returns true. */
export function watchSampling(
  sequence: LlamaContextSequence,
  { isWatched, milliseconds, onSlow }: { isWatched: () => boolean; milliseconds: number; onSlow: () => void },
): void {
  const internals = sequence as unknown as Internals
  const decode = internals._decodeTokens.bind(sequence)
  internals._decodeTokens = (...args) => {
    if (!isWatched()) return decode(...args)
    const after = args.pop()
    const map = args.pop() as MapLogits
    const timed: MapLogits = async (...place) => {
      const timer = setTimeout(onSlow, milliseconds)
      try {
        return await map(...place)
      } finally {
        clearTimeout(timer)
      }
    }
    return decode(...args, timed, after)
  }
}
