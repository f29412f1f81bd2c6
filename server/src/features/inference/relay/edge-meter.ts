import { copyText } from '../../../base/copy-text.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { BodyFormat, BodyRewriter } from '../protocols/protocol.ts'
import { edgeLength, readEdgeUsage } from '../protocols/usage.ts'
import type { BodyMeter } from './response-relay.ts'

/** Meters a long JSON body by its first and last bytes, because some engines report usage first. */
export class EdgeMeter implements BodyMeter {
  readonly #format: BodyFormat
  readonly #rewriter: BodyRewriter | null
  #start = ''
  #end = ''

  constructor(format: BodyFormat, rewriter: BodyRewriter | null) {
    this.#format = format
    this.#rewriter = rewriter
  }

  take(bytes: string): string {
    return this.#keepEdges(this.#rewriter === null ? bytes : this.#rewriter.take(bytes))
  }

  finish(): string {
    return this.#rewriter === null ? '' : this.#keepEdges(this.#rewriter.finish())
  }

  #keepEdges(bytes: string): string {
    // Copies, because a slice would keep all of `bytes` in memory.
    if (this.#start === '') this.#start = copyText(bytes.slice(0, edgeLength))
    this.#end = copyText((bytes.length < edgeLength ? this.#end + bytes : bytes).slice(-edgeLength))
    return bytes
  }

  usage(): TokenUsage | null {
    return readEdgeUsage(this.#end, this.#format) ?? readEdgeUsage(this.#start, this.#format)
  }

  partialUsage(): null {
    return null
  }
}
