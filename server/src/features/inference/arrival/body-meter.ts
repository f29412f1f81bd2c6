import type { TokenUsage } from '../../metering/token-usage.ts'

/** Reads the token usage of a response body that is being forwarded. Texts have one character per byte. */
export interface BodyMeter {
  /**
   * Takes the next bytes and returns the bytes to forward. Throws when the body can't be metered in bounded
   * memory.
   */
  take(bytes: string): string
  /** Returns the remaining bytes to forward at the end of the body. */
  finish(): string
  /** Usage of a complete body; null when the engine reported none */
  usage(): TokenUsage | null
  /** Usage of a truncated body; null when it is unknown */
  partialUsage(): TokenUsage | null
}
