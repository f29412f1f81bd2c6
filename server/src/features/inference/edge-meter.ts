import type { TokenUsage } from '../metering/record-tokens.ts'
import type { BodyMeter } from './body-meter.ts'
import { edgeLength, readEdgeUsage } from './usage.ts'

/** Meters a long JSON body by its first and its last bytes: some engines report the usage before everything else. */
export class EdgeMeter implements BodyMeter {
  start = ''
  tail = ''

  take(bytes: string): string {
    // A copy, because a slice would keep all of `bytes` in memory.
    if (this.start === '') this.start = Buffer.from(bytes.slice(0, edgeLength), 'latin1').toString('latin1')
    this.tail = (bytes.length < edgeLength ? this.tail + bytes : bytes).slice(-edgeLength)
    return bytes
  }

  finish(): string {
    return ''
  }

  usage(): TokenUsage | null {
    return readEdgeUsage(this.tail) ?? readEdgeUsage(this.start)
  }

  partialUsage(): null {
    return null
  }
}
