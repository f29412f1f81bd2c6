import { hostname } from 'node:os'
import type { Log } from '../../log.ts'
import type { FinishedExchange } from './finished-exchange.ts'

/**
 * Returns a function that writes one line per exchange, without prompts or completions. The line is composed here because
 * every inference request has one, and pino takes five times as long to format it.
 */
export function createAccessLog(log: Log): (exchange: FinishedExchange) => void {
  // pino omits the process and the host from `bindings()`.
  const bindings = JSON.stringify({ pid: process.pid, hostname: hostname(), ...log.bindings() }).slice(1, -1)
  return (exchange) => {
    if (!log.isLevelEnabled('info')) return
    const { deploymentId, usage, firstByteAt, receivedAt, brokenBy } = exchange
    const firstByte = firstByteAt > 0 ? Math.round(firstByteAt - receivedAt) : null
    log.writeLine(
      `{"level":30,"time":${Date.now()},${bindings},"reqId":"${exchange.requestId}","method":"POST","route":"${exchange.path}",` +
        `"status":${exchange.status},"ms":${Math.round(exchange.endedAt - receivedAt)},"first_byte_ms":${firstByte},` +
        `"user":${exchange.userId},"deployment":${deploymentId === null ? 'null' : `"${deploymentId}"`},` +
        `"model":${JSON.stringify(exchange.modelName)},"stream":${exchange.streams},` +
        `"input_tokens":${usage === null ? null : usage.inputTokens},` +
        `"output_tokens":${usage === null ? null : usage.outputTokens},` +
        `"broken_by":${brokenBy === null ? 'null' : `"${brokenBy}"`},"msg":"request"}\n`,
    )
  }
}
