import { copyText } from '../../../base/copy-text.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { BodyMeter } from '../arrival/body-meter.ts'
import type { ModelRenaming } from './model-renaming.ts'
import type { BodyFormat, BodyRewriter } from '../protocols/protocol.ts'
import { edgeLength, readEdgeUsage } from '../protocols/usage.ts'

/**
 * Meters a long JSON body by its first and its last bytes: some engines report the usage before everything
 * else. Forwards the bytes unchanged, except for the model's name and for what the protocol rewrites.
 */
export class EdgeMeter implements BodyMeter {
  readonly format: BodyFormat
  /** null if the model keeps its name */
  readonly renaming: ModelRenaming | null
  readonly rewriter: BodyRewriter | null
  start = ''
  tail = ''
  /** The model may still come, so the tail is held back: it is searched when the body has ended */
  holdsTail: boolean

  constructor(format: BodyFormat, renaming: ModelRenaming | null, rewriter: BodyRewriter | null) {
    this.format = format
    this.renaming = renaming
    this.rewriter = rewriter
    this.holdsTail = renaming !== null
  }

  take(bytes: string): string {
    return this.rename(this.rewriter === null ? bytes : this.rewriter.take(bytes))
  }

  finish(): string {
    const last = this.rewriter === null ? '' : this.rename(this.rewriter.finish())
    return this.holdsTail ? last + this.renaming!.atEnd(this.tail) : last
  }

  rename(bytes: string): string {
    return this.start === '' ? this.takeStart(bytes) : this.shiftTail(bytes)
  }

  takeStart(bytes: string): string {
    // A copy, because a slice would keep all of `bytes` in memory.
    this.start = copyText(bytes.slice(0, edgeLength))
    const renamed = this.renaming === null ? null : this.renaming.atStart(bytes)
    if (renamed !== null) this.holdsTail = false
    const forwarded = this.shiftTail(bytes)
    return renamed ?? forwarded
  }

  /** Keeps the last bytes of the body and returns the bytes to forward. */
  shiftTail(bytes: string): string {
    const all = this.holdsTail || bytes.length < edgeLength ? this.tail + bytes : bytes
    this.tail = copyText(all.slice(-edgeLength))
    return this.holdsTail ? all.slice(0, -edgeLength) : bytes
  }

  usage(): TokenUsage | null {
    return readEdgeUsage(this.tail, this.format) ?? readEdgeUsage(this.start, this.format)
  }

  partialUsage(): null {
    return null
  }
}
