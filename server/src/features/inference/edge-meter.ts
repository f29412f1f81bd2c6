import type { TokenUsage } from '../metering/record-tokens.ts'
import type { EmbeddingEncoder } from './base64-embeddings.ts'
import type { BodyMeter } from './body-meter.ts'
import type { ModelRenaming } from './model-renaming.ts'
import { edgeLength, readEdgeUsage } from './usage.ts'

/**
 * Meters a long JSON body by its first and its last bytes: some engines report the usage before everything else. Forwards the bytes
 * unchanged, except for the model's name and encoded embeddings.
 */
export class EdgeMeter implements BodyMeter {
  /** null once the model was renamed, or if it keeps its name */
  renaming: ModelRenaming | null
  /** null if embeddings keep their encoding */
  readonly encoder: EmbeddingEncoder | null
  start = ''
  tail = ''

  constructor(renaming: ModelRenaming | null, encoder: EmbeddingEncoder | null) {
    this.renaming = renaming
    this.encoder = encoder
  }

  take(bytes: string): string {
    return this.takeEncoded(this.encoder === null ? bytes : this.encoder.take(bytes))
  }

  takeEncoded(bytes: string): string {
    const first = this.start === ''
    // A copy, because a slice would keep all of `bytes` in memory.
    if (first) this.start = copy(bytes.slice(0, edgeLength))
    const renamed = first && this.renaming !== null ? this.renaming.atStart(bytes) : null
    if (renamed !== null) this.renaming = null
    const all = this.renaming !== null || bytes.length < edgeLength ? this.tail + bytes : bytes
    this.tail = copy(all.slice(-edgeLength))
    return this.renaming === null ? (renamed ?? bytes) : all.slice(0, -edgeLength)
  }

  /** The end of the body is held back while it may contain the model. */
  finish(): string {
    const last = this.encoder === null ? '' : this.takeEncoded(this.encoder.finish())
    return this.renaming === null ? last : last + this.renaming.atEnd(this.tail)
  }

  usage(): TokenUsage | null {
    return readEdgeUsage(this.tail) ?? readEdgeUsage(this.start)
  }

  partialUsage(): null {
    return null
  }
}

function copy(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1')
}
