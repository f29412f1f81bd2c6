import { symbols } from 'pino'
import type { Logger } from 'pino'
import type { Exchange } from './exchange.ts'

/**
 * Writes one line for an exchange, without a word of what was asked or answered. It is put together here and given to the log's
 * own stream, because every request has one: pino takes three times as long to find out what of it must be escaped.
 */
export function logExchange(log: Logger, exchange: Exchange): void {
  if (!log.isLevelEnabled('info')) return
  const { side, target, usage, firstByteAt, receivedAt, brokenBy } = exchange
  const { [symbols.chindingsSym]: bindings, [symbols.streamSym]: stream } = log as unknown as PinoParts
  const deployment = target === null ? 'null' : `"${target.deploymentId}"`
  const firstByte = firstByteAt > 0 ? Math.round(firstByteAt - receivedAt) : null
  stream.write(
    `{"level":30,"time":${Date.now()}${bindings},"reqId":"${side.request.id}","method":"POST","route":"${exchange.path}",` +
      `"status":${exchange.sentStatus()},"ms":${Math.round(exchange.endedAt - receivedAt)},"first_byte_ms":${firstByte},` +
      `"user":${exchange.userId},"deployment":${deployment},"model":${JSON.stringify(exchange.targets[0]!.modelName)},` +
      `"stream":${exchange.asked.stream},"input_tokens":${usage === null ? null : usage.inputTokens},` +
      `"output_tokens":${usage === null ? null : usage.outputTokens},` +
      `"broken_by":${brokenBy === null ? 'null' : `"${brokenBy}"`},"msg":"request"}\n`,
  )
}

/** What pino shares of a logger by its symbols: the members that all its lines have, and where they go. */
interface PinoParts {
  [symbols.chindingsSym]: string
  [symbols.streamSym]: { write(line: string): void }
}
