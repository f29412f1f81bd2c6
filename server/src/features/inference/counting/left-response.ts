import type { ResponseHandler, ResponseHead } from '../../../gateway/upstream-client/upstream.ts'
import type { TokenUsage } from '../../metering/token-usage.ts'
import type { BodyMeter } from '../arrival/body-meter.ts'

/** Reads the counts in what an engine sends after the caller has left. */
export class LeftResponse implements ResponseHandler {
  /** null before the head, and if the response is no stream */
  meter: BodyMeter | null
  readonly openMeter: (head: ResponseHead) => BodyMeter | null
  readonly onCounted: (usage: TokenUsage | null) => void

  /** `meter` has read the response so far; null before the head. `onCounted` gets the last count. */
  constructor(
    meter: BodyMeter | null,
    openMeter: (head: ResponseHead) => BodyMeter | null,
    onCounted: (usage: TokenUsage | null) => void,
  ) {
    this.meter = meter
    this.openMeter = openMeter
    this.onCounted = onCounted
  }

  onHead(head: ResponseHead): null {
    this.meter = head.status === 200 ? this.openMeter(head) : null
    return null
  }

  onBody(bytes: Buffer): void {
    this.meter?.take(bytes.toString('latin1'))
  }

  onEnd(): void {
    this.onCounted(this.meter === null ? null : this.meter.partialUsage())
  }

  onError(): void {
    this.onEnd()
  }
}
