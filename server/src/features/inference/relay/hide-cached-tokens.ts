import type { ErrorFacts } from '../protocols/protocol.ts'
import type { BodyMeter } from './response-relay.ts'

/** Members that tell how much of a prompt was cached, in OpenAI's, Anthropic's and llama.cpp's answers */
const cacheCounts = /"(cached_tokens|cache_read_input_tokens|cache_n|prompt_n|cache)"(\s*:\s*)\d+/g
/** Anthropic's `input_tokens` are those that were not in the cache. */
const readTokens = /"cache_read_input_tokens"\s*:\s*([1-9]\d*)/
/** A longer line is forwarded before its end. No count is longer than what stays. */
const longestLine = 64 * 1024
const longestCount = 256

/** Sets the counts of cached tokens to 0 in a text, so that callers can't probe colleagues' prompts. */
export function hideCachedTokens(text: string): string {
  if (!text.includes('cache') && !text.includes('prompt_n')) return text
  const read = Number(readTokens.exec(text)?.[1] ?? 0)
  const hidden = text.replaceAll(cacheCounts, '"$1"$20')
  if (read === 0) return hidden
  return hidden.replaceAll(
    /"input_tokens"(\s*:\s*)(\d+)/g,
    (_, colon: string, count: string) => `"input_tokens"${colon}${Number(count) + read}`,
  )
}

/** Hides the counts in what a meter forwards, line by line: an event may arrive in pieces. */
export class HidingMeter implements BodyMeter {
  readonly #meter: BodyMeter
  #rest = ''

  constructor(meter: BodyMeter) {
    this.#meter = meter
  }

  take(bytes: string): string {
    const text = this.#rest + this.#meter.take(bytes)
    const lines = text.lastIndexOf('\n') + 1
    const end = text.length - lines > longestLine ? text.length - longestCount : lines
    this.#rest = text.slice(end)
    return hideLines(text.slice(0, end))
  }

  finish(error?: ErrorFacts): string {
    const text = this.#rest + this.#meter.finish(error)
    this.#rest = ''
    return hideLines(text)
  }

  get isBroken(): boolean {
    return this.#meter.isBroken === true
  }

  usage() {
    return this.#meter.usage()
  }

  partialUsage() {
    return this.#meter.partialUsage()
  }
}

function hideLines(text: string): string {
  return text.includes('cache') || text.includes('prompt_n')
    ? text.split('\n').map(hideCachedTokens).join('\n')
    : text
}
