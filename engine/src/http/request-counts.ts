import type { FastifyRequest } from 'fastify'
import { RequestError } from '../base/errors.ts'
import type { UsedTokens } from '../chat/answer.ts'

const maxRequests = 2_000

/** Keeps token counts of the latest requests by `x-request-id`, for callers that left without one. */
export class RequestCounts {
  /** Oldest first */
  readonly latest = new Map<string, { used: UsedTokens; ended: Promise<unknown> }>()

  /** The tokens of all requests that have ended */
  readonly total: UsedTokens = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }

  /** Runs a request that counts its tokens in `used`. */
  async follow<Result>(
    { headers }: FastifyRequest,
    run: (used: UsedTokens) => Promise<Result>,
  ): Promise<Result> {
    const used: UsedTokens = { promptTokens: 0, completionTokens: 0, cachedTokens: 0 }
    const result = run(used).finally(() => this.add(used))
    const id = headers['x-request-id']
    if (typeof id === 'string') {
      this.latest.set(id, { used, ended: result.then(noValue, noValue) })
      if (this.latest.size > maxRequests) this.latest.delete(this.latest.keys().next().value!)
    }
    return result
  }

  add({ promptTokens, completionTokens, cachedTokens }: UsedTokens): void {
    this.total.promptTokens += promptTokens
    this.total.completionTokens += completionTokens
    this.total.cachedTokens += cachedTokens
  }

  /** The totals for Prometheus. */
  writeMetrics(): string {
    const { promptTokens, completionTokens, cachedTokens } = this.total
    return [
      ['berth_engine_prompt_tokens_total', 'Tokens of prompts, cached ones included', promptTokens],
      ['berth_engine_cached_tokens_total', 'Tokens of prompts that were processed before', cachedTokens],
      ['berth_engine_completion_tokens_total', 'Generated tokens', completionTokens],
    ]
      .map(([name, help, value]) => `# HELP ${name} ${help}\n# TYPE ${name} counter\n${name} ${value}\n`)
      .join('')
  }

  /** Resolves to the counts of a request when it has ended. Rejects with a 404 for unknown ones. */
  async read(id: string): Promise<UsedTokens> {
    const request = this.latest.get(id)
    if (request === undefined) {
      throw new RequestError(404, 'There is no such request.', { code: 'not_found' })
    }
    await request.ended
    return request.used
  }
}

function noValue(): void {}
